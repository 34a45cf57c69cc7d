"""Common sense: what things are made of, used for, able to do; body, food, jobs; yes or no, this or that, more or less."""
from . import world as W
from .beings import ABSURD, ALIKE, BECAUSE, BODY, CAN, COUNTLESS, DOES, FEATURES, HELPERS, ISA, KINDS, MANY, MEALS, NEEDS, PRODUCTS, SINGLE, STATE, TASTE
from .facts import LISTS
from .lang import Turn, an, cap, words
from .matter import BEST, MADE, PAIRS, PLURAL, PROPS, RANKS, SEASONAL, UNITS, USES


def be(x):
    return "are" if x.split()[-1] in PLURAL else "is"


def bare(x):
    return x.split(" ", 1)[1] if x.startswith(("a ", "an ", "the ")) else x


def made(t):
    if t.chance(0.3):
        m = t.pick(list(USES))
        return Turn(cap(t.say("{What {can|do|could} {we|people|you|one|I} make {from|out of|of|with} $m?|What {is|can be|gets} made {of|from|out of} $m?|Name {something|a thing|some things} made {of|from} $m.|What {is|do we use|do people use} $m {good for|for}?|What {do you use $m for|is $m used for}?|{Which|What} things are {made |}{of|from} $m?|What do we need $m for?}", m=m).replace("is $m  for", "")),
                    t.say("{From $m people make $u.|People make $u {from|of} $m.|For example $u.|$M is used for $u.}" if m[-1] != "s" or m == "glass" else "{From $m people make $u.|For example $u.}", m=m, M=cap(m), u=USES[m]), keep=(m,))
    x, m = t.pick(MADE)
    b = be(x)
    if t.chance(0.12):
        main = m.split(",")[0].split(" or ")[0].split(" and ")[0].split(" that")[0]
        other = t.pick(["wood", "glass", "stone", "wool", "paper", "milk", "gold", "water", "leather", "cheese"])
        ok = t.chance(0.5)
        asked = main if ok else other
        if not ok and other in m:
            return None
        return Turn(cap(t.say("{$b $x made {of|from|out of} $o?|Is it true that $x $b made of $o?|Do people make $x from $o?}", b=b, x=x, o=asked)), (f"Yes, {x} {b} made of {m}." if ok else f"No, {x} {b} made of {m}."), keep=(x, asked), short="Yes" if ok else "No")
    return Turn(cap(t.say("{What $b $x made {of|from|out of}?|What {material|stuff|substance} $b $x made {of|from}?|{Of|From|Out of} what $b $x made?|{Which|What} material {do|would} {people|we|you} use {for|to make} $x?|What do {people|we|you|they} make $x {from|out of|of|with}?|$X $b made {of|from|out of} what?|What do you need to make $x?|What does one make $x from?|What goes into $x?|What $b in $x?}", b=b, x=x, X=cap(x))),
                cap(t.say("{$X $b {usually |mostly |}made {of|from} $m.|{Usually|Mostly} {of|from} $m.|$M.|From $m.}", X=cap(x), b=b, m=m, M=cap(m))), keep=(bare(x),), short=cap(m), again=made, more=("{And $x?|What about $x?|And what is $x made of?}", MADE, "{$X $b made of $m.|From $m.}"))


# noun | adjectives that fit (the other half of each pair does not)


