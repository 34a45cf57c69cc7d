#!/usr/bin/env python3
"""Compare `bitnet-chat logits` and `bitnet-chat probe` with the float64 reference on models of many shapes.

    logits_test.py path/to/bitnet-chat work-folder [--device NAME] [--only NAME] [--model FILE]

Each model is run in one batch, token by token and seven tokens at a time; each run is compared with the reference
(cosine 0.999 and top-1) and with the first (cosine 0.9999). The bundled model is compared with its training graph.
Exit code 1 names every comparison that failed.

150 tokens are more than two of the chunks of 64 keys in which attention is computed. There each model is cut to its
first block, where a wrong sum cannot hide: the rows agree with the reference to 1e-7 of a cosine, except for the few in
which an int8 value lies so near a tie that float32 rounds it the other way. Over the eight blocks of the bundled model
one such value changes a tenth of all values, and the cosine of the worst row falls to 0.998 or less, whatever the first
difference was (engine/README.md, "Numbers"). So no higher bar could tell right from wrong there.
"""
import argparse
import pathlib
import subprocess
import sys

import numpy as np

import compare_logits
import reference

HERE = pathlib.Path(__file__).resolve().parent
MAKE_MODEL = HERE.parent / "support" / "make_model.py"
BUNDLED = HERE.parent.parent / "assets" / "bitnet-chat.gguf"
GOLDEN = HERE / "bundled_logits.npz"  # of the training graph; assets/train/README.md has the command
MODELS = {  # arguments of make_model.py
    "default": "",
    "seed_2": "--seed 2",
    "dims_of_128": "--dim 384 --ffn 896 --heads 6 --kv 2 --seed 3",
    "dims_of_128_kv_3": "--dim 384 --ffn 896 --heads 6 --kv 3 --seed 4",
    "untied": "--untied --seed 5",
    "embedding_f32": "--embd f32 --dim 384 --ffn 640 --heads 3 --kv 1 --seed 6",
    "one_layer": "--layers 1 --dim 128 --ffn 128 --heads 2 --kv 1 --seed 7",
    "kv_is_heads": "--kv 4 --seed 8",
    "head_dim_128": "--dim 512 --ffn 1408 --heads 4 --kv 1 --layers 3 --seed 9",
    "bitnet_25": "--arch bitnet-25 --untied --seed 10",
    "odd_vocabulary": "--vocab 1023 --seed 11",
    "part_of_a_head_rotates": "--dim 256 --heads 4 --kv 2 --rope-dims 32 --seed 12",
    "arm_layout": "--neon --seed 13",
}
N_TOKENS = 33  # past one tile of any batch kernel, and a multiple of neither 7 nor 2
N_LONG, N_PROMPTS = 150, 8
# These are for one block: how near the rows must be, how many of them (more than the first two chunks have), and how
# near the others.
NEAR, LEAST_NEAR, LEAST_AT_ALL = 1e-7, 0.9, 0.999
LEAST_OF_ALL_BLOCKS, LEAST_MEDIAN = 0.99, 0.9995


def layout_of(name):
    return "64" if name == "arm_layout" else "128"


