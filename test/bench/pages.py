#!/usr/bin/env python3
"""Which tables and indexes a step writes pages of to the log.

    pages.py PAWL_BENCH SCENARIO N [OPTION...]
    pages.py --most PAGES BYTES PAWL_BENCH SCENARIO N [OPTION...]     fails where a step writes more

Runs a scenario of pawl-bench with --pages, which counts the frames of each page, and finds out with SQLite's `dbstat`,
after the run, which table or index has the page. One that was freed since counts as free, and one that another took
over as that one's. For each: pages a step, pages a commit, and pages of it in the file. Bytes are those of all writes,
with the copy from the log back into the database.
"""
import collections
import json
import os
import sqlite3
import subprocess
import sys
import tempfile


def main():
    words = sys.argv[1:]
    most = None
    if words[0] == "--most":
        most, words = (float(words[1]), float(words[2])), words[3:]
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path, pages = os.path.join(folder, "pages.db"), os.path.join(folder, "pages")
        done = subprocess.run([os.path.abspath(words[0]), *words[1:], "--json", "--db", path, "--pages", pages],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        with sqlite3.connect(path) as database:
            owners = dict(database.execute("SELECT pageno,name FROM dbstat"))
            (page_bytes,) = database.execute("PRAGMA page_size").fetchone()
        with open(pages, encoding="utf-8") as lines:
            frames = {int(page): int(count) for page, count in map(str.split, lines)}
    seen = json.loads(done.stdout)
    kept = collections.Counter(owners.values())
    written = collections.Counter()
    for page, count in frames.items():
        written[owners.get(page, "(free)")] += count
    steps, commits, all_frames = seen["steps"], seen["commits"], sum(frames.values())
    print(f"{seen['scenario']} {seen['n']}: {steps} steps ({seen['step']}), {commits / steps:.3f} commits a step, pages of "
          f"{page_bytes} bytes")
    print(f"{'':30}{'a step':>10}{'a commit':>10}{'kept':>10}")
    for name, count in written.most_common():
        print(f"{name:30}{count / steps:10.3f}{count / commits:10.3f}{kept[name]:10}")
    print(f"{'all':30}{all_frames / steps:10.3f}{all_frames / commits:10.3f}{sum(kept.values()):10}")
    print(f"bytes a step: {seen['bytes_written'] / steps:.0f}, of which {all_frames * (page_bytes + 24) / steps:.0f} to the log")
    if "megabytes_a_day" in seen:
        print(f"a day: {seen['megabytes_a_day']:.0f} MB, {seen['fsyncs_a_day']:.0f} flushes, "
              f"{seen['steps'] / seen['wall_s']:.2f} samples a second")

    if most and (all_frames / steps > most[0] or seen["bytes_written"] / steps > most[1]):
        sys.exit(f"more than {most[0]} pages or {most[1]} bytes a step")


main()
