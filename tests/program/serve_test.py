#!/usr/bin/env python3
"""Tests the server by raw sockets and http.client: what it answers, what it refuses, and who has to wait for whom.

usage: serve_test.py BITNET-CHAT TALKING-MODEL ENDLESS-MODEL FOLDER
The ENDLESS-MODEL, whose weights are random, goes on to the end of its context. Ports are chosen by the kernel.
"""
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

from program_case import ENDLESS, FOLDER, PROGRAM, TALKING, ProgramCase, environment, main, run
from server import QUICK, STAR, Server, events, post, read_all, status_of

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import hostile_file  # noqa: E402


class Serve(ProgramCase):
    def setUp(self):
        super().setUp()
        self.servers = []

    def tearDown(self):
        for server in self.servers:
            if server.process.poll() is None:
                server.process.kill()
                server.process.wait()
                server.process.stdout.close()
            server.errors.close()

    def server(self, *arguments, **how):
        self.servers.append(Server(*arguments, **how))
        return self.servers[-1]

    def wait_for(self, what):
        """Waits until `what` is so; the test's own time limit ends it otherwise."""
        end = time.monotonic() + 60
        while not what():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def test_the_members_of_the_man_page_are_known(self):
        section = re.search(r"^\.SH SERVER$(.*?)^\.SH", run("print", "man")[1], re.M | re.S)[1]
        names = re.findall(r"^\.TP\n\\fB(\S+)\\fR", section, re.M)
        self.assertIn("chat_template_kwargs", names)
        server = self.server()
        for name in [*names, "bogus"]:
            said = [server.ask("/v1/chat/completions", {"messages": STAR, "max_tokens": 1, name: None})[2],
                    server.ask("/v1/completions", {"prompt": "a", "max_tokens": 1, name: None})[2]]
            self.assertEqual(all("unknown member" in text for text in said), name == "bogus", said)

    def test_models_answers_and_tokens(self):
        server = self.server()
        listed = json.loads(server.ask("/v1/models")[2])
        self.assertEqual((listed["object"], [m["id"] for m in listed["data"]]), ("list", [server.model]))
        self.assertEqual(json.loads(server.ask("/v1/models/" + server.model)[2])["object"], "model")
        asked = run(TALKING, *QUICK, "--private", "-p", "What is a star?", "--seed", "1", "-n", "8")[1].rstrip("\n")
        answer = server.chat(model=server.model, user="somebody")
        choice = answer["choices"][0]
        self.assertEqual((answer["object"], choice["message"], choice["finish_reason"], choice["logprobs"]),
                         ("chat.completion", {"role": "assistant", "content": asked, "refusal": None}, "length", None))
        usage = answer["usage"]
        self.assertEqual((usage["completion_tokens"], usage["total_tokens"]), (8, 8 + usage["prompt_tokens"]))
        again = server.chat()
        self.assertEqual(again["choices"], answer["choices"])
        self.assertEqual(again["usage"]["prompt_tokens_details"]["cached_tokens"], usage["prompt_tokens"] - 1)
        # How a message is written does not matter.
        parts = [{"role": "user", "content": [{"type": "text", "text": "What is "}, {"type": "text", "text": "a star?"}]}]
        self.assertEqual(server.chat(messages=parts, n=1, tools=[], frequency_penalty=0)["choices"], answer["choices"])
        # Where the answer is cut
        cut = server.chat(stop=[" huge", "nothing"])["choices"][0]
        self.assertEqual((cut["message"]["content"], cut["finish_reason"]), (asked[:asked.index(" huge")], "stop"))
        cut_again = server.chat(stop=" huge")
        self.assertEqual(cut_again["choices"][0], cut)
        self.assertEqual(cut_again["usage"]["prompt_tokens_details"]["cached_tokens"], usage["prompt_tokens"] - 1)
        # An answer with a seed that nobody asked for can be had again.
        free = {"seed": -1, "temperature": 5, "top_p": 1, "top_k": 0, "min_p": 0}
        unknown = server.chat(**free)
        self.assertEqual(server.chat(**free | {"seed": unknown["seed"]})["choices"], unknown["choices"])
        self.assertEqual(server.chat(seed=2 ** 64 - 1)["seed"], 2 ** 64 - 1)
        for seed in (-2, 2 ** 64, 1.0):
            self.assertEqual(server.refusal("/v1/chat/completions", {"messages": STAR, "seed": seed})[1]["param"], "seed")
        # Other servers say null of an answer without a word.
        unsaid = [*STAR, {"role": "assistant", "content": None}, {"role": "user", "content": "Well?"}]
        self.assertEqual(server.chat(messages=unsaid)["choices"],
                         server.chat(messages=[*unsaid[:1], {"role": "assistant", "content": ""}, unsaid[2]])["choices"])
        self.assertEqual(server.chat(max_completion_tokens=1)["usage"]["completion_tokens"], 1)
        # Tokens and what else the model thought of
        named = server.chat(logprobs=True, top_logprobs=3)["choices"][0]
        self.assertEqual(named["message"]["content"], asked)
        self.assertEqual("".join(t["token"] for t in named["logprobs"]["content"]), asked)
        for token in named["logprobs"]["content"]:
            best = token["top_logprobs"]
            self.assertEqual((len(best), bytes(token["bytes"]).decode()), (3, token["token"]))
            self.assertEqual(best, sorted(best, key=lambda b: -b["logprob"]))
        greedy = server.chat(logprobs=True, top_logprobs=1, temperature=0)["choices"][0]["logprobs"]["content"]
        self.assertTrue(all(t["token"] == t["top_logprobs"][0]["token"] for t in greedy))
        # A completion goes on with its text; tokens are as good as their text.
        ids = json.loads(server.ask("/tokenize", {"content": "What is a star?", "add_special": True})[2])["tokens"]
        text = json.loads(server.ask("/detokenize", {"tokens": ids})[2])["content"]
        self.assertTrue(text.endswith("What is a star?"), text)
        pieces = json.loads(server.ask("/tokenize", {"content": "ab é", "with_pieces": True})[2])["tokens"]
        self.assertEqual(b"".join(bytes(p["piece"]) if isinstance(p["piece"], list) else p["piece"].encode() for p in pieces).decode(), "ab é")
        made = [json.loads(server.ask("/v1/completions", {"prompt": prompt, "seed": 3, "max_tokens": 5, "logprobs": 2})[2])
                for prompt in ("What is a star?", ids, ["What is a star?"])]
        self.assertEqual([m["choices"] for m in made], [made[0]["choices"]] * 3)
        logprobs = made[0]["choices"][0]["logprobs"]
        self.assertEqual((made[0]["object"], "".join(logprobs["tokens"])), ("text_completion", made[0]["choices"][0]["text"]))
        self.assertEqual([len(logprobs[k]) for k in ("token_logprobs", "top_logprobs", "text_offset")], [len(logprobs["tokens"])] * 3)
        self.assertFalse(os.path.exists(os.path.join(FOLDER, "data")))  # nothing is stored
        self.assertEqual(server.end(), 130)
        log = server.log()
        self.assertIn("POST /v1/chat/completions 200, ", log)
        self.assertNotRegex(log, "star|127|huge")

    def test_a_persona_has_its_settings_unless_the_command_line_says_otherwise(self):
        folder = os.path.join(environment()["XDG_CONFIG_HOME"], "bitnet-chat/personas")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "terse.txt"), "w") as file:
            file.write("max_tokens = 3\ntop_k = 1\n---\nBe terse.\n")
        for more, most in ((), 3), (("--max-tokens", "2"), 2):
            server = self.server("--persona", "terse", *more)
            answer = json.loads(server.ask("/v1/chat/completions", {"messages": STAR, "logprobs": True, "top_logprobs": 1})[2])
            tokens = answer["choices"][0]["logprobs"]["content"]
            self.assertEqual((len(tokens), [t["token"] for t in tokens]), (most, [t["top_logprobs"][0]["token"] for t in tokens]))

    def test_a_stream_byte_for_byte(self):
        server = self.server()
        whole = server.chat()
        answer = server.raw(post({"messages": STAR, "seed": 1, "max_tokens": 8, "stream": True,
                                  "stream_options": {"include_usage": True}}, "/v1/chat/completions", "Connection: close", "Accept-Encoding: gzip, br"))
        head = answer.split(b"\r\n\r\n")[0].decode().split("\r\n")
        self.assertEqual((head[0], sorted(head[1:])), ("HTTP/1.1 200 OK", ["Cache-Control: no-store", "Connection: close",
                                                                          "Content-Type: text/event-stream", "Transfer-Encoding: chunked"]))
        *chunks, done = events(answer)
        self.assertEqual(done, "[DONE]")
        first = json.loads(chunks[0])
        frame = f'{{"id":"{first["id"]}","object":"chat.completion.chunk","created":{first["created"]},"model":"{server.model}","seed":1,"choices":['
        def chunk(delta, finish="null"):
            return frame + f'{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{finish}}}],"usage":null}}'
        texts = [json.loads(c)["choices"][0]["delta"]["content"] for c in chunks[1:-2]]
        self.assertEqual("".join(texts), whole["choices"][0]["message"]["content"])
        self.assertEqual(chunks[:-1], [chunk('{"role":"assistant","content":""}'),
                                       *[chunk('{"content":' + json.dumps(text, ensure_ascii=False) + "}") for text in texts], chunk("{}", '"length"')])
        prompt = whole["usage"]["prompt_tokens"]
        self.assertEqual(chunks[-1], frame + f'],"usage":{{"prompt_tokens":{prompt},"completion_tokens":8,"total_tokens":{prompt + 8},'
                         f'"prompt_tokens_details":{{"cached_tokens":{prompt - 1}}}}}}}')
        # A text that may become a stop text is held back, and given if it does not.
        held = events(server.raw(post({"messages": STAR, "seed": 1, "max_tokens": 8, "stream": True, "stop": " huge cold"},
                                      "/v1/chat/completions", "Connection: close")))
        self.assertEqual("".join(json.loads(c)["choices"][0]["delta"].get("content", "") for c in held[:-1]),
                         whole["choices"][0]["message"]["content"])
        of_text = events(server.raw(post({"prompt": "A star", "seed": 1, "max_tokens": 3, "stream": True, "logprobs": 1},
                                         "/v1/completions", "Connection: close")))
        self.assertEqual([set(json.loads(c)["choices"][0]) for c in of_text[:-1]], [{"index", "text", "logprobs", "finish_reason"}] * (len(of_text) - 1))
        self.assertEqual(json.loads(of_text[-2])["choices"][0]["finish_reason"], "length")

    def test_old_clients_and_other_names(self):
        model = os.path.join(FOLDER, "mödel v1%20.gguf")
        os.symlink(TALKING, model)
        server = Server("--host", "127.0.1.1", model=model)
        self.servers.append(server)
        with contextlib.closing(http.client.HTTPConnection("127.0.1.1", server.port, timeout=60)) as connection:
            connection.request("GET", "/v1/models")
            name = json.loads(connection.getresponse().read())["data"][0]["id"]
            connection.request("GET", "/v1/models/" + urllib.parse.quote(name, safe=""))
            self.assertEqual(json.loads(connection.getresponse().read())["id"], name)
        # A client of HTTP/1.0 knows no chunks: its stream ends with the connection.
        asked = {"prompt": "A star", "seed": 1, "max_tokens": 3, "stream": True}
        def old(*fields):
            with socket.create_connection(("127.0.1.1", server.port), timeout=60) as connection:
                connection.sendall(post(asked, "/v1/completions", *fields).replace(b" HTTP/1.1\r\n", b" HTTP/1.0\r\n"))
                return read_all(connection).decode()
        for answer in (old(), old("Connection: Keep-Alive")):
            head, text = answer.split("\r\n\r\n", 1)
            self.assertNotIn("Transfer-Encoding", head)
            self.assertIn("Connection: close", head)
            parts = text.split("\n\n")
            self.assertTrue(all(part.startswith("data: ") for part in parts[:-1]), parts)
            self.assertEqual(parts[-2:], ["data: [DONE]", ""])

    def test_the_end_waits_for_nobody(self):
        server = self.server()
        # Somebody whose body never comes to its end, and somebody who reads a large answer slowly.
        text = '{"content": "' + "ñ " * 150_000 + '", "with_pieces": true}'
        with server.socket(post(b'{"content": "x"}', "/tokenize")[:-5]), socket.socket() as slow:
            slow.settimeout(60)
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32768)
            slow.connect(("127.0.0.1", server.port))
            slow.sendall(post(text.encode(), "/tokenize"))
            slow.recv(300)
            ended = threading.Event()
            def read_slowly():
                with contextlib.suppress(OSError):
                    while not ended.wait(0.05) and slow.recv(1000):
                        pass
            reader = threading.Thread(target=read_slowly)
            reader.start()
            begin = time.monotonic()
            self.assertEqual(server.end(signal.SIGTERM), 143)
            self.assertLess(time.monotonic() - begin, 30)
            ended.set()
            reader.join()

    def test_what_is_refused(self):
        server = self.server()
        chat, text = "/v1/chat/completions", "/v1/completions"
        ask = {"messages": STAR}
        for path, body, status, param in (
                (chat, b"{", 400, None), (chat, b"[1]", 400, None), (chat, b"", 400, None), (chat, b"\xff\xfe", 400, None),
                (chat, b"[" * 5000, 400, None), (chat, b'{"messages": [], "messages": []}', 400, None),
                (chat, b'{"messages": [' + b"{}," * 340_000 + b"{}]}", 400, "messages"),  # each took longer than the one before
                (chat, {}, 400, "messages"), (chat, {"messages": []}, 400, "messages"), (chat, {"messages": ["x"]}, 400, "messages[0]"),
                (chat, {"messages": [{"role": "tool", "content": "x"}]}, 400, "messages[0].role"),
                (chat, {"messages": [{"role": "user"}]}, 400, "messages[0]"),
                (chat, {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, 400, "messages[0].content"),
                (chat, {"messages": [*STAR, {"role": "assistant", "content": "x"}]}, 400, "messages"),
                (chat, {"messages": STAR * 5000}, 400, "messages"), (chat, {"messages": [{"role": "user", "content": "a b " * 3000}]}, 400, "messages"),
                (chat, ask | {"n": 2}, 400, "n"), (chat, ask | {"tools": [{}]}, 400, "tools"), (chat, ask | {"presence_penalty": 1}, 400, "presence_penalty"),
                (chat, ask | {"response_format": {"type": "json_object"}}, 400, "response_format"), (chat, ask | {"store": True}, 400, "store"),
                (chat, ask | {"temperature": -1}, 400, "temperature"), (chat, ask | {"temperature": "hot"}, 400, "temperature"),
                (chat, ask | {"top_p": 0}, 400, "top_p"), (chat, ask | {"max_tokens": 0}, 400, "max_tokens"), (chat, ask | {"seed": 1.5}, 400, "seed"),
                (chat, ask | {"stop": [""]}, 400, "stop"), (chat, ask | {"stop": ["x"] * 99}, 400, "stop"), (chat, ask | {"stream": 1}, 400, "stream"),
                (chat, ask | {"stream_options": {}}, 400, "stream_options"), (chat, ask | {"top_logprobs": 2}, 400, "top_logprobs"),
                (chat, ask | {"logprobs": True, "top_logprobs": 21}, 400, "top_logprobs"), (chat, ask | {"wish": 1}, 400, "wish"),
                (chat, ask | {"model": "gpt-5"}, 404, "model"), (text, {}, 400, "prompt"), (text, {"prompt": ["a", "b"]}, 400, "prompt"),
                (text, {"prompt": [-1]}, 400, "prompt"), (text, {"prompt": [10 ** 9]}, 400, "prompt"), (text, {"prompt": "x", "echo": True}, 400, "echo"),
                ("/tokenize", {}, 400, "content"), ("/detokenize", {"tokens": ["x"]}, 400, "tokens"), ("/nowhere", {}, 404, None)):
            found, error = server.refusal(path, body)
            self.assertEqual((found, error["param"]), (status, param), (path, body if len(str(body)) < 200 else "...", error))
        self.assertEqual(server.refusal(chat, {"messages": [{"role": "user", "content": "a b " * 3000}]})[1]["code"], "context_length_exceeded")
        self.assertEqual(server.refusal("/v1/models/other", None)[0], 404)
        self.assertEqual(server.refusal(chat, None)[0], 405)
        self.assertEqual(server.refusal(chat, ask, **{"Content-Type": "text/plain"})[0], 415)
        self.assertEqual(server.refusal(chat, ask, **{"Content-Encoding": "gzip"})[0], 415)
        for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", "[::2]:80", ""):
            self.assertEqual(server.refusal("/v1/models", None, Host=host)[0], 403, host)
        for host in ("localhost", "LOCALHOST:1", "127.0.0.1:99", "[::1]:5"):
            status, headers, _ = server.ask("/v1/models", Host=host, Origin="http://evil.example")
            self.assertEqual((status, [h for h in headers if h.lower().startswith("access-control")]), (200, []))
        line = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n"
        for data, status in ((b"GET /v1/models HTTP/1.1\r\n\r\n", 400), (b"\x16\x03\x01\r\n\r\n", 400), (line + b"x\r\n\r\n", 400),
                             (line + b"Host: localhost\r\n\r\n", 400), (line + b"A: \x00\r\n\r\n", 400), (line + b" folded\r\n\r\n", 400),
                             (b"GET /v1/models HTTP/2\r\nHost: localhost\r\n\r\n", 400), (line + b"X: " + b"a" * 20000 + b"\r\n\r\n", 431),
                             (line + b"X: a\r\n" * 4000 + b"\r\n", 431), (line + b"X: " + b"a" * 8200 + b"\r\n\r\n", 431),
                             (b"GET /v1/models?" + b"a" * 8200 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414), (b"OPTIONS /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
                             (post(b"{}", chat, "Transfer-Encoding: chunked"), 411), (post(b"{}", chat, "Content-Length: 3"), 400),
                             (b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\r\n", 411),
                             (b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: -1\r\n\r\n", 400),
                             (b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99999999999999999999\r\n\r\n", 413)):
            self.assertEqual(status_of(server.raw(data)), status, data[:100])
        # A body is never read as another request, whatever the head before it was refused for.
        for path, fields in (("/tokenize?" + "a" * 8200, ()), ("/tokenize", ("X: " + "a" * 8200,)), ("/tokenize", ("Host: localhost",))):
            answer = server.raw(post(line + b"\r\n", path, *fields))
            self.assertEqual((answer.count(b"HTTP/1.1 "), b"Connection: close" in answer), (1, True), answer)
        head, body = server.raw(b"HEAD /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n").split(b"\r\n\r\n")
        self.assertEqual((status_of(head), b"Content-Length" in head, b"\r\nAllow: GET\r\n" in head, body), (405, False, True, b""))
        self.assertEqual(status_of(server.raw(b"\r\n\r\n" + line + b"Connection: close\r\n\r\n")), 200)
        self.assertIn(b"\r\nConnection: close\r\n", server.raw(line + b"Connection: TE, Close\r\n\r\n"))
        # A body that is too large is refused before it comes, and the client can read why while it still sends.
        with server.socket(b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 200000000\r\n\r\n") as sending:
            with contextlib.suppress(OSError):
                sending.sendall(b"x" * 500_000)
            self.assertEqual(status_of(read_all(sending)), 413)
        self.assertEqual(server.refusal("/tokenize", b"x" * 10_000_000)[0], 413)
        self.assertEqual(server.ask("/v1/models")[0], 200)

    def test_a_key(self):
        key_file = os.path.join(FOLDER, "key")
        server = self.server("--host", "0.0.0.0", "--key-file", key_file)
        with open(key_file) as file:
            key = file.read().strip()
        self.assertEqual((len(key), os.stat(key_file).st_mode & 0o777), (64, 0o600))
        bearer = "Authorization"
        for headers in ({}, {bearer: "Bearer"}, {bearer: "Bearer x"}, {bearer: "Bearer " + key[:-1]}, {bearer: "Bearer " + key + "0"},
                        {bearer: "Basic " + key}, {"X-Api-Key": key}):
            status, error = server.refusal("/v1/models", None, **headers)
            self.assertEqual((status, error["code"]), (401, "invalid_api_key"), headers)
        self.assertEqual(server.ask("/v1/models", **{bearer: "Bearer " + key, "Host": "model.example"})[0], 200)
        self.assertEqual(server.end(signal.SIGTERM), 143)
        self.assertNotIn(key, server.log())
        os.chmod(key_file, 0o640)
        code, out, err = run("serve", TALKING, "--port", "0", "--key-file", key_file)
        self.assertEqual((code, out), (2, ""), err)
        self.assertIn("others may read it", err)
        code, _, err = run("serve", TALKING, "--host", "192.0.2.1", "--port", "0")  # no address of this machine
        self.assertEqual(code, 1, err)

    def test_a_hundred_at_once(self):
        server = self.server()
        seeds = range(4)
        alone = {seed: run(TALKING, *QUICK, "--private", "-p", f"What is {seed}?", "--seed", str(seed), "-n", "6")[1].rstrip("\n") for seed in seeds}
        found = {}

        def ask(i):
            seed = seeds[i % 4]
            found[i] = server.chat(messages=[{"role": "user", "content": f"What is {seed}?"}], seed=seed, max_tokens=6)["choices"][0]["message"]["content"]
        threads = [threading.Thread(target=ask, args=(i,)) for i in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, {i: alone[i % 4] for i in range(100)})

    def test_tokens_of_many_at_once(self):
        server = self.server()
        text = 'say "é\u0001€" \\ and go on 👩‍👩‍👧‍👦\n' * 500
        _, headers, one = server.ask("/tokenize", {"content": text, "with_pieces": True})
        self.assertEqual(headers["Content-Type"], "application/json")
        pieces = json.loads(one)["tokens"]
        self.assertEqual(b"".join(bytes(p["piece"]) if isinstance(p["piece"], list) else p["piece"].encode() for p in pieces).decode(), text)
        ids = json.loads(server.ask("/tokenize", {"content": text})[2])
        self.assertEqual(ids, {"tokens": [p["id"] for p in pieces]})
        self.assertEqual(json.loads(server.ask("/tokenize", {"content": ""})[2]), {"tokens": []})
        found = []
        threads = [threading.Thread(target=lambda: found.append(server.ask("/tokenize", {"content": text, "with_pieces": True})[2])) for _ in range(60)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [one] * 60)

    def test_turns_and_those_who_leave(self):
        server = self.server(model=ENDLESS)
        long = {"prompt": [5, 6, 7], "stream": True, "temperature": 0}
        with server.socket(post(long, "/v1/completions")) as streaming:
            streaming.recv(1000)
            status, _, text = server.ask("/v1/completions", {"prompt": [8, 9], "max_tokens": 3, "temperature": 0})
            self.assertEqual((status, json.loads(text)["usage"]["completion_tokens"]), (200, 3))  # the long one still goes on
            # Somebody who sends a byte now and then, and somebody who reads nothing, hold up nobody.
            with server.socket(b"POST /v1/comp") as slow, server.socket(post(long, "/v1/completions")):
                slow.sendall(b"l")
                self.assertEqual(server.ask("/v1/completions", {"prompt": [8, 9], "max_tokens": 3})[0], 200)
            self.wait_for(lambda: " left, 3 + " in server.log())
        self.wait_for(lambda: server.log().count(" left, 3 + ") == 2)  # whoever goes away stops the model
        whole = server.socket(post({"prompt": [5, 6, 7], "temperature": 0}, "/v1/completions"))
        whole.close()
        self.wait_for(lambda: server.log().count(" left, 3 + ") == 3)
        # At the end, an answer that runs gets an error, and nothing after it.
        with server.socket(post(long, "/v1/completions")) as streaming:
            received = streaming.recv(1000)
            ending = threading.Thread(target=server.end)
            ending.start()
            received += read_all(streaming)
            ending.join()
        last = events(received)[-1]
        self.assertEqual(json.loads(last)["error"]["code"], "server_closing")
        self.assertEqual(server.process.returncode, 130)

    def test_a_file_that_is_not_read_as_it_was_meant_is_told(self):
        with open(FOLDER + "/odd.gguf", "wb") as file:
            file.write(hostile_file.odd().bytes())
        log = self.server(model="odd.gguf").log()
        for words in hostile_file.ODD:
            self.assertIn(words, log)

    def test_those_who_send_no_more_get_their_answer(self):
        server = self.server(model=ENDLESS)
        asked = {"prompt": [5, 6, 7], "temperature": 0, "max_tokens": 40}

        def half_closed(path, body):
            with server.socket(post(body, path, "Connection: close")) as connection:
                connection.shutdown(socket.SHUT_WR)
                return read_all(connection)
        wanted = json.loads(server.ask("/v1/completions", asked)[2])["choices"]
        answer = half_closed("/v1/completions", asked)
        while answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\n"):
            answer = answer.split(b"\r\n\r\n", 1)[1]
        head, body = answer.split(b"\r\n\r\n", 1)
        self.assertEqual((status_of(head), json.loads(body)["choices"]), (200, wanted))
        stream = half_closed("/v1/completions", asked | {"stream": True})
        self.assertTrue(stream.endswith(b"\r\n0\r\n\r\n"), stream[-100:])
        *chunks, done = events(stream)
        self.assertEqual(("".join(json.loads(c)["choices"][0]["text"] for c in chunks), done), (wanted[0]["text"], "[DONE]"))
        self.assertIn(b"tokens", half_closed("/tokenize", {"content": "hi"}))
        # Who sends no more and then goes away stops the model.
        with server.socket(post({"prompt": [5, 6, 7], "temperature": 0}, "/v1/completions")) as leaving:
            leaving.shutdown(socket.SHUT_WR)
        self.wait_for(lambda: " left, 3 + " in server.log())

    def test_a_log_that_nobody_reads_holds_up_nobody(self):
        process = subprocess.Popen([PROGRAM, "serve", TALKING, "--port", "0", *QUICK], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, pipesize=4096, env=environment(), cwd=FOLDER, text=True)
        self.addCleanup(lambda: (process.kill(), process.communicate()))
        port = int(re.search(r":(\d+)/v1", process.stdout.readline())[1])
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            for _ in range(300):  # a line each, which is more than the pipe holds
                connection.request("GET", "/v1/models")
                answer = connection.getresponse()
                self.assertEqual((answer.status, bool(answer.read())), (200, True))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=60), 143)

    def test_a_hang_up_ends_it_unless_that_is_ignored(self):
        server = self.server()
        self.assertEqual(server.end(signal.SIGHUP), 129)
        ignored = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup has it
        try:
            server = self.server()
        finally:
            signal.signal(signal.SIGHUP, ignored)
        server.process.send_signal(signal.SIGHUP)
        self.assertEqual(server.ask("/v1/models")[0], 200)
        self.assertEqual(server.end(signal.SIGTERM), 143)

    def test_a_conversation_goes_on_where_it_was(self):
        """Keys and values of a conversation stay, whatever others ask in between, and the answers are the same without them."""
        reused = {}
        answers = {}
        for cache in ("1G", "1K"):
            server = self.server("--cache", cache)
            first = [{"role": "user", "content": "What is a star? Tell me of the sun, of its light, and of all that lives from it on the earth, in the sea and in the air."}]
            one = server.chat(messages=first)
            server.chat(messages=[{"role": "user", "content": "Count to three, then count from three to one, and say what you think of numbers in general and of three."}])
            two = server.chat(messages=[*first, one["choices"][0]["message"] | {"refusal": None}, {"role": "user", "content": "And the moon?"}])
            answers[cache] = two["choices"]
            reused[cache] = two["usage"]["prompt_tokens_details"]["cached_tokens"]
            self.assertEqual(server.end(), 130)
        self.assertEqual(answers["1G"], answers["1K"])
        self.assertGreater(reused["1G"], reused["1K"] + 20)


if __name__ == "__main__":
    main()
