#!/usr/bin/env python3
"""Compare what the engine has inside with golden values, stage by stage, so that a wrong kernel names itself.

    bench/validate.py --program build/release/app/bitnet-chat [--device 0] [--json report.json] [--no-speed]

Four models (the bundled one and three that are made here, of families that share few kernels) read a dozen tokens. The
last one's values are compared at each stage (engine/observation.h) of the first, a middle and the last layer with those
of tests/program/reference.py, which computes in float64. Stages come in the order of the pass, so the first that fails
is nearest to the mistake: what comes after it is wrong too. Exit code 1 names it. The report has device, driver, build,
cosine and largest difference a stage, and speed: one file to attach to a report of a bug.

    bench/validate.py --make      writes tests/program/stages.npz anew, when a model or a stage is new
"""
import argparse
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "program" / "stages.npz"
sys.path[:0] = [str(ROOT / "tests" / "program"), str(ROOT / "tests" / "support")]

STAGES = ("input", "query", "heads", "attention", "ffn", "residual")
MEANING = {"input": "the norm in front of attention", "query": "the projection of q, its norm, or RoPE",
           "heads": "attention itself, or keys and values", "attention": "the projection behind attention",
           "ffn": "the feed-forward", "residual": "the sum of the residual stream"}
MADE = {  # arguments of tests/support/make_family.py
    "llama, i2_s": "--arch llama --proj i2_s --head f16 --dim 256 --ffn 512 --layers 4 --seed 31",
    "qwen3, q2_0": "--arch qwen3 --proj q2_0 --embd q2_0 --head-dim 128 --dim 256 --ffn 512 --layers 4 --seed 32",
    "gemma3, q8_0": "--arch gemma3 --proj q8_0 --embd q8_0 --dim 256 --ffn 512 --layers 4 --pattern 2 --seed 33",
}
BUNDLED = "bundled"
N_TOKENS = 12
# Of 1 - cosine, in the first layer. Where inputs become int8, a value near a tie is rounded otherwise in float32, and
# differences grow from stage to stage and from layer to layer (engine/README.md, "Numbers"). The first norm is exact.
FIRST_BARS = {"input": 1e-9, "query": 2e-4, "heads": 3e-4, "attention": 5e-4, "ffn": 1e-3, "residual": 1e-3}
LATER_BAR = 5e-3


