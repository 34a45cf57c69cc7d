#!/usr/bin/env python3
"""Compare layers by which stimuli they take for similar.

    rsa.py --activations a.npy [--activations-b b.npy] [--metric correlation|cosine|euclidean] --output rsa.npz

Each layer has a matrix of similarities, 1 - distance, between the stimuli; two layers are compared by the correlation of
the upper triangles of their matrices (Pearson's, or with --correlation spearman that of their ranks). rsa_layer_matrix compares the layers of one model, rsa_cross_model two models.
"""
import numpy as np

import common


def similarities(x, metric):
    """The upper triangle of 1 - distance between rows."""
    if metric == "euclidean":
        squares = (x * x).sum(1)
        full = 1 - np.sqrt(np.maximum(squares[:, None] + squares - 2 * x @ x.T, 0))
    else:
        if metric == "correlation":
            x = x - x.mean(1, keepdims=True)
        size = np.linalg.norm(x, axis=1, keepdims=True)
        x = x / np.where(size > 0, size, 1)
        full = x @ x.T
    return full[np.triu_indices(len(x), 1)]


def ranks(values):
    """Of each row, from 0; equal values have the mean of their ranks."""
    def of(row):
        _, which, counts = np.unique(row, return_inverse=True, return_counts=True)
        return (np.cumsum(counts) - (counts + 1) / 2)[which]
    return np.array([of(row) for row in values])


def correlations(a, b):
    a, b = (m - m.mean(1, keepdims=True) for m in (a, b))
    sizes = np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=1)
    return (a @ b.T) / np.where(sizes > 0, sizes, 1)


def main(arguments=None):
    parser = common.parser_of(__doc__)
    parser.add_argument("--activations", required=True)
    parser.add_argument("--activations-b")
    parser.add_argument("--metric", choices=["correlation", "cosine", "euclidean"], default="correlation")
    parser.add_argument("--correlation", choices=["pearson", "spearman"], default="pearson", help="of two layers' similarities")
    parser.add_argument("--output", required=True, help=".npz")
    parser.add_argument("--assume-row-aligned", action="store_true")
    a = parser.parse_args(arguments)
    first = common.Activations(a.activations)
    if len(first.values) < 3:
        raise common.Refused(f"{a.activations} has {len(first.values)} rows; wanted at least 3, which have 3 similarities")

    def of(array):
        rows = np.array([similarities(array.values[:, i].astype(np.float64), a.metric) for i in range(array.values.shape[1])])
        return ranks(rows) if a.correlation == "spearman" else rows
    mine = of(first)
    saved = {"rsa_layer_matrix": correlations(mine, mine), "activations_sha256": first.sha256}
    if a.activations_b:
        second = common.Activations(a.activations_b)
        if not a.assume_row_aligned:
            first.must_align_with(second)
        first.must_be_as_many_as(second)
        saved.update(rsa_cross_model=correlations(mine, of(second)), activations_b_sha256=second.sha256)
    np.savez(a.output, schema_version=3, metric=a.metric, correlation=a.correlation, **saved)
    common.write_plot(a.output, common.heat_map(f"Similar similarities of layers ({a.metric})", saved["rsa_layer_matrix"]))


if __name__ == "__main__":
    common.run(main)
