#!/usr/bin/env python3
"""Compute the forward pass of BitNet b1.58 in float64, as the report (arXiv 2504.12285) has it, for comparison.

    reference.py model.gguf --ids 256,72,101 --logits logits.npy [--hidden hidden.npy] [--neon]
                 [--kv float64] [--int8 float32|off] [--sums float32|backwards]

logits.npy is [n_tokens, n_vocab]; hidden.npy is [n_layers, n_embd], the residual stream after each block at the
last position. They are exact but for the two roundings that belong to the model as it is run: the input of every ternary
matrix becomes int8 by its row's largest magnitude, and the cache holds keys and values in F16. The switches, which are
`Numbers` in here, change one thing each, to see what it costs (rounding_costs.py makes a table of that).
"""
import argparse
import typing

import numpy as np

import gguf


class Numbers(typing.NamedTuple):
    """How the forward pass is computed."""
    kv: type = np.float16  # what the cache holds
    int8: typing.Optional[type] = np.float64  # in which the input of a ternary matrix is scaled and rounded; None: neither
    sums: type = np.float64  # everything else
    backwards: bool = False  # sums over features and keys begin at their ends


def rms_norm(x, weight, eps, order=1):
    mean = np.mean((x * x)[..., ::order], -1, keepdims=True)
    return x / np.sqrt(mean + x.dtype.type(eps)) * weight.astype(x.dtype)


def quantise(x, kind=np.float64):
    """Returns the int8 values and what each row was multiplied by. numpy rounds halves to even."""
    x = x.astype(kind)
    scale = kind(127) / np.maximum(kind(1e-5), np.abs(x).max(-1, keepdims=True))
    return np.clip(np.rint(x * scale), -128, 127).astype(np.float64), scale


def rope(x, n_rot, base):
    """Rotates x [tokens, heads, head_dim]; pairs are (i, i + n_rot/2), and dims from n_rot on stay as they are."""
    half = n_rot // 2
    angle = np.arange(len(x))[:, None] * base ** (-np.arange(half) / half)
    cos, sin = np.cos(angle)[:, None].astype(x.dtype), np.sin(angle)[:, None].astype(x.dtype)
    a, b = x[..., :half], x[..., half:n_rot]
    return np.concatenate([a * cos - b * sin, a * sin + b * cos, x[..., n_rot:]], -1)


def attend(q, k, v, order=1):
    """Computes causal softmax attention; q is [tokens, heads, d], k and v are [tokens, kv_heads, d]."""
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    scores = np.einsum("thd,shd->hts", q[..., ::order], k[..., ::order]) / q.dtype.type(np.sqrt(q.shape[-1]))
    scores += np.triu(np.full(scores.shape[1:], -np.inf, q.dtype), 1)
    weights = np.exp(scores - scores.max(-1, keepdims=True))[..., ::order]
    return np.einsum("hts,shd->thd", weights / weights.sum(-1, keepdims=True), v[::order])


class Model:
    def __init__(self, path, neon=False):
        self.numbers = Numbers()
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
        if self.numbers.int8 is None:
            return (x.astype(np.float64) @ codes.T * scale).astype(x.dtype)
        q, s = quantise(x, self.numbers.int8)
        self.quantised.append(q)
        return (q @ codes.T).astype(x.dtype) / s.astype(x.dtype) * x.dtype.type(scale)

    def norm(self, name, x):
        return rms_norm(x, self.file.floats(name + ".weight"), self.eps, self.order)

    def forward(self, ids, numbers=Numbers()):
        """Returns logits [tokens, vocabulary] and hidden [layers, embedding] of the last token.

        self.quantised has the int8 inputs of the ternary matrices afterwards, in the order in which they were needed.
        """
        self.numbers, self.quantised = numbers, []
        self.order = -1 if numbers.backwards else 1
        embedding = self.file.floats("token_embd.weight").astype(numbers.sums)
        x, hidden = embedding[ids], []
        heads = lambda y, n: y.reshape(len(ids), n, self.head_dim)
        for i in range(self.n_layer):
            b = f"blk.{i}."
            a = self.norm(b + "attn_norm", x)
            q = rope(heads(self.linear(b + "attn_q", a), self.n_head), self.n_rot, self.base)
            k = rope(heads(self.linear(b + "attn_k", a), self.n_head_kv), self.n_rot, self.base)
            v = heads(self.linear(b + "attn_v", a), self.n_head_kv)
            k, v = (cached.astype(numbers.kv).astype(numbers.sums) for cached in (k, v))
            o = attend(q, k, v, self.order).reshape(len(ids), -1)
            x = x + self.linear(b + "attn_output", self.norm(b + "attn_sub_norm", o))
            f = self.norm(b + "ffn_norm", x)
            h = np.maximum(self.linear(b + "ffn_gate", f), 0) ** 2 * self.linear(b + "ffn_up", f)
            x = x + self.linear(b + "ffn_down", self.norm(b + "ffn_sub_norm", h))
            hidden.append(x[-1])
        head = self.file.floats("output.weight") if "output.weight" in self.file.tensors else embedding
        y = self.norm("output_norm", x)[:, ::self.order] @ head.astype(numbers.sums)[:, ::self.order].T
        return y.astype(np.float64), np.array(hidden, np.float64)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--ids", required=True, help="token ids, separated by commas")
    parser.add_argument("--logits", help="write them here (.npy)")
    parser.add_argument("--hidden", help="write them here (.npy)")
    parser.add_argument("--neon", action="store_true", help="the file has blocks of 64, as ARM builds write them")
    parser.add_argument("--kv", choices=["float16", "float64"], default="float16", help="type of the cache")
    parser.add_argument("--int8", choices=["float64", "float32", "off"], default="float64",
                        help="type in which inputs are rounded to int8; off: they are not")
    parser.add_argument("--sums", choices=["float64", "float32", "backwards"], default="float64",
                        help="type of everything else; backwards: float32, and sums begin at their ends")
    a = parser.parse_args()
    numbers = Numbers(getattr(np, a.kv), None if a.int8 == "off" else getattr(np, a.int8),
                      np.float64 if a.sums == "float64" else np.float32, a.sums == "backwards")
    logits, hidden = Model(a.model, a.neon).forward([int(i) for i in a.ids.split(",")], numbers)
    if a.logits:
        np.save(a.logits, logits)
    if a.hidden:
        np.save(a.hidden, hidden)
    for position, row in enumerate(logits):
        top = np.argsort(-row, kind="stable")[:5]
        print(position, " ".join(f"{i}:{row[i]:.4f}" for i in top))


if __name__ == "__main__":
    main()
