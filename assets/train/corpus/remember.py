"""Anything that people tell about themselves, asked for again many turns later; corrections; false claims; fewer words."""
import re

from . import coin
from . import world as W
from .facts import LISTS
from .lang import Turn, an, cap, words
from .memory import CITIES, FOODLIST, HOBBIES, PETS, UNKNOWN
from .things import DEFINITIONS, JOBS, OPPOSITES, PLURALS

ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth twelfth".split()
TITLES = ["Mr", "Mrs", "Miss", "Dr", "Professor", "Aunt", "Uncle", "Captain"]
WHERE = """in the kitchen|in the cellar|under the bed|on the table|in my bag|at the office|in the car|behind the door|in the garden|on the roof|in the drawer|at my mother's house|in the cupboard|on the shelf|in the bathroom|next to the lamp|under the sofa|in a blue box|
in the garage|on the train|at school|in the fridge|on the balcony|behind the sofa|in the attic|near the window|at the station|in my pocket|on the desk|under the stairs|in the library|at the hotel|in the hall|inside the piano""".replace("\n", "").split("|")
THINGS = """keys|umbrella|glasses|phone|wallet|hat|book|passport|scarf|guitar|bicycle|laptop|ring|camera|ticket|gloves|watch|letter|bag|jacket|notebook|map|money|shoes|lamp|coat|diary|ladder|skis|kite|torch""".split("|")
COUNTED = """cats|dogs|children|brothers|sisters|books|cars|bicycles|friends|cousins|rabbits|goldfish|plants|guitars|hens|cows|horses|shoes|hats|computers|houses|uncles|aunts|grandchildren|sheep|pets|apple trees|stamps|pens|chairs|rooms|windows|jobs|students|neighbours|coins|
ducks|goats|records|paintings|cups|umbrellas|keys|daughters|sons|phones|scarves|bees|tickets|roses""".replace("\n", "").split("|")
OWNED = """car|van|bicycle|house|door|dog|cat|horse|hat|coat|scarf|bag|sofa|kitchen|boat|umbrella|phone|jacket|dress|bedroom|rabbit|parrot|pencil|cup|shirt|lorry|motorbike|tent|roof|fence|front door|pullover|guitar|hair|suitcase|lamp""".split("|")
BROKEN = "phone|car|bicycle|computer|lamp|radio|washing machine|fridge|printer|watch|television|camera|oven|kettle|guitar|window|laptop|toaster|clock|bed".split("|")
INSTRUMENTS = LISTS["instruments"] + ["clarinet", "oboe", "ukulele", "accordion", "banjo", "bass", "recorder", "tuba", "viola", "horn"]
SPORTS = LISTS["sports"] + ["chess", "hockey", "badminton", "rugby", "cricket", "table tennis", "baseball", "squash"]
LANGUAGES = LISTS["languages"] + ["Polish", "Dutch", "Swedish", "Turkish", "Greek", "Korean", "Hungarian", "Danish", "Finnish", "Czech", "Norwegian", "Swahili"]
DRINKS = ["tea", "coffee", "water", "apple juice", "hot chocolate", "lemonade", "milk", "green tea", "mint tea", "orange juice", "cocoa", "ginger ale", "iced tea", "tomato juice", "peppermint tea", "cherry juice", "herbal tea", "cold milk", "soda", "cider"]
DISHES = FOODLIST + ["risotto", "goulash", "dumplings", "stew", "waffles", "lentils", "ravioli", "fried rice", "bean soup", "omelettes", "meatballs", "falafel", "couscous", "fish and chips", "potato salad", "mushrooms", "paella", "noodle soup", "apple pie"]
FEARS = ["spiders", "snakes", "thunder", "the dark", "dogs", "flying", "heights", "ghosts", "mice", "deep water", "clowns", "needles", "wasps", "storms", "bees", "crowds", "exams"]
TOPICS = ["snails", "trains", "the moon", "bees", "a lost city", "old castles", "robots", "the sea", "whales", "Japan", "cooking", "birds", "a detective", "mountains", "two sisters", "dragons", "clocks", "gardens", "ships", "a dog", "volcanoes", "wolves", "bread", "elephants", "a lighthouse", "islands", "pirates", "coffee", "horses", "the desert"]
SUBJECTS = ["music", "history", "biology", "law", "medicine", "physics", "art", "chemistry", "geography", "mathematics", "philosophy", "economics", "Latin", "engineering", "computer science", "literature", "botany"]
WORK = [j["name"] for j in JOBS] + ["dancer", "singer", "florist", "taxi driver", "bus driver", "translator", "builder", "cleaner", "hairdresser", "optician", "beekeeper", "potter", "goldsmith", "journalist", "surgeon", "chemist", "secretary", "lifeguard", "sculptor", "magician", "bookseller", "cashier", "brewer", "jeweller", "midwife"]
HOBBY = HOBBIES + ["pottery", "yoga", "sailing", "climbing", "skating", "baking", "sewing", "juggling", "skiing", "surfing", "origami", "archery", "cycling", "birdwatching", "stargazing", "woodwork", "collecting stamps", "playing cards", "doing puzzles", "calligraphy", "beekeeping", "rowing"]
FAVOURITES = {"colour": W.COLOURS + ["turquoise", "beige", "lilac", "crimson", "olive", "ivory"], "food": DISHES, "dish": DISHES, "drink": DRINKS, "animal": ["the " + a["name"] for a in W.ANIMALS] + ["the otter", "the lynx", "the moose", "the llama", "the badger", "the puma"], "fruit": ["the " + f["name"] for f in W.FOODS if f["kind"] == "fruit"],
              "vegetable": [f["name"] for f in W.FOODS if f["kind"] == "vegetable"], "season": W.SEASONS, "month": W.MONTHS, "day": W.DAYS, "number": [str(i) for i in range(1, 1000)], "book": None, "film": None, "song": None, "band": None, "city": CITIES, "country": [c["name"] for c in W.COUNTRIES], "sport": SPORTS,
              "game": ["chess", "hide and seek", "dominoes", "poker", "bingo", "checkers", "charades", "ludo"], "flower": ["the " + x for x in LISTS["flowers"]] + ["the orchid", "the iris", "the peony"], "tree": ["the " + x for x in LISTS["trees"]], "toy": ["my teddy bear", "the kite", "the doll", "the train", "a yo-yo", "the drum"], "subject": SUBJECTS,
              "language": LANGUAGES, "letter": [chr(65 + i) for i in range(26)], "planet": [p["name"] for p in W.PLANETS], "dessert": ["ice cream", "apple pie", "cheesecake", "pudding", "chocolate mousse", "tiramisu", "pancakes"], "cheese": ["brie", "gouda", "cheddar", "feta", "edam"], "bird": ["the " + x for x in LISTS["birds"]], "instrument": ["the " + x for x in INSTRUMENTS],
              "writer": None, "singer": None, "actor": None, "team": None, "soup": ["tomato soup", "onion soup", "pea soup", "leek soup"], "spice": ["cinnamon", "paprika", "ginger", "nutmeg", "saffron", "basil"], "holiday": ["Christmas", "Easter", "New Year"], "hobby": HOBBY, "word": None, "place": ["the beach", "my garden", "the library", "the old mill", "the lake", "the harbour", "my bed"]}
