"""Questions about the world, answered from the tables."""
from . import world as W
from .lang import Turn, an, cap, join, words
from .reasons import WHYS
from .things import BODY, DEFINITIONS, JOBS, OBJECTS


def country(t):
    c = t.pick(W.COUNTRIES)
    n, k = c["name"], t.rng.randrange(8)
    if k <= 2:
        return Turn(t.say("{What is the capital of $n?|What's the capital of $n?|Capital of $n?|Which city is the capital of $n?|Tell me the capital of $n.|Do you know the capital of $n?|Name the capital of $n.|$N capital?}", n=n, N=cap(n)),
                    t.say("{The capital of $n is $c.|$c is the capital of $n.|$c.|It is $c.|The capital of $n is $c.}", n=n, c=c["capital"]), keep=(n,), short=c["capital"], again=country, topic=("country", c))
    if k == 3:
        return Turn(t.say("{$c is the capital of which country?|Which country has the capital $c?|Which country is $c the capital of?|Where is $c?|In which country is $c?}", c=c["capital"]),
                    t.say("{$c is the capital of $n.|$c is in $n.}", n=n, c=c["capital"]), keep=(c["capital"],), short=cap(n), topic=("country", c))
    if k == 4:
        return Turn(t.say("{Where is $n?|On which continent is $n?|What continent is $n in?|Which continent is $n on?|Where does $n lie?}", n=n), t.say("{$N is in $k.|$N lies in $k.|It is in $k.}", N=cap(n), k=c["continent"]), keep=(n,), short=c["continent"], topic=("country", c))
    if k == 5:
        return Turn(t.say("{What language do people speak in $n?|Which language is spoken in $n?|What do they speak in $n?|What is the language of $n?}", n=n), t.say("{In $n people speak $l.|People speak $l there.|They speak $l.}", n=n, l=c["language"]), keep=(n,), short=c["language"], topic=("country", c))
    if k == 6:
        return Turn(t.say("{Tell me about $n.|What do you know about $n?|Tell me something about $n.}", n=n), t.say("{$N is a country in $k. Its capital is $c, and people speak $l.|$N lies in $k. The capital is $c. People there speak $l.}", N=cap(n), k=c["continent"], c=c["capital"], l=c["language"]), keep=(n,), topic=("country", c))
    o = t.pick(W.COUNTRIES) if t.chance(0.5) else c
    ok = o["capital"] == c["capital"]
    return Turn(f"Is {o['capital']} the capital of {n}?", f"Yes, {c['capital']} is the capital of {n}." if ok else f"No, the capital of {n} is {c['capital']}.", keep=(n, o["capital"]), short="Yes" if ok else "No", topic=("country", c))


def about_it(t):
    """A follow-up with a pronoun, or 'and X?', to what was talked about."""
    kind, c = t.last.topic
    if kind == "country":
        o = t.pick([x for x in W.COUNTRIES if x is not c])
        if "capital" in t.last.user.lower() and t.chance(0.6):
            return Turn(t.say("{And of $n?|And $n?|What about $n?|And what about $n?|And the capital of $n?|I meant $n.|No, I mean $n.|Oh, I meant $n.|Not that one, I meant $n.}", n=o["name"]), t.say("{The capital of $n is $c.|$c.}", n=o["name"], c=o["capital"]), keep=(o["name"],), short=o["capital"], topic=("country", o))
        ask, reply = t.pick([("{Where is it|On which continent is it|What continent is it on}?", f"{cap(c['name'])} is in {c['continent']}."), ("{What do people speak there|Which language do they speak there|And what language do they speak}?", f"People in {c['name']} speak {c['language']}.")]
                            + ([] if "capital" in t.last.user.lower() else [("{What is its capital|And the capital|What's the capital}?", f"The capital of {c['name']} is {c['capital']}.")]))
        return Turn(t.say(ask), reply, topic=("country", c))
    if kind == "animal":
        return animal(t, c, pronoun=True) if t.chance(0.6) else _what_about(t, c)
    if kind == "number":
        n = t.rng.randrange(1, 11)
        if t.chance(0.5) and c + n <= 100:
            return Turn(t.say("{And plus $n?|Plus $n?|Add $n.|And $n more?|Now add $n.}", n=n), t.say("{$c plus $n is $r.|$r.|That makes $r.}", c=c, n=n, r=c + n), short=str(c + n), topic=("number", c + n))
        if c >= n and t.chance(0.6):
            return Turn(t.say("{And minus $n?|Minus $n?|Subtract $n.|Take away $n.}", n=n), t.say("{$c minus $n is $r.|$r.|That leaves $r.}", c=c, n=n, r=c - n), short=str(c - n), topic=("number", c - n))
        if t.chance(0.4) and c * n <= 100:
            return Turn(t.say("{And times $n?|Times $n?|Multiply that by $n.|And multiplied by $n?}", n=n), t.say("{$c times $n is $r.|$r.|That makes $r.}", c=c, n=n, r=c * n), short=str(c * n), topic=("number", c * n))
        return Turn(t.say("{And times 2?|Double it.|And twice that?}"), t.say("{Twice $c is $r.|$r.}", c=c, r=2 * c), short=str(2 * c), topic=("number", 2 * c)) if c <= 50 else None
    return None


