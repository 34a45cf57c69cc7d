"""Tests the real program in a real terminal: the bundled model, the database, and the keys of a person.

    program_test.py BITNET_CHAT MODEL.gguf [TestCase.test]
"""
import os
import re
import signal
import sqlite3
import sys
import unittest

from tmux import Terminal, running_pid

PROGRAM = MODEL = ""


class ProgramTest(unittest.TestCase):
    def start(self, arguments="", terminal=None):
        if terminal is None:
            terminal = Terminal()
            self.addCleanup(terminal.close)
        terminal.run("stty -a > before")
        terminal.clear()
        terminal.line(f"{PROGRAM} {MODEL} {arguments}; echo left with $?")
        terminal.wait(r"^── .* ready ─", seconds=120)
        return terminal

    def leave(self, terminal):
        terminal.key("C-d")
        terminal.wait("^left with 0$")
        terminal.wait_prompt()
        terminal.line("stty -a > after; cmp before after && echo same")
        terminal.wait("^same$")

    def ask(self, terminal, text):
        """Returns the answer as rows of the screen."""
        terminal.line(text)
        terminal.wait(rf"^› {re.escape(text)}\n\n  [^ …].*(\n.*)*── .* ready ─", seconds=120)
        return terminal.screen().split(f"› {text}\n\n")[-1].split("\n── ")[0].strip()

    def test_a_conversation(self):
        t = self.start("--temp 0")
        self.assertTrue(self.ask(t, "Hello!"))
        screen = t.screen()
        self.assertRegex(screen, r"\d tok/s")
        used = int(re.search(r"(\d+)/\d+", screen)[1])
        self.assertGreater(used, 0)
        t.resize(100, 30)
        t.wait(r"^──.{96}──$")
        self.assertTrue(self.ask(t, "What is your name?"))
        self.assertGreater(int(re.search(r"(\d+)/\d+", t.screen())[1]), used)
        for columns, rows in ((60, 16), (20, 5), (80, 24)):
            t.resize(columns, rows)
            t.wait_until(f"{columns}x{rows} is drawn", lambda: t.rows()[rows - 2].startswith("──")
                         and len(t.rows()[rows - 2]) == columns)
        t.wait("› What is your name?")
        t.type("/undo")
        t.key("Tab", "Enter")
        t.wait("› What is your name?", gone=True)
        t.key("Up")
        t.wait("^› /undo")
        t.key("Up")
        t.wait_until("Up brings the question back",
                     lambda: t.rows()[t.cursor()[1]].strip() == "› What is your name?")
        t.key("C-c")
        self.leave(t)

        self.start("-c", t)  # the conversation is still there
        t.wait("^› Hello!$")
        self.leave(t)

    def test_esc_keeps_the_partial_answer(self):
        terminal = Terminal(200, 60)  # where the question does not scroll away soon
        self.addCleanup(terminal.close)
        t = self.start("", terminal)
        t.line("/set temp 100")  # an answer that does not end soon, whose first line is plain words
        t.line("/set seed 2")
        t.line("/set top_k 0")
        t.line("/set top_p 1")
        t.line("/set min_p 0")
        t.line("Tell me a long story.")
        t.wait(r"› Tell me a long story\.\n\n  [^ …]", seconds=60)
        t.key("Escape")
        t.wait(r"^── .* ready ─", seconds=60)  # such an answer may have the word itself
        stopped = "(stopped)" in t.screen()
        # Where the answer had ended by itself, the key may still wait to become Meta: it takes this letter with it.
        t.key("x", "C-u")
        self.leave(t)
        with sqlite3.connect(os.path.join(t.home, "data", "bitnet-chat", "chats.db")) as db:
            text, finish = db.execute("SELECT message.text, turn.finish FROM message JOIN turn "
                                      "ON turn.message = message.id ORDER BY message.id DESC LIMIT 1").fetchone()
        self.assertTrue(text)
        self.assertEqual(finish == "interrupted", stopped)

    def test_what_was_not_sent_comes_back_with_the_next_start(self):
        t = self.start()
        for number, code, text in ((signal.SIGHUP, 129, "half a thought"), (signal.SIGTERM, 143, "#12 fails: why?")):
            t.type(text)
            t.wait("^› " + re.escape(text))
            os.kill(running_pid(t), number)
            t.wait(f"^left with {code}$")
            self.start("", t)
            t.key("Up")
            t.wait("^› " + re.escape(text))
            t.key("C-c")
            t.wait("^› " + re.escape(text), gone=True)
        self.leave(t)

    def test_pastes_are_stored_whole_or_given_back(self):
        t = self.start("-n 4 --temp 0")
        text = "".join(f"row {i} of 漢字\n" for i in range(40))
        t.paste(text)
        t.wait(r"› \[paste 1: 40 lines\]")
        t.key("Enter")
        t.wait(r"^  row 39 of 漢字\n(\n|  [^r].*\n)+── .* ready ─", seconds=120)
        t.paste("much of it " * 100000)
        t.wait(r"› \[paste 2: 1100000 bytes\]")
        t.key("Enter")
        t.wait("Not sent: the conversation would take", seconds=120)
        t.wait(r"› \[paste 3: 1100000 bytes\]")  # it is there again, to be sent elsewhere or cleared
        t.key("C-c")
        t.wait(r"\[paste 3", gone=True)
        self.leave(t)
        with sqlite3.connect(os.path.join(t.home, "data", "bitnet-chat", "chats.db")) as db:
            self.assertEqual(db.execute("SELECT text FROM message WHERE role = 'user'").fetchall(), [(text,)])

    def test_commands_while_it_runs(self):
        t = self.start()
        t.line("/help")
        t.wait(r"^  /help \[COMMAND\|keys\] ")
        t.line("/nonsense")
        t.wait("^! there is no command /nonsense")
        t.line("/set temp 0")
        t.wait("temp")
        t.line("/quit")
        t.wait("^left with 0$")

    def test_no_colour_where_none_is_wanted(self):
        no_color, theme = {"NO_COLOR": "1"}, "theme = dark\n"
        for arguments, environment, config, coloured in (
                ("", {}, "", True), ("--no-color", {}, "", False), ("", no_color, "", False), ("", {}, theme, True),
                ("", no_color, theme, False), ("--theme dark", no_color, theme, True)):
            with self.subTest(arguments=arguments, environment=environment, config=config):
                terminal = Terminal(environment=environment)
                self.addCleanup(terminal.close)
                os.makedirs(os.path.join(terminal.home, "config", "bitnet-chat"))
                with open(os.path.join(terminal.home, "config", "bitnet-chat", "config"), "w") as file:
                    file.write(config)
                t = self.start(f"--private {arguments}", terminal)
                t.line("/nonsense")
                t.wait("^! there is no command")
                self.assertEqual(bool(re.search(r"\x1b\[[0-9;]*\b(3[0-8]|9[0-7])[;m]", t.screen(colours=True))), coloured)

    def test_arrows_that_come_together_are_not_lost_in_a_menu(self):
        t = self.start("--private")
        t.type("/s")
        menu = [row.split()[0] for row in t.wait("^  /set ", "^  /show ").split("\n") if row.startswith("  /")]
        t.send("\x1b[B\x1b[B\x1b[B")
        t.key("Tab")
        t.wait(rf"^› {menu[2]} *$")
        t.key("C-u")
        self.leave(t)

    def test_plain_lines_take_letters_in_a_locale_without_utf_8(self):
        t = Terminal(environment={"LC_ALL": "C", "TERM": "dumb"})
        self.addCleanup(t.close)
        t.line(f"{PROGRAM} {MODEL} -n 2 --temp 0; echo left with $?")
        for text in ("first", "aüb"):
            t.wait(r"^>\s*\Z", seconds=120)
            t.type(text)
            t.wait(rf"^> {text}$")
            t.key("Left", "Left", "BSpace")  # by characters, not by bytes
            t.type(text[-3])
            t.wait(rf"^> {text}$")
            t.key("Enter")
        t.wait(r"^>\s*\Z", seconds=120)
        t.key("C-d")
        t.wait("^left with 0$")
        with sqlite3.connect(os.path.join(t.home, "data", "bitnet-chat", "chats.db")) as db:
            self.assertEqual(db.execute("SELECT text FROM message WHERE role = 'user'").fetchall(), [("first",), ("aüb",)])

    def test_a_search_and_the_history_of_plain_lines(self):
        t = Terminal(environment={"TERM": "dumb"})
        self.addCleanup(t.close)
        t.line(f"{PROGRAM} {MODEL} --private -n 2 --temp 0; echo left with $?")
        for text in ("first", "second"):
            t.wait(r"^>\s*\Z", seconds=120)
            t.line(text)
        t.wait(r"^> second\n[^>](.|\n)*^>\s*\Z", seconds=120)
        t.key("C-r")
        t.type("fir")
        t.wait(r"^\(reverse-i-search\)`fir': first")
        t.key("C-x", "C-x")  # exchanges point and mark
        t.wait(r"^> first$")
        t.key("C-c")
        t.wait(r"^> first\n>\s*\Z")
        t.key("Up")
        t.wait(r"^> second\s*\Z")
        t.key("C-c")
        t.wait(r"^> second\n>\s*\Z")
        t.line("third")
        t.wait(r"^> third\n[^>](.|\n)*^>\s*\Z", seconds=120)
        t.key("Up", "Up")
        t.wait(r"^> second\s*\Z")
        t.key("C-c", "C-d")
        t.wait("^left with 0$")

    def test_leaving_and_coming_back(self):
        for columns, rows in (80, 24), (200, 60), (40, 12):
            with self.subTest(size=f"{columns}x{rows}"):
                terminal = Terminal(columns, rows)
                self.addCleanup(terminal.close)
                t = self.start("--no-kv-cache --temp 0", terminal)
                t.type("/")
                t.wait(r"^  /help \[COMMAND\|keys\] +what there[\s\S]*\n── ")
                t.type("und")
                t.wait(r"^  /undelete \[ID\] .*\n  /undo +step back")
                t.wait("^  /help", gone=True)
                t.key("Down", "Down", "Enter")
                t.wait("^! there is no turn to step back from")
                t.type("/un")
                t.wait("^  /undo ")
                t.key("Escape")
                t.wait("^  /undo ", gone=True)
                t.key("C-u")
                t.line("Hello!")
                t.wait(r"^› Hello!\n\n  [^ …].*(\n.*)*── (.* )?ready ─")
                t.line("quit")
                t.wait(r"^  End the program\?\n\n› Yes, leave")
                t.key("Escape")
                t.wait("End the program", gone=True)
                t.line("exit")
                t.wait("^› Yes, leave")
                t.key("Enter")
                screen = "".join(t.wait("^left with 0$").split())  # it may be broken at any of its spaces
                self.assertRegex(screen, r"goonwith:bitnet-chat--resume1/.*#2messagessaved:")

    def test_a_persona_and_picking_code(self):
        t = Terminal()
        self.addCleanup(t.close)
        with open(os.path.join(t.home, "said.json"), "w") as f:
            f.write('[{"messages": [{"role": "user", "content": "Code?"}, {"role": "assistant", "content": '
                    '"```python\\nprint(1)\\n```\\n\\n```sh\\nmake\\nmake test\\n```\\n"}]}]')
        t.line(f"{PROGRAM} import said.json; echo imported with $?")
        t.wait("^imported with 0$", seconds=120)
        t.clear()
        self.start("-c", t)
        for columns, rows in ((200, 60), (40, 12), (80, 24)):
            t.resize(columns, rows)
            t.wait(rf"^──.{{{columns - 4}}}──$")
            t.key("F2")
            t.wait("^› +2  make")
            t.type("k")
            t.wait("^› +1  print")
            t.key("Escape")
            t.wait("^› +1  print", gone=True)
            t.type("/persona br")
            t.wait("^ +brief +answers in one")
            t.key("C-u")
            t.wait("^ +brief", gone=True)
        t.line("/copy")
        t.wait("^› +2  make")
        t.type("w")
        t.wait(r"^› /save 2 block-2\.sh")
        t.key("Enter")
        t.wait("Code block 2, 2 lines, is in")
        t.line("/persona brief")
        t.wait("brief answers from here on")
        self.ask(t, "Hello!")
        t.line("/set status full")
        for columns, rows in ((200, 60), (40, 12), (80, 24)):  # the narrow one has no room for all figures
            t.resize(columns, rows)
            t.wait(rf"^──{'.*reused [0-9]+ of [0-9]+' if columns > 40 else ' ready ─'}.*──$")
        self.leave(t)
        t.clear()
        self.start("-c", t)
        t.line("/persona")
        t.wait(r"\* brief ")
        self.leave(t)

    def test_files_in_a_message_and_the_wheel(self):
        for columns, rows in (80, 24), (200, 60), (40, 12):
            with self.subTest(size=f"{columns}x{rows}"):
                terminal = Terminal(columns, rows)
                self.addCleanup(terminal.close)
                with open(os.path.join(terminal.home, "notes.txt"), "w") as notes:
                    notes.write("".join(f"The sea has fish {i}.\n" for i in range(60)))
                with open(os.path.join(terminal.home, "my own.txt"), "w") as own:
                    own.write("It is deep.\n")
                with open(os.path.join(terminal.home, "picture"), "wb") as picture:
                    picture.write(b"\x89PNG\0\0")
                t = self.start("--no-kv-cache -n 8 --temp 0", terminal)
                t.type("What is in @no")
                t.wait(r"^  notes\.txt +1\.\d KiB\n── ")
                t.key("Tab")
                t.wait(r"^\+ notes\.txt, \d+ tokens")
                t.key("BSpace")
                t.wait(r"^\+ notes", gone=True)
                t.type("t and @picture")
                t.wait(r"^\+ notes\.txt, \d+ tokens")
                t.key("Enter")
                t.wait(r"^! picture: is not text")
                t.key("C-u")
                # Several, one of them with a space in its name; Backspace at the start takes them out.
                t.line("/read notes.txt")
                t.wait(r"^\+ notes\.txt, \d+ tokens")
                t.type("And @my")
                t.key("Tab")
                t.wait(r'^› And @"my own\.txt" *$')
                t.wait(r"^\+ .*my o")
                t.key("C-a", "BSpace")
                t.wait(r"^› And *$")
                t.wait(r"^\+ notes\.txt, \d+ tokens")
                t.key("C-a", "BSpace")  # another key before it, or it would pass for a Backspace that is held down
                t.wait(r"^\+ notes", gone=True)
                t.wait(r"^› And *$")
                t.key("C-u", "C-k")
                t.type("@notes.txt?")
                t.key("Enter")
                t.wait(r"The sea has fish 59\.\n(.*\n)*── (.* )?ready ─")
                t.wait(r"^\+ notes", gone=True)
                t.line("/help")
                t.wait(r"^  /help \[COMMAND")
                t.key("C-End")
                t.wait("^  A line that begins with //")
                t.type("x")  # the keys before this have been read when it is there: a wheel's come alone
                t.wait("^› x")
                t.key("BSpace")
                t.wait("^› x", gone=True)
                t.send(3 * "\x1b[A")  # a wheel that turns up
                t.wait("↓ 3 more")
                t.wait_until("the history did not turn", lambda: t.rows()[t.cursor()[1]].strip() == "›")
                t.send(3 * "\x1bOB")
                t.wait("↓ 3 more", gone=True)
                t.type("x")  # ends the turn of the wheel
                t.key("BSpace", "Up")
                t.wait_until("a key is a key", lambda: t.rows()[t.cursor()[1]].strip() == "› /help")
                t.key("C-c", "C-d")
                t.wait("^left with 0$")

    def test_branches(self):
        t = self.start("--temp 0")
        self.ask(t, "Hello!")
        self.ask(t, "What is your name?")
        t.line("/regen")
        t.wait(r"^  \(2/2\)$")
        t.wait("^── .* ready ─")
        self.assertNotIn("reused", t.screen())
        t.line("/set status full")
        t.wait(r"^──.* reused \d+ of \d+ tokens · ")
        t.line("/set status short")
        t.wait("^──.* reused", gone=True)
        t.line("/edit")
        t.wait_until("the turn is in the input line",
                     lambda: t.rows()[t.cursor()[1]].strip() == "› What is your name?")
        t.type(" Say it.")
        t.key("Enter")
        t.wait(r"^› What is your name\? Say it\.\n  \(2/2\)\n\n  [^ …]")
        t.wait("^── .* ready ─")
        t.line("/branches")
        t.wait(r"^  \* +7  › What is your name\? Say… .*\(here\)$")
        t.line("/goto 4")
        t.wait(r"^› What is your name\?\n  \(1/2\)$")
        t.wait(r"^  \(1/2\)\n\n+── ")
        t.line("/search name")
        t.wait(r"^  /search\n +1  Hello!, message 3$")
        self.assertRegex(t.screen(colours=True), "your \x1b\\[1mname\x1b")
        t.line("/alt")
        t.wait("/alt N shows all candidates")
        t.line("/private")
        t.wait("^── .* private ──$")
        t.line("my secret")
        t.wait(r"^› my secret\n\n  [^ …]")
        t.wait("^── .* ready ─")
        self.leave(t)
        with open(os.path.join(t.home, "state", "bitnet-chat", "history")) as history:
            typed = history.read()
        self.assertIn("/private", typed)
        self.assertNotIn("secret", typed)

    def test_a_script_drives_the_screen(self):
        t = Terminal()
        self.addCleanup(t.close)
        with open(os.path.join(t.home, "script"), "w") as script:
            script.write("Hello!\n@wait idle 60\n@expect /› Hello!/\n@resize 50x12\n@screenshot shot.txt\n"
                         "@key F1\n@expect /Alt-Enter/\n@key Esc\n@expect-not /Alt-Enter/\n/quit\n")
        t.clear()
        t.line(f"{PROGRAM} {MODEL} --temp 0 --script script; echo left with $?")
        t.wait("^left with 0$", seconds=120)
        with open(os.path.join(t.home, "shot.txt")) as shot:
            rows = shot.read().split("\n")
        self.assertEqual(rows[0], "› Hello!")
        self.assertEqual(len(rows), 12 + 1)
        self.assertEqual(len(rows[10]), 50)


if __name__ == "__main__":
    PROGRAM, MODEL = (os.path.abspath(path) for path in (sys.argv.pop(1), sys.argv.pop(1)))
    unittest.main()
