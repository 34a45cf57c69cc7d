#!/usr/bin/env python3
"""Writes rows of every type that can be an embedding or a head, as a file has them and as float32 values.

    make_rows.py FILE [--check]     # --check calculates the values of FILE's rows again

A line is a type, the row's bytes, and its values, both in hexadecimal. Each value is calculated by itself from
the description of its type in ggml-common.h of llama.cpp, with numpy's float32 in the order of its C code.
"""
import sys

import numpy as np

F = np.float32
rng = np.random.Generator(np.random.PCG64(20))
SCALES = [0.0123, -1.5, 3e-6, 250.0, 0.75, -0.0]  # 3e-6 is subnormal as F16


def half(b, at):
    return F(np.frombuffer(b, "<f2", 1, at)[0])


def noise(n):
    return rng.integers(0, 256, n, dtype=np.uint8).tobytes()


def scale(i):
    return np.float16(SCALES[i % len(SCALES)]).tobytes()


def f32(b, e):
    return np.frombuffer(b, "<f4")[e]


def f16(b, e):
    return half(b, 2 * e)


def bf16(b, e):
    return np.frombuffer(b"\0\0" + b[2 * e:2 * e + 2], "<f4")[0]


def q4_0(b, e):
    at, j = e // 32 * 18, e % 32
    q = b[at + 2 + j % 16] >> (4 if j >= 16 else 0) & 15
    return half(b, at) * F(q - 8)


def q5_0(b, e):
    at, j = e // 32 * 22, e % 32
    q = b[at + 6 + j % 16] >> (4 if j >= 16 else 0) & 15
    high = int.from_bytes(b[at + 2:at + 6], "little") >> j & 1
    return half(b, at) * F(q + 16 * high - 16)


def q8_0(b, e):
    at = e // 32 * 34
    return half(b, at) * F(np.int8(np.uint8(b[at + 2 + e % 32])))


def small_scales(b, j):
    """the scale and minimum j of Q4_K and Q5_K, from 12 bytes"""
    if j < 4:
        return b[j] & 63, b[j + 4] & 63
    return (b[j + 4] & 15) | (b[j - 4] >> 6) << 4, (b[j + 4] >> 4) | (b[j] >> 6) << 4