def prop(t):
    """Is iron hard? Is it hard or soft? Which of two is hard?"""
    x, adjs = t.pick(PROPS)
    b = be(x)
    known = [a for a in adjs.split() if a in PAIRS]
    if not known:
        return None
    a = t.pick(known)
    o = PAIRS[a]
    k = t.rng.randrange(4)
    if k == 0:
        return Turn(cap(t.say("{$b $x $a?|$b $x {usually|really|normally} $a?|Would you say that $x $b $a?|Is it true that $x $b $a?|$x $b $a, right?|Does $x feel $a?}" if a in ("hot", "cold", "hard", "soft", "wet", "dry", "rough", "smooth") else "{$b $x $a?|$b $x {usually|really|normally} $a?|Would you say that $x $b $a?|Is it true that $x $b $a?}", b=b, x=x, a=a)), t.say("{Yes, $x $b $a.|Yes.|Yes, it is.|Yes, $x $b $a.}", x=x, b=b, a=a), keep=(bare(x), a), short="Yes")
    if k == 1:
        return Turn(cap(t.say("{$b $x $o?|$b $x {usually|really|normally} $o?|Would you say that $x $b $o?|Is it true that $x $b $o?}", b=b, x=x, o=o)), t.say("{No, $x $b $a.|No, $x $b not $o but $a.|No, it is $a.}", x=x, b=b, a=a, o=o), keep=(bare(x), o), short="No")
    if k == 2:
        p = [a, o] if t.chance(0.5) else [o, a]
        taste = a in ("sweet", "sour", "salty")
        return Turn(cap(t.say("{$b $x $p or $q?|$x: $p or $q?|What is $x, $p or $q?|Tell me, $b $x $p or $q?}" if not taste else "{$b $x $p or $q?|Does $x taste $p or $q?|How does $x taste, $p or $q?|$x: $p or $q?}", b=b, x=x, p=p[0], q=p[1])), t.say("{$X $b $a.|It is $a.|$A.}" if not taste else "{$X $b $a.|It tastes $a.|$A.}", X=cap(x), b=b, a=a, A=cap(a)), keep=(bare(x), a, o), short=cap(a))
    others = [r[0] for r in PROPS if o in r[1].split()]
    if not others or a in ("old", "young"):
        return None
    y = t.pick(others)
    p = [x, y] if t.chance(0.5) else [y, x]
    return Turn(cap(t.say("{Which {one |}is $a|What is $a|Which of them is $a}{, $p or $q?|: $p or $q?}", a=a, p=p[0], q=p[1])), t.say("{$X $b $a.|$X.}", X=cap(x), b=b, a=a), keep=(bare(x), bare(y)), short=cap(x))


# dimension: more, most, less, least | the question word | things from little to much


def compare(t):
    more, less, things = t.pick(RANKS)
    things = things.split(",")
    lo, hi = sorted(t.rng.sample(range(len(things)), 2))
    big, small = things[hi], things[lo]
    up = t.chance(0.6)
    w = t.pick(more.split()) if up and " " in more and "expensive" not in more and "away" not in more else t.pick(less.split()) if not up and "less" not in less else more if up else less
    right, left = (big, small) if up else (small, big)
    a, b = (right, left) if t.chance(0.5) else (left, right)
    k = t.rng.randrange(5)
    if k <= 1:
        base = {"heavier": "weighs more", "faster": "moves faster", "quicker": "goes quicker", "lighter": "weighs less", "more expensive": "costs more", "cheaper": "costs less", "longer": "takes longer"}.get(w) if t.chance(0.3) else None
        if base and "takes" in base and "hour" not in things[2]:
            base = None
        verb = base or f"is {w}"
        return Turn(cap(t.say(t.pick(["{Which|What|Which one|Which thing|Which of the two} $v{, $a or $b?|: $a or $b?| - $a or $b?}"] * 3 + ["$a or $b{: which is $w?|, which is $w?|, what is $w?}", "{Who|Which one} $v, $a or $b?"]), v=verb, w=w, a=a, b=b)),
                    cap(t.say("{$R is $w.|$R is $w than $l.|$R.|$R is $w than $l.}", R=cap(right), w=w, l=left)), keep=(bare(a), bare(b), w), short=cap(right), again=compare)
    ok = a == right
    return Turn(cap(t.say("{Is $a $w than $b?|Is it true that $a is $w than $b?|$a is $w than $b, isn't it?|Would you say that $a is $w than $b?|Do you think $a is $w than $b?}", a=a, b=b, w=w)),
                f"Yes, {a} is {w} than {b}." if ok else t.say("{No, $a is not $w than $b.|No, $r is $w than $l.}", a=a, b=b, w=w, r=right, l=left), keep=(bare(a), bare(b), w), short="Yes" if ok else "No", again=compare)


