"""Remembering: what the user told about themselves, lists, corrections, the last question; follow-ups."""
from . import coin
from . import world as W
from .lang import Turn, an, cap, join, words
from .things import JOBS

# fact: how it is told (with $v), how the model answers, how it is asked later, how it is recalled, and where the values come from
KIN = ["brother", "sister", "mother", "father", "best friend", "dog", "cat", "son", "daughter", "teacher", "horse", "neighbour"]
PETS = ["Rex", "Bella", "Max", "Luna", "Milo", "Coco", "Rocky", "Daisy", "Oscar", "Molly", "Charlie", "Lucy", "Buddy", "Tiger", "Minka", "Felix", "Snowy", "Socks", "Bruno", "Fluffy"]
FOODLIST = ["pizza", "pasta", "soup", "ice cream", "chocolate", "rice", "sushi", "cake", "pancakes", "cheese", "apples", "curry", "salad", "bread", "tacos", "noodles", "strawberries"]
HOBBIES = ["reading", "painting", "dancing", "swimming", "chess", "football", "cooking", "hiking", "singing", "gardening", "programming", "fishing", "photography", "tennis", "knitting", "drawing", "running"]
CITIES = [c["capital"] for c in W.COUNTRIES] + ["New York", "Hamburg", "Munich", "Milan", "Barcelona", "Lyon", "Boston", "Chicago", "Sydney", "Mumbai", "Osaka", "Porto", "Krakow", "Leeds", "Toronto", "Geneva", "Zurich", "Seattle"]
FACTS = {
    "name": ("{My name is $v|I am $v|I'm $v|Call me $v|You can call me $v|Hi, I'm $v|Hello, my name is $v|The name is $v|Hi, my name is $v}{.|.|!}", "{Nice to meet you, $v!|Hello $v, nice to meet you!|Hi $v! How can I help you?|It is a pleasure, $v.|Nice to meet you, $v. What would you like to talk about?}",
             "{What is my name|What's my name|Do you know my name|Do you remember my name|Who am I|How am I called|What was my name|Can you tell me my name|Say my name}?", "{Your name is $v.|You are $v.|You told me that your name is $v.|$v.}"),
    "age": ("{I am $v years old|I'm $v years old|I am $v|My age is $v|I turned $v}{.|}", "{$v is a good age.|Good to know: you are $v.|Thank you for telling me. You are $v years old.|$v years old, I see.}",
            "{How old am I|What is my age|Do you know how old I am|Do you remember my age|What's my age}?", "{You are $v years old.|You told me that you are $v.|$v.}"),
    "city": ("{I live in $v|I am from $v|I'm from $v|I come from $v|My home is $v|My city is $v}{.|}", "{$v, how nice! Do you like it there?|I see, you live in $v.|Nice! How is life in $v?|$v must be interesting.}",
             "{Where do I live|Where am I from|Do you know where I live|Which city am I from|Where do I come from}?", "{You live in $v.|You told me that you are from $v.|In $v.}"),
    "colour": ("{My favourite colour is $v|My favorite color is $v|I like the colour $v best|I love $v, it is my favourite colour|The colour I like best is $v}{.|}", "{$V is a beautiful colour.|I see, your favourite colour is $v.|$V is nice!|Good choice, $v it is.}",
               "{What is my favourite colour|What's my favorite color|Which colour do I like best|Do you remember my favourite colour|What colour do I like}?", "{Your favourite colour is $v.|You like $v best.|$V.}"),
    "food": ("{My favourite food is $v|My favorite food is $v|I love $v|I love to eat $v|I like $v best of all foods}{.|}", "{$V, that sounds tasty!|I see, you like $v.|Many people like $v.|Good taste! $V is a fine choice.}",
             "{What is my favourite food|What's my favorite food|What do I love to eat|Do you remember my favourite food|What food do I like}?", "{Your favourite food is $v.|You love $v.|$V.}"),
    "animal": ("{My favourite animal is the $v|My favorite animal is the $v|I like the $v best of all animals|The animal I like best is the $v}{.|}", "{The $v is a wonderful animal.|I see, you like the $v.|A good choice! I like the $v too.}",
               "{What is my favourite animal|What's my favorite animal|Which animal do I like best|Do you remember my favourite animal}?", "{Your favourite animal is the $v.|You like the $v best.|The $v.}"),
    "hobby": ("{My hobby is $v|I like $v|I enjoy $v|In my free time I like $v|My favourite hobby is $v}{.|}", "{$V sounds like fun.|How nice! How often do you do that?|$V is a good hobby.|I see, you enjoy $v.}",
              "{What is my hobby|What do I like to do|What's my hobby|What do I enjoy|Do you remember my hobby}?", "{Your hobby is $v.|You enjoy $v.|You told me that you like $v.}"),
    "job": ("{I work as $a|My job is $v|I am $a by profession|By profession I am $a}{.|}", "{That is an important job.|How interesting, you are $a.|$A, how nice! Do you like your work?}",
            "{What is my job|What do I do for a living|What's my job|What do I work as|Do you remember my job}?", "{You are $a.|You work as $a.|You told me that you are $a.}"),
    "number": ("{My lucky number is $v|My favourite number is $v|Remember the number $v|Please remember the number $v|Keep the number $v in mind|The secret number is $v}{.|}", "{I will remember $v.|All right, $v.|Okay, the number is $v.|Good, I keep $v in mind.}",
               "{What was the number|What is my number|Which number did I tell you|Do you remember the number|What is my lucky number|What number did I say}?", "{The number is $v.|It was $v.|You said $v.|$v.}"),
    "word": ("{Remember the word $v|Please remember the word $v|The secret word is $v|Keep the word $v in mind|The password is $v|My code word is $v}{.|}", "{I will remember $v.|All right, the word is $v.|Okay: $v.|Good, I keep it in mind: $v.}",
             "{What was the word|What is the secret word|Which word did I tell you|Do you remember the word|What word should you remember|What is the password}?", "{The word is $v.|It was $v.|You said $v.|$v.}"),
    "month": ("{My birthday is in $v|I was born in $v|I have my birthday in $v}{.|}", "{$v is a good month for a birthday.|I see, in $v.|Then you celebrate in $v. How nice!}",
              "{When is my birthday|In which month is my birthday|When was I born|What month is my birthday in}?", "{Your birthday is in $v.|In $v.|You told me that it is in $v.}"),
}
WORDS = [w for w in "apple river candle sunrise turtle pepper mountain silver orange window garden tiger pencil banana rocket forest violin winter purple castle lemon cloud bridge dragon marble island lantern feather mirror button".split()]
UNKNOWN = "{You have not told me yet.|I don't know, you have not told me.|You did not tell me that yet.|I don't know that yet. Please tell me.}"