def _what_about(t, c):
    o = t.pick(W.ANIMALS)
    last = t.last.topic_field if hasattr(t.last, "topic_field") else None
    return animal(t, o, field=last, lead=t.say("{And $n?|What about $n?|And what about $n?}", n="the " + o["name"] if t.chance(0.3) else an(o["name"]))) if last else animal(t, c, pronoun=True)


FIELDS = ("legs", "sound", "home", "food", "young", "colour", "known", "kind", "about")


def animal(t, a=None, pronoun=False, field=None, lead=None):
    a = a or t.pick(W.ANIMALS)
    f = field or t.pick(FIELDS)
    n, p, x = a["name"], a["plural"], an(a["name"])
    s = dict(x="it" if pronoun else x, X=cap(x), p="they" if pronoun else p, P=cap(p), n=n)
    if f == "legs":
        legs = a["legs"]
        num = "eight arms and no legs" if "arms" in legs else ("no legs" if legs == "0" else words(int(legs)) + " legs")
        ask, ans, short = "{How many legs does $x have|How many legs do $p have}?", "{$X has $v.|$P have $v.}", cap(num)
        s["v"] = num
    elif f == "sound":
        v = a["sound"]
        ask, ans, short = "{What sound does $x make|What does $x say|What noise does $x make|How does $x sound|What do $p do when they are loud}?", "{$X $v.|The $n $v.}", cap(v)
        s["v"] = v
    elif f == "home":
        ask, ans, short = "{Where does $x live|Where do $p live|What is the home of $x}?", "{$P live in $v.|$X lives in $v.|The $n lives in $v.}", cap(a["home"])
        s["v"] = a["home"]
        if a["home"].startswith(("dry land", "cold coasts", "nearly everywhere", "Australia", "the ")):
            ans = "{$P live in $v.|$X lives in $v.}"
        for bad, good in (("in cold coasts", "on cold coasts"), ("in beaches", "on beaches"), ("in dry land", "on dry land"), ("in a farm", "on a farm"), ("in nearly", "nearly"), ("in the savanna", "in the savanna"), ("in mountains", "in the mountains")):
            if "in " + a["home"].split(",")[0] and ("in " + a["home"]).startswith(bad):
                s["v"] = a["home"]
                ans = ans.replace("in $v", good + ("in " + a["home"])[len(bad):])
    elif f == "food":
        ask, ans, short = "{What does $x eat|What do $p eat|What is the food of $x|What do you feed $x}?", "{$P eat $v.|$X eats $v.}", cap(a["food"])
        s["v"] = a["food"]
    elif f == "young":
        ask, ans, short = "{What is a baby $n called|What do you call a baby $n|What is the young of $x called|What is the name of a young $n}?", "{A {baby|young} $n is called $v.|It is called $v.|$V.}", cap(a["young"])
        if pronoun:
            ask = "{What is its baby called|And what is the young one called}?"
        s["v"], s["V"] = an(a["young"]), cap(an(a["young"]))
    elif f == "colour":
        ask, ans, short = "{What colour is $x|What color is $x|What colour are $p|Which colour does $x have|What does $x look like}?", "{$X is $v.|$P are $v.|The $n is $v.}", cap(a["colour"])
        s["v"] = a["colour"]
        if s["v"].startswith("many"):
            ans = "$P have $v."
    elif f == "known":
        ask, ans, short = "{What is $x known for|What are $p known for|What is special about $x|What is special about $p|What are $p famous for}?", "{$X is known for $v.|$P are known for $v.}", None
        s["v"] = a["known"]
    elif f == "kind":
        ask, ans, short = "{What kind of animal is $x|What is $x|What type of animal is $x|Is $x a mammal, a bird or something else}?", "{$X is $v.|The $n is $v.}", cap(a["kind"])
        s["v"] = an(a["kind"])
    else:
        ask = "{Tell me about $p|What do you know about $p|Tell me something about $p|Describe $x|Tell me more about $p}."
        if pronoun:
            ask = "{Tell me more|Tell me more about them|What else do you know about $p}."
            s["p"] = "them"
        legs = a["legs"]
        s.update(k=an(a["kind"]), h=a["home"], f=a["food"], z=a["known"], y=an(a["young"]))
        ans, short = "{$X is $k. It eats $f and is known for $z.|$P eat $f. They are known for $z. A young one is called $y.|The $n is $k. It is known for $z.}", None
        f = "about"
    user = lead or t.say(ask, **s)
    if user.endswith(".") and user.startswith("What"):
        user = user[:-1] + "?"
    turn = Turn(cap(user), t.say(ans, **s), keep=(n, p), short=short, topic=("animal", a))
    turn.topic_field = f
    return turn


