"""More definitions, lists, stories, poems, days and colours, asked for in many ways."""
from . import coin
from . import world as W
from .facts import LISTS
from .lang import Turn, an, cap, join, words
from .matter import rows
from .stories import HEROES, IN, NOUNS, Cast, place, poem, story
from .things import DEFINITIONS

L = lambda text: [x.strip() for x in text.replace("\n", " ").split("|")]
DEFS = rows("""an umbrella|a thing that keeps you dry in the rain
a mirror|a piece of glass in which you can see yourself
a ladder|two poles with steps between them, to climb up high
a dictionary|a book that explains the meaning of words
a calendar|a list of the days, weeks and months of a year
a wheel|a round thing that turns, so that a car or a cart can roll
an engine|a machine that makes a car or a ship move
a lighthouse|a tower with a bright light that shows ships the way
a candle|a stick of wax that burns and gives light
a key|a small piece of metal that opens a lock
a lamp|a thing that gives light
a kettle|a pot in which water is boiled, for example for tea
a spoon|a tool for eating soup
a pillow|a soft thing under your head in bed
a blanket|a warm cover for the bed
a tent|a house of cloth for sleeping outdoors
a pencil|a tool for writing and drawing
a letter box|a box into which letters are put
an envelope|a paper cover for a letter
a stamp|a small piece of paper that pays for a letter
a newspaper|printed paper with the news of the day
a radio|a machine that plays voices and music from far away
a television|a machine that shows pictures and plays sound from far away
a fridge|a cupboard that keeps food cold
an oven|a hot box in which food is baked
a ruler|a straight stick for measuring and drawing lines
scissors|a tool with two blades for cutting paper or cloth
a rope|a thick, strong string
a basket|a thing woven of twigs, for carrying
a bucket|an open pot with a handle, for water
a bell|a thing of metal that rings
a flag|a piece of cloth with the colours of a country
a crown|the golden ring on the head of a king or a queen
a castle|a large old house with thick walls, where kings or knights lived
a tower|a high and narrow building
a church|a building in which people pray
a theatre|a house where plays are shown on a stage
a cinema|a house where films are shown
a restaurant|a place where you can eat and pay for it
a bakery|a shop where bread is baked and sold
a pharmacy|a shop where medicine is sold
a station|the place where trains stop
an airport|the place where planes land and start
a harbour|a safe place for ships at the coast
a farm|a place where animals are kept and plants are grown
a zoo|a place where people can see many animals
a park|a green place in a town with trees and grass
a street|a way between houses for cars and people
a tunnel|a way under the ground or through a mountain
a stream|a very small river
a pond|a small piece of still water
a hill|a small mountain
a coast|the land beside the sea
a field|a piece of land where plants are grown
a meadow|a piece of land full of grass and flowers
a jungle|a thick, wet forest in a hot land
a glacier|a river of ice that moves slowly down a mountain
a wave|a moving hill of water on the sea
a shadow|the dark shape behind a thing that stands in the light
a flame|the bright, hot part of a fire
smoke|the grey cloud that rises from a fire
dust|very small dry bits of dirt
mud|wet earth
sand|very small grains of stone
a shell|the hard house of a snail or a mussel
a feather|one of the light things that cover a bird
a nest|the place where a bird lays its eggs
a hive|the house of the bees
a kennel|the house of a dog
a stable|the house of horses
a cage|a box with bars for an animal
an anchor|a heavy hook that holds a ship in its place
a sail|a large cloth that lets the wind move a boat
a boat|a small ship
a bus|a long car for many people
a tram|a train that runs in the streets of a town
a helicopter|an aircraft with a rotor that can stand still in the air
a rocket|a vehicle that flies into space
a satellite|a thing that flies around a planet
a comet|a ball of ice and dust with a bright tail in the sky
a neighbour|a person who lives next to you
a guest|a person who visits you
a stranger|a person you do not know
a thief|a person who steals
a hero|a brave person who helps others
a baby|a very young child
a twin|one of two children born together
a grandmother|the mother of your mother or father
an uncle|the brother of your mother or father
an aunt|the sister of your mother or father
a cousin|the child of your uncle or aunt
a wedding|the feast when two people marry
a present|a thing that you give to somebody
a party|a meeting of people who want to have fun
a picnic|a meal outdoors, on the grass
a secret|a thing that only few people may know
a promise|the word you give that you will do something
a lie|something that is said but not true
an idea|a new thought
a mistake|something that was done wrong
a riddle|a tricky question with a hidden answer
a plan|an idea of what you will do and how
a rule|a thing that one must or must not do
a law|a rule of a country that all must follow
peace|a time without war, when people live together quietly
war|a fight between countries
freedom|being able to do what you want
luck|good things that happen by chance
hope|the wish and the feeling that something good will come
fear|the feeling when there is danger
joy|the feeling when you are very happy
anger|the feeling when you are very cross
trust|the feeling that somebody will not lie to you or harm you
patience|being able to wait quietly
a hobby|something you like to do in your free time
a holiday|free days without work or school
homework|work for school that is done at home
a lesson|a time in which something is taught
a language|the words with which people of a country speak
an alphabet|all the letters of a language in their order
a map|a picture of the land seen from above
a globe|a ball that shows all the countries of the Earth
a minute|a time of sixty seconds
a century|a time of a hundred years
a decade|a time of ten years
midnight|twelve o'clock at night
noon|twelve o'clock in the middle of the day
dawn|the time when the sun rises
dusk|the time when it gets dark
breakfast|the first meal of the day
dinner|the main meal, often in the evening
dough|flour and water mixed, before it is baked
jam|a sweet food of fruit and sugar, to put on bread
soup|a hot meal that is eaten with a spoon
a salad|a cold meal of leaves and vegetables
flour|grain that was ground to powder
medicine|something that makes ill people well
a plaster|a strip that covers a small wound
a fever|a body that is too hot because of illness
a dentist|a person who takes care of teeth
an orphan|a child whose parents are dead
a vegetarian|a person who eats no meat
a desert island|an island where nobody lives""")
ADJS = rows("""thirsty|that somebody needs to drink
hungry|that somebody needs to eat
tired|that somebody needs to sleep
angry|feeling cross with somebody
lonely|sad because one is alone
brave|not afraid of danger
lazy|not wanting to work
honest|always telling the truth
polite|behaving in a nice way, saying please and thank you
rude|not polite
curious|wanting to know many things
clever|quick to understand
generous|glad to give to others
greedy|wanting more and more
jealous|cross because somebody else has something
proud|pleased with what one has done
shy|afraid to talk to people
patient|able to wait quietly
ancient|very old
huge|very big
tiny|very small
empty|with nothing inside
fragile|easy to break
dangerous|able to hurt somebody
noisy|making much noise
rare|found only seldom
famous|known by very many people
invisible|that cannot be seen
delicious|tasting very good
to whisper|to speak very quietly
to shout|to speak very loudly
to borrow|to take something and give it back later
to lend|to give something for a while
to hurry|to go or do something fast
to steal|to take what belongs to somebody else
to forgive|not to be angry any more
to repair|to make a broken thing work again
to invent|to make something that nobody made before
to hide|to put something where nobody finds it
to share|to give a part to others
to promise|to say that one will surely do something
to dream|to see pictures in one's sleep
to float|to stay on top of the water
to melt|to turn from solid into liquid, like ice in the sun""")
DEFS += [[d["name"], d["about"]] for d in DEFINITIONS]