KIN = """brother|sister|mother|father|best friend|dog|cat|son|daughter|teacher|horse|neighbour|boss|husband|wife|aunt|uncle|cousin|grandmother|grandfather|rabbit|parrot|hamster|goldfish|doctor|dentist|baby|girlfriend|boyfriend|friend|colleague|niece|nephew|tortoise|boat|robot|car|doll|teddy bear|
landlord|trainer|coach|grandson|granddaughter|piano teacher|twin|flatmate|pony|guinea pig|canary|street|school|village|company|shop""".replace("\n", "").split("|")
PET = {"dog", "cat", "horse", "rabbit", "parrot", "hamster", "goldfish", "tortoise", "boat", "robot", "car", "doll", "teddy bear", "pony", "guinea pig", "canary"}
PLACEY = {"street", "school", "village", "company", "shop", "boat", "car"}
EVENTS = """meeting|exam|party|flight|holiday|wedding|concert|appointment|birthday party|driving test|interview|dentist appointment|trip|train|lesson|match|dance class|first day at work|picnic|choir practice|piano lesson|visit to the doctor|job interview|football match|school trip""".split("|")


def who(t):
    r = t.rng.random()
    n = t.pick(W.NAMES) if r < 0.4 else coin.name(t, W.NAMES)
    return f"{t.pick(TITLES)} {n}" if t.chance(0.1) else n


def strange(t, pool, p=0.25):
    """Mostly from the pool, sometimes a word that nobody knows, so that it has to be copied."""
    return (coin.word(t) if t.chance(0.6) else t.pick(coin.PLAIN)) if pool is None or t.chance(p) else t.pick(pool)


def clock(t):
    h = t.pick("one two three four five six seven eight nine ten eleven twelve".split())
    return t.pick([h, h, h + " o'clock", "half past " + h, str(t.rng.randrange(1, 13)), f"{t.rng.randrange(1, 24)}:{t.pick(['15', '30', '45', '20', '05'])}", "a quarter to " + h, "noon", "midnight"])


def number(t, lo, hi):
    n = t.rng.randrange(lo, hi)
    return words(n) if n < 100 and t.chance(0.4) else str(n)


ACK = "{I see.|Good to know.|Noted.|All right, I will remember that.|Thank you for telling me.|I will keep that in mind.|Okay.|How nice!|That is good to know.|Understood.|I see, thank you.|Nice! Tell me more.|How interesting!}"


def favourite(t):
    x = t.pick(list(FAVOURITES))
    v = strange(t, FAVOURITES[x], 0.2)
    if FAVOURITES[x] is None:
        v = " ".join(cap(strange(t, None)) for _ in range(t.pick([1, 1, 2])))
    y = x.replace("colour", "color") if t.chance(0.2) else x
    f = t.pick(["favourite", "favourite", "favorite"])
    t.pick(LISTS["names"])  # not used any more; the draw stays, so that the corpus stays the same
    return dict(key="favourite " + x, value=v, keep=(v.removeprefix("the "),),
                tell=t.say("{My $f $x is $v.|The $x {I like best|I like most|I love most|that I like best} is $v.|$V is my $f $x.|My $f $x? That is $v.|Of all ${x}s I like $v best.|I like $v {more than any other $x|best of all ${x}s}.|I {love|adore} $v, {it is|that is} my $f $x.|If you ask me, the best $x is $v.|By the way, my $f $x is $v.|No $x is better than $v{ for me|}, I think.}".replace("${x}s", "$p"), f=f, x=y, v=v, V=cap(v), p={"city": "cities", "country": "countries", "dish": "dishes", "hobby": "hobbies", "berry": "berries"}.get(y, y + "s")),
                ack=t.say("{$V is a good choice.|I see, your favourite $x is $v.|$V, I see.|$V is nice!|I will remember: $v.}", x=x, v=v, V=cap(v)),
                ask=t.say("{What is my $f $x?|What's my $f $x?|{Which|What} $x do I {like best|like most|love most|prefer|love}?|{Which|What} is my $f $x?|Do you {remember|know|still know} my $f $x?|{Which|What} is the $x {I like best|that I like most|I love most}?|And my $f $x?|Tell me my $f $x.|Now, what is my $f $x?|Which $x did I say I like best?|What did I say is my $f $x?}", f=f, x=y),
                say=t.say("{Your favourite $x is $v.|You like $v best.|$V.|You told me that it is $v.}", x=x, v=v, V=cap(v)), short=cap(v))


