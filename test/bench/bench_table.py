#!/usr/bin/env python3
"""Holds commits, flushes and bytes of some scenarios to a table that is the same for all machines.

    bench_table.py TABLE PROGRAM...           fails where a count is not that of the table
    bench_table.py TABLE PROGRAM... --write   writes the table

PROGRAM is pawl-bench, after the emulator if it needs one. A tick may take as long as it likes, or a slow machine would
cut batches short. Commits are exactly those of the table. Bytes hang a little on how many digits times have, and on
where in the file a row falls; whether the last checkpoint comes within what is measured hangs on the bytes, and such a
one has three flushes.
"""
import json
import os
import subprocess
import sys
import tempfile

CHECKPOINT_FLUSHES = 3
BYTES_OFF = 0.03


def count(program, scenario, n):
    with tempfile.TemporaryDirectory(dir=".") as folder:
        done = subprocess.run([*program, scenario, n, "--json", "--tick", "10000", "--db", os.path.join(folder, "counted.db")],
                              capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(program)} {scenario} {n}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    seen = json.loads(done.stdout)
    return seen["commits"], seen["fsyncs"], seen["bytes_written"]


def main():
    words = [word for word in sys.argv[1:] if word != "--write"]
    path, program = words[0], [os.path.abspath(word) if os.path.sep in word else word for word in words[1:]]
    with open(path, encoding="utf-8") as table:
        lines = [line.split() for line in table if not line.startswith("#")]
    failed, out = False, ["# scenario, n, commits, flushes, bytes written; test/bench/bench_table.py"]
    for scenario, n, *known in lines:
        commits, flushes, size = count(program, scenario, n)
        out.append(f"{scenario} {n} {commits} {flushes} {size}")
        if "--write" in sys.argv:
            continue
        known_commits, known_flushes, known_size = map(int, known)
        well = (commits == known_commits and abs(flushes - known_flushes) <= CHECKPOINT_FLUSHES
                and abs(size - known_size) <= BYTES_OFF * known_size)
        failed = failed or not well
        print(f"{'ok    ' if well else 'FAILED'} {scenario} {n}: {commits} commits, {flushes} flushes, {size} bytes; "
              f"table: {' '.join(known)}")
    if "--write" in sys.argv:
        with open(path, "w", encoding="utf-8") as table:
            table.write("\n".join(out) + "\n")
    sys.exit(1 if failed else 0)


main()
