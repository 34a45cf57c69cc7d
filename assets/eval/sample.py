#!/usr/bin/env python3
"""Fifty stories at temperature 0.8 with the seeds 1 to 50, through the program, to be read and judged by a person.

    python3 sample.py [--program P] [--model M.gguf] [--device cpu] > stories.txt
"""
import argparse
import json
import os
import subprocess

import items

ROOT = os.path.dirname(os.path.dirname(items.HERE))
ASKED = ["Tell me a story.", "Tell me a short story about a cat.", "I would like a story about a brave little boat.", "Please tell me a bedtime story about the moon.", "Tell me a story about a king who lost his hat.",
         "Write a story about two friends, a fox and a hen.", "Tell me a story about a girl named Runa.", "Make up a story with a dragon and a baker in it.", "Tell me a tale about an old tree.", "Tell me a funny story about a robot called Pip."]


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--program", default=os.path.join(ROOT, "build/release/app/bitnet-chat"))
    ap.add_argument("--model")
    ap.add_argument("--device")
    a = ap.parse_args()
    script = ["/set temp 0.8", "/set top_p 1", "/set top_k 0", "/set max_tokens 300"]
    for seed in range(1, 51):
        script += ["/new", f"/seed {seed}", ASKED[(seed - 1) % len(ASKED)], "@wait idle 120"]
    command = [a.program] + ([a.model] if a.model else []) + ["--script", "-", "--output", "jsonl", "--private"] + (["--device", a.device] if a.device else [])
    done = subprocess.run(command, input="\n".join(script + ["/quit"]) + "\n", stdout=subprocess.PIPE, text=True, check=True)
    told = [e for e in map(json.loads, done.stdout.splitlines()) if e["type"] == "usage"]
    for i, event in enumerate(told):
        print(f"{i + 1}. {ASKED[i % len(ASKED)]}\n   {event['text']}{'' if event['finish'] == 'stop' else ' [' + event['finish'] + ']'}")


if __name__ == "__main__":
    main()