def define(t):
    if t.chance(0.2):
        w, a = t.pick(ADJS)
        a = "needing to drink" if w == "thirsty" else a
        a = a.replace("that somebody needs", "needing").replace("that cannot be seen", "something that cannot be seen")
        b = w.removeprefix("to ")
        return Turn(cap(t.say("{What does {the word |}{\"$b\"|$b} mean?|What {is|does it mean to be|does one mean by} {\"$b\"|$b}?|What's the meaning of {the word |}{\"$b\"|$b}?|Explain {the word |}{\"$b\"|$b}.|Define {\"$b\"|$b}.|What do you call $b?|What does it mean when {somebody|something} is $b?|Tell me what {\"$b\"|$b} means.|If somebody is $b, what does that mean?}" if not w.startswith("to ") else "{What does {the word |}{\"$b\"|$b|\"$w\"|$w} mean?|What is it {$w|to $b}?|What's the meaning of {\"$b\"|$b}?|Explain the word {\"$b\"|$b}.|Define {\"$b\"|$b}.|What does it mean $w?|Tell me what {\"$b\"|$b} means.}", b=b, w=w).replace("to to", "to").replace("What do you call " + b, "What is " + b)),
                    t.say("{It means $a.|$B means $a.|\"$b\" means: $a.|$W means $a.}", a=a, b=b, B=cap(b), W=cap(w)), keep=(b,))
    n, a = t.pick(DEFS)
    bare = n.split(" ", 1)[1] if n.startswith(("a ", "an ", "the ")) else n
    be = "are" if bare == "scissors" else "is"
    k = t.rng.randrange(10)
    if k == 0 and len(a) > 20:
        return Turn(cap(t.say(t.pick(["{What do you call|What is the word for|Which word means|What do we call|What is the name for} $a?", "{I am thinking of|It is|Guess:} $a. What is it?"]), a=a)), t.say("{$N.|That is $n.|It is $n.}", N=cap(n), n=n), keep=(bare,), short=cap(n))
    if k == 1:
        return Turn(cap(t.say("{What do {people|we|you|I} {need|use|have} $n for?|What $b $n {good |used |}for?|Why do people need $n?|What do you do with $n?|What's the use of $n?}", n=n, b=be)) if bare in USEFUL else cap(t.say("{What $b $n?|What exactly $b $n?}", b=be, n=n)), t.say("{$N $b $a.|It is $a.}" if be == "is" else "{$N are $a.}", N=cap(n), b=be, a=a), keep=(bare,))
    return Turn(cap(t.say("{What $b $n?|What's $n?|What {exactly|really|actually} $b $n?|{Tell me|Explain|Say|Describe|Can you tell me|Could you tell me|Do you know|Can you explain|Could you explain|I want to know|I'd like to know|Please explain|I wonder} what $n {$b|means|is}.|{Define|Explain|Describe} {$n|the word $w|\"$w\"|$w}{|, please| to me| to a child| in simple words}.|What {is|does one mean by|do you mean by|do you understand by|is meant by} {$n|\"$w\"}?|What does {the word |}{\"$w\"|$w} mean?|What's the meaning of {the word |}{\"$w\"|$w}?|What do {people|we} mean by $n?|$N - what is that?|{What kind of thing|What sort of thing} $b $n?|How would you {explain|describe|define} $n?|Give me a definition of $n.|I don't know what $n $b.|My {child|son|daughter} asks what $n $b.|What {on earth|in the world} $b $n?}", n=n, N=cap(n), w=bare, b=be)).replace("What's scissors", "What are scissors"),
                t.say("{$N $b $a.|$N $b $a.|It is $a.|That is $a.|$N: $a.}" if be == "is" else "{$N are $a.|They are $a.}", N=cap(n), b=be, a=a), keep=(bare,), extra=[("{What is it used for|What is it for|What do you use it for|What do people use it for|What is it good for}?", f"It is {a}.")] if bare in USEFUL else ())