def value(t, fact):
    if fact == "name":
        return t.pick(W.NAMES) if t.chance(0.5) else coin.name(t, W.NAMES)
    if t.chance(0.3) and fact in ("city", "food", "animal", "hobby", "colour", "word"):
        if fact == "city":
            return coin.name(t, CITIES)
        return coin.word(t) if t.chance(0.5) else t.pick(coin.PLAIN)
    return {"age": lambda: str(t.rng.randrange(6, 95)), "city": lambda: t.pick(CITIES), "colour": lambda: t.pick(W.COLOURS), "food": lambda: t.pick(FOODLIST), "animal": lambda: t.pick(W.ANIMALS)["name"], "hobby": lambda: t.pick(HOBBIES),
            "job": lambda: t.pick(JOBS)["name"], "number": lambda: str(t.rng.randrange(1, 1000)), "word": lambda: t.pick(WORDS), "month": lambda: t.pick(W.MONTHS)}[fact]()


def slots(v, fact):
    return dict(v=v, V=cap(v), a=an(v) if fact == "job" else v, A=cap(an(v)) if fact == "job" else v)


def tell(t):
    if t.chance(0.22):
        who = t.pick(KIN)
        v = coin.name(t, W.NAMES) if t.chance(0.5) else t.pick(PETS) if who in ("dog", "cat", "horse") else t.pick(W.MEN if who in ("brother", "father", "son") else W.WOMEN if who in ("sister", "mother", "daughter") else W.NAMES)
        t.facts["kin " + who] = v
        return Turn(t.say("{My $w is called $v|The name of my $w is $v|My $w's name is $v|I have a $w named $v|I have a $w called $v}{.|}" if who not in ("mother", "father", "best friend", "teacher") else "{My $w is called $v|The name of my $w is $v|My $w's name is $v}{.|}", w=who, v=v),
                    t.say("{$v is a nice name.|$v, what a nice name for a $w!|I see, your $w is called $v.|Nice! How is $v?}" if who in ("dog", "cat", "horse") else "{$v is a nice name.|I see, your $w is called $v.|Say hello to $v from me.}", w=who, v=v), keep=(v, who))
    fresh = [f for f in FACTS if f not in t.facts]
    known = [f for f in FACTS if f in t.facts]
    fact = t.pick(known) if known and t.chance(0.15) else "name" if "name" not in t.facts and t.chance(0.4) else t.pick(fresh or list(FACTS))
    v = value(t, fact)
    if fact in t.facts:  # a change of mind
        old, t.facts[fact] = t.facts[fact], v
        if old == v:
            return None
        lead = {"name": "My name is", "age": "I am", "city": "I live in", "colour": "My favourite colour is", "food": "My favourite food is", "animal": "My favourite animal is the", "hobby": "My hobby is", "job": "My job is", "number": "The number is", "word": "The word is", "month": "My birthday is in"}[fact]
        tail = " years old" if fact == "age" else ""
        return Turn(t.say("{No, that is wrong. $l $v$e.|Sorry, I was wrong. $l $v$e.|Actually, $m $v$e.|Wait, $m $v$e, not $o.|No, $m $v$e.|No no, $m $v$e.|I meant $v, not $o.|Sorry, I meant $v.|Not $o, but $v.|$l not $o, $m $v$e.|I changed my mind: $m $v$e.|Oh, $m $v$e now.|It is not $o. $l $v$e.}", l=lead, m=lead if lead.startswith("I") else lead[0].lower() + lead[1:], v=v, e=tail, o=old), t.say("{All right, $v, not $o.|Thank you, I will remember: $v.|I see, it is $v. Sorry!|Okay, $v it is.}", v=v, o=old), keep=(v, old))
    t.facts[fact] = v
    said, reply = FACTS[fact][:2]
    a = slots(v, fact)
    user = t.say(said, **a)
    if fact == "name" and t.chance(0.25) and "age" not in t.facts:
        age = value(t, "age")
        t.facts["age"] = age
        user = t.say("{My name is $v and I am $g years old.|I am $v, $g years old.|Hi, I'm $v and I'm $g.}", v=v, g=age)
        return Turn(user, t.say("{Nice to meet you, $v! $g is a good age.|Hello $v! So you are $g years old.|Hi $v, nice to meet you!}", v=v, g=age), keep=(v,))
    if fact == "name" and t.chance(0.2) and "city" not in t.facts:
        city = value(t, "city")
        t.facts["city"] = city
        return Turn(t.say("{My name is $v and I live in $g.|I am $v from $g.|Hello, I am $v and I come from $g.}", v=v, g=city), t.say("{Nice to meet you, $v! How is $g?|Hello $v from $g!|Hi $v! $g must be nice.}", v=v, g=city), keep=(v, city))
    if fact == "name" and t.chance(0.15):
        user += t.say(" {What is your name|And who are you|Who are you|What's yours}?")
        return Turn(user, t.say("{I am $b, nice to meet you, $v!|Nice to meet you, $v! I am $b.|Hello $v, my name is $b.}", v=v, b=t.bot or "Bit"), keep=(v,))
    return Turn(user, t.say(reply, **a), keep=(v,))


