#!/usr/bin/env python3
"""test/mutation/mutations.toml, held to the tree: that each of its entries can be run, which test/mutation/run.py does.

usage: mutation_test.py PROJECT BUILD CTEST

The text that is taken out stands once in its source; the row stands once on its page, is the row of no other entry and names the test;
ctest knows the test in the program; and there are enough of them, from every part that has rules.
"""
import collections
import pathlib
import sys

sys.dont_write_bytecode = True

from ctest_names import programs  # noqa: E402

PROJECT, BUILD, CTEST = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
sys.path.insert(0, str(PROJECT / "test" / "mutation"))

import mutations  # noqa: E402

LEAST = 60
LEAST_OF = {"src/core": 2, "src/codec": 1, "src/replay": 15, "src/store": 30, "src/runtime": 3}
PAGES_LEAST = 8
problems = []


def problem(mutation, text):
    problems.append(f"test/mutation/mutations.toml [{mutation.name}]: {text}")


def check_row(mutation, rows_seen):
    page = PROJECT / mutation.page
    lines = page.read_text(encoding="utf-8").splitlines() if page.is_file() else []
    rows = [line for line in lines if line.startswith("|") and mutation.row in line]
    if len(rows) != 1:
        return problem(mutation, f"{len(rows)} rows of {mutation.page} have \"{mutation.row}\"")
    if f"`{mutation.test}`" not in rows[0]:
        problem(mutation, f"its row does not name {mutation.test}")
    if rows[0] in rows_seen:
        problem(mutation, f"has the row of [{rows_seen[rows[0]]}]")
    rows_seen[rows[0]] = mutation.name


def check_source(mutation):
    path = PROJECT / mutation.file
    found = path.read_text(encoding="utf-8").count(mutation.out) if path.is_file() else 0
    if found != 1:
        problem(mutation, f"{mutation.file} has the text to take out {found} times")
    if mutation.out == mutation.into:
        problem(mutation, "changes nothing")


def main():
    every = mutations.read(PROJECT)
    tests, rows_seen, parts = programs(BUILD, CTEST), {}, collections.Counter()
    for mutation in every:
        check_row(mutation, rows_seen)
        check_source(mutation)
        if mutation.test not in tests.get(mutation.program, ()):
            problem(mutation, f"{mutation.program} has no test {mutation.test}")
        parts["/".join(mutation.file.split("/")[:2])] += 1
    for part, least in LEAST_OF.items():
        if parts[part] < least:
            problems.append(f"{parts[part]} of at least {least} mutations of {part}")
    pages = {mutation.page for mutation in every}
    if len(every) < LEAST or len(pages) < PAGES_LEAST:
        problems.append(f"{len(every)} mutations of at least {LEAST}, of {len(pages)} pages of at least {PAGES_LEAST}")
    print("\n".join([*problems, f"{len(every)} mutations of {len(pages)} pages, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
