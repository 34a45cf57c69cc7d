#!/usr/bin/env python3
"""Write malformed GGUF files, each one fault away from a small valid one, and cases.json: what to say of each.

    make_hostile_ggufs.py FOLDER

cases.json maps a file's name to a regular expression for the one line that refuses it; valid.gguf and the files
that begin with "fine-" are to be accepted. The format is that of ggml/docs/gguf.md of llama.cpp. A fault that
was published has its number beside it.
"""
import json
import os
import shutil
import struct
import sys

import numpy as np

import hostile_experts
import hostile_qwen35
import hostile_tokenizers
import hostile_types
import make_model
from hostile_file import (ARCH, ARRAY, BOOL, DIM, F32, F64, I16, I32, I64, STRING, U8, U16, U32, U64, VOCAB, Cases, File,  # noqa: F401
                          Tensor, f32, floats, ints, p32, p64, raw_text, scalar, string, strings, u32)


def borders(file):
    """Returns where a part of the head ends: after each number, name and value of the first entries and of the last."""
    places, at = set(range(25)), 24
    for name, value in file.keys:
        for step in (4, 4, len(name), 4, 1, len(value) - 5):
            at += step
            places.add(at)
    end = len(file.head())
    places |= set(range(end - 40, end))
    step = (end - at) // 30
    return sorted(places | set(range(at, end, step)))


