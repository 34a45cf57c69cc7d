#!/usr/bin/env python3
"""Compute the same prompts in batches of several sizes, and see whether keys and values that were cached give the same.

    kv_replay.py --program bitnet-chat --model MODEL --stimuli stimuli.json --output replay.json

A row is a prompt, a column the tokens a batch has; a cell is the largest difference of any logit from those of the whole
prompt at once. A last column computes the prompt behind others with whose beginnings it shares its cache.
"""
import pathlib
import tempfile

import numpy as np

import common
import program

BATCHES = (1, 3, 7, 16)


def main(arguments=None):
    parser = common.parser_of(__doc__)
    program.add_options(parser)
    parser.add_argument("--stimuli", required=True)
    parser.add_argument("--template", default="en_surface_probe")
    parser.add_argument("--limit", type=int, default=5)
    parser.add_argument("--output", required=True, help=".json")
    a = parser.parse_args(arguments)
    chat = program.Program(a.program, a.model, a.device)
    prompts = common.prompts_of(a.stimuli, a.template)[:a.limit]
    if a.limit < 1:
        raise common.Refused(f"limit: wanted at least 1 prompt, found {a.limit}")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)

        def logits(ids, *options):
            chat.run("logits", "--tokens", ",".join(map(str, ids)), "--out", folder / "l.npy", "--force", *options)
            return np.load(folder / "l.npy")
        rows = []
        for prompt in prompts:
            ids = chat.tokens(prompt)
            whole = logits(ids)
            cells = {f"batches of {n}": float(np.abs(logits(ids, "--prefill", n) - whole).max()) for n in BATCHES}
            rows.append({"prompt": prompt, "tokens": len(ids), **cells})
        states = []
        for options in ((), ("--no-reuse",)):
            chat.run("probe", "--stimuli", a.stimuli, "--template", a.template, "--limit", a.limit, "--out",
                     folder / "p.npy", "--force", *options)
            states.append(np.load(folder / "p.npy"))
    for row, difference in zip(rows, np.abs(states[0] - states[1]).max((1, 2))):
        row["shared beginnings"] = float(difference)
    columns = [*(f"batches of {n}" for n in BATCHES), "shared beginnings"]
    exact = all(row[column] == 0 for row in rows for column in columns)
    common.write_json(a.output, {"schema_version": 1, "model": str(a.model), "columns": columns, "rows": rows, "exact": exact})
    print("all exact" if exact else "some differ")


if __name__ == "__main__":
    common.run(main)
