#!/usr/bin/env python3
"""Compare the engine with transformers on a second set of models: other shapes, types and seeds, and generate().

    second_set.py path/to/bitnet-chat FOLDER [--device NAME]... [--only NAME] [--jobs N] [--golden FILE] [--exact]

Each model is made by tests/support/make_family.py, here and wherever numpy is, byte for byte. transformers gets what its
weights decode to (in_transformers.py) and answers many prompts of one letter with 200 greedy tokens by its own generate();
the prompt is kept whose answer comes least near to a tie and has no end in it. Then on each device the engine's logits of
all tokens are compared with those of transformers' forward pass, batches with tokens one by one, and two answers:

    noise   the largest error of a logit while the engine reads transformers' answer
    clear   how many of the 200 steps have a margin between the first two tokens of more than twice that noise
    forced  steps that are clear and where the engine, reading transformers' answer, would have said another token: none
    equal   how many tokens the engine's own answer and transformers' have in common before they differ; where that is not
            200, the step must not have been clear

A row of the table is one model on one device. --golden keeps the answers and some logits for families_test.py, which needs
neither torch nor transformers. --exact computes GPT-2 and the Gemmas in float64 too. Exit code 1 where anything failed.
"""
import argparse
import concurrent.futures
import hashlib
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import time
import types

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import compare_logits  # noqa: E402
import cores  # noqa: E402
import gguf  # noqa: E402  (finds tests/support too)
import make_family  # noqa: E402

GOLDEN = HERE / "second.npz"
N_ANSWER = 200
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
BAR, BAR_INT8 = 0.999, 0.995

