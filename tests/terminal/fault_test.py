"""Tests what a terminal can do to the program, and what texts could do to a terminal, on a pty of its own.

    fault_test.py BITNET-CHAT ENDLESS-MODEL [TestCase.test]

ENDLESS-MODEL has random weights: its answers do not end and hold every byte there is.
"""
import base64
import contextlib
import fcntl
import json
import os
import pty
import random
import re
import select
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

PROGRAM = MODEL = ""
PATIENCE = float(os.environ.get("TERMINAL_TEST_PATIENCE", "60"))
# A terminal would obey each part of this: a window title, a bell, a mode that nobody sets, a C1 control, an override of
# the direction, a tag. It is as short as a file's name must be.
EVIL = "\x1b]0;owned\x07\x1b[31337h\u009b31m\u202e\U000e0041\x7f\x9f"
# Every code point that must not reach a terminal, for places with room for them; NUL, \t, \n and \r are no faults.
CONTROLS = [*range(1, 9), 11, 12, *range(14, 32), *range(0x7f, 0xa0), 0x61c, *range(0x2028, 0x202f), *range(0x2066, 0x206a), 0xfeff,
            *range(0xfff9, 0xfffc), *range(0xe0000, 0xe0080)]
ALL_EVIL = EVIL + "".join(map(chr, CONTROLS)) + "owned"
# The program itself sends these: cursor, colours, modes and character sets of xterm, and the colours as they were.
OWN = re.compile(rb"\x1b(?:\]104\x07|\[(?!31337h)[?>]?[0-9;]*[A-Za-z@`]|[()][0B]|[78=>MDEH])")
FORBIDDEN = re.compile(b"[\x00-\x06\x07\x0b\x0c\x0e\x10-\x1f\x7f]|" + b"|".join(re.escape(chr(c).encode()) for c in CONTROLS if c > 0x7f))


class Pty:
    """The program on a terminal of its own, with everything that it writes."""

    def __init__(self, home, arguments, columns=80, rows=24, term="xterm-256color", stdin=None, env=None):
        self.master, self.slave = pty.openpty()
        self.resize(columns, rows)
        self.before = termios.tcgetattr(self.slave)
        self.output = b""
        env = {"PATH": os.environ["PATH"], "HOME": home, "LC_ALL": "C.UTF-8", **(env or {})}
        if term is not None:
            env["TERM"] = term
        for name in os.environ:
            if name.startswith(("ASAN_", "TSAN_", "UBSAN_", "LSAN_", "VK_")):
                env[name] = os.environ[name]

        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        self.process = subprocess.Popen([PROGRAM, *arguments], stdin=self.slave if stdin is None else subprocess.PIPE, stdout=self.slave,
                                        stderr=self.slave, env=env, preexec_fn=own_terminal if stdin is None else os.setsid)
        if stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # it may have ended without reading any of it
                with self.process.stdin as pipe:
                    pipe.write(stdin)

    def resize(self, columns, rows):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def take(self, seconds=0.05):
        """Returns what has come in the meantime."""
        came = b""
        while select.select([self.master], [], [], seconds)[0]:
            try:
                part = os.read(self.master, 65536)
            except OSError:
                break
            if not part:
                break
            came += part
            seconds = 0
        self.output += came
        return came

    def wait(self, pattern, seconds=PATIENCE, since=0):
        end = time.monotonic() + seconds
        while not re.search(pattern, self.output[since:]):
            assert time.monotonic() < end, f"no {pattern!r} in {self.output[-2000:]!r}"
            assert self.process.poll() is None or self.take(), f"ended with {self.process.returncode}: {self.output[-500:]!r}"
            self.take()

    def wait_for_text(self):
        """Waits until an answer streams: until there are a few more frames than before."""
        at = len(self.output)
        end = time.monotonic() + PATIENCE
        while len(self.output) < at + 150:
            assert time.monotonic() < end, "nothing streams"
            self.take()

    def end(self, seconds=PATIENCE):
        """Returns the exit status once the program has ended by itself."""
        limit = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < limit, f"still there: {self.output[-500:]!r}"
            self.take()
        end_of_output = b"\0the end of the output\0"
        os.write(self.slave, end_of_output)  # comes behind what the program has written
        while not self.output.endswith(end_of_output):
            assert time.monotonic() < limit, f"the rest does not come: {self.output[-500:]!r}"
            self.take()
        self.output = self.output[:-len(end_of_output)]
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for fd in (self.master, self.slave):
            try:
                os.close(fd)
            except OSError:
                pass


