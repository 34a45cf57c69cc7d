#!/usr/bin/env python3
"""Make the reference models with dense projections, those with experts, those of PrismML's types, and those of Qwen3.5,
again, byte for byte: tiny and random.

    make_dense_references.py FOLDER [NAME...]

dense.npz has what transformers computed for each of them: NAME/logits of every token, float16, whose rounding changes no
cosine by more than 1e-7, and NAME/digest, of the file. A file of another digest is an error. The ids come from the same
random numbers as the weights.
"""
import hashlib
import math
import pathlib
import struct
import sys
import typing
import zlib

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import gguf_types  # noqa: E402
import make_references  # noqa: E402
from make_model import ARRAY, BOOL, FLOAT, I32, STRING, U32, key, text  # noqa: E402

LOGITS = pathlib.Path(__file__).resolve().parent / "dense.npz"
CONTEXT, SEED, N_TOKENS, EXPERT = 256, 1, 48, 256


class Case(typing.NamedTuple):
    arch: str
    proj: str
    embd: str
    head: typing.Optional[str] = None  # None: tied
    dim: int = 256
    ffn: int = 512
    layers: int = 2
    heads: int = 4
    kv: int = 2
    head_dim: int = 64
    base: float = 5e5  # of RoPE
    n: int = N_TOKENS
    per_layer: int = 0  # Gemma 4
    shared: int = 0
    experts: int = 0  # of which a token uses two


def gemma(arch, layers, **more):
    return Case(arch, "q8_0", "q8_0", dim=128, ffn=256, layers=layers, head_dim=32, base=1e6, **more)


def qwen35(kind):
    return Case("qwen35", kind, kind, kind, layers=8, base=1e7, n=150)


CASES = {
    "llama-f16": Case("llama", "f16", "f16", "f32"), "llama-bf16": Case("llama", "bf16", "bf16", "bf16"),
    "llama-q8_0": Case("llama", "q8_0", "q8_0", "q8_0"), "llama-q4_0": Case("llama", "q4_0", "q4_0", "q6_k"),
    "llama-q4_k": Case("llama", "q4_k", "q4_k", "q6_k"), "llama-q5_k": Case("llama", "q5_k", "q5_k", "q6_k"),
    "llama-q6_k": Case("llama", "q6_k", "q6_k", "q6_k"), "llama3-rope": Case("llama", "q8_0", "q8_0", "q8_0", n=100),
    "qwen2": Case("qwen2", "q8_0", "q8_0", base=1e6), "qwen3-q8_0": Case("qwen3", "q8_0", "q8_0", heads=8, base=1e6),
    "qwen3-pq2_0": Case("qwen3", "pq2_0", "pq2_0", heads=8, base=1e6),
    "qwen3-ptq1_0": Case("qwen3", "ptq1_0", "ptq1_0", heads=8, base=1e6),
    "gpt2-q8_0": Case("gpt2", "q8_0", "q8_0", kv=4), "gemma3-q8_0": gemma("gemma3", 7),
    "qwen3moe-tq1_0": Case("qwen3moe", "tq1_0", "f16", "f16", heads=8, base=1e6, experts=8),
    "qwen3moe-tq2_0": Case("qwen3moe", "tq2_0", "f16", "f16", heads=8, base=1e6, experts=8),
    **{f"qwen35-{kind}": qwen35(kind) for kind in ("q8_0", "q2_0", "pq2_0", "ptq1_0")},
    "gemma4-31b-like": gemma("gemma4", 10), "gemma4-e2b-like": gemma("gemma4", 10, per_layer=32, shared=5),
}


