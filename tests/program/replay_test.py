#!/usr/bin/env python3
"""Tests `replay --verify`: the same where this program answered so, and what differs where it did not.

usage: replay_test.py BITNET-CHAT TALKING-MODEL ENDLESS-MODEL FOLDER    (see program_case.py)
"""
import os
import sqlite3
import subprocess
import sys

from program_case import DATABASE, ENDLESS, FOLDER, TALKING, ProgramCase, main, run

MAKE_FAMILY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support/make_family.py")


class Replay(ProgramCase):
    def test_replay_verifies_and_names_what_differs(self):
        run(TALKING, "-p", "Hello!", "--seed", "5")
        code, out, err = run("replay", "1", "--verify")
        self.assertEqual(code, 0, err)
        with sqlite3.connect(DATABASE) as db:
            ids = bytearray(db.execute("SELECT ids FROM token_run").fetchone()[0])
            ids[0] ^= 1
            db.execute("UPDATE token_run SET ids = ? WHERE position = 0", (bytes(ids),))
        code, out, err = run("replay", "1", "--verify")
        self.assertEqual(code, 3)
        self.assertRegex(err, r"turn 1: position 0: then \d+ \(.*\), now \d+ \(.*\); log probabilities .*, gap \d")

    def test_replay_compares_what_the_model_itself_answered(self):
        ask = ("--device", "cpu", "-n", "2", "--seed", "5")
        run(TALKING, *ask, "-p", "Hello!")
        run(ENDLESS, *ask, "--resume", "1", "-p", "And you?")
        for model in ([], ["--model", TALKING]):  # by itself it takes the model that answered last
            code, out, err = run("replay", "1", "--verify", "--device", "cpu", *model)
            self.assertEqual((code, err), (0, ""))
            self.assertRegex(out, "^1 turn, 2 tokens: the same; .*; 1 turn by another model was not compared; --model FILE")

    def test_replay_tells_another_chat_template(self):
        run(TALKING, "-p", "Hello!", "-n", "2")
        template = os.path.join(FOLDER, "template.jinja")
        with open(template, "w") as file:
            file.write("{% for message in messages %}{{ message.content }}!{% endfor %}")
        code, out, err = run("replay", "1", "--verify", "--chat-template", template)
        self.assertEqual((code, out), (3, ""))
        self.assertIn("the chat template is another one; --chat-template chooses it", err)

    def test_replay_has_the_clock_and_the_room_of_the_conversation(self):
        """A template that shows the date says that of where the conversation began, and a small context is no difference."""
        template = os.path.join(FOLDER, "template.jinja")
        with open(template, "w") as file:
            file.write("{{ strftime_now('%d %H') }}{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{% endfor %}")
        given = ("--device", "cpu", "-n", "4", "--chat-template", template)
        run(TALKING, *given, "-p", "Hello! " * 20, TZ="EAST-13")
        run(TALKING, *given, "--resume", "1", "-p", "And here?", TZ="WEST+11")
        for options, zone in (([], "UTC"), (["--ctx", "32"], "EAST-13")):
            code, out, err = run("replay", "1", "--verify", "--device", "cpu", "--chat-template", template, *options, TZ=zone)
            self.assertEqual((code, err), (0, ""), zone)
            self.assertRegex(out, r"^2 turns, \d+ tokens: the same; ")

    def test_another_answer_from_a_token_replays(self):
        self.script("What is your name?", "@wait idle", "/alt 1 2", "@wait idle", "/alt", "@wait idle")
        code, _, err = run("replay", "1", "--verify")
        self.assertEqual(code, 0, err)
        self.assertIn("[assistant 2/2]", run("show", "1")[1])

    def test_replay_has_the_context_of_a_model_whose_numbers_depend_on_it(self):
        """LongRoPE rotates keys otherwise where the context is larger than the original one."""
        model = os.path.join(FOLDER, "phi3.gguf")
        subprocess.run([sys.executable, MAKE_FAMILY, model, "--arch", "phi3", "--proj", "q8_0", "--embd", "q8_0", "--dim", "128",
                        "--ffn", "256", "--layers", "2", "--heads", "2", "--kv", "2", "--ctx", "1024", "--long-rope", "1.19",
                        "--original-context", "256"], check=True)
        sizes = {"1": "200", "2": "1000"}  # of the context, by conversation
        for size in sizes.values():
            run(model, "--device", "cpu", "-n", "6", "--seed", "3", "--ctx", size, "-p", "Hello!", "--keep")
        for number in sizes:
            for options in ([], ["--ctx", "200"], ["--ctx", "1000"]):
                code, out, err = run("replay", number, "--verify", "--device", "cpu", *options)
                self.assertEqual((code, err), (0, ""), options)
                self.assertRegex(out, "^1 turn, 6 tokens: the same; ")
        with sqlite3.connect(DATABASE) as db:  # as earlier versions stored it
            db.execute("UPDATE turn SET sampler = json_remove(sampler, '$.ctx')")
        code, out, err = run("replay", "1", "--verify", "--device", "cpu")
        self.assertEqual((code, out), (3, ""))
        self.assertIn("--ctx chooses it", err)


if __name__ == "__main__":
    main()
