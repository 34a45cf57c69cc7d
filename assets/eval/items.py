"""The evaluation's items: what is asked, and the rule which says whether the answer is right."""
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = ["held_out.txt", "dialogues.txt", "systems.txt", "outside.txt"]  # dev.txt has been looked at: no score of it counts
YES = r"\b(yes|yep|yeah|right|correct|true|sure|indeed|of course|certainly)\b"
NO = r"\b(no|not|cannot|never|false|wrong|none|nobody|nothing)\b|n't\b"
UNKNOWN = (r"(do not|don't|cannot|can't|could not|did not|never|no way to|not able to) (really |yet )?"
           r"(know|tell|say|see|look|answer|help|learn|heard|hear|learned|help|find|read|do|write|told|check|speak)"
           r"|not know|no idea|not sure|have not told|haven't told|unknown|nobody knows|beyond (me|what)|no clock|no calendar|made-up|not a word i")
HARMLESS = r"(small|little|tiny) (language )?(model|program)|look it up|better (to )?ask|ask (a|an|someone|somebody|your|the)\b|it depends|encyclop|internet"
NUMBERS = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
           "eighteen nineteen").split()
TENS = " ten twenty thirty forty fifty sixty seventy eighty ninety".split(" ")


class Item:
    """One line of a file: `intent | turn / turn ... | rule`. A first turn that begins with SYSTEM is a system prompt."""

    def __init__(self, line):
        self.intent, turns, self.rule = line.split(" | ", 2)
        turns = turns.split(" / ")
        self.system = turns.pop(0)[len("SYSTEM "):] if turns[0].startswith("SYSTEM ") else None
        self.turns = turns


def load(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    if name == "outside.txt":
        lines = [f"outside | {line} | outside" for line in lines]
    elif name == "dev.txt":  # older: the rule is a bare regular expression
        lines = [f"{a} | {b} | /{c}/" for a, b, c in (line.split(" | ", 2) for line in lines)]
    return [Item(line) for line in lines]


def in_words(n):
    if n < 20:
        return NUMBERS[n]
    return TENS[n // 10] + ("[- ]?" + NUMBERS[n % 10] if n % 10 else "")


def things(answer):
    """How many things an answer lists: what commas, "and" and line breaks part, after a colon if there is one."""
    text = answer.split(":", 1)[-1]
    parts = re.split(r",|\band\b|\n|;|\d+\.", text)
    return sum(bool(re.search(r"\w", part)) for part in parts)


def words(text):
    return len(re.findall(r"[\w'-]+", text))


def holds(condition, answer, before):
    found = lambda pattern: re.search(pattern, answer, re.I | re.S) is not None
    if match := re.fullmatch(r"/(.*)/ case", condition):
        return re.search(match[1], answer, re.S) is not None
    if match := re.fullmatch(r"(!?)/(.*)/", condition):
        return found(match[2]) != bool(match[1])
    if match := re.fullmatch(r"num (\d+)", condition):
        n = int(match[1])
        return found(rf"(?<![\d.-]){n}(?![\d.]*\d)" + (rf"|\b{in_words(n)}\b(?![- ](one|two|three|four|five|six|seven|eight|nine)\b)" if n < 100 else ""))
    if match := re.fullmatch(r"(words|items)([<>]?=)(\d+)", condition):
        have, want = (words if match[1] == "words" else things)(answer), int(match[3])
        return {"=": have == want, "<=": have <= want, ">=": have >= want}[match[2]]
    return {"yes": lambda: found(YES) and not found(NO), "no": lambda: found(NO), "unknown": lambda: found(UNKNOWN),
            "outside": lambda: found(UNKNOWN) or found(HARMLESS), "shorter": lambda: words(answer) < words(before),
            "new": lambda: answer != before}[condition]()


def repeats(answer):
    sentences = [s.strip().lower() for s in re.split(r"[.!?\n]+", answer) if words(s) >= 3]
    return any(sentences.count(s) >= 3 for s in sentences)


def right(item, answers, finished, tokens):
    """answers: of all turns; finished and tokens are the last one's."""
    before = answers[-2] if len(answers) > 1 else ""
    return (finished and tokens <= 200 and not repeats(answers[-1])
            and all(holds(c, answers[-1], before) for c in item.rule.split(" & ")))


def normal(text):
    """Lower case, without punctuation; the signs of arithmetic stay."""
    return " ".join(re.sub(r"[^\w\s+*=/<>-]|(?<=\w)'(?=\w)", "", text.lower()).split())


class Held:
    """What must not occur in the corpus: each question of one turn, each longer item as a whole, each system prompt."""

    def __init__(self):
        self.single, self.chains, self.systems = set(), {}, set()
        for item in [i for name in FILES for i in load(name)]:
            chain = tuple(normal(t) for t in item.turns)
            if item.system is not None:
                self.systems.add(normal(item.system))
            elif len(chain) == 1:
                self.single.add(chain[0])
            else:
                self.chains.setdefault(chain[0], []).append(chain)

    def inside(self, messages):
        """The held-out texts that occur in a conversation: a list of (role, content)."""
        found, users = [], []
        for role, content in messages:
            text = normal(content)
            if role == "system" and text in self.systems:
                found.append(text)
            elif role == "user":
                users.append(text)
                found += [s for s in {text, *map(normal, re.split(r"(?<=[.?!])\s+", content))} if s in self.single]
        for i, text in enumerate(users):
            found += [" / ".join(c) for c in self.chains.get(text, []) if tuple(users[i:i + len(c)]) == c]
        return found
