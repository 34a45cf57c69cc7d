#!/usr/bin/env python3
"""Replay a trace of `bitnet-chat --expert-trace FILE` through rules for a cache of experts, and print their hit rates.

    replay_experts.py TRACE [--slots 0.125 0.25 0.4] [--most 2]
    replay_experts.py --test

A line of a trace is a position, a layer and the ids of the experts that the token at this position has there. Each layer
has a cache of its own, with room for this share of its experts (or that many, where the number is 1 or more), and takes in
at most --most experts a token, of those that were missing. The rules say which one has to go:
    last        the one that was used longest ago (LRU)
    0.9, 0.999  the one with the smallest f, where f = rate * f + (1 - rate) * used at each token; 0.999 is the rule of
                "Layer-Streamed Ternary Execution"
    fixed       nobody: the experts that the first half of the trace uses most are there from the beginning
    Belady      the one whose next use is farthest away, or nobody where that is the newcomer: no rule can do better. Of
                several newcomers those that are needed soonest come in, and there is no --most for it
Experts of the same token never push each other out. A hit is an expert that was there when its token came.
"""
import argparse
import collections
import random
import sys

RULES = ("last", "0.9", "0.999", "fixed", "Belady")


def read(path):
    """Returns layer -> list of the ids of each token, in the order of the file."""
    layers = collections.defaultdict(list)
    with open(path) as file:
        for line in file:
            _, layer, *ids = map(int, line.split())
            layers[layer].append(ids)
    return layers


def next_uses(tokens):
    """Returns for each token a dict of its ids to the number of the token that uses them next."""
    seen, uses = {}, []
    for at in range(len(tokens) - 1, -1, -1):
        uses.append({e: seen.get(e, len(tokens)) for e in tokens[at]})
        seen.update((e, at) for e in tokens[at])
    return uses[::-1]


def belady(tokens, slots):
    """Returns the hits of the best that is possible."""
    there, hits = {}, 0  # expert -> its next use
    for ids, uses in zip(tokens, next_uses(tokens)):
        hits += sum(e in there for e in ids)
        for e in sorted(ids, key=uses.get):
            if e in there:
                there[e] = uses[e]
        for e in sorted((e for e in ids if e not in there), key=uses.get):
            if len(there) < slots:
                there[e] = uses[e]
                continue
            away = max(there, key=there.get)
            if there[away] > uses[e]:
                del there[away]
                there[e] = uses[e]
    return hits


def fixed(tokens, slots):
    first = collections.Counter(e for ids in tokens[:len(tokens) // 2] for e in ids)
    there = {e for e, _ in first.most_common(slots)}
    return sum(e in there for ids in tokens for e in ids)


def by_value(tokens, slots, most, rate):
    """The rules that push out the smallest value: the last use where rate is None, else the smoothed frequency."""
    there, value, touched, hits = set(), collections.defaultdict(float), {}, 0
    for at, ids in enumerate(tokens):
        hits += sum(e in there for e in ids)
        for e in ids:
            if rate is None:
                value[e] = at
            else:  # what the tokens since the last use took of it
                value[e] = value[e] * rate ** (at - touched.get(e, at)) + 1 - rate
            touched[e] = at
        now = (lambda e: value[e]) if rate is None else lambda e: value[e] * rate ** (at - touched[e])
        for e in [e for e in ids if e not in there][:most]:
            if len(there) >= slots:
                away = [x for x in there if x not in ids]
                if not away:
                    break
                there.remove(min(away, key=now))
            there.add(e)
    return hits


def hits_of(rule, tokens, slots, most):
    if rule == "Belady":
        return belady(tokens, slots)
    if rule == "fixed":
        return fixed(tokens, slots)
    return by_value(tokens, slots, most, None if rule == "last" else float(rule))


def report(layers, shares, most):
    n_expert = 1 + max(e for tokens in layers.values() for ids in tokens for e in ids)
    uses = sum(len(ids) for tokens in layers.values() for ids in tokens)
    lines = [f"{len(layers)} layers of {n_expert} experts or more, {len(next(iter(layers.values())))} tokens",
             f"{'slots':>8}" + "".join(f"{rule:>9}" for rule in RULES)]
    for share in shares:
        slots = max(1, int(share if share >= 1 else share * n_expert))
        rates = (sum(hits_of(rule, tokens, slots, most) for tokens in layers.values()) / uses for rule in RULES)
        lines.append(f"{slots:>8}" + "".join(f"{rate:>9.3f}" for rate in rates))
    return "\n".join(lines)


def test():
    tokens = [[0, 1], [2, 3], [0, 1], [2, 3]]
    assert belady(tokens, 4) == 4 and belady(tokens, 2) == 2 and belady(tokens, 1) == 1
    assert by_value(tokens, 4, 2, None) == 4 and by_value(tokens, 2, 2, None) == 0 and by_value(tokens, 4, 1, None) == 2
    assert fixed(tokens, 2) == 4 and fixed(tokens, 4) == 8
    often = [[0], [0], [0], [1], [2], [3], [0]]  # a frequency keeps what the last use forgets
    assert by_value(often, 2, 2, 0.999) == 3 and by_value(often, 2, 2, None) == 2
    rng = random.Random(1)
    for _ in range(200):
        tokens = [rng.sample(range(12), 3) for _ in range(30)]
        slots = rng.randint(1, 12)
        best = belady(tokens, slots)
        assert all(hits_of(rule, tokens, slots, 12) <= best for rule in RULES if rule != "fixed"), (slots, tokens)
    print("ok")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", nargs="?")
    parser.add_argument("--slots", type=float, nargs="+", default=[0.125, 0.25, 0.4])
    parser.add_argument("--most", type=int, default=2)
    parser.add_argument("--test", action="store_true")
    a = parser.parse_args()
    if a.test:
        return test()
    if not a.trace:
        parser.error("wanted a trace")
    print(report(read(a.trace), a.slots, a.most))


if __name__ == "__main__":
    sys.exit(main())
