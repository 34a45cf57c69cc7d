"""Tests answers that nobody would want and streams that are stopped, in a real terminal.

    stream_test.py FAKE_CHAT BITNET_CHAT ENDLESS-MODEL [TestCase.test]

FAKE_CHAT has the real screen and gives the answers that a test asks for. ENDLESS-MODEL has random weights, so a greedy
answer never ends and is always the same.
"""
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

from tmux import Terminal, running_pid

FAKE = PROGRAM = MODEL = ""


def tokens_to_stop():
    """Returns so many that an answer lasts long enough to be stopped in the middle, wherever it runs."""
    began = time.monotonic()
    subprocess.run([PROGRAM, MODEL, "--private", "--device", "cpu", "--threads", "1", "--temp", "0", "-n", "300", "-p", "x"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return max(1000, min(6000, int(600 / (time.monotonic() - began))))


class StreamTest(unittest.TestCase):
    def terminal(self, command, columns=80, rows=24, ready="ready", environment=None):
        t = Terminal(columns, rows, environment)
        self.addCleanup(t.close)
        t.run("stty -a > before")
        t.clear()
        t.line(f"{command}; echo left with $?")
        t.wait(ready)
        return t

    def check_restored(self, t):
        self.checks = getattr(self, "checks", 0) + 1
        t.wait_prompt()
        t.line(f"stty -a > now; cmp before now && echo 'sa''me' {self.checks}")
        t.wait(f"same {self.checks}$")
        flags = t.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}").split()
        self.assertEqual(flags, ["0", "1"])

    def greedy(self, database):
        return f"{PROGRAM} {MODEL} --db {database} --device cpu --threads 1 --temp 0 -n {self.tokens}"

    def answer_in(self, t, database):
        with sqlite3.connect(os.path.join(t.home, database)) as db:
            found = db.execute("SELECT text, finish FROM message WHERE role = 'assistant'").fetchone()
        db.close()
        return found

    def whole_answer(self):
        self.tokens = tokens_to_stop()
        t = Terminal()
        self.addCleanup(t.close)
        t.line(f"{self.greedy('whole.db')} -p 'go on' > /dev/null; echo left with $?")
        t.wait("^left with 0$")
        whole = self.answer_in(t, "whole.db")
        self.assertEqual(whole[1], "length")
        return whole

    def test_a_stream_that_is_stopped_is_whole_afterwards(self):
        whole = self.whole_answer()
        for stop in ("key", "signal"):
            with self.subTest(stop=stop):
                t = self.terminal(self.greedy("stopped.db"))
                t.line("go on")
                t.wait(r"answering|\(cut")
                if stop == "key":
                    t.key("C-z")
                else:
                    os.kill(running_pid(t), signal.SIGTSTP)
                t.wait("Stopped")
                self.check_restored(t)  # while it is stopped
                t.line("fg")
                t.wait(r"^── .*──\n›")  # the screen is there again
                t.wait("ready")
                t.wait(r"\(cut: max_tokens reached\)")
                t.key("C-d")
                self.check_restored(t)
                self.assertEqual(self.answer_in(t, "stopped.db"), whole)

    def test_stopped_in_plain_lines(self):
        """This is the test above without a screen: in the answer, and in a line that is being typed."""
        whole = self.whole_answer()

        def wait_row(end):
            t.wait_until(f"the cursor stands behind {end!r}", lambda: t.rows()[t.cursor()[1]].rstrip().endswith(end))
        t = self.terminal(self.greedy("plain.db"), environment={"TERM": "dumb"}, ready="^.*> *$")
        t.type("go o")
        wait_row("> go o")
        t.key("C-z")
        t.wait("Stopped")
        t.wait_prompt()
        t.line("stty -a > now; cmp before now && echo same")
        t.wait("^same$")
        t.line("fg")
        wait_row("> go o")
        t.line("n")
        # A fast answer has sent the line off the screen before anybody looks.
        t.wait_until("the answer has begun", lambda: re.search(r"> go on\n[^>\n]", t.tmux("capture-pane", "-p", "-S", "-")))
        t.key("C-z")
        t.wait_prompt()
        t.line("fg")
        t.wait(r"^\[length\]\n>")
        t.key("C-d")
        t.wait_prompt()
        self.assertEqual(self.answer_in(t, "plain.db"), whole)

    def test_an_interrupt_takes_a_plain_line_before_it_ends_the_program(self):
        t = self.terminal(f"{PROGRAM} {MODEL} --private --device cpu --threads 1 --temp 0 -n 5", environment={"TERM": "dumb"},
                          ready="^.*> *$")
        t.type("half a thou")
        t.wait("> half a thou$")
        t.key("C-c")
        t.wait(r"> half a thou\n> *$")
        t.line("go on")
        t.wait(r"^> go on\n[^>\n](.|\n)*\[length\]\n> *$")
        t.key("C-r")
        t.type("go")
        t.wait(r"^\(reverse-i-search\)`go': go on$")
        t.key("C-c")
        t.wait(r"^\[length\]\n> go on\n> *$")
        t.key("C-c")
        t.wait("^left with 130$")

    def draws_of(self, recording):
        """Returns when each draw was, in seconds since the recording began; a line that is still written is left out."""
        with open(recording) as file:
            lines = [line for line in file if line.endswith("\n")][1:]
        now, draws = 0.0, []
        for interval, kind, _ in map(json.loads, lines):
            now += interval
            draws += [now] * (kind == "o")
        return draws

    def test_no_more_than_thirty_draws_a_second(self):
        """The recording says how many draws there are while the model writes and a person types."""
        t = self.terminal(f"{PROGRAM} {MODEL} --private --device cpu --threads 1 --temp 0 --record draws.cast --force")
        recording = os.path.join(t.home, "draws.cast")
        t.line("go on")
        t.wait("answering|ready")

        def typed_until_drawn():
            for letter in "qxzj":
                t.type(letter)
            return len(self.draws_of(recording)) > 60
        t.wait_until("drawn more than 60 times", typed_until_drawn)
        t.wait("qxzj")
        t.key("C-c")
        t.wait("qxzj", gone=True)
        t.key("Escape")
        t.wait("ready")
        # Where the answer had ended by itself, the key may still wait to become Meta: it takes this letter with it.
        t.key("x", "C-u")
        t.key("C-d")
        t.wait("^left with 0$")
        draws = self.draws_of(recording)
        self.assertEqual([at for at, after in zip(draws, draws[30:]) if after - at < 0.999], [])

    def type_and_stop(self, t):
        """Checks that keys are seen and obeyed while the answer streams."""
        t.type("hello?")
        t.wait("^› hello[?]$")
        t.key("C-u")
        t.key("Escape")
        t.wait("ready")

    def test_an_endless_answer(self):
        t = self.terminal(f"FAKE_WORD_MS=1 {FAKE}")
        t.line("forever")
        t.wait("again again")
        t.key("PPage")
        t.key("C-End")
        self.type_and_stop(t)
        t.wait(r"\(stopped\)")

    def test_one_enormous_line(self):
        t = self.terminal(f"FAKE_WORD_MS=1 FAKE_PIECE=1000 {FAKE}")
        t.line("line 4000000")  # it does not end before it is stopped
        t.wait("x{78}\n  x{78}")
        self.type_and_stop(t)
        t.key("x", "C-u")  # where the answer had ended by itself, the Escape before may still wait to become Meta
        t.line("line 200000")
        t.wait(r"x{1,78}the end$")
        rows = [row.strip() for row in t.rows()]
        self.assertEqual(len(rows[0]), 78)

    def test_thousands_of_combining_marks(self):
        # The marks are on a letter and on an emoji. ncurses cannot hold the emoji, so it is written past ncurses.
        t = self.terminal(f"FAKE_WORD_MS=4 FAKE_PIECE=200 {FAKE}")
        raw = os.path.join(t.home, "raw")
        t.tmux("pipe-pane", f"cat > {raw}")
        t.line("marks 20000")
        t.wait(r"^  a\u0301+ +\u2764.* the end$")
        t.wait("ready")
        # 400 pieces, each with a part of one row and of the status line; a row with all marks would have 80,000 bytes.
        self.assertLess(os.path.getsize(raw), 400 * 400)
        # Terminals that can show each frame whole are told where it begins and ends. tmux may give the last ones late.
        def written():
            with open(raw, "rb") as file:
                return file.read()
        begins, ends = rb"\x1b\[\?2026h", rb"\x1b\[\?2026l"
        t.wait_until("a frame has the end", lambda: any(
            b"the end" in frame for frame in re.findall(begins + rb"([\s\S]*?)" + ends, written())))
        between = re.sub(begins + rb"[\s\S]*?(" + ends + rb"|\Z)", b"", written())
        self.assertNotRegex(re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", between), rb"[a-z]")
        t.resize(60, 20)
        t.wait("the end$", r"^──.{56}──$", without=r"the end[\s\S]*the end")
        t.line("still here")
        t.wait("^  still here$")

    def test_bytes_that_are_no_text(self):
        t = self.terminal(FAKE)
        t.line("bytes")
        t.wait("\ufffd", "␛", "the end$", "ready")


if __name__ == "__main__":
    FAKE, PROGRAM, MODEL = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
    unittest.main(verbosity=2)
