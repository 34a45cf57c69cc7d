"""Tests what the input line does with what was sent before, in a real terminal: going back to it, changing it, searching it.

    history_test.py FAKE_CHAT [TestCase.test]

FAKE_CHAT is the program of fake_chat.cpp: the real screen with answers of its own.
"""
import os
import stat

from screen_case import ScreenCase, main
from tmux import Terminal


class HistoryTest(ScreenCase):
    def start_with(self, *sent, **how):
        t = self.start(**how)
        for text in sent:
            t.line(text)
            t.wait(rf"^  {text}$")
        return t

    def press(self, terminal, *keys):
        """Presses each key, behind which the input is as said."""
        for key, shown in keys:
            terminal.key(key)
            self.wait_input(terminal, shown)

    def test_history_and_search(self):
        t = self.start_with("first words", "second words")
        self.press(t, ("Up", "› second words"), ("Up", "› first words"), ("Down", "› second words"))
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
        t.clear()
        t.line(self.program)
        t.wait("ready")
        t.key("Up")
        self.wait_input(t, "› first words")

    def test_a_paste_is_what_a_search_looks_for(self):
        t = self.start_with("first words", "second words")
        t.key("C-r")
        t.wait("reverse-i-search")
        t.paste("first\nsecond")
        t.wait("reverse-i-search.`first': first words")
        t.key("C-c")
        self.wait_input(t, "›")
        t.key("C-r")
        t.wait("reverse-i-search")
        for _ in range(10):
            t.type("z" * 2000)  # no search takes so much
        t.wait("zzz':")
        t.key("C-c")
        self.wait_input(t, "›")
        t.type("goes on")
        self.wait_input(t, "› goes on")

    def test_keys_of_a_sequence_end_a_search(self):
        t = self.start_with("first words", environment="VISUAL=\"sed -i 's/$/ edited/'\"")
        t.key("C-r")
        t.type("first")
        t.wait("reverse-i-search.*first words")
        t.key("C-x")
        self.wait_input(t, "› first words")
        t.key("C-e")
        self.wait_input(t, "› first words edited")

    def test_ctrl_c_leaves_the_history_as_it_was(self):
        t = self.start_with("first words", "second words")
        t.key("C-p")
        self.wait_input(t, "› second words")
        t.key("BSpace", "C-p", "C-n")
        self.wait_input(t, "› second word")
        t.type("y")
        self.wait_input(t, "› second wordy")
        t.key("C-c")
        self.wait_input(t, "›")
        t.key("C-p")
        self.wait_input(t, "› second words")
        t.key("C-p", "Enter")
        t.wait_until("it was sent again", lambda: t.screen().count("› first words") == 2)

    def test_searches_bound_to_the_arrows(self):
        bound = '"\\e[A": history-search-backward\n"\\e[B": history-search-forward\n'
        t = self.start_with("first", "second", inputrc=bound)
        self.press(t, ("Up", "› second"), ("BSpace", "› secon"), ("C-a", "› secon"), ("Up", "› first"), ("C-e", "› first"),
                   ("h", "› firsth"), ("C-a", "› firsth"), ("Down", "› secon"))
        t.key("Enter")
        t.wait("^  secon$")
        t.key("C-p", "Enter")
        t.wait_until("it was sent again", lambda: t.screen().count("› secon\n") == 2)

    def test_a_history_that_cannot_be_kept_is_told(self):
        t = Terminal()
        self.addCleanup(t.close)
        t.line(f"mkdir -p state/bitnet-chat/history; {self.program}")
        t.wait("history is not kept", "ready")
        t.line("it goes on")
        t.wait("^  it goes on$")

    def test_the_first_entry_is_left_to_itself_behind_a_search(self):
        for leaves, goes_back, ends in (("BSpace", "Up", "C-c"), ("C-g", "Up", "Enter"), ("C-g", "M-<", "Enter")):
            with self.subTest(leaves=leaves, goes_back=goes_back, ends=ends):
                t = self.start_with("first", "second")
                self.press(t, ("Up", "› second"), ("Up", "› first"), ("M-p", ":"), (leaves, "›"), ("s", "› s"),
                           (goes_back, "› s"), (ends, "›"))
                t.line("it goes on")
                t.wait("^  it goes on$")

    def test_a_line_that_ends_behind_a_count_is_sent_at_once(self):
        t = self.start_with("first")
        t.key("C-p")
        self.wait_input(t, "› first")
        t.type("y")
        t.key("M-1", "Enter")
        t.wait("^  firsty$")
        t.key("C-p", "C-p")
        self.wait_input(t, "› first")


if __name__ == "__main__":
    main()
