#!/usr/bin/env python3
"""Write the model of a small GGUF file as a folder of the Hugging Face hub, and a GGUF file of the same numbers.

    make_hub_folder.py model.gguf FOLDER [--form packed|divided|master] [--shards 2] [--merges pairs] ...

FOLDER gets config.json, tokenizer.json, tokenizer_config.json, generation_config.json and the weights, as
transformers writes them; FOLDER.gguf is model.gguf with what a folder cannot hold rounded to what it has: norms
and scales to BF16, or the scales that a master's weights have. Ternary projections must be i2_s; dense ones are
written as they are. The format is that of the README of huggingface/safetensors; nothing is shared with engine/hub/.
"""
import argparse
import json
import pathlib
import struct
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "program"))
import gguf  # noqa: E402
import gguf_types  # noqa: E402

CLASSES = {"bitnet-b1.58": "BitNetForCausalLM", "bitnet": "BitnetForCausalLM", "llama": "LlamaForCausalLM",
           "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM", "gemma3": "Gemma3ForCausalLM",
           "gpt2": "GPT2LMHeadModel", "phi3": "Phi3ForCausalLM"}
IN_BLOCK = {"attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
            "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm",
            "attn_k_norm": "self_attn.k_norm", "attn_sub_norm": "self_attn.attn_sub_norm",
            "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
            "ffn_down": "mlp.down_proj", "ffn_sub_norm": "mlp.ffn_sub_norm"}
OF_GEMMA = {"ffn_norm": "pre_feedforward_layernorm", "post_attention_norm": "post_attention_layernorm",
            "post_ffw_norm": "post_feedforward_layernorm"}
OF_PHI3 = {"attn_qkv": "self_attn.qkv_proj", "ffn_up": "mlp.gate_up_proj"}
OF_GPT2 = {"attn_norm": "ln_1", "attn_qkv": "attn.c_attn", "attn_output": "attn.c_proj", "ffn_norm": "ln_2",
           "ffn_up": "mlp.c_fc", "ffn_down": "mlp.c_proj", "token_embd": "transformer.wte", "position_embd": "transformer.wpe",
           "output_norm": "transformer.ln_f"}
OUTSIDE = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
DTYPES = {"f32": "F32", "f16": "F16", "bf16": "BF16"}
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")


def bf16(x):
    """Rounds to BF16: the bytes, and the float32 values."""
    data = gguf_types.quantise("bf16", np.ascontiguousarray(x, np.float32))
    return data, (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32).reshape(np.shape(x))


def hub_name(name, arch):
    base, _, part = name.rpartition(".")
    if arch == "gpt2":
        _, block, rest = base.split(".", 2) if base.startswith("blk.") else ("", "", base)
        return f"transformer.h.{block}.{OF_GPT2[rest]}.{part}" if block else f"{OF_GPT2[rest]}.{part}"
    if not base.startswith("blk."):
        return f"{OUTSIDE[base]}.{part}"
    _, block, rest = base.split(".", 2)
    rest = {"gemma3": OF_GEMMA, "phi3": OF_PHI3}.get(arch, {}).get(rest) or IN_BLOCK[rest]
    return f"model.layers.{block}.{rest}.{part}"


def as_trained(rows, head_dim, rope_dim):
    """The rows of q or k without the order in which llama's converter puts pairs of features."""
    r = np.arange(len(rows))
    i = r % head_dim
    half = rope_dim // 2
    place = np.where(i < half, 2 * i, np.where(i < rope_dim, 2 * (i - half) + 1, i))
    return rows[r - i + place]


