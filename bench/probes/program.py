"""Runs bitnet-chat for the scripts that need it."""
import subprocess

import common


class Program:
    def __init__(self, binary, model, device=None):
        self.binary, self.model = binary, model
        self.device = ["--device", device] if device else []

    def run(self, command, *options, text=None, after_model=()):
        line = [self.binary, command, str(self.model), *map(str, after_model), *map(str, options)]
        if command not in ("tokenize", "detokenize", "render"):
            line += self.device
        done = subprocess.run(line, input=text, stdin=subprocess.DEVNULL if text is None else None, capture_output=True, text=True)
        if done.returncode != 0:
            raise common.Refused(f"{' '.join(line)}: {done.stderr.strip()}")
        return done.stdout

    def tokens(self, text):
        return [int(word) for word in self.run("tokenize", text=text).split()]


def add_options(parser):
    parser.add_argument("--program", default="bitnet-chat")
    parser.add_argument("--model", required=True)
    parser.add_argument("--device", help="as bitnet-chat takes it")
