#!/usr/bin/env python3
"""Compare layers by canonical correlations on rows that were held out.

    cca.py --activations a.npy [--activations-b b.npy] [--probes probe.npz] --output cca.npz

In each fold both sides are reduced by PCA of the training rows and whitened, with a ridge of REG times their mean
variance; the singular vectors of the cross-covariance are applied to the held-out rows, and the mean of the first
correlations counts, not below 0. cca_layer_matrix compares the layers of one model, cca_cross_model those of two models
over the same rows, root_pattern_cca the subspaces in which a linear probe reads root and pattern (cosines of their
principal angles).
"""
import numpy as np

import common


class Whitened:
    """A layer whose rows are reduced and whitened by the training rows of each fold: a pair (training rows, held-out rows)
    for each."""

    def __init__(self, values, folds, reg):
        self.n_rows, self.pairs = len(values), []
        for test in folds:
            train = np.setdiff1d(np.arange(len(values)), test)
            mean = values[train].mean(0)
            u, s, basis = np.linalg.svd(values[train] - mean, full_matrices=False)
            kept = s > (s[0] if len(s) else 0) * 1e-9
            variance = s[kept] ** 2 / (len(train) - 1)
            if not kept.any():
                self.pairs.append((np.zeros((len(train), 1)), np.zeros((len(test), 1))))
                continue
            to_white = basis[kept].T / np.sqrt(variance + reg * variance.mean())
            self.pairs.append(((values[train] - mean) @ to_white, (values[test] - mean) @ to_white))


def held_out_correlation(x, y, n_components):
    """The mean of the first correlations of two Whitened layers over held-out rows, weighted by the size of the folds."""
    total = 0.0
    for (x_train, x_test), (y_train, y_test) in zip(x.pairs, y.pairs):
        u, _, v = np.linalg.svd(x_train.T @ y_train / (len(x_train) - 1), full_matrices=False)
        a, b = x_test @ u[:, :n_components], y_test @ v[:n_components].T
        a, b = a - a.mean(0), b - b.mean(0)
        sizes = np.sqrt((a * a).sum(0) * (b * b).sum(0))
        correlations = np.where(sizes > 0, (a * b).sum(0) / np.where(sizes > 0, sizes, 1), 0)
        total += max(0.0, float(correlations.mean())) * len(x_test)
    return total / x.n_rows


def matrix_of(a, b, n_components):
    """a and b are lists of Whitened layers; where they are one list, what is known by symmetry is not computed."""
    found = np.zeros((len(a), len(b)))
    for i in range(len(a)):
        for j in range(i if a is b else 0, len(b)):
            found[i, j] = held_out_correlation(a[i], b[j], n_components)
            if a is b:
                found[j, i] = found[i, j]
    return found


def principal_cosines(a, b):
    """The cosines of the principal angles between the row spaces of two centred matrices, the largest first."""
    bases = []
    for w in (a, b):
        u, s, basis = np.linalg.svd(w - w.mean(0), full_matrices=False)
        bases.append(basis[s > s[0] * 1e-9])
    return np.clip(np.linalg.svd(bases[0] @ bases[1].T, compute_uv=False), 0, 1)


def main(arguments=None):
    parser = common.parser_of(__doc__)
    parser.add_argument("--activations", required=True)
    parser.add_argument("--activations-b")
    parser.add_argument("--probes", help="what linear_probe.py wrote of --activations")
    parser.add_argument("--output", required=True, help=".npz")
    parser.add_argument("--n-components", type=int, default=10)
    parser.add_argument("--reg", type=float, default=1e-4)
    parser.add_argument("--cv-folds", type=int, default=5)
    parser.add_argument("--assume-row-aligned", action="store_true", help="do not ask whether both arrays have the same rows")
    a = parser.parse_args(arguments)
    first = common.Activations(a.activations)
    if a.n_components < 1:
        raise common.Refused(f"wanted at least 1 component, found {a.n_components}")
    if a.cv_folds < 2 or len(first.values) < 3 * a.cv_folds:
        raise common.Refused(f"{a.cv_folds} folds of {len(first.values)} rows; wanted at least 2, of 3 rows each")
    rows = np.random.default_rng(0).permutation(len(first.values))
    folds = [np.sort(rows[i::a.cv_folds]) for i in range(a.cv_folds)]

    def layers(array):
        return [Whitened(array.values[:, i].astype(np.float64), folds, a.reg) for i in range(array.values.shape[1])]
    mine = layers(first)
    saved = {"cca_layer_matrix": matrix_of(mine, mine, a.n_components), "activations_sha256": first.sha256}
    if a.activations_b:
        second = common.Activations(a.activations_b)
        if not a.assume_row_aligned:
            first.must_align_with(second)
        first.must_be_as_many_as(second)
        saved["cca_cross_model"] = matrix_of(mine, layers(second), a.n_components)
        saved["activations_b_sha256"] = second.sha256
    if a.probes:
        probes = common.read_arrays(a.probes)
        if not isinstance(probes, dict) or str(probes.get("activations_sha256")) != first.sha256:
            raise common.Refused(f"{a.probes}: the probes are those of another array (activations_sha256)")
        weights = [probes.get(f"{task}_probe_weights") for task in ("root", "pattern")]
        if any(w is None for w in weights):
            raise common.Refused(f"{a.probes} has no weights of root and pattern; linear_probe.py writes them with "
                                 "--tasks root pattern and any --probe-kind but mlp")
        for w in weights:
            common.must_be_numbers(a.probes, w)
            if w.ndim != 3 or w.shape[::2] != first.values.shape[1:] or not np.isfinite(w).all():
                raise common.Refused(f"{a.probes}: wanted finite weights [layers, classes, width], found {list(w.shape)}")
        saved["root_pattern_cca"] = np.array([principal_cosines(r, p).mean() for r, p in zip(*weights)])
    np.savez(a.output, schema_version=3, n_components=a.n_components, regularization=a.reg, cv_folds=a.cv_folds,
             evaluation="held_out", **saved)
    common.write_plot(a.output, common.heat_map("Canonical correlations of layers", saved["cca_layer_matrix"]))


if __name__ == "__main__":
    common.run(main)
