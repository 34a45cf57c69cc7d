#!/usr/bin/env python3
"""Test the stages of a pass against golden values (`bench validate`), and that a mistake is found where it is.

    stages_test.py BITNET-CHAT [--device NAME]

A mistake is made by an option: a head that gives zeros looks like a wrong attention, a vector that is added like a wrong
sum of the residual stream.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import make_stages  # noqa: E402
import make_family  # noqa: E402

# Of the three layers that are compared the first two have a DeltaNet, which has no queries and no heads.
DELTA_NETS = "--arch qwen35 --proj q2_0 --embd q2_0 --head q2_0 --k-heads 2 --v-heads 6 --rope-dims 16 --layers 4 --interval 4"
STAGES_OF_DELTA_NETS = 3 * len(make_stages.STAGES) - 2 * 2

QUICK = ("-p", "1", "-n", "1", "-r", "1")  # speed is not what is tested
MISTAKES = {"--ablate-head=0:1": "prefill, layer 0, heads:", "--steer=layer=0,file={}": "prefill, layer 0, residual:"}


class Test:
    def __init__(self, a, folder):
        self.a, self.folder, self.failures = a, folder, []
        self.vector = os.path.join(folder, "v.npy")

    def validate(self, path, *options):
        """Returns the exit code and the report."""
        line = [self.a.binary, "bench", "validate", str(path), "--json", *QUICK, *options]
        done = subprocess.run(line + (["--device", self.a.device] if self.a.device else []), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        if done.returncode not in (0, 3):
            sys.exit(f"{' '.join(line)}: {done.returncode}, {done.stderr.strip()}")
        return done.returncode, json.loads(done.stdout)

    def wants(self, what, *pairs):
        for found, wanted in pairs:
            if found != wanted:
                self.failures.append(f"{what}: wanted {wanted}, found {found}")

    def agrees(self, path, kind, n_stages=3 * len(make_stages.STAGES)):
        code, report = self.validate(path)
        self.wants(path.name, (report["first_failure"], None), (code, 0), (report["good"], True),
                   (report["compared_with"]["kind"], kind), (len(report["stages"]), 2 * n_stages),
                   ({b["batch"]: b["same"] for b in report["batches"]}, {n: True for n in (2, 3, 4, 8, 0)}))
        return report

    def finds_mistakes(self, path):
        np.save(self.vector, np.tile(np.float32([10, -10]), 256))
        for option, wanted in MISTAKES.items():
            code, report = self.validate(path, option.format(self.vector))
            self.wants(option, (code, 3), ((report["first_failure"] or "")[:len(wanted)], wanted))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--device", help="as bitnet-chat takes it")
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        test = Test(a, folder)
        for name, path in make_stages.files(folder):
            report = test.agrees(path, "golden")
            if name == "bundled" and a.device == "cpu":  # the comparison is the same elsewhere
                test.finds_mistakes(path)
        for key in ("version", "compiler", "flags"):
            test.wants("build", (bool(report["build"][key]), True))
        with open(path, "ab") as file:  # a model of which there are no golden values
            file.write(b"\0" * 32)
        test.agrees(path, "cpu")
        path = pathlib.Path(folder) / "delta-nets.gguf"
        make_family.main([str(path), *DELTA_NETS.split()])
        test.agrees(path, "cpu", STAGES_OF_DELTA_NETS)
    print("\n".join(test.failures) or "all stages agree, and mistakes are found where they are")
    sys.exit(1 if test.failures else 0)


if __name__ == "__main__":
    main()
