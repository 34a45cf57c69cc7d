"""Short stories and poems with the names and things that were asked for, and plain prose to learn grammar from."""
from . import coin
from . import world as W
from .lang import Turn, an, cap, words
from .reasons import WHYS
from .things import DEFINITIONS, JOBS, OBJECTS

HEROES = [a["name"] for a in W.ANIMALS if a["name"] not in ("fly", "worm", "mosquito")] + "dragon robot king queen princess knight wizard witch giant fairy ghost pirate astronaut baker farmer sailor painter teacher fisherman gardener child boy girl old man old woman unicorn mermaid clockmaker shepherd".replace("old man", "old_man").replace("old woman", "old_woman").split()
PLACES = ["forest", "castle", "village", "city", "garden", "mountain", "lake", "island", "river", "desert", "farm", "cave", "old house", "harbour", "school", "meadow", "library", "market", "tower", "valley", "small town", "beach"]
NOUNS = """computer laptop phone star moon cloud tree flower car train bus ship plane rocket snowman dinosaur vampire zombie ninja alien hero monster mushroom cactus river mountain island teapot
toothbrush sock spoon potato pumpkin balloon bicycle lighthouse bridge windmill library cat dog puppy kitten squirrel programmer detective captain spy thief inventor prince duke monk nun soldier general doctor
nurse baby grandmother grandfather mother father sister brother boss student poet singer dancer ghost cowboy viking samurai elf dwarf goblin troll phoenix griffin snowflake raindrop leaf shadow song number
language token keyboard screen chip battery""".replace("_", " ").split()
NOUNS[NOUNS.index("language")] = "robot"
TREASURES = ["golden key", "red ball", "silver coin", "small lamp", "old map", "blue stone", "magic book", "warm coat", "little bell", "wooden box", "shining star", "glass marble", "kite", "letter", "broken clock", "ring", "drum", "lantern", "music box", "feather", "boat", "hat"]
TRAITS = ["brave", "shy", "clever", "lazy", "curious", "kind", "small", "lonely", "funny", "quiet", "proud", "hungry", "gentle", "careful", "cheerful", "forgetful", "patient", "old", "young", "grumpy"]
IN = {"mountain": "on a $p", "island": "on a $p", "farm": "on a $p", "meadow": "on a $p", "beach": "on a $p", "market": "near a $p", "river": "by a $p", "lake": "by a $p", "harbour": "in a $p"}


def place(p):
    return IN.get(p, "in " + ("an $p" if p[0] in "aeiou" else "a $p")).replace("$p", p)


class Cast:
    """Who and what a story is about: asked for, or drawn."""

    def __init__(self, t, hero=None, name=None, thing=None, where=None, friend=None):
        self.hero = (hero or t.pick(HEROES)).replace("_", " ")
        women = self.hero in ("queen", "princess", "witch", "fairy", "girl", "old woman", "mermaid", "woman")
        men = self.hero in ("king", "knight", "wizard", "boy", "old man", "man")
        she = women or not men and (name in W.WOMEN if name in W.NAMES else t.chance(0.5))
        self.name = name or t.pick(W.WOMEN if she else W.MEN)
        self.friend = friend or t.pick([h for h in HEROES if h != hero]).replace("_", " ")
        self.friend_name = t.pick([n for n in W.NAMES if n != self.name])
        self.thing = thing or t.pick(TREASURES)
        self.where = where or t.pick(PLACES)
        self.they, self.them, self.their = ("she", "her", "her") if she else ("he", "him", "his")
        self.trait = t.pick(TRAITS)
        self.slots = dict(h=self.hero, ah=an(self.trait + " " + self.hero), n=self.name, f=self.friend, af=an(self.friend), g=self.friend_name, t=self.thing, at=an(self.thing), p=self.where, inp=place(self.where),
                          y=self.they, Y=cap(self.they), m=self.them, r=self.their, R=cap(self.their), trait=self.trait)


