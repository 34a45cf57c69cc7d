"""Letters, words and sums in many more wordings; word problems."""
from . import coin, maths
from .lang import Turn, an, cap, join, words
from .things import OPPOSITES, PLURALS, RHYMES
from .world import ANIMALS, COLOURS, COUNTRIES, FOODS, NAMES, WOMEN

VOCAB = sorted(set(maths.LEXICON) | {w.lower() for w in """kitchen bedroom teacher doctor yellow brother sister mother father morning evening night today tomorrow people animal letter number little
great small world country street money table chair paper pencil winter summer spring autumn monday tuesday wednesday thursday friday saturday sunday january february march april july august september
october november december cloud storm thunder island mountain forest desert beach bridge castle tower church market station ticket train plane ship boat truck wheel engine hammer needle button
pocket jacket shirt trousers socks shoes gloves scarf mirror candle lamp window door floor wall roof garden flower grass tree leaf branch root seed stone sand metal gold silver iron wood glass
bread butter cheese milk honey sugar salt pepper soup salad dinner breakfast lunch supper apple banana cherry grape lemon orange peach pear plum tomato potato carrot onion garlic
lion tiger bear wolf rabbit mouse horse sheep goat chicken duck goose eagle robin snake turtle shark whale dolphin spider butterfly king queen prince princess knight dragon wizard
heart brain finger shoulder stomach tongue tooth music guitar violin piano drum dance story poem song picture colour circle square triangle beautiful happy angry tired hungry thirsty clever
question answer language computer keyboard program chat model token screen school pupil lesson history science nature weather rain snow wind sun moon star planet earth""".split()} | {c for c in COLOURS})
BY = {}
for w in VOCAB:
    BY.setdefault(w[0], []).append(w)
ANIMAL_BY = {}
for a in ANIMALS:
    ANIMAL_BY.setdefault(a["name"][0], []).append(a["name"])
COUNTRY_BY, FOOD_BY, NAME_BY = {}, {}, {}
for c in COUNTRIES:
    COUNTRY_BY.setdefault(c["name"].removeprefix("the ")[0].lower(), []).append(c["name"])
for f in FOODS:
    FOOD_BY.setdefault(f["name"][0], []).append(f["name"])
for n in NAMES:
    NAME_BY.setdefault(n[0].lower(), []).append(n)
ORD = "first second third fourth fifth sixth seventh eighth ninth tenth".split()


def any_word(t):
    r = t.rng.random()
    return t.pick(VOCAB) if r < 0.6 else coin.word(t) if r < 0.75 else t.pick(NAMES) if r < 0.9 else t.pick(coin.PLAIN)


def quoted(t, w):
    return t.say("{$w|$w|\"$w\"|the word $w|the word \"$w\"|'$w'}", w=w)


def letter(t):
    w = any_word(t)
    q, k = quoted(t, w), t.rng.randrange(6)
    if w in NAMES and t.chance(0.4):
        q = t.say("{the name $w|my name, $w|$w}", w=w)
    if k <= 1:
        a = w[0].upper()
        return Turn(cap(t.say("{{What|Which} letter {does $q {start|begin} with|is at the {start|beginning} of $q|comes first in $q|stands first in $q}?|{What|Which} is the first letter {of|in} $q?|{With|By} {what|which} letter does $q {begin|start}?|How does $q {begin|start}?|$Q {begins|starts} with {which|what} letter?|{Tell me|Give me|Say|Name} the first letter of $q.|First letter of $q?|The first letter of $q, please.|$Q: first letter?}", q=q, Q=cap(q))),
                    t.say("{$a.|The first letter of $w is $a.|$W {begins|starts} with $a.|It is $a.|With $a.}", a=a, w=w, W=cap(w)), keep=(w,), short=a)
    if k <= 3:
        a = w[-1].upper()
        return Turn(cap(t.say("{{What|Which} letter {does $q {end|finish|stop} with|is at the end of $q|comes last in $q|stands last in $q}?|{What|Which} is the {last|final} letter {of|in} $q?|{With|In|On} {what|which} letter does $q end?|How does $q end?|$Q {ends|finishes} {with|in|on} {which|what} letter?|{Tell me|Give me|Say|Name} the {last|final} letter of $q.|Last letter of $q?|The last letter of $q, please.|$Q: last letter?}", q=q, Q=cap(q))),
                    t.say("{$a.|The last letter of $w is $a.|$W ends with $a.|It is $a.|With $a.}", a=a, w=w, W=cap(w)), keep=(w,), short=a)
    if k == 4:
        b = t.pick(list(BY))
        w = t.pick(BY[b])
        kind, table = t.pick([("word", BY), ("word", BY), ("animal", ANIMAL_BY), ("country", COUNTRY_BY), ("food", FOOD_BY), ("name", NAME_BY)])
        if b not in table:
            return None
        w = t.pick(table[b])
        return Turn(t.say("{{Tell me|Give me|Name|Say|Write|Find|I need|Think of|Do you know|Can you {name|think of|tell me|give me}} $k {that {starts|begins} with|{starting|beginning} with|which begins with|with the first letter} {$B|the letter $B|an $B|$b}.|{Which|What} $o {starts|begins} with {$B|the letter $B}?|$K with $B?}", k=an(kind), K=cap(an(kind)), o=kind, B=b.upper(), b=b).replace("an B", "a B").replace("an C", "a C").replace("an D", "a D").replace("an G", "a G").replace("an P", "a P").replace("an T", "a T").replace("an W", "a W"),
                    t.say("{$W.|$W starts with $B.|How about $w?|For example $w.}", W=cap(w), w=w, B=b.upper()), keep=(kind,), short=cap(w))
    if len(w) > 9:
        return None
    i = t.rng.randrange(1, min(len(w), 10))
    return Turn(cap(t.say("{What is the $o letter of $q?|{Which|What} letter is the $o {one |}in $q?|Tell me the $o letter of $q.}", o=ORD[i], q=q)), t.say("{$a.|The $o letter of $w is $a.|It is $a.}", a=w[i].upper(), o=ORD[i], w=w), keep=(w,), short=w[i].upper())


