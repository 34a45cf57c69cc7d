"""Tests every slash command and every key, as a person uses them, in the real program.

    commands_test.py BITNET_CHAT MODEL.gguf [TestCase.test]

The program itself lists its commands and keys (`print man`, which is made from its tables). The test fails if no
case here uses a command, another name of a command, or a key.
"""
import os
import re
import subprocess
import sys
import unittest

from tmux import Terminal

PROGRAM = MODEL = ""
USED = {"commands": set(), "keys": set()}
S_ENTER = "\x1b[13;2u"  # what terminals send that tell it apart; tmux has no name for it


def tags(section):
    """Returns the entries of a section of the man page, without its markup."""
    page = subprocess.run([PROGRAM, "print", "man"], check=True, capture_output=True, text=True).stdout
    text = page.split(f".SH {section}\n")[1].split("\n.SH ")[0]
    return [re.sub(r"\\f[BIR]", "", line).replace("\\-", "-").replace("\\(ha", "^")
            for line in re.findall(r"^\.TP\n(.*)$", text, re.M)]


class Story(unittest.TestCase):
    def start(self, arguments="", columns=100, rows=48):
        t = Terminal(columns, rows, {"VISUAL": "/bin/sh -c 'printf edited > \"$0\"'"})
        self.addCleanup(t.close)
        self.t = t
        self.begin(arguments)
        return t

    def begin(self, arguments=""):
        self.t.clear()
        self.t.line(f"{PROGRAM} {MODEL} --device cpu --temp 0 --seed 1 -n 16 --no-kv-cache {arguments}; echo left with $?")
        self.ready()

    def ready(self):
        self.t.wait(r"^── .* ready ─")

    def ask(self, text):
        self.t.line(text)
        self.t.wait(rf"^› {re.escape(text)}\n\n  [^ …].*(\n.*)*── .* ready ─")

    def do(self, line, pattern):
        """Types a command and returns what it says under its name, or on the screen that it leaves."""
        USED["commands"].add(line.split()[0])
        self.t.line(line)
        screen = self.t.wait(pattern)
        self.ready()
        return screen

    def press(self, name, *keys):
        USED["keys"].add(name)
        for key in keys or (name,):
            self.t.key(key)

    def input_is(self, text):
        t = self.t
        t.wait_until(f"the input is {text!r}", lambda: t.rows()[t.cursor()[1]].strip() == f"› {text}".strip())


