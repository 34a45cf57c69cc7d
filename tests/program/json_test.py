#!/usr/bin/env python3
"""Holds the keys of the JSON that the man page promises against what the program prints.

usage: json_test.py BITNET-CHAT TALKING-MODEL ENDLESS-MODEL FOLDER    (see program_case.py)
"""
import json
import os
import re

from program_case import FOLDER, TALKING, ProgramCase, main, run

WIDE = ("--device", "cpu", "--threads", "1")
THINKS = "{{ bos_token }}{% for m in messages %}{{ m.content }}\n{% endfor %}{{ '<think>\\n' }}"  # an answer begins with a thought
TEXT = "A whale is a large animal that lives in the sea. " * 8


def promised():
    """Returns the rows of the man page's section JSON: what is printed and where, the keys, and those that may be missing."""
    page = run("print", "man")[1].replace("\\-", "-")
    section = page[page.index(".SH JSON"):]
    section = section[:section.index("\n.SH", 1)]
    rows = {}
    for name, keys in re.findall(r"\.TP\n\\fB(.*)\\fR\n\\fI(.*)\\fR\n", section):
        words = keys.split()
        rows[name] = ({word for word in words if word[0] != "["}, {word.strip("[]") for word in words if word[0] == "["})
    return rows


def objects_in(value, path="."):
    """Yields each object within a value, and before it its path as jq has it."""
    if isinstance(value, list):
        for inner in value:
            yield from objects_in(inner, path + "[]")
    elif isinstance(value, dict):
        yield path, value
        for key, inner in value.items():
            yield from objects_in(inner, f"{path.rstrip('.')}.{key}")


class Json(ProgramCase):
    def setUp(self):
        super().setUp()
        self.promised = promised()
        self.met = set()

    def check(self, name, found):
        self.assertTrue(name in self.promised, f"the man page has no row for {name}")
        always, sometimes = self.promised[name]
        self.assertEqual((always - set(found), set(found) - always - sometimes), (set(), set()), name)
        self.met.add(name)

    def check_command(self, name, *arguments, text=""):
        code, out, err = run(*arguments, text=text)
        self.assertIn(code, (0, 3), err)
        for path, found in objects_in(json.loads(out)):
            row = f"{name} {path}"
            if row.startswith("bench validate --json .bench"):  # which is what the bench prints
                row = "bench --json " + (path[len(".bench"):] or ".")
            self.check(row, found)

    def test_commands(self):
        for _ in range(2):
            self.assertEqual(run(TALKING, "-p", "What is a whale?", "--keep", "-n", "4", *WIDE)[0], 0)
        self.assertEqual(run("delete", "2")[0], 0)
        with open(os.path.join(FOLDER, "text"), "w") as file:
            file.write(TEXT)
        self.check_command("list --json", "list", "--json")
        self.check_command("list --json", "list", "--deleted", "--json")
        self.check_command("show --json", "show", "1", "--json")
        self.check_command("search --json", "search", "whale", "--json")
        self.check_command("models --json", "models", "--json", "--models", os.path.dirname(TALKING), *WIDE)
        self.check_command("plan --json", "plan", TALKING, "--json", *WIDE)
        self.check_command("bench --json", "bench", TALKING, "--json", "-p", "4", "-n", "2", "-r", "1", *WIDE)
        self.check_command("bench validate --json", "bench", "validate", TALKING, "--json", "-p", "4", "-n", "2", "-r", "1", *WIDE)
        self.check_command("perplexity --json", "perplexity", TALKING, "text", "--ctx", "16", "--json", *WIDE)
        self.check_command("logits --top", "logits", TALKING, "--tokens", "1,2", "--top", "3", *WIDE)
        self.assertEqual({name for name in self.promised if " " in name and not name.startswith("command")}, self.met)

    def test_a_conversation_that_is_opened_is_shown_once(self):
        self.assertEqual(run(TALKING, "-p", "Hello!", "--keep", "-n", "4", *WIDE)[0], 0)
        events = [json.loads(line) for line in run(TALKING, "-c", "--output", "jsonl", "-n", "4", *WIDE, text="/set temp\n")[1].splitlines()]
        shown = [event for event in events if event.get("command") == "transcript"]
        self.assertEqual([[m["role"] for m in event["messages"]] for event in shown], [["user", "assistant"]])

    def test_lines(self):
        with open(os.path.join(FOLDER, "text"), "w") as file:
            file.write("a whale")
        lines = "Hello!\n/read text\nAnd that?\n/undo\n/set temp\n/bogus\n"
        _, out, err = run(TALKING, "--output", "jsonl", "-n", "4", *WIDE, text=lines)
        self.assertEqual(err, "")
        with open(os.path.join(FOLDER, "thinks.jinja"), "w") as file:
            file.write(THINKS)
        out += run(TALKING, "--output", "jsonl", "-n", "4", "--chat-template", "thinks.jinja", *WIDE, text="Hello!\n")[1]
        failed = run(TALKING, "--output", "jsonl", "--resume", "99", *WIDE, text="Hello!\n")[1]
        for line in (out + failed).splitlines():
            found = json.loads(line)
            kind = found.pop("type")
            part = f"{kind} {found.get('command')}"
            self.check(part if part in self.promised else kind, found)
        lines = {name for name in self.promised if " " not in name or name.startswith("command")}
        self.assertEqual(lines, self.met)


if __name__ == "__main__":
    main()
