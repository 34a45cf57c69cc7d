"""Gives a GGUF file, as tests/support/make_family.py writes it, as a model of Hugging Face's transformers in float32.

It needs torch and transformers (5.17 was used). The weights are what the file's blocks decode to; everything else is
transformers' own: norms, RoPE and how it is stretched, windows, caches, generate().
"""
import pathlib
import sys

import numpy as np
import torch
import transformers as tf

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import gguf  # noqa: E402  (finds tests/support too)
import gguf_types  # noqa: E402

OUTSIDE = {"token_embd": "embed_tokens", "output_norm": "norm", "per_layer_token_embd": "embed_tokens_per_layer",
           "per_layer_model_proj": "per_layer_model_projection", "per_layer_proj_norm": "per_layer_projection_norm"}
IN_BLOCK = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj",
            "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_qkv": "self_attn.qkv_proj",
            "attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
            "attn_sub_norm": "self_attn.attn_sub_norm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
            "ffn_down": "mlp.down_proj", "ffn_sub_norm": "mlp.ffn_sub_norm", "layer_output_scale": "layer_scalar",
            "inp_gate": "per_layer_input_gate", "proj": "per_layer_projection", "post_norm": "post_per_layer_input_norm"}
OF_GEMMA = {"ffn_norm": "pre_feedforward_layernorm", "post_attention_norm": "post_attention_layernorm",
            "post_ffw_norm": "post_feedforward_layernorm"}
OF_GPT2 = {"attn_norm": "ln_1", "ffn_norm": "ln_2", "attn_qkv": "attn.c_attn", "attn_output": "attn.c_proj",
           "ffn_up": "mlp.c_fc", "ffn_down": "mlp.c_proj"}
CLASSES = {"llama": (tf.LlamaConfig, tf.LlamaForCausalLM), "qwen2": (tf.Qwen2Config, tf.Qwen2ForCausalLM),
           "qwen3": (tf.Qwen3Config, tf.Qwen3ForCausalLM), "phi3": (tf.Phi3Config, tf.Phi3ForCausalLM),
           "gemma3": (tf.Gemma3TextConfig, tf.Gemma3ForCausalLM), "gpt2": (tf.GPT2Config, tf.GPT2LMHeadModel)}
NO_MARKS = dict(bos_token_id=None, eos_token_id=None, pad_token_id=0)


