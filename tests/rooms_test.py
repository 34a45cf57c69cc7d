"""Tests that an include against the arrows does not compile, and that rooms do not mean different types by one name.

usage: rooms_test.py COMPILER ROOT BUILD/rooms
BUILD/rooms has, for each room, the links to its public headers and ROOM.includes, the folders in which the compiler
looks for what its files include (CMakeLists.txt, room()). The compiler is asked which headers of the project each room
finds, and the answer is compared with the arrows below, which README.md and app/README.md draw.
"""
import glob
import os
import re
import subprocess
import sys
import unittest

COMPILER, ROOT, ROOMS = sys.argv[1:4]

# Each room finds the public headers of these rooms besides its own.
ARROWS = {
    "error": "",
    "json": "error",
    "engine_layouts": "",
    "engine_base": "engine_layouts error",
    "engine_cpu": "engine_base engine_layouts error",
    "engine_vk": "engine_base engine_layouts error shaders",
    "engine_hub": "engine_base engine_layouts error json",
    "engine_model": "engine_base engine_layouts error",
    "engine_weights": "engine_base engine_cpu engine_layouts engine_model error",
    "engine": "engine_base engine_cpu engine_hub engine_layouts engine_model engine_vk engine_weights error",
    "tokenizer_jinja": "error",
    "tokenizer": "tokenizer_jinja error",
    "app_base": "error json",
    "app_text": "app_base error json",
    "app_store": "app_base app_text error json",
    "app_pull": "app_base app_text error json",
    "app_model": "app_base app_text app_store app_pull engine tokenizer error json",
    "app_probe": "app_base app_text app_store app_pull app_model engine tokenizer error json",
    "app_front_end": "app_base app_text app_store error json",
    "app_chat": "app_base app_text app_store app_pull app_model app_front_end engine tokenizer error json",
    "app_script": "app_base app_text app_store app_pull app_model app_front_end app_chat engine tokenizer error json",
    "app_view": "app_base app_text app_store app_front_end error json",
    "app_readline": "",
    "app_screen": "app_base app_text app_store app_front_end app_readline app_script app_view error json",
    "app_plain": "app_base app_text app_store app_front_end app_readline app_script error json",
    "app_serve": "app_base app_text app_store app_pull app_model app_front_end app_chat engine tokenizer error json",
    "app_cli": "app_base app_text app_store app_pull app_model app_probe app_front_end app_chat engine tokenizer error json",
}


def public_headers(room):
    top = os.path.join(ROOMS, room)
    return {os.path.relpath(path, top) for path in glob.glob(top + "/**/*.h", recursive=True)}


def sources(*endings):
    for folder in ("app", "engine", "tokenizer"):
        for at, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in names:
                if name.endswith(endings):
                    yield os.path.relpath(os.path.join(at, name), ROOT)


def includes_of(path):
    with open(os.path.join(ROOT, path)) as file:
        return re.findall(r'^#include (["<])([^">]+)[">]', file.read(), re.M)


def compiler(room, text, *options):
    with open(os.path.join(ROOMS, room + ".includes")) as file:
        folders = [line for line in file.read().split("\n") if line]
    return subprocess.run([COMPILER, "-std=c++20", *(f"-I{folder}" for folder in folders), *options, "-x", "c++", "-"],
                          input=text, capture_output=True, text=True, cwd=ROOMS)


def found_by(room, headers):
    text = "".join(f'#if __has_include("{name}")\nfinds {name}\n#endif\n' for name in headers)
    result = compiler(room, text, "-E", "-P")
    assert result.returncode == 0, result.stderr
    return set(re.findall(r"^finds (\S+)$", result.stdout, re.M))


class RoomsTest(unittest.TestCase):
    def test_every_room_is_known(self):
        self.assertEqual({name[:-len(".includes")] for name in os.listdir(ROOMS) if name.endswith(".includes")}, set(ARROWS))

    def test_a_room_finds_what_the_arrows_allow_and_nothing_else(self):
        headers = sorted(sources(".h"))
        for room, seen in ARROWS.items():
            allowed = public_headers(room).union(*(public_headers(other) for other in seen.split() if other != "shaders"))
            with self.subTest(room):
                self.assertEqual(found_by(room, headers), allowed)

    def test_an_include_against_the_arrows_does_not_compile(self):
        for room, header in (("app_store", "engine/engine.h"), ("app_store", "app/chat/front_end.h"),
                             ("app_view", "app/chat/commands.h"), ("app_plain", "engine/engine.h"),
                             ("app_chat", "app/view/status.h"), ("app_chat", "app/cli/options.h"),
                             ("app_base", "app/text/text_safe.h"), ("app_cli", "engine/vk/device.h"),
                             ("tokenizer", "tokenizer/jinja/value.h"), ("engine", "tokenizer/tokenizer.h"),
                             ("engine_cpu", "shaders/params.h")):
            with self.subTest(f"{room} includes {header}"):
                self.assertTrue(os.path.exists(os.path.join(ROOT, header)))
                result = compiler(room, f'#include "{header}"\n', "-fsyntax-only")
                self.assertNotEqual(result.returncode, 0)
                self.assertRegex(result.stderr, f"{re.escape(header)}.* (No such file or directory|file not found)")

    def test_a_name_stands_for_one_type(self):
        """Two types of one name in a namespace are one to the linker, however different they are, and no compiler says so."""
        defined = {}
        for path in sources(".h"):
            with open(os.path.join(ROOT, path)) as file:
                text = file.read()
            namespace = ""
            for found in re.finditer(r"^(?:namespace (\S+) {|(?:struct|class|enum class) (\w+)[^;{\n]*{)", text, re.M):
                if found[1]:
                    namespace = found[1]
                    continue
                name = f"{namespace}::{found[2]}"
                self.assertEqual(defined.setdefault(name, path), path, name)
        self.assertGreater(len(defined), 300)

    def test_no_include_goes_around_the_rooms(self):
        for path in sources(".h", ".cpp"):
            for quote, name in includes_of(path):
                if quote == '"' and "/" in name:  # not of the same folder: named from the top, as rooms export it
                    self.assertIn(name.split("/")[0], ("app", "engine", "tokenizer", "shaders"), f"{path} includes {name}")
                self.assertNotIn("..", name.split("/"), path)
                if name.startswith("vulkan/"):
                    self.assertTrue(path.startswith("engine/vk/"), f"{path} includes {name}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