def animal_yesno(t):
    a = t.pick(W.ANIMALS)
    n, k = a["name"], t.rng.randrange(5)
    if k == 0:
        kind = t.pick(["mammal", "bird", "fish", "insect", "reptile"])
        ok = a["kind"] == kind
        ask, yes, no = f"Is {an(n)} {an(kind)}?", f"Yes, {an(n)} is {an(kind)}.", f"No, {an(n)} is {an(a['kind'])}."
    elif k == 1:
        ok = n in W.FLY
        ask, yes, no = t.say("{Can $p fly?|Can $x fly?}", p=a["plural"], x=an(n)), f"Yes, {a['plural']} can fly.", f"No, {a['plural']} cannot fly."
    elif k == 2:
        big, small = sorted(t.rng.sample(W.SIZES, 2), key=W.SIZES.index, reverse=True)
        if t.chance(0.5):
            b, s = t.pick([(big, small), (small, big)])
            return Turn(t.say("{Is $b bigger than $s?|Is $b larger than $s?}", b=an(b), s=an(s)), t.say("{$y, $b is bigger than $s.}", y="Yes" if b == big else "No", b=an(big), s=an(small)), keep=(b, s), short="Yes" if b == big else "No", topic=("animal", a))
        pair = [big, small]
        t.rng.shuffle(pair)
        return Turn(t.say("{Which is bigger, $a or $b?|What is bigger, $a or $b?|Which animal is larger, $a or $b?}", a=an(pair[0]), b=an(pair[1])), t.say("{$B is bigger than $s.|$B is bigger.|$B.}", B=cap(an(big)), s=an(small)), keep=(big, small), short=cap(an(big)), again=animal_yesno)
    elif k == 3:
        fast, slow = sorted(t.rng.sample(W.FAST, 2), key=W.FAST.index, reverse=True)
        pair = [fast, slow]
        t.rng.shuffle(pair)
        return Turn(t.say("{Which is faster, $a or $b?|What is faster, $a or $b?|Who is faster, $a or $b?}", a=an(pair[0]), b=an(pair[1])), t.say("{$F is faster than $s.|$F is faster.|$F.}", F=cap(an(fast)), s=an(slow)), keep=pair, short=cap(an(fast)), again=animal_yesno)
    else:
        ok = n in W.SWIM
        if not ok and a["kind"] in ("mammal", "reptile", "bird", "insect"):
            return None
        ask, yes, no = f"Can {a['plural']} swim?", f"Yes, {a['plural']} can swim.", f"No, {a['plural']} cannot swim."
    return Turn(ask, yes if ok else no, keep=(n, a["plural"]), short="Yes" if ok else "No", topic=("animal", a), again=animal_yesno)


