#!/usr/bin/env python3
"""How many functions lie between a call of Client and the statement that it runs.

usage: depth_test.py PROJECT OBJDUMP LIBRARY...

The calls are read from the code of a build without inlining. Between a public call and sql::Connection::use() at most DEPTH_MAX
functions of the noun that it is about are entered. Not counted are guards (the checks and the batch around every call, views,
the look for room), templates and closures, and the pure rules; what a call does to rows of another noun, as to the work of a
session that moves, is that noun's own affair.
"""
import collections
import pathlib
import re
import subprocess
import sys

DEPTH_MAX = 5
VERBS_LEAST = 30
GUARDS = re.compile(r"Batches::|Place::(room_for_new|look_for_room|read_use|refresh_clock|read_meta)|StoreContext::|ReadScope|Table::|"
                    r"Connection::Suspicion|ClientCore::|Client::|rules::")


def rooms_of(project):
    """Class: the folder of its noun."""
    rooms = {}
    for path in sorted((project / "src/store").glob("*/*.hpp")):
        for name in re.findall(r"^class (\w+) : private Table", path.read_text(encoding="utf-8"), re.M):
            rooms[name] = path.parent.name
    return rooms


def calls_in(objdump, libraries):
    listed = subprocess.run([objdump, "-dr", "--no-show-raw-insn", "-C", *libraries], stdout=subprocess.PIPE, text=True, check=True).stdout
    calls, here = collections.defaultdict(set), None
    for line in listed.splitlines():
        found = re.match(r"^[0-9a-f]+ <(.*)>:$", line)
        if found:
            here = found[1]
            continue
        found = re.search(r"\bR_\w+\s+(\S.*?)(?:[-+]0x[0-9a-f]+)?$", line) or re.search(r"\bcall\w*\s+[0-9a-f]+ <([^+]*)>$", line)
        if found and here and found[1] != here:
            calls[here].add(found[1])
    return calls


def main(project, objdump, *libraries):
    rooms = rooms_of(pathlib.Path(project))
    calls = calls_in(objdump, libraries)
    ours = re.compile(r"pawl::store::(\w+)::(\w+)\(")

    def longest(function, room, behind):
        """The longest path to a statement, as the functions that count; None: there is none."""
        best = None
        for called in calls.get(function, ()):
            if called in behind:
                continue
            if "sql::Connection::use(" in called:
                best = best or ()
                continue
            own = ours.match(called)
            counted = own is not None and not GUARDS.search(called)
            its_room = rooms.get(own[1]) if counted else room
            if counted and (its_room is None or room not in (None, its_room)):
                continue
            if not counted and GUARDS.search(called) and "{lambda" not in called and "<" not in called:
                continue
            path = longest(called, its_room, behind | {called})
            if path is not None:
                path = ((own[2],) if counted else ()) + path
                if best is None or len(path) > len(best):
                    best = path
        return best

    depths = {}
    for function in calls:
        public = re.match(r"pawl::Client::(\w+)\(", function)
        if public and public[1] not in ("open", "close"):
            path = longest(function, None, frozenset({function}))
            if path and len(path) >= len(depths.get(public[1], ())):
                depths[public[1]] = path
    deep = {verb: path for verb, path in depths.items() if len(path) > DEPTH_MAX}
    for verb, path in sorted(depths.items(), key=lambda row: -len(row[1])):
        if verb in deep or "--table" in sys.argv:
            print(f"{len(path)} Client::{verb} > {' > '.join(path)}")
    print(f"{len(depths)} public calls, the deepest {max(map(len, depths.values()), default=0)}; at most {DEPTH_MAX}")
    return 1 if deep or len(depths) < VERBS_LEAST else 0


if __name__ == "__main__":
    sys.exit(main(*[word for word in sys.argv[1:] if word != "--table"]))
