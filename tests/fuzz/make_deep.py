#!/usr/bin/env python3
"""Write the deep seeds of the fuzz targets, as long as their longest inputs: make_deep.py FOLDER LENGTH

A reader that nests without a bound uses up its stack, and a short input does not find that.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def nested(begin, middle, end, length):
    times = (length - len(middle)) // (len(begin) + len(end))
    return begin * times + middle + end * times


def seeds(length):
    lists = nested("[", "", "]", length)
    objects = nested('{"a":', "1", "}", length)
    yield from (("hub", text) for text in (lists, objects, "[" * length, '[{"type": "file", "path": "a.gguf", "lfs": %s}]' % nested("[", "", "]", length - 60)))
    yield from (("serve", "\1" + text) for text in (lists, objects, '{"messages": %s}' % nested("[", "", "]", length - 20)))
    yield from (("settings", text) for text in (lists, objects, '{"temp": %s}' % nested("[", "", "]", length - 10)))
    yield from (("chat_file", text) for text in (lists, objects, "[" * length, '{"messages": %s}' % nested("[", "", "]", length - 14)))
    with open(os.path.join(HERE, "corpus", "chat_file", "seed1")) as file:  # what 'export --format json' wrote
        whole = file.read()
    begin = whole.index('"sampler": ') + len('"sampler": ')
    end = whole.index('"system"', begin)
    room = length - begin - len(whole[end:]) - 10
    for sampler in (nested("[", "", "]", room), '"%s"' % ("[" * room), nested('{"a":', "1", "}", room), nested("[", "", "]", 100)):
        yield "chat_file", whole[:begin] + sampler + ",\n" + whole[end:]
    said = "\0user\0Hello"
    room = length - 100
    for template in (nested("(", "1", ")", room), nested("[", "", "]", room), nested("{1:", "2", "}", room), "not " * (room // 4) + "x",
                     "-" * room + "1", "x" + ".a" * (room // 2), "x" + "|trim" * (room // 5), "x" + "[0]" * (room // 3),
                     "x" + "()" * (room // 2), "1" + "~1" * (room // 2), "1" + "**1" * (room // 3), "x if x else " * (room // 12) + "x",
                     "x" + " and x" * (room // 6), "x" + " == x" * (room // 5), "x" + " is defined" * (room // 11)):
        yield "chat_template", "{{ " + template + " }}" + said
    for begin, end in (("{% if x %}", "{% endif %}"), ("{% for m in messages %}", "{% endfor %}"), ("{% macro f() %}", "{% endmacro %}"),
                       ("{% set x %}", "{% endset %}"), ("{% filter trim %}", "{% endfilter %}"), ("{% with %}", "{% endwith %}"),
                       ("{% call f() %}", "{% endcall %}")):
        yield "chat_template", nested(begin, "x", end, room) + said
        yield "chat_template", begin * (room // len(begin)) + said
    yield "chat_template", "{% if x %}" + "{% elif x %}" * (room // 12 - 10) + "{% endif %}" + said
    yield "chat_template", "{% macro f(n) %}{{ f(n) }}{% endmacro %}{{ f(1) }}" + said
    yield "chat_template", "{% set ns = namespace(a=[]) %}{% for i in range(100000) %}{% set ns.a = [ns.a] %}{% endfor %}{{ ns.a | tojson }}" + said
    for text in (">" * room, "> " * (room // 2), "- " * (room // 2), "1. " * (room // 3), "*" * room, "_a" * (room // 2), "[" * room, "![" * (room // 2),
                 nested("[", "a", "](b)", room), nested("**", "a", "**", room), "`" * room, "~" * room, "|" * room, "| a " * 1000 + "\n" + "|-" * 1000 + "\n",
                 "#" * room, "<" * room, "\\" * room, "&" * room, "e" + "\u0301" * (room // 2), "".join("%s- a\n" % (" " * i) for i in range(300)),
                 "".join("%s a\n" % (">" * i) for i in range(1, 300)), "```\n" * (room // 4), "[a]: b\n" * (room // 7)):
        yield "markdown", "\x28\x10" + text
    for pattern in (nested("(", "a", ")", room), "(?:" * (room // 3), "a{1,9}" * (room // 6), nested("(?=", "a", ")", room), "[" * room, "\\" * room):
        yield "script", "@expect /" + pattern + "/\n\0" + "a" * 50
    yield "script", "@expect /(a+)+$/\n\0" + "a" * room + "b"
    yield "script", '"""\n' * (room // 4)
    for choice in "\0\1\2":
        yield "tokenizer", choice + "a" * room
        yield "tokenizer", choice + "th" * (room // 2)
    yield "tokenizer", "\3\1\1" + "a\n" * (room // 4) + "\0" + "a a\n" * (room // 8) + "\0" + "1" * (room // 4) + "\0" + "a" * 1000


def main(folder, length):
    count = {}
    for target, text in seeds(length):
        data = text.encode()[:length]
        number = count[target] = count.get(target, 0) + 1
        os.makedirs(os.path.join(folder, target), exist_ok=True)
        with open(os.path.join(folder, target, f"deep{number}"), "wb") as out:
            out.write(data)
    with open(os.path.join(folder, "made"), "w"):
        pass


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
