#!/usr/bin/env python3
"""One statement writes what a rule decides: reads the texts of the statements in the sources.

usage: one_writer.py PROJECT

Each group of columns below is set by exactly one UPDATE of its table. A second one, however small, is a second place
where the decision can be made, so this fails and names both. Nothing replaces whole rows of these tables either.
"""
import pathlib
import re
import sys

PROJECT = pathlib.Path(sys.argv[1])
# Table, columns that no second statement sets, and what they say.
GROUPS = [
    ("sessions", ("owner", "epoch", "state", "prev_node", "stop_to", "stop_due", "stop_force"), "who owns a session"),
    ("worker_queue", ("state", "token", "inc", "epoch", "boot_seq", "run_due", "due", "waits_for", "attempt", "strikes",
                      "reboots", "unregistered"), "what state an item of work is in"),
    ("workers", ("buried",), "that a worker is buried"),
    ("workers", ("draining",), "that a worker is drained"),
    ("workers", ("locked_until",), "a worker's lease"),
]
LITERALS = re.compile(r'(?:"(?:[^"\\\n]|\\.)*"\s*(?://[^\n]*\n\s*)*)+')
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
problems = []


def statements():
    """Each text of adjoining string literals in the sources: where it is, and the text."""
    for path in sorted((PROJECT / "src").rglob("*.[ch]pp")):
        source = path.read_text(encoding="utf-8")
        for at in LITERALS.finditer(source):
            text = "".join(LITERAL.findall(at[0]))
            line = source.count("\n", 0, at.start()) + 1
            yield f"{path.relative_to(PROJECT)}:{line}", text


def columns_set(text):
    """(table, columns) of an UPDATE; what stands in parentheses is none of its columns."""
    for at in re.finditer(r"\bUPDATE (?:OR \w+ )?(\w+)(?: AS \w+)?(?: INDEXED BY \w+)? SET ", text):
        columns, depth, part = [], 0, ""
        for character in text[at.end():] + ",":
            depth += {"(": 1, ")": -1}.get(character, 0)
            if character == "," and depth == 0:
                name = re.match(r"\s*(\w+)\s*=", part)
                if name is None:
                    break
                columns.append(name[1])
                if re.search(r"\sWHERE\s", part):
                    break
                part = ""
            else:
                part += character
        yield at[1], columns


def main():
    writers = {group: [] for group in GROUPS}
    updates = 0
    for where, text in statements():
        for table, columns in columns_set(text):
            updates += 1
            for group in GROUPS:
                if group[0] == table and set(group[1]) & set(columns):
                    writers[group].append((where, columns))
        replaced = re.search(r"\b(?:INSERT OR REPLACE INTO|REPLACE INTO) (sessions|workers|worker_queue|instances)\b", text)
        if replaced:
            problems.append(f"{where}: replaces rows of {replaced[1]}")
    if updates < 20:
        problems.append(f"only {updates} UPDATE statements were found: the sources are read wrongly")
    for (table, columns, says), found in writers.items():
        if len(found) != 1:
            problems.append(f"{says} ({table}: {', '.join(columns)}) is written by {len(found)} statements, and not one:")
            problems.extend(f"  {where}" for where, _ in found)
        elif not set(columns) <= set(found[0][1]):
            missing = ", ".join(sorted(set(columns) - set(found[0][1])))
            problems.append(f"{found[0][0]}: {says} is written without {missing}")
    print("\n".join(problems) or f"{len(GROUPS)} groups of columns, each with one writer; {updates} updates read")
    return 1 if problems else 0


sys.exit(main())
