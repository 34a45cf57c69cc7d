#!/usr/bin/env python3
"""Write a GGUF with the shapes, types and metadata of a published ternary model, and random weights.

    make_models.py OUT PRESET [--type T] [--layers N] [--vocab N] [--experts N] [--seed 1] [--jobs N] [--alike]
    make_models.py --list

Such a file costs what the published one costs, to load, to keep and to run, but it says nothing sensible. The script
needs numpy and nothing else of this repository; as many processes as there are cores write the file. Scales keep the
variance of activations. The tokenizer is made up too: it has the published number of tokens, the special ones in their
places, and merges of frequent letters.
"""
import argparse
import functools
import itertools
import math
import multiprocessing
import os
import struct
import typing

import numpy as np

U32, I32, FLOAT, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
TYPES = {  # number, values in a block, bytes of a block, bytes after the last block
    "f32": (0, 1, 4, 0), "f16": (1, 1, 2, 0), "q4_0": (2, 32, 18, 0), "q8_0": (8, 32, 34, 0),
    "q4_k": (12, 256, 144, 0), "q6_k": (14, 256, 210, 0),
    "bf16": (30, 1, 2, 0),
    "tq1_0": (34, 256, 54, 0), "tq2_0": (35, 256, 66, 0), "i2_s": (36, 128, 32, 32), "q2_0": (42, 64, 18, 0),
    "pq2_0": (142, 128, 34, 0), "ptq1_0": (143, 128, 28, 0)}
TERNARY = ("tq1_0", "tq2_0", "q2_0", "pq2_0", "ptq1_0")
ZEROS = 0.4  # the share of zeros among ternary weights
CHUNK = 16 << 20  # bytes that are made at a time, about


class Delta(typing.NamedTuple):
    """Of the layers of Qwen3.5 that have no attention; every fourth has it, and rotates `rotated` features of a head."""
    k_heads: int
    v_heads: int
    head_dim: int
    conv: int
    rotated: int


class Preset(typing.NamedTuple):
    arch: str
    layers: int
    dim: int
    ffn: int
    heads: int
    kv: int
    head_dim: int
    vocab: int
    context: int
    rope_base: float
    eps: float
    proj: str
    embd: str
    head: typing.Optional[str]  # None: tied
    tokenizer: str
    yarn: typing.Optional[tuple] = None  # factor and original context
    experts: int = 0  # of which a token uses `used`; ffn is that of one
    used: int = 0
    share: int = 1  # neighbouring blocks that have one scale, as in the published weights; 0: all of a tensor
    delta: typing.Optional[Delta] = None
    hadamard: int = 0  # the block of a Walsh-Hadamard transform that is folded into all matrices but those of gates


