"""The server of the program as a process, and what a client sends it and gets from it."""
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess

from program_case import FOLDER, PROGRAM, TALKING, environment

QUICK = ("--device", "cpu", "--threads", "1")
STAR = [{"role": "user", "content": "What is a star?"}]


class Server:
    def __init__(self, *arguments, model=TALKING):
        log = os.path.join(FOLDER, "log")
        open(log, "w").close()
        self.errors = open(log, "a+")  # who reads it moves the place that the server shares, and so that it appends
        self.process = subprocess.Popen([PROGRAM, "serve", model, "--port", "0", *QUICK, *arguments], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=self.errors, env=environment(), cwd=FOLDER, text=True)
        line = self.process.stdout.readline()
        found = re.match(r"listening on http://(.+):(\d+)/v1 \((.+?) on ", line)
        assert found, line + self.log()
        self.port, self.model = int(found[2]), found[3]

    def log(self):
        self.errors.seek(0)
        return self.errors.read()

    def end(self, how=signal.SIGINT):
        self.process.send_signal(how)
        code = self.process.wait(timeout=60)
        self.process.stdout.close()
        return code

    def socket(self, data=b""):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        connection.sendall(data)
        return connection

    def raw(self, data):
        """The whole answer to these bytes, until the server closes."""
        with self.socket(data) as connection:
            return read_all(connection)

    def ask(self, path, body=None, **headers):
        """Status, headers and text of one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            if body is None:
                connection.request("GET", path, headers=headers)
            else:
                text = body if isinstance(body, bytes) else json.dumps(body).encode()
                connection.request("POST", path, text, {"Content-Type": "application/json"} | headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()

    def chat(self, **members):
        status, _, text = self.ask("/v1/chat/completions", {"messages": STAR, "seed": 1, "max_tokens": 8} | members)
        assert status == 200, text
        return json.loads(text)

    def refusal(self, path, body, **headers):
        status, found, text = self.ask(path, body, **headers)
        error = json.loads(text)["error"]
        assert set(error) == {"message", "type", "param", "code"} and found["Content-Type"] == "application/json"
        return status, error


def read_all(connection):
    data = b""
    while part := connection.recv(65536):
        data += part
    return data


def status_of(answer):
    return int(answer.split(b" ", 2)[1])


def post(body, path="/v1/chat/completions", *fields):
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", f"Content-Length: {len(text)}", *fields]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + text


def events(answer):
    """The events of a stream, whose chunks are put together."""
    head, rest = answer.split(b"\r\n\r\n", 1)
    assert b"Transfer-Encoding: chunked" in head, head
    text = b""
    while rest:
        size, rest = rest.split(b"\r\n", 1)
        text, rest = text + rest[:int(size, 16)], rest[int(size, 16) + 2:]
    parts = [part for part in text.decode().split("\n\n") if part != ":"]  # a comment, which clients skip
    assert parts.pop() == "" and all(part.startswith("data: ") for part in parts), parts
    return [part[len("data: "):] for part in parts]
