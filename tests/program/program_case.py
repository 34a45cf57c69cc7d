"""Has what the tests of the program share: its two models, its folder, and ways to run it.

The arguments of such a test are BITNET-CHAT TALKING-MODEL ENDLESS-MODEL FOLDER. The TALKING-MODEL ends its answers;
the ENDLESS-MODEL, whose weights are random, goes on to the end of its context.
"""
import json
import os
import shutil
import subprocess
import sys
import unittest

PROGRAM, TALKING, ENDLESS, FOLDER = map(os.path.abspath, sys.argv[1:5])
DATABASE = os.path.join(FOLDER, "data", "bitnet-chat", "chats.db")


def environment(**more):
    env = {**os.environ, "XDG_DATA_HOME": FOLDER + "/data", "XDG_STATE_HOME": FOLDER + "/state",
           "XDG_CONFIG_HOME": FOLDER + "/config", "XDG_CACHE_HOME": FOLDER + "/cache", "TERM": "dumb", **more}
    for name in ("BITNET_CHAT_MODEL", "NO_COLOR"):
        env.pop(name, None)
    return env


def run(*arguments, text="", **variables):
    done = subprocess.run([PROGRAM, *arguments], input=text.encode(), capture_output=True, env=environment() | variables,
                          cwd=FOLDER, timeout=120)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def start(*arguments):
    """A program that waits where a page of its output has not been read, so that it cannot end before it is told to."""
    return subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, pipesize=4096, env=environment())


def read_tokens(process, count):
    """Reads JSON lines until `count` tokens have come."""
    while count > 0:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        count -= json.loads(line)["type"] == "token"


class ProgramCase(unittest.TestCase):
    """Each test begins with an empty FOLDER."""

    def setUp(self):
        shutil.rmtree(FOLDER, ignore_errors=True)
        os.makedirs(FOLDER)

    def script(self, *lines, code=0, arguments=()):
        found, out, err = run(TALKING, *arguments, "--script", "-", text="\n".join(lines) + "\n")
        self.assertEqual(found, code, err)
        return out, err


def main():
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
