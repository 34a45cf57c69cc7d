#!/usr/bin/env python3
"""Test probe, logits --prompt and perplexity: what they write, against runs of one prompt and against numpy.

The arguments are those of program_case.py without the second model.
"""
import hashlib
import json
import os
import signal
import subprocess
import sys
import time

sys.argv.insert(3, sys.argv[2])  # there is no other model here
import numpy as np  # noqa: E402

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import compare_logits  # noqa: E402
import hostile_file  # noqa: E402
import program_case  # noqa: E402
import reference  # noqa: E402
from program_case import FOLDER, PROGRAM, TALKING, ProgramCase, environment, run  # noqa: E402

ON = ("--device", "cpu")
WORDS = ["kataba", "yaktubu", "kātib", "darasa", "yadrusu", "dāris"]
STIMULI = [{"root": word[:1] + "-r", "pattern": f"p{i}", "expected_surface": word,
            "prompts": {"a": f"User: Say {word}", "b": f"Which root is {word[:1]}-r in p{i}, if it is {word}?"}}
           for i, word in enumerate(WORDS)]


def there(name):
    return os.path.join(FOLDER, name)


def load(name):
    return np.load(there(name))


def sidecar(name):
    with open(there(name)) as file:
        return json.load(file)


def contents(name):
    with open(there(name), "rb") as file:
        return file.read()


def sha256(name):
    return hashlib.sha256(contents(name)).hexdigest()