def third(verb):
    """live in water -> lives in water"""
    v, _, rest = verb.partition(" ")
    v = {"have": "has", "be": "is", "fly": "flies", "carry": "carries", "cry": "cries", "catch": "catches", "do": "does", "teach": "teaches", "cross": "crosses", "hiss": "hisses"}.get(v, v + "s")
    return f"{v} {rest}".strip()


def able(t):
    """Can dogs fly? Do trees have leaves? Is there a dog that can read?"""
    who = t.pick(list(CAN))
    yes, no = (x.split("|") for x in CAN[who])
    ok = t.chance(0.5)
    v = t.pick(yes if ok else no)
    one = SINGLE[who]
    state = v.startswith(STATE)
    if v.startswith("be "):
        ask, yes_a, no_a = "{Are|Can} $p $r?", f"Yes, {who} can be {v[3:]}.", f"No, {who} are not {v[3:]}."
        return Turn(cap(t.say("{Can $p be $r?|Is it possible for $p to be $r?|Can $x be $r?}", p=who, x=one, r=v[3:])), yes_a if ok else no_a, keep=(who, bare(one)), short="Yes" if ok else "No")
    if state or t.chance(0.3):
        ask = t.say("{Do $p $v?|Does $x $v?|Do {all |most |}$p $v?|Is it true that $p $v?|Do you think $p $v?|$p $v, don't they?}", p=who, x=one, v=v)
        yes_a, no_a = t.say("{Yes, $p $v.|Yes, they do.|Yes.|Yes, $p $v.}", p=who, v=v), t.say("{No, $p do not $v.|No, they do not.|No.|No, $p do not $v.}", p=who, v=v)
    else:
        ask = t.say("{Can $p $v?|Can $x $v?|Are $p able to $v?|Is $x able to $v?|Is it true that $p can $v?|Could $x $v?|Do you think $p can $v?}", p=who, x=one, v=v)
        yes_a, no_a = t.say("{Yes, $p can $v.|Yes, $x can $v.|Yes, they can.|Yes.}", p=who, x=one, v=v), t.say("{No, $p cannot $v.|No, $x cannot $v.|No, they cannot.|No.}", p=who, x=one, v=v)
    return Turn(cap(ask), yes_a if ok else no_a, keep=(who, bare(one)) + tuple(v.split()), short="Yes" if ok else "No", again=able)


def kind(t):
    """Is a rose a flower? Is Monday a month? What is a rose?"""
    c = t.pick(list(KINDS))
    x = t.pick(LISTS[c])
    if " " in x and c not in ("countries",):
        return None
    plural = x in ("trousers", "shoes", "socks", "gloves", "scissors", "pliers")
    n = x if c in COUNTLESS or plural else an(x)
    b = "are" if plural else "is"
    k = KINDS[c]
    if t.chance(0.25):
        return Turn(cap(t.say("{What {kind|sort|type} of thing is $n?|What is $n: a thing, an animal or what?|What do you call things like $n?|Which group does $n belong to?}", n=n)), t.say("{$N $b $k.|$K.|It is $k.}" if not plural else "{$N are clothes.}", N=cap(n), b=b, k=an(k), K=cap(an(k))), keep=(x,))
    if t.chance(0.5):
        return Turn(cap(t.say("{$b $n $k?|$b $n really $k?|Do you call $n $k?|Is it right that $n $b $k?|Does $n count as $k?}", b=b, n=n, k=an(k))), t.say("{Yes, $n $b $k.|Yes.|Yes, it is.}", n=n, b=b, k=an(k)), keep=(x, k), short="Yes", why=BECAUSE.get(k))
    o = t.pick([o for o in KINDS if o != c and x not in LISTS[o] and not ({o, c} <= {"animals", "birds", "insects"}) and not ({o, c} <= {"fruits", "trees", "colours", "flowers", "vegetables", "metals"}) and not ({o, c} <= {"languages", "countries"})])
    return Turn(cap(t.say("{$b $n $o?|$b $n really $o?|Do you call $n $o?|Does $n count as $o?}", b=b, n=n, o=an(KINDS[o]))), t.say("{No, $n $b $k.|No, $n $b not $o but $k.}", n=n, b=b, k=an(k), o=an(KINDS[o])), keep=(x, KINDS[o]), short="No")