class Commands(Story):
    def test_a_conversation_and_its_branches(self):
        t = self.start()
        self.do("/help", r"^  /quit +end the program$")
        self.do("/? regen", "another answer to the last turn")
        self.ask("Hello!")
        self.do("/title A first talk", r"^  /title\n  A first talk")
        self.ask("What is your name?")
        self.do("/regen", r"^  \(2/2\)")
        self.do("/retry", r"^  \(3/3\)")
        self.do("/undo", r"\A(?![\s\S]*your name)")
        self.do("/redo", r"^› What is your name\?[\s\S]*\(3/3\)")
        self.do("/edit What is BitNet?", r"^› What is BitNet\?\n  \(2/2\)\n\n  [^ …]")
        self.do("/branches", r"^  \* +\d+  › What is BitNet\?.*\(here\)$")
        self.do("/goto 3", r"^› What is your name\?\n  \(1/2\)")
        self.do("/goto", r"^ +3 +› What is your name\?")
        self.do("/fork", r"begins a new branch after message 6")
        self.do("/set max_tokens 3", r"max_tokens += 3 ")
        self.ask("Tell me a story.")
        t.wait(r"\(cut: max_tokens reached\)")
        self.do("/set max_tokens 40", r"max_tokens += 40 ")
        # Forty tokens may be cut off again, before the screen is read.
        def told():
            return re.split(r"──|\(cut", t.screen().partition("a story.")[2])[0].strip()

        begun = told()
        t.line("/continue")
        USED["commands"].add("/continue")
        t.wait_until("the story goes on", lambda: len(told()) > len(begun) and told().startswith(begun))
        self.ready()
        story = t.screen().partition("a story.")[2].split("──")[0].strip()
        self.do("/goto", r"^ +\d+ +› Tell me a story")
        number = re.findall(r"(?m)^ +(\d+) ", t.screen())[-1]
        t.line(f"/goto {number}")
        t.wait_until("it is one text, not two",
                     lambda: t.screen().partition("a story.")[2].split("──")[0].strip() == story)
        self.do("/think off", r"^  think += off [\s\S]*think off changes nothing")
        self.do("/seed 7", r"^  seed += 7 ")
        self.do("/reset", r"^  max_tokens += 16 ")
        self.do("/system Be brief.", r"^  System prompt: Be brief\.")
        self.do("/show model", r"^  architecture +bitnet")
        self.do("/show stats", r"^  seed +\d")
        self.do("/tokens", "perplexity")
        self.do("/alt", "/alt N shows all candidates")
        self.do("/alt 1", r"\(this one\)")
        self.do("/compact", r"kept word for word|thrown away|it is as it was")
        self.do("/search name", r"A first talk, message \d")
        self.do("/persona", r"\bbrief ")
        self.do("/prompt", r"\btranslate ")
        USED["commands"].add("/model")
        t.line("/model bitnet-2b")
        t.wait(r"^! .*did you mean")
        USED["commands"].add("/reopen")
        t.line("/reopen nonsense")
        t.wait(r"^! .*nonsense")
        t.line("/reopen cpu")
        self.ready()
        t.key("C-d")
        t.wait("^left with 0$")

    def test_files_and_what_is_stored(self):
        t = self.start()
        t.tmux("set-option", "-s", "set-clipboard", "on")
        with open(os.path.join(t.home, "notes.txt"), "w") as notes:
            notes.write("The sea is deep.\n")
        self.do("/read notes.txt", r"^\+ notes\.txt, \d+ tokens")
        self.do("/new", r"Not in your next turn any more: notes\.txt")
        t.wait(r"^\+ notes", gone=True)
        self.do("/read notes.txt", r"^\+ notes\.txt, \d+ tokens")
        t.line("What is the sea?")
        t.wait(r"The sea is deep\.[\s\S]*── .* ready ─")
        answer = t.screen().split("── ")[0].rstrip().split("\n\n  ")[-1].strip()
        self.do("/copy answer", r"^· Copied the last answer, \d+ bytes\.")
        t.wait_until("tmux has it", lambda: t.tmux("list-buffers"))
        self.assertEqual(t.tmux("show-buffer").strip().split("\n")[0][:30], answer.split("\n")[0][:30])
        USED["commands"].add("/save")
        t.line("/save 1 code.txt")
        t.wait("there is no code block to save yet")
        self.do("/export md chat.md", r"messages are in chat\.md now")
        self.do("/new", r"Write a message")
        self.ask("Hello!")
        self.do("/clear", r"Write a message")
        self.do("/import chat.md", r"This is conversation 3 now")
        self.do("/record session.cast", r"is being recorded")
        self.do("/replay 2 instant", r"^› Hello!")
        self.do("/record off", r"The recording is over")
        with open(os.path.join(t.home, "session.cast")) as recording:
            self.assertIn("Hello!", recording.read())
        self.do("/list", r"^  \* +2  .* Hello!$")
        self.do("/archive", r"Conversation 2 is put away")
        self.do("/open 1", r"The sea is deep\.")
        self.do("/delete 3", r"Conversation 3 is deleted")
        self.do("/undelete 3", r"^  /undelete\n  Conversation 3 is")
        self.do("/private", r"^── .* private ──$")
        for name in ("/quit", "/bye", "/exit"):
            USED["commands"].add(name)
            t.line(name)
            t.wait("^left with 0$")
            if name != "/exit":
                self.begin("--private")