class ProbeTest(ProgramCase):
    def setUp(self):
        super().setUp()
        with open(there("s.json"), "w") as file:
            json.dump(STIMULI, file, ensure_ascii=False)

    def done(self, *words, code=0):
        found, out, err = run(*words, *ON)
        self.assertEqual(found, code, err)
        return out if code == 0 else err

    def probe(self, *words, **how):
        return self.done("probe", TALKING, *words, **how)

    def test_each_stimulus_has_the_bits_of_its_prompt_alone(self):
        self.probe("--stimuli", "s.json", "--template", "a", "--out", "a.npy")
        found = load("a.npy")
        self.assertEqual((found.dtype, found.shape), (np.dtype("<f4"), (6, 8, 512)))
        for i, stimulus in enumerate(STIMULI):
            self.probe("--prompt", stimulus["prompts"]["a"], "--out", "one.npy", "--force")
            np.testing.assert_array_equal(load("one.npy"), found[i])
        self.probe("--stimuli", "s.json", "--template", "a", "--out", "b.npy", "--no-reuse")
        np.testing.assert_array_equal(load("b.npy"), found)

    def test_sidecars_say_what_the_array_is(self):
        self.probe("--stimuli", "s.json", "--template", "a", "--out", "a.npy", "--generate", "4", "--limit", "5",
                   "--record-model-sha256")
        about, rows = sidecar("a_metadata.json"), sidecar("a_correctness.json")
        self.assertEqual(about["activations_sha256"], sha256("a.npy"))
        self.assertEqual(about["stimuli_sha256"], sha256("s.json"))
        self.assertEqual(about["correctness_sha256"], sha256("a_correctness.json"))
        self.assertEqual(about["model_sha256"], sha256(TALKING))
        self.assertEqual(about["activation_shape"], [5, 8, 512])
        self.assertEqual(about["row_indices"], list(range(5)))
        self.assertEqual(len(about["token_selections"]), 5)
        self.assertEqual(rows[2]["expected"], "kātib")
        for row, stimulus in zip(rows, STIMULI):
            self.assertLessEqual(len(row["generated_ids"]), 4)
            top = json.loads(self.done("logits", TALKING, "--prompt", stimulus["prompts"]["a"], "--top", "1"))
            self.assertEqual(row["predicted_id"], top["top"][0]["id"])
            self.assertEqual(row["correct"], row["generated_exact_match"] or row["generated_contains_match"])

    def test_what_would_take_the_place_of_a_file_is_refused_before_anything_is_written(self):
        for command, name in (("logits", "z.npy"), ("probe", "z.npy"), ("probe", "z_ffn.npy")):
            more = ("--what", "residual,ffn") if name == "z_ffn.npy" else ()
            about = name[:-len(".npy")] + "_metadata.json"
            for there_already in (name, about):
                with open(there(there_already), "w") as file:
                    file.write("mine")
                line = (command, TALKING, "--prompt", "A star", *more, "--out", "z.npy")
                self.assertIn(there_already + ": is there already; --force overwrites it", self.done(*line, code=1))
                self.assertEqual([n for n in os.listdir(FOLDER) if n.startswith("z")], [there_already])
                self.assertEqual(contents(there_already), b"mine")
                self.done(*line, "--force")
                self.assertEqual(sidecar(about)["output_path"], name)
                for written in os.listdir(FOLDER):
                    if written.startswith("z"):
                        os.remove(there(written))

    def test_a_hash_of_the_model_is_for_what_has_metadata(self):
        self.done("logits", TALKING, "--prompt", "A star", "--out", "l.npy", "--record-model-sha256")
        self.assertEqual(sidecar("l_metadata.json")["model_sha256"], sha256(TALKING))
        for line in (("logits", TALKING, "--tokens", "1", "--out", "x.npy"), ("probe", TALKING, "--tokens", "1", "--out", "x.npy"),
                     ("logits", TALKING, "--prompt", "A star", "--top", "1")):
            self.assertIn("with --prompt and --out", self.done(*line, "--record-model-sha256", code=2))
        self.assertFalse(os.path.exists(there("x.npy")))

    def test_positions_are_the_tokens_of_their_labels(self):
        self.probe("--stimuli", "s.json", "--template", "b", "--position", "last,root,pattern,prompt_mean,mean,1,-2",
                   "--out", "m.npy", "--generate", "0")
        arrays = {name: load(f"m_b_{name}_activations.npy") for name in "last root pattern prompt_mean mean 1 -2".split()}
        selections = sidecar("m_b_root_activations_metadata.json")["token_selections"]
        for i, stimulus in enumerate(STIMULI):
            prompt = stimulus["prompts"]["b"]
            self.done("logits", TALKING, "--prompt", prompt, "--out", "l.npy", "--force")
            audit = sidecar("l_metadata.json")["token_audit"]
            self.assertTrue(audit["encode_with_offsets_matches_encode"])
            self.assertEqual(audit["offsets"][-1][1], len(prompt))
            at = prompt.index(stimulus["root"])
            wanted = [t for t, (begin, end) in enumerate(audit["offsets"]) if begin < at + len(stimulus["root"]) and end > at]
            self.assertEqual(selections[i]["probe_token_indices"], wanted)
            each = []
            for t in range(audit["token_count"]):
                self.probe("--tokens", ",".join(map(str, audit["token_ids"][:t + 1])), "--out", "t.npy", "--force")
                each.append(load("t.npy"))
            each = np.array(each, np.float64)
            means = {"last": each[-1], "root": each[wanted].mean(0), "prompt_mean": each[1:].mean(0),
                     "mean": each.mean(0), "1": each[1], "-2": each[-2]}
            for name, mean in means.items():
                np.testing.assert_array_equal(arrays[name][i], mean.astype(np.float32), name)
            if i == 1:
                break

    def test_an_interrupted_probe_goes_on(self):
        self.probe("--stimuli", "s.json", "--template", "a", "--out", "whole.npy")
        line = [PROGRAM, "probe", TALKING, "--stimuli", "s.json", "--template", "a", "--out", "cut.npy", *ON]
        process = subprocess.Popen(line, env=environment(), cwd=FOLDER, stderr=subprocess.DEVNULL)
        journal, deadline = there("cut_a.part.jsonl"), time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if os.path.exists(journal) and os.path.getsize(journal) > 900:  # the job and two stimuli
                process.send_signal(signal.SIGKILL)
                break
        process.wait()
        if os.path.exists(journal):  # as if the disk had lost the end of both files
            with open(journal, "a") as lines:
                lines.write('{"row":5,"rec')
            os.truncate(there("cut_a.part"), os.path.getsize(there("cut_a.part")) * 3 // 4)
        self.probe("--stimuli", "s.json", "--template", "a", "--out", "cut.npy", "--force")
        np.testing.assert_array_equal(load("cut.npy"), load("whole.npy"))
        self.assertEqual(sidecar("cut_correctness.json"), sidecar("whole_correctness.json"))
        self.assertFalse(os.path.exists(journal))

    def test_a_probe_of_two_templates_goes_on_with_the_same_command(self):
        """Also where it was stopped while it wrote the first one's results."""
        line = ("--stimuli", "s.json", "--template", "a,b", "--generate", "1", "--out", "two.npy")
        self.probe(*line)
        whole = {name: load(f"two_{name}_last_activations.npy") for name in "ab"}
        self.assertIn("--force overwrites it", self.probe(*line, code=1))
        process = subprocess.Popen([PROGRAM, "probe", TALKING, *line, "--force", *ON], env=environment(), cwd=FOLDER,
                                   stderr=subprocess.DEVNULL)
        journals, deadline = [there(f"two_{name}.part.jsonl") for name in "ab"], time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if all(os.path.exists(journal) and os.path.getsize(journal) > 0 for journal in journals):
                process.send_signal(signal.SIGKILL)
                break
        if process.wait() != 0:
            os.remove(there("two_b_last_activations.npy"))
            self.probe(*line)
        for name, wanted in whole.items():
            np.testing.assert_array_equal(load(f"two_{name}_last_activations.npy"), wanted)
        self.assertEqual([name for name in os.listdir(FOLDER) if ".part" in name], [])

    def write_journal(self, name):
        """Leaves the journal of a probe that has computed all and could not write its results. Returns the command's words."""
        line = ("--stimuli", "s.json", "--template", "a", "--generate", "1", "--out", name + ".npy")
        os.mkdir(there(name + ".npy"))
        self.assertIn("is a folder", self.probe(*line, "--force", code=1))
        os.rmdir(there(name + ".npy"))
        return line

    def journal_lines(self, name):
        self.write_journal(name)
        with open(there(name + "_a.part.jsonl")) as file:
            return file.read().splitlines(keepends=True)

    def test_a_journal_is_gone_on_with_up_to_a_line_that_is_none(self):
        line = self.write_journal("odd")
        journal = there("odd_a.part.jsonl")
        with open(journal) as file:
            whole = file.read().splitlines(keepends=True)
        values = contents("odd_a.part")
        self.probe(*line)
        wanted = load("odd.npy"), sidecar("odd_correctness.json")
        job, writes, *rows = whole
        row = json.loads(rows[0])
        odd = ['{"x":1}', "[]", "5", "null", "[" * 1000, '{"row":"0","record":{}}', '{"row":-1,"record":{}}', '{"row":1e9,"record":{}}',
               *(json.dumps({**row, **change}) for change in ({"record": None}, {"record": {}}, {"row": 10 ** 9}, {"row": len(wanted[0])},
                                                              {"record": {**row["record"], "generated_ids": ["x"]}}))]
        for text in odd:
            with self.subTest(line=text[:100]):
                with open(journal, "w") as file:
                    file.writelines([job, writes, rows[0], text + "\n", *rows[2:]])
                with open(there("odd_a.part"), "wb") as file:
                    file.write(values + bytes(len(values)))
                self.probe(*line)
                np.testing.assert_array_equal(load("odd.npy"), wanted[0])
                self.assertEqual(sidecar("odd_correctness.json"), wanted[1])
        with open(journal, "w") as file:  # the program ended while it wrote the first line
            file.write(job[:20])
        self.probe(*line, "--force")
        self.assertEqual([name for name in os.listdir(FOLDER) if name.startswith("odd_a.part")], [])

    def test_files_that_are_no_journal_of_this_probe_stay(self):
        line = ("--stimuli", "s.json", "--template", "a", "--generate", "1", "--out", "mine.npy")
        names = "mine_a.part", "mine_a.part.jsonl"
        for name in names:
            with self.subTest(name=name):
                part = there(name)
                with open(part, "w") as file:
                    file.write("mine\n")
                self.assertIn(name + ": is there already", self.probe(*line, code=1))
                self.assertEqual(contents(name), b"mine\n")
                os.remove(part)
                os.mkfifo(part)
                for more in ((), ("--force",)):
                    self.assertIn("is no regular file", self.probe(*line, *more, code=1))
                os.remove(part)
        self.write_journal("mine")
        before = [contents(name) for name in names]
        self.assertIn("--force overwrites it", self.probe(*line, "--limit", "1", code=1))
        self.assertEqual([contents(name) for name in names], before)
        self.probe(*line, "--limit", "1", "--force")
        self.assertEqual(len(load("mine.npy")), 1)
        self.assertEqual([name for name in os.listdir(FOLDER) if name.startswith("mine_a.part")], [])

    def test_a_journal_is_no_leave_to_overwrite_what_somebody_else_wrote(self):
        line = ("--stimuli", "s.json", "--template", "a", "--generate", "1", "--out", "res")
        with open(there("res"), "w") as file:
            file.write("notes")
        for _ in range(2):
            self.assertIn("res: is there already", self.probe(*line, code=1))
            self.assertEqual(contents("res"), b"notes")
        os.remove(there("res"))
        # A probe that was stopped while it computed, and then another one of the same output.
        line = ("--stimuli", "s.json", "--template", "a", "--generate", "1", "--out", "x.npy")
        job, writes, *rows = self.journal_lines("x")
        self.assertEqual(json.loads(writes), {"writes": True})
        with open(there("x_a.part.jsonl"), "w") as file:
            file.writelines([job, *rows[:3]])
        self.probe(*["b" if word == "a" else word for word in line])
        others = contents("x.npy"), contents("x_metadata.json")
        for _ in range(2):
            self.assertIn("x.npy: is there already", self.probe(*line, code=1))
            self.assertEqual((contents("x.npy"), contents("x_metadata.json")), others)
        with open(there("x_a.part.jsonl"), "a") as file:  # what a probe that is stopped while it writes has noted
            file.writelines([writes, *rows[3:]])
        self.probe(*line)
        self.assertEqual(sidecar("x_metadata.json")["probe_template"], "a")
        self.assertEqual([name for name in os.listdir(FOLDER) if ".part" in name], [])

    def test_what_stimuli_lack_is_named(self):
        self.assertIn("there is no template 'c'; it has a, b",
                      self.probe("--stimuli", "s.json", "--template", "c", "--out", "x.npy", code=2))
        self.assertIn("the root 'k-r' is not in the prompt",
                      self.probe("--stimuli", "s.json", "--template", "a", "--position", "root", "--out", "x.npy", code=2))
        self.assertIn("wanted last, root", self.probe("--stimuli", "s.json", "--position", "end", "--out", "x.npy", code=2))
        with open(there("s.json"), "w") as file:
            file.write("no JSON")
        self.assertIn("s.json: ", self.probe("--stimuli", "s.json", "--out", "x.npy", code=2))
        with open(there("s.json"), "w") as file:
            json.dump([{"root": "r", "pattern": 3}], file)
        self.assertIn("stimulus 0: wanted a text as 'pattern'", self.probe("--stimuli", "s.json", "--out", "x.npy", code=2))

    def test_logits_that_are_no_numbers_are_refused(self):
        with open(there("text"), "w") as text:
            text.write("word " * 40)
        for value in (np.nan, np.inf):
            model = hostile_file.File()
            embedding = model.tensor("token_embd.weight")
            rows = np.frombuffer(embedding.data, "<f2").reshape(hostile_file.VOCAB, -1).copy()
            rows[:] = value  # those of the head too
            embedding.data = rows.tobytes()
            with open(there("odd.gguf"), "wb") as file:
                file.write(model.bytes())
            for words in (("logits", there("odd.gguf"), "--tokens", "1,2,3", "--top", "2"),
                          ("perplexity", there("odd.gguf"), there("text"), "--ctx", "16", "--json")):
                self.assertIn("the model's output is not a number", self.done(*words, code=1))

    def test_stages_of_one_prompt(self):
        prompt = ("--prompt", "User: What is the capital of France?")
        for stage, shape in dict(residual=(8, 512), attention=(8, 512), ffn=(8, 512)).items():
            self.probe(*prompt, "--what", stage, "--out", stage + ".npy")
            self.assertEqual(load(stage + ".npy").shape, shape)
        added = load("residual.npy")[:-1] + load("attention.npy")[1:] + load("ffn.npy")[1:]
        np.testing.assert_allclose(added, load("residual.npy")[1:], atol=1e-3)
        self.probe(*prompt, "--what", "ffn", "--layers", "2-3", "--out", "two.npy")
        np.testing.assert_array_equal(load("two.npy"), load("ffn.npy")[2:4])
        self.probe(*prompt, "--what", "weights", "--layers", "3", "--out", "w.npy")
        weights = load("w.npy")
        self.assertEqual(weights.ndim, 3)
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
        self.assertEqual(np.count_nonzero(np.triu(weights, 1)), 0)
        self.assertIn("weights are those of one layer", self.probe(*prompt, "--what", "residual,weights", "--out", "u.npy", code=2))
        self.assertEqual([name for name in os.listdir(FOLDER) if name.startswith("u")], [])
        self.assertIn("wanted layers from 0 to 7", self.probe(*prompt, "--layers", "3-9", "--out", "x.npy", code=2))

    def test_perplexity_is_that_of_the_logits(self):
        text = "User: What is a star?<|eot_id|>Assistant: A star is a ball of hot gas. " * 8
        with open(there("t.txt"), "w") as file:
            file.write(text)
        ids = [int(word) for word in run("tokenize", TALKING, text=text)[1].split()]
        first = json.loads(self.done("logits", TALKING, "--prompt", "a", "--top", "1"))["token_ids"][0]
        ids = [first, *ids]

        def nll(window, predicted):
            self.done("logits", TALKING, "--tokens", ",".join(map(str, window)), "--out", "l.npy", "--force")
            logits = load("l.npy").astype(np.float64)
            logits -= np.log(np.exp(logits).sum(-1, keepdims=True))
            return [-logits[t - 1, window[t]] for t in predicted]
        halves, overlapping, seen = [], [], 0
        for begin in range(0, len(ids) - 63, 64):
            halves += nll([first, *ids[begin + 1:begin + 64]], range(33, 64))
        for begin in range(0, len(ids), 40):
            window = ids[begin:begin + 64]
            overlapping += nll(window, range(max(1, seen - begin), len(window)))
            seen = begin + len(window)
            if seen == len(ids):
                break
        for wanted, options in ((halves, ()), (overlapping, ("--stride", "40"))):
            found = json.loads(self.done("perplexity", TALKING, "t.txt", "--ctx", "64", "--json", *options))
            self.assertEqual(found["predicted"], len(wanted))
            self.assertAlmostEqual(found["perplexity"] / np.exp(np.mean(wanted)), 1, places=5)
            error = np.exp(np.mean(wanted)) * np.std(wanted) / np.sqrt(len(wanted) - 1)
            self.assertAlmostEqual(found["standard_error"] / error, 1, places=4)

    def test_a_window_has_four_tokens_at_least(self):
        with open(there("t.txt"), "w") as file:
            file.write("word " * 40)
        self.assertIn("--ctx takes 4 and more", self.done("perplexity", TALKING, "t.txt", "--ctx", "3", code=2))
        self.assertIn("windows of 4", self.done("perplexity", TALKING, "t.txt", "--ctx", "4", "--limit", "2"))

    def test_interventions_change_what_they_say_and_nothing_else(self):
        prompt = ("--prompt", "User: What is the capital of France?<|eot_id|>Assistant: ", "--special")
        vector = np.random.default_rng(1).standard_normal(512)
        np.save(there("v.npy"), vector)
        steer = "--steer=layer=2,file=v.npy,scale=2"
        for name, options in {"plain": (), "steered": (steer,), "none": ("--steer=layer=2,file=v.npy,scale=0",)}.items():
            self.probe(*prompt, *options, "--out", name + ".npy")
        plain, steered, none = map(load, ("plain.npy", "steered.npy", "none.npy"))
        np.testing.assert_array_equal(none, plain)
        np.testing.assert_array_equal(steered[:2], plain[:2])
        np.testing.assert_array_equal(steered[2], plain[2] + np.float32(2) * vector.astype(np.float32))
        self.probe(*prompt, "--what", "heads", "--ablate-head", "1:3", "--out", "heads.npy")
        self.probe(*prompt, "--what", "heads", "--out", "all_heads.npy")
        one, all_of_them = load("heads.npy")[1].reshape(-1, 64), load("all_heads.npy")[1].reshape(-1, 64)
        self.assertEqual(np.abs(one[3]).max(), 0)
        np.testing.assert_array_equal(np.delete(one, 3, 0), np.delete(all_of_them, 3, 0))
        question = ("-p", "What is the capital of France?", "--private", "--temp", "0")
        self.assertIn("Paris", self.done(TALKING, *question))
        self.assertNotIn("Paris", self.done(TALKING, *question, "-n", "20", "--steer=layer=2,file=v.npy,scale=50"))
        np.save(there("nan.npy"), np.full(512, np.nan))
        np.save(there("rows.npy"), np.ones((2, 256)))
        for wrong in ("--steer=layer=1,file=nan.npy", "--steer=layer=1,file=rows.npy", "--steer=layer=99,file=v.npy", "--steer=layer=1", "--steer=layer=1,file=none.npy",
                      "--steer=layer=1,layer=2,file=v.npy,scale=1", "--steer=layer=1,file=v.npy,file=nan.npy",
                      "--ablate-head=3", "--ablate-head=0:99"):
            self.probe(*prompt, wrong, "--out", "x.npy", code=2)

    def test_what_comes_after_an_intervention_is_what_float64_gives(self):
        question, model = "What is the capital of France?", reference.Model(TALKING)
        vector = np.random.default_rng(1).standard_normal(512).astype("<f4")
        np.save(there("v.npy"), vector)
        changes = ("--steer=layer=2,file=v.npy,scale=8", "--ablate-head", "1:3", "--ablate-head", "5:0")
        rendered = run("render", TALKING, text=json.dumps([{"role": "user", "content": question}]))[1]
        csv = run("tokenize", TALKING, "--special", "--csv", text=rendered)[1].strip()
        ids = [int(i) for i in csv.split(",")]
        plain = model.forward(ids)[0]
        model.steer, model.ablated = {2: 8.0 * vector}, [(1, 3), (5, 0)]
        logits, hidden = model.forward(ids)
        self.done("logits", TALKING, "--tokens", csv, "--out", "l.npy", *changes)
        self.probe("--tokens", csv, "--out", "h.npy", *changes)
        self.assertGreater(compare_logits.cosines(logits, load("l.npy")).min(), 0.999)
        self.assertGreater(compare_logits.cosines(hidden, load("h.npy")).min(), 0.999)
        self.assertLess(compare_logits.cosines(logits, plain)[-1], 0.9)
        said = self.done(TALKING, "-p", question, "--private", "--temp", "0", "--max-tokens", "8", "--output", "jsonl", *changes)
        answer = [line["id"] for line in map(json.loads, said.splitlines()) if "logprob" in line and line.get("id") is not None]
        rows = model.forward([*ids, *answer])[0][len(ids) - 1:-1]
        noise = 2 * np.abs(logits - load("l.npy")).max()
        for row, token in zip(rows, answer):
            self.assertLess(row.max() - row[token], noise)
        self.assertNotEqual(answer[0], plain[-1].argmax())


if __name__ == "__main__":
    program_case.main()