USEFUL = set("umbrella|mirror|ladder|dictionary|calendar|wheel|engine|lighthouse|candle|key|lamp|kettle|spoon|pillow|blanket|tent|pencil|envelope|stamp|newspaper|radio|television|fridge|oven|ruler|scissors|rope|basket|bucket|bell|anchor|sail|map|clock|compass|telescope|microscope|thermometer|hammer|camera|medicine|plaster".split("|"))
MORE_LISTS = {"continents": W.CONTINENTS, "oceans": W.OCEANS, "girls' names": W.WOMEN, "boys' names": W.MEN, "names for a girl": W.WOMEN, "names for a boy": W.MEN, "things in a kitchen": L("a pot|a pan|a knife|a spoon|a plate|a cup|an oven|a fridge|a table|a kettle"),
              "things in a bathroom": L("a towel|soap|a mirror|a toothbrush|a bath|a comb|a shower"), "things in a bedroom": L("a bed|a pillow|a blanket|a lamp|a cupboard|a curtain|an alarm clock"), "things in a garden": L("flowers|grass|trees|a bench|a spade|a pond|bees|a hedge"), "things in a school": L("books|a blackboard|chairs|tables|pupils|teachers|chalk|pencils"),
              "things in a bag": L("a book|keys|a phone|a pen|a bottle of water|an apple|a wallet"), "things in the sky": L("the sun|the moon|stars|clouds|birds|planes|a rainbow"), "things on a farm": L("cows|hens|a tractor|a barn|hay|pigs|a dog|fields"), "things for a trip": L("a toothbrush|clothes|a towel|money|a map|a book|shoes|a camera"), "things for a picnic": L("a blanket|bread|cheese|fruit|water|cups|cake"),
              "things that are red": L("a tomato|blood|a strawberry|a rose|a cherry|a fire engine"), "things that are green": L("grass|a leaf|a frog|a cucumber|a lime|spinach"), "things that are yellow": L("a banana|a lemon|the sun|butter|a chick|corn"), "things that are white": L("snow|milk|salt|a swan|paper|a cloud"), "things that are round": L("a ball|a wheel|a coin|an orange|the moon|a plate"), "things that are cold": L("ice|snow|winter|a fridge|ice cream"), "things that are hot": L("fire|the sun|tea|an oven|lava"), "things that fly": L("a bird|a plane|a bee|a kite|a rocket|a bat"), "things with wheels": L("a car|a bicycle|a bus|a train|a tram|a pram"),
              "sea animals": L("whale|shark|dolphin|octopus|crab|seal|salmon|turtle"), "animals that live in the sea": L("a whale|a shark|a dolphin|an octopus|a crab|a seal|a salmon"), "animals that live in the forest": L("a fox|a deer|a bear|a wolf|a squirrel|an owl|a hedgehog"), "animals that can fly": L("an owl|an eagle|a bee|a bat|a butterfly|a robin"), "animals with four legs": L("a dog|a cat|a horse|a cow|a fox|a lion|a mouse"), "African animals": L("lion|elephant|giraffe|zebra|hippo|rhino|cheetah"), "birds": LISTS["birds"],
              "foods": L("bread|cheese|soup|pasta|rice|salad|cake|eggs"), "breakfast foods": L("bread|jam|eggs|porridge|fruit|yoghurt"), "sweet things": L("honey|sugar|cake|chocolate|jam|ice cream"), "toys": L("a ball|a doll|a kite|a teddy bear|a toy train|blocks"), "games": L("chess|cards|hide and seek|tag|dominoes|marbles"), "subjects at school": L("mathematics|history|English|music|art|biology|sport"), "materials": L("wood|metal|glass|stone|paper|plastic|wool|cotton|leather"), "buildings": L("a house|a church|a school|a tower|a castle|a hospital"), "cities": L("London|Paris|Rome|Berlin|Madrid|Tokyo|Cairo|Oslo|Lima"), "European capitals": [c["capital"] for c in W.COUNTRIES if c["continent"] == "Europe"], "kinds of weather": L("rain|snow|sun|wind|fog|storm|hail"), "reasons to smile": L("a sunny day|a good friend|a funny joke|a cup of tea|a kind word"), "commands": L("/help|/new|/list|/open|/undo|/regen|/set|/show|/quit"), "keys": L("Enter|Esc|Tab|F1|PgUp|Ctrl-R|Ctrl-D"), "wishes": L("good health|true friends|peace|a long holiday|a warm home"), "parts of a tree": L("roots|a trunk|branches|leaves|bark"), "parts of a house": L("a roof|walls|doors|windows|a floor|a cellar"), "parts of a car": L("wheels|doors|an engine|seats|windows|lights"), "members of a family": L("mother|father|brother|sister|grandmother|grandfather|uncle|aunt"), "fairy tale figures": L("a witch|a king|a dragon|a princess|a giant|a wolf|a fairy")}
