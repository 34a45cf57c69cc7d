"""Makes the corpus of tests/app/text/widths.tsv: how many columns a terminal gives to text of any script.

    width_corpus.py --update tests/app/text/widths.tsv     # asks tmux again
    width_corpus.py --check tests/app/text/widths.tsv      # fails if tmux answers otherwise

Each case is written to a tmux pane (of 3.3a when the file was made) from the first column on, and tmux is asked
where its cursor stands (DSR 6). A line of the file: name, code points, columns of tmux, our columns, why they
differ. Ours are what app/text/text_width.h says; text_test.cpp checks them.
"""
import os
import subprocess
import sys

from tmux import Terminal

VS15, VS16, ZWJ, KEYCAP = "\ufe0e", "\ufe0f", "\u200d", "\u20e3"


def cases():
    """Returns [(name, text)]."""
    out = []

    def each(name, texts):
        out.extend((f"{name} {i + 1}", text) for i, text in enumerate(texts))

    each("ascii", ["a", "hello", "~!@#", "a b"])
    each("latin", ["é", "naïve", "Größe", "œuvre", "İstanbul", "ﬁn"])
    each("greek and cyrillic", ["λόγος", "Ωμέγα", "Привет", "ђ", "ҙ"])
    each("han", ["漢", "漢字", "中文测试", "日本語", "㐀", "𠮷", "𪚥", "〇", "々"])
    each("kana", ["か", "カタカナ", "ｶﾀｶﾅ", "ガ", "か\u3099", "ｶﾞ", "ー", "ゟ"])
    each("hangul", ["한", "한국어", "ㄱ", "\u1112\u1161\u11ab", "\u1100\u1161", "ﾡ"])
    each("bopomofo and yi", ["ㄅㄆ", "ꀀꀁ"])
    each("full and half width", ["Ａ", "ＡＢＣ", "１２", "￥", "｡", "￦", "￨"])
    each("CJK punctuation", ["。", "、", "「」", "《》", "…", "——", "・", "〜", "～", "※"])
    each("CJK symbols", ["㈱", "①", "㊗", "㎏", "㍿", "〶", "㉈", "䷀", "⿰", "〾"])
    each("ambiguous", ["°", "±", "×", "÷", "α", "Я", "─", "■", "○", "★", "→", "∞", "√", "☆", "♪", "§", "¶"])
    each("box and blocks", ["│", "╭─╮", "█", "░", "▏", "▁", "◢", "⣿"])
    each("combining acute", ["e\u0301", "a\u0301b", "\u0301", "x\u0301\u0302\u0303", "n\u0303"])
    each("combining others", ["a\u0308", "o\u0328", "q\u0323\u0307", "a\u20d7", "x\u0336", "1\u20dd", "c\u0327"])
    each("zalgo", ["z" + "\u0310\u0316\u035b" * 3, "a" + "\u0300" * 9])
    each("hebrew", ["שלום", "שָׁלוֹם", "א\u05b8", "בְּרֵאשִׁית"])
    each("arabic", ["مرحبا", "مُحَمَّد", "لا", "\u0640", "ﷺ", "۱۲۳"])
    each("syriac, thaana, nko", ["ܫܠܡܐ", "ދިވެހި", "ߒߞߏ"])
    each("devanagari", ["नमस्ते", "नि", "क्ष", "हिन्दी", "ॐ", "क\u094d\u200dष"])
    each("bengali, tamil, telugu", ["বাংলা", "தமிழ்", "தி", "తెలుగు", "ಕನ್ನಡ", "മലയാളം", "සිංහල", "ગુજરાતી", "ਪੰਜਾਬੀ", "ଓଡ଼ିଆ"])
    each("thai and lao", ["ไทย", "ที่นี่", "กำ", "ลาว", "ພາສາ", "น้ำ"])
    each("tibetan, myanmar, khmer", ["བོད", "མཐའ", "မြန်မာ", "ខ្មែរ", "ក្ក"])
    each("ethiopic, georgian, armenian", ["አማርኛ", "ქართული", "Հայերեն", "ᏣᎳᎩ", "ᠮᠣᠩᠭᠣᠯ"])
    each("emoji", ["😀", "🚀", "🎉", "🦄", "🧠", "🫠", "🥹", "👋", "💡", "🔥", "⌚", "⏰", "☔", "♈", "⚡", "⛄", "✅", "❌", "❓", "➕", "⭐", "🀄", "🃏", "🈁", "🉐"])
    each("pictograph shown as text", ["☀", "☎", "✂", "✈", "✏", "❤", "♥", "☺", "©", "®", "™", "↔", "▶", "☑", "♻", "⚠", "ℹ", "🌡", "🏖", "🖥", "🕊", "🅰", "🈂"])
    each("VS16", [c + VS16 for c in "☀☎✂✈✏❤♥☺©®™↔▶☑♻⚠ℹ🌡🏖🖥🅰"])
    each("VS15", [c + VS15 for c in "☀❤⌚☔⚡⭐😀"])
    each("keycap", ["1" + VS16 + KEYCAP, "#" + VS16 + KEYCAP, "*" + VS16 + KEYCAP, "5" + KEYCAP])
    each("skin tone", ["👍🏽", "👋🏿", "🤚🏻", "✌🏽", "☝🏾", "✍" + VS16 + "🏽", "🏽", "a🏽"])
    each("ZWJ", ["👨" + ZWJ + "👩" + ZWJ + "👧", "👩" + ZWJ + "💻", "👨🏽" + ZWJ + "🚀", "🏳" + VS16 + ZWJ + "🌈", "🏴" + ZWJ + "☠" + VS16,
                 "❤" + VS16 + ZWJ + "🔥", "🐻" + ZWJ + "❄" + VS16, "👩" + ZWJ + "❤" + VS16 + ZWJ + "👨", "🧑" + ZWJ + "🤝" + ZWJ + "🧑",
                 "👁" + VS16 + ZWJ + "🗨" + VS16, "🙋" + ZWJ + "♀" + VS16, "a" + ZWJ + "b", "😀" + ZWJ])
    each("flag", ["🇩🇪", "🇫🇷", "🇧🇷", "🇩🇪🇫🇷", "🇩🇪🇫", "🇩", "a🇩🇪b", "🇯🇵 🇰🇷"])
    each("zero width", ["a\u200bb", "a\u200cb", "a\u2060b", "a\u00adb", "a\u034fb", "a\u200eb", "a\u200fb"])
    each("spaces", ["a\u00a0b", "a\u2003b", "a\u2009b", "a\u3000b", "a\u202fb", "\u1680"])
    each("private and odd", ["\ue000", "\uf8ff", "\ufffd", "\U0001f9ff", "\U0001fae8", "\U0001fbf0", "\U0001d400", "\U00010348",
                             "\U00012000", "\U00013000", "\U0001f130", "\U0001f200"])
    each("mixed", ["a漢b字c", "Zürich→東京", "😀a👍🏽b🇩🇪c", "e\u0301漢\u0301x", "שלום 漢字 ok", "№ 5 ①", "naïve 👩" + ZWJ + "💻!"])
    return out


