#!/usr/bin/env python3
"""The map "Where is what" of docs/architecture.md, compared with the code.

usage: map_test.py PROJECT

A row is a question and at most three places, the ordinary path first, each a file and the symbols in it that answer. Each
file exists and has each symbol outside of comments; if it has moved, the test says where the symbol is now. Of the
questions in ASKED at most three need a third file.
"""
import pathlib
import re
import sys

PROJECT = pathlib.Path(sys.argv[1])
PAGE = PROJECT / "docs" / "architecture.md"
# What the map must answer, by words of its question.
ASKED = ["owner of a session", "disk is full", "timer become due", "limit of history", "queue message", "handoff",
         "worker count as dead", "retry delayed", "one commit contain", "progress reach a watcher", "endpoint let people in",
         "pawld check its configuration", "cancellation stay", "warm history go", "exception of an activity"]
LONG_MAX = 3  # questions with a third place
problems = []


def problem(line, text):
    problems.append(f"docs/architecture.md:{line}: {text}")


def code_of(path):
    return re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))


def has_symbol(text, symbol):
    """Declared, defined or set there, and not only called: at the beginning of a statement behind a type or a class."""
    return re.search(rf"(?:^|[\w>*&] |::){re.escape(symbol)}\s*[({{=;]", text, re.M) is not None


def elsewhere(symbols):
    found = [str(path.relative_to(PROJECT)) for folder in ("src", "include", "port")
             for path in sorted((PROJECT / folder).glob("**/*.[ch]pp"))
             if all(has_symbol(code_of(path), symbol) for symbol in symbols)]
    return "; they are in " + ", ".join(found[:4]) if found else "; no file has them"


def check_place(line, cell):
    at = re.fullmatch(r"`([\w./-]+)`: (`\w+`(?:, `\w+`)*)", cell)
    if at is None:
        return problem(line, f"\"{cell}\" is not `file`: `symbol`, `symbol`")
    symbols = re.findall(r"`(\w+)`", at[2])
    path = PROJECT / at[1]
    if not path.is_file():
        return problem(line, f"there is no {at[1]} ({', '.join(symbols)}){elsewhere(symbols)}")
    text = code_of(path)
    missing = [symbol for symbol in symbols if not has_symbol(text, symbol)]
    if missing:
        problem(line, f"{at[1]} has no {', '.join(missing)}{elsewhere(missing)}")


def main():
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    questions, places, long = [], 0, []
    inside = False
    for number, line in enumerate(lines, 1):
        if line.startswith("## "):
            inside = line == "## Where is what"
        if not inside or not line.startswith("| ") or line.startswith("| question |"):
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 4:
            problem(number, f"{len(cells)} cells instead of a question and three places")
            continue
        questions.append(cells[0])
        if cells[3]:
            long.append(cells[0])
        for cell in filter(None, cells[1:]):
            places += 1
            check_place(number, cell)
    for asked in ASKED:
        if not any(asked in question for question in questions):
            problem(0, f"the map does not answer \"{asked}\"")
    if len(long) > LONG_MAX:
        problem(0, f"{len(long)} questions need a third file, of {LONG_MAX}: {'; '.join(long)}")
    for text in problems:
        print(text)
    print(f"{len(questions)} questions, {places} places, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
