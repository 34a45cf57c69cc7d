#!/usr/bin/env python3
"""Tests 'bitnet-chat pull' against a local HTTP server that cuts, redirects, lies and refuses.

usage: pull_test.py BITNET-CHAT MODEL FOLDER
"""
import hashlib
import http.server
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
import unittest

PROGRAM, MODEL, FOLDER = sys.argv[1:4]
CONTENT = b"GGUF" + bytes(range(256)) * 2000
SHA256 = hashlib.sha256(CONTENT).hexdigest()
REPO = "owner/a-repo"
FILE = "ggml-model-i2_s.gguf"
KEPT = os.path.join(FOLDER, "cache/bitnet-chat/models")
PLACE = os.path.join(KEPT, "hub", REPO, FILE)
PART = PLACE + ".part"


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers requests of the file as the list `server.plan` says, one behaviour each; the last one serves all others."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        server = self.server
        server.requests.append((self.path, dict(self.headers)))
        path = re.sub(r"^http://[^/]*", "", self.path)  # as a proxy is asked
        if path.startswith("/api/models/"):
            self.answer_api(path)
        elif "/resolve/" in path and server.store is not None:
            self.send_response(302)
            self.send_header("Location", f"{server.store}/blobs/1")
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            plan = server.plan
            self.answer_file(plan.pop(0) if len(plan) > 1 else plan[0] if plan else {})

    def answer_api(self, path):
        behaviour = self.server.api
        if "status" in behaviour:
            return self.answer_status(behaviour)
        if path != f"/api/models/{self.server.repo}/tree/main?recursive=true":
            return self.answer_status({"status": 401})
        if "raw" in behaviour:
            return self.send_all(behaviour["raw"])
        files = behaviour.get("files", [FILE, "README.md"])
        rows = [{"type": "file", "path": f, "size": behaviour.get("size", len(CONTENT)), "oid": "0" * 40} for f in files]
        for row in rows:
            if behaviour.get("lfs", True):
                row["lfs"] = {"oid": behaviour.get("sha256", SHA256), "size": row["size"]}
        self.send_all(json.dumps(rows).encode())

    def answer_status(self, behaviour):
        self.send_response(behaviour["status"])
        if "retry_after" in behaviour:
            self.send_header("Retry-After", behaviour["retry_after"])
        self.send_header("Content-Length", "0")
        self.end_headers()

    def answer_file(self, b):
        """cut_after: bytes until the connection is closed; announce: a false length; ranges, etag, content: as sent;
        stall: an event to wait for after cut_after bytes."""
        if "status" in b:
            return self.answer_status(b)
        content, etag = b.get("content", CONTENT), b.get("etag", '"one"')
        begin, status = 0, 200
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if wanted and b.get("ranges", True) and self.headers.get("If-Range", etag) == etag:
            begin, status = int(wanted[1]), 206
        if begin >= len(content):
            return self.answer_status({"status": 416})
        self.send_response(status)
        if etag:
            self.send_header("ETag", etag)
        if status == 206:
            self.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
        body = content[begin:]
        self.send_header("Content-Length", str(b.get("announce", len(body))))
        self.end_headers()
        try:
            self.wfile.write(body[:b.get("cut_after", len(body))])
            self.wfile.flush()
            if "stall" in b:
                b["stall"].wait(60)
        except OSError:
            pass
        if "cut_after" in b or "announce" in b:
            self.close_connection = True

    def send_all(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.repo, self.requests, self.api, self.plan, self.store = REPO, [], {}, [], None
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # a client that went away

    def file_requests(self):
        return [r for r in self.requests if not r[0].startswith("/api/")]


def environment(server, **more):
    env = {k: v for k, v in os.environ.items() if "proxy" not in k.lower() and not k.startswith("HF_")}
    env.update(XDG_CACHE_HOME=FOLDER + "/cache", XDG_CONFIG_HOME=FOLDER + "/config", XDG_DATA_HOME=FOLDER + "/data",
               XDG_STATE_HOME=FOLDER + "/state", HF_ENDPOINT=server.url, TERM="dumb")
    return env | more


class Pull(unittest.TestCase):
    def setUp(self):
        shutil.rmtree(FOLDER, ignore_errors=True)
        os.makedirs(FOLDER)
        self.server, self.other = Server(), Server()

    def tearDown(self):
        for server in (self.server, self.other):
            server.shutdown()
            server.server_close()

    def pull(self, name=REPO, **more):
        done = subprocess.run([PROGRAM, "pull", name], capture_output=True, text=True, timeout=120,
                              env=environment(self.server, **more))
        return done.returncode, done.stdout, done.stderr

    def assert_pulled(self, result, place=PLACE, content=CONTENT):
        code, out, err = result
        self.assertEqual((code, out), (0, place + "\n"), err)
        with open(place, "rb") as file:
            self.assertEqual(file.read(), content)
        self.assertEqual(os.listdir(os.path.dirname(place)), [os.path.basename(place)])

    def assert_refused(self, result, code, *words):
        self.assertEqual(result[:2], (code, ""), result[2])
        last = result[2].splitlines()[-1]
        self.assertTrue(last.startswith("bitnet-chat: "), result[2])
        for word in words:
            self.assertIn(word, last)
        self.assertFalse(os.path.exists(PLACE))

    def test_a_repository(self):
        result = self.pull()
        self.assert_pulled(result)
        self.assertIn(SHA256 + " (as published)", result[2])
        self.assertEqual(stat.S_IMODE(os.stat(PLACE).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(KEPT).st_mode), 0o700)
        self.assertNotIn("Authorization", self.server.requests[0][1])
        # A second time nothing is fetched, unless the file is not what it was.
        self.assertIn("here already", self.pull()[2])
        self.assertEqual(len(self.server.file_requests()), 1)
        with open(PLACE, "r+b") as file:
            file.write(b"damaged")
        self.assert_pulled(self.pull())

    def test_a_pulled_model_is_opened_by_its_name(self):
        with open(MODEL, "rb") as file:
            content = file.read()
        self.server.plan = [{"content": content}]
        self.server.api = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        self.assertEqual(self.pull()[0], 0)
        for name in (REPO, f"{REPO}/{FILE}", f"{self.server.url}/{REPO}"):
            done = subprocess.run([PROGRAM, "info", name], capture_output=True, text=True, env=environment(self.server))
            self.assertEqual(done.returncode, 0, done.stderr)
        done = subprocess.run([PROGRAM, "info", "owner/none"], capture_output=True, text=True,
                              env=environment(self.server))
        self.assertEqual(done.returncode, 4)
        self.assertIn("bitnet-chat pull owner/none", done.stderr)
        done = subprocess.run([PROGRAM, "lst"], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env=environment(self.server))
        self.assertEqual(done.returncode, 4)
        self.assertIn("did you mean the command 'list'?", done.stderr)

    def test_which_file_of_a_repository(self):
        self.server.api = {"files": ["a.gguf", "b-I2_S.gguf", "README.md"]}
        self.assert_pulled(self.pull(), f"{KEPT}/hub/{REPO}/b-I2_S.gguf")
        shutil.rmtree(KEPT)
        self.server.api = {"files": ["sub/a.gguf", "b.gguf"]}
        self.assert_refused(self.pull(), 2, "several", "sub/a.gguf")
        self.assert_pulled(self.pull(REPO + "/sub/a.gguf"), f"{KEPT}/hub/{REPO}/sub/a.gguf")
        self.assert_refused(self.pull(REPO + "/c.gguf"), 1, "c.gguf", "b.gguf")
        # A message names ten files, and no name at any length.
        self.server.api = {"files": [f"{'x' * 2000}{i:05}.gguf" for i in range(1000)]}
        for name, code, *words in ((REPO, 2, "several", "x..., ", " and 990 more)"), (REPO + "/c.gguf", 1, "c.gguf", " and 990 more")):
            result = self.pull(name)
            self.assert_refused(result, code, *words)
            self.assertLess(len(result[2]), 3000)
        self.server.api = {"files": ["README.md"]}
        self.assert_refused(self.pull(), 1, "no GGUF")
        self.server.api = {"files": ["../../../evil.gguf"]}
        self.assert_refused(self.pull(), 1, "../../../evil.gguf is not pulled, because of its name")
        self.assertFalse(os.path.exists(f"{KEPT}/hub/evil.gguf"))

    def test_a_part_of_a_model_is_not_fetched(self):
        parts = [f"m-0000{i}-of-00003.gguf" for i in (1, 2, 3)]
        self.server.api = {"files": parts}
        for name in (f"{REPO}/{parts[1]}", f"{self.other.url}/some/{parts[1]}?x=1"):
            self.assert_refused(self.pull(name), 1, parts[1], "part 2 of 3 of a model", "llama-gguf-split --merge")
        self.server.api = {"files": parts[:1]}
        self.assert_refused(self.pull(), 1, "part 1 of 3")
        self.assertEqual(self.server.file_requests() + self.other.requests, [])
        for whole in ("m-00001-of-00001.gguf", "m-1-of-3.gguf"):
            self.server.api = {"files": [whole]}
            self.assert_pulled(self.pull(), f"{KEPT}/hub/{REPO}/{whole}")
            shutil.rmtree(KEPT)

    def test_an_address(self):
        result = self.pull(f"{self.other.url}/some/model.gguf?x=1")
        host = self.other.url[len("http://"):].replace(":", "_")
        place = result[1].strip()
        self.assertRegex(place, rf"^{re.escape(KEPT)}/url/{host}/some/model-[0-9a-f]{{12}}\.gguf$")
        self.assert_pulled(result, place)
        self.assertIn("none was published", result[2])
        again = self.pull(f"{self.other.url}/some/model.gguf?x=1")
        self.assert_pulled(again, place)
        self.assertIn("is here already", again[2])
        # What differs in what a file's name cannot have is another file.
        others = {place}
        for other in ("/some/model.gguf?x=2", "/some/mod%20el.gguf", "/some/mod_20el.gguf", "/some/model.gguf"):
            others.add(self.pull(self.other.url + other)[1].strip())
        self.assertEqual(len(others), 5, others)
        self.assertIn(f"{KEPT}/url/{host}/some/model.gguf", others)
        self.assert_pulled(self.pull(f"{self.server.url}/{REPO}/blob/main/{FILE}"))

    def test_names_that_are_none(self):
        for name in ("model", "a/../b", "../b", "a b/c", "a/b/c.txt", "/a/b", "http://", "https://host", "http:///x"):
            self.assert_refused(self.pull(name), 2, "wanted OWNER/REPO")
        self.assertEqual(self.server.requests, [])

    def test_cuts_are_mended_within_one_call(self):
        self.server.plan = [{"cut_after": 100000}, {"cut_after": 150000}, {"cut_after": 1}, {}]
        self.assert_pulled(self.pull())
        ranges = [r[1].get("Range") for r in self.server.file_requests()]
        self.assertEqual(ranges, [None, "bytes=100000-", "bytes=250000-", "bytes=250001-"])
        self.assertEqual({r[1].get("If-Range") for r in self.server.file_requests()[1:]}, {'"one"'})

    def interrupt_after(self, count, number=signal.SIGINT, **more):
        stall = threading.Event()
        self.server.plan = [{"cut_after": count, "stall": stall, **more}]
        process = subprocess.Popen([PROGRAM, "pull", REPO], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=environment(self.server))
        end = time.monotonic() + 60
        while not os.path.exists(PART) or os.path.getsize(PART) < count:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        stall.set()
        self.server.requests.clear()
        return process.returncode, out, err

    def test_interrupted_and_resumed(self):
        code, out, err = self.interrupt_after(70000)
        self.assertEqual((code, out), (130, ""), err)
        self.assertIn("goes on from there", err)
        self.assertEqual(stat.S_IMODE(os.stat(PART).st_mode), 0o600)
        self.server.plan = []
        self.assert_pulled(self.pull())
        self.assertEqual(self.server.file_requests()[0][1]["Range"], "bytes=70000-")
        os.unlink(PLACE)
        self.assertEqual(self.interrupt_after(10, signal.SIGTERM)[0], 143)

    def test_another_file_since(self):
        newer = CONTENT[:-1] + b"!"
        for publish in (True, False):  # with a checksum of the hub, and with the etag alone
            with self.subTest(publish=publish):
                shutil.rmtree(KEPT, ignore_errors=True)
                self.server.api = {"lfs": publish}
                self.interrupt_after(70000)
                self.server.api = {"lfs": publish, "sha256": hashlib.sha256(newer).hexdigest()}
                self.server.plan = [{"content": newer, "etag": '"two"'}]
                self.assert_pulled(self.pull(), content=newer)
                self.assertEqual("Range" in self.server.file_requests()[0][1], not publish)

    def test_no_ranges(self):
        self.server.plan = [{"cut_after": 70000}, {"ranges": False}]
        result = self.pull()
        self.assert_pulled(result)
        self.assertIn("beginning again", result[2])
        # Without an etag and a checksum nothing tells that two parts are of one file.
        os.unlink(PLACE)
        self.server.requests.clear()
        self.server.api = {"lfs": False}
        self.server.plan = [{"cut_after": 70000, "etag": ""}, {"etag": ""}]
        self.assert_pulled(self.pull())
        self.assertNotIn("Range", self.server.file_requests()[1][1])

    def test_lies_about_length(self):
        self.server.plan = [{"announce": len(CONTENT) + 5}]
        self.assert_refused(self.pull(), 1, "announces")
        self.server.plan = [{"content": CONTENT + b"more"}]
        self.assert_refused(self.pull(), 1, "announces")
        self.server.api = {"size": 10}
        self.server.plan = []
        self.assert_refused(self.pull(), 1, "wanted 10 bytes")
        self.server.plan = [{"announce": len(CONTENT) + 9}, {"status": 416}, {}]
        url = self.other.url + "/m.gguf"
        self.other.plan = [{"announce": len(CONTENT) + 9}, {"status": 416}, {}]
        self.assertEqual(self.pull(url)[0], 0)

    def test_a_wrong_checksum(self):
        self.server.plan = [{"content": CONTENT[:-1] + b"!"}]
        self.assert_refused(self.pull(), 1, "SHA-256", SHA256)
        self.assertEqual(os.listdir(os.path.dirname(PLACE)), [])

    def test_what_is_no_gguf_file(self):
        self.server.plan = [{"content": b"<html>\x1b[2J" + CONTENT[10:]}]
        self.assert_refused(self.pull(), 1, "begins with '<html><U+001B>")
        late = b"GGXX" + CONTENT[4:]
        self.server.plan = [{"content": late, "cut_after": 2}, {"content": late}]
        self.assert_refused(self.pull(), 1, "begins with 'GGXX")
        self.server.plan = []
        self.assertEqual(self.pull()[0], 0)  # and nothing of that is gone on with

    def test_refusals(self):
        for status, words in ((401, "HF_TOKEN"), (403, "HF_TOKEN"), (404, "404"), (418, "418")):
            self.server.api, self.server.plan = {"status": status}, []
            self.assert_refused(self.pull(), 1, words, REPO)
            self.server.api, self.server.plan = {}, [{"status": status}]
            self.assert_refused(self.pull(), 1, words, REPO)
        self.assertEqual(os.listdir(os.path.dirname(PLACE)), [])  # nothing came, nothing stays
        self.assert_refused(self.pull(HF_ENDPOINT="http://127.0.0.1:1"), 1, REPO)
        self.assert_refused(self.pull(HF_TOKEN="a\nb: c"), 2, "HF_TOKEN")

    def test_a_busy_server_is_waited_for(self):
        self.server.api, self.server.plan = {}, [{"status": 503, "retry_after": "1"}, {"status": 429, "retry_after": "0"}, {}]
        result = self.pull()
        self.assert_pulled(result)
        self.assertIn("trying again in 1 s", result[2])
        os.unlink(PLACE)
        self.server.plan = [{"status": 429, "retry_after": "3600"}]
        self.assert_refused(self.pull(), 1, "429", "3600 s")

    def test_the_token_stays_with_the_hub(self):
        self.server.store = self.other.url
        self.assert_pulled(self.pull(HF_TOKEN="hf_secret"))
        self.assertEqual([r[1].get("Authorization") for r in self.server.requests], ["Bearer hf_secret"] * 2)
        self.assertEqual([r[1].get("Authorization") for r in self.other.requests], [None])
        self.pull(self.other.url + "/x.gguf", HF_TOKEN="hf_secret")
        self.assertNotIn("Authorization", self.other.requests[-1][1])

    def test_redirections_end(self):
        self.server.store = self.server.url + "/resolve"
        self.assert_refused(self.pull(), 1, "redirections")

    def test_a_proxy_is_used(self):
        done = self.pull(HF_ENDPOINT="http://hub.invalid", http_proxy=self.server.url)
        self.assert_pulled(done)
        self.assertTrue(all(r[0].startswith("http://hub.invalid/") for r in self.server.requests))

    def test_one_at_a_time(self):
        stall = threading.Event()
        self.server.plan = [{"cut_after": 5, "stall": stall}, {}]
        first = subprocess.Popen([PROGRAM, "pull", REPO], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 env=environment(self.server))
        end = time.monotonic() + 60
        while not os.path.exists(PART) or os.path.getsize(PART) < 5:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        self.assert_refused(self.pull(), 1, "another bitnet-chat")
        stall.set()
        self.assertEqual(first.wait(timeout=60), 0)

    def test_a_part_that_nothing_can_go_on_with_is_thrown_away(self):
        self.server.api = {"lfs": False}
        code, out, err = self.interrupt_after(70000, etag="")
        self.assertEqual((code, out), (130, ""), err)
        self.assertIn("nothing was kept", err)
        self.assertEqual(os.listdir(os.path.dirname(PLACE)), [])
        self.server.plan = [{"cut_after": 70000, "etag": ""}]
        self.assert_refused(self.pull(), 1, "again and again", "thrown away")
        self.assertEqual(os.listdir(os.path.dirname(PLACE)), [])
        # With a strong etag the part stays.
        self.interrupt_after(70000)
        self.assertEqual(os.path.getsize(PART), 70000)

    def test_a_checksum_in_capitals_is_a_checksum(self):
        self.server.api = {"sha256": SHA256.upper()}
        result = self.pull()
        self.assert_pulled(result)
        self.assertIn(SHA256 + " (as published)", result[2])
        os.unlink(PLACE)
        self.server.plan = [{"content": CONTENT[:-1] + b"!"}]
        self.assert_refused(self.pull(), 1, "SHA-256", SHA256)

    def test_a_list_of_files_that_would_exhaust_the_program(self):
        deep = b"[" * 1000000 + b"]" * 1000000
        entry = b'[{"type": "file", "path": "a.gguf", "size": 1, "lfs": %s}]'
        for raw in (deep, entry % deep, b'{"a":' * 60000 + b"1" + b"}" * 60000, b"[" * 60000, b"[{" + b'"type": [' * 60000):
            self.server.api = {"raw": raw}
            self.assert_refused(self.pull(), 1, "gives no list of files", "nested more than 64 levels")
        for raw in (b"", b"null", b"{}", b"\x00", b"[" + b"1," * 60000):
            self.server.api = {"raw": raw}
            self.assert_refused(self.pull(), 1, "gives no list of files")
        for raw in (b"[]", b"[1, null, []]", b'[{"type": "file", "path": 3, "lfs": [], "size": {}}]'):
            self.server.api = {"raw": raw}
            self.assert_refused(self.pull(), 1, "no GGUF")

    def test_a_size_that_wraps(self):
        for size in (2 ** 64 - 1, 2 ** 64 - 2 ** 26, 2 ** 63):
            self.server.api = {"size": size}
            self.assert_refused(self.pull(), 1, "MB left")
        self.assertEqual(self.server.file_requests(), [])

    def test_no_room(self):
        self.server.api = {"size": 10 ** 18}
        self.assert_refused(self.pull(), 1, "MB left")
        self.assertEqual(self.server.file_requests(), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
