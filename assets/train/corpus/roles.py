"""System prompts: a name, a part to play, facts about oneself and the user, a register or a tone."""
import re

from . import coin
from . import world as W
from .lang import Turn, an, cap
from .remember import DISHES, HOBBY, number

TITLES = ["Captain", "Professor", "Doctor", "Madame", "Mister", "Miss", "Uncle", "Aunt", "King", "Queen", "Princess", "Sir", "Lady", "Granny", "Old", "Little", "Brother", "Chef", "Inspector", "Major"]
PLACES = """in a tree|in a lighthouse|on a farm|in a small boat|in a castle|in a library|on the moon|in a cave|under the sea|in a big city|in a train|on an island|in the forest|in a teapot|by the river|in an old mill|in a tower|in a garden|on a mountain|in a museum|in a hotel|in a bakery|in a spaceship|
in a windmill|behind the stars|in a village|in a hospital|in a shoe shop|at the North Pole|in a cupboard|in a clock|on a cloud|in a circus|at the harbour|in Paris|in London|in Tokyo|in Rome|in Cairo|in Vienna""".replace("\n", "").split("|")
DOES = """sells flowers|bakes bread|repairs clocks|tells stories|sails the sea|paints houses|plays the piano|loves tea|collects stamps|teaches children|guards a castle|grows roses|drives a train|catches fish|writes poems|hunts ghosts|builds boats|sings songs|keeps bees|cooks soup|loves short answers|likes riddles|knows the stars|
sweeps the street|digs for gold|makes hats|rides a dragon|feeds the ducks|knits scarves|studies the moon|sells ice cream|mends shoes|looks for treasure|takes care of horses|works in a zoo|helps in a school|draws maps""".replace("\n", "").split("|")
WHAT = """robot|sailor|wizard|pirate|cat|dog|dragon|teacher|gardener|knight|witch|ghost|librarian|detective|baker|owl|fox|bear|mouse|penguin|giant|fairy|elf|cook|farmer|king|queen|poet|singer|doctor|pilot|astronaut|explorer|shopkeeper|clockmaker|painter|butler|parrot|tree|snowman|assistant|guide|helper|storyteller|
fisherman|captain|grandmother|grandfather|clown|magician|postman|hedgehog|turtle|spider|lion|waiter|tailor|inventor|professor""".replace("\n", "").split("|")
ADJ = ["old", "young", "friendly", "small", "helpful", "kind", "clever", "shy", "proud", "funny", "wise", "brave", "tiny", "busy", "gentle", "cheerful"]


def named(t):
    r = t.rng.random()
    n = t.pick(W.NAMES) if r < 0.3 else coin.name(t, W.NAMES)
    return f"{t.pick(TITLES)} {n}" if t.chance(0.2) else f"{n} {coin.name(t, W.NAMES)}" if t.chance(0.06) else n


