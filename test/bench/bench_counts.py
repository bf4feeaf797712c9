#!/usr/bin/env python3
"""Holds what pawl-bench says of itself against two observers from outside.

    bench_counts.py PAWL_BENCH LIBALLOC_COUNT SCENARIO N

strace sees every flush and every byte that goes to the database's files; between the two marks that
pawl-bench leaves in the trace they must be exactly those of its JSON line, and over the whole process
exactly its totals. A preloaded allocation counter must agree that nothing was allocated after start.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

BEGIN = "pawl-bench: measured from here"
END = "pawl-bench: measured to here"
CALL = re.compile(r"^(?:\d+\s+)?(fsync|fdatasync|write|pwrite64)\((-?\d+)(?:<([^>]*)>)?.*\)\s+= (-?\d+)")
UNFINISHED = re.compile(r"^(\d+)\s+(.*) <unfinished \.\.\.>$")
RESUMED = re.compile(r"^(\d+)\s+<\.\.\. \w+ resumed>(.*)$")

failures = []


def expect(what, seen, said):
    print(f"{'ok    ' if seen == said else 'FAILED'} {what}: observed {seen}, pawl-bench says {said}")
    if seen != said:
        failures.append(what)


def whole_calls(path):
    """The calls of a trace, those that another thread interrupted put together again."""
    begun = {}
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            line = line.rstrip("\n")
            unfinished = UNFINISHED.match(line)
            if unfinished:
                begun[unfinished.group(1)] = line[: -len(" <unfinished ...>")]
                continue
            resumed = RESUMED.match(line)
            if resumed:
                line = begun.pop(resumed.group(1), "") + resumed.group(2)
            yield line


class Tally:
    def __init__(self):
        self.fsyncs = 0
        self.bytes = 0
        self.rings = 0

    def add(self, name, path, result, database):
        if name in ("fsync", "fdatasync"):
            self.fsyncs += 1
        elif result > 0 and path.startswith(database):
            self.bytes += result
            self.rings += result if path == database + "-bell" else 0


def read_trace(path, database):
    total, measured, inside, marks = Tally(), Tally(), False, 0
    for line in whole_calls(path):
        call = CALL.match(line)
        if not call:
            continue
        if BEGIN in line or END in line:
            inside = BEGIN in line
            marks += 1
            continue
        name, _, file, result = call.groups()
        for tally in [total] + ([measured] if inside else []):
            tally.add(name, file or "", int(result), database)
    if marks != 2:
        sys.exit(f"{marks} marks in the trace instead of 2")
    return total, measured


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def may_trace():
    probe = ["strace", "-f", "-e", "trace=write", "-o", os.devnull, "true"]
    try:
        return subprocess.run(probe, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def check_fsyncs(bench, folder, what):
    database = os.path.join(folder, "traced.db")
    trace = os.path.join(folder, "trace")
    said = run(["strace", "-f", "-y", "-o", trace, "-e", "trace=fsync,fdatasync,pwrite64,write",
                bench, *what, "--db", database, "--json"])
    total, measured = read_trace(trace, database)
    expect("fsyncs", measured.fsyncs, said["fsyncs"])
    expect("fsyncs of the whole process", total.fsyncs, said["fsyncs_total"])
    expect("bytes_written", measured.bytes, said["bytes_written"])
    expect("bytes_written of the whole process", total.bytes, said["bytes_written_total"])
    if "floor" not in what:  # what the running system tells of itself; each commit also rings, with one byte
        expect("fsyncs, by RuntimeStats", measured.fsyncs, said["fsyncs_told"])
        expect("bytes_written but for the bell, by RuntimeStats", measured.bytes - measured.rings, said["bytes_told"])
    if measured.fsyncs < 1 or measured.bytes < 4096:
        failures.append("nothing was observed")


def check_allocations(bench, library, folder, what):
    report = os.path.join(folder, "allocations")
    environment = dict(os.environ, LD_PRELOAD=library, PAWL_ALLOC_REPORT=report)
    said = run([bench, *what, "--db", os.path.join(folder, "counted.db"), "--json"],
               env=environment)
    with open(report, encoding="ascii") as lines:
        seen = json.loads(lines.readline())
    expect("allocs_after_start", seen["calls"], said["allocs_after_start"])
    if "floor" in what:  # SQLite alone uses malloc: the proof that both counters count
        if seen["calls"] == 0:
            failures.append("neither counter counts")
        return
    expect("allocations after start", seen["calls"], 0)
    expect("frees after start", seen["frees"], 0)


def main():
    bench, library, *what = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = os.path.realpath(name)
        if may_trace():
            check_fsyncs(bench, folder, what)
        else:
            print("not permitted here: strace; the flushes were not observed from outside")
        check_allocations(bench, library, folder, what)
    sys.exit(1 if failures else 0)


main()