def calendar(t):
    k, i, j = t.rng.randrange(12), t.rng.randrange(7), t.rng.randrange(12)
    d, m = W.DAYS, W.MONTHS
    if k <= 1:
        return Turn(t.say("{What day comes after $d?|Which day is after $d?|What day follows $d?|If today is $d, what day is tomorrow?|Today is $d. What is tomorrow?}", d=d[i]), t.say("{$r comes after $d.|$r.|It is $r.}", d=d[i], r=d[(i + 1) % 7]), keep=(d[i],), short=d[(i + 1) % 7], again=calendar)
    if k == 2:
        return Turn(t.say("{What day comes before $d?|Which day is before $d?|If today is $d, what day was yesterday?}", d=d[i]), t.say("{$r comes before $d.|$r.|It is $r.}", d=d[i], r=d[i - 1]), keep=(d[i],), short=d[i - 1])
    if k == 3:
        return Turn(t.say("{What month comes after $m?|Which month is after $m?|What is the month after $m?|Which month follows $m?}", m=m[j]), t.say("{$r comes after $m.|$r.|It is $r.}", m=m[j], r=m[(j + 1) % 12]), keep=(m[j],), short=m[(j + 1) % 12], again=calendar)
    if k == 4:
        return Turn(t.say("{What month comes before $m?|Which month is before $m?|What is the month before $m?}", m=m[j]), t.say("{$r comes before $m.|$r.|It is $r.}", m=m[j], r=m[j - 1]), keep=(m[j],), short=m[j - 1])
    if k == 5:
        return Turn(t.say("{How many days are in $m?|How many days does $m have?|How long is $m?}", m=m[j]), f"{m[j]} has {W.MONTH_DAYS[j]} days." if j != 1 else "February has 28 days, and 29 in a leap year.", keep=(m[j],), short=str(W.MONTH_DAYS[j]))
    if k == 6:
        o = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"][j]
        return Turn(t.say("{What is the $o month?|Which month is the $o one?|What is the $o month of the year?}", o=o), t.say("{The $o month is $m.|$m.|It is $m.}", o=o, m=m[j]), short=m[j])
    if k == 7:
        s = t.rng.randrange(4)
        return Turn(t.say("{What season comes after $s?|Which season follows $s?|What comes after $s?}", s=W.SEASONS[s]), t.say("{$R comes after $s.|$R.}", s=W.SEASONS[s], R=cap(W.SEASONS[(s + 1) % 4])), keep=(W.SEASONS[s],), short=cap(W.SEASONS[(s + 1) % 4]))
    if k == 8:
        s = t.pick(W.SEASONS)
        return Turn(t.say("{What is $s like?|Tell me about $s.|What happens in $s?|Describe $s.|What is $s?}", s=s), t.say("{In $s $a.|$S is a season: $a.}", s=s, S=cap(s), a=W.SEASON_ABOUT[s]), keep=(s,))
    if k == 9:
        return Turn(*t.pick([(t.say("{What are the days of the week|Name the days of the week|List the days|Which days are there}?"), join(d) + "."), (t.say("{What are the months of the year|Name the months|List the months|Which months are there}?"), join(m) + "."),
                             (t.say("{What are the seasons|Name the four seasons|List the seasons|Which seasons are there|How many seasons are there}?"), "There are four seasons: spring, summer, autumn and winter."),
                             (t.say("{What are the continents|Name the continents|List the continents|Which continents are there}?"), "The continents are " + join(W.CONTINENTS) + "."),
                             (t.say("{What are the oceans|Name the oceans|Which oceans are there}?"), "The oceans are " + join(W.OCEANS) + "."), (t.say("{What is the weekend|Which days are the weekend}?"), "The weekend is Saturday and Sunday.")]))
    if k == 10:
        s = {11: 3, 0: 3, 1: 3, 2: 0, 3: 0, 4: 0, 5: 1, 6: 1, 7: 1, 8: 2, 9: 2, 10: 2}[j]
        return Turn(t.say("{What season is $m in?|Which season is it in $m?|In which season is $m?}", m=m[j]), t.say("{In the northern half of the Earth, $m is in $s.|$m is in $s, north of the equator.}", m=m[j], s=W.SEASONS[s]), keep=(m[j],), short=cap(W.SEASONS[s]))
    return Turn(t.say("{Is $d part of the weekend?|Is $d a weekend day?}", d=d[i]), f"Yes, {d[i]} is part of the weekend." if i > 4 else f"No, {d[i]} is not part of the weekend.", keep=(d[i],), short="Yes" if i > 4 else "No")


