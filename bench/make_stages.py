#!/usr/bin/env python3
"""Write the golden values that `bitnet-chat bench validate` compares with, assets/stages.gguf.

    bench/make_stages.py [OUT]      when a model or a stage is new

Four models (the bundled one and three that tests/support/make_family.py makes, of families that share few kernels) read a
dozen tokens. Kept is what the last one has at each stage (engine/observation.h) in the first, a middle and the last layer,
as tests/program/reference.py computes it in float64 (tests/program/families/stages_in_transformers.py compares that with
transformers). The file is a GGUF file without a model: stages.models names them, and
each has NAME.sha256 and NAME.bytes of its file, NAME.tokens, and tensors NAME.STAGE of f32 [3, width].
"""
import hashlib
import pathlib
import struct
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "assets" / "stages.gguf"
sys.path[:0] = [str(ROOT / "tests" / "program"), str(ROOT / "tests" / "support")]
import make_family  # noqa: E402
import reference  # noqa: E402
from hostile_file import ints, raw_text, string, strings, u32  # noqa: E402

STAGES = ("input", "query", "heads", "attention", "ffn", "residual")
MADE = {  # arguments of tests/support/make_family.py
    "llama-i2_s": "--arch llama --proj i2_s --head f16 --dim 256 --ffn 512 --layers 4 --seed 31",
    "qwen3-q2_0": "--arch qwen3 --proj q2_0 --embd q2_0 --head-dim 128 --dim 256 --ffn 512 --layers 4 --seed 32",
    "gemma3-q8_0": "--arch gemma3 --proj q8_0 --embd q8_0 --dim 256 --ffn 512 --layers 4 --pattern 2 --seed 33",
}
N_TOKENS = 12


def files(folder):
    """Yields the name of each model and its file."""
    yield "bundled", ROOT / "assets" / "bitnet-chat.gguf"
    for name, line in MADE.items():
        path = pathlib.Path(folder) / (name + ".gguf")
        make_family.main([str(path), *line.split()])
        yield name, path


def tokens_of(name, model):
    """Returns the ids that a model reads."""
    n_vocab = len(model.file.meta["tokenizer.ggml.tokens"])
    return np.random.Generator(np.random.PCG64(len(name))).integers(0, n_vocab - 8, N_TOKENS)


def stages_of(model, ids, numbers=reference.Numbers()):
    """Yields each stage and what the last token has there, a row for each layer."""
    model.forward(ids.tolist(), numbers)
    for stage in STAGES:
        rows = model.stages[stage]
        if stage == "query" and model.arch == "llama":  # the engine rotates halves, the file has pairs
            rows = [row.reshape(model.n_head, -1, 2).swapaxes(1, 2).ravel() for row in rows]
        yield stage, rows


def main(out=GOLDEN):
    keys, tensors = {"stages.models": strings(["bundled", *MADE])}, []
    with tempfile.TemporaryDirectory() as folder:
        for name, path in files(folder):
            model = reference.Model(path)
            ids, layers = tokens_of(name, model), [0, model.n_layer // 2, model.n_layer - 1]
            keys.update({name + ".sha256": string(hashlib.sha256(path.read_bytes()).hexdigest()),
                         name + ".bytes": u32(path.stat().st_size), name + ".tokens": ints(ids)})
            tensors += [(f"{name}.{stage}", np.array([rows[i] for i in layers], "<f4"))
                        for stage, rows in stages_of(model, ids)]
    head, at = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)), 0
    head += b"".join(raw_text(key) + value for key, value in keys.items())
    for name, rows in tensors:
        head += raw_text(name) + struct.pack("<IQQIQ", 2, rows.shape[1], rows.shape[0], 0, at)
        at += -(-rows.nbytes // 32) * 32
    head += b"\0" * (-len(head) % 32)
    pathlib.Path(out).write_bytes(head + b"".join(rows.tobytes() + b"\0" * (-rows.nbytes % 32) for _, rows in tensors))
    print(f"{out}: {pathlib.Path(out).stat().st_size} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