ALL_LISTS = {**{k: v for k, v in LISTS.items() if k not in ("even numbers", "odd numbers")}, **MORE_LISTS}
AMOUNT = ["2", "3", "3", "3", "4", "4", "5", "5", "6", "two", "three", "three", "four", "five", "six"]
N = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6}


def listing(t, what=None):
    what = what or t.pick(list(ALL_LISTS))
    items = ALL_LISTS[what]
    n_word = t.pick(AMOUNT)
    n = N.get(n_word) or int(n_word)
    if n > len(items):
        return None
    got = [items[i] for i in sorted(t.rng.sample(range(len(items)), n))] if what not in ("days", "months", "planets", "seasons") else items[:n]
    style = t.rng.randrange(5)
    text = [cap(join(got)) + ".", ", ".join([cap(got[0])] + got[1:]) + ".", "\n".join(f"{i + 1}. {cap(g)}" for i, g in enumerate(got)), f"Here are {words(n)}: {join(got)}.", cap(join(got)) + "."][style]
    w = what.replace("jobs", t.pick(["jobs", "professions"])).replace("colours", t.pick(["colours", "colours", "colors"]))
    adj = t.pick(["", "", "", "", "different ", "nice ", "other ", "examples of "])
    adj = "" if w[0].isupper() or " " in w and adj == "other " else adj
    ask = t.say("{{Name|List|Give me|Tell me|Write|Write down|Say|I need|I want|I want to hear|I would like|Show me|Find|Think of|Please name|Please list|Can you name|Could you list|Can you give me|Could you tell me|Do you know|Make a list of|Give me a list of|I'd like to have} $n $a$w{|, please| please}|$N $a$w{, please|}|{What|Which} are $n $a$w|{What|Which} $n $w {do you know|can you name}|{Any|Have you got|Do you have} $n $a$w{ for me|}|Let me hear $n $a$w}", n=n_word, N=cap(n_word), a=adj, w=w)
    ask += "?" if ask.startswith(("Can", "Could", "What", "Which", "Do you", "Any", "Have")) else t.pick([".", ".", "", "!"])
    return Turn(ask, text, keep=(w, n_word), again=lambda t: listing(t, what))


ADD_NOUN = "key teapot clock spoon lamp suitcase pumpkin violin umbrella button sock letter bicycle kite feather candle coin mirror ladder carrot cheese broom pillow drum bell stone ring map train boat bus tram rocket garden piano cloud snowflake river".split()


def told(t, must, **cast):
    """A story in which all that was asked for occurs."""
    for _ in range(12):
        c = Cast(t, **cast)
        text = story(t, c, t.pick(["normal", "normal", "long"]))
        if all(m.lower() in text.lower() for m in must):
            return text, c
    return None, None


