#!/usr/bin/env python3
"""One statement writes what a rule decides: reads the texts of the statements in the sources.

usage: one_writer.py PROJECT

Each group of columns below is set by exactly one UPDATE of its table. A second one, however small, is a second place
where the decision can be made, so this fails and names both. Nothing replaces whole rows of these tables either.
"""
import pathlib
import re
import sys

import sql_sources

PROJECT = pathlib.Path(sys.argv[1])
# Table, columns that no second statement sets, and what they say.
GROUPS = [
    ("sessions", ("owner", "epoch", "state", "prev_node", "stop_to", "stop_due", "stop_force",
                  "stop_reason"), "who owns a session"),
    ("worker_queue", ("state", "token", "inc", "epoch", "boot_seq", "run_due", "due", "waits_for", "attempt", "strikes",
                      "reboots", "unregistered"), "what state an item of work is in"),
    ("instances", ("state", "finished_at"), "what state an instance is in, and when it ended"),
    ("instances", ("time_limit", "limit_seg"), "how long an instance may take"),
    ("executions", ("end", "ended_stamp"), "how an execution ended, and when"),
    ("workers", ("buried",), "that a worker is buried"),
    ("workers", ("draining",), "that a worker is drained"),
    ("workers", ("locked_until",), "a worker's lease"),
    ("workers", ("sessions_until",), "the lease on a worker's sessions"),
]
# Of a worker's row these never change after it was inserted.
FIXED = [("workers", ("inc", "pid", "start_time", "boot_seq", "lock_visible", "any_tag", "sessions_max"))]
problems = []


def statements():
    """Each text of adjoining string literals in the sources: where it is, and the text."""
    for path in sorted((PROJECT / "src").rglob("*.[ch]pp")):
        yield from sql_sources.texts(PROJECT, path)


def columns_set(text):
    """(table, columns) of an UPDATE, also of one that an INSERT does where the row is there already."""
    insert = re.match(r"INSERT (?:OR \w+ )?INTO (\w+)\(.* DO UPDATE (SET .*)", text)
    found = sql_sources.update_of(f"UPDATE {insert[1]} {insert[2]}" if insert else text)
    if found is not None:
        yield found[0], list(found[1])


def main():
    writers = {group: [] for group in GROUPS}
    updates = 0
    for where, text in statements():
        for table, columns in columns_set(text):
            updates += 1
            for fixed, names in FIXED:
                if fixed == table and set(names) & set(columns):
                    problems.append(f"{where}: changes {', '.join(sorted(set(names) & set(columns)))} of {table}")
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
