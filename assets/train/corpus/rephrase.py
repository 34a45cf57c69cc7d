"""Other ways to say the same: people rarely use the words that a table has foreseen."""
import re

LEADS = """So, |So |Ok, |Okay, |Please, |Tell me, |Tell me: |Hey, |Hey Bit, |Bit, |Now |And |Well, |Quick question: |Question: |One more question: |I have a question: |I'd like to know: |I want to know: |Do you know: |Can you tell me: |
Um, |Oh, |Now tell me, |I wonder, |Answer this: |Next question: |My question is: |Sorry, |Please tell me, |Hm, |Alright, |By the way, |Say, |Excuse me, |Could you tell me: |I was wondering, |Maybe you know: |Then |I was just thinking. |My son asked me this. |My daughter wants to know: |I forgot it. |I keep forgetting this. |Here is an easy one. |Let me ask you something. |I am curious. |Just one thing. |Maybe a silly question: |For my homework: |A friend asks: |Listen. |Right, |Good. |Fine. |Thanks. |Interesting. |I need your help. |Now something else. |Another question. |What do you think, """.replace("\n", "").split("|")
TAILS = "|, please|, please| please| pls|, thanks|, Bit|, do you know|, can you tell me|, tell me|, if I may ask| again| exactly|, in simple words| right now|, ok| then| actually|, my friend| for me".split("|")

# a pattern and what may stand in its place
SWAPS = [(re.compile(p), r.split("|")) for p, r in (
    (r"\bbigger\b", "larger"), (r"\bbiggest\b", "largest|greatest"), (r"\blargest\b", "biggest"), (r"\bcapital\b", "capital|capital city"), (r"\b[Tt]ell me\b", "give me|say|show me|tell us|let me hear"), (r"\bconversations\b", "chats|talks"), (r"\bconversation\b", "chat|talk"),
    (r"\bold chat\b", "earlier chat|previous conversation"), (r"\bthe program\b", "this app|the app|the software|bitnet-chat|this thing"), (r"\bquit\b", "leave|close|exit|end"), (r"\bexit\b", "close|leave|end"), (r"\bstop an answer\b", "stop the text|cancel the answer|stop generating|make it stop"),
    (r"\bfavou?rite\b", "favourite|favorite|best loved"), (r"\bcolou?r\b", "colour|color"), (r"\b[Hh]ow do I\b", "how can I|how could I|how would I|how to|what must I do to|how does one|in which way can I"), (r"\b[Hh]ow can I\b", "how do I|how to|what can I do to"), (r"\b[Ww]hich\b", "what"),
    (r"\b[Ww]hat is\b", "what's|what would be|whats"), (r"\b[Ww]hat are\b", "what're|which are"), (r"\b[Ww]ho is\b", "who's"), (r"\b[Ee]xplain\b", "describe|please explain|help me to understand"), (r"\b[Cc]alculate\b", "compute|work out|find"), (r"\bgreat\b", "super|fantastic|awesome"),
    (r"\bword\b", "word|term"), (r"\bopposite\b", "opposite|contrary"), (r"\bkind of\b", "sort of|type of"), (r"\bnoise\b", "sound"), (r"\bsound\b", "noise"), (r"\bpicture\b", "image|photo"), (r"\bfilm\b", "movie"), (r"\bmessage\b", "message|line|text"), (r"\banswer\b", "reply|response|answer"),
    (r"\banother\b", "one more|a different|another"), (r"\bmodel\b", "model|language model"), (r"\bgraphics card\b", "GPU|video card"), (r"\bsettings\b", "options|parameters"), (r"\bsee\b", "view|look at|see"), (r"\bfind\b", "look for|find"), (r"\bdelete\b", "remove|erase|throw away"),
    (r"\bremove\b", "delete|get rid of"), (r"\bsave\b", "store|keep"), (r"\bchange\b", "alter|set|modify"), (r"\bstart\b", "begin|launch"), (r"\bcalled\b", "named|called"), (r"\bfast\b", "quick"), (r"\bhelp me\b", "assist me|support me"), (r"\bdownload\b", "get|fetch|load down"),
    (r"\bdo you know\b", "can you say|have you an idea|are you able to say"), (r"\bDo you\b", "Do you really|Do you"), (r"\btoday\b", "today|now|this day"), (r"\bwrite\b", "write|make|compose"), (r"\bstory\b", "story|tale"), (r"\bsad\b", "sad|very sad|a bit sad"), (r"\bperson\b", "human|person"),
    (r"\bon the continent\b", "in the continent"), (r"\bcomes after\b", "follows|is after|comes next after"), (r"\bcomes before\b", "is before|precedes"), (r"\bspell\b", "spell|write letter by letter"), (r"\brhymes with\b", "rhymes on|rhymes with|sounds like"), (r"\b[Dd]o you remember\b", "do you recall|do you still know"),
    (r"\bI am\b", "I'm|im|i am"), (r"\bI have\b", "I've got|I have|I own"), (r"\bI like\b", "I really like|I love|I do like"), (r"\bList\b", "Name|Write|Give me"), (r"\bmany thanks\b", "thanks"),
)]
TOLD = "So, |Well, |Oh, |By the way, |Ok, |Hey Bit, |Um, |And ".split("|")
SMALL = {"the", "a", "an", "is", "do", "does", "of", "to", "me", "i", "can", "you", "are", "please"}
WANT = ("Tell", "Give", "Write", "Name", "List", "Spell", "Count", "Explain", "Show", "Sort", "Make")
WHAT_IS = re.compile(r"^What is ([^?.!:,]+)\?$")
HAVE = re.compile(r"^How many (\w+) does (.+) have\?$")
ASK = ["Tell me what {} is.", "Do you know what {} is?", "Can you tell me what {} is?", "I want to know what {} is.", "{} is what?", "Please explain what {} is.", "Could you say what {} is?", "What exactly is {}?", "And what is {}?", "I'd like to know what {} is.",
       "{}?", "So what is {}?", "What is {} again?", "{}, what is it?", "What do you think is {}?"]
