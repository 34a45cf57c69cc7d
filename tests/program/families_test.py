#!/usr/bin/env python3
"""Compare every family and every type of tensor with references, on one device.

    families_test.py path/to/bitnet-chat work-folder [--device NAME] [--only NAME,...] [--jobs N] [--quick]
                     [--few] [--list]

The reference models (families/README.md) are compared with what transformers computed, models of random weights with
reference.py: the logits of every token and, on the CPU, the residual stream of the last one. Each model runs in one
batch, token by token, seven tokens at a time and, on a GPU, three, and these must agree bit for bit; a greedy answer must
be the likeliest tokens of `logits`. Twelve models of families/second_set.py, on a GPU one of them, must answer what
transformers answered, 200 tokens. `info` must succeed on each. Exit code 1 names every comparison that failed. --quick runs each model in
one batch and token by token alone, for a device whose driver needs long to begin, or a program that a sanitizer slows
down; on a software device that is always so. --few runs the models that have an architecture, a type or a shape of their own;
on a software device that holds for those which make_family.py makes, and of the published shapes it gets one of each kind.

Where the input of projections becomes int8, a value that lies near a tie is rounded otherwise in float32 than in
float64, and differences grow from there; the bars for such models are therefore lower (engine/README.md, "Numbers").
Where it becomes int8 in units, no reference rounds it, and what shows is what the rounding costs these small models.
"""
import argparse
import contextlib
import io
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys

import numpy as np

import compare_logits
import cores
import gguf  # finds tests/support too
import make_family
import reference
import reference_models
import second_set

MAKE_MODELS = pathlib.Path(__file__).resolve().parents[2] / "bench" / "make_models.py"
sys.path.insert(0, str(MAKE_MODELS.parent))
import make_models  # noqa: E402

BAR, BAR_SHARP, BAR_UNITS, BAR_INT8 = 0.99999, 0.9999, 0.998, 0.995  # of the cosine of each row
SAME_ON_DEVICES = ("qwen35-q2_0", "qwen35-ptq1_0")  # lie there as qwen35-pq2_0 does, and 150 tokens one by one take long
UNITS_IN = ("gemma4",)  # how the names of models begin, or second-, to which int8 units do as much as int8 rows to others
MOST = {BAR: 0.01, BAR_SHARP: 0.1, BAR_UNITS: 0.3, BAR_INT8: 0.5}  # of the error of one logit, in deviations of its row
SHARP = ("llama-q4_k", "llama-q5_k")  # their scores are so large that it shows that keys are F16
ROUNDED = ("bitnet", "llama-i2_s", "llama-tq2_0-int8")  # how the names of references whose inputs are int8 begin
EXPERTS, MOST_DOUBT = ("qwen3moe", "maple"), 0.2  # of router logits, whose deviation is 2
N_TOKENS = 41  # past one tile of any batch kernel, and no multiple of 7
N_LONG = 150  # past two of the chunks of keys in which attention is computed, and past what RoPE is stretched from
N_WINDOWED = 600  # past the largest window
N_PRESET, N_PRESET_ALONE = 13, 5  # a part of a tile, since a software device computes such rows for seconds
N_ANSWER = 16

