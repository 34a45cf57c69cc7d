#!/usr/bin/env python3
"""Write a trained checkpoint as a GGUF file, read it back, and let it answer.

    python3 export.py MODEL.pt tokenizer.json bitnet-chat.gguf [--golden bundled_logits.npz] [--answers answers.txt]

The weights become i2_s codes (128 values a block of 32 bytes, one float32 scale a tensor), the embedding F16.
The answers and the golden logits come from the training graph in float32, with the numbers that the file holds.
"""
import argparse
import os
import struct

import numpy as np
import torch

from model import BitNet, ternary
from prompts import GOLDEN, PROMPTS
from shape import SAMPLING
from tokenizer import Tokenizer

U32, I32, F32, BOOL, STR, ARR = 4, 5, 6, 7, 8, 9
GGML_F32, GGML_F16, GGML_I2_S = 0, 1, 36
NAME = "bitnet-chat 22M"
TEMPLATE = ("{% for message in messages %}{% if loop.first %}{{ bos_token }}{% endif %}"
            "{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + message['content'] | trim + '<|eot_id|>' }}{% endfor %}"
            "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}")


def string(x):
    b = x.encode("utf-8")
    return struct.pack("<Q", len(b)) + b


def kv(key, typ, val, sub=None):
    out = string(key) + struct.pack("<I", typ)
    if typ == STR:
        return out + string(val)
    if typ == ARR:
        out += struct.pack("<IQ", sub, len(val))
        return out + (b"".join(map(string, val)) if sub == STR else np.asarray(val, "<i4" if sub == I32 else "<f4").tobytes())
    return out + struct.pack({U32: "<I", F32: "<f", BOOL: "<?"}[typ], val)


def pack_i2s(t, scale):
    """t: -1, 0, +1. In a block of 128, byte j holds elements j, j+32, j+64, j+96 from the high bits down."""
    q = (t.reshape(-1, 4, 32) + 1).astype(np.uint8)
    data = (q[:, 0] << 6) | (q[:, 1] << 4) | (q[:, 2] << 2) | q[:, 3]
    return data.tobytes() + struct.pack("<f", scale) + b"\0" * 28


def unpack_i2s(data):
    b = np.frombuffer(data[:-32], np.uint8).reshape(-1, 1, 32)
    t = (b >> np.array([6, 4, 2, 0], np.uint8).reshape(1, 4, 1) & 3).astype(np.int8) - 1
    return t.reshape(-1), struct.unpack("<f", data[-32:-28])[0]