def spell(t):
    w = any_word(t)
    q, k = quoted(t, w), t.rng.randrange(8)
    l = "-".join(w).upper()
    if k <= 4:
        return Turn(cap(t.say("{How {do you|do I|does one|would you|do we} {spell|write} $q?|How is $q {spelled|spelt|written}?|{Spell|Please spell|Can you spell|Could you spell|Will you spell|Spell out} $q{| for me| please|, letter by letter|, please}.|{Say|Write|Give me|Tell me|List|Show me} {the letters of $q|the letters in $q {one by one|one after another}}.|{What are|Which are} the letters {of|in} $q?|I {don't know|forgot|never know|am not sure} how to {spell|write} $q.|What is the spelling of $q?|Spelling of $q?|$Q - how is that spelled?|{Which|What} letters {make up|are in|does one need for} $q?|Help me {spell|to spell|write} $q.}", q=q, Q=cap(q))).replace("Can you spell" + q + ".", "Can you spell" + q + "?"),
                    t.say("{$l|$l.|$W is spelled $l.|It is spelled $l.|$W: $l.}", W=cap(w), l=l), keep=(w,))
    if k == 5:
        back = "-".join(w[::-1]).upper()
        if len(w) > 6:
            return None
        return Turn(cap(t.say("{Spell $q backwards.|How is $q spelled backwards?|Write $q backwards.|What is $q backwards?|Turn $q around, letter by letter.}", q=q)), t.say("{$b|$b.}", b=back), keep=(w,))
    n = len(w)
    return Turn(cap(t.say("{How many letters are {there |}in $q?|How many letters does $q have?|How many letters has $q {got|}?|Count the letters {in|of} $q.|How long is $q?|What is the number of letters in $q?|$Q has how many letters?|Number of letters in $q?}", q=q, Q=cap(q))),
                t.say("{$l: $n letters.|$l. That makes $n.|$W: $l, $n letters.|$l, so $n.}", W=cap(w), n=words(n), N=cap(words(n)), l=l), keep=(w,), short=cap(words(n)))


def alphabet(t):
    k, i = t.rng.randrange(9), t.rng.randrange(0, 25)
    a, b = chr(65 + i), chr(66 + i)
    if k == 0:
        return Turn(t.say("{{What|Which} letter {comes|is|stands} {right |directly |}after {$a|the letter $a}{ in the alphabet|}?|{What|Which} {letter |}follows {$a|the letter $a}{ in the alphabet|}?|{Which|What} is the next letter after $a?|The letter after $a?|After $a comes which letter?|{Name|Tell me} the letter after $a.|$a is followed by which letter?}", a=a), t.say("{$b.|After $a comes $b.|$b {comes after|follows} $a.|It is $b.}", a=a, b=b), short=b)
    if k == 1:
        return Turn(t.say("{{What|Which} letter {comes|is|stands} {right |directly |just |}before {$b|the letter $b}{ in the alphabet|}?|{Which|What} letter precedes $b?|The letter before $b?|Before $b comes which letter?|{Name|Tell me} the letter before $b.|{Which|What} is the letter in front of $b?}", b=b), t.say("{$a.|Before $b comes $a.|$a comes before $b.|It is $a.}", a=a, b=b), short=a)
    if k == 2:
        return Turn(*t.pick([(t.say("{What is|What's|Which is} the {last|final} letter {of|in} {the|our} alphabet?"), "Z."), (t.say("{What is|What's|Which is} the first letter {of|in} {the|our} alphabet?"), "A."),
                             (t.say("{How many letters {are there in|does|has} the {English |}alphabet{ have|}?|How many letters are in {the|our} alphabet?|Number of letters in the alphabet?|{How long is|Count the letters of} the alphabet?}").replace("has the alphabet have", "has the alphabet").replace("there in the alphabet have", "there in the alphabet").replace("there in the English alphabet have", "there in the English alphabet"), t.say("{There are 26 letters in the alphabet.|The alphabet has 26 letters.|26.|26 letters.}")),
                             (t.say("{How many vowels are there|What are the vowels|Name the vowels|List the vowels}?"), "There are five vowels: A, E, I, O and U.")]))
    if k == 3:
        n = t.rng.randrange(2, 8)
        if t.chance(0.5):
            return Turn(t.say("{{Say|Tell me|List|Write|Give me|Name|What are} the first $n letters {of|in} the alphabet.|How does the alphabet begin? The first $n letters, please.|The first $n letters of the alphabet?}", n=words(n)).replace("What are the first " + words(n) + " letters of the alphabet.", "What are the first " + words(n) + " letters of the alphabet?"), t.say("{$l.|$l|They are $l.}", l=", ".join(chr(65 + j) for j in range(n))))
        return Turn(t.say("{{Say|Tell me|List|Write|Give me|Name} the last $n letters {of|in} the alphabet.|The last $n letters of the alphabet?}", n=words(n)), ", ".join(chr(91 - n + j) for j in range(n)) + ".")
    pool = t.pick([VOCAB, VOCAB, [x["name"] for x in ANIMALS], [x["name"] for x in FOODS], COLOURS, NAMES, [c["name"] for c in COUNTRIES if not c["name"].startswith("the")]])
    if k <= 6:
        ws = t.rng.sample(pool, t.pick([2, 3, 3, 3, 4, 4, 5]))
        if len({w[0].lower() for w in ws}) < len(ws) and t.chance(0.6):
            return None
        l = t.pick([", ".join(ws), join(ws)])
        right = sorted(ws, key=str.lower)
        return Turn(t.say(t.pick(["{Sort|Order|Arrange|Put|List|Please sort} {these words |these |the words |}{alphabetically|by the alphabet|by alphabet|from A to Z|in alphabetical order}: $l{.|}", "{Sort|Order|Arrange|Please put|Put|Can you put|Can you sort} {the words |}$l {alphabetically|by the alphabet|into alphabetical order|in alphabetical order|from A to Z}{.|}", "{What is the alphabetical order of|How do you sort} $l?", "{Alphabetical order|Alphabetical order, please|Sort by letters}: $l", "In {which|what} order do $l {stand|come} in {a dictionary|the alphabet}?"]), l=l),
                    t.say("{$r.|$r.|In alphabetical order: $r.|$j.}", r=", ".join(right), j=cap(join(right))), keep=ws)
    x, y = t.rng.sample(pool, 2)
    if x[0].lower() == y[0].lower():
        return None
    first, last = sorted((x, y), key=str.lower)
    if k == 7:
        return Turn(t.say("{{Which|What|Which word|Which one} {comes|is|stands} {first|earlier} in {a dictionary|the dictionary|the alphabet|alphabetical order}{, |: }$x or $y?|{By|In} the alphabet, {what|which} comes first{, |: }$x or $y?|$X or $y: which is first in the alphabet?}", x=x, X=cap(x), y=y), t.say("{$F.|$F comes first.|$F comes before $l.}", F=cap(first), l=last), keep=(x, y), short=cap(first))
    ok = x == first
    return Turn(t.say("{Does $x {come|stand} before $y in {the alphabet|a dictionary|alphabetical order}?|Is $x before $y in {the alphabet|a dictionary}?|In {the alphabet|a dictionary}, is $x before $y?}", x=x, y=y), f"Yes, {x} comes before {y}." if ok else f"No, {y} comes before {x}.", keep=(x, y), short="Yes" if ok else "No")


