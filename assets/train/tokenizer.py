"""Byte-level BPE with LLaMA-3's split pattern: a small deterministic trainer and encoder.

    python3 tokenizer.py SAMPLE.txt tokenizer.json [--size 8192]

Needs the standard library only. Ids: the 256 bytes (printable ones first, as GPT-2 orders them), then the
merges in the order they were learned, then the special tokens. So an ordinary token's id is its rank.
"""
import argparse
import heapq
import json
import re
from collections import Counter, defaultdict

# LLaMA-3's pattern in the words of Python's re: [^\W\d_] is \p{L} and \d is \p{N} for all the text we train on.
L, N = r"[^\W\d_]", r"\d"
PATTERN = re.compile(rf"(?i:'s|'t|'re|'ve|'m|'ll|'d)|(?:[^\r\n\w]|_)?{L}+|{N}{{1,3}}| ?(?:[^\s\w]|_)+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
SPECIALS = ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>",
            "<|reserved_special_token_0|>", "<|reserved_special_token_1|>", "<|reserved_special_token_2|>"]


def byte_order():
    """GPT-2's table: each byte to one printable character, and the order of the first 256 ids."""
    keep = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    rest = [b for b in range(256) if b not in keep]
    return keep + rest, {b: chr(b) for b in keep} | {b: chr(256 + i) for i, b in enumerate(rest)}


ORDER, TO_CHAR = byte_order()


def train(counts, size):
    """counts: pre-token (str) -> how often. Returns the tokens (bytes), in id order, and the merges (pairs of ids)."""
    first = {b: i for i, b in enumerate(ORDER)}
    tokens = [bytes([b]) for b in ORDER]
    words = [([first[b] for b in w.encode()], n) for w, n in sorted(counts.items())]
    pairs, where = Counter(), defaultdict(set)
    for i, (ids, n) in enumerate(words):
        for p in zip(ids, ids[1:]):
            pairs[p] += n
            where[p].add(i)
    heap = [(-n, p) for p, n in pairs.items()]
    heapq.heapify(heap)
    merges, known = [], set(tokens)
    while len(tokens) < size and heap:
        n, pair = heapq.heappop(heap)
        if -n != pairs.get(pair, 0):  # an old count: put the pair back with the count it has now
            if pairs.get(pair, 0) > 0:
                heapq.heappush(heap, (-pairs[pair], pair))
            continue
        joined = tokens[pair[0]] + tokens[pair[1]]
        if joined in known:  # a second way to spell a token would break rank == id
            pairs[pair] = 0
            continue
        new = len(tokens)
        tokens.append(joined)
        known.add(joined)
        merges.append(pair)
        changed = set()
        for i in sorted(where.pop(pair)):
            ids, n = words[i]
            out, k = [], 0
            while k < len(ids):
                if k + 1 < len(ids) and (ids[k], ids[k + 1]) == pair:
                    out.append(new)
                    k += 2
                else:
                    out.append(ids[k])
                    k += 1
            for p in zip(ids, ids[1:]):
                pairs[p] -= n
            for p in zip(out, out[1:]):
                pairs[p] += n
                where[p].add(i)
                changed.add(p)
            ids[:] = out
        for p in changed:
            heapq.heappush(heap, (-pairs[p], p))
        pairs.pop(pair, None)
    return tokens, merges


def save(path, tokens, merges):
    text = ["".join(TO_CHAR[b] for b in t) for t in tokens]
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"tokens": text, "merges": [f"{text[a]} {text[b]}" for a, b in merges], "specials": SPECIALS}, f, ensure_ascii=False)


class Tokenizer:
    def __init__(self, path):
        d = json.load(open(path, encoding="utf-8"))
        back = {c: b for b, c in TO_CHAR.items()}
        self.text = d["tokens"]
        self.bytes = [bytes(back[c] for c in t) for t in self.text]
        self.rank = {t: i for i, t in enumerate(self.bytes)}
        self.merges = d["merges"]
        self.specials = {s: len(self.text) + i for i, s in enumerate(d["specials"])}
        self.cache = {}
        self.bos, self.end = self.specials["<|begin_of_text|>"], self.specials["<|end_of_text|>"]
        self.eot = self.specials["<|eot_id|>"]
        self.headers = {}

    def __len__(self):
        return len(self.text) + len(self.specials)

    def piece(self, word):
        """One pre-token: the lowest rank merges first. A pre-token that is itself a token is emitted whole."""
        b = word.encode()
        if b in self.rank:
            return [self.rank[b]]
        parts = [b[i:i + 1] for i in range(len(b))]
        while len(parts) > 1:
            best, at = min((self.rank.get(parts[i] + parts[i + 1], 1 << 30), i) for i in range(len(parts) - 1))
            if best == 1 << 30:
                break
            parts[at:at + 2] = [parts[at] + parts[at + 1]]
        return [self.rank[p] for p in parts]

    def encode(self, text):
        out, cache = [], self.cache
        for w in PATTERN.findall(text):
            ids = cache.get(w)
            if ids is None:
                ids = cache[w] = self.piece(w)
            out += ids
        return out

    def header(self, role):
        """<|start_header_id|>role<|end_header_id|> and the blank line, as the chat template writes them."""
        if role not in self.headers:
            self.headers[role] = ([self.specials["<|start_header_id|>"]] + self.encode(role) + [self.specials["<|end_header_id|>"]]
                                  + self.encode("\n\n"))
        return self.headers[role]

    def chat(self, messages, generate=False):
        """messages: (role, content) pairs -> ids, and for each id whether the assistant must have said it."""
        ids, said = [self.bos], [0]
        for role, content in messages:
            h, c = self.header(role), self.encode(content.strip()) + [self.eot]
            ids += h + c
            said += [0] * len(h) + [int(role == "assistant")] * len(c)
        if generate:
            ids += self.header("assistant")
            said += [0] * (len(ids) - len(said))
        return ids, said

    def decode(self, ids):
        return b"".join(self.bytes[i] if i < len(self.bytes) else b"" for i in ids).decode(errors="replace")


def count(texts):
    c = Counter()
    for t in texts:
        c.update(PATTERN.findall(t))
    return c


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("sample")
    ap.add_argument("out")
    ap.add_argument("--size", type=int, default=8192, help="with the special tokens")
    a = ap.parse_args()
    with open(a.sample, encoding="utf-8") as f:
        tokens, merges = train(count(f), a.size - len(SPECIALS))
    save(a.out, tokens, merges)
    print(f"{a.out}: {len(tokens)} tokens, {len(merges)} merges, {len(SPECIALS)} specials")
