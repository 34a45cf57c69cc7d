#!/usr/bin/env python3
"""Write a small BitNet b1.58 GGUF of any shape with seeded random weights and a byte-level vocabulary of its own.

    make_model.py out.gguf --dim 384 --ffn 896 --heads 6 --kv 2 --layers 2 --seed 7

The keys, names and types are those of the published 2B4T file. The same arguments give the same bytes.
"""
import argparse
import struct

import numpy as np

STRING, ARRAY, BOOL, U32, I32, FLOAT = 8, 9, 7, 4, 5, 6
F32, F16, I2_S = 0, 1, 36
SPECIALS = ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
# "Role: content<|eot_id|>" for each message, as the model was trained with.
TEMPLATE = ("{% for message in messages %}{% if loop.first %}{{ bos_token }}{% endif %}"
            "{{ message['role'] | capitalize + ': ' + message['content'] | trim + '<|eot_id|>' }}{% endfor %}"
            "{% if add_generation_prompt %}{{ 'Assistant: ' }}{% endif %}")
ZEROS = 0.42  # the share of zeros among the published model's weights


def byte_alphabet():
    """Returns GPT-2's printable character for each byte."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [b for b in range(256) if b not in shown]
    return {**{b: chr(b) for b in shown}, **{b: chr(256 + i) for i, b in enumerate(hidden)}}


def vocabulary(size, rng):
    """Returns 256 bytes, merges of pairs until `size` is reached, and the specials last."""
    alphabet = byte_alphabet()
    tokens = [alphabet[b] for b in range(256)]
    known, merges = set(tokens), []
    letters = [alphabet[ord(c)] for c in " etaoinsrhldcumfpgwyb"]
    pool = list(letters)
    assert size >= 256 + len(SPECIALS), f"a vocabulary has at least {256 + len(SPECIALS)} tokens"
    while len(tokens) < size - len(SPECIALS):
        left, right = pool[rng.integers(len(pool))], letters[rng.integers(len(letters))]
        if len(left) >= 6 or left + right in known:
            continue
        known.add(left + right)
        tokens.append(left + right)
        pool.append(left + right)
        merges.append(f"{left} {right}")
    return tokens + SPECIALS, [1] * len(tokens) + [3] * len(SPECIALS), merges


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


def ternary(rng, shape, lanes):
    n = int(np.prod(shape))
    codes = rng.choice(np.array([0, 1, 2], np.uint8), n, p=[(1 - ZEROS) / 2, ZEROS, (1 - ZEROS) / 2])
    q = codes.reshape(-1, 4, lanes)
    packed = q[:, 0] << 6 | q[:, 1] << 4 | q[:, 2] << 2 | q[:, 3]
    scale = 1 / np.sqrt(shape[0] * (1 - ZEROS))  # keeps the variance of what goes through
    return packed.tobytes() + struct.pack("<f", scale) + b"\xff" * 28  # what readers must not look at


def weights(a, n_vocab, head_dim):
    """Returns the name, the shape (ne0 first) and the type of each tensor."""
    q, kv = a.heads * head_dim, a.kv * head_dim
    embd = {"f16": F16, "f32": F32}[a.embd]
    plan = [("token_embd.weight", (a.dim, n_vocab), embd)]
    for i in sorted(range(a.layers), key=str):  # the published file has 0, 1, 10, 11, ..., 2, 20
        plan += [(f"blk.{i}.{name}.weight", shape, kind) for name, shape, kind in [
            ("attn_norm", (a.dim,), F32), ("ffn_down", (a.ffn, a.dim), I2_S), ("ffn_sub_norm", (a.ffn,), F32),
            ("ffn_gate", (a.dim, a.ffn), I2_S), ("ffn_up", (a.dim, a.ffn), I2_S), ("ffn_norm", (a.dim,), F32),
            ("attn_sub_norm", (q,), F32), ("attn_k", (a.dim, kv), I2_S), ("attn_output", (q, a.dim), I2_S),
            ("attn_q", (a.dim, q), I2_S), ("attn_v", (a.dim, kv), I2_S)]]
    plan.append(("output_norm.weight", (a.dim,), F32))
    if a.untied:
        plan.append(("output.weight", (a.dim, n_vocab), embd))
    return plan


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    for name, default in dict(dim=256, ffn=768, layers=2, heads=4, kv=2, ctx=256, vocab=384, seed=1).items():
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--head-dim", type=int, help="where it is not dim / heads (written as key_length)")
    parser.add_argument("--rope-dims", type=int, help="where not all of a head is rotated")
    parser.add_argument("--arch", default="bitnet-b1.58", choices=("bitnet-b1.58", "bitnet-25", "bitnet-1.58"))
    parser.add_argument("--untied", action="store_true", help="a separate output.weight")
    parser.add_argument("--embd", default="f16", choices=("f16", "f32"))
    parser.add_argument("--neon", action="store_true", help="i2_s blocks of 64, as ARM builds write them")
    a = parser.parse_args()
    lanes = 16 if a.neon else 32
    head_dim = a.head_dim or a.dim // a.heads
    for name, n in dict(dim=a.dim, ffn=a.ffn, heads=a.heads * head_dim).items():
        assert n % (4 * lanes) == 0, f"{name}: wanted rows of a multiple of {4 * lanes}, got {n}"
    assert a.heads % a.kv == 0

    rng = np.random.Generator(np.random.PCG64(a.seed))
    tokens, types, merges = vocabulary(a.vocab, rng)
    bos = tokens.index("<|begin_of_text|>")
    meta = [key("general.architecture", STRING, a.arch), key("general.name", STRING, f"random {a.seed}"),
            key(a.arch + ".vocab_size", U32, len(tokens)), key(a.arch + ".context_length", U32, a.ctx),
            key(a.arch + ".embedding_length", U32, a.dim), key(a.arch + ".block_count", U32, a.layers),
            key(a.arch + ".feed_forward_length", U32, a.ffn),
            key(a.arch + ".rope.dimension_count", U32, a.rope_dims or head_dim),
            key(a.arch + ".attention.head_count", U32, a.heads),
            key(a.arch + ".attention.head_count_kv", U32, a.kv),
            key(a.arch + ".attention.layer_norm_rms_epsilon", FLOAT, 1e-5),
            key(a.arch + ".rope.freq_base", FLOAT, 500000.0), key("general.file_type", U32, 40),
            key("tokenizer.ggml.model", STRING, "gpt2"), key("tokenizer.ggml.pre", STRING, "llama-bpe"),
            key("tokenizer.ggml.tokens", ARRAY, tokens, STRING), key("tokenizer.ggml.token_type", ARRAY, types, I32),
            key("tokenizer.ggml.merges", ARRAY, merges, STRING), key("tokenizer.ggml.bos_token_id", U32, bos),
            key("tokenizer.ggml.eos_token_id", U32, bos + 1), key("tokenizer.ggml.add_bos_token", BOOL, True),
            key("tokenizer.chat_template", STRING, TEMPLATE), key("general.quantization_version", U32, 2)]
    if a.head_dim:
        meta += [key(a.arch + ".attention.key_length", U32, head_dim),
                 key(a.arch + ".attention.value_length", U32, head_dim)]

    directory, data = b"", b""
    for name, shape, kind in (plan := weights(a, len(tokens), head_dim)):
        directory += text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape) + struct.pack("<IQ", kind, len(data))
        if kind == I2_S:
            data += ternary(rng, shape, lanes)
        elif len(shape) == 1:
            data += (1 + 0.1 * rng.standard_normal(shape)).astype("<f4").tobytes()
        else:
            data += (0.02 * rng.standard_normal(shape)).astype({F16: "<f2", F32: "<f4"}[kind]).tobytes()
        data += b"\0" * (-len(data) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(plan), len(meta)) + b"".join(meta) + directory
    with open(a.out, "wb") as out:
        out.write(head + b"\0" * (-len(head) % 32) + data)


if __name__ == "__main__":
    main()
