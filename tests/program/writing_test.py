#!/usr/bin/env python3
"""Tests which files the program writes for a person and for a script, and the exit code of a script that fails.

usage: writing_test.py BITNET-CHAT MODEL FOLDER
"""
import json
import os
import shutil
import subprocess
import sys
import unittest

PROGRAM, MODEL, FOLDER = map(os.path.abspath, sys.argv[1:4])
WORK = os.path.join(FOLDER, "work")


def run(*arguments, text="", cwd=WORK):
    env = dict(os.environ, TERM="dumb", **{f"XDG_{kind}_HOME": os.path.join(FOLDER, kind) for kind in
                                           ("DATA", "STATE", "CONFIG", "CACHE")})
    env.pop("BITNET_CHAT_MODEL", None)
    done = subprocess.run([PROGRAM, *arguments], input=text.encode(), capture_output=True, env=env, cwd=cwd, timeout=120)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def script(*lines, arguments=()):
    return run(MODEL, "--device", "cpu", "-n", "2", *arguments, "--script", "-", text="\n".join(lines) + "\n")


def read(name):
    with open(os.path.join(WORK, name)) as file:
        return file.read()


def put(name, text="old"):
    with open(os.path.join(WORK, name), "w") as file:
        file.write(text)


class Writing(unittest.TestCase):
    def setUp(self):
        shutil.rmtree(FOLDER, ignore_errors=True)
        os.makedirs(WORK)

    def mode(self, name):
        return os.stat(os.path.join(WORK, name)).st_mode & 0o777

    def test_nothing_that_is_there_is_overwritten(self):
        """This tries every way in which a person or a script names a file to be written."""
        self.assertEqual(script("Hello!")[0], 0)
        ways = [
            lambda name, *force: run("export", "1", "-o", name, *force),
            lambda name, *force: script("@screenshot " + name, arguments=force),
            lambda name, *force: script("/export md " + name, arguments=("-c", *force)),
            lambda name, *force: script("/record " + name, arguments=force),
            lambda name, *force: run(MODEL, "--device", "cpu", "-n", "1", "-p", "x", "--record", name, *force),
            lambda name, *force: run("replay", "1", "--instant", "--record", name, *force),
            lambda name, *force: run("logits", MODEL, "--device", "cpu", "--tokens", "1", "--out", name, *force),
            lambda name, *force: run("probe", MODEL, "--device", "cpu", "--tokens", "1", "--out", name, *force),
        ]
        for number, write in enumerate(ways):
            with self.subTest(way=number):
                put("old")
                code, _, err = write("old")
                self.assertNotEqual(code, 0)
                self.assertIn("old: is there already; ", err)
                self.assertIn("--force" if number not in (2, 3) else "--force lets a script overwrite it", err)
                self.assertEqual(read("old"), "old")
                link = os.path.join(WORK, "link")
                os.symlink(os.path.join(FOLDER, "victim"), link)
                self.assertNotEqual(write("link")[0], 0)
                self.assertFalse(os.path.exists(FOLDER + "/victim"))
                os.unlink(link)
                self.assertEqual(write("new")[0], 0)
                self.assertEqual(self.mode("new"), 0o600)
                os.chmod(os.path.join(WORK, "old"), 0o640)
                self.assertEqual(write("old", "--force")[0], 0)
                self.assertNotEqual(read("old") if number not in (6, 7) else "", "old")
                self.assertEqual(self.mode("old"), 0o640)
                os.unlink(os.path.join(WORK, "new"))

    def test_a_link_that_leads_to_a_pipe_is_a_link(self):
        run(MODEL, "--device", "cpu", "-n", "2", "-p", "Hello!")
        os.mkfifo(os.path.join(WORK, "pipe"))
        os.symlink("pipe", os.path.join(WORK, "link"))
        reader = os.open(os.path.join(WORK, "pipe"), os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        code, _, err = run("export", "1", "--out", "link")
        self.assertEqual(code, 1)
        self.assertIn("as a symbolic link", err)
        self.assertEqual(run("export", "1", "--out", "pipe")[0], 0)
        self.assertIn(b"Hello!", os.read(reader, 65536))
        waiting = subprocess.Popen(["cat", os.path.join(WORK, "pipe")], stdout=subprocess.PIPE)
        while run("export", "1", "--out", "pipe")[0] != 0:  # until cat reads it
            self.assertIsNone(waiting.poll())
        self.assertIn(b"Hello!", waiting.communicate(timeout=60)[0])
        self.assertIn("Hello!", run("export", "1", "--out", "/dev/stdout")[1])

    def test_a_link_of_the_system_that_leads_to_a_file_is_not_replaced(self):
        run(MODEL, "--device", "cpu", "-n", "2", "-p", "Hello!")
        link = "/proc/self/fd/1"  # what /dev/stdout leads to
        for force in ((), ("--force",)):
            with open(os.path.join(WORK, "theirs"), "w") as file:
                done = subprocess.run([PROGRAM, "export", "1", "-o", link, *force], stdin=subprocess.DEVNULL, stdout=file, cwd=WORK,
                                      stderr=subprocess.PIPE, timeout=120, env=dict(os.environ, XDG_DATA_HOME=FOLDER + "/DATA"))
            self.assertEqual((done.returncode, done.stderr.decode()),
                             (1, f"bitnet-chat: {link}: leads to a file here; name that file\n"))
            self.assertEqual(read("theirs"), "")

    def test_a_script_writes_only_below_its_folder(self):
        outside = os.path.join(FOLDER, "outside")
        os.symlink(FOLDER, WORK + "/up")
        os.makedirs(WORK + "/deep")
        for name in (outside, "../outside", "up/outside", "deep/../../outside"):
            for lines in (["@screenshot " + name], ["Hello!", "/export md " + name], ["/record " + name]):
                with self.subTest(lines=lines):
                    code, _, err = script(*lines)
                    self.assertNotEqual(code, 0)
                    self.assertIn("a script may write only below " + WORK, err)
                    self.assertIn("--allow-writes", err)
                    self.assertFalse(os.path.exists(outside))
        code, out, _ = run(MODEL, "--output", "jsonl", "-n", "2", text=f"Hello!\n/export md {outside}\n")
        self.assertEqual(code, 1)
        self.assertIn("--allow-writes", out)
        self.assertEqual(script("@screenshot deep/shot", f"@screenshot {WORK}/shot")[0], 0)
        self.assertEqual(script("@screenshot " + outside, arguments=["--allow-writes"])[0], 0)
        self.assertTrue(os.path.exists(outside))
        self.assertEqual(script("@screenshot " + outside, arguments=["--allow-writes"])[0], 1)

    def test_a_script_fetches_no_model(self):
        code, out, err = script("/model http://127.0.0.1:9/evil.gguf")
        self.assertEqual(code, 3)
        self.assertIn("a script fetches none; --allow-writes lets it", out + err)
        code, out, err = script("/model http://127.0.0.1:9/evil.gguf", arguments=("--allow-writes",))
        self.assertNotIn("a script fetches none", out + err)

    def test_a_mark_behind_the_name_overwrites_and_quotes_are_no_part_of_it(self):
        put("two words.md")
        self.assertEqual(script("Hello!", '/export md "two words.md"', arguments=["--allow-writes"])[0], 3)
        code, _, err = script("Hello!", '/export md "two words.md"!', arguments=["--allow-writes"])
        self.assertEqual(code, 0, err)
        self.assertIn("Hello!", read("two words.md"))
        # In a script alone the mark does not count: whoever started it did not say --force.
        put("other.md")
        self.assertEqual(script("Hello!", "/export md other.md!")[0], 3)
        self.assertEqual(read("other.md"), "old")
        self.assertEqual(script("/read 'other.md'", "What is old?", "@expect /other.md:/")[0], 0)

    def test_a_private_recording_needs_asking_for(self):
        code, _, err = run(MODEL, "--private", "-p", "x", "-n", "1", "--record", "r.cast")
        self.assertEqual(code, 2)
        self.assertIn("--force", err)
        self.assertEqual(script("/record r.cast", arguments=["--private"])[0], 3)
        code, out, err = script("/record r.cast", "Hello!", "@wait idle", "/private", "@expect /recording is over/", "my secret",
                                "@wait idle")
        self.assertEqual(code, 0, err)
        self.assertIn("Hello!", read("r.cast"))
        self.assertNotIn("secret", read("r.cast"))
        self.assertEqual(script("/record p.cast", "my secret", arguments=["--private", "--force"])[0], 0)
        self.assertIn("secret", read("p.cast"))

    def test_a_recording_has_what_is_typed_only_where_asked_for(self):
        for output in ("text", "tui"):
            for more, kinds in (((), {"o", "x"}), (("--record-input",), {"o", "i", "x"})):
                name = f"{output}{len(more)}.cast"
                code, _, err = script("@key H", "@key C-u", arguments=["--output", output, "--record", name, *more])
                self.assertEqual(code, 0, err)
                self.assertLessEqual({json.loads(line)[1] for line in read(name).splitlines()[1:]}, kinds)
                self.assertEqual('"i"' in read(name), bool(more))

    def test_a_script_whose_command_failed_ends_with_3(self):
        for output in ("text", "tui", "jsonl"):
            with self.subTest(output=output):
                code, out, err = script("/set temp 1", "/open 99", "/title never", arguments=["--output", output])
                self.assertEqual(code, 3, err)
                self.assertIn("-:2: '/open 99' failed: there is no conversation 99; /list shows them. @allow-errors", err)
                self.assertNotIn("never", out)
                code, _, err = script("@allow-errors", "/open 99", "/title", arguments=["--output", output])
                self.assertEqual(code, 0, err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
