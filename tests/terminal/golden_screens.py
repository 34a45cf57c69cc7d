"""Compares whole screens at 80x24 and 40x12 with the files in screens/.

    golden_screens.py FAKE_CHAT             # compares
    golden_screens.py FAKE_CHAT --update    # writes them anew; look at the difference before it is committed

FAKE_CHAT is the program of fake_chat.cpp. A scene is a list of keys and of what the screen must show before the next
key; its last screen is the golden one.
"""
import os
import re
import sys
import time

from tmux import PATIENCE, Terminal

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "screens")
SIZES = ((80, 24), (40, 12))

# ("line", text) types and sends, ("key", names...) presses, ("type", text), ("wait", pattern).
SCENES = {
    "welcome": [("wait", "Write a message")],
    "markdown": [("line", "markdown"), ("wait", "^  2. two$"), ("wait", "ready")],
    "rich": [("line", "rich"), ("wait", "☐ open"), ("wait", "ready")],
    "rich_top": [("line", "rich"), ("wait", "☐ open"), ("wait", "ready"), ("key", "C-Home"), ("wait", "^› rich")],
    "thought": [("line", "think"), ("wait", "^  Four"), ("wait", "ready")],
    "thought_shown": [("line", "think"), ("wait", "^  Four"), ("wait", "ready"), ("key", "Tab"), ("wait", "Two and")],
    "unicode": [("line", "unicode"), ("wait", "bidi"), ("wait", "ready"), ("key", "C-Home"), ("wait", "^› unicode")],
    "help": [("key", "F1"), ("wait", "^  Keys")],
    "commands": [("line", "/help"), ("wait", "^  /open ")],
    "error": [("line", "/nonsense"), ("wait", "no command /nonsense")],
    "find": [("line", "count 60"), ("wait", "number 60$"), ("wait", "ready"), ("key", "C-f"), ("type", "ber 5"),
             ("wait", r"11/11")],
    "picker": [("key", "C-o"), ("wait", "Open a conversation"), ("type", "漢"), ("wait", "talk 3 "),
               ("wait", "^(?![\\s\\S]*talk 2 )"), ("key", "Down"), ("wait", "^› talk 6")],
    "input": [("type", "several rows of 漢字 and more, so that it is broken somewhere"), ("key", "M-Enter"),
              ("type", "and a second line"), ("wait", "a second line")],
    "paste": [("paste", "one\n" * 9), ("wait", r"\[paste 1: 9 lines\]")],
    "scrolled": [("line", "count 60"), ("wait", "number 60$"), ("wait", "ready"), ("key", "PPage"), ("wait", "more")],
    "completion": [("type", "/s"), ("key", "Tab"), ("wait", "/set")],
}


def screen_of(program, scene, columns, rows, golden):
    """Returns the screen once it is the golden one, or as it stays."""
    with Terminal(columns, rows) as t:
        t.clear()
        t.line(f"exec {program}")
        t.wait("ready")
        for verb, *arguments in SCENES[scene]:
            if verb == "wait":
                t.wait(arguments[0])
            else:
                getattr(t, verb)(*arguments)
        # What was waited for may be the first part of a frame.
        screen, end = shown(t), time.monotonic() + (PATIENCE if golden is not None else 1)
        while screen != golden and time.monotonic() < end:
            time.sleep(0.02)
            screen = shown(t)
    return screen


def shown(t):
    return re.sub(r"[0-9.]+ tok/s", "N tok/s", t.screen().rstrip("\n") + "\n")


def main():
    program = os.path.abspath(sys.argv[1])
    update = "--update" in sys.argv
    wrong = []
    for scene in SCENES:
        for columns, rows in SIZES:
            name = f"{scene}-{columns}x{rows}.txt"
            path = os.path.join(FOLDER, name)
            if update:
                os.makedirs(FOLDER, exist_ok=True)
                with open(path, "w") as f:
                    f.write(screen_of(program, scene, columns, rows, None))
                continue
            with open(path) as f:
                golden = f.read()
            screen = screen_of(program, scene, columns, rows, golden)
            if screen != golden:
                wrong.append(f"--- {name} is now:\n{screen}--- and was:\n{golden}")
    if wrong:
        sys.exit("\n".join(wrong) + "\nIf that is meant: golden_screens.py FAKE_CHAT --update")
    print(f"{len(SCENES) * len(SIZES)} screens, as they were")


if __name__ == "__main__":
    main()