def planet(t):
    p = t.pick(W.PLANETS)
    n, k = p["name"], t.rng.randrange(5)
    if k == 0:
        return Turn(t.say("{Tell me about $n.|What is $n?|What do you know about $n?|Describe the planet $n.}", n=n), f"{n} is a planet: {p['about']}.", keep=(n,))
    if k == 1:
        return Turn(t.say("{What is the $o planet from the sun?|Which planet is the $o one from the sun?|Name the $o planet.}", o=p["place"]), t.say("{$n is the $o planet from the sun.|$n.|It is $n.}", n=n, o=p["place"]), short=n)
    if k == 2:
        return Turn(*t.pick([("Which planet is the largest?", "Jupiter is the largest planet."), ("What is the biggest planet?", "Jupiter is the biggest planet."), ("Which planet is the smallest?", "Mercury is the smallest planet."), ("Which planet is closest to the sun?", "Mercury is closest to the sun."), ("Which planet is the farthest from the sun?", "Neptune is the farthest from the sun."),
                             ("Which planet has rings?", "Saturn has bright rings."), ("Which planet is red?", "Mars is the red planet."), ("Which planet is called the red planet?", "Mars is called the red planet."), ("Which planet is the hottest?", "Venus is the hottest planet."), ("Which planet do we live on?", "We live on Earth."), ("What planet are we on?", "We live on the planet Earth."), ("Is the sun a planet?", "No, the sun is a star."), ("Is the moon a planet?", "No, the moon travels around the Earth.")]))
    if k == 3:
        return Turn(t.say("{Name the planets.|What are the planets?|List all planets.|Which planets are there?|What planets are in the solar system?}"), "The planets are " + join([x["name"] for x in W.PLANETS]) + ".")
    return Turn(f"Is {n} a planet?", f"Yes, {n} is a planet: {p['about']}.", keep=(n,), short="Yes")


def colour(t):
    k = t.rng.randrange(4)
    if k <= 1:
        c = t.pick(W.COLOURED)
        return Turn(t.say("{What colour is $n?|What color is $n?|What is the colour of $n?|Which colour does $n have?|Colour of $n?}", n=c["name"]), t.say("{$N is $c.|$C.|It is $c.}", N=cap(c["name"]), c=c["colour"], C=cap(c["colour"])), keep=(c["name"].split()[-1],), short=cap(c["colour"]), again=colour)
    if k == 2:
        (a, b), m = t.pick(list(W.MIXES.items()))
        if t.chance(0.5):
            a, b = b, a
        return Turn(t.say("{What do you get when you mix $a and $b?|What colour do $a and $b make?|Mix $a and $b.|What is $a plus $b as a colour?|What does $a and $b make?}", a=a, b=b), t.say("{$A and $b make $m.|You get $m.|$M.}", a=a, A=cap(a), b=b, m=m, M=cap(m)), keep=(a, b), short=cap(m))
    c = t.pick(["red", "green", "yellow", "white", "orange", "blue", "brown", "black"])
    xs = [x["name"] for x in W.COLOURED if x["colour"] == c]
    return Turn(t.say("{Name something that is $c.|What is $c?|Give me something $c.|Tell me a thing that is $c.|What things are $c?}", c=c), cap(t.pick(xs)) + f" is {c}.", keep=(c,), again=colour)


