#!/usr/bin/env python3
"""Tests what is installed, and what the program says about itself: man page, completions, example config file.

usage: install_test.py BITNET-CHAT CMAKE BUILD-FOLDER FOLDER
       install_test.py --update BITNET-CHAT    writes the files in assets/ anew
"""
import gzip
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import unittest

ASSETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../assets")
MADE = {"config": "default.conf", "man": "bitnet-chat.1", "bash": "completions/bitnet-chat.bash",
        "zsh": "completions/bitnet-chat.zsh", "fish": "completions/bitnet-chat.fish"}


def printed(program, what):
    return subprocess.run([program, "print", what], check=True, capture_output=True).stdout


if sys.argv[1:2] == ["--update"]:
    for name, path in MADE.items():
        with open(os.path.join(ASSETS, path), "wb") as file:
            file.write(printed(sys.argv[2], name))
    sys.exit()

PROGRAM, CMAKE, BUILD, FOLDER = sys.argv[1:5]


def run(*arguments, **more):
    return subprocess.run(arguments, capture_output=True, text=True, timeout=120, **more)


def have(name):
    return unittest.skipUnless(shutil.which(name), name + " is not installed")


class Install(unittest.TestCase):
    def setUp(self):
        shutil.rmtree(FOLDER, ignore_errors=True)
        os.makedirs(FOLDER)
        self.env = {"PATH": os.path.dirname(PROGRAM) + ":" + os.environ["PATH"], "HOME": FOLDER, "LC_ALL": "C.UTF-8",
                    "TERM": "dumb"}
        self.env.update((k, v) for k, v in os.environ.items() if k.startswith(("ASAN_", "UBSAN_", "TSAN_", "LSAN_")))

    def test_the_files_in_assets_are_what_the_program_prints(self):
        for name, path in MADE.items():
            with open(os.path.join(ASSETS, path), "rb") as file:
                self.assertEqual(file.read(), printed(PROGRAM, name),
                                 f"assets/{path} is old: tests/program/install_test.py --update BITNET-CHAT makes it anew")

    @have("man")
    def test_the_man_page_is_clean(self):
        done = run("man", "-l", "--warnings", "-P", "cat", os.path.join(ASSETS, MADE["man"]),
                   env=self.env | {"MANWIDTH": "80"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for text in ("--top-p", "/regen", "repeat_penalty", "XDG_CONFIG_HOME", "129", "143", "\\n"):
            self.assertIn(text, done.stdout)

    def test_the_man_page_has_the_verbs_of_scripts(self):
        section = re.search(r"^\.SH SCRIPTS$(.*?)^\.SH", printed(PROGRAM, "man").decode(), re.M | re.S)[1]
        named = {verb.replace("\\-", "-") for verb in re.findall(r"^\.TP\n\\fB(@\S+?)(?: |\\fR)", section, re.M)}
        done = subprocess.run([PROGRAM, "--script", "-"], input="@bogus\n", capture_output=True, text=True, env=self.env)
        self.assertEqual(named, set(re.search(r"known: (.*?);", done.stderr)[1].split()))

    def test_every_shell_takes_its_completions(self):
        for shell in ("bash", "zsh", "fish"):
            if shutil.which(shell):
                done = run(shell, "-n", os.path.join(ASSETS, MADE[shell]))
                self.assertEqual((done.returncode, done.stderr), (0, ""), shell)

    def complete(self, *words):
        script = f"""source {ASSETS}/{MADE['bash']}
            COMP_WORDS=(bitnet-chat "$@"); COMP_CWORD=$#; _bitnet_chat; printf '%s\\n' "${{COMPREPLY[@]}}" """
        done = run("bash", "-c", script, "bash", *words, cwd=FOLDER, env=self.env)
        self.assertEqual(done.stderr, "")
        return sorted(done.stdout.split())

    @have("bash")
    def test_bash_completes(self):
        os.makedirs(FOLDER + "/.cache/bitnet-chat/models/hub/owner/repo")
        for name in ("model.gguf", "notes.txt"):
            open(os.path.join(FOLDER, name), "w").close()
        self.assertEqual(self.complete("--temp"), ["--temp"])
        self.assertEqual(self.complete("rep"), ["replay"])
        self.assertEqual(self.complete("m"), ["model.gguf", "models"])
        self.assertEqual(self.complete("own"), ["owner/repo"])
        self.assertEqual(self.complete("--i2s-layout", ""), ["128", "1x4", "64"])
        self.assertEqual(self.complete("--think", ""), ["auto", "off", "on"])
        self.assertEqual(self.complete("--output", "=", "j"), ["jsonl"])
        self.assertEqual(self.complete("--script", "no"), ["notes.txt"])
        self.assertEqual(self.complete("--temp", ""), [])
        self.assertEqual(self.complete("-p", "list", "replay", "--in"), ["--instant"])
        self.assertEqual(self.complete("export", "1", "--format", ""), ["json", "md", "openai"])
        self.assertEqual(self.complete("info", "mo"), ["model.gguf"])
        self.assertEqual(self.complete("print", "z"), ["zsh"])
        self.assertEqual(self.complete("show", ""), [])
        self.assertEqual(run(PROGRAM, "-p", "Hello!", env=self.env).returncode, 0)
        self.assertEqual(self.complete("show", ""), ["1"])
        self.assertEqual(self.complete("undelete", ""), [])
        self.assertEqual(run(PROGRAM, "delete", "1", env=self.env).returncode, 0)
        self.assertEqual(self.complete("undelete", ""), ["1"])
        self.assertEqual(self.complete("show", ""), [])
        self.assertEqual(self.complete("rm", ""), ["owner/repo"])
        self.assertEqual(self.complete("help", "unde"), ["undelete"])

    @have("fish")
    def test_fish_completes(self):
        def complete(line):
            done = run("fish", "-c", f"source {ASSETS}/{MADE['fish']}; complete -C '{line}'", cwd=FOLDER, env=self.env)
            return [row.split("\t")[0] for row in done.stdout.splitlines()]
        self.assertEqual(sorted(complete("bitnet-chat --i2s-layout ")), ["128", "1x4", "64"])
        self.assertEqual(complete("bitnet-chat repl"), ["replay"])
        self.assertEqual(complete("bitnet-chat replay --ins"), ["--instant"])
        self.assertEqual(complete("bitnet-chat help unde"), ["undelete"])
        for command in (["-p", "Hello!"], ["-p", "And you?"], ["delete", "1"]):
            self.assertEqual(run(PROGRAM, *command, env=self.env).returncode, 0)
        self.assertEqual(complete("bitnet-chat undelete "), ["1"])
        self.assertEqual(complete("bitnet-chat show "), ["2"])
        open(os.path.join(FOLDER, "chats.json"), "w").close()
        self.assertEqual(complete("bitnet-chat import "), ["chats.json"])

    def store_hostile_title(self):
        """One conversation, whose title would run a command or be taken for rows of others."""
        self.assertEqual(run(PROGRAM, "-p", "Hello!", env=self.env).returncode, 0)
        with sqlite3.connect(FOLDER + "/.local/share/bitnet-chat/chats.db") as db:
            db.execute("UPDATE conversation SET title = ?",
                       ("a $(touch owned1) `touch owned2`\n$(touch owned3) b\n    7  fake\r    8  fake\n*   9 [$(touch owned4)]: \\",))
        db.close()

    def assert_nothing_ran(self):
        self.assertEqual([name for name in os.listdir(FOLDER) if name.startswith("owned")], [])

    @have("bash")
    def test_bash_runs_nothing_of_a_title(self):
        self.store_hostile_title()
        self.assertEqual(self.complete("show", ""), ["1"])
        self.assertEqual(self.complete("--resume", ""), ["1"])
        self.assert_nothing_ran()

    @have("fish")
    def test_fish_runs_nothing_of_a_title(self):
        self.store_hostile_title()
        done = run("fish", "-c", f"source {ASSETS}/{MADE['fish']}; complete -C 'bitnet-chat show '", cwd=FOLDER, env=self.env)
        self.assertEqual([row.split("\t")[0] for row in done.stdout.splitlines() if row[0].isdigit()], ["1"], done.stdout)
        self.assertNotIn("$(touch owned3)", [row.split("\t")[0] for row in done.stdout.splitlines()])
        self.assert_nothing_ran()

    @have("zsh")
    def test_zsh_runs_nothing_of_a_title(self):
        self.store_hostile_title()
        done = run("zsh", "-f", "-c", f"compdef() {{ :; }}; _describe() {{ print -rl -- ${{(P)2}}; }}; source {ASSETS}/{MADE['zsh']}; "
                   "_bitnet_chat_conversations", cwd=FOLDER, env=self.env)
        self.assertEqual((len(done.stdout.splitlines()), done.stdout[:2], done.stderr), (1, "1:", ""), done.stdout)
        self.assertTrue(done.stdout.endswith("]\\: \\\\\n"), done.stdout)  # its colons and backslashes are text
        self.assert_nothing_ran()

    @have("zsh")
    def test_zsh_loads_its_completion(self):
        shutil.copy(os.path.join(ASSETS, MADE["zsh"]), FOLDER + "/_bitnet-chat")
        done = run("zsh", "-f", "-c", f"fpath=({FOLDER} $fpath); autoload -Uz compinit && compinit -u -D && "
                   "echo $_comps[bitnet-chat]; autoload +X _bitnet-chat && echo loaded", env=self.env)
        self.assertEqual((done.stdout.split(), done.stderr), (["_bitnet-chat", "loaded"], ""))

    def test_what_is_installed_can_be_moved(self):
        done = run(CMAKE, "--install", BUILD, "--prefix", "/opt/x", env=self.env | {"DESTDIR": FOLDER + "/stage"})
        self.assertEqual(done.returncode, 0, done.stderr)
        shutil.move(FOLDER + "/stage/opt/x", FOLDER + "/moved")
        for path in ("bin/bitnet-chat", "share/bitnet-chat/bitnet-chat.gguf", "share/bitnet-chat/stages.gguf",
                     "share/doc/bitnet-chat/copyright", "share/doc/bitnet-chat/LICENSE",
                     "share/doc/bitnet-chat/examples/default.conf",
                     "share/bash-completion/completions/bitnet-chat", "share/zsh/vendor-completions/_bitnet-chat",
                     "share/fish/vendor_completions.d/bitnet-chat.fish"):
            self.assertTrue(os.path.isfile(os.path.join(FOLDER, "moved", path)), path)
        with gzip.open(FOLDER + "/moved/share/man/man1/bitnet-chat.1.gz") as page:
            self.assertEqual(page.read(), printed(PROGRAM, "man"))
        done = run(FOLDER + "/moved/bin/bitnet-chat", "info", env=self.env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(FOLDER + "/moved/share/bitnet-chat/bitnet-chat.gguf", done.stdout)
        os.unlink(FOLDER + "/moved/share/bitnet-chat/bitnet-chat.gguf")
        done = run(FOLDER + "/moved/bin/bitnet-chat", "-p", "x", env=self.env)
        self.assertEqual(done.returncode, 4)
        self.assertIn("moved/share/bitnet-chat/bitnet-chat.gguf", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