UNFOLDED = "hadamard_f16"  # and those whose names begin so
SMALL = "--dim 256 --ffn 512 --layers 2"
MADE = {  # arguments of make_family.py
    # families
    "bitnet_spm": "--arch bitnet --spm --vocab 700 --proj tq1_0",
    "bitnet_25_two_tables": "--arch bitnet-25 --head f16",
    "bitnet_b158_silu_by_spm": "--arch bitnet-b1.58 --spm --vocab 701",
    "bitnet_b158_silu_by_key": "--arch bitnet-b1.58 --activation silu --proj tq2_0",
    "bitnet_relu2_by_key": "--arch bitnet --activation relu2",
    "bitnet_relu2_by_option": "--arch bitnet",
    "llama_tied": "--arch llama --proj tq2_0",
    "llama_rope_freqs": "--arch llama --proj tq1_0 --rope-freqs",
    "llama_rope_freqs_i2_s": "--arch llama --proj i2_s --rope-freqs --head f16",
    "llama_linear": "--arch llama --proj tq2_0 --linear 4 --head f16",
    "llama_heads_of_256": "--arch llama --proj i2_s --heads 2 --kv 1 --head-dim 256 --head f16",
    "llama_part_of_a_head_rotates": "--arch llama --proj tq2_0 --rope-dims 32",
    "llama_mixed": "--proj i2_s --other attn_output=tq1_0 --other ffn_down=q2_0",
    "llama_odd_vocabulary": "--arch llama --proj tq2_0 --vocab 397 --head q2_0",
    "qwen2_i2_s": "--arch qwen2 --proj i2_s",
    "qwen2_tq2_0": "--arch qwen2 --proj tq2_0 --head f16",
    "qwen2_yarn": "--arch qwen2 --proj q2_0 --yarn 4",
    "qwen3_i2_s": "--arch qwen3 --proj i2_s --head-dim 128",
    "qwen3_yarn": "--arch qwen3 --proj q2_0 --embd q2_0 --head q2_0 --vocab 389 --head-dim 128 --yarn 4 "
                  "--original-context 4096",
    "qwen3_q2_0_128": "--arch qwen3 --proj q2_0_128 --embd q2_0_128 --heads 2 --head-dim 128",
    "qwen3_ptq1_0": "--arch qwen3 --proj ptq1_0 --embd ptq1_0 --head ptq1_0 --vocab 389 --dim 384 --ffn 640 --heads 6 --head-dim 128",
    "llama_q1_0": "--arch llama --proj q1_0 --embd q1_0 --head pq2_0",
    "qwen3_yarn_tied": "--arch qwen3 --proj q2_0_128 --embd q2_0_128 --yarn 8 --original-context 32 --kv 1",
    "q2_0_odd_groups": "--arch qwen3 --proj q2_0 --embd f16 --dim 384 --ffn 640 --heads 6 --kv 2",
    "i2_s_64": "--arch llama --proj i2_s_64 --head f16 --dim 384 --ffn 896 --heads 6 --kv 1",
    "i2_s_1x4": "--arch llama --proj i2_s_1x4 --head f16",
    "i2_s_64_tables": "--proj i2_s_64 --embd i2_s_64 --head i2_s_64 --vocab 389",
    "i2_s_1x4_tied": "--arch qwen3 --proj i2_s_1x4 --embd i2_s_1x4",
    # a Walsh-Hadamard transform folded into all of it
    "hadamard_f16": "--arch qwen3 --proj f16 --embd f16 --head f16 --hadamard 256",
    "hadamard_f16_qwen35": "--arch qwen35 --proj f16 --embd f16 --head f16 --k-heads 2 --v-heads 6 --rope-dims 16 --hadamard 128",
    "hadamard_ptq1_0": "--arch qwen3 --proj ptq1_0 --embd ptq1_0 --hadamard 128 --dim 384 --ffn 640 --heads 6 --kv 3 --vocab 389",
    # Gated DeltaNet; six rows of a ternary gate share a set of sixteen with the other gate
    "qwen35": "--arch qwen35 --proj q2_0 --embd q2_0 --head q2_0 --k-heads 2 --v-heads 6 --rope-dims 16",
    "qwen35_floats": "--arch qwen35 --proj f16 --other ssm_alpha=f32 --other ssm_beta=bf16 --k-heads 1 --v-heads 1 --state 128 --conv 2",
    "qwen35_dense": "--arch qwen35 --proj q8_0 --embd q8_0 --k-heads 3 --v-heads 6 --state 32 --conv 3 --head-dim 128 --kv 1",
    # dense projections; --other puts blocks of different kinds into one stack
    "llama_floats": "--proj f16 --other attn_k=bf16 --other attn_v=f32 --other ffn_down=bf16 --embd f32",
    "llama_blocks": "--proj q4_0 --other attn_q=q5_0 --other attn_k=q8_0 --other attn_v=q6_k --other attn_output=q5_k "
                    "--other ffn_down=q4_k --head q6_k",
    "llama_blocks_of_192": "--biases --proj q8_0 --other ffn_down=q5_0 --dim 192 --ffn 320 --heads 3 --kv 1 --embd q8_0",
    "qwen2_q8_0": "--arch qwen2 --proj q8_0 --embd q8_0",
    "qwen3_q6_k": "--arch qwen3 --proj q6_k --embd q6_k --head-dim 128",
    "llama_q4_k_m": "--proj q4_k --other 0.attn_v=q6_k --other 0.ffn_down=q6_k --embd q4_k --head q6_k --dim 512",
    "qwen2_q5_k_m": "--arch qwen2 --proj q5_k --other attn_v=q6_k --other 1.ffn_down=q6_k --embd q5_k",
    "phi3": "--arch phi3 --proj q8_0 --embd q8_0 --head q5_0 --heads 6 --dim 384 --kv 2 --rope-dims 48 "
            "--long-rope 1.19 --original-context 8",
    "phi3_floats": "--arch phi3 --proj f16 --other ffn_up=bf16 --window 0 --long-rope 1.1 --original-context 256",
    "phi3_k_quants": "--arch phi3 --proj q4_k --other ffn_down=q6_k --embd q4_k --window 64",
    "gpt2": "--arch gpt2 --proj q8_0 --other attn_output=f16 --embd q8_0 --kv 4",
    "gemma3_window_of_16": "--arch gemma3 --proj q8_0 --embd q8_0 --dim 128 --ffn 256 --pattern 2 --ctx 1024",
    "gemma3_window_of_512": "--arch gemma3 --proj f16 --embd f16 --dim 128 --ffn 256 --pattern 2 --window 512 --ctx 1024",
    "gemma4_e2b": "--arch gemma4 --proj q8_0 --embd q8_0 --dim 128 --ffn 256 --layers 6 --head-dim 64 --swa-head-dim 32 "
                  "--shared 3 --per-layer 32",
    "gemma4_31b": "--arch gemma4 --proj q4_0 --embd q8_0 --dim 128 --ffn 256 --layers 3 --head-dim 512 --swa-head-dim 256 "
                  "--kv 1 --keys-are-values",
    # experts
    "qwen3moe_mixed": "--arch qwen3moe --proj q8_0 --other ffn_down_exps=q6_k --other ffn_gate_exps=q4_0 --other ffn_up_exps=q4_0 --experts 5 --used 3 --sigmoid",
    "qwen3moe_i2_s": "--arch qwen3moe --proj i2_s --other ffn_gate_inp=bf16 --experts 3 --used 3",
    "maple_small": "--arch maple --proj tq1_0 --head q4_k --layers 3 --pattern 3 --ffn 256 --head-dim 64 --rope-dims 32 --experts 16 --used 4",
}
TABLES = {  # types of the embedding and of the head
    "f32_tied": "--proj tq2_0 --embd f32",
    "bf16_tied": "--proj tq2_0 --embd bf16",
    "q8_0_tied": "--proj tq2_0 --embd q8_0",
    "q4_0_tied": "--proj tq2_0 --embd q4_0",
    "q5_0_tied": "--proj tq2_0 --embd q5_0",
    "q4_k_tied": "--proj tq2_0 --embd q4_k",
    "q5_k_tied": "--proj tq2_0 --embd q5_k",
    "q6_k_tied": "--proj tq2_0 --embd q6_k",
    "i2_s_tied": "--proj tq2_0 --embd i2_s",
    "tq1_0_tied": "--proj tq1_0 --embd tq1_0",
    "tq2_0_tied": "--proj tq2_0 --embd tq2_0 --vocab 389",
    "f32_then_bf16": "--proj i2_s --embd f32 --head bf16",
    "q4_0_then_q5_0": "--arch bitnet-25 --proj i2_s --embd q4_0 --head q5_0",
    "q5_k_then_q4_k": "--proj tq1_0 --embd q5_k --head q4_k --dim 512",
    "q8_0_then_q6_k": "--proj q2_0 --embd q8_0 --head q6_k --vocab 389",
    "i2_s_head": "--proj i2_s --embd q6_k --head i2_s --vocab 389",
    "i2_s_both": "--proj i2_s --embd i2_s --head i2_s",
    "tq2_0_head": "--proj tq2_0 --embd q4_k --head tq2_0",
}
# How the names of models begin that have an architecture, a type or a shape of their own.
OF_THEIR_OWN = (
    "bitnet_spm", "bitnet_25", "bitnet_relu2_by_option", "llama_rope_freqs_i2_s", "llama_heads", "llama_part", "llama_mixed",
    "llama_odd", "llama_q1_0", "llama_floats", "llama_blocks", "llama_q4_k_m", "qwen2_tq2_0", "qwen2_q5_k_m", "qwen3_yarn",
    "qwen3_q2_0_128", "qwen3_ptq1_0", "q2_0_odd", "i2_s_64", "i2_s_1x4", "hadamard", "qwen35_", "phi3_", "gpt2",
    "gemma3_window_of_16", "gemma4_", "qwen3moe_", "maple", "tq1_0_tied", "tq2_0_tied", "i2_s_both", "f32_then", "q4_0_then",
    "q5_k_then", "q8_0_then")
