#!/usr/bin/env python3
"""Test the scripts of bench/probes on data whose right answer is known.

    probes_test.py BITNET-CHAT MODEL FOLDER
"""
import contextlib
import hashlib
import importlib.util
import io
import json
import os
import pathlib
import shutil
import sys
import unittest
import unittest.mock

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "bench" / "probes"))
import cca  # noqa: E402
import common  # noqa: E402
import divergence  # noqa: E402
import fertility  # noqa: E402
import golden_logits  # noqa: E402
import kv_replay  # noqa: E402
import linear_probe  # noqa: E402
import make_stimuli  # noqa: E402
import program  # noqa: E402
import report  # noqa: E402
import rsa  # noqa: E402

PROGRAM, MODEL, FOLDER = sys.argv[1:4]
FOLDER = pathlib.Path(FOLDER)
N_ROOTS, N_LAYERS, WIDTH = 6, 3, 24


def sha256(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def at(name):
    return str(FOLDER / name)


class ProbesTest(unittest.TestCase):
    def setUp(self):
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(parents=True)
        self.rng = np.random.default_rng(5)
        self.stimuli = list(make_stimuli.stimuli(N_ROOTS, 3))
        common.write_json(at("s.json"), self.stimuli)

    def write(self, name, values, correct=None, **about):
        """An array with the files that bitnet-chat probe writes beside it."""
        np.save(at(name + ".npy"), values.astype("<f4"))
        rows = [{"index": i, "correct": bool(c)} for i, c in enumerate(correct if correct is not None else np.ones(len(values)))]
        common.write_json(at(name + "_correctness.json"), rows)
        common.write_json(at(name + "_metadata.json"), {
            "activations_sha256": sha256(at(name + ".npy")), "stimuli_sha256": sha256(at("s.json")),
            "correctness_sha256": sha256(at(name + "_correctness.json")), "row_indices": list(range(len(values))),
            "probe_template": "en_surface_probe", **about})
        return at(name + ".npy")

    def quiet(self, main, *arguments):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            main([str(word) for word in arguments])
        return out.getvalue()

    def labels(self, field):
        return np.array([s[field] for s in self.stimuli])

    def one_hot(self, field):
        labels = self.labels(field)
        return (labels[:, None] == np.unique(labels)).astype(float)

    def test_stimuli_are_roots_in_patterns(self):
        self.assertEqual(len(list(make_stimuli.stimuli(20, 1))), 200)
        self.assertEqual(make_stimuli.surface(("k", "t", "b"), "ma12ū3"), "maktūb")
        self.assertEqual(len({s["expected_surface"] for s in self.stimuli}), len(self.stimuli))
        for s in self.stimuli:
            self.assertIn(s["expected_surface"], s["prompts"]["en_surface_probe"])

    def test_a_linear_probe_finds_what_is_there_and_nothing_else(self):
        n = len(self.stimuli)
        values = self.rng.standard_normal((n, N_LAYERS, WIDTH)) * 0.3
        values[:, 1, :N_ROOTS] += 3 * self.one_hot("root")  # layer 1 has the root, layer 2 the pattern, layer 0 nothing
        values[:, 2, 4:14] += 3 * self.one_hot("pattern")
        array = self.write("a", values)
        self.quiet(linear_probe.main, "--activations", array, "--stimuli", at("s.json"), "--output", at("p.npz"), "--control",
                   "--control-repeats", "2")
        found = np.load(at("p.npz"))
        self.assertEqual(found["root_classes"].tolist(), sorted(set(self.labels("root"))))
        self.assertGreater(found["root_accuracy"][1], 0.95)
        self.assertGreater(found["pattern_accuracy"][2], 0.95)
        for task, layer in (("root", 0), ("root", 2), ("pattern", 0), ("pattern", 1)):
            self.assertLess(found[f"{task}_accuracy"][layer], 0.4)
            self.assertLess(found[f"{task}_selectivity"][layer], 0.3)
        self.assertGreater(found["root_selectivity"][1], 0.8)
        self.assertLess(found["root_control_mean"].max(), 0.4)
        self.assertEqual(found["root_confusion_matrices"].sum((1, 2)).tolist(), [n] * N_LAYERS)
        self.assertAlmostEqual(float(found["root_majority_baseline"]), 1 / N_ROOTS)
        # The weights are for values as they are in the array.
        scores = values[:, 1].astype("<f4") @ found["root_probe_weights"][1].T + found["root_probe_intercepts"][1]
        self.assertEqual((found["root_classes"][scores.argmax(1)] == self.labels("root")).mean(), 1)
        # A grouped split does not let a pattern be known by its root: here both lie in one feature, as a pair.
        pair = np.zeros((n, 1, n))
        pair[np.arange(n), 0, np.arange(n)] = 1
        self.quiet(linear_probe.main, "--activations", self.write("pair", pair), "--stimuli", at("s.json"), "--output", at("g.npz"))
        self.assertLess(np.load(at("g.npz"))["root_accuracy"][0], 0.5)

    def test_the_regression_is_at_its_minimum(self):
        x, labels = self.rng.standard_normal((40, 7)), self.rng.integers(0, 3, 40)
        fitted = common.LogisticRegression(tolerance=1e-8).fit(x, labels)
        scores = x @ fitted.weights.T + fitted.intercepts
        p = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        d = p - (labels[:, None] == np.arange(3))
        np.testing.assert_allclose(d.T @ x + fitted.weights, 0, atol=1e-6)  # the gradient
        np.testing.assert_allclose(d.sum(0), 0, atol=1e-6)
        # Of two classes the difference of weights is penalised, as where there is one row of them.
        two = common.LogisticRegression(tolerance=1e-8).fit(x, labels % 2)
        w, b = two.weights[1] - two.weights[0], two.intercepts[1] - two.intercepts[0]
        np.testing.assert_allclose((1 / (1 + np.exp(-x @ w - b)) - labels % 2) @ x + w, 0, atol=1e-6)
        wide = np.hstack([x, np.zeros((40, 100))])  # more features than rows, and the same minimum
        np.testing.assert_allclose(common.LogisticRegression(tolerance=1e-8).fit(wide, labels).weights[:, :7], fitted.weights, atol=1e-6)

    def test_other_classifiers_are_those_of_scikit_learn(self):
        values = np.concatenate([self.one_hot("root"), self.one_hot("pattern")], 1)[:, None] * 4
        run = ("--activations", self.write("a", values), "--stimuli", at("s.json"), "--output", at("p.npz"), "--tasks", "root")
        if importlib.util.find_spec("sklearn") is None:
            with self.assertRaisesRegex(common.Refused, "python3-sklearn"):
                self.quiet(linear_probe.main, *run, "--probe-kind", "sgd")
            return
        for kind in (("--solver", "newton-cg"), ("--probe-kind", "sgd", "--n-jobs", "2")):
            self.quiet(linear_probe.main, *run, *kind)
            self.assertEqual(np.load(at("p.npz"))["root_accuracy"][0], 1)

    def test_folds_keep_groups_together_and_spread_labels(self):
        labels, groups = np.repeat(np.arange(4), 10), np.tile(np.arange(10), 4)
        grouped, spread = common.folds_of(labels, 5, groups), common.folds_of(labels, 5)
        for folds in (grouped, spread):
            self.assertEqual(sorted(np.concatenate(folds)), list(range(40)))
        self.assertEqual(sum(len(np.unique(groups[f])) for f in grouped), 10)
        for fold in spread:
            self.assertEqual(np.bincount(labels[fold]).tolist(), [2, 2, 2, 2])

    def test_cca_is_1_for_a_rotated_layer_and_low_for_another(self):
        n = 200
        x = self.rng.standard_normal((n, 6))
        rotation = np.linalg.qr(self.rng.standard_normal((6, 6)))[0]
        values = np.stack([x, x @ rotation * 3 + 1, self.rng.standard_normal((n, 6))], 1)
        array = self.write("a", values)
        self.quiet(cca.main, "--activations", array, "--activations-b", array, "--output", at("c.npz"), "--n-components", "6")
        found = np.load(at("c.npz"))
        matrix = found["cca_layer_matrix"]
        self.assertGreater(matrix[0, 1], 0.999)
        self.assertLess(matrix[0, 2], 0.3)
        np.testing.assert_allclose(matrix, matrix.T)
        np.testing.assert_allclose(found["cca_cross_model"], matrix, atol=1e-6)
        half = np.zeros((3, 4)), np.zeros((3, 4))  # one direction is shared, one is at 60 degrees
        half[0][0, 0], half[0][1, 1] = 1, 1
        half[1][0, 0], half[1][1, 1:3] = 1, (np.cos(np.pi / 3), np.sin(np.pi / 3))
        a, b = (np.vstack([h[:2], -h[:2]]) for h in half)
        np.testing.assert_allclose(cca.principal_cosines(a, b), [1, 0.5], atol=1e-9)

    def test_rsa_knows_layers_that_differ_by_a_rotation(self):
        x = self.rng.standard_normal((20, 8))
        rotation = np.linalg.qr(self.rng.standard_normal((8, 8)))[0]
        array = self.write("a", np.stack([x, x @ rotation, self.rng.standard_normal((20, 8))], 1))
        for metric in ("cosine", "euclidean", "correlation"):
            self.quiet(rsa.main, "--activations", array, "--output", at("r.npz"), "--metric", metric)
            matrix = np.load(at("r.npz"))["rsa_layer_matrix"]
            self.assertAlmostEqual(matrix[0, 0], 1)
            self.assertLess(abs(matrix[0, 2]), 0.4)
            if metric != "correlation":
                self.assertAlmostEqual(matrix[0, 1], 1, places=4)
        similarity = 1 - np.array([np.linalg.norm(x[i] - x[j]) for i in range(20) for j in range(i + 1, 20)])
        np.testing.assert_allclose(rsa.similarities(x, "euclidean"), similarity)

    def test_rsa_can_compare_ranks(self):
        np.testing.assert_allclose(rsa.ranks([[3.0, 1, 3, 2], [0, 0, 0, 0]]), [[2.5, 0, 2.5, 1], [1.5] * 4])
        x = self.rng.standard_normal((12, 5))
        array = self.write("a", np.stack([x, x ** 3], 1))
        self.quiet(rsa.main, "--activations", array, "--output", at("r.npz"), "--correlation", "spearman", "--metric", "cosine")
        a, b = (rsa.ranks(rsa.similarities(v.astype("<f4").astype(float), "cosine")[None])[0] for v in (x, x ** 3))
        self.assertAlmostEqual(np.load(at("r.npz"))["rsa_layer_matrix"][0, 1], np.corrcoef(a, b)[0, 1])

    def test_divergence_is_where_the_means_part(self):
        values = np.ones((8, 2, 4))
        correct = np.arange(8) < 3
        values[correct, 1] = [1, 1, -1, -1]  # at a right angle to the others, and 2 sqrt(2) away
        self.quiet(divergence.main, "--activations", self.write("a", values, correct), "--output", at("d.npz"))
        found = np.load(at("d.npz"))
        np.testing.assert_allclose(found["cos_dist"], [0, 1], atol=1e-7)
        np.testing.assert_allclose(found["eucl_dist"], [0, 8 ** 0.5], atol=1e-7)
        self.assertEqual((int(found["n_correct"]), int(found["n_incorrect"])), (3, 5))

    def test_arrays_that_do_not_belong_together_are_refused(self):
        values = self.rng.standard_normal((len(self.stimuli), 2, 4))
        array, other = self.write("a", values), self.write("b", values, probe_template="en_zero")
        out = ("--output", at("x.npz"))

        def refused(why, main, *arguments):
            with self.assertRaisesRegex(common.Refused, why):
                self.quiet(main, *arguments, *out)
        refused("probe_template", cca.main, "--activations", array, "--activations-b", other)
        refused("say the root", linear_probe.main, "--activations", other, "--stimuli", at("s.json"))
        refused("nothing to compare", divergence.main, "--activations", array)
        shutil.copy(at("a_correctness.json"), at("c.json"))
        with open(at("c.json"), "a") as file:
            file.write("\n")
        refused("correctness_sha256", divergence.main, "--activations", array, "--correctness", at("c.json"))
        np.savez(at("p.npz"), activations_sha256="0")
        refused("activations_sha256", cca.main, "--activations", array, "--probes", at("p.npz"))
        common.write_json(at("s.json"), self.stimuli[:-1])
        refused("stimuli_sha256", linear_probe.main, "--activations", array, "--stimuli", at("s.json"))
        np.save(array, values.astype("<f4") + 1)
        refused("activations_sha256", rsa.main, "--activations", array)

    def test_what_cannot_be_studied_is_refused(self):
        def refused(why, main, *arguments):
            with self.assertRaisesRegex(common.Refused, why):
                self.quiet(main, *arguments, "--output", at("x.npz"))
        stimuli, values = ("--stimuli", at("s.json")), self.rng.standard_normal((len(self.stimuli), 2, 4))
        array = self.write("a", values)
        of = ("--activations", array)
        refused("1 folds|at least 2 folds", linear_probe.main, *of, *stimuli, "--folds", "1")
        refused("give fewer folds", linear_probe.main, *of, *stimuli, "--folds", "100")
        refused("nothing to tell apart", linear_probe.main, *of, *stimuli, "--max-rows", "10", "--tasks", "root")
        refused("no 'tense'", linear_probe.main, *of, *stimuli, "--tasks", "tense")
        refused("folds of", cca.main, *of, "--cv-folds", "50")
        refused("component", cca.main, *of, "--n-components", "0")
        refused("No such file", rsa.main, "--activations", at("none.npy"))
        refused("at least 3", rsa.main, "--activations", self.write("few", values[:2]))
        refused("row_indices", rsa.main, "--activations", self.write("b", values, row_indices=[0]))
        refused("not finite", rsa.main, "--activations", self.write("n", values * np.nan))
        refused("wanted \\[stimuli", rsa.main, "--activations", self.write("e", values[:0]))
        for text in ("", "{}", "[]", "[1]"):
            pathlib.Path(at("t.json")).write_text(text)
            refused("t.json", linear_probe.main, *of, "--stimuli", at("t.json"))
        for wrong in (np.full(values.shape, "x"), values > 0, values[0]):
            np.save(at("w.npy"), wrong)
            common.write_json(at("w_metadata.json"), {"activations_sha256": sha256(at("w.npy"))})
            refused("wanted", rsa.main, "--activations", at("w.npy"))
        refused("names others", linear_probe.main, "--activations", self.write("b", values, row_indices=[1000] * len(values)), *stimuli)
        for rows in ([{"index": 0}], {"correct": 1}, [0]):
            common.write_json(at("c.json"), rows)
            refused("'index' and 'correct'", divergence.main, *of, "--correctness", at("c.json"))
        weights = dict(root_probe_weights=values[None, 0], pattern_probe_weights=values[None, 0])
        np.savez(at("p.npz"), activations_sha256=sha256(array), **weights)
        refused("wanted finite weights", cca.main, *of, "--probes", at("p.npz"))
        whole = pathlib.Path(at("p.npz")).read_bytes()
        pathlib.Path(at("p.npz")).write_bytes(whole[:-9])
        refused("p.npz", cca.main, *of, "--probes", at("p.npz"))
        pathlib.Path(at("empty.npy")).write_bytes(b"")
        refused("empty.npy", rsa.main, "--activations", at("empty.npy"))

    def golden(self, *options, logits, ids=(1, 2), model="m"):
        reference = np.linspace(-3, 3, 50, dtype="<f4")[None]
        for name, values, tokens, sha in (("l", logits(reference), ids, model), ("r", reference, (1, 2), "m")):
            np.save(at(name + ".npy"), values.astype("<f4"))
            common.write_json(at(name + "_metadata.json"), {"logits_shape": [1, 50], "model_sha256": sha,
                                                            "token_audit": {"token_ids": list(tokens)}})
        with self.assertRaises(SystemExit) as ended:
            self.quiet(golden_logits.main, "--ember", at("l.npy"), "--reference", at("r.npy"), "--output", at("g.json"), *options)
        return common.read_json(at("g.json")), ended.exception.code

    def test_golden_logits_have_five_classes(self):
        bar = ("--max-diff-threshold", "0.1")
        same, far = (lambda r: r), (lambda r: r + np.float32(0.5))
        found, code = self.golden(*bar, logits=same)
        self.assertEqual((found["class"], code, found["exact_bits_equal"], found["topk_overlap"]), ("golden_pass", 0, True, 1))
        found, code = self.golden(*bar, logits=far)
        self.assertEqual((found["class"], code), ("golden_fail", 1))
        self.assertAlmostEqual(found["max_abs_diff"], 0.5, places=6)
        self.assertAlmostEqual(found["rmse"], 0.5, places=6)
        self.assertEqual(self.golden(logits=same)[0]["class"], "golden_warn")
        self.assertEqual(self.golden("--allow-warn", logits=same)[1], 0)
        self.assertEqual(self.golden(*bar, logits=same, ids=(1, 3))[0]["class"], "token_audit_fail")
        self.assertEqual(self.golden(*bar, logits=same, model="other")[0]["class"], "provenance_fail")
        found, code = self.golden("--allow-warn", logits=lambda r: r * np.nan)
        self.assertEqual((found["class"], found["max_abs_diff"], code), ("golden_fail", None, 1))
        self.assertEqual(self.golden(*bar, "--top-k", "1000", logits=same)[0]["class"], "golden_pass")
        self.assertEqual(self.golden("--cosine-threshold", "0.5", logits=lambda r: r[:, ::-1])[0]["class"], "golden_fail")

    def test_a_replay_that_differs_is_told_where(self):
        def run(chat, command, *options, text=None):
            if command == "tokenize":
                return "1 2 3"
            found = np.zeros((2, 3, 4) if command == "probe" else (3, 9), "<f4")
            if "--no-reuse" in options:
                found[1, 2, 3] = -0.5
            if "--prefill" in options and options[options.index("--prefill") + 1] == 7:
                found[2, 8] = 0.25
            np.save(options[options.index("--out") + 1], found)
            return ""
        with unittest.mock.patch.object(program.Program, "run", run):
            self.assertEqual(self.quiet(kv_replay.main, "--model", "m", "--stimuli", at("s.json"), "--limit", "2", "--output", at("k.json")),
                             "some differ\n")
        found = common.read_json(at("k.json"))
        self.assertEqual([[row[column] for column in found["columns"]] for row in found["rows"]], [[0, 0, 0.25, 0, 0], [0, 0, 0.25, 0, 0.5]])

    def test_fertility_counts_tokens_a_word(self):
        pathlib.Path(at("t.txt")).write_text("ab c\nab d\u0113")
        with unittest.mock.patch.object(program.Program, "run", lambda chat, command, text: "7 " * ((len(text) + 1) // 2)):
            self.quiet(fertility.main, "--model", "m", "--text", at("t.txt"), "--output", at("f.json"))
        self.assertEqual(common.read_json(at("f.json"))["of"]["text"], {
            "texts": 2, "words": 4, "characters": 10, "bytes": 11, "tokens": 5, "fertility": 1.25, "tokens_per_character": 0.5,
            "bytes_per_token": 2.2, "words_tried": 3, "words_of_one_token": 1 / 3})

    def test_one_command_makes_the_report(self):
        for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
            os.environ[name] = at(name)
        said = self.quiet(report.main, "--program", PROGRAM, "--model", MODEL, "--device", "cpu", "--roots", "5",
                          "--control-repeats", "1", "--output", at("out"))
        self.assertIn("all exact", said)
        page = (FOLDER / "out" / "report.html").read_text()
        for words in ("A linear probe", "Canonical correlations of layers", "golden_pass", "en_surface_probe", "50 stimuli"):
            self.assertIn(words, page.replace("50, SHA", "50 stimuli, SHA"), words)
        self.assertNotIn("http://", page.replace("http://www.w3.org/2000/svg", ""))
        self.assertTrue(json.loads((FOLDER / "out" / "kv_replay.json").read_text())["exact"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
