#!/usr/bin/env python3
"""The forward pass of BitNet b1.58 in float64, as the report (arXiv 2504.12285) has it: what the engine is held against.

    reference.py model.gguf --ids 256,72,101 --logits logits.npy [--hidden hidden.npy] [--neon] [--kv float64]

logits.npy is [n_tokens, n_vocab]; hidden.npy is [n_layers, n_embd], the residual stream after each block at the
last position. Exact but for the two roundings that belong to the model as it is run: the input of every ternary matrix
becomes int8 by its row's largest magnitude, and the cache holds keys and values in F16 (--kv float64 leaves them be).
"""
import argparse

import numpy as np

import gguf


def rms_norm(x, weight, eps):
    return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + eps) * weight


def quantise(x):
    """int8 values and what each row was multiplied by. numpy rounds halves to even."""
    scale = 127.0 / np.maximum(1e-5, np.abs(x).max(-1, keepdims=True))
    return np.clip(np.rint(x * scale), -128, 127), scale


def rope(x, n_rot, base):
    """x [tokens, heads, head_dim]; pairs are (i, i + n_rot/2), dims from n_rot on pass through."""
    half = n_rot // 2
    angle = np.arange(len(x))[:, None] * base ** (-np.arange(half) / half)
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    a, b = x[..., :half], x[..., half:n_rot]
    return np.concatenate([a * cos - b * sin, a * sin + b * cos, x[..., n_rot:]], -1)


def attend(q, k, v):
    """Causal softmax attention; q [tokens, heads, d], k and v [tokens, kv_heads, d]."""
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    scores = np.einsum("thd,shd->hts", q, k) / np.sqrt(q.shape[-1])
    scores += np.triu(np.full(scores.shape[1:], -np.inf), 1)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hts,shd->thd", weights / weights.sum(-1, keepdims=True), v)


class Model:
    def __init__(self, path, neon=False):
        self.file = gguf.File(path)
        self.lanes = 16 if neon else 32
        meta = self.file.meta
        arch = meta["general.architecture"]
        get = lambda key, default=None: meta.get(f"{arch}.{key}", default)
        self.n_layer, self.n_head = get("block_count"), get("attention.head_count")
        self.n_head_kv = get("attention.head_count_kv", self.n_head)
        self.head_dim = get("attention.key_length", get("embedding_length") // self.n_head)
        self.n_rot = get("rope.dimension_count", self.head_dim)
        self.eps, self.base = get("attention.layer_norm_rms_epsilon"), get("rope.freq_base")

    def linear(self, name, x):
        codes, scale = self.file.ternary(name + ".weight", self.lanes)
        q, s = quantise(x)
        return q @ codes.T / s * scale

    def norm(self, name, x):
        return rms_norm(x, self.file.floats(name + ".weight"), self.eps)

    def forward(self, ids, kv=np.float16):
        """logits [tokens, vocabulary], hidden [layers, embedding] of the last token; kv is the type of the cache."""
        embedding = self.file.floats("token_embd.weight")
        x, hidden = embedding[ids], []
        heads = lambda y, n: y.reshape(len(ids), n, self.head_dim)
        for i in range(self.n_layer):
            b = f"blk.{i}."
            a = self.norm(b + "attn_norm", x)
            q = rope(heads(self.linear(b + "attn_q", a), self.n_head), self.n_rot, self.base)
            k = rope(heads(self.linear(b + "attn_k", a), self.n_head_kv), self.n_rot, self.base)
            v = heads(self.linear(b + "attn_v", a), self.n_head_kv)
            k, v = (cached.astype(kv).astype(np.float64) for cached in (k, v))
            o = attend(q, k, v).reshape(len(ids), -1)
            x = x + self.linear(b + "attn_output", self.norm(b + "attn_sub_norm", o))
            f = self.norm(b + "ffn_norm", x)
            h = np.maximum(self.linear(b + "ffn_gate", f), 0) ** 2 * self.linear(b + "ffn_up", f)
            x = x + self.linear(b + "ffn_down", self.norm(b + "ffn_sub_norm", h))
            hidden.append(x[-1])
        head = self.file.floats("output.weight") if "output.weight" in self.file.tensors else embedding
        return self.norm("output_norm", x) @ head.T, np.array(hidden)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--ids", required=True, help="token ids, separated by commas")
    parser.add_argument("--logits", help="write them here (.npy)")
    parser.add_argument("--hidden", help="write them here (.npy)")
    parser.add_argument("--neon", action="store_true", help="the file has blocks of 64, as ARM builds write them")
    parser.add_argument("--kv", choices=["float16", "float64"], default="float16", help="type of the cache")
    a = parser.parse_args()
    logits, hidden = Model(a.model, a.neon).forward([int(i) for i in a.ids.split(",")], np.dtype(a.kv))
    if a.logits:
        np.save(a.logits, logits)
    if a.hidden:
        np.save(a.hidden, hidden)
    for position, row in enumerate(logits):
        top = np.argsort(-row, kind="stable")[:5]
        print(position, " ".join(f"{i}:{row[i]:.4f}" for i in top))


if __name__ == "__main__":
    main()
