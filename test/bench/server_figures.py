#!/usr/bin/env python3
"""Prints what Pawl costs on a PostgreSQL server, as ratios to the bare server, and how long sessions take to another node.

usage: server_figures.py FOLDER [ROUNDS]    FOLDER has pawl-bench and pawl-handoff
       server_figures.py FOLDER --quick     that each line runs; the figures mean nothing

Run it on an idle machine, beside a server that flushes:

    python3 test/store/postgres/server.py --flush python3 test/bench/server_figures.py build/release/test/bench

Each run has a new schema, after a checkpoint. The rounds go through the runs forwards and backwards in turn, since the speed of
a disk changes between minutes; a ratio is made within its round.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ADDRESS = os.environ.get("PAWL_POSTGRES", "")
FLOOR, CALLERS, COMMIT, TRIP, LATENCY = "floor hello 6400", "callers 6400", "floor commit 2000", "floor trip 5000", "latency 1000"
STEP = "chain 1000"
ONE, FOUR = "multi 2000 --processes 1", "multi 2000 --processes 4"
RUNS = {FLOOR: "steps_per_s", CALLERS: "steps_per_s", COMMIT: "p50_ms", TRIP: "p50_ms", LATENCY: "p50_ms",
        STEP: "p50_ms", ONE: "steps_per_s", FOUR: "steps_per_s"}
RATIOS = {
    "hello, 64 at once, of its floor (asked: at least 0.3)": lambda seen: seen[CALLERS] / seen[FLOOR],
    "latency, p50 over two bare commits and two trips (asked: at most 1.5)":
        lambda seen: seen[LATENCY] / (2 * seen[COMMIT] + 2 * seen[TRIP]),
    "hellos a second of four processes over those of one (asked: at least 0.8)": lambda seen: seen[FOUR] / seen[ONE]}


def run(command, folder):
    subprocess.run(["psql", "-X", "-q", "-c", "SET client_min_messages=error", "-c", "DROP SCHEMA IF EXISTS pawl CASCADE", "-c",
                    "DROP SCHEMA IF EXISTS handoff CASCADE", "-c", "CHECKPOINT", ADDRESS], check=True)
    done = subprocess.run([*command, "--server", ADDRESS], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def measure(bench, line, quick, folder):
    words = line.split()
    if quick:
        words[1 + (words[0] == "floor")] = "20"
    said = json.loads(run([bench, *words, "--json"], folder))
    print(f"{line:30} {said['steps_per_s']:>9} a second, p50 {said['p50_ms']} ms, {said['commits_per_step']} commits and "
          f"{said['server_trips_per_step']} trips each", flush=True)
    return said[RUNS[line]]


def main():
    if len(sys.argv) not in (2, 3) or not ADDRESS:
        sys.exit(__doc__)
    programs = pathlib.Path(sys.argv[1]).resolve()
    quick = sys.argv[2:] == ["--quick"]
    rounds = 1 if quick else int(sys.argv[2]) if len(sys.argv) == 3 else 3
    seen = []
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for number in range(rounds):
            lines = list(RUNS)[:: -1 if number % 2 else 1]
            seen.append({line: measure(programs / "pawl-bench", line, quick, folder) for line in lines})
        for name, ratio in RATIOS.items():
            ratios = sorted(ratio(values) for values in seen)
            print(f"{name}: {ratios[rounds // 2]:.2f} of {', '.join(f'{one:.2f}' for one in ratios)}", flush=True)
        for name, words in {"soft session": [1 if quick else 10], "exclusive session, lease of 10 s":
                            [1 if quick else 4, "--exclusive", "--lease", 10]}.items():
            print(f"{name}: {run([programs / 'pawl-handoff', *map(str, words)], folder).strip()}", flush=True)


if __name__ == "__main__":
    main()