def layers_of(n_layer):
    return [0, n_layer // 2, n_layer - 1]


def bar_of(stage, which):
    return FIRST_BARS[stage] if which == 0 else LATER_BAR


def files(folder):
    """Yields the name of each model and its file."""
    import make_family
    yield BUNDLED, ROOT / "assets" / "bitnet-chat.gguf"
    for name, line in MADE.items():
        path = pathlib.Path(folder) / (name.replace(", ", "-") + ".gguf")
        make_family.main([str(path), *line.split()])
        yield name, path


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def make():
    import reference
    saved = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, path in files(folder):
            model = reference.Model(path)
            n_vocab = len(model.file.meta["tokenizer.ggml.tokens"])
            ids = np.random.Generator(np.random.PCG64(len(name))).integers(0, n_vocab - 8, N_TOKENS)
            model.forward(ids.tolist())
            saved.update({f"{name}/ids": ids, f"{name}/sha256": digest(path), f"{name}/n_layer": model.n_layer})
            for stage in STAGES:
                rows = np.array(model.stages[stage])
                if stage == "query" and model.arch == "llama":  # the engine rotates halves, the file has pairs
                    heads = rows.reshape(len(rows), model.n_head, -1)
                    rows = np.concatenate([heads[..., 0::2], heads[..., 1::2]], -1).reshape(rows.shape)
                saved[f"{name}/{stage}"] = rows[layers_of(model.n_layer)].astype(np.float32)
    np.savez_compressed(GOLDEN, **saved)
    print(f"{GOLDEN}: {GOLDEN.stat().st_size} bytes")


class Validation:
    def __init__(self, binary, device, options=()):
        self.binary, self.device, self.options = binary, ["--device", device] if device else [], list(options)
        self.rows, self.failures = [], []

    def run(self, *words):
        done = subprocess.run([self.binary, *map(str, words), *self.device], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"validate: {' '.join(map(str, words))}: {done.stderr.strip()}")
        return done.stdout

    def compare(self, name, stage, which, layer, wanted, found):
        wanted, found = wanted.astype(np.float64), found.astype(np.float64)
        sizes = np.linalg.norm(wanted) * np.linalg.norm(found)
        cosine = float(wanted @ found / sizes) if sizes > 0 and np.isfinite(found).all() else 0.0
        bar = bar_of(stage, which)
        self.rows.append({"model": name, "layer": layer, "stage": stage, "cosine": cosine, "bar": 1 - bar,
                          "largest_difference": float(np.abs(wanted - found).max()), "largest_value": float(np.abs(wanted).max()),
                          "good": 1 - cosine <= bar})
        if 1 - cosine > bar:
            self.failures.append(f"{name}, layer {layer}, {stage}: cosine {cosine:.8f} (bar {1 - bar:.8f}), {MEANING[stage]}")

    def model(self, name, path, golden, folder):
        if digest(path) != str(golden[f"{name}/sha256"]):
            sys.exit(f"validate: {name} is another file than the golden values were made of (of another numpy, maybe); "
                     "--make makes them anew")
        ids, n_layer = golden[f"{name}/ids"], int(golden[f"{name}/n_layer"])
        out = pathlib.Path(folder) / "v.npy"
        self.run("probe", path, "--tokens", ",".join(map(str, ids)), "--what", ",".join(STAGES), "--out", out, "--force", *self.options)
        found = {stage: np.load(out.with_name(f"v_{stage}.npy")) for stage in STAGES}
        for which, layer in enumerate(layers_of(n_layer)):
            for stage in STAGES:
                self.compare(name, stage, which, layer, golden[f"{name}/{stage}"][which], found[stage][layer])

    def report(self, speed):
        about = json.loads(self.run("bench", *(("-p", "128", "-n", "32", "-r", "3") if speed else ("-p", "1", "-n", "1", "-r", "1")), "--json"))
        return {"schema_version": 1, "build": self.run("--version").strip(), "device": about["device"], "driver": about["driver"],
                "good": not self.failures, "first_failure": self.failures[0] if self.failures else None,
                "failures": self.failures, "stages": self.rows, "bench": about if speed else None}


def validate(binary, device, models=None, options=()):
    """Returns a Validation whose models were compared; `models` names them, None is all."""
    validation = Validation(binary, device, options)
    golden = np.load(GOLDEN)
    with tempfile.TemporaryDirectory() as folder:
        for name, path in files(folder):
            if models is None or name in models:
                validation.model(name, path, golden, folder)
    return validation


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="bitnet-chat")
    parser.add_argument("--device", help="as bitnet-chat takes it")
    parser.add_argument("--json", help="file for the report; - is standard output")
    parser.add_argument("--no-speed", action="store_true")
    parser.add_argument("--make", action="store_true", help="write the golden values anew")
    a = parser.parse_args()
    if a.make:
        return make()
    validation = validate(a.program, a.device)
    if a.json:
        text = json.dumps(validation.report(not a.no_speed), indent=1) + "\n"
        sys.stdout.write(text) if a.json == "-" else pathlib.Path(a.json).write_text(text, encoding="utf-8")
    if a.json != "-":
        for row in validation.rows:
            print(f"{'ok  ' if row['good'] else 'FAIL'} {row['model']:<14} layer {row['layer']} {row['stage']:<10} "
                  f"1 - cosine {1 - row['cosine']:.2e} (bar {1 - row['bar']:.0e}), largest difference {row['largest_difference']:.2e}")
        print(f"the first to fail: {validation.failures[0]}" if validation.failures else "all stages agree")
    sys.exit(1 if validation.failures else 0)


if __name__ == "__main__":
    main()