def cast(t):
    """Sets t.system, and t.me: what the model now is; t.told_user: what it knows of the user."""
    me = dict(name=named(t)) if t.chance(0.88) else {}
    parts = []
    kind = an((t.pick(ADJ) + " " if t.chance(0.4) else "") + t.pick(WHAT)) if t.chance(0.45) else None
    if me and kind:
        me["what"] = kind
        parts.append(t.say("{You are $n, $k.|You are $k named $n.|You are $k called $n.|Your name is $n and you are $k.|You're $k by the name of $n.|You are $k. Your name is $n.|You are $k and your name is $n.|You play $k called $n.|Act as $n, $k.|Pretend to be $k named $n.|$n is your name. You are $k.|You are $k, and people call you $n.|Be $n, $k.}", n=me["name"], k=kind))
    elif me:
        parts.append(t.say("{You are $n.|Your name is $n.|You are called $n.|You're called $n.|You're $n.|Call yourself $n.|People call you $n.|They call you $n.|Everybody calls you $n.|You go by the name {of |}$n.|From now on you are {called |}$n.|From now on your name is $n.|Your new name is $n.|You have the name $n.|The user calls you $n.|Act as $n.|You play $n.|Pretend that your name is $n.|Use the name $n.|Introduce yourself as $n.|Your name is $n, not Bit.|My name for you is $n.}", n=me["name"]))
    elif kind:
        me["what"] = kind
        parts.append(t.say("{You are $k.|Act as $k.|Pretend to be $k.|You play $k.|Be $k.|Play the role of $k.}", k=kind))
    if me and t.chance(0.3):
        me["does"] = t.pick(DOES)
        if parts and parts[-1].endswith(me.get("name", "?") + ".") and t.chance(0.5):
            parts[-1] = parts[-1][:-1] + t.pick([", who ", " who "]) + me["does"] + "."
        else:
            parts.append("You " + second(me["does"]) + ".")
    if me and t.chance(0.3):
        me["home"] = t.pick(PLACES) if t.chance(0.8) else "in " + coin.name(t, W.NAMES)
        parts.append(t.say("{You live $p.|Your home is $p.|You live $p and like it there.}", p=me["home"]))
    if me and t.chance(0.12):
        me["age"] = number(t, 3, 200) if t.chance(0.5) else str(t.rng.randrange(3, 500))
        parts.append(f"You are {me['age']} years old.")
    if me and t.chance(0.12):
        me["likes"] = t.pick(DISHES + HOBBY)
        parts.append(t.say("{You {like|love} $l.|You are fond of $l.}", l=me["likes"]))
    if not me or t.chance(0.2):
        u = named(t)
        t.user_name = u
        t.facts["name"] = u
        parts.append(t.say("{The user is called $u.|The user's name is $u.|The name of the user is $u.|You are talking to $u.|The user is $u.|You speak with $u.|Your user is called $u.|The person you talk to is $u.|Call the user $u.}", u=u))
    if me and len(parts) == 2 and t.chance(0.25):
        a, b = parts
        if b.startswith("You ") and not a.startswith("$"):
            parts = [a[:-1] + " and you " + b[4:]]
    if len(parts) > 1 and t.chance(0.15):
        parts = parts[::-1]
    if t.chance(0.15):
        parts.append(t.say("{Be friendly.|Be kind.|You are helpful.|You are friendly.|Answer the user's questions.|Help the user.|Be honest.|You like to help.}"))
    t.me = me
    t.bot = me.get("name")
    return parts


def second(does):
    """sells flowers -> sell flowers"""
    v, _, rest = does.partition(" ")
    v = {"teaches": "teach", "catches": "catch", "flies": "fly", "studies": "study", "does": "do", "makes": "make"}.get(v, v[:-1])
    return f"{v} {rest}"


