#!/usr/bin/env python3
"""Write a small GGUF of any family with seeded random weights: bitnet*, llama, qwen2, qwen3, qwen3moe, qwen35,
maple, phi3, gpt2, gemma3 or gemma4.

    make_family.py out.gguf --arch qwen3 --proj q2_0 --embd q2_0 --yarn 4 --original-context 64 --seed 7
    make_family.py out.gguf --proj q4_k --other 0.attn_v=q6_k --other 0.ffn_down=q6_k --head q6_k

Keys and names are those that llama.cpp's converter writes. The same arguments give the same bytes (of one numpy). The
weights keep the variance of what goes through them, so that a mistake anywhere shows in the logits.
"""
import argparse
import math
import struct

import numpy as np

import gguf_types
from make_model import ARRAY, BOOL, FLOAT, I32, STRING, TEMPLATE, U32, key, text, vocabulary

BITNET = ("bitnet", "bitnet-25", "bitnet-b1.58")
ARCHITECTURES = (*BITNET, "llama", "qwen2", "qwen3", "qwen3moe", "qwen35", "maple", "phi3", "gpt2", "gemma3", "gemma4")
GEMMA = ("gemma3", "gemma4")
EXPERTS = ("qwen3moe", "maple")
NOT_FOLDED = ("ssm_alpha.weight", "ssm_beta.weight", "ssm_conv1d.weight", "ffn_gate_inp.weight")
CODES = [0.3, 0.4, 0.3]  # the shares of -1, 0 and 1


