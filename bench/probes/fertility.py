#!/usr/bin/env python3
"""Count into how many tokens a model's vocabulary cuts texts.

    fertility.py --program bitnet-chat --model MODEL --stimuli stimuli.json --output fertility.json
    fertility.py --program bitnet-chat --model MODEL --text FILE --output fertility.json

For each template of the stimuli, or for the lines of a text: tokens a word (fertility), tokens a character, bytes a token,
and the share of words that are one token, each word by itself with the space before it.
"""
import common
import program


def counts(chat, texts, n_words):
    text = "\n".join(texts)
    words = [word for line in texts for word in line.split()]
    n_tokens = len(chat.tokens(text))
    distinct = list(dict.fromkeys(words))[:n_words]
    whole = sum(len(chat.tokens(" " + word)) == 1 for word in distinct)
    return {"texts": len(texts), "words": len(words), "characters": len(text), "bytes": len(text.encode()), "tokens": n_tokens,
            "fertility": n_tokens / max(1, len(words)), "tokens_per_character": n_tokens / max(1, len(text)),
            "bytes_per_token": len(text.encode()) / max(1, n_tokens), "words_tried": len(distinct),
            "words_of_one_token": whole / max(1, len(distinct))}


def main(arguments=None):
    parser = common.parser_of(__doc__)
    program.add_options(parser)
    parser.add_argument("--stimuli")
    parser.add_argument("--text")
    parser.add_argument("--words", type=int, default=50, help="so many different words are tried by themselves")
    parser.add_argument("--output", required=True, help=".json")
    a = parser.parse_args(arguments)
    if (a.stimuli is None) == (a.text is None):
        raise common.Refused("wanted --stimuli or --text")
    chat = program.Program(a.program, a.model)
    if a.text:
        try:
            with open(a.text, encoding="utf-8") as file:
                of = {"text": file.read().split("\n")}
        except (OSError, ValueError) as problem:
            raise common.Refused(f"{a.text}: {problem}") from problem
        if not any(of["text"]):
            raise common.Refused(f"{a.text} is empty")
    else:
        stimuli = common.read_stimuli(a.stimuli)
        names = common.member(stimuli[0], "prompts")
        of = {name: common.prompts_of(a.stimuli, name) for name in (names if isinstance(names, dict) else ())}
        if all("expected_surface" in s for s in stimuli):
            of["expected_surface"] = [str(s["expected_surface"]) for s in stimuli]
    found = {name: counts(chat, texts, a.words) for name, texts in of.items()}
    common.write_json(a.output, {"schema_version": 1, "model": str(a.model), "of": found})
    for name, row in found.items():
        print(f"{name}: {row['fertility']:.2f} tokens a word")


if __name__ == "__main__":
    common.run(main)
