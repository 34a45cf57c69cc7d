"""Faults of the tokenizers of other families: Gemma 4's BPE over lines, and tokens that must never be given."""
from hostile_file import ARRAY, I32, STRING, VOCAB, f32, floats, ints, p32, p64, string, strings, u32

MERGES = ["a b", "\u2581 a", "\n \n"]


def gemma4(file):
    """Makes the vocabulary one of Gemma 4's: four specials, the bytes, some pieces and the marks of turns."""
    tokens = ["<pad>", "<eos>", "<bos>", "<unk>"] + [f"<0x{b:02X}>" for b in range(256)]
    tokens += ["\u2581", "a", "b", "ab", "\u2581a", "\n", "\n\n", "</s>", "<|turn>", "<turn|>"]
    assert len(tokens) == VOCAB
    file.set("tokenizer.ggml.model", string("gemma4"))
    file.set("tokenizer.ggml.tokens", strings(tokens))
    file.set("tokenizer.ggml.token_type", ints([3, 3, 3, 2] + [6] * 256 + [1] * 8 + [3, 3]))
    file.set("tokenizer.ggml.merges", strings(MERGES))
    for name, token in (("bos", 2), ("eos", 1), ("unknown", 3)):
        file.set(f"tokenizer.ggml.{name}_token_id", u32(token))
    for name in ("pre", "eot_token_id", "scores"):
        file.drop("tokenizer.ggml." + name)
    return tokens


def lines(c):
    def put(name, message, change):
        c.add("gemma4-" + name, message, lambda f: change(f, gemma4(f)))

    key = "tokenizer.ggml.merges"
    put("merges-missing", key, lambda f, _: f.drop(key))
    put("merges-missing", key, lambda f, _: f.set(key, strings([])))
    for value in (string("a b"), u32(7), ints([1]), p32(ARRAY) + p32(STRING) + p64(2**61)):
        put("merges-of-another-type", key, lambda f, _: f.set(key, value))
    for merge in ("", " ", "ab", "a ", " a", "zz a", "a zz", "b a", "<0x61> a", "a  b", b"\xff a", "a \x1b[2J",
                  "999999999 a", "x" * 5000):
        put("merge", rf"{key}\[1\]", lambda f, _: f.set(key, strings([MERGES[0], merge, *MERGES[2:]])))
    put("merge", rf"{key}\[{len(MERGES)}\]", lambda f, _: f.set(key, strings([*MERGES, "c d"])))
    key = "tokenizer.ggml.tokens"
    put("tokens-of-another-count", key, lambda f, tokens: f.set(key, strings(tokens[:-1])))
    put("tokens-of-another-count", key, lambda f, tokens: f.set(key, strings([*tokens, "more"])))
    for text in ("", "a", "\u2581a", b"\xff", b"\xe2\x96"):
        put("token", key, lambda f, tokens: f.set(key, strings([*tokens[:-3], text, *tokens[-2:]])))
    put("mark-twice", key, lambda f, tokens: f.set(key, strings([*tokens[:-1], tokens[-2]])))
    key = "tokenizer.ggml.token_type"
    for types in ([1], [7] * VOCAB, [-1] * VOCAB, [1] * (VOCAB + 1)):
        put("types", key, lambda f, _: f.set(key, ints(types)))
    put("scores-of-another-length", "tokenizer.ggml.scores",
        lambda f, _: f.set("tokenizer.ggml.scores", floats([0.0] * (VOCAB - 1))))
    for name in ("bos", "eos", "unknown", "eot", "eom"):
        key = f"tokenizer.ggml.{name}_token_id"
        for n in (VOCAB, 2**31, 2**32 - 2):
            put("special-id", key, lambda f, _: f.set(key, u32(n)))


def suppressed(c):
    key = "tokenizer.ggml.suppress_tokens"
    c.key("suppressed", key, [ints([n]) for n in (VOCAB, VOCAB + 1, -1, 2**31 - 1, -2**31)] + [
        ints([0, 1, VOCAB]), ints(range(VOCAB)), u32(1), string("1"), strings(["1"]), floats([1.0]), f32(1),
        p32(ARRAY) + p32(I32) + p64(2**62)])


def ends(c):
    key = "tokenizer.ggml.eos_token_ids"
    c.key("ends", key, [ints([n]) for n in (VOCAB, -5, 2**31 - 1, -2**31)] + [
        ints([0, 1, VOCAB]), u32(1), string("1"), strings(["1"]), floats([1.0]), p32(ARRAY) + p32(I32) + p64(2**62)])


def fine(c):
    c.key("fine-ends", "tokenizer.ggml.eos_token_ids", [ints([]), ints([5, 3, 5])])
    c.add("fine-gemma4", None, gemma4)
    c.add("fine-gemma4-no-types", None, lambda f: (gemma4(f), f.drop("tokenizer.ggml.token_type")))
    c.add("fine-gemma4-marks", None, lambda f: (gemma4(f), f.set("tokenizer.ggml.merges", strings(
        [*MERGES, "<|turn> a", "a <turn|>"]))))
    c.key("fine-suppressed", "tokenizer.ggml.suppress_tokens", [ints([]), ints([5, 3, 5]), ints(range(1, VOCAB))])


GROUPS = (lines, suppressed, ends, fine)
