#!/usr/bin/env python3
"""Chats with models whose tokenizers are those of Gemma 3, Gemma 4, Phi-3 and GPT-2, with their templates and as base models.

usage: tokenizers_test.py BITNET-CHAT FOLDER

The models are of random weights; what they say does not matter, but what they are given does. The templates are those of
tests/tokenizer/jinja_templates.py.
"""
import json
import os
import shutil
import subprocess
import sys
import unittest

PROGRAM, FOLDER = map(os.path.abspath, sys.argv[1:3])
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, "tokenizer"), os.path.join(TESTS, "support")]
sys.dont_write_bytecode = True
import hostile_tokenizers
import jinja_cases
from hostile_file import BOOL, VOCAB, File, floats, ints, scalar, string, strings, u32

TEMPLATES = dict(jinja_cases.TEMPLATES)
PLAIN = ("--device", "cpu", "--threads", "1", "--temp", "0", "--seed", "1", "-n", "3")
BYTES = [f"<0x{b:02X}>" for b in range(256)]
CONTROL, DEFINED = 3, 4


def sentence_pieces(file, special, pieces, **keys):
    """Makes the vocabulary one of SentencePiece's: `special` (text, type), the bytes, `pieces` and marks (text, type)."""
    entries = [*special, *((b, 6) for b in BYTES), *((p, 1) if isinstance(p, str) else p for p in pieces)]
    assert len(entries) == VOCAB, len(entries)
    tokens = [text for text, _ in entries]
    file.set("tokenizer.ggml.model", string("llama"))
    file.set("tokenizer.ggml.tokens", strings(tokens))
    file.set("tokenizer.ggml.token_type", ints([kind for _, kind in entries]))
    file.set("tokenizer.ggml.scores", floats([-float(i) for i in range(VOCAB)]))
    for name in ("pre", "merges", "bos_token_id", "eos_token_id", "eot_token_id", "add_bos_token"):
        file.drop("tokenizer.ggml." + name)
    for name, value in keys.items():
        file.set("tokenizer.ggml." + name, value)
    return tokens


def gemma3(file):
    return sentence_pieces(
        file, [("<pad>", CONTROL), ("<eos>", CONTROL), ("<bos>", CONTROL), ("<unk>", 2)],
        ["\u2581", "a", "b", "ab", "<", ("\n", DEFINED), ("\n\n", DEFINED), ("<td>", DEFINED),
         ("<start_of_turn>", CONTROL), ("<end_of_turn>", CONTROL)],
        bos_token_id=u32(2), eos_token_id=u32(1), unknown_token_id=u32(3), add_space_prefix=scalar("?", BOOL, False))


def phi3(file):
    file.set("general.name", string("Phi-3-made"))
    return sentence_pieces(
        file, [("<unk>", 2), ("<s>", CONTROL), ("</s>", CONTROL)],
        ["\u2581", "a", "b", "\u2581a", "ab", "x", *((mark, CONTROL) for mark in (
            "<|endoftext|>", "<|assistant|>", "<|system|>", "<|end|>", "<|user|>"))],
        bos_token_id=u32(1), eos_token_id=u32(2))


def gpt2(file):
    """The bytes, and <|endoftext|> for everything, as GPT-2 has it; BOS is not added."""
    tokens = file.tokens[:256] + [f"unused{i}" for i in range(VOCAB - 257)] + ["<|endoftext|>"]
    file.set("tokenizer.ggml.pre", string("gpt-2"))
    file.set("tokenizer.ggml.tokens", strings(tokens))
    file.set("tokenizer.ggml.token_type", ints([1] * 256 + [5] * (VOCAB - 257) + [CONTROL]))
    file.set("tokenizer.ggml.merges", strings([]))
    for name in ("bos", "eos"):
        file.set(f"tokenizer.ggml.{name}_token_id", u32(VOCAB - 1))
    for name in ("eot_token_id", "add_bos_token"):
        file.drop("tokenizer.ggml." + name)
    return tokens


def run(*arguments, text=""):
    env = {**os.environ, "TERM": "xterm", "HOME": FOLDER}
    for kind in ("DATA", "STATE", "CONFIG", "CACHE"):
        env[f"XDG_{kind}_HOME"] = os.path.join(FOLDER, kind)
    env.pop("BITNET_CHAT_MODEL", None)
    done = subprocess.run([PROGRAM, *arguments], input=text.encode(), capture_output=True, env=env, cwd=FOLDER, timeout=120)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