def tale(t):
    nouns = NOUNS + ADD_NOUN + HEROES + [a["name"] for a in W.ANIMALS]
    hero = t.pick(nouns).replace("_", " ")
    name = coin.name(t, W.NAMES) if t.chance(0.5) else t.pick(W.NAMES)
    thing = t.pick(ADD_NOUN + ["golden key", "red ball", "old clock", "magic book", "silver coin", "little bell", "wooden box", "blue boat", "lost ring", "broken lamp", "red boat", "green hat"])
    friend = t.pick([a["name"] for a in W.ANIMALS] + HEROES).replace("_", " ")
    where = t.pick(list(IN) + ["forest", "castle", "village", "city", "garden", "desert", "cave", "school", "library", "tower"])
    if t.chance(0.08):
        hero = coin.word(t)
    k = t.rng.randrange(9)
    lead = t.say("{Tell me|Tell|Write|Write me|Make up|Invent|Can you tell me|Could you tell me|Can you write|Please tell me|Please write|I want|I want to hear|I would like|I'd love|I'd like to hear|Give me|Let me hear|I need|Do you know|How about|Think of|Compose}")
    adj = t.say("{|short |little |nice |bedtime |new |funny |small |sweet |}")
    kind = t.pick(["story", "story", "story", "tale", "fairy tale"])
    a = an((adj + kind).strip())
    tail = t.pick([".", ".", ", please.", "", "!"])
    if k == 0:
        user, must, args = f"{lead} {a} about {an(hero)}{tail}", [hero], dict(hero=hero)
    elif k == 1:
        user, must, args = f"{lead} {a} {t.pick(['about', 'with'])} {an(hero)} {t.pick(['named', 'called', 'by the name of'])} {name}{tail}", [hero, name], dict(hero=hero, name=name)
    elif k == 2:
        user, must, args = f"{lead} {a} {t.pick(['about', 'with'])} {an(hero)} and {an(friend)}{tail}", [hero, friend], dict(hero=hero, friend=friend)
        if hero == friend:
            return None
    elif k == 3:
        user, must, args = f"{lead} {a} {t.pick(['about', 'with'])} {t.pick(['a', 'the'])} {thing}{tail}".replace("a old", "an old").replace("a umb", "an umb"), [thing.split()[-1]], dict(thing=thing)
    elif k == 4:
        who = t.pick(["My daughter", "My son", "My friend", "My little sister", "My brother", "My child", "My grandson", "My niece"])
        user, must, args = t.say("{$w $n wants {to hear a story|a story about $t|a bedtime story}.|{Tell|Write} a story for $l $n.|$n, $l, wants {a|to hear a} story.|A story for $l $n{, please|}.|{Make up|Invent} a story about $l $n.}", w=who, l=who[0].lower() + who[1:], n=name, t=t.pick(["her", "him", name])), [name], dict(name=name, hero=t.pick(["girl", "child"]) if who.split()[-1] in ("daughter", "sister", "niece") else t.pick(["boy", "child"]) if who.split()[-1] in ("son", "brother", "grandson") else "child")
        if name in W.MEN and args["hero"] == "girl" or name in W.WOMEN and args["hero"] == "boy":
            args["hero"] = "child"
    elif k == 5:
        user, must, args = t.say("{There should be $h in it: tell me a story.|A story, please, {with|about} $h.|{A|One} story with $h{, please|}.|{Is there|Do you have|Have you got} a story {about|with} $h?|{There should be|I want} $h in the story. Tell it!|Once upon a time there was $h. {Go on|What happened then|Continue the story}!|Something about $h, {a story, please|as a story}.|Story: $h|$H - make a story of it.|In your story there should be $h.}", h=an(hero), H=cap(an(hero))), [hero], dict(hero=hero)
    elif k == 6:
        act = t.pick(["learns to {fly|sing|swim|read|cook|bake|ride a bike}", "{finds|loses|looks for} {x}", "meets {f}", "travels {p}", "wants to see the world"])
        deed = t.say(act.replace("{x}", an(thing)).replace("{f}", an(friend)).replace("{p}", place(where)))
        user = f"{lead} {a} {t.pick(['in which', 'where'])} {an(hero)} {deed}{tail}"
        text, c = told(t, [hero], hero=hero, thing=thing, friend=friend)
        if not text:
            return None
        if deed.split()[-1] not in text:
            more = deed.replace("learns to", "learned to").replace("finds", "found").replace("loses", "lost").replace("looks for", "looked for").replace("meets", "met").replace("travels", "travelled").replace("wants", "wanted")
            first, _, rest = text.partition(". ")
            text = f"{first}. One day {c.name} {more}. {rest}"
        return Turn(user, text, keep=(hero, friend, thing), again=again_tale(hero=hero), topic=("story", c))
    elif k == 7:
        user, must, args = t.say("{Tell me something about|Tell me about|A story about|What happened to|Write about|I want to hear about} {a girl|a boy|a child|$h} {named|called} $n and {her|his|the} $t.", h=an(hero), n=name, t=thing).replace("a girl", "a girl"), [name, thing.split()[-1]], dict(name=name, thing=thing, hero="girl")
        for w in ("boy", "child"):
            if f"a {w} " in user:
                args["hero"] = w
        if f"{an(hero)} " in user and " girl " not in user and " boy " not in user and " child " not in user:
            args["hero"] = hero
    else:
        user, must, args = f"{lead} {a} {t.pick(['that happens', 'that takes place', 'set', 'which plays'])} {place(where)}{tail}", [], dict(where=where)
    if user.startswith(("Can", "Could", "Do you")) and user[-1] in ".":
        user = user[:-1] + "?"
    text, c = told(t, must, **args)
    if not text:
        return None
    return Turn(user, text, keep=(hero, name, thing, friend, where) + tuple(thing.split()), again=again_tale(**({"hero": hero} if k in (0, 5) else {})), topic=("story", c))


def again_tale(**args):
    def again(t):
        text, c = told(t, list(args.values()), **args)
        return Turn("", text, again=again_tale(**args), topic=("story", c)) if text and text != t.last.answer else None
    return again


