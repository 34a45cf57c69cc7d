#!/usr/bin/env python3
"""Check that no held-out question occurs in a corpus that train/build.py wrote: reads the shards themselves, as training does.

    python3 overlap.py [DATA] [--nearest LIST.txt]      without DATA a sample is built first: 20,000 conversations, 4,000 texts

Compared are texts in lower case without punctuation: a question of one turn with each turn and each sentence of a turn,
a longer item as a chain of turns, a system prompt with each system prompt. --nearest also lists for each question of one
turn the turn of the corpus that shares most of its content words with it (their Jaccard index). Exit 1 if anything is found.
"""
import argparse
import glob
import os
import subprocess
import sys
import tempfile

import numpy as np

import items

sys.path.append(os.path.join(items.HERE, "../train"))
from tokenizer import Tokenizer  # noqa: E402

STOP = set("""a an the of to in on at for by with from and or is are was were be am do does did has have had can could would should will i you me my your
we our us it its this that these those what which who whom whose how why when where there please tell give name say some any one so as if""".split())


def conversations(folder):
    tok = Tokenizer(os.path.join(folder, "tokenizer.json"))
    start, stop = tok.specials["<|start_header_id|>"], tok.specials["<|end_header_id|>"]
    for path in sorted(glob.glob(os.path.join(folder, "*.npy"))):
        for ids in np.load(path) & 0x7FFF:
            ids = ids[ids != tok.end].tolist()
            for begin in (documents := [i for i, t in enumerate(ids) if t == tok.bos]):
                document = ids[begin + 1:next((d for d in documents if d > begin), len(ids))]
                if start not in document:  # prose
                    yield [("user", tok.decode(document))]
                    continue
                messages, at = [], 0
                while start in document[at:]:
                    head = document.index(start, at)
                    body = document.index(stop, head)
                    at = document.index(tok.eot, body)
                    messages.append((tok.decode(document[head + 1:body]), tok.decode(document[body + 1:at]).strip()))
                yield messages


def content(text):
    return frozenset(items.normal(text).split()) - STOP


class Nearest:
    def __init__(self):
        self.asked = [i.turns[0] for name in items.FILES for i in items.load(name) if len(i.turns) == 1 and i.system is None]
        self.bags, self.best, self.seen, self.by_word = [content(q) for q in self.asked], {}, set(), {}
        for i, bag in enumerate(self.bags):
            for word in bag:
                self.by_word.setdefault(word, []).append(i)

    def look(self, text):
        bag = content(text)
        if bag in self.seen:
            return
        self.seen.add(bag)
        for i in {i for word in bag for i in self.by_word.get(word, ())}:
            near = len(bag & self.bags[i]) / len(bag | self.bags[i])
            if near > self.best.get(i, (0, ""))[0]:
                self.best[i] = near, text

    def report(self, path):
        best = sorted(((*self.best.get(i, (0, "")), q) for i, q in enumerate(self.asked)), reverse=True)
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{near:.2f} | {q} | {text}\n" for near, text, q in best)
        for low, high in ((1, 2), (0.75, 1), (0.5, 0.75), (0, 0.5)):
            print(f"{sum(low <= near < high for near, _, _ in best)} questions share {'all' if low == 1 else f'{low:.0%} to {high:.0%}'} of their content words with a turn of the corpus")


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("data", nargs="?")
    ap.add_argument("--nearest")
    a = ap.parse_args()
    if not a.data:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, os.path.join(items.HERE, "../train/build.py"), folder, "--chat", "1", "--prose", "1", "--sample", "4", "--jobs", "2"], check=True)
            return check(folder, a.nearest)
    return check(a.data, a.nearest)


def check(folder, list_to):
    held, nearest, n, turns, found = items.Held(), Nearest(), 0, 0, []
    for messages in conversations(folder):
        n += 1
        turns += len(messages)
        found += held.inside(messages)
        if list_to:
            for role, text in messages:
                if role == "user" and len(text) < 300:
                    nearest.look(text)
    print(f"{n} documents, {turns} turns, {len(held.single) + sum(map(len, held.chains.values())) + len(held.systems)} held-out texts: {len(found)} found")
    print("\n".join(sorted(set(found))[:20]))
    if list_to:
        nearest.report(list_to)
    return bool(found) or n == 0


if __name__ == "__main__":
    sys.exit(main())
