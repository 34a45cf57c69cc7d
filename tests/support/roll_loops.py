#!/usr/bin/env python3
"""Copy kernels for the tests on a software device: their loops stay loops there.

    roll_loops.py NAME.spv... FOLDER

lavapipe unrolls what `[[unroll]]` asks it to, and then spends seconds on a product of matrices or on the chain of decode; with
loops it compiles them in a quarter to a half of the time. The hint is all that changes.
"""
import pathlib
import sys

import numpy as np

OP_LOOP_MERGE, DONT_UNROLL, HEADER_WORDS = 246, 2, 5
# Others gain less. And lavapipe leaves all loops of a kernel after 65,535 rounds together, which attention over a long cache
# makes where it is not unrolled.
KERNELS = ("ternary_mat", "blocks_mat", "decode")


def rolled(words):
    words, at = words.copy(), HEADER_WORDS
    while at < len(words):
        if words[at] & 0xFFFF == OP_LOOP_MERGE:
            words[at + 3] = DONT_UNROLL
        at += int(words[at] >> 16)
    return words


def main():
    *files, folder = map(pathlib.Path, sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.spv"):
        old.unlink()
    for file in files:
        if file.name.startswith(KERNELS):
            rolled(np.fromfile(file, "<u4")).tofile(folder / file.name)
    (folder / "made").touch()


if __name__ == "__main__":
    main()