PRESETS_OF_THEIR_OWN = ("2b4t", "falcon3-10b", "bonsai-1.7b", "bonsai-2-27b", "bitnet-large", "maple", "2b-q4_0")


def plays_a_gpu(binary, device):
    """Whether the device, named by its number, is a software driver."""
    if not (device or "").isdigit():
        return False
    listed = subprocess.run([binary, "devices"], capture_output=True, text=True, timeout=60).stdout
    return "a driver that plays a GPU" in listed.partition(f"{device}  ")[2].partition("memory")[0]


def rolled_kernels():
    """What has a software device compile kernels in less than half of the time (CONTRIBUTING.md)."""
    folder = os.environ.get("BITNET_ROLLED_KERNELS")
    return {"BITNET_CHAT_SHADERS": folder, "GALLIVM_PERF": "nopt"} if folder else {}


WINDOWED = ("gemma3_window_of_512",)
LONG = ("gemma3_window_of_16", "qwen35_floats", "phi3_k_quants", "llama_rope_freqs", "llama_linear", "qwen2_yarn",
        "qwen3_yarn", "qwen3_q2_0_128")


class Runner:
    def __init__(self, a, number=0):
        """Runners of different numbers may run at once."""
        self.binary, self.folder, self.failures = os.path.abspath(a.binary), pathlib.Path(a.folder).resolve(), []
        self.quick, self.on_cpu = a.quick, "cpu" in (a.device or "cpu")
        self.out = self.folder / f"out-{number}.npy"
        self.trace = self.folder / f"experts-{number}.txt"
        self.device = ["--device", a.device] if a.device else []
        home = str(self.folder / "home")
        self.as_shipped = dict(os.environ, HOME=home, TERM="dumb",
                               **{f"XDG_{kind}_HOME": home for kind in ("DATA", "STATE", "CONFIG", "CACHE")})
        self.environment = self.as_shipped | a.kernels

    def run(self, *arguments, text=""):
        return subprocess.run([self.binary, *arguments], input=text, capture_output=True, text=True, timeout=600,
                              env=self.environment)

    def tell(self, what, good, report=""):
        print(f"  {'ok  ' if good else 'FAIL'} {what}{': ' * bool(report)}{report}", flush=True)
        if not good:
            self.failures.append(what)

    def output(self, command, model, ids, *options):
        """Returns what the program wrote with --out, or None if it failed."""
        out = self.out
        out.unlink(missing_ok=True)
        tokens = ",".join(map(str, ids))
        done = self.run(command, str(model), "--tokens", tokens, "--out", str(out), *options, *self.device)
        if done.returncode == 0 and out.exists():
            return np.load(out)
        print(f"  {command} {model.name} {' '.join(options)}: exit code {done.returncode}: {done.stderr.strip()}")
        return None

    def bar_for(self, name, model, bar, options=()):
        """What is asked of a model where `bar` would be asked of one whose inputs are not rounded in units."""
        done = self.run("info", str(model), *options)
        self.tell(f"{name}, info", done.returncode == 0, done.stderr.strip())
        if "inputs int16 every" in done.stdout:
            return min(bar, BAR_SHARP)  # a ternary head has int8 units
        if "inputs int8 every" not in done.stdout:
            return bar
        return min(bar, BAR_INT8 if name.removeprefix("second-").startswith(UNITS_IN) else BAR_UNITS)

    def check(self, name, model, ids, wanted, wanted_hidden, bar, options=(), normed=False):
        """Holds the program's numbers against logits [tokens, vocabulary] and hidden [layers, embedding].

        The last row of hidden is after output_norm where `normed` says so.
        """
        print(name, flush=True)
        asked, bar = bar, self.bar_for(name, model, bar, options)
        computed = reference.Model(model) if model.stem.startswith(EXPERTS) else None
        trace = ("--expert-trace", str(self.trace)) if computed else ()
        self.trace.unlink(missing_ok=True)
        got = self.output("logits", model, ids, *trace, *options)
        if got is None:
            return self.tell(f"{name}, logits", False, "no output")
        if computed:
            wanted, wanted_hidden = self.with_its_experts(name, computed, ids, wanted, wanted_hidden, normed)
        report, good = compare_logits.compare(wanted, got, bar, decided=MOST[bar] if bar < asked else 0.25)
        self.tell(f"{name}, logits", good, report)
        if got.shape == wanted.shape:  # a cosine does not see one wrong row of the head
            most = (np.abs(got - wanted) / wanted.std(-1, keepdims=True)).max(0)
            limit = MOST[bar]
            self.tell(f"{name}, each logit", most.max() <= limit, f"the largest error is {most.max():.5f} of the row's "
                      f"deviation, at token {most.argmax()} (bar {limit})")
        for n in self.sizes():
            other = self.output("logits", model, ids, "--prefill", n, *options)
            same = other is not None and np.array_equal(got, other)
            self.tell(f"{name}, --prefill {n}, bit for bit", same, "" if same or other is None else
                      f"{np.count_nonzero((got != other).any(-1))} of {len(got)} rows differ, "
                      f"the most by {np.abs(got - other).max():g}")
        if wanted_hidden is None or self.quick:
            return
        hidden = self.output("probe", model, ids, *options)
        if normed and hidden is not None:
            hidden[-1] = reference.Model(model).norm("output_norm", hidden[-1].astype(np.float64))
        report, good = "no output", False
        if hidden is not None:
            report, good = compare_logits.compare(wanted_hidden, hidden, bar, False)
        self.tell(f"{name}, probe", good, report)

    def with_its_experts(self, name, computed, ids, wanted, wanted_hidden, normed):
        """Returns what is wanted if each token has the experts that the program chose, which are to be nearly the likeliest.

        Where two experts are nearly alike, rounding inputs to int8 decides between them, and logits jump.
        """
        logits, _ = computed.forward(ids)
        report, good = compare_logits.compare(wanted, logits.astype(np.float32), 0.999999)
        self.tell(f"{name}, reference.py", good, report)
        lines = np.loadtxt(self.trace, int)
        choices = lines[:, 2:].reshape(len(ids), computed.n_layer, -1)
        order = np.array([(t, i) for t in range(len(ids)) for i in range(computed.n_layer)])
        logits, hidden = computed.forward(ids, choices=choices)
        self.tell(f"{name}, experts", np.array_equal(lines[:, :2], order) and computed.doubt < MOST_DOUBT,
                  f"one that was left out has a logit larger by {computed.doubt:.4f} at most (bar {MOST_DOUBT})")
        if wanted_hidden is not None and normed:
            hidden[-1] = computed.norm("output_norm", hidden[-1])
        return logits.astype(np.float32), None if wanted_hidden is None else hidden

    def check_answer(self, name, model, options):
        """Holds a greedy answer, which takes other ways through the engine, against the logits of the same tokens."""
        question = '[{"role": "user", "content": "hello"}]'
        prompt = self.run("render", str(model), *options, text=question).stdout
        ids = self.run("tokenize", str(model), "--special", "--csv", *options, text=prompt).stdout.strip()
        done = self.run(str(model), "-p", "hello", "--output", "jsonl", "--temp", "0", "--max-tokens", str(N_ANSWER),
                        "--private", *options, *self.device)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        answer = [(line["id"], line["logprob"]) for line in lines if line.get("id") is not None and "logprob" in line]
        if done.returncode != 0 or not ids or not answer:
            return self.tell(f"{name}, answer", False, f"exit code {done.returncode}: {done.stderr.strip()}")
        n_prompt, chosen = ids.count(",") + 1, [token for token, _ in answer]
        logits = self.output("logits", model, [*map(int, ids.split(",")), *chosen[:-1]], *options)
        if logits is None:
            return self.tell(f"{name}, answer", False, "no output")
        rows = logits[n_prompt - 1:].astype(np.float64)
        rows -= rows.max(-1, keepdims=True)
        of_chosen = rows[np.arange(len(chosen)), chosen] - np.log(np.exp(rows).sum(-1))
        error = np.abs(of_chosen - [logprob for _, logprob in answer]).max()
        other = np.count_nonzero(rows.argmax(-1) != chosen)
        self.tell(f"{name}, greedy answer", other == 0 and error < 1e-4,
                  f"{other} of {len(chosen)} tokens are not the likeliest; log probabilities are off by {error:g}")

    def check_reference(self, name, model, arrays):
        bar = BAR_INT8 if name.startswith(ROUNDED) else BAR_SHARP if name in SHARP else BAR
        self.check(name, model, arrays["ids"].tolist(), arrays["logits"], arrays.get("hidden"), bar, normed=True)

    def check_made(self, name, line):
        model = self.folder / f"{name}.gguf"
        make_family.main([str(model), *SMALL.split(), "--seed", str(len(name)), *line.split()])
        layout = {"i2_s_64": "64", "i2_s_1x4": "1x4"}.get(make_family.parse(["", *line.split()]).proj, "128")
        computed = reference.Model(model, layout)
        if name.startswith(UNFOLDED):  # held against the model that nothing is folded into
            plain = self.folder / f"{name}.plain"
            make_family.main([str(plain), *SMALL.split(), "--seed", str(len(name)), *line.partition("--hadamard")[0].split()])
            computed = reference.Model(plain)
            plain.unlink()
        n_vocab = len(computed.file.meta["tokenizer.ggml.tokens"])
        n = N_LONG if name in LONG else N_WINDOWED if name in WINDOWED else N_TOKENS
        ids = np.random.Generator(np.random.PCG64(len(name))).integers(0, n_vocab, n).tolist()
        options = () if layout == "128" else ("--i2s-layout", layout)
        if name == "bitnet_relu2_by_option":
            computed.act, options = reference.relu2, ("--activation", "relu2")
        logits, hidden = computed.forward(ids)
        self.check(name, model, ids, logits, hidden if self.on_cpu else None, BAR_INT8 if computed.quantised else BAR, options)
        if "tokenizer.chat_template" in computed.file.meta and not self.quick:
            self.check_answer(name, model, options)

    def check_kept(self, name):
        """Holds a model of families/second_set.py against 200 tokens that transformers' generate() chose for it."""
        print(name, flush=True)
        of_set = name.removeprefix("second-")
        kept = np.load(second_set.GOLDEN)
        ids, n, letter, margins, limit, logits, digest = (kept[f"{of_set}/{what}"] for what in second_set.KEPT_ARRAYS)
        model = self.folder / f"{name}.gguf"
        second_set.make(of_set, model)
        self.tell(f"{name}, the file is that of transformers", np.array_equal(second_set.digest(model), digest))
        got = self.output("logits", model, ids.tolist())
        if got is None:
            return self.tell(f"{name}, logits", False, "no output")
        bar = self.bar_for(name, model, second_set.BAR)
        report, good = compare_logits.compare(logits.astype(np.float32), got[[n - 1, -1]], bar)
        self.tell(f"{name}, logits", good, report)
        if self.quick:
            return
        done = self.run(str(model), "-p", str(letter), "--output", "jsonl", "--temp", "0", "--max-tokens", str(len(margins)),
                        "--private", *self.device)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        answer = [line["id"] for line in lines if line.get("id") is not None and "logprob" in line]
        if bar < second_set.BAR:
            limit = max(limit, MOST[bar] * logits.std(-1).min())
        for what, chosen in (("reading its answer", got[n - 1:-1].argmax(-1)), ("its own answer", np.array(answer))):
            other = np.flatnonzero(chosen != ids[n:]) if len(chosen) == len(margins) else np.array([len(chosen)])
            if what == "its own answer":
                other = other[:1]  # after which it is another text
            clear = [step for step in other if step >= len(margins) or margins[step] > limit]
            self.tell(f"{name}, {what}", not clear,
                      f"{len(margins)} tokens, {len(other)} others, {len(clear)} where they were clear")

    def sizes(self):
        """Tokens of a pass, one pass after the other; the kernels of a GPU differ most between these."""
        if self.quick:
            return ("1",)
        return ("1", "3", "7") if not self.on_cpu else ("1", "7")

    def check_preset(self, name):
        """Runs one block of a file of bench/make_models.py: shapes that people have, too large for reference.py."""
        print(name, flush=True)
        self.environment = self.as_shipped  # for such rows lavapipe would leave loops early
        model = self.folder / f"{name}.gguf"
        subprocess.run([sys.executable, str(MAKE_MODELS), str(model), name, "--layers", "1", "--vocab", "1001", "--experts", "16"],
                       check=True, stdout=subprocess.DEVNULL)
        done = self.run("info", str(model))
        self.tell(f"{name}, info", done.returncode == 0, done.stderr.strip())
        batch = self.output("logits", model, range(300, 300 + N_PRESET))
        good = batch is not None
        for n in self.sizes():
            other = self.output("logits", model, range(300, 300 + N_PRESET_ALONE), "--prefill", n)
            same = batch is not None and other is not None and np.array_equal(batch[:N_PRESET_ALONE], other)
            self.tell(f"{name}, --prefill {n}, bit for bit", same)
            good &= same
        if good:
            low, high = batch.std(-1).min(), batch.std(-1).max()
            report = f"rows deviate by {low:.3f} to {high:.3f} (bar 0.5 to 2.5)"
            self.tell(f"{name}, logits", 0.5 <= low and high <= 2.5, report)


