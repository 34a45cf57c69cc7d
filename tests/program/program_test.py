#!/usr/bin/env python3
"""Tests the program as a person or a script runs it: options, scripts, recordings, JSON lines, tools, exit codes.

usage: program_test.py BITNET-CHAT TALKING-MODEL ENDLESS-MODEL FOLDER    (see program_case.py)
"""
import json
import os
import re
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../assets/train"))
import rekey  # noqa: E402

from program_case import ENDLESS, FOLDER, PROGRAM, TALKING, ProgramCase, environment, main, run, start  # noqa: E402


class Program(ProgramCase):
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
        self.assertRegex(self.script("/set")[0], r"(?m)^temp += 0 +\(default 0 of scripts;")

    def settings(self, model, *options):
        """Returns the lines of /set by name, and the whole output."""
        code, out, err = run(model, "--output", "jsonl", "--private", "--device", "cpu", *options, text="/set\n")
        self.assertEqual(code, 0, err)
        objects = [json.loads(line) for line in out.splitlines()]
        self.assertNotIn("error", [o["type"] for o in objects])
        text = next(o["text"] for o in objects if o["type"] == "command" and o["command"] == "set")
        return {line.split(" ", 1)[0]: line for line in text.splitlines()}, out

    def test_the_models_file_says_how_answers_are_chosen(self):
        bundled, _ = self.settings(TALKING)
        self.assertRegex(bundled["temp"], r"= 0 .*default 0 of the model's file;")
        self.assertRegex(bundled["top_k"], r"= 40 .*default 40 of the program;")
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
            self.assertRegex(found[name], rf"= {value} .*default {value} of {source};")
        self.assertIn("general.sampling.min_p: wanted 0 to 1, found '7'", out)
        with open(other, "wb") as file:
            file.write(rekey.rekey(data, {"general.sampling.temp": "warm"}))
        found, out = self.settings(other)
        self.assertRegex(found["temp"], r"= 0.7 .*default 0.7 of the program;")
        self.assertIn("general.sampling.temp: wanted a number, found a value of type string", out)

    def test_a_device_is_named_by_number_or_part_of_its_name(self):
        devices = dict(re.findall(r"(?m)^(\d)  (.*)$", run("devices")[1]))
        cpu = list(devices.values())[-1]
        for asked, wanted in (("0", devices["0"]), (devices["0"].split()[0][1:5].upper(), devices["0"]),
                              ("cpu", cpu), ("CPU", cpu), (cpu[1:].lower(), cpu)):
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

    def test_json_lines_end_with_1_where_a_line_failed_and_no_answer_came_after_it(self):
        for code, text in [(0, "/set temp\n"), (1, "/bogus\n"), (1, "/bogus\n/set temp\n"), (1, "/bogus\n/quit\n"),
                           (1, "Hello!\n/goto 99\n"), (1, "Hello!\n/goto 99\n/quit\n"), (0, "/bogus\nHello!\n")]:
            with self.subTest(text=text):
                found, out, err = run(TALKING, "--output", "jsonl", "--private", "--device", "cpu", "-n", "2", text=text)
                self.assertEqual((found, err), (code, ""))
                self.assertEqual(json.loads(out.splitlines()[-1]), {"type": "exit", "code": code})

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

    def test_what_a_recording_ends_is_said(self):
        code, out, err = run(TALKING, "--script", "-", text="/record off\n@expect /Nothing is being recorded/\n/record a.cast\n"
                             "/record b.cast\n@expect /b.cast is being recorded.* before is over/\n/record off\n")
        self.assertEqual(code, 0, err)
        self.assertIn("The recording is over.", out)
        for name in ("a.cast", "b.cast"):
            self.assertTrue(os.path.exists(os.path.join(FOLDER, name)))

    def check_recording(self, file, text, kinds="oirx"):
        """Checks a file against https://docs.asciinema.org/manual/asciicast/v3/."""
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
        code, _, err = run("detokenize", TALKING, text="1 x\n2")
        self.assertEqual(code, 2)
        self.assertIn("found 'x'\n", err)
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello!"}]
        code, prompt, err = run("render", TALKING, text=json.dumps(messages))
        self.assertEqual((code, err), (0, ""))
        shown = self.script("/system Be brief.", "/set max_tokens 1", "Hello!", "@wait idle", "/show prompt")[0]
        self.assertIn(prompt, shown)  # exactly what the chat gives the model
        for text, why in (("{", "not JSON"), ("3", "found 3"), ("[3]", "message 1 is no object"),
                          ('[{"role": "user"}]', "message 1 has no content"),
                          ('[{"role": "user", "content": 3}]', "the content of message 1 is no text")):
            code, _, err = run("render", TALKING, text=text)
            self.assertEqual(code, 2)
            self.assertIn(why, err)
            self.assertNotIn("exception", err)
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

    def test_a_plan_says_what_lies_where(self):
        code, out, err = run("plan", TALKING, "--device", "cpu", "--ctx", "256")
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"(?m)^in all +[\d.]+ MiB")
        self.assertLessEqual(max(map(len, out.splitlines())), 80)
        plan = json.loads(run("plan", TALKING, "--device", "cpu", "--ctx", "256", "--json")[1])
        self.assertEqual((plan["context"], plan["in_host"]), (256, 0))
        self.assertGreater(plan["tokens_per_s"], 0)
        self.assertEqual(plan["read_on_device"], sum(row["read_a_token"] for row in plan["rows"]))
        code, out, err = run("plan", TALKING, "--device", "cpu", "--ram", "1M")
        self.assertEqual((code, out), (5, ""))
        self.assertRegex(err, r"--ram 1M: what cannot stay in the model's file takes \d+K")

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


if __name__ == "__main__":
    main()
