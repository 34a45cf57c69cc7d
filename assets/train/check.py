#!/usr/bin/env python3
"""Read the GGUF file with nothing but numpy, run its forward pass, and compare with the golden logits.

    python3 check.py ../bitnet-chat.gguf ../../tests/program/bundled_logits.npz
"""
import struct
import sys

import numpy as np

SCALAR = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


def read(path):
    """Metadata, and the tensors as float32 arrays [rows, columns] or (ternary, scale)."""
    data, at = open(path, "rb").read(), 0

    def take(fmt):
        nonlocal at
        v = struct.unpack_from("<" + fmt, data, at)
        at += struct.calcsize("<" + fmt)
        return v[0]

    def value(typ):
        nonlocal at
        if typ == 8:
            n = take("Q")
            at += n
            return data[at - n:at].decode()
        if typ == 9:
            sub, n = take("I"), take("Q")
            return [value(sub) for _ in range(n)]
        return take(SCALAR[typ])

    assert data[:4] == b"GGUF"
    at = 4
    assert take("I") == 3
    n_tensors, n_meta = take("Q"), take("Q")
    meta = {}
    for _ in range(n_meta):
        key = value(8)
        meta[key] = value(take("I"))
    plan = []
    for _ in range(n_tensors):
        name = value(8)
        shape = [take("Q") for _ in range(take("I"))]
        plan.append((name, shape, take("I"), take("Q")))
    base, out = (at + 31) // 32 * 32, {}
    for name, shape, typ, off in plan:
        n, start = int(np.prod(shape)), base + off
        if typ == 36:
            b = np.frombuffer(data, np.uint8, n // 4, start).reshape(-1, 32)
            q = np.stack([b >> s & 3 for s in (6, 4, 2, 0)], 1).reshape(shape[1], shape[0]).astype(np.float32) - 1
            out[name] = q, np.float32(struct.unpack_from("<f", data, start + n // 4)[0])
        else:
            out[name] = np.frombuffer(data, "<f2" if typ == 1 else "<f4", n, start).reshape(shape[::-1]).astype(np.float32)
    return meta, out


def forward(meta, w, ids):
    key = lambda k: meta["bitnet-b1.58." + k]
    heads, kv, dim = key("attention.head_count"), key("attention.head_count_kv"), key("embedding_length")
    hd, eps, half = dim // heads, key("attention.layer_norm_rms_epsilon"), dim // heads // 2
    rms = lambda x, name: x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * w[name + ".weight"]
    angle = np.outer(np.arange(len(ids)), key("rope.freq_base") ** (-np.arange(half) / half))
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]

    def linear(x, name):
        s = 127 / np.maximum(1e-5, np.abs(x).max(-1, keepdims=True))
        t, scale = w[name + ".weight"]
        return np.clip(np.rint(x * s), -128, 127) @ t.T / s * scale

    def turn(x):
        a, b = x[..., :half], x[..., half:]
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    x = w["token_embd.weight"][ids]
    for i in range(key("block_count")):
        b = f"blk.{i}."
        a = rms(x, b + "attn_norm")
        q = turn(linear(a, b + "attn_q").reshape(-1, heads, hd))
        k = turn(linear(a, b + "attn_k").reshape(-1, kv, hd)).repeat(heads // kv, 1)
        v = linear(a, b + "attn_v").reshape(-1, kv, hd).repeat(heads // kv, 1)
        s = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(hd) + np.triu(np.full((len(ids),) * 2, -np.inf), 1)
        p = np.exp(s - s.max(-1, keepdims=True))
        o = np.einsum("hqk,khd->qhd", p / p.sum(-1, keepdims=True), v).reshape(-1, dim)
        x = x + linear(rms(o, b + "attn_sub_norm"), b + "attn_output")
        f = rms(x, b + "ffn_norm")
        h = np.maximum(linear(f, b + "ffn_gate"), 0) ** 2 * linear(f, b + "ffn_up")
        x = x + linear(rms(h, b + "ffn_sub_norm"), b + "ffn_down")
    return rms(x, "output_norm") @ w["token_embd.weight"].T


def main():
    meta, w = read(sys.argv[1])
    golden, worst = np.load(sys.argv[2]), 1.0
    for i in range(sum(k.startswith("tokens") for k in golden.files)):
        ids, at, want = (golden[f"{k}{i}"] for k in ("tokens", "positions", "logits"))
        got, want = forward(meta, w, ids)[at], want.astype(np.float64)
        for p, g, l in zip(at, got, want):
            cos = float(g @ l / np.linalg.norm(g) / np.linalg.norm(l))
            worst = min(worst, cos)
            print(f"prompt {i} position {p}: cosine {cos:.7f}, largest difference {np.abs(g - l).max():.4f}, top {g.argmax()} / {l.argmax()}")
    sys.exit(worst < 0.999)


if __name__ == "__main__":
    main()