OPEN = ["{Once upon a time|Once|Long ago|One day|Many years ago} there was $ah named $n.", "{Once upon a time|Long ago} $ah named $n lived $inp.", "$n was $ah who lived $inp.", "There was once $ah called $n, who lived $inp.", "{In a far land|Far away|Behind seven hills} lived $ah. {$R name was $n|Everyone called $m $n}."]
SETTING = ["$Y {loved|liked} to walk around and look at {the sky|the clouds|everything|the flowers}.", "Every {morning|evening|day} $y {sang a song|looked at the sky|went for a walk|told stories}.", "$n had everything, but no {friend|real friend}.", "People said that $n was the most $trait $h in the world.", "$Y had {one wish|a dream}: to find $at.", "$n was {often|always} $trait, and everybody knew it."]
PROBLEM = {
    "lost": ["One {morning|day|evening} $n lost $r $t. $Y looked everywhere, {under the bed|behind the door} and {in the grass|by the road}, but it was gone.", "One day the $t was gone. $n was very sad and {began to search|looked everywhere}."],
    "find": ["One {morning|day|evening} $n found $at. {It shone in the light|Nobody knew whose it was}.", "While $y was walking, $n saw $at {on the ground|under a tree|in the water}. \"Whose is this?\" $y asked."],
    "storm": ["One night a great storm came. {The wind howled|The rain fell hard}, and $n was afraid.", "Then the sky grew dark and a storm began. $n needed a safe place."],
    "alone": ["But $n was alone. \"I wish I had a friend,\" $y said.", "One day $n felt lonely and went out to find a friend."],
    "travel": ["One day $n wanted to see the world. $Y packed bread and $at and went away.", "$n put on $r shoes, took the $t, and set out on a long journey."],
    "night": ["One night $n could not sleep. {Something was knocking at the window|A small light was moving outside}.", "It was a dark night, and $n heard a strange sound {behind the house|from the cellar}."],
    "gift": ["Tomorrow was the birthday of $r {mother|best friend|teacher}, and $n had no present. \"What shall I do?\" $y thought.", "$n wanted to give somebody a present, but $y had no money."],
    "school": ["One day $n wanted to learn {to read|to swim|to sing|to bake bread}, but everybody said that $ah could not do it.", "On $r first day at school $n was {very excited|a little afraid}."],
    "contest": ["One day there was a great contest $inp. The winner would get $at. $n wanted to try.", "The {king|queen} promised $at to whoever could {tell the best story|sing the best song|run the fastest}."],
}
MEET = ["On the way $y met $af named $g.", "Then $af called $g came along.", "Soon $af appeared. \"My name is $g,\" said the $f.", "There $y heard a voice. It was $g, $af."]
TALK = ["\"Can you help me?\" asked $n. \"Of course,\" said $g.", "\"Why are you sad?\" asked $g. $n told the whole story.", "\"What are you doing here?\" asked $g. \"I need help,\" said $n.", "\"Let us go together,\" said $g, and $n was glad.", "\"Do not be afraid,\" said $g. \"Two are stronger than one.\""]
SOLVE = {
    "lost": ["Together they looked {again|for a long time}, and there it was: the $t lay {under a leaf|in an old tree|in $g's pocket|behind a stone}.", "$g had good eyes and saw the $t {near the water|in the high grass} at once."],
    "find": ["They asked everyone, and at last they learned that the $t belonged to {an old woman|a little child|the $f}. {She|The owner} was so happy that {she|they all} danced.", "$n gave the $t back, because that was right. $g was so happy that $y was asked to stay for dinner."],
    "storm": ["$g showed $m a dry cave, and they waited until the sun came back.", "They built a small house of branches and were safe and warm. In the morning the sky was blue."],
    "alone": ["They played all day, and in the evening they were friends.", "They shared some bread and laughed a lot. $n was no longer alone."],
    "travel": ["They crossed {rivers and hills|a wide sea|seven valleys} and saw {many wonders|a thousand stars}. At last they came home again.", "They saw cities, mountains and the sea. But home was the best place of all."],
    "night": ["It was only the $f, who had lost the way. They drank hot milk together until the morning came.", "$g held up a lamp, and they saw that it was only {the wind|a branch|a little mouse}. How they laughed!"],
    "gift": ["$g had an idea: they {baked a cake|made $at|wrote a song} together. It was the best present of all.", "They worked the whole night and made $at with their own hands. {How happy everyone was|Nobody had ever seen a nicer present}!"],
    "school": ["$g practised with $m every day, and after {a week|a month|many tries} $n could do it.", "$g sat down beside $m and helped. In the evening $n was proud and happy."],
    "contest": ["$n tried hard and did not win, but $g did, and they shared the prize.", "$n was the last to start, but the first to finish. Everybody cheered, and $g cheered the loudest."],
}
END = ["From that day on they were {best|good} friends.", "And they lived happily ever after.", "That night $n slept very well.", "And if you go there today, you may still {see|hear} them.", "$n never forgot that day.", "And $n learned that {a friend is worth more than gold|it is good to ask for help|being kind is never a waste|even a small $h can do great things}.", "Since then $n and $g {meet every day|are always together}."]