def numbers(rng, kind, shape, deviation, fold=None):
    """Returns the bytes of a random tensor [rows, columns] whose values have this standard deviation.

    Values that are not ternary go through `fold` where it is given; ternary ones are drawn as what is folded already.
    """
    if len(shape) == 3:  # of experts
        shape = (shape[0] * shape[1], shape[2])
    if kind not in gguf_types.TERNARY:
        values = rng.standard_normal(shape, np.float32) * deviation
        return gguf_types.quantise(kind, fold(values) if fold else values)
    shares = [0.5, 0, 0.5] if kind == "q1_0" else CODES
    codes = rng.choice(np.arange(3, dtype=np.uint8), shape, p=shares)
    scale = deviation / math.sqrt(1 - shares[1])
    if kind in gguf_types.I2_S:
        return gguf_types.pack_ternary(kind, codes, scale)
    every = gguf_types.KINDS[kind].every
    return gguf_types.pack_ternary(kind, codes, scale * np.exp(rng.uniform(-0.5, 0.5, (shape[0], shape[1] // every))))


def sentence_pieces(size):
    """Returns the tokens, types and scores of an SPM vocabulary: three specials, 256 bytes, letters and pairs of them."""
    letters = ["\u2581", *"etaoinsrhldcumfpgwybvkxjqzETAOINSRHLDCUMFPGWYBVKXJQZ0123456789.,;:!?'-()\n"]
    pairs = [left + right for left in letters for right in letters if right != "\u2581"]
    normal = (letters + pairs)[:size - 259]
    assert len(normal) == size - 259, f"a vocabulary of pieces has 259 to {259 + len(letters) + len(pairs)} tokens"
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256)), *normal]
    return tokens, [2, 3, 3] + [6] * 256 + [1] * len(normal), [0.0] * 259 + [-float(i) for i in range(len(normal))]


def gpt2_tensors(a, n_vocab):
    """As tensors()."""
    yield "token_embd.weight", a.embd, (n_vocab, a.dim)
    yield "position_embd.weight", "positions", (a.ctx, a.dim)
    for i in range(a.layers):
        b = f"blk.{i}."
        for name, shape in [("attn_norm", (a.dim,)), ("attn_qkv", (3 * a.dim, a.dim)), ("attn_output", (a.dim, a.dim)),
                            ("ffn_norm", (a.dim,)), ("ffn_up", (a.ffn, a.dim)), ("ffn_down", (a.dim, a.ffn))]:
            yield f"{b}{name}.weight", "norm" if len(shape) == 1 else dict(a.other).get(name, a.proj), shape
            yield f"{b}{name}.bias", "bias", shape[:1]
    yield "output_norm.weight", "norm", (a.dim,)
    yield "output_norm.bias", "bias", (a.dim,)


def phi3_tensors(a, n_vocab, head_dim):
    """As tensors()."""
    yield "token_embd.weight", a.embd, (n_vocab, a.dim)
    for i in range(a.layers):
        b, q = f"blk.{i}.", a.heads * head_dim
        for name, shape in [("attn_norm", (a.dim,)), ("attn_qkv", (q + 2 * a.kv * head_dim, a.dim)), ("attn_output", (a.dim, q)),
                            ("ffn_norm", (a.dim,)), ("ffn_up", (2 * a.ffn, a.dim)), ("ffn_down", (a.dim, a.ffn))]:
            yield f"{b}{name}.weight", "norm" if len(shape) == 1 else dict(a.other).get(name, a.proj), shape
            if name in dict(a.scale):
                yield f"{b}{name}.scale", "scale " + dict(a.scale)[name], (1,)
    yield "output_norm.weight", "norm", (a.dim,)
    for length in ("long", "short") if a.long_rope else ():
        yield f"rope_factors_{length}.weight", "freqs", ((a.rope_dims or head_dim) // 2,)
    if a.head != "tied":
        yield "output.weight", a.head, (n_vocab, a.dim)


def local_layers(a):
    """Returns for each layer of Gemma whether it has a window."""
    return [(i + 1) % a.pattern != 0 for i in range(a.layers)]


def gemma_tensors(a, n_vocab, head_dim):
    """As tensors()."""
    gemma4 = a.arch == "gemma4"
    yield "token_embd.weight", a.embd, (n_vocab, a.dim)
    for i, local in enumerate(local_layers(a)):
        b, width = f"blk.{i}.", a.swa_head_dim or head_dim if local else head_dim
        q, kv, own = a.heads * width, a.kv * width, i < a.layers - a.shared
        ffn = a.ffn if own else 2 * a.ffn
        for name, shape, there in [
                ("attn_norm", (a.dim,), True), ("attn_q_norm", (width,), True), ("attn_k_norm", (width,), own),
                ("post_attention_norm", (a.dim,), True), ("ffn_norm", (a.dim,), True), ("post_ffw_norm", (a.dim,), True),
                ("attn_q", (q, a.dim), True), ("attn_k", (kv, a.dim), own),
                ("attn_v", (kv, a.dim), own and (local or not a.keys_are_values)), ("attn_output", (a.dim, q), True),
                ("ffn_gate", (ffn, a.dim), True), ("ffn_up", (ffn, a.dim), True), ("ffn_down", (a.dim, ffn), True),
                ("layer_output_scale", (1,), gemma4), ("inp_gate", (a.per_layer, a.dim), a.per_layer),
                ("proj", (a.dim, a.per_layer), a.per_layer), ("post_norm", (a.dim,), a.per_layer)]:
            # Scores that are not scaled want small queries.
            norm = "small norm" if gemma4 and name == "attn_q_norm" else "norm"
            if there:
                yield f"{b}{name}.weight", norm if len(shape) == 1 else dict(a.other).get(name, a.proj), shape
    if a.per_layer:
        yield "per_layer_token_embd.weight", a.embd, (n_vocab, a.layers * a.per_layer)
        yield "per_layer_model_proj.weight", "f32", (a.layers * a.per_layer, a.dim)
        yield "per_layer_proj_norm.weight", "norm", (a.per_layer,)
    yield "output_norm.weight", "norm", (a.dim,)
    if gemma4:
        yield "rope_freqs.weight", "part freqs", (head_dim // 2,)


def feed_forward(a):
    """Returns the names and shapes of the matrices of a block's feed-forward."""
    shapes = [("ffn_gate", (a.ffn, a.dim)), ("ffn_up", (a.ffn, a.dim)), ("ffn_down", (a.dim, a.ffn))]
    if a.arch not in EXPERTS:
        return shapes
    return [("ffn_gate_inp", (a.experts, a.dim)), *((name + "_exps", (a.experts, *shape)) for name, shape in shapes)]


def qwen35_tensors(a, n_vocab, head_dim):
    """As tensors()."""
    q, kv, other = 2 * a.heads * head_dim, a.kv * head_dim, dict(a.other)
    channels, inner = (2 * a.k_heads + a.v_heads) * a.state, a.v_heads * a.state
    yield "token_embd.weight", a.embd, (n_vocab, a.dim)
    for i in range(a.layers):
        delta = [("attn_qkv", (channels, a.dim)), ("attn_gate", (inner, a.dim)), ("ssm_alpha", (a.v_heads, a.dim)),
                 ("ssm_beta", (a.v_heads, a.dim)), ("ssm_out", (a.dim, inner))]
        full = [("attn_q_norm", (head_dim,)), ("attn_k_norm", (head_dim,)), ("attn_q", (q, a.dim)), ("attn_k", (kv, a.dim)),
                ("attn_v", (kv, a.dim)), ("attn_output", (a.dim, a.heads * head_dim))]
        is_delta = (i + 1) % a.interval != 0
        for name, shape in [("attn_norm", (a.dim,)), ("post_attention_norm", (a.dim,)), *(delta if is_delta else full), *feed_forward(a)]:
            yield f"blk.{i}.{name}.weight", "norm" if len(shape) == 1 else other.get(name, a.proj), shape
        if is_delta:
            yield f"blk.{i}.ssm_conv1d.weight", "conv", (channels, a.conv)
            yield f"blk.{i}.ssm_dt.bias", "bias", (a.v_heads,)
            yield f"blk.{i}.ssm_a", "decay", (a.v_heads,)
            yield f"blk.{i}.ssm_norm.weight", "norm", (a.state,)
    yield "output_norm.weight", "norm", (a.dim,)
    if a.head != "tied":
        yield "output.weight", a.head, (n_vocab, a.dim)


def tensors(a, n_vocab, head_dim):
    """Yields the name, the kind and the shape [rows, columns] of each tensor."""
    if a.arch == "gpt2":
        return (yield from gpt2_tensors(a, n_vocab))
    if a.arch == "phi3":
        return (yield from phi3_tensors(a, n_vocab, head_dim))
    if a.arch == "qwen35":
        return (yield from qwen35_tensors(a, n_vocab, head_dim))
    if a.arch in GEMMA:
        return (yield from gemma_tensors(a, n_vocab, head_dim))
    q, kv, sub_norms = a.heads * head_dim, a.kv * head_dim, a.arch in BITNET
    yield "token_embd.weight", a.embd, (n_vocab, a.dim)
    for i in range(a.layers):
        b = f"blk.{i}."
        for name, n, there in [("attn_norm", a.dim, True), ("attn_q_norm", head_dim, a.arch in ("qwen3", *EXPERTS)),
                               ("attn_k_norm", head_dim, a.arch in ("qwen3", *EXPERTS)), ("attn_sub_norm", q, sub_norms),
                               ("ffn_norm", a.dim, True), ("ffn_sub_norm", a.ffn, sub_norms)]:
            if there:
                yield f"{b}{name}.weight", "norm", (n,)
        for name, shape in [("attn_q", (q, a.dim)), ("attn_k", (kv, a.dim)), ("attn_v", (kv, a.dim)),
                            ("attn_output", (a.dim, q)), *feed_forward(a)]:
            other = dict(a.other)
            usual = "f32" if name == "ffn_gate_inp" else a.proj
            yield f"{b}{name}.weight", other.get(f"{i}.{name}", other.get(name, usual)), shape
            if a.biases or a.arch == "qwen2" and name in ("attn_q", "attn_k", "attn_v"):
                yield f"{b}{name}.bias", "bias", shape[:1]
    yield "output_norm.weight", "norm", (a.dim,)
    if a.rope_freqs:
        yield "rope_freqs.weight", "freqs", ((a.rope_dims or head_dim) // 2,)
    if a.head != "tied":
        yield "output.weight", a.head, (n_vocab, a.dim)


def tensor(a, rng, name, kind, shape):
    """Returns the type's number and the bytes."""
    outliers = lambda: np.where(rng.random(shape) < 1 / 64, a.outliers, 1) if a.outliers else 1
    vectors = {"norm": lambda: (1 + 0.2 * rng.standard_normal(shape)) * outliers(),
               "small norm": lambda: 0.15 * (1 + 0.2 * rng.standard_normal(shape)),
               "bias": lambda: 0.3 * rng.standard_normal(shape),
               "positions": lambda: 0.1 * rng.standard_normal(shape),
               "conv": lambda: rng.standard_normal(shape) * 0.5,
               "decay": lambda: -np.exp(rng.uniform(-4, 2, shape)),
               "freqs": lambda: rng.uniform(1, 8, shape),
               "part freqs": lambda: np.where(np.arange(shape[0]) < shape[0] // 4, 1, 1e30)}
    if kind.startswith("scale "):
        return 0, struct.pack("<f", float(kind.removeprefix("scale ")))
    if kind in vectors:
        return 0, vectors[kind]().astype("<f4").tobytes()
    # Small embeddings: with a tied head they would else hide in the logits what the blocks do.
    # Gemma multiplies them with sqrt(dim).
    deviation = (a.embd_deviation or (0.02 if a.arch in GEMMA else 0.2)) if name.endswith("token_embd.weight") else 1 / math.sqrt(shape[-1])
    if name.endswith("ffn_gate_inp.weight"):
        deviation *= 2  # so that some experts are clearly likelier
    return gguf_types.KINDS[kind].id, numbers(rng, kind, shape, deviation, fold_of(a, name, shape[-1]))


# ---- a Walsh-Hadamard transform, as Bonsai 2 has it ----

def is_folded(a, name):
    """Says whether the transform is folded into a matrix: into all but those of small rows, as ssm_alpha is."""
    return a.hadamard and name.endswith(".weight") and not name.endswith(NOT_FOLDED)


def signs_of(a, width):
    return np.random.Generator(np.random.PCG64([a.seed, width])).choice([-1, 1], width)


def fold_of(a, name, width):
    """Returns the function that folds it into rows of floats, or None: a row w becomes H (s w). So W x is W' H (s x).

    The columns of ssm_out are in groups of the heads of values that share a key before that (gdn_v_grouped).
    """
    if not is_folded(a, name):
        return None

    def fold(rows):
        if name.endswith("ssm_out.weight"):
            rows = rows.reshape(len(rows), -1, a.k_heads, a.state).swapaxes(1, 2).reshape(rows.shape)
        values = (rows * signs_of(a, width)).reshape(len(rows), -1, a.hadamard).astype(np.float64)
        for h in (1 << i for i in range(a.hadamard.bit_length() - 1)):
            pairs = values.reshape(len(rows), -1, 2, h)
            values = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], 2)
        return values.reshape(rows.shape) / math.sqrt(a.hadamard)

    return fold


def folded_matrices(a, n_vocab, head_dim):
    return {name: shape for name, _, shape in tensors(a, n_vocab, head_dim) if len(shape) == 2 and is_folded(a, name)}


def sign_widths(a, n_vocab, head_dim):
    return sorted({shape[-1] for shape in folded_matrices(a, n_vocab, head_dim).values()})


def hadamard_keys(a, n_vocab, head_dim):
    matrices, widths = folded_matrices(a, n_vocab, head_dim), sign_widths(a, n_vocab, head_dim)
    embedding = matrices.pop("token_embd.weight", None)
    P = "prism.hadamard."
    return [key(P + "version", U32, 2 if a.head == "tied" else 1), key(P + "block_size", U32, a.hadamard),
            key(P + "transform", STRING, "normalized-sylvester-walsh-hadamard"), key(P + "axis", STRING, "input-last-dimension"),
            key(P + "sign_mode", STRING, "explicit"), key(P + "sign_widths", ARRAY, widths, I32),
            key(P + "sign_values", ARRAY, [int(s) for width in widths for s in signs_of(a, width)], I32),
            key(P + "weight_names", ARRAY, list(matrices), STRING),
            key(P + "inverse_weight_names", ARRAY, ["token_embd.weight"] if embedding else [], STRING),
            key(P + "gdn_v_grouped", BOOL, True)]


def metadata(a, rng, head_dim):
    """Returns the key-value pairs and the size of the vocabulary."""
    A = a.arch
    meta = [key("general.architecture", STRING, A), key("general.name", STRING, f"random {A} {a.seed}"),
            key(A + ".context_length", U32, a.ctx), key(A + ".embedding_length", U32, a.dim),
            key(A + ".block_count", U32, a.layers), key(A + ".feed_forward_length", U32, a.ffn),
            key(A + ".attention.head_count", U32, a.heads), key(A + ".attention.head_count_kv", U32, a.kv),
            key(A + ".attention.key_length", U32, head_dim), key(A + ".attention.value_length", U32, head_dim),
            key(A + ".rope.dimension_count", U32, a.rope_dims or head_dim), key(A + ".rope.freq_base", FLOAT, 500000.0),
            key(A + f".attention.layer_norm{'' if A == 'gpt2' else '_rms'}_epsilon", FLOAT, 1e-5),
            key("general.quantization_version", U32, 2)]
    if A in GEMMA or A == "phi3":
        meta.append(key(A + ".attention.sliding_window", U32, a.window))
    if a.long_rope:
        meta += [key(A + ".rope.scaling.original_context_length", U32, a.original_context),
                 key(A + ".rope.scaling.attn_factor", FLOAT, a.long_rope)]
    if A == "gemma3":
        meta.append(key(A + ".attention.sliding_window_pattern", U32, a.pattern))
    if A == "gemma4":
        meta = [entry for entry in meta if b".feed_forward_length" not in entry and b".head_count_kv" not in entry]
        swa = a.swa_head_dim or head_dim
        meta += [key(A + ".attention.sliding_window_pattern", ARRAY, local_layers(a), BOOL),
                 key(A + ".feed_forward_length", ARRAY, [a.ffn] * (a.layers - a.shared) + [2 * a.ffn] * a.shared, I32),
                 key(A + ".attention.head_count_kv", ARRAY, [a.kv] * a.layers, I32),
                 key(A + ".attention.shared_kv_layers", U32, a.shared), key(A + ".attention.key_length_swa", U32, swa),
                 key(A + ".attention.value_length_swa", U32, swa), key(A + ".rope.dimension_count_swa", U32, swa),
                 key(A + ".rope.freq_base_swa", FLOAT, 10000.0), key(A + ".final_logit_softcapping", FLOAT, 30.0),
                 key(A + ".embedding_length_per_layer_input", U32, a.per_layer)]
    if A in EXPERTS:
        meta = [entry for entry in meta if b".feed_forward_length" not in entry]
        meta += [key(A + ".expert_count", U32, a.experts), key(A + ".expert_used_count", U32, a.used),
                 key(A + ".expert_feed_forward_length", U32, a.ffn)]
    if a.sigmoid:
        meta.append(key(A + ".expert_gating_func", U32, 2))
    if A == "qwen35":
        pairs = (a.rope_dims or head_dim) // 2
        meta += [key(A + ".rope.dimension_sections", ARRAY, [pairs - 2 * (pairs // 3), pairs // 3, pairs // 3, 0], I32),
                 key(A + ".ssm.conv_kernel", U32, a.conv), key(A + ".ssm.state_size", U32, a.state),
                 key(A + ".ssm.group_count", U32, a.k_heads), key(A + ".ssm.time_step_rank", U32, a.v_heads),
                 key(A + ".ssm.inner_size", U32, a.v_heads * a.state), key(A + ".full_attention_interval", U32, a.interval)]
    if A == "maple":
        meta += [key(A + ".attention.sliding_window", U32, a.window), key(A + ".swiglu_clamp_exp", ARRAY, [1.5 - 0.25 * i for i in range(a.layers)], FLOAT),
                 key(A + ".attention.sliding_window_pattern", ARRAY, local_layers(a), BOOL)]
    if a.activation:
        meta.append(key(A + ".hidden_activation", STRING, a.activation))
    for kind, factor in (("linear", a.linear), ("yarn", a.yarn)):
        if factor:
            meta += [key(A + ".rope.scaling.type", STRING, kind), key(A + ".rope.scaling.factor", FLOAT, factor),
                     key(A + ".rope.scaling.original_context_length", U32, a.original_context)]
    if a.spm:
        tokens, types, scores = sentence_pieces(a.vocab)
        bos, eos = 1, 2
        meta += [key("tokenizer.ggml.model", STRING, "llama"), key("tokenizer.ggml.scores", ARRAY, scores, FLOAT)]
    else:
        tokens, types, merges = vocabulary(a.vocab, rng)
        bos, eos = tokens.index("<|begin_of_text|>"), tokens.index("<|eot_id|>")
        meta += [key("tokenizer.ggml.model", STRING, "gpt2"), key("tokenizer.ggml.merges", ARRAY, merges, STRING),
                 key("tokenizer.ggml.pre", STRING, "qwen2" if A.startswith("qwen") else "llama-bpe"),
                 *([key("tokenizer.chat_template", STRING, a.template)] if a.template else [])]
    if a.hadamard:
        meta += hadamard_keys(a, len(tokens), head_dim)
    meta += [key("tokenizer.ggml.tokens", ARRAY, tokens, STRING), key("tokenizer.ggml.token_type", ARRAY, types, I32),
             key("tokenizer.ggml.bos_token_id", U32, bos), key("tokenizer.ggml.eos_token_id", U32, eos),
             key("tokenizer.ggml.add_bos_token", BOOL, not A.startswith("qwen"))]
    return meta, len(tokens)


def parse(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--arch", default="llama", choices=ARCHITECTURES)
    parser.add_argument("--proj", default="i2_s", choices=gguf_types.KINDS, help="kind of the projections")
    parser.add_argument("--other", action="append", default=[], metavar="NAME=KIND", type=lambda pair: pair.split("="),
                        help="a projection of another kind, for example attn_v=tq1_0, or 1.attn_v=q6_k in one layer")
    parser.add_argument("--scale", action="append", default=[], metavar="NAME=X", type=lambda pair: pair.split("="),
                        help="of a projection of Phi-3, a tensor of its own")
    parser.add_argument("--embd", default="f16", choices=gguf_types.KINDS, help="kind of the token embedding")
    parser.add_argument("--head", default="tied", choices=("tied", *gguf_types.KINDS), help="kind of output.weight")
    for name, default in dict(dim=256, ffn=512, layers=2, heads=4, kv=2, ctx=256, vocab=384, seed=1).items():
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--head-dim", type=int, help="where it is not dim / heads")
    parser.add_argument("--embd-deviation", type=float, help="of the token embedding; a small one lets answers wander")
    parser.add_argument("--rope-dims", type=int, help="where not all of a head is rotated")
    parser.add_argument("--activation", help="written as hidden_activation")
    parser.add_argument("--rope-freqs", action="store_true", help="a tensor of divisors of the frequencies")
    parser.add_argument("--linear", type=float, help="factor of linear RoPE scaling")
    parser.add_argument("--yarn", type=float, help="factor of YaRN")
    parser.add_argument("--long-rope", type=float, help="factor of the scores of LongRoPE, with two tensors of divisors")
    parser.add_argument("--original-context", type=int, default=64, help="what YaRN or LongRoPE stretches")
    parser.add_argument("--biases", action="store_true", help="of all projections of a llama")
    parser.add_argument("--window", type=int, default=16, help="keys that a local layer of Gemma or maple, or one of Phi-3, sees")
    parser.add_argument("--pattern", type=int, default=3, help="every so many layers of Gemma or maple one sees all keys")
    parser.add_argument("--swa-head-dim", type=int, help="of Gemma's local layers")
    parser.add_argument("--experts", type=int, default=8, help="of a layer, where the architecture has experts")
    parser.add_argument("--used", type=int, default=2, help="experts of a token")
    parser.add_argument("--sigmoid", action="store_true", help="as what the router gives probabilities")
    parser.add_argument("--shared", type=int, default=0, help="last layers that use the keys of an earlier one")
    parser.add_argument("--keys-are-values", action="store_true", help="in Gemma's global layers")
    parser.add_argument("--per-layer", type=int, default=0, help="features that each layer of Gemma is given")
    parser.add_argument("--interval", type=int, default=2, help="every so many layers of Qwen3.5 one has attention")
    for name, default, what in (("k-heads", 2, "heads of keys"), ("v-heads", 4, "heads of values"), ("state", 64, "features of a head"),
                                ("conv", 4, "inputs of a convolution")):
        parser.add_argument("--" + name, type=int, default=default, help=what + " of a DeltaNet")
    parser.add_argument("--outliers", type=float, help="one in 64 of what norms give is so many times as large")
    parser.add_argument("--hadamard", type=int, default=0, help="a transform of such blocks is folded into the matrices")
    parser.add_argument("--template", default=TEMPLATE, help="the chat template; an empty one is left out")
    parser.add_argument("--spm", action="store_true", help="a vocabulary of sentence pieces with scores")
    a = parser.parse_args(arguments)
    assert a.heads % a.kv == 0
    return a


def main(arguments=None):
    a = parse(arguments)
    head_dim = a.head_dim or a.dim // a.heads
    rng = np.random.Generator(np.random.PCG64(a.seed))
    meta, n_vocab = metadata(a, rng, head_dim)
    directory, data, count = b"", [], 0
    at = 0
    for name, kind, shape in tensors(a, n_vocab, head_dim):
        number, values = tensor(a, rng, name, kind, shape)
        directory += text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape[::-1])
        directory += struct.pack("<IQ", number, at)
        data.append(values + b"\0" * (-len(values) % 32))
        at, count = at + len(data[-1]), count + 1
    head = b"GGUF" + struct.pack("<IQQ", 3, count, len(meta)) + b"".join(meta) + directory
    with open(a.out, "wb") as out:
        out.write(head + b"\0" * (-len(head) % 32) + b"".join(data))


if __name__ == "__main__":
    main()
