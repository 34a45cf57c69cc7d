"""Tests how the screen gives the terminal back, whatever happens, and what it keeps out of it.

    ending_test.py FAKE_CHAT [TestCase.test]

FAKE_CHAT is the program of fake_chat.cpp: the real screen with answers of its own.
"""
import os
import re
import signal
import stat
import subprocess
import termios

from screen_case import ScreenCase, main
from tmux import Terminal, running_pid


class EndingTest(ScreenCase):
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
        t.clear()
        self.assert_restored(t)

    def test_a_stop_is_left_alone_in_the_background(self):
        t = self.start("FAKE_MOUSE=1")
        t.type("kept")
        self.wait_input(t, "› kept")
        t.key("C-z")
        t.wait("Stopped")
        t.clear()
        t.line("bg")

        def stopped_again():
            t.line("jobs")
            return "Stopped" in t.screen()
        t.wait_until("it stops again", stopped_again)
        modes = t.tmux("display-message", "-p", "#{mouse_any_flag} #{alternate_on}").split()
        self.assertEqual(modes, ["0", "0"])
        t.line("fg")
        t.wait("› kept")
        modes = t.tmux("display-message", "-p", "#{mouse_any_flag} #{alternate_on}").split()
        self.assertEqual(modes, ["1", "1"])

    def stty(self, terminal, *arguments):
        tty = terminal.tmux("display-message", "-p", "#{pane_tty}").strip()
        return subprocess.run(["stty", "-F", tty, *arguments], capture_output=True, text=True, check=True).stdout

    def test_a_stop_that_comes_unseen(self):
        """A shell edits lines once a job has stopped, and nothing tells the program before."""
        t = self.start()
        ours = self.stty(t, "-a")
        t.type("kept")
        self.wait_input(t, "› kept")
        pid = running_pid(t)
        for seen_in_the_background in (False, True):
            with self.subTest(seen_in_the_background=seen_in_the_background):
                os.kill(pid, signal.SIGSTOP)
                t.wait("Stopped")
                self.stty(t, "sane")
                if seen_in_the_background:
                    shells = self.stty(t, "-a")
                    os.kill(pid, signal.SIGCONT)
                    t.wait("Stopped", gone=True)  # it has drawn
                    self.assertEqual(self.stty(t, "-a"), shells)
                t.line("fg")
                t.wait_until("the settings are ours", lambda: self.stty(t, "-a") == ours)
                t.type("!")
                t.wait("^› kept!+$")
        t.key("C-c", "C-d")
        t.clear()
        self.assert_restored(t)

    def test_a_terminal_that_takes_no_output_does_not_keep_the_program(self):
        for number, code in ((signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            with self.subTest(signal=number):
                t = self.start()
                t.line("forever")
                t.wait("again")
                pid = running_pid(t)
                tty = os.open(t.tmux("display-message", "-p", "#{pane_tty}").strip(), os.O_RDWR | os.O_NOCTTY)
                termios.tcflow(tty, termios.TCOOFF)
                os.kill(pid, number)
                t.wait_until("it has ended", lambda: not os.path.exists(f"/proc/{pid}"))
                with open(os.path.join(t.home, "before")) as before:
                    self.assertEqual(self.stty(t, "-a"), before.read())
                termios.tcflow(tty, termios.TCOON)
                os.close(tty)
                t.wait(f"left with {code}")

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

    def skip_where_a_sanitizer_has_the_signals(self):
        with open(self.program, "rb") as file:
            if re.search(rb"__[at]san_init", file.read()):
                self.skipTest("the sanitizer reports these signals itself")

    def test_a_stack_overflow_leaves_a_good_terminal(self):
        self.skip_where_a_sanitizer_has_the_signals()
        t = self.start()
        t.line("overflow")
        self.wait_left(t, 139)

    def test_nothing_is_drawn_after_another_thread_crashed(self):
        self.skip_where_a_sanitizer_has_the_signals()
        for _ in range(3):
            t = self.start()
            t.line("bus")
            self.wait_left(t, 135)
            self.assertNotIn("drawn", t.screen())

    def test_a_history_that_is_no_file_holds_nothing_up(self):
        t = self.start()
        t.key("C-d")
        self.wait_left(t, 0)
        history = os.path.join(t.home, "state", "bitnet-chat", "history")
        for make in (os.mkfifo, lambda path: os.symlink("/dev/zero", path)):
            with self.subTest(make=make):
                if os.path.lexists(history):
                    os.unlink(history)
                make(history)
                t.clear()
                t.line(f"{self.program}; echo left with $?")
                t.wait("history is not kept")
                t.wait("is no regular file")
                t.wait("ready")
                t.key("C-d")
                self.wait_left(t, 0)

    def test_what_drivers_print_goes_to_the_log(self):
        t = self.start("FAKE_STDERR=1")
        t.line("count 30")
        t.wait("number 30$")
        t.wait("ready")
        self.assertNotIn("driver", t.screen())
        t.key("C-d")
        self.wait_left(t, 0)
        log = os.path.join(t.home, "state", "bitnet-chat", "log")
        with open(log) as f:
            self.assertIn("driver: something to say", f.read())
        self.assertEqual(stat.S_IMODE(os.stat(log).st_mode), 0o600)

    def test_terminals_that_cannot(self):
        for term in ("dumb", "no-such-terminal", ""):
            t = Terminal()
            self.addCleanup(t.close)
            t.line(f"TERM={term} {self.program}")
            t.wait("^no screen here$")


if __name__ == "__main__":
    main()