def kin(t):
    w = t.pick(KIN)
    v = (t.pick(PETS) if w in PET and t.chance(0.4) else who(t)) if w not in PLACEY else cap(strange(t, None)) + (" Street" if w == "street" else "")
    mine = t.pick(["my", "our"])
    return dict(key="kin " + w, value=v, keep=(v, w),
                tell=t.say("{$M $w is {called|named} $v.|The name of $m $w is $v.|$M $w's name is $v.|$M $w {has the name|goes by the name of|is known as} $v.|I have $a called $v.|I have $a, {his|her|the} name is $v.|I have $a named $v.|$v is {the name of $m $w|$m $w|what we call $m $w}.|Everybody calls $m $w $v.|I live with $m $w $v.|This is about $m $w, $v.|$M $w $v {is funny|is here today|came to see me|says hello}.}", m=mine, M=cap(mine), w=w, a=an(w), v=v) if w not in PLACEY else t.say("{$M $w is called $v.|The name of $m $w is $v.|$M $w's name is $v.}", m=mine, M=cap(mine), w=w, v=v),
                ack=t.say("{$v is a nice name.|I see, your $w is called $v.|Say hello to $v from me.|$v, I will remember that.|Nice! How is $v?}", w=w, v=v),
                ask=t.say("{What is the name of my $w?|What's my $w's name?|What is my $w called?|How is my $w called?|Do you {remember|know|still know|recall} {the name of my $w|my $w's name|what my $w is called}?|What was my $w's name?|What did I say {my $w is called|is the name of my $w}?|Tell me {my $w's name|the name of my $w}.|And my $w? What is the name?|{Which|What} name {has|does} my $w{ have|}?|And what's my $w's name?|What was my $w called again?|Who is my $w?}", w=w).replace("has my " + w + " have", "has my " + w).replace("does my " + w + "?", "does my " + w + " have?"),
                say=t.say("{Your $w is called $v.|The name of your $w is $v.|$v.|Your $w's name is $v.}", w=w, v=v), short=v)


def counted(t):
    x = t.pick(COUNTED)
    n = number(t, 2, 40)
    return dict(key="count " + x, value=n, keep=(x,), tell=t.say("{I have $n $x.|I've got $n $x.|I own $n $x.|There are $n $x {at my place|in my house|at home}.|My $x: there are $n of them.|We have $n $x{ at home|}.|I keep $n $x.|I am proud of my $n $x.}", n=n, x=x),
                ack=t.say("{$N $x, I see.|$N $x! That is nice.|I see, you have $n $x.}", n=n, N=cap(n), x=x), ask=t.say("{How many $x do I have?|How many $x have I got?|How many $x do I own?|Do you remember how many $x I have?|What is the number of my $x?|How many $x did I say I have?|And how many $x do I have?|Tell me how many $x I have.}", x=x),
                say=t.say("{You have $n $x.|$N.|You told me that you have $n.|$N $x.}", n=n, N=cap(n), x=x), short=cap(n))


def colour(t):
    x, c = t.pick(OWNED), t.pick(W.COLOURS + ["dark red", "light blue", "beige", "dark green"])
    name = who(t) if x in ("dog", "cat", "horse", "rabbit", "parrot") and t.chance(0.5) else ""
    return dict(key="colour " + x, value=c, keep=(x, c, name), tell=t.say("{My $x is $c.|I have a $c $x.|The colour of my $x is $c.|My $x has the colour $c.|I bought a $c $x.|I painted my $x $c.}" if not name else "{My $x $n is $c.|I have a $c $x called $n.|$n, my $x, is $c.}", x=x, c=c, n=name).replace("bought a " + c + " hair", "have " + c + " hair").replace("have a " + c + " hair", "have " + c + " hair"),
                ack=t.say("{$C is a nice colour.|I see, a $c $x.|A $c $x, how nice!}", c=c, C=cap(c), x=x), ask=t.say("{What colour is my $x?|What color is my $x?|Which colour {is|has} my $x?|What is the colour of my $x?|Do you remember the colour of my $x?|And what colour is my $x?|What colour did I say my $x is?|Of what colour is my $x?}", x=x),
                say=t.say("{Your $x is $c.|$C.|It is $c.}", x=x, c=c, C=cap(c)), short=cap(c))


def placed(t):
    x, w = t.pick(THINGS), t.pick(WHERE)
    verb = t.pick([("left", "leave"), ("put", "put"), ("hid", "hide"), ("forgot", "forget"), ("lost", "lose"), ("laid", "lay")])
    yours = w.replace("my ", "your ")
    return dict(key="place " + x, value=w, keep=(x,) + tuple(w.split()), tell=t.say("{I $d my $x $w.|My $x {is|are} $w.|I think I $d my $x $w.|I have $d my $x $w.|Please remember that my $x {is|are} $w.}", d=verb[0], x=x, w=w), ack=t.say("{I see, $w.|All right, $w.|Okay, I will remember: $w.|Then you know where to look.}", w=yours),
                ask=t.say("{Where did I $v my $x?|Where {is|are} my $x?|Where can I find my $x?|Do you remember where {my $x is|I $d my $x|my $x are}?|In which place did I $v my $x?|And where did I $v my $x?|Where was it that I $d my $x?}", v=verb[1], d=verb[0], x=x), say=t.say("{You $d your $x $w.|$W.|It is $w.|Your $x: $w.}", d=verb[0], x=x, w=yours, W=cap(yours)), short=cap(yours))


def event(t):
    e = t.pick(EVENTS)
    kind = t.pick(["day", "day", "month", "time", "city"])
    v, prep, w = {"day": lambda: (t.pick(W.DAYS), "on", "{On {which|what} day|When|On which day of the week|What day}"), "month": lambda: (t.pick(W.MONTHS), "in", "{In {which|what} month|When}"), "time": lambda: (clock(t), "at", "{At what time|When|What time}"), "city": lambda: (t.pick(CITIES), "in", "{Where|In which {city|town}|In what {city|town}}")}[kind]()
    mine = t.pick(["my", "our", "the"])
    is_, past = ("leaves", "does $m $e leave") if e in ("train", "flight") and kind == "time" else ("is", "is $m $e")
    return dict(key="event " + e, value=v, keep=(e, v), tell=t.say("{$M $e $i $p $v.|$M $e {takes place|will be|starts} $p $v.|I have $a $p $v.|There is $a $p $v.|Don't forget: $m $e is $p $v.|$P $v I have $a.}", m=mine, M=cap(mine), e=e, i=is_, p=prep, P=cap(prep), v=v, a=an(e)), ack=t.say("{I see, $p $v.|All right: $p $v.|Noted: $p $v.|Good luck! I will remember that it is $p $v.}", p=prep, v=v),
                ask=t.say(w + "{ " + past + "| will $m $e be| do I have $m $e}?", m=mine if mine != "the" else t.pick(["my", "the"]), e=e), say=t.say("{Your $e is $p $v.|$P $v.|It is $p $v.}", e=e, p=prep, P=cap(prep), v=v), short=cap(v))