def definition(t):
    if t.chance(0.12):
        j = t.pick(W.FOODS)
        x = an(j["name"]) if j["kind"] in ("fruit", "vegetable") else j["name"]
        if t.chance(0.5):
            return Turn(t.say("{What is $x?|What does $x taste like?|Tell me about $x.}", x=x), f"{cap(x)} is {an(j['kind'])}. It is {j['about']}.", keep=(j["name"],))
        k = t.pick(["fruit", "vegetable", "drink"])
        return Turn(f"Is {x} a {k}?", f"Yes, {x} is a {k}." if j["kind"] == k else f"No, {x} is {an(j['kind'])}.", keep=(j["name"],), short="Yes" if j["kind"] == k else "No")
    d = t.pick(DEFINITIONS)
    n = d["name"]
    if t.chance(0.1) and len(d["about"]) > 25:
        word = n.split(" ", 1)[1] if n.startswith(("a ", "an ", "the ")) else n
        return Turn(t.say("{What do you call|What is the word for|Which word means} {$a|$a}?", a=d["about"]), f"That is {n}.", keep=(word,), short=cap(n))
    return Turn(t.say("{What is $n?|What's $n?|Explain what $n is.|Can you tell me what $n is?|What do you know about $n?|Tell me what $n is.|Define $n.|What does the word $w mean?|Explain $n.|Do you know what $n is?}", n=n, w=n.split(" ", 1)[-1]),
                t.say("{$N is $a.|$N is $a.|It is $a.}", N=cap(n), a=d["about"]), keep=(n,))


def job(t):
    j = t.pick(JOBS)
    n, k = j["name"], t.rng.randrange(4)
    if k == 0:
        return Turn(t.say("{What does $x do?|What is the job of $x?|What is $x?|What work does $x do?}", x=an(n)), t.say("{$X $d.|$X is a person who $d.}", X=cap(an(n)), d=j["does"]), keep=(n,))
    if k == 1:
        return Turn(t.say("{Who $d?|What do you call a person who $d?|Which job is it when someone $d?}", d=j["does"]), t.say("{$X $d.|$X.|That is $x.}", X=cap(an(n)), x=an(n), d=j["does"]), short=cap(an(n)))
    if k == 2:
        return Turn(t.say("{Where does $x work?|Where do you find $x?|What is the workplace of $x?}", x=an(n)), t.say("{$X usually works in $w.|In $w.}", X=cap(an(n)), w=j["where"]).replace("in the streets", "on the streets").replace("In the streets", "On the streets").replace("in a farm", "on a farm").replace("In a farm", "On a farm").replace("in a ship", "on a ship").replace("In a ship", "On a ship").replace("in a meadow", "on a meadow").replace("in a boat", "on a boat").replace("In a boat", "On a boat"), keep=(n,))
    return Turn(t.say("{I am|I'm|I work as} $x.", x=an(n)), t.say("{That is an important job.|How interesting!|Nice!} {Do you like it?|How long have you done that?|What do you like best about it?}"), keep=(n,), topic=("job", n))


def thing(t):
    k = t.rng.randrange(5)
    if k == 4:
        b = t.pick(BODY)
        if t.chance(0.6):
            be = "is" if b["name"] in ("nose", "tongue", "heart", "brain", "stomach", "skin") else "are"
            return Turn(t.say("{What $q the $n for?|What do we use the $n for?|Why do we have the $n?}", q=be, n=b["name"]), t.say("{We use the $n to $u.|With the $n we $u.|To $u.}", n=b["name"], u=b["use"]), keep=(b["name"],))
        if b["number"] == "one":
            return Turn(t.say("{Which part of the body do we use to $u?|What do we $u with?}", u=b["use"]), t.say("{We use the $n to $u.|The $n.}", n=b["name"], u=b["use"]), short="The " + b["name"])
        return Turn(t.say("{How many $n does a person have?|How many $n do people have?|How many $n do I have?}", n=b["name"]), t.say("{A person has $c $n.|People have $c $n.|$C.}", n=b["name"], c=b["number"], C=cap(b["number"])), keep=(b["name"],), short=cap(b["number"]))
    o = t.pick(OBJECTS)
    n = o["name"]
    x = n if n in ("scissors", "soap") else an(n)
    be = "are" if n == "scissors" else "is"
    if k <= 1:
        return Turn(t.say("{What $q $x {used |}for?|What do you do with $x?|What do people use $x for?|Why do people need $x?}", q=be, x=x), t.say("{$X $q used for $u.|It is for $u.|For $u.}", X=cap(x), q=be, u=o["use"]), keep=(n,))
    if k == 2:
        return Turn(t.say("{What $q $x made of?|What material $q $x made of?|Which material is used for $x?}", q=be, x=x), t.say("{$X $q usually made of $m.|Usually of $m.}", X=cap(x), q=be, m=o["made"]), keep=(n,), short=cap(o["made"]))
    return Turn(t.say("{What do I need for $u?|What is used for $u?|Which thing is for $u?}", u=o["use"]), t.say("{$X.|You need $x.|For $u you need $x.}", X=cap(x), x=x, u=o["use"]), short=cap(x))


