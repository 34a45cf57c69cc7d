#!/usr/bin/env python3
"""Run every study of this folder on a model, and write one page that shows them.

    report.py --program bitnet-chat --model MODEL --output FOLDER [--stimuli stimuli.json] [--device cpu]

Without --stimuli those of make_stimuli.py are taken. FOLDER gets all arrays and JSON files, and report.html, which needs
nothing beside it. A study that cannot be made says why.
"""
import html
import pathlib
import sys

import numpy as np

import cca
import common
import divergence
import fertility
import golden_logits
import kv_replay
import linear_probe
import make_stimuli
import program
import rsa

STYLE = ("body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}"
         "table{border-collapse:collapse;margin:.6em 0}td,th{border:1px solid #ccc;padding:.2em .6em;text-align:left}"
         ".number{text-align:right}td{overflow-wrap:anywhere}code{background:#f3f3f3}.refused{color:#a33}svg{max-width:100%}")


def table(rows):
    """rows: lists of cells, the first one is the head. Numbers stand to the right, under heads that do so too."""
    is_number = lambda value: isinstance(value, (int, float)) and not isinstance(value, bool)
    text = lambda value: f"{value:.4g}" if isinstance(value, float) else html.escape(str(value))
    right = [all(is_number(row[i]) for row in rows[1:]) for i in range(len(rows[0]))]
    cells = lambda kind, row: "".join(f"<{kind}{' class=number' if r else ''}>{text(value)}</{kind}>" for r, value in zip(right, row))
    return "<table>" + "".join(f"<tr>{cells('td' if i else 'th', row)}</tr>" for i, row in enumerate(rows)) + "</table>"