# how it is told => asked => answered => what it is
PLAIN = """
{I live in $v|My home is in $v|I moved to $v|I have a flat in $v|We live in $v} => {Where do I live|In which {town|city} do I live|Which {town|city} do I live in|Where is my home|What city do I live in|What town is my home in} => {You live in $v|In $v|$V} => city
{I was born in $v|My birthplace is $v|$V is where I was born} => {Where was I born|In which {town|city} was I born|Which {town|city} was I born in|What is my birthplace} => {You were born in $v|In $v|$V} => city
{I come from $v|I am from $v|My family comes from $v} => {Where do I come from|Where am I from|Which {place|city} do I come from|From where do I come} => {You come from $v|From $v|$V} => city
{I come from $v|I am from $v|My home country is $v|My parents come from $v} => {Where do I come from|Where am I from|Which country do I come from|What is my home country|What country am I from} => {You come from $v|From $v|$V} => country
{I work in $v|My office is in $v|My job is in $v} => {Where do I work|In which {town|city} do I work|Where is my office} => {You work in $v|In $v|$V} => city
{We are going to $v|I am travelling to $v|I am flying to $v|I will visit $v|Our trip goes to $v|I want to spend my holiday in $v} {this summer|next week|tomorrow|for the holidays|in winter|next month|on holiday} => {Where {are we going|am I going|do I travel|am I travelling|do I want to go|will I go|am I flying to}|Which place do I want to visit|Where does our trip go|Where will I spend my holiday} => {You are going to $v|To $v|$V} => city
{My $k lives in $v|The home of my $k is in $v} => {Where does my $k live|In which {town|city} does my $k live|What {town|city} does my $k live in|Do you remember where my $k lives} => {Your $k lives in $v|In $v|$V} => city
{My $k comes from $v|My $k is from $v} => {Where does my $k come from|Where is my $k from|From which country is my $k} => {Your $k comes from $v|From $v|$V} => country
{My $k is $v years old|My $k is $v|My $k turned $v} => {How old is my $k|What is the age of my $k|What is my $k's age|Do you remember how old my $k is} => {Your $k is $v years old|$V|$V years old} => age
{My $k works as $a|My $k is $a} => {What does my $k do|What is my $k's job|What is the job of my $k|What does my $k work as} => {Your $k is $a|Your $k works as $a|$A} => job
{My $k {loves|likes|adores} $v|$V is what my $k likes best} => {What does my $k {like|love}|What is it that my $k likes} => {Your $k likes $v|$V} => dish
{I am $v years old|I'm $v|I am $v|I turned $v last week|My age is $v|I am already $v years old} => {How old am I|What is my age|Do you {remember|know} how old I am|How old did I say I am|What age am I|How many years old am I} => {You are $v years old|You are $v|$V|$V years old} => age
{I work as $a|I am $a|My job is $v|I earn my money as $a|By trade I am $a|I have been $a for years} => {What is my job|What do I do for a living|What do I work as|What is my profession|What am I by profession|What kind of work do I do|What do I do at work|How do I earn my money} => {You are $a|You work as $a|$A} => job
{I play the $v|I am learning to play the $v|My instrument is the $v|I practise the $v every day} => {{Which|What} instrument do I play|What do I play|What is my instrument|Which instrument am I learning} => {You play the $v|The $v} => instrument
{I play $v {every week|on Sundays|after work|a lot|}|My sport is $v|I am in a $v club} => {{Which|What} sport do I {play|do|like}|What do I play|What is my sport} => {You play $v|$V} => sport
{I like $v|I enjoy $v|I love $v} {very much|a lot|best of all sports} => {{Which|What} sport do I {like|enjoy|love}|What sport is it that I like} => {You like $v|$V} => sport
{I am learning $v|I study $v|I want to learn $v|I am taking lessons in $v} => {{Which|What} language {am I learning|do I learn|do I study|do I want to learn}|What am I learning} => {You are learning $v|$V} => language
{I speak $v|My mother tongue is $v|At home we speak $v} => {{Which|What} language do I speak|What is my mother tongue|What do we speak at home} => {You speak $v|$V} => language
{I study $v|I am a student of $v|At university I study $v|My subject is $v} => {What do I study|{Which|What} is my subject|What subject do I study|What am I a student of} => {You study $v|$V} => subject
{My hobby is $v|In my free time I like $v|I spend my weekends with $v|I love $v|I am fond of $v} => {What is my hobby|What do I like to do|What do I do in my free time|What do I love|{Which|What} hobby do I have|How do I spend my weekends} => {Your hobby is $v|You like $v|$V} => hobby
{I collect $v|I have a collection of $v} => {What do I collect|What is in my collection|What kind of collection do I have} => {You collect $v|$V} => things
{I {can't stand|hate|don't like|do not like|dislike|can't eat|never eat} $v} => {What {don't I like|do I hate|do I dislike|can't I stand|do I not like|do I never eat}|{Which|What} {food|thing} can't I stand|Which food don't I like} => {You don't like $v|$V} => food
{I am allergic to $v|I get ill from $v|I must not eat $v} => {What am I allergic to|What must I not eat|What makes me ill} => {You are allergic to $v|$V} => food
{I {am afraid of|fear|am scared of} $v} => {What am I afraid of|What do I fear|What am I scared of|What frightens me} => {You are afraid of $v|$V} => fear
{I {love|like|adore|enjoy} $v {very much|so much|more than anything|a lot}|There is nothing better than $v for me} => {What do I {love|like|adore|enjoy}|What food do I {love|like|adore}|What do I like so much|Do you remember what I like} => {You love $v|You like $v|$V} => dish
{I had $v for {lunch|dinner|breakfast}|I ate $v today|Today we ate $v} => {What did I {eat|have}|What did I have to eat|What was my meal} => {You had $v|$V} => dish
{I am cooking $v tonight|Tonight there will be $v|I want to cook $v for my friends} => {What am I cooking|What do I want to cook|What will there be tonight|What is for dinner tonight} => {You are cooking $v|$V} => dish
{I drink $v every morning|In the morning I always drink $v|I usually drink $v} => {What do I drink|What do I drink in the morning|{Which|What} drink do I have every morning} => {You drink $v|$V} => drink
{I need to buy $v|I have to get $v|I want to buy $v|I must not forget to buy $v} => {What do I {need|have|want} to buy|What must I not forget|What should I get|What do I want to get} => {You need to buy $v|$V} => buy
{I bought $a {yesterday|today|last week}|I got $a {for my birthday|from a friend|as a present}|I won $a} => {What did I {buy|get|win}|What was it that I got|Do you remember what I got} => {It was $a|$A} => thing
{My $b is broken|I broke my $b|My $b does not work any more|Something is wrong with my $b} => {What {is|was} broken|What did I break|What does not work any more|What thing of mine is broken|What do I have to repair} => {Your $b is broken|Your $b} => broken
{I lost my $b|Somebody stole my $b|I cannot find my $b} => {What did I lose|What {is|was} gone|What was stolen|What can I not find} => {Your $b|You lost your $b} => broken
{I wrote a book about $v|I am writing a book about $v|My book is about $v|I am reading a book about $v|I read a story about $v|I saw a film about $v} => {What {is|was} {my|the} {book|story|film} about|What did I {read|write|see} about|What was it about|What is the topic of the book} => {It is about $v|About $v|$V} => topic
{I dreamed of $v|Last night I dreamed about $v} => {What did I dream {of|about}|What was my dream about} => {You dreamed of $v|Of $v} => topic
{I get up at $v|I wake up at $v|My alarm rings at $v} => {When do I get up|At what time do I {get|wake} up|When does my alarm ring} => {At $v|You get up at $v} => clock
{My {train|bus|plane|ship|flight} leaves at $v|I have to leave at $v|The train goes at $v} => {When does my {train|bus|plane|ship|flight} leave|At what time do I have to leave|When do I have to go} => {At $v|It leaves at $v} => clock
{My flat is on the $v floor|I live on the $v floor|My office is on the $v floor} => {On {which|what} floor {do I live|is my flat|is my office}|{Which|What} floor do I live on} => {On the $v floor|The $v floor} => ordinal
{I was born in $v|My year of birth is $v|I came into the world in $v} => {In {which|what} year was I born|When was I born|What is my year of birth|What year was I born in} => {You were born in $v|In $v|$V} => year
{My birthday is in $v|I was born in $v|I have my birthday in $v} => {When is my birthday|In {which|what} month is my birthday|What month is my birthday in|In which month was I born} => {Your birthday is in $v|In $v|$V} => month
{I am $v cm tall|My height is $v cm} => {How tall am I|What is my height} => {You are $v cm tall|$V cm} => height
{My room number is $v|I am in room $v|My room is number $v} => {What is my room number|In which room am I|Which room do I have} => {Your room number is $v|$V|Room $v} => number
{My {phone|house|ticket|flight|bus|shirt} number is $v} => {What is my {phone|house|ticket|flight|bus|shirt} number} => {It is $v|$V} => number
{My lucky number is $v|My number is $v|Seven is not my number, $v is} => {What is my lucky number|{Which|What} is my number|Tell me my lucky number|Do you still know my lucky number|Which number brings me luck} => {Your lucky number is $v|$V|It is $v} => number
{The {code word|secret word|password|magic word} is $v|Please {remember|keep in mind|note|do not forget} {the word|this word:} $v|Remember this: $v|Keep $v in mind for me|I want you to remember {the word|} $v} => {What {is|was} the {code word|secret word|password|magic word|word}|{Which|What} word {should|did} you {keep in mind|remember}|{Which|What} word did I {give|tell} you|What did I want you to remember|What should you remember|Do you remember the word|What was the word I told you} => {The word is $v|It was $v|$V} => word
{I am waiting for $v|I am looking for $v|I have a letter for $v|I have a date with $v|I met $v today|I am in love with $v|I talked to $v} => {{Who|Whom} am I {waiting|looking} for|Who did I {meet|talk to}|Who am I in love with|Who do I have a date with|Who was it} => {$v|It is $v|You said it is $v} => who
{Call me $v|You can call me $v|Please call me $v|You may call me $v|I want you to call me $v|Address me as $v} => {What {should|do|can} you call me|How {should|do} you call me|How did I want to be called|What did I ask you to call me|What do you call me} => {I call you $v|$v|You want to be called $v} => who
{I drive $a|I go to work by $v|I have $a} => {What do I drive|How do I go to work|{Which|What} vehicle do I have} => {You drive $a|$A} => vehicle
{My team is $v|I am a fan of $v|My club is $v} => {What is my team|Which team do I like|What am I a fan of|What is my club} => {Your team is $v|$v} => who
{I am married to $v|$v is my {husband|wife}} => {Who am I married to|What is the name of my partner|Whom did I marry} => {You are married to $v|$v} => who
{My favourite subject at school was $v|I was good at $v at school} => {What was my favourite subject|What was I good at} => {$V|It was $v} => subject
{I have been {here|married|ill|on holiday|on a diet} for $v {days|weeks|years}} => {How long have I been {here|married|ill|on holiday|on a diet}} => {For $v|You said $v} => age
{I want to become $a|When I grow up I want to be $a|My dream is to be $a} => {What do I want to {become|be}|What is my dream|What is my dream job} => {You want to become $a|$A} => job
{I am wearing a $c $g|Today I wear a $c $g} => {What am I wearing|What do I wear today} => {You are wearing a $c $g|A $c $g} => wear
{The weather here is $v|It is $v here} => {What is the weather like at my place|How is the weather here|What did I say about the weather} => {You said that it is $v|It is $v} => weather
"""
PLAIN = [[p.strip() for p in line.split(" => ")] for line in PLAIN.strip().splitlines()]


