#!/usr/bin/env python3
"""Write the seeds of the fuzz targets, small inputs that reach far: make_corpus.py BITNET-CHAT

The database is made by the program itself; run this again when its schema has changed.
"""
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
import gguf_types  # noqa: E402
import make_hostile_ggufs as hostile  # noqa: E402
import make_hub_folder  # noqa: E402
import make_model  # noqa: E402

TEMPLATES = [
    make_model.TEMPLATE,
    "{%- set ns = namespace(found=false) -%}{% for m in messages if m.role != 'system' recursive %}{% if loop.first "
    "and not ns.found %}{% set ns.found = true %}{{ m['content'] | trim | upper }}{% elif m.content is string %}"
    "{{ m | tojson(indent=2) }}{% else %}{{ raise_exception('no ' ~ m.role) }}{% endif %}{{ loop.index0 }}{% endfor %}",
    "{% macro show(x, y=2) %}{{ x * y + 1 - 3 // 2 % 5 }}{% endmacro %}{{ show(3, y=4) }}{% call(a) show(1) %}{{ a }}"
    "{% endcall %}{{ messages[-1:0:-1] | map(attribute='role') | list | join(', ') }}",
    "{{ strftime_now('%d %b %Y') }}{{ 'a b c'.split(' ')[1:] | reverse | list | tojson }}{% raw %}{{ {% endraw %}"
    "{% filter replace('x', 'y') %}x{% endfilter %}{# gone #}{{ 'é' | length if bos_token else '\\n\\x41' }}",
    "{% for k, v in {'a': [1, 2.5, none], 'b': (1,)} | dictsort %}{{ k }}={{ v | string }}{% if loop.last %}{% break %}"
    "{% endif %}{% endfor %}{{ '%s %05d' % ('x', 7) }}{{ range(3) | sum }}{{ cycler('a', 'b').next() }}",
]
SCRIPTS = [
    "# a comment\nHello!\n@wait idle 5\n@expect /[Hh]ello|world/\n@expect-not /x{3,}y*?/\n\0Hello world",
    '"""\nline one\nline two\n"""\n@interrupt after=7\n@key C-c\n@resize 80x24\n@wait /a(?=b)/ 2.5\n@screenshot f\n@allow-errors\n',
    "@@literal\n//slash\n/regen\n@wait idle\n@expect /a\\/b\\d+(?<n>x)\\k<n>/\n\0a/b12xx",
]
SHARE_GPT = '[{"conversations": [{"from": "system", "value": "be kind"}, {"from": "human", "value": "a\\u00e9"},' \
            ' {"from": "gpt", "value": "b"}]}]'
HUB = [
    '[{"type": "file", "path": "ggml-model-i2_s.gguf", "size": 1187801280, "oid": "0", "lfs": {"oid": "' + "4a" * 32 +
    '", "size": 1187801280, "pointerSize": 135}}, {"type": "directory", "path": "sub"}, {"type": "file", "path": "sub/B.GGUF"}]',
    '[{"type": "file", "path": "../../evil.gguf", "size": 18446744073709551615, "lfs": {"oid": 3}}, null, [], {"path": {}}]',
    "bytes 5-9/10", "bytes 0-18446744073709551614/18446744073709551615", "bytes 1-2/*", '"' + "4A" * 32 + '"', "18446744073709551615",
]
SETTINGS = [
    '{"temp": 0.7, "top_k": 40, "top_p": 0.95, "min_p": 0.05, "repeat_penalty": 1, "repeat_last": 64, "seed": 18446744073709551615,'
    ' "max_tokens": 0, "stop": ["a", "\\n"]}',
    '{"temp": 1e300, "top_k": -1, "top_p": null, "seed": 1.5, "stop": [[]]}',
]
HEAD = "POST /tokenize HTTP/1.1\r\nHost: localhost:8080\r\nAuthorization: Bearer secret\r\nContent-Type: application/json; " \
       "charset=utf-8\r\nContent-Length: 17\r\n"
