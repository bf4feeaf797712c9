#!/usr/bin/env python3
"""The rules of docs/rules, held to those who cite them.

usage: rules_test.py PROJECT

Every id that a comment, a test or a page cites (T9, S3, R7.4) is a rule of docs/rules; every rule is cited by a test, or
UNTESTED says why not; a page that a citation names has the rule; and nothing cites a
document that is not in the tree.
"""
import pathlib
import re
import sys

PROJECT = pathlib.Path(sys.argv[1])
RULES = PROJECT / "docs" / "rules"
FOLDERS = ("include", "src", "port", "test", "examples", "docs", "toolchains")
SUFFIXES = (".hpp", ".cpp", ".cmake", ".txt", ".py", ".md", "")
# Sources of their own, with numbers of their own: docs/model/replay.md numbers races S1 to S5. The pages of the model say what
# the peer is, and compare with it.
OTHERS = ("docs/model/replay.md", "test/build/model_test.py", "test/build/rules_test.py")
CITATION = re.compile(r"\b(?:[RST][1-9]\d?(?:\.[1-9]\d?)?|F[1-9]\d?[a-d]?|A1)\b")
# A rule without a test that cites it, and the reason.
UNTESTED = {}
OF_MODEL = r"\b[Tt]he peer\b"
# Documents that are not in the tree, by the words by which they were cited.
ELSEWHERE = {
    r"\b(?:session|time|replay)-rules\b": "the rules are in docs/rules, with ids",
    r"\baccepted (?:session )?design\b": "name what is in the tree",
    r"\b(?:session|the) design (?:of|asks|lists|keeps)\b": "name what is in the tree",
    r"\brules? \d": "cite the id of a rule",
    OF_MODEL: "say what a comparable engine does, or what would go wrong",
    r"\bscenario G\d": "name the test",
}
problems = []


def problem(where, text):
    problems.append(f"{where}: {text}")


def rules():
    """Id -> page:line."""
    found = {}
    for page in sorted(RULES.glob("*.md")):
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            # A paragraph, an item of a list or the first cell of a row begins with its id.
            at = re.match(r"(?:- |\| )?\*\*([RST]\d+(?:\.\d+)?|F\d+[a-d]?|A1)(?: [^*]+)?\*\*", line)
            if at is None:
                continue
            where = f"{page.relative_to(PROJECT)}:{number}"
            if at[1] in found:
                problem(where, f"{at[1]} a second time, after {found[at[1]]}")
            found[at[1]] = where
    return found


def files():
    yield PROJECT / "README.md"
    yield PROJECT / "CONTRIBUTING.md"
    for folder in FOLDERS:
        for path in sorted((PROJECT / folder).glob("**/*")):
            if path.is_file() and path.suffix in SUFFIXES:
                yield path


def order(rule):
    return rule[0], [int(part) for part in re.findall(r"\d+", rule)], rule


def main():
    known, cited, by_tests = rules(), 0, set()
    for path in files():
        name = str(path.relative_to(PROJECT))
        if name in OTHERS:
            continue
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        for number, line in enumerate(lines, 1):
            for pattern, advice in ELSEWHERE.items():
                if pattern == OF_MODEL and name.startswith(("docs/model.md", "docs/model/")):
                    continue
                if re.search(pattern, line) and not name.startswith("test/build/seed_tests"):
                    problem(f"{name}:{number}", f"\"{re.search(pattern, line)[0]}\": {advice}")
            for page, ids in re.findall(r"\b(docs/rules/[\w-]+\.md), ((?:[RSTF]\d[\d.]*[a-d]?(?:, | and | to )?)+)", line):
                for rule in CITATION.findall(ids):
                    if not known.get(rule, page).startswith(page):
                        problem(f"{name}:{number}", f"{rule} is in {known[rule]}")
            for rule in CITATION.findall(line):
                if rule not in known:
                    problem(f"{name}:{number}", f"there is no rule {rule} in docs/rules")
                    continue
                cited += 1
                if path.is_relative_to(PROJECT / "test") and path.suffix in (".cpp", ".hpp"):
                    by_tests.add(rule)
    untested = sorted(set(known) - by_tests, key=order)
    for rule in untested:
        print(f"no test cites {rule} ({known[rule]}): {UNTESTED.get(rule, 'and nothing says why')}")
        if rule not in UNTESTED:
            problem(known[rule], f"no test cites {rule}")
    for rule in sorted(set(UNTESTED) - set(untested)):
        problem("test/build/rules_test.py", f"{rule} has a test, or is no rule: take it out of UNTESTED")
    for text in problems:
        print(text)
    print(f"{len(known)} rules, {cited} citations, {len(untested)} rules without a test, {len(problems)} problems")
    return 1 if problems or len(known) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