def story(t, c, length="normal"):
    plot = t.pick(list(PROBLEM))
    parts = [t.pick(OPEN)]
    if length == "tiny":
        parts += [t.pick(PROBLEM[plot]), "Then {a kind|an old} $f {helped $m|showed $m the way}, and all was well."]
    else:
        if length == "long" or t.chance(0.5):
            parts.append(t.pick(SETTING))
        parts += [t.pick(PROBLEM[plot]), t.pick(MEET)]
        if length == "long" or t.chance(0.7):
            parts.append(t.pick(TALK))
        parts += [t.pick(SOLVE[plot])]
        if length == "long":
            parts.append(t.say("{Then they sat down and ate {soup|cake|bread and honey|apples} together.|In the evening they made a small fire and told stories.|The moon rose, and everything was quiet and good.}"))
        parts.append(t.pick(END))
    text = " ".join(cap(t.say(p, **c.slots)) for p in parts)
    return text[0].upper() + text[1:]


ASK = "{Tell me|Write|Write me|Can you tell me|Please tell me|I want to hear|I would like|Can you write|Make up|Give me}"


def cast(t, k):
    """Mostly drawn from the lists; what the question names (by its kind k) may come from anywhere."""
    nouns = [o["name"] for o in OBJECTS if o["name"] != "scissors"] + [f["name"] for f in W.FOODS] + [j["name"] for j in JOBS] + NOUNS
    hero = t.pick(nouns) if k in (2, 3, 4, 6, 8, 9) and t.chance(0.45) else None
    if hero and t.chance(0.12):
        hero = coin.word(t)
    name = coin.name(t, W.NAMES) if k in (4, 7, 10) and t.chance(0.5) else None
    thing = t.pick(nouns) if k in (5, 6) and t.chance(0.5) else None
    friend = t.pick(nouns) if k in (9, 10) and t.chance(0.5) else None
    return Cast(t, hero, name, thing, None, friend if friend != hero else None)


def story_turn(t):
    k = t.rng.randrange(11)
    c = cast(t, k)
    keep = (c.hero, c.name, c.thing, c.where, c.friend)
    length = t.pick(["normal", "normal", "normal", "long", "tiny"])
    adj = {"normal": "{short |little |nice |}", "long": "{long |longer |}", "tiny": "{very short |tiny |very short }"}[length]
    ah = an(c.hero)
    about = {0: "", 1: "", 2: " about $ah", 3: " about $ah", 4: " about $ah named $n", 5: " with $at", 6: " about $ah and $at", 7: " about $n", 8: " about $ah $inp",
             9: " about $ah and $af", 10: " about $n and $af"}[k]
    if k in (0, 1) and length == "normal" and t.chance(0.4):
        user = t.say("{I want a story|Story please|Tell me a bedtime story|Do you know a story|Can you tell stories|Once upon a time...|A story please}")
    else:
        user = t.say(ASK + " a " + adj + "{story|story|tale}" + about + "{.|.|, please.}", ah=ah, n=c.name, at=an(c.thing), af=an(c.friend), inp=place(c.where))
    if user.startswith("Can"):
        user = user[:-1] + "?"
    return Turn(user, story(t, c, length), keep=keep, again=lambda t: Turn("", story(t, Cast(t), "normal")), topic=("story", c), short=None)


