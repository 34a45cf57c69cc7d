"""Tests /model as a person uses it: picked from a list, fetched while one goes on, stopped, and gone back from.

    models_test.py BITNET_CHAT MODEL.gguf FOLDER OTHER.gguf
"""
import hashlib
import os
import sys
import threading
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../program"))
from pull_test import MODEL, PROGRAM, Server  # noqa: E402
from tmux import Terminal  # noqa: E402

with open(sys.argv[4], "rb") as other:
    CONTENT = other.read()
REPO, FILE, HALF = "microsoft/bitnet-b1.58-2B-4T-gguf", "ggml-model-i2_s.gguf", 70000  # of bitnet-2b4t


class Models(unittest.TestCase):
    def start(self, columns, rows):
        self.server = Server()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.server.repo = REPO
        self.server.api = {"size": len(CONTENT), "sha256": hashlib.sha256(CONTENT).hexdigest(), "files": [FILE]}
        t = Terminal(columns, rows, {"HF_ENDPOINT": self.server.url})
        self.addCleanup(t.close)
        t.line(f"export XDG_CACHE_HOME={t.home}/cache; mkdir mine; ln -s {MODEL} mine/small.gguf")
        t.wait_prompt()
        return t

    def begin(self, t, arguments=""):
        t.clear()
        t.line(f"{PROGRAM} {MODEL} --device cpu --models mine --temp 0 -n 4 --no-kv-cache --no-titles {arguments}; echo left with $?")
        t.wait("ready ─")

    def go_through(self, columns, rows):
        t = self.start(columns, rows)
        self.begin(t)
        t.line("/model")
        t.wait("Go on with another model")
        t.type("bitnet-2b")
        t.wait("^› bitnet-2b4t")
        t.key("Escape")
        t.wait("Go on with another model", gone=True)
        # It comes, and one goes on meanwhile.
        stall = threading.Event()
        self.addCleanup(stall.set)
        self.server.plan = [{"content": CONTENT, "cut_after": HALF, "stall": stall}]
        t.line("/model bitnet-2b4t")
        t.wait("fetching")
        t.line("Hello!")
        t.wait(r"^› Hello!\n\n  [^ …]")
        t.wait("ready|fetching")
        t.line("/model bonsai-4b")
        t.wait(r"^! bitnet-2b4t is being fetched")
        part = os.path.join(t.home, "cache/bitnet-chat/models/hub", REPO, FILE + ".part")
        t.wait_until("half of it is there", lambda: os.path.exists(part) and os.path.getsize(part) == HALF)
        t.line("/model stop")
        t.wait("no longer")
        stall.set()
        # What came is gone on with, and the conversation with it.
        self.server.plan = [{"content": CONTENT}]
        self.server.requests.clear()
        t.line("/model bitnet-2b4t")
        t.wait("bitnet-2b4t answers from")
        self.assertEqual(self.server.file_requests()[0][1].get("Range"), f"bytes={HALF}-")
        t.line("And now?")
        t.wait(r"^› And now\?\n\n  [^ …][\s\S]*ready ─")
        t.key("C-d")
        t.wait("^left with 0$")
        # Who comes back with another model is told, once.
        self.begin(t, "-c")
        t.wait("bitnet-2b4t answered here")
        t.line("/model back")
        t.wait("bitnet-2b4t answers from")
        t.key("C-d")
        t.wait("^left with 0$")

    def test_80x24(self):
        self.go_through(80, 24)

    def test_200x60(self):
        self.go_through(200, 60)

    def test_40x12(self):
        self.go_through(40, 12)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
