#!/usr/bin/env python3
"""Words that CONTRIBUTING.md retires do not come back.

usage: glossary_test.py PROJECT [--list WORD | --left]

Looked at are the words inside identifiers (snake_case and CamelCase), comments, texts of the product (log events, metrics,
SQL) and pages. Where words are left from before, LEFT has their number: it may only fall, and must be lowered when it does.
"""
import pathlib
import re
import sys

PROJECT = pathlib.Path(sys.argv[1])
RETIRED = PROJECT / "CONTRIBUTING.md"
FOLDERS = ("include", "src", "port", "test", "examples", "docs")
SUFFIXES = (".hpp", ".cpp", ".md", ".txt")
# The page is about words of other systems.
OTHERS = ("test/build/seed_tests.txt", "docs/coming-from.md")
# Word -> how often it is still there, in code (identifiers and texts) and in prose (comments and pages). No entry: zero.
LEFT = {
    # In names of tests that proposals number.
    ("provider", "code"): 1,
    ("provider", "prose"): 2,
}
problems = []


def retired():
    section = re.search(r"^## Retired words\n(.*?)(?=^## |\Z)", RETIRED.read_text(encoding="utf-8"), re.M | re.S)
    rows = re.findall(r"^\| (`[^|]*)\|", section[1] if section else "", re.M)
    return [word for row in rows for word in re.findall(r"`(\w+)`", row)]


def split(text):
    """The words of identifiers and of prose: has_NewMail -> has, new, mail; and each identifier as a whole."""
    for token in re.findall(r"\w+", text):
        yield token
        parts = [part for piece in token.split("_") for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", piece)]
        if len(parts) > 1 or parts[:1] != [token]:
            for part in parts:
                yield part.lower()


def count():
    """(word, "code" or "prose") -> places"""
    words = {word.lower(): word for word in retired()}
    found = {}
    for folder in FOLDERS:
        for path in sorted((PROJECT / folder).glob("**/*")):
            name = str(path.relative_to(PROJECT))
            if path.suffix not in SUFFIXES or not path.is_file() or name in OTHERS:
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                code, comment = "", line
                if path.suffix in (".hpp", ".cpp"):
                    # Texts of tests and examples are ids and data.
                    if name.startswith(("test/", "examples/")):
                        line = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line)
                    code, _, comment = line.partition("//")
                for kind, text in (("code", code), ("prose", comment)):
                    for token in split(text):
                        word = words.get(token.lower())
                        if word is not None:
                            found.setdefault((word, kind), []).append(f"{name}:{number}")
    return words, found


def main():
    words, found = count()
    if sys.argv[2:3] == ["--list"]:
        print("\n".join(place for kind in ("code", "prose") for place in found.get((sys.argv[3], kind), [])))
        return 0
    if sys.argv[2:3] == ["--left"]:
        for word in sorted(words.values()):
            for kind in ("code", "prose"):
                if found.get((word, kind)):
                    print(f'    ("{word}", "{kind}"): {len(found[word, kind])},')
        return 0
    for word in words.values():
        for kind in ("code", "prose"):
            places = found.get((word, kind), [])
            allowed = LEFT.get((word, kind), 0)
            if len(places) > allowed:
                problems.append(f"\"{word}\" is retired (CONTRIBUTING.md): {len(places)} times in {kind}, {allowed} may be left; "
                                f"the last of them: {', '.join(places[-3:])}")
            elif len(places) < allowed:
                problems.append(f"\"{word}\" is there {len(places)} times in {kind}: lower its number in LEFT, {allowed}")
    for word, kind in LEFT:
        if word not in words.values():
            problems.append(f"{word} is not retired: take it out of LEFT")
    for text in problems:
        print(text)
    left = sum(len(places) for places in found.values())
    print(f"{len(words)} retired words, {left} places left of them, {len(problems)} problems")
    return 1 if problems or len(words) < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
