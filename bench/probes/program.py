"""Runs bitnet-chat for the scripts that need it."""
import subprocess

import common


class Program:
    def __init__(self, binary, model, device=None):
        self.binary, self.model, self.known = binary, model, {}
        self.device = ["--device", device] if device else []

    def run(self, command, *options, text=None, after_model=()):
        line = [self.binary, command, str(self.model), *map(str, after_model), *map(str, options)]
        if command not in ("tokenize", "detokenize", "render"):
            line += self.device
        how = {"stdin": subprocess.DEVNULL} if text is None else {"input": text}
        try:
            done = subprocess.run(line, capture_output=True, text=True, **how)
        except OSError as problem:
            raise common.Refused(f"--program {self.binary}: {problem.strerror}") from problem
        if done.returncode != 0:
            raise common.Refused(f"{' '.join(line)}: {done.stderr.strip()}")
        return done.stdout

    def tokens(self, text):
        if text not in self.known:
            self.known[text] = [int(word) for word in self.run("tokenize", text=text).split()]
        return self.known[text]


def add_options(parser):
    parser.add_argument("--program", default="bitnet-chat")
    parser.add_argument("--model", required=True)
    parser.add_argument("--device", help="as bitnet-chat takes it")
