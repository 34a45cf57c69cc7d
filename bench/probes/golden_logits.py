#!/usr/bin/env python3
"""Compare the logits of a prompt with those of a reference, and say in one word how they agree.

    golden_logits.py --ember l.npy --reference ref.npy --output report.json --cosine-threshold 0.999 [...]

Both are float32 [1, vocabulary] or [vocabulary] with _metadata.json beside them (or --metadata, --reference-metadata).
The classes: token_audit_fail, they are not of the same tokens; provenance_fail, the files do not say what they are, or
are of different models; golden_fail, a threshold was passed; golden_warn, no threshold of numbers was given, or the
likeliest tokens differ although the numbers agree; golden_pass. Exit code 0 is golden_pass, with --allow-warn also golden_warn.
"""
import sys

import numpy as np

import common

NUMERIC = ("max_diff_threshold", "mean_diff_threshold", "cosine_threshold", "atol", "rtol")


def numbers_of(logits, reference, top_k):
    difference = np.abs(logits - reference)
    relative = difference / np.maximum(np.abs(reference), 1e-12)
    sizes = np.linalg.norm(logits) * np.linalg.norm(reference)
    top = lambda values: set(np.argsort(-values, kind="stable")[:top_k].tolist())
    return {"max_abs_diff": difference.max(), "mean_abs_diff": difference.mean(), "max_rel_diff": relative.max(),
            "mean_rel_diff": relative.mean(), "rmse": np.sqrt((difference ** 2).mean()),
            "cosine": float(logits @ reference / sizes) if sizes > 0 else 0.0,
            "exact_bits_equal": bool((logits == reference).all()),
            "top1_match": bool(logits.argmax() == reference.argmax()), "top1": int(logits.argmax()),
            "reference_top1": int(reference.argmax()), "top_k": top_k,
            "topk_overlap": len(top(logits) & top(reference)) / min(top_k, len(logits))}


def provenance(path, about, array):
    """What is wrong with a file's metadata, or None."""
    if not isinstance(about, dict):
        return f"{path} has no metadata"
    if about.get("logits_sha256") not in (None, common.sha256_of(path)):
        return f"{path} is not the file that its metadata were written for"
    shape = about.get("logits_shape", [array.shape[-1]])
    if not isinstance(shape, list) or shape[-1:] != [array.shape[-1]]:
        return f"{path} does not have the shape that its metadata say"
    return None if common.member(about, "token_audit", "token_ids") else f"{path}: its metadata name no tokens"


def classify(a, report, abouts, problems):
    ids = [common.member(about, "token_audit", "token_ids") for about in abouts]
    if any(problems):
        return "provenance_fail", [p for p in problems if p]
    if ids[0] != ids[1]:
        return "token_audit_fail", ["the two are of different tokens"]
    shas = [about.get("model_sha256") for about in abouts]
    if all(shas) and shas[0] != shas[1]:
        return "provenance_fail", ["the two are of different model files (model_sha256)"]
    failed = [] if report["finite"] else ["some logits are not numbers"]
    for name, passed in (("max_diff_threshold", lambda t: report["max_abs_diff"] <= t),
                         ("mean_diff_threshold", lambda t: report["mean_abs_diff"] <= t),
                         ("cosine_threshold", lambda t: report["cosine"] >= t)):
        threshold = getattr(a, name)
        if threshold is not None and not passed(threshold):
            failed.append(f"{name} {threshold:g} was passed")
    if (a.atol is not None or a.rtol is not None) and not report["all_close"]:
        failed.append("atol and rtol were passed")
    if report["topk_overlap"] < a.topk_overlap_threshold:
        failed.append(f"{report['topk_overlap']:.2f} of the {a.top_k} likeliest tokens are the same")
    if failed:
        return "golden_fail", failed
    warnings = [] if any(getattr(a, name) is not None for name in NUMERIC) else ["no threshold of numbers was given"]
    if not report["top1_match"]:
        warnings.append("the likeliest tokens differ")
    return ("golden_warn", warnings) if warnings else ("golden_pass", [])


def main(arguments=None):
    parser = common.parser_of(__doc__)
    parser.add_argument("--ember", "--logits", dest="ember", required=True)
    parser.add_argument("--reference", required=True)
    parser.add_argument("--metadata")
    parser.add_argument("--reference-metadata")
    parser.add_argument("--output", required=True, help=".json")
    parser.add_argument("--top-k", type=int, default=10)
    parser.add_argument("--topk-overlap-threshold", type=float, default=0.8)
    for name in NUMERIC:
        parser.add_argument("--" + name.replace("_", "-"), type=float)
    parser.add_argument("--allow-warn", action="store_true")
    a = parser.parse_args(arguments)
    if a.top_k < 1:
        raise common.Refused(f"top-k: wanted at least 1, found {a.top_k}")
    arrays, abouts, problems = [], [], []
    for path, named in ((a.ember, a.metadata), (a.reference, a.reference_metadata)):
        array = common.read_arrays(path)
        common.must_be_numbers(path, array)
        if array.ndim == 0 or array.size == 0:
            raise common.Refused(f"{path}: wanted an .npy file with logits")
        arrays.append(array.astype(np.float64).reshape(-1, array.shape[-1])[-1])
        try:
            abouts.append(common.read_json(named or common.beside(path, "_metadata.json")))
        except common.Refused:
            abouts.append(None)
        problems.append(provenance(path, abouts[-1], arrays[-1]))
    if arrays[0].shape != arrays[1].shape:
        raise common.Refused(f"{a.ember} has {len(arrays[0])} logits, {a.reference} {len(arrays[1])}")
    report = numbers_of(arrays[0], arrays[1], a.top_k)
    report["finite"] = all(np.isfinite(array).all() for array in arrays)
    report["all_close"] = bool(np.allclose(arrays[0], arrays[1], atol=a.atol or 0, rtol=a.rtol or 0))
    verdict, reasons = classify(a, report, abouts, problems)
    report = {key: value.item() if isinstance(value, np.generic) else value for key, value in report.items()}
    report = {key: None if isinstance(value, float) and not np.isfinite(value) else value for key, value in report.items()}
    common.write_json(a.output, {"schema_version": 2, "class": verdict, "reasons": reasons, "ember": a.ember,
                                 "reference": a.reference, **report})
    print("; ".join([verdict, *reasons]))
    sys.exit(0 if verdict == "golden_pass" or (verdict == "golden_warn" and a.allow_warn) else 1)


if __name__ == "__main__":
    common.run(main)
