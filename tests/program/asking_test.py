#!/usr/bin/env python3
"""Tests asking from the command line: what the question is made of, what JSON lines name, what a terminal shows.

usage: asking_test.py BITNET-CHAT MODEL FOLDER
"""
import fcntl
import json
import os
import pty
import shutil
import struct
import subprocess
import sys
import termios
import unittest

PROGRAM, MODEL, FOLDER = map(os.path.abspath, sys.argv[1:4])
sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
sys.dont_write_bytecode = True
import hostile_file  # noqa: E402
ASK = (MODEL, "--device", "cpu", "--temp", "0", "-n", "2")


def environment():
    env = dict(os.environ, TERM="dumb", **{f"XDG_{kind}_HOME": os.path.join(FOLDER, kind) for kind in
                                           ("DATA", "STATE", "CONFIG", "CACHE")})
    env.pop("BITNET_CHAT_MODEL", None)
    return env


def run(*arguments, **how):
    if not how:
        how = {"stdin": subprocess.DEVNULL}
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, env=environment(), cwd=FOLDER, timeout=120, **how)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def objects(*arguments, **how):
    return [json.loads(line) for line in run(*ASK, "--output", "jsonl", *arguments, **how)[1].splitlines()]


def on_terminal(columns, *arguments):
    """Returns the exit code and what the program writes to a terminal of that width."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([PROGRAM, *arguments], stdin=slave, stdout=slave, stderr=subprocess.PIPE, env=environment(), cwd=FOLDER)
    os.close(slave)
    output = b""
    while True:
        try:
            more = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not more:
            break
        output += more
    os.close(master)
    process.stderr.close()
    return process.wait(timeout=60), output.decode().replace("\r\n", "\n")


class Asking(unittest.TestCase):
    def setUp(self):
        shutil.rmtree(FOLDER, ignore_errors=True)
        os.makedirs(FOLDER)

    def question(self, *arguments, **how):
        found = objects("-p", "Sum up:", *arguments, **how)
        return next(o["text"] for o in found if o["type"] == "user")

    def test_piped_text_follows_the_question(self):
        self.assertEqual(self.question(input=b"one\n\ntwo\n\n"), "Sum up:\n\none\n\ntwo")
        with open(FOLDER + "/text", "w") as file:
            file.write("of a file\n")
        with open(FOLDER + "/text") as file:
            self.assertEqual(self.question(stdin=file), "Sum up:\n\nof a file")
        # The program waits for input that comes late, and says so.
        process = subprocess.Popen([PROGRAM, *ASK, "--output", "jsonl", "-p", "Sum up:"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        self.assertIn(b"</dev/null", process.stderr.readline())
        out, _ = process.communicate(b"late")
        self.assertIn("Sum up:\n\nlate", [o.get("text") for o in map(json.loads, out.splitlines())])

    def test_standard_input_that_holds_nothing_changes_nothing(self):
        self.assertEqual(self.question(input=b""), "Sum up:")
        self.assertEqual(self.question(input=b" \n\n"), "Sum up:")
        for name, mode in (("/dev/null", os.O_RDONLY), ("/dev/null", os.O_WRONLY), ("/dev/zero", os.O_RDONLY), (FOLDER, os.O_RDONLY),
                           (FOLDER + "/written", os.O_WRONLY | os.O_CREAT)):
            fd = os.open(name, mode)
            self.assertEqual(self.question(stdin=fd), "Sum up:", name)
            os.close(fd)
        self.assertEqual(self.question(preexec_fn=lambda: os.close(0)), "Sum up:")
        code, out = on_terminal(80, *ASK, "--private", "-p", "Hello!")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"\w")

    def test_an_answer_on_a_terminal_is_broken_between_words(self):
        ask = (MODEL, "--device", "cpu", "--temp", "0", "--private", "-n", "60", "-p", "Tell me a story.")
        whole = run(*ask)[1]
        self.assertGreater(max(map(len, whole.splitlines())), 30)  # a pipe gets the lines of the model
        code, out = on_terminal(30, *ask)
        self.assertEqual(code, 0)
        self.assertLessEqual(max(map(len, out.splitlines())), 30)
        self.assertEqual(out.split(), whole.split())
        self.assertEqual(on_terminal(2000, *ask)[1].rstrip(), whole.rstrip())

    def test_a_file_that_is_not_read_as_it_was_meant_is_told_with_a_question_too(self):
        with open(FOLDER + "/odd.gguf", "wb") as file:
            file.write(hostile_file.odd().bytes())
        code, _, err = run("odd.gguf", "--device", "cpu", "--private", "-n", "1", "-p", "e")
        self.assertEqual(code, 0, err)
        for words in hostile_file.ODD:
            self.assertIn(words, err)

    def test_what_is_said_of_a_new_system_prompt_is_no_part_of_the_answer(self):
        self.assertEqual(run(*ASK, "--keep", "-p", "Hello!")[0], 0)
        for option, value in (("--system", "Be quick."), ("--persona", "coder")):
            code, out, err = run(*ASK, "-c", option, value, "-p", "And you?")
            self.assertEqual((code, out.count("\n")), (0, 1), out)
            self.assertIn(value, err)

    def test_an_empty_pipe_says_so(self):
        code, out, err = run(*ASK, input=b"")
        self.assertEqual((code, out), (0, ""))
        self.assertIn("standard input is empty: nothing was asked", err)

    def test_help_is_a_command_and_a_slip_is_told_what_was_meant(self):
        self.assertEqual(run("help"), run("--help"))
        self.assertEqual(run("help", "search"), run("search", "--help"))
        for words in (("serch", "a", "whale"), ("help", "serch"), ("serch",)):
            code, out, err = run(*words)
            self.assertEqual(out, "")
            self.assertIn("'search'?", err)
            self.assertIn(code, (2, 4))
        for output, key in (("text", "^C  "), ("tui", "Alt-Enter, ^J")):
            found = run(*ASK, "--private", "--output", output, "--script", "-", input=f"/help keys\n@screenshot {output}\n".encode())
            self.assertEqual(found[0], 0, found)
            with open(os.path.join(FOLDER, output)) as shot:
                self.assertIn(key, shot.read())

    def test_the_exit_code_is_there_where_nobody_can_be_told(self):
        for arguments, code in ((("show", "99"), 1), (("--nope",), 2), (("info", "nope.gguf"), 4), (("list", "--nope"), 2)):
            with open("/dev/full", "w") as full:
                done = subprocess.run([PROGRAM, *arguments], stdout=full, stderr=full, env=environment(), cwd=FOLDER)
            self.assertEqual(done.returncode, code, arguments)

    def test_the_answer_is_there_where_nothing_else_can_be_said(self):
        def ask(path, **variables):
            with open(path, "w") as errors:
                done = subprocess.run([PROGRAM, *ASK, "-p", "Hello!"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                                      env=environment() | variables, cwd=FOLDER, timeout=120)
            return done.returncode, done.stdout.decode()
        told = ask(FOLDER + "/errors", XDG_DATA_HOME="/proc/x")
        with open(FOLDER + "/errors") as errors:
            self.assertIn("Nothing is saved", errors.read())
        self.assertRegex(told[1], r"\w")
        self.assertEqual(ask("/dev/full", XDG_DATA_HOME="/proc/x"), told)

    def test_json_lines_end_with_an_exit_whatever_is_wrong(self):
        question = ("-p", "Hello!")
        for wrong in ((*question, "--persona", "nope"), (*question, "--system", "@nofile"), ("--script", "nofile"),
                      (*question, "--device", "nope")):
            said = objects(*wrong)
            self.assertEqual([event["type"] for event in said[-2:]], ["error", "exit"], wrong)
            self.assertEqual(said[-1]["code"], said[-2]["code"])

    def test_standard_input_that_does_not_wait_is_waited_for(self):
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        asked = subprocess.Popen([PROGRAM, *ASK], stdin=reading, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env=environment(), cwd=FOLDER)
        os.close(reading)
        with open(writing, "w") as pipe:
            pipe.write("Hello")
        out, err = asked.communicate(timeout=120)
        self.assertEqual((asked.returncode, err), (0, b"[length]\n"))
        self.assertTrue(out.strip())

    def test_json_lines_name_the_conversation(self):
        found = objects("-p", "Hello!")
        ids = [(o["type"], o["conversation"]) for o in found if "conversation" in o]
        self.assertEqual(ids, [("session", None), ("session", 1), ("usage", 1)])
        kinds = [o["type"] for o in found]
        self.assertLess(kinds.index("session", 1), kinds.index("token"))
        self.assertEqual([o["conversation"] for o in objects("--resume", "1", "-p", "And?") if "conversation" in o], [1, 1])
        lines = objects(input=b"One\n/new\nTwo\n/open 1\n")
        self.assertEqual([(o["type"], o["conversation"]) for o in lines if "conversation" in o],
                         [("session", None), ("session", 2), ("usage", 2), ("session", None), ("session", 3), ("usage", 3),
                          ("session", 1)])
        private = objects("--private", "-p", "Hello!")
        self.assertEqual({o["conversation"] for o in private if "conversation" in o}, {None})

    def test_verify_of_nothing_is_not_the_same(self):
        with open(FOLDER + "/chat.json", "w") as file:
            json.dump({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}, file)
        self.assertEqual(run("import", "chat.json")[0], 0)
        code, out, err = run("replay", "1", "--verify")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("nothing to verify", err)
        run(*ASK, "-n", "1", "-p", "Hello!")
        self.assertRegex(run("replay", "2", "--verify")[1], "^1 turn, 1 token: the same; ")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
