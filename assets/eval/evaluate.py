#!/usr/bin/env python3
"""Put the held-out items to a model through the program, greedily, and write a table by intent.

    python3 evaluate.py [--program build/release/app/bitnet-chat] [--model M.gguf] [--device cpu] [--table T.md] [--wrong W.txt] [--check] [FILE ...]

One process answers everything: each item is a conversation of its own in a script that the program plays. --check fails where the model is worse than WANTED.
"""
import argparse
import json
import os
import subprocess
import sys
from collections import Counter

import items

WANTED = {"held_out.txt": 90, "dialogues.txt": 85, "systems.txt": 80, "outside.txt": 70}  # %, and no intent of held_out.txt below 70
ROOT = os.path.dirname(os.path.dirname(items.HERE))


def ask(a, asked):
    """For each item the list of usage events, one a turn."""
    script = ["/set temp 0", "/set max_tokens 256"]
    for item in asked:
        script += ["/new", f"/system {item.system or 'none'}"]
        for turn in item.turns:
            script += [turn, "@wait idle 120"]
    command = [a.program] + ([a.model] if a.model else []) + ["--script", "-", "--output", "jsonl", "--private"]
    command += ["--device", a.device] if a.device else []
    done = subprocess.run(command, input="\n".join(script + ["/quit"]) + "\n", stdout=subprocess.PIPE, text=True)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    for event in events:
        if event["type"] == "session":
            print(f"{event['model']} on {event['device']}", file=sys.stderr)
        if event["type"] == "error":
            sys.exit(f"the program says: {event}")
    usage = iter([e for e in events if e["type"] == "usage"])
    return [[next(usage) for _ in item.turns] for item in asked]


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("files", nargs="*", default=items.FILES, help="of this folder")
    ap.add_argument("--program", default=os.path.join(ROOT, "build/release/app/bitnet-chat"))
    ap.add_argument("--model", help="GGUF file; the bundled one where not given")
    ap.add_argument("--device")
    ap.add_argument("--table", help="file for the table (Markdown); else it is printed")
    ap.add_argument("--wrong", help="file for the wrong answers")
    ap.add_argument("--all", action="store_true", help="the right answers too")
    ap.add_argument("--check", action="store_true")
    a = ap.parse_args()
    rows, wrong, bad = [], [], []
    for name in a.files:
        asked = items.load(name)
        total, good = Counter(), Counter()
        for item, turns in zip(asked, ask(a, asked)):
            answers, last = [t["text"] for t in turns], turns[-1]
            ok = items.right(item, answers, last["finish"] == "stop", last["answer_tokens"])
            total[item.intent] += 1
            good[item.intent] += ok
            if a.all or not ok:
                said = [x for pair in zip(item.turns, answers) for x in pair]
                head = f"[{'right' if ok else 'WRONG'}] {item.intent}" + (f" (system: {item.system})" if item.system else "")
                wrong.append("\n".join([head] + [f"  {'<>'[i % 2]} {' / '.join(text.splitlines())}" for i, text in enumerate(said)]
                                       + [f"  wanted: {item.rule}"]))
        share = 100 * sum(good.values()) / sum(total.values())
        if share < WANTED.get(name, 0) or name == "held_out.txt" and any(good[i] < 0.7 * n for i, n in total.items()):
            bad.append(name)
        rows += [(intent, good[intent], n) for intent, n in total.items()]
        if len(total) > 1:
            rows.append((f"**{name}**", sum(good.values()), sum(total.values())))
    table = "| intent | right | of | % |\n| --- | ---: | ---: | ---: |\n"
    table += "".join(f"| {intent} | {right} | {n} | {100 * right / n:.0f} |\n" for intent, right, n in rows)
    if a.table:
        with open(a.table, "w", encoding="utf-8") as file:
            file.write(table)
    else:
        print(table)
    if a.wrong:
        with open(a.wrong, "w", encoding="utf-8") as file:
            file.write("\n".join(wrong) + "\n")
    if a.check and bad:
        sys.exit(f"too many wrong answers in {', '.join(bad)}")


if __name__ == "__main__":
    main()
