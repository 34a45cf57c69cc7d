"""Tests the screen in a real terminal: what a person sees of a conversation, and how they move in it.

    screen_test.py FAKE_CHAT [TestCase.test]

FAKE_CHAT is the program of fake_chat.cpp: the real screen with answers of its own.
"""
import itertools
import os
import re

from screen_case import ScreenCase, main
from tmux import Terminal


class ScreenTest(ScreenCase):
    def test_says_something_and_is_answered(self):
        t = self.start()
        t.wait("Write a message", "fake-model")
        t.line("Good morning")
        t.wait(r"^  Good morning$")
        t.wait("^› Good morning$", "ready", r"\d/2048")
        t.key("C-d")
        self.wait_left(t, 0)

    def test_first_screen_comes_before_the_model_and_typing_works_meanwhile(self):
        t = self.start("FAKE_LOAD_UNTIL=now")
        t.wait("the model is loading; you can write meanwhile")
        t.line("early bird")
        t.line("next one")
        t.wait(r"^… early bird\n… next one +\(next; Up edits it, Esc takes it back\)")
        self.end_loading(t)
        t.wait(r"^  early bird\n[\s\S]*^  next one$")

    def test_enter_while_it_answers_queues_the_message(self):
        for columns, rows in (80, 24), (200, 60), (40, 12):
            with self.subTest(size=f"{columns}x{rows}"):
                t = self.start(columns=columns, rows=rows)
                t.line("forever")
                t.wait("answering")
                t.line("my next thought")
                t.wait(r"^… my next thought")
                self.wait_input(t, "›")
                t.line("and another")
                t.wait(r"^… my next thought.*\n… and another")
                t.key("Up")  # the last one, to be edited
                self.wait_input(t, "› and another")
                t.type(" one")
                t.key("Enter")
                t.wait(r"^… and another one")
                t.key("Escape")
                self.wait_input(t, "› and another one")
                t.key("C-c")
                t.key("Escape")
                self.wait_input(t, "› my next thought")
                t.key("Escape")  # nothing waits any more: it stops the answer
                t.wait(r"\(stopped\)")
                self.wait_input(t, "› my next thought")
                t.key("Enter")
                t.wait(r"^  my next thought$")

    def test_esc_stops_and_the_answer_stays(self):
        t = self.start()
        t.line("forever")
        t.wait("again again again")
        t.key("Escape")
        t.wait("again again", r"\(stopped\)", "ready")

    def test_a_slow_stop_is_told(self):
        t = self.start("FAKE_WORD_MS=300 FAKE_STOP_WORDS=12")
        t.line("forever")
        t.wait("again")
        t.key("Escape")
        t.wait("^── stopping ")
        t.wait(r"\(stopped\)")
        t.wait(" ready ", without="stopping")

    def test_scrolling_and_new_lines(self):
        t = self.start("FAKE_WORD_MS=2")
        t.line("count 200")
        t.wait("number 200$")
        t.wait("ready")
        t.key("PPage")
        t.wait(r"↓ \d+ more", without="number 200")
        t.key("PPage")
        t.wait(r"number 140$")  # two pages up: the first alone does not show it
        t.key("NPage", "NPage", "NPage")
        t.wait("number 200$", without="more")
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
        t.wait("bidi <U\\+202E>abc", r"escape ␛\[31mred␛\[0m\|", "ready")
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

    def test_nothing_is_left_of_what_the_terminal_counts_otherwise(self):
        t = self.start("TERM=vt100")
        t.type("👍🏽")
        self.wait_input(t, "› 👍🏽")
        t.key("Enter")
        t.wait("^› 👍🏽$", "^  👍🏽$")
        self.wait_input(t, "›")

    def test_help(self):
        t = self.start()
        t.key("F1")
        t.wait("Keys")
        t.type("x")
        t.wait("Keys", gone=True)
        self.wait_input(t, "›")

    def test_a_key_that_closes_help_is_not_typed(self):
        t = self.start()
        t.type("kept")
        for key in ("q", "Space", "Enter", "Left", "C-c", "C-d", "BSpace", "M-b", "C-j", "C-o", "C-f"):
            t.key("F1")
            t.wait("^  Keys")
            t.key(key)
            t.wait("^  Keys", gone=True)
            self.wait_input(t, "› kept")
        t.wait_until("the cursor is behind it", lambda: t.cursor()[0] == len("› kept"))
        self.assertNotIn("answering", t.screen())
        t.key("F1")
        t.wait("^  Keys")
        t.paste(" and pasted")  # a paste is no key
        self.wait_input(t, "› kept and pasted")

    def test_help_pages_where_it_does_not_fit(self):
        t = self.start(columns=40, rows=12)
        t.line("count 30")
        t.wait("number 30$")
        t.wait("ready")
        t.key("PPage")
        t.wait("↓ 9 more")
        t.key("F1")
        t.wait("↓ PgDn", without="more")  # of the help alone
        t.wait(r"^  Enter +send$")
        t.key("NPage")
        t.wait(r"^  Enter", gone=True)
        for _ in range(4):
            t.key("NPage")
        t.wait("/help lists the commands")
        t.key("F1")
        t.wait("↓ 9 more")

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

    def test_a_thought_is_folded_and_tab_shows_it(self):
        t = self.start("FAKE_WORD_MS=20")
        t.line("think")
        t.wait(r"thought for 11 tokens \(Tab shows\)")
        t.wait("ready")
        t.key("Tab")
        t.wait("^  two are four")
        t.key("C-t")
        t.wait("Tab shows")
        # Where something is typed these keys are the line editor's.
        t.type("ab")
        t.key("C-t")
        self.wait_input(t, "› ba")
        t.key("C-u", "Tab")
        t.wait("Tab folds")
        t.key("Tab")
        t.line("ponder")
        t.wait("^  ?again again")
        t.wait("thinking, [0-9]+ tokens")
        t.key("Escape")
        t.wait("stopped")
        t.wait(r"^  thought for [0-9]+ tokens \(Tab shows\)\n\n  \(stopped\)")

    def test_open_without_a_number_picks(self):
        t = self.start()
        t.type("a draft")
        t.key("C-o")
        t.wait("Open a conversation", r"talk 1 about the weather␛\[31m")
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

    def test_a_click_copies_a_block_and_picks_from_a_list(self):
        for columns, rows in (80, 24), (200, 60), (40, 12):
            with self.subTest(size=f"{columns}x{rows}"):
                t = self.start("FAKE_MOUSE=1 FAKE_WORD_MS=1", columns, rows)
                t.tmux("set-option", "-s", "set-clipboard", "on")
                self.assertEqual(t.tmux("display-message", "-p", "#{mouse_standard_flag} #{mouse_sgr_flag}").split(), ["1", "1"])
                t.line("count 60")
                t.wait("^  number 60")
                t.line("markdown")
                t.wait("^  2. two")
                t.wait("ready")

                def turn_up():
                    t.send("\x1b[<64;5;5M")
                    return "return 0" in t.screen()
                t.wait_until("the wheel shows the code", turn_up)
                t.wait("↓ [0-9]+ more")
                t.click("return 0")
                t.wait("copied code block 1")
                t.wait_until("tmux has it", lambda: "int main" in t.tmux("list-buffers"))
                self.assertIn("return 0", t.screen())  # the view stays where it is
                t.key("C-o")
                t.wait("Open a conversation")
                t.send("\x1b[<65;5;5M")
                t.wait("^› talk 2 ")
                t.click("talk 4 ")
                t.wait("^› talk 4 ")
                t.click("talk 4 ")
                t.wait("Open a conversation", gone=True)
                t.key("C-End")
                t.wait("opened 4")
                t.key("C-d")
                self.wait_left(t, 0)
                self.assertEqual(t.tmux("display-message", "-p", "#{mouse_any_flag}").strip(), "0")

    def test_copy_reaches_the_terminals_clipboard(self):
        t = self.start()
        t.tmux("set-option", "-s", "set-clipboard", "on")
        t.line("rich")
        t.wait(r"☐ open")
        t.wait(r"sh · /copy 1", "ready")
        t.line("/copy")
        t.wait("Copied")
        t.wait_until("tmux has it", lambda: "make" in t.tmux("list-buffers"))
        self.assertEqual(t.tmux("show-buffer"), "make -j2 \\\n  all\n")
        t.line("plain \x1b[31m words 漢字")  # no code: the answer itself
        t.wait(r"^  plain.* words 漢字$")
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
        t.line(f"PATH={t.home}:$PATH {self.program}")
        t.wait("ready")
        t.line("rich")
        t.wait("☐ open")
        t.line("/copy 1")
        t.wait_until("xclip ran", lambda: os.path.exists(os.path.join(t.home, "copied")))
        with open(os.path.join(t.home, "copied")) as f:
            self.assertEqual(f.read(), "make -j2 \\\n  all\n")
        with open(os.path.join(t.home, "asked")) as f:
            self.assertEqual(f.read(), "-selection clipboard\n")

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

    def test_code_is_coloured(self):
        t = self.start()
        t.line("markdown")
        t.wait("2. two")
        for columns, rows in ((80, 24), (200, 60), (40, 12)):
            t.resize(columns, rows)
            t.wait(rf"^──.{{{columns - 4}}}──$")
            t.wait("return 0;  // done")
            t.wait_until("it is coloured", lambda: re.search(r"\x1b\[[0-9;]*35m *return", t.screen(colours=True)))

    def test_no_color_has_no_colour(self):
        t = self.start("NO_COLOR=1")
        t.line("markdown")
        t.wait("2. two")
        self.assertIsNone(re.search(r"\x1b\[[0-9;]*\b3[0-7]m", t.screen(colours=True)))
        t = self.start()
        t.line("markdown")
        t.wait("2. two")
        self.assertIsNotNone(re.search(r"\x1b\[[0-9;]*\b3[0-7]m", t.screen(colours=True)))

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
        # A key that came soon after Escape was taken for Meta's, so that something may still be open.
        closing = itertools.cycle(("Escape", "C-End"))
        t.wait_until("all is closed", lambda: "☐ open" in t.screen() or t.key(next(closing)))
        t.wait(r"^── fake-model")


if __name__ == "__main__":
    main()