def about_me(t):
    """Questions to one who plays a part."""
    me, n = t.me, t.me.get("name")
    asks = []
    if n:
        asks += ["name"] * 4 + ["who"] * 3 + ["isbit", "is"]
    elif "what" in me:
        asks += ["who2"] * 3
    for k in ("does", "home", "age", "likes", "what"):
        if k in me:
            asks += [k] * 3
    if t.user_name:
        asks += ["user"] * 5
    if not asks:
        return None
    k = t.pick(asks)
    hello = t.pick(["", "", "", "Hello! ", "Hi! ", "Hello, ", "Good day! ", "Hey, ", "Good morning. ", "Please, "])
    low = lambda s: s[0].lower() + s[1:] if hello.endswith(", ") else s
    rest = (f", {me['what']}" if "what" in me and t.chance(0.6) else "") + (f". I {second(me['does'])}" if "does" in me and t.chance(0.5) else "") + (f". I live {me['home']}" if "home" in me and t.chance(0.4) else "")
    if k == "name":
        return Turn(hello + low(t.say("{What is your name?|What's your name?|What are you called?|How are you called?|What {can|shall|should|may} I call you?|Tell me your name.|Please tell me your name.|May I ask your name?|Do you have a name?|Your name?|And what is your name?|What was your name{ again|}?|Say your name.|What do people call you?|By what name do you go?|Which name do you have?|Could you tell me your name?}")), t.say("{My name is $n.|I am $n.|I am called $n.|You can call me $n.|$n.|People call me $n.|My name is $n.}", n=n), short=n)
    if k == "who":
        return Turn(hello + low(t.say("{Who are you?|Who am I {talking|speaking} {to|with}?|Tell me about yourself.|Introduce yourself.|Please introduce yourself.|Who is this?|Who is there?|Who is it I am talking to?|What kind of {person|creature} are you?|And who are you?|Can you introduce yourself?|With whom do I have the pleasure?|Who do I have in front of me?}")), t.say("{I am $n$r.|My name is $n$r.|You are talking to $n$r.|Hello! I am $n$r.}", n=n, r=rest), short=n)
    if k == "isbit":
        return Turn(hello + low(t.say("{Are you Bit?|Is your name Bit?|Aren't you Bit?|You are Bit, aren't you?|Are you Bit or {someone|somebody} else?|Are you called Bit?|Bit, is that you?}")), t.say("{No, I am $n.|No, my name is $n.|I am $n.|No, you are talking to $n.}", n=n), short="No")
    if k == "is":
        return Turn(hello + low(t.say("{Are you $n?|Is your name $n?|You are $n, right?|Are you really $n?|Do I speak with $n?}", n=n)), t.say("{Yes, I am $n.|Yes, my name is $n.|Yes, that is me: $n.}", n=n), short="Yes", keep=(n,))
    if k == "who2":
        return Turn(hello + low(t.say("{Who are you?|What are you?|Who am I talking to?|Introduce yourself.|Tell me about yourself.}")), t.say("{I am $w.|I am $w$r.|You are talking to $w.}", w=me["what"], r=(f". I {second(me['does'])}" if "does" in me else "")))
    if k == "what":
        return Turn(hello + low(t.say("{What are you?|What kind of {being|creature} are you?|Are you a human or what?|What sort of {creature|person} are you?}")), t.say("{I am $w.|$W.|I am $w{, of course|, as you know|}.}", w=me["what"], W=cap(me["what"])))
    if k == "does":
        d = second(me["does"])
        return Turn(hello + low(t.say("{What do you do?|What do you do all day?|What is your {job|work}?|What do you do for a living?|How do you spend your days?|What do you like to do?|What is it that you do?}")), t.say("{I $d.|I $d all day.|I $d, as everybody knows.}", d=d))
    if k == "home":
        return Turn(hello + low(t.say("{Where do you live?|Where is your home?|Where are you?|Where do I find you?|In what place do you live?|Where are you at home?|What is your home?|Where do you come from?}")), t.say("{I live $p.|My home is $p.|$P.}", p=me["home"], P=cap(me["home"])))
    if k == "age":
        return Turn(hello + low(t.say("{How old are you?|What is your age?|Tell me your age.|How many years old are you?}")), t.say("{I am $a years old.|$A.|I am $a.}", a=me["age"], A=cap(me["age"])))
    if k == "likes":
        return Turn(hello + low(t.say("{What do you like?|What do you love?|What are you fond of?|Is there something you like?|What do you like best?}")), t.say("{I like $l.|$L.|I love $l.}", l=me["likes"], L=cap(me["likes"])))
    return Turn(hello + low(t.say("{What is my name?|What's my name?|Who am I?|Do you know my name?|Do you know who I am?|Who is talking to you?|Tell me my name.|Do you know what I am called?|Can you say my name?|Guess my name.}")), t.say("{You are $u.|Your name is $u.|$u.|Yes, you are $u.|You are called $u.}", u=t.user_name), short=t.user_name)


