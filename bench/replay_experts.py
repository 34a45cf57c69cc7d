#!/usr/bin/env python3
"""Replay a trace of `bitnet-chat --expert-trace FILE` through rules for a cache of experts, and print their hit rates.

    replay_experts.py TRACE [--slots 0.125 0.25 0.4] [--most 2]
    replay_experts.py --make TRACE [--skew 1] [--again 0.5] [--tokens 2000] [--layers 1] [--experts 256] [--used 8]
    replay_experts.py --test

A line of a trace is a position, a layer and the ids of the experts that the token at this position has there. Each layer
has a cache of its own, with room for this share of its experts (or that many, where the number is 1 or more), and takes in
at most --most experts a token, of those that were missing. The rules say which one has to go:
    last        the one that was used longest ago (LRU)
    0.9, 0.999  the one with the smallest f, where f = rate * f + (1 - rate) * used at each token; 0.999 is the rule of
                "Layer-Streamed Ternary Execution"
    fixed       nobody: the experts that the first half of the trace uses most are there from the beginning
    paid        the engine's rule (engine/expert_cache.h): the smallest count of uses, of which one n tokens ago counts
                0.99^n, if that of the newcomer is larger by 1.5; copies are paid for with what hits have saved beyond
                those of places that never change, and with one in 128 uses
    Belady      the one whose next use is farthest away, or nobody where that is the newcomer: no rule can do better. Of
                several newcomers those that are needed soonest come in, and there is no --most for it
Experts of the same token never push each other out. A hit is an expert that was there when its token came. The first
experts are there at the beginning (for Belady nobody). A copy costs as much of the link as a miss, so the number behind
the hit rate is that of hits less copies: where it is below the share of the slots, places that never change would be
faster.

--make writes a trace that was made: each layer has experts that are liked more than others (a normal distribution of
logits with --skew as its deviation, of which a half is drawn anew every 300 tokens), and an expert is with a chance of
--again one of those that the last three tokens had.
"""
import argparse
import collections
import math
import random
import sys

RULES = ("last", "0.9", "0.999", "fixed", "paid", "Belady")


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
    """Returns the hits of the best that is possible, and its copies."""
    there, hits, copies = {}, 0, 0  # expert -> its next use
    for ids, uses in zip(tokens, next_uses(tokens)):
        hits += sum(e in there for e in ids)
        for e in sorted(ids, key=uses.get):
            if e in there:
                there[e] = uses[e]
        for e in sorted((e for e in ids if e not in there), key=uses.get):
            if len(there) >= slots:
                away = max(there, key=there.get)
                if there[away] <= uses[e]:
                    continue
                del there[away]
            there[e] = uses[e]
            copies += 1
    return hits, copies


