#!/usr/bin/env python3
"""Measure decode and prefill over budgets of a device's memory, and draw them with the bound of the link.

    bench/budgets.py build/release/app/bitnet-chat MODEL.gguf --device 0 --name h200-8b --budgets 1500M 2G 3G auto
    bench/budgets.py --draw bench/results/h200-8b.csv [--beside bench/results/h200-8b-peer.csv]

This writes NAME.csv and NAME.svg below --out (bench/results). A row is a run of `bitnet-chat bench` with that --vram,
and with --ram where it is given. The bound is what a token reads over the link at the link's speed, and of the device at
its own, one after the other. --beside names the table of another program for the same file, with columns `on_device`,
`decode` and `name`.
"""
import argparse
import csv
import json
import math
import subprocess
from pathlib import Path

COLUMNS = ("budget_bytes", "on_device", "read_in_host", "read_in_file", "decode", "decode_min", "decode_max", "bound",
           "prefill_tokens", "prefill", "prefill_max", "file_gb_per_s")


def measure(o, budget):
    memory = ["--vram", budget] + (["--ram", o.ram] if o.ram else [])
    common = [o.program, "%", o.model, "--json", *(["--device", o.device] if o.device else []), *memory]
    run = lambda *extra: json.loads(subprocess.run(
        [extra[0] if a == "%" else a for a in common] + list(extra[1:]), check=True, capture_output=True, text=True).stdout)
    plan = run("plan")
    bench = run("bench", "-p", str(o.prompt), "-n", str(o.decode), "-r", str(o.runs))
    place, link, own = bench["placement"], plan["link_gb_per_s"], plan["device_gb_per_s"]
    bound = 1e9 / (place["read_in_host"] / (plan.get("copies_gb_per_s") or link) + plan["read_on_device"] / own)
    decode, prefill = bench["decode"], bench["prefill"]
    return (plan["budget_bytes"] or plan["all_on_device"], place["on_device"], place["read_in_host"],
            place.get("read_in_file", 0), decode["median"], decode["min"], decode["max"], bound, o.prompt,
            prefill["median"], prefill["max"], place.get("file_gb_per_s", 0))


def ticks(most):
    step = 10 ** math.floor(math.log10(most))
    step = next(s for s in (step / 5, step / 2, step) if most / s <= 6)
    return [i * step for i in range(int(most / step) + 1)]


def draw(path, heading, rows, beside=()):
    """Draws tokens/s of decode over bytes of the device, measured and as the bound allows, in logarithms."""
    left, right, top, bottom = 60, 690, 40, 330
    rows, beside = (sorted(some, key=lambda r: float(r["on_device"])) for some in (rows, beside))
    others = [(float(r["on_device"]), float(r["decode"])) for r in beside]
    most = max([r["on_device"] for r in rows] + [bytes_ for bytes_, _ in others]) * 1.05
    low = 10 ** math.floor(math.log10(min([r["decode"] for r in rows] + [rate for _, rate in others])))
    high = 10 ** math.ceil(math.log10(max(max(r["decode"], r["bound"]) for r in rows)))
    x = lambda bytes_: left + bytes_ / most * (right - left)
    y = lambda rate: bottom - (math.log(rate / low) / math.log(high / low)) * (bottom - top)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 390" font-family="sans-serif" font-size="12">',
           "<style>.axis{stroke:#999;stroke-width:.5}.bound{stroke:#cc6677;fill:none;stroke-dasharray:5 3}"
           ".now{stroke:#4477aa;fill:none;stroke-width:2}.dot{fill:#4477aa}"
           ".other{stroke:#999933;fill:none;stroke-width:2}text{fill:#333}</style>",
           '<rect width="720" height="390" fill="#ffffff"/>', f'<text x="{left}" y="20">{heading}</text>']
    rate = low
    while rate <= high:
        out += [f'<line x1="{left}" y1="{y(rate):.1f}" x2="{right}" y2="{y(rate):.1f}" class="axis"/>',
                f'<text x="{left - 6}" y="{y(rate) + 4:.1f}" text-anchor="end">{rate:,.10g}</text>']
        rate *= 10
    for gigabytes in ticks(most / 1e9):
        out.append(f'<text x="{x(gigabytes * 1e9):.1f}" y="{bottom + 18}" text-anchor="middle">{gigabytes:.10g}</text>')
    for name in ("bound", "now"):
        points = " ".join(f'{x(r["on_device"]):.1f},{y(r["decode" if name == "now" else "bound"]):.1f}' for r in rows)
        out.append(f'<polyline points="{points}" class="{name}"/>')
    if others:
        points = " ".join(f"{x(bytes_):.1f},{y(rate):.1f}" for bytes_, rate in others)
        out += [f'<polyline points="{points}" class="other"/>',
                f'<text x="{x(others[0][0]) + 6:.1f}" y="{y(others[0][1]) + 14:.1f}">{beside[0]["name"]}</text>']
    for r in rows:
        out += [f'<circle cx="{x(r["on_device"]):.1f}" cy="{y(r["decode"]):.1f}" r="3" class="dot"/>',
                f'<text x="{x(r["on_device"]) + 6:.1f}" y="{y(r["decode"]) + 14:.1f}">{r["decode"]:.3g}</text>']
    out += [f'<text x="{(left + right) / 2}" y="{bottom + 38}" text-anchor="middle">GB on the device</text>',
            f'<text x="{left}" y="{top - 6}">decode, tokens/s (line) and what the link allows (dashed)</text>', "</svg>"]
    path.write_text("\n".join(out) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?")
    parser.add_argument("model", nargs="?")
    parser.add_argument("--budgets", nargs="+", default=["auto"])
    parser.add_argument("--ram")
    parser.add_argument("--device", default="")
    parser.add_argument("--name", default="budgets")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--prompt", type=int, default=1024)
    parser.add_argument("--decode", type=int, default=32)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--draw", type=Path, help="only draw this file")
    parser.add_argument("--beside", type=Path, help="the table of another program")
    o = parser.parse_args()
    path = o.draw or o.out / f"{o.name}.csv"
    if not o.draw:
        if not o.model:
            parser.error("wanted PROGRAM and MODEL")
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(COLUMNS)
            for budget in o.budgets:
                row = measure(o, budget)
                table.writerow(row)
                file.flush()
                print(budget, dict(zip(COLUMNS, row)))
    with path.open() as file:
        rows = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(file)]
    beside = []
    if o.beside:
        with o.beside.open() as file:
            beside = list(csv.DictReader(file))
    draw(path.with_suffix(".svg"), path.stem, rows, beside)


if __name__ == "__main__":
    main()