def q4_k(b, e, qs=16, bits=None):
    j, l = e // 32, e % 32
    sc, m = small_scales(b[4:16], j)
    q = b[qs + e // 64 * 32 + l] >> (4 if j % 2 else 0) & 15
    if bits is not None:
        q += 16 * (b[bits + l] >> j & 1)
    return half(b, 0) * F(sc) * F(q) - half(b, 2) * F(m)


def q5_k(b, e):
    return q4_k(b, e, qs=48, bits=16)


def q6_k(b, e):
    ql, qh, sc = b[:128], b[128:192], np.frombuffer(b, np.int8, 16, 192)
    n, r = divmod(e, 128)
    l, part = r % 32, r // 32
    low = ql[64 * n + l + (32 if part % 2 else 0)] >> (4 if part >= 2 else 0) & 15
    q = (low | (qh[32 * n + l] >> 2 * part & 3) << 4) - 32
    return half(b, 208) * F(sc[8 * n + l // 16 + 2 * part]) * F(q)


def tq2_0(b, e):
    n, r = divmod(e, 128)
    return half(b, 64) * F((b[32 * n + r % 32] >> 2 * (r // 32) & 3) - 1)


def tq1_0(b, e):
    if e < 160:
        byte, digit = b[e % 32], e // 32
    elif e < 240:
        byte, digit = b[32 + (e - 160) % 16], (e - 160) // 16
    else:
        byte, digit = b[48 + (e - 240) % 4], (e - 240) // 4
    return half(b, 52) * F(((byte * 3**digit & 255) * 3 >> 8) - 1)


def i2_s(b, e):
    return F((b[e // 128 * 32 + e % 32] >> 6 - 2 * (e % 128 // 32) & 3) - 1)


def q2_0(every):
    def value(b, e):
        at, j = e // every * (2 + every // 4), e % every
        return half(b, at) * F((b[at + 2 + j // 4] >> 2 * (j % 4) & 3) - 1)
    return value


def ptq1_0(b, e):
    b, e = b[e // 128 * 28:], e % 128
    if e < 80:
        byte, digit = b[e % 16], e // 16
    elif e < 120:
        byte, digit = b[16 + (e - 80) % 8], (e - 80) // 8
    else:
        byte, digit = b[24 + (e - 120) % 2], (e - 120) // 2
    return half(b, 26) * F(((byte * 3**digit & 255) * 3 >> 8) - 1)


def q1_0(b, e):
    at, j = e // 128 * 18, e % 128
    return half(b, at) * F(2 * (b[at + 2 + j // 8] >> j % 8 & 1) - 1)


def two_bits(n):
    """n bytes without a code of 3"""
    return bytes(sum(int(c) << 2 * i for i, c in enumerate(rng.integers(0, 3, 4))) for _ in range(n))


def digits(n, count):
    """n bytes of `count` digits to base 3, the first the most significant of five"""
    return bytes(-(-sum(int(t) * 3**(4 - i) for i, t in enumerate(rng.integers(0, 3, count))) * 256 // 243)
                 for _ in range(n))


def rows():
    finite = np.array([0, -0.0, 1, -2.5, 1e-40, 3e38, 0.1, -65504], "<f4")
    yield "f32", 8, finite.tobytes(), f32
    halves = np.concatenate([np.array([0, -0.0, 1, 6e-8, -6.1e-5, 65504, np.inf, -np.inf], "<f2"),
                             rng.standard_normal(24).astype("<f2")])
    yield "f16", 32, halves.tobytes(), f16
    yield "bf16", 32, rng.standard_normal(32).astype("<f4").view("<u2")[1::2].tobytes(), bf16
    yield "q4_0", 96, b"".join(scale(i) + noise(16) for i in range(3)), q4_0
    yield "q5_0", 96, b"".join(scale(i) + noise(20) for i in range(3)), q5_0
    yield "q8_0", 96, b"".join(scale(i) + noise(32) for i in range(3)), q8_0
    yield "q4_k", 256, scale(0) + scale(4) + noise(140), q4_k
    yield "q5_k", 256, scale(1) + scale(0) + noise(172), q5_k
    yield "q6_k", 256, noise(208) + scale(0), q6_k
    yield "tq1_0", 256, digits(48, 5) + digits(4, 4) + scale(0), tq1_0
    yield "tq2_0", 256, two_bits(64) + scale(1), tq2_0
    yield "i2_s", 256, two_bits(64), i2_s
    yield "q2_0", 192, b"".join(scale(i) + two_bits(16) for i in range(3)), q2_0(64)
    yield "q2_0_by_128", 256, b"".join(scale(i) + two_bits(32) for i in range(2)), q2_0(128)
    yield "pq2_0", 256, b"".join(scale(i) + two_bits(32) for i in range(2)), q2_0(128)
    yield "ptq1_0", 256, b"".join(digits(24, 5) + digits(2, 4) + scale(i) for i in range(2)), ptq1_0
    yield "q1_0", 256, b"".join(scale(i) + noise(16) for i in range(2)), q1_0


def line(name, data, n, value):
    values = np.array([value(data, e) for e in range(n)], "<f4")
    return f"{name} {data.hex()} {values.tobytes().hex()}"


def check(path):
    """Calculates the values of FILE's rows again."""
    value_of = {name: (n, value) for name, n, _, value in rows()}
    with open(path) as file:
        for text in file.read().splitlines()[1:]:
            name, data, _ = text.split(" ")
            n, value = value_of.pop(name)
            assert line(name, bytes.fromhex(data), n, value) == text, name
    assert not value_of, value_of


if __name__ == "__main__":
    if "--check" in sys.argv:
        check(sys.argv[1])
    else:
        with open(sys.argv[1], "w") as file:
            print("# Rows of each type, and their values as float32: made by tests/engine/layouts/make_rows.py "
                  "tests/engine/layouts/rows.txt", file=file)
            for name, n, data, value in rows():
                print(line(name, data, n, value), file=file)