class Keys(Story):
    def test_keys_of_the_input(self):
        t = self.start("--private")
        t.type("one")
        self.press("M-Enter")
        t.type("two")
        self.press("C-j")
        t.type("three")
        USED["keys"].add("S-Enter")
        t.type(S_ENTER)
        t.type("four")
        t.wait(r"^› one\n  two\n  three\n  four")
        self.press("Up")
        t.type("!")
        t.wait(r"^  thre!e")
        self.press("Down")
        t.type("?")
        t.wait(r"^  four\?")
        self.press("Backspace", "BSpace")
        t.wait(r"^  four *$")
        self.press("C-c")
        self.input_is("")
        t.type("/titl")
        self.press("Tab")
        self.input_is("/title")
        self.press("Enter")
        t.wait(r"^  /title$")
        self.press("C-r")
        t.type("tit")
        t.wait(r"reverse-i-search.*/title")
        self.press("C-c")
        t.wait("reverse-i-search", gone=True)
        t.type("draft")
        self.press("C-x C-e", "C-x", "C-e")
        self.input_is("edited")
        self.press("C-l")
        self.input_is("edited")
        self.press("C-z")
        t.wait("Stopped")
        t.line("fg")
        self.input_is("edited")
        self.press("C-c")
        self.input_is("")
        self.press("C-d")
        t.wait(r"^prompt\$ *$")

    def test_keys_of_the_screen(self):
        t = self.start("", rows=16)
        t.line("/help")
        t.wait(r"\A  /help\n(.*\n)*── ↓ 2\d more")  # from its first row on, and there is more
        self.press("C-End")
        t.wait("A line that begins with //")
        end = t.rows()[0]
        self.press("PgUp", "PPage")
        t.wait("↓ 13 more")
        self.press("C-Up")
        t.wait("↓ 14 more")
        self.press("C-Down")
        t.wait("↓ 13 more")
        self.press("PgDn", "NPage")
        t.wait_until("the end is back", lambda: t.rows()[0] == end)
        self.press("C-Home")
        t.wait(r"\A  /help\n")
        self.press("C-End")
        t.wait_until("the end is back", lambda: t.rows()[0] == end)
        t.type("ab")
        self.press("C-t")  # nothing was thought, so it is the line editor's
        self.input_is("ba")
        t.key("C-u")
        self.press("C-f")
        t.wait("^find ›")
        t.type("compact")
        t.wait(r"find › compact  \d+/\d+")
        self.press("Esc", "Escape")
        t.wait("^find ›", gone=True)
        self.press("F1")
        t.wait("^  Keys$")
        self.press("F1")
        t.wait("^  Keys$", gone=True)
        self.ask("Tell me a long story.")
        self.press("F2")
        t.wait("there is no code block")
        self.press("C-o")
        t.wait("Open a conversation")
        t.type("long story")
        t.wait("^› Tell me a long story.")
        self.press("Enter")
        t.wait("Open a conversation", gone=True)
        t.paste("".join(f"pasted {i}\n" for i in range(9)))
        t.wait(r"› \[paste 1: 9 lines\]")
        self.press("C-c")
        self.input_is("")
        self.press("C-c")
        t.wait(r"press \^C again to quit")
        self.press("C-c")
        t.wait("^left with 0$")


def without_a_case():
    """Checks that the tests have used everything in the program's tables."""
    commands = {name.rstrip(",") for tag in tags("COMMANDS IN THE CHAT") for name in tag.split() if name.startswith("/")}
    keys = {key for tag in tags("KEYS") for key in tag.rsplit(" (", 1)[0].split(", ")}
    assert len(commands) > 30 and len(keys) > 20
    return sorted((commands - USED["commands"]) | (keys - USED["keys"]))


if __name__ == "__main__":
    PROGRAM, MODEL = (os.path.abspath(path) for path in (sys.argv.pop(1), sys.argv.pop(1)))
    whole = len(sys.argv) == 1
    passed = unittest.main(verbosity=2, exit=False).result.wasSuccessful()
    if passed and whole and without_a_case():
        sys.exit(f"no test here uses {', '.join(without_a_case())}")
    sys.exit(not passed)