def verse(t):
    nouns = "sea moon sun star tree flower rose river cat dog bird rain snow spring winter summer autumn night morning wind mountain garden friend mother rainbow cloud forest butterfly owl robot computer ship city house road book horse lake candle island elephant love home".split() + NOUNS + ADD_NOUN
    x = t.pick(nouns).replace("_", " ")
    r = t.rng.random()
    lead = t.say("{Write|Write me|Make|Compose|Tell me|Give me|Say|I want|I would like|I'd love|Can you write|Please write|Make up|Let me hear|Do you know|Recite}")
    lines_ = t.pick(["a poem", "a short poem", "a little poem", "some verses", "a few lines of verse", "a rhyme", "a few lines", "two lines", "some poetry", "a small poem", "verses", "four lines of poetry"])
    if r < 0.2:
        name = t.pick(W.NAMES) if t.chance(0.5) else coin.name(t, W.NAMES)
        who = t.pick(["friend", "mother", "sister", "daughter", "brother", "father", "wife", "teacher", "grandmother"])
        user = t.say("{$l $p for my $w $n|$l $p for $n|$l $p about my $w $n|A poem for my $w $n}{.|, please.}", l=lead, p=lines_, w=who, n=name)
        text = t.pick([f"Dear {name}, I sing this song for you,\nbecause your heart is kind and true.\n", f"{name}, {name}, friend of mine,\nfor you the sun shall always shine.\n", f"For {name} these little lines I write,\nmay all your days be warm and bright.\n"]) + poem(t, "friend", 1)
        return Turn(user.replace("Do you know a", "Do you know a"), text, keep=(name, who))
    what = t.pick([x, x, "the " + x, an(x), "my " + x])
    user = t.say("{$l $p about $x{.|, please.}|A {short |little |}poem about $x{, please|}.|Poem: $x|Verses about $x, please.|$x - a poem, please.|{Could|Can} you make $p about $x?|I need $p about $x.}", l=lead, p=lines_, x=what)
    if user.startswith(("Can", "Do you")) and user[-1] == ".":
        user = user[:-1] + "?"
    return Turn(cap(user), poem(t, x, t.pick([1, 2, 2])), keep=(x,), again=lambda t: Turn("", poem(t, x, t.pick([1, 2]))))


