#!/usr/bin/env python3
"""Ask of each layer how well a linear classifier reads root and pattern out of it.

    linear_probe.py --activations a.npy --stimuli stimuli.json --output probe.npz [--control]

Rows are divided into folds. A grouped split keeps all rows of a group in one fold: the root is asked for in patterns
that training has not seen, and the pattern of roots that it has not seen. With --control the labels are shuffled, which
shows what a classifier of that many weights finds where there is nothing; selectivity is what is left above that:
max(0, (accuracy - control) / (1 - max(control, chance))).

--probe-kind sgd is a linear classifier fitted by stochastic gradients, mlp one with a hidden layer, which asks for more than
lines; they and a --solver other than lbfgs are those of scikit-learn (Debian's python3-sklearn). --n-jobs fits so many
layers at a time.

A task whose answer the prompt gives away is refused (prompt_contracts of the stimuli) unless --allow-revealed.
OUTPUT has for each task accuracy, classes, class_counts, chance, majority_baseline, accuracy_minus_majority,
confusion_matrices, probe_weights, probe_weights_standardized, probe_intercepts and, with --control, control_mean,
control_std and selectivity, each as TASK_KEY; OUTPUT_split_policy.json says how rows were divided.
"""
import functools
import json
import multiprocessing

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
        revealed = common.member(stimulus, "prompt_contracts", template, "revealed_targets")
        if isinstance(revealed, list) and task in revealed:
            raise common.Refused(f"the prompts of template {template} say the {task}; --allow-revealed probes all the same")


class OfSklearn:
    """A classifier of scikit-learn with the attributes of common.LogisticRegression."""

    def __init__(self, kind, solver, c, steps, tolerance):
        try:
            from sklearn.linear_model import LogisticRegression, SGDClassifier
            from sklearn.neural_network import MLPClassifier
        except ImportError as problem:
            raise common.Refused(f"--probe-kind {kind} and --solver {solver} need scikit-learn: apt install python3-sklearn") from problem
        how = dict(max_iter=steps, tol=tolerance, random_state=0)
        self.make = {"linear": lambda n: LogisticRegression(C=c, solver=solver, **how),
                     "sgd": lambda n: SGDClassifier(loss="log_loss", alpha=1 / (c * n), **how),  # the same penalty
                     "mlp": lambda n: MLPClassifier(**how)}[kind]

    def fit(self, x, labels):
        self.fitted = self.make(len(x)).fit(x, labels)
        self.weights = getattr(self.fitted, "coef_", None)
        self.intercepts = getattr(self.fitted, "intercept_", None)
        if self.weights is not None and len(self.weights) == 1:  # of two classes: the second against the first
            self.weights, self.intercepts = (np.concatenate([-v, v]) / 2 for v in (self.weights, self.intercepts))
        return self

    def predict(self, x):
        return self.fitted.predict(x)


def make_classifier(a):
    if a.probe_kind == "linear" and a.solver == "lbfgs":
        return common.LogisticRegression(a.c, a.max_iter, a.tol)
    return OfSklearn(a.probe_kind, a.solver, a.c, a.max_iter, a.tol)


def fit_all(x, labels, make, scale):
    """Returns the weights for standardised values and those for values as they are, and the intercepts of the latter."""
    mean, deviation = common.scaler_of(x) if scale else (np.zeros(x.shape[1]), np.ones(x.shape[1]))
    fitted = make().fit((x - mean) / deviation, labels)
    if fitted.weights is None:
        return None
    raw = fitted.weights / deviation
    return fitted.weights, raw, fitted.intercepts - raw @ mean


def each(n_jobs, function, layers, *arguments):
    """function of each layer and the arguments, so many at a time; less than 1: as many as there are cores."""
    function = functools.partial(of_layer, function, arguments)
    if n_jobs == 1:
        return [function(x) for x in layers]
    with multiprocessing.get_context("fork").Pool(n_jobs if n_jobs > 0 else None) as pool:
        return pool.map(function, layers, 1)


def of_layer(function, arguments, x):
    return function(x, *arguments)


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
    make = functools.partial(make_classifier, a)
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) < 2:
        raise common.Refused(f"all {len(labels)} rows have the label '{classes[0]}', so there is nothing to tell apart")
    layers = [values[:, i].astype(np.float64) for i in range(values.shape[1])]
    folds = folds_for(labels)
    results = each(a.n_jobs, evaluate, layers, labels, folds, make, a.scale)
    accuracy = np.array([r[0] for r in results])
    majority = counts.max() / counts.sum()
    task = dict(accuracy=accuracy, classes=classes, class_counts=counts, chance=1 / len(classes), majority_baseline=majority,
                accuracy_minus_majority=accuracy - majority, confusion_matrices=np.array([r[1] for r in results]))
    if a.probe_kind != "mlp":  # which has no one matrix of weights
        standardised, raw, intercepts = zip(*each(a.n_jobs, fit_all, layers, labels, make, a.scale))
        task.update(probe_weights_standardized=np.array(standardised), probe_weights=np.array(raw),
                    probe_intercepts=np.array(intercepts))
    if a.control:
        runs = []
        for repeat in range(a.control_repeats):
            shuffled = np.random.default_rng(31 * repeat + 7).permutation(labels)
            folds = folds_for(shuffled)
            runs.append([accuracy for accuracy, _ in each(a.n_jobs, evaluate, layers, shuffled, folds, make, a.scale)])
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
    parser.add_argument("--probe-kind", choices=["linear", "sgd", "mlp"], default="linear")
    parser.add_argument("--solver", default="lbfgs", help="of --probe-kind linear, as scikit-learn calls them")
    parser.add_argument("--n-jobs", type=int, default=1, help="layers at a time; -1: as many as there are cores")
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
            check_contract(stimuli, activations.about.get("probe_template"), task)
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
    np.savez(a.output, schema_version=2, probe_weight_space="raw_activation", probe_kind=a.probe_kind, tasks=np.array(a.tasks),
             activations_sha256=activations.sha256, stimuli_sha256=activations.about["stimuli_sha256"],
             activation_shape=np.array(values.shape), split_policy=json.dumps(policy), **saved)
    common.write_json(common.beside(a.output, "_split_policy.json"), policy)
    lines = {f"{task}{name}": saved[f"{task}_{key}"] for task in a.tasks
             for name, key in (("", "accuracy"), (", shuffled", "control_mean")) if f"{task}_{key}" in saved}
    common.write_plot(a.output, common.line_plot(f"A probe ({a.probe_kind})" if a.probe_kind != "linear" else "A linear probe", lines, y_label="accuracy", bounds=(0, 1)))


if __name__ == "__main__":
    common.run(main)
