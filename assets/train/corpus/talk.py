"""Compose conversations from the intents: which come how often, and how one turn leads to the next."""
import random

from . import chatter, common, facts, help, letters, limits, manners, manual, maths, memory, more, program, remember, roles, smalltalk, stories
from .lang import Talk, noise
from .rephrase import GREETS, rephrase

# intent, weight
FIRST = [
    (smalltalk.smalltalk, 12), (chatter.life, 6), (chatter.unknown, 5), (chatter.echo, 2), (chatter.odd, 1), (chatter.spell_any, 2), (chatter.recite, 1.5), (manual.manual, 4), (smalltalk.identity, 3), (smalltalk.outside, 4), (smalltalk.likes, 2), (smalltalk.nonsense, 0.6), (program.command, 5), (program.words, 4),
    (facts.country, 4), (facts.animal, 5), (facts.animal_yesno, 3), (facts.calendar, 2), (facts.planet, 1.5), (facts.colour, 1), (facts.definition, 2), (facts.job, 1.5), (facts.thing, 2),
    (facts.why, 6), (facts.listing, 2.5), (facts.category, 1.5), (maths.arithmetic, 5), (maths.word_problem, 1.5), (maths.counting, 2), (maths.comparing, 2), (maths.spelling, 2),
    (maths.opposite, 1), (maths.synonym, 1.5), (maths.plural, 1.5), (maths.rhyme, 1), (maths.translate, 2), (maths.sentence, 1), (stories.story_turn, 2.5), (stories.poem_turn, 1.5), (remember.claim, 2), (remember.unknown, 2.5),
]
INTENTS = FIRST + common.ALL + letters.ALL + limits.ALL + manners.ALL + help.ALL + more.ALL
FUNCS, WEIGHTS = zip(*INTENTS)
LENGTHS, ODDS = [1, 2, 3, 4, 5, 6, 8, 10, 12], [26, 18, 16, 12, 9, 7, 5, 4, 3]


def any_intent(t):
    return t.rng.choices(FUNCS, WEIGHTS)[0](t)


def next_turn(t):
    if t.turns and t.chance(0.3):
        turn = memory.follow(t)
        if turn:
            return turn
    if t.turns and t.chance(0.06):
        turn = remember.shorter(t)
        if turn:
            return turn
    if t.told and t.chance(0.25):
        turn = remember.correct(t) or remember.correct_name(t)
        if turn:
            return turn
    if (t.me or t.user_name) and t.chance(0.3 if t.turns else 0.6):
        return roles.about_me(t)
    r = t.rng.random()
    if r < 0.07:
        return remember.tell(t)
    if r < 0.11:
        return memory.tell(t)
    if t.turns and r < (0.25 if t.notes else 0.12):
        return remember.recall(t)
    if t.turns and r < (0.30 if t.facts and not t.user_name else 0.13):
        return memory.recall(t)
    if t.turns and r < 0.33:
        return memory.last_said(t) if t.chance(0.4) else remember.asked(t)
    if r < 0.36 and (t.lists or t.chance(0.6)) or (t.lists and r < 0.43):
        return memory.shopping(t)
    return any_intent(t)


def add(t, turn):
    """False where the system prompt's tone leaves no answer."""
    if turn is None or not turn.user or not turn.answer:
        return False
    asked = turn.user if turn.exact else rephrase(t.rng, turn.user, turn.keep)
    answer = roles.toned(t, turn)
    if answer is None:
        return False
    answer = answer.strip()
    if not t.turns and t.chance(0.05) and turn.user[-1:] == "?" and not turn.user.startswith(("Hello", "Hi", "Hey", "Good", "How are")):
        greet = t.pick(GREETS)  # a greeting and a question in one
        asked = f"{greet}{t.pick([',', '!', '.', '! '])} {asked}".replace("  ", " ")
        if t.tone is None:
            answer = f"{greet if not greet.startswith('Hi ') else 'Hi'}! {answer}" if "\n" not in answer else answer
    turn.said = noise(t.rng, asked, turn.keep)
    turn.answer = answer
    t.turns.append(turn)
    return True


def long_memory(t):
    """Something is told, other things are talked about, and then it is asked for."""
    if t.chance(0.25):
        add(t, smalltalk.smalltalk_hello(t))
    for _ in range(t.pick([1, 1, 1, 2, 2, 3, 4])):
        add(t, remember.tell(t))
        if t.told and t.chance(0.15):
            add(t, remember.correct(t) or remember.correct_name(t))
    for _ in range(t.pick([1, 2, 2, 3, 3, 4, 5, 6])):
        for _ in range(4):
            if add(t, memory.follow(t) if t.chance(0.2) else any_intent(t)):
                break
    for _ in range(t.pick([1, 1, 2, 3])):
        add(t, remember.recall(t) if t.chance(0.88) else remember.unknown(t))


def size(t):
    return sum(len(x.said) + len(x.answer) for x in t.turns)


def dialogue(seed, limit=3600):
    """(role, content) pairs of one conversation; limit is in characters, well inside the context."""
    t = Talk(random.Random(seed))
    if t.chance(0.22):
        roles.system(t)
    n = t.rng.choices(LENGTHS, ODDS)[0]
    if t.tone != "oneword" and t.chance(0.2):
        long_memory(t)
        n = len(t.turns) + t.pick([0, 0, 0, 1, 2])
    elif n > 1 and t.chance(0.3):
        add(t, smalltalk.smalltalk_hello(t))
    for _ in range((8 if t.tone == "oneword" else 3) * n):
        if len(t.turns) >= n or size(t) > limit:
            break
        add(t, next_turn(t))
    messages = [("system", t.system)] if t.system else []
    for turn in t.turns:
        messages += [("user", turn.said), ("assistant", turn.answer)]
    return messages if t.turns else dialogue(f"{seed} again", limit)


def prose(seed, paragraphs=4):
    t = Talk(random.Random(seed))
    return "\n\n".join(stories.prose(t) for _ in range(t.rng.randrange(1, paragraphs + 1)))
