"""Numbers and letters: sums, counting, comparing, spelling, alphabets, rhymes, opposites."""
from .lang import Turn, an, cap, join, words
from .things import LANGS, OBJECTS, OPPOSITES, PASTS, PLURALS, RHYMES, SYNONYMS, TRANSLATE
from .world import ANIMALS, FOODS, NAMES

LEXICON = sorted({a["name"] for a in ANIMALS if " " not in a["name"]} | {f["name"] for f in FOODS if " " not in f["name"]} | {o["name"] for o in OBJECTS}
                 | {w for pair in OPPOSITES + PLURALS for w in pair if w.isalpha()}
                 | set("river ocean mountain flower garden school friend family music summer winter window yellow purple orange happy computer keyboard water".split()))


def number(t, n):
    return words(n) if t.chance(0.2) else str(n)


def arithmetic(t):
    kind = t.pick("+++---xx/")
    if kind == "+":
        a, b = t.rng.randrange(0, 100), t.rng.randrange(0, 100)
        if t.chance(0.4):
            a, b = t.rng.randrange(0, 21), t.rng.randrange(0, 21)
        if a + b > 100:
            a, b = a // 2, b // 2
        r, op, word, ask = a + b, "+", "plus", "{the sum of $a and $b|$b more than $a}"
    elif kind == "-":
        a, b = sorted((t.rng.randrange(0, 101), t.rng.randrange(0, 101)), reverse=True)
        if t.chance(0.4):
            a, b = sorted((t.rng.randrange(0, 21), t.rng.randrange(0, 21)), reverse=True)
        r, op, word, ask = a - b, "-", "minus", "{the difference between $a and $b|$b less than $a}"
    elif kind == "x":
        a, b = t.rng.randrange(0, 13), t.rng.randrange(0, 11)
        if a * b > 100:
            a = 10
        r, op, word, ask = a * b, t.pick(["x", "*", "×"]), t.pick(["times", "multiplied by"]), "{the product of $a and $b|$a times $b}"
    else:
        b, r = t.rng.randrange(1, 11), t.rng.randrange(0, 11)
        a, op, word, ask = b * r, t.pick(["/", ":", "÷"]), "divided by", "$a divided by $b"
    spoken = t.chance(0.45)
    wa, wb = (number(t, a), number(t, b)) if spoken else (str(a), str(b))
    if t.chance(0.1):
        body = t.say(ask, a=wa, b=wb)
    else:
        body = f"{wa} {word if spoken else op} {wb}" if spoken or t.chance(0.8) else f"{wa}{op}{wb}"
    user = t.say("{What is $x?|What's $x?|How much is $x?|Calculate $x.|$x|$x?|$x =|Can you tell me what $x is?|What does $x make?|Tell me $x.|What do you get for $x?|Please work out $x.}", x=body)
    said = {"+": "plus", "-": "minus", "x": "times", "/": "divided by"}[kind]
    sign = {"+": "+", "-": "-", "x": "x", "/": "/"}[kind]
    user = cap(user)
    answer = t.say("{$a $w $b is $r.|$a $s $b = $r|$a $s $b = $r.|It is $r.|That is $r.|The answer is $r.|$r|$r.}", a=a, b=b, r=r, w=said, s=sign)
    return Turn(user, answer, keep=(body,), short=str(r), again=arithmetic, why=f"Because {a} {said} {b} is {r}.", topic=("number", r))


