"""The screen in a real terminal: keys as a person presses them, and what they then see.

    screen_test.py FAKE_CHAT [TestCase.test]

FAKE_CHAT is the program of fake_chat.cpp: the real screen with answers of its own.
"""
import os
import re
import signal
import stat
import subprocess
import sys
import unittest

from tmux import Terminal

PROGRAM = ""


def running_pid(terminal):
    shell = terminal.tmux("display-message", "-p", "#{pane_pid}").strip()
    return int(subprocess.run(["pgrep", "-P", shell], capture_output=True, text=True, check=True).stdout.split()[0])


class ScreenTest(unittest.TestCase):
    def start(self, environment="", columns=80, rows=24):
        terminal = Terminal(columns, rows)
        self.addCleanup(terminal.close)
        terminal.line("stty -a > before")
        terminal.line("clear")
        terminal.line(f"{environment} {PROGRAM}; echo left with $?")
        if "LOAD" not in environment:
            terminal.wait("ready")
        return terminal

    def wait_left(self, terminal, code):
        terminal.wait(rf"^left with {code}$")
        self.assert_restored(terminal)

    def assert_restored(self, terminal):
        """The shell's screen is back, lines are edited by the terminal, and the cursor shows."""
        terminal.line("stty -a > after; cmp before after && echo same")
        terminal.wait("^same$")
        flags = terminal.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}").split()
        self.assertEqual(flags, ["0", "1"])

    def input_row(self, terminal):
        return terminal.rows()[terminal.cursor()[1]]

    def wait_input(self, terminal, text):
        terminal.wait_until(f"the input is {text!r}", lambda: self.input_row(terminal).strip() == text.strip())

    def test_says_something_and_is_answered(self):
        t = self.start()
        self.assertIn("Write a message", t.screen())
        self.assertIn("fake-model", t.screen())
        t.line("Good morning")
        t.wait(r"^  Good morning$")
        screen = t.wait("ready")
        self.assertRegex(screen, r"(?m)^› Good morning$")
        self.assertRegex(screen, r"\d/2048")
        t.key("C-d")
        self.wait_left(t, 0)

    def test_first_screen_comes_before_the_model_and_typing_works_meanwhile(self):
        t = self.start("FAKE_LOAD_MS=3000")
        screen = t.wait("loading")
        self.assertIn("the model is loading; you can write meanwhile", screen)
        t.line("early bird")
        t.type("next one")
        t.key("Enter")  # a message waits already: kept, and told
        self.assertIn("next one", t.wait("text is kept"))
        t.wait(r"^  early bird$")
        self.wait_input(t, "› next one")

    def test_enter_while_it_answers_keeps_the_text_and_tells(self):
        t = self.start()
        t.line("forever")
        t.wait("answering")
        t.line("my next thought")
        self.assertRegex(t.wait("still answering"), r"› my next thought")
        t.key("Escape")
        t.wait(r"\(stopped\)")
        self.wait_input(t, "› my next thought")
        t.key("Enter")
        t.wait(r"^  my next thought$")

    def test_esc_stops_and_the_answer_stays(self):
        t = self.start()
        t.line("forever")
        t.wait("again again again")
        t.key("Escape")
        screen = t.wait(r"\(stopped\)")
        self.assertIn("again again", screen)
        self.assertIn("ready", screen)

    def test_ctrl_c_clears_then_stops_then_quits(self):
        t = self.start()
        t.line("forever")
        t.wait("again again")
        t.type("half a thought")
        t.wait("half a thought")
        t.key("C-c")
        self.assertNotIn("(stopped)", t.wait("half a thought", gone=True))
        t.key("C-c")
        t.wait(r"\(stopped\)")
        t.key("C-c")
        t.wait(r"press \^C again to quit")
        t.type("x")  # another key: not again
        t.wait("press", gone=True)
        t.key("C-c")
        self.wait_input(t, "›")
        t.key("C-c")
        t.wait(r"press \^C again to quit")
        t.key("C-c")
        self.wait_left(t, 0)

    def test_ctrl_d_deletes_where_there_is_text(self):
        t = self.start()
        t.type("abc")
        t.key("C-a", "C-d")
        self.wait_input(t, "› bc")

    def test_history_and_search(self):
        t = self.start()
        for text in ("first words", "second words"):
            t.line(text)
            t.wait(rf"^  {text}$")
        t.key("Up")
        self.wait_input(t, "› second words")
        t.key("Up")
        self.wait_input(t, "› first words")
        t.key("Down")
        self.wait_input(t, "› second words")
        t.key("C-c")
        t.key("C-r")
        t.type("first")
        t.wait("reverse-i-search.*first words")
        t.key("Enter")
        t.wait_until("it was sent again", lambda: t.screen().count("› first words") == 2)
        t.key("C-d")
        self.wait_left(t, 0)
        history = os.path.join(t.home, "state", "bitnet-chat", "history")
        self.assertEqual(stat.S_IMODE(os.stat(history).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(history)).st_mode), 0o700)
        t.line("clear")
        t.line(PROGRAM)
        t.wait("ready")
        t.key("Up")
        self.wait_input(t, "› first words")

    def test_readline_edits(self):
        t = self.start()
        t.type("hello word")
        t.key("C-b")
        t.type("l")
        self.wait_input(t, "› hello world")
        t.key("M-b", "M-d")
        t.type("moon")
        self.wait_input(t, "› hello moon")
        t.key("C-u")
        self.wait_input(t, "›")
        t.key("C-y")
        self.wait_input(t, "› hello moon")

    def test_cursor_stands_behind_wide_characters(self):
        t = self.start()
        t.type("a漢字é😀")
        self.wait_input(t, "› a漢字é😀")
        t.wait_until("the cursor is at 2+1+2+2+1+2", lambda: t.cursor()[0] == 10)
        t.key("BSpace", "BSpace", "BSpace")
        self.wait_input(t, "› a漢")
        t.wait_until("the cursor is behind it", lambda: t.cursor()[0] == 5)

    def test_completion(self):
        t = self.start()
        t.type("/h")
        t.key("Tab")
        self.wait_input(t, "› /help")
        t.key("C-c")
        t.type("/s")
        t.key("Tab")
        t.wait(r"/set\s+/show")
        t.type("ho")
        t.key("Tab")
        self.wait_input(t, "› /show")
        self.assertNotIn("/set", t.screen())

    def test_several_lines_and_pastes(self):
        t = self.start()
        t.type("one")
        t.key("M-Enter")
        t.type("two")
        t.key("C-j")
        t.type("three")
        t.wait(r"^› one\n  two\n  three")
        t.key("Up")
        t.type("!")
        t.wait(r"^  two!")
        t.key("C-c")
        t.paste("alpha\nbeta\n")
        t.wait(r"^› alpha\n  beta")
        self.assertNotIn("answering", t.screen())
        t.key("C-c")
        t.paste("".join(f"pasted {i}\n" for i in range(12)))
        t.wait(r"› \[paste 1: 12 lines\]")
        t.key("Enter")
        t.wait(r"^  pasted 11$")

    def test_a_paste_brings_no_escape_sequences(self):
        t = self.start()
        t.paste("a\x1b[2Jb")
        self.wait_input(t, "› a␛[2Jb")

    def test_scrolling_and_new_lines(self):
        t = self.start("FAKE_WORD_MS=2")
        t.line("count 200")
        t.wait("number 200$")
        t.wait("ready")
        t.key("PPage")
        screen = t.wait(r"↓ \d+ more")
        self.assertNotIn("number 200", screen)
        t.key("PPage")
        t.wait(r"number 140$")  # two pages up: the first alone does not show it
        t.key("NPage", "NPage", "NPage")
        self.assertNotIn("more", t.wait("number 200$"))
        t.line("forever")
        t.wait("again")
        t.key("C-Up")
        t.wait(r"↓ \d+ new lines?")
        first = t.rows()[0]
        t.wait(r"↓ (?!1 )\d+ new lines")
        self.assertEqual(t.rows()[0], first)
        t.key("Escape")
        t.wait("ready")
        t.key("C-End")
        t.wait(r"\(stopped\)")
        t.key("C-Home")
        t.wait("^› count 200")

    def test_resizing(self):
        t = self.start()
        t.line("markdown")
        t.wait("2. two")
        t.wait("ready")
        for columns, rows in ((100, 30), (60, 16), (20, 5), (5, 2), (200, 60), (80, 24)):
            t.resize(columns, rows)
            def drawn():
                row = t.rows()[rows - 2]
                return len(row) == columns and row.startswith("──") and (columns < 60 or "/2048" in row)
            t.wait_until(f"the status line fills {columns} columns above the input", drawn)
        t.wait("• a first item")
        for i in range(40):  # a storm
            t.resize(20 + i * 3 % 70, 5 + i % 20)
        t.resize(80, 24)
        t.wait(r"^── fake-model.*──$")
        t.line("still here")
        t.wait("^  still here$")

    def test_columns_of_any_script(self):
        t = self.start()
        t.line("unicode")
        t.wait("bidi <U\\+202E>abc")
        t.wait("ready")
        screen = t.screen()
        self.assertIn("escape ␛[31mred␛[0m|", screen)
        # tmux counts the columns itself: the bar must stand where our own count puts it.
        expected = {"CJK": 14, "VS16": 9, "ZWJ": 8, "skin": 9, "flag": 9, "marks": 10, "hebrew": 13}
        for y, row in enumerate(t.rows()):
            name = row.strip().split(" ")[0]
            if name not in expected:
                continue
            column = expected.pop(name)
            t.tmux("copy-mode")
            t.tmux("send-keys", "-X", "top-line")
            for _ in range(y):
                t.tmux("send-keys", "-X", "cursor-down")
            t.tmux("send-keys", "-X", "start-of-line")
            t.tmux("send-keys", "-X", "jump-forward", "|")
            x = int(t.tmux("display-message", "-p", "#{copy_cursor_x}"))
            t.tmux("send-keys", "-X", "cancel")
            self.assertEqual(x, column, row)
        self.assertEqual(expected, {})

    def test_help(self):
        t = self.start()
        t.key("F1")
        t.wait("Keys")
        t.type("x")
        t.wait("Keys", gone=True)
        self.wait_input(t, "› x")

    def test_help_pages_where_it_does_not_fit(self):
        t = self.start(columns=40, rows=12)
        t.key("F1")
        t.wait(r"↓ PgDn")
        t.wait(r"^  Enter +send$")
        t.key("NPage")
        t.wait(r"^  Enter", gone=True)
        for _ in range(4):
            t.key("NPage")
        t.wait("/help lists the commands")
        t.key("F1")
        t.wait("Write a message")

    def test_find(self):
        t = self.start("FAKE_WORD_MS=1")
        t.line("count 150")
        t.wait("number 150$")
        t.wait("ready")
        t.key("C-f")
        t.wait(r"^find ›")
        t.type("BER 1")  # without case; 1, 1?, 1??
        t.wait(r"find › BER 1  62/62")
        t.key("Up")
        t.wait(r"61/62")
        t.key("Enter", "Enter")
        t.wait(r" 1/62.*n next")
        t.wait(r"^  number 1$")
        t.type("NN")
        t.wait(r" 61/62")
        t.type("n")
        t.wait(r" 62/62")
        self.assertRegex(t.screen(colours=True), r"\x1b\[[0-9;]*7[0-9;]*mber 1")  # in reverse
        t.type("x")  # other text is added to the words
        t.wait(r"find › BER 1x  not found")
        t.key("BSpace", "C-u")
        t.type("number 99")
        t.wait(r"find › number 99  1/1")
        t.key("Escape")
        t.wait("find ›", gone=True)
        t.wait("number 99$")  # and stays there
        self.wait_input(t, "›")

    def test_open_without_a_number_picks(self):
        t = self.start()
        t.type("a draft")
        t.key("C-o")
        t.wait("Open a conversation")
        self.assertIn("talk 1 about the weather␛[31m", t.screen())
        t.type("漢")
        t.wait("13 of them")
        t.key("Down", "Down", "Up")
        t.wait("^› talk 6 ")
        t.key("Enter")
        t.wait("opened 6")
        self.wait_input(t, "› a draft")
        t.key("C-c")
        t.line("/open")
        t.wait("Open a conversation")
        t.key("Escape")
        t.wait("Open a conversation", gone=True)
        self.assertNotIn("opened 1", t.screen())

    def test_copy_reaches_the_terminals_clipboard(self):
        t = self.start()
        t.tmux("set-option", "-s", "set-clipboard", "on")
        t.line("rich")
        t.wait(r"☐ open")
        t.wait("ready")
        self.assertIn("sh · /copy 1", t.screen())
        t.line("/copy")
        t.wait("Copied")
        t.wait_until("tmux has it", lambda: "make" in t.tmux("list-buffers"))
        self.assertEqual(t.tmux("show-buffer"), "make -j2 \\\n  all\n")
        t.line("plain \x1b[31m words 漢字")  # no code: the answer itself, byte for byte
        t.wait("ready")
        t.wait(r"^  plain")
        t.line("/copy")
        t.wait_until("tmux has it", lambda: "plain" in t.tmux("list-buffers"))
        self.assertIn("words 漢字", t.tmux("show-buffer"))

    def test_copy_gives_the_text_to_a_clipboard_tool(self):
        t = Terminal(environment={"DISPLAY": ":7"})
        self.addCleanup(t.close)
        tool = os.path.join(t.home, "xclip")
        with open(tool, "w") as f:
            f.write(f"#!/bin/sh\necho \"$@\" > {t.home}/asked; cat > {t.home}/copied.tmp; mv {t.home}/copied.tmp {t.home}/copied\n")
        os.chmod(tool, 0o755)
        t.line(f"PATH={t.home}:$PATH {PROGRAM}")
        t.wait("ready")
        t.line("rich")
        t.wait("☐ open")
        t.line("/copy 1")
        t.wait_until("xclip ran", lambda: os.path.exists(os.path.join(t.home, "copied")))
        with open(os.path.join(t.home, "copied")) as f:
            self.assertEqual(f.read(), "make -j2 \\\n  all\n")
        with open(os.path.join(t.home, "asked")) as f:
            self.assertEqual(f.read(), "-selection clipboard\n")

    def test_the_editor_edits_the_input(self):
        t = Terminal()
        self.addCleanup(t.close)
        editor = os.path.join(t.home, "ed.sh")
        with open(editor, "w") as f:
            f.write("#!/bin/sh\nstty -a | grep -o ' icanon'\ncat \"$2\"; echo; echo press; read line\n"
                    "printf 'edited %s\\nsecond\\033[2J' \"$line\" > \"$2\"\n")
        os.chmod(editor, 0o755)
        t.line("clear")
        t.line(f"VISUAL='{editor} --wait' {PROGRAM}")
        t.wait("ready")
        t.type("some words")
        t.key("C-x", "C-e")
        screen = t.wait("^press$")  # the terminal is the editor's, as a terminal is
        self.assertIn("some words", screen)
        self.assertIn("icanon", screen)
        t.line("twice")
        t.wait(r"^› edited twice\n  second␛\[2J")
        t.key("Enter")
        t.wait(r"^  second␛")
        t.key("C-d")
        t.wait(r"^twice\nprompt")
        t.line("clear")
        t.line(f"VISUAL=false {PROGRAM}")
        t.wait("ready")
        t.type("kept")
        t.key("C-x", "C-e")
        t.wait("the editor 'false' failed")
        self.wait_input(t, "› kept")

    def test_a_keys_file_binds(self):
        t = self.start("FAKE_KEYS='C-t = find' ")
        t.key("C-t")
        t.wait("^find ›")
        t.key("Escape")
        t.key("F1")
        t.wait(r"\^T +find in the conversation")

    def test_vi_mode_and_inputrc(self):
        t = Terminal()
        self.addCleanup(t.close)
        with open(os.path.join(t.home, ".inputrc"), "w") as f:
            f.write('set editing-mode vi\n"\\C-g": "from the inputrc"\n')
        t.line("clear")
        t.line(f"{PROGRAM}")
        t.wait("ready")
        t.key("C-g")
        self.wait_input(t, "› from the inputrc")
        t.key("Escape")
        t.wait_until("Esc moves back", lambda: t.cursor()[0] == 2 + len("from the inputr"))
        t.type("0dw")
        self.wait_input(t, "› the inputrc")
        t.type("A!")
        self.wait_input(t, "› the inputrc!")
        t.key("Enter")
        t.wait("^  the inputrc!$")

    def test_a_megabyte_pasted_is_folded_and_sent(self):
        t = self.start()
        t.paste("x" * (1 << 20))
        t.wait(r"› \[paste 1: 1048576 bytes\]")
        t.type("y")
        self.wait_input(t, "› [paste 1: 1048576 bytes]y")
        t.key("C-c")
        self.wait_input(t, "›")

    def test_themes(self):
        t = self.start("FAKE_THEME=dark", rows=40)
        t.line("rich")
        t.wait("☐ open")
        self.assertIn("38;5;177", t.screen(colours=True))
        self.assertRegex(t.screen(colours=True), r"\x1b\[[0-9;]*9m(\x1b\[[0-9;]*m)?old")  # struck through
        t = self.start("FAKE_THEME=light", rows=40)
        t.line("rich")
        t.wait("☐ open")
        self.assertIn("38;5;90", t.screen(colours=True))
        t = self.start("FAKE_THEME=mono", rows=40)
        t.line("rich")
        t.wait("☐ open")
        self.assertIsNone(re.search(r"\x1b\[[0-9;]*\b3[0-8]", t.screen(colours=True)))

    def test_tiny_screens(self):
        t = self.start(columns=20, rows=5)
        t.line("rich")
        t.wait("open")
        for columns, rows in ((20, 5), (5, 5), (8, 3), (2, 2), (1, 1), (20, 5)):
            t.resize(columns, rows)
            for keys in (("F1",), ("F1",), ("C-o",), ("Down",), ("Escape",), ("C-f",), ("o",), ("Up",), ("Escape",),
                         ("PPage",), ("C-End",)):
                t.key(*keys)
                t.cursor()
        t.resize(80, 24)
        t.wait("☐ open")
        t.wait(r"^── fake-model")

    def test_ctrl_l_repairs_the_screen(self):
        t = self.start()
        with open(t.tmux("display-message", "-p", "#{pane_tty}").strip(), "w") as tty:
            tty.write("\x1b[5;5Hgarbage")
        t.wait("garbage")
        t.key("C-l")
        t.wait("garbage", gone=True)

    def test_suspend_and_come_back(self):
        t = self.start()
        t.line("forever")
        t.wait("again")
        t.type("kept")
        t.key("C-z")
        t.wait("Stopped")
        self.assert_restored(t)
        t.line("fg")
        t.wait("› kept")
        t.key("C-c", "C-c")
        t.wait(r"\(stopped\)")
        t.key("C-d")
        t.wait(r"^prompt\$")
        t.line("clear")
        self.assert_restored(t)

    def test_signals_leave_a_good_terminal(self):
        for number, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)):
            with self.subTest(signal=number):
                t = self.start()
                os.kill(running_pid(t), number)
                self.wait_left(t, code)

    def test_a_crash_leaves_a_good_terminal(self):
        t = self.start()
        t.line("die")
        self.wait_left(t, 134)

    def test_what_drivers_print_goes_to_the_log(self):
        t = self.start("FAKE_STDERR=1")
        t.line("count 30")
        t.wait("number 30$")
        self.assertNotIn("driver", t.screen())
        t.key("C-d")
        self.wait_left(t, 0)
        log = os.path.join(t.home, "state", "bitnet-chat", "log")
        with open(log) as f:
            self.assertIn("driver: something to say", f.read())
        self.assertEqual(stat.S_IMODE(os.stat(log).st_mode), 0o600)

    def test_no_color_has_no_colour(self):
        t = self.start("NO_COLOR=1")
        t.line("markdown")
        t.wait("2. two")
        self.assertIsNone(re.search(r"\x1b\[[0-9;]*\b3[0-7]m", t.screen(colours=True)))
        t = self.start()
        t.line("markdown")
        t.wait("2. two")
        self.assertIsNotNone(re.search(r"\x1b\[[0-9;]*\b3[0-7]m", t.screen(colours=True)))

    def test_terminals_that_cannot(self):
        for term in ("dumb", "no-such-terminal", ""):
            t = Terminal()
            self.addCleanup(t.close)
            t.line(f"TERM={term} {PROGRAM}")
            t.wait("^no screen here$")

    def test_a_history_that_cannot_be_kept_is_told(self):
        t = Terminal()
        self.addCleanup(t.close)
        t.line(f"mkdir -p state/bitnet-chat/history; {PROGRAM}")
        t.wait("ready")
        self.assertIn("history is not kept", t.screen())
        t.line("it goes on")
        t.wait("^  it goes on$")


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
