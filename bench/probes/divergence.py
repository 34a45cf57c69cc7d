#!/usr/bin/env python3
"""Find the layers at which prompts that were answered rightly and wrongly part.

    divergence.py --activations a.npy --output divergence.npz [--correctness a_correctness.json]

Per layer: the cosine distance and the Euclidean distance between the mean of the correct rows and that of the others.
"""
import json

import numpy as np

import common


def main(arguments=None):
    parser = common.parser_of(__doc__)
    parser.add_argument("--activations", required=True)
    parser.add_argument("--correctness", help="otherwise the file beside the activations")
    parser.add_argument("--output", required=True, help=".npz")
    parser.add_argument("--allow-unlinked-correctness", action="store_true", help="do not ask whether both belong together")
    a = parser.parse_args(arguments)
    activations = common.Activations(a.activations)
    linked = not (a.allow_unlinked_correctness and a.correctness)
    rows = activations.correctness(a.correctness) if linked else common.read_correctness(a.correctness)
    if len(rows) != len(activations.values):
        raise common.Refused(f"{len(rows)} rows of correctness, {len(activations.values)} of activations")
    correct = np.array([bool(row["correct"]) for row in rows])
    if correct.all() or not correct.any():
        raise common.Refused(f"{correct.sum()} of {len(correct)} rows are correct, so there is nothing to compare")
    values = activations.values.astype(np.float64)
    right, wrong = values[correct].mean(0), values[~correct].mean(0)
    sizes = np.linalg.norm(right, axis=1) * np.linalg.norm(wrong, axis=1)
    cosine = 1 - (right * wrong).sum(1) / np.where(sizes > 0, sizes, 1)
    evidence = {"linked": linked, "activations_sha256": activations.sha256,
                "correctness_sha256": activations.about["correctness_sha256"] if linked else None}
    np.savez(a.output, schema_version=3, layer=np.arange(len(cosine)), cos_dist=cosine,
             eucl_dist=np.linalg.norm(right - wrong, axis=1), n_correct=correct.sum(), n_incorrect=(~correct).sum(),
             evaluation="generated_text", alignment_evidence_json=json.dumps(evidence))
    common.write_plot(a.output, common.line_plot("Right and wrong answers part", {"cosine": cosine}, y_label="cosine distance"))


if __name__ == "__main__":
    common.run(main)
