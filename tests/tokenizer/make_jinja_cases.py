#!/usr/bin/env python3
"""Write tests/tokenizer/jinja_cases.json: chat templates, and what Python's jinja2 makes of them.

    /usr/bin/python3 tests/tokenizer/make_jinja_cases.py tests/tokenizer/jinja_cases.json
    /usr/bin/python3 tests/tokenizer/make_jinja_cases.py --check tests/tokenizer/jinja_cases.json

jinja2 is set up as Hugging Face's apply_chat_template sets it up. Needs python3-jinja2. The cases are in
jinja_cases.py beside this file and in what that imports; each is rendered with each list of messages.
"""
import datetime
import json
import os
import sys

import jinja2
import jinja2.ext
import jinja2.sandbox
from jinja2 import nodes

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import jinja_cases

COMMAND = "/usr/bin/python3 tests/tokenizer/make_jinja_cases.py tests/tokenizer/jinja_cases.json"
NOW = 1740487815  # 2025-02-25 12:50:15 UTC
BOS, EOS = "<s>", "</s>"


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def strftime_now(form):
    return datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc).strftime(form)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = strftime_now
    return env


def result(env, template, messages, **more):
    """Returns the text, or the kind of error: "syntax" (before it renders), "raised" with its message, "error"."""
    try:
        compiled = env.from_string(template)
    except (jinja2.exceptions.TemplateError, SyntaxError):  # SyntaxError: a break outside a loop
        return {"error": "syntax"}
    try:
        return {"text": compiled.render(messages=messages, tools=None, documents=None, bos_token=BOS, eos_token=EOS,
                                        add_generation_prompt=True, **more)}
    except jinja2.exceptions.TemplateRuntimeError:
        return {"error": "error"}
    except jinja2.exceptions.TemplateError as e:
        return {"error": "raised", "message": str(e)}
    except Exception:
        return {"error": "error"}


def golden():
    env = environment()
    cases = []
    for name, template in jinja_cases.TEMPLATES:
        cases.append({"name": name, "template": template,
                      "results": [result(env, template, m) for m in jinja_cases.MESSAGES]})
        for think in (False, True) if name in jinja_cases.THINKING else ():
            cases.append({"name": f"{name}, enable_thinking {think}", "template": template, "enable_thinking": think,
                          "results": [result(env, template, m, enable_thinking=think) for m in jinja_cases.MESSAGES]})
    for i, template in enumerate(jinja_cases.CONSTRUCTS):
        cases.append({"name": f"construct {i}", "template": template,
                      "results": [result(env, template, jinja_cases.MESSAGES[0])]})
    head = {"command": COMMAND, "jinja2": "3.1", "now": NOW, "bos_token": BOS, "eos_token": EOS}
    return json.dumps(head | {"messages": jinja_cases.MESSAGES, "cases": cases}, indent=1, ensure_ascii=True) + "\n"


def main():
    check = sys.argv[1] == "--check"
    path = sys.argv[-1]
    text = golden()
    if not check:
        with open(path, "w") as f:
            f.write(text)
    elif open(path).read() != text:
        sys.exit(f"{path} is not what jinja2 {jinja2.__version__} gives; write it again: {COMMAND}")


main()