CASES = {  # arguments of make_family.py; TIED: small embeddings, lest a token is always followed by itself
    "bitnet-b158-i2_s": "TIED --arch bitnet-b1.58 --proj i2_s --dim 384 --ffn 640 --layers 3 --heads 3 --kv 1 --vocab 700",
    "bitnet-b158-tq1_0": "TIED --arch bitnet-b1.58 --proj tq1_0 --dim 512 --ffn 768 --layers 4 --heads 8 --kv 8 --vocab "
                         "901",
    "bitnet-b158-tq2_0": "TIED --arch bitnet-b1.58 --proj tq2_0 --dim 1280 --ffn 768 --layers 2 --heads 5 --kv 1 --vocab "
                         "640",
    "bitnet-silu-i2_s": "TIED --arch bitnet --proj i2_s --dim 640 --ffn 384 --layers 3 --heads 8 --kv 8 --vocab 777",
    "llama-f16": "--proj f16 --embd f16 --head f32 --dim 320 --ffn 448 --layers 3 --heads 5 --kv 1 --vocab 501",
    "llama-bf16": "--proj bf16 --embd bf16 --head bf16 --dim 192 --ffn 320 --layers 4 --heads 3 --kv 3 --head-dim 128 "
                  "--vocab 589",
    "llama-q8_0": "--proj q8_0 --embd q8_0 --head q8_0 --dim 320 --ffn 576 --layers 3 --heads 4 --kv 4 --vocab 1000",
    "llama-q4_0": "--proj q4_0 --embd q4_0 --head q5_0 --dim 384 --ffn 640 --layers 5 --heads 6 --kv 2 --vocab 800",
    "llama-q5_0": "--proj q5_0 --embd q5_0 --head q8_0 --dim 192 --ffn 704 --layers 6 --heads 3 --kv 1 --vocab 655",
    "llama-q4_k": "--proj q4_k --embd q4_k --head q6_k --dim 512 --ffn 768 --layers 3 --heads 2 --kv 1 --vocab 900",
    "llama-q5_k": "--proj q5_k --embd q5_k --head q6_k --dim 256 --ffn 1024 --layers 3 --heads 4 --kv 2 --head-dim 128 "
                  "--vocab 600",
    "llama-q6_k": "--proj q6_k --embd q6_k --head q6_k --dim 768 --ffn 512 --layers 3 --heads 6 --kv 2 --vocab 733",
    "llama-q4_k_m": "--proj q4_k --other attn_v=q6_k --other 0.ffn_down=q6_k --embd q4_k --head q6_k --dim 768 --ffn 512 "
                    "--heads 6 --kv 3 --layers 3 --vocab 555",
    "llama-i2_s": "--proj i2_s --embd f16 --head f16 --dim 384 --ffn 512 --layers 3 --heads 3 --kv 1 --vocab 650",
    "llama-tq1_0": "--proj tq1_0 --embd q4_k --head q6_k --dim 512 --ffn 768 --layers 4 --heads 8 --kv 2 --vocab 850",
    "llama-tq2_0": "--proj tq2_0 --embd q4_k --head q6_k --dim 768 --ffn 512 --layers 3 --heads 3 --kv 1 --vocab 620",
    "llama-rope-freqs": "--proj q8_0 --embd q8_0 --head q8_0 --rope-freqs --dim 320 --ffn 640 --layers 3 --heads 5 --kv 5 "
                        "--vocab 711",
    "llama-linear": "TIED --proj q8_0 --embd q8_0 --linear 4 --dim 256 --ffn 320 --layers 3 --heads 2 --kv 2 --vocab 690",
    "qwen2-q8_0": "TIED --arch qwen2 --proj q8_0 --embd q8_0 --dim 320 --ffn 512 --layers 4 --heads 5 --kv 5 --vocab 999",
    "qwen2-q5_k_m": "TIED --arch qwen2 --proj q5_k --other attn_v=q6_k --other ffn_down=q6_k --embd q5_k --dim 256 --ffn "
                    "768 --heads 8 --kv 2 --layers 3 --vocab 640",
    "qwen3-q8_0": "TIED --arch qwen3 --proj q8_0 --embd q8_0 --dim 192 --ffn 448 --layers 4 --heads 6 --kv 2 --head-dim "
                  "128 --vocab 800",
    "qwen3-q2_0": "TIED --arch qwen3 --proj q2_0 --embd q2_0 --dim 384 --ffn 640 --layers 3 --heads 5 --kv 1 --head-dim "
                  "128 --yarn 4 --vocab 700",
    "qwen3-tq2_0": "TIED --arch qwen3 --proj tq2_0 --embd q6_k --dim 512 --ffn 1024 --layers 3 --heads 4 --kv 4 --vocab "
                   "750",
    "gpt2-q8_0": "TIED --arch gpt2 --proj q8_0 --embd q8_0 --dim 320 --ffn 640 --layers 4 --heads 5 --kv 5 --vocab 900",
    "gpt2-q4_0": "TIED --arch gpt2 --proj q4_0 --other ffn_down=f16 --embd f16 --dim 384 --ffn 512 --layers 3 --heads 3 "
                 "--kv 3 --vocab 640",
    "gemma3-q8_0": "--arch gemma3 --proj q8_0 --embd q8_0 --dim 192 --ffn 320 --layers 7 --pattern 6 --heads 3 --kv 1 "
                   "--head-dim 64 --window 24 --vocab 800",
    "gemma3-f16": "--arch gemma3 --proj f16 --embd f16 --linear 8 --dim 128 --ffn 256 --layers 5 --pattern 3 --heads 4 "
                  "--kv 4 --head-dim 80 --window 100 --vocab 700",
    "gemma4-e2b": "--arch gemma4 --proj q8_0 --embd q8_0 --dim 192 --ffn 320 --layers 8 --pattern 4 --heads 6 --kv 1 "
                  "--head-dim 128 --swa-head-dim 64 --shared 4 --per-layer 64 --window 40 --vocab 800",
    "gemma4-31b": "--arch gemma4 --proj q4_0 --embd q8_0 --dim 128 --ffn 384 --layers 6 --pattern 3 --heads 4 --kv 2 "
                  "--head-dim 256 --swa-head-dim 80 --keys-are-values --window 20 --vocab 666",
    "phi3-q8_0": "--arch phi3 --proj q8_0 --embd q8_0 --head q8_0 --dim 384 --ffn 512 --layers 3 --heads 6 --kv 2 "
                 "--rope-dims 48 --window 40 --long-rope 1.6329931618554521 --original-context 8 --vocab 750",
    "phi3-q4_k": "--arch phi3 --proj q4_k --embd q4_k --head q6_k --dim 512 --ffn 768 --layers 3 --heads 4 --kv 4 --window "
                 "0 --vocab 620",
    "phi3-f16": "TIED --arch phi3 --proj f16 --embd bf16 --dim 320 --ffn 448 --layers 4 --heads 5 --kv 1 --window 100 "
                "--vocab 580",
    "phi3-tq2_0": "--arch phi3 --proj tq2_0 --embd q6_k --head q6_k --dim 512 --ffn 768 --layers 3 --heads 8 --kv 2 "
                  "--window 0 --vocab 700",
}
KEPT = ("llama-f16", "llama-q8_0", "llama-q4_k_m", "llama-tq1_0", "qwen2-q5_k_m", "qwen3-q2_0", "gpt2-q4_0", "gemma3-q8_0",
        "gemma4-e2b", "gemma4-31b", "phi3-q4_k", "phi3-q8_0")  # in the golden file
