#!/usr/bin/env python3
"""Measure what each rounding of the forward pass costs: this makes the table of engine/README.md, "Numbers".

    rounding_costs.py model.gguf path/to/bitnet-chat [--tokens 150] [--seeds 4] [--device cpu --device 0]

Each line is compared with the float64 reference with F16 keys and values, on random tokens. The columns are the int8
inputs of ternary matrices that come out otherwise, the cosine of the logits (worst and median position), and how often
another token comes first. The last column is the worst cosine of the first block alone, where no difference can grow.
"""
import argparse
import subprocess
import tempfile

import numpy as np

import reference
from compare_logits import cosines
from reference import Numbers

CHANGES = {
    "keys and values in float64": Numbers(kv=np.float64),
    "int8 computed in float32": Numbers(int8=np.float32),
    "everything in float32": Numbers(int8=np.float32, sums=np.float32),
    "the same, sums from the other end": Numbers(int8=np.float32, sums=np.float32, backwards=True),
    "no int8 at all": Numbers(int8=None),
}


def engine_logits(binary, model, ids, device, out):
    subprocess.run([binary, "logits", str(model), "--tokens", ",".join(map(str, ids)), "--out", out, "--force",
                    "--device", device],
                   check=True, capture_output=True)
    return np.load(out).astype(np.float64)


class Line:
    """What one change did, over all seeds."""

    def __init__(self):
        self.changed, self.of, self.cosines, self.shallow, self.other_top = 0, 0, [], [], 0

    def add(self, wanted, got, wanted_shallow, shallow):
        self.cosines += cosines(wanted, got).tolist()
        self.shallow += cosines(wanted_shallow, shallow).tolist()
        self.other_top += int((wanted.argmax(-1) != got.argmax(-1)).sum())

    def add_int8(self, wanted, got):
        self.changed += sum(int((a != b).sum()) for a, b in zip(wanted, got))
        self.of += sum(a.size for a in wanted)

    def text(self, name):
        changed = f"{100 * self.changed / self.of:.0f} %" if self.of else ""
        return (f"| {name} | {changed} | {min(self.cosines):.4f} | {np.median(self.cosines):.5f} "
                f"| {self.other_top} of {len(self.cosines)} | {min(self.shallow):.8f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("binary")
    parser.add_argument("--tokens", type=int, default=150)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--device", action="append", help="as bitnet-chat takes it; several times for several")
    a = parser.parse_args()
    devices = a.device or ["cpu", "0"]
    no_int8 = "no int8, keys and values in float64, against no int8"
    lines = {name: Line() for name in [*CHANGES, no_int8, *(f"the engine, --device {device}" for device in devices)]}
    with tempfile.TemporaryDirectory() as folder:
        short = folder + "/first_block.gguf"
        reference.gguf.first_block(a.model, short)
        deep, shallow = reference.Model(a.model), reference.Model(short)
        n_vocab = len(deep.file.meta["tokenizer.ggml.tokens"])
        for seed in range(a.seeds):
            ids = np.random.Generator(np.random.PCG64(seed)).integers(0, n_vocab, a.tokens).tolist()
            both = lambda numbers: (deep.forward(ids, numbers)[0], shallow.forward(ids, numbers)[0])
            wanted, exact = both(Numbers()), deep.quantised
            for name, numbers in CHANGES.items():
                got = both(numbers)
                lines[name].add(wanted[0], got[0], wanted[1], got[1])
                if numbers.int8 is not None:
                    lines[name].add_int8(exact, deep.quantised)
            first, second = both(Numbers(int8=None)), both(Numbers(int8=None, kv=np.float64))
            lines[no_int8].add(first[0], second[0], first[1], second[1])
            for device in devices:
                got = [engine_logits(a.binary, model, ids, device, folder + "/out.npy") for model in (a.model, short)]
                lines[f"the engine, --device {device}"].add(wanted[0], got[0], wanted[1], got[1])
    print("| changed | int8 values | worst | median | other top-1 | worst, one block |\n|---|---|---|---|---|---|")
    for name, line in lines.items():
        print(line.text(name))


if __name__ == "__main__":
    main()