class Loaded:
    """The file, its keys without the architecture in front, and the model."""

    def __init__(self, path, dtype=torch.float32):
        self.file, self.dtype = gguf.File(path), dtype
        meta = self.file.meta
        self.arch = meta["general.architecture"]
        self.get = lambda key, default=None: meta.get(f"{self.arch}.{key}", default)
        self.n_vocab = self.file.tensors["token_embd.weight"][0][1]
        self.tied = "output.weight" not in self.file.tensors
        self.heads, self.kv = self.get("attention.head_count"), self.get("attention.head_count_kv")
        self.head_dim = self.get("attention.key_length", self.get("embedding_length") // self.heads)
        kinds = {self.file.kind(name) for name in self.file.tensors if name.startswith("blk.")}
        self.int8 = self.arch.startswith("bitnet") or bool(kinds & set(gguf_types.I2_S))
        config, kind = self.config()
        config._attn_implementation = "eager"
        self.model = kind(config).to(dtype).eval()
        self.fill()
        if self.int8:
            for name, module in self.model.named_modules():
                if isinstance(module, torch.nn.Linear) and "lm_head" not in name:
                    module.register_forward_pre_hook(lambda _, x: (int8_rows(x[0]),))

    def config(self):
        if self.arch == "gpt2":
            n = self.get("context_length")
            return tf.GPT2Config(vocab_size=self.n_vocab, n_embd=self.get("embedding_length"), n_layer=self.get("block_count"),
                                 n_head=self.heads, n_positions=n, n_ctx=n, n_inner=self.get("feed_forward_length"),
                                 layer_norm_epsilon=self.get("attention.layer_norm_epsilon"), tie_word_embeddings=self.tied,
                                 **NO_MARKS), tf.GPT2LMHeadModel
        base = dict(vocab_size=self.n_vocab, hidden_size=self.get("embedding_length"),
                    num_hidden_layers=self.get("block_count"),
                    intermediate_size=self.get("feed_forward_length"), num_attention_heads=self.heads,
                    num_key_value_heads=self.kv, head_dim=self.head_dim, max_position_embeddings=self.get("context_length"),
                    rms_norm_eps=self.get("attention.layer_norm_rms_epsilon"), tie_word_embeddings=self.tied,
                    rope_parameters=self.rope(), **NO_MARKS)
        if self.arch.startswith("bitnet"):
            act = "silu" if self.arch == "bitnet" else "relu2"
            return tf.BitNetConfig(hidden_act=act, **base), tf.BitNetForCausalLM
        if self.arch == "gemma4":
            return self.gemma4(base), tf.Gemma4ForCausalLM
        if self.arch.startswith("qwen"):
            base["use_sliding_window"] = False
        if self.arch == "phi3":
            base.update(sliding_window=self.get("attention.sliding_window") or None, partial_rotary_factor=self.rotated(),
                        original_max_position_embeddings=self.get("rope.scaling.original_context_length",
                                                                  base["max_position_embeddings"]))
        if self.arch == "gemma3":
            every = self.get("attention.sliding_window_pattern", 6)
            kinds = ["sliding_attention" if (i + 1) % every else "full_attention" for i in range(base["num_hidden_layers"])]
            base.update(layer_types=kinds, sliding_window=self.get("attention.sliding_window"),
                        query_pre_attn_scalar=self.head_dim,
                        rope_parameters={"full_attention": self.rope(),
                                         "sliding_attention": dict(rope_type="default", rope_theta=1e4)})
        config, model = CLASSES[self.arch]
        return config(**base), model

    def gemma4(self, base):
        local = self.get("attention.sliding_window_pattern")
        shared = self.get("attention.shared_kv_layers")
        base.update(
            intermediate_size=self.get("feed_forward_length")[0], num_key_value_heads=self.kv[local.index(True)],
            head_dim=self.get("attention.key_length_swa"), global_head_dim=self.head_dim,
            num_global_key_value_heads=self.kv[local.index(False)], num_kv_shared_layers=shared,
            use_double_wide_mlp=bool(shared),
            attention_k_eq_v=any(f"blk.{i}.attn_v.weight" not in self.file.tensors for i in range(len(local) - shared)),
            layer_types=["sliding_attention" if here else "full_attention" for here in local],
            sliding_window=self.get("attention.sliding_window"),
            hidden_size_per_layer_input=self.get("embedding_length_per_layer_input"),
            vocab_size_per_layer_input=self.n_vocab, final_logit_softcapping=self.get("final_logit_softcapping"),
            enable_moe_block=False,
            rope_parameters={"sliding_attention": dict(rope_type="default", rope_theta=self.get("rope.freq_base_swa")),
                             "full_attention": dict(rope_type="proportional", partial_rotary_factor=0.25,
                                                    rope_theta=self.get("rope.freq_base"))})
        return tf.Gemma4TextConfig(**base)

    def rotated(self):
        return self.get("rope.dimension_count", self.head_dim) / self.head_dim

    def rope(self):
        rope = dict(rope_type="default", rope_theta=self.get("rope.freq_base"))
        kind = self.get("rope.scaling.type")
        if kind:
            rope.update(rope_type=kind, factor=self.get("rope.scaling.factor"))
        if kind == "yarn":
            rope["original_max_position_embeddings"] = self.get("rope.scaling.original_context_length")
        if self.rotated() != 1:
            rope["partial_rotary_factor"] = self.rotated()
        if "rope_factors_long.weight" in self.file.tensors:  # transformers computes what attn_factor says
            rope.update(rope_type="longrope",
                        original_max_position_embeddings=self.get("rope.scaling.original_context_length"),
                        **{f"{n}_factor": self.file.floats(f"rope_factors_{n}.weight").tolist() for n in ("long", "short")})
        return rope

    def place(self, name):
        """Returns what transformers calls a tensor of the file, or None for what is in its config."""
        base, part = name.rsplit(".", 1)
        if self.arch == "gpt2":
            whole = {"token_embd": "wte", "position_embd": "wpe", "output_norm": "ln_f"}
            if base == "output":
                return "lm_head.weight"
            if base in whole:
                return f"transformer.{whole[base]}.{part}"
            _, block, inner = base.split(".")
            return f"transformer.h.{block}.{OF_GPT2[inner]}.{part}"
        if base == "output":
            return "lm_head.weight"
        if base in OUTSIDE:
            return f"model.{OUTSIDE[base]}.weight"
        if not base.startswith("blk."):
            return None
        _, block, inner = base.split(".")
        name = (self.arch.startswith("gemma") and OF_GEMMA.get(inner)) or IN_BLOCK[inner]
        if self.arch == "phi3" and inner == "ffn_up":
            name = "mlp.gate_up_proj"
        return f"model.layers.{block}.{name}" + f".{part}" * (inner != "layer_output_scale")

    def values(self, name):
        w = self.file.floats(name)
        if self.arch == "gpt2" and name.startswith("blk.") and w.ndim == 2:
            return w.T  # Conv1D
        if self.arch == "gemma3" and "norm" in name:
            return w - 1
        if self.arch == "llama" and ("attn_q." in name or "attn_k." in name):  # its rows are pairs (2i, 2i + 1)
            rows = w.reshape(-1, self.head_dim // 2, 2, *w.shape[1:])
            return np.moveaxis(rows, 2, 1).reshape(w.shape)
        return w

    def fill(self):
        there = dict(self.model.named_parameters()) | dict(self.model.named_buffers())
        filled = set()
        with torch.no_grad():
            for name in self.file.tensors:
                place = self.place(name)
                if place:
                    to = there[place]
                    values = torch.from_numpy(np.ascontiguousarray(self.values(name)))
                    assert values.numel() == to.numel(), (name, tuple(values.shape), tuple(to.shape))
                    to.copy_(values.reshape(to.shape))
                    filled.add(place)
            if "rope_freqs.weight" in self.file.tensors and self.arch != "gemma4":
                self.model.model.rotary_emb.inv_freq.div_(torch.from_numpy(self.file.floats("rope_freqs.weight")))
        if self.tied:
            self.model.tie_weights()
        left = [name for name, _ in self.model.named_parameters() if name not in filled and "v_norm" not in name and
                not (name == "lm_head.weight" and self.tied)]
        assert not left, f"the file has nothing for {left}"


def int8_rows(x):
    scale = 127.0 / x.abs().amax(-1, keepdim=True).clamp(min=1e-5)
    return torch.round(x * scale).clamp(-128, 127) / scale