def absurd(t):
    a, w = t.pick([x for x in W.ANIMALS if x["name"] not in ("ant", "fly", "spider", "mosquito", "worm", "crab")])["plural"], t.pick(ABSURD)
    if a in ("whales", "sharks", "octopuses", "dolphins", "salmon", "snails", "mice", "bees", "ladybirds", "eagles", "goldfish", "seals", "turtles", "cats"):
        return None
    if t.chance(0.5):
        return Turn(t.say("{Are there|Do you find|Can one find|Are there any|Do you see} $a $w?", a=a, w=w), t.say("{No, there are no $a $w.|No, you will not find $a $w.}", a=a, w=w), keep=(a,), short="No")
    return Turn(t.say("Do $a live $w?", a=a, w=w), t.say("{No, $a do not live $w.|No, they do not.}", a=a, w=w), keep=(a,), short="No")


def many(n):
    return MANY.get(n, n + "s")


def body(t):
    n, where, use, count = t.pick(BODY)
    p = many(n)
    group = count != "one" and n not in ("skin", "hair")
    k = t.rng.randrange(8)
    x = p if group and t.chance(0.7) else "the " + n
    b = "are" if x == p and group else "is"
    d = "do" if b == "are" else "does"
    verb = use.split(" and ")[0]
    if k <= 1:
        return Turn(cap(t.say("{What $b {our |your |my |}$z {good |there |}for?|What do {we|people|you|I} {use|need|have} {our|the|my|your} $z for?|Why do {we|people} {have|need} $z?|What $d {our|the|your} $z do?|What can {we|you} do with {our|the|your} $z?|What is the {job|use|purpose} of the $n?}", b=b, d=d, z=p if b == "are" else n, n=n).replace("have nose", "have a nose").replace("need nose", "need a nose")),
                    t.say("{We use the $n to $u.|To $u.|With the $n we $u.|We need it to $u.}" if b == "is" else "{We use our $p to $u.|To $u.|With our $p we $u.|We need them to $u.}", n=n, p=p, u=use), keep=(n, p))
    if k <= 3:
        if n in ("hair", "chin", "head", "arm", "shoulder", "muscle", "liver"):
            return None
        y = f"the {n}" if not group else f"the {p}"
        return Turn(cap(t.say("{{Which|What} {part of the body|body part|part of us|organ} {do we $v with|do we use to $v|lets us $v|helps us to $v|is for $g}?|With {what|which part of the body} do {we|people|you} $v?|What do {we|people|you|I} $v with?|What do {we|people} {use|need} to $v?|What {makes us|lets us} $v?|Which organ {can $v|is there to $v}?}", v=verb, g=gerund(verb))),
                    t.say("{We $v with $y.|$Y.|With $y.|We use $y to $v.}", v=verb, y=y, Y=cap(y)), keep=tuple(verb.split()), short=cap(y))
    if k <= 5:
        y = f"the {n}" if not group else t.pick([f"the {n}", f"the {p}", f"my {p}", f"our {p}"])
        b2 = "are" if y.split()[-1] == p and group else "is"
        return Turn(cap(t.say("{Where $b $y?|Where {on|in} {the|my} body $b $y?|Where do I find $y?|In which part of the body $b $y?|Tell me where $y $b.}", b=b2, y=y)), t.say("{$Y $b $w.|It is $w.|$W.}" if b2 == "is" else "{$Y $b $w.|They are $w.|$W.}", Y=cap(y.replace("my ", "the ").replace("our ", "the ")), b=b2, w=where, W=cap(where)), keep=(n, p))
    if where.startswith("between") and t.chance(0.6):
        a, c = where[len("between the "):].split(" and the ")
        return Turn(cap(t.say("{What {is|lies|sits} between the $a and the $c?|What {joins|connects|links} the $a {and|to|with} the $c?|{Which|What} {part of the body|joint} is between {the|my} $a and {the|my} $c?|What is the part between the $a and the $c called?}", a=a, c=c)), t.say("{The $n.|The $n is between the $a and the $c.|That is the $n.}", n=n, a=a, c=c), keep=(a, c), short="The " + n)
    if count == "one":
        return None
    if n in ("finger", "toe", "thumb"):
        part = "foot" if n == "toe" else "hand"
        per = 1 if n == "thumb" else 5
        if t.chance(0.6):
            return Turn(cap(t.say("{How many $p {are|do we have} on {one|a|each} $h?|How many $p does {one|a|each} $h have?|How many $p has a $h {got|}?|A $h has how many $p?}", p=p if per > 1 else p, h=part)), t.say("{A $h has $c $z.|$C.|There are $c $z on one $h.}" if per > 1 else "{A hand has one thumb.|One.}", h=part, c=words(per), C=cap(words(per)), z=p), keep=(n, part), short=cap(words(per)))
    return Turn(cap(t.say("{How many $p {does a {person|human|man|woman} have|do {we|people|you|humans} have|has a {person|human} got|are there in the body}?|What is the number of $p that a person has?|Tell me how many $p {people|we} have.}", p=p)), t.say("{A person has $c $p.|People have $c $p.|$C.|We have $c $p.}", c=count, p=p, C=cap(count)), keep=(n, p), short=cap(count))