TONE = {
    "pirate": ("{You are a pirate|Talk like a pirate|Speak like a pirate|You speak like a pirate|You {always |}talk like a pirate|Answer like a pirate|Answer as a pirate would|Use pirate language|You are an old pirate|Reply in the voice of a pirate|Pretend to be a pirate}.", ["Arr! {}", "Ahoy! {}", "{} Arr!", "Aye, matey! {}", "Arr, matey! {}", "Yo ho ho! {}", "{} Aye!", "Ahoy, matey! {}"]),
    "polite": ("{You are very polite|Be very polite|Always be polite and formal|Answer formally|Use formal language|Be polite and formal|Speak politely|Be extremely polite|Answer in a formal tone|Be a polite butler|Use very polite words|Your tone is formal|Speak like a butler}.", ["Certainly. {}", "With pleasure. {}", "{} I hope this helps.", "Of course. {}", "Certainly, dear user. {}", "Very well. {}", "It is a pleasure. {}", "{} I am at your service."]),
    "cheerful": ("{You are very cheerful|Be cheerful|Always be happy and cheerful|You are a cheerful assistant|Be happy|Be very happy in all your answers|You are full of joy|Be merry|Sound excited|Be enthusiastic|You are always in a good mood|Answer with joy}.", ["Yay! {}", "Oh, great! {}", "{} How wonderful!", "Hooray! {}", "Wonderful! {}", "{} What a lovely day!", "Oh joy! {}", "{} Isn't that great!"]),
    "grumpy": ("{You are grumpy|Be grumpy|You are in a bad mood|You are a grumpy old man|Be grumpy and annoyed|You are moody|You are always annoyed|Sound annoyed|You don't like to be asked|You hate questions|You are a grumpy assistant|Answer grumpily|You are easily annoyed by questions}.", ["Hmph. {}", "Ugh. {}", "Fine. {}", "{} Now leave me alone.", "Again a question... {}", "Grr. {}", "Bah! {}", "{} Was that all?", "If you must know... {}", "Hmph! {} There."]),
    "robot": ("{You talk like a robot|Speak like a robot|You are a robot|Answer like a robot|You are an old robot|Make robot sounds}.", ["Beep. {}", "{} Beep boop.", "Beep boop. {}"]),
    "wizard": ("{You are a wizard|Speak like a wizard|You are an old wizard|Talk like a wizard|Answer like a wizard}.", ["By my beard! {}", "Hm, the stars say: {}", "{} So speaks the wizard."]),
    "sleepy": ("{You are very tired|You are sleepy|Be sleepy|You have just got up and are tired|Sound sleepy}.", ["Yawn... {}", "{} Yawn...", "Mmh... {}", "{} Can I sleep now?"]),
    "shy": ("{You are very shy|Be shy|Sound shy|You are a shy little model}.", ["Um... {}", "Oh, um, {}", "{} I hope that is all right.", "Erm... {}"]),
    "cowboy": ("{You are a cowboy|Talk like a cowboy|Speak like a cowboy|Answer like a cowboy}.", ["Howdy! {}", "Howdy, partner! {}", "{} Yeehaw!", "Well, partner, {}"]),
    "knight": ("{You are a knight|Speak like a knight|Talk like in old times|Use old-fashioned words|Speak in an old-fashioned way}.", ["Hear me! {}", "By my sword! {}", "{} So it is, my liege.", "Hark! {}"]),
    "child": ("{Talk to the user like to a {small |}child|Explain everything as to a {small |}child|The user is a small child. Speak simply|Use simple words|Speak simply, the user is five|Speak in simple words for a child|Use easy words for little children}.", ["{}", "Look: {}", "{} Isn't that nice?", "It is easy: {}", "Listen: {}"]),
    "short": ("{You answer|Answer|Always answer|Reply} {in one short sentence|briefly|very briefly|as shortly as you can|with few words|in short sentences}.|{Keep {your |all |}answers short|Be brief|Be short|Short answers only|Only short answers, please|Give short answers|You don't talk much|You are a person of few words|Say as little as possible}.", None),
    "oneword": ("{Answer|Reply|Respond|Always answer|You answer|Answer only} {in one word|with one word|with a single word|with one word only|in a single word}.|{One word answers only|One-word answers, please|Use only one word{ in your answers| for each answer|}|Your answers {are|have} one word{ only|}|Say only one word|You may use only one word|Never use more than one word|Only single words, please}.", None),
    "upper": ("{Answer in capital letters|Write in capital letters|Always write in upper case|Use capital letters only|Write all answers in capital letters|Capital letters only, please|All your answers are in upper case|You shout everything in capital letters|USE CAPITAL LETTERS|Only use big letters|Write everything in big letters|Use upper case for everything|Everything you write is in capitals}.", None),
    "lower": ("{Write in lower case|Always write in small letters|Answer in lower case|Use small letters only|Never use capital letters|No capital letters, please|use only lower case|Write everything in small letters|All your answers are in small letters|Don't use capital letters|Everything you write is in lower case|Lower case only}.", None),
    "dear": ("{Call the user $d|Always call the user $d|Address the user as $d|Say $d to the user|Call me $d|Always address me as $d}.", ["{}, $d|", "Dear $d: {}"]),
    "end": ("{End {every|each} {answer|sentence|reply} with \"$e\"|Always end with \"$e\"|Say \"$e\" at the end of {every|each} answer|Finish {every|each} answer with \"$e\"}.", None),
    "begin": ("{Begin {every|each} {answer|reply} with \"$e\"|Always begin with \"$e\"|Start {every|each} answer with \"$e\"|The first word of {every|each} answer is \"$e\"}.", None),
    "rhyme": ("{You are a poet|You are a poet and love {rhymes|verses}|Answer like a poet|You speak like a poet|Be poetic}.", ["{} So sings the poet.", "Oh, hear my verse: {}", "{} As the poets say.", "O sweet question! {}"]),
}
WORDS = ["Meow", "Woof", "Amen", "over and out", "Hurray", "my friend", "Ha ha", "Okay", "So be it", "la la la", "Wow", "Moo", "that's it", "Peace", "Cheers", "Over", "thank you", "Bingo", "Oh", "you know"]
PLAIN = ["You are a helpful assistant.", "You are a friendly assistant.", "You are helpful, honest and short.", "You are a helpful AI assistant.", "Answer the user's questions.", "Be helpful.", "You are a chat assistant in a terminal.", "You are bitnet-chat's small model.", "Help the user.", "You are Bit, a small model.", "Be honest and say when you don't know something."]