HAS = ["How many {0} has {1} got?", "How many {0} has {1}?", "Tell me how many {0} {1} has.", "Do you know how many {0} {1} has?", "{1} has how many {0}?", "The number of {0} of {1}?"]
GREETS = ["Hello", "Hi", "Hey", "Good morning", "Good evening", "Hello there", "Hi Bit", "Hi there"]


def rephrase(rng, text, keep=()):
    """Perhaps the same question in other words. The words in keep are not touched."""
    r = rng.random()
    if r < 0.5 or len(text) > 110 or "\n" in text or text[:1] in "/@" or len(text) < 6:
        return text
    kept = [k for k in keep if k]
    if r < 0.62:
        m = WHAT_IS.match(text)
        if m and len(m[1]) > 2:
            out = rng.choice(ASK).format(m[1])
            return out[0].upper() + out[1:]
        m = HAVE.match(text)
        if m:
            out = rng.choice(HAS).format(m[1], m[2])
            return out[0].upper() + out[1:]
    if r < 0.76:
        rng_swaps = [s for s in SWAPS if s[0].search(text)]
        for pattern, choices in rng.sample(rng_swaps, min(len(rng_swaps), rng.choice([1, 1, 2]))):
            m = pattern.search(text)
            if m and not any(m[0].lower() in k.lower().split() for k in kept):
                text = text[:m.start()] + rng.choice(choices) + text[m.end():]
        return text
    if r < 0.88:
        first = text[0] if text[:2] in ("I ", "I'") or any(text.startswith(k) for k in kept) else text[0].lower()
        return rng.choice(LEADS if text[-1] == "?" or text.startswith(WANT) else TOLD) + first + text[1:]
    if r < 0.94:
        end = text[-1] if text[-1] in "?.!" else ""
        tail = rng.choice(TAILS) if end == "?" or text.startswith(WANT) else rng.choice([", Bit", ", my friend", ", you know", " :)"])
        return (text[:-1] if end else text) + tail + end
    words = text.split(" ")  # telegram style
    kept_words = {w.lower() for k in kept for w in k.split()}
    out = [w for w in words if w.lower() not in SMALL or w.lower() in kept_words or rng.random() < 0.4]
    return " ".join(out) if len(out) > 1 else text
