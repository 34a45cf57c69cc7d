#!/usr/bin/env python3
"""The program as a person or a script runs it: pipes, exit codes, signals, what is kept.

usage: program_test.py BITNET-CHAT TALKING-MODEL ENDLESS-MODEL FOLDER
TALKING-MODEL ends its answers; ENDLESS-MODEL (random weights) goes on to the end of its context.
"""
import json
import os
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../assets/train"))
import rekey  # noqa: E402

PROGRAM, TALKING, ENDLESS, FOLDER = map(os.path.abspath, sys.argv[1:5])
DATABASE = os.path.join(FOLDER, "data", "bitnet-chat", "chats.db")


def environment():
    env = dict(os.environ, XDG_DATA_HOME=FOLDER + "/data", XDG_STATE_HOME=FOLDER + "/state",
               XDG_CONFIG_HOME=FOLDER + "/config", XDG_CACHE_HOME=FOLDER + "/cache", TERM="dumb")
    env.pop("BITNET_CHAT_MODEL", None)
    return env


def run(*arguments, text=""):
    done = subprocess.run([PROGRAM, *arguments], input=text.encode(), capture_output=True, env=environment(), cwd=FOLDER, timeout=120)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def start(*arguments):
    return subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env=environment())


def read_tokens(process, count):
    """Reads JSON lines until `count` tokens have come."""
    while count > 0:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        count -= json.loads(line)["type"] == "token"


