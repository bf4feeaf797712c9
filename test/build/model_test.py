#!/usr/bin/env python3
"""docs/model.md and the pages under docs/model, held to the tests and headers that exist.

usage: model_test.py PROJECT BUILD CTEST

Every test that a page names is known to ctest; every call and field in its columns is in include/pawl; a row has a test
or says why there is none; and no table is missing.
"""
import pathlib
import re
import sys

from ctest_names import known_tests

PROJECT, BUILD, CTEST = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
PAGES = [PROJECT / "docs" / "model.md", *sorted((PROJECT / "docs" / "model").glob("*.md"))]
# Heading of each table, and the fewest rows it can have.
TABLES = {
    "What orchestrations call": 22,
    "What activities see": 11,
    "What clients call": 21,
    "Retries": 7,
    "Completed from outside": 10,
    "Timers": 4,
    "Positional events": 5,
    "Messages that start, repeat, answer": 15,
    "Queues": 6,
    "State of an instance": 8,
    "Sessions": 11,
    "Children and detached starts": 7,
    "Continue as new": 4,
    "Cancellation": 8,
    "Registry and versions": 6,
    "Options of a runtime": 15,
    "Limits": 11,
    "Deleting and pruning": 6,
    "Tags": 5,
    "Errors": 10,
    "Poison and unknown names": 9,
    "Reports": 8,
    "Tests and updates": 5,
    "Known defects of the peer, shown absent": 57,
    "Replay": 22,
    "Races by name": 18,
    "What a storage must promise": 55,
    "End to end": 40,
}
problems = []


def problem(where, text):
    problems.append(f"{where}: {text}")


def rows():
    """(heading, page:line, header cells, cells) of every row of every table, but for those of questions with their pages."""
    for page in PAGES:
        heading, header = "", None
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            if line.startswith("#"):
                heading = line.lstrip("# ")
            if not line.startswith("|"):
                header = None
                continue
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if header is None:
                header = cells
            elif not set(line) <= set("|- ") and header != ["question", "page"]:
                yield heading, f"{page.relative_to(PROJECT)}:{number}", header, cells


def check_row(where, header, cells, tests, headers):
    if len(cells) != len(header):
        return problem(where, f"{len(cells)} cells instead of {len(header)}")
    named = re.findall(r"`((?:[A-Z]\w*/)?[A-Z]\w*\.(?:\w+(?:/\w+)?|\*)|(?:build|e2e)\.\w+)`", " ".join(cells))
    for test in named:
        if test not in tests:
            problem(where, f"ctest knows no {test}")
    for cell in (cells[header.index("Pawl")] if "Pawl" in header else "",):
        for call in re.findall(r"`(\w+)\(\)`", cell):
            if not re.search(rf"\b{call}\(", headers):
                problem(where, f"include/pawl has no {call}()")
        for name in re.findall(r"`(?:\w+::)?(\w+)`", cell):
            if not re.search(rf"\b{name}\b", headers):
                problem(where, f"include/pawl has no {name}")
    if not named and not (header[-1] == "different" and cells[-1]):
        problem(where, "neither a test nor a reason")
    return named


def main():
    tests = known_tests(BUILD, CTEST)
    headers = "".join(re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
                      for path in sorted((PROJECT / "include" / "pawl").glob("*.hpp")))
    counts, named = dict.fromkeys(TABLES, 0), set()
    for heading, where, header, cells in rows():
        if heading not in counts:
            problem(where, f"a table that nobody expects: {heading}")
            continue
        counts[heading] += 1
        named.update(check_row(where, header, cells, tests, headers) or [])
    for heading, least in TABLES.items():
        if counts[heading] < least:
            problem("docs/model", f"{counts[heading]} rows of at least {least}: {heading}")
    for text in problems:
        print(text)
    print(f"{sum(counts.values())} rows, {len(named)} tests named, {len(problems)} problems")
    return 1 if problems or len(tests) < 500 else 0


if __name__ == "__main__":
    sys.exit(main())
