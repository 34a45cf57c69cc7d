"""Turns a screen, as `tmux capture-pane -p -e` gives it, into an SVG; and makes README's screenshot.

    screenshot.py --convert [--light] < captured > screen.svg
    screenshot.py PROGRAM SCRIPT OUT.svg [--columns 80] [--rows 24] [--light] [--environment NAME=VALUE]

README's: screenshot.py build/release/app/bitnet-chat tests/terminal/readme.script app/screenshot.svg --rows 20

A line of SCRIPT is typed and sent; `~ pattern` waits until the screen matches; `~key NAME` presses a key of
tmux. The same screen gives the same bytes.
"""
import argparse
import re
import sys
import unicodedata
from html import escape

from tmux import Terminal

CELL_WIDTH, CELL_HEIGHT, FONT_SIZE, MARGIN = 8.4, 18, 14, 14
# Each theme has the colours of text and background, and the eight colours.
THEMES = {
    "dark": ("#d8dee4", "#16191d", ["#4c566a", "#e5727c", "#97c379", "#e5c07b", "#6fa8ec", "#c58fe0", "#5fb8c4", "#d8dee4"]),
    "light": ("#2a2e33", "#fcfcfa", ["#2a2e33", "#c0343f", "#3f7d2b", "#966a00", "#2862b8", "#8a3fae", "#14717d", "#8a8f96"]),
}


def columns_of(text):
    """Returns the columns of a run of one style, as tmux counts them."""
    total = 0
    for c in text:
        if unicodedata.combining(c) or c in "\u200d\ufe0f\u200b":
            continue
        total += 2 if unicodedata.east_asian_width(c) in "WF" else 1
    return total


def runs_of(line, state):
    """Returns [(text, state)] of a line with SGR codes; the state goes on into the next line."""
    runs = []
    for part in re.split(r"(\x1b\[[0-9;:]*m|\x1b\([A-Z0-9]|[\x0e\x0f])", line):
        if part.startswith("\x1b["):
            for code in (part[2:-1] or "0").split(";"):
                number = int(code or 0)
                if number == 0:
                    state = {}
                elif number in (1, 2, 3, 7):
                    state = {**state, {1: "bold", 2: "dim", 3: "italic", 7: "reverse"}[number]: True}
                elif number == 22:
                    state = {k: v for k, v in state.items() if k not in ("bold", "dim")}
                elif number == 23:
                    state = {k: v for k, v in state.items() if k != "italic"}
                elif 30 <= number <= 37:
                    state = {**state, "colour": number - 30}
                elif 90 <= number <= 97:
                    state = {**state, "colour": number - 90}
                elif number == 39:
                    state = {k: v for k, v in state.items() if k != "colour"}
        elif part and not part.startswith("\x1b") and part not in "\x0e\x0f":
            runs.append((part, state))
    return runs, state


def svg_of(captured, columns, rows, theme="dark", cursor=None):
    text_colour, background, palette = THEMES[theme]
    width = columns * CELL_WIDTH + 2 * MARGIN
    height = rows * CELL_HEIGHT + 2 * MARGIN
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
           f'viewBox="0 0 {width:g} {height:g}">',
           f'<rect width="100%" height="100%" rx="8" fill="{background}"/>',
           f'<g font-family="ui-monospace, \'DejaVu Sans Mono\', Menlo, Consolas, monospace" '
           f'font-size="{FONT_SIZE}" fill="{text_colour}" xml:space="preserve">']
    state = {}
    for y, line in enumerate(captured.rstrip("\n").split("\n")[:rows]):
        runs, state = runs_of(line, state)
        x = 0
        for text, look in runs:
            span = columns_of(text)
            if text.strip(" "):
                attributes = [f'x="{MARGIN + x * CELL_WIDTH:g}"', f'y="{MARGIN + (y + 0.75) * CELL_HEIGHT:g}"',
                              f'textLength="{span * CELL_WIDTH:g}"']
                if "colour" in look:
                    attributes.append(f'fill="{palette[look["colour"]]}"')
                if look.get("dim"):
                    attributes.append('opacity="0.55"')
                if look.get("bold"):
                    attributes.append('font-weight="bold"')
                if look.get("italic"):
                    attributes.append('font-style="italic"')
                out.append(f'<text {" ".join(attributes)}>{escape(text)}</text>')
            x += span
    if cursor:
        out.append(f'<rect x="{MARGIN + cursor[0] * CELL_WIDTH:g}" y="{MARGIN + cursor[1] * CELL_HEIGHT + 1:g}" '
                   f'width="{CELL_WIDTH:g}" height="{CELL_HEIGHT - 2}" fill="{text_colour}" opacity="0.7"/>')
    out += ["</g>", "</svg>"]
    return "\n".join(out) + "\n"


def play(terminal, program, script):
    terminal.clear()
    terminal.line(f"exec {program}")
    for line in script.splitlines():
        if line.startswith("~key "):
            terminal.key(*line[5:].split())
        elif line.startswith("~ "):
            terminal.wait(line[2:], seconds=120)
        elif line:
            terminal.line(line)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", nargs="?")
    parser.add_argument("script", nargs="?")
    parser.add_argument("out", nargs="?")
    parser.add_argument("--convert", action="store_true")
    parser.add_argument("--columns", type=int, default=80)
    parser.add_argument("--rows", type=int, default=24)
    parser.add_argument("--light", action="store_true")
    parser.add_argument("--environment", action="append", default=[])
    options = parser.parse_args()
    theme = "light" if options.light else "dark"
    if options.convert:
        captured = sys.stdin.read()
        sys.stdout.write(svg_of(captured, options.columns, options.rows, theme))
        return
    environment = dict(entry.split("=", 1) for entry in options.environment)
    with Terminal(options.columns, options.rows, environment) as terminal, open(options.script) as script:
        play(terminal, options.program, script.read())
        captured = terminal.screen(colours=True)
        svg = svg_of(captured, options.columns, options.rows, theme, terminal.cursor())
    with open(options.out, "w") as out:
        out.write(svg)


if __name__ == "__main__":
    main()