def gerund(verb):
    v, _, rest = verb.partition(" ")
    v = v if v.endswith("ee") else v[:-1] if v.endswith("e") else v
    v += v[-1] if v in ("grip", "run", "chop") else ""
    return f"{v}ing {rest}".strip()


def creature(t):
    """Which animal has / does / gives this."""
    k = t.rng.randrange(3)
    if k == 0:
        x, source, one = t.pick(PRODUCTS)
        alive = one not in ("tree", "plant", "vine", "oyster")
        return Turn(cap(t.say("{Where does $x come from?|Where do we get $x {from|}?|What does $x come from?|Where is $x from?|From {what|where} do we get $x?|How do we get $x?|Who {gives|makes} us $x?|{Which|What} animal {gives|makes|brings} {us |}$x?|{From|Of} which animal {is|comes} $x?|{Which|What} animals {give|make} $x?}" if alive else "{Where do we get $x {from|}?|What do we get $x from?|From what do we get $x?|Where do I find $x in nature?}", x=x)),
                    cap(t.say("{$X {comes|come} from $s.|We get $x from $s.|From $s.}", x=x, X=cap(x), s=source)).replace("gs come from", "gs come from"), keep=(x,), short=cap(source))
    f, a, full = t.pick(FEATURES if k == 1 else DOES)
    have = f"has {f}" if k == 1 else f
    if k == 1 and t.chance(0.3):
        on = " on its back" if "back" in f else " on its nose" if "nose" in f else ""
        return Turn(cap(t.say("{What does {a|the} $a {have|carry|wear}$o?|What is special about {a|the} $a?|What is {a|the} $a known for?|What is remarkable about {a|the} $a?|What does {a|the} $a look like?}", a=a, o=on)).replace(" a elephant", " an elephant").replace(" a octopus", " an octopus"), cap(full) + ".", keep=(a,))
    return Turn(cap(t.say("{{Which|What} animal $h?|{Which|What} animal is it that $h?|Who $h?|I am looking for an animal that $h.|Which creature $h?|{Name|Tell me} an animal {that|which} $h.|Guess the animal: it $h.|What do you call the animal {that|which} $h?}", h=have)), t.say("{$F.|The $a.|That is the $a.|It is the $a.}", F=cap(full), a=a), keep=tuple(f.split()), short="The " + a)


