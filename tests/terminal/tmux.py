"""Runs one program in a tmux session: keys go in, the text of the screen comes out.

Every wait polls for what it waits for and is bounded; no test sleeps and hopes. A server of our own (-S) keeps the
user's tmux and its configuration out.
"""
import os
import re
import shutil
import subprocess
import tempfile
import time

PATIENCE = float(os.environ.get("TERMINAL_TEST_PATIENCE", "30"))


class Terminal:
    """A shell, of 80x24 by default, in which programs run as a person would run them."""

    def __init__(self, columns=80, rows=24, environment=None):
        self.home = tempfile.mkdtemp(prefix="bitnet-chat-terminal-")
        self.socket = os.path.join(self.home, "tmux")
        env = {"PATH": os.environ["PATH"], "HOME": self.home, "LC_ALL": "C.UTF-8", "SHELL": "/bin/sh",
               "XDG_STATE_HOME": os.path.join(self.home, "state"),
               "XDG_DATA_HOME": os.path.join(self.home, "data"),
               "XDG_CONFIG_HOME": os.path.join(self.home, "config"),
               "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", os.path.join(os.path.expanduser("~"), ".cache")),
               "PS1": "prompt$ ", "HISTFILE": "", "TERM": "screen-256color"}
        for name in os.environ:
            if name.startswith(("VK_", "ASAN_", "TSAN_", "UBSAN_", "LD_LIBRARY", "MESA_", "LP_")):
                env[name] = os.environ[name]
        env.update(environment or {})
        self.env = env
        self.tmux("-f", "/dev/null", "new-session", "-d", "-c", self.home, "-x", str(columns), "-y", str(rows),
                  "env", "-i", *[f"{k}={v}" for k, v in env.items()], "/bin/sh", "-i")
        self.tmux("set-option", "-g", "status", "off")
        self.tmux("set-option", "-g", "remain-on-exit", "on")
        self.tmux("set-option", "-g", "window-size", "manual")
        self.tmux("set-option", "-sg", "escape-time", "0")
        self.resize(columns, rows)
        self.wait(r"prompt\$")

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True)
        shutil.rmtree(self.home, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def tmux(self, *arguments, data=None):
        result = subprocess.run(["tmux", "-S", self.socket, *arguments], capture_output=True, input=data,
                                env={**os.environ, "LC_ALL": "C.UTF-8", "TERM": "screen-256color"})
        if result.returncode != 0:
            raise RuntimeError(f"tmux {arguments[0]}: {result.stderr.decode()}")
        return result.stdout.decode("utf-8", "replace")

    def screen(self, colours=False):
        return self.tmux("capture-pane", "-p", *(["-e"] if colours else []))

    def rows(self):
        return self.screen().split("\n")

    def cursor(self):
        """Returns (column, row)."""
        x, y = self.tmux("display-message", "-p", "#{cursor_x} #{cursor_y}").split()
        return int(x), int(y)

    def type(self, text):
        self.tmux("send-keys", "-l", "--", text)

    def key(self, *names):
        """Presses keys by tmux's names: Enter, Escape, C-c, M-Enter, PPage, NPage, Up, Tab, F1, ..."""
        self.tmux("send-keys", *names)

    def line(self, text):
        self.type(text)
        self.key("Enter")

    def wait_prompt(self):
        """Waits until the shell has asked for a line. What is typed before that would be echoed in front of it.

        Requires: something has been shown since the prompt before, which would be taken for the new one.
        """
        self.wait(r"^prompt\$\s*\Z")

    def run(self, command):
        """Has the shell run a command, and waits for its end."""
        self.wait_prompt()
        self.type(command)
        typed = "".join(command.split())
        self.wait_until(f"{command!r} is typed", lambda: "".join(self.screen().split()).endswith(typed))
        self.key("Enter")
        self.wait_prompt()

    def clear(self):
        self.run("TERM=screen clear")  # a test may have set a terminal that cannot

    def send(self, text):
        """Sends bytes for which tmux has no name, all at once."""
        self.tmux("send-keys", "-H", *(f"{byte:02x}" for byte in text.encode()))

    def click(self, text):
        """Clicks on the first row that has this text, as a terminal reports it (mouse mode 1006)."""
        row = next(i for i, row in enumerate(self.rows(), 1) if text in row)
        self.send(f"\x1b[<0;5;{row}M\x1b[<0;5;{row}m")

    def paste(self, text):
        self.tmux("load-buffer", "-", data=text.encode())
        self.tmux("paste-buffer", "-p")

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def wait(self, *patterns, without=None, seconds=PATIENCE, gone=False):
        """Waits until the screen matches every pattern and not `without` or, with gone, no pattern; returns the screen.

        A screen may be read while it is drawn: what is to be on one screen, and what is not, is waited for at once.
        """
        end = time.monotonic() + seconds
        while True:
            screen = self.screen()
            if (all((re.search(pattern, screen, re.M) is None) == gone for pattern in patterns)
                    and not (without and re.search(without, screen, re.M))):
                return screen
            if time.monotonic() > end:
                wanted = " and ".join(map(repr, patterns)) + (f" without {without!r}" if without else "")
                raise AssertionError(f"after {seconds} s the screen {'still matches' if gone else 'does not match'} "
                                     f"{wanted}:\n{frame(screen)}")
            time.sleep(0.02)

    def wait_until(self, what, condition, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"after {seconds} s: not {what}:\n{frame(self.screen())}")
            time.sleep(0.02)


def running_pid(terminal):
    """Returns the process that the shell of the terminal runs."""
    shell = terminal.tmux("display-message", "-p", "#{pane_pid}").strip()
    return int(subprocess.run(["pgrep", "-P", shell], capture_output=True, text=True, check=True).stdout.split()[0])


def frame(screen):
    return "\n".join("  |" + row for row in screen.split("\n"))