def days(t):
    d, m = W.DAYS, W.MONTHS
    k, i, j = t.rng.randrange(12), t.rng.randrange(7), t.rng.randrange(12)
    if k == 0:
        return Turn(cap(t.say("{{What|Which} day {is|comes} {right |}after $d?|{What|Which} day follows $d?|{If|When} {today is|it is} $d{ today|}, {what|which} day {is|will be} {tomorrow|it tomorrow}?|Today is $d. {What|Which day} is tomorrow?|If it is $d today, what is tomorrow?|The day after $d is {called what|which|...}?|After $d comes {what|which day|...}?|Tomorrow, if today is $d?|$d was yesterday. What is today?|Yesterday was $d. What day is it {today|now}?|{Name|Tell me} the day after $d.}", d=d[i]).replace("is it tomorrow", "is it tomorrow")), t.say("{$r.|$r comes after $d.|It is $r.|After $d comes $r.}", d=d[i], r=d[(i + 1) % 7]), keep=(d[i],), short=d[(i + 1) % 7], again=days)
    if k in (1, 2):
        return Turn(cap(t.say("{{What|Which} day {is|comes} {right |just |}before $d?|{If|When} today is $d, {what|which} day was {yesterday|it yesterday}?|Today is $d. {What|Which day} was yesterday?|What day was it yesterday, if it is $d today?|The day before $d is {called what|which|...}?|Before $d comes {what|which day|...}?|Tomorrow is $d. {What|Which} day is {today|it today}?|Yesterday, if today is $d?|{Name|Tell me} the day before $d.|{What|Which} day precedes $d?}", d=d[i])), t.say("{$r.|$r comes before $d.|It was $r.|Before $d comes $r.}", d=d[i], r=d[i - 1]).replace("It was", "It was"), keep=(d[i],), short=d[i - 1])
    if k == 3:
        return Turn(cap(t.say("{{What|Which} month {is|comes} {right |}after $m?|{What|Which} month follows $m?|The month after $m?|After $m comes {what|which month|...}?|If it is $m now, {what|which} is the next month?|It is $m. {What|Which} month comes next?|What is the next month after $m?|{Name|Tell me} the month after $m.|What comes after $m?}", m=m[j])), t.say("{$r.|$r comes after $m.|It is $r.|After $m comes $r.}", m=m[j], r=m[(j + 1) % 12]), keep=(m[j],), short=m[(j + 1) % 12], again=days)
    if k == 4:
        return Turn(cap(t.say("{{What|Which} month {is|comes} {right |just |}before $m?|The month before $m?|Before $m comes {what|which month|...}?|If it is $m now, {what|which} was the last month?|It is $m. {What|Which} month was before?|{Name|Tell me} the month before $m.|What comes before $m?|{What|Which} month precedes $m?}", m=m[j])), t.say("{$r.|$r comes before $m.|It is $r.|Before $m comes $r.}", m=m[j], r=m[j - 1]), keep=(m[j],), short=m[j - 1])
    if k == 5:
        o = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()[j]
        if t.chance(0.3):
            return Turn(cap(t.say("{Which number has $m among the months?|The how-manieth month is $m?|What number is $m in the year?|Is $m the $o month?}", m=m[j], o=o)), t.say("{$m is the $o month.}", m=m[j], o=o), keep=(m[j],))
        return Turn(cap(t.say("{{What|Which} {is the $o month|month is the $o one|month is number $n|month comes $o|is month number $n}{| of the year}?|The $o month of the year?|{Name|Tell me} the $o month.|{What|Which} month {is|comes} $o in the year?}", o=o, n=j + 1)), t.say("{$m.|The $o month is $m.|It is $m.}", o=o, m=m[j]), short=m[j])
    if k == 6:
        o = "first second third fourth fifth sixth seventh".split()[i]
        return Turn(cap(t.say("{{What|Which} {is the $o day|day is the $o one|day comes $o} of the week?|{Name|Tell me} the $o day of the week.}", o=o)), t.say("{$d.|The $o day is $d, if the week begins with Monday.|It is $d.}", o=o, d=d[i]), short=d[i])
    if k == 7:
        n = "28 days, and 29 in a leap year" if j == 1 else f"{W.MONTH_DAYS[j]} days"
        return Turn(cap(t.say("{How many days {has|are in|are there in|does|belong to} $m{ have|}?|How long is $m?|$m has how many days?|{What is|Tell me} the number of days in $m.|Days in $m?}", m=m[j]).replace("has " + m[j] + " have", "has " + m[j]).replace("in " + m[j] + " have", "in " + m[j]).replace("to " + m[j] + " have", "to " + m[j]).replace("does " + m[j] + "?", "does " + m[j] + " have?")), t.say("{$m has $n.|$N.|There are $n in $m.}", m=m[j], n=n, N=cap(n)), keep=(m[j],), short=str(W.MONTH_DAYS[j]))
    if k == 8:
        ok = i > 4
        return Turn(cap(t.say("{Is $d {part of|on|at|in} the weekend?|Is $d a {weekend day|free day|day of the weekend}?|Does $d belong to the weekend?|Is the weekend on $d?}", d=d[i])), f"Yes, {d[i]} is part of the weekend." if ok else f"No, {d[i]} is a working day.", keep=(d[i],), short="Yes" if ok else "No")
    if k == 9:
        s = t.rng.randrange(4)
        S = W.SEASONS
        return Turn(*t.pick([(cap(t.say("{{What|Which} season {is|comes} after $s?|{What|Which} season follows $s?|After $s comes {what|which season|...}?|What comes {next |}after $s?|The season after $s?}", s=S[s])), t.say("{$R.|After $s comes $r.|It is $r.}", s=S[s], R=cap(S[(s + 1) % 4]), r=S[(s + 1) % 4])),
                             (cap(t.say("{{What|Which} season {is|comes} before $s?|Before $s comes {what|which season|...}?|The season before $s?|{What|Which} season precedes $s?}", s=S[s])), t.say("{$R.|Before $s comes $r.|It is $r.}", s=S[s], R=cap(S[s - 1]), r=S[s - 1]))]))
    if k == 10:
        return Turn(*t.pick([(t.say("{{Name|List|Tell me|Say|Give me|Write down} {all |}{the|all} {seven |}{days of the week|weekdays|days}.|{What|Which} are {all |}the {seven |}days of the week?|{What|Which} days does a week have?|{All|The} days of the week, please.}").replace("all all", "all the").replace("all the all", "all the"), join(d) + "."), (t.say("{{Name|List|Tell me|Say|Give me|Write down} {all |}the {twelve |}months{ of the year|}.|{What|Which} are {all |}the {twelve |}months{ of the year|}?|{What|Which} months does a year have?|{All|The} months of the year, please.}"), join(m) + "."),
                             (t.say("{{Name|List|Tell me|Say|Give me|Write down} {all |}the {four |}seasons{ of the year|}.|{What|Which} are {all |}the {four |}seasons{ of the year|}?|{What|Which} seasons {does a year have|are there|do you know}?|{All|The} seasons, please.|How many seasons does {a|the} year have?}"), t.say("{There are four seasons: spring, summer, autumn and winter.|Spring, summer, autumn and winter.}"))]))
    a, b = t.rng.sample(range(7), 2)
    return Turn(*t.pick([(cap(t.say("{In $n days, what day will it be if today is $d?|Today is $d. What day is it in $n days?|If today is $d, what day is in $n days?}", n="two", d=d[i])), t.say("{$r.|It will be $r.}", r=d[(i + 2) % 7])), (cap(t.say("{What is the day after tomorrow, if today is $d?|Today is $d. What is the day after tomorrow?}", d=d[i])), t.say("{$r.|It is $r.}", r=d[(i + 2) % 7]))]))


