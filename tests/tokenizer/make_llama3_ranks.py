#!/usr/bin/env python3
"""Write tests/tokenizer/llama3/ranks: the part of LLaMA-3's vocabulary that the published cases need.

    /usr/bin/python3 tests/tokenizer/make_llama3_ranks.py path/to/tokenizer.model tests/tokenizer/llama3

tokenizer.model is Meta's own file, tiktoken's ranks: a line of "token in base64, rank" for each of 128000 tokens.
Of these we keep the 256 bytes and the first merges, by which the program recognises the vocabulary, every token
that cases.out names, and every token that merging makes on the way to one of those. Lines and ranks stay as they are,
so encoding the cases takes the same merges in the same order as with the whole file.
"""
import base64
import sys

FIRST = 300  # these ranks are kept in any case
MORE = ["Hello"]  # tokens that other tests name


def merge_path(token, rank_of):
    """Returns the tokens that byte-pair merging makes of the bytes of a token, the best rank first."""
    parts = [token[i:i + 1] for i in range(len(token))]
    made = set(parts)
    while True:
        pairs = [(rank_of[left + right], i) for i, (left, right) in enumerate(zip(parts, parts[1:]))
                 if left + right in rank_of]
        if not pairs:
            return made
        _, i = min(pairs)
        parts[i:i + 2] = [parts[i] + parts[i + 1]]
        made.add(parts[i])


def main():
    model, folder = sys.argv[1:]
    with open(model) as f:
        lines = f.read().splitlines()
    tokens = [base64.b64decode(line.split()[0]) for line in lines]
    assert [int(line.split()[1]) for line in lines] == list(range(128000)), "not LLaMA-3's tokenizer.model"
    rank_of = {token: rank for rank, token in enumerate(tokens)}

    with open(f"{folder}/cases.out") as f:
        wanted = {tokens[int(rank)] for rank in f.read().split()} | {text.encode() for text in MORE}
    kept = set(range(FIRST))
    for token in wanted:
        kept.add(rank_of[token])  # a piece that is a token is taken whole, even if no order of merges makes it
        kept |= {rank_of[made] for made in merge_path(token, rank_of)}
    with open(f"{folder}/ranks", "w") as f:
        f.writelines(f"{lines[rank]}\n" for rank in sorted(kept))


main()