class Program(unittest.TestCase):
    def setUp(self):
        shutil.rmtree(FOLDER, ignore_errors=True)
        os.makedirs(FOLDER)

    def test_a_question_gives_the_answer_alone(self):
        code, out, err = run(TALKING, "-p", "Hello!", "--temp", "0")
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"\w")
        self.assertTrue(out.endswith("\n"))
        self.assertEqual(run(TALKING, "--temp", "0", text="Hello!\n")[1], out)

    def test_options_reach_the_chat(self):
        greedy = ("-p", "Hello!", "--temp", "0", "--private")
        whole = run(TALKING, *greedy)[1]
        word = whole.split()[2]
        self.assertEqual(run(TALKING, *greedy, "--stop", word)[1].strip(), whole[:whole.index(word)].strip())
        self.assertTrue(whole.startswith(run(TALKING, *greedy, "-n", "2")[1].strip()))
        with open(os.path.join(FOLDER, "prompt.txt"), "w") as prompt:
            prompt.write("Be a whale.\n")
        code, out, err = run(TALKING, *greedy, "--ctx", "64", "--seed", "9", "--verbose", "--system", f"@{FOLDER}/prompt.txt")
        self.assertEqual(code, 0, err)
        self.assertRegex(err, r"context 64\n")
        self.assertRegex(err, r"prompt of \d+ tokens, seed 9\n")
        self.assertRegex(err, r"reused 0 of \d+ tokens, prefill .*; stop\n")
        out, _ = self.script("Hello!", "@wait idle", "/show prompt", arguments=["--system", f"@{FOLDER}/prompt.txt"])
        self.assertIn("Be a whale.", out)
        # A script is greedy and has the same seed each time, whatever a person's own default is.
        self.assertEqual(*[self.script("Tell me a story.", "@wait idle")[0] for _ in range(2)])
        self.assertRegex(self.script("/set")[0], r"(?m)^temp += 0 +\(default 0;")

    def settings(self, model, *options):
        """What /set says to a person, a line a name."""
        code, out, err = run(model, "--output", "jsonl", "--private", "--device", "cpu", *options, text="/set\n")
        self.assertEqual(code, 0, err)
        objects = [json.loads(line) for line in out.splitlines()]
        self.assertNotIn("error", [o["type"] for o in objects])
        text = next(o["text"] for o in objects if o["type"] == "command" and o["command"] == "set")
        return {line.split(" ", 1)[0]: line for line in text.splitlines()}, out

    def test_the_models_file_says_how_answers_are_chosen(self):
        bundled, _ = self.settings(TALKING)
        self.assertRegex(bundled["temp"], r"= 0 .*default of the model's file$")
        self.assertRegex(bundled["top_k"], r"= 40 .*default of the program$")
        sums = [run(TALKING, "-p", "What is 17 plus 26?", "--private", "--seed", str(seed))[1] for seed in range(4)]
        self.assertEqual(len(set(sums)), 1, sums)  # greedy without being asked to
        with open(TALKING, "rb") as file:
            data = file.read()
        wishes = {"temp": 0.5, "top_k": -1.0, "top_p": 0.9, "min_p": 7.0, "penalty_repeat": 1.5, "penalty_last_n": 32.0,
                  "sequence": "kt"}
        other = FOLDER + "/wishes.gguf"
        with open(other, "wb") as file:
            file.write(rekey.rekey(data, {f"general.sampling.{key}": value for key, value in wishes.items()}))
        found, out = self.settings(other, "--top-p", "0.8")
        for name, value, source in (("temp", "0.5", "the model's file"), ("top_k", "0", "the model's file"),
                                    ("top_p", "0.8", "the command line"), ("min_p", "0.05", "the program"),
                                    ("repeat_penalty", "1.5", "the model's file"), ("repeat_last", "32", "the model's file")):
            self.assertRegex(found[name], rf"= {value} .*default of {source}$")
        self.assertIn("general.sampling.min_p: wanted 0 to 1, found '7'", out)
        with open(other, "wb") as file:
            file.write(rekey.rekey(data, {"general.sampling.temp": "warm"}))
        found, out = self.settings(other)
        self.assertRegex(found["temp"], r"= 0.7 .*default of the program$")
        self.assertIn("general.sampling.temp: wanted a number, found a value of type string", out)

    def test_a_device_is_named_by_number_or_part_of_its_name(self):
        devices = dict(re.findall(r"(?m)^(\d)  (.*)$", run("devices")[1]))
        for asked, wanted in (("0", devices["0"]), (devices["0"].split()[0][1:5].upper(), devices["0"]),
                              ("cpu", list(devices.values())[-1])):
            code, out, err = run(TALKING, "-p", "Hello!", "-n", "1", "--private", "--output", "jsonl", "--device", asked)
            self.assertEqual(code, 0, err)
            self.assertEqual(json.loads(out.splitlines()[0])["device"], wanted, asked)

    def test_more_threads_than_the_process_may_use_are_refused(self):
        one = min(os.sched_getaffinity(0))
        for threads, expected in (("1", 0), ("2", 2), ("64", 2)):
            done = subprocess.run([PROGRAM, TALKING, "-p", "Hello!", "-n", "1", "--private", "--device", "cpu", "--threads", threads],
                                  capture_output=True, env=environment(), timeout=120, text=True,
                                  preexec_fn=lambda: os.sched_setaffinity(0, {one}))
            self.assertEqual(done.returncode, expected, done.stderr)
            if expected:
                self.assertEqual(done.stderr, "bitnet-chat: threads: wanted 1, as many as this process may run at once, "
                                              f"found {threads}\n")

    def test_a_reopen_that_finds_no_device_keeps_the_model(self):
        _, err = self.script("Hello!", "@wait idle", "@allow-errors", "/reopen 99", "And you?", "@wait idle",
                             arguments=["--private", "--verbose"])
        self.assertRegex(err, r'no device "99"; .*\. The model goes on where it was\.')
        self.assertRegex(err.split("goes on where")[1], r"reused [1-9]\d* of \d+ tokens")

    def test_nothing_to_ask_is_nothing_to_answer(self):
        self.assertEqual(run(TALKING)[:2], (0, ""))

    def test_json_lines(self):
        code, out, _ = run(TALKING, "-p", "Hello!", "--output", "jsonl")
        objects = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(code, 0)
        kinds = [o["type"] for o in objects]
        self.assertEqual(kinds[:2] + kinds[-2:], ["session", "user", "usage", "exit"])
        self.assertEqual("".join(o["text"] for o in objects if o["type"] == "token"), objects[-2]["text"])

    def test_json_lines_are_answered_as_they_come(self):
        process = subprocess.Popen([PROGRAM, TALKING, "--output", "jsonl", "-n", "8"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())

        def until(kind):
            objects = []
            while not objects or objects[-1]["type"] != kind:
                line = process.stdout.readline()
                self.assertTrue(line, objects)
                objects.append(json.loads(line))
            return objects

        def write(text):
            process.stdin.write(text.encode())
            process.stdin.flush()
        write("Hello!\n")
        self.assertEqual(until("usage")[1]["text"], "Hello!")  # more may follow, but it did not wait for that
        write('"""\ntwo\n/lines\n"""\n/title A talk\n//tmp is\n/nonsense\nand the l')
        self.assertEqual([o["text"] for o in until("usage") if o["type"] == "user"], ["two\n/lines"])
        self.assertEqual([o["text"] for o in until("usage") if o["type"] in ("command", "user")], ["A talk", "/tmp is"])
        self.assertIn("no command /nonsense", until("error")[-1]["text"])
        write("ast")
        process.stdin.close()
        self.assertEqual([o["text"] for o in until("usage") if o["type"] == "user"], ["and the last"])
        self.assertEqual(until("exit"), [{"type": "exit", "code": 0}])
        self.assertEqual(process.wait(timeout=60), 0)
        self.assertEqual(process.stderr.read(), b"")
        process.stdout.close()
        process.stderr.close()
        self.assertEqual(run(TALKING, "--output", "jsonl", "--private", text='"""\nopen')[0], 2)
        self.assertEqual(run(TALKING, "--output", "jsonl", "--private", text="/quit\nHello!\n")[0], 0)

    def test_exit_codes(self):
        for code, arguments in [(2, ["--frob"]), (2, ["--temp", "nan", "-p", "x"]), (4, ["missing.gguf", "-p", "x"]),
                                (4, [__file__, "-p", "x"]), (4, ["info", __file__]), (1, ["--resume", "9", "-p", "x"]), (1, ["-c", "-p", "x"]),
                                (1, ["show", "9"]), (2, ["--script", "missing"]), (6, ["--db", "/dev/null/x", "list"]),
                                (5, ["--device", "no such device", "-p", "x"])]:
            found, out, err = run(*arguments)
            self.assertEqual(found, code, (arguments, err))
            self.assertEqual(out, "")
            self.assertEqual(err.count("\n"), 1, err)

    def test_errors_of_the_command_line_name_what_helps_there(self):
        self.assertIn("'bitnet-chat list' shows them", run(TALKING, "--resume", "9", "-p", "x")[2])
        self.assertIn("missing: cannot be read: No such file", run(TALKING, "--script", "missing")[2])

    def test_scripts(self):
        self.assertEqual(run(TALKING, "--script", "-", text="Hello!\n@expect /never said/\n")[0], 3)
        code, out, err = run(TALKING, "--script", "-", text="Hello!\n@frob\n")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("@frob", err)

    def test_one_script_drives_lines_and_screen(self):
        script = "Hello!\n@wait idle 60\n@resize 60x12\n/set temp\n@expect /default/\n@key C-l\n@screenshot SHOT\n"
        shots = {}
        for output in ("text", "tui"):
            code, out, err = run(TALKING, "--private", "--script", "-", "--output", output,
                                 text=script.replace("SHOT", FOLDER + "/" + output))
            self.assertEqual((code, err), (0, ""), output)
            with open(os.path.join(FOLDER, output)) as shot:
                shots[output] = shot.read().splitlines()
            self.assertIn("temp", "".join(shots[output]))
            self.assertLessEqual(len(shots[output]), 12)
            self.assertLessEqual(max(map(len, shots[output])), 60)
        self.assertTrue(any(row.startswith("──") for row in shots["tui"]))
        for output in ("text", "tui", "jsonl"):
            code, _, err = run(TALKING, "--private", "--script", "-", "--output", output, text="Hello!\n@expect /never said/\n")
            self.assertEqual(code, 3, output)
            self.assertIn("-:2: expected /never said/", err)
            self.assertIn("Hello!", err)  # what was seen
            code, out, err = run(TALKING, "--private", "--script", "-", "--output", output, text="Hello!\n@key Frob\n")
            self.assertEqual(code, 2)
            self.assertIn("-:2: there is no key 'Frob'", err)
        self.assertEqual(run(TALKING, "-p", "Hello!", "--output", "tui")[0], 2)

    def test_recordings(self):
        script = "Hello!\n@wait idle 60\n@resize 60x12\n@key H\n"
        for output in ("text", "tui"):
            file = os.path.join(FOLDER, output + ".cast")
            code, _, err = run(TALKING, "--script", "-", "--output", output, "--record", file, text=script)
            self.assertEqual((code, err), (0, ""))
            self.check_recording(file, "Hello!", kinds="orx")
        file = os.path.join(FOLDER, "replay.cast")
        self.assertEqual(run("replay", "1", "--instant", "--record", file)[0], 0)
        self.check_recording(file, "Hello!", kinds="ox")
        file = os.path.join(FOLDER, "part.cast")
        code, _, err = run(TALKING, "--allow-writes", "--script", "-", text=f"/record {file}\nHello!\n/record off\n/help\n")
        self.assertEqual((code, err), (0, ""))
        self.check_recording(file, "Hello!", kinds="o")
        self.assertEqual(run(TALKING, "-p", "x", "--record", "/nowhere/x.cast")[0], 1)

    def check_recording(self, file, text, kinds="oirx"):
        """As https://docs.asciinema.org/manual/asciicast/v3/ has it."""
        with open(file) as recording:
            header, *events = map(json.loads, recording)
        self.assertEqual(header["version"], 3)
        self.assertEqual(set(header["term"]) - {"type"}, {"cols", "rows"})
        for interval, code, data in events:
            self.assertGreaterEqual(interval, 0)
            self.assertIn(code, kinds)
            self.assertIsInstance(data, str)
        self.assertEqual({code for _, code, _ in events}, set(kinds))
        self.assertIn(text, "".join(data for _, code, data in events if code == "o"))
        if "r" in kinds:
            self.assertIn("60x12", [data for _, code, data in events if code == "r"])
        if "x" in kinds:
            self.assertEqual(events[-1][1:], ["x", "0"])

    def test_a_conversation_goes_on(self):
        run(TALKING, "-p", "Hello!")
        code, out, _ = run(TALKING, "-c", "-p", "And you?", "--output", "jsonl")
        self.assertEqual(code, 0)
        self.assertIn("1", run("list")[1])
        shown = run("show", "1")[1]
        self.assertIn("Hello!", shown)
        self.assertIn("And you?", shown)
        exported = json.loads(run("export", "1", "--format", "openai")[1])
        self.assertEqual([m["role"] for m in exported["messages"]], ["user", "assistant"] * 2)
        self.assertEqual(run("replay", "1", "--instant")[0], 0)

    def test_a_long_conversation_goes_on_at_once(self):
        kept = FOLDER + "/cache/bitnet-chat/kv"

        def ask(text, *options):
            code, out, err = run(TALKING, "-p", text, "--output", "jsonl", "--temp", "0", *options)
            self.assertEqual(code, 0, err)
            return next(o for o in map(json.loads, out.splitlines()) if o["type"] == "usage")

        def files():
            return sorted(os.listdir(kept)) if os.path.exists(kept) else []

        first = ask("Hello! " * 60)
        (name,) = files()
        self.assertEqual(os.stat(os.path.join(kept, name)).st_mode & 0o777, 0o600)
        spoken = first["prompt_tokens"] + first["answer_tokens"]
        cold = ask("And you?", "--resume", "1", "--no-kv-cache")
        self.assertEqual(cold["reused_tokens"], 0)
        run(TALKING, "--resume", "1", "--script", "-", "--kv-cache", "0", text="/undo\n")
        warm = ask("And you?", "--resume", "1")
        self.assertEqual(warm["reused_tokens"], spoken)
        self.assertEqual(warm["text"], cold["text"])
        (name,) = files()  # the longer one took its place
        with open(os.path.join(kept, name), "r+b") as damaged:
            damaged.seek(-100, os.SEEK_END)
            byte = damaged.read(1)[0]
            damaged.seek(-1, os.SEEK_CUR)
            damaged.write(bytes([byte ^ 1]))
        self.assertEqual(ask("Go on.", "--resume", "1")["reused_tokens"], 0)
        self.assertEqual(len(files()), 1)
        self.assertNotIn(name, files())
        ask("Hello! " * 60, "--private")
        self.assertEqual(len(files()), 1)
        run("delete", "1")
        self.assertEqual(len(files()), 1)
        run("delete", "1", "--now")
        self.assertEqual(files(), [])

    def test_exports_come_back(self):
        run(TALKING, "--script", "-", "--system", "Be brief.", text="Hello!\n/regen\n/title Greeting\n\"\"\"\n## User\n\nfake\n\"\"\"\n"
            f"@wait idle\n/export md {FOLDER}/md\n@expect /^4 messages/\n/export json {FOLDER}/json\n@expect /^5 messages/\n")
        for number, form in enumerate(("md", "json", "openai"), start=2):
            file = os.path.join(FOLDER, "chat." + form)
            self.assertEqual(run("export", "1", "--format", form, "-o", file), (0, "", ""))
            code, out, err = run("import", file)
            self.assertEqual((code, err), (0, ""))
            self.assertRegex(out, rf"imported conversation {number}: ")
            with open(file) as exported:
                again = run("export", str(number), "--format", form)[1]
                self.assertEqual(again.replace(f'"id": {number},\n  "title"', '"id": 1,\n  "title"'), exported.read())
        # The first answer's sibling and the tokens are in the JSON alone.
        self.assertEqual(run("replay", "3", "--verify")[0], 0)
        self.assertEqual(run("import", "-", text=open(os.path.join(FOLDER, "chat.md")).read())[0], 0)
        code, out, err = run(TALKING, "--script", "-", text=f"@allow-errors\n/import {FOLDER}/chat.md\n@expect /fake/\n/export md\n"
                             f"@expect /^.## User$/\n/export openai {FOLDER}/again\n/export frob\n@expect /md, json or openai/\n"
                             f"/import {FOLDER}/nothing\n@expect /nothing: /\n")
        self.assertEqual(code, 0, err)
        with open(FOLDER + "/again") as again, open(FOLDER + "/chat.openai") as first:
            self.assertEqual(json.load(again), json.load(first))
        with open(FOLDER + "/wrong", "w") as wrong:
            wrong.write('{"messages": [{"role": "tool", "content": ""}]}')
        for code, file in ((1, "wrong"), (2, "missing"), (2, "."), (2, "/dev/zero")):
            found, out, err = run("import", os.path.join(FOLDER, file))
            self.assertEqual((found, out, err.count("\n")), (code, "", 1), err)

    def test_private_keeps_nothing(self):
        self.assertEqual(run(TALKING, "--private", "-p", "Hello!")[0], 0)
        self.assertFalse(os.path.exists(DATABASE))

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

    def script(self, *lines, code=0, arguments=()):
        found, out, err = run(TALKING, *arguments, "--script", "-", text="\n".join(lines) + "\n")
        self.assertEqual(found, code, err)
        return out, err

    def test_keys_values_and_turns_of_another_computation_are_not_taken_for_ones_own(self):
        """One byte in the middle of a tensor, or the weights read in another layout: it is another model."""
        model = os.path.join(FOLDER, "model.gguf")
        shutil.copy(TALKING, model)

        def reused(*options):
            code, out, err = run(model, "-p", "And you?", "--resume", "1", "--output", "jsonl", "-n", "2", *options)
            self.assertEqual(code, 0, err)
            run(model, "--resume", "1", "--script", "-", "--kv-cache", "0", text="/undo\n")
            return next(o for o in map(json.loads, out.splitlines()) if o["type"] == "usage")["reused_tokens"]

        def verified(*options):
            code, out, err = run("replay", "1", "--verify", "--model", model, *options)
            self.assertEqual(code, 0 if out else 3, err)
            return out + err

        self.assertEqual(run(model, "-p", "Hello! " * 60, "--seed", "5")[0], 0)
        self.assertGreater(reused(), 60)
        self.assertIn("the same", verified())
        self.assertEqual(reused("--i2s-layout", "64"), 0)
        self.assertIn("answered by another model", verified("--i2s-layout", "64"))
        with open(model, "r+b") as changed:
            listed = run("info", model)[1]
            # In the middle of the largest ternary tensor, where a code of 0 and one of 1 stay codes of a weight.
            tensors = re.findall(r"(?m)^  blk\S*\s+i2_s\s+\[(\d+), (\d+)\] at (\d+)$", listed)
            width, rows, offset = max(tensors, key=lambda tensor: int(tensor[1]))
            at = int(offset) + int(width) * int(rows) // 8
            changed.seek(at)
            byte = changed.read(1)[0]
            changed.seek(at)
            changed.write(bytes([byte ^ 1 if byte & 3 < 2 else byte ^ 2]))
        self.assertNotEqual(run("info", model)[1], listed)
        self.assertEqual(reused(), 0)
        self.assertIn("answered by another model", verified())

    def test_tools_agree_with_the_chat(self):
        self.script("What is BitNet?", "@wait idle", "/title Ternary", "/regen", "@wait idle", "/new",
                    "What is a whale?", "@wait idle", "/archive")
        code, out, err = run("list")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("Ternary", out)
        self.assertNotIn("whale", out)
        self.assertRegex(run("list", "--all")[1], r"2 .*\(archived\) What is a whale\?")
        self.assertIn("(archived), message 1", run("search", "whale")[1])
        out = run("search", "bitnet")[1]
        self.assertIn("What is [BitNet]?", out)
        self.assertNotRegex(out, "[\x00-\x09\x0b-\x1f]")
        self.assertIn("a wh[al]e?", run("search", "al")[1])
        self.assertEqual(run("search", "nowhere"), (1, "", "bitnet-chat: nothing found\n"))
        self.assertIn("[What] is [BitNet]?", run("search", "what", "bitnet")[1])
        self.assertEqual(run("search", "list", "delete", "--db", DATABASE)[:2], (1, ""))
        self.assertEqual(run("search")[0], 2)
        shown = run("show", "1")[1]
        self.assertIn("[user] What is BitNet?", shown)
        self.assertIn("[assistant 2/2]", shown)
        # -c goes on with the last one that is not put away
        self.assertIn("What is BitNet?", self.script("/list", arguments=["-c"])[0])
        self.assertIn("deleted conversation 2", run("delete", "2", "--now")[1])
        for tool in ("show", "delete"):
            code, out, err = run(tool, "2")
            self.assertEqual((code, out), (1, ""))
            self.assertIn("there is no conversation 2", err)

    def test_the_trash_and_what_is_past_it(self):
        for word in ("zebra", "whale"):
            run(TALKING, "-p", f"My {word} sings. " * 30)
        self.assertRegex(run("delete", "1")[1], r"\Adeleted conversation 1: My zebra(.|\n)*'bitnet-chat undelete 1' brings it back")
        for arguments in (["list"], ["list", "--all"]):
            code, out, err = run(*arguments)
            self.assertEqual((code, err), (0, ""))
            self.assertNotIn("zebra", out)
        self.assertEqual(run("search", "zebra")[:2], (1, ""))
        self.assertRegex(run("list", "--deleted")[1], r"\A +1  .*\(until \d{4}-\d\d-\d\d\) My zebra")
        for arguments in (["show", "1"], ["export", "1"], ["replay", "1", "--instant"], ["--resume", "1", "-p", "x"], ["delete", "1"]):
            code, out, err = run(*arguments)
            self.assertEqual((code, out), (1, ""))
            self.assertIn("is in the trash", err)
        run("delete", "2")
        self.assertEqual(run("-c", "-p", "x")[0], 1)  # nothing to go on with
        self.assertEqual(run("undelete", "1"), (0, "conversation 1 is back: " + "My zebra sings. " * 3 + "My zebra sin…\n", ""))
        self.assertIn("zebra", run("search", "zebra")[1])
        self.assertEqual(run("undelete", "1")[0], 1)
        self.assertIn("no word of it is in the database", run("delete", "1", "--now")[1])
        self.assertIn("no word of it", run("delete", "2", "--now")[1])
        self.assertEqual(os.listdir(FOLDER + "/cache/bitnet-chat/kv"), [])
        for name in os.listdir(os.path.dirname(DATABASE)):
            with open(os.path.join(os.path.dirname(DATABASE), name), "rb") as file:
                content = file.read().lower()
            for word in (b"zebra", b"whale", b"hale sings", b"ebra sings"):
                self.assertNotIn(word, content, name)

    def test_a_damaged_conversation_is_refused_and_the_others_are_not(self):
        for text in ("one", "two", "three"):
            run(TALKING, "-p", text)
        with sqlite3.connect(DATABASE) as db:
            db.execute("UPDATE message SET parent = (SELECT max(id) FROM message WHERE conversation = 3) WHERE id ="
                       " (SELECT min(id) FROM message WHERE conversation = 3)")
            db.execute("UPDATE conversation SET leaf = 1 WHERE id = 2")
        for number in ("2", "3"):
            for arguments in (["show", number], ["export", number], ["export", number, "--format", "json"], ["replay", number, "--instant"],
                              ["replay", number, "--verify"], ["--resume", number, "-p", "x"], *[["-c", "-p", "x"]] * (number == "3")):
                code, out, err = run(*arguments)
                self.assertEqual((code, out, err.count("\n")), (6, "", 1), arguments)
                self.assertIn(f"conversation {number} is damaged", err)
        self.assertIn("[user] one", run("show", "1")[1])
        self.assertEqual(run("--resume", "1", "-p", "x")[0], 0)
        self.assertEqual(run("delete", "3", "--now")[0], 0)

    def test_paths_of_databases_are_paths(self):
        for name in ("file:x?mode=memory", ":memory:"):
            done = [subprocess.run([os.path.abspath(PROGRAM), *arguments], cwd=FOLDER, env=environment(), capture_output=True, timeout=120)
                    for arguments in ([os.path.abspath(TALKING), "--db", name, "-p", "Hello!"], ["--db", name, "list"])]
            self.assertEqual([d.returncode for d in done], [0, 0], done)
            self.assertIn(b"Hello!", done[1].stdout)
            self.assertTrue(os.path.exists(os.path.join(FOLDER, name)))

    def test_an_import_is_whole_or_nothing_and_names_no_file_that_replay_opens(self):
        run(TALKING, "-p", "Hello!")
        chat = json.loads(run("export", "1", "--format", "json")[1])
        pipe = os.path.join(FOLDER, "pipe")
        os.mkfifo(pipe)
        chat["created"] = chat["updated"] = chat["messages"][0]["created"] = 1 << 52
        chat["messages"][1]["turns"][0]["model"] = pipe  # whoever opened it would wait for ever
        with open(FOLDER + "/two", "w") as file:
            json.dump([chat, dict(chat, title="the second")], file)
        self.assertEqual(run("import", FOLDER + "/two")[0], 0)
        for arguments in (["replay", "2", "--instant"], ["replay", "2", "--verify"]):
            code, out, err = run(*arguments)
            self.assertEqual(code, 0, err)
        self.assertNotRegex(run("list")[1], r"(?m)^ +\d+  (?!20\d\d-)")
        with open(FOLDER + "/wrong", "w") as file:
            json.dump([chat, dict(chat, messages=[])], file)  # its leaf is nowhere
        self.assertEqual(run("import", FOLDER + "/wrong")[0], 1)
        self.assertEqual(run("list")[1].count("\n"), 3)

    def test_tools_on_a_model(self):
        text = "Hello, 世界! 👋\n<|eot_id|>x"
        code, ids, err = run("tokenize", TALKING, text=text)
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(ids, r"\A\d+( \d+)*\n\Z")
        self.assertEqual(run("detokenize", TALKING, text=ids), (0, text, ""))
        commas = run("tokenize", TALKING, "--csv", text=text)[1]
        self.assertEqual(commas, ids.replace(" ", ","))
        self.assertEqual(run("detokenize", TALKING, text=commas), (0, text, ""))
        self.assertEqual(run("probe", TALKING, "--tokens", commas.strip(), "--out", FOLDER + "/x.npy"), (0, "", ""))
        special = run("tokenize", TALKING, "--special", text=text)[1]
        self.assertLess(len(special.split()), len(ids.split()))
        self.assertEqual(run("detokenize", TALKING, text=special), (0, text, ""))
        self.assertEqual(run("detokenize", TALKING, text="1 x")[0], 2)
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello!"}]
        code, prompt, err = run("render", TALKING, text=json.dumps(messages))
        self.assertEqual((code, err), (0, ""))
        shown = self.script("/system Be brief.", "/set max_tokens 1", "Hello!", "@wait idle", "/show prompt")[0]
        self.assertIn(prompt, shown)  # exactly what the chat gives the model
        self.assertEqual(run("render", TALKING, text="{")[0], 2)
        for part in ("architecture  bitnet-b1.58", "template      the file's own", "general.architecture"):
            self.assertIn(part, run("info", TALKING)[1])
        self.assertRegex(run("devices")[1], r"(?m)^\d  CPU \(")
        self.assertIn("fits", run("devices", TALKING)[1])
        measured = json.loads(run("bench", TALKING, "--device", "cpu", "-p", "8", "-n", "4", "-r", "2", "-d", "3", "--json")[1])
        for part in ("prefill", "decode"):
            self.assertLessEqual(measured[part]["min"], measured[part]["median"])
            self.assertLessEqual(measured[part]["median"], measured[part]["max"])
        self.assertEqual((measured["depth"], measured["runs"], measured["prefill"]["tokens"]), (3, 2, 8))
        self.assertGreater(measured["decode"]["gb_per_s"], 0)
        self.assertGreater(measured["decode"]["percent_of_copy_speed"], 0)

    def test_jsonl_names_siblings_and_numbers(self):
        _, out, _ = run(TALKING, "--script", "-", "--output", "jsonl",
                        text="Hello!\n/regen\n@wait idle\n/edit\n/goto 2\n")
        objects = [json.loads(line) for line in out.splitlines()]
        usages = [o for o in objects if o["type"] == "usage"]
        self.assertEqual([(o["number"], o["sibling"], o["siblings"]) for o in usages], [(2, 1, 1), (3, 2, 2)])
        self.assertGreater(usages[1]["reused_tokens"], 0)
        self.assertIn({"type": "command", "command": "input", "text": "Hello!"}, objects)
        last = [o for o in objects if o.get("command") == "transcript"][-1]
        self.assertEqual([(m["number"], m["sibling"], m["siblings"]) for m in last["messages"]],
                         [(1, 1, 1), (2, 1, 2)])

    def test_private_from_here_on(self):
        self.script("Hello there!", "@wait idle", "/private", "My secret is a whale.", "@wait idle", "/title whale",
                    "/private off", "/list")
        for name in os.listdir(os.path.dirname(DATABASE)):
            with open(os.path.join(os.path.dirname(DATABASE), name), "rb") as file:
                self.assertNotIn(b"whale", file.read(), name)
        self.assertIn("Hello there!", run("show", "1")[1])

    def test_another_answer_from_a_token_replays(self):
        self.script("What is your name?", "@wait idle", "/alt 1 2", "@wait idle", "/alt", "@wait idle")
        code, _, err = run("replay", "1", "--verify")
        self.assertEqual(code, 0, err)
        self.assertIn("[assistant 2/2]", run("show", "1")[1])

    def test_a_database_of_the_first_version_is_migrated(self):
        run(TALKING, "-p", "Hello!")
        with sqlite3.connect(DATABASE) as db:
            db.executescript("ALTER TABLE conversation DROP COLUMN archived; ALTER TABLE message DROP COLUMN kept;"
                             "ALTER TABLE conversation DROP COLUMN deleted; ALTER TABLE turn DROP COLUMN imported;"
                             "DROP TABLE unfinished; PRAGMA user_version = 1")
        self.assertIn("Hello!", run("list")[1])
        with sqlite3.connect(DATABASE + ".v1-backup") as db:
            self.assertEqual(db.execute("SELECT text FROM message WHERE id = 1").fetchone()[0], "Hello!")

    def test_a_file_goes_into_the_next_turn(self):
        path = os.path.join(FOLDER, "two words.txt")
        with open(path, "w") as file:
            file.write("The whale is \x1b[31mred.\n")
        out, _ = self.script(f"/read {path}", "What is red?", "@wait idle", "/show prompt")
        self.assertIn("two words.txt:\n> \n> The whale is", out)
        self.assertIn("two words.txt:\n\nThe whale is", out)
        _, err = self.script("@allow-errors", "/read /dev/zero", "/read " + FOLDER)
        self.assertIn("no regular file", err)
        self.assertIn("is a folder", err)

    def test_signals_stop_and_keep_the_answer(self):
        for number, (name, code) in enumerate([("SIGINT", 130), ("SIGTERM", 143)], start=1):
            process = start(ENDLESS, "-p", "go on", "--output", "jsonl")
            read_tokens(process, 3)
            process.send_signal(getattr(signal, name))
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, code, err)
            with sqlite3.connect(DATABASE) as db:
                finish, tokens = db.execute("SELECT finish, answer_tokens FROM turn WHERE id = ?", (number,)).fetchone()
            self.assertEqual(finish, "interrupted")
            self.assertGreaterEqual(tokens, 3)

    def test_a_killed_program_loses_no_turn(self):
        for number in range(1, 6):
            process = start(ENDLESS, "-p", "go on", "--output", "jsonl")
            read_tokens(process, number)
            process.kill()
            process.communicate(timeout=60)
        self.assertEqual(run("list")[0], 0)
        with sqlite3.connect(DATABASE) as db:
            self.assertEqual(db.execute("PRAGMA integrity_check").fetchone()[0], "ok")
            self.assertEqual(db.execute("SELECT count(*) FROM message WHERE role = 'user'").fetchone()[0], 5)
            self.assertEqual(db.execute("SELECT DISTINCT finish FROM message WHERE role = 'assistant'").fetchall(),
                             [("interrupted",)])

    def test_a_full_context_is_said(self):
        code, out, err = run(ENDLESS, "--script", "-", text="@allow-errors\ngo on\n@wait idle\nmore\n@expect /room for an answer/\n")
        self.assertEqual(code, 0, err)
        self.assertIn("[context]", out)

    def test_a_closed_pipe_is_quiet(self):
        process = start(ENDLESS, "-p", "go on")
        process.stdout.close()
        self.assertEqual(process.stderr.read(), b"")
        self.assertEqual(process.wait(timeout=60), 0)
        process.stderr.close()

    def test_a_newer_database_is_refused(self):
        run(TALKING, "-p", "Hello!")
        with sqlite3.connect(DATABASE) as db:
            db.execute("PRAGMA user_version = 99")
        for arguments in (["list"], ["-p", "x"]):
            code, _, err = run(*arguments)
            self.assertEqual(code, 6)
            self.assertIn("99", err)

    def test_no_home_costs_only_the_keeping(self):
        env = {name: value for name, value in environment().items() if name != "HOME" and not name.startswith("XDG_")}
        done = subprocess.run([PROGRAM, TALKING, "-p", "Hello!", "-n", "2"], env=env, input=b"", capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, rb"neither XDG_DATA_HOME nor HOME names a folder.*Nothing is saved until")
        self.assertEqual(subprocess.run([PROGRAM, "list"], env=env, capture_output=True, timeout=120).returncode, 6)

    def test_a_full_disk_at_the_start_is_said_and_costs_only_the_keeping(self):
        # A file may not grow: as on a full disk, each write fails.
        with open(PROGRAM, "rb") as program:
            if b"__tsan_init" in program.read():
                self.skipTest("ThreadSanitizer itself writes a file before the program begins, and is ended for it")
        run(TALKING, "-p", "Hello!", "-n", "2")
        for arguments, code in (([TALKING, "-p", "x", "-n", "2"], 0), ([TALKING, "-p", "x", "-n", "2", "--db", FOLDER + "/new.db"], 6)):
            done = subprocess.run([PROGRAM, *arguments], env=environment(), input=b"", capture_output=True, timeout=120,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY)))
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(b"the disk is full", done.stderr)
            self.assertNotIn(b"permissions", done.stderr)

    def test_a_folder_that_cannot_be_made_costs_only_the_keeping(self):
        open(FOLDER + "/data", "w").close()
        code, out, err = run(TALKING, "-p", "Hello!")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"\w")
        self.assertIn("Nothing is saved", err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