RHYME = RHYMES + [g.split("/") for g in """hat/cat/mat/that/flat/chat cake/lake/make/snake/wake/shake/take/bake/rake day/may/say/way/play/stay/hay/grey/away/today night/light/right/bright/sight/kite/white/fight/bite/might rain/train/plane/again/pain/chain/brain/lane
tree/bee/me/sea/three/free/key/tea/knee/he moon/soon/spoon/noon/June/tune/balloon ball/tall/wall/small/fall/call/hall house/mouse dog/frog/log/fog/jog sun/run/fun/one/bun/done star/far/car/jar/bar blue/two/shoe/you/true/new/zoo mouse/house
bed/red/head/said/bread/fed hill/will/fill/pill/still/mill ship/trip/lip/tip/dip/chip sleep/sheep/deep/keep/jeep king/sing/ring/thing/bring/wing/spring nose/rose/close/those/toes book/look/cook/took/hook hand/land/sand/stand/band
duck/luck/truck/stuck/suck bell/well/tell/fell/shell/smell map/cap/tap/nap/clap/lap pen/ten/men/hen/when/then pot/hot/not/dot/lot/spot dream/cream/team/stream/scream/seem snow/go/no/know/slow/show/grow/toe
ear/near/hear/dear/year/fear/beer street/feet/meet/sweet/eat/seat/heat sock/rock/clock/lock/knock/block game/name/same/came/flame ice/nice/mice/rice/twice/price/dice time/rhyme/lime/climb/dime/mime life/knife/wife
hole/mole/bowl/whole/pole/coal tail/snail/mail/sail/whale/nail/tale ground/round/sound/found/hound/pound string/king/sing/ring pie/sky/my/high/fly/why/cry/eye door/floor/four/more/store/roar air/chair/bear/hair/pear/fair/stair
fish/dish/wish box/fox/socks/rocks bug/hug/mug/rug/jug/slug tooth/truth/youth mother/brother/other/another kitten/mitten/bitten letter/better/sweater/wetter money/honey/sunny/funny/bunny sister/mister/twister
wood/good/could/should/hood bird/word/heard/third worm/storm/warm girl/curl/pearl/twirl ground/sound/round nest/best/rest/test/west/guest lamp/stamp/camp/damp cup/up/pup sand/hand/land garden/pardon
boy/toy/joy/enjoy cow/now/how/wow pool/school/cool/fool/tool/rule face/place/race/space/case game/name""".split()]
SETS = {}
for g in RHYME:
    for w in g:
        SETS.setdefault(w, set()).update(x for x in g if x != w)


def rhyme(t):
    w = t.pick(sorted(SETS))
    r = sorted(SETS[w])
    q, k = quoted(t, w), t.rng.randrange(6)
    if k <= 3:
        x = t.pick(r)
        return Turn(cap(t.say("{What {rhymes|could rhyme|would rhyme} with $q?|{Which|What} word {rhymes with|sounds like|has the same sound as|ends like} $q?|{Give me|Find|Find me|Tell me|Say|Name|I need|Do you know|Can you find|I want|Think of} a {rhyme {for|on|to|with}|word that rhymes with|word which rhymes with|rhyming word for|word that sounds like|word rhyming with} $q{.|, please.}|{A rhyme|Rhyme} {for|on|with|to} $q?|Is there {a|any} word that rhymes with $q?|{Make|Help me} rhyme $q{.|, please.}|$Q rhymes with what?|Does anything rhyme with $q?}", q=q, Q=cap(q))),
                    t.say("{$X rhymes with $w.|$X.|How about $x?|For example $x.|$X.}", X=cap(x), x=x, w=w), keep=(w,), short=cap(x), again=lambda t: other_rhyme(t, w, x))
    if k == 4 and len(r) > 2:
        n = t.pick([2, 2, 3])
        got = t.rng.sample(r, n) if len(r) >= n else r
        return Turn(cap(t.say("{Give me|Find|Tell me|Name|List|Write|I need} $n {words that rhyme with|words which rhyme with|rhymes for|words rhyming with} $q.", n=words(len(got)), q=q)), t.say("{$l.|$L rhyme with $w.}", l=cap(join(got)), L=cap(join(got)), w=w), keep=(w,))
    ok = t.chance(0.5)
    o = t.pick(r) if ok else t.pick(sorted(SETS))
    if not ok and (o in r or o == w or SETS[o] & SETS[w]):
        return None
    return Turn(cap(t.say("{Do $a and $b rhyme?|Does $a rhyme with $b?|Is $b a rhyme {for|on|to} $a?|Do the words $a and $b rhyme?|$a and $b: do they rhyme?|Do \"$a\" and \"$b\" {rhyme|sound alike}?}", a=w, b=o)), t.say("{Yes, $a rhymes with $b.|Yes, $a and $b rhyme.|Yes, they do.|Yes.}" if ok else "{No, $a does not rhyme with $b.|No, $a and $b do not rhyme.|No, they do not.}", a=w, b=o), keep=(w, o), short="Yes" if ok else "No")