PRESETS = {
    "2b4t": Preset("bitnet-b1.58", 30, 2560, 6912, 20, 5, 128, 128256, 4096, 5e5, 1e-5, "i2_s", "f16", None, "bitnet"),
    "falcon3-10b": Preset("llama", 40, 3072, 23040, 12, 4, 256, 131072, 32768, 1000042, 1e-6, "i2_s", "f16", "f16",
                          "falcon3"),
    "llama3-8b": Preset("llama", 32, 4096, 14336, 32, 8, 128, 128256, 8192, 5e5, 1e-5, "i2_s", "f16", "f16", "llama3"),
    "llama-70b": Preset("llama", 80, 8192, 28672, 64, 8, 128, 128256, 8192, 5e5, 1e-5, "i2_s", "f16", "f16", "llama3"),
    "falcon-e-3b": Preset("llama", 32, 2048, 13312, 16, 2, 128, 32768, 32768, 500042, 1e-5, "i2_s", "f16", "f16",
                          "falcon_e"),
    "falcon3-1b": Preset("llama", 18, 2048, 8192, 8, 4, 256, 131072, 4096, 1000042, 1e-6, "i2_s", "f16", "f16",
                         "falcon3"),
    # Trained with a scale for 128 weights, which the blocks of Q2_0 have twice.
    "bonsai-8b": Preset("qwen3", 36, 4096, 12288, 32, 8, 128, 151669, 65536, 1e6, 1e-6, "q2_0", "q2_0", "q2_0", "qwen",
                        (4.0, 16384), share=2),
    "bonsai-1.7b": Preset("qwen3", 28, 2048, 6144, 16, 8, 128, 151669, 32768, 1e6, 1e-6, "q2_0", "q2_0", None, "qwen",
                          share=2),
    "bonsai-4b": Preset("qwen3", 36, 2560, 9728, 32, 8, 128, 151669, 32768, 1e6, 1e-6, "pq2_0", "pq2_0", None, "qwen"),
    "bonsai-27b": Preset("qwen35", 64, 5120, 17408, 24, 4, 256, 248320, 262144, 1e7, 1e-6, "pq2_0", "pq2_0", "pq2_0", "qwen",
                         delta=Delta(16, 48, 128, 4, 64)),
    "bonsai-2-27b": Preset("qwen35", 64, 5120, 17408, 24, 4, 256, 248320, 262144, 1e7, 1e-6, "ptq1_0", "ptq1_0", "ptq1_0", "qwen",
                           delta=Delta(16, 48, 128, 4, 64), hadamard=1024),
    "bitnet-large": Preset("bitnet", 24, 1536, 4096, 16, 16, 96, 32002, 2048, 1e4, 1e-5, "tq1_0", "q6_k", None, "spm",
                           share=0),
    "trilm-3.9b": Preset("llama", 30, 3072, 9216, 24, 24, 128, 50688, 2048, 1e4, 1e-5, "tq2_0", "q4_k", "q6_k", "neox"),
    # 20B-A1B.
    "maple": Preset("maple", 24, 2048, 512, 16, 4, 128, 151936, 131072, 1e4, 1e-6, "tq1_0", "f16", "q4_k", "qwen",
                    experts=256, used=8, share=0),
    # Dense, of the shape of 2B4T as LLaMA has it.
    "2b-q8_0": Preset("llama", 30, 2560, 6912, 20, 5, 128, 128256, 4096, 5e5, 1e-5, "q8_0", "q8_0", None, "llama3"),
    "2b-q4_0": Preset("llama", 30, 2560, 6912, 20, 5, 128, 128256, 4096, 5e5, 1e-5, "q4_0", "q6_k", None, "llama3"),
}

# ---- tokenizers ----

CHATML = ("{% for message in messages %}"
          "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}{% endfor %}"
          "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}")
TEMPLATES = {
    "bitnet": ("{% for message in messages %}{% if loop.first %}{{ bos_token }}{% endif %}"
               "{{ message['role'] | capitalize + ': ' + message['content'] | trim + '<|eot_id|>' }}{% endfor %}"
               "{% if add_generation_prompt %}{{ 'Assistant: ' }}{% endif %}"),
    "llama3": ("{% for message in messages %}{% if loop.first %}{{ bos_token }}{% endif %}"
               "{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' }}"
               "{{ message['content'] | trim + '<|eot_id|>' }}{% endfor %}{% if add_generation_prompt %}"
               "{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"),
    "falcon3": ("{% for message in messages %}{% if message['role'] == 'assistant' %}"
                "{{ '<|assistant|>\\n' + message['content'] + eos_token + '\\n' }}{% else %}"
                "{{ '<|' + message['role'] + '|>\\n' + message['content'] + '\\n' }}{% endif %}{% endfor %}"
                "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}"),
    "falcon_e": CHATML + "{% endif %}",
    "qwen": CHATML + ("{% if enable_thinking is defined and enable_thinking is false %}"
                      "{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}{% endif %}"),
}
LLAMA3 = ["<|begin_of_text|>", "<|end_of_text|>", *(f"<|reserved_special_token_{i}|>" for i in range(4)),
          "<|start_header_id|>", "<|end_header_id|>", "<|reserved_special_token_4|>", "<|eot_id|>",
          *(f"<|reserved_special_token_{i}|>" for i in range(5, 251))]
QWEN = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>",
        "<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>",
        "<|image_pad|>", "<|video_pad|>", "<tool_call>", "</tool_call>", "<|fim_prefix|>", "<|fim_middle|>",
        "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>", "<tool_response>", "</tool_response>",
        "<think>", "</think>"]
