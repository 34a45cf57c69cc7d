#!/usr/bin/env python3
"""Give the program folders of the Hugging Face hub, and the GGUF files of the same numbers.

usage: hub_folder_test.py BITNET-CHAT work-folder [--device NAME]

Logits are equal bit for bit, token ids and greedy answers are equal, `info` and `bench` work, a replay is verified, and
a folder with a fault is refused in one line with exit code 4.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import numpy as np

SUPPORT = pathlib.Path(__file__).resolve().parent.parent / "support"
MODELS = {  # name: maker and arguments, arguments of make_hub_folder.py
    "bitnet": ("make_model", "--dim 256 --ffn 384 --layers 2 --heads 4 --kv 2 --vocab 700", "--shards 3 --merges pairs"),
    "master": ("make_model", "--dim 256 --ffn 384 --layers 2 --heads 4 --kv 1 --vocab 500", "--form master"),
    "falcon": ("make_family", "--arch llama --proj i2_s --head f16", "--form divided"),
    "pieces": ("make_family", "--arch bitnet --spm --vocab 700 --head bf16", "--form packed"),
    "dense": ("make_family", "--arch llama --proj bf16 --head f16 --biases", "--shards 2"),
    "qwen": ("make_family", "--arch qwen3 --proj f16 --embd f32 --head-dim 128", ""),
    "gpt2": ("make_family", "--arch gpt2 --proj bf16 --embd f16 --kv 4", ""),
    "gemma": ("make_family", "--arch gemma3 --proj bf16 --embd bf16 --dim 128 --ffn 256 --layers 3 --pattern 2 --spm --vocab 700",
              ""),
    "phi3": ("make_family", "--arch phi3 --proj bf16 --embd bf16 --rope-dims 48 --long-rope 1.632993161855452 "
             "--original-context 8", ""),
    "qwen2": ("make_family", "--arch qwen2 --proj f32 --embd bf16", ""),
}
TEXT = "Hello the world, don't say 12345 times: a\u00e9 \u4f60\n\n  tabs\t<|eot_id|> x"
A = None


def run(*arguments, text=""):
    home = str(A.folder / "home")
    environment = dict(os.environ, HOME=home, TERM="dumb",
                       **{f"XDG_{kind}_HOME": home for kind in ("DATA", "STATE", "CONFIG", "CACHE")})
    return subprocess.run([A.program, *map(str, arguments)], input=text, capture_output=True, text=True, timeout=300,
                          env=environment)


class HubFolderTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(A.folder, ignore_errors=True)
        A.folder.mkdir(parents=True)
        for name, (maker, shape, form) in MODELS.items():
            made = A.folder / f"{name}-made.gguf"
            for script, *arguments in ((maker, made, *shape.split()),
                                       ("make_hub_folder", made, A.folder / name, *form.split())):
                subprocess.run(["/usr/bin/python3", SUPPORT / f"{script}.py", *arguments], check=True)

    def good(self, *arguments, text=""):
        done = run(*arguments, text=text)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def both(self, name):
        return A.folder / name, A.folder / f"{name}.gguf"

    def test_logits_are_equal_bit_for_bit(self):
        out = A.folder / "logits.npy"
        for name in MODELS:
            found = []
            for model in self.both(name):
                self.good("logits", model, "--tokens", "5,300,7,11,260,1,90,3,3", "--out", out, "--force", *A.device)
                found.append(np.load(out))
            with self.subTest(name):
                self.assertTrue(np.isfinite(found[0]).all() and found[0].std() > 0)
                self.assertEqual(found[0].tobytes(), found[1].tobytes())

    def test_tokens_and_answers_are_equal(self):
        for name in MODELS:
            folder, gguf = self.both(name)
            with self.subTest(name):
                for option in ([], ["--special"]):
                    ids = self.good("tokenize", folder, *option, text=TEXT)
                    self.assertEqual(ids, self.good("tokenize", gguf, *option, text=TEXT))
                    self.assertEqual(self.good("detokenize", folder, text=ids), TEXT)
                asked = ["--private", "--temp", "0", "-n", "12", "-p", "Hello the world", *A.device]
                self.assertEqual(self.good(folder, *asked), self.good(gguf, *asked))

    def test_info_and_bench(self):
        for name in MODELS:
            with self.subTest(name):
                told = self.good("info", A.folder / name)
                self.assertIn("safetensors", told)
                self.assertNotIn("warning", told)
        self.good("bench", A.folder / "bitnet", "--output", "jsonl", "-p", "16", "-n", "4", *A.device)

    def test_a_conversation_is_kept_and_replayed(self):
        db = A.folder / "chats.db"
        self.good(A.folder / "bitnet", "--db", db, "--seed", "1", "-n", "8", "-p", "Hello!", *A.device)
        self.good("replay", "1", "--db", db, "--verify", *A.device)

    def test_a_fault_is_one_line(self):
        def without(name):
            return lambda folder: (folder / name).unlink()

        def config(name, value):
            def change(folder):
                path = folder / "config.json"
                path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
            return change
        faults = {"config.json": without("config.json"), "tokenizer.json is missing": without("tokenizer.json"),
                  "shard is missing": without("model-00002-of-00003.safetensors"),
                  "Mixtral": config("architectures", ["Mixtral\x1b[2J"]),
                  "quant_method": config("quantization_config", {"quant_method": "gptq"}),
                  "complete": lambda folder: os.truncate(folder / "model-00001-of-00003.safetensors", 5000)}
        if "phi3" in MODELS:
            factors = {"type": "longrope", "long_factor": [1.0] * 24, "short_factor": [1.0] * 24}
            for value in ([], 1, {"a": 1}, ["x"], [1.0, None]):
                faults[f"phi3 short_factor {value}"] = config("rope_scaling", factors | {"short_factor": value})
            faults["phi3 rope_factors_long"] = config("rope_scaling", factors | {"long_factor": [1.0] * 23})
            faults["phi3 original_context_length is 0"] = config("original_max_position_embeddings", 0)
            faults["phi3 sliding_window"] = config("sliding_window", -1)
        for words, change in faults.items():
            model, words = ("phi3", words.split()[1]) if words.startswith("phi3") else ("bitnet", words)
            folder = A.folder / "fault"
            shutil.copytree(A.folder / model, folder, dirs_exist_ok=True)
            change(folder)
            for arguments in (["info", folder], [folder, "--private", "-n", "1", "-p", "x", *A.device]):
                done = run(*arguments)
                with self.subTest(words, command=arguments[0]):
                    self.assertEqual((done.returncode, done.stdout), (4, ""), done.stderr)
                    self.assertRegex(done.stderr, f"^[^\x1b\n]*{words}[^\x1b\n]*\n$")
            shutil.rmtree(folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("folder", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--device", type=lambda name: ["--device", name], default=[])
    A, rest = parser.parse_known_args()
    if A.device and A.device[1] != "cpu":  # a device gets the tensors that the CPU gets
        MODELS = {name: MODELS[name] for name in ("bitnet", "dense")}
    unittest.main(argv=[sys.argv[0], *rest])