def food(t):
    k = t.rng.randrange(5)
    if k <= 1:
        what, need = t.pick(NEEDS)
        me = what.replace("my ", "your ")
        return Turn(cap(t.say("{What do {I|you|we|people} need {to|if I want to|when I} $w?|What is {needed|necessary} to $w?|What {should I|must I|do I have to} {have|get|buy} to $w?|{Which|What} things do I need {to|in order to} $w?|With what {do|can} {I|you|we} $w?|What do {I|you|we|people} $w with?|I want to $w. What do I need?|What do you use to $w?|What does one need to $w?}", w=what).replace("when I to", "to")),
                    t.say("{You need $n.|To $m you need $n.|$N.|For that you need $n.}", m=me, n=need, N=cap(need)), keep=tuple(what.split()))
    if k <= 3:
        when, dish = t.pick(MEALS)
        inside = when.startswith(("in a", "on a pizza", "on bread", "with", "in my"))
        return Turn(cap(t.say("{What {can|could|should} {I|we|one} {eat|have} $w?|What {do|would} {you|people} {eat|have} $w?|What is {good|nice|tasty} $w?|What do people eat $w?|Any ideas {for something to eat|for food} $w?|What shall I eat $w?}" if not inside else "{What {can|could|should} {I|we} put $w?|What {goes|tastes good|fits|is good} $w?|What do people {put|eat} $w?|What {belongs|is} $w?|What goes well $w?}", w=when).replace("goes well in a", "goes well into a")),
                    t.say("{How about $d?|For example $d.|$D.|Perhaps $d.|Many people like $d.}", d=dish, D=cap(dish)), keep=tuple(when.split()))
    x, taste = t.pick(list(TASTE.items()))
    x = x.replace("_", " ")
    do = "do" if x[-1] == "s" else "does"
    other = t.pick([o for o in ("sweet", "sour", "salty", "bitter") if o != taste])
    p = [taste, other] if t.chance(0.5) else [other, taste]
    return Turn(cap(t.say("{What {do|does} $x taste like?|How $d $x taste?|What taste $d $x have?|$D $x taste $p or $q?|Which taste $d $x have?|What is the taste of $x?|Is the taste of $x $p or $q?}", d=do, D=do, x=x, p=p[0], q=p[1]).replace("do " + x if do == "does" else "does " + x, do + " " + x)), t.say("{$X {taste|tastes} $t.|$T.|They taste $t.}" if do == "do" else "{$X tastes $t.|$T.|It tastes $t.}", X=cap(x), t=taste, T=cap(taste)).replace("s tastes", "s taste"), keep=(x,), short=cap(taste))


def job(t):
    n, trouble, does, tool = t.pick(HELPERS)
    x, k = an(n), t.rng.randrange(6)
    alike = {"postman": "mailman", "hairdresser": "barber", "firefighter": "fireman", "police officer": "policeman"}
    if k == 0:
        return Turn(cap(t.say("{Who {can|should|could|will} {help me|I call|help|I go to|I ask} {when|if} $t?|$T. {Who|Which person|Whom} {can|should} {help|I call|I ask|I go to}?|{When|If} $t, who {helps|can help}?|Who {should|do} I {see|call|visit} {when|if} $t?}", t=trouble, T=cap(trouble))),
                    t.say("{$X can help.|$X.|Ask $x.|You should {ask|call|see} $x.}", X=cap(x), x=x), keep=tuple(trouble.split()), short=cap(x))
    if k <= 2:
        return Turn(cap(t.say("{Who $d?|Who is it that $d?|{What|How} do {you|we} call {someone|somebody|a person|the person|the man or woman} {who|that} $d?|{Which|What} {job|profession} {is it when one|has someone who|does a person have who} $d?|What is the name {for|of} {somebody|a person} who $d?|A person who $d is called what?}", d=does)), t.say("{$X.|$X $d.|That is $x.|$X does that.|That is the job of $x.}", X=cap(x), x=x, d=does), keep=tuple(does.split()), short=cap(x))
    if t.chance(0.3) and n in alike:
        x = an(alike[n])
    if k == 3:
        return Turn(cap(t.say("{What does $x do?|What does $x do all day?|What {is|'s} the {job|work|task} of $x?|What do {$p|people who are $p} do?|What is $x for?|What {work|things} does $x do?|Explain what $x does.}", x=x, p=many(x.split(" ", 1)[1]) if not x.endswith("man") else x.split(" ", 1)[1][:-3] + "men").replace("What 's", "What's")), t.say("{$X $d.|$X is a person who $d.|Such a person $d.}", X=cap(x), d=does), keep=(n,))
    if k == 4:
        return Turn(cap(t.say("{What does $x {work with|use|need|work with}?|{Which|What} {tools|things} does $x {use|need|have}?|What {do|does} $x need for {the|that} {work|job}?|With what does $x work?}", x=x).replace("do " + x, "does " + x)), t.say("{$X works with $w.|With $w.|$X uses $w.}", X=cap(x), w=tool), keep=(n,))
    other = t.pick([r for r in HELPERS if r[0] != n])
    ok = t.chance(0.5)
    d = does if ok else other[2]
    return Turn(cap(t.say("{Is it $x who $d?|Does $x do that: someone who $d?|Is it true that $x $d?}", x=x, d=d)), f"Yes, {x} {does}." if ok else f"No, {x} {does}.", keep=(n,), short="Yes" if ok else "No")


