#!/usr/bin/env python3
"""Ask of each layer how well a linear classifier reads root and pattern out of it.

    linear_probe.py --activations a.npy --stimuli stimuli.json --output probe.npz [--control]

Rows are divided into folds. A grouped split keeps all rows of a group in one fold: the root is asked for in patterns
that training has not seen, and the pattern of roots that it has not seen. With --control the labels are shuffled, which
shows what a classifier of that many weights finds where there is nothing; selectivity is what is left above that:
max(0, (accuracy - control) / (1 - max(control, chance))).

A task whose answer the prompt gives away is refused (prompt_contracts of the stimuli) unless --allow-revealed.
OUTPUT has for each task accuracy, classes, class_counts, chance, majority_baseline, accuracy_minus_majority,
confusion_matrices, probe_weights, probe_weights_standardized, probe_intercepts and, with --control, control_mean,
control_std and selectivity, each as TASK_KEY; OUTPUT_split_policy.json says how rows were divided.
"""
import json

import numpy as np

import common

OTHER = {"root": "pattern", "pattern": "root"}


def labels_of(stimuli, field):
    for i, stimulus in enumerate(stimuli):
        if field not in stimulus:
            raise common.Refused(f"stimulus {i} has no '{field}'")
    return np.array([str(stimulus[field]) for stimulus in stimuli])


def check_contract(stimuli, template, task):
    for stimulus in stimuli:
        contract = stimulus.get("prompt_contracts", {}).get(template, {})
        if task in contract.get("revealed_targets", []):
            raise common.Refused(f"the prompts of template {template} say the {task}; --allow-revealed probes all the same")


def evaluate(x, labels, folds, make, scale):
    """Returns the accuracy over all folds and the confusions [class, predicted]."""
    classes = np.unique(labels)
    confusions = np.zeros((len(classes), len(classes)), np.int64)
    for test in folds:
        train = np.setdiff1d(np.arange(len(labels)), test)
        mean, deviation = common.scaler_of(x[train]) if scale else (0.0, 1.0)
        found = make().fit((x[train] - mean) / deviation, labels[train]).predict((x[test] - mean) / deviation)
        np.add.at(confusions, (np.searchsorted(classes, labels[test]), np.searchsorted(classes, found)), 1)
    return confusions.trace() / confusions.sum(), confusions


def probe_task(values, labels, folds_for, a):
    """folds_for: labels -> folds. Returns what OUTPUT has of a task."""
    make = lambda: common.LogisticRegression(a.c, a.max_iter, a.tol)
    classes, counts = np.unique(labels, return_counts=True)
    layers = [values[:, i].astype(np.float64) for i in range(values.shape[1])]
    folds = folds_for(labels)
    results = [evaluate(x, labels, folds, make, a.scale) for x in layers]
    accuracy = np.array([r[0] for r in results])
    majority = counts.max() / counts.sum()
    task = dict(accuracy=accuracy, classes=classes, class_counts=counts, chance=1 / len(classes), majority_baseline=majority,
                accuracy_minus_majority=accuracy - majority, confusion_matrices=np.array([r[1] for r in results]))
    standardised, raw, intercepts = [], [], []
    for x in layers:
        mean, deviation = common.scaler_of(x) if a.scale else (np.zeros(x.shape[1]), np.ones(x.shape[1]))
        fitted = make().fit((x - mean) / deviation, labels)
        standardised.append(fitted.weights)
        raw.append(fitted.weights / deviation)
        intercepts.append(fitted.intercepts - raw[-1] @ mean)
    task.update(probe_weights_standardized=np.array(standardised), probe_weights=np.array(raw),
                probe_intercepts=np.array(intercepts))
    if a.control:
        runs = []
        for repeat in range(a.control_repeats):
            shuffled = np.random.default_rng(31 * repeat + 7).permutation(labels)
            folds = folds_for(shuffled)
            runs.append([evaluate(x, shuffled, folds, make, a.scale)[0] for x in layers])
        control = np.mean(runs, 0)
        task.update(control_mean=control, control_std=np.std(runs, 0),
                    selectivity=np.maximum(0, (accuracy - control) / (1 - np.maximum(control, task["chance"]))))
    return task


def main(arguments=None):
    parser = common.parser_of(__doc__)
    parser.add_argument("--activations", required=True)
    parser.add_argument("--stimuli", required=True)
    parser.add_argument("--output", required=True, help=".npz")
    parser.add_argument("--tasks", nargs="+", default=["root", "pattern"])
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--root-split", choices=["grouped", "stratified"], default="grouped")
    parser.add_argument("--pattern-split", choices=["grouped", "stratified"], default="grouped")
    parser.add_argument("--group-field", help="of the stimuli; otherwise pattern for root, and root for pattern")
    parser.add_argument("--control", action="store_true")
    parser.add_argument("--control-repeats", type=int, default=5)
    parser.add_argument("--no-scale", dest="scale", action="store_false", help="do not standardise features")
    parser.add_argument("--c", type=float, default=1.0, help="the penalty is |W|^2 / 2C")
    parser.add_argument("--max-iter", type=int, default=2000)
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--max-rows", type=int, default=0, help="the first rows alone; 0: all")
    parser.add_argument("--allow-revealed", action="store_true")
    a = parser.parse_args(arguments)
    activations = common.Activations(a.activations)
    stimuli = activations.stimuli(a.stimuli)
    n = a.max_rows or len(stimuli)
    values, stimuli = activations.values[:n], stimuli[:n]
    saved, policy = {}, {}
    for task in a.tasks:
        if not a.allow_revealed:
            check_contract(stimuli, activations.about["probe_template"], task)
        split = getattr(a, f"{task}_split", "stratified")
        field = a.group_field or OTHER.get(task)
        groups = labels_of(stimuli, field) if split == "grouped" and field else None
        policy[task] = {"split": split if groups is not None else "stratified", "group_field": field if groups is not None else None,
                        "folds": a.folds, "seed": 0}
        found = probe_task(values, labels_of(stimuli, task), lambda labels: common.folds_of(labels, a.folds, groups), a)
        saved.update({f"{task}_{key}": value for key, value in found.items()})
        best = int(found["accuracy"].argmax())
        print(f"{task}: {found['accuracy'][best]:.3f} at layer {best}, chance {found['chance']:.3f}"
              + (f", selectivity {found['selectivity'][best]:.3f}" if a.control else ""))
    np.savez(a.output, schema_version=2, probe_weight_space="raw_activation", probe_kind="linear", tasks=np.array(a.tasks),
             activations_sha256=activations.sha256, stimuli_sha256=activations.about["stimuli_sha256"],
             activation_shape=np.array(values.shape), split_policy=json.dumps(policy), **saved)
    common.write_json(common.beside(a.output, "_split_policy.json"), policy)
    lines = {f"{task}{name}": saved[f"{task}_{key}"] for task in a.tasks
             for name, key in (("", "accuracy"), (", shuffled", "control_mean")) if f"{task}_{key}" in saved}
    common.write_plot(a.output, common.line_plot("A linear probe", lines, y_label="accuracy", bounds=(0, 1)))


if __name__ == "__main__":
    common.run(main)