KEPT_ARRAYS = ("ids", "n_prompt", "letter", "margins", "limit", "logits", "digest")  # NAME/ARRAY each


def make(name, path):
    line = CASES[name].replace("TIED", "--embd-deviation 0.03")
    make_family.main([str(path), "--seed", str(100 + list(CASES).index(name)), *line.split()])


def bar_of(name):
    return BAR if name.endswith("f16") else BAR_INT8  # inputs of all others are int8, a row or a unit at a time


def digest(path):
    return np.frombuffer(hashlib.sha256(pathlib.Path(path).read_bytes()).digest(), np.uint8)


class Program:
    """The program with folders of its own for what it writes; `folder` is this job's alone."""

    def __init__(self, binary, folder, home, device=None):
        self.binary, self.folder, self.device = os.path.abspath(binary), folder, ["--device", device] if device else []
        folder.mkdir(parents=True, exist_ok=True)
        self.environment = dict(os.environ, HOME=str(home), TERM="dumb",
                                **{f"XDG_{kind}_HOME": str(home) for kind in ("DATA", "STATE", "CONFIG", "CACHE")})

    def run(self, *arguments, text=""):
        return subprocess.run([self.binary, *map(str, arguments)], input=text, capture_output=True, text=True, timeout=300,
                              env=self.environment, check=True).stdout

    def prompt(self, model, letter):
        rendered = self.run("render", model, text=json.dumps([{"role": "user", "content": letter}]))
        return [int(i) for i in self.run("tokenize", model, "--special", "--csv", text=rendered).split(",")]

    def logits(self, model, ids, *options):
        out = self.folder / "out.npy"
        out.unlink(missing_ok=True)
        self.run("logits", model, "--tokens", ",".join(map(str, ids)), "--out", out, *options, *self.device)
        return np.load(out)

    def answer(self, model, letter):
        lines = self.run(model, "-p", letter, "--output", "jsonl", "--temp", "0", "--max-tokens", N_ANSWER, "--private",
                         *self.device).splitlines()
        lines = [json.loads(line) for line in lines]
        return [line["id"] for line in lines if line.get("id") is not None and "logprob" in line]


def compute(name, a):
    """Makes the model, lets transformers answer, and writes NAME.npz."""
    import torch

    import in_transformers
    torch.set_num_threads(1)
    path = a.folder / f"{name}.gguf"
    make(name, path)
    loaded = in_transformers.Loaded(path)
    program = Program(a.binary, a.folder / name, a.folder / "home")
    prompts = {letter: program.prompt(path, letter) for letter in LETTERS[:a.prompts]}
    lengths = [len(ids) for ids in prompts.values()]
    usual = max(set(lengths), key=lengths.count)
    prompts = {letter: ids for letter, ids in prompts.items() if len(ids) == usual}
    marks = [i for i, kind in enumerate(loaded.file.meta["tokenizer.ggml.token_type"]) if kind != 1]
    with torch.no_grad():
        asked = torch.tensor(list(prompts.values()))
        found = loaded.model.generate(asked, attention_mask=torch.ones_like(asked), do_sample=False, max_new_tokens=N_ANSWER,
                                      return_dict_in_generate=True, output_logits=True)
        answers, steps = found.sequences[:, usual:].numpy(), torch.stack(found.logits, 1).numpy()
        assert answers.shape[1] == N_ANSWER, f"{answers.shape[1]} tokens"
        second, first = np.moveaxis(np.partition(steps, -2, -1)[..., -2:], -1, 0)
        most = max(len(set(answer)) for answer in answers.tolist())
        tightest = ((first - second) / steps.std(-1)).min(-1)
        tightest[[len(set(answer)) < most / 2 for answer in answers.tolist()]] -= 1e3  # they say nothing new
        tightest[np.isin(answers, marks).any(-1)] -= 1e9
        best = int(tightest.argmax())
        ids = found.sequences[best].numpy()
        logits = loaded.model(torch.from_numpy(ids)[None], use_cache=False).logits[0].float().numpy()
    np.savez(a.folder / f"{name}.npz", ids=ids, n_prompt=usual, letter=list(prompts)[best], logits=logits, steps=steps[best],
             marks=marks, marked=tightest[best] < -1e6, digest=digest(path),
             distinct=len(set(ids[usual:].tolist())))


