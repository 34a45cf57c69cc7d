#!/usr/bin/env python3
"""Write the corpus: train the tokenizer on a sample, then shards of token rows. The same seed gives the same bytes.

    python3 build.py DATA [--chat 250] [--prose 40] [--jobs 16]
    python3 build.py --show 20          print some conversations instead

A shard holds rows of 1024 uint16: whole documents side by side, never cut, padded with end_of_text. The high bit marks
what the assistant said. A document that holds a held-out question of the evaluation is left out. meta.json is written before the shards, so that training can start while they are made.
"""
import argparse
import json
import multiprocessing
import os
import random
import sys

import numpy as np

import tokenizer
from corpus import talk
from shape import SHAPE

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../eval"))
import items  # noqa: E402

CHATS, PROSES = 20000, 4000  # documents a shard
HELD = items.Held()


def sample_counts(first):
    """Pre-tokens of a slice of the corpus, with their counts; role names stand alone, as in the template."""
    texts = []
    for i in range(first, first + 3000):
        for role, content in talk.dialogue(f"chat {i}"):
            texts += [role, "\n\n", content]
    texts += [talk.prose(f"prose {i}") for i in range(first, first + 700)]
    return tokenizer.count(texts)


def pack(documents, width, pad):
    """Rows of width ids. Each document goes into the fullest of some open rows that still has room for it."""
    rows, live = [], []
    for ids in documents:
        fit = [r for r in live if len(r) + len(ids) <= width]
        if fit:
            row = max(fit, key=len)
            row += ids
        else:
            live.append(list(ids))
        if len(live) > 24:
            fullest = max(live, key=len)
            live.remove(fullest)
            rows.append(fullest)
    rows += live
    out = np.full((len(rows), width), pad, np.uint16)
    for i, row in enumerate(rows):
        out[i, :len(row)] = row
    return out


def shard(job):
    folder, kind, index, n, width = job
    tok = cached(os.path.join(folder, "tokenizer.json"))
    documents, dropped, salt = [], 0, "valid " if kind == "valid" else ""
    for i in range(index * n, index * n + n):
        if kind == "prose":
            text = talk.prose(f"prose {i}")
            if HELD.inside([("user", text)]):
                dropped += 1
                continue
            ids = [tok.bos] + tok.encode(text) + [tok.eot]
        else:
            messages = talk.dialogue(f"{salt}chat {i}")
            if HELD.inside(messages):
                dropped += 1
                continue
            ids, said = tok.chat(messages)
            ids = [t | s << 15 for t, s in zip(ids, said)]
        if len(ids) <= width:
            documents.append(ids)
    random.Random(index).shuffle(documents)
    rows = pack(documents, width, tok.end)
    path = os.path.join(folder, f"{kind}{index:04d}.npy")
    np.save(path + ".tmp.npy", rows)
    os.replace(path + ".tmp.npy", path)
    return rows.size, int((rows != tok.end).sum()), len(documents), dropped


TOKENIZERS = {}


def cached(path):
    if path not in TOKENIZERS:
        TOKENIZERS[path] = tokenizer.Tokenizer(path)
    return TOKENIZERS[path]


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("data", nargs="?")
    ap.add_argument("--chat", type=int, default=250, help=f"shards of {CHATS} conversations")
    ap.add_argument("--prose", type=int, default=40, help=f"shards of {PROSES} texts")
    ap.add_argument("--jobs", type=int, default=os.cpu_count())
    ap.add_argument("--size", type=int, default=8192, help="of the vocabulary")
    ap.add_argument("--sample", type=int, default=32, help="slices of the corpus that the tokenizer learns from")
    ap.add_argument("--show", type=int)
    a = ap.parse_args()
    if a.show:
        for i in range(a.show):
            print("\n".join(f"{role:>9}: {content}" for role, content in talk.dialogue(f"show {i}")) + "\n")
        return
    os.makedirs(a.data, exist_ok=True)
    with multiprocessing.Pool(a.jobs) as pool:
        counts = sum(pool.imap(sample_counts, range(0, a.sample * 3000, 3000)), start=tokenizer.Counter())
        tokens, merges = tokenizer.train(counts, a.size - len(tokenizer.SPECIALS))
        tokenizer.save(os.path.join(a.data, "tokenizer.json"), tokens, merges)
        print(f"{len(counts)} distinct words, {len(tokens)} tokens", flush=True)
        with open(os.path.join(a.data, "meta.json.tmp"), "w") as f:
            json.dump({"chat": a.chat, "prose": a.prose}, f)
        os.replace(os.path.join(a.data, "meta.json.tmp"), os.path.join(a.data, "meta.json"))
        jobs = [("valid", 0, 2000)]
        jobs += [("prose", i, PROSES) for i in range(a.prose)] + [("chat", i, CHATS) for i in range(a.chat)]
        done = list(pool.imap(shard, [(a.data, kind, i, n, SHAPE["ctx"]) for kind, i, n in jobs]))
    total = [sum(x) for x in zip(*done)]
    print(f"{total[2]} documents, {total[1]} tokens, {100 * total[1] / total[0]:.1f} % of the rows filled; "
          f"{total[3]} left out because of a held-out question")


if __name__ == "__main__":
    main()