def unit(t):
    whole, n, part = t.pick(UNITS)
    have = t.say("{How many $p {does $w have|has $w|has $w got|are {there |}in $w|make {up |}$w|are there in $w|belong to $w}?|$W has how many $p?|What is the number of $p in $w?|Of how many $p does $w consist?|Do you know how many $p $w has?|Can you tell me how many $p there are in $w?|If I count the $p of $w, how many are there?}", p=part, w=whole, W=cap(whole))
    return Turn(cap(have), t.say("{$W has $n $p.|There are $n $p in $w.|$N.|$N $p.}", W=cap(whole), w=whole, n=n, N=cap(n), p=part), keep=(whole.split()[-1], part), short=cap(n), again=unit)


def best(t):
    kind, what, is_ = t.pick(BEST)
    desc = t.say(is_.strip()).strip()
    when = desc.startswith("when ")
    if when:
        ask = t.say("{Which season is it|What season is it|What time of the year is it|Which season do we have} $d?", d=desc)
    else:
        ask = t.say("{{Which|What} $k is $d?|{Which|What} of the $q is $d?|{Which|What} is the $k that is $d?|{Tell me|Name} the $k that is $d.|What do we call the $k that is $d?|I am looking for the $k that is $d.}",
                    k=kind, q={"country": "countries"}.get(kind, kind + "s"), d=desc)
    return Turn(cap(ask), t.say("{$W.|It is $w.|$W is $d.|That is $w.}" if not when else "{$W.|It is $w.|In $w.|That is $w.}", W=cap(what), w=what, d=desc), keep=tuple(desc.split()), short=cap(what), again=best)


def season(t):
    r = t.pick(SEASONAL)
    s, what = r[0], t.pick(r[1:])
    return Turn(cap(t.say("{In {which|what} season {is it that $w|do we say that $w}?|{Which|What} season is it when $w?|When is it that $w?|In which part of the year is it that $w?|What is the season {in which|when} $w?}", w=what) if t.chance(0.5) else did(t, what)), t.say("{In $s.|That is in $s.|In $s, because then $w.|$S.}", s=s, S=cap(s), w=what), keep=tuple(what.split()), short=cap(s))


def did(t, what):
    """the leaves fall -> In which season do the leaves fall?"""
    lead = t.pick(["In which season", "In what season", "When", "At which time of the year", "In what part of the year"])
    for verb, do in ((" is", "is"), (" are ", "are"), (" is ", "is")):
        if verb in what + " ":
            a, _, b = what.partition(verb.rstrip() if what.endswith(verb.strip()) else verb)
            return f"{lead} {do} {a.strip()}{' ' + b.strip() if b.strip() else ''}?"
    if what == "it snows":
        return f"{lead} does it snow?"
    parts = what.replace("it gets", "it get").split(" ")
    does = "does" if what.startswith("it ") else "do"
    return f"{lead} {does} {' '.join(parts)}?"