def system(t):
    r = t.rng.random()
    t.user_name, t.me = None, {}
    if r < 0.15:
        t.system = t.pick(PLAIN)
        return
    parts = cast(t) if r < 0.62 else []
    if r >= 0.50:
        t.tone = t.pick(list(TONE) + ["oneword", "oneword", "lower", "upper", "grumpy", "pirate", "short", "polite", "cheerful"])
        if t.tone in ("robot", "wizard", "cowboy", "knight", "pirate", "rhyme", "child", "dear") and parts:
            if t.tone == "dear" and t.user_name or "what" in t.me:
                t.tone = "cheerful"
        t.dear = t.pick(["captain", "sir", "my friend", "boss", "dear", "chief", "madam", "master", "comrade"])
        t.end = t.pick(WORDS)
        said = t.say(t.pick(split(TONE[t.tone][0])), d=t.dear, e=t.end)
        parts.insert(t.rng.randrange(len(parts) + 1), said) if parts else parts.append(said)
    t.system = " ".join(parts)
    if t.chance(0.06):
        t.system = t.system.rstrip(".")


def split(text):
    """The alternatives outside of braces."""
    out, depth = [""], 0
    for c in text:
        depth += (c == "{") - (c == "}")
        if c == "|" and depth == 0:
            out.append("")
        else:
            out[-1] += c
    return out


def toned(t, turn):
    """The answer as the system prompt wants it; None where it cannot be had."""
    a = turn.answer
    if t.tone is None or t.tone not in TONE:
        return a
    if t.tone == "upper":
        return a.upper()
    if t.tone == "lower":
        return a.lower()
    if t.tone == "oneword":
        if turn.short and len(turn.short.split()) == 1:
            return turn.short.rstrip(".") + t.pick([".", ".", ""])
        return a if len(a.split()) == 1 else None
    if t.tone == "short":
        if turn.short:
            return turn.short.rstrip(".") + "."
        parts = re.split(r"(?<=[.!?]) ", a)
        return a if "\n" in a or len(parts) == 1 or len(a) < 60 else parts[0]
    if t.tone == "dear":
        if "\n" in a:
            return a
        r = t.rng.random()
        return f"{a} That is all, {t.dear}." if r < 0.2 else f"Yes, {t.dear}. {a}" if r < 0.4 else f"{cap(t.dear)}, {a[0].lower() + a[1:] if a.split(' ')[0] in ('The', 'It', 'You', 'They', 'There', 'A', 'An', 'That', 'My') else a}"
    if t.tone == "end":
        return f"{a} {cap(t.end)}{'.' if t.end[-1].isalpha() else ''}"
    if t.tone == "begin":
        return f"{cap(t.end)}{t.pick(['!', '.'])} {a}"
    if t.tone in ("cheerful", "pirate") and "sorry" in a:
        return a
    return t.pick(TONE[t.tone][1]).format(a)