def checks_of(models, device, is_software):
    """Yields (name, what to tell of it, a method of Runner and its arguments) for each model.

    On a software device tests of single kernels show the types of tables.
    """
    for name, line in (MADE if is_software else MADE | TABLES).items():
        if not is_software or name.startswith(OF_THEIR_OWN):
            yield name, line, Runner.check_made, (name, line)
    for name in second_set.KEPT if "cpu" in device else second_set.KEPT[-1:]:  # 200 tokens one by one take long elsewhere
        yield f"second-{name}", "", Runner.check_kept, (f"second-{name}",)
    presets = PRESETS_OF_THEIR_OWN if is_software else [name for name in make_models.PRESETS if name != "bonsai-27b"]
    for name in presets:  # bonsai-2-27b is bonsai-27b with a transform
        yield name, "", Runner.check_preset, (name,)
    for name, (model, arrays) in models.items():
        if "cpu" not in device and name in SAME_ON_DEVICES:
            continue
        if arrays is not None:
            yield name, "", Runner.check_reference, (name, model, arrays)


def run_one(a, check, arguments, number):
    """In a process of its own: returns what is to be printed, and the failures."""
    cores.keep_to_some(number, a.jobs)
    runner, out = Runner(a, number), io.StringIO()
    with contextlib.redirect_stdout(out):
        check(runner, *arguments)
    for file in (runner.out, runner.folder / f"{arguments[0]}.gguf"):
        file.unlink(missing_ok=True)
    return out.getvalue(), runner.failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("folder")
    parser.add_argument("--device", help="as bitnet-chat takes it")
    parser.add_argument("--only", help="models whose names begin so, with commas between")
    parser.add_argument("--jobs", type=int, default=1, help="models at once")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--list", action="store_true", help="print the names of the models")
    a = parser.parse_args()
    is_software = plays_a_gpu(os.path.abspath(a.binary), a.device)
    a.quick |= is_software  # what is the same on each device, answers among it, is asked of the CPU
    a.kernels = rolled_kernels() if is_software else {}
    runner, failures = Runner(a), []
    (runner.folder / "home").mkdir(parents=True, exist_ok=True)
    checks = [check for check in checks_of(reference_models.unpack(runner.folder), a.device or "", is_software)
              if not a.only or check[0].startswith(tuple(a.only.split(",")))]
    checks = [check for check in checks if not a.few or check[0].startswith(OF_THEIR_OWN)]
    assert len({name for name, *_ in checks}) == len(checks), "two models share a name, and so a file"
    if a.list:
        print("\n".join(f"{name} {line}".strip() for name, line, _, _ in checks))
        return
    with multiprocessing.get_context("fork").Pool(a.jobs) as pool:
        running = [pool.apply_async(run_one, (a, check, arguments, number))
                   for number, (_, _, check, arguments) in enumerate(checks)]
        for one in running:
            text, failed = one.get()
            print(text, end="", flush=True)
            failures += failed
    for failure in failures:
        print(f"failed: {failure}")
    print(f"{len(failures)} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