def story_follow(t):
    """Questions about the story that was just told."""
    c = t.last.topic[1]
    k = t.rng.randrange(6)
    s = c.slots
    told = t.last.answer
    if k == 0 and c.name in told:
        return Turn(t.say("{What was the name of the $h?|Who was the story about?|What was the $h called?|What was the hero's name?}", **s), t.say("{The $h was called $n.|$n.|It was about $n, the $h.}", **s), topic=t.last.topic, short=c.name)
    if k == 1 and c.friend_name in told:
        return Turn(t.say("{Who helped $n?|Who was the friend?|Who did $n meet?|Who was $g?}", **s), t.say("{It was $g, the $f.|$n met $g, $af.}", **s), topic=t.last.topic, keep=(c.name, c.friend_name), short=c.friend_name)
    if k == 2:
        c2 = Cast(t, hero=c.hero.replace(" ", "_"), name=c.name, thing=c.thing, where=c.where)
        return Turn(t.say("{Make it shorter|Shorter please|A shorter one|Can you make it shorter|Tell it shorter}{.|}"), story(t, c2, "tiny"), topic=("story", c2))
    if k == 3:
        return Turn(t.say("{Continue|Go on|What happened next|And then|What happened then|More}{?|}"), t.say("{The next day $n {woke up early|got up with the sun}. Someone knocked at the door. It was $af named $g with $at. \"This is for you,\" said $g, and they all {laughed|sat down for breakfast}.|After that, $n went on a new journey {over the hills|to the sea}, and $g came along. They {saw|found} {many wonderful things|a place where nobody had been before}.|Later $n {wrote|told} the story to all the children $inp. They {liked it very much|asked for it again and again}.}", **s), topic=("story", c))
    if k == 4:
        return Turn(t.say("{I like this story|That was a nice story|Nice story|I liked that|Beautiful|Great story}{!|.|}"), t.say("{Thank you! Shall I tell you another one?|I am glad that you like it.|Thanks! I like $n too.}", **s))
    return Turn(t.say("{Does the story have a title|What is the title|Give it a title}?"), t.say("{\"$n and the $T\"|\"The $H and the $T\"|\"$n, the $trait $h\"}", T=c.thing.title(), H=c.hero.title(), **s), topic=t.last.topic)


POEM = """The $x is $a, the $x is $b,|it means a lot of joy to me.
I saw $ax one early day|and it chased all my cares away.
O little $x, so fine, so bright,|you make me happy in the night.
When evening comes and work is done,|I see the $x in the setting sun.
The wind may blow, the rain may fall,|the $x is the best of all.
A $c sky, a silver sea,|and one small $x for you and me.
I close my eyes and dream of you,|dear $x, beneath a sky of blue.
The stars are high, the night is deep,|the $x has gone at last to sleep.
Sing a song for the $x today,|and let the clouds all go away.
Quiet and soft, the hours flow,|the $x knows more than we may know.
The morning comes, the birds awake,|the $x is shining by the lake.
Round and round the seasons go,|the $x in sun, the $x in snow.
And when I am far away from here,|I think of you, my $x, my dear.
So take my hand and come along,|the $x will hear our little song.""".splitlines()
SUBJECTS = "sea moon sun star tree flower rose river cat dog bird rain snow spring winter summer autumn night morning wind mountain garden friend mother rainbow cloud forest butterfly owl robot computer ship city house road book horse lake candle island elephant love home".split()


def poem(t, x=None, couplets=None):
    x = x or t.pick(SUBJECTS)
    n = couplets or t.pick([1, 2, 2, 2, 3])
    chosen = t.rng.sample(POEM, n)
    return "\n".join(cap(line) for c in chosen for line in t.say(c.replace("|", "\n"), x=x, ax=an(x), a=t.pick(["fair", "old", "young", "bright", "still"]), b=t.pick(["wild and free", "here with me", "all I see"]), c=t.pick(["golden", "silver", "deep blue", "pale"])).split("\n"))