def why(t):
    w = t.pick(WHYS)
    return Turn(t.say(w["ask"]), w["answer"])


LISTS = {"animals": [a["name"] for a in W.ANIMALS], "birds": [a["name"] for a in W.ANIMALS if a["kind"] == "bird"], "insects": [a["name"] for a in W.ANIMALS if a["kind"] == "insect"],
         "mammals": [a["name"] for a in W.ANIMALS if a["kind"] == "mammal"], "colours": W.COLOURS[:10], "fruits": [f["name"] for f in W.FOODS if f["kind"] == "fruit"], "vegetables": [f["name"] for f in W.FOODS if f["kind"] == "vegetable"],
         "countries": [c["name"] for c in W.COUNTRIES], "countries in Europe": [c["name"] for c in W.COUNTRIES if c["continent"] == "Europe"], "countries in Asia": [c["name"] for c in W.COUNTRIES if c["continent"] == "Asia"],
         "countries in Africa": [c["name"] for c in W.COUNTRIES if c["continent"] == "Africa"], "countries in South America": [c["name"] for c in W.COUNTRIES if c["continent"] == "South America"],
         "capitals": [c["capital"] for c in W.COUNTRIES], "jobs": [j["name"] for j in JOBS], "planets": [p["name"] for p in W.PLANETS], "months": W.MONTHS, "days": W.DAYS, "seasons": W.SEASONS,
         "drinks": ["water", "tea", "coffee", "juice", "milk", "lemonade", "cocoa"], "sports": "football tennis swimming running cycling basketball volleyball skiing judo golf handball rowing".split(),
         "instruments": "piano guitar violin drum flute trumpet cello harp saxophone organ".split(), "farm animals": "cow pig sheep goat horse chicken duck goose donkey".split(),
         "body parts": "head arm leg hand foot nose eye ear mouth knee elbow shoulder".split(), "tools": "hammer saw screwdriver drill pliers axe wrench file".split(),
         "clothes": "shirt trousers dress coat hat shoes socks gloves scarf jacket".split(), "vehicles": "car bus train bicycle ship plane tram lorry boat motorbike".split(),
         "trees": "oak birch pine maple beech willow apple fir".split(), "flowers": "rose tulip daisy lily sunflower violet poppy".split(), "shapes": "circle square triangle rectangle star oval".split(),
         "metals": "gold silver iron copper tin aluminium lead".split(), "even numbers": "2 4 6 8 10 12 14 16".split(), "odd numbers": "1 3 5 7 9 11 13 15".split(), "names": W.NAMES[:60],
         "languages": "English French German Spanish Italian Portuguese Chinese Japanese Arabic Russian Hindi".split(), "pets": "dog cat rabbit hamster goldfish parrot".split(), "rooms": "kitchen bedroom bathroom hall cellar attic".split(),
         "emotions": "joy sadness anger fear surprise love".split(), "hobbies": "reading painting cooking dancing hiking gardening fishing singing".split(), "wild animals": "lion tiger wolf bear elephant fox zebra giraffe".split()}