def place(t):
    """Countries and continents once more, by yes and no and by the way round."""
    c = t.pick(W.COUNTRIES)
    n, k = c["name"], t.rng.randrange(6)
    if " and " in c["continent"]:
        return None
    if k <= 1:
        ok = t.chance(0.5)
        o = c["continent"] if ok else t.pick([x for x in W.CONTINENTS if x != c["continent"]])
        return Turn(cap(t.say("{Is $n in $o?|Is $n {a country in|part of|on the continent of} $o?|Does $n {belong to|lie in} $o?|Do I find $n in $o?|Is it right that $n is in $o?}", n=n, o=o)), f"Yes, {n} is in {o}." if ok else t.say("{No, $n is in $c.|No, $n is not in $o but in $c.}", n=n, o=o, c=c["continent"]), keep=(n, o), short="Yes" if ok else "No")
    if k == 2:
        cap_ = c["capital"]
        return Turn(cap(t.say("{$c is the capital of {which|what} country?|{In|To} {which|what} country {is|lies|belongs} $c?|{Which|What} country {has|is ruled from} $c {as its capital|}?|{What|Which} country's capital is $c?|Where {is|would I find} $c?|If I am in $c, {in which country|where} am I?|$c is {the capital of|in} ...?|Whose capital is $c?|I am travelling to $c. Which country is that?|{Which|What} country does $c belong to?}", c=cap_)), t.say("{$c is {the capital of|in} $n.|$N.|In $n.|$c is the capital of $n.}", c=cap_, n=n, N=cap(n)), keep=(cap_,), short=cap(n), topic=("country", c))
    if k == 3:
        return Turn(cap(t.say("{Which city is {the capital of $n|$n's capital}?|What is {the name of the capital of $n|the capital city of $n|$n's capital city|the capital of $n called}?|The capital of $n is {called what|which city|what}?|{I need|Tell me|Say|I would like to know|Please give me} the {name of the |}capital {city |}of $n.|$n: capital?|What's {$n's capital|the capital city of $n} {called|again}?|{How|What} is the capital of $n called?|{Which|What} {is|would be} the main city of $n?|From which city is $n ruled?}", n=n)), t.say("{The capital of $n is $c.|$c.|It is $c.|$c is the capital of $n.}", n=n, c=c["capital"]), keep=(n,), short=c["capital"], topic=("country", c))
    if k == 4:
        return Turn(cap(t.say("{On {which|what} continent {is|lies|do I find} $n?|{Which|What} continent {is $n {on|in|part of}|does $n {belong to|lie on|lie in}}?|$n {is|lies} {on|in} which continent?|To which continent does $n belong?|In which part of the world is $n?|What's the continent of $n?}", n=n)), t.say("{$N is in $k.|$N lies in $k.|In $k.|$k.}", N=cap(n), k=c["continent"]), keep=(n,), short=c["continent"], topic=("country", c))
    l = c["language"]
    return Turn(cap(t.say("{{What|Which} language {is spoken|do people speak|do they speak|does one speak|is used} in $n?|What do {people|they} speak in $n?|How do people talk in $n?|In $n, what language do people speak?|Which language should I learn for $n?|I am going to $n. {What|Which} language do they speak there?}", n=n)), t.say("{In $n people speak $l.|People speak $l there.|$L.}", n=n, l=l, L=cap(l)), keep=(n,), short=l)


def isa(t):
    x, k = t.pick(ISA)
    near = [g for g in ALIKE if k in g]
    ok = t.chance(0.5)
    o = k if ok else t.pick(sorted(near[0] - {k})) if near and t.chance(0.75) else t.pick([r[1] for r in ISA if r[1] != k])
    if not ok and o in ("food", "material", "machine", "liquid", "game", "text", "doctor for the teeth") or " of " in o and not ok:
        return None
    bare_ = ("frozen water",)
    a = lambda y: y if y in bare_ else an(y)
    return Turn(cap(t.say("{Is $x $o?|Is $x really $o?|Would you call $x $o?|Is it true that $x is $o?|$x is $o, isn't it?|Do you call $x $o?}", x=x, o=a(o))), t.say("{Yes, $x is $k.|Yes, it is.|Yes.|Yes, $x is $k.}" if ok else "{No, $x is $k.|No, $x is not $o but $k.|No, it is $k.}", x=x, k=a(k), o=a(o)), keep=(bare(x), o), short="Yes" if ok else "No", why=BECAUSE.get(k))


ALL = [(isa, 3), (made, 5), (prop, 4), (compare, 6), (able, 7), (kind, 4), (absurd, 0.7), (body, 5), (creature, 5), (food, 5), (job, 5), (unit, 3), (best, 3.5), (season, 1.5), (place, 5)]
