"""Words and names that nobody has heard before, so that the model learns to copy instead of guessing."""
ONSET = "b bl br c ch cl cr d dr f fl fr g gl gr h j k kl kr l m n p ph pl pr qu r s sc sh sk sl sm sn sp st str t th tr tw v w wh x y z".split() + [""] * 6
VOWEL = "a a a e e e i i o o u ai ea ee ie oa oo ou y au ei io ia".split()
CODA = "n r l s t m d k ck ng nd nt st sh th x p rt lt ss tt nn ll rd b g".split() + [""] * 16
ENDING = "a o ie y us ette son man ton ville berg ford ina ita el er en is ia ane us wick ley by".split() + [""] * 14
PLAIN = """pepper biscuit table river candle cookie shadow pickle button waffle storm ginger cinnamon thunder maple hazel olive clover basil sage raven robin sparrow
falcon ash cedar willow rowan heather ivy jasmine violet daisy poppy rose lily amber pearl jade opal crystal silver copper rusty sandy sunny windy misty dusty smoky
captain major duke prince baron king marshal hunter fisher carter mason baker cook potter miller smith taylor archer piper rocket comet galaxy saturn mercury nova
orion luna apollo pixel byte widget gadget turbo noodle pretzel muffin cupcake peanut walnut almond mango kiwi berry peach plum cherry apricot papaya teapot
pudding crumble jelly toffee caramel mocha latte espresso truffle nugget bubbles whiskers boots mittens patch spot stripe freckles dimples giggles wiggles""".split()


def word(t):
    """A made-up word in small letters."""
    n = 1 + (t.rng.random() < 0.75) + (t.rng.random() < 0.2)
    out = "".join(t.pick(ONSET) + t.pick(VOWEL) + t.pick(CODA) for _ in range(n)) + t.pick(ENDING)
    return out if len(out) > 2 else word(t)


def bend(t, name):
    """A known name with one letter changed, added or lost: Johanna, Annika, Petro."""
    i = t.rng.randrange(1, len(name))
    c = t.pick("abcdefghijklmnoprstuvyz")
    return t.pick([name[:i] + c + name[i + 1:], name[:i] + c + name[i:], name + t.pick(["a", "o", "n", "na", "ka", "e", "i", "us", "ine", "son"]), name[:i] + name[i + 1:] or name])


def name(t, names):
    """A capitalised name: bent, made up, or a plain word."""
    r = t.rng.random()
    if r < 0.4:
        got = bend(t, t.pick(names))
    else:
        got = word(t) if r < 0.75 else t.pick(PLAIN)
    return got[:1].upper() + got[1:].lower()