def packed(codes):
    """[rows, columns] of 0, 1, 2 as transformers pack them: row i * rows / 4 + p is bits 2 i, 2 i + 1 of row p."""
    quarters = codes.reshape(4, len(codes) // 4, -1)
    return (quarters[0] | quarters[1] << 2 | quarters[2] << 4 | quarters[3] << 6).astype(np.uint8)


def scale_of_master(weights):
    """What a master is multiplied by before it is rounded, as WeightQuant of transformers has it."""
    mean = np.float32(np.abs(weights.astype(np.float64)).sum() / weights.size)
    return np.float32(1) / max(mean, np.float32(1e-5))


class Maker:
    def __init__(self, a):
        self.a, self.file = a, gguf.File(a.model)
        self.arch = self.file.meta["general.architecture"]
        self.reference = bytearray(self.file.data)
        self.tensors = {}  # name -> dtype, shape, bytes

    def key(self, name, default=None):
        return self.file.meta.get(f"{self.arch}.{name}", default)

    def patch(self, name, data, at=0):
        place = self.file.tensors[name][2] + at
        self.reference[place:place + len(data)] = data

    def ternary(self, name, hub):
        values, scale = self.file.ternary(name)
        if self.arch == "llama" and name.split(".")[2] in ("attn_q", "attn_k"):
            values = as_trained(values, self.head_dim(), self.key("rope.dimension_count", self.head_dim()))
        scale = np.float32(scale)
        if self.a.form == "master":
            data, weights = bf16(values * (scale / np.abs(values).mean()))
            self.tensors[hub] = ("BF16", list(values.shape), data)
            scale = np.float32(1) / scale_of_master(weights)
        else:
            data, scale = bf16(1 / scale if self.a.form == "divided" else scale)
            self.tensors[hub] = ("U8", [len(values) // 4, values.shape[1]], packed((values + 1).astype(np.uint8)).tobytes())
            self.tensors[hub + "_scale"] = ("BF16", [1], data)
            scale = np.float32(1) / np.float32(scale) if self.a.form == "divided" else scale
        self.patch(name, struct.pack("<f", scale), values.size // 4)

    def head_dim(self):
        return self.key("attention.key_length", self.key("embedding_length") // self.key("attention.head_count"))

    def read_tensors(self):
        for name, (shape, _, _) in self.file.tensors.items():
            if name.startswith("rope_factors"):
                continue
            hub, kind = hub_name(name, self.arch), self.file.kind(name)
            if kind == "i2_s":
                self.ternary(name, hub)
            elif len(shape) == 1 or name == "position_embd.weight":
                values = self.file.floats(name)
                offset = 1 if self.arch == "gemma3" and "norm" in name else 0
                values = bf16(values - offset)[1]
                rotated = self.arch == "llama" and name.endswith((".attn_q.bias", ".attn_k.bias"))
                trained = as_trained(values, self.head_dim(), self.key("rope.dimension_count")) if rotated else values
                self.tensors[hub] = ("BF16", shape[::-1], bf16(trained)[0])
                self.patch(name, (values + np.float32(offset)).astype("<f4").tobytes())
            else:
                data = self.file.bytes(name)
                if self.arch == "llama" and ".attn_q." in name or self.arch == "llama" and ".attn_k." in name:
                    rows = np.asarray(data).reshape(shape[1], -1)
                    data = as_trained(rows, self.head_dim(), self.key("rope.dimension_count", self.head_dim()))
                shape = shape[::-1]
                if self.arch == "gpt2" and name.startswith("blk."):  # Conv1D has [in, out]
                    data, shape = np.asarray(data).reshape(*shape, -1).swapaxes(0, 1), shape[::-1]
                self.tensors[hub] = (DTYPES[kind], shape, bytes(np.ascontiguousarray(data)))
        if self.arch == "gpt2":  # a mask, which is no weight
            self.tensors["transformer.h.0.attn.bias"] = ("BOOL", [1, 1, 4, 4], b"\1" * 16)

    def config(self):
        meta, k = self.file.meta, self.key
        if self.arch == "gpt2":
            return {"architectures": ["GPT2LMHeadModel"], "n_embd": k("embedding_length"), "n_head": k("attention.head_count"),
                    "n_inner": k("feed_forward_length"), "n_layer": k("block_count"), "n_positions": k("context_length"),
                    "layer_norm_epsilon": k("attention.layer_norm_epsilon"), "activation_function": "gelu_new",
                    "vocab_size": len(meta["tokenizer.ggml.tokens"]), "scale_attn_weights": True}
        config = {"architectures": [CLASSES[self.arch]], "hidden_size": k("embedding_length"), "torch_dtype": "bfloat16",
                  "intermediate_size": k("feed_forward_length"), "num_hidden_layers": k("block_count"),
                  "num_attention_heads": k("attention.head_count"), "num_key_value_heads": k("attention.head_count_kv"),
                  "max_position_embeddings": k("context_length"), "rms_norm_eps": k("attention.layer_norm_rms_epsilon"),
                  "rope_theta": k("rope.freq_base"), "tie_word_embeddings": "output.weight" not in self.file.tensors,
                  "vocab_size": len(meta["tokenizer.ggml.tokens"]), "rope_scaling": None,
                  "bos_token_id": meta["tokenizer.ggml.bos_token_id"], "eos_token_id": meta["tokenizer.ggml.eos_token_id"]}
        config["hidden_act"] = {"gemma3": "gelu_pytorch_tanh", "bitnet-b1.58": "relu2"}.get(self.arch, "silu")
        config["head_dim"] = self.head_dim()
        if self.arch == "gemma3":
            config |= {"sliding_window": k("attention.sliding_window"), "rope_local_base_freq": 10000.0,
                       "layer_types": [("full" if (i + 1) % k("attention.sliding_window_pattern") == 0 else "sliding") +
                                       "_attention" for i in range(k("block_count"))]}
        if self.arch == "phi3":
            factors = {f"{n}_factor": self.file.floats(f"rope_factors_{n}.weight").tolist() for n in ("long", "short")}
            config |= {"sliding_window": k("attention.sliding_window"), "rope_scaling": {"type": "longrope", **factors},
                       "partial_rotary_factor": k("rope.dimension_count") / self.head_dim(),
                       "original_max_position_embeddings": k("rope.scaling.original_context_length")}
        if any(self.file.kind(name) == "i2_s" for name in self.file.tensors):
            config["quantization_config"] = {"quant_method": "bitnet", "modules_to_not_convert": None}
            if self.a.form != "divided":
                config["quantization_config"] |= {"linear_class": "autobitlinear",
                                                  "quantization_mode": "online" if self.a.form == "master" else "offline"}
        return config

    def tokenizer(self):
        meta = self.file.meta
        tokens, types = meta["tokenizer.ggml.tokens"], meta["tokenizer.ggml.token_type"]
        added = [{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                  "special": types[i] != 4} for i, t in enumerate(tokens) if types[i] in (2, 3, 4)]
        vocab = {t: i for i, t in enumerate(tokens) if types[i] in (1, 2, 6)}
        bos = tokens[meta["tokenizer.ggml.bos_token_id"]]
        made = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": bos, "type_id": 0}},
                                                         {"Sequence": {"id": "A", "type_id": 0}}]}
        if meta["tokenizer.ggml.model"] == "llama":
            scores = meta["tokenizer.ggml.scores"]
            pairs = [(t[:i], t[i:]) for t in vocab for i in range(1, len(t)) if t[:i] in vocab and t[i:] in vocab]
            pairs.sort(key=lambda pair: -scores[vocab["".join(pair)]])
            model = {"type": "BPE", "unk_token": "<unk>", "byte_fallback": True, "vocab": vocab, "merges": pairs}
            rest = {"normalizer": {"type": "Sequence", "normalizers": [
                        {"type": "Prepend", "prepend": "\u2581"},
                        {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
                    "pre_tokenizer": None, "post_processor": made}
        else:
            merges = [m.split(" ") if self.a.merges == "pairs" else m for m in meta["tokenizer.ggml.merges"]]
            model = {"type": "BPE", "unk_token": None, "byte_fallback": False, "vocab": vocab, "merges": merges}
            digits = "{1,3}" if meta["tokenizer.ggml.pre"] == "llama-bpe" else ""
            steps = {"type": "Sequence", "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": LLAMA3.replace("{1,3}", digits)}, "behavior": "Isolated", "invert": False},
                {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]}
            post = {"type": "ByteLevel"}
            if meta.get("tokenizer.ggml.add_bos_token"):
                post = {"type": "Sequence", "processors": [post, made]}
            rest = {"normalizer": None, "pre_tokenizer": steps, "post_processor": post}
        return {"version": "1.0", "added_tokens": added, **rest, "model": model}

    def write(self):
        out = pathlib.Path(self.a.folder)
        out.mkdir(parents=True, exist_ok=True)
        self.read_tensors()
        tokens = self.file.meta["tokenizer.ggml.tokens"]
        bos, eos = (self.file.meta[f"tokenizer.ggml.{name}_token_id"] for name in ("bos", "eos"))
        files = {"config": self.config(), "tokenizer": self.tokenizer(),
                 "tokenizer_config": {"bos_token": tokens[bos], "eos_token": {"content": tokens[eos], "special": True},
                                      "chat_template": self.file.meta.get("tokenizer.chat_template")},
                 "generation_config": {"do_sample": False, "bos_token_id": bos, "eos_token_id": [eos]}}
        for name, content in files.items():
            (out / f"{name}.json").write_text(json.dumps(content, ensure_ascii=False))
        names, n = sorted(self.tensors), self.a.shards
        if n == 1:
            write_safetensors(out / "model.safetensors", self.tensors, names)
        else:
            shards = {f"model-{i + 1:05}-of-{n:05}.safetensors": names[i::n] for i in range(n)}
            for shard, some in shards.items():
                write_safetensors(out / shard, self.tensors, some)
            index = {"metadata": {}, "weight_map": {name: shard for shard, some in shards.items() for name in some}}
            (out / "model.safetensors.index.json").write_text(json.dumps(index))
        out.with_name(out.name + ".gguf").write_bytes(self.reference)


def write_safetensors(path, tensors, names):
    at, header = 0, {"__metadata__": {"format": "pt"}}
    for name in names:
        dtype, shape, data = tensors[name]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(tensors[name][2] for name in names))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--form", default="packed", choices=("packed", "divided", "master"))
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--merges", default="lines", choices=("lines", "pairs"), help="how tokenizer.json spells them")
    Maker(parser.parse_args()).write()


if __name__ == "__main__":
    main()