class FaultTest(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="bitnet-chat-fault-")
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        self.database = os.path.join(self.home, "chats.db")

    def start(self, *arguments, ready=rb"ready", **how):
        t = Pty(self.home, [MODEL, "--db", self.database, "--device", "cpu", "--threads", "1", *arguments], **how)
        self.addCleanup(t.close)
        if ready:
            t.wait(ready)
        return t

    def check_restored(self, t):
        self.assertEqual(termios.tcgetattr(t.slave), t.before, "termios")
        for on, off in ((b"\x1b[?1049h", b"\x1b[?1049l"), (b"\x1b[?2004h", b"\x1b[?2004l"), (b"\x1b[?25l", b"\x1b[?25h"),
                        (b"\x1b[?1h", b"\x1b[?1l")):
            self.assertGreaterEqual(t.output.rfind(off), t.output.rfind(on), (on, t.output[-200:]))

    def check_database(self, drafts=0):
        db = sqlite3.connect(self.database)
        self.addCleanup(db.close)
        self.assertEqual(db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        self.assertEqual(db.execute("SELECT count(*) FROM message WHERE finish IS NULL").fetchone()[0], drafts)
        return db

    def test_signals_restore_the_terminal_and_close_the_database(self):
        for name in ("SIGTERM", "SIGHUP", "SIGINT"):
            for state in ("loading", "idle", "streaming"):
                if (name, state) == ("SIGINT", "streaming"):
                    continue  # stops the answer only
                with self.subTest(signal=name, state=state):
                    # The answer is greedy, so that no token that ends it is drawn by chance.
                    t = self.start("--temp", "0", ready=rb"\x1b\[\?1049h" if state == "loading" else rb"ready")
                    if state == "streaming":
                        t.type("go on\r")
                        t.wait_for_text()
                    t.process.send_signal(getattr(signal, name))
                    self.assertEqual(t.end(), 128 + getattr(signal, name))
                    self.check_restored(t)
                    t.close()
                    self.check_database()

    def test_a_model_file_that_is_shortened_ends_it_with_a_good_terminal(self):
        """Or ends the answer alone, where the program looks at the file before it reads what is gone."""
        with open(PROGRAM, "rb") as file:
            if re.search(rb"__[at]san_init", file.read()):
                self.skipTest("the sanitizer reports this signal itself")
        model = os.path.join(self.home, "model.gguf")
        shutil.copy(MODEL, model)
        t = Pty(self.home, [model, "--db", self.database, "--device", "cpu", "--threads", "2", "--temp", "0"])
        self.addCleanup(t.close)
        t.wait(rb"ready")
        t.type("go on\r")
        t.wait_for_text()
        os.truncate(model, 4096)
        t.wait(rb"\x1b\[\?1049l|\(failed\)")
        if b"(failed)" in t.output:
            t.wait(rb"\(failed\)(.|\n)*ready")
            t.type("\x04")
        status = t.end()
        self.check_restored(t)
        if status == -signal.SIGBUS:
            self.assertTrue(t.output.endswith(b"\x1b[?1049l\r\n"), t.output[-300:])
        else:
            self.assertIn(b"(failed)", t.output)
            self.assertEqual(status, 0)

    def test_a_terminal_that_goes_away_ends_the_program(self):
        t = self.start("--temp", "0")
        t.type("go on\r")
        t.wait_for_text()
        os.close(t.slave)
        os.close(t.master)
        t.process.wait(PATIENCE)
        self.assertIn(t.process.returncode, (0, 128 + signal.SIGHUP))
        text = self.check_database().execute("SELECT text, finish FROM message WHERE role = 'assistant'").fetchone()
        self.assertEqual(text[1], "interrupted")

    def test_a_stream_that_the_kernel_stops_is_drawn_anew(self):
        """The program cannot see SIGSTOP coming, and somebody else may write while it is stopped."""
        t = self.start("--temp", "0")
        t.type("go on\r")
        t.wait_for_text()
        t.process.send_signal(signal.SIGSTOP)
        t.take(0.2)
        at = len(t.output)
        t.process.send_signal(signal.SIGCONT)
        t.wait(rb"\x1b\[H\x1b\[2J(.|\n)*random 1", since=at)  # the status line; the question may have scrolled away
        t.wait_for_text()
        t.process.send_signal(signal.SIGTERM)
        self.assertEqual(t.end(), 143)
        self.check_restored(t)

    def test_a_storm_of_sizes(self):
        t = self.start("-n", "200")
        t.type("go on\r")
        chance = random.Random(1)
        for i in range(150):
            t.resize(*((1, 1), (20, 5), (300, 100), (chance.randint(1, 250), chance.randint(1, 70)))[min(i % 10, 3)])
            t.process.send_signal(signal.SIGWINCH)
            t.take(0.005)
            self.assertIsNone(t.process.poll(), "it ended")
        t.resize(80, 24)
        at = len(t.output)
        t.process.send_signal(signal.SIGWINCH)
        t.wait(rb"ready", since=at)
        t.type("\x04")
        self.assertEqual(t.end(), 0)
        self.check_restored(t)

    def test_the_smallest_screens(self):
        for columns, rows in ((20, 5), (5, 2), (1, 1), (2, 20), (200, 1)):
            with self.subTest(size=f"{columns}x{rows}"):
                t = self.start("-n", "20", columns=columns, rows=rows, ready=rb"\x1b\[\?1049h")
                t.type("日本語 hello\r")
                t.take(0.3)
                t.type("\x1bOP\x1b[5~\x1b[6~\x0c")
                t.take(0.1)
                self.assertIsNone(t.process.poll(), "it ended")
                t.process.send_signal(signal.SIGTERM)
                self.assertEqual(t.end(), 143)
                self.check_restored(t)

    def test_terminals_that_are_none(self):
        for term in ("dumb", "no-such-terminal", "", None):
            with self.subTest(term=term):
                t = self.start("-n", "20", "--temp", "0", ready=rb"> ", term=term)
                t.type("hello\r")
                t.wait(rb"(?s)\[length\].*> ")  # until then ^D would be the terminal's, not readline's
                t.type("\x04")
                self.assertEqual(t.end(), 0)
                self.assertNotIn(b"\x1b[?1049h", t.output)
                self.assertEqual(termios.tcgetattr(t.slave), t.before)

    def test_closed_descriptors(self):
        for closed in ("0<&-", ">&-", "2>&-", "0<&- >&-", "0<&- >&- 2>&-"):
            for question in ("-p hello", "--script /dev/null", ""):
                with self.subTest(closed=closed, arguments=question):
                    command = f'exec "$0" "$1" --db "$2" --device cpu --threads 1 -n 8 {question} {closed}'
                    done = subprocess.run(["/bin/sh", "-c", command, PROGRAM, MODEL, self.database], capture_output=True,
                                          stdin=subprocess.DEVNULL, timeout=PATIENCE, env=dict(os.environ, HOME=self.home))
                    self.assertIn(done.returncode, (0, 1), done.stderr)
                    if os.path.exists(self.database):
                        self.check_database()

    def store_evil(self):
        subprocess.run([PROGRAM, MODEL, "--db", self.database, "--device", "cpu", "-n", "3", "--keep", "-p", "hello"], check=True,
                       capture_output=True, env=dict(os.environ, HOME=self.home))
        text = f"word {ALL_EVIL} `{EVIL}`\n```{EVIL}\n{EVIL}\n```\n# {EVIL}\n| {EVIL} |\n[{EVIL}]({EVIL})\n"
        with sqlite3.connect(self.database) as db:
            db.execute("UPDATE message SET text = ?", (text,))
            db.execute("UPDATE conversation SET title = ?, system = ?", (ALL_EVIL, ALL_EVIL))
            db.execute("UPDATE turn SET model = ?, device = ?", (MODEL, EVIL))
        db.close()

    def check_harmless(self, t):
        self.check_bytes(t.output)

    def check_bytes(self, output):
        output.decode()  # every byte is part of a character
        # No sequence but those of the program itself, and nothing else that a terminal obeys.
        shown = OWN.sub(b"", output)
        found = FORBIDDEN.search(shown)
        self.assertIsNone(found, found and shown[max(found.start() - 100, 0):found.end() + 100])

    def check_commands(self, commands, *arguments, say="owned"):
        """Shows these lines on the screen and as plain lines."""
        for term in ("xterm-256color", "dumb"):
            with self.subTest(term=term):
                plain = term == "dumb"
                recording = os.path.join(self.home, term + ".cast")
                t = self.start(*arguments, "-n", "3", "--record", recording, "--force", term=term, ready=rb"> $" if plain else rb"ready")
                for command in commands:
                    if plain and not command.isprintable():
                        continue  # what a person types there is shown by the terminal itself
                    at = len(t.output)
                    t.type(command if command < " " else command + "\r")
                    if plain:
                        t.wait(rb"\n> $", since=at)
                    else:
                        t.take(0.3)
                t.wait(re.escape(say.encode()))
                t.process.send_signal(signal.SIGTERM)
                t.end()
                self.check_harmless(t)
                with open(recording) as file:
                    events = [json.loads(line) for line in list(file)[1:]]
                played = "".join(event[2] for event in events if event[1] == "o")
                self.assertIn(say, played)
                self.check_bytes(played.encode())

    def check_outputs(self, *commands, say="owned", stdin=None):
        """Returns what these command lines write to a terminal."""
        for arguments in commands:
            with self.subTest(arguments=arguments):
                t = Pty(self.home, arguments, stdin=stdin)
                self.addCleanup(t.close)
                t.end()
                self.assertIn(say.encode(), t.output)
                self.check_harmless(t)

    def test_no_stored_text_reaches_the_terminal_raw(self):
        self.store_evil()
        self.check_outputs(*[["--db", self.database, *arguments] for arguments in (
            ["list"], ["show", "1"], ["search", "word"], ["replay", "1", "--instant"], ["export", "1"],
            ["export", "1", "--format", "json"], ["export", "1", "--format", "openai"])])
        self.check_commands(("/list", "/search word", "/show prompt", "/branches", "/system", "/title", "/help", "/goto",
                             "/export md", "/export json", "/replay 1 instant", "/open", "owned", "\x1b", "\x06", EVIL, "\x1b"),
                            "--resume", "1")

    def test_no_stored_text_reaches_the_clipboard_raw(self):
        """What is pasted elsewhere has nothing in it that the transcript has shown otherwise."""
        self.store_evil()
        for output in ("tui", "text"):
            with self.subTest(output=output):
                t = self.start("--resume", "1", "--output", output, ready=rb"> $" if output == "text" else rb"ready")
                t.type("/copy answer\r")
                t.wait(rb"\x1b\]52;c;[^\x07]*\x07")
                copied = base64.b64decode(re.search(rb"\x1b\]52;c;([^\x07]*)\x07", t.output)[1]).decode()
                self.assertIn("word ", copied)
                self.assertIn("\n```", copied)
                self.assertEqual([hex(ord(c)) for c in copied if ord(c) in CONTROLS], [])
                t.process.send_signal(signal.SIGTERM)
                t.end()

    def test_no_imported_text_reaches_the_terminal_raw(self):
        messages = [{"role": "system", "content": ALL_EVIL}, {"role": "user", "content": f"word {ALL_EVIL}"},
                    {"role": "assistant", "content": f"{ALL_EVIL}\0\n```{EVIL}\n{EVIL}\n```"}]
        files = {
            "openai.json": json.dumps({"title": ALL_EVIL, "messages": messages}),
            "sharegpt.json": json.dumps([{"id": EVIL, "conversations": [
                {"from": "human", "value": ALL_EVIL}, {"from": "gpt", "value": ALL_EVIL}]}]),
            "chat.md": f"# {ALL_EVIL}\n\n## System\n\n{ALL_EVIL}\n\n## User\n\n{ALL_EVIL}\n\n## Assistant\n\n{ALL_EVIL}\n",
            "wrong.json": json.dumps({"messages": [{"role": ALL_EVIL, "content": ALL_EVIL}]}),
            "wrong.md": f"# {ALL_EVIL}\n\n## {ALL_EVIL}\n\n{ALL_EVIL}\n",
            "broken.json": "{\"owned" + ALL_EVIL,
            EVIL + ".json": EVIL,
        }
        names = []
        for name, text in files.items():
            names.append(os.path.join(self.home, name.replace("/", "")))
            with open(names[-1], "w") as out:
                out.write(text)
        db = ["--db", self.database]
        self.check_outputs(*[[*db, "import", name] for name in names], say="")
        self.check_outputs([*db, "list"], *[[*db, "show", str(i)] for i in (1, 2)], [*db, "replay", "1", "--instant"])
        self.check_commands([f"/import {name}" for name in names] + ["/list", "/search word", "/branches", "/system", "/title"])

    def test_no_name_or_template_of_a_model_reaches_the_terminal_raw(self):
        with open(MODEL, "rb") as file:
            model = file.read()
        template = re.search(rb"tokenizer\.chat_template\x08\0\0\0(.{8})", model, re.S)
        size = struct.unpack("<Q", template[1])[0]
        source = model[template.end():template.end() + size].decode()
        evil, refusing, name = (os.path.join(self.home, file) for file in ("evil.gguf", "refusing.gguf", "name.gguf"))
        self.write_model(evil, {"random 1": ALL_EVIL, "<|end_header_id|>": EVIL, source: source + ALL_EVIL})
        self.write_model(refusing, {source: "{{ raise_exception('owned" + EVIL + "') }}" + source})
        self.write_model(name, {"bitnet-b1.58": "owned" + EVIL})
        db = ["--db", self.database, "--device", "cpu"]
        ask = ["-n", "3", "-p", "hello"]
        message = b'[{"role": "user", "content": "hello"}]'
        self.check_outputs(["info", evil], [evil, *db, *ask, "--output", "jsonl"], ["render", evil], [refusing, *db, *ask],
                           ["info", name], [name, *db, *ask], stdin=message)
        self.check_outputs([evil, *db, *ask, "--verbose"], ["bench", evil, "-p", "4", "-n", "2", "-r", "1", "--device", "cpu"], say="")
        self.check_outputs(["detokenize", evil], stdin=b" ".join(b"%d" % i for i in range(0, 700)), say="")
        self.check_json_of_tools(evil)
        model, globals()["MODEL"] = MODEL, evil
        self.addCleanup(globals().__setitem__, "MODEL", model)
        self.check_commands(("hello", "/show model", "/show prompt", "/show stats", "/tokens", "/alt", "/alt 1", "/set"))

    def check_json_of_tools(self, evil):
        """What the tools say of a model as JSON, and of a file whose name a terminal would obey."""
        cpu = ["--device", "cpu", "--threads", "1"]
        bench = [evil, "--json", "-p", "4", "-n", "2", "-r", "1", *cpu]
        text, folder = os.path.join(self.home, "text" + EVIL.replace("/", "")), os.path.join(self.home, "models")
        with open(text, "w") as out:
            out.write("hello " * 40)
        os.mkdir(folder)
        shutil.copy(evil, os.path.join(folder, "owned" + EVIL + ".gguf"))
        pulled = os.path.join(self.home, ".cache", "bitnet-chat", "models", "hub", "a", "b", "owned" + EVIL + ".gguf")
        os.makedirs(os.path.dirname(pulled))
        shutil.copy(evil, pulled)
        self.check_outputs(["plan", evil, "--json", *cpu], ["models", "--json", "--models", folder, *cpu],
                           ["logits", evil, "--tokens", "1,2", "--top", "1000", *cpu],
                           ["perplexity", evil, text, "--json", "--ctx", "32", "--limit", "1", *cpu],
                           ["bench", *bench], ["bench", "validate", *bench], ["rm", pulled, "--yes"])

    def write_model(self, path, strings):
        """The model with some of its strings changed; each grows by whole alignments, so that the rest stays in place."""
        with open(MODEL, "rb") as file:
            data = file.read()
        for old, new in strings.items():
            old, new = old.encode(), new.encode()
            new += b" " * ((len(old) - len(new)) % 32)
            before = struct.pack("<Q", len(old)) + old
            self.assertGreaterEqual(data.count(before), 1, old)
            data = data.replace(before, struct.pack("<Q", len(new)) + new, 1)
        with open(path, "wb") as file:
            file.write(data)

    def test_no_file_name_history_or_error_reaches_the_terminal_raw(self):
        evil_file = os.path.join(self.home, EVIL.replace("/", ""))
        with open(evil_file, "w") as out:
            out.write(f"{EVIL}\n" * 3)
        for arguments in ([evil_file, "-p", "x"], ["info", evil_file], ["--" + EVIL], ["--device", EVIL, "-p", "x", MODEL],
                          [MODEL, "--script", evil_file, "-n", "5"], [MODEL, "--temp", EVIL], ["show", EVIL], ["--db", evil_file, "list"],
                          ["frob", EVIL], [MODEL, "--system", "@" + evil_file + "x", "-p", "x"], ["search", EVIL]):
            with self.subTest(arguments=arguments):
                t = Pty(self.home, arguments)
                self.addCleanup(t.close)
                t.end()
                self.check_harmless(t)
        config = os.path.join(self.home, ".config", "bitnet-chat")
        os.makedirs(config)
        for name, text in (("config", f"{ALL_EVIL} = 1\n"), ("config", f"temp = {ALL_EVIL}\n"), ("keys", f"{ALL_EVIL} = {ALL_EVIL}\n")):
            with open(os.path.join(config, name), "w") as out:
                out.write(text)
            self.check_outputs([MODEL, "-p", "x", "-n", "1"] if name == "config" else [MODEL, "--keys", os.path.join(config, name)])
            if name == "config":
                os.remove(os.path.join(config, name))
        # The screen reports a keys file that is wrong and an editor that fails.
        t = self.start(env={"VISUAL": f"false 'owned{EVIL}'"})
        t.wait(rb"owned")
        t.type("text\x18\x05")
        t.wait(rb"failed")
        t.process.send_signal(signal.SIGTERM)
        t.end()
        self.check_harmless(t)
        state = os.path.join(self.home, ".local", "state", "bitnet-chat")
        os.makedirs(state, exist_ok=True)
        with open(os.path.join(state, "history"), "w") as out:
            out.write(f"{EVIL}\nold line {EVIL}\n")
        t = self.start("-n", "20")
        for keys in ("\x1b[A", "\x1b[A", "\x12old", "\x07", f"/read {evil_file}\r", f"/open {EVIL}\r", f"/frob{EVIL}\r",
                     f"/title {EVIL}\r", f"{EVIL} hello\r"):
            t.type(keys)
            t.take(0.2)
        t.process.send_signal(signal.SIGTERM)
        t.end()
        self.check_harmless(t)

    def test_no_token_reaches_the_terminal_raw(self):
        """The endless model says every byte; -p to a terminal and the screen."""
        t = self.start("-n", "150", "--temp", "5", "--seed", "3", "-p", "hello", ready=None)
        self.assertEqual(t.end(), 0)
        self.check_harmless(t)
        t = self.start("--temp", "5", "--seed", "4")
        t.type("go on\r")
        t.take(1)  # whatever it says until then
        t.process.send_signal(signal.SIGTERM)
        self.assertEqual(t.end(), 143)
        self.check_harmless(t)


if __name__ == "__main__":
    PROGRAM, MODEL = (os.path.abspath(path) for path in (sys.argv.pop(1), sys.argv.pop(1)))
    unittest.main(verbosity=2)