def plain(t):
    tell, ask, say, kind = t.pick(PLAIN)
    k, b = t.pick(KIN[:33]), t.pick(BROKEN)
    v = {"city": lambda: coin.name(t, CITIES) if t.chance(0.25) else t.pick(CITIES), "country": lambda: t.pick(W.COUNTRIES)["name"], "age": lambda: number(t, 2, 100), "job": lambda: strange(t, WORK, 0.1), "instrument": lambda: strange(t, INSTRUMENTS, 0.1), "sport": lambda: strange(t, SPORTS, 0.1), "language": lambda: t.pick(LANGUAGES),
         "subject": lambda: strange(t, SUBJECTS, 0.1), "hobby": lambda: strange(t, HOBBY, 0.1), "things": lambda: t.pick(["stamps", "coins", "shells", "old maps", "teapots", "postcards", "stones", "dolls", "records", "comics", "buttons", "keys", "clocks", "masks", "toy trains"]), "food": lambda: strange(t, ["onions", "garlic", "nuts", "milk", "fish", "eggs", "cheese", "mushrooms", "tomatoes", "beans", "olives", "cabbage", "spinach", "peppers", "celery", "strawberries", "carrots", "peas"], 0.1),
         "fear": lambda: strange(t, FEARS, 0.1), "dish": lambda: strange(t, DISHES + ["cherries", "grapes", "plums", "melons", "chocolate", "nuts", "honey"], 0.1), "drink": lambda: strange(t, DRINKS, 0.1), "buy": lambda: t.pick(["a new lamp", "flour and eggs", "some bread", "a birthday present", "new shoes", "a train ticket", "toothpaste", "batteries", "paint", "a hammer", "soap", "dog food", "a winter coat", "stamps", "three lemons", "flowers", "a kettle", "cat food", "candles"]),
         "thing": lambda: t.pick(["new lamp", "red bicycle", "camera", "blue vase", "old clock", "puzzle", "silver ring", "kite", "violin", "wooden chair", "big map", "green scarf", "telescope", "rocking chair", "drum", "watch", "teapot"]), "broken": lambda: b, "topic": lambda: strange(t, TOPICS, 0.1), "clock": lambda: clock(t), "ordinal": lambda: t.pick(ORDINALS), "year": lambda: str(t.rng.randrange(1930, 2020)), "month": lambda: t.pick(W.MONTHS),
         "height": lambda: str(t.rng.randrange(120, 205)), "number": lambda: str(t.rng.randrange(1, 1000)), "word": lambda: strange(t, [d["name"].split()[-1] for d in DEFINITIONS], 0.5), "who": lambda: who(t), "vehicle": lambda: t.pick(["small car", "red van", "bus", "motorbike", "bicycle", "lorry", "scooter", "tractor", "taxi", "tram"]), "wear": lambda: t.pick(W.COLOURS), "weather": lambda: t.pick(["sunny", "rainy", "cold", "windy", "hot", "foggy", "stormy", "cloudy", "snowy", "mild"])}[kind]()
    g = t.pick(["hat", "scarf", "coat", "dress", "shirt", "jacket", "sweater", "tie"])
    slots = dict(v=v, V=cap(v), a=an(v), A=cap(an(v)), k=k, b=b, c=v, g=g)
    ack = t.say("{I see, $x.|$X, I see.|$X? Good to know.|I will remember: $x.}", x=v, X=cap(v)) if kind not in ("broken", "wear") and t.chance(0.5) else t.say(ACK)
    end = t.pick([".", ".", ".", "!", ""])
    return dict(key="plain " + ask[:24] + (k if "$k" in ask else ""), value=v, keep=(v, k, b, g), tell=cap(t.say(tell, **slots)) + end, ack=ack, ask=cap(t.say(ask, **slots)) + "?", say=cap(t.say(say, **slots)) + ".", short=cap(v))


