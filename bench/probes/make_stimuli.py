#!/usr/bin/env python3
"""Write 200 stimuli: 20 invented roots in 10 patterns of Arabic verbs and nouns, in the form that `probe --stimuli` reads.

    make_stimuli.py stimuli.json [--seed 1] [--roots 20]

A root is three consonants and a pattern says where they stand (1, 2 and 3) among vowels: "b-n-S" in "1a2a3a" is
"banaSa". No root is a word. Templates that name root or pattern say so in prompt_contracts, because a probe that finds
there what the prompt says has found nothing.
"""
import argparse
import json

import numpy as np

CONSONANTS = "b d f g H j k l m n q r s S t T z D".split()
PATTERNS = [("1a2a3a", "past (form I)"), ("ya12a3u", "present (form I)"), ("1ā2i3", "active participle (form I)"),
            ("ma12ū3", "passive participle (form I)"), ("1a22ā3", "intensive noun"), ("i1ta2a3a", "past (form VIII)"),
            ("in1a2a3a", "past (form VII)"), ("ista12a3a", "past (form X)"), ("ta1ā2a3a", "past (form VI)"),
            ("mu1a22i3", "active participle (form II)")]
TEMPLATES = {
    "en_zero": ("Put the root \"{root}\" into the pattern \"{pattern}\". Answer with the word alone.", ["root", "pattern"]),
    "en_one": ("Put the root \"{root}\" into the pattern \"{pattern}\". With the root \"k-t-b\" the pattern \"1u2i3a\" gives "
               "\"kutiba\". Answer with the word alone.", ["root", "pattern"]),
    "en_surface_probe": ("Look at the word \"{surface}\", which is written as Arabic is in Latin letters. What is its form?", []),
}


def surface(root, pattern):
    return "".join(root[int(c) - 1] if c.isdigit() else c for c in pattern)


def stimuli(n_roots, seed):
    most = len(CONSONANTS) * (len(CONSONANTS) - 1) * (len(CONSONANTS) - 2) - 1
    if not 1 <= n_roots <= most:
        raise SystemExit(f"make_stimuli.py: wanted 1 to {most} roots, found {n_roots}")
    rng = np.random.default_rng(seed)
    roots = []
    while len(roots) < n_roots:
        root = tuple(rng.choice(CONSONANTS, 3, replace=False))
        if root not in roots and root != ("k", "t", "b"):
            roots.append(root)
    for root in roots:
        for pattern, description in PATTERNS:
            names = dict(root="-".join(root), pattern=pattern, surface=surface(root, pattern))
            yield {"root": names["root"], "root_consonants": list(root), "pattern": pattern,
                   "pattern_description": description, "expected_surface": names["surface"],
                   "prompts": {name: text.format(**names) for name, (text, _) in TEMPLATES.items()},
                   "prompt_contracts": {name: {"target_labels_in_prompt": bool(told), "revealed_targets": told}
                                        for name, (_, told) in TEMPLATES.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--roots", type=int, default=20)
    a = parser.parse_args()
    with open(a.out, "w", encoding="utf-8") as out:
        json.dump(list(stimuli(a.roots, a.seed)), out, ensure_ascii=False, indent=1)


if __name__ == "__main__":
    main()
