#!/usr/bin/env python3
"""Make the reference models of the families that the engine runs: tiny, random, and computed by transformers.

    make_references.py FOLDER [--seed 1] [--only NAME] [--no-logits]

Writes NAME.gguf, and NAME.npz with ids [n], logits [n, n_vocab] of every token, and hidden [n_layer, n_embd] of the last
token, float32 (the last row is after output_norm, as transformers gives it). It needs torch and transformers, which
compute in float32 with eager attention; with --no-logits it writes the models alone and needs numpy only.

The weights of a quantised kind are random blocks, and transformers is given what they decode to, so the logits are
those of the file. Where `int8` is set, the input of every projection is rounded to int8 a row, as BitNet does.
"""
import argparse
import base64
import math
import pathlib
import struct
import sys
import typing
import zlib

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import gguf_types  # noqa: E402
from make_model import ARRAY, FLOAT, I32, STRING, U32, byte_alphabet, key, text  # noqa: E402

DIM, FFN, LAYERS, KV, HEAD_DIM, CONTEXT, EPS, N_TOKENS = 256, 512, 2, 2, 64, 256, 1e-5, 48
RANKS = 120  # of LLaMA 3's vocabulary; so few are single bytes
RANKS_FILE = pathlib.Path(__file__).resolve().parents[2] / "tokenizer" / "llama3" / "ranks"


class Case(typing.NamedTuple):
    arch: str
    proj: str
    embd: str
    head: typing.Optional[str] = None  # None: tied
    int8: bool = False
    heads: int = 4
    base: float = 5e5  # of RoPE


CASES = {
    "bitnet-b158-i2_s": Case("bitnet-b1.58", "i2_s", "f16", int8=True),
    "bitnet-b158-tq1_0": Case("bitnet-b1.58", "tq1_0", "f16", int8=True),
    "bitnet-b158-tq2_0": Case("bitnet-b1.58", "tq2_0", "f16", int8=True),
    "bitnet-silu-i2_s": Case("bitnet", "i2_s", "f16", int8=True),
    "llama-i2_s": Case("llama", "i2_s", "f16", "f16", int8=True),
    "llama-tq1_0": Case("llama", "tq1_0", "q4_k", "q6_k"),
    "llama-tq2_0": Case("llama", "tq2_0", "q4_k", "q6_k"),
    "llama-tq2_0-int8": Case("llama", "tq2_0", "f16", "f16", int8=True),
    "qwen3-q2_0": Case("qwen3", "q2_0", "q2_0", heads=8, base=1e6),
    "qwen3-tq2_0": Case("qwen3", "tq2_0", "q6_k", heads=8, base=1e6),
}
PROJECTIONS = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
               "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
               "mlp.down_proj": "ffn_down"}
NORMS = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_norm": "attn_q_norm",
         "self_attn.k_norm": "attn_k_norm", "self_attn.attn_sub_norm": "attn_sub_norm", "mlp.ffn_sub_norm": "ffn_sub_norm"}


