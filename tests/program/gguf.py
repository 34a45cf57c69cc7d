"""Reads the little of GGUF that the tests need: metadata, the directory, and tensors as float64 arrays.

It was written from ggml/docs/gguf.md of llama.cpp and shares nothing with engine/gguf.cpp, so that one can check
the other.
"""
import pathlib
import struct

import numpy as np

F32, F16, I2_S = 0, 1, 36
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9


class File:
    """meta: key -> value; tensors: name -> (shape with ne0 first, type, place in the file)."""

    def __init__(self, path):
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

    def floats(self, name):
        """Returns a tensor of F32 or F16 as float64; its last axis is contiguous."""
        shape, kind, at = self.tensors[name]
        form = {F32: "<f4", F16: "<f2"}[kind]
        values = np.frombuffer(self.data, form, int(np.prod(shape)), at)
        return values.astype(np.float64).reshape(shape[::-1])

    def ternary(self, name, lanes):
        """Returns the values -1, 0, 1 [rows, columns] as float64, and the scale.

    lanes is 32, or 16 for an ARM build's blocks.
    """
        shape, kind, at = self.tensors[name]
        assert kind == I2_S, f"{name} is no i2_s tensor"
        n = int(np.prod(shape))
        packed = np.frombuffer(self.data, np.uint8, n // 4, at).reshape(-1, 1, lanes)
        codes = packed >> np.array([6, 4, 2, 0], np.uint8).reshape(1, 4, 1) & 3
        assert codes.max() < 3, f"{name} has a code of 3"
        scale = float(np.frombuffer(self.data, "<f4", 1, at + n // 4)[0])
        return codes.astype(np.float64).reshape(shape[::-1]) - 1, scale


def first_block(path, out):
    """Writes the file with 1 as the number of its blocks; the tensors of the others stay, and nobody uses them."""
    data = bytearray(pathlib.Path(path).read_bytes())
    key = File(path).meta["general.architecture"].encode() + b".block_count"
    at = data.index(struct.pack("<Q", len(key)) + key) + 8 + len(key)
    assert struct.unpack_from("<I", data, at)[0] == 4, "block_count is no U32"
    struct.pack_into("<I", data, at + 4, 1)
    pathlib.Path(out).write_bytes(data)
