#!/usr/bin/env python3
"""What guesses gain: the bundled model's answers in conversations, with --draft off and on.

    speculation.py BITNET_CHAT [--runs 5] [MODEL] [OPTION...]

The conversations of each use are led by lines on standard input, all in one private process, so that nothing is guessed
from another conversation; again and again, in turns without and with guesses, of which the first make kernels and
commands. Where a conversation has
/edit and /regen the answers to them count, else all. Both ways must give the same tokens with the same
log-probabilities. Printed are tokens a second of decode, medians of the runs. Further options, such as --device cpu or
--temp 0.7 --seed 1, go to the program.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile

LIST = "My shopping list is milk, bread, eggs, cheese, apples and tea."
USES = {
    "edit and regenerate": [
        ["Tell me a story about a fox.", "/edit Tell me a story about a fox, please.", "/regen",
         "/edit Tell me a story about an old fox."],
        ["Write a poem about the sea.", "/edit Write a poem about the sea, please.", "/regen"],
        ["How do I save my chat to a file?", "/edit How do I save this chat to a file?", "/regen"],
        [LIST, "/edit " + LIST.replace("tea", "coffee"), "/regen"]],
    "summary": [
        [LIST, "What is on my list?", "Add butter.", "What is on my list?", "Add honey.", "Read me my list."],
        ["My three friends are called Johanna, Biscuit and Wendy.", "What are the names of my friends?",
         "My favourite colours are green, blue and red.", "What are my favourite colours?",
         "What are the names of my friends?"]],
    "chat": [
        ["Hello! What is your name?", "What is the capital of Italy?", "And of Spain?", "What is a KV cache?",
         "Why is the sky blue?", "Tell me a joke.", "Name five animals.", "How do I quit?"],
        ["Tell me a story about a dragon."], ["Write a poem about the winter."]]}


def runs_of(options, conversations, runs):
    """Returns of each run the answers that count: tokens, seconds, tokens guessed and those of them that were right."""
    lines = [line for conversation in conversations for line in ("/new", *conversation)]
    counts = [line.startswith("/") or not any(line.startswith("/") for line in conversation)
              for conversation in conversations for line in conversation]
    typed = ["/private on"]
    for draft in ("off", "on") * (runs + 1):
        typed += [f"/set draft {draft}", *(t for line in lines for t in (line, "/show stats"))]
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, XDG_DATA_HOME=folder, XDG_CONFIG_HOME=folder, XDG_STATE_HOME=folder)
        done = subprocess.run([*options, "--output", "jsonl"], input="\n".join(typed) + "\n", env=env, text=True,
                              check=True, stdout=subprocess.PIPE)
    found, tokens = [], []
    for event in map(json.loads, done.stdout.splitlines()):
        if event["type"] == "token":
            tokens.append((event["id"], event["logprob"]))
        elif event["type"] == "usage":
            found.append([tokens, event["decode_seconds"], 0, 0])
            tokens = []
        elif event.get("command") == "show stats" and found:
            guessed = re.search(r"guessed +(\d+) tokens?, (\d+)", event["text"])
            if guessed:  # not behind /new
                found[-1][2:] = map(int, guessed.groups())
    n = len(counts)
    assert len(found) == 2 * n * (runs + 1), done.stdout
    return [[a for a, counted in zip(found[i:i + n], counts) if counted] for i in range(2 * n, len(found), n)]


def rate(run):
    return sum(len(a[0]) for a in run) / sum(a[1] for a in run)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--runs", type=int, default=5)
    arguments, options = parser.parse_known_args()
    for use, conversations in USES.items():
        runs = runs_of([arguments.program, *options], conversations, arguments.runs)
        tokens = [[a[0] for a in run] for run in runs]
        if any(t != tokens[0] for t in tokens):
            raise SystemExit(f"{use}: guesses change what is answered")
        off, on = (statistics.median(map(rate, way)) for way in (runs[::2], runs[1::2]))
        tried, right = (statistics.median(sum(a[i] for a in run) for run in runs[1::2]) for i in (2, 3))
        print(f"{use:20} {sum(map(len, tokens[0])):5} tokens  off {off:8.1f} tokens/s  on {on:8.1f}  {on / off:.2f} x"
              f"  {tried:.0f} tried, {right:.0f} right", flush=True)


if __name__ == "__main__":
    main()