def exact(name, a):
    """transformers in float64, and reference.py, against the engine on the CPU. Returns a line."""
    import torch

    import in_transformers
    import reference
    torch.set_num_threads(1)
    softmax = torch.nn.functional.softmax
    torch.Tensor.float = lambda self: self.double()  # norms and RoPE ask for float32
    torch.nn.functional.softmax = lambda x, dim=None, dtype=None, **_: softmax(x, dim=dim)
    path, ids = a.folder / f"{name}.gguf", np.load(a.folder / f"{name}.npz")["ids"]
    loaded = in_transformers.Loaded(path, torch.float64)
    with torch.no_grad():
        wanted = loaded.model(torch.from_numpy(ids)[None], use_cache=False).logits[0]
    assert wanted.dtype == torch.float64
    wanted = wanted.numpy()
    model = reference.Model(path)
    ours, exactly = model.forward(ids)[0], model.forward(ids, reference.Numbers(kv=np.float64))[0]
    got = Program(a.binary, a.folder / name, a.folder / "home", "cpu").logits(path, ids)
    worst = lambda x: 1 - compare_logits.cosines(wanted, x).min()
    return (f"{name:18} {worst(np.load(a.folder / f'{name}.npz')['logits']):10.1e} {worst(exactly):12.1e} {worst(ours):12.1e} "
            f"{worst(got):10.1e}")


def judge(name, arrays, got, answer, same):
    """Returns a row of the table without its beginning, and whether all is well."""
    data = types.SimpleNamespace(**arrays)
    n, ids = int(data.n_prompt), data.ids
    report, good = compare_logits.compare(data.logits, got, bar_of(name))
    cosine = compare_logits.cosines(data.logits, got).min()
    top = report.split("top-1: ")[1].replace(" compared", "").replace(" too close", "").replace(" differ", "")
    rows = got[n - 1:-1]
    noise = np.abs(rows - data.steps).max()
    margin = margins(data.steps)
    clear = margin > 2 * noise
    other = clear & (rows.argmax(-1) != ids[n:])
    different = np.flatnonzero(np.asarray(answer) != ids[n:n + len(answer)])
    equal = int(different[0]) if len(different) else len(answer)
    ended = equal < N_ANSWER and equal == len(answer) and ids[n + equal] in data.marks  # which are not shown
    fine = equal == N_ANSWER or ended or not clear[equal]
    deviation = data.steps.std()
    good = good and same and not other.any() and fine
    return (f"{1 - cosine:9.1e} {'yes' if same else 'NO':>5} {top:>18} {noise / deviation:9.1e} "
            f"{margin.min() / deviation:9.1e} {clear.sum():5} {other.sum():6} {equal:5} {int(data.distinct):6} "
            f"{'ok' if good else 'FAIL'}"), good


def compare(name, device, number, a):
    cores.keep_to_some(number, a.jobs)
    arrays = dict(np.load(a.folder / f"{name}.npz"))
    path, ids = a.folder / f"{name}.gguf", arrays["ids"].tolist()
    program = Program(a.binary, a.folder / f"{name}-{device}", a.folder / "home", device)
    got = program.logits(path, ids)
    same = np.array_equal(got, program.logits(path, ids, "--prefill", "1"))
    row, good = judge(name, arrays, got, program.answer(path, str(arrays["letter"])), same)
    return f"{name:18} {device:>6} {row}", good


