#!/usr/bin/env python3
"""Kills the program with kill -9 at random moments: what it had said is kept must be kept.

usage: kill_test.py BITNET-CHAT MODEL FOLDER [--rounds 30] [--seed 1]

A round runs a session on one database and kills it while it loads, reads the prompt, answers, obeys commands,
migrates the database of an older version, moves conversations into the trash, out of it and past it, or saves what
a full disk (a file that may not grow) had kept from being saved. Then the file must be whole and open as before. It must
hold every turn that was acknowledged with its text, and at most one answer that is cut short and marked interrupted.
MODEL should not end its answers (make_model.py). The same seed gives the same moments, as far as a clock can.
"""
import argparse
import json
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FLUSH_TOKENS = 32  # the store is at most this far behind the screen


class Round:
    def __init__(self, options, number, kind, startup):
        self.options, self.number, self.kind, self.startup = options, number, kind, startup
        self.random = random.Random(f"{options.seed} {number}")
        self.database = os.path.join(options.folder, "chats.db")
        self.users, self.finished, self.tokens = {}, {}, {}

    def environment(self):
        home = self.options.folder
        return dict(os.environ, HOME=home, XDG_CACHE_HOME=home + "/cache", XDG_STATE_HOME=home + "/state", TERM="dumb")

    def command(self, *arguments):
        return [self.options.program, "--db", self.database, *arguments]

    def script(self):
        turn = f"round {self.number} turn "
        lines = ["@allow-errors", turn + "1", "@wait idle"]
        if self.kind == "commands":
            more = ["/title about " + turn, "/regen", "/undo", "/redo", "/set seed 7", "/branches", "/fork", "/edit " + turn + "e",
                    turn + "2", "/goto 1", "/archive", "/new", "/system be kind", turn + "3", "/list", "/continue"]
            for line in self.random.sample(more, len(more)):
                lines += [line, "@wait idle"]
        return "\n".join(lines) + "\n"

    def watch(self, process, stop):
        """Reads what the program says until it ends or `stop` returns true."""
        for line in process.stdout:
            event = json.loads(line)
            kind = event["type"]
            if kind == "user":
                self.users[event["id"]] = event["text"]
            elif kind == "token":
                self.tokens.setdefault(event["message"], []).append(event["text"])
            elif kind == "usage":
                self.finished[event["message"]] = event["text"]
            elif kind == "error" and "Not sent" in event["text"]:
                self.users.popitem()  # given back to the input line
            elif kind == "command" and event["command"] == "transcript":
                pass
            if stop(kind):
                return

    def run(self):
        length = "4" if self.kind == "commands" else "120"
        if self.kind == "migration":
            make_old_database(self.database)
            self.users = {i: f"old turn {i}" for i in range(1, 401)}
        process = subprocess.Popen(
            self.command(self.options.model, "--device", "cpu", "--threads", "1", "--script", "-", "--output", "jsonl", "-n", length),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment(), text=True)
        process.stdin.write(self.script())
        process.stdin.close()
        if self.kind in ("load", "migration"):
            time.sleep(self.random.uniform(0, 1.2 * self.startup))
        else:
            left = {"prefill": 1, "streaming": self.random.randint(1, 100), "commands": self.random.randint(2, 60)}[self.kind]
            wanted = {"prefill": "user", "streaming": "token"}.get(self.kind)

            def stop(kind):
                nonlocal left
                left -= wanted in (None, kind)
                return left <= 0
            self.watch(process, stop)
            time.sleep(self.random.uniform(0, 0.02))
        process.send_signal(signal.SIGKILL)
        self.watch(process, lambda kind: False)  # what it had still said
        process.wait()
        error = process.stderr.read()
        assert process.returncode in (-signal.SIGKILL, 0), (process.returncode, error)

    def check(self):
        done = subprocess.run(self.command("list"), capture_output=True, text=True, env=self.environment(), timeout=120)
        assert done.returncode == 0, done.stderr
        db = sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        stored = {row[0]: row[1:] for row in db.execute("SELECT id, role, text, finish FROM message")}
        for wanted in (self.users, self.finished):
            for message, text in wanted.items():
                assert message in stored, f"message {message} ({text!r}) is gone"
                got = stored[message][1]  # /continue may have added to it
                assert same(got[:len(text)], text), f"message {message}: wanted {text!r}, got {got!r}"
        assert not [i for i, row in stored.items() if row[2] is None], "a draft is left"
        cut = db.execute("SELECT id FROM message WHERE finish = 'interrupted' AND id > ?", (self.first_of_round,)).fetchall()
        assert len(cut) <= 1, f"{len(cut)} answers of one round are marked interrupted"
        for (message,) in cut:
            shown = self.tokens.get(message, [])
            count = sum(len(ids) // 4 for (ids,) in db.execute(
                "SELECT ids FROM token_run JOIN turn ON turn.id = turn WHERE message = ?", (message,)))
            assert count >= len(shown) - FLUSH_TOKENS - 1, f"{len(shown)} tokens were shown, {count} are there"
            text = stored[message][1]
            spelled = "".join(shown)
            assert same(spelled[:len(text)], text[:len(spelled)]), f"wanted the beginning of {spelled!r}, got {text!r}"
        db.close()
        if self.kind == "streaming":  # files that were cut short beside the database hinder nobody
            done = subprocess.run(self.command(self.options.model, "-c", "--device", "cpu", "--threads", "1", "-n", "2", "--script", "-"),
                                  input="/continue\n@wait idle\n", capture_output=True, text=True, env=self.environment(), timeout=120)
            assert done.returncode in (0, 1) and "[device" not in done.stdout, (done.returncode, done.stderr)
            assert "nothing more of it is saved" not in done.stdout + done.stderr, done.stderr
        for leftover in os.listdir(self.options.folder):
            assert not leftover.endswith(".unfinished"), f"{leftover} was left behind"


