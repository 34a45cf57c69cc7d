#!/usr/bin/env python3
"""Tests whole sessions: sessions/NAME.script gives the transcript sessions/NAME.txt, and runs on the screen too.

usage: golden_sessions_test.py BITNET-CHAT MODEL.gguf FOLDER [--update]
They are greedy, with a fixed seed, on the CPU backend, whose answers depend on no driver. tests/update-golden runs this
with --update, which writes what the program says now; look at the difference before you commit it.
"""
import difflib
import glob
import os
import shutil
import subprocess
import sys

PROGRAM, MODEL, FOLDER = map(os.path.abspath, sys.argv[1:4])
UPDATE = sys.argv[4:] == ["--update"]
HERE = os.path.dirname(os.path.abspath(__file__))
SESSIONS = os.path.join(HERE, "sessions")


def run(script, output):
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(FOLDER)
    env = dict(os.environ, LC_ALL="C.UTF-8", TERM="xterm-256color",
               **{f"XDG_{kind}_HOME": os.path.join(FOLDER, kind) for kind in ("DATA", "STATE", "CONFIG", "CACHE")})
    env.pop("BITNET_CHAT_MODEL", None)
    return subprocess.run([PROGRAM, MODEL, "--device", "cpu", "--script", script, "--output", output], env=env,
                          cwd=FOLDER, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=300)


def main():
    wrong = 0
    for script in sorted(glob.glob(os.path.join(SESSIONS, "*.script"))):
        name = os.path.splitext(os.path.basename(script))[0]
        golden = os.path.join(SESSIONS, name + ".txt")
        plain = run(script, "text")
        if UPDATE and plain.returncode == 0:
            with open(golden, "w") as file:
                file.write(plain.stdout)
        wanted = open(golden).read() if os.path.exists(golden) else ""
        difference = list(difflib.unified_diff(wanted.splitlines(), plain.stdout.splitlines(), golden, "now", lineterm=""))
        screen = run(script, "tui")
        ok = plain.returncode == 0 and not difference and screen.returncode == 0
        wrong += not ok
        print(f"{name}: {'ok' if ok else 'WRONG'}")
        if plain.returncode != 0:
            print(f"exit code {plain.returncode}:\n{plain.stdout}")
        print("\n".join(difference), end="\n" if difference else "")
        if screen.returncode != 0:
            print(f"on the screen, exit code {screen.returncode}:\n{screen.stdout}")
    sys.exit(1 if wrong else 0)


main()