def truncations(c):
    whole = c.base.bytes()
    head = c.base.head()
    for n in borders(c.base):
        c.put("truncated-head", "empty file|GGUF|end of the file|fits a file|rest of the file|is it complete", whole[:n])
    for n in [len(head), len(head) + 1, len(whole) // 2, len(whole) - 33, len(whole) - 1]:
        c.put("truncated-data", "tensor .* is it complete", whole[:n])


def header(c):
    for magic in (b"GGML", b"ggjt", b"\0\0\0\0", b"\x1b[2J", b"PK\x03\x04", b"\xff\xfe\xfd\xfc", b"gguf"):
        c.add("magic", 'begins with "GGUF"', lambda f: setattr(f, "magic", magic))
    for version in (0, 1, 4, 255, 2**31, 2**32 - 1):
        c.add("version", f"got version {version}", lambda f: setattr(f, "version", p32(version)))
    for version in (1, 2, 3):
        c.add("big-endian", "big-endian", lambda f: setattr(f, "version", struct.pack(">I", version)))
    c.add("big-endian", "big-endian", lambda f: setattr(f, "magic", b"FUGG"))
    for n in (-1, 2**60, 2**63, 2**32, 2**61 + 1, 70000, 2**64 // 13 + 1):
        c.add("key-count", "number of metadata keys", lambda f: setattr(f, "n_keys", n))
        c.add("tensor-count", "number of tensors", lambda f: setattr(f, "n_tensors", n))
    for more in (1, 100):
        c.add("key-count-too-many", r"key|type|bytes", lambda f: setattr(f, "n_keys", len(f.keys) + more))
        c.add("tensor-count-too-many", r"tensor", lambda f: setattr(f, "n_tensors", len(f.tensors) + more))
    c.add("key-count-too-few", "tensor", lambda f: setattr(f, "n_keys", len(f.keys) - 1))
    c.add("tensor-count-too-few", "missing", lambda f: setattr(f, "n_tensors", len(f.tensors) - 1))
    c.add("tensor-count-none", "missing", lambda f: setattr(f, "n_tensors", 0))


def keys(c):
    for name in (b"", b"k" * 65536, b"k" * 70000, b"a\xff", b"\xc0\x80", b"a\x1b]0;x\x07", b"a\nb", b"\xed\xa0\x80",
                 "\u202etxt".encode(), "\U000e0041".encode(), b"a\0b", b"\xf4\x90\x80\x80"):
        c.add("key-name", "metadata key", lambda f: f.keys.insert(3, (name, u32(1))))
    for name in ("general.name", "general.architecture", "tokenizer.ggml.tokens", ARCH + ".block_count"):
        c.add("key-twice", name + ".*twice", lambda f: f.keys.append((name.encode(), dict(f.keys)[name.encode()])))
    for kind in (13, 14, 255, 2**31, 2**32 - 1):
        c.key("value-type", "general.name", [p32(kind) + raw_text("x")])
        c.key("element-type", "general.name", [p32(ARRAY) + p32(kind) + p64(1) + p64(1)])
    # TALOS-2024-1913, CVE-2025-49847: a string's length that wraps when something is added
    wrapping = (-1, -8, 2**63, 2**63 - 1, 2**62, 2**32, 2**31, 2**61, 2**60 + 3)
    for n in wrapping:
        c.key("string-length", "general.name", [p32(STRING) + p64(n) + b"abc"])
        c.add("key-length", "name of metadata key", lambda f: f.keys.insert(2, (b"", b"")) or setattr(
            f, "head", lambda: f.magic + f.version + p64(1) + p64(1) + p64(n) + b"abc"))
        c.key("array-length", "general.name", [p32(ARRAY) + p32(U64) + p64(n)])
        c.key("array-of-bytes", "general.name", [p32(ARRAY) + p32(U8) + p64(n)])
        c.key("array-of-strings", "general.name", [p32(ARRAY) + p32(STRING) + p64(n)])
        c.key("string-in-array", "general.name", [p32(ARRAY) + p32(STRING) + p64(1) + p64(n) + b"abc"])
    c.key("array-of-arrays", "general.name",
          [p32(ARRAY) + p32(ARRAY) + p64(1) + p32(U8) + p64(1) + b"x", p32(ARRAY) + p32(ARRAY) + p64(2**61),
           p32(ARRAY) + p32(ARRAY) + p64(0), p32(ARRAY) + (p32(ARRAY) + p64(1)) * 500])
    c.key("bool", "tokenizer.ggml.add_bos_token", [p32(BOOL) + b"\2", p32(BOOL) + b"\xff"])
    for name in ("general.architecture", "tokenizer.ggml.model", "tokenizer.ggml.pre", "tokenizer.chat_template"):
        c.key("string-of-another-type", name, [u32(1), f32(1), strings(["x"]), scalar("?", BOOL, True)])
    for name in ("context_length", "embedding_length", "block_count", "attention.head_count"):
        c.key("number-of-another-type", f"{ARCH}.{name}", [string("128"), f32(128), ints([128]), scalar("i", I32, -1),
                                                           scalar("Q", U64, 2**32), scalar("q", I64, -2**63)])
    for name in ("rope.freq_base", "attention.layer_norm_rms_epsilon"):
        c.key("float-of-another-type", f"{ARCH}.{name}", [u32(1), string("1"), scalar("d", F64, 1.0)])
    for name in ("tokens", "merges"):
        c.key("list-of-another-type", "tokenizer.ggml." + name,
              [string("x"), ints([1]), p32(ARRAY) + p32(BOOL) + p64(1) + b"\1", u32(7)])
    c.key("list-of-another-type", "tokenizer.ggml.token_type", [strings(["x"] * VOCAB), string("x"), u32(1)])
    c.key("list-of-another-type", "tokenizer.ggml.scores", [strings(["x"] * VOCAB), string("x"), u32(1)])
    for name in ("add_bos_token",):
        c.key("bool-of-another-type", "tokenizer.ggml." + name, [u32(1), string("true")])
    c.key("id-of-another-type", "tokenizer.ggml.bos_token_id", [string("1"), scalar("i", I32, -2), f32(1)])
    c.key("alignment", "general.alignment", [u32(n) for n in (0, 1, 3, 4, 48, 2**32 - 1)] + [
        scalar("Q", U64, 2**40), scalar("i", I32, 32), string("32"), f32(32), scalar("H", U16, 32)])
    c.key("alignment-past-the-end", "general.alignment", [u32(2**n) for n in (6, 20, 31)], "tensor|alignment")


def tensors(c):
    norm, matrix, table = "output_norm.weight", "blk.0.attn_q.weight", "token_embd.weight"
    c.attribute("tensor-name", norm, "name", [b"", b"n" * 65, b"n" * 70000, b"\xff", b"a\x1b[2J", b"a\nb",
                                              "\u2066x".encode(), b"\0"], "tensor")
    c.attribute("tensor-name-twice", norm, "name", [matrix.encode(), table.encode()], "twice")
    for tensor in (norm, matrix):
        c.attribute("dimensions", tensor, "n_dims", [0, 5, 6, 255, 2**31, 2**32 - 1])
    # GHSA-3p75: a dimension of 0 that something is divided by
    for shape in ([0], [0, 0], [DIM, 0], [0, DIM], [DIM, 0, 1, 1]):
        c.attribute("dimension-zero", matrix, "shape", [shape])
    # CVE-2025-53630, GHSA-96jg: products and sums of sizes that wrap to something small
    huge = ([2**63], [2**63 - 1], [2**62], [2**64 - 1], [2**32, 2**32], [2**33, 2**31], [2**62, 4], [2**22, 2**21, 2**21],
            [2**16, 2**16, 2**16, 2**16], [2**31, 2**31, 4, 1], [2**60, 16], [2**63, 2], [2**40, 2**24], [128, 2**57],
            [2**61, 8])
    for shape in huge:
        c.attribute("shape-wraps", matrix, "shape", [shape])
        c.attribute("shape-wraps", norm, "shape", [shape])
    for kind in (4, 5, 31, 32, 33, 37, 38, 39, 40, 100, 2**31, 2**32 - 1):
        c.attribute("tensor-type", matrix, "kind", [kind])
    for kind in (1, 2, 8, 24, 26, 28, 30):
        c.attribute("norm-of-another-type", norm, "kind", [kind])
    for kind in (0, 1, 2, 8, 12, 14, 34, 35):
        c.attribute("matrix-of-another-type", matrix, "kind", [kind])
    for kind in (3, 7, 20, 24, 26, 28):
        c.attribute("table-of-another-type", table, "kind", [kind])
    for tensor in (norm, matrix, table):
        # CVE-2026-27940: past the end, or small again once the base of the data is added
        c.attribute("offset-unaligned", tensor, "offset", [1, 16, 31, 2**40 + 1])
        c.attribute("offset-past-the-end", tensor, "offset", [2**20, 2**32, 2**40, 2**63, 2**63 - 32])
        c.attribute("offset-wraps", tensor, "offset", [2**64 - 32, 2**64 - 4096, 2**64 - 32 * 1024, 2**64 - 2**40])
    c.attribute("offset-overlaps", norm, "offset", [0, 32, 64], "tensor")
    c.attribute("offset-overlaps", matrix, "offset", [0, 96], "tensor")
    for tensor, shape in ((norm, [DIM * 2]), (norm, [DIM - 1]), (norm, [DIM, 1]), (matrix, [DIM, DIM * 2]),
                          (matrix, [DIM * 2, DIM]), (matrix, [DIM, 1, DIM]), (matrix, [DIM * DIM]), (matrix, [96, DIM]),
                          (table, [DIM, VOCAB + 1]), (table, [DIM, VOCAB - 1]), (table, [VOCAB, DIM]), (table, [DIM]),
                          (table, [DIM, VOCAB, 1, 2]), (matrix, [127, DIM]), (matrix, [64, DIM])):
        c.attribute("wrong-shape", tensor, "shape", [shape], "tensor|vocab_size")
    for tensor in c.base.tensors:
        name = tensor.name.decode()
        c.add("tensor-missing", name + ".*missing", lambda f: f.tensors.remove(f.tensor(name)))
        if len(tensor.shape) == 2 and tensor.shape[0] != 2 * tensor.shape[1] and name != table:
            c.attribute("transposed", name, "shape", [[tensor.shape[1] * 2, tensor.shape[0] // 2]])
    # The last tensor of the file is shorter than its shape asks.
    c.add("tensor-short", "output_norm.*complete", lambda f: setattr(f.tensor(norm), "data", b"\0" * 480))
    bad = [float("nan"), float("inf"), float("-inf")]
    for tensor in [t for t in c.base.tensors if len(t.shape) == 1]:
        for at, value in zip((0, DIM // 2, tensor.shape[0] - 1), bad):
            values = np.ones(tensor.shape[0], "<f4")
            values[at] = value
            c.attribute("norm-not-finite", tensor.name.decode(), "data", [values.tobytes()])
    for tensor in [t for t in c.base.tensors if t.kind == make_model.I2_S]:
        for value in bad[:2]:
            data = tensor.data[:-32] + struct.pack("<f", value) + tensor.data[-28:]
            c.attribute("scale-not-finite", tensor.name.decode(), "data", [data])
        c.attribute("no-ternary-code", tensor.name.decode(), "data", [b"\xff" + tensor.data[1:]])


def sizes(c):
    for name in ("context_length", "embedding_length", "block_count", "feed_forward_length", "attention.head_count",
                 "attention.head_count_kv"):
        c.key("size", f"{ARCH}.{name}", [u32(0), u32(2**31), u32(2**32 - 1)])
        if name == "attention.head_count_kv":  # as many as heads, then
            c.add("size-missing", "attn_k", lambda f: f.drop(f"{ARCH}.{name}"))
        else:
            c.add("size-missing", name, lambda f: f.drop(f"{ARCH}.{name}"))
    c.key("heads", f"{ARCH}.attention.head_count_kv", [u32(n) for n in (3, 4, 5, 7)], "head_count_kv")
    c.key("heads", f"{ARCH}.attention.head_count", [u32(n) for n in (3, 5, 7, 128, 1024)], "head")
    c.key("blocks", f"{ARCH}.block_count", [u32(2), u32(1024)], r"blk\.1\.")
    c.key("width", f"{ARCH}.embedding_length", [u32(n) for n in (1, 64, 127, 129, 192, 256, 65536)],
          "embedding_length|token_embd|head|rope")
    c.key("ffn-width", f"{ARCH}.feed_forward_length", [u32(n) for n in (1, 100, 128, 257, 384)],
          "feed_forward_length|ffn")
    c.key("rope", f"{ARCH}.rope.dimension_count", [u32(n) for n in (0, 1, 63, 65, 66, 2**31)])
    c.key("rope-base", f"{ARCH}.rope.freq_base", [f32(n) for n in (0, -1, float("nan"), float("inf"))])
    c.key("epsilon", f"{ARCH}.attention.layer_norm_rms_epsilon", [f32(n) for n in (-1, 2, float("nan"), float("inf"))])
    c.key("vocab-size", f"{ARCH}.vocab_size", [u32(n) for n in (0, 1, VOCAB - 1, VOCAB + 1, 2**32 - 1)])
    c.key("architecture", "general.architecture", [string(n) for n in ("", "gptneox", "\x1b[31mred", "x" * 100000)])
    c.add("architecture", "general.architecture", lambda f: f.drop("general.architecture"))
    c.key("head-size", f"{ARCH}.attention.key_length", [u32(n) for n in (0, 4, 63, 512, 128)], "head|attn|rope")
    c.key("head-size", f"{ARCH}.attention.value_length", [u32(n) for n in (0, 32, 128)])


def parts(c):
    for no, n in ((0, 2), (1, 2), (2, 3), (65535, 65535)):
        c.add("part", rf"part {no + 1} of {n} of a model.*llama-gguf-split", lambda f: (
            f.set("split.no", scalar("H", U16, no)), f.set("split.count", scalar("H", U16, n))))
    c.add("part", "part 1 of 4 of a model", lambda f: f.set("split.count", u32(4)))
    # The other parts have no other keys.
    c.add("part", "part 2 of 2 of a model", lambda f: setattr(f, "keys", [
        (b"split.no", scalar("H", U16, 1)), (b"split.count", scalar("H", U16, 2))]))
    c.key("part-of-another-type", "split.count", [string("2"), f32(2), ints([2]), scalar("h", I16, -2)])
    for n in (0, 1):
        c.add("fine-one-part", None, lambda f: f.set("split.count", scalar("H", U16, n)))


def tokenizer(c):
    tokens, types, merges = c.base.tokens, c.base.types, c.base.merges
    key = "tokenizer.ggml.tokens"
    c.key("tokens", key, [strings([]), strings(tokens[:-1]), strings(tokens + ["more"]), strings(tokens[:1])])
    c.add("tokens", key, lambda f: f.drop(key))
    c.key("token-twice", key, [strings(tokens[:5] + [tokens[0]] + tokens[6:]),
                               strings(tokens[:-1] + [tokens[-2]])])
    c.key("token-empty", key, [strings([""] + tokens[1:]), strings(tokens[:-1] + [""])])
    c.key("token-not-utf8", key, [strings([b"\xff"] + tokens[1:]), strings([b"\xc3"] + tokens[1:]),
                                  strings(tokens[:-1] + [b"<|\xed\xa0\x80|>"])])
    key = "tokenizer.ggml.token_type"
    c.key("token-types", key, [ints(types[:-1]), ints(types + [1]), ints([]), ints([1]),
                               ints([0x7FFFFFFF] + types[1:]), ints([-1] + types[1:])])
    c.key("scores", "tokenizer.ggml.scores", [floats([0.0] * n) for n in (0, 1, VOCAB - 1, VOCAB + 1)])
    for name in ("bos", "eos", "eot", "unknown", "padding", "eom", "fim_pad", "fim_rep", "fim_sep"):
        c.key("special-id", f"tokenizer.ggml.{name}_token_id", [u32(n) for n in (VOCAB, VOCAB + 1, 2**31, 2**32 - 2)])
    key = "tokenizer.ggml.merges"
    c.key("merge", key, [strings(merges[:2] + [m] + merges[3:]) for m in (
        "", " ", "ab", "a ", " a", "zzzz q", "e zzzz", "e \x1b", b"\xff e", "qz zq", "a b c", "x" * 5000)])
    # Lists as long as any may be, in a small file: they are not read.
    n = 2**21
    texts, numbers = p32(ARRAY) + p32(STRING) + p64(n) + b"\0" * (8 * n), p32(ARRAY) + p32(I32) + p64(n) + b"\0" * (4 * n)
    c.add("much-of-little", r"tokenizer\.ggml\.tokens.*token_embd", lambda f: [
        f.set("tokenizer.ggml." + name, texts) for name in ("tokens", "merges")])
    c.key("much-of-little", "tokenizer.ggml.merges", [texts])
    for name in ("token_type", "suppress_tokens", "eos_token_ids"):
        c.key("much-of-little", "tokenizer.ggml." + name, [numbers])
    c.key("tokenizer-model", "tokenizer.ggml.model", [string(n) for n in ("", "llama\0", "bert", "\x1b[2J")])
    c.add("tokenizer-model", r"tokenizer\.ggml\.model", lambda f: f.drop("tokenizer.ggml.model"))


def sentencepiece(file):
    """Makes the vocabulary one of SentencePiece's: <unk>, <s>, </s>, the bytes, and some pieces."""
    pieces = ["\u2581", "a", "b", "\u2581a", "ab", "x", "ax"]
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)] + pieces
    tokens += [f"piece{i}" for i in range(VOCAB - len(tokens))]
    file.set("tokenizer.ggml.model", string("llama"))
    file.set("tokenizer.ggml.tokens", strings(tokens))
    file.set("tokenizer.ggml.token_type", ints([2, 3, 3] + [6] * 256 + [1] * (VOCAB - 259)))
    file.set("tokenizer.ggml.scores", floats([-float(i) for i in range(VOCAB)]))
    for name in ("pre", "merges", "bos_token_id", "eos_token_id", "eot_token_id", "add_bos_token"):
        file.drop("tokenizer.ggml." + name)
    return tokens


def spm(c):
    key = "tokenizer.ggml.scores"

    def put(name, message, change):
        c.add("spm-" + name, message, lambda f: change(f, sentencepiece(f)))

    put("scores-missing", key, lambda f, _: f.drop(key))
    for n in (0, 1, VOCAB - 1, VOCAB + 1):
        put("scores-of-another-length", key, lambda f, _: f.set(key, floats([0.0] * n)))
    for value in (strings(["x"] * VOCAB), ints([0] * VOCAB), string("x"), u32(1), f32(0),
                  p32(ARRAY) + p32(F64) + p64(VOCAB) + b"\0" * 8 * VOCAB, p32(ARRAY) + p32(F32) + p64(2**62)):
        put("scores-of-another-type", key, lambda f, _: f.set(key, value))
    for value in (float("nan"), float("inf"), float("-inf")):
        for at in (0, 5, VOCAB - 1):
            put("score-not-finite", rf"{key}\[{at}\]",
                lambda f, _: f.set(key, floats([0.0] * at + [value] + [0.0] * (VOCAB - at - 1))))
    key = "tokenizer.ggml.tokens"
    for text in ("", "a", b"\xff", b"\xe2\x96", b"a\xed\xa0\x80"):
        put("token", key, lambda f, tokens: f.set(key, strings(tokens[:-1] + [text])))
    for at in (0, 3, 262):
        put("token-empty", key, lambda f, tokens: f.set(key, strings(tokens[:at] + [""] + tokens[at + 1:])))
    put("types", "tokenizer.ggml.token_type", lambda f, _: f.set("tokenizer.ggml.token_type", ints([7] * VOCAB)))
    for name in ("add_bos_token", "add_eos_token", "add_space_prefix"):
        for value in (u32(1), string("true"), p32(BOOL) + b"\2"):
            put("bool-of-another-type", "tokenizer.ggml." + name, lambda f, _: f.set("tokenizer.ggml." + name, value))
    for n in (VOCAB, 2**31, 2**32 - 2):
        put("unknown-id", "unknown_token_id", lambda f, _: f.set("tokenizer.ggml.unknown_token_id", u32(n)))


def templates(c):
    c.key("template", "tokenizer.chat_template", [string(t) for t in (
        "", " \n", "{{", "{% if true %}", "{% for m in messages %}{{ m", "{#", "{{ 'a }}", "{% endfor %}", "{% frob %}",
        "{{ 1 | nosuchfilter }}", "{{ messages | map('nosuchfilter') | list }}", "{{ 1 is nosuchtest }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% macro m(x) %}{% for i in range(9) %}{{ m(x) }}{{ m(x) }}{% endfor %}{% endmacro %}{{ m(1) }}",
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% set ns = namespace(s='x') %}{% for a in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}{{ ns.s }}",
        "{{ 'x' * 1000000000 }}", "{{ range(1000000000) }}", "(" * 300 + "{{" + "(" * 300 + "1" + ")" * 300 + "}}",
        "{{ " + "[" * 100000, "{{ " + "-" * 100000 + "1 }}", "{{ " + "not " * 50000 + "1 }}", "x" * (10 << 20),
        "{{ '" + "x" * (10 << 20) + "' }}", "{% if 1 %}" * 100000, "{{ 1 | " + "trim | " * 100000 + "trim }}",
        "{% include 'x' %}", "{% extends 'x' %}", "{{ messages.__class__.__mro__ | nosuchfilter }}",
        "{% filter nosuchfilter %}x{% endfilter %}", b"{{ '\xff")], "template")
    c.key("template-that-names-it", "tokenizer.chat_template", [string("{{ 1 | nosuchfilter }}")], "nosuchfilter")


def long_token(c):
    c.add("spm-long-token", "tokenizer.ggml.tokens", lambda f: f.set("tokenizer.ggml.tokens", strings(
        sentencepiece(f)[:-1] + ["a" * 4097])))


def names_of_one_hash(n_stages):
    """Returns 2 ** n_stages names that are one number to std::hash of libstdc++, which is MurmurHash64A: after each
    of two texts of 16 bytes its state is the same, and there are two such texts for each stage."""
    multiplier, mask, wanted = 0xC6A4A7935BD1E995, 2**64 - 1, 1
    inverse = pow(multiplier, -1, 2**64)

    def mixed(value, factor):  # what the hash does to 8 bytes with `multiplier`, and undoes with `inverse`
        value = value * factor & mask
        return (value ^ value >> 47) * factor & mask

    names, state, n = [b""], 0xC70F6907 ^ (16 * n_stages * multiplier & mask), 0
    for _ in range(n_stages):
        choices = []
        while len(choices) < 2:
            n += 1
            first = b"%08x" % n
            after = (state ^ mixed(int.from_bytes(first, "little"), multiplier)) * multiplier & mask
            second = mixed(after ^ wanted, inverse).to_bytes(8, "little")
            if all(0x21 <= byte < 0x7F for byte in second):
                choices.append(first + second)
        state = wanted * multiplier & mask
        names = [name + choice for name in names for choice in choices]
    return names


def fine(c):
    c.add("fine-extra-tensor", None, lambda f: f.tensors.append(Tensor("extra.weight", [8], 0, b"\0" * 32)))
    c.add("fine-version-2", None, lambda f: setattr(f, "version", p32(2)))
    c.add("fine-keys-of-one-hash", None, lambda f: f.keys.extend((name, u32(1)) for name in names_of_one_hash(15)))
    c.add("fine-long-key", None, lambda f: f.keys.append((b"k" * 65535, u32(1))))
    c.add("fine-no-template", None, lambda f: f.drop("tokenizer.chat_template"))
    c.add("fine-no-scores", None, lambda f: f.drop("tokenizer.ggml.scores"))
    c.key("fine-pre-tokenizer", "tokenizer.ggml.pre", [string(n) for n in ("no-such", "\x07", "\x1b[2J", "x" * 70000)])
    c.add("fine-spm", None, sentencepiece)
    c.add("fine-spm-no-types", None, lambda f: (sentencepiece(f), f.drop("tokenizer.ggml.token_type")))
    c.add("fine-spm-no-bytes", None, lambda f: (sentencepiece(f), f.set("tokenizer.ggml.token_type", ints(
        [2, 3, 3] + [5] * 256 + [1] * (VOCAB - 259)))))
    c.add("fine-spm-long-token", None, lambda f: f.set("tokenizer.ggml.tokens", strings(
        sentencepiece(f)[:-2] + ["a" * 4096, "\u2581" * 1365])))
    c.key("fine-name", "general.name", [string(b"\x1b[2J\xff\x9b31m"), string("")])


def main(folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    c = Cases(folder)
    c.put("fine-valid", None, c.base.bytes())
    for group in (truncations, header, keys, tensors, sizes, parts, tokenizer, spm, long_token, templates, fine, *hostile_types.GROUPS,
                  *hostile_experts.GROUPS, *hostile_qwen35.GROUPS, *hostile_tokenizers.GROUPS):
        group(c)
    with open(os.path.join(folder, "cases.json"), "w") as out:
        json.dump(c.expected, out, indent=0)
    print(len(c.expected), "files to refuse")


if __name__ == "__main__":
    main(sys.argv[1])