def metadata(tok, c):
    A, sp = "bitnet-b1.58", tok.specials
    tokens = tok.text + list(sp)
    types = [1] * len(tok.text) + [3] * len(sp)
    return [kv("general.architecture", STR, A), kv("general.name", STR, NAME), kv("general.author", STR, "bitnet-chat"),
            kv("general.license", STR, "gpl-3.0-or-later"), kv("general.size_label", STR, "22M"),
            kv("general.description", STR, "A small demonstration model of bitnet-chat, trained from scratch on text written by a program."),
            *(kv(key, F32, value) for key, value in SAMPLING.items()),
            kv(A + ".vocab_size", U32, len(tokens)), kv(A + ".context_length", U32, c["ctx"]), kv(A + ".embedding_length", U32, c["dim"]),
            kv(A + ".block_count", U32, c["layers"]), kv(A + ".feed_forward_length", U32, c["ffn"]),
            kv(A + ".rope.dimension_count", U32, c["dim"] // c["heads"]), kv(A + ".attention.head_count", U32, c["heads"]),
            kv(A + ".attention.head_count_kv", U32, c["kv"]), kv(A + ".attention.layer_norm_rms_epsilon", F32, c["eps"]),
            kv(A + ".rope.freq_base", F32, c["base"]), kv("general.file_type", U32, 40), kv("general.quantization_version", U32, 2),
            kv("tokenizer.ggml.model", STR, "gpt2"), kv("tokenizer.ggml.pre", STR, "llama-bpe"), kv("tokenizer.ggml.tokens", ARR, tokens, STR),
            kv("tokenizer.ggml.scores", ARR, [0.0 if t == 1 else -1000.0 for t in types], F32), kv("tokenizer.ggml.token_type", ARR, types, I32),
            kv("tokenizer.ggml.merges", ARR, tok.merges, STR), kv("tokenizer.ggml.add_bos_token", BOOL, True),
            kv("tokenizer.ggml.bos_token_id", U32, tok.bos), kv("tokenizer.ggml.eos_token_id", U32, tok.eot),
            kv("tokenizer.ggml.eot_token_id", U32, tok.eot), kv("tokenizer.ggml.padding_token_id", U32, tok.end),
            kv("tokenizer.chat_template", STR, TEMPLATE)]


def tensors(model):
    """name, type, shape (input features first), bytes; blocks in lexical order as the published file has them."""
    f32 = lambda name, p: (name, GGML_F32, (p.numel(),), p.detach().float().cpu().numpy().astype("<f4").tobytes())
    yield ("token_embd.weight", GGML_F16, tuple(reversed(model.embed.shape)), model.embed.detach().cpu().numpy().astype("<f2").tobytes())
    for i in sorted(range(len(model.blocks)), key=str):
        block = model.blocks[i]
        for part in ("attn_norm", "ffn_down", "ffn_sub_norm", "ffn_gate", "ffn_up", "ffn_norm", "attn_sub_norm", "attn_k", "attn_output", "attn_q",
                     "attn_v"):
            name, p = f"blk.{i}.{part}.weight", getattr(block, part)
            if isinstance(p, torch.nn.Parameter):
                t, s = ternary(p.detach().float())
                data = pack_i2s(t.cpu().numpy().astype(np.int8), s.item())
                back, scale = unpack_i2s(data)
                assert np.array_equal(back, t.cpu().numpy().reshape(-1)) and scale == s.item()
                yield (name, GGML_I2_S, tuple(reversed(p.shape)), data)
            else:
                yield f32(name, p.weight)
    yield f32("output_norm.weight", model.norm.weight)


def write(path, model, tok):
    plan, meta = list(tensors(model)), metadata(tok, model.shape)
    info, off = b"", 0
    for name, typ, shape, data in plan:
        info += string(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape) + struct.pack("<IQ", typ, off)
        off += (len(data) + 31) // 32 * 32
    head = b"GGUF" + struct.pack("<IQQ", 3, len(plan), len(meta)) + b"".join(meta) + info
    with open(path, "wb") as f:
        f.write(head + b"\0" * (-len(head) % 32))
        for _, _, _, data in plan:
            f.write(data + b"\0" * (-len(data) % 32))
    print(f"{path}: {os.path.getsize(path)} bytes, {len(plan)} tensors, {len(tok)} tokens")


@torch.no_grad()
def answer(model, ids, stop, limit=200):
    """Greedy. Returns the new ids, without the stop token, and whether it stopped by itself."""
    ids, n, device = list(ids), len(ids), model.embed.device
    while len(ids) - n < limit and len(ids) < model.shape["ctx"]:
        best = int(model(torch.tensor([ids], device=device), exact=True)[0, -1].argmax())
        if best in stop:
            return ids[n:], True
        ids.append(best)
    return ids[n:], False


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("checkpoint")
    ap.add_argument("tokenizer")
    ap.add_argument("out")
    ap.add_argument("--golden")
    ap.add_argument("--answers")
    ap.add_argument("--limit", type=int, default=160)
    a = ap.parse_args()
    saved, tok = torch.load(a.checkpoint, map_location="cpu"), Tokenizer(a.tokenizer)
    model = BitNet(len(tok), saved["shape"])
    model.load_state_dict(saved["state"])
    model.embed.data = model.embed.data.half().float()  # what the file holds
    write(a.out, model, tok)
    model.to("cuda" if torch.cuda.is_available() else "cpu").eval()
    if a.golden:
        arrays = {}
        for i, messages in enumerate(GOLDEN):
            ids, _ = tok.chat(messages, generate=True)
            with torch.no_grad():
                logits = model(torch.tensor([ids], device=model.embed.device), exact=True)[0].cpu().numpy()
            at = [0, len(ids) // 2, len(ids) - 1]
            arrays |= {f"tokens{i}": np.array(ids, np.int32), f"positions{i}": np.array(at, np.int32), f"logits{i}": logits[at].astype(np.float32)}
        np.savez(a.golden, **arrays)
    lines, ended, total = [], 0, 0
    for turns in PROMPTS:
        messages = []
        for text in turns:
            if text.startswith("SYSTEM "):
                messages.append(("system", text[7:]))
                lines.append(f"[system] {text[7:]}")
                continue
            messages.append(("user", text))
            out, stopped = answer(model, tok.chat(messages, generate=True)[0], {tok.eot, tok.end}, a.limit)
            messages.append(("assistant", tok.decode(out)))
            ended, total = ended + stopped, total + 1
            lines.append(f"> {text}\n{messages[-1][1]}{'' if stopped else ' [cut]'}")
        lines.append("")
    lines.append(f"{ended} of {total} answers ended by themselves")
    print("\n".join(lines))
    if a.answers:
        with open(a.answers, "w") as f:
            f.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
