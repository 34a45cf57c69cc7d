"""Packs rows of floats into the tensor types of GGUF, and unpacks them, with numpy.

It was written from the tables of ggml-common.h and ggml-quants.c of llama.cpp and shares nothing with the engine, so
that one can check the other. quantise() is a plain rounding of each block, not llama.cpp's search for the best scale.

A kind is a name of KINDS. i2_s, i2_s_64 and i2_s_1x4 share their number in a file, as q2_0 and q2_0_128 do: nothing in
a file tells the first three apart, and the distance to the next tensor tells the other two.
"""
import typing

import numpy as np


class Kind(typing.NamedTuple):
    id: int
    block: int  # values that are packed together
    bytes: int  # of one block
    tail: int = 0  # bytes after the last block
    every: int = 0  # values that share the scale of a ternary kind; 0 where one scale is for the tensor, or it is not ternary


KINDS = {
    "f32": Kind(0, 1, 4), "f16": Kind(1, 1, 2), "bf16": Kind(30, 1, 2),
    "q4_0": Kind(2, 32, 18), "q5_0": Kind(6, 32, 22), "q8_0": Kind(8, 32, 34),
    "q4_k": Kind(12, 256, 144), "q5_k": Kind(13, 256, 176), "q6_k": Kind(14, 256, 210),
    "tq1_0": Kind(34, 256, 54, 0, 256), "tq2_0": Kind(35, 256, 66, 0, 256),
    "i2_s": Kind(36, 128, 32, 32), "i2_s_64": Kind(36, 64, 16, 32), "i2_s_1x4": Kind(36, 4, 1, 32),
    "q2_0": Kind(42, 64, 18, 0, 64), "q2_0_128": Kind(42, 128, 34, 0, 128),
    "pq2_0": Kind(142, 128, 34, 0, 128), "ptq1_0": Kind(143, 128, 28, 0, 128), "q1_0": Kind(41, 128, 18, 0, 128),
}
I2_S = ("i2_s", "i2_s_64", "i2_s_1x4")
SCALE_FIRST = ("q2_0", "q2_0_128", "pq2_0", "q1_0")
TERNARY = tuple(name for name, kind in KINDS.items() if kind.every) + I2_S


def size(kind, shape):
    """Returns the bytes of a tensor [rows, columns] or [columns]."""
    n, k = int(np.prod(shape)), KINDS[kind]
    return n // k.block * k.bytes + k.tail


def fits(kind, columns):
    return columns % (1 if kind == "i2_s_1x4" else KINDS[kind].block) == 0


# ---- ternary ----
# Codes 0, 1, 2 stand for -1, 0, 1. q1_0 has no zeros.

def pack_i2_s(kind, codes, scale):
    """Packs codes [rows, columns] under one scale. The tail's last 28 bytes are what readers must not look at."""
    if kind == "i2_s_1x4":
        q = codes.reshape(-1, 4, codes.shape[-1])
    else:
        q = codes.reshape(-1, 4, KINDS[kind].bytes)
    packed = q[:, 0] << 6 | q[:, 1] << 4 | q[:, 2] << 2 | q[:, 3]
    return packed.astype(np.uint8).tobytes() + np.float32(scale).tobytes() + b"\xff" * 28


