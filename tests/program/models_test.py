#!/usr/bin/env python3
"""Tests 'bitnet-chat models', pull and rm by the names of the catalogue, and models that are given by name.

usage: models_test.py BITNET-CHAT MODEL FOLDER
"""
import hashlib
import json
import os
import pty
import shutil
import struct
import subprocess
import sys
import threading
import time
import unittest

import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import gguf_types
import make_family
import make_model
from pull_test import FOLDER, KEPT, MODEL, PROGRAM, Server, environment

REPO, FILE = "microsoft/bitnet-b1.58-2B-4T-gguf", "ggml-model-i2_s.gguf"  # of bitnet-2b4t
PLACE = os.path.join(KEPT, "hub", REPO, FILE)
MINE = os.path.join(FOLDER, "mine")


def write_without_weights(path, least):
    """Writes a file of at least so many bytes that is none of them on the disk, but for what says what is in it."""
    def written(layers):
        a = make_family.parse(["-", *"--proj q8_0 --dim 4096 --ffn 16384 --heads 32 --kv 2".split(), "--layers", str(layers)])
        meta, n_vocab = make_family.metadata(a, np.random.default_rng(1), a.dim // a.heads)
        directory, at, count = b"", 0, 0
        for name, kind, shape in make_family.tensors(a, n_vocab, a.dim // a.heads):
            kind = "f32" if len(shape) == 1 else kind
            directory += make_model.text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape[::-1])
            directory += struct.pack("<IQ", gguf_types.KINDS[kind].id, at)
            at, count = at + (gguf_types.size(kind, shape) + 31) // 32 * 32, count + 1
        head = b"GGUF" + struct.pack("<IQQ", 3, count, len(meta)) + b"".join(meta) + directory
        return head + b"\0" * (-len(head) % 32), at

    layer = written(2)[1] - written(1)[1]
    head, weights = written(least // layer + 1)
    with open(path, "wb") as file:
        file.write(head)
        file.truncate(len(head) + weights)


class Models(unittest.TestCase):
    def setUp(self):
        shutil.rmtree(FOLDER, ignore_errors=True)
        os.makedirs(MINE)
        shutil.copy(MODEL, MINE + "/small.gguf")
        self.server = Server()
        with open(MODEL, "rb") as file:
            content = file.read()
        self.server.repo = REPO
        self.server.api = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest(), "files": [FILE]}
        self.content = content
        self.server.plan = [{"content": content}]

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()

    def run_program(self, *words, code=0, cwd=FOLDER, **more):
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=120, cwd=cwd,
                              stdin=subprocess.DEVNULL, env=environment(self.server, **more))
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def models(self, *words):
        return json.loads(self.run_program("models", "--json", "--device", "cpu", *words))

    def test_what_is_here_and_what_is_known(self):
        found = self.models("--models", MINE)
        here = {model["name"]: model for model in found["here"]}
        small = here["small"]
        self.assertEqual((small["path"], small["from"], small["bytes"]), (MINE + "/small.gguf", "folder", len(self.content)))
        self.assertEqual((small["fits"], small["runs"]), ("fits", True))
        self.assertGreater(small["memory_bytes"], small["bytes"] / 2)
        known = {model["name"]: model for model in found["known"]}
        self.assertEqual(known["bitnet-2b4t"]["bytes"], 1187801280)
        self.assertTrue(known["bitnet-2b4t"]["bytes_are_exact"] and known["bitnet-2b4t"]["runs"])
        self.assertEqual(len(known), len(found["known"]))
        for model in found["known"]:
            self.assertRegex(model["name"], r"\A[a-z0-9][a-z0-9.-]*\Z")
            self.assertEqual(model["runs"], model["problem"] is None, model)
            self.assertEqual(model["file"] is None or model["file"].endswith(".gguf"), True, model)
        text = self.run_program("models", "--device", "cpu", "--models", MINE)
        self.assertLessEqual(max(map(len, text.splitlines())), 80, text)
        for name in known | here:
            self.assertIn(f"  {name} ", text)
        self.assertIn("small\n", self.run_program("models", "--names", "--models", MINE))

    def test_pulled_and_deleted_by_its_name(self):
        self.assertIn("'bitnet-chat pull bitnet-2b4t'", self.run_program("info", "bitnet-2b4t", code=4))
        self.assertEqual(self.run_program("pull", "bitnet-2b4t"), PLACE + "\n")
        here = [model for model in self.models()["here"] if model["from"] == "pulled"]
        self.assertEqual([(m["name"], m["path"], m["repository"]) for m in here], [("bitnet-2b4t", PLACE, REPO)])
        for name in ("bitnet-2b4t", REPO, f"{REPO}/{FILE}"):
            self.assertIn(PLACE, self.run_program("info", name))
        self.assertIn("--yes", self.run_program("rm", "bitnet-2b4t", code=2))
        self.assertTrue(os.path.exists(PLACE))
        self.assertEqual(self.run_program("rm", "bitnet-2b4t", "--yes"), PLACE + "\n")
        self.assertEqual(os.listdir(KEPT), [])
        self.assertIn("nothing pulled has that name", self.run_program("rm", "bitnet-2b4t", "--yes", code=1))

    def test_names_that_pull_does_not_fetch(self):
        self.assertIn("did you mean bitnet-2b4t?", self.run_program("pull", "bitnet-2b4", code=2))
        self.assertIn("git clone", self.run_program("pull", "falcon3-7b", code=2))
        self.assertEqual(self.server.requests, [])

    def test_a_person_is_asked(self):
        for answer, there in (("n\n", True), ("\n", True), ("y\n", False)):
            self.run_program("pull", "bitnet-2b4t")
            hands, terminal = pty.openpty()
            os.write(hands, answer.encode())
            done = subprocess.run([PROGRAM, "rm", "bitnet-2b4t"], stdin=terminal, capture_output=True, text=True,
                                  timeout=60, env=environment(self.server))
            os.close(hands)
            os.close(terminal)
            self.assertEqual((done.returncode, os.path.exists(PLACE)), (0, there), done.stderr)
            self.assertIn(f"delete {PLACE}? [y/N]", done.stderr)

    def test_a_folder_of_the_config_file(self):
        os.makedirs(FOLDER + "/config/bitnet-chat")
        with open(FOLDER + "/config/bitnet-chat/config", "w") as file:
            file.write(f"models = {MINE}\nmodels = {FOLDER}/gone\n")
        self.assertIn(MINE + "/small.gguf", self.run_program("info", "small"))
        self.assertIn("was not pulled", self.run_program("rm", "small", "--yes", code=2))
        self.assertTrue(os.path.exists(MINE + "/small.gguf"))
        # What could be a path is one.
        os.mkdir(FOLDER + "/small")
        self.assertNotIn("small.gguf", self.run_program("info", "small", code=4))
        # A second one of that name is known by its path.
        os.makedirs(FOLDER + "/gone")
        shutil.copy(MODEL, FOLDER + "/gone/small.gguf")
        names = [model["name"] for model in self.models()["here"]]
        self.assertIn(FOLDER + "/gone/small.gguf", names)
        self.assertEqual(names.count("small"), 1)

    def test_rm_stays_in_its_folder(self):
        os.makedirs(KEPT + "/hub")
        os.makedirs(FOLDER + "/elsewhere/repo")
        shutil.copy(MODEL, FOLDER + "/elsewhere/repo/x.gguf")
        os.symlink(FOLDER + "/elsewhere", KEPT + "/hub/owner")
        self.assertIn("so it stays", self.run_program("rm", "owner/repo/x.gguf", "--yes", code=1))
        for name in ("../x", "..", "a/../b", "owner/../../x.gguf", "/etc/passwd", KEPT, "", " "):
            self.assertNotEqual(self.run_program("rm", name, "--yes", code=2 if name == "" else 1), "")
        self.assertTrue(os.path.exists(FOLDER + "/elsewhere/repo/x.gguf"))
        # A link goes, and what it leads to stays.
        os.makedirs(KEPT + "/hub/another/repo")
        os.symlink(MINE + "/small.gguf", KEPT + "/hub/another/repo/y.gguf")
        self.run_program("rm", "another/repo/y.gguf", "--yes")
        self.assertFalse(os.path.lexists(KEPT + "/hub/another"))
        self.assertTrue(os.path.exists(MINE + "/small.gguf"))

    def test_a_link_is_found_by_the_name_that_is_listed(self):
        with open(MINE + "/blob", "wb") as file:  # as a cache of the hub has it
            file.write(self.content)
        os.makedirs(KEPT + "/hub/some/repo")
        link = KEPT + "/hub/some/repo/z.gguf"
        os.symlink(MINE + "/blob", link)
        self.assertIn("some/repo/z.gguf", [model["name"] for model in self.models()["here"]])
        for name in ("some/repo", "some/repo/z.gguf"):
            self.assertIn(link, self.run_program("info", name))
        self.assertEqual(self.run_program("rm", "some/repo", "--yes"), link + "\n")
        self.assertFalse(os.path.lexists(KEPT + "/hub/some"))
        self.assertTrue(os.path.exists(MINE + "/blob"))

    def test_a_model_larger_than_memory(self):
        path = MINE + "/large.gguf"
        write_without_weights(path, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 5 // 4)
        here = {model["name"]: model for model in self.models("--models", MINE)["here"]}
        self.assertEqual((here["large"]["fits"], here["large"]["runs"]), ("in_file", True))
        self.assertIn("left in its file", self.run_program("devices", path))
        plan = json.loads(self.run_program("plan", path, "--json", "--device", "cpu"))
        self.assertGreater(plan["in_file"], 0)
        self.assertLess(plan["on_device"], plan["memory_bytes"])

    def test_a_pull_that_was_begun(self):
        stall = threading.Event()
        self.server.plan = [{"content": self.content, "cut_after": 70000, "stall": stall}]
        pull = subprocess.Popen([PROGRAM, "pull", "bitnet-2b4t"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                env=environment(self.server))
        end = time.monotonic() + 60
        while not os.path.exists(PLACE + ".part") or os.path.getsize(PLACE + ".part") < 70000:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        self.assertIn("it is being fetched", self.run_program("rm", "bitnet-2b4t", "--yes", code=1))
        pull.terminate()
        self.assertEqual(pull.wait(timeout=60), 143)
        stall.set()
        known = {model["name"]: model for model in self.models()["known"]}
        self.assertEqual(known["bitnet-2b4t"]["fetched_bytes"], 70000)
        self.run_program("rm", "bitnet-2b4t", "--yes")
        self.assertEqual(os.listdir(KEPT), [])

    def test_files_that_are_none(self):
        with open(MINE + "/broken.gguf", "wb") as file:
            file.write(b"GGUF" + bytes(range(200)))
        os.symlink(FOLDER + "/nowhere", MINE + "/gone.gguf")
        os.mkfifo(MINE + "/pipe.gguf")
        os.mkdir(MINE + "/folder.gguf")
        self.assertIn("models: wanted a folder that is there", self.run_program("models", "--models", FOLDER + "/nowhere", code=2))
        config = FOLDER + "/elsewhere.conf"  # may name a disk that is not there today
        with open(config, "w") as file:
            file.write(f"models = {FOLDER}/nowhere\n")
        here = {model["name"]: model for model in self.models("--config", config, "--models", MINE)["here"]}
        self.assertEqual(set(here) - {"bundled"}, {"broken", "small"})
        self.assertFalse(here["broken"]["runs"])
        self.assertIn("cannot be run", self.run_program("models", "--device", "cpu", "--models", MINE))


if __name__ == "__main__":
    unittest.main(argv=["models_test.py"] + sys.argv[4:])