REQUESTS = [
    "\0" + HEAD + "\r\n", "\0" + HEAD + "Transfer-Encoding: chunked\r\n\r\n",
    "\0GET /v1/models/fuzz?a=b HTTP/1.0\r\nAuthorization: bearer secret\r\nHost: [::1]:1\r\n\r\n",
    '\1{"model": "fuzz", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi <eot>"},'
    ' {"role": "assistant", "content": "Hello"}, {"role": "user", "content": [{"type": "text", "text": "caf\u00e9 \U0001f600"}]}],'
    ' "temperature": 0.7, "top_p": 0.9, "min_p": 0.05, "top_k": 40, "seed": 7, "max_tokens": 5, "stop": ["\\n", "x"], "stream": true,'
    ' "stream_options": {"include_usage": true}, "logprobs": true, "top_logprobs": 3, "n": 1, "tools": [], "user": "me",'
    ' "chat_template_kwargs": {"enable_thinking": true}}',
    '\2{"prompt": [0, 97, 258], "logprobs": 2, "echo": false, "repeat_penalty": 1.1, "repeat_last_n": 64, "best_of": 1}',
    '\2{"prompt": ["Once upon a time"], "stop": "end", "max_completion_tokens": 1}',
    '\3{"content": "a\u00e9\U0001f600 <bos>", "add_special": false, "with_pieces": false}',
    '\3{"content": "<usr>\u00e9", "add_special": true, "parse_special": true, "with_pieces": true}',
    '\4{"tokens": [195, 169, 256, 97, 255]}',
]
TEXTS = [
    b"\0Hello, world! It's 1234567 o'clock.\n\n  tabs\tand   spaces \xc3\xa9\xe4\xbd\xa0\xe5\xa5\xbd\xf0\x9f\x98\x80",
    b"\1<|begin_of_text|>user<|eot_id|> the then 111 <| \xc3\xa9<|\xff\xfe\x80",
    b"\2don't DON'T we'll\r\n\r\n x\xe2\x80\x8dy \xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9",
    "\3\1\2a\nb\nab\n<s>\n<0x0A>\nĠ\0a b\0" "11136" "1\0abba".encode(),
    "\4the then <x>   12 12é  \u2581 \U0001f600<s>".encode() + b"\xff\xe2\x96",
    "\5t the<x>   h </s> a".encode() + b"\n\xf0\x9f",
    "\6\1\2<s>\n<unk>\na\nb\n\u2581a\n<0x0A>\n\u2581\0abcdefg\0" "3211161\0ab a".encode() + b"\n\xff",
]
MARKDOWN = [
    "\x28\x03# Heading\n\nSome *emphasis*, **strong**, `code` and ~~gone~~ [a link](https://x.y).\n\n- one\n  - two\n"
    "1. three\n\n> quote\n\n---\n",
    "\x12\x07```cpp\nint main() {\n\treturn 0;\n}\n```\n~~~\nopen fence 日本語 👩‍👩‍👧 🇩🇪 é\n",
    "\x00\x01| a | b |\n|---|:-:|\n| 1 | **2** |\n\\*not\\* * _a_b_ ***x*** `` ` ``\n\u202eabc\u0007\x1b[31m",
    "\x50\x20" + "word " * 100 + "a" * 300 + "\n" + "e\u0301\u0302\u0303" * 50,
    "\x00\x01| a | b |\n|---|---|\n| 1 | 2345678901 |\n* | x | y |\n  | z | 1234567890123456789 |\n",
    "\x00\x01>>>>>>>>> a\n>>>>>>>>>\n>>>>>>>>> b\n",
    "\x0e\x05" + "word " * 820 + "\r" * 300 + "\nnext\n",
    "\x28\x10" + "`" * 2531 + "end" + "`" * 500,
    b"\x10\x83" + ("A thought,\tof several\n\nlines 日本語 and " + "words " * 20 + "\n").encode() * 3,
]


TRANSCRIPTS = [
    b"\x06A thought of several words,\n\nand a line\n\x00\x04\x06more of it\x00\x05\x06# Heading\n\n| a | b |\n|---|---|\n\x00\x00\x04\x0a"
    b"\x06| 1 | 2 |\n\n```cpp\nint a;\n\x00\x02int\x00\x03\x01\x01\xf6\x06```\nthe end \xe6\x97\xa5\xe6\x9c\xac\x00\x04\x03\x00\x02\x00",
    b"\x05\x06" + b"word " * 900 + b"\x00\x02or\x00" + b"\x06more words \x00\x00\x20\x05\x03\x00\x01\x05" * 20,
]


def put(target, index, content):
    folder = os.path.join(HERE, "corpus", target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"seed{index}"), "wb") as out:
        out.write(content.encode() if isinstance(content, str) else content)


def small_gguf(keys_only):
    file = hostile.File()
    file.set("tokenizer.ggml.tokens", hostile.strings(["a", "b", "ab", "<|eot_id|>"]))
    file.set("tokenizer.ggml.scores", hostile.floats([0, 0, 0, -1000]))
    file.set("tokenizer.ggml.token_type", hostile.ints([1, 1, 1, 3]))
    file.set("tokenizer.ggml.merges", hostile.strings(["a b"]))
    for name in ("bos", "eos", "eot"):
        file.set(f"tokenizer.ggml.{name}_token_id", hostile.u32(3))
    file.set(hostile.ARCH + ".vocab_size", hostile.u32(4))
    file.tensor("token_embd.weight").shape[1] = 4
    file.tensor("token_embd.weight").data = b"\0" * (hostile.DIM * 4 * 2)
    if keys_only:
        file.tensors = [hostile.Tensor("a", [8, 2], 1, b"\1" * 32), hostile.Tensor("b", [128], 36, b"\2" * 64)]
    return file.bytes()


