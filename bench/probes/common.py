"""What the scripts of this folder share: arrays with the files beside them, folds, a logistic regression, SVG.

An array of `bitnet-chat probe` has _metadata.json and _correctness.json beside it, which name each other by SHA-256.
A script refuses files that do not belong together, with exit code 2 and a line that says why.
"""
import argparse
import hashlib
import json
import pathlib
import sys

import numpy as np


class Refused(Exception):
    """The files do not belong together, or do not have what is needed."""


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def beside(path, ending):
    path = pathlib.Path(path)
    return path.with_name(path.stem + ending)


def read_json(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as problem:
        raise Refused(f"{path}: {problem}") from problem


def read_arrays(path):
    """What an .npy file has, or the arrays of an .npz file by name."""
    try:
        found = np.load(path)
        return found if isinstance(found, np.ndarray) else dict(found)
    except Exception as problem:  # whatever numpy's readers of headers and archives raise
        raise Refused(f"{path}: {problem or type(problem).__name__}") from problem


def must_be_numbers(path, array):
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu":
        raise Refused(f"{path}: wanted an array of numbers, found {getattr(array, 'dtype', 'several arrays')}")


def member(value, *keys):
    """value[key][key]... of what was read from JSON, or None where there is no such thing."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) and isinstance(key, str) else None
    return value


def read_stimuli(path):
    stimuli = read_json(path)
    if not isinstance(stimuli, list) or not stimuli or not all(isinstance(s, dict) for s in stimuli):
        raise Refused(f"{path}: wanted a list of stimuli, as make_stimuli.py writes it")
    return stimuli


def prompts_of(path, template):
    """The prompts of all stimuli under a template."""
    prompts = [member(s, "prompts", template) for s in read_stimuli(path)]
    for i, prompt in enumerate(prompts):
        if not isinstance(prompt, str):
            raise Refused(f"{path}: stimulus {i} has no prompt '{template}'; --template names another")
    return prompts


def read_correctness(path):
    rows = read_json(path)
    if not isinstance(rows, list) or not all(isinstance(row, dict) and {"index", "correct"} <= set(row) for row in rows):
        raise Refused(f"{path}: wanted a list of rows with 'index' and 'correct', as bitnet-chat probe writes it")
    return rows


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1, ensure_ascii=False)
        file.write("\n")


class Activations:
    """values [stimuli, layers, width], and what the file beside them says."""

    def __init__(self, path):
        self.path = path
        self.values = read_arrays(path)
        self.about = read_json(beside(path, "_metadata.json"))
        self.sha256 = sha256_of(path)
        must_be_numbers(path, self.values)
        if self.values.ndim != 3 or self.values.size == 0:
            raise Refused(f"{path}: wanted [stimuli, layers, width], found {list(self.values.shape)}")
        if not isinstance(self.about, dict) or self.about.get("activations_sha256") != self.sha256:
            raise Refused(f"{path}: its metadata are those of another array (activations_sha256)")
        rows = self.about.get("row_indices")
        if not isinstance(rows, list) or len(rows) != len(self.values) or not all(isinstance(i, int) and i >= 0 for i in rows):
            raise Refused(f"{path}: its metadata do not say which stimulus each row is (row_indices)")
        if not np.isfinite(self.values).all():
            raise Refused(f"{path}: some values are not finite")

    def stimuli(self, path):
        """The stimuli of its rows, in their order."""
        stimuli = read_stimuli(path)
        if self.about.get("stimuli_sha256") != sha256_of(path):
            raise Refused(f"{path}: {self.path} was made from other stimuli (stimuli_sha256)")
        if max(self.about["row_indices"]) >= len(stimuli):
            raise Refused(f"{path} has {len(stimuli)} stimuli, and {self.path} names others (row_indices)")
        return [stimuli[i] for i in self.about["row_indices"]]

    def correctness(self, path=None):
        path = path or beside(self.path, "_correctness.json")
        rows = read_correctness(path)
        if self.about.get("correctness_sha256") != sha256_of(path):
            raise Refused(f"{path}: it is not the correctness of {self.path} (correctness_sha256)")
        if [row["index"] for row in rows] != self.about["row_indices"]:
            raise Refused(f"{path}: its rows are in another order than those of {self.path}")
        return rows

    def must_align_with(self, other):
        """Row i of both has to be the same stimulus under the same template."""
        for key in ("stimuli_sha256", "row_indices", "probe_template"):
            if self.about.get(key) != other.about.get(key):
                raise Refused(f"{self.path} and {other.path} do not have the same rows ({key})")

    def must_be_as_many_as(self, other):
        if len(self.values) != len(other.values):
            raise Refused(f"{self.path} has {len(self.values)} rows, {other.path} {len(other.values)}")


def folds_of(labels, k, groups=None, seed=0):
    """k arrays of test rows. With groups, no group is in two of them; without, each label is spread over all."""
    if k < 2:
        raise Refused(f"wanted at least 2 folds, found {k}")
    rng = np.random.default_rng(seed)
    fold = np.empty(len(labels), int)
    if groups is not None:
        names = np.unique(groups)
        if len(names) < k:
            raise Refused(f"{k} folds of {len(names)} groups; give fewer folds")
        for i, name in enumerate(rng.permutation(names)):
            fold[groups == name] = i % k
    else:
        counts = np.unique(labels, return_counts=True)[1]
        if counts.min() < k:
            raise Refused(f"{k} folds, but a label has {counts.min()} rows; give fewer folds")
        start = 0
        for name in np.unique(labels):
            rows = rng.permutation(np.flatnonzero(labels == name))
            fold[rows] = (np.arange(len(rows)) + start) % k
            start += len(rows)
    return [np.flatnonzero(fold == i) for i in range(k)]


def minimise(f, x, steps, tolerance):
    """L-BFGS with a backtracking search. f gives value and gradient."""
    value, gradient = f(x)
    pairs = []
    for _ in range(steps):
        if np.abs(gradient).max() <= tolerance:
            break
        direction, alphas = gradient.copy(), []
        for s, y, rho in reversed(pairs):
            alphas.append(rho * s.dot(direction))
            direction -= alphas[-1] * y
        if pairs:
            s, y, _ = pairs[-1]
            direction *= s.dot(y) / y.dot(y)
        for (s, y, rho), alpha in zip(pairs, reversed(alphas)):
            direction += s * (alpha - rho * y.dot(direction))
        step, slope = (1.0 if pairs else 1 / max(1.0, np.abs(gradient).sum())), -gradient.dot(direction)
        while True:
            new = x - step * direction
            new_value, new_gradient = f(new)
            if new_value <= value + 1e-4 * step * slope or step < 1e-12:
                break
            step /= 2
        s, y = new - x, new_gradient - gradient
        if s.dot(y) > 1e-12:
            pairs = (pairs + [(s, y, 1 / s.dot(y))])[-10:]
        x, value, gradient = new, new_value, new_gradient
    return x


class LogisticRegression:
    """Multinomial, with the penalty |W|^2 / 2C on weights and none on intercepts, as scikit-learn's.

    Of two classes that has one row of weights, which is the difference of the two here; hence the penalty is twice as large.
    The weights lie in the span of the rows, so it is fitted in the coordinates of their SVD, of which there are no more
    than rows: the same minimum for less work.
    """

    def __init__(self, c=1.0, steps=2000, tolerance=1e-4):
        self.c, self.steps, self.tolerance = c, steps, tolerance

    def fit(self, x, labels):
        self.classes = np.unique(labels)
        wanted = (labels[:, None] == self.classes).astype(float)
        n, k = wanted.shape
        c = self.c / 2 if k == 2 else self.c
        u, s, basis = np.linalg.svd(x, full_matrices=False)
        kept = s > (s[0] if len(s) else 0) * 1e-10
        z, basis = u[:, kept] * s[kept], basis[kept]

        def loss(flat):
            w, b = flat[:-k].reshape(k, -1), flat[-k:]
            scores = z @ w.T + b
            scores -= scores.max(1, keepdims=True)
            e = np.exp(scores)
            p = e / e.sum(1, keepdims=True)
            value = -(wanted * (scores - np.log(e.sum(1, keepdims=True)))).sum() + (w * w).sum() / (2 * c)
            d = p - wanted
            return value, np.concatenate([(d.T @ z + w / c).ravel(), d.sum(0)])
        flat = minimise(loss, np.zeros(k * (z.shape[1] + 1)), self.steps, self.tolerance)
        self.weights, self.intercepts = flat[:-k].reshape(k, -1) @ basis, flat[-k:]
        return self

    def predict(self, x):
        return self.classes[(x @ self.weights.T + self.intercepts).argmax(1)]


def scaler_of(x):
    """Mean and deviation of each feature; a feature that never changes is divided by 1."""
    deviation = x.std(0)
    return x.mean(0), np.where(deviation > 0, deviation, 1)


# ---------------------------------------------------------------- SVG

COLOURS = ["#1f6fb2", "#c8472b", "#2e8b57", "#8a5fb0", "#b8860b", "#444444"]


def escape(text):
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def svg(width, height, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'font-family="sans-serif" font-size="12">\n' + "\n".join(parts) + "\n</svg>\n")


def text_at(x, y, text, anchor="middle", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#222" {extra}>{escape(text)}</text>'


def ticks(low, high):
    """Round numbers from low to high, four to nine of them."""
    step = 10.0 ** np.floor(np.log10((high - low) / 4))
    step *= max(factor for factor in (1, 2, 5) if factor * step <= (high - low) / 4 * (1 + 1e-9))
    return np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step + 0.0


def line_plot(title, series, x_label="layer", y_label="", bounds=None):
    """series: name -> values by layer. bounds: (lowest, highest) of y."""
    width, height, left, top, right, bottom = 640, 300, 60, 34, 150, 44
    every = np.concatenate([np.asarray(v, float) for v in series.values()])
    low, high = bounds or (float(np.nanmin(every)), float(np.nanmax(every)))
    high = high if high > low else low + 1
    n = max(len(v) for v in series.values())
    x = lambda i: left + (width - left - right) * (i / max(1, n - 1))
    y = lambda v: top + (height - top - bottom) * (1 - (v - low) / (high - low))
    parts = [text_at(left, 18, title, "start", 'font-weight="bold"')]
    for tick in ticks(low, high):
        parts.append(f'<line x1="{left}" x2="{width - right}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="#ddd"/>')
        parts.append(text_at(left - 6, y(tick) + 4, f"{tick:.3g}", "end"))
    for i in range(0, n, max(1, n // 12)):
        parts.append(text_at(x(i), height - bottom + 16, i))
    parts += [text_at((left + width - right) / 2, height - 8, x_label),
              text_at(14, (top + height - bottom) / 2, y_label, extra=f'transform="rotate(-90 14 {(top + height - bottom) / 2})"')]
    for number, (name, values) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        points = " ".join(f"{x(i):.1f},{y(v):.1f}" for i, v in enumerate(values) if np.isfinite(v))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<rect x="{width - right + 12}" y="{top + 18 * number}" width="12" height="3" fill="{colour}"/>')
        parts.append(text_at(width - right + 30, top + 18 * number + 6, name, "start"))
    return svg(width, height, parts)


def heat_map(title, matrix, x_label="layer", y_label="layer"):
    matrix = np.asarray(matrix, float)
    rows, columns = matrix.shape
    cell = max(6, min(34, 480 // max(rows, columns)))
    left, top = 60, 34
    width, height = left + max(cell * columns + 90, 8 * len(title)), top + cell * rows + 44
    low, high = float(np.nanmin(matrix)), float(np.nanmax(matrix))
    part = lambda v: 0 if high == low else (v - low) / (high - low)
    colour = lambda v: "#%02x%02x%02x" % tuple(int(a + (b - a) * part(v)) for a, b in ((247, 8), (251, 48), (255, 107)))
    parts = [text_at(left, 18, title, "start", 'font-weight="bold"')]
    for i in range(rows):
        for j in range(columns):
            parts.append(f'<rect x="{left + cell * j}" y="{top + cell * i}" width="{cell}" height="{cell}" '
                         f'fill="{colour(matrix[i, j])}"><title>{i}, {j}: {matrix[i, j]:.4f}</title></rect>')
    for i in range(0, rows, max(1, rows // 12)):
        parts.append(text_at(left - 6, top + cell * (i + .5) + 4, i, "end"))
    for j in range(0, columns, max(1, columns // 12)):
        parts.append(text_at(left + cell * (j + .5), top + cell * rows + 16, j))
    parts += [text_at(left + cell * columns / 2, height - 8, x_label),
              text_at(14, top + cell * rows / 2, y_label, extra=f'transform="rotate(-90 14 {top + cell * rows / 2})"')]
    for i, value in enumerate((high, (low + high) / 2, low)):
        parts.append(f'<rect x="{left + cell * columns + 12}" y="{top + 22 * i}" width="14" height="14" fill="{colour(value)}"/>')
        parts.append(text_at(left + cell * columns + 32, top + 22 * i + 12, f"{value:.3g}", "start"))
    return svg(width, height, parts)


def write_plot(output, text):
    """Writes the SVG beside an output, with its name."""
    beside(output, ".svg").write_text(text, encoding="utf-8")


def run(main, arguments=None):
    """Ends the program with 2 where files are refused."""
    try:
        main(arguments)
    except Refused as refused:
        print(f"{pathlib.Path(sys.argv[0]).name}: {refused}", file=sys.stderr)
        sys.exit(2)


def parser_of(text):
    return argparse.ArgumentParser(description=text.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