def other_rhyme(t, w, said):
    r = sorted(SETS[w] - {said})
    if not r:
        return None
    x = t.pick(r)
    return Turn("", t.say("{$X.|$X rhymes with $w.|How about $x?}", X=cap(x), x=x, w=w), short=cap(x), again=None)


def opposite(t):
    a, b = t.pick(OPPOSITES)
    if t.chance(0.5):
        a, b = b, a
    q = quoted(t, a) if t.chance(0.4) else a
    return Turn(cap(t.say("{{What|Which word} {is|would be} the {opposite|contrary|reverse|antonym} {of|to} $q?|{What|Which word} means the {opposite|contrary} of $q?|{Give me|Tell me|Say|Name|Find|I need} {the|an} {opposite|antonym} {of|for|to} $q.|{Opposite|Contrary|Antonym} of $q?|The {opposite|contrary} of $q is {what|which word|...}?|$A - {and the opposite|what is the opposite}?|If {something|somebody|it} is not $a, {what is it|it is what|then it is ...|it is ...}?|$A is the {opposite|contrary} of what?|What do you call it when something is not $a?|The reverse of $a?|{What|How} do you say {for|when it is} the opposite of $q?|Do you know the opposite of $q?|Turn $a into its opposite.}", a=a, A=cap(a), q=q)),
                t.say("{The opposite of $a is $b.|$B.|It is $b.|The opposite is $b.|$B.}", a=a, b=b, B=cap(b)), keep=(a, b), short=cap(b), again=opposite, more=("{And of $x?|And $x?|What about $x?|And the opposite of $x?|And for $x?}", [(x, y) for p in OPPOSITES for x, y in (p, p[::-1])], "{The opposite of $x is $y.|$Y.}"))


def plural(t):
    a, b = t.pick(PLURALS)
    q = quoted(t, a) if t.chance(0.5) else a
    n = t.pick(["two", "three", "many", "five", "ten", "some", "several"])
    return Turn(cap(t.say("{{What|Which|What word} is the plural {form |}of $q?|{Give me|Tell me|Say|Write|Form|Name} the plural {form |}of $q.|Plural {form |}of $q?|{What|How} do you {call|say for} {more than one|many|two|several} $a?|One $a, {but |and |}$n {...?|what?|...}|{Put|Turn} {the word |}$q into the plural.|$A in the plural?|How do {I|you} write $q in the plural?|If I have $n, I say one $a, $n ...?|What is more than one $a {called|}?|There is one $a here and $n ... there. Which word is missing?|Make the plural of $q.|The plural of $q is {what|...}?}", q=q, a=a, A=cap(a), n=n)),
                t.say("{The plural of $a is $b.|$B.|It is $b.|One $a, $n $b.|$B.}", a=a, b=b, B=cap(b), n=n), keep=(a, b), short=cap(b), again=plural, more=("{And of $x?|And $x?|What about $x?|And the plural of $x?}", PLURALS, "{The plural of $x is $y.|$Y.}"))


AND = "{And $x?|What about $x?|Now $x.|And what is $x?|And how much is $x?|Then $x?|And now $x?}"


def near(a, b, sign):
    """Sums like the one that was asked."""
    if sign == "+":
        return [(f"{a} + {c}", str(a + c)) for c in range(max(1, b - 4), b + 5) if a + c <= 100 and c != b] or [("1 + 1", "2")]
    if sign == "-":
        return [(f"{a} - {c}", str(a - c)) for c in range(max(0, b - 4), min(a, b + 4) + 1) if c != b] or [("2 - 1", "1")]
    if sign == "x":
        return [(f"{a} x {c}", str(a * c)) for c in range(max(1, b - 3), b + 4) if a * c <= 100 and c != b] or [("2 x 2", "4")]
    return [(f"{c * b} / {b}", str(c)) for c in range(1, 11) if c * b != a]