def poem_turn(t):
    x = t.pick(SUBJECTS) if t.chance(0.55) else t.pick(HEROES).replace("_", " ") if t.chance(0.5) else t.pick(NOUNS)
    short = t.chance(0.3)
    the = "the " + x if t.chance(0.6) and x not in ("love", "home") else (an(x) if x not in ("love", "home", "rain", "snow", "spring", "winter", "summer", "autumn") else x)
    if t.chance(0.15):
        return Turn(t.say("{Write a poem|Tell me a poem|Can you write poems|A poem please|Write me a short poem|Do you know a poem|Make a rhyme}{.|}"), poem(t), again=lambda t: Turn("", poem(t)))
    if t.chance(0.12):
        return Turn(t.say("{Write|Write me|Give me} a haiku about $y.", y=the), t.say("{Soft light on the $x,\nthe quiet world holds its breath.\nThen a bird begins.|$A $x in the rain.\nOne drop falls, and then one more.\nThe evening is long.|Morning. The still $x.\nNobody has come this way.\nOnly wind and light.}", x=x, A=cap(an(x).split()[0])), keep=(x,))
    return Turn(t.say("{Write|Write me|Tell me|Can you write|Make|I want|Please write} a $s{poem|poem|verse|rhyme} about $y{.|.|, please.}", s="short " if short else "", y=the), poem(t, x, 1 if short else None), keep=(x,), again=lambda t: Turn("", poem(t, x)))


def prose(t):
    """A paragraph of plain text for the first phase."""
    k = t.rng.randrange(7)
    if k <= 2:
        return story(t, Cast(t), t.pick(["normal", "long", "long"]))
    if k == 3:
        a = t.pick(W.ANIMALS)
        x, n, p = an(a["name"]), a["name"], a["plural"]
        fly = " It can fly." if n in W.FLY else ""
        return t.say("{$X is $k.|The $n is $k.} {It eats $f.|Its food is $f.} {It is known for $z.|People know it for $z.} Its colour is $c.$fly {A young $n is called $y.|The young of the $n is called $y.} {We saw $x once, and it was wonderful.|Many children like $p.|One can read about $p in many books.}", X=cap(x), x=x, n=n, p=p, k=an(a["kind"]), f=a["food"], z=a["known"], c=a["colour"], fly=fly, y=an(a["young"]))
    if k == 4:
        cs = t.rng.sample(W.COUNTRIES, 3)
        return " ".join(t.say("{$N is a country in $k.|$N lies in $k.} {Its capital is $c|The capital of $n is $c}, and people there speak $l.", N=cap(c["name"]), n=c["name"], k=c["continent"], c=c["capital"], l=c["language"]) for c in cs)
    if k == 5:
        ds = t.rng.sample(DEFINITIONS, 4)
        js = t.rng.sample(JOBS, 2) + t.rng.sample(OBJECTS, 2)
        out = [f"{cap(d['name'])} is {d['about']}." for d in ds] + [f"{cap(an(j['name']))} {j['does']}." if "does" in j else f"{'Scissors are' if j['name'] == 'scissors' else cap(an(j['name'])) + ' is'} used for {j['use']}." for j in js]
        t.rng.shuffle(out)
        return " ".join(out)
    if t.chance(0.4):
        ws = t.rng.sample(WHYS, 3)
        return " ".join(w["answer"] for w in ws)
    if t.chance(0.3):
        return poem(t, None, t.pick([2, 3, 4]))
    n, d, m = t.pick(W.NAMES), t.pick(W.DAYS), t.pick(W.MONTHS)
    y, r = t.pick([("she", "her"), ("he", "his")])
    return t.say("{On a $d in $m|One $d|Last $d} $n {got up early|woke up late|opened the window}. {The sun was shining|It was raining|A soft wind blew}, and $y {made some tea|ate an apple|had bread with honey for breakfast}. Then $y {went to the market|walked to the $p|visited $r friend $g}. There $y {bought $q $f|saw $x|met {an old friend|a kind neighbour}}. "
                 "{\"What a good day,\" said $n.|$n smiled and went on.|It was a day that $n would remember.} {In the evening|At night|Later} $y {read a book|wrote a letter|called $r mother|played the piano} and {went to bed|looked at the stars|fell asleep}. {$n was happy.|Tomorrow would be another day.|All was quiet.}",
                 n=n, d=d, m=m, y=y, r=r, p=t.pick(PLACES), g=t.pick(W.NAMES), q=words(t.rng.randrange(2, 12)), f=t.pick(["apples", "eggs", "pears", "potatoes", "cakes", "flowers", "candles"]), x=an(t.pick(W.ANIMALS)["name"]))
