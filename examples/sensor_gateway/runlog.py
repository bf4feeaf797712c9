"""The run logs of the gateway: what its processes and the script that ran them wrote down.

A line is a word and fields: `start t=123 key=... session=...`. The last field of an `end` line, result=, takes
the rest of the line. Times are microseconds since the kernel started, one clock for all processes.
"""

import glob
import os


def parse(line):
    head, mark, result = line.partition(" result=")
    word, *fields = head.split(" ")
    record = dict(field.split("=", 1) for field in fields if "=" in field)
    record["what"] = word
    if mark:
        record["result"] = result
    for name in ("t", "dead", "pid", "attempt", "epoch", "execution"):
        if name in record:
            record[name] = int(record[name])
    return record


def read(path):
    """All whole lines of one log; a torn last line is not one."""
    try:
        with open(path, encoding="utf-8", errors="replace") as log:
            text = log.read()
    except FileNotFoundError:
        return []
    return [parse(line) for line in text[: text.rfind("\n") + 1].splitlines() if line]


def worker_lines(folder):
    """Start and end lines of all workers, by time."""
    lines = []
    for path in glob.glob(os.path.join(folder, "*.log")):
        lines += [line for line in read(path) if line["what"] in ("start", "end")]
    return sorted(lines, key=lambda line: line["t"])


def events(folder):
    """What was done to the processes: started, killed, exited."""
    return sorted(read(os.path.join(folder, "events")), key=lambda line: line["t"])