def me(t):
    """A name, and often more than a name in one sentence."""
    n = who(t)
    job, city, age = t.pick(WORK), t.pick(CITIES) if t.chance(0.7) else coin.name(t, CITIES), number(t, 7, 95)
    food = t.pick(DISHES)
    k = t.rng.randrange(9)
    more = {0: " and I am " + an(job), 1: f" from {city}", 2: f", {an(job)} from {city}", 3: f" and I am {age}", 4: f" and I {t.pick(['live in', 'come from', 'am from'])} {city}", 5: f" and I {t.pick(['love', 'like'])} {food}"}.get(k, "")
    lead = t.say("{My name is|I am|I'm|I am called|My name's|The name is|People call me|They call me|Everyone calls me|You can call me|Call me|Hello, I'm|Hi, I am|Good morning, my name is|Hello! My name is|Hi! People call me|This is|Hey, I'm|May I introduce myself? I am}")
    if more.startswith(" from") or more.startswith(","):
        lead = t.pick(["I am", "I'm", "Hello, I'm", "Hi, I am", "This is", "My name is"]) if more[0] == " " else t.pick(["I am", "I'm", "Hello, I'm", "Hi, I am"])
    notes = [dict(key="name", ask=t.say("{What is my name?|What's my name?|Do you {remember|know|still know|recall} {my name|what my name is|what I am called}?|Who am I?|How am I called?|What am I called?|Tell me my name.|What was my name{ again|}?|What's my name, by the way?|And what is my name?|So what's my name?|Have you forgotten my name?|Say my name.|By which name did I introduce myself?}"), say=t.say("{Your name is $n.|You are $n.|$n.|You told me that your name is $n.|You are called $n.}", n=n), short=n)]
    if k in (0, 2):
        notes.append(dict(key="job", ask=t.say("{What is my job|What do I do for a living|What do I work as|What is my profession|What's my job}?"), say=t.say("{You are $a.|$A.}", a=an(job), A=cap(an(job))), short=cap(an(job))))
    if k in (1, 2, 4):
        notes.append(dict(key="city", ask=t.say("{Where am I from|Where do I come from|Which {city|town|place} am I from|Where did I say I come from}?"), say=t.say("{You are from $c.|From $c.|$C.}", c=city, C=city), short=city))
        notes.append(dict(key="name city", ask=t.say("{What's my name and where am I from|Who am I and where do I come from|Tell me my name and where I come from}?"), say=f"You are {n}{' and you live in ' + city if 'live' in more else ' from ' + city}.", short=n))
    if k == 3:
        notes.append(dict(key="age", ask=t.say("{How old am I|What is my age|How old did I say I am}?"), say=f"You are {age}.", short=cap(age)))
    if k == 5:
        notes.append(dict(key="love", ask=t.say("{What do I {love|like}|What food do I {love|like}|What did I say I {love|like}}?"), say=t.say("{You like $f.|$F.}", f=food, F=cap(food)), short=cap(food)))
    ack = t.say("{Nice to meet you, $n!|Hello $n!|Hi $n! {What can I do for you|How can I help you|What would you like to know}?|It is a pleasure, $n.|Welcome, $n!|Hello $n, nice to meet you!|Nice to meet you, $n.}", n=n)
    return dict(key="name", value=n, keep=(n, city, job, food), tell=f"{lead} {n}{more}{t.pick(['.', '.', '!', ''])}", ack=ack, notes=notes)


