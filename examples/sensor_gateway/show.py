#!/usr/bin/env python3
"""What ./examples/run shows while the gateway runs, from the run logs alone.

  show.py line DIR                one line: samples so far by process
  show.py table DIR               one line a sensor: who reads it, how many samples, the last value
  show.py owner DIR               the node whose process reads most sensors now, and its pid
  show.py kill DIR NODE PID       SIGKILL to a worker, in the middle of an activity if it does one within 2 s
  show.py handover DIR PID SINCE  waits until all sensors of that process are read by others; says when each was
  show.py event DIR FIELD...      appends a line to the account of what was done to the processes
"""

import json
import os
import select
import signal
import sys
import time

sys.dont_write_bytecode = True

import runlog  # noqa: E402


def now_us():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def append_event(folder, fields, when=None):
    line = " ".join(["event", f"t={when or now_us()}", *fields]) + "\n"
    descriptor = os.open(os.path.join(folder, "events"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, line.encode())
    os.close(descriptor)


def samples(folder):
    """Finished samples, by time."""
    return [line for line in runlog.worker_lines(folder) if line["what"] == "end" and line["activity"] == "sample"]


def owners(folder):
    """session -> the line of its latest activity."""
    return {line["session"]: line for line in runlog.worker_lines(folder)}


def living(folder):
    """pid -> node of the workers that run."""
    alive = {}
    for event in runlog.events(folder):
        if event.get("role") != "worker":
            continue
        if event["action"] == "started":
            alive[event["pid"]] = event["node"]
        elif event["action"] in ("killed", "exited"):
            alive.pop(event["pid"], None)
    return alive


def show_line(folder):
    done = samples(folder)
    reads = owners(folder)
    parts = []
    for pid, node in sorted(living(folder).items(), key=lambda item: item[1]):
        sensors = sum(1 for line in reads.values() if line["pid"] == pid)
        count = sum(1 for line in done if line["pid"] == pid)
        parts.append(f"{node}[{pid}] {sensors} sensors {count} samples")
    print(f"{len(done):5} samples   " + "   ".join(parts))


def show_table(folder):
    done = samples(folder)
    reads = owners(folder)
    alive = living(folder)
    width = max([len(session) for session in reads] + [6])
    print(f"    {'sensor':<{width}}  read by      samples    last value")
    for session in sorted(reads):
        mine = [line for line in done if line["session"] == session]
        good = [line for line in mine if line["ok"] == "1"]
        last = "-"
        if good:
            last = f"{int(json.loads(good[-1]['result'])['value']) / 1000:.3f}"
        owner = reads[session]
        name = f"{owner['node']}[{owner['pid']}]" + ("" if owner["pid"] in alive else " gone")
        print(f"    {session:<{width}}  {name:<12} {len(mine):7}  {last:>12}")


def show_owner(folder):
    alive = living(folder)
    count = {pid: 0 for pid in alive}
    for line in owners(folder).values():
        if line["pid"] in count:
            count[line["pid"]] += 1
    pid = max(sorted(count), key=count.get)
    print(alive[pid], pid)


def kill(folder, node, pid):
    """Prints the time of the kill, and what the worker was at."""
    path = os.path.join(folder, node + ".log")
    deadline = time.monotonic() + 2
    with open(path, encoding="utf-8", errors="replace") as log:
        log.seek(0, os.SEEK_END)
        running = set()
        while not running and time.monotonic() < deadline:
            for line in log.readlines():
                line = runlog.parse(line.rstrip("\n"))
                if line["what"] == "start":
                    running.add(line["key"])
                elif line["what"] == "end":
                    running.discard(line["key"])
            if not running:
                time.sleep(0.0002)
    process = os.pidfd_open(pid)
    when = now_us()
    os.kill(pid, signal.SIGKILL)
    # It may have begun something between this clock's time and its death.
    select.select([process], [], [])
    append_event(folder, ["action=killed", "role=worker", f"node={node}", f"pid={pid}", f"dead={now_us()}"], when)
    time.sleep(0.05)
    last = {}
    for line in runlog.worker_lines(folder):
        if line["pid"] == pid:
            last[line["key"]] = line
    open_ones = [f"{line['activity']}({line['session']})" for line in last.values() if line["what"] == "start"]
    print(when, "in the middle of " + ", ".join(open_ones) if open_ones else "between two activities")


def handover(folder, pid, since):
    before = {}
    for line in runlog.worker_lines(folder):
        if line["t"] <= since or line["pid"] == pid:
            before[line["session"]] = line["pid"]
    wanted = sorted(session for session, owner in before.items() if owner == pid)
    took = {}
    deadline = time.monotonic() + 10
    while len(took) < len(wanted) and time.monotonic() < deadline:
        for line in runlog.worker_lines(folder):
            if line["session"] in wanted and line["pid"] != pid and line["t"] > since and line["what"] == "start":
                took.setdefault(line["session"], line)
        time.sleep(0.05)
    for session in wanted:
        if session in took:
            line = took[session]
            again = f"   (attempt {line['attempt']} of its {line['activity']})" if line["attempt"] > 1 else ""
            print(f"    {session}: read by {line['node']}[{line['pid']}] after {(line['t'] - since) / 1e6:.3f} s{again}")
        else:
            print(f"    {session}: NOT taken over within 10 s")
    return 0 if len(took) == len(wanted) else 1


def main():
    commands = {
        "line": (show_line, []),
        "table": (show_table, []),
        "owner": (show_owner, []),
        "kill": (kill, [str, int]),
        "handover": (handover, [int, int]),
    }
    if len(sys.argv) > 3 and sys.argv[1] == "event":
        append_event(sys.argv[2], sys.argv[3:])
        return 0
    if len(sys.argv) < 3 or sys.argv[1] not in commands:
        print(__doc__, file=sys.stderr)
        return 2
    function, types = commands[sys.argv[1]]
    arguments = [convert(text) for convert, text in zip(types, sys.argv[3:])]
    return function(sys.argv[2], *arguments) or 0


sys.exit(main())