FALCON = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|system|>", "<|user|>", "<|assistant|>"]
BPE = {  # name -> tokenizer.ggml.pre, special tokens, whether they are the first, BOS, EOS, whether BOS is added
    "bitnet": (None, LLAMA3, False, "<|begin_of_text|>", "<|end_of_text|>", True),
    "llama3": ("llama-bpe", LLAMA3, False, "<|begin_of_text|>", "<|eot_id|>", True),
    "falcon3": ("falcon3", FALCON, True, "<|endoftext|>", "<|endoftext|>", False),
    "falcon_e": ("falcon_e", FALCON, True, "<|endoftext|>", "<|im_end|>", False),
    "qwen": ("qwen2", QWEN, False, "<|endoftext|>", "<|im_end|>", False),
    "neox": ("gpt-2", ["<|endoftext|>"], True, "<|endoftext|>", "<|endoftext|>", False),
}
LETTERS = "etaoinsrhldcumfpgwybvkxjqz"


def byte_alphabet():
    """Returns GPT-2's printable character for each byte."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [b for b in range(256) if b not in shown]
    table = {**{b: b for b in shown}, **{b: 256 + i for i, b in enumerate(hidden)}}
    return [chr(table[b]) for b in range(256)]


def words(space):
    """Yields (left, right) of ever longer words, each a word that came before and a letter. space may begin a word."""
    pool = [space, *LETTERS]
    for left in pool:  # it grows as it is read
        for right in LETTERS:
            pool.append(left + right)
            yield left, right


def bpe_keys(name, size):
    pre, specials, first, bos, eos, add_bos = BPE[name]
    n = size - 256 - len(specials)
    assert n >= 0, f"this tokenizer has at least {256 + len(specials)} tokens"
    pairs = list(itertools.islice(words("\u0120"), n))
    normal = byte_alphabet() + [left + right for left, right in pairs]
    tokens = specials + normal if first else normal + specials
    kinds = [3] * len(specials) + [1] * len(normal) if first else [1] * len(normal) + [3] * len(specials)
    keys = [key("tokenizer.ggml.model", STRING, "gpt2")] + ([key("tokenizer.ggml.pre", STRING, pre)] if pre else [])
    return keys + [key("tokenizer.ggml.tokens", ARRAY, tokens, STRING),
                   key("tokenizer.ggml.token_type", ARRAY, kinds, I32),
                   key("tokenizer.ggml.merges", ARRAY, [f"{left} {right}" for left, right in pairs], STRING),
                   key("tokenizer.ggml.bos_token_id", U32, tokens.index(bos)),
                   key("tokenizer.ggml.eos_token_id", U32, tokens.index(eos)),
                   key("tokenizer.ggml.add_bos_token", BOOL, add_bos)]


def spm_keys(size):
    """Makes the tokenizer of bitnet_b1_58: LLaMA 2's places, and two added tokens at the end."""
    added = ["<pad>", "</line>"]
    letters = ["\u2581", *LETTERS, *LETTERS.upper(), *"0123456789.,;:!?'\"-()\n"]
    n = size - 259 - len(letters) - len(added)
    assert n >= 0, f"this tokenizer has at least {259 + len(letters) + len(added)} tokens"
    pieces = [left + right for left, right in itertools.islice(words("\u2581"), n)]
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256)), *pieces, *letters, *added]
    ranked = len(pieces) + len(letters)
    kinds = [2, 3, 3] + [6] * 256 + [1] * ranked + [3] * len(added)
    scores = [0.0] * 259 + [-float(i) for i in range(ranked)] + [0.0] * len(added)
    return [key("tokenizer.ggml.model", STRING, "llama"), key("tokenizer.ggml.tokens", ARRAY, tokens, STRING),
            key("tokenizer.ggml.scores", ARRAY, scores, FLOAT), key("tokenizer.ggml.token_type", ARRAY, kinds, I32),
            key("tokenizer.ggml.bos_token_id", U32, 1), key("tokenizer.ggml.eos_token_id", U32, 2),
            key("tokenizer.ggml.unknown_token_id", U32, 0), key("tokenizer.ggml.padding_token_id", U32, size - 2),
            key("tokenizer.ggml.add_bos_token", BOOL, True), key("tokenizer.ggml.add_eos_token", BOOL, False)]


