"""Reads the little of GGUF that the tests need: metadata, the directory, and tensors as float64 arrays.

It was written from ggml/docs/gguf.md of llama.cpp and shares nothing with engine/gguf.cpp, so that one can check
the other. tests/support/gguf_types.py unpacks the types.
"""
import pathlib
import struct
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import gguf_types  # noqa: E402

I2_S, Q2_0 = 36, 42
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9


class File:
    """meta: key -> value; tensors: name -> (shape with ne0 first, type, place in the file).

    i2s is the layout of i2_s tensors: "128", "64" or "1x4".
    """

    def __init__(self, path, i2s="128"):
        self.i2s = {"128": "i2_s", "64": "i2_s_64", "1x4": "i2_s_1x4"}[i2s]
        self.data = np.memmap(path, np.uint8, "r")
        self.at = 4
        assert bytes(self.data[:4]) == b"GGUF", f"{path} is no GGUF file"
        assert self.number("I") == 3
        n_tensors, n_keys = self.number("Q"), self.number("Q")
        self.meta = {}
        for _ in range(n_keys):
            key = self.value(STRING)
            self.meta[key] = self.value(self.number("I"))
        directory = []
        for _ in range(n_tensors):
            name = self.value(STRING)
            shape = [self.number("Q") for _ in range(self.number("I"))]
            directory.append((name, shape, self.number("I"), self.number("Q")))
        alignment = self.meta.get("general.alignment", 32)
        base = -(-self.at // alignment) * alignment
        self.tensors = {name: (shape, kind, base + offset) for name, shape, kind, offset in directory}

    def number(self, form):
        size = struct.calcsize("<" + form)
        value = struct.unpack_from("<" + form, self.data, self.at)[0]
        self.at += size
        return value

    def value(self, kind):
        if kind == STRING:
            n = self.number("Q")
            self.at += n
            return bytes(self.data[self.at - n:self.at]).decode()
        if kind == ARRAY:
            element, n = self.number("I"), self.number("Q")
            return [self.value(element) for _ in range(n)]
        return self.number(SCALARS[kind])

    def kind(self, name):
        """Returns the name that gguf_types has for a tensor's type. The bytes up to the next tensor tell the two Q2_0."""
        shape, number, at = self.tensors[name]
        if number == I2_S:
            return self.i2s
        if number == Q2_0:
            end = min((place for _, _, place in self.tensors.values() if place > at), default=len(self.data))
            return "q2_0" if end - at >= gguf_types.size("q2_0", shape) else "q2_0_128"
        return next(kind for kind, row in gguf_types.KINDS.items() if row.id == number)

    def bytes(self, name):
        shape, _, at = self.tensors[name]
        return self.data[at:at + gguf_types.size(self.kind(name), shape)]

    def floats(self, name):
        """Returns the values of a tensor as float64; its last axis is contiguous."""
        shape = self.tensors[name][0][::-1]
        return gguf_types.dequantise(self.kind(name), self.bytes(name), shape).astype(np.float64)

    def ternary(self, name):
        """Returns the values -1, 0, 1 [rows, columns] as float64, and the scales as gguf_types.unpack_ternary does."""
        kind = self.kind(name)
        assert kind in gguf_types.TERNARY, f"{name} is {kind}, which is not ternary"
        codes, scales = gguf_types.unpack_ternary(kind, self.bytes(name), self.tensors[name][0][::-1])
        assert codes.max() < 3, f"{name} has a code of 3"
        return codes.astype(np.float64) - 1, scales


def first_block(path, out):
    """Writes the file with 1 as the number of its blocks; the tensors of the others stay, and nobody uses them."""
    data = bytearray(pathlib.Path(path).read_bytes())
    key = File(path).meta["general.architecture"].encode() + b".block_count"
    at = data.index(struct.pack("<Q", len(key)) + key) + 8 + len(key)
    assert struct.unpack_from("<I", data, at)[0] == 4, "block_count is no U32"
    struct.pack_into("<I", data, at + 4, 1)
    pathlib.Path(out).write_bytes(data)