def random_blocks(rng, kind, shape, deviation):
    """Returns the bytes of a random tensor [rows, columns]. The order of the draws is what keeps old files' bytes."""
    k, n = gguf_types.KINDS[kind], int(np.prod(shape))
    if k.block == 1:
        return gguf_types.quantise(kind, (rng.standard_normal(n) * deviation).astype(np.float32))
    ternary = deviation / math.sqrt(0.6)
    if kind == "i2_s":
        codes = rng.choice(3, n, p=[.3, .4, .3]).astype(np.uint8)
        return gguf_types.pack_i2_s(kind, codes.reshape(shape), ternary)[:-28] + bytes(28)
    raw = rng.integers(0, 256, (n // k.block, k.bytes), dtype=np.uint8)
    spread = np.exp(rng.uniform(-.5, .5, len(raw)))
    half = lambda x: np.ascontiguousarray(x, "<f2").reshape(-1, 1).view(np.uint8)
    if kind in gguf_types.TERNARY:
        codes = rng.choice(3, (len(raw), k.block), p=[.3, .4, .3]).astype(np.uint8)
        return gguf_types.pack_ternary(kind, codes, ternary * spread)
    if kind == "q4_k":
        raw[:, :2], raw[:, 2:4] = half(deviation / (32 * 15 / 3.46) * spread), half(deviation / 32 * 1.73 * spread)
    else:
        assert kind == "q6_k"
        raw[:, 208:] = half(deviation / (18.5 * 73) * spread)
    return raw.tobytes()


def vocabulary():
    alphabet = byte_alphabet()
    ranks = [base64.b64decode(line.split()[0]) for line in RANKS_FILE.read_bytes().splitlines()[:RANKS]]
    reserved = [f"<|reserved_special_token_{i}|>" for i in range(251)]
    special = ["<|begin_of_text|>", "<|end_of_text|>", *reserved[:4], "<|start_header_id|>", "<|end_header_id|>",
               reserved[4], "<|eot_id|>", *reserved[5:]]
    return ["".join(alphabet[b] for b in token) for token in ranks] + special, [1] * RANKS + [3] * len(special)


def tensors(case, n_vocab):
    """Yields transformers' name, the file's name, the kind and the shape of each tensor, in the order of the file."""
    yield "model.embed_tokens.weight", "token_embd.weight", case.embd, (n_vocab, DIM)
    q, kv = case.heads * HEAD_DIM, KV * HEAD_DIM
    sizes = {"attn_q_norm": HEAD_DIM, "attn_k_norm": HEAD_DIM, "attn_sub_norm": q, "ffn_sub_norm": FFN}
    shapes = {"attn_q": (q, DIM), "attn_k": (kv, DIM), "attn_v": (kv, DIM), "attn_output": (DIM, q),
              "ffn_gate": (FFN, DIM), "ffn_up": (FFN, DIM), "ffn_down": (DIM, FFN)}
    of_arch = {"bitnet": ("sub_norm",), "qwen3": ("q_norm", "k_norm")}.get(case.arch.split("-")[0], ())
    for i in range(LAYERS):
        for theirs, ours in NORMS.items():
            if theirs.endswith("layernorm") or theirs.endswith(of_arch):
                yield f"model.layers.{i}.{theirs}.weight", f"blk.{i}.{ours}.weight", "norm", (sizes.get(ours, DIM),)
        for theirs, ours in PROJECTIONS.items():
            yield f"model.layers.{i}.{theirs}.weight", f"blk.{i}.{ours}.weight", case.proj, shapes[ours]
    yield "model.norm.weight", "output_norm.weight", "norm", (DIM,)
    if case.head:
        yield "lm_head.weight", "output.weight", case.head, (n_vocab, DIM)


def halves(values, heads):
    """Takes rows of interleaved pairs, as llama's files have them, to transformers' order: first halves, then second."""
    rows = values.reshape(heads, HEAD_DIM // 2, 2, -1)
    return rows.swapaxes(1, 2).reshape(values.shape)


def draw(case, rng, n_vocab):
    """Returns the file's tensors (name, kind, shape, bytes) and the arrays that transformers gets."""
    file, arrays = [], {}
    for theirs, ours, kind, shape in tensors(case, n_vocab):
        if kind == "norm":
            kind, data = "f32", (1 + 0.2 * rng.standard_normal(shape)).astype("<f4").tobytes()
        else:
            deviation = 1 if ours == "token_embd.weight" else 1 / math.sqrt(shape[-1])
            data = random_blocks(rng, kind, shape, deviation)
        file.append((ours, kind, shape, data))
        values = gguf_types.dequantise(kind, data, shape)
        if case.arch == "llama" and ours.endswith(("attn_q.weight", "attn_k.weight")):
            values = halves(values, shape[0] // HEAD_DIM)
        arrays[theirs] = values
    return file, arrays


def write(path, name, case, file):
    tokens, types = vocabulary()
    A, bos = case.arch, tokens.index("<|begin_of_text|>")
    meta = [key("general.architecture", STRING, A), key("general.name", STRING, name),
            key(A + ".context_length", U32, CONTEXT), key(A + ".embedding_length", U32, DIM),
            key(A + ".block_count", U32, LAYERS), key(A + ".vocab_size", U32, len(tokens)),
            key(A + ".attention.head_count", U32, case.heads), key(A + ".attention.head_count_kv", U32, KV),
            key(A + ".rope.freq_base", FLOAT, case.base), key(A + ".feed_forward_length", U32, FFN),
            key(A + ".attention.layer_norm_rms_epsilon", FLOAT, EPS),
            key(A + ".attention.key_length", U32, HEAD_DIM), key(A + ".attention.value_length", U32, HEAD_DIM)]
    if A != "qwen3":
        meta.append(key(A + ".rope.dimension_count", U32, HEAD_DIM))
    meta += [key("tokenizer.ggml.model", STRING, "gpt2"), key("tokenizer.ggml.pre", STRING, "llama-bpe"),
             key("tokenizer.ggml.tokens", ARRAY, tokens, STRING), key("tokenizer.ggml.token_type", ARRAY, types, I32),
             key("tokenizer.ggml.merges", ARRAY, [], STRING), key("tokenizer.ggml.bos_token_id", U32, bos),
             key("tokenizer.ggml.eos_token_id", U32, bos + 1), key("general.quantization_version", U32, 2)]
    directory, data = b"", b""
    for ours, kind, shape, values in file:
        directory += text(ours) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape[::-1])
        directory += struct.pack("<IQ", gguf_types.KINDS[kind].id, len(data))
        data += values + b"\0" * (-len(values) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(file), len(meta)) + b"".join(meta) + directory
    path.write_bytes(head + b"\0" * (-len(head) % 32) + data)


def transformers_model(case, n_vocab):
    import transformers
    family = {"bitnet": "BitNet", "llama": "Llama", "qwen3": "Qwen3"}[case.arch.split("-")[0]]
    config = getattr(transformers, family + "Config")(
        vocab_size=n_vocab, hidden_size=DIM, intermediate_size=FFN, num_hidden_layers=LAYERS,
        num_attention_heads=case.heads, num_key_value_heads=KV, head_dim=HEAD_DIM, max_position_embeddings=CONTEXT,
        rms_norm_eps=EPS, hidden_act="relu2" if case.arch == "bitnet-b1.58" else "silu",
        tie_word_embeddings=case.head is None, rope_parameters={"rope_theta": case.base, "rope_type": "default"},
        bos_token_id=None, eos_token_id=None, pad_token_id=0)
    config._attn_implementation = "eager"
    return getattr(transformers, family + "ForCausalLM")(config).float().eval()


def compute(case, arrays, ids, n_vocab):
    """Returns the arrays of the .npz."""
    import torch

    def int8_rows(_, inputs):
        factor = 127 / inputs[0].abs().amax(-1, keepdim=True).clamp(min=1e-5)
        return (torch.round(inputs[0] * factor).clamp(-128, 127) / factor,)

    with torch.no_grad():
        model = transformers_model(case, n_vocab)
        parameters = dict(model.named_parameters())
        left = set(parameters) - set(arrays) - {"lm_head.weight"}
        assert not left, f"these got no weights: {left}"
        for name, values in arrays.items():
            parameters[name].copy_(torch.from_numpy(np.ascontiguousarray(values)))
        if case.head is None:
            model.tie_weights()
        for name, module in model.named_modules():
            if case.int8 and isinstance(module, torch.nn.Linear) and "lm_head" not in name:
                module.register_forward_pre_hook(int8_rows)
        result = model(torch.from_numpy(ids)[None], output_hidden_states=True, use_cache=False)
    hidden = np.stack([layer[0, -1].numpy() for layer in result.hidden_states[1:]])
    return dict(ids=ids.astype(np.int32), logits=result.logits[0].numpy().astype(np.float32), hidden=hidden.astype(np.float32))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=CASES)
    parser.add_argument("--no-logits", action="store_true")
    a = parser.parse_args()
    folder = pathlib.Path(a.folder)
    folder.mkdir(parents=True, exist_ok=True)
    n_vocab = len(vocabulary()[0])
    for name, case in CASES.items():
        if a.only in (None, name):
            rng = np.random.Generator(np.random.PCG64([a.seed, zlib.crc32(name.encode())]))
            file, arrays = draw(case, rng, n_vocab)
            write(folder / f"{name}.gguf", name, case, file)
            if not a.no_logits:
                np.savez_compressed(folder / f"{name}.npz", **compute(case, arrays, rng.integers(0, n_vocab, N_TOKENS), n_vocab))


if __name__ == "__main__":
    main()