class Tokenizers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(FOLDER, ignore_errors=True)
        os.makedirs(FOLDER)
        cls.tokens = {}
        for name, make in (("gemma3", gemma3), ("gemma4", hostile_tokenizers.gemma4), ("phi3", phi3), ("gpt2", gpt2)):
            for kind in ("chat", "base"):
                file = File()
                cls.tokens[name] = make(file)
                file.set("tokenizer.chat_template", string(TEMPLATES.get(name, TEMPLATES["qwen2.5"])))
                if kind == "base":
                    file.drop("tokenizer.chat_template")
                with open(f"{FOLDER}/{name}-{kind}.gguf", "wb") as out:
                    out.write(file.bytes())

    def ids(self, model, text, *more):
        code, out, err = run("tokenize", model, *more, text=text)
        self.assertEqual((code, err), (0, ""))
        return [int(word) for word in out.split()]

    def prompt(self, model, turns, *more):
        """What /show prompt shows after these turns, and all that the script printed."""
        script = "".join(f"{turn}\n@wait idle\n" for turn in turns) + "/show prompt\n"
        code, out, err = run(model, *PLAIN, *more, "--script", "-", text=script)
        self.assertEqual(code, 0, err)
        return out.split("> /show prompt\n", 1)[1].rsplit("\n(", 1)[0], out

    def test_templates_print_each_familys_marks_and_bos_once(self):
        # Phi-3's marks take the line ends of its template.
        wanted = {
            "gemma3": ("<bos>", "<start_of_turn>user\nS\n\na<end_of_turn>\n<start_of_turn>model\n", "(Gemma)"),
            "gemma4": ("<bos>", "<|turn>system\nS<turn|>\n<|turn>user\na<turn|>\n<|turn>model\n", "(Gemma 4, knows --think)"),
            "phi3": ("<s>", "<|system|>S<|end|><|user|>a<|end|><|assistant|>", "(Phi-3)"),
            "gpt2": ("", "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n", "(ChatML")}
        for name, (bos, begins, form) in wanted.items():
            with self.subTest(name):
                model = f"{name}-chat.gguf"
                prompt, _ = self.prompt(model, ["a", "b"], "--system", "S")
                self.assertTrue(prompt.startswith(bos + begins), prompt)
                if bos:
                    self.assertEqual(prompt.count(bos), 1)
                self.assertIn(form, run("info", model)[1])

    def test_a_conversation_is_kept_and_replayed(self):
        for name in self.tokens:
            with self.subTest(name):
                shutil.rmtree(FOLDER + "/DATA", ignore_errors=True)
                _, out = self.prompt(f"{name}-chat.gguf", ["a", "ab <td>  b"])
                self.assertIn("the same", run("replay", "1", "--verify", "--device", "cpu")[1])
                messages = json.loads(run("export", "1", "--format", "json")[1])["messages"]
                self.assertEqual([m["role"] for m in messages], ["user", "assistant"] * 2)

    def test_base_models_go_on_with_the_text(self):
        for name, bos in (("gemma3", "<bos>"), ("gemma4", "<bos>"), ("phi3", "<s>"), ("gpt2", "")):
            with self.subTest(name):
                model = f"{name}-base.gguf"
                self.assertIn("none: a base model", run("info", model)[1])
                prompt, out = self.prompt(model, ["a b", "ab"])
                answer = out.split("> a b\n", 1)[1].split("\n[", 1)[0].split("\n> ", 1)[0]
                self.assertIn("base model", run(model, *PLAIN, "--private", "-p", "a")[2])
                if "\ufffd" not in answer:
                    self.assertEqual(prompt, f"{bos}a b{answer}ab")

    def test_text_becomes_the_tokens_of_its_kind(self):
        id_of = {name: {token: i for i, token in enumerate(tokens)} for name, tokens in self.tokens.items()}
        g3, g4, p3 = id_of["gemma3"], id_of["gemma4"], id_of["phi3"]
        self.assertEqual(self.ids("gemma3-base.gguf", "ab <td>\n\n\n\xdf"),
                         [g3["ab"], g3["\u2581"], g3["<td>"], g3["\n\n"], g3["\n"], g3["<0xC3>"], g3["<0x9F>"]])
        self.assertEqual(self.ids("gemma4-base.gguf", " a ab\n\n</s>"),
                         [g4["\u2581a"], g4["\u2581"], g4["ab"], g4["\n\n"], *(4 + b for b in b"</s>")])
        self.assertEqual(self.ids("phi3-base.gguf", "<|user|>\n a<|end|>\n<|assistant|>\n", "--special"),
                         [p3["<|user|>"], p3["\u2581a"], p3["<|end|>"], p3["<|assistant|>"]])
        # What somebody typed is no mark.
        self.assertEqual(self.ids("gemma4-base.gguf", "<turn|>"), [4 + b for b in b"<turn|>"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