KINDS = [(me, 4), (favourite, 4), (kin, 5), (counted, 2), (colour, 2), (placed, 2), (event, 2.5), (plain, 9)]
FUNCS, WEIGHTS = zip(*KINDS)


def tell(t):
    f = t.rng.choices(FUNCS, WEIGHTS)[0](t)
    new = f.get("notes") or [dict(key=f["key"], ask=f["ask"], say=f["say"], short=f["short"])]
    keys = {n["key"] for n in t.notes}
    if any(n["key"] in keys for n in new) or (f["key"] == "name" and "name" in t.facts):
        return None
    if f["key"] == "name":
        t.facts["name"] = f["value"]
    for n in new:
        n["value"], n["at"] = f["value"], len(t.turns)
    t.notes += new
    t.told = f
    return Turn(f["tell"], f["ack"] if t.chance(0.75) else t.say(ACK), keep=f["keep"])


def recall(t):
    old = [n for n in t.notes if len(t.turns) - n["at"] >= 1]
    if not old:
        return None
    n = t.pick(old)
    lead = t.pick(["", "", "", "", "Now, ", "By the way, ", "Tell me: ", "One question: ", "And ", "So ", "Do you still know: ", "Let me test you. "])
    ask = n["ask"]
    if lead and not lead.endswith(". ") and ask.split()[0] not in ("I",):
        ask = ask[0].lower() + ask[1:] if not ask.startswith("I ") else ask
    return Turn(lead + ask, n["say"], keep=tuple(n["ask"].rstrip("?.").split()[-4:]), short=n["short"])


def unknown(t):
    """The same questions, when nothing of the kind was told."""
    f = t.rng.choices(FUNCS, WEIGHTS)[0](t)
    n = t.pick(f.get("notes") or [f])
    keys = {x["key"] for x in t.notes}
    if n["key"] in keys or n["key"].split()[-1] in t.facts or "kin " + n["key"].split()[-1] in t.facts or (n["key"] in ("name city", "name") and ("name" in t.facts or t.notes)):
        return None
    if len(t.notes) > 2 and f["key"].startswith("plain"):
        return None
    return Turn(n["ask"], t.say("{$u|I don't know. You have not told me.|I do not know that, you never told me.|How should I know? You have not told me yet.|I don't know, I am sorry.}".replace("$u", UNKNOWN)), keep=())


def correct(t):
    """A change of mind about what was told last."""
    f = getattr(t, "told", None)
    if not f or not t.turns or "notes" in f or t.turns[-1].user != f["tell"]:
        return None
    old = f["value"]
    for _ in range(20):
        g = {"favourite": favourite, "kin": kin, "count": counted, "colour": colour, "place": placed, "event": event, "plain": plain}[f["key"].split()[0]](t)
        if g["key"] == f["key"] and g["value"] != old:
            break
    else:
        return None
    v = g["value"]
    again = g["tell"].rstrip(".!")
    said = t.say("{Sorry, I meant $v.|No wait, $l.|Oh, I made a mistake: $l.|Actually, $l.|Actually no, $l.|That was wrong. $t.|That's wrong, $l.|I made a typo: $l.|Sorry, $l.|I changed my mind: $l.|Wait, not $o but $v.|Not $o, I mean $v.|Correction: $l.|No, it is $v.|I meant to say $v.|Oops, I mean $v.|It is $v, not $o.}", v=v, o=old, l=again[0].lower() + again[1:] if not again.startswith("I ") and not any(again.startswith(x) for x in (str(v), cap(str(v)))) else again, t=again)
    t.notes = [n for n in t.notes if n["key"] != f["key"]]
    t.notes.append(dict(key=g["key"], ask=g["ask"], say=g["say"], short=g["short"], value=v, at=len(t.turns)))
    t.told = None
    return Turn(cap(said), t.say("{All right, $v, not $o.|I see, $v. Thank you for telling me.|Okay, $v it is.|No problem: $v.|Thank you, I will remember: $v.}", v=v, o=old), keep=(v, old) + g["keep"])


def correct_name(t):
    f = getattr(t, "told", None)
    if not f or not t.turns or f["key"] != "name" or t.turns[-1].user != f["tell"]:
        return None
    n = coin.bend(t, f["value"].split()[-1]) if t.chance(0.5) else t.pick(W.NAMES)
    n = cap(n)
    if n == f["value"]:
        return None
    t.facts["name"] = n
    t.notes = [x for x in t.notes if "name" not in x["key"]]
    t.notes.append(dict(key="name", ask=t.say("{What is my name?|What's my name?|So what is my name?|Do you know my name now?|What is my name now?|Who am I?|So what's my name?}"), say=t.say("{Your name is $n.|You are $n.|$n.}", n=n), short=n, value=n, at=len(t.turns)))
    t.told = None
    return Turn(t.say("{Sorry, I meant $n.|No, my name is $n.|Actually my name is $n.|Oops, I made a typo: $n.|It is $n, not $o.|Not $o, $n.|Wait, I am $n.|I mean $n.|Correction: my name is $n.}", n=n, o=f["value"]), t.say("{All right, $n, not $o.|Sorry! Hello $n.|Nice to meet you, $n.|I see: $n.|Thank you, $n. I will remember.}", n=n, o=f["value"]), keep=(n, f["value"]))


