"""Has what the tests of the screen share: FAKE_CHAT, the program of fake_chat.cpp, started in a terminal."""
import os
import sys
import unittest

from tmux import Terminal


class ScreenCase(unittest.TestCase):
    program = ""

    def start(self, environment="", columns=80, rows=24, inputrc=""):
        terminal = Terminal(columns, rows)
        self.addCleanup(terminal.close)
        if inputrc:  # an empty one would hide that of the machine
            with open(os.path.join(terminal.home, ".inputrc"), "w") as file:
                file.write(inputrc)
        terminal.run("stty -a > before")
        terminal.clear()
        terminal.line(f"{environment} {self.program}; echo left with $?")
        if "LOAD" not in environment:
            terminal.wait("ready")
        return terminal

    def end_loading(self, terminal):
        """Requires: start("FAKE_LOAD_UNTIL=now")."""
        with open(os.path.join(terminal.home, "now"), "w"):
            pass

    def wait_left(self, terminal, code):
        terminal.wait(rf"^left with {code}$")
        self.assert_restored(terminal)

    def assert_restored(self, terminal):
        """Checks that the shell's screen is back, that the terminal edits lines, and that the cursor shows."""
        terminal.wait_prompt()
        terminal.line("stty -a > after; cmp before after && echo same")
        terminal.wait("^same$")
        flags = terminal.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}").split()
        self.assertEqual(flags, ["0", "1"])

    def input_row(self, terminal):
        return terminal.rows()[terminal.cursor()[1]]

    def wait_input(self, terminal, text):
        terminal.wait_until(f"the input is {text!r}", lambda: self.input_row(terminal).strip() == text.strip())


def main():
    """usage: ..._test.py FAKE_CHAT [TestCase.test]"""
    ScreenCase.program = os.path.abspath(sys.argv.pop(1))
    unittest.main(module="__main__")
