#!/usr/bin/env python3
"""Gives the program every file of make_hostile_ggufs.py: exit code 4, one clear line, little time and memory.

usage: hostile_ggufs_test.py BITNET-CHAT FOLDER
"""
import json
import os
import re
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

PROGRAM, FOLDER = sys.argv[1:3]
MOST_SECONDS = 2  # of processor time, which does not depend on what else runs
MOST_KIB = 64 * 1024  # above a run that opens no file
CONTROL = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")


def run(home, *arguments):
    """exit status, what it wrote, seconds, KiB"""
    env = dict(os.environ, HOME=home, XDG_DATA_HOME=home, XDG_STATE_HOME=home, XDG_CACHE_HOME=home, TERM="dumb")
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        null = os.open("/dev/null", os.O_RDONLY)
        child = os.posix_spawn(PROGRAM, [PROGRAM, *arguments], env, file_actions=[
            (os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, out.fileno(), 1), (os.POSIX_SPAWN_DUP2, err.fileno(), 2)])
        os.close(null)
        _, status, usage = os.wait4(child, 0)
        out.seek(0)
        err.seek(0)
        return (os.waitstatus_to_exitcode(status), out.read().decode(), err.read().decode(),
                usage.ru_utime + usage.ru_stime, usage.ru_maxrss)


def faults_of(name, message, done, empty_kib):
    code, out, err, seconds, kib = done
    found = []
    if message is None:
        if code != 0:
            found.append(f"exit code {code}, wanted 0: {err!r}")
    else:
        if code != 4:
            found.append(f"exit code {code}, wanted 4")
        if out:
            found.append(f"something on stdout: {out[:80]!r}")
        if err.count("\n") != 1 or not err.endswith("\n"):
            found.append("not one line")
        if name not in err:
            found.append("the file is not named")
        if not re.search(message, err):
            found.append(f"nothing that matches /{message}/")
        if not re.search("wanted|missing|cannot", err) and not name.startswith("template"):
            found.append("not said what was wanted")
        if len(err) > 1000:
            found.append(f"{len(err)} characters long")
    if CONTROL.search(err):  # what a model says to a pipe is its own
        found.append("a control character")
    if seconds > MOST_SECONDS:
        found.append(f"took {seconds:.2f} s")
    if kib - empty_kib > MOST_KIB:
        found.append(f"took {(kib - empty_kib) / 1024:.0f} MiB")
    return [f"{fault}: {err[:300]!r}" for fault in found]


def main():
    with open(os.path.join(FOLDER, "cases.json")) as file:
        cases = json.load(file)
    for name in os.listdir(FOLDER):
        if name.startswith("fine-"):
            cases[name] = None
    failures, most_seconds, most_kib = 0, 0, 0
    with tempfile.TemporaryDirectory() as home, ThreadPoolExecutor(os.cpu_count()) as pool:
        empty_kib = run(home, "--version")[4]
        for arguments in (["info"], ["--private", "--device", "cpu", "--threads", "1", "-n", "1", "-p", "x"]):
            def one(item):
                path = os.path.join(FOLDER, item[0])
                command = [arguments[0], path] if arguments[0] == "info" else [path, *arguments]
                return item, run(home, *command)
            # info does not read the weights. The chat gets the files where it has to, and every third of the others:
            # app_hostile_gguf_test opens all of them as the chat does.
            def is_given(i, name):
                of_weights = name.startswith(("no-ternary-code", "no-scale"))
                return not of_weights if arguments[0] == "info" else of_weights or i % 3 == 0
            given = [item for i, item in enumerate(sorted(cases.items())) if is_given(i, item[0])]
            for (name, message), done in pool.map(one, given):
                most_seconds, most_kib = max(most_seconds, done[3]), max(most_kib, done[4] - empty_kib)
                for fault in faults_of(name, message, done, empty_kib):
                    failures += 1
                    print(f"{arguments[0]} {name}: {fault}")
    print(f"{len(cases)} files, {failures} failures; at most {most_seconds:.2f} s and {most_kib / 1024:.1f} MiB "
          f"above an empty run of {empty_kib / 1024:.1f} MiB")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
