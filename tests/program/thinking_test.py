#!/usr/bin/env python3
"""Tests models that think before they answer, and models without a chat template.

usage: thinking_test.py BITNET-CHAT TALKING-MODEL ENDLESS-MODEL FOLDER    (see program_case.py)

The template of a made model is in the form of Qwen3's (tests/tokenizer/jinja_cases.py). The TALKING-MODEL answers behind
a template that begins a thought, which it does not know and so never ends.
"""
import json
import os
import pty
import shutil
import subprocess
import sys
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "tokenizer"))
sys.dont_write_bytecode = True
import jinja_cases
from program_case import FOLDER, PROGRAM, TALKING, environment, main, run

QWEN3 = dict(jinja_cases.TEMPLATES)["qwen3"]
OPENS = "{{ bos_token }}{% for m in messages %}{{ m.content }}\n{% endfor %}{{ '<think>\\n' }}"
EMPTY = "<think>\n\n</think>\n\n"
PLAIN = ("--device", "cpu", "--temp", "0", "--seed", "1")


def errors_on_terminal(*arguments, **more):
    """Returns standard output, and what a terminal gets as standard error."""
    master, slave = pty.openpty()
    process = subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=slave,
                               env=environment(**{"TERM": "xterm", **more}), cwd=FOLDER)
    os.close(slave)
    out = process.communicate(timeout=120)[0]
    shown = b""
    while True:
        try:
            shown += os.read(master, 65536)
        except OSError:  # the other end is closed
            break
    os.close(master)
    return out.decode(), shown.decode()


class Thinking(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(FOLDER, ignore_errors=True)
        os.makedirs(FOLDER)
        for name, arch, template in (("base", "llama", ""), ("qwen3", "qwen3", QWEN3)):
            subprocess.run([sys.executable, os.path.join(TESTS, "support", "make_family.py"), f"{FOLDER}/{name}.gguf",
                            "--arch", arch, "--template", template, "--ctx", "512"], check=True)
        with open(FOLDER + "/opens.jinja", "w") as file:
            file.write(OPENS)
        cls.base, cls.qwen3 = FOLDER + "/base.gguf", FOLDER + "/qwen3.gguf"
        cls.opens = (TALKING, *PLAIN, "-n", "6", "--chat-template", FOLDER + "/opens.jinja")

    def test_a_base_model_goes_on_with_the_text_and_says_so(self):
        code, out, err = run(self.base, *PLAIN, "-n", "3", "-p", "Once upon ", "--private")
        self.assertIn("This is a base model", err)
        self.assertEqual(err.count("base model"), 1)
        self.assertEqual(code, 0)
        self.assertGreater(len(out), 1)
        out = run(self.base, *PLAIN, "-n", "3", "--private", "--script", "-",
                  text="Once\n@wait idle\nupon\n@wait idle\n/show prompt\n/compact\n@allow-errors\n")[1]
        answer = out.split("> Once\n", 1)[1].split("\n", 1)[0]
        self.assertIn(f"<|begin_of_text|>Once{answer}upon\n", out)
        self.assertIn("none: a base model", run("info", self.base)[1])
        objects = [json.loads(line) for line in run(self.base, *PLAIN, "-n", "1", "-p", "a", "--output", "jsonl")[1].splitlines()]
        self.assertTrue(any("base model" in o.get("text", "") for o in objects if o["type"] == "command"))

    def test_enable_thinking_reaches_the_template_and_the_replay(self):
        script = "hi\n@wait idle\n/show prompt\n"
        for arguments, ends in (((), "assistant\n"), (("--think", "on"), "assistant\n"),
                                (("--think", "off"), "assistant\n" + EMPTY)):
            code, out, err = run(self.qwen3, *PLAIN, "-n", "2", *arguments, "--script", "-", text=script)
            self.assertEqual((code, err), (0, ""))
            self.assertIn(f"<|im_start|>user\nhi<|im_end|>\n<|im_start|>{ends}\n(", out)
        self.assertIn("the same", run("replay", "3", "--verify", "--device", "cpu")[1])
        with open(FOLDER + "/thinking.conf", "w") as file:
            file.write("think = off\n")
        self.assertIn(EMPTY, run(self.qwen3, *PLAIN, "--config", "thinking.conf", "-n", "2", "--script", "-", text=script)[1])
        self.assertIn("(ChatML, knows --think)", run("info", self.qwen3)[1])
        self.assertEqual(run(self.qwen3, "--think", "maybe", "-p", "a")[0], 2)

    def test_render_takes_what_the_template_knows(self):
        messages = json.dumps([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b", "reasoning_content": "hm"}])
        code, out, err = run("render", self.qwen3, "--think", "off", text=messages)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out, "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n<think>\nhm\n</think>\n\nb<|im_end|>\n"
                              "<|im_start|>assistant\n" + EMPTY)

    def test_a_template_that_does_not_know_it_says_so(self):
        self.assertIn("think on changes nothing", run(TALKING, *PLAIN, "-n", "1", "--think", "on", "-p", "Hi")[2])

    def test_the_answer_alone_is_on_standard_output(self):
        self.assertEqual(run(*self.opens, "-p", "Hello!")[1:], ("\n", ""))
        out, shown = errors_on_terminal(*self.opens, "-p", "Hello!")
        self.assertEqual(out, "\n")
        self.assertRegex(shown, r"\A(\x1b\[2m[^\x1b]+\x1b\[22m)+(\r\n){2}\Z")
        for more in ({"TERM": "dumb"}, {}):
            arguments = ("--no-color",) if not more else ()
            self.assertRegex(errors_on_terminal(*self.opens, *arguments, "-p", "Hello!", **more)[1], r"\A\[thinking\] [^\x1b]+\Z")

    def test_a_thought_is_stored_counted_and_exported(self):
        shutil.rmtree(FOLDER + "/data", ignore_errors=True)
        objects = [json.loads(line) for line in run(*self.opens, "-p", "Hello!", "--output", "jsonl")[1].splitlines()]
        thought = "".join(o["text"] for o in objects if o["type"] == "thought")
        tokens = sum(o["type"] == "thought" and o["id"] is not None for o in objects)
        self.assertGreater(tokens, 1)
        self.assertFalse([o for o in objects if o["type"] == "token"])
        usage = next(o for o in objects if o["type"] == "usage")
        self.assertEqual((usage["text"], usage["thought"], usage["thought_tokens"]), ("", thought.strip(), tokens))
        self.assertIn(f"[assistant] (thought for {tokens} tokens) \n", run("show", "1")[1])
        self.assertIn("<think>\n" + thought, run("export", "1")[1])  # it has no end, so it is no block
        exported = json.loads(run("export", "1", "--format", "json")[1])
        self.assertEqual(exported["messages"][1]["turns"][0]["thought_tokens"], tokens)
        self.assertEqual(run("replay", "1", "--instant")[1].count(thought.strip()), 0)


if __name__ == "__main__":
    main()
