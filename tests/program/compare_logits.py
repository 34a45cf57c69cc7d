#!/usr/bin/env python3
"""Compare one .npy of rows (logits, or hidden states) with a reference.

    compare_logits.py reference.npy other.npy [--cosine 0.999] [--no-top]

Every row's cosine must reach the bar. The largest element must be the same one wherever the reference is decided:
where its first two differ by more than a quarter of the row's standard deviation. The exit code is 1 if that fails.
"""
import argparse
import sys

import numpy as np


def cosines(a, b):
    """Returns the cosine of each row, as float64."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    return (a * b).sum(-1) / np.maximum(np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1), 1e-300)


def compare(reference, other, bar=0.999, top=True, decided=0.25):
    """Returns a line of what was found, and whether it is good enough."""
    if reference.shape != other.shape:
        return f"wanted shape {reference.shape}, got {other.shape}", False
    reference, other = reference.astype(np.float64), other.astype(np.float64)
    if not np.isfinite(other).all():
        return f"{np.count_nonzero(~np.isfinite(other))} values are not finite", False
    cosine = cosines(reference, other)
    worst = int(cosine.argmin())
    report, good = f"worst cosine {cosine[worst]:.7f} at row {worst} (bar {bar})", cosine[worst] >= bar
    if top:
        second, first = np.partition(reference, -2, -1)[:, -2:].T
        clear = first - second > reference.std(-1) * decided
        wrong = clear & (reference.argmax(-1) != other.argmax(-1))
        report += f"; top-1: {clear.sum()} compared, {(~clear).sum()} too close, {wrong.sum()} differ"
        if wrong.any():
            report += f" (rows {np.flatnonzero(wrong)[:8].tolist()})"
        good = good and not wrong.any()
    return report, bool(good)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reference")
    parser.add_argument("other")
    parser.add_argument("--cosine", type=float, default=0.999)
    parser.add_argument("--no-top", action="store_true", help="compare cosines only")
    a = parser.parse_args()
    report, good = compare(np.load(a.reference), np.load(a.other), a.cosine, not a.no_top)
    print(report)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