SHADES = rows("""the sky by day|blue
a clear sky|blue
the sky at night|black
grass|green
snow|white
a ripe banana|yellow
a lemon|yellow
the sun|yellow
a ripe tomato|red
blood|red
a strawberry|red
a carrot|orange
a pumpkin|orange
an orange|orange
coal|black
a raven|black
tar|black
milk|white
salt|white
sugar|white
flour|white
a swan|white
chocolate|brown
coffee|brown
wood|brown
earth|brown
a bear|brown
a leaf in summer|green
a cucumber|green
a frog|green
peas|green
spinach|green
a cactus|green
an elephant|grey
a mouse|grey
stone|grey
a rain cloud|grey
lead|grey
a flamingo|pink
a pig|pink
a plum|purple
an aubergine|purple
lavender|purple
the sea|blue
cornflowers|blue
a cherry|red
a fire engine|red
a stop sign|red
gold|yellow
honey|golden yellow
a sunflower|yellow
butter|yellow
an egg yolk|yellow
a zebra|black and white
a panda|black and white
a chessboard|black and white
snowflakes|white
bones|white
teeth|white
a polar bear|white
a robin's breast|red
grass in spring|green
ketchup|red
a crow|black""")


def shade(t):
    k = t.rng.randrange(6)
    if k <= 2:
        x, c = t.pick(SHADES)
        many = x.split()[-1] in ("peas", "cornflowers", "snowflakes", "bones", "teeth")
        b, h = ("are", "have") if many else ("is", "has")
        return Turn(cap(t.say("{What {colour|colour|color} $b $x?|{Which|What} colour {$h $x|$d $x have|do you see on $x}?|What is the {colour|color} of $x?|Of {what|which} colour $b $x?|In {what|which} colour do we see $x?|{Tell me|Name} the colour of $x.|The colour of $x?|$X $b {of |}what colour?|$X $h {what|which} colour?|What do you call the colour of $x?|Which colour would you paint $x?}", x=x, X=cap(x), b=b, h=h, d="do" if many else "does")), t.say("{$X $b $c.|$C.|$C.|$X $b $c.}", X=cap(x), b=b, c=c, C=cap(c)), keep=(x.split()[-1],), short=cap(c), again=shade)
    if k == 3:
        x, c = t.pick(SHADES)
        many = x.split()[-1] in ("peas", "cornflowers", "snowflakes", "bones", "teeth")
        b = "are" if many else "is"
        o = c if t.chance(0.5) else t.pick(["red", "blue", "green", "yellow", "black", "white", "pink", "purple"])
        if o != c and o in c:
            return None
        return Turn(cap(t.say("{$b $x $o?|$b $x {really|usually|normally} $o?|Is it true that $x $b $o?|Is the colour of $x $o?}", b=b, x=x, o=o)), f"Yes, {x} {b} {c}." if o == c else t.say("{No, $x $b $c.|No, $x $b not $o but $c.}", x=x, b=b, c=c, o=o), keep=(x.split()[-1], o), short="Yes" if o == c else "No")
    if k == 4:
        (a, b), m = t.pick(list(W.MIXES.items()))
        if t.chance(0.5):
            a, b = b, a
        return Turn(cap(t.say("{What {do I|do you|do we|does one} get {when|if} {I|you|we} mix $a {and|with} $b?|{What|Which} colour {do|does} $a and $b {make|give}{| together}?|{What|Which} colour do I get from $a and $b?|{What|Which} colour comes out of $a and $b?|{Mix|I mix} $a {and|with} $b.{ What do I get?| Which colour is it?|}|$A and $b together {make|give} {what|which colour|...}?|$A plus $b is {what|which} colour?|How do I call a mix of $a and $b?|If I mix $a paint with $b paint, what do I get?}", a=a, A=cap(a), b=b)), t.say("{$A and $b make $m.|You get $m.|$M.}", a=a, A=cap(a), b=b, m=m, M=cap(m)), keep=(a, b), short=cap(m), again=shade)
    (a, b), m = t.pick(list(W.MIXES.items()))
    if t.chance(0.4):
        return Turn(cap(t.say("{How do I {make|mix|get} $m?|From {which|what} colours do I mix $m?|{Which|What} colours make $m?|What do I mix to get $m?}", m=m)), t.say("{Mix $a and $b.|From $a and $b.}", a=a, b=b), keep=(m,))
    c = t.pick(["red", "green", "yellow", "white", "orange", "blue", "brown", "black", "grey"])
    xs = [x for x, col in SHADES if col == c and x.split()[-1] not in ("peas", "cornflowers", "snowflakes", "bones", "teeth")]
    x = t.pick(xs)
    return Turn(cap(t.say("{{Name|Tell me|Give me|Say|Show me|Think of|Do you know} {something|a thing|anything} {that is |which is |}$c.|What is $c?|{Which|What} {thing|things} {is|are} $c?|What do you know that is $c?|Something $c, please.}", c=c)), t.say("{$X.|$X is $c.|For example $x.}", X=cap(x), x=x, c=c), keep=(c,), again=shade)


ALL = [(define, 8), (listing, 6), (tale, 6), (verse, 3), (days, 5), (shade, 3.5)]