def reason(text):
    """Returns why our columns differ from those of tmux 3.3a, if they do."""
    if "\U0001fae8" in text:
        return "of Unicode 15, which the C library's tables behind tmux 3.3a do not have; 2 as other emoji"
    if "\u094d" in text:
        return "tmux puts whatever follows a ZWJ into the cell before it; UAX #29 (libutf8proc 2.6) has two clusters here"
    if any("\U0001f3fb" <= c <= "\U0001f3ff" for c in text):
        return "a skin tone and the emoji before it are one emoji of 2 (UTS #51); tmux gives it cells of its own"
    if VS16 in text:
        return "VS16 asks for the emoji's own form, which is 2 wide (UTS #51); tmux measures the first code point alone"
    return "?"


# Run in the pane: writes each case and reads where the cursor then is.
ASK = r"""
import os, re, sys, termios, tty
cases = [bytes.fromhex(line) for line in open(sys.argv[1])]
tty.setraw(0)
def column():
    os.write(1, b"\x1b[6n")
    answer = b""
    while not answer.endswith(b"R"):
        answer += os.read(0, 64)
    return int(re.search(rb";(\d+)R", answer)[1]) - 1
with open(sys.argv[2] + ".tmp", "w") as out:
    for case in cases:
        os.write(1, b"\r\x1b[K" + case)
        print(column(), file=out)
os.rename(sys.argv[2] + ".tmp", sys.argv[2])
"""


def columns_of_tmux(texts):
    with Terminal() as t:
        ask, wanted, answers = (os.path.join(t.home, name) for name in ("ask.py", "wanted", "answers"))
        with open(ask, "w") as f:
            f.write(ASK)
        with open(wanted, "w") as f:
            f.writelines(text.encode().hex() + "\n" for text in texts)
        t.line(f"{sys.executable} {ask} {wanted} {answers}")
        t.wait_until("all were asked", lambda: os.path.exists(answers))
        with open(answers) as f:
            return [int(line) for line in f]


def points(text):
    return " ".join(f"{ord(c):04X}" for c in text)


def read(path):
    with open(path, encoding="utf-8") as f:
        return [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]


def main():
    mode, path = sys.argv[1:]
    wanted = cases()
    answers = columns_of_tmux([text for _, text in wanted])
    known = {row[1]: row for row in read(path)} if os.path.exists(path) else {}
    if mode == "--check":
        version = subprocess.run(["tmux", "-V"], capture_output=True, text=True).stdout.strip()
        if version != "tmux 3.3a":
            print(f"the file is of tmux 3.3a, this is {version}: not compared")
            return
        wrong = [f"{name}: {points(text)}: tmux gives {n}, the file says {known[points(text)][2]}"
                 for (name, text), n in zip(wanted, answers)
                 if points(text) in known and int(known[points(text)][2]) != n]
        missing = [name for name, text in wanted if points(text) not in known]
        if wrong or missing:
            sys.exit("\n".join(wrong + [f"not in the file: {name}" for name in missing]))
        print(f"{len(wanted)} cases, as the file has them")
        return
    with open(path, "w", encoding="utf-8") as f:
        f.write("# Made by tests/terminal/width_corpus.py --update, with tmux 3.3a.\n"
                "# name, code points, columns in tmux, our columns, why they differ\n")
        for (name, text), n in zip(wanted, answers):
            old = known.get(points(text), [name, points(text), str(n), str(n), ""])
            f.write("\t".join([name, points(text), str(n), old[3], reason(text) if old[3] != str(n) else ""]) + "\n")


if __name__ == "__main__":
    main()
