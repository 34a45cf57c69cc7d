#!/usr/bin/env python3
"""Measure what rounding the inputs of ternary projections costs: this makes the table of engine/README.md, "Numbers".

    input_rounding.py FOLDER [--seeds 3] [--tokens 100]

FOLDER takes the models for a while: the references that were made without rounding (families.tar.xz), and three deeper ones of
random weights. Each line is a way to round; all else is float64, so that only the rounding shows. The columns are the
cosine of the logits with those of transformers (deeper ones: of reference.py), worst and median token, and how often
another token comes first.
"""
import argparse
import pathlib

import numpy as np

import gguf  # noqa: F401 (it finds tests/support)
import gguf_types
import make_family
import reference
import reference_models
from compare_logits import cosines

REFERENCES = ("llama-tq1_0", "llama-tq2_0", "qwen3-q2_0", "qwen3-tq2_0")
DEEP = {"llama TQ2_0, 8 layers, 512 wide": "--arch llama --proj tq2_0 --head f16",
        "qwen3 Q2_0, 8 layers, 512 wide": "--arch qwen3 --proj q2_0 --head f16",
        "the same, one feature of 64 is 8 times as large": "--arch qwen3 --proj q2_0 --head f16 --outliers 8"}
SHAPE = "--dim 512 --ffn 1536 --layers 8 --heads 8 --kv 4 --embd f16"


def blocks(x, size):
    return x.reshape(*x.shape[:-1], -1, size)


def exact(x):
    return x


def int8_row(x):
    q, scale = reference.quantise(x, np.float32)
    return q / scale


def q8_k(x):
    """llama.cpp's rule for TQ1_0 and TQ2_0: the element of the largest magnitude becomes -127."""
    b = blocks(x.astype(np.float32), 256)
    extreme = np.take_along_axis(b, np.abs(b).argmax(-1)[..., None], -1)
    factor = np.float32(-127) / np.where(extreme == 0, np.float32(1), extreme)
    return (np.minimum(127, np.rint(b * factor)) * (1 / factor)).reshape(x.shape)


def q8_0(x):
    """llama.cpp's rule for Q2_0. The scale is stored in F16."""
    b = blocks(x.astype(np.float32), 32)
    scale = np.abs(b).max(-1, keepdims=True) / np.float32(127)
    q = np.rint(b / np.where(scale == 0, np.float32(1), scale))
    return (q * scale.astype(np.float16).astype(np.float32)).reshape(x.shape)


def rounded_first(rounding):
    return lambda x, codes, scales: rounding(x).astype(np.float64) @ gguf_types.ternary_values(codes + 1, scales).T


def int8_units(x, codes, scales):
    """As the engine does it: int8 for each 64 inputs, whose products have a sum that is scaled in fixed point."""
    x = blocks(x.astype(np.float32), 64)
    m = np.maximum(np.float32(1e-30), np.abs(x).max(-1, keepdims=True))  # [tokens, units, 1]
    q = np.clip(np.rint(x * (np.float32(127) / m)), -127, 127).astype(np.float64)
    most = m.max(1, keepdims=True)
    e = m / most
    n_rows, n_groups = len(codes), codes.shape[1] // 64
    every_64 = np.repeat(scales.astype(np.float64), n_groups // scales.shape[1], 1)  # [rows, groups]
    fixed = 2.0 ** np.floor(np.log2(2 ** 30 / (64 * 128 * np.abs(every_64).sum(1).max())))
    total = np.zeros((len(x), n_rows))
    for g in range(n_groups):
        t = q[:, g] @ codes[:, 64 * g:64 * g + 64].T
        total += np.rint(t.astype(np.float32) * ((every_64[:, g] * fixed).astype(np.float32) * e[:, g]))
    return total * (most[:, 0] / np.float32(127)) / fixed


PRODUCTS = {
    "int8 a row": rounded_first(int8_row),
    "Q8_K: int8 every 256 (llama.cpp, TQ types)": rounded_first(q8_k),
    "int8 every 64, sums in fixed point (here)": int8_units,
    "Q8_0: int8 every 32, F16 scales (llama.cpp, Q2_0)": rounded_first(q8_0),
    "float": rounded_first(exact),
}


def tell(name, model, ids, wanted):
    print(f"\n{name}, {sum(map(len, ids))} tokens\n\n| input | 1 - worst cosine | 1 - median | other top-1 |\n|---|---|---|---|")
    for what, product in PRODUCTS.items():
        got = [model.forward(row, reference.Numbers(kv=np.float64, product=product))[0] for row in ids]
        lost = np.concatenate([1 - cosines(a, b) for a, b in zip(wanted, got)])
        other = sum(int((a.argmax(-1) != b.argmax(-1)).sum()) for a, b in zip(wanted, got))
        print(f"| {what} | {max(0, lost.max()):.1e} | {max(0, np.median(lost)):.1e} | {other} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--tokens", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    a = parser.parse_args()
    folder = pathlib.Path(a.folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, (path, golden) in reference_models.unpack(folder, REFERENCES).items():
        tell(name, reference.Model(path), [golden["ids"].tolist()], [golden["logits"]])
    for name, line in DEEP.items():
        path = folder / "deep.gguf"
        make_family.main([str(path), *line.split(), *SHAPE.split()])
        model = reference.Model(path)
        ids = [np.random.Generator(np.random.PCG64(seed)).integers(0, 384, a.tokens).tolist() for seed in range(a.seeds)]
        tell(name, model, ids, [model.forward(row, reference.Numbers(kv=np.float64, int8=None))[0] for row in ids])


if __name__ == "__main__":
    main()