def sums(t):
    kind = t.pick("+++---xxx//2h")
    a, b = (t.rng.randrange(0, 100), t.rng.randrange(0, 100)) if t.chance(0.75) else (t.rng.randrange(0, 21), t.rng.randrange(0, 21))
    small = lambda n: words(n) if t.chance(0.25) else str(n)
    if kind == "+":
        while a + b > 100:
            a, b = a // 2, b - b // 3
        r, s = a + b, "+"
        ask = "{{Add|Please add} {$a and $b|$b to $a|$a to $b|$a plus $b}.|What {do I get|do you get|comes out|is the result} if {I|you|we} add {$a and $b|$b to $a}?|{What|How much|Which number} is {$a plus $b|$a and $b|$b more than $a|the sum of $a and $b|$a + $b|$a increased by $b}?|$a {plus|and|+} $b {makes|is|gives|equals} {what|how much|...}?|{Find|Calculate|Compute|Work out|Tell me|Give me} {the sum of $a and $b|$a plus $b|$a + $b}.|Take $a and add $b.|What do $a and $b {make|add up to|give} {together|}?|Start {with|at} $a and add $b.|$a+$b|$a + $b = ?|The sum of $a and $b?|Increase $a by $b.|How much do $a and $b make?}"
    elif kind == "-":
        a, b = max(a, b), min(a, b)
        r, s = a - b, "-"
        ask = "{{Subtract|Take|Take away} $b from $a.|What {do I get|remains|is left|do you get} if {I|you|we} {take $b {away |}from $a|subtract $b from $a|take $b off $a}?|{What|How much|Which number} is {$a minus $b|$b less than $a|the difference {between|of} $a and $b|$a - $b|$a take away $b|$a less $b}?|$a {minus|less|-} $b {makes|is|gives|equals|leaves} {what|how much|...}?|{Find|Calculate|Compute|Work out|Tell me|Give me} {the difference between $a and $b|$a minus $b|$a - $b}.|Start {with|at} $a and {take away|subtract} $b.|$a-$b|$a - $b = ?|How far is it from $b to $a?|Reduce $a by $b.|How much more is $a than $b?|What must I add to $b to get $a?}"
    elif kind == "x":
        a, b = t.rng.randrange(1, 13), t.rng.randrange(1, 13)
        if t.chance(0.35):
            a, b = t.rng.randrange(11, 34), t.rng.randrange(2, 6)
            b = min(b, 100 // a)
        if t.chance(0.5):
            a, b = b, a
        if a * b > 100:
            return None
        r, s = a * b, "x"
        ask = "{{Multiply|Please multiply} $a {by|with|and} $b.|What {do I get|is the result|comes out} if {I|you|we} multiply $a {by|and} $b?|{What|How much|Which number} is {$a times $b|the product of $a and $b|$a multiplied by $b|$a x $b|$a * $b}?|$a {times|x|*} $b {makes|is|gives|equals} {what|how much|...}?|{Find|Calculate|Compute|Work out|Tell me|Give me} {the product of $a and $b|$a times $b|$a x $b}.|$a x $b|$a*$b|$a x $b = ?|$a times $b?|How much are $a times $b?|The product of $a and $b?}"
    elif kind == "/":
        b, r = t.rng.randrange(1, 11), t.rng.randrange(1, 11)
        a, s = b * r, "/"
        ask = "{{Divide|Please divide|Share} $a by $b.|{What|How much} is {$a divided by $b|$a over $b|$a / $b|$a : $b}?|$a divided by $b {makes|is|gives} what?|{Calculate|Compute|Work out} $a divided by $b.|$a / $b|How {often|many times} does $b go into $a?|What do I get if I divide $a by $b?|$a shared by $b?}"
    elif kind == "2":
        a = t.rng.randrange(1, 51)
        return Turn(cap(t.say("{{What|How much} is {double|twice|two times|the double of} $a?|{Double|Twice} $a?|{Double|Please double} {the number |}$a.|What is $a doubled?|What's {double|twice} $a?|Tell me the double of $a.}", a=small(a))), t.say("{Double $a is $r.|$r.|It is $r.|Twice $a is $r.}", a=a, r=2 * a), short=str(2 * a), topic=("number", 2 * a))
    else:
        a = 2 * t.rng.randrange(1, 51)
        return Turn(cap(t.say("{{What|How much} is {half of|half|one half of|the half of} $a?|Half of $a?|{Halve|Please halve} {the number |}$a.|What's half of $a?|Tell me the half of $a.}", a=small(a))), t.say("{Half of $a is $r.|$r.|It is $r.}", a=a, r=a // 2), short=str(a // 2), topic=("number", a // 2))
    said = {"+": "plus", "-": "minus", "x": "times", "/": "divided by"}[s]
    return Turn(cap(t.say(ask, a=small(a), b=small(b))), t.say("{$a $w $b is $r.|$a $s $b = $r|$a $s $b = $r.|It is $r.|That is $r.|That makes $r.|$r|$r.}", a=a, b=b, r=r, w=said, s=s), keep=(str(a), str(b)), short=str(r), again=sums, why=f"Because {a} {said} {b} is {r}.", topic=("number", r), more=(AND, near(a, b, s), "{$x is $y.|$y.|$x = $y|That is $y.}") if t.chance(0.4) else None)


def sums_more(t):
    """Three numbers; is it true; the next sum of a series."""
    k = t.rng.randrange(6)
    if k >= 4:
        return greater(t)
    if k == 0:
        a, b, c = (t.rng.randrange(1, 34) for _ in range(3))
        return Turn(cap(t.say("{What is $a plus $b plus $c?|{Add|Add up} $a, $b and $c.|What do $a, $b and $c {make|add up to|give}{ together|}?|$a + $b + $c|What is the sum of $a, $b and $c?|How much is $a + $b + $c?|Calculate $a + $b + $c.}", a=a, b=b, c=c)), t.say("{$a + $b = $d, and $d + $c = $r.|It is $r.|$r.|$a plus $b is $d, and $c more is $r.}", a=a, b=b, c=c, d=a + b, r=a + b + c), short=str(a + b + c))
    if k == 1:
        a, b = t.rng.randrange(1, 50), t.rng.randrange(1, 50)
        op, r, w = t.pick([("+", a + b, "plus"), ("-", a - b, "minus"), ("x", a % 10 * (b % 10), "times")])
        if op == "x":
            a, b = a % 10, b % 10
        if r < 0:
            return None
        ok = t.chance(0.5)
        c = r if ok else max(0, r + t.pick([-10, -5, -2, -1, 1, 2, 3, 10]))
        if not ok and c == r:
            return None
        return Turn(cap(t.say("{Is $a $w $b {equal to |the same as |}$c?|Is $a $o $b $c?|Is it true that $a $w $b is $c?|$a $o $b = $c, is that right?|Does $a $w $b make $c?|Is $a $w $b really $c?|$a $w $b is $c, right?|I think $a $w $b is $c. Is that right?}", a=a, b=b, c=c, o=op, w=w)), (f"Yes, {a} {w} {b} is {r}." if ok else f"No, {a} {w} {b} is {r}."), short="Yes" if ok else "No")
    if k == 2:
        a, b = t.rng.randrange(1, 60), t.rng.randrange(1, 40)
        return Turn(cap(t.say("{I think|I believe|I say that|My friend says that} $a {and|plus} $b {is|makes} $c.", a=a, b=b, c=a + b + t.pick([1, -1, 2, 10, -3]))), t.say("{Not quite: $a plus $b is $r.|No, $a plus $b is $r.|I get $r: $a + $b = $r.}", a=a, b=b, r=a + b))
    i, d = t.rng.randrange(0, 40), t.pick([1, 1, 2, 2, 3, 5, 10])
    seq = [i + j * d for j in range(t.pick([3, 3, 4]))]
    return Turn(t.say("{Continue{| the series| the row}: $l, ...|{What|Which number} comes next{: | after }$l?|How does it go on: $l, ...?|$l, ... what is next?|{What|Which} is the next number{: |? }$l}", l=", ".join(map(str, seq))), t.say("{$n.|The next number is $n.|Next comes $n.}", n=seq[-1] + d), short=str(seq[-1] + d))


def greater(t):
    a, b = t.rng.sample(range(0, 101), 2)
    if t.chance(0.3):
        a, b = t.rng.randrange(1, 10), t.rng.randrange(1, 10)
        a, b = a * 10 + b, b * 10 + a
        if a == b:
            return None
    up = t.chance(0.5)
    word = t.pick(["bigger", "larger", "greater", "higher", "more"]) if up else t.pick(["smaller", "less", "lower"])
    best = max(a, b) if up else min(a, b)
    if t.chance(0.4):
        ok = (a > b) == up
        return Turn(t.say("{Is $a $w than $b?|Is it true that $a is $w than $b?|Is the number $a $w than $b?|$a is $w than $b, right?}", a=a, b=b, w=word), f"Yes, {a} is {word} than {b}." if ok else f"No, {b} is {word} than {a}.", short="Yes" if ok else "No")
    return Turn(t.say("{{Which|What} {number |}is $w{, |: }$a or $b?|{Which|What} is the $s {number|one}{, |: }$a or $b?|$a or $b, which is $w?|{Which|What} of the numbers is $w: $a or $b?|{Tell me|Name} the $s number: $a or $b.}", a=a, b=b, w=word, s={"more": "bigger", "less": "smaller"}.get(word, word)), t.say("{$r.|$r is $w.|$r is $w than $l.}", r=best, l=a + b - best, w=word), short=str(best))


THINGS = "apples books pencils eggs balls cakes coins stamps cards flowers stones biscuits marbles oranges toys shells pears sweets postcards nuts balloons plums buttons stickers tickets candles cups spoons chairs bottles lemons photos cherries".split()
KINDS = [("cow", "sheep", "animals"), ("boy", "girl", "children"), ("red car", "blue car", "cars"), ("apple", "pear", "pieces of fruit"), ("cat", "dog", "animals"), ("rose", "tulip", "flowers"), ("man", "woman", "people"), ("horse", "pig", "animals"), ("pen", "pencil", "things"), ("novel", "comic", "books"), ("duck", "hen", "birds"), ("goat", "horse", "animals"), ("hen", "cow", "animals")]
MANY = {"sheep": "sheep", "man": "men", "woman": "women"}
CONTAIN = [("box", "boxes"), ("bag", "bags"), ("basket", "baskets"), ("shelf", "shelves"), ("plate", "plates"), ("pack", "packs"), ("table", "tables"), ("tray", "trays"), ("room", "rooms"), ("row", "rows"), ("jar", "jars")]
PER = [("spider", "spiders", 8, "legs"), ("dog", "dogs", 4, "legs"), ("car", "cars", 4, "wheels"), ("bird", "birds", 2, "wings"), ("bicycle", "bicycles", 2, "wheels"), ("insect", "insects", 6, "legs"), ("hand", "hands", 5, "fingers"), ("week", "weeks", 7, "days"), ("chair", "chairs", 4, "legs"), ("tricycle", "tricycles", 3, "wheels"), ("cat", "cats", 4, "paws"), ("triangle", "triangles", 3, "sides")]


def problem(t):
    n = t.pick(NAMES) if t.chance(0.6) else coin.name(t, NAMES)
    she = n in WOMEN
    they, their = ("she", "her") if she else ("he", "his")
    if n not in NAMES:
        they, their = t.pick([("she", "her"), ("he", "his")])
    th = t.pick(THINGS)
    a, b = t.rng.randrange(2, 60), t.rng.randrange(1, 40)
    k = t.rng.randrange(13)
    slots = dict(n=n, y=they, Y=cap(they), r=their, R=cap(their), t=th)
    num = lambda x: words(x) if x < 21 and t.chance(0.25) else str(x)
    if k <= 1:
        q, r, how = t.pick(["$n has $a $t and {gets|finds|buys|is given|picks up|wins} $b more. How many {$t |}does $n have {now|then|in all|altogether}?", "{I have|I had} $a $t and {got|found|bought|was given} $b more. How many {$t |}do I have {now|then|in all}?", "There {were|are} $a $t in the {box|bag|basket|room} and {I put in|$n adds|somebody brings} $b more. How many are {there|in it} now?",
                             "$n {had|owned|has} $a $t. Then {$r mother|$r friend|somebody|a friend} {gave|brought} {$n|them} $b {more|new ones}. How many {$t |}is that {now|in all|altogether}?", "$n picks $a $t {in the morning|on Monday|first} and $b {in the afternoon|on Tuesday|later}. How many is that {in all|together|altogether}?"]), a + b, f"{a} + {b} = {a + b}"
    elif k <= 3:
        a, b = max(a, b), min(a, b)
        q, r, how = t.pick(["$n has $a $t and {gives away|loses|sells|gives $r friend|drops|throws away} $b{ of them|}. How many {$t |}{are left|remain|does $n still have|does $n have left|stay}?", "{I have|I had} $a $t and {gave away|lost|sold|broke|gave you} $b{ of them|}. How many {$t |}{do I have left|are left|remain|do I still have}?", "There were $a {birds|people|children|cars|bees|guests} {in the garden|in the room|on the square|on the roof|in the yard} and $b {went away|left|flew off|went home|disappeared}. How many {are left|stayed|remain|were still there}?",
                             "$n {baked|made|bought|picked} $a $t and {ate|we ate|they ate|sold|gave away} $b{ of them|}. How many {are left|remain|are there still}?", "A {book|story|film} has $a {pages|parts}. $n has {read|seen} $b{ of them|}. How many are {left|still to come}?"]), a - b, f"{a} - {b} = {a - b}"
    elif k == 4:
        a, b = max(a, b), min(a, b)
        money = t.pick(["euros", "dollars", "pounds", "coins"])
        q, r, how = t.pick([f"$n has $a {money} and {{spends|pays}} $b. How {{much|much money|many {money}}} {{is left|does $n have left|remains|does $n still have}}?", f"I {{have|had|took}} $a {money} {{and {{spent|paid|spend}} $b|. I {{paid|spent}} $b}}. How {{much|much money}} {{is left|do I have left|remains}}?", f"A {{book|ball|lamp|shirt}} costs $b {money}. $n pays with $a {money}. How much {{does $y get back|is the change}}?"]), a - b, f"{a} - {b} = {a - b}"
    elif k <= 6:
        a, b = t.rng.randrange(2, 13), t.rng.randrange(2, 13)
        if a * b > 100:
            return None
        one, more = t.pick(CONTAIN)
        if t.chance(0.35):
            one, more, b, th = t.pick(PER)
            q = t.pick([f"{{Every|Each|A|One}} {one} has $b $t. How many $t {{do $a {more} have|have $a {more}|are there on $a {more}|is that for $a {more}}}?", f"How many $t do $a {more} have{{ together|}}?", f"I see $a {more}. How many $t is that?"])
            if a * b > 100:
                return None
        else:
            q = t.pick([f"{{A|One|Every|Each}} {one} {{holds|has|contains}} $b $t. How many {{$t |}}are {{there |}}in $a {more}?", f"There are $a {more} {{with|and in each are}} $b $t{{ each| in each|}}. How many {{$t |}}are there {{in all|altogether|together}}?", f"$n has $a {more} {{of|with}} $b $t {{each|in each}}. How many $t {{is that|does $n have|are there}}{{ in all| altogether|}}?",
                        "$n {reads|learns|writes|draws|runs|walks|buys|bakes} $b {pages|words|lines|pictures|kilometres|miles|cakes} {a|every|each} day. How many {is that|are that} in $a days?", "One {ticket|ball|cake|book|cup} costs $b {euros|dollars|pounds}. How much do $a cost?"])
        slots["t"] = th
        r, how = a * b, f"{a} x {b} = {a * b}"
    elif k == 7:
        b, r = t.rng.randrange(2, 11), t.rng.randrange(1, 11)
        a = b * r
        q, how = t.pick(["$n {shares|divides|splits} $a $t {among|between|with} $b {friends|children|people}. How many does {each|everyone|each one|each child} get?", "$b {children|friends|people|brothers|girls|boys} share $a $t {equally|fairly}. How many does each {one |}get?", "$a $t are put into $b {boxes|bags|rows|baskets}{, the same number in each|}. How many are in {each|every one|one of them}?", "I want to give $a $t to $b {friends|children} so that everybody gets the same. How many for each?"]), f"{a} / {b} = {r}"
    elif k == 8:
        one, two, group = t.pick(KINDS)
        p = lambda w: MANY.get(w, w + "s")
        q, r, how = t.pick([f"{{A farmer has|There are|I see|$n has|We count|In the picture are}} $a {p(one)} and $b {p(two)}. How many {{{group} {{is|are}} {{that|there}}{{ in all| altogether| together|}}|are there{{ in all| altogether| together}}}}?", f"How many {group} are $a {p(one)} and $b {p(two)}{{ together|}}?"]), a + b, f"{a} + {b} = {a + b}"
    elif k == 9:
        who = t.pick(["brother", "sister", "friend", "cousin", "mother", "father", "uncle", "aunt", "dog"])
        p = "she" if who in ("sister", "mother", "aunt") else "he"
        a, b = t.rng.randrange(3, 60), t.rng.randrange(1, 30)
        if t.chance(0.5):
            q, r, how = t.pick([f"$n is $a {{years old|}} and $r {who} is $b {{years |}}older. How old is {{$r {who}|{p}|the {who}}}?", f"I am $a {{years old|}}{{ and my| . My}} {who} is $b years older{{ than me|}}. How old is {{my {who}|{p}}}?"]), a + b, f"{a} + {b} = {a + b}"
        elif t.chance(0.5) and a > b:
            q, r, how = t.pick([f"$n is $a {{years old|}} and $r {who} is $b {{years |}}younger. How old is {{$r {who}|{p}|the {who}}}?", f"I am $a {{years old|}} and my {who} is $b years younger{{ than me|}}. How old is {{my {who}|{p}}}?"]), a - b, f"{a} - {b} = {a - b}"
        else:
            q, r, how = t.pick(["$n is $a years old{ now|}. How old will $y be in $b years?", "I am $a. How old will I be in $b years?"]), a + b, f"{a} + {b} = {a + b}"
    elif k == 10:
        c = t.rng.randrange(1, 15)
        b = min(b, a)
        if t.chance(0.6):
            q, r, how = t.pick(["{There are|A {bus|train|tram|boat} {carries|has}} $a people {on the bus|}. {At the {stop|station}|Then} $b {get off|leave|get out} and $c {get on|come in|get in}. How many {people |}are {on it|on the bus|there} {now|then|}?", "$n has $a $t, {gives away|loses} $b and {gets|finds|buys} $c. How many {$t |}does $n have {now|then|in the end}?"]).replace("people on the bus", "people"), a - b + c, f"{a} - {b} = {a - b}, and {a - b} + {c} = {a - b + c}"
        else:
            q, r, how = "$n has $a $t, {gets|finds|buys} $c {more |}and {then |}{gives away|loses|sells} $b. How many {$t |}does $n have {now|then|in the end}?", a + c - b, f"{a} + {c} = {a + c}, and {a + c} - {b} = {a + c - b}"
        slots["c"] = str(c)
    elif k == 11:
        a, b = t.rng.randrange(2, 50), t.rng.randrange(2, 50)
        u = t.pick(["km", "kilometres", "miles", "pages", "hours", "minutes", "metres"])
        q, r, how = t.pick([f"{{Yesterday|On Monday|In the morning|First}} {{I|$n|we}} {{walked|drove|did|ran|had}} $a {u} and {{today|on Tuesday|in the evening|then}} $b {u}. How {{many {u}|much|far}} is that {{in all|together|altogether}}?", f"{{I|$n}} {{walked|ran|drove|did}} $a {u} {{yesterday|on Monday|before lunch}} and $b {u} {{today|on Tuesday|after lunch}}. {{What is the total|How many {u} is that|How much is that together}}?"]), a + b, f"{a} + {b} = {a + b}"
    else:
        a, b = max(a, b), min(a, b)
        o = t.pick(NAMES)
        q, r, how = t.pick([f"$n has $a $t and {o} has $b. How many more {{$t |}}does $n have{{ than {o}|}}?", f"$n has $a $t. {o} has $b {{$t|}}. What is the difference?", f"$n needs $a $t and has $b. How many {{are missing|more does $n need}}?"]), a - b, f"{a} - {b} = {a - b}"
    if r > 100 or r < 0:
        return None
    user = t.say(q, a=num(a), b=num(b), **slots).replace(" .", ".").replace("  ", " ")
    return Turn(cap(user), t.say("{$h, so the answer is $r.|$h. The answer is $r.|$h.|$h, so it is $r.}", h=how, r=r), keep=(n, th), short=str(r), again=problem, why=f"Because {how}.")


def count(t):
    k = t.rng.randrange(8)
    num = lambda x: words(x) if t.chance(0.4) else str(x)
    row = lambda a, b, s=1: ", ".join(map(str, range(a, b + (1 if s > 0 else -1), s))) + "."
    if k == 0:
        n = t.rng.randrange(3, 31)
        return Turn(t.say("{{Count|Please count|Can you count|Could you count|I want you to count|Show me that you can count|Let us count} {up |}{to|until|from {one|1} to} $n{| for me| please}.|{Say|List|Write|Give me|Tell me} {all |}the numbers {from|between} {1|one} {to|and} $n.|The numbers from 1 to $n, please.}", n=num(n)).replace("between 1 to", "from 1 to").replace("between one to", "from one to").replace("from 1 and", "from 1 to").replace("from one and", "from one to"), row(1, n))
    if k == 1:
        n = t.rng.randrange(3, 21)
        return Turn(t.say("{{Count|Please count|Can you count} {down|backwards|back} from $n{| to {1|one}}.|Do a countdown from $n.|Countdown from $n, please.|Start at $n and count {down|backwards}.}", n=num(n)), row(n, 1, -1))
    if k <= 3:
        a, n = t.rng.randrange(2, 90), t.rng.randrange(2, 9)
        return Turn(t.say("{{Count|Please count|Can you count} from $a {up |}to $b.|{Say|List|Write|Give me|Tell me|Show me|I need} the numbers {from $a to $b|between $a and $b}.|{Start|Begin} {at|with} $a and count {up |}to $b.|{Which|What} numbers go from $a to $b?|$a to $b, please count.}", a=num(a), b=num(a + n)), row(a, a + n))
    if k == 4:
        s, n = t.pick([2, 2, 3, 5, 5, 10, 10, 4]), t.rng.randrange(3, 11)
        return Turn(t.say("{{Count|Please count|Can you count} {by|in} {$w|$ws|steps of $w} {up |}to $e.|{Count|Go} up to $e in {steps of $w|{$w}s}.|{Say|List} the numbers to $e in steps of $w.}".replace("$ws", "$v").replace("{$w}s", "$v"), w=num(s), v=words(s) + ("es" if s == 6 else "s"), e=num(s * n)), row(s, s * n, s))
    n = t.rng.randrange(1, 99)
    if k == 5:
        return Turn(t.say("{{What|Which} number {comes|is} {right |directly |}after $n?|{What|Which} {number |}follows $n?|{What|Which} is the {next number after|number after} $n?|What comes {next |}after $n?|After $n comes which number?|Count one on from $n.|{Name|Tell me} the number after $n.|$n, and then?}", n=num(n)), t.say("{$r.|After $n comes $r.|$r comes after $n.|It is $r.}", n=n, r=n + 1), short=str(n + 1))
    if k == 6:
        return Turn(t.say("{{What|Which} number {comes|is|stands} {right |directly |just |}before $n?|{What|Which} is the number before $n?|What comes before $n?|Before $n comes which number?|{Which|What} number precedes $n?|{Name|Tell me} the number before $n.|One less than $n?}", n=num(n)), t.say("{$r.|Before $n comes $r.|$r comes before $n.|It is $r.}", n=n, r=n - 1), short=str(n - 1))
    if t.chance(0.5):
        return Turn(t.say("{{What|Which} number {is|lies|comes|stands} between $a and $b?|What is between $a and $b?|The number between $a and $b?|{Name|Tell me} the number between $a and $b.}", a=num(n), b=num(n + 2)), t.say("{$r.|Between $a and $b lies $r.|It is $r.}", a=n, b=n + 2, r=n + 1), short=str(n + 1))
    ws = [t.pick(VOCAB) for _ in range(t.rng.randrange(2, 8))]
    text = " ".join(ws) if t.chance(0.4) else " ".join(t.pick(["the cat sleeps", "my dog runs fast", "we like bread and cheese", "she sings", "the sun is hot", "I see a big red house", "birds can fly", "you and I", "the little boy eats an apple", "it rains today", "the old man walks home slowly", "he is here", "they play in the garden", "good morning", "a bird sat on the wall"]).split())
    n = len(text.split())
    return Turn(t.say("{How many words {are|are there} in{:|} \"$x\"?|Count the words{ in|:} \"$x\".|How many words does \"$x\" have?|How many words has the sentence \"$x\"?|How many words do you see: $x?}", x=text), t.say("{There are $n words.|$N.|$N words.}", n=words(n), N=cap(words(n))).replace("one words", "one word"), keep=tuple(text.split()), short=cap(words(n)))


ALL = [(letter, 5), (spell, 4), (alphabet, 5), (rhyme, 4), (opposite, 3), (plural, 3), (sums, 7), (sums_more, 2), (problem, 6), (count, 4)]
