#!/usr/bin/env python3
"""Tests files, JSON and titles that strangers made: they are refused at once in one line, or shown as one row.

usage: hostile_input_test.py BITNET-CHAT MODEL FOLDER
"""
import json
import os
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import unittest

PROGRAM, MODEL, FOLDER = sys.argv[1:4]
DATABASE = os.path.join(FOLDER, "data", "bitnet-chat", "chats.db")
MIB = 1 << 20
ASK = ("--device", "cpu", "--threads", "1", "-n", "4", "-p", "Hello!")
HERE = os.path.dirname(os.path.abspath(__file__))
DEEP = 60000  # levels; each took the program some 100 bytes of its stack


def path_of(name):
    return os.path.join(FOLDER, name)


def write(name, text):
    with open(path_of(name), "w") as file:
        file.write(text)
    return path_of(name)


def run(*arguments, text=b"", **more):
    env = dict(os.environ, XDG_DATA_HOME=FOLDER + "/data", XDG_STATE_HOME=FOLDER + "/state", HOME=FOLDER,
               XDG_CONFIG_HOME=FOLDER + "/config", XDG_CACHE_HOME=FOLDER + "/cache", TERM="dumb")
    env.pop("BITNET_CHAT_MODEL", None)
    done = subprocess.run(arguments, env=env, capture_output=True, timeout=60, **(more or {"input": text}))
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode()