class OwnRound(Round):
    """A round with a database of its own, whose lines are written one by one."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.database = os.path.join(self.options.folder, self.kind + ".db")
        for name in os.listdir(self.options.folder):
            if name.startswith(self.kind + ".db"):
                os.remove(os.path.join(self.options.folder, name))
        self.said = []  # every line of the program

    def start(self):
        self.process = subprocess.Popen(
            self.command(self.options.model, "--device", "cpu", "--threads", "1", "--output", "jsonl", "-n", "4"),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment(), text=True)

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def until(self, *kinds):
        for line in self.process.stdout:
            self.said.append(json.loads(line))
            if self.said[-1]["type"] in kinds:
                return

    def kill_after(self, events):
        self.process.stdin.close()
        for _, line in zip(range(events), self.process.stdout):
            self.said.append(json.loads(line))
        time.sleep(self.random.uniform(0, 0.02))
        self.process.send_signal(signal.SIGKILL)
        self.said += map(json.loads, self.process.stdout)
        self.process.wait()
        self.process.stderr.close()
        self.users = {i: e["text"] for i, e in enumerate(self.said) if e["type"] == "user"}

    def has_said(self, words):
        return any(words in str(event.get("text")) for event in self.said)

    def open_whole(self):
        db = sqlite3.connect(self.database)
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        db.execute("INSERT INTO message_fts(message_fts, rank) VALUES ('integrity-check', 1)")
        return db


class TrashRound(OwnRound):
    WORD = "qzpurgewjx"

    def run(self):
        self.start()
        for line in ("kept one", "/delete", "/undelete 1", "/new", f"{self.WORD} two {self.WORD}", "/delete now", "three", "/delete"):
            self.tell(line)
        self.kill_after(self.random.randint(1, 50))

    def has_word(self):
        for name in os.listdir(self.options.folder):
            if name.startswith("trash.db"):
                with open(os.path.join(self.options.folder, name), "rb") as file:
                    if self.WORD[3:].encode() in file.read():
                        return name
        return None

    def check(self):
        if self.has_said("no word of it is in the database"):
            assert not self.has_word(), f"{self.has_word()} holds words of what was purged"
        done = subprocess.run(self.command(self.options.model, "--device", "cpu", "--threads", "1", "-n", "1", "-p", "x"),
                              capture_output=True, text=True, env=self.environment(), timeout=120)
        assert done.returncode == 0, done.stderr
        db = self.open_whole()
        there = dict(db.execute("SELECT id, deleted FROM conversation"))
        if self.has_said("Conversation 1 is back"):
            assert 1 in there and there[1] is None, "what was taken out of the trash is not there"
        elif self.has_said("/undelete 1 brings it back"):
            assert 1 in there, "what was put into the trash is gone"
        if self.has_said("/undelete 3 brings it back"):
            assert there[3] is not None, "what was put into the trash is not in it"
        purging = any(e["type"] == "user" and self.WORD in e["text"] for e in self.said) and 2 not in there
        assert not purging or not self.has_word(), f"{self.has_word()} holds words of what a purge had begun to take out"
        db.close()


class ResumeRound(OwnRound):
    def run(self):
        self.start()
        self.tell("one")
        self.until("usage")
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        for text in ("two", "three"):
            self.tell(text)
            self.until("usage")
        assert self.has_said("nothing more of it is saved")
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        self.tell("four")
        self.tell("five")
        self.kill_after(self.random.randint(0, 20))

    def check(self):
        done = subprocess.run(self.command("list"), capture_output=True, text=True, env=self.environment(), timeout=120)
        assert done.returncode == 0, done.stderr
        db = self.open_whole()
        assert db.execute("SELECT count(*) FROM conversation").fetchone() == (1,)
        stored = [row[0] for row in db.execute("SELECT text FROM message WHERE role = 'user' ORDER BY id")]
        saved = self.has_said("The database can be written again")
        acknowledged = [e["text"] for e in self.said if e["type"] == "user"] if saved else ["one"]
        for text in acknowledged:
            assert stored.count(text) == 1, f"{text!r} was acknowledged, and {stored} is there"
        if saved:
            answers = [row[0] for row in db.execute("SELECT text FROM message WHERE role = 'assistant'")]
            for event in self.said:
                assert event["type"] != "usage" or any(same(a, event["text"]) for a in answers), f"{event['text']!r} is gone"
        db.close()


def same(a, b):
    """Compares what JSON and the store have of a text: both show bytes that are no UTF-8 as U+FFFD."""
    return a.replace("\0", "") == b.replace("\0", "")


def make_old_database(path):
    """Makes a database of version 1 with the statements of the program."""
    for suffix in ("", "-wal", "-shm", ".v1-backup"):
        if os.path.exists(path + suffix):
            os.remove(path + suffix)
    with open(os.path.join(HERE, "../../app/store/store_schema.cpp")) as source:
        schema = re.search(r'kVersion1 = R"sql\((.*?)\)sql"', source.read(), re.S)[1]
    with open(os.path.join(HERE, "../../app/store/store_schema.h")) as source:
        identity = re.search(r"kApplicationId = (\w+)", source.read())[1]
    db = sqlite3.connect(path)
    db.executescript(schema + f"PRAGMA application_id = {int(identity, 0)}; PRAGMA user_version = 1; PRAGMA journal_mode = WAL;"
                     "INSERT INTO conversation(created, updated) VALUES (1, 1);")
    for i in range(1, 401):
        db.execute("INSERT INTO message(conversation, parent, role, text, finish, created) VALUES (1, ?, 'user', ?, '', 1)",
                   (i - 1 or None, f"old turn {i}"))
    db.commit()
    db.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("program", "model", "folder"):
        parser.add_argument(name, type=os.path.abspath)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    os.makedirs(options.folder)
    kinds = ["load", "prefill", "streaming", "commands", "trash", "streaming", "migration", "commands", "resume"]
    rounds = {"trash": TrashRound, "resume": ResumeRound}
    counts, acknowledged, cut, began = {}, 0, 0, time.monotonic()
    startup = 0.1
    for number in range(options.rounds):
        kind = kinds[number % len(kinds)]
        round_ = rounds.get(kind, Round)(options, number, kind, startup)
        if kind == "migration" or number % 50 == 0:
            for leftover in os.listdir(options.folder):
                if leftover.startswith("chats.db"):
                    os.remove(os.path.join(options.folder, leftover))
        if number == 0:  # how long a start takes here
            start = time.monotonic()
            subprocess.run(round_.command(options.model, "--device", "cpu", "--threads", "1", "--script", "/dev/null"),
                           env=round_.environment(), check=True, capture_output=True)
            startup = time.monotonic() - start
            round_.startup = startup
        round_.first_of_round = last_message(round_.database)
        try:
            round_.run()
            if kind == "migration":
                round_.first_of_round = 400
            round_.check()
        except BaseException:
            print(f"round {number} ({kind}), seed {options.seed}: the database is kept in {options.folder}")
            raise
        counts[kind] = counts.get(kind, 0) + 1
        acknowledged += len(round_.users) + len(round_.finished)
    print(f"{options.rounds} rounds in {time.monotonic() - began:.0f} s ({counts}): {acknowledged} acknowledged messages, none lost")


def last_message(path):
    if not os.path.exists(path) or os.path.getsize(path) == 0:
        return 0
    db = sqlite3.connect(path)
    try:
        return db.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'message'").fetchone()[0]
    except (sqlite3.OperationalError, TypeError):
        return 0
    finally:
        db.close()


if __name__ == "__main__":
    main()