def unpack_i2_s(kind, data, shape):
    """Returns codes [rows, columns] and the scale."""
    n = int(np.prod(shape))
    lanes = shape[-1] if kind == "i2_s_1x4" else KINDS[kind].bytes
    packed = data[:n // 4].reshape(-1, 1, lanes)
    codes = packed >> np.array([6, 4, 2, 0], np.uint8).reshape(1, 4, 1) & 3
    return codes.reshape(shape), float(data[n // 4:n // 4 + 4].view("<f4")[0])


def base3(trits):
    """Packs trits [blocks, 5, bytes], the first the most significant, into bytes: ceil(number * 256 / 243)."""
    number = np.zeros_like(trits[:, 0], np.int32)
    for i in range(5):
        number = number * 3 + trits[:, i]
    return ((number * 256 + 242) // 243).astype(np.uint8)


def trits(packed, count):
    """Returns the first `count` trits of bytes [blocks, bytes] as [blocks, count, bytes]."""
    powers = np.array([1, 3, 9, 27, 81], np.uint8)[:count].reshape(1, count, 1)
    shifted = packed[:, None, :] * powers  # wraps at 256
    return (shifted.astype(np.uint16) * 3 >> 8).astype(np.uint8)


def pack_ternary(kind, codes, scales):
    """Packs codes [rows, columns] under scales [rows, columns / every], which become F16 (i2_s: one float)."""
    if kind in I2_S:
        return pack_i2_s(kind, codes, scales)
    block = KINDS[kind].block
    q = codes.reshape(-1, block).astype(np.uint8)
    n = len(q)
    d = np.ascontiguousarray(scales, "<f2").reshape(n, 1).view(np.uint8)
    if kind == "tq2_0":
        q = q.reshape(n, 2, 4, 32)
        packed = (q[:, :, 0] | q[:, :, 1] << 2 | q[:, :, 2] << 4 | q[:, :, 3] << 6).reshape(n, 64)
        return np.concatenate([packed, d], 1).tobytes()
    if kind == "tq1_0":
        last = np.concatenate([q[:, 240:].reshape(n, 4, 4), np.zeros((n, 1, 4), np.uint8)], 1)
        parts = [base3(q[:, :160].reshape(n, 5, 32)), base3(q[:, 160:240].reshape(n, 5, 16)), base3(last), d]
        return np.concatenate(parts, 1).tobytes()
    if kind == "ptq1_0":
        last = np.concatenate([q[:, 120:].reshape(n, 4, 2), np.zeros((n, 1, 2), np.uint8)], 1)
        parts = [base3(q[:, :80].reshape(n, 5, 16)), base3(q[:, 80:120].reshape(n, 5, 8)), base3(last), d]
        return np.concatenate(parts, 1).tobytes()
    if kind == "q1_0":
        return np.concatenate([d, np.packbits(q >> 1, axis=1, bitorder="little")], 1).tobytes()
    q = q.reshape(n, block // 4, 4)
    return np.concatenate([d, q[..., 0] | q[..., 1] << 2 | q[..., 2] << 4 | q[..., 3] << 6], 1).tobytes()


def unpack_ternary(kind, data, shape):
    """Returns codes [rows, columns] and scales [rows, columns / every] as float32 (i2_s: one float)."""
    if kind in I2_S:
        return unpack_i2_s(kind, data, shape)
    k = KINDS[kind]
    raw = data.reshape(-1, k.bytes)
    n = len(raw)
    planes = np.array([0, 2, 4, 6], np.uint8)
    if kind == "tq2_0":
        codes = raw[:, :64].reshape(n, 2, 1, 32) >> planes.reshape(1, 1, 4, 1) & 3
    elif kind == "tq1_0":
        codes = np.concatenate([trits(raw[:, :32], 5).reshape(n, 160), trits(raw[:, 32:48], 5).reshape(n, 80),
                                trits(raw[:, 48:52], 4).reshape(n, 16)], 1)
    elif kind == "ptq1_0":
        codes = np.concatenate([trits(raw[:, :16], 5).reshape(n, 80), trits(raw[:, 16:24], 5).reshape(n, 40),
                                trits(raw[:, 24:26], 4).reshape(n, 8)], 1)
    elif kind == "q1_0":
        codes = np.unpackbits(raw[:, 2:], axis=1, bitorder="little") * np.uint8(2)
    else:
        codes = raw[:, 2:, None] >> planes & 3
    d = raw[:, :2] if kind in SCALE_FIRST else raw[:, -2:]
    scales = np.ascontiguousarray(d).view("<f2").astype(np.float32)
    return codes.reshape(shape), scales.reshape(*shape[:-1], shape[-1] // k.every)


def ternary_values(codes, scales):
    """Returns float32 values of codes [rows, columns] and scales as unpack_ternary gives them."""
    values = codes.astype(np.float32) - 1
    if np.ndim(scales) == 0:
        return values * np.float32(scales)
    groups = values.reshape(*scales.shape, -1)
    return (groups * scales[..., None]).reshape(codes.shape)


# ---- dense ----

def half(x):
    """Rounds to F16; returns the bytes [n, 2] and the float32 values [n, 1]."""
    h = np.ascontiguousarray(x, np.float32).astype("<f2").reshape(-1, 1)
    return h.view(np.uint8), h.astype(np.float32)


def ratio(x, d):
    """Returns x / d, and zeros where d is 0."""
    return np.divide(x, d, out=np.zeros(np.broadcast_shapes(x.shape, d.shape), np.float32), where=d != 0)


def rounded(x, low, high):
    return np.clip(np.rint(x), low, high).astype(np.int32)


def quantise_simple(kind, x):
    """Does Q8_0, Q4_0 and Q5_0: one scale for 32 values."""
    if kind == "q8_0":
        d, scale = half(np.abs(x).max(1) / 127)
        return np.concatenate([d, rounded(ratio(x, scale), -127, 127).astype(np.int8).view(np.uint8)], 1)
    top = 8 if kind == "q4_0" else 16
    extreme = np.take_along_axis(x, np.abs(x).argmax(1)[:, None], 1)
    d, scale = half(extreme / -top)
    q = rounded(ratio(x, scale) + top, 0, 2 * top - 1).astype(np.uint8)
    low = q[:, :16] & 15 | (q[:, 16:] & 15) << 4
    if kind == "q4_0":
        return np.concatenate([d, low], 1)
    return np.concatenate([d, np.packbits(q >> 4, axis=1, bitorder="little"), low], 1)


def dequantise_simple(kind, raw):
    d = np.ascontiguousarray(raw[:, :2]).view("<f2").astype(np.float32)
    if kind == "q8_0":
        return raw[:, 2:].view(np.int8) * d
    low = raw[:, -16:]
    q = np.concatenate([low & 15, low >> 4], 1).astype(np.int32)
    if kind == "q5_0":
        q |= np.unpackbits(raw[:, 2:6], axis=1, bitorder="little").astype(np.int32) << 4
    return (q - (8 if kind == "q4_0" else 16)) * d


def pack_k_scales(scales, minima):
    """Packs two times eight numbers of 6 bits into 12 bytes."""
    s, m = scales.astype(np.uint8), minima.astype(np.uint8)
    high = s[:, 4:] & 15 | (m[:, 4:] & 15) << 4
    return np.concatenate([s[:, :4] | s[:, 4:] >> 4 << 6, m[:, :4] | m[:, 4:] >> 4 << 6, high], 1)


def unpack_k_scales(packed):
    first, second, third = packed[:, :4], packed[:, 4:8], packed[:, 8:]
    scales = np.concatenate([first & 63, third & 15 | first >> 6 << 4], 1)
    return scales, np.concatenate([second & 63, third >> 4 | second >> 6 << 4], 1)


def quantise_k(kind, x):
    """Does Q4_K and Q5_K: a scale and a minimum for each 32 of 256 values."""
    top = 15 if kind == "q4_k" else 31
    x = x.reshape(-1, 8, 32)
    low = -np.minimum(x.min(2), 0)
    step = (x.max(2) + low) / top
    d, scale = half(step.max(1) / 63)
    dmin, minimum = half(low.max(1) / 63)
    s, m = rounded(ratio(step, scale), 0, 63), rounded(ratio(low, minimum), 0, 63)
    q = rounded(ratio(x + (minimum * m)[..., None], (scale * s)[..., None]), 0, top).astype(np.uint8)
    pairs = (q & 15).reshape(-1, 4, 2, 32)
    parts = [d, dmin, pack_k_scales(s, m), (pairs[:, :, 0] | pairs[:, :, 1] << 4).reshape(-1, 128)]
    if kind == "q5_k":
        parts.insert(3, np.packbits(q >> 4, axis=1, bitorder="little")[:, 0])
    return np.concatenate(parts, 1)


def dequantise_k(kind, raw):
    n = len(raw)
    d, dmin = (np.ascontiguousarray(raw[:, at:at + 2]).view("<f2").astype(np.float32) for at in (0, 2))
    scales, minima = unpack_k_scales(raw[:, 4:16])
    low = raw[:, -128:].reshape(n, 4, 1, 32) >> np.array([0, 4], np.uint8).reshape(1, 1, 2, 1) & 15
    q = low.reshape(n, 8, 32)
    if kind == "q5_k":
        q = q | np.unpackbits(raw[:, None, 16:48], axis=1, bitorder="little") << 4
    return (d * scales)[..., None] * q - (dmin * minima)[..., None]


def quantise_q6_k(x):
    x = x.reshape(-1, 16, 16)
    step = np.abs(x).max(2) / 31
    d, scale = half(step.max(1) / 127)
    s = rounded(ratio(step, scale), 0, 127)
    q = (rounded(ratio(x, (scale * s)[..., None]), -32, 31) + 32).astype(np.uint8).reshape(-1, 2, 4, 32)
    low = np.concatenate([q[:, :, 0] & 15 | (q[:, :, 2] & 15) << 4, q[:, :, 1] & 15 | (q[:, :, 3] & 15) << 4], 2)
    high = q[:, :, 0] >> 4 | q[:, :, 1] >> 4 << 2 | q[:, :, 2] >> 4 << 4 | q[:, :, 3] >> 4 << 6
    n = len(q)
    return np.concatenate([low.reshape(n, 128), high.reshape(n, 64), s.astype(np.int8).view(np.uint8), d], 1)


def dequantise_q6_k(raw):
    n = len(raw)
    low, high = raw[:, :128].reshape(n, 2, 64), raw[:, 128:192].reshape(n, 2, 32)
    low = np.stack([low[:, :, :32] & 15, low[:, :, 32:] & 15, low[:, :, :32] >> 4, low[:, :, 32:] >> 4], 2)
    high = high[:, :, None, :] >> np.array([0, 2, 4, 6], np.uint8).reshape(1, 1, 4, 1) & 3
    q = (low | high << 4).astype(np.int32) - 32
    d = np.ascontiguousarray(raw[:, 208:]).view("<f2").astype(np.float32)
    steps = d * np.ascontiguousarray(raw[:, 192:208]).view(np.int8)
    return q.reshape(n, 16, 16) * steps[..., None]


def quantise(kind, x):
    """Returns the bytes of x [rows, columns] or [columns]. A ternary kind gets scales of 1.2 mean magnitudes."""
    x = np.ascontiguousarray(x, np.float32)
    assert fits(kind, x.shape[-1]), f"{kind} does not take rows of {x.shape[-1]}"
    if kind == "f32":
        return x.astype("<f4").tobytes()
    if kind == "f16":
        return x.astype("<f2").tobytes()
    if kind == "bf16":
        bits = x.view(np.uint32)
        return (bits + 0x7fff + (bits >> 16 & 1) >> 16).astype("<u2").tobytes()
    if kind in TERNARY:
        every = KINDS[kind].every or x.size
        groups = x.reshape(-1, every)
        scales = (1.2 * np.abs(groups).mean(1, keepdims=True)).astype(np.float16 if kind not in I2_S else np.float32)
        codes = rounded(ratio(groups, scales.astype(np.float32)), -1, 1) + 1
        codes = np.where(groups < 0, 0, 2) if kind == "q1_0" else codes
        return pack_ternary(kind, codes.astype(np.uint8).reshape(x.shape), scales.item() if kind in I2_S else scales)
    blocks = x.reshape(-1, KINDS[kind].block)
    if kind == "q6_k":
        return quantise_q6_k(blocks).tobytes()
    return (quantise_k if kind in ("q4_k", "q5_k") else quantise_simple)(kind, blocks).tobytes()


def dequantise(kind, data, shape):
    """Returns the float32 values of a tensor [rows, columns] or [columns]; data is an array of bytes."""
    data = np.frombuffer(data, np.uint8)[:size(kind, shape)]
    if kind in TERNARY:
        return ternary_values(*unpack_ternary(kind, data, shape))
    if kind == "bf16":
        values = (data.view("<u2").astype(np.uint32) << 16).view(np.float32)
    elif kind in ("f32", "f16"):
        values = data.view("<f4" if kind == "f32" else "<f2").astype(np.float32)
    else:
        raw = data.reshape(-1, KINDS[kind].bytes)
        if kind == "q6_k":
            values = dequantise_q6_k(raw)
        else:
            values = (dequantise_k if kind in ("q4_k", "q5_k") else dequantise_simple)(kind, raw)
    return values.astype(np.float32).reshape(shape)
