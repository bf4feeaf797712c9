#!/usr/bin/env python3
"""No comment of a source begins with a word that hides its subject, and no comment is a leftover of a move.

usage: comment_starts_test.py PROJECT

"Of a session that is lost" says neither what the comment is about nor what happens to it, so such a beginning is refused. A leftover
is a ruler in a ruler ("// ---- a --- -----"). Where beginnings are left from before, LEFT has their number: it may only fall.
"""
import pathlib
import re
import sys

PROJECT = pathlib.Path(sys.argv[1])
HIDING = re.compile(r"(?:Of|What|Who|Whose|Likewise|As|By)\b")
LEFT = {"src": 0, "port": 0, "test": 0, "include": 86, "examples": 0}


def blocks(text):
    """(number, first line) of each comment, without its slashes: lines whose slashes stand below one another are one comment."""
    before = None  # the column of the comment on the line before
    for number, line in enumerate(text.splitlines(), 1):
        # A text may hold slashes; columns stay.
        bare = re.sub(r'"(?:[^"\\]|\\.)*"', lambda text: "." * len(text[0]), line)
        code, slashes, comment = bare.partition("//")
        stands_alone = bool(slashes) and not code.strip()
        column = len(code) if slashes else None
        if slashes and not (stands_alone and column == before):
            yield number, comment.strip()
        before = column


def main():
    problems = []
    for folder, allowed in LEFT.items():
        found = []
        for path in sorted((PROJECT / folder).glob("**/*.?pp")):
            for number, line in blocks(path.read_text(encoding="utf-8")):
                place = f"{path.relative_to(PROJECT)}:{number}: {line}"
                if HIDING.match(line):
                    found.append(place)
                if re.search(r"-{3,} +-{3,}", line):
                    problems.append(f"a ruler in a ruler: {place}")
        if len(found) > allowed:
            problems += [*found, f"{folder}: {len(found)} comments begin with a word that hides their subject; {allowed} may be left"]
        elif len(found) < allowed:
            problems.append(f"{folder}: {len(found)} are left: lower the number in LEFT, {allowed}")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