def recall(t):
    known = list(t.facts)
    if known and t.chance(0.8):
        fact = t.pick(known)
        v = t.facts[fact]
        if fact.startswith("kin "):
            w = fact[4:]
            if " and " in v:
                return Turn(t.say("{What are the names of my $w|What are my $w called|Who are my $w|Do you remember the names of my $w}?", w=w), t.say("{Your $w are called $v.|They are called $v.|$v.}", w=w, v=v), keep=(w,))
            return Turn(t.say("{What is the name of my $w|What's my $w's name|What is my $w called|How is my $w called|Do you remember the name of my $w}?", w=w), t.say("{Your $w is called $v.|The name of your $w is $v.|$v.}", w=w, v=v), keep=(w,), short=v)
        return Turn(t.say(FACTS[fact][2]), t.say(FACTS[fact][3], **slots(v, fact)), short=cap(v))
    if known and len(known) > 1 and t.chance(0.5):
        parts = {"name": "your name is $v", "age": "you are $v years old", "city": "you live in $v", "colour": "your favourite colour is $v", "food": "you like $v", "animal": "your favourite animal is the $v", "hobby": "you enjoy $v", "job": "you work as $a", "number": "your number is $v", "word": "the word is $v", "month": "your birthday is in $v"}
        bits = [parts[f].replace("$v", t.facts[f]).replace("$a", an(t.facts[f])) if f in parts else f"your {f[4:]} {'are' if ' and ' in t.facts[f] else 'is'} called {t.facts[f]}" for f in known]
        return Turn(t.say("{What do you know about me|What did I tell you about me|Tell me what you know about me|What do you remember about me}?"), t.say("{I know that $b.|You told me that $b.}", b=join(bits)))
    fact = t.pick([f for f in FACTS if f not in t.facts and f not in ("number", "word")] or ["age"])
    if fact in t.facts:
        return None
    if t.chance(0.2):
        w = t.pick(KIN)
        return None if "kin " + w in t.facts else Turn(t.say("{What is the name of my $w|What is my $w called}?", w=w), t.say(UNKNOWN), keep=(w,))
    return Turn(t.say(FACTS[fact][2]), t.say(UNKNOWN))