def listing(t):
    what = t.pick(list(LISTS))
    items = LISTS[what]
    ordered = what in ("planets", "months", "days", "seasons", "even numbers", "odd numbers")
    n = min(t.pick([1, 2, 3, 3, 3, 4, 5, 5, 6]), len(items))
    one = {"countries": "country", "countries in Europe": "country in Europe", "countries in Asia": "country in Asia", "countries in Africa": "country in Africa", "countries in South America": "country in South America", "clothes": "piece of clothing", "hobbies": "hobby"}.get(what, what[:-1])
    said = what.replace("colours", "colors") if t.chance(0.2) else what
    got = items[:n] if ordered else [items[i] for i in sorted(t.rng.sample(range(len(items)), n))]  # in one order, so that nothing comes twice
    if n == 1:
        x = got[0]
        known = {m.lower() for u in t.turns[-3:] for m in u.answer.replace(".", "").split()}
        if x.lower() in known:
            return None
        return Turn(t.say("{Name {a|one|any} $o.|Tell me a $o.|Give me a $o.|Can you name a $o?|Say a $o.|Think of a $o.}", o=one).replace(" a even", " an even").replace(" a odd", " an odd").replace(" a an", " an an").replace(" a in", " an in").replace(" a em", " an em"), t.say("{$X.|How about $x?|$X is one.}", X=cap(x), x=x), keep=(one,), short=cap(x), again=listing_one(what), extra=details(what, x))
    style = t.rng.randrange(4)
    text = {0: cap(join(got)) + ".", 1: ", ".join([cap(got[0])] + got[1:]) + ".", 2: "\n".join(f"{i + 1}. {cap(g)}" for i, g in enumerate(got)), 3: f"Here are {words(n)}: {join(got)}."}[style]
    want = t.say("{Name|List|Give me|Tell me|Can you name|Write down|I need} {$n|$w} $s{.|}", n=n, w=words(n), s=said)
    return Turn(want.rstrip(".") + "?" if want.startswith("Can") else want, text, keep=(said,), again=listing)


def details(what, x):
    """Tell me more about it, where there is more to tell."""
    for p in W.PLANETS:
        if what == "planets" and p["name"] == x:
            return [("{Tell me more|Tell me more about it|What do you know about it|What is it like|Describe it|Say more about it}", f"{x} is {p['about']}.")]
    for a in W.ANIMALS:
        if a["name"] == x:
            return [("{Tell me more|Tell me more about it|What do you know about it|What is it like|Describe it}", f"{cap(an(x))} is {an(a['kind'])}. It eats {a['food']} and is known for {a['known']}.")]
    for c in W.COUNTRIES:
        if c["name"] == x:
            return [("{Tell me more|Tell me more about it|What do you know about it|Describe it}", f"{cap(x)} is in {c['continent']}. Its capital is {c['capital']}.")]
    return ()


def listing_one(what):
    def again(t):
        x = t.pick(LISTS[what])
        return None if x.lower() in t.last.answer.lower() else Turn("", cap(x) + ".", short=cap(x), again=listing_one(what), extra=details(what, x))
    return again


def category(t):
    what = t.pick(["animals", "birds", "insects", "colours", "fruits", "vegetables", "drinks", "sports", "instruments", "tools", "clothes", "vehicles", "metals", "months", "days"])
    other = t.pick([k for k in ("animals", "colours", "fruits", "vegetables", "sports", "instruments", "tools", "clothes", "vehicles", "months") if k != what and not (what in ("birds", "insects") and k == "animals")])
    if t.chance(0.5):
        three, odd = t.rng.sample(LISTS[what], 3), t.pick(LISTS[other])
        four = three + [odd]
        t.rng.shuffle(four)
        return Turn(t.say("{Which one does not belong: $l?|Which word does not fit: $l?|Find the odd one out: $l.}", l=", ".join(four)), t.say("{$O does not belong: the others are $w.|$O, because the others are $w.}", O=cap(odd), w=what), keep=four, short=cap(odd), why=f"Because the others are {what}.", again=category)
    items = t.rng.sample(LISTS[what], 3)
    return Turn(t.say("{What do $a, $b and $c have in common?|What are $a, $b and $c?}", a=items[0], b=items[1], c=items[2]), t.say("{They are $w.|They are all $w.|All three are $w.}", w=what), keep=items, short=cap(what))