def word_problem(t):
    name, thing = t.pick(NAMES), t.pick("apples books pencils eggs balls cakes coins stamps cards flowers stones cookies marbles oranges toys".split())
    a, b = t.rng.randrange(2, 30), t.rng.randrange(1, 20)
    kind = t.rng.randrange(5)
    if kind == 0:
        q, r, how = "$n has $a $t and gets $b more. How many $t does $n have now?", a + b, f"{a} + {b} = {a + b}"
    elif kind == 1:
        b = min(a, b)
        q, r, how = "$n has $a $t and {gives away|loses|eats|sells} $b. How many $t are left?", a - b, f"{a} - {b} = {a - b}"
    elif kind == 2:
        a, b = t.rng.randrange(2, 11), t.rng.randrange(2, 10)
        q, r, how = "$n has $a {boxes|bags} with $b $t {each|in each}. How many $t are there {in all|altogether}?", a * b, f"{a} x {b} = {a * b}"
    elif kind == 3:
        b, r = t.rng.randrange(2, 9), t.rng.randrange(1, 10)
        a = b * r
        q, how = "$n shares $a $t among $b friends. How many does each get?", f"{a} / {b} = {r}"
    else:
        q, r, how = "There are $a red $t and $b blue $t. How many are there {in all|altogether}?", a + b, f"{a} + {b} = {a + b}"
    if "away" in q:
        q = q.replace("eats|", "") if thing not in ("apples", "eggs", "cakes", "cookies", "oranges") else q
    user = t.say(q, n=name, a=a, b=b, t=thing)
    return Turn(user, t.say("{$h, so the answer is $r.|$h. The answer is $r $t.}", h=how, r=r, t=thing), keep=(name, thing),
                short=str(r), again=word_problem, why=f"Because {how}.")