def fixed(tokens, slots):
    first = collections.Counter(e for ids in tokens[:len(tokens) // 2] for e in ids)
    there = {e for e, _ in first.most_common(slots)}
    return sum(e in there for ids in tokens for e in ids), 0


def paid(tokens, slots, most, fade=0.99, margin=1.5, free=1 / 128):
    there, count, hits, copies, saved, use = set(range(slots)), collections.defaultdict(float), 0, 0, slots / 4, 1.0
    for ids in tokens:
        use /= fade  # so that nothing else has to fade
        found = sum(e in there for e in ids)
        hits += found
        saved = min(saved + found - sum(e < slots for e in ids) + free * len(ids), slots)
        for e in ids:
            count[e] += use
        for e in sorted((e for e in ids if e not in there), key=lambda e: -count[e])[:most]:
            away = min((x for x in there if x not in ids), key=lambda x: count[x], default=None)
            if saved < 1 or away is None or count[e] - count[away] < margin * use:
                break
            there.remove(away)
            there.add(e)
            copies += 1
            saved -= 1
    return hits, copies


def by_value(tokens, slots, most, rate):
    """The rules that push out the smallest value: the last use where rate is None, else the smoothed frequency."""
    there, value, touched, hits, copies = set(range(slots)), collections.defaultdict(float), {}, 0, 0
    for at, ids in enumerate(tokens):
        hits += sum(e in there for e in ids)
        for e in ids:
            if rate is None:
                value[e] = at
            else:  # what the tokens since the last use took of it
                value[e] = value[e] * rate ** (at - touched.get(e, at)) + 1 - rate
            touched[e] = at
        now = (lambda e: value[e]) if rate is None else lambda e: value[e] * rate ** (at - touched.get(e, at))
        for e in [e for e in ids if e not in there][:most]:
            if len(there) >= slots:
                away = [x for x in there if x not in ids]
                if not away:
                    break
                there.remove(min(away, key=now))
            there.add(e)
            copies += 1
    return hits, copies


def outcome(rule, tokens, slots, most):
    """Returns hits and copies."""
    if rule == "Belady":
        return belady(tokens, slots)
    if rule == "fixed":
        return fixed(tokens, slots)
    if rule == "paid":
        return paid(tokens, slots, most)
    return by_value(tokens, slots, most, None if rule == "last" else float(rule))


def report(layers, shares, most):
    n_expert = 1 + max(e for tokens in layers.values() for ids in tokens for e in ids)
    uses = sum(len(ids) for tokens in layers.values() for ids in tokens)
    lines = [f"{len(layers)} layers of {n_expert} experts or more, {len(next(iter(layers.values())))} tokens",
             f"{'slots':>8}" + "".join(f"{rule:>14}" for rule in RULES)]
    for share in shares:
        slots = max(1, int(share if share >= 1 else share * n_expert))
        cells = ""
        for rule in RULES:
            of_layers = [outcome(rule, tokens, slots, most) for tokens in layers.values()]
            hits, copies = (sum(numbers) / uses for numbers in zip(*of_layers))
            cells += f"{hits:>8.3f} {hits - copies:>5.2f}"
        lines.append(f"{slots:>8}{cells}")
    return "\n".join(lines)


def make(path, a):
    rng = random.Random(a.seed)
    likes = lambda: [rng.gauss(0, a.skew * 0.5 ** 0.5) for _ in range(a.experts)]
    always, latest = [likes() for _ in range(a.layers)], [[] for _ in range(a.layers)]
    with open(path, "w") as file:
        for token in range(a.tokens):
            if token % 300 == 0:
                chances = [[math.exp(x + y) for x, y in zip(of_layer, likes())] for of_layer in always]
            for layer in range(a.layers):
                ids, before = set(), sorted(e for some in latest[layer] for e in some)
                while len(ids) < a.used:
                    again = before and rng.random() < a.again
                    ids.add(rng.choice(before) if again else rng.choices(range(a.experts), chances[layer])[0])
                latest[layer] = (latest[layer] + [ids])[-3:]
                print(token, layer, *sorted(ids), file=file)


def test():
    tokens = [[0, 1], [2, 3], [0, 1], [2, 3]]
    assert belady(tokens, 4) == (4, 4) and belady(tokens, 2) == (2, 2) and belady(tokens, 1) == (1, 1)
    assert by_value(tokens, 4, 2, None) == (8, 0) and by_value(tokens, 2, 2, None) == (2, 6)
    assert by_value(tokens, 3, 1, None) == (5, 3) and fixed(tokens, 2) == (4, 0) and fixed(tokens, 4) == (8, 0)
    often = [[4], [4], [4], [5], [6], [7], [4]]  # a frequency keeps what the last use forgets
    assert by_value(often, 2, 2, 0.999) == (3, 4) and by_value(often, 2, 2, None) == (2, 5)
    assert paid(often * 9, 4, 2) == (55, 4)
    rng = random.Random(1)
    for _ in range(200):
        tokens = [rng.sample(range(12), 3) for _ in range(30)]
        slots = rng.randint(1, 12)
        best = belady([list(range(i, min(i + 3, slots))) for i in range(0, slots, 3)] + tokens, slots)[0]
        for rule in RULES:
            hits, copies = outcome(rule, tokens, slots, 12)
            assert 0 <= hits <= 90 and copies <= 90 - hits and (rule == "fixed" or hits <= best), (rule, slots, tokens)
    print("ok")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace", nargs="?")
    parser.add_argument("--slots", type=float, nargs="+", default=[0.125, 0.25, 0.4])
    parser.add_argument("--most", type=int, default=2)
    parser.add_argument("--make", action="store_true")
    for name, default in (("tokens", 2000), ("layers", 1), ("experts", 256), ("used", 8), ("seed", 1)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--skew", type=float, default=1)
    parser.add_argument("--again", type=float, default=0.5)
    parser.add_argument("--test", action="store_true")
    a = parser.parse_args()
    if a.test:
        return test()
    if not a.trace:
        parser.error("wanted a trace")
    if a.make:
        return make(a.trace, a)
    print(report(read(a.trace), a.slots, a.most))


if __name__ == "__main__":
    sys.exit(main())
