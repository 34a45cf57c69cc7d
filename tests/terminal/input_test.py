"""Tests the input line in a real terminal: editing, completion, pastes (history_test.py has the history).

    input_test.py FAKE_CHAT [TestCase.test]

FAKE_CHAT is the program of fake_chat.cpp: the real screen with answers of its own.
"""
import os

from screen_case import ScreenCase, main
from tmux import Terminal

VI = "set editing-mode vi\n"  # inputrc


class InputTest(ScreenCase):
    def test_ctrl_d_deletes_where_there_is_text(self):
        t = self.start()
        t.type("abc")
        t.key("C-a", "C-d")
        self.wait_input(t, "› bc")

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

    def test_letters_are_letters_in_a_locale_without_utf_8(self):
        for environment in ("LC_ALL=C", "LC_ALL= LC_CTYPE= LANG=POSIX"):
            with self.subTest(environment=environment):
                t = self.start(environment)
                for text in ("first", "aüb 漢"):
                    t.type(text)
                    self.wait_input(t, f"› {text}")
                    t.key("Enter")
                    t.wait(rf"^  {text}$")
                t.key("Up", "BSpace", "C-b", "C-b", "BSpace")
                self.wait_input(t, "› ab")

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
        t.wait("^› /show", without="/set")

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

    def sent(self, t):
        """Returns what the chat got with the last turn."""
        t.wait("ready")
        t.line("/save turn")
        t.wait_until("it is saved", lambda: os.path.exists(os.path.join(t.home, "turn")))
        t.wait("Saved")
        with open(os.path.join(t.home, "turn")) as turn:
            text = turn.read()
        os.remove(os.path.join(t.home, "turn"))
        return text

    def test_a_folded_paste_is_one_unit(self):
        t = self.start("FAKE_WORD_MS=1")
        pasted = "".join(f"pasted {i}\n" for i in range(12))
        label = "[paste 1: 12 lines]"
        t.type("one ")
        t.paste(pasted)
        t.type(" two")
        self.wait_input(t, f"› one {label} two")
        t.key("Left", "Left", "Left", "Left", "Left")  # over " two" and the paste
        t.type("<")
        t.key("Right")
        t.type(">")
        self.wait_input(t, f"› one <{label}> two")
        t.key("BSpace", "Left", "BSpace", "C-a", "M-f", "M-f")  # behind the paste, word by word
        t.type(".")
        self.wait_input(t, f"› one {label}. two")
        t.key("BSpace", "M-b")
        t.type("!")
        self.wait_input(t, f"› one !{label} two")
        t.key("BSpace", "DC")  # Delete takes all of it
        self.wait_input(t, "› one  two")
        t.key("C-_")
        self.wait_input(t, f"› one {label} two")
        t.key("C-a", "M-f", "Right", "Right", "BSpace")  # Backspace too
        self.wait_input(t, "› one  two")
        t.key("C-_", "C-e", "M-BSpace", "M-BSpace")  # a word, then the paste
        self.wait_input(t, "› one")
        t.key("C-y")
        self.wait_input(t, f"› one {label}")
        t.key("Enter")
        self.assertEqual(self.sent(t), f"one {pasted} ")

    def test_no_command_damages_a_folded_paste(self):
        t = self.start("FAKE_WORD_MS=1")
        pasted = "".join(f"pasted {i}\n" for i in range(9))
        t.type("ab")
        t.paste(pasted)
        t.key("C-t")  # transposes it with the b
        self.wait_input(t, "› a[paste 1: 9 lines]b")
        t.key("M-u", "C-w", "C-y", "M-l")
        t.type("[paste 1: 9 lines]")  # typed, it is text
        t.key("Enter")
        self.assertEqual(self.sent(t), f"a{pasted}b[paste 1: 9 lines]")
        t.key("C-y")  # what was killed is still whole when it is yanked into another turn
        self.wait_input(t, "› a[paste 1: 9 lines]b")
        t.key("Enter")
        self.assertEqual(self.sent(t), f"a{pasted}b")

    def test_the_cursor_goes_by_grapheme_cluster(self):
        t = self.start("FAKE_WORD_MS=1")
        clusters = ["a", "e\u0301", "👨\u200d👩\u200d👧", "🇩🇪", "🇫🇷", "👍🏽", "❤\ufe0f", "한", "1\ufe0f\u20e3", "z"]
        t.type("".join(clusters))
        t.key(*["Left"] * 10)
        t.type("<")
        for _ in clusters:
            t.key("Right")
        t.type(">")
        t.key("Home", "Right", "Right", "DC", "Right", "Right", "BSpace")
        t.key("Enter")
        self.assertEqual(self.sent(t), "<" + "".join(clusters[:1] + clusters[2:3] + clusters[4:]) + ">")
        t.type("x" + "".join(clusters[1:]))
        t.key(*["BSpace"] * 9)
        self.wait_input(t, "› x")

    def test_the_cursor_of_vi_goes_by_grapheme_cluster(self):
        t = self.start("FAKE_WORD_MS=1", inputrc=VI)
        t.type("ab🇩🇪🇫🇷e\u0301c")
        t.key("Escape")
        t.wait_until("Esc moves back", lambda: t.cursor()[0] == 2 + 7)
        t.type("hhx")
        self.wait_input(t, "› ab🇩🇪e\u0301c")
        t.type("Xlx")
        t.key("Enter")
        self.assertEqual(self.sent(t), "abe\u0301")

    def test_a_turn_that_comes_back_waits_for_an_empty_input(self):
        t = self.start("FAKE_LOAD_UNTIL=now FAKE_WORD_MS=1")
        t.wait("loading")
        t.line("first")
        t.type("second")
        t.key("Escape")  # the first has not begun
        t.wait("A text waits here")
        self.wait_input(t, "› second")
        t.key("C-c")
        self.wait_input(t, "› first")
        self.end_loading(t)
        t.wait("ready")
        t.key("Enter")
        self.assertEqual(self.sent(t), "first")

    def test_a_paste_brings_no_escape_sequences(self):
        t = self.start()
        t.paste("a\x1b[2Jb")
        self.wait_input(t, "› a␛[2Jb")

    def test_a_paste_without_an_end_does_not_keep_the_keys(self):
        t = self.start()
        t.send("\x1b[200~abc")
        self.wait_input(t, "› abc")
        t.type("d")
        self.wait_input(t, "› abcd")

    def test_a_paste_that_stalls_sends_nothing(self):
        t = self.start()
        t.send("\x1b[200~aaa\rbb")
        t.wait(r"^› aaa\n  bb$")
        t.send("ccc")
        t.wait(r"^› aaa\n  bbccc$")
        t.send("\rddd\re\x1b[201~")
        t.wait(r"^› aaa\n  bbccc\n  ddd\n  e$", without="answering")
        t.key("Enter")
        t.wait(r"^  aaa\n  bbccc\n  ddd\n  e$")

    def test_keys_without_a_binding_and_replies_of_the_terminal_type_nothing(self):
        t = self.start()
        t.type("a")
        for bytes in ("\x1b[15~", "\x1b[24~", "\x1b[3;2~", "\x1b[8^", "\x1b[1;2A", "\x1b[5;5~", "\x1b[[E", "\x1bOx", "\x1b[I",
                      "\x1b[?62;22c", "\x1b[24;40R", "\x1b]11;rgb:1e1e/1e1e/1e1e\x07", "\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\",
                      "\x1bP>|tmux 3.3a\x1b\\"):
            t.send(bytes)
        t.type("z")
        self.wait_input(t, "› az")
        t.send("\x1b[D")
        t.type("y")
        self.wait_input(t, "› ayz")

    def test_of_a_paste_the_first_line_is_found(self):
        t = self.start("FAKE_WORD_MS=1")
        t.line("count 30")
        t.wait("number 30$")
        t.wait("ready")
        for text in ("number 7\nnumber 8", "x" * 200000):
            t.key("C-f")
            t.wait("^find ›")
            t.paste(text)
            t.wait("^find › number 7  1/1" if "\n" in text else "^find › x+  not found")
            t.key("C-u")
            t.wait("^find › +Enter next")
            t.key("Escape")
            t.wait("find ›", gone=True)
        t.key("C-o")
        t.wait("Open a conversation")
        t.paste("talk 17\ntalk 18")
        t.wait("^filter › talk 17   1 of them")
        t.key("C-u")
        t.paste("x" * 200000)
        t.wait("nothing fits")
        t.key("C-u")
        t.wait("40 of them")

    def test_a_megabyte_pasted_is_folded_and_sent(self):
        t = self.start("FAKE_WORD_MS=1")
        text = "".join(f"row {i} of 漢字\n" for i in range(60000))
        self.assertGreater(len(text.encode()), 1 << 20)
        t.paste(text)
        t.wait(r"› \[paste 1: 60000 lines\]")
        t.type(" and more")
        self.wait_input(t, f"› [paste 1: 60000 lines] and more")
        t.key("Enter")
        t.wait("answering")  # it says all of it again, word by word
        t.key("Escape")
        t.wait(r"\(stopped\)")
        t.line("/save turn")
        t.wait("Saved")
        with open(os.path.join(t.home, "turn")) as turn:
            self.assertEqual(turn.read(), text + " and more")

    def test_the_editor_edits_the_input(self):
        t = Terminal()
        self.addCleanup(t.close)
        editor = os.path.join(t.home, "ed.sh")
        with open(editor, "w") as f:
            f.write("#!/bin/sh\nstty -a | grep -o ' icanon'\ncat \"$2\"; echo; echo press; read line\n"
                    "printf 'edited %s\\nsecond\\033[2J' \"$line\" > \"$2\"\n")
        os.chmod(editor, 0o755)
        t.clear()
        t.line(f"VISUAL='{editor} --wait' {self.program}")
        t.wait("ready")
        t.type("some words")
        t.key("C-x", "C-e")
        t.wait("some words", "icanon", "^press$")  # the terminal is the editor's, as a terminal is
        t.line("twice")
        t.wait(r"^› edited twice\n  second␛\[2J")
        t.key("Enter")
        t.wait(r"^  second␛")
        t.key("C-d")
        t.wait(r"^twice\nprompt")
        t.clear()
        t.line(f"VISUAL=false {self.program}")
        t.wait("ready")
        t.type("kept")
        t.key("C-x", "C-e")
        t.wait("the editor 'false' failed")
        self.wait_input(t, "› kept")

    def test_modes_that_an_editor_leaves_set_do_no_harm(self):
        modes = "\\033[?1000h\\033[?1003h\\033[?6h\\033[?7l\\033[4h\\033[3;7r\\033(0\\016"
        t = Terminal(environment={"VISUAL": f"printf '{modes}'; printf saved >"})
        self.addCleanup(t.close)
        flags = "#{mouse_any_flag} #{origin_flag} #{insert_flag} #{wrap_flag} #{scroll_region_upper} #{scroll_region_lower}"
        t.clear()
        t.line(f"{self.program}; echo left with $?")
        t.wait("ready")
        t.type("words")
        t.key("C-x", "C-e")
        self.wait_input(t, "› saved")
        self.assertEqual(t.tmux("display-message", "-p", flags).split(), ["0", "0", "0", "1", "0", "23"])
        t.key("Enter")
        t.wait("^  saved$", "^── fake-model")
        t.key("C-d")
        t.wait("^left with 0")  # where the editor has left the cursor

    def test_what_an_editor_saved_before_it_was_killed_is_there(self):
        for editor, left in (("printf saved > \"$0\"; kill -9 $$", "saved"), ("kill -9 $$", "kept"),
                             ("printf saved > \"$0\"; exit 1", "kept")):
            with self.subTest(editor=editor):
                t = Terminal(environment={"VISUAL": f"/bin/sh -c '{editor}'"})
                self.addCleanup(t.close)
                t.clear()
                t.line(self.program)
                t.wait("ready")
                t.type("kept")
                t.key("C-x", "C-e")
                t.wait("! the editor ")
                self.wait_input(t, f"› {left}")

    def test_a_keys_file_binds(self):
        t = self.start("FAKE_KEYS='C-t = find' ")
        t.key("C-t")
        t.wait("^find ›")
        t.key("Escape")
        t.wait("^find ›", gone=True)  # a key that comes at once would be Meta's
        t.key("F1")
        t.wait(r"\^T +find in the conversation")

    def test_vi_mode_and_inputrc(self):
        t = self.start(inputrc=VI + '"\\C-g": "from the inputrc"\n"\\e[15~": "!"\n')
        t.key("C-g")
        self.wait_input(t, "› from the inputrc")
        t.key("Escape")
        t.wait_until("Esc moves back", lambda: t.cursor()[0] == 2 + len("from the inputr"))
        t.type("0dw")
        self.wait_input(t, "› the inputrc")
        t.type("A")
        t.key("F6", "F5")
        self.wait_input(t, "› the inputrc!")
        t.key("Enter")
        t.wait("^  the inputrc!$")

    def test_ctrl_c_forgets_the_keys_that_were_begun(self):
        # Esc is followed by a key in each case: with ^C at once it would be Meta's.
        for mode, begun in (("emacs", (["C-x"], ["M-5"], ["C-]"])),
                            ("vi", (["Escape", "h"], ["Escape", "5"], ["Escape", "d"], ["Escape", "f"]))):
            t = self.start(inputrc=f"set editing-mode {mode}\n")
            for keys in begun:
                for text in ("", "before"):
                    with self.subTest(mode=mode, keys=keys, text=text):
                        t.type(text)
                        self.wait_input(t, f"› {text}")
                        t.key(*keys)
                        t.key("C-c")
                        t.wait("press .C again" if text == "" else "^› *$")
                        t.type("after")
                        self.wait_input(t, "› after")
                        t.key("C-c")
                        self.wait_input(t, "›")

    def test_ctrl_d_of_vi_sends_nothing(self):
        t = self.start(inputrc=VI)
        t.type("half")
        t.key("C-d")
        t.type(" a thought")
        self.wait_input(t, "› half a thought")
        t.key("Escape")
        t.wait_until("Esc moves back", lambda: t.cursor()[0] == 2 + len("half a though"))
        t.key("C-d")
        t.type("x")
        self.wait_input(t, "› half a though")
        t.key("C-c", "C-d")
        t.wait("^left with 0$")

    def test_escape_of_vi_ends_inserting_and_stops_no_answer(self):
        t = self.start("FAKE_WORD_MS=20", inputrc=VI)
        t.line("count 100")
        t.wait("number 2$")
        t.type("abc")
        self.wait_input(t, "› abc")
        t.key("Escape")
        t.wait_until("Esc moves back", lambda: t.cursor()[0] == 2 + 2)
        t.type("x")
        self.wait_input(t, "› ab")
        t.wait("number 100$", "ready", without="stopped")


if __name__ == "__main__":
    main()