def counting(t):
    kind = t.rng.randrange(9)
    if kind == 0:
        n = t.rng.randrange(3, 31)
        return Turn(t.say("{Count to $n.|Can you count to $n?|Please count from 1 to $n.|Count up to $n.}", n=number(t, n)), ", ".join(map(str, range(1, n + 1))) + ".")
    if kind == 1:
        n = t.rng.randrange(3, 21)
        return Turn(t.say("{Count {down|backwards} from $n.|Can you count backwards from $n?|Count from $n down to 1.}", n=number(t, n)), ", ".join(map(str, range(n, 0, -1))) + ".")
    if kind == 2:
        n, a = t.rng.randrange(3, 9), t.rng.randrange(5, 80)
        return Turn(f"Count from {a} to {a + n}.", ", ".join(map(str, range(a, a + n + 1))) + ".")
    if kind == 3:
        s = t.pick([2, 5, 10, 3])
        return Turn(t.say("{Count in {$s|$w}s to $e.|Count by $w up to $e.|Count to $e in steps of $s.}", s=s, w=words(s), e=s * 10),
                    ", ".join(map(str, range(s, s * 10 + 1, s))) + ".")
    n = t.rng.randrange(0, 100)
    if kind == 4:
        return Turn(t.say("{What {number|} comes after $n?|Which number comes after $n?|What is the next number after $n?}", n=n).replace("  ", " "),
                    t.say("{$r comes after $n.|$r.|It is $r.}", n=n, r=n + 1), short=str(n + 1))
    if kind == 5:
        n += 1
        return Turn(t.say("{What comes before $n?|Which number comes before $n?|What is the number before $n?}", n=n), t.say("{$r comes before $n.|$r.|It is $r.}", n=n, r=n - 1), short=str(n - 1))
    if kind == 6:
        e = "even" if n % 2 == 0 else "odd"
        q = t.pick(["even", "odd"])
        asked = t.chance(0.7)
        yes = "" if not asked else "Yes, " if e == q else "No, "
        return Turn(t.say("{Is $n $q?|Is $n $x number?|Is the number $n $q?}" if asked else "{Is $n even or odd?|Even or odd: $n?}", n=n, q=q, x=an(q)), f"{yes}{n} is {e}.", short=yes[:-2] or e,
                    why=f"Because {n} can be divided by 2." if e == "even" else f"Because {n} cannot be divided by 2.")
    if kind == 7:
        k = t.pick(["double", "half", "twice"])
        n = n // 2 + 1
        if k == "half":
            n *= 2
            return Turn(t.say("What is half of $n?", n=n), f"Half of {n} is {n // 2}.", short=str(n // 2))
        return Turn(t.say("{What is|How much is} $k $n?", n=n, k=k), f"{cap(k)} {n} is {2 * n}.", short=str(2 * n))
    return Turn(t.say("{How do you write|Write|Spell} {the number |}$n {in words|as a word|in letters}{?|.}", n=n), t.say("{$n is written $w.|$w|It is $w.}", n=n, w=words(n)), short=words(n))


def comparing(t):
    a, b = t.rng.sample(range(0, 101), 2)
    big, small = max(a, b), min(a, b)
    kind = t.rng.randrange(3)
    if kind == 0:
        return Turn(t.say("{Which is bigger|What is bigger|Which is larger|Which number is greater|What is more}, $a or $b?", a=a, b=b), t.say("{$b is bigger than $s.|$b is bigger.|$b.}", b=big, s=small), short=str(big))
    if kind == 1:
        return Turn(t.say("{Which is smaller|What is smaller|Which number is smaller|What is less}, $a or $b?", a=a, b=b), t.say("{$s is smaller than $b.|$s is smaller.|$s.}", b=big, s=small), short=str(small))
    nums = t.rng.sample(range(1, 100), t.rng.randrange(3, 6))
    up = t.chance(0.6)
    ask = "{Sort|Put in order|Order} {these numbers|the numbers} $d: $l" if not up or t.chance(0.5) else "{Sort|Put in order|Order} {these numbers|the numbers}: $l"
    return Turn(t.say(ask, d="from small to big" if up else "from big to small", l=", ".join(map(str, nums))), ", ".join(map(str, sorted(nums, reverse=not up))) + ".")


def spelling(t):
    w = t.pick(LEXICON)
    kind = t.rng.randrange(8)
    letters = list(w)
    if kind <= 1:
        return Turn(t.say("{How do you spell $w?|Spell $w.|Can you spell $w?|Spell the word $w.|How is $w spelled?|Please spell $w.|How do I write $w?}", w=w), t.say("{$l|$l.|$w is spelled $l.}", w=cap(w), l="-".join(letters).upper()), keep=(w,))
    if kind == 2:
        return Turn(t.say("{What is the first letter of $w?|What letter does $w start with?|Which letter does $w begin with?|What does $w start with?}", w=w), t.say("{The first letter of $w is $l.|$w begins with $l.|$l.}", w=w, l=w[0].upper()).replace(w + " begins", cap(w) + " begins"), keep=(w,), short=w[0].upper())
    if kind == 3:
        return Turn(t.say("{What is the last letter of $w?|What letter does $w end with?|Which letter is the last in $w?}", w=w), t.say("{The last letter of $w is $l.|It is $l.|$l.}", w=w, l=w[-1].upper()), keep=(w,), short=w[-1].upper())
    if kind == 4:
        return Turn(t.say("{How many letters are in $w?|How many letters does $w have?|How long is the word $w?|Count the letters in $w.}", w=w), t.say("{$W has $n letters.|$W has $n letters: $l.|There are $n letters in $w.}", W=cap(w), w=w, n=words(len(w)), l="-".join(letters).upper()), keep=(w,), short=words(len(w)))
    if kind == 5:
        i = t.rng.randrange(0, 25)
        a, b = chr(65 + i), chr(66 + i)
        if t.chance(0.5):
            return Turn(t.say("{What letter comes after $a?|Which letter comes after $a?|What comes after $a in the alphabet?}", a=a), t.say("{$b comes after $a.|$b.}", a=a, b=b), short=b)
        return Turn(t.say("{What letter comes before $b?|Which letter is before $b?|What comes before $b in the alphabet?}", b=b), t.say("{$a comes before $b.|$a.}", a=a, b=b), short=a)
    if kind == 6:
        ws = t.rng.sample(LEXICON, t.rng.randrange(3, 5))
        return Turn(t.say("{Sort these words: $l|Put these words in alphabetical order: $l|Sort $l alphabetically.|Which order do $l have in the alphabet?}", l=", ".join(ws)), ", ".join(sorted(ws)) + ".", keep=ws)
    if t.chance(0.4):
        return Turn(t.say("{Say the alphabet.|What is the alphabet?|Tell me the alphabet.|Can you say the ABC?|List the letters of the alphabet.}"), "A B C D E F G H I J K L M N O P Q R S T U V W X Y Z.")
    v = [c for c in dict.fromkeys(w) if c in "aeiou"]
    return Turn(t.say("{Which vowels are in $w?|What vowels does $w have?|Name the vowels in $w.}", w=w), f"The vowels in {w} are {join(v)}." if len(v) > 1 else (f"The only vowel in {w} is {v[0]}." if v else f"There is no vowel in {w}."), keep=(w,))


def opposite(t):
    a, b = t.pick(OPPOSITES)
    if t.chance(0.5):
        a, b = b, a
    return Turn(t.say("{What is the opposite of $a?|What's the opposite of $a?|Opposite of $a?|Tell me the opposite of $a.|Which word is the opposite of $a?|Give me the opposite of $a.|$a is the opposite of what?}", a=a),
                t.say("{The opposite of $a is $b.|$B.|It is $b.|The opposite of $a is $b.}", a=a, b=b, B=cap(b)), keep=(a, b), short=cap(b), again=opposite)


def synonym(t):
    a, b = t.pick(SYNONYMS)
    if t.chance(0.5):
        a, b = b, a
    return Turn(t.say("{What is another word for $a?|What's a synonym for $a?|Give me a synonym of $a.|Another word for $a?|Which word means the same as $a?}", a=a),
                t.say("{Another word for $a is $b.|$B.|$B means nearly the same as $a.}", a=a, b=b, B=cap(b)), keep=(a, b), short=cap(b), again=synonym)


def plural(t):
    if t.chance(0.5):
        a, b = t.pick(PLURALS)
        return Turn(t.say("{What is the plural of $a?|What's the plural of $a?|Plural of $a?|How do you say more than one $a?|One $a, two ...?}", a=a), t.say("{The plural of $a is $b.|$B.|It is $b.}", a=a, b=b, B=cap(b)), keep=(a, b), short=cap(b), again=plural)
    a, b = t.pick(PASTS)
    return Turn(t.say("{What is the past tense of $a?|What's the past of $a?|Past tense of $a?|How do you say $a in the past?}", a=a), t.say("{The past tense of $a is $b.|$B.|It is $b.}", a=a, b=b, B=cap(b)), keep=(a, b), short=cap(b), again=plural)


def rhyme(t):
    g = t.pick(RHYMES)
    w = t.pick(g)
    rest = [x for x in g if x != w]
    if t.chance(0.25):
        o = t.pick([x for h in RHYMES if h is not g for x in h]) if t.chance(0.5) else t.pick(rest)
        return Turn(f"Does {w} rhyme with {o}?", f"Yes, {w} rhymes with {o}." if o in rest else f"No, {w} does not rhyme with {o}.", keep=(w, o), short="Yes" if o in rest else "No")
    r = t.pick(rest)
    return Turn(t.say("{What rhymes with $w?|Find a rhyme for $w.|Give me a word that rhymes with $w.|Tell me a rhyme for $w.|Which word rhymes with $w?|Rhyme with $w?}", w=w),
                t.say("{$R rhymes with $w.|$R.|How about $r?|$l rhyme with $w.}", w=w, r=r, R=cap(r), l=cap(join(rest)) if len(rest) > 1 else cap(r) + " and " + w), keep=(w,), short=cap(r))


def translate(t):
    row, i = t.pick(TRANSLATE), t.rng.randrange(4)
    w, lang, x = row[0], LANGS[i], row[i + 1]
    return Turn(t.say("{How do you say $w in $g?|What is $w in $g?|What is the $g word for $w?|Translate $w into $g.|Say $w in $g.|$g for $w?}", w=w, g=lang), t.say("{In $g, $w is $x.|$X.|It is $x.|$W is $x in $g.}", w=w, W=cap(w), g=lang, x=x, X=cap(x)), keep=(w, lang), short=cap(x))


def sentence(t):
    """Use a word in a sentence; is it a noun; a or an."""
    a = t.pick(ANIMALS)
    if t.chance(0.3):
        w = t.pick(FOODS)["name"] if t.chance(0.5) else a["name"]
        return Turn(f"Is it a or an {w}?", f"It is {an(w)}.", keep=(w,))
    return Turn(t.say("{Make a sentence with $w.|Write a sentence with the word $w.|Use $w in a sentence.|Give me a sentence about {a|the} $w.}", w=a["name"]),
                t.say("{The $n lives in {$h|$h}.|We saw a $c $n near the house.|I would like to see {the|that} $n once more.|Every evening the $n looked at the moon.|My sister drew the $n with a pencil.}", n=a["name"], h=a["home"], c=a["colour"].split(",")[0].split(" or ")[0]), keep=(a["name"],), again=sentence)
