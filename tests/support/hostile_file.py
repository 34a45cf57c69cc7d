"""A small valid GGUF file in parts, so that a fault can change one of them, and the folder that collects such files.

The format is that of ggml/docs/gguf.md of llama.cpp.
"""
import copy
import os
import struct
from argparse import Namespace

import numpy as np

import make_model

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
ARCH = "bitnet-b1.58"
DIM, FFN, HEADS, KV, VOCAB = 128, 256, 2, 1, 270


def p32(n):
    return struct.pack("<I", n & 0xFFFFFFFF)


def p64(n):
    return struct.pack("<Q", n & 0xFFFFFFFFFFFFFFFF)


def raw_text(value):
    value = value.encode() if isinstance(value, str) else value
    return p64(len(value)) + value


def scalar(form, kind, value):
    return p32(kind) + struct.pack("<" + form, value)


def u32(value):
    return scalar("I", U32, value)


def f32(value):
    return scalar("f", F32, value)


def string(value):
    return p32(STRING) + raw_text(value)


def strings(values):
    return p32(ARRAY) + p32(STRING) + p64(len(values)) + b"".join(map(raw_text, values))


def ints(values):
    return p32(ARRAY) + p32(I32) + p64(len(values)) + struct.pack(f"<{len(values)}i", *values)


def floats(values):
    return p32(ARRAY) + p32(F32) + p64(len(values)) + struct.pack(f"<{len(values)}f", *values)


class Tensor:
    def __init__(self, name, shape, kind, data):
        self.name, self.shape, self.kind, self.data = name.encode(), list(shape), kind, data
        self.offset = self.n_dims = None  # as they follow from the rest


class File:
    """The parts of a GGUF file; a fault changes one of them."""

    def __init__(self):
        arguments = Namespace(dim=DIM, ffn=FFN, heads=HEADS, kv=KV, layers=1, embd="f16", untied=False)
        rng = np.random.Generator(np.random.PCG64(7))
        self.tokens, self.types, self.merges = make_model.vocabulary(VOCAB, rng)
        self.magic, self.version, self.n_keys, self.n_tensors = b"GGUF", p32(3), None, None
        bos = self.tokens.index("<|begin_of_text|>")
        self.keys = [(k.encode(), v) for k, v in [
            ("general.architecture", string(ARCH)), ("general.name", string("small")),
            (ARCH + ".vocab_size", u32(VOCAB)), (ARCH + ".context_length", u32(256)),
            (ARCH + ".embedding_length", u32(DIM)), (ARCH + ".block_count", u32(1)),
            (ARCH + ".feed_forward_length", u32(FFN)), (ARCH + ".rope.dimension_count", u32(DIM // HEADS)),
            (ARCH + ".attention.head_count", u32(HEADS)), (ARCH + ".attention.head_count_kv", u32(KV)),
            (ARCH + ".attention.layer_norm_rms_epsilon", f32(1e-5)), (ARCH + ".rope.freq_base", f32(10000)),
            ("tokenizer.ggml.model", string("gpt2")), ("tokenizer.ggml.pre", string("llama-bpe")),
            ("tokenizer.ggml.tokens", strings(self.tokens)), ("tokenizer.ggml.scores", floats([0.0] * VOCAB)),
            ("tokenizer.ggml.token_type", ints(self.types)), ("tokenizer.ggml.merges", strings(self.merges)),
            ("tokenizer.ggml.bos_token_id", u32(bos)), ("tokenizer.ggml.eos_token_id", u32(bos + 1)),
            ("tokenizer.ggml.eot_token_id", u32(bos + 4)), ("tokenizer.ggml.add_bos_token", scalar("?", BOOL, True)),
            ("tokenizer.chat_template", string(make_model.TEMPLATE))]]
        self.tensors = []
        for name, shape, kind in make_model.weights(arguments, VOCAB, DIM // HEADS):
            if kind == make_model.I2_S:
                data = make_model.ternary(rng, shape, 32)
            elif len(shape) == 1:
                data = np.ones(shape, "<f4").tobytes()
            else:
                data = (0.02 * rng.standard_normal(shape)).astype("<f2").tobytes()
            self.tensors.append(Tensor(name, shape, kind, data))

    def head(self):
        out = [self.magic, self.version, p64(len(self.tensors) if self.n_tensors is None else self.n_tensors),
               p64(len(self.keys) if self.n_keys is None else self.n_keys)]
        for name, value in self.keys:
            out += [raw_text(name), value]
        at = 0
        for t in self.tensors:
            out += [raw_text(t.name), p32(len(t.shape) if t.n_dims is None else t.n_dims), *map(p64, t.shape),
                    p32(t.kind), p64(at if t.offset is None else t.offset)]
            at += -(-len(t.data) // 32) * 32
        return b"".join(out)

    def bytes(self):
        head = self.head()
        data = b"".join(t.data + b"\0" * (-len(t.data) % 32) for t in self.tensors)
        return head + b"\0" * (-len(head) % 32) + data

    def set(self, name, value):
        self.keys = [(k, value if k == name.encode() else v) for k, v in self.keys]
        if name.encode() not in dict(self.keys):
            self.keys.append((name.encode(), value))

    def drop(self, name):
        self.keys = [(k, v) for k, v in self.keys if k != name.encode()]

    def tensor(self, name):
        return next(t for t in self.tensors if t.name == name.encode())


# What a person has to be told of the file that odd() makes.
ODD = ('pre-tokenizer "nobody\'s" is not known here', "1 tensor that this program does not use: blk.0.odd.weight")


def odd():
    """A file that opens, and says more than this program reads."""
    file = File()
    file.set("tokenizer.ggml.pre", string("nobody's"))
    file.tensors.append(Tensor("blk.0.odd.weight", [8], 0, b"\0" * 32))
    return file


class Cases:
    def __init__(self, folder):
        self.folder, self.base, self.expected, self.counts = folder, File(), {}, {}

    def put(self, name, message, content):
        self.counts[name] = self.counts.get(name, 0) + 1
        name += f"-{self.counts[name]}.gguf"
        with open(os.path.join(self.folder, name), "wb") as out:
            out.write(content)
        if not name.startswith("fine-"):
            self.expected[name] = message

    def add(self, name, message, change):
        """Adds a copy of the valid file with `change` made; the refusal must match `message`."""
        file = copy.copy(self.base)
        file.keys, file.tensors = list(file.keys), [copy.copy(t) for t in file.tensors]
        for t in file.tensors:
            t.shape = list(t.shape)
        change(file)
        self.put(name, message, file.bytes())

    def key(self, name, key, values, message=None):
        for value in values:
            self.add(name, message or key.replace(".", r"\."), lambda f: f.set(key, value))

    def attribute(self, name, tensor, attribute, values, message=None):
        for value in values:
            self.add(name, message or tensor, lambda f: setattr(f.tensor(tensor), attribute, value))