# ---- the file ----

def text(value):
    value = value.encode()
    return struct.pack("<Q", len(value)) + value


def key(name, kind, value, element=None):
    out = text(name) + struct.pack("<I", kind)
    if kind == STRING:
        return out + text(value)
    if kind == ARRAY:
        out += struct.pack("<IQ", element, len(value))
        if element == STRING:
            return out + b"".join(map(text, value))
        return out + np.asarray(value, {I32: "<i4", FLOAT: "<f4", BOOL: "?"}[element]).tobytes()
    return out + struct.pack({BOOL: "<?", U32: "<I", FLOAT: "<f"}[kind], value)


def metadata(name, p):
    A = p.arch
    keys = [key("general.architecture", STRING, A), key("general.name", STRING, f"{name} of random weights"),
            key(A + ".vocab_size", U32, p.vocab), key(A + ".context_length", U32, p.context),
            key(A + ".embedding_length", U32, p.dim), key(A + ".block_count", U32, p.layers),
            *([] if p.experts else [key(A + ".feed_forward_length", U32, p.ffn)]),
            key(A + ".rope.dimension_count", U32, p.delta.rotated if p.delta else p.head_dim // 2 if A == "maple" else p.head_dim),
            key(A + ".attention.head_count", U32, p.heads), key(A + ".attention.head_count_kv", U32, p.kv),
            key(A + ".attention.layer_norm_rms_epsilon", FLOAT, p.eps), key(A + ".rope.freq_base", FLOAT, p.rope_base),
            key("general.quantization_version", U32, 2)]
    if p.experts:
        keys += [key(f"{A}.expert_{name}", U32, n) for name, n in (
            ("count", p.experts), ("used_count", p.used), ("feed_forward_length", p.ffn))]
    if p.delta:
        thirds = p.delta.rotated // 6
        keys += [key(A + ".rope.dimension_sections", ARRAY, [p.delta.rotated // 2 - 2 * thirds, thirds, thirds, 0], I32),
                 key(A + ".full_attention_interval", U32, 4)]
        keys += [key(f"{A}.ssm.{name}", U32, n) for name, n in (
            ("conv_kernel", p.delta.conv), ("state_size", p.delta.head_dim), ("group_count", p.delta.k_heads),
            ("time_step_rank", p.delta.v_heads), ("inner_size", p.delta.v_heads * p.delta.head_dim))]
    if A == "maple":
        keys += [key(A + ".attention.sliding_window", U32, 512), key(A + ".swiglu_clamp_exp", ARRAY, [7.0] * p.layers, FLOAT),
                 key(A + ".attention.sliding_window_pattern", ARRAY, [(i + 1) % 4 != 0 for i in range(p.layers)], BOOL)]
    if p.arch in ("qwen3", "maple") or p.head_dim * p.heads != p.dim:
        keys += [key(f"{A}.attention.{which}_length", U32, p.head_dim) for which in ("key", "value")]
    if p.yarn:
        keys += [key(A + ".rope.scaling.type", STRING, "yarn"), key(A + ".rope.scaling.factor", FLOAT, p.yarn[0]),
                 key(A + ".rope.scaling.original_context_length", U32, p.yarn[1])]
    keys += spm_keys(p.vocab) if p.tokenizer == "spm" else bpe_keys(p.tokenizer, p.vocab)
    if p.tokenizer in TEMPLATES:
        keys.append(key("tokenizer.chat_template", STRING, TEMPLATES[p.tokenizer]))
    return keys + (hadamard_keys(p) if p.hadamard else [])


def hadamard_keys(p):
    folded = {name: shape[-1] for name, kind, shape in tensors(p) if kind in TERNARY and name != "token_embd.weight"}
    widths, P = sorted(set(folded.values())), "prism.hadamard."
    signs = np.random.Generator(np.random.PCG64(sum(widths))).choice([-1, 1], sum(widths))
    return [key(P + "version", U32, 1), key(P + "block_size", U32, p.hadamard),
            key(P + "transform", STRING, "normalized-sylvester-walsh-hadamard"), key(P + "axis", STRING, "input-last-dimension"),
            key(P + "sign_mode", STRING, "explicit"), key(P + "sign_widths", ARRAY, widths, I32),
            key(P + "sign_values", ARRAY, signs, I32), key(P + "weight_names", ARRAY, list(folded), STRING),
            key(P + "inverse_weight_names", ARRAY, ["token_embd.weight"], STRING), key(P + "gdn_v_grouped", BOOL, True)]


def tensors(p):
    """Yields the name, the type and the shape [rows, columns] of each tensor."""
    q, kv = p.heads * p.head_dim, p.kv * p.head_dim
    norms = {"attn_norm": p.dim, "ffn_norm": p.dim}
    norms.update({"attn_q_norm": p.head_dim, "attn_k_norm": p.head_dim} if p.arch in ("qwen3", "maple") else {})
    norms.update({"attn_sub_norm": q, "ffn_sub_norm": p.ffn} if p.arch.startswith("bitnet") else {})
    matrices = {"attn_q": (q, p.dim), "attn_k": (kv, p.dim), "attn_v": (kv, p.dim), "attn_output": (p.dim, q),
                "ffn_gate": (p.ffn, p.dim), "ffn_up": (p.ffn, p.dim), "ffn_down": (p.dim, p.ffn)}
    if p.experts:
        experts = {f"{name}_exps": (p.experts, *matrices.pop(name)) for name in ("ffn_gate", "ffn_up", "ffn_down")}
        matrices.update({"ffn_gate_inp": (p.experts, p.dim), **experts})
    if p.delta:
        return (yield from qwen35_tensors(p))
    yield "token_embd.weight", p.embd, (p.vocab, p.dim)
    for i in range(p.layers):
        yield from ((f"blk.{i}.{norm}.weight", "f32", (n,)) for norm, n in norms.items())
        yield from ((f"blk.{i}.{matrix}.weight", "f32" if matrix == "ffn_gate_inp" else p.proj, shape)
                    for matrix, shape in matrices.items())
    yield "output_norm.weight", "f32", (p.dim,)
    if p.head:
        yield "output.weight", p.head, (p.vocab, p.dim)


def qwen35_tensors(p):
    """As tensors()."""
    d, q, kv = p.delta, p.heads * p.head_dim, p.kv * p.head_dim
    channels, inner = (2 * d.k_heads + d.v_heads) * d.head_dim, d.v_heads * d.head_dim
    yield "token_embd.weight", p.embd, (p.vocab, p.dim)
    for i in range(p.layers):
        names = [("attn_norm.weight", (p.dim,)), ("post_attention_norm.weight", (p.dim,)),
                 ("ffn_gate.weight", (p.ffn, p.dim)), ("ffn_up.weight", (p.ffn, p.dim)), ("ffn_down.weight", (p.dim, p.ffn))]
        if (i + 1) % 4 == 0:
            names += [("attn_q_norm.weight", (p.head_dim,)), ("attn_k_norm.weight", (p.head_dim,)),
                      ("attn_q.weight", (2 * q, p.dim)), ("attn_k.weight", (kv, p.dim)), ("attn_v.weight", (kv, p.dim)),
                      ("attn_output.weight", (p.dim, q))]
        else:
            names += [("attn_qkv.weight", (channels, p.dim)), ("attn_gate.weight", (inner, p.dim)),
                      ("ssm_alpha.weight", (d.v_heads, p.dim)), ("ssm_beta.weight", (d.v_heads, p.dim)), ("ssm_a", (d.v_heads,)),
                      ("ssm_dt.bias", (d.v_heads,)), ("ssm_conv1d.weight", (channels, d.conv)), ("ssm_norm.weight", (d.head_dim,)),
                      ("ssm_out.weight", (p.dim, inner))]
        for name, shape in names:
            is_gate = name.startswith(("ssm_alpha", "ssm_beta")) and p.hadamard
            yield f"blk.{i}.{name}", "f32" if len(shape) == 1 or "conv1d" in name else "bf16" if is_gate else p.proj, shape
    yield "output_norm.weight", "f32", (p.dim,)
    yield "output.weight", p.head, (p.vocab, p.dim)


def size(kind, shape):
    _, block, block_bytes, tail = TYPES[kind]
    assert shape[-1] % block == 0, f"{kind} does not take rows of {shape[-1]}"
    return math.prod(shape) // block * block_bytes + tail


# ---- random weights ----
# Every byte is looked up in a table by a random number, which is many times faster than packing what was drawn.

def trits(rng, shape):
    return rng.choice(3, shape, p=[(1 - ZEROS) / 2, ZEROS, (1 - ZEROS) / 2]).astype(np.uint8)


def four_trits(rng):
    q = trits(rng, (1 << 16, 4))
    return q[:, 0] | q[:, 1] << 2 | q[:, 2] << 4 | q[:, 3] << 6


def base3(rng, count):
    q = trits(rng, (1 << 16, 5)).astype(np.int32)
    q[:, count:] = 0
    return ((q @ np.array([81, 27, 9, 3, 1]) * 256 + 242) // 243).astype(np.uint8)


def halves(rng, middle, spread):
    """Returns F16 around `middle`; within a factor of 1.6 of it where spread is 0.5, as scales of blocks are."""
    return (middle * np.exp(rng.uniform(-spread, spread, 1 << 16))).astype("<f2")


def look_up(rng, table, shape):
    return table[np.frombuffer(rng.bytes(2 * math.prod(shape)), "<u2")].reshape(shape)


def make(rng, kind, n_blocks, deviation, share):
    """Returns the bytes of blocks whose values have this standard deviation, of which `share` neighbours have one scale (0:
    all); i2_s: without the scale."""
    if kind == "f32":
        return look_up(rng, (deviation * rng.standard_normal(1 << 16)).astype("<f4"), (n_blocks,))
    if kind == "f16":
        return look_up(rng, (deviation * rng.standard_normal(1 << 16)).astype("<f2"), (n_blocks,))
    if kind == "bf16":
        upper = (deviation * rng.standard_normal(1 << 16)).astype("<f4").view("<u4") >> 16
        return look_up(rng, upper.astype("<u2"), (n_blocks,))
    if kind == "i2_s":
        return look_up(rng, four_trits(rng), (n_blocks * 32,))
    out = np.empty((n_blocks, TYPES[kind][2]), np.uint8)
    spread = 0.5 if share else 0.0
    scale = lambda middle: look_up(rng, halves(rng, middle, spread), (-(-n_blocks // max(1, share)), 1)).repeat(
        max(1, share), 0)[:n_blocks].view(np.uint8)
    ternary = deviation / math.sqrt(1 - ZEROS)
    if kind in ("q2_0", "pq2_0"):
        out[:, :2], out[:, 2:] = scale(ternary), look_up(rng, four_trits(rng), (n_blocks, TYPES[kind][2] - 2))
    elif kind == "tq2_0":
        out[:, :64], out[:, 64:] = look_up(rng, four_trits(rng), (n_blocks, 64)), scale(ternary)
    elif kind == "tq1_0":
        out[:, :48], out[:, 52:] = look_up(rng, base3(rng, 5), (n_blocks, 48)), scale(ternary)
        out[:, 48:52] = look_up(rng, base3(rng, 4), (n_blocks, 4))
    elif kind == "ptq1_0":
        out[:, :24], out[:, 26:] = look_up(rng, base3(rng, 5), (n_blocks, 24)), scale(ternary)
        out[:, 24:26] = look_up(rng, base3(rng, 4), (n_blocks, 2))
    else:  # random bits are values, scales and minima of these types
        out[:] = np.frombuffer(rng.bytes(out.size), np.uint8).reshape(out.shape)
        if kind == "q4_k":
            out[:, :2], out[:, 2:4] = scale(deviation / (32 * 15 / 3.46)), scale(deviation / 32 * 1.73)
        elif kind in ("q4_0", "q8_0"):
            out[:, :2] = scale(deviation / (4.6 if kind == "q4_0" else 74))
        else:
            out[:, 208:] = scale(deviation / (18.5 * 73))
    return out


@functools.lru_cache(maxsize=4)
def made(seed, kind, n_blocks, deviation, share):
    return memoryview(make(np.random.Generator(np.random.PCG64(seed)), kind, n_blocks, deviation, share)).cast("B")


def write_part(task):
    """Writes some blocks of one tensor into the file, which is there already."""
    path, at, kind, seed, first, n_blocks, deviation, share = task
    with open(path, "r+b") as file:
        file.seek(at + first * TYPES[kind][2])
        file.write(made(seed, kind, n_blocks, deviation, share))


def parts(path, base, seed, plan, alike, share):
    """Returns the tasks of write_part, and writes what is small. Blocks share scales as in make()."""
    tasks, at = [], base
    rng = np.random.Generator(np.random.PCG64(seed))
    with open(path, "r+b") as file:
        for index, (name, kind, shape) in enumerate(plan):
            _, block, block_bytes, _ = TYPES[kind]
            n_blocks, bytes_of = math.prod(shape) // block, size(kind, shape)
            deviation = 0.02 if name == "token_embd.weight" else 1 / math.sqrt(shape[-1])
            if len(shape) == 1:
                file.seek(at)
                sign = -1 if name.endswith("ssm_a") else 1
                file.write((sign * (1 + 0.1 * rng.standard_normal(shape))).astype("<f4").tobytes())
            else:
                step = CHUNK // block_bytes // 2 * 2
                tasks += [(path, at, kind, seed if alike else (seed, index, first), first, min(step, n_blocks - first), deviation,
                           share)
                          for first in range(0, n_blocks, step)]
            if kind == "i2_s":
                file.seek(at + bytes_of - 32)
                file.write(struct.pack("<f", deviation / math.sqrt(1 - ZEROS)))
            at += -(-bytes_of // 32) * 32
    return tasks


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", nargs="?")
    parser.add_argument("preset", nargs="?", choices=PRESETS)
    parser.add_argument("--list", action="store_true", help="print the presets and their sizes")
    parser.add_argument("--type", choices=TERNARY, help="of the ternary weights with several scales, instead of the published one")
    parser.add_argument("--layers", type=int, help="instead of the published number")
    parser.add_argument("--vocab", type=int, help="instead of the published number of tokens")
    parser.add_argument("--experts", type=int, help="instead of the published number of experts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--alike", action="store_true",
                        help="the same weights again and again, which are made many times as fast")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    a = parser.parse_args()
    if a.list:
        for name, p in PRESETS.items():
            total = sum(size(kind, shape) for _, kind, shape in tensors(p))
            print(f"{name:14} {total / 1e9:5.2f} GB  {p.arch}, {p.layers} layers, {p.dim} wide, {p.proj}")
        return
    if not a.preset:
        parser.error("wanted OUT and PRESET; --list prints the presets")
    p = PRESETS[a.preset]
    p = p._replace(layers=a.layers or p.layers, vocab=a.vocab or p.vocab, experts=min(a.experts or p.experts, p.experts))
    if a.type:
        p = p._replace(**{role: a.type for role in ("proj", "embd", "head") if getattr(p, role) in TERNARY})
    plan, directory, at = list(tensors(p)), b"", 0
    for name, kind, shape in plan:
        directory += text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape[::-1])
        directory += struct.pack("<IQ", TYPES[kind][0], at)
        at += -(-size(kind, shape) // 32) * 32
    keys = metadata(a.preset, p)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(plan), len(keys)) + b"".join(keys) + directory
    head += b"\0" * (-len(head) % 32)
    with open(a.out, "wb") as file:
        file.write(head)
        file.truncate(len(head) + at)
    with multiprocessing.Pool(a.jobs) as pool:
        pool.map(write_part, parts(a.out, len(head), a.seed, plan, a.alike, p.share), 1)
    print(f"{a.out}: {len(head) + at} bytes, {len(plan)} tensors, {p.vocab} tokens")


if __name__ == "__main__":
    main()
