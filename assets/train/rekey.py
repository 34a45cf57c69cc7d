#!/usr/bin/env python3
"""Write a GGUF file again with other metadata; the tensors stay the same bytes.

    python3 rekey.py ../bitnet-chat.gguf OUT.gguf [KEY=NUMBER ...]      without KEY: what shape.py's SAMPLING says

A key that the file has gets the new value in its place, a new one comes after the last key that begins with "general.".
Values are written as F32. Needs the standard library alone.
"""
import struct
import sys

from shape import SAMPLING

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, ARRAY, F32 = 8, 9, 6


def entry(key, value):
    key = key.encode()
    if isinstance(value, str):
        value = value.encode()
        return struct.pack("<Q", len(key)) + key + struct.pack("<IQ", STRING, len(value)) + value
    return struct.pack("<Q", len(key)) + key + struct.pack("<If", F32, value)


def rekey(data, values):
    at = 4

    def take(form):
        nonlocal at
        value = struct.unpack_from("<" + form, data, at)[0]
        at += struct.calcsize("<" + form)
        return value

    def skip(kind):
        nonlocal at
        if kind == STRING:
            n = take("Q")
            at += n
        elif kind == ARRAY:
            element, n = take("I"), take("Q")
            for _ in range(n):
                skip(element)
        else:
            at += SIZES[kind]

    assert data[:4] == b"GGUF" and take("I") == 3
    n_tensors, n_keys = take("Q"), take("Q")
    entries = []
    for _ in range(n_keys):
        begin = at
        n = take("Q")
        key = data[at:at + n].decode()
        at += n
        skip(take("I"))
        entries.append((key, data[begin:at]))
    assert "general.alignment" not in dict(entries)
    directory = at
    for _ in range(n_tensors):
        skip(STRING)
        n_dims = take("I")
        at += 8 * n_dims + 12
    tensors = -(-at // 32) * 32
    for key, value in values.items():
        known = [i for i, (name, _) in enumerate(entries) if name == key]
        last = max(i for i, (name, _) in enumerate(entries[:8]) if name.startswith("general."))
        if known:
            entries[known[0]] = key, entry(key, value)
        else:
            entries.insert(last + 1, (key, entry(key, value)))
    head = b"GGUF" + struct.pack("<IQQ", 3, n_tensors, len(entries)) + b"".join(e for _, e in entries) + data[directory:at]
    return head + b"\0" * (-len(head) % 32) + data[tensors:]


def main():
    source, out, *given = sys.argv[1:]
    values = {key: float(value) for key, value in (g.split("=", 1) for g in given)} or SAMPLING
    with open(source, "rb") as file:
        data = rekey(file.read(), values)
    with open(out, "wb") as file:
        file.write(data)


if __name__ == "__main__":
    main()