def blocks(rng, kind, shape, deviation):
    """Returns the bytes of a random matrix. The order of the draws is what keeps the files' bytes."""
    n, k = int(np.prod(shape)), gguf_types.KINDS[kind]
    if kind in gguf_types.TERNARY:
        return make_references.random_blocks(rng, kind, shape, deviation)
    if k.block == 1:
        w = (rng.standard_normal(n) * deviation).astype(np.float32)
        return (w.astype("<f2") if kind == "f16" else (w.view(np.uint32) >> 16).astype("<u2") if kind == "bf16" else w).tobytes()
    raw = rng.integers(0, 256, (n // k.block, k.bytes), dtype=np.uint8)
    spread = np.exp(rng.uniform(-.5, .5, len(raw)))
    half = lambda factor: np.frombuffer((factor * spread).astype("<f2").tobytes(), np.uint8).reshape(-1, 2)
    if kind == "q8_0":
        raw[:, 2:][raw[:, 2:] == 128] = 129
    if kind in ("q8_0", "q4_0"):
        raw[:, :2] = half(deviation / (73 if kind == "q8_0" else 4.6))
    elif kind in ("q4_k", "q5_k"):
        raw[:, :2] = half(deviation / (32 * (15 if kind == "q4_k" else 31) / 3.46))
        raw[:, 2:4] = half(deviation / 32 * 1.73)
    else:
        raw[:, 208:] = half(deviation / (18.5 * 73))
    return raw.tobytes()


def is_local(case, i):
    return case.arch.startswith("gemma") and (i + 1) % (5 if case.arch == "gemma4" else 6) != 0


QWEN35 = dict(conv_kernel=4, state_size=64, group_count=2, time_step_rank=4, inner_size=256)  # of Gated DeltaNet


def qwen35_layer(case, i):
    """Returns the name, what it is and the shape of each tensor of a layer, as of tensors()."""
    dim, q, kv = case.dim, case.heads * case.head_dim, case.kv * case.head_dim
    names = [(norm + ".weight", "norm", (dim,)) for norm in ("attn_norm", "post_attention_norm")]
    if (i + 1) % 4 == 0:
        names += [(norm + ".weight", "norm", (case.head_dim,)) for norm in ("attn_q_norm", "attn_k_norm")]
        names += [(name + ".weight", "matrix", (rows, dim)) for name, rows in (("attn_q", 2 * q), ("attn_k", kv), ("attn_v", kv))]
        names.append(("attn_output.weight", "matrix", (dim, q)))
    names += [("ffn_gate.weight", "matrix", (case.ffn, dim)), ("ffn_up.weight", "matrix", (case.ffn, dim)),
              ("ffn_down.weight", "matrix", (dim, case.ffn))]
    if (i + 1) % 4 == 0:
        return names
    inner, heads, state = (QWEN35[name] for name in ("inner_size", "time_step_rank", "state_size"))
    channels = inner + 2 * QWEN35["group_count"] * state
    return names + [("attn_qkv.weight", "matrix", (channels, dim)), ("attn_gate.weight", "matrix", (inner, dim)),
                    ("ssm_alpha.weight", "small matrix", (heads, dim)), ("ssm_beta.weight", "small matrix", (heads, dim)),
                    ("ssm_a", "decay", (heads,)), ("ssm_dt.bias", "bias", (heads,)),
                    ("ssm_conv1d.weight", "convolution", (channels, QWEN35["conv_kernel"])),
                    ("ssm_norm.weight", "plain norm", (state,)), ("ssm_out.weight", "matrix", (dim, inner))]


def tensors(case, n_vocab):
    """Yields the name, what it is and the shape of each tensor, in the order of the file."""
    dim, gemma4 = case.dim, case.arch == "gemma4"
    yield "token_embd.weight", "embed", (n_vocab, dim)
    if case.arch == "gpt2":
        yield "position_embd.weight", "positions", (CONTEXT, dim)
    for i in range(case.layers):
        names, local = [], is_local(case, i)
        own = i < case.layers - case.shared
        width = 2 * case.head_dim if gemma4 and not local else case.head_dim
        equal = gemma4 and not case.per_layer and not local  # keys are values there
        q, kv, ffn = case.heads * width, (1 if equal else case.kv) * width, case.ffn * (1 if own else 2)
        if case.arch == "gpt2":
            for norm in ("attn_norm", "ffn_norm"):
                names += [(norm + ".weight", "norm", (dim,)), (norm + ".bias", "bias", (dim,))]
            for name, shape in (("attn_qkv", (3 * dim, dim)), ("attn_output", (dim, dim)), ("ffn_up", (case.ffn, dim)),
                                ("ffn_down", (dim, case.ffn))):
                names += [(name + ".weight", "matrix", shape), (name + ".bias", "bias", shape[:1])]
        elif case.arch == "qwen35":
            names += qwen35_layer(case, i)
        else:
            of_gemma = ["post_attention_norm", "ffn_norm", "post_ffw_norm"] + ["post_norm"] * bool(case.per_layer)
            for norm in ["attn_norm"] + (of_gemma if case.arch.startswith("gemma") else ["ffn_norm"]):
                names.append((norm + ".weight", "norm", (dim,)))
            if case.arch in ("qwen3", "qwen3moe", "gemma3", "gemma4"):
                names.append(("attn_q_norm.weight", "small norm" if gemma4 else "norm", (width,)))
                names += [("attn_k_norm.weight", "norm", (width,))] * own
            for name, rows, there in (("attn_q", q, True), ("attn_k", kv, own), ("attn_v", kv, own and not equal)):
                names += [(name + ".weight", "matrix", (rows, dim))] * there
                names += [(name + ".bias", "bias", (rows,))] * (case.arch == "qwen2")
            names.append(("attn_output.weight", "matrix", (dim, q)))
            if case.experts:
                names.append(("ffn_gate_inp.weight", "router", (case.experts, dim)))
                names += [(f"ffn_{name}_exps.weight", "matrix", (case.experts, rows, columns))
                          for name, rows, columns in (("gate", EXPERT, dim), ("up", EXPERT, dim), ("down", dim, EXPERT))]
            else:
                names += [("ffn_gate.weight", "matrix", (ffn, dim)), ("ffn_up.weight", "matrix", (ffn, dim)),
                          ("ffn_down.weight", "matrix", (dim, ffn))]
            names += [("layer_output_scale.weight", "scalar", (1,))] * gemma4
            if case.per_layer:
                names += [("inp_gate.weight", "matrix", (case.per_layer, dim)), ("proj.weight", "matrix", (dim, case.per_layer))]
        for name, what, shape in names:
            yield f"blk.{i}.{name}", what, shape
    if case.per_layer:
        yield "per_layer_token_embd.weight", "embed", (n_vocab, case.layers * case.per_layer)
        yield "per_layer_model_proj.weight", "float matrix", (case.layers * case.per_layer, dim)
        yield "per_layer_proj_norm.weight", "norm", (case.per_layer,)
    if case.arch == "gpt2":
        yield "output.weight", "the embedding", (n_vocab, dim)
    yield "output_norm.weight", "norm", (dim,)
    if case.arch == "gpt2":
        yield "output_norm.bias", "bias", (dim,)
    if case.head:
        yield "output.weight", "head", (n_vocab, dim)


def draw(case, rng, n_vocab):
    """Returns the file's tensors (name, kind, shape, bytes)."""
    file, plus = [], np.float32(1 if case.arch in ("gemma3", "qwen35") else 0)
    wide = 0.05 if case.arch.startswith("gemma") else 1.0
    numbers = {"norm": lambda s: (1 - plus + 0.2 * rng.standard_normal(s)).astype(np.float32) + plus,
               "small norm": lambda s: 0.15 * (1 + 0.2 * rng.standard_normal(s)),
               "router": lambda s: (rng.standard_normal(s) / math.sqrt(s[-1]) * 2).astype(np.float32),
               "plain norm": lambda s: 1 + 0.2 * rng.standard_normal(s), "decay": lambda s: -np.exp(rng.uniform(-2, 1.5, s)),
               "convolution": lambda s: 0.5 * rng.standard_normal(s),
               "bias": lambda s: 0.1 * rng.standard_normal(s), "scalar": lambda s: 0.7 + 0.3 * rng.random(s)}
    kinds = {"embed": case.embd, "positions": "f32", "matrix": case.proj, "float matrix": "f32", "head": case.head,
             "small matrix": case.proj if case.proj == "q8_0" else "bf16"}
    for name, what, shape in tensors(case, n_vocab):
        if what == "the embedding":
            file.append((name, *file[0][1:]))
        elif what in numbers:
            file.append((name, "f32", shape, numbers[what](shape).astype("<f4").tobytes()))
        else:
            deviation = wide if what in ("embed", "positions") else 1 / math.sqrt(shape[-1])
            file.append((name, kinds[what], shape, blocks(rng, kinds[what], shape, deviation)))
    return file


def factors(name, case):
    """Returns rope_freqs of the models that have them."""
    if name == "llama3-rope":
        h = case.head_dim
        turns = np.asarray([1.0 / 5e5 ** (2 * i / h) for i in range(h // 2)])
        length = 2 * math.pi / turns
        blend = (64 / length - 1) / 3
        return np.where(length < 64 / 4, 1, np.where(length > 64 / 1, 8, 1 / ((1 - blend) / 8 + blend))).astype("<f4")
    if case.arch == "gemma4":
        values = np.full(case.head_dim, 1e30, "<f4")
        values[:case.head_dim // 4] = 1
        return values
    return None


def of_gemma4(case):
    A, local = "gemma4", [is_local(case, i) for i in range(case.layers)]
    one = lambda name, value, kind=U32: key(f"{A}.{name}", kind, value)
    ffn = [case.ffn * (2 if case.shared and i >= case.layers - case.shared else 1) for i in range(case.layers)]
    kv = [case.kv if case.per_layer or here else 1 for here in local]
    return [one("attention.sliding_window", 16), one("attention.shared_kv_layers", case.shared),
            one("attention.key_length", 64), one("attention.value_length", 64), one("attention.key_length_swa", 32),
            one("attention.value_length_swa", 32), one("rope.freq_base", 1e6, FLOAT), one("rope.freq_base_swa", 1e4, FLOAT),
            one("rope.dimension_count", 64), one("rope.dimension_count_swa", 32),
            one("final_logit_softcapping", 30.0, FLOAT), one("embedding_length_per_layer_input", case.per_layer),
            key(A + ".attention.sliding_window_pattern", ARRAY, local, BOOL),
            key(A + ".feed_forward_length", ARRAY, ffn, I32), key(A + ".attention.head_count_kv", ARRAY, kv, I32)]


def metadata(name, case):
    tokens, types = make_references.vocabulary()
    A, bos = case.arch, tokens.index("<|begin_of_text|>")
    one = lambda key_name, value, kind=U32: key(f"{A}.{key_name}", kind, value)
    meta = [key("general.architecture", STRING, A), key("general.name", STRING, name), one("context_length", CONTEXT),
            one("embedding_length", case.dim), one("block_count", case.layers), one("vocab_size", len(tokens)),
            one("attention.head_count", case.heads)]
    if A == "gemma4":
        meta += of_gemma4(case)
    else:
        meta.append(one("attention.head_count_kv", case.kv))
        if A != "gpt2":
            meta.append(one("rope.freq_base", case.base, FLOAT))
        if A == "gemma3":
            meta += [one("rope.scaling.type", "linear", STRING), one("rope.scaling.factor", 8.0, FLOAT),
                     one("attention.sliding_window", 16)]
        if A == "qwen35":
            meta += [one("rope.dimension_count", 16), key(A + ".rope.dimension_sections", ARRAY, [3, 3, 2, 0], I32),
                     *(one("ssm." + what, value) for what, value in QWEN35.items()), one("full_attention_interval", 4)]
        if case.experts:
            meta += [one("expert_count", case.experts), one("expert_used_count", 2),
                     one("expert_feed_forward_length", EXPERT)]
        meta.append(one("feed_forward_length", case.ffn))
    eps = 1e-6 if A.startswith("gemma") or A == "qwen35" else 1e-5
    meta.append(one("attention.layer_norm_epsilon" if A == "gpt2" else "attention.layer_norm_rms_epsilon", eps, FLOAT))
    if A not in ("gpt2", "gemma4"):
        meta += [one("attention.key_length", case.head_dim), one("attention.value_length", case.head_dim)]
    if A == "llama":
        meta.append(one("rope.dimension_count", case.head_dim))
    return meta + [key("tokenizer.ggml.model", STRING, "gpt2"), key("tokenizer.ggml.pre", STRING, "llama-bpe"),
                   key("tokenizer.ggml.tokens", ARRAY, tokens, STRING), key("tokenizer.ggml.token_type", ARRAY, types, I32),
                   key("tokenizer.ggml.merges", ARRAY, [], STRING), key("tokenizer.ggml.bos_token_id", U32, bos),
                   key("tokenizer.ggml.eos_token_id", U32, bos + 1), key("general.quantization_version", U32, 2)]


def make(name, path):
    """Writes the model and returns its ids."""
    case, n_vocab = CASES[name], len(make_references.vocabulary()[0])
    rng = np.random.Generator(np.random.PCG64([SEED, zlib.crc32(name.encode())]))
    file = draw(case, rng, n_vocab)
    ids = rng.integers(0, n_vocab, case.n)
    turns, meta = factors(name, case), metadata(name, case)
    if turns is not None:
        file.append(("rope_freqs.weight", "f32", turns.shape, turns.tobytes()))
    directory, data = b"", b""
    for ours, kind, shape, values in file:
        directory += text(ours) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape[::-1])
        directory += struct.pack("<IQ", gguf_types.KINDS[kind].id, len(data))
        data += values + b"\0" * (-len(values) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(file), len(meta)) + b"".join(meta) + directory
    pathlib.Path(path).write_bytes(head + b"\0" * (-len(head) % 32) + data)
    return ids


def digest(path):
    return np.frombuffer(hashlib.sha256(pathlib.Path(path).read_bytes()).digest(), np.uint8)


def unpack(folder, names=None):
    """As of reference_models."""
    models, known = {}, np.load(LOGITS)
    for name in CASES:
        if names is None or name in names:
            path = pathlib.Path(folder) / f"{name}.gguf"
            ids = make(name, path)
            assert np.array_equal(digest(path), known[name + "/digest"]), f"{name} is another file than it was"
            models[name] = (path, dict(ids=ids, logits=known[name + "/logits"].astype(np.float32)))
    return models


if __name__ == "__main__":
    unpack(sys.argv[1], sys.argv[2:] or None)
