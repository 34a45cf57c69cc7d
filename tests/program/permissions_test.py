#!/usr/bin/env python3
"""Tests files and folders that may not be read or written: there is one clear line, the chat goes on if it can, and
nothing is changed.

usage: permissions_test.py BITNET-CHAT MODEL

Root may read and write everything, so for root the program runs as the user nobody.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = MODEL = ""
NOBODY = 65534


class PermissionsTest(unittest.TestCase):
    def setUp(self):
        # An ordinary user reaches everything in here, wherever the build folder is.
        self.folder = tempfile.mkdtemp(prefix="bitnet-chat-permissions-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.home, self.program, self.model = (os.path.join(self.folder, name) for name in ("home", "bitnet-chat", "model.gguf"))
        os.mkdir(self.home)
        shutil.copy(PROGRAM, self.program)
        shutil.copy(MODEL, self.model)
        os.chmod(self.folder, 0o755)
        os.chmod(self.model, 0o644)
        if os.geteuid() == 0:
            os.chown(self.home, NOBODY, NOBODY)
        self.data = os.path.join(self.home, ".local", "share", "bitnet-chat")
        self.database = os.path.join(self.data, "chats.db")

    def run_it(self, *arguments, stdin=None):
        env = {"HOME": self.home, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "dumb"}
        env.update({k: v for k, v in os.environ.items() if k.startswith(("ASAN_", "LSAN_", "UBSAN_", "TSAN_"))})
        ids = dict(user=NOBODY, group=NOBODY, extra_groups=[]) if os.geteuid() == 0 else {}
        done = subprocess.run([self.program, *arguments], env=env, input=stdin or "", capture_output=True, text=True, timeout=120, **ids)
        return done.returncode, done.stdout, done.stderr

    def ask(self, *more):
        return self.run_it(self.model, "--device", "cpu", "--threads", "1", "-n", "4", "-p", "hello", *more)

    def check_goes_on(self, readable=False, there=True, reason="Permission denied"):
        """Checks that a question is answered with a warning, and that what needs the database is refused in one line."""
        code, out, err = self.ask()
        self.assertEqual(code, 0, err)
        self.assertTrue(out.strip())
        self.assertRegex(err, reason + ".*Nothing is saved until that is mended")
        reading = (["list"], ["show", "1"], ["search", "hello"], ["export", "1"])
        for arguments in reading * readable:
            code, out, err = self.run_it(*arguments)
            self.assertEqual((code, err), (0, ""), arguments)
            self.assertIn("hello", out)
        for arguments in (*reading * (there and not readable), ["delete", "1"], ["import", self.model],
                          [self.model, "--device", "cpu", "-c", "-p", "x"], [self.model, "--db", self.database, "-p", "x"]):
            code, out, err = self.run_it(*arguments)
            self.assertEqual((code, out, err.count("\n")), (6, "", 1), (arguments, err))
            self.assertRegex(err, reason + "|No such file")
            self.assertNotIn("filesystem error", err)

    def test_a_home_that_cannot_be_written(self):
        os.chmod(self.home, 0o500)
        self.check_goes_on(there=False)
        self.assertEqual(self.run_it("list"), (0, "", ""))
        self.assertEqual(os.listdir(self.home), [])
        code, out, err = self.run_it(self.model, "--device", "cpu", "-n", "4", "--script", "-", stdin="hello\n/list\n")
        self.assertEqual(code, 0, err)
        self.assertIn("1  ", out.split("> /list")[1])  # it is in memory

    def test_a_data_folder_that_cannot_be_reached(self):
        above = os.path.dirname(os.path.dirname(self.data))  # .local
        os.mkdir(above)
        os.chmod(above, 0o000)
        if os.geteuid() == 0:
            os.chown(above, NOBODY, NOBODY)
        self.check_goes_on()
        os.chmod(above, 0o700)
        self.assertEqual(os.listdir(above), [])
        share = os.path.dirname(self.data)
        os.symlink(share, share)
        self.check_goes_on(reason="Too many levels of symbolic links")
        os.remove(share)
        with open(share, "w"):
            pass
        self.check_goes_on(reason="Not a directory")

    def test_a_database_that_cannot_be_written_or_read(self):
        self.assertEqual(self.ask()[0], 0)
        with open(self.database, "rb") as file:
            whole = file.read()
        for mode, folder in ((0o400, 0o700), (0o400, 0o500), (0o000, 0o700)):
            with self.subTest(mode=oct(mode), folder=oct(folder)):
                os.chmod(self.database, mode)
                os.chmod(self.data, folder)
                self.check_goes_on(readable=mode != 0)
                self.assertEqual(os.listdir(self.data), ["chats.db"])
                os.chmod(self.data, 0o700)
                os.chmod(self.database, 0o600)
                with open(self.database, "rb") as file:
                    self.assertEqual(file.read(), whole)
        self.assertEqual(self.run_it("show", "1")[0], 0)

    def test_what_is_not_in_a_database_that_can_only_be_read_is_said(self):
        self.assertEqual(self.ask()[0], 0)
        odd = os.path.join(self.home, "50% of #1?")  # characters that mean something in a URI
        os.mkdir(odd)
        backup = os.path.join(odd, "chats.db")
        shutil.copy(self.database, backup)
        for name in (odd, backup):
            os.chmod(name, 0o555)
        self.assertIn("hello", self.run_it("show", "1", "--db", backup)[1])
        os.chmod(odd, 0o755)
        with open(backup + "-wal", "w") as wal:
            wal.write("not read")
        os.chmod(odd, 0o555)
        code, out, err = self.run_it("show", "1", "--db", backup)
        self.assertEqual((code, out, err.count("\n")), (6, "", 1), err)
        self.assertIn("chats.db-wal", err)
        os.chmod(odd, 0o755)

    def test_files_that_cannot_be_read(self):
        secret = os.path.join(self.home, "secret")
        with open(secret, "w") as file:
            file.write("secret")
        os.chmod(secret, 0o000)
        for arguments, code in (([secret, "-p", "x"], 4), ([self.model, "--script", secret], 2), (["import", secret], 2),
                                ([self.model, "--system", "@" + secret, "-p", "x"], 2)):
            done = self.run_it(*arguments)
            self.assertEqual((done[0], done[1], done[2].count("\n")), (code, "", 1), (arguments, done))
            self.assertRegex(done[2], "secret.*(Permission denied|cannot be (read|opened))")

    def test_an_export_that_cannot_be_written(self):
        self.assertEqual(self.ask()[0], 0)
        target = os.path.join(self.folder, "export.md")  # the folder is not this user's
        if os.geteuid() != 0:
            os.chmod(self.folder, 0o500)
            self.addCleanup(os.chmod, self.folder, 0o700)
        code, _, err = self.run_it("export", "1", "-o", target)
        self.assertEqual((code, err.count("\n")), (1, 1), err)
        self.assertIn("export.md", err)


if __name__ == "__main__":
    PROGRAM, MODEL = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
    unittest.main(verbosity=2)
