#!/usr/bin/env python3
"""Write a small GGUF of any ternary family with seeded random weights: bitnet*, llama, qwen2 or qwen3.

    make_family.py out.gguf --arch qwen3 --proj q2_0 --embd q2_0 --yarn 4 --original-context 64 --seed 7

Keys and names are those that llama.cpp's converter writes. The same arguments give the same bytes (of one numpy). The
weights keep the variance of what goes through them, so that a mistake anywhere shows in the logits.
"""
import argparse
import struct

import numpy as np

import gguf_types
from make_model import ARRAY, BOOL, FLOAT, I32, STRING, TEMPLATE, U32, key, text, vocabulary

BITNET = ("bitnet", "bitnet-25", "bitnet-b1.58")
ARCHITECTURES = (*BITNET, "llama", "qwen2", "qwen3")
CODES = [0.3, 0.4, 0.3]  # the shares of -1, 0 and 1


def numbers(rng, kind, shape, deviation):
    """Returns the bytes of a random tensor [rows, columns] whose values have this standard deviation."""
    if kind not in gguf_types.TERNARY:
        return gguf_types.quantise(kind, rng.standard_normal(shape, np.float32) * deviation)
    codes = rng.choice(np.arange(3, dtype=np.uint8), shape, p=CODES)
    scale = deviation / np.sqrt(1 - CODES[1])
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


def tensors(a, n_vocab, head_dim):
    """Yields the name, the kind and the shape [rows, columns] of each tensor."""
    q, kv, sub_norms = a.heads * head_dim, a.kv * head_dim, a.arch in BITNET
    yield "token_embd.weight", a.embd, (n_vocab, a.dim)
    for i in range(a.layers):
        b = f"blk.{i}."
        for name, n, there in [("attn_norm", a.dim, True), ("attn_q_norm", head_dim, a.arch == "qwen3"),
                               ("attn_k_norm", head_dim, a.arch == "qwen3"), ("attn_sub_norm", q, sub_norms),
                               ("ffn_norm", a.dim, True), ("ffn_sub_norm", a.ffn, sub_norms)]:
            if there:
                yield f"{b}{name}.weight", "norm", (n,)
        for name, shape in [("attn_q", (q, a.dim)), ("attn_k", (kv, a.dim)), ("attn_v", (kv, a.dim)),
                            ("attn_output", (a.dim, q)), ("ffn_gate", (a.ffn, a.dim)), ("ffn_up", (a.ffn, a.dim)),
                            ("ffn_down", (a.dim, a.ffn))]:
            yield f"{b}{name}.weight", dict(a.other).get(name, a.proj), shape
            if a.arch == "qwen2" and name in ("attn_q", "attn_k", "attn_v"):
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
               "bias": lambda: 0.3 * rng.standard_normal(shape),
               "freqs": lambda: rng.uniform(1, 8, shape)}
    if kind in vectors:
        return 0, vectors[kind]().astype("<f4").tobytes()
    # Small embeddings: with a tied head they would else hide in the logits what the blocks do.
    deviation = 0.2 if name == "token_embd.weight" else 1 / np.sqrt(shape[1])
    return gguf_types.KINDS[kind].id, numbers(rng, kind, shape, deviation)


def metadata(a, rng, head_dim):
    """Returns the key-value pairs and the size of the vocabulary."""
    A = a.arch
    meta = [key("general.architecture", STRING, A), key("general.name", STRING, f"random {A} {a.seed}"),
            key(A + ".context_length", U32, a.ctx), key(A + ".embedding_length", U32, a.dim),
            key(A + ".block_count", U32, a.layers), key(A + ".feed_forward_length", U32, a.ffn),
            key(A + ".attention.head_count", U32, a.heads), key(A + ".attention.head_count_kv", U32, a.kv),
            key(A + ".attention.key_length", U32, head_dim), key(A + ".attention.value_length", U32, head_dim),
            key(A + ".rope.dimension_count", U32, a.rope_dims or head_dim), key(A + ".rope.freq_base", FLOAT, 500000.0),
            key(A + ".attention.layer_norm_rms_epsilon", FLOAT, 1e-5), key("general.quantization_version", U32, 2)]
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
                        help="a projection of another kind, for example attn_v=tq1_0")
    parser.add_argument("--embd", default="f16", choices=gguf_types.KINDS, help="kind of the token embedding")
    parser.add_argument("--head", default="tied", choices=("tied", *gguf_types.KINDS), help="kind of output.weight")
    for name, default in dict(dim=256, ffn=512, layers=2, heads=4, kv=2, ctx=256, vocab=384, seed=1).items():
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--head-dim", type=int, help="where it is not dim / heads")
    parser.add_argument("--rope-dims", type=int, help="where not all of a head is rotated")
    parser.add_argument("--activation", help="written as hidden_activation")
    parser.add_argument("--rope-freqs", action="store_true", help="a tensor of divisors of the frequencies")
    parser.add_argument("--linear", type=float, help="factor of linear RoPE scaling")
    parser.add_argument("--yarn", type=float, help="factor of YaRN")
    parser.add_argument("--original-context", type=int, default=64, help="what YaRN stretches")
    parser.add_argument("--outliers", type=float, help="one in 64 of what norms give is so many times as large")
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