def last_said(t):
    if not t.turns:
        return None
    first, last = t.turns[0], t.turns[-1]
    k = t.rng.randrange(5)
    if max(len(first.said), len(last.said), len(last.answer)) > 120:
        return None
    if k <= 1:
        return Turn(t.say("{What did I just ask|What did I just say|What was my last question|What was my last message|Repeat my question}?"), t.say("{You said: \"$q\"|Your last message was: \"$q\"|\"$q\"}", q=last.said))
    if k == 2:
        return Turn(t.say("{What did you just say|Repeat that|Say that again|Can you repeat that|Again please|What did you say}?"), last.answer)
    if k == 3:
        return Turn(t.say("{What was my first question|What did I say first|What was the first thing I said|How did this conversation begin}?"), t.say("{You said: \"$q\"|The first thing you said was: \"$q\"}", q=first.said))
    return Turn(t.say("{How many questions did I ask|How many messages did I send}?"), t.say("{You have sent $n before this one.|Before this one, $n.}", n="one message" if len(t.turns) == 1 else words(len(t.turns)) + " messages"))


MORE = "onions carrots potatoes pepper oil vinegar jam nuts grapes lemons oranges fish chicken yogurt juice water chocolate cookies batteries nails glue string stamps matches tape socks gloves a_hat a_broom a_lamp paint".split()
ITEMS = "milk bread eggs butter apples cheese rice tea coffee sugar salt tomatoes onions soap candles paper pens bananas flour honey".split()