def claim(t):
    """The user says something; the model says whether it is so."""
    k, ok = t.rng.randrange(5), t.chance(0.35)
    lead = t.pick(["", "", "I think that ", "I believe ", "I am sure that ", "My friend says that ", "You know, ", "I read that "])
    good = lambda s: t.say("{Yes, that is right: $s.|Right, $s.|That is right.|Yes, $s.}", s=s)
    bad = lambda s: t.say("{No, $s.|That is not right: $s.|Not quite: $s.|I think not: $s.}", s=s)
    if k == 0:
        a, b = t.pick(PLURALS)
        wrong = a + "s"
        if wrong == b:
            wrong, ok = b, True
        said = f"the plural of {a} is {b if ok else wrong}"
        true = f"the plural of {a} is {b}"
    elif k == 1:
        c = t.pick(W.COUNTRIES)
        said = f"{c['capital'] if ok else t.pick([x for x in W.COUNTRIES if x is not c])['capital']} is the capital of {c['name']}"
        true = f"the capital of {c['name']} is {c['capital']}"
        ok = c["capital"] in said
    elif k == 2:
        a, b = t.pick(OPPOSITES)
        o = t.pick(OPPOSITES)[0]
        if not ok and o in (a, b):
            return None
        said, true = f"the opposite of {a} is {b if ok else o}", f"the opposite of {a} is {b}"
    elif k == 3:
        i = t.rng.randrange(7)
        d = W.DAYS
        j = i + 1 if ok else i + t.pick([2, 3, 4])
        said, true = f"{d[j % 7]} comes after {d[i]}", f"{d[(i + 1) % 7]} comes after {d[i]}"
    else:
        c = t.pick(W.COLOURED)
        o = c["colour"] if ok else t.pick([x for x in W.COLOURS if x != c["colour"]])
        said, true = f"{c['name']} is {o}", f"{c['name']} is {c['colour']}"
    return Turn(cap(lead + said) + t.pick([".", ".", ", right?", ", isn't it?", "!"]), good(true) if ok else bad(true), keep=tuple(said.split()), short="Yes" if ok else "No")


CUT = re.compile(r"(.{6,}?)(?:,| that | which | who | with | where | because |;|:| so that | in order to | when | and | so )")


def shorter(t):
    """Fewer words, simpler words, one word, for whatever was said last."""
    last = t.last.answer
    if "\n" in last or len(last.split()) < 7 or t.tone or last.startswith("Sorry") or "don't" in last or t.last.user.startswith("My") or "?" in last:
        return None
    first = last.split(". ")[0].rstrip(".")
    m = CUT.match(first)
    short = m[1] if m else first
    if len(short.split()) < 3 or len(short.split()) >= len(last.split()) - 1 or '"' in short:
        return None
    if short.split()[-1] in ("is", "are", "the", "a", "of", "to", "in", "for", "on", "it", "has", "means", "not"):
        return None
    k = t.rng.randrange(3)
    if k == 0:
        nouns = [w for w in re.findall(r"[a-z]{4,}", first) if w in NOUNS and w not in t.last.user.lower()]
        if not nouns:
            return None
        return Turn(t.say("{{Now |Please |Can you |Could you |}{say|put|tell me} {that|it} in {one|a single} word{|, please}.|In one word?|{One word|Just one word}, please.|Only one word.|One word is enough.}"), cap(nouns[0]) + ".")
    if k == 1:
        return Turn(t.say("{{Can you|Could you|Please} {say|put} {that|it} {in fewer words|shorter|more briefly}{?|.}|In fewer words, please.|{Shorter|Shorter, please|A bit shorter}.|{Make|Can you make} {it|that} shorter{.|?}|That was long. Shorter?|Too long. Shorter, please.|{Sum it up|Say it briefly|In short}.}"), short + ".")
    return Turn(t.say("{I {don't|do not} {understand|get it|get that}.|{That is|That's|This is} too {hard|difficult} for me.|{Can you|Could you|Please} {say|explain|put} {that|it} {more simply|in simpler words|in easier words|simpler|again, but simpler}{?|.}|{Simpler|Easier}, please.|What does that mean?|Explain it like I'm five.|I don't understand. Can you {say it more simply|explain it}?}"), t.say("{In simple words: $s.|Simply said: $s.|In other words: $s.}", s=short if short[:2] in ("I ", "I'") or short.split()[0] not in ("The", "A", "An", "It", "In", "With", "They", "People", "This", "We") else short[0].lower() + short[1:]))


NOUNS = {d["name"].split()[-1] for d in DEFINITIONS} | {a["name"] for a in W.ANIMALS} | {f["name"] for f in W.FOODS} | set("light water heat cold energy rest food sleep safety money metal machine animal person place tool work rocks rivers clouds stars leaves plants milk glass wood child children people body words numbers warmth".split())


def asked(t):
    """What was my last question?"""
    first, last = t.turns[0], t.turns[-1]
    if max(len(first.said), len(last.said)) > 110 or '"' in last.said + first.said:
        return None
    if t.chance(0.65):
        return Turn(t.say("{What did I {just |}{ask|say|want to know|write}{ you|}{| just now| a moment ago}?|What was my {last|latest|previous} {question|message|sentence}?|What was the last thing I {said|asked|wrote}?|{Can you repeat|Repeat|Tell me} my last {question|message}.|What did I ask you {about |}{before this|just now|last}?|Do you remember my last question?|What was I asking?|About what did I just ask you?}").replace("did I just say you", "did I just say").replace("want to know you", "want to know").replace("write you", "write").replace("did I say you", "did I say"),
                    t.say("{You {asked|said}: \"$q\"|\"$q\"|Your last {question|message} was: \"$q\"}", q=last.said))
    return Turn(t.say("{What was {my|the} {very |}first {question|message|thing I asked|thing I said}{ you|}?|What did I {ask|say|want to know} {first|at first|at the beginning|in the beginning|at the start}?|How did I {begin|start}?|What did we {start|begin} with?|With what did I begin?}").replace("question you", "question").replace("message you", "message").replace("said you", "said"), t.say("{You {asked|said}: \"$q\"|\"$q\"|The first thing was: \"$q\"}", q=first.said))
