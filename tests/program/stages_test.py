#!/usr/bin/env python3
"""Test the stages of a pass against golden values (bench/validate.py), and that a mistake is found where it is.

    stages_test.py BITNET-CHAT [--device NAME]

A mistake is made by an option: a head that gives zeros looks like a wrong attention, a vector that is added like a wrong
sum of the residual stream.
"""
import argparse
import os
import pathlib
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import validate  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--device", help="as bitnet-chat takes it")
    a = parser.parse_args()
    failures = validate.validate(a.binary, a.device).failures
    with tempfile.TemporaryDirectory() as folder:
        vector = os.path.join(folder, "v.npy")
        np.save(vector, np.tile(np.float32([10, -10]), 256))
        mistakes = {"--ablate-head=0:1": "bundled, layer 0, heads", f"--steer=layer=0,file={vector}": "bundled, layer 0, residual"}
        for option, wanted in mistakes.items() if a.device == "cpu" else ():  # the comparison is the same elsewhere
            found = validate.validate(a.binary, a.device, [validate.BUNDLED], [option]).failures
            if not found or not found[0].startswith(wanted):
                failures.append(f"{option}: wanted {wanted}, found {found[:1]}")
    print("\n".join(failures) or "all stages agree, and mistakes are found where they are")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
