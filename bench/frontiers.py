#!/usr/bin/python3
"""Measure prefill and decode of one model on one device at the lengths that matter, as CSV and as a plot.

    bench/frontiers.py build/release/app/bitnet-chat MODEL.gguf --device cpu --name xeon-2-cores-2b4t

This writes bench/results/NAME.csv and NAME.svg. Every figure is the median of --runs runs of `bitnet-chat bench`,
with the smallest and the largest beside it; lengths that the model's context does not hold are left out.
"""
import argparse
import csv
import json
import subprocess
from pathlib import Path

PROMPTS = (32, 128, 512, 2048)
DEPTHS = (0, 512, 2048, 3900)
COLUMNS = ("what", "tokens", "depth", "median", "min", "max", "decode_gb_per_s", "read_gb_per_s")


def measure(options, prompt, decode, depth):
    command = [options.program, "bench", options.model, "--json", "-p", str(prompt), "-n", str(decode),
               "-d", str(depth), "-r", str(options.runs)]
    if options.device:
        command += ["--device", options.device]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode == 2:
        return None  # it does not fit the context
    if result.returncode != 0:
        raise SystemExit(result.stderr)
    return json.loads(result.stdout)


def rows(options):
    for tokens in PROMPTS:
        if result := measure(options, tokens, 1, 0):
            p = result["prefill"]
            yield result, ("prefill", tokens, 0, p["median"], p["min"], p["max"], "", "")
    for depth in DEPTHS:
        if result := measure(options, 1, options.decode, depth):
            d = result["decode"]
            yield result, ("decode", options.decode, depth, d["median"], d["min"], d["max"], d["gb_per_s"],
                           result.get("read_gb_per_s", ""))


def chart(left, title, axis, points):
    """Draws bars, each with its median written above and a line from the smallest to the largest run."""
    width, height, bottom = 300, 180, 240
    top = max((p[3] for p in points), default=1) * 1.15
    step = width / max(len(points), 1)
    out = [f'<text x="{left}" y="36" class="title">{title}</text>',
           f'<line x1="{left}" y1="{bottom}" x2="{left + width}" y2="{bottom}" class="axis"/>']
    for i, (at, median, least, most) in enumerate(points):
        x, y = left + i * step + step * 0.15, bottom - median / top * height
        middle = x + step * 0.35
        out += [f'<rect x="{x:.1f}" y="{y:.1f}" width="{step * 0.7:.1f}" height="{bottom - y:.1f}" class="bar"/>',
                f'<line x1="{middle:.1f}" y1="{bottom - least / top * height:.1f}" x2="{middle:.1f}" '
                f'y2="{bottom - most / top * height:.1f}" class="range"/>',
                f'<text x="{middle:.1f}" y="{bottom - most / top * height - 6:.1f}" class="value">{median:,.{0 if median >= 100 else 1}f}</text>',
                f'<text x="{middle:.1f}" y="{bottom + 16}" class="value">{at}</text>']
    out.append(f'<text x="{left + width / 2}" y="{bottom + 36}" class="value">{axis}</text>')
    return out


def plot(path, heading, table):
    points = {what: [(row[1] if what == "prefill" else row[2], *row[3:6]) for row in table if row[0] == what]
              for what in ("prefill", "decode")}
    lines = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 290" font-family="sans-serif" font-size="12">',
             "<style>.bar{fill:#4477aa}.range,.axis{stroke:#555}.value{text-anchor:middle;fill:#333}"
             ".title{font-weight:bold;fill:#333}</style>", '<rect width="720" height="290" fill="#ffffff"/>',
             f'<text x="30" y="16" fill="#333">{heading}</text>']
    lines += chart(30, "prefill, tokens/s", "tokens of the prompt", points["prefill"])
    lines += chart(390, "decode, tokens/s", "tokens in the context before", points["decode"])
    path.write_text("\n".join(lines) + "\n</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--device", default="")
    parser.add_argument("--name", required=True, help="of the result: machine, device and model")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--decode", type=int, default=64, help="tokens of a run of decode")
    options = parser.parse_args()

    folder = Path(__file__).resolve().parent / "results"
    folder.mkdir(exist_ok=True)
    table, about = [], {}
    for about, row in rows(options):
        table.append(row)
        print(*row, flush=True)
    heading = f"{about['model']} on {about['device']}, {options.runs} runs"
    with open(folder / f"{options.name}.csv", "w", newline="") as file:
        file.write(f"# {heading}; {about['driver']}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(table)
    plot(folder / f"{options.name}.svg", heading, table)


if __name__ == "__main__":
    main()
