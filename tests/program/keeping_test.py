#!/usr/bin/env python3
"""Tests what the program keeps and what it does not: conversations, the trash, imports, kills, full disks, old databases.

usage: keeping_test.py BITNET-CHAT TALKING-MODEL ENDLESS-MODEL FOLDER    (see program_case.py)
"""
import fcntl
import json
import os
import re
import resource
import shutil
import signal
import sqlite3
import struct
import subprocess
import termios
import time

from program_case import (DATABASE, ENDLESS, FOLDER, PROGRAM, TALKING, ProgramCase, environment, main, read_tokens, run,
                          start)


class Keeping(ProgramCase):
    def test_a_conversation_goes_on(self):
        run(TALKING, "-p", "Hello!", "--keep")
        code, out, _ = run(TALKING, "-c", "-p", "And you?", "--output", "jsonl")
        self.assertEqual(code, 0)
        self.assertIn("1", run("list")[1])
        shown = run("show", "1")[1]
        self.assertIn("Hello!", shown)
        self.assertIn("And you?", shown)
        exported = json.loads(run("export", "1", "--format", "openai")[1])
        self.assertEqual([m["role"] for m in exported["messages"]], ["user", "assistant"] * 2)
        self.assertEqual(run("replay", "1", "--instant")[0], 0)

    def test_a_conversation_goes_on_with_its_system_prompt_unless_the_command_line_has_another(self):
        self.assertEqual(run(TALKING, "--keep", "-n", "2", "--system", "Be kind.", "-p", "Hello!")[0], 0)

        def system_after(*arguments):
            code, _, err = run(TALKING, "-n", "2", "-c", *arguments, "-p", "And you?")
            self.assertEqual(code, 0, err)
            return json.loads(run("show", "1", "--json")[1])["system"]
        os.makedirs(FOLDER + "/config/bitnet-chat")
        with open(FOLDER + "/config/bitnet-chat/config", "w") as file:
            file.write("system = Be brief.\npersona = coder\n")
        self.assertEqual(system_after(), "Be kind.")  # what the config file has is for new ones
        self.assertEqual(system_after("--system", "Be quick."), "Be quick.")
        self.assertIn("programmer", system_after("--persona", "coder"))

    def test_what_was_only_asked_is_named_where_nothing_goes_on(self):
        self.assertIn("-c: nothing is stored yet", run(TALKING, "-c", "-p", "And you?")[2])
        run(TALKING, "-p", "Hello!")
        code, _, err = run(TALKING, "-c", "-p", "And you?")
        self.assertEqual(code, 1)
        self.assertIn("--resume 1 opens the latest", err)
        self.assertNotIn("nothing is stored", err)

    def test_a_long_conversation_goes_on_at_once(self):
        kept = FOLDER + "/cache/bitnet-chat/kv"

        def ask(text, *options):
            code, out, err = run(TALKING, "-p", text, "--output", "jsonl", "--temp", "0", *options)
            self.assertEqual(code, 0, err)
            return next(o for o in map(json.loads, out.splitlines()) if o["type"] == "usage")

        def files():
            return sorted(os.listdir(kept)) if os.path.exists(kept) else []

        first = ask("Hello! " * 60)
        (name,) = files()
        self.assertEqual(os.stat(os.path.join(kept, name)).st_mode & 0o777, 0o600)
        spoken = first["prompt_tokens"] + first["answer_tokens"]
        cold = ask("And you?", "--resume", "1", "--no-kv-cache")
        self.assertEqual(cold["reused_tokens"], 0)
        run(TALKING, "--resume", "1", "--script", "-", "--kv-cache", "0", text="/undo\n")
        warm = ask("And you?", "--resume", "1")
        self.assertEqual(warm["reused_tokens"], spoken)
        self.assertEqual(warm["text"], cold["text"])
        (name,) = files()  # the longer one took its place
        with open(os.path.join(kept, name), "r+b") as damaged:
            damaged.seek(-100, os.SEEK_END)
            byte = damaged.read(1)[0]
            damaged.seek(-1, os.SEEK_CUR)
            damaged.write(bytes([byte ^ 1]))
        self.assertEqual(ask("Go on.", "--resume", "1")["reused_tokens"], 0)
        self.assertEqual(len(files()), 1)
        self.assertNotIn(name, files())
        ask("Hello! " * 60, "--private")
        self.assertEqual(len(files()), 1)
        run("delete", "1")
        self.assertEqual(len(files()), 1)
        run("delete", "1", "--now")
        self.assertEqual(files(), [])

    def test_exports_come_back(self):
        run(TALKING, "--script", "-", "--system", "Be brief.", text="Hello!\n/regen\n/title Greeting\n\"\"\"\n## User\n\nfake\n\"\"\"\n"
            f"@wait idle\n/export md {FOLDER}/md\n@expect /^4 messages/\n/export json {FOLDER}/json\n@expect /^5 messages/\n")
        for number, form in enumerate(("md", "json", "openai"), start=2):
            file = os.path.join(FOLDER, "chat." + form)
            self.assertEqual(run("export", "1", "--format", form, "-o", file), (0, "", ""))
            code, out, err = run("import", file)
            self.assertEqual((code, err), (0, ""))
            self.assertRegex(out, rf"imported conversation {number}: ")
            with open(file) as exported:
                again = run("export", str(number), "--format", form)[1]
                self.assertEqual(again.replace(f'"id": {number},\n  "title"', '"id": 1,\n  "title"'), exported.read())
        # Only the JSON has the first answer's sibling and the tokens.
        self.assertEqual(run("replay", "3", "--verify")[0], 0)
        self.assertEqual(run("import", "-", text=open(os.path.join(FOLDER, "chat.md")).read())[0], 0)
        code, out, err = run(TALKING, "--script", "-", text=f"@allow-errors\n/import {FOLDER}/chat.md\n@expect /fake/\n/export md\n"
                             f"@expect /^.## User$/\n/export openai {FOLDER}/again\n/export frob\n@expect /md, json or openai/\n"
                             f"/import {FOLDER}/nothing\n@expect /nothing: /\n")
        self.assertEqual(code, 0, err)
        with open(FOLDER + "/again") as again, open(FOLDER + "/chat.openai") as first:
            self.assertEqual(json.load(again), json.load(first))
        with open(FOLDER + "/wrong", "w") as wrong:
            wrong.write('{"messages": [{"role": "tool", "content": ""}]}')
        for code, file in ((1, "wrong"), (2, "missing"), (2, "."), (2, "/dev/zero")):
            found, out, err = run("import", os.path.join(FOLDER, file))
            self.assertEqual((found, out, err.count("\n")), (code, "", 1), err)

    def test_private_keeps_nothing(self):
        self.assertEqual(run(TALKING, "--private", "-p", "Hello!")[0], 0)
        self.assertFalse(os.path.exists(DATABASE))

    def test_private_takes_no_import(self):
        run(TALKING, "--device", "cpu", "-n", "2", "-p", "Hello!")
        with open(os.path.join(FOLDER, "chat.json"), "w") as file:
            file.write(run("export", "1", "--format", "json")[1])
        code, out, err = run("--private", "import", os.path.join(FOLDER, "chat.json"))
        self.assertEqual((code, out), (2, ""))
        self.assertIn("--private stores nothing", err)
        self.assertEqual(run("list", "--all")[1].count("Hello!"), 1)

    def test_what_is_deleted_for_good_is_nowhere_whatever_else_is_said(self):
        kept = os.path.join(FOLDER, "cache/bitnet-chat/kv")
        config = os.path.join(FOLDER, "config/bitnet-chat")
        os.makedirs(config, exist_ok=True)
        for how in ("private", "full"):
            with self.subTest(how=how):
                run(TALKING, "--device", "cpu", "-n", "2", "-p", "Tell me of whales, " * 9, "--keep")
                run(TALKING, "--device", "cpu", "-n", "2", "-c", "-p", "And of foxes, " * 9)
                self.assertTrue(os.listdir(kept))
                with open(os.path.join(kept, "left.kv.part"), "w") as file:
                    file.write("of a program that was killed")
                number = json.loads(run("list", "--json", "--all")[1])[0]["id"]
                if how == "private":
                    with open(os.path.join(config, "config"), "w") as file:
                        file.write("private = on\n")
                    self.assertEqual(run("delete", str(number), "--now")[0], 0)
                    os.remove(os.path.join(config, "config"))
                else:
                    with open("/dev/full", "w") as full:
                        subprocess.run([PROGRAM, "delete", str(number), "--now"], stdout=full, stderr=subprocess.DEVNULL, env=environment())
                self.assertEqual(os.listdir(kept), [])

    def test_a_chat_that_is_open_does_not_write_what_was_deleted_for_good(self):
        kept = os.path.join(FOLDER, "cache/bitnet-chat/kv")
        chat = subprocess.Popen([PROGRAM, TALKING, "--device", "cpu", "-n", "2", "--output", "jsonl"], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, env=environment())
        chat.stdin.write(("Tell me of whales, " * 9 + "\n/new\n/help quit\n").encode())
        chat.stdin.flush()
        while json.loads(chat.stdout.readline()).get("command") != "help":
            pass
        self.assertEqual(run("delete", "1", "--now")[0], 0)
        chat.stdin.close()  # at the end it keeps the timeline that it has
        chat.stdout.read()
        self.assertEqual(chat.wait(60), 0)
        self.assertFalse(os.path.exists(kept) and os.listdir(kept))

    def test_a_flag_with_an_empty_value_is_none(self):
        run(TALKING, "--device", "cpu", "-n", "2", "-p", "Hello!")
        code, _, err = run("delete", "1", "--now=")
        self.assertEqual(code, 2)
        self.assertIn("--now=: wanted --now alone", err)
        self.assertEqual(run("delete", "1", "--now=off")[0], 0)
        self.assertEqual(run("undelete", "1")[0], 0)

    def test_a_search_says_that_there_is_more(self):
        messages = [{"role": role, "content": "a zebra"} for _ in range(600) for role in ("user", "assistant")]
        run("import", "-", text=json.dumps({"messages": messages}))
        self.assertEqual(len(json.loads(run("search", "--json", "zebra")[1])), 1200)
        self.assertTrue(run("search", "zebra")[1].endswith("There are more than these 50; another word beside them makes them fewer, "
                                                          "and 'bitnet-chat search --json' has them all.\n"))

    def test_private_from_here_on(self):
        self.script("Hello there!", "@wait idle", "/private", "My secret is a whale.", "@wait idle", "/title whale",
                    "/private off", "/list")
        for name in os.listdir(os.path.dirname(DATABASE)):
            with open(os.path.join(os.path.dirname(DATABASE), name), "rb") as file:
                self.assertNotIn(b"whale", file.read(), name)
        self.assertIn("Hello there!", run("show", "1")[1])

    def test_a_look_keeps_nothing_of_what_is_private(self):
        for command in ("/tokens", "/alt"):
            self.script("Hello!", "@wait idle", "/private", "/system " + "My secret is a whale. " * 12, command, "@wait idle",
                        arguments=("--device", "cpu", "-n", "2"))
            kept = os.path.join(FOLDER, "cache/bitnet-chat/kv")
            self.assertFalse(os.path.exists(kept) and os.listdir(kept), command)

    def test_keys_values_and_turns_of_another_computation_are_not_taken_for_ones_own(self):
        """It is another model if one byte of a tensor differs, or if the weights are read in another layout."""
        model = os.path.join(FOLDER, "model.gguf")
        shutil.copy(TALKING, model)

        def reused(*options):
            code, out, err = run(model, "-p", "And you?", "--resume", "1", "--output", "jsonl", "-n", "2", *options)
            self.assertEqual(code, 0, err)
            run(model, "--resume", "1", "--script", "-", "--kv-cache", "0", text="/undo\n")
            return next(o for o in map(json.loads, out.splitlines()) if o["type"] == "usage")["reused_tokens"]

        def verified(*options):
            code, out, err = run("replay", "1", "--verify", "--model", model, *options)
            self.assertEqual(code, 0 if out else 3, err)
            return out + err

        self.assertEqual(run(model, "-p", "Hello! " * 60, "--seed", "5")[0], 0)
        self.assertGreater(reused(), 60)
        self.assertIn("the same", verified())
        self.assertEqual(reused("--i2s-layout", "64"), 0)
        self.assertIn("answered by another model", verified("--i2s-layout", "64"))
        with open(model, "r+b") as changed:
            listed = run("info", model)[1]
            # In the middle of the largest ternary tensor, where a code of 0 and one of 1 stay codes of a weight.
            tensors = re.findall(r"(?m)^  blk\S*\s+i2_s\s+\[(\d+), (\d+)\] at (\d+)$", listed)
            width, rows, offset = max(tensors, key=lambda tensor: int(tensor[1]))
            at = int(offset) + int(width) * int(rows) // 8
            changed.seek(at)
            byte = changed.read(1)[0]
            changed.seek(at)
            changed.write(bytes([byte ^ 1 if byte & 3 < 2 else byte ^ 2]))
        self.assertNotEqual(run("info", model)[1], listed)
        self.assertEqual(reused(), 0)
        self.assertIn("answered by another model", verified())

    def test_tools_agree_with_the_chat(self):
        self.script("What is BitNet?", "@wait idle", "/title Ternary", "/regen", "@wait idle", "/new",
                    "What is a whale?", "@wait idle", "/archive")
        code, out, err = run("list")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("Ternary", out)
        self.assertNotIn("whale", out)
        self.assertRegex(run("list", "--all")[1], r"2 .*\(archived\) What is a whale\?")
        self.assertIn("(archived), message 1", run("search", "whale")[1])
        out = run("search", "bitnet")[1]
        self.assertIn("What is [BitNet]?", out)
        self.assertNotRegex(out, "[\x00-\x09\x0b-\x1f]")
        self.assertIn("a wh[al]e?", run("search", "al")[1])
        self.assertEqual(run("search", "nowhere"), (1, "", "bitnet-chat: nothing found\n"))
        self.assertIn("[What] is [BitNet]?", run("search", "what", "bitnet")[1])
        self.assertEqual(run("search", "list", "delete", "--db", DATABASE)[:2], (1, ""))
        self.assertEqual(run("search")[0], 2)
        shown = run("show", "1")[1]
        self.assertIn("[user] What is BitNet?", shown)
        self.assertIn("[assistant 2/2]", shown)
        # -c goes on with the last one that is not put away
        self.assertIn("What is BitNet?", self.script("/list", arguments=["-c"])[0])
        self.assertIn("deleted conversation 2", run("delete", "2", "--now")[1])
        for tool in ("show", "delete"):
            code, out, err = run(tool, "2")
            self.assertEqual((code, out), (1, ""))
            self.assertIn("there is no conversation 2", err)

    def test_what_stands_before_its_first_turn_is_not_taken_for_empty(self):
        self.script("Hello!", "@wait idle", "/undo")
        told = "bitnet-chat: conversation 1 stands before its first turn; in the chat /redo brings its 2 messages back"
        for tool in (["show", "1"], ["export", "1", "--format", "md"], ["export", "1", "--format", "openai"]):
            code, _, err = run(*tool)
            self.assertEqual(code, 0)
            self.assertTrue(err.startswith(told), (tool, err))
        code, out, err = run("export", "1", "--format", "json")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("Hello!", out)
        for options in ([], ["--verify"]):
            code, out, err = run("replay", "1", *options)
            self.assertEqual((code, out), (1, ""))
            self.assertIn(told, err)

    def test_the_trash_and_what_is_past_it(self):
        for word in ("zebra", "whale"):
            run(TALKING, "-p", f"My {word} sings. " * 30)
        self.assertRegex(run("delete", "1")[1], r"\Adeleted conversation 1: My zebra(.|\n)*'bitnet-chat undelete 1' brings it back")
        for arguments in (["list"], ["list", "--all"]):
            code, out, err = run(*arguments)
            self.assertEqual((code, err), (0, ""))
            self.assertNotIn("zebra", out)
        self.assertEqual(run("search", "zebra")[:2], (1, ""))
        self.assertRegex(run("list", "--deleted")[1], r"\A +1  .*\(until \d{4}-\d\d-\d\d\) My zebra")
        for arguments in (["show", "1"], ["export", "1"], ["replay", "1", "--instant"], ["--resume", "1", "-p", "x"], ["delete", "1"]):
            code, out, err = run(*arguments)
            self.assertEqual((code, out), (1, ""))
            self.assertIn("is in the trash", err)
        run("delete", "2")
        self.assertEqual(run("-c", "-p", "x")[0], 1)  # nothing to go on with
        self.assertEqual(run("undelete", "1"), (0, "conversation 1 is back: " + "My zebra sings. " * 3 + "My zebra sin…\n", ""))
        self.assertIn("zebra", run("search", "zebra")[1])
        self.assertEqual(run("undelete", "1")[0], 1)
        # What is to be typed there names the database where it is not the usual one.
        other = os.path.join(FOLDER, "an other.db")
        run(TALKING, "-p", "Hello!", "--db", other)
        for tool in ("delete", "show"):
            told = "".join(run(tool, "1", "--db", other)[1:])
            self.assertIn(f"'bitnet-chat undelete 1 --db '{other}'' brings it back", told)
        self.assertIn("'bitnet-chat list --db ", run("show", "7", "--db", other)[2])
        self.assertIn("no word of it is in the database", run("delete", "1", "--now")[1])
        self.assertIn("no word of it", run("delete", "2", "--now")[1])
        self.assertEqual(os.listdir(FOLDER + "/cache/bitnet-chat/kv"), [])
        for name in os.listdir(os.path.dirname(DATABASE)):
            with open(os.path.join(os.path.dirname(DATABASE), name), "rb") as file:
                content = file.read().lower()
            for word in (b"zebra", b"whale", b"hale sings", b"ebra sings"):
                self.assertNotIn(word, content, name)

    def test_a_damaged_conversation_is_refused_and_the_others_are_not(self):
        for text in ("one", "two", "three"):
            run(TALKING, "-p", text, "--keep")
        with sqlite3.connect(DATABASE) as db:
            db.execute("UPDATE message SET parent = (SELECT max(id) FROM message WHERE conversation = 3) WHERE id ="
                       " (SELECT min(id) FROM message WHERE conversation = 3)")
            db.execute("UPDATE conversation SET leaf = 1 WHERE id = 2")
        for number in ("2", "3"):
            for arguments in (["show", number], ["export", number], ["export", number, "--format", "json"], ["replay", number, "--instant"],
                              ["replay", number, "--verify"], ["--resume", number, "-p", "x"], *[["-c", "-p", "x"]] * (number == "3")):
                code, out, err = run(*arguments)
                self.assertEqual((code, out, err.count("\n")), (6, "", 1), arguments)
                self.assertIn(f"conversation {number} is damaged", err)
        self.assertIn("[user] one", run("show", "1")[1])
        self.assertEqual(run("--resume", "1", "-p", "x")[0], 0)
        self.assertEqual(run("delete", "3", "--now")[0], 0)

    def test_what_p_asks_stays_out_of_the_way(self):
        """-c and /open leave it out, until somebody goes on with it in a chat; the lists have it, as JSON too."""
        ask = (TALKING, "--device", "cpu", "--temp", "0", "-n", "2")
        run(*ask, "-p", "one", "--keep")
        run(*ask, "-p", "two")
        run(*ask, text="three")
        listed = {row["id"]: row for row in json.loads(run("list", "--json")[1])}
        self.assertEqual([(listed[i]["title"], listed[i]["once"]) for i in (1, 2, 3)],
                         [("one", False), ("two", True), ("three", True)])
        self.assertRegex(run("list")[1], r"2 .*\(-p\) two")
        self.assertEqual(run(*ask, "-c", "-p", "more")[0], 0)  # of the first one, which stays what it is
        self.assertEqual([m["text"] for m in json.loads(run("show", "1", "--json")[1])["branch"] if m["role"] == "user"], ["one", "more"])
        self.script("/show context", "x", "@wait idle", arguments=("--resume", "2", "-n", "2"))
        self.assertEqual({row["id"]: row["once"] for row in json.loads(run("list", "--json")[1])}, {1: False, 2: False, 3: True})
        hits = json.loads(run("search", "three", "--json")[1])
        self.assertEqual([(h["conversation"], h["role"], h["snippet"], h["marked"]) for h in hits], [(3, "user", "three", "[three]")])
        self.assertEqual(run("search", "nowhere", "--json"), (1, "[]\n", ""))
        self.assertEqual(run("delete", "1", "9")[0], 1)  # all or none
        self.assertEqual(len(json.loads(run("list", "--json")[1])), 3)
        code, out, _ = run("delete", "3", "1", "3")
        self.assertEqual((code, out.count("deleted conversation")), (0, 2))
        trash = json.loads(run("list", "--deleted", "--json")[1])
        self.assertEqual({row["id"] for row in trash}, {1, 3})
        self.assertEqual({row["until"] - row["deleted"] for row in trash}, {30 * 24 * 60 * 60 * 1000})
        self.assertEqual([row["id"] for row in json.loads(run("list", "--json")[1])], [2])

    def test_paths_of_databases_are_paths(self):
        for name in ("file:x?mode=memory", ":memory:"):
            done = [subprocess.run([os.path.abspath(PROGRAM), *arguments], cwd=FOLDER, env=environment(), capture_output=True, timeout=120)
                    for arguments in ([os.path.abspath(TALKING), "--db", name, "-p", "Hello!"], ["--db", name, "list"])]
            self.assertEqual([d.returncode for d in done], [0, 0], done)
            self.assertIn(b"Hello!", done[1].stdout)
            self.assertTrue(os.path.exists(os.path.join(FOLDER, name)))

    def test_a_database_that_is_not_there_is_not_made_by_reading(self):
        missing = os.path.join(FOLDER, "typo.db")
        for tool in (["list"], ["list", "--json"], ["show", "1"], ["search", "x"], ["export", "1"], ["replay", "1"], ["delete", "1"],
                     ["undelete", "1"]):
            code, out, err = run(*tool, "--db", missing)
            self.assertEqual((code, out, err.count("\n")), (6, "", 1), (tool, err))
            self.assertIn("typo.db: No such file", err)
        self.assertEqual(os.listdir(FOLDER), [])
        # Without the default database nothing was said yet.
        self.assertEqual(run("list"), (0, "", ""))
        self.assertEqual(run("list", "--json"), (0, "[]\n", ""))
        self.assertIn("there is no conversation 1", run("show", "1")[2])
        self.assertEqual(os.listdir(FOLDER), [])

    def test_an_import_is_whole_or_nothing_and_names_no_file_that_replay_opens(self):
        run(TALKING, "-p", "Hello!")
        chat = json.loads(run("export", "1", "--format", "json")[1])
        pipe = os.path.join(FOLDER, "pipe")
        os.mkfifo(pipe)
        chat["created"] = chat["updated"] = chat["messages"][0]["created"] = 1 << 52
        chat["messages"][1]["turns"][0]["model"] = pipe  # whoever opened it would wait for ever
        with open(FOLDER + "/two", "w") as file:
            json.dump([chat, dict(chat, title="the second")], file)
        self.assertEqual(run("import", FOLDER + "/two")[0], 0)
        for arguments in (["replay", "2", "--instant"], ["replay", "2", "--verify"]):
            code, out, err = run(*arguments)
            self.assertEqual(code, 0, err)
        self.assertNotRegex(run("list")[1], r"(?m)^ +\d+  (?!20\d\d-)")
        with open(FOLDER + "/wrong", "w") as file:
            json.dump([chat, dict(chat, messages=[])], file)  # its leaf is nowhere
        self.assertEqual(run("import", FOLDER + "/wrong")[0], 1)
        self.assertEqual(run("list")[1].count("\n"), 3)

    def test_a_database_of_the_first_version_is_migrated(self):
        run(TALKING, "-p", "Hello!")
        with sqlite3.connect(DATABASE) as db:
            db.executescript("ALTER TABLE conversation DROP COLUMN archived; ALTER TABLE message DROP COLUMN kept;"
                             "ALTER TABLE conversation DROP COLUMN deleted; ALTER TABLE turn DROP COLUMN imported;"
                             "DROP TABLE unfinished; ALTER TABLE turn DROP COLUMN thought_tokens; ALTER TABLE conversation DROP COLUMN once; PRAGMA user_version = 1")
        self.assertIn("Hello!", run("list")[1])
        with sqlite3.connect(DATABASE + ".v1-backup") as db:
            self.assertEqual(db.execute("SELECT text FROM message WHERE id = 1").fetchone()[0], "Hello!")

    def test_signals_stop_and_keep_the_answer(self):
        for number, (name, code) in enumerate([("SIGINT", 130), ("SIGTERM", 143)], start=1):
            process = start(ENDLESS, "-p", "go on", "--output", "jsonl", "--temp", "0")
            read_tokens(process, 3)
            process.send_signal(getattr(signal, name))
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, code, err)
            with sqlite3.connect(DATABASE) as db:
                finish, tokens = db.execute("SELECT finish, answer_tokens FROM turn WHERE id = ?", (number,)).fetchone()
            self.assertEqual(finish, "interrupted")
            self.assertGreaterEqual(tokens, 3)

    def test_signals_end_what_nobody_reads(self):
        for number, (name, code) in enumerate([("SIGINT", 130), ("SIGTERM", 143)], start=1):
            process = start(ENDLESS, "-p", "go on", "--output", "jsonl", "--temp", "0")
            in_pipe, same = 0, 0
            while in_pipe == 0 or same < 50:  # until it writes no more
                self.assertIsNone(process.poll())
                time.sleep(0.02)
                before, in_pipe = in_pipe, struct.unpack("i", fcntl.ioctl(process.stdout, termios.FIONREAD, bytes(4)))[0]
                same = same + 1 if in_pipe == before else 0
            process.send_signal(getattr(signal, name))
            self.assertEqual(process.wait(timeout=60), code)
            process.communicate()
            with sqlite3.connect(DATABASE) as db:
                self.assertEqual(db.execute("SELECT finish FROM turn WHERE id = ?", (number,)).fetchone()[0], "interrupted")

    def test_a_killed_program_loses_no_turn(self):
        for number in range(1, 6):
            process = start(ENDLESS, "-p", "go on", "--output", "jsonl", "--temp", "0")
            read_tokens(process, number)
            process.kill()
            process.communicate(timeout=60)
        self.assertEqual(run("list")[0], 0)
        with sqlite3.connect(DATABASE) as db:
            self.assertEqual(db.execute("PRAGMA integrity_check").fetchone()[0], "ok")
            self.assertEqual(db.execute("SELECT count(*) FROM message WHERE role = 'user'").fetchone()[0], 5)
            self.assertEqual(db.execute("SELECT DISTINCT finish FROM message WHERE role = 'assistant'").fetchall(),
                             [("interrupted",)])

    def test_a_newer_database_is_refused(self):
        run(TALKING, "-p", "Hello!")
        with sqlite3.connect(DATABASE) as db:
            db.execute("PRAGMA user_version = 99")
        for arguments in (["list"], ["-p", "x"]):
            code, _, err = run(*arguments)
            self.assertEqual(code, 6)
            self.assertIn("99", err)

    def test_no_home_costs_only_the_keeping(self):
        env = {name: value for name, value in environment().items() if name != "HOME" and not name.startswith("XDG_")}
        done = subprocess.run([PROGRAM, TALKING, "-p", "Hello!", "-n", "2"], env=env, input=b"", capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, rb"neither XDG_DATA_HOME nor HOME names a folder.*Nothing is saved until")
        self.assertEqual(subprocess.run([PROGRAM, "list"], env=env, capture_output=True, timeout=120).returncode, 6)

    def on_a_full_disk(self, *arguments):
        """Runs the program where a file may not grow, so that each write fails as on a full disk."""
        with open(PROGRAM, "rb") as program:
            if b"__tsan_init" in program.read():
                self.skipTest("ThreadSanitizer itself writes a file before the program begins, and is ended for it")
        return subprocess.run([PROGRAM, *arguments], env=environment(), input=b"", capture_output=True, timeout=120,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY)))

    def test_what_is_stored_is_read_on_a_full_disk(self):
        run(TALKING, "-p", "Hello!", "-n", "2")
        for words in (["list"], ["show", "1"], ["search", "hello"], ["export", "1", "--format", "json"], ["replay", "1", "--instant"]):
            wanted = run(*words)
            self.assertEqual(wanted[0], 0, wanted)
            done = self.on_a_full_disk(*words)
            self.assertEqual((done.returncode, done.stdout.decode(), done.stderr.decode()), wanted, words)

    def test_a_full_disk_at_the_start_is_said_and_costs_only_the_keeping(self):
        run(TALKING, "-p", "Hello!", "-n", "2")
        for arguments, code in (([TALKING, "-p", "x", "-n", "2"], 0), ([TALKING, "-p", "x", "-n", "2", "--db", FOLDER + "/new.db"], 6)):
            done = self.on_a_full_disk(*arguments)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(b"the disk is full", done.stderr)
            self.assertNotIn(b"permissions", done.stderr)

    def test_a_folder_that_cannot_be_made_costs_only_the_keeping(self):
        open(FOLDER + "/data", "w").close()
        code, out, err = run(TALKING, "-p", "Hello!")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"\w")
        self.assertIn("Nothing is saved", err)


if __name__ == "__main__":
    main()