def shopping(t):
    """A list that grows and is asked for."""
    have = t.lists
    if not have or t.chance(0.3):
        new = t.rng.sample([i for i in ITEMS + [m.replace("_", " ") for m in MORE] if i not in have], t.pick([1, 1, 1, 2]) if have else t.pick([2, 3, 3, 4, 5]))
        if t.chance(0.15):
            new[0] = coin.word(t)
        fresh = not have
        have += new
        return Turn(t.say("{My shopping list is $l.|I need to buy $l.|Please remember my list: $l.|I have to buy $l.|I must buy $l.|I want to buy $l.|My list: $l.|Make a shopping list with $l.|Write down: $l.|I need $l from the shop.|Don't let me forget $l.}" if fresh else "{Add $l to the list.|I also need $l.|And $l too.|Put $l on my list.|Add $l.|And $l.|Also $l.|$l too.|Write $l on the list.|I forgot $l.}", l=join(new)), t.say("{All right, your list is $l.|I will remember: $l.|Okay. Your list: $l.}", l=join(have)), keep=new)
    if len(have) > 2 and t.chance(0.3):
        gone = t.pick(have)
        have.remove(gone)
        return Turn(t.say("{Remove $g from the list.|I already have $g.|Take $g off the list.|I don't need $g.}", g=gone), t.say("{All right, your list is $l.|Okay. Your list: $l.}", l=join(have)), keep=(gone,))
    if t.chance(0.25):
        return Turn(t.say("{How many things are on my list|How long is my list|How many things do I need}?"), t.say("{There are $n: $l.|$N: $l.}", n=words(len(have)), N=cap(words(len(have))), l=join(have)) if len(have) > 1 else f"One: {have[0]}.")
    return Turn(t.say("{What is on my list|What do I need to buy|What was my list|Tell me my shopping list|What is on my shopping list|What do I have to buy|What must I buy|What did I want to buy|Show me the list|Read me my list|What do I need|Repeat my list|So what should I get}?"), t.say("{Your list is $l.|On your list: $l.|You need $l.}", l=join(have)))


def follow(t):
    """Another one, why, in one word, and of X: each only where the last turn gives it a meaning."""
    last, options = t.last, []
    if not last:
        return None
    if last.again:
        options += ["again"] * 3
    if last.short:
        options += ["short"]
    if last.why:
        options += ["why"] * 2
    if last.more:
        options += ["more"] * 4
    if last.extra:
        options += ["extra"] * 3
    if last.topic and last.topic[0] in ("country", "animal", "number"):
        options += ["topic"] * 4
    if last.topic and last.topic[0] == "story":
        options += ["story"] * 4
    if not options:
        return None
    kind = t.pick(options)
    if kind == "again":
        turn = last.again(t)
        if turn is None:
            return None
        if not turn.user:
            turn.user = t.say("{Another one|Another|One more|Another one please|Give me another one|Again|Tell me another one|One more please|Next|And another|Do you {have|know} another{ one|}|Something else|Another, please|More|Can I have another|Let me hear another one|A different one, please|And one more}{.|!|?|}")
        return turn
    if kind == "short":
        return Turn(t.say("{In one word|Shorter please|In one word please|Just the answer|Short answer please|Can you say that in one word|Only the answer|Just one word|Say it in one word|Make it short|Briefly|The short answer, please|One word only}{.|}"), last.short.rstrip(".") + ".", short=last.short, again=last.again, why=last.why)
    if kind == "why":
        return Turn(t.say("{Why|How do you know|Why is that|Why so|How did you get that|Explain|And why|Can you explain that|How come|And why is it so|What is the reason}?"), last.why)
    if kind == "more":
        ask, pairs, reply = last.more
        x, y = t.pick(pairs)
        if t.chance(0.3):
            ask = "{I meant $x.|No, I mean $x.|Not that, I meant $x.|Oops, I meant $x.|I meant to say $x.|No, I asked for $x.|Wait, I meant $x.|No, $x.|Not that one, $x please.|I mistyped. I meant $x.}"
        many = x[-1] == "s" and not x.startswith(("a ", "an ")) and x != "glass"
        return Turn(t.say(ask, x=x), t.say(reply, x=x, y=y, X=cap(x), Y=cap(y), m=y, M=cap(y), b="are" if many else "is"), keep=(x,), short=cap(y), more=last.more)
    if kind == "extra":
        ask, reply = t.pick(last.extra)
        return Turn(t.say(ask), reply)
    if kind == "topic":
        from .facts import about_it
        return about_it(t)
    from .stories import story_follow
    return story_follow(t)
