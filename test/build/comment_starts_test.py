#!/usr/bin/env python3
"""A comment of a source names its subject first, and no residue of a mechanical pass is left.

usage: comment_starts_test.py PROJECT

"Of a session that is lost" says neither what the comment is about nor what happens to it, so such a beginning is refused. Residue is
- a ruler: a section is "// ---- title ----", without a line of signs to the margin;
- a comment beyond column 100;
- two comments stacked to one: a sentence ends, and the next line begins although its first word had room for 20 columns more;
- a comment that begins with a number of a list that is somewhere else;
- a text of one blank alone on its line.
"""
import pathlib
import re
import sys

PROJECT = pathlib.Path(sys.argv[1])
FOLDERS = ("src", "port", "test", "include", "examples")
WIDTH = 100
HIDING = re.compile(r"(?:Of|What|Who|Whose|Likewise|As|By|That which)\b")
# A line that begins a paragraph of its own: a list, "Returns ..", "Thread rule: ..".
PARAGRAPH = re.compile(r"(?:[-*] |Returns\b|Requires:|NOLINT|[\w '-]+: )")


def comments(text):
    """(number, line, column, comment, whether it stands alone) of each line with a comment, of C or of C++."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        bare = re.sub(r'"(?:[^"\\]|\\.)*"', lambda text: "." * len(text[0]), line)  # a text may hold slashes; columns stay
        at = re.match(r"( *)(\*) *(.*)" if inside else r"(.*?)(//|/\*) *(.*)", bare)
        if at is not None:
            yield number, line, at.start(3), re.sub(r" *\*?/$", "", at[3]), not at[1].strip()
        inside = "*/" not in bare and (inside or at is not None and at[2] == "/*")


def residue(line, comment, begins, before):
    """What is wrong with one line; `before`: the line and the comment above it, if that is the same comment."""
    if begins and HIDING.match(comment):
        yield "begins with a word that hides its subject"
    if begins and re.match(r"\d+[.)] |---- \d|§", comment):
        yield "begins with a number of a list elsewhere"
    if re.search(r"[-=*~#]{3}", comment) and not re.fullmatch(r"---- (?:(?!---).)+ ----", comment):
        yield "is a ruler"
    if len(line) > WIDTH:
        yield f"goes beyond column {WIDTH}"
    if before and re.search(r"[^.]\.$", before[1]) and comment and not PARAGRAPH.match(comment) and \
            len(before[0]) + 1 + len(comment.split()[0]) <= WIDTH - 20:
        yield "is stacked on another comment"


def main():
    problems = []
    for path in sorted(path for folder in FOLDERS for path in (PROJECT / folder).glob("**/*")
                       if path.suffix in (".hpp", ".cpp", ".h", ".c")):
        text, last = path.read_text(encoding="utf-8"), None
        for number, line, column, comment, alone in comments(text):
            same = last is not None and alone and last[:2] == (number - 1, column)
            before = last[2:] if same else None
            problems += [f"{path.relative_to(PROJECT)}:{number}: {why}: {comment}" for why in residue(line, comment, not same, before)]
            last = (number, column, line, comment)
        problems += [f"{path.relative_to(PROJECT)}:{number}: a text of one blank alone"
                     for number, line in enumerate(text.splitlines(), 1) if line.strip() == '" "']
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