def gguf_of_types():
    """Makes a file of one tensor of each type; one of Q2_0 is long enough to tell how many weights share a scale."""
    file = hostile.File()
    file.keys, file.tensors = [], []
    for name, kind in gguf_types.KINDS.items():
        if name in ("i2_s_64", "i2_s_1x4", "q2_0_128"):  # the numbers of others
            continue
        n = 4096 if name == "q2_0" else 256
        file.tensors.append(hostile.Tensor(name, [n], kind.id, gguf_types.quantise(name, np.linspace(-1, 1, n))))
    return file.bytes()


def hub_folder():
    """Makes the three files of a folder with a tensor of each kind."""
    sizes = dict(hidden_size=128, num_hidden_layers=1, num_attention_heads=2, intermediate_size=128, vocab_size=8,
                 max_position_embeddings=64, bos_token_id=6, eos_token_id=[7], hidden_act="relu2")
    config = dict(architectures=["BitNetForCausalLM"], **sizes, rope_scaling={"rope_type": "llama3", "factor": 8,
                  "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 32},
                  quantization_config={"quant_method": "bitnet", "linear_class": "autobitlinear"})
    tokenizer = {"added_tokens": [{"id": 6, "content": "<s>", "special": True}, {"id": 7, "content": "</s>", "special": False}],
                 "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel", "use_regex": True}]},
                 "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}]},
                 "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b", ["a", "ab"]]}}
    q = "model.layers.0.self_attn.q_proj.weight"
    tensors = {"model.embed_tokens.weight": ("F16", [8, 128], b"\0" * 2048), "model.norm.weight": ("BF16", [128], b"\x80?" * 128),
               q: ("U8", [32, 128], b"\x24" * 4096), q + "_scale": ("BF16", [1], b"\x80?"),
               "model.layers.0.mlp.down_proj.weight": ("BF16", [4, 128], b"\x80?\0\0" * 256),
               "model.layers.0.input_layernorm.weight": ("F32", [3], b"\0" * 12), "other": ("I64", [], b"\1" * 8)}
    with tempfile.NamedTemporaryFile() as file:
        make_hub_folder.write_safetensors(pathlib.Path(file.name), tensors, sorted(tensors))
        return json.dumps(config).encode() + b"\0" + json.dumps(tokenizer).encode() + b"\0" + file.read()


def stored(program):
    """Makes the exports and the database of one conversation of two turns. Pages of 512 bytes keep the seed small."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "chats.db")
        environment = dict(os.environ, HOME=folder, TERM="dumb")
        for again in (["--keep"], ["-c"]):
            subprocess.run([program, "--db", path, *again, "-n", "4", "-p", "Hello!"], check=True, env=environment,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("UPDATE turn SET model = '/models/a.gguf'")
        exports = [subprocess.run([program, "--db", path, "export", "1", "--format", form], check=True, env=environment,
                                  stdout=subprocess.PIPE).stdout for form in ("md", "json", "openai")]
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute("PRAGMA page_size = 512")
        db.execute("VACUUM")
        db.close()
        with open(path, "rb") as file:
            return exports, file.read()


def main(program):
    shutil.rmtree(os.path.join(HERE, "corpus"), ignore_errors=True)
    for i, template in enumerate(TEMPLATES):
        put("chat_template", i, template + "\0user\0Hello\0assistant\0Hi <|eot_id|>\0user\0Bye")
    for target, seeds in (("hub", HUB), ("settings", SETTINGS), ("script", SCRIPTS), ("serve", REQUESTS), ("tokenizer", TEXTS), ("markdown", MARKDOWN),
                          ("transcript", TRANSCRIPTS)):
        for i, seed in enumerate(seeds):
            put(target, i, seed)
    put("gguf", 0, small_gguf(True))
    put("gguf", 1, small_gguf(False))
    put("gguf", 2, gguf_of_types())
    put("safetensors", 0, hub_folder())
    exports, whole = stored(program)
    for i, seed in enumerate(exports + [SHARE_GPT]):
        put("chat_file", i, seed)
    put("database", 0, whole)
    put("database", 1, whole[:4096])


if __name__ == "__main__":
    main(sys.argv[1])