class HostileInput(unittest.TestCase):
    def setUp(self):
        shutil.rmtree(FOLDER, ignore_errors=True)
        os.makedirs(FOLDER)

    def assert_refused(self, result, code, *words):
        self.assertEqual((result[0], result[1], result[2].count("\n")), (code, "", 1), result)
        for word in words:
            self.assertIn(word, result[2])

    def store(self):
        code, _, err = run(PROGRAM, MODEL, *ASK)
        self.assertEqual(code, 0, err)

    def change(self, sql, *values):
        with sqlite3.connect(DATABASE) as db:
            db.execute(sql, values)
        db.close()

    def exported(self):
        code, out, err = run(PROGRAM, "export", "1", "--format", "json")
        self.assertEqual(code, 0, err)
        return json.loads(out)

    # -- files

    def named(self, file):
        """Every way to name a file on the command line that is read as a text."""
        return ([MODEL, *ASK, "--system", "@" + file], [MODEL, *ASK, "--config", file], [MODEL, "--device", "cpu", "--script", file],
                ["import", file], [MODEL, *ASK, "--chat-template", file])

    def test_devices_and_pipes_are_refused_at_once(self):
        os.mkfifo(path_of("pipe"))
        os.symlink("/dev/zero", path_of("link"))
        for file in ("/dev/zero", path_of("pipe"), path_of("link")):
            for arguments in self.named(file):
                with self.subTest(arguments=arguments):
                    self.assert_refused(run(PROGRAM, *arguments), 2, "is no regular file")
        for model in ("/dev/zero", path_of("pipe")):
            self.assert_refused(run(PROGRAM, model, "-p", "x"), 4, "got a pipe, device or socket")
            self.assert_refused(run(PROGRAM, "--db", model, "list"), 6, "is no regular file")

    def test_a_config_that_nobody_named_may_not_be_a_pipe_either(self):
        os.makedirs(path_of("config/bitnet-chat"))
        os.mkfifo(path_of("config/bitnet-chat/config"))
        self.assert_refused(run(PROGRAM, MODEL, *ASK), 2, "is no regular file")

    def test_a_script_names_no_device_or_pipe(self):
        os.mkfifo(path_of("pipe"))
        for file in ("/dev/zero", path_of("pipe"), "/dev/stdin"):
            code, _, err = run(PROGRAM, MODEL, "--device", "cpu", "--script", "-",
                               text=f"@allow-errors\n/system @{file}\n/read {file}\n/import {file}\n".encode())
            self.assertEqual(err.count("is no regular file"), 3, (file, err, code))

    def test_what_is_longer_than_16_mib_is_refused(self):
        file = path_of("long")
        with open(file, "wb") as out:
            out.truncate(16 * MIB + 1)
        for arguments in self.named(file):
            if arguments[0] != "import":
                with self.subTest(arguments=arguments):
                    self.assert_refused(run(PROGRAM, *arguments), 2, "is longer than 16 MiB")

    def test_standard_input_is_bounded(self):
        for arguments in ([MODEL], [MODEL, "--script", "-"], [MODEL, "--output", "jsonl"], ["render", MODEL]):
            with self.subTest(arguments=arguments), open("/dev/zero", "rb") as endless:
                code, _, err = run(PROGRAM, *arguments, "--device", "cpu", stdin=endless)
                self.assertEqual(code, 2, err)
                self.assertIn("longer than 16 MiB", err)

    def test_what_the_shell_pipes_is_read(self):
        command = f'"$0" "$1" --device cpu --system @<(echo "Be kind.") --config <(echo "max_tokens = 2") --script <(echo /system)'
        code, out, err = run("bash", "-c", command, PROGRAM, MODEL)
        self.assertEqual((code, err), (0, ""))
        self.assertIn("Be kind.", out)
        self.assertEqual(run(PROGRAM, MODEL, *ASK, "--config", "/dev/null")[0], 0)
        template = "{% for m in messages %}{{ m.content }}{% endfor %}!"
        command = """echo '[{"role": "user", "content": "Hi"}]' | "$0" render "$1" --chat-template <(printf %s "$2")"""
        self.assertEqual(run("bash", "-c", command, PROGRAM, MODEL, template), (0, "Hi!", ""))
        chat = "# Title\\n\\n## User\\n\\nHello\\n"
        for command in (f'"$0" import <(printf "{chat}")', f'printf "{chat}" | "$0" import /dev/stdin'):
            code, out, err = run("bash", "-c", command, PROGRAM)
            self.assertEqual((code, err), (0, ""))
            self.assertIn("imported conversation", out)
        stimuli = '[{"root": "r", "pattern": "p", "expected_surface": "x", "prompts": {"a": "One", "b": "Two"}}]'
        command = '"$0" probe "$1" --device cpu --stimuli <(printf %s "$2") --template a,b --generate 1 "--out=~/x.npy"'
        self.assertEqual(run("bash", "-c", command, PROGRAM, MODEL, stimuli)[0], 0)
        self.assertEqual(sorted(name for name in os.listdir(FOLDER) if name.startswith("x_") and name.endswith(".npy")),
                         ["x_a_last_activations.npy", "x_b_last_activations.npy"])

    def test_a_vector_is_a_regular_file_as_long_as_it_says(self):
        os.mkfifo(path_of("pipe"))
        for file, why in (("/dev/zero", "regular file"), (path_of("pipe"), "regular file"), ("/dev/null", "is no .npy file")):
            self.assert_refused(run(PROGRAM, MODEL, *ASK, "--steer", f"layer=0,file={file},scale=1"), 2, why)
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (134217728,), }\n"
        with open(path_of("short.npy"), "wb") as out:
            out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        steered = (PROGRAM, MODEL, *ASK, "--steer", f"layer=0,file={path_of('short.npy')},scale=1")
        self.assert_refused(run(*steered), 2, "ends in its values")
        with subprocess.Popen(steered, stderr=subprocess.DEVNULL) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertLess(used.ru_maxrss, 500 << 10)  # KiB: no room is made for values that are not there

    def test_a_trace_of_experts_is_a_new_file(self):
        model = path_of("experts.gguf")
        subprocess.run([sys.executable, os.path.join(HERE, "../support/make_family.py"), model, "--arch", "qwen3moe", "--layers", "1"], check=True)
        keep = write("keep", "mine")
        os.symlink(keep, path_of("link"))
        os.symlink(path_of("nowhere"), path_of("dangling"))
        for name in ("keep", "link", "dangling"):
            self.assert_refused(run(PROGRAM, model, *ASK, "--private", "--expert-trace", path_of(name)), 1, "is there already")
        with open(keep) as file:
            self.assertEqual(file.read(), "mine")
        self.assertFalse(os.path.exists(path_of("nowhere")))
        self.assert_refused(run(PROGRAM, MODEL, *ASK, "--private", "--expert-trace", path_of("none")), 2, "has no experts")
        self.assertFalse(os.path.exists(path_of("none")))
        # A config file, which somebody else may have written, names none.
        config = write("config", f"expert-trace = {path_of('new')}\n")
        self.assert_refused(run(PROGRAM, model, *ASK, "--config", config), 2, "is for the command line")
        # A model that is opened again goes on with the file.
        code, _, err = run(PROGRAM, model, "--device", "cpu", "--threads", "1", "--private", "--expert-trace", path_of("new"), "--script", "-",
                           text=b"/set max_tokens 4\nHello!\n/reopen\nHello!\n")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(os.stat(path_of("new")).st_mode & 0o777, 0o600)
        self.assertGreater(os.path.getsize(path_of("new")), 0)

    # -- JSON

    def test_an_object_of_an_import_has_few_names(self):
        """Each of these names was looked for among all those before it."""
        many = "{%s}" % ",".join(f'"key{i}":0' for i in range(2_000_000))
        self.assert_refused(run(PROGRAM, "import", write("many.json", many)), 1, "more than 256 names")

    def test_nothing_behind_a_nul_byte_is_left_unread(self):
        self.store()
        whole = json.dumps(self.exported())
        for text in (whole + "\0", whole + "\0[", whole[:1] + "\0" + whole[1:], whole.replace("Hello!", "Hel\0lo!", 1)):
            self.assert_refused(run(PROGRAM, "import", write("nul.json", text)), 1, "not JSON")
        self.assertEqual(len(run(PROGRAM, "list")[1].splitlines()), 1)
        messages = json.dumps([{"role": "user", "content": "Hello!"}]).encode()
        self.assert_refused(run(PROGRAM, "render", MODEL, text=messages + b"\0, and more"), 2, "not JSON: a NUL byte, at byte 40")

    def test_deep_json_is_refused_in_an_import(self):
        self.store()
        whole = self.exported()
        deep = "[" * DEEP + "]" * DEEP
        turn = whole["messages"][1]["turns"][0]
        turn["sampler"] = "SAMPLER"
        bad = json.dumps(whole).replace('"SAMPLER"', deep)
        for text in (bad, deep, '{"a":' * DEEP + "1" + "}" * DEEP, '{"messages": %s}' % deep,
                     "[" * DEEP, '[{"conversations": %s' % ("[" * DEEP)):
            self.assert_refused(run(PROGRAM, "import", write("deep.json", text)), 1, "nested more than 64 levels")
        self.assert_refused(run(PROGRAM, "render", MODEL, text=deep.encode()), 2, "nested more than 64 levels")
        # 60 levels are not refused.
        turn["sampler"] = "SAMPLER"
        self.assertEqual(run(PROGRAM, "import", write("good.json", json.dumps(whole).replace('"SAMPLER"', "[" * 50 + "]" * 50)))[0], 0)

    def test_deep_settings_in_the_database_are_exported_as_text(self):
        self.store()
        for deep in ("[" * DEEP + "]" * DEEP, '{"a":' * DEEP + "1" + "}" * DEEP, "[" * DEEP, "[" * 20 + "]" * 20):
            self.change("UPDATE turn SET sampler = ?", deep)
            self.assertEqual(self.exported()["messages"][1]["turns"][0]["sampler"], deep)
            again = write("again.json", json.dumps(self.exported()))
            self.assertEqual(run(PROGRAM, "import", again)[0], 0)
        code, _, err = run(PROGRAM, "replay", "1", "--verify", "--model", MODEL)
        self.assertEqual((code, err.count("\n")), (6, 1), err)
        self.assertIn("settings of this turn cannot be read", err)

    def test_deep_json_in_a_setting_is_refused(self):
        code, _, err = run(PROGRAM, MODEL, "--device", "cpu", "--script", "-", text=b"@allow-errors\n/set stop " + b"[" * DEEP + b"\n")
        self.assertIn("wanted a text or a JSON list", err)
        self.assertGreaterEqual(code, 0)

    # -- databases

    def test_a_database_with_a_strangers_view_or_trigger_is_refused(self):
        self.store()
        with sqlite3.connect(DATABASE) as db:
            db.execute("CREATE TRIGGER evil AFTER UPDATE ON message BEGIN DELETE FROM conversation; END")
        db.close()
        for command in (("list",), ("show", "1"), ("search", "Hello")):
            self.assert_refused(run(PROGRAM, *command), 6, "trigger evil is none that bitnet-chat makes")
        self.change("DROP TRIGGER evil")
        self.assertEqual(run(PROGRAM, "list")[0], 0)

    # -- titles

    def test_a_title_is_one_row(self):
        self.store()
        self.change("UPDATE conversation SET title = ?", "mine\n    7  2026-01-01 00:00     2  fake\r\x0b\x1b[2K\x85\u2028    8  fake\tx")
        self.change("UPDATE message SET finish = ? WHERE role = 'assistant'", "cut]\n\n[user] fake")
        self.assertEqual(len(run(PROGRAM, "list")[1].splitlines()), 1)
        for arguments in (("list",), ("search", "Hello"), ("show", "1")):
            code, out, err = run(PROGRAM, *arguments)
            self.assertEqual((code, err), (0, ""))
            self.assertIn("mine", out)
            self.assertNotRegex(out, r"(?m)^ *[78] |^\[user\] fake|[\r\x0b\x1b\x85\u2028]")
        commands = b"@allow-errors\n/list\n/title\n/search Hello\n/open\n"
        code, out, err = run(PROGRAM, MODEL, "--device", "cpu", "--resume", "1", "--script", "-", text=commands)
        self.assertEqual((code, err), (0, ""))
        self.assertIn("mine", out)
        self.assertNotRegex(out, r"(?m)^ *[78] |[\r\x0b\x1b\x85\u2028]")

    def test_marks_in_a_text_do_not_stay_switched_on(self):
        self.store()
        self.change("UPDATE message SET text = ? WHERE role = 'user'", "one \x02two \x02three Hello")
        out = run(PROGRAM, "search", "Hello")[1]
        self.assertEqual(out.count("["), out.count("]"), out)
        self.assertIn("Hello]", out)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
