#!/usr/bin/env python3
"""Put the held-out questions to a trained checkpoint, greedy, and count the right answers by intent.

    python3 evaluate.py model.pt DATA/tokenizer.json [held_out.txt]
"""
import os
import re
import sys
from collections import defaultdict

import torch

from export import answer
from model import BitNet
from tokenizer import Tokenizer


def items(path):
    for line in open(path, encoding="utf-8"):
        if line.strip() and not line.startswith("#"):
            intent, turns, rule = line.rstrip("\n").split(" | ", 2)
            yield intent, turns.split(" / "), rule


def main():
    path = sys.argv[3] if len(sys.argv) > 3 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "held_out.txt")
    saved, tok = torch.load(sys.argv[1], map_location="cpu"), Tokenizer(sys.argv[2])
    model = BitNet(len(tok), saved["shape"])
    model.load_state_dict(saved["state"])
    model.embed.data = model.embed.data.half().float()
    model.to("cuda" if torch.cuda.is_available() else "cpu").eval()
    score, wrong = defaultdict(lambda: [0, 0]), []
    for intent, turns, rule in items(path):
        messages = []
        for text in turns:
            if text.startswith("SYSTEM "):
                messages.append(("system", text[7:]))
                continue
            messages.append(("user", text))
            out, stopped = answer(model, tok.chat(messages, generate=True)[0], {tok.eot, tok.end})
            messages.append(("assistant", tok.decode(out)))
        ok = stopped and re.search(rule, messages[-1][1], re.I | re.S) is not None
        score[intent][0] += ok
        score[intent][1] += 1
        if not ok:
            wrong.append(f"{intent}: {' / '.join(turns)} -> {' / '.join(m[1] for m in messages if m[0] == 'assistant')}")
    print("\n".join(wrong))
    for intent, (right, n) in score.items():
        print(f"{intent:12} {right:3} of {n:3}")
    right, n = (sum(s[i] for s in score.values()) for i in (0, 1))
    print(f"{'all':12} {right:3} of {n:3}  {100 * right / n:.0f} %")


if __name__ == "__main__":
    main()
