#!/usr/bin/env python3
"""The tests that proposals for sessions ask for, compared with the tests that exist: seed_tests.txt has the table.

usage: seed_tests.py PROJECT BUILD CTEST

Every such test has a row. The test that a row names is known to ctest and contains the name of the row. For rows without a
test, a page under docs/sessions says why. The numbers in the headline of the table are true. Every test that
docs/sessions.md, the pages under docs/sessions and docs/concepts.md name is known to ctest, or a case of a program that runs on a
server, which ctest knows as a whole.
"""
import pathlib
import re
import sys

from ctest_names import known_tests

PROJECT, BUILD, CTEST = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
TABLE = pathlib.Path(__file__).with_name("seed_tests.txt")
PAGES = [PROJECT / "docs" / "concepts.md", PROJECT / "docs" / "sessions.md", *sorted((PROJECT / "docs" / "sessions").glob("*.md"))]
PROPOSALS = PROJECT / "docs" / "sessions" / "shared.md"
# How many rows each part has.
PARTS = {
    "v2-provider": 25, "v2-multi-worker": 12, "v2-heterogeneous": 10, "v2-single-runtime": 12, "v2-scenario": 3,
    "v2-replay": 4, "v2-unit": 5,
    "explicit-1": 9, "explicit-2": 6, "explicit-3": 5, "explicit-4": 6, "explicit-5": 4, "explicit-6": 2,
    "explicit-7": 4, "explicit-8": 6, "explicit-9": 6, "explicit-10": 6, "explicit-11": 4, "explicit-12": 6,
    "explicit-13": 4, "explicit-14": 15, "explicit-15": 12, "explicit-16": 5, "explicit-17": 5, "explicit-18": 2,
    "peer": 33,
    "v1": 25, "lost": 26,
}
WITHOUT_MAX = 3
ON_PAGES_MIN = 160  # tests that the pages name
problems = []


def problem(line, text):
    problems.append(f"{TABLE.name}:{line}: {text}")


def server_tests():
    texts = [source.read_text(encoding="utf-8") for source in (PROJECT / "test" / "store" / "postgres").glob("*_test.cpp")]
    return {f"{suite}.{name}" for text in texts for suite, name in re.findall(r"^TEST(?:_F)?\((\w+),\s*(\w+)", text, re.M)}


def rows():
    for line, text in enumerate(TABLE.read_text(encoding="utf-8").splitlines(), 1):
        if not text or text.startswith("#"):
            continue
        at = re.fullmatch(r'([\w-]+) (\d+) (?:(\w+)|"([^"]+)"): (\S+)', text)
        if at is None:
            problem(line, "not a row")
        else:
            yield line, at[1], int(at[2]), at[3] or at[4], at[3] is not None, at[5]


def reasons():
    """First cells of the table under its heading."""
    page = PROPOSALS.read_text(encoding="utf-8")
    at = re.search(r"^## Tests of the proposals that are not there\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    return set(re.findall(r"^\| `?([^`|]+?)`? \| [^|]+ \|$", at[1], re.M)) if at else set()


def check_headline(numbered, statements, contract, without, distinct):
    """What the first lines of the table say, in the order in which they say it."""
    total = numbered + statements + contract
    said = re.match(r"(?:#[^\n]*\n)+", TABLE.read_text(encoding="utf-8"))[0]
    numbers = [int(number) for number in re.findall(r"(?<![\w-])\d+\b(?= (?!\())", re.sub(r"version \d", "", said))]
    wanted = [total, numbered, statements + contract, statements, contract, without, total - without, distinct]
    if numbers != wanted:
        problem(1, f"the headline has the numbers {numbers}, the table {wanted}")


def main():
    tests, explained = known_tests(BUILD, CTEST), reasons()
    on_server = server_tests()
    numbers, names, without = {part: [] for part in PARTS}, set(), 0
    named, statements, shown = 0, 0, set()
    for line, part, number, name, is_name, test in rows():
        if part not in numbers:
            problem(line, f"no part {part}")
            continue
        numbers[part].append(number)
        named, statements = (named + is_name, statements + (not is_name))
        shown.add(test)
        if is_name and (part.split("-")[0], name) in names:
            problem(line, f"{name} a second time")
        names.add((part.split("-")[0], name))
        if test == "none":
            without += 1
            if name not in explained:
                problem(line, f"{PROPOSALS.relative_to(PROJECT)} does not say why there is no {name}")
        elif test not in tests:
            problem(line, f"ctest knows no {test}")
        elif is_name and name not in test.split(".")[1]:
            problem(line, f"{test} does not carry the name {name}")
    on_pages = 0
    for page in PAGES:
        named_there = set(re.findall(r"`((?:[A-Z]\w*(?:/\w+)*|build|e2e|endpoint)\.\w+(?:[./]\w+)*)`", page.read_text(encoding="utf-8")))
        on_pages += len(named_there)
        for test in sorted(named_there):
            if not {test, test.removeprefix("e2e.")} & (tests | on_server):
                problems.append(f"{page.relative_to(PROJECT)}: ctest knows no {test}")
    for part, count in PARTS.items():
        if numbers[part] != list(range(1, count + 1)):
            problem(0, f"{part} must have 1..{count} in order, and has {numbers[part]}")
    check_headline(named - PARTS["peer"], statements, PARTS["peer"], without, len(shown - {"none"}))
    if without > WITHOUT_MAX:
        problem(0, f"{without} have no test, and {WITHOUT_MAX} may")
    for text in problems:
        print(text)
    print(f"{sum(PARTS.values())} rows, {without} of them without a test here, {on_pages} tests on pages, {len(problems)} problems")
    return 1 if problems or on_pages < ON_PAGES_MIN else 0


if __name__ == "__main__":
    sys.exit(main())
