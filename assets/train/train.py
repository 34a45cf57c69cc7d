#!/usr/bin/env python3
"""Train the model on the shards that build.py writes; it may still be writing them.

    python3 train.py DATA OUT.pt --steps 4500
    python3 train.py DATA OUT.pt --seconds 420      chooses the steps after measuring the speed

Three phases: plain prose; prose and dialogues; dialogues with loss on the assistant's tokens only.
Learning rate and weight decay fall in two stages, as in the BitNet b1.58 paper: a high peak that falls linearly,
then at half a drop; decay 0.1 in the first half and none in the second.
"""
import argparse
import json
import os
import time

import numpy as np
import torch

from model import BitNet
from shape import SHAPE
from tokenizer import Tokenizer

SAID = 0x8000  # the bit in a shard that marks the assistant's tokens


def shard(folder, kind, i, wait=120):
    """Rows [n, T] of uint16; waits for a shard that is not written yet, so the order never depends on timing."""
    path, until = os.path.join(folder, f"{kind}{i:04d}.npy"), time.time() + wait
    while not os.path.exists(path):
        if time.time() > until:
            raise SystemExit(f"{path}: not there after {wait} s")
        time.sleep(0.2)
    return np.load(path)


class Rows:
    """Rows of a kind of shard, in seeded order, round and round."""

    def __init__(self, folder, kind, n_shards, seed):
        self.folder, self.kind, self.n = folder, kind, n_shards
        self.seed, self.next, self.rows = seed, 0, np.empty((0, 0), np.uint16)

    def take(self, n):
        out = []
        while n:
            if not len(self.rows):
                rows = shard(self.folder, self.kind, self.next % self.n)
                self.rows = rows[np.random.default_rng((self.seed, self.next)).permutation(len(rows))]
                self.next += 1
            got, self.rows = self.rows[:n], self.rows[n:]
            out.append(got)
            n -= len(got)
        return np.concatenate(out)


def batch(rows, end, assistant_only, device):
    raw = torch.from_numpy(rows.astype(np.int64)).to(device, non_blocking=True)
    ids, said = raw & (SAID - 1), (raw & SAID) != 0
    targets = torch.full_like(ids, -1)
    targets[:, :-1] = ids[:, 1:]
    if assistant_only:
        targets[:, :-1][~said[:, 1:]] = -1
    targets[targets == end] = -1  # end_of_text only pads a row
    return ids, targets


def rate(step, steps, peak, warm):
    """Two stages: peak -> 0.6 peak over the first half, then 0.4 peak -> 0."""
    x = step / steps
    if step < warm:
        return peak * (step + 1) / warm
    return peak * (1 - 0.8 * x) if x < 0.5 else peak * 0.4 * (1 - x) * 2


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("data")
    ap.add_argument("out")
    ap.add_argument("--steps", type=int)
    ap.add_argument("--seconds", type=float, default=420)
    ap.add_argument("--rows", type=int, default=128, help="rows of ctx tokens a step")
    ap.add_argument("--peak", type=float, default=2.2e-3)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--no-compile", action="store_true")
    ap.add_argument("--toy", action="store_true", help="a tiny shape, to test this script on a CPU")
    ap.add_argument("--log")
    a = ap.parse_args()
    shape = dict(SHAPE, dim=128, ffn=256, layers=2, heads=2, kv=1) if a.toy else SHAPE
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(a.seed)
    meta = json.load(open(os.path.join(a.data, "meta.json")))
    tok = Tokenizer(os.path.join(a.data, "tokenizer.json"))
    model = BitNet(len(tok), shape).to(device)
    matrices = [p for n, p in model.named_parameters() if p.dim() == 2 and n != "embed"]
    others = [p for n, p in model.named_parameters() if p.dim() < 2 or n == "embed"]
    extra = {"fused": True} if device == "cuda" else {}
    opt = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
                            lr=a.peak, betas=(0.9, 0.95), **extra)
    step_fn = model if a.no_compile else torch.compile(model)
    prose = Rows(a.data, "prose", meta["prose"], a.seed)
    chat = Rows(a.data, "chat", meta["chat"], a.seed)
    held = shard(a.data, "valid", 0)[:a.rows]
    log = open(a.log or a.out + ".log", "w")

    def note(text):
        print(text, flush=True)
        log.write(text + "\n")
        log.flush()

    def validate():
        return step_fn(*batch(held, tok.end, True, device)).item()  # the graph that is compiled already, so with gradients

    n = sum(p.numel() for p in model.parameters())
    note(f"{n} parameters, {sum(p.numel() for p in matrices)} of them ternary, {len(tok)} tokens, {device}")
    steps, warm, seen, start = a.steps or 1 << 30, 200, 0, time.time()
    step, timed = 0, None
    while step < steps:
        x = step / steps
        if x < 0.06:
            rows, only = prose.take(a.rows), False
        elif x < 0.60:
            p = max(1, int(a.rows * 0.08))
            rows, only = np.concatenate([prose.take(p), chat.take(a.rows - p)]), False
        else:
            rows, only = chat.take(a.rows), True
        lr = rate(step, steps, a.peak, warm)
        for g, decay in zip(opt.param_groups, (0.1 if x < 0.5 else 0.0, 0.0)):
            g["lr"], g["weight_decay"] = lr, decay
        loss = step_fn(*batch(rows, tok.end, only, device))
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad(set_to_none=True)
        seen += rows.size
        step += 1
        if not a.steps and step in (20, 80):  # the first steps compile
            if device == "cuda":
                torch.cuda.synchronize()
            if step == 20:
                timed = time.time()
            else:
                each = (time.time() - timed) / 60
                steps = step + int((a.seconds - (time.time() - start)) / each)
                note(f"{each * 1e3:.1f} ms a step: {steps} steps")
        if step % 100 == 0 or step == steps:
            v = f" valid {validate():.4f}" if step % 500 == 0 or step == steps else ""
            took = time.time() - start
            note(f"step {step} loss {loss.item():.4f}{v} norm {norm.item():.2f} lr {lr:.2e} {seen / 1e6:.0f} M tokens {took:.0f} s {seen / took / 1e6:.2f} M/s")
    torch.save({"shape": shape, "state": {k: v.cpu() for k, v in model.state_dict().items()}}, a.out)


if __name__ == "__main__":
    main()
