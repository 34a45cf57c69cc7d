"""Compose conversations from the intents: which come how often, and how one turn leads to the next."""
import random

from . import chatter, facts, manual, maths, memory, program, smalltalk, stories
from .lang import Talk, noise
from .rephrase import GREETS, rephrase

# intent, weight
INTENTS = [
    (smalltalk.smalltalk, 15), (chatter.life, 10), (chatter.unknown, 8), (chatter.echo, 2.5), (chatter.odd, 4), (chatter.spell_any, 3), (chatter.recite, 2), (manual.manual, 6), (smalltalk.identity, 5), (smalltalk.outside, 7), (smalltalk.likes, 3), (smalltalk.nonsense, 0.6), (program.command, 9), (program.words, 7),
    (facts.country, 5), (facts.animal, 6), (facts.animal_yesno, 4), (facts.calendar, 4), (facts.planet, 1.5), (facts.colour, 2.5), (facts.definition, 5), (facts.job, 2), (facts.thing, 3),
    (facts.why, 8), (facts.listing, 4), (facts.category, 1.5), (maths.arithmetic, 7), (maths.word_problem, 3), (maths.counting, 3), (maths.comparing, 2), (maths.spelling, 4),
    (maths.opposite, 2.5), (maths.synonym, 1.5), (maths.plural, 2), (maths.rhyme, 2), (maths.translate, 2), (maths.sentence, 1), (stories.story_turn, 5), (stories.poem_turn, 2.5),
]
FUNCS, WEIGHTS = zip(*INTENTS)
LENGTHS, ODDS = [1, 2, 3, 4, 5, 6, 8, 10, 12], [26, 18, 16, 12, 9, 7, 5, 4, 3]


def next_turn(t):
    if t.turns and t.chance(0.3):
        turn = memory.follow(t)
        if turn:
            return turn
    if t.role and t.chance(0.3 if t.turns else 0.5):
        return memory.role(t)
    r = t.rng.random()
    if r < (0.10 if not t.turns else 0.13):
        return memory.tell(t)
    if t.turns and r < (0.27 if t.facts else 0.15):
        return memory.recall(t)
    if t.turns and r < 0.30:
        return memory.last_said(t)
    if r < 0.34 and (t.lists or t.chance(0.6)) or (t.lists and r < 0.42):
        return memory.shopping(t)
    return t.rng.choices(FUNCS, WEIGHTS)[0](t)


def add(t, turn):
    asked = turn.user if turn.exact else rephrase(t.rng, turn.user, turn.keep)
    answer = memory.toned(t, turn).strip()
    if not t.turns and t.chance(0.05) and turn.user[-1:] == "?" and not turn.user.startswith(("Hello", "Hi", "Hey", "Good", "How are")):
        greet = t.pick(GREETS)  # a greeting and a question in one
        asked = f"{greet}{t.pick([',', '!', '.', '! '])} {asked}".replace("  ", " ")
        if t.tone is None:
            answer = f"{greet if not greet.startswith('Hi ') else 'Hi'}! {answer}" if "\n" not in answer else answer
    turn.said = noise(t.rng, asked, turn.keep)
    turn.answer = answer
    t.turns.append(turn)


def dialogue(seed, limit=3600):
    """(role, content) pairs of one conversation; limit is in characters, well inside the context."""
    t = Talk(random.Random(seed))
    if t.chance(0.18):
        memory.system(t)
    n = t.rng.choices(LENGTHS, ODDS)[0]
    if n > 1 and t.chance(0.4):
        add(t, smalltalk.smalltalk_hello(t))
    if t.chance(0.2):  # a conversation that is mostly about remembering
        for _ in range(t.pick([1, 2, 3, 4])):
            turn = chatter.recite(t) if t.chance(0.1) else memory.tell(t)
            if turn:
                add(t, turn)
        n = max(n, len(t.turns) + t.pick([1, 2, 3, 4, 6]))
    size = 0
    for _ in range(3 * n):
        if len(t.turns) >= n or size > limit:
            break
        turn = next_turn(t)
        if turn is None or not turn.user or not turn.answer:
            continue
        add(t, turn)
        size = sum(len(x.said) + len(x.answer) for x in t.turns)
    messages = [("system", t.system)] if t.system else []
    for turn in t.turns:
        messages += [("user", turn.said), ("assistant", turn.answer)]
    return messages


def prose(seed, paragraphs=4):
    t = Talk(random.Random(seed))
    return "\n\n".join(stories.prose(t) for _ in range(t.rng.randrange(1, paragraphs + 1)))