class Report:
    def __init__(self, a):
        self.a, self.folder = a, pathlib.Path(a.output)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.chat = program.Program(a.program, a.model, a.device)
        self.parts = []

    def at(self, name):
        return str(self.folder / name)

    def section(self, title, study):
        """study() returns HTML. What it is refused is said in its place."""
        print(f"-- {title}", flush=True)
        try:
            body = study()
        except common.Refused as refused:
            self.refused = str(refused)
            body = f'<p class="refused">Not made: {html.escape(str(refused))}</p>'
        self.parts.append(f"<h2>{html.escape(title)}</h2>\n{body}")

    def plot(self, name):
        return self.folder.joinpath(name).read_text(encoding="utf-8")

    def of_model(self):
        return [*(("--program", self.a.program, "--model", str(self.a.model))), *self.chat.device]

    def probe(self):
        if self.a.stimuli:
            self.stimuli = self.a.stimuli
        else:
            self.stimuli = self.at("stimuli.json")
            common.write_json(self.stimuli, list(make_stimuli.stimuli(self.a.roots, 1)))
        self.array = self.at("activations.npy")
        self.chat.run("probe", "--stimuli", self.stimuli, "--template", self.a.template, "--position", self.a.position,
                      "--out", self.array, "--force")
        self.activations = common.Activations(self.array)
        about, rows = self.activations.about, self.activations.correctness()
        manifest = about["run_manifest"]
        of = lambda key: sum(bool(row[key]) for row in rows)
        return table([["what", "which"], ["model", about["gguf_metadata"].get("general.name", about["model_path"])],
                      ["architecture", about["architecture"]], ["fingerprint", manifest["fingerprint"]],
                      ["device", f"{manifest['device']}, {manifest['driver']}"], ["engine", manifest["engine"]],
                      ["stimuli", f"{len(rows)}, SHA-256 {about['stimuli_sha256']}"],
                      ["template, position", f"{about['probe_template']}, {about['probe_position']}"],
                      ["array", f"{self.activations.values.shape}, SHA-256 {self.activations.sha256}"],
                      ["goes on with the expected word", f"{of('correct')} of {len(rows)}, {of('generated_exact_match')} exactly"]])

    def norms(self):
        sizes = np.linalg.norm(self.activations.values.astype(np.float64), axis=2)
        return common.line_plot("Length of the residual stream", {"mean": sizes.mean(0), "least": sizes.min(0), "most": sizes.max(0)},
                                y_label="norm")

    def linear(self):
        linear_probe.main(["--activations", self.array, "--stimuli", self.stimuli, "--output", self.at("probe.npz"), "--control",
                           "--control-repeats", str(self.a.control_repeats), "--n-jobs", str(self.a.n_jobs)])
        found = np.load(self.at("probe.npz"))
        rows = [["task", "classes", "chance", "best layer", "accuracy", "shuffled", "selectivity"]]
        for task in found["tasks"]:
            of = lambda key: found[f"{task}_{key}"]
            best = int(of("accuracy").argmax())
            rows.append([task, len(of("classes")), float(of("chance")), best, float(of("accuracy")[best]),
                         float(of("control_mean")[best]), float(of("selectivity")[best])])
        return table(rows) + self.plot("probe.svg")

    def cca(self):
        probes = self.at("probe.npz")
        with_probes = ["--probes", probes] if pathlib.Path(probes).exists() else []
        cca.main(["--activations", self.array, "--output", self.at("cca.npz"), *with_probes])
        found = np.load(self.at("cca.npz"))
        text = self.plot("cca.svg")
        if "root_pattern_cca" in found:
            text += common.line_plot("Root and pattern share directions", {"cosine": found["root_pattern_cca"]},
                                     y_label="mean cosine", bounds=(0, 1))
        return text

    def rsa(self):
        rsa.main(["--activations", self.array, "--output", self.at("rsa.npz")])
        return self.plot("rsa.svg")

    def divergence(self):
        divergence.main(["--activations", self.array, "--output", self.at("divergence.npz")])
        return self.plot("divergence.svg")

    def kv_replay(self):
        kv_replay.main([*self.of_model(), "--stimuli", self.stimuli, "--template", self.a.template, "--output", self.at("kv_replay.json")])
        found = common.read_json(self.at("kv_replay.json"))
        rows = [["prompt", "tokens", *found["columns"]]]
        for row in found["rows"]:
            rows.append([row["prompt"], row["tokens"], *(float(row[column]) for column in found["columns"])])
        return ("<p>The largest difference of any logit from those of the whole prompt at once, and of any hidden state behind "
                f"beginnings that others share; {'all are exact' if found['exact'] else 'some differ'}.</p>" + table(rows))

    def fertility(self):
        fertility.main([*self.of_model(), "--stimuli", self.stimuli, "--output", self.at("fertility.json")])
        found = common.read_json(self.at("fertility.json"))["of"]
        keys = ["words", "tokens", "fertility", "bytes_per_token", "words_of_one_token"]
        return table([["text", *keys], *([name, *(row[key] for key in keys)] for name, row in found.items())])

    def golden(self):
        prompt = common.read_json(self.stimuli)[0]["prompts"][self.a.template]
        for name, device in (("logits.npy", self.chat.device), ("reference.npy", [])):
            chat = program.Program(self.a.program, self.a.model, device[1] if device else self.a.reference_device)
            chat.run("logits", "--prompt", prompt, "--out", self.at(name), "--force")
        try:
            golden_logits.main(["--logits", self.at("logits.npy"), "--reference", self.at("reference.npy"), "--output",
                                self.at("golden.json"), "--cosine-threshold", "0.99"])
        except SystemExit:
            pass  # its class is in the file
        found = common.read_json(self.at("golden.json"))
        keys = ["class", "cosine", "max_abs_diff", "topk_overlap", "exact_bits_equal"]
        devices = [common.read_json(self.at(name))["run_manifest"]["device"] for name in ("logits_metadata.json", "reference_metadata.json")]
        same = " They are one: --reference-device names another." if devices[0] == devices[1] else ""
        return (f"<p>The logits of one prompt on {html.escape(devices[0])} against those on {html.escape(devices[1])}.{same}</p>"
                + table([["key", "value"], *([key, found[key]] for key in keys)]))

    def write(self):
        page = ("<!doctype html><html lang=en><meta charset=utf-8><title>A model, probed</title>"
                f"<style>{STYLE}</style><h1>A model, probed</h1>\n" + "\n".join(self.parts) + "\n</html>\n")
        self.folder.joinpath("report.html").write_text(page, encoding="utf-8")


def main(arguments=None):
    parser = common.parser_of(__doc__)
    program.add_options(parser)
    parser.add_argument("--stimuli")
    parser.add_argument("--roots", type=int, default=20, help="of the stimuli that are made")
    parser.add_argument("--template", default="en_surface_probe")
    parser.add_argument("--position", default="last")
    parser.add_argument("--control-repeats", type=int, default=5)
    parser.add_argument("--n-jobs", type=int, default=-1, help="layers that are probed at a time; -1: as many as there are cores")
    parser.add_argument("--reference-device", default="cpu", help="whose logits are taken for right")
    parser.add_argument("--output", required=True, help="folder")
    report = Report(parser.parse_args(arguments))
    report.section("What was probed", report.probe)
    if not hasattr(report, "activations"):
        report.write()
        raise common.Refused("nothing was probed: " + report.refused)
    for title, study in (("The residual stream", report.norms), ("What a linear classifier reads", report.linear),
                         ("Canonical correlations", report.cca), ("Similarities of stimuli", report.rsa),
                         ("Right and wrong answers", report.divergence), ("Replay of the cache", report.kv_replay),
                         ("Two devices", report.golden), ("Tokens", report.fertility)):
        report.section(title, study)
    report.write()
    print(report.folder / "report.html")


if __name__ == "__main__":
    common.run(main)
    sys.exit(0)