class Runner:
    def __init__(self, arguments):
        self.binary, self.folder = arguments.binary, pathlib.Path(arguments.folder)
        self.device = ["--device", arguments.device] if arguments.device else []
        self.failures = []

    def output(self, command, model, ids, *options):
        """Returns what the program wrote with --out, or None if it failed."""
        options += ("--i2s-layout", layout_of(model.stem))
        out = self.folder / "out.npy"
        out.unlink(missing_ok=True)
        line = [self.binary, command, str(model), "--tokens", ",".join(map(str, ids)), "--out", str(out),
                *options, *self.device]
        done = subprocess.run(line, capture_output=True, text=True, timeout=600)
        if done.returncode == 0 and out.exists():
            return np.load(out)
        print(f"  {' '.join(line)}: exit code {done.returncode}\n  {done.stderr.strip()}")
        return None

    def hold(self, what, wanted, got, bar, top):
        report, good = compare_logits.compare(wanted, got, bar, top) if got is not None else ("no output", False)
        self.tell(what, good, report)

    def tell(self, what, good, report):
        print(f"  {'ok  ' if good else 'FAIL'} {what}: {report}", flush=True)
        if not good:
            self.failures.append(what)

    def check_one_block(self, name, model):
        """One prompt must pass: a value that float32 rounds otherwise early in a prompt is in all rows after it."""
        # output() knows the first by its name.
        short = self.folder / ("arm_layout.gguf" if name == "arm_layout" else "one_block.gguf")
        reference.gguf.first_block(model, short)
        cut = reference.Model(short, layout_of(name))
        n_vocab, good = len(cut.file.meta["tokenizer.ggml.tokens"]), False
        for seed in range(N_PROMPTS):
            ids = np.random.Generator(np.random.PCG64(seed)).integers(0, n_vocab, N_LONG).tolist()
            wanted, _ = cut.forward(ids, reference.Numbers(int8=np.float32))
            got = self.output("logits", short, ids)
            if got is None or got.shape != wanted.shape:
                report = "no output"
                break
            cosine = compare_logits.cosines(wanted, got)
            near = float((1 - cosine <= NEAR).mean())
            report = (f"prompt {seed}: {100 * near:.0f} % of the rows within {NEAR:g} (bar {100 * LEAST_NEAR:.0f} %), "
                      f"worst cosine {cosine.min():.7f} (bar {LEAST_AT_ALL})")
            good = near >= LEAST_NEAR and cosine.min() >= LEAST_AT_ALL
            if good:
                break
        self.tell(f"{name}, first block, {N_LONG} tokens", good, report)
        short.unlink()

    def check_bundled(self):
        print("bundled")
        golden = np.load(GOLDEN)
        for i in range(sum(key.startswith("tokens") for key in golden.files)):
            ids, at, logits = (golden[f"{key}{i}"] for key in ("tokens", "positions", "logits"))
            got = self.output("logits", BUNDLED, ids.tolist())
            got = got if got is None else got[at]
            self.hold(f"bundled, prompt {i}, against the training graph", logits, got, 0.999, True)
        self.check_one_block("bundled", BUNDLED)
        n_vocab = len(reference.gguf.File(BUNDLED).meta["tokenizer.ggml.tokens"])
        ids = np.random.Generator(np.random.PCG64(N_LONG)).integers(0, n_vocab, N_LONG).tolist()
        wanted, _ = reference.Model(BUNDLED).forward(ids)
        got = self.output("logits", BUNDLED, ids)
        self.hold(f"bundled, {N_LONG} tokens, against the reference", wanted, got, LEAST_OF_ALL_BLOCKS, True)
        if got is not None:
            median = float(np.median(compare_logits.cosines(wanted, got)))
            self.tell(f"bundled, {N_LONG} tokens, median", median >= LEAST_MEDIAN,
                      f"cosine {median:.7f} (bar {LEAST_MEDIAN})")

    def check(self, name, model):
        print(name)
        n_vocab = len(reference.gguf.File(model).meta["tokenizer.ggml.tokens"])
        ids = np.random.Generator(np.random.PCG64(len(name))).integers(0, n_vocab, N_TOKENS).tolist()
        logits, hidden = reference.Model(model, layout_of(name)).forward(ids)
        runs = {"one batch": (), "--prefill 1": ("--prefill", "1"), "--prefill 7": ("--prefill", "7")}
        first = None
        for what, options in runs.items():
            got = self.output("logits", model, ids, *options)
            self.hold(f"{name}, {what}, against the reference", logits, got, 0.999, True)
            if first is None:
                first = got
            else:
                self.hold(f"{name}, {what}, against one batch", first, got, 0.9999, False)
        if first is not None:  # what the F16 cache costs; no bar
            exact, _ = reference.Model(model, layout_of(name)).forward(ids, reference.Numbers(kv=np.float64))
            print(f"       {name}, against float64 keys and values: {compare_logits.compare(exact, first, 0, True)[0]}")
        self.hold(f"{name}, probe", hidden, self.output("probe", model, ids), 0.999, False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("folder")
    parser.add_argument("--model", help="this file, and none that is made here")
    parser.add_argument("--device", help="as bitnet-chat takes it")
    parser.add_argument("--only", help="the model of this name alone")
    a = parser.parse_args()
    runner = Runner(a)
    runner.folder.mkdir(parents=True, exist_ok=True)
    if a.model:
        model = pathlib.Path(a.model)
        runner.check(model.stem, model)
        runner.check_one_block(model.stem, model)
        sys.exit(1 if runner.failures else 0)
    for name, line in MODELS.items():
        if a.only in (None, name):
            model = runner.folder / f"{name}.gguf"
            subprocess.run([sys.executable, str(MAKE_MODEL), str(model), *line.split()], check=True, stdout=subprocess.DEVNULL)
            runner.check(name, model)
            runner.check_one_block(name, model)
            model.unlink(missing_ok=True)
    if a.only in (None, "bundled"):
        runner.check_bundled()
    print(f"{len(runner.failures)} failed")
    sys.exit(1 if runner.failures else 0)


if __name__ == "__main__":
    main()
