"""The small language that the corpus is written in, and the noise that people put into what they type.

    fill(rng, "{Hi|Hello}[ there], $name!", name="Ada")     one of {..}, perhaps the [..], and slots
"""
import re
from functools import lru_cache

ONES = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
        "nineteen").split()
TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()
TOKEN = re.compile(r"[{}|\[\]]|\$[A-Za-z_0-9]+|[^{}|\[\]$]+|\$")


@lru_cache(maxsize=None)
def parse(text):
    tokens = TOKEN.findall(text)
    seq, rest = _sequence(tokens, 0, "")
    assert rest == len(tokens), text
    return seq


def _sequence(tokens, i, stop):
    seq = []
    while i < len(tokens) and tokens[i] not in stop.split():
        t = tokens[i]
        if t == "{" or t == "[":
            options, close = [], "}" if t == "{" else "]"
            i += 1
            while True:
                part, i = _sequence(tokens, i, "| " + close)
                options.append(part)
                i += 1
                if tokens[i - 1] == close:
                    break
            seq.append((t, options))
        elif t[0] == "$" and len(t) > 1:
            seq.append(("$", t[1:]))
        else:
            seq.append(t)
            if t in "}]":
                raise ValueError(f"stray {t}")
        i += 1 if t not in "{[" else 0
    return seq, i


def _expand(rng, seq, slots, out):
    for item in seq:
        if isinstance(item, str):
            out.append(item)
        elif item[0] == "$":
            out.append(str(slots[item[1]]))
        elif item[0] == "{" or rng.random() < 0.5:
            options = item[1]
            _expand(rng, options[int(rng.random() * len(options))], slots, out)


def fill(rng, text, **slots):
    out = []
    _expand(rng, parse(text), slots, out)
    return "".join(out)


def cap(s):
    return s[:1].upper() + s[1:]


def an(noun):
    """a or an, with the noun."""
    w = noun.lower()
    vowel = w[0] in "aeiou" and not w.startswith(("uni", "use", "eu", "one", "uk")) or w.startswith(("hour", "honest"))
    return ("an " if vowel else "a ") + noun


def join(items, word="and"):
    items = list(items)
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + f" {word} " + items[-1]


def words(n):
    """7 -> seven, 42 -> forty-two, up to 999."""
    if n < 0:
        return "minus " + words(-n)
    if n < 20:
        return ONES[n]
    if n < 100:
        return TENS[n // 10] + ("-" + ONES[n % 10] if n % 10 else "")
    if n == 1000:
        return "one thousand"
    return ONES[n // 100] + " hundred" + (" and " + words(n % 100) if n % 100 else "")


def typo(rng, word):
    i = rng.randrange(len(word) - 1)
    kind = rng.random()
    if kind < 0.35:
        return word[:i] + word[i + 1] + word[i] + word[i + 2:]
    if kind < 0.65:
        return word[:i + 1] + word[i + 2:]
    if kind < 0.85:
        return word[:i + 1] + word[i:]
    return word[:i] + rng.choice("abcdefghijklmnopqrstuvwxyz") + word[i + 1:]


def noise(rng, text, keep=()):
    """What a hurried person makes of a sentence. The words in keep stay as they are, up to their case."""
    r = rng.random()
    if r < 0.42:
        return text
    if "\n" in text or "`" in text or text.startswith("/"):
        return text
    if r < 0.72 or rng.random() < 0.3:
        text = text.lower() if r > 0.56 or rng.random() < 0.7 else text[:1].lower() + text[1:]
    if rng.random() < 0.5 and text and text[-1] in "?.!":
        text = text[:-1]
    if rng.random() < 0.2:
        text = re.sub(r"\b([Ww]hat|[Ww]ho|[Ii]t|[Tt]hat|[Ww]here)'s\b", r"\1s", text).replace("n't", "nt").replace("I'm", "im").replace("i'm", "im")
    if rng.random() < 0.12:
        parts = text.split(" ")
        kept = {k.lower() for phrase in keep for k in re.split(r"[\s']+", phrase)}
        able = [i for i, w in enumerate(parts) if len(w) > 3 and w.isalpha() and w.lower() not in kept]
        if able:
            i = rng.choice(able)
            parts[i] = typo(rng, parts[i])
            text = " ".join(parts)
    if rng.random() < 0.01:
        text = text.upper()
    elif rng.random() < 0.02:
        text += rng.choice(["!!", "??", " :)", " please", "...", "!"])
    return text


class Turn:
    """One question with its answer, and what a follow-up may ask of it."""

    def __init__(self, user, answer, keep=(), short=None, why=None, again=None, topic=None, exact=False, more=None, extra=()):
        self.user, self.answer, self.keep = user, answer, keep
        self.short, self.why, self.again, self.topic, self.exact, self.more, self.extra = short, why, again, topic, exact, more, extra

    def with_again(self, again):
        self.again = again
        return self


class Talk:
    """A conversation as it grows: what was said, and what the user told about themselves."""

    def __init__(self, rng):
        self.rng, self.turns, self.facts, self.lists = rng, [], {}, []
        self.notes = []  # what else was told: how it is asked, and the answer
        self.system, self.bot, self.tone, self.role = None, None, None, None
        self.me, self.user_name, self.told = {}, None, None  # what the system prompt says of the model and of the user; what was told last

    def say(self, text, **slots):
        return fill(self.rng, text, **slots)

    def pick(self, items):
        return items[int(self.rng.random() * len(items))]

    def chance(self, p):
        return self.rng.random() < p

    @property
    def last(self):
        return self.turns[-1] if self.turns else None