def keep(path, folder):
    """Writes the golden file: the ids, the logits of the answer's first and last token, and which file it was.

    A step whose margin is not above `limit` may have another token elsewhere.
    """
    golden = {}
    for name in KEPT:
        if (folder / f"{name}.npz").exists():
            of = dict(np.load(folder / f"{name}.npz"))
            n = int(of["n_prompt"])
            arrays = (of["ids"].astype(np.uint16), np.uint16(n), of["letter"], margins(of["steps"]).astype(np.float16),
                      np.float32(of["steps"].std() / 50), of["logits"][[n - 1, -1]].astype(np.float16), of["digest"])
            golden |= {f"{name}/{what}": array for what, array in zip(KEPT_ARRAYS, arrays)}
    np.savez_compressed(path, **golden)


def margins(steps):
    second, first = np.partition(steps, -2, -1)[:, -2:].T
    return first - second


def attempt(work, *arguments):
    try:
        return work(*arguments), ""
    except Exception as error:  # one model must not end the others
        import traceback
        where = "; ".join(f"{frame.name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)[-4:])
        return None, f"{type(error).__name__}: {str(error)[:300]} {getattr(error, 'stderr', '') or ''} ({where})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--device", action="append", help="as bitnet-chat takes it; cpu where none is given")
    parser.add_argument("--only", help="models whose names begin so")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--prompts", type=int, default=24, help="letters that are tried")
    parser.add_argument("--golden", type=pathlib.Path, help="write the golden file here")
    parser.add_argument("--exact", action="store_true")
    a = parser.parse_args()
    a.folder = a.folder.resolve()
    (a.folder / "home").mkdir(parents=True, exist_ok=True)
    names = [name for name in CASES if not a.only or name.startswith(a.only)]
    import torch  # noqa: F401  (once, for all workers)
    import transformers
    import in_transformers  # noqa: F401
    print(f"torch {torch.__version__}, transformers {transformers.__version__}, numpy {np.__version__}", flush=True)
    with multiprocessing.get_context("fork").Pool(a.jobs, maxtasksperchild=1) as workers:
        failures = compare_all(a, names, workers)
    print(f"{failures} failed")
    sys.exit(1 if failures else 0)


def compare_all(a, names, workers):
    """Prints everything and returns the number of failures. A model is compared as soon as transformers is done with it."""
    begin, failures = time.time(), 0
    computed = {name: workers.apply_async(attempt, (compute, name, a)) for name in names}

    def compare_when_computed(name, device, number):
        error = computed[name].get()[1]
        return (None, error) if error else attempt(compare, name, device, number, a)

    with concurrent.futures.ThreadPoolExecutor(a.jobs) as threads:
        pairs = [(name, device) for device in a.device or ["cpu"] for name in names]
        compared = [threads.submit(compare_when_computed, *pair, number) for number, pair in enumerate(pairs)]
        done = [name for name in names if not computed[name].get()[1]]
        print(f"transformers: {time.time() - begin:.0f} s for {len(done)} models")
        for name in done:
            if np.load(a.folder / f"{name}.npz")["marked"]:
                print(f"{name}: every answer has a mark in it")
        if a.golden:
            keep(a.golden, a.folder)
        some = [name for name in done if a.exact and name.startswith(("gpt2", "gemma"))]
        exactly = [workers.apply_async(attempt, (exact, name, a)) for name in some]
        print(f"\n{'model':18} {'device':>6} {'1-cosine':>9} {'batch':>5} {'top-1 clear/-/bad':>18} {'noise':>9} "
              f"{'tightest':>9} clear forced equal tokens", flush=True)
        for one in compared:
            found, error = one.result()
            print(found[0] if found else error, flush=True)
            failures += not (found and found[1])
    if some:
        print("\nin float64, 1 - cosine of the worst token\n"
              f"{'model':18} {'its float32':>10} {'reference.py':>12} {'F16 keys':>12} {'engine':>10}")
    for name, one in zip(some, exactly):
        line, error = one.get()
        print(line or f"{name}: {error}")
    print(f"{time.time() - begin:.0f} s")
    return failures


if __name__ == "__main__":
    main()
