#!/usr/bin/env python3
"""Holds the instructions of hot paths, counted by callgrind, to a table with a generous bound.

    instructions.py PAWL_BENCH TABLE           fails where a count is more than a quarter above the table
    instructions.py PAWL_BENCH TABLE --write   writes the table

Of a chain of n steps the whole program takes a + b n + c n (n - 1) / 2 instructions: b is a step with its commit, SQLite
included; c is one earlier step that a turn re-runs, a call and its await. Three lengths give both.
"""
import os
import re
import subprocess
import sys
import tempfile

LENGTHS = (100, 200, 400)
BOUND = 1.25


def count(bench, n, folder):
    done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={os.devnull}", bench, "chain", str(n)],
                          cwd=folder, capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f"valgrind: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return int(found[1])


def measure(bench):
    with tempfile.TemporaryDirectory(dir=".") as folder:
        x, y, z = (count(bench, n, folder) for n in LENGTHS)
    n, m, o = LENGTHS
    first, second = (y - x) / (m - n), (z - y) / (o - m)  # b + c (n + m - 1) / 2
    again = (second - first) / ((o - n) / 2)
    return {"chain: a step": first - again * (n + m - 1) / 2, "chain: a step that is re-run": again}


def main():
    bench, path = os.path.abspath(sys.argv[1]), sys.argv[2]
    seen = measure(bench)
    if "--write" in sys.argv:
        with open(path, "w", encoding="utf-8") as table:
            table.writelines(f"{value:.0f} {name}\n" for name, value in seen.items())
        return
    worse = False
    with open(path, encoding="utf-8") as table:
        for line in table:
            known, name = line.rstrip("\n").split(" ", 1)
            is_worse = seen[name] > BOUND * int(known)
            worse = worse or is_worse
            print(f"{'FAILED' if is_worse else 'ok    '} {name}: {seen[name]:.0f} instructions, {known} in the table")
    sys.exit(1 if worse else 0)


main()
