#!/usr/bin/env python3
"""The ledger: does the gateway's own account agree with the database?

  check.py DIR      DIR has gateway.db, the workers' run logs (*.log), alarms, events and observer/

It links nothing of Pawl: the database is read with plain SQL, and the run logs are lines that each activity wrote
and flushed before and after it ran. Exit status 0 if and only if the ledger balances.
"""

import collections
import glob
import json
import os
import sqlite3
import struct
import sys

sys.dont_write_bytecode = True

import runlog  # noqa: E402

# Kinds of history rows.
ACTIVITY, TIMER, ACTIVITY_DONE, TIMER_FIRED, ENDED = 2, 3, 32, 33, 50
# A message in orchestrator_queue: a result whose turn has not come.
RESULT_MESSAGE = 3


class Ledger:
    def __init__(self):
        self.faults = []

    def fault(self, text):
        self.faults.append(text)

    @staticmethod
    def row(name, number, note=""):
        print(f"  {name:<34}{number:>9}   {note}".rstrip())


class Database:
    """Everything the ledger needs, with plain SQL."""

    def __init__(self, path):
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.integrity = connection.execute("PRAGMA integrity_check").fetchone()[0]
        self.id = connection.execute("SELECT database_id FROM meta").fetchone()[0]
        self.instances = {key: (name, state) for key, name, state in
                          connection.execute("SELECT key, id, state FROM instances")}
        self.current = dict(connection.execute("SELECT key, execution FROM instances"))
        self.events = connection.execute(
            "SELECT instance, execution, id, kind, ref, meta, payload FROM history ORDER BY 1, 2, 3").fetchall()
        self.queued = set(connection.execute("SELECT instance, execution, event FROM worker_queue"))
        self.messages = set(connection.execute(
            "SELECT instance, execution, ref FROM orchestrator_queue WHERE kind = ?", (RESULT_MESSAGE,)))
        connection.close()


def history(database):
    """The commands and completions, by (instance, execution, event)."""
    activities, results, timers, fired, ended = {}, {}, set(), set(), set()
    last_command = {}
    for instance, execution, event, kind, ref, meta, payload in database.events:
        meta = json.loads(meta) if meta else {}
        if kind == ACTIVITY:
            activities[instance, execution, event] = meta
            last_command[instance, execution] = event
        elif kind == TIMER:
            timers.add((instance, execution, event))
            last_command[instance, execution] = event
        elif kind == ACTIVITY_DONE:
            results[instance, execution, ref] = (meta.get("error", 0), bytes(payload or b"").decode())
        elif kind == TIMER_FIRED:
            fired.add((instance, execution, ref))
        elif kind == ENDED:
            ended.add((instance, execution))
    return activities, results, timers, fired, ended, last_command


def key_of(database_id, line):
    """(instance, execution, event) of a run log's key, or None for a key of another database."""
    *database, instance, execution, event = line["key"].split("/")
    return (int(instance), int(execution), int(event)) if "/".join(database) == database_id else None


def check_work(ledger, database, starts, ends, kills):
    activities, results, timers, fired, ended, last_command = history(database)
    recorded = {key for key, (error, _) in results.items() if error == 0}
    failed = set(results) - recorded

    waiting, lost = [], []
    for key in sorted(set(activities) - set(results)):
        instance, execution, event = key
        passed = (instance, execution) in ended or database.current[instance] != execution
        passed = passed or last_command[instance, execution] != event
        stored = key in database.queued or key in database.messages
        (waiting if stored and not passed else lost).append(key)
    for key in lost:
        ledger.fault(f"lost: {activities[key].get('name')} of {database.instances[key[0]][0]}, key {key}: "
                     "scheduled, without a result, and nobody has it any more")

    twice = {key: lines for key, lines in starts.items() if len(lines) > 1}
    unexplained = 0
    notes = []
    for key, lines in sorted(twice.items()):
        for earlier, later in zip(lines, lines[1:]):
            killed, dead = kills.get(earlier["pid"], (None, None))
            if killed is None or earlier["t"] > dead or killed > later["t"] or later["attempt"] <= earlier["attempt"]:
                unexplained += 1
                ledger.fault(f"run twice without a reason: {earlier['activity']} of {earlier['session']}, key {key}: "
                             f"{earlier['node']}[{earlier['pid']}], then {later['node']}[{later['pid']}]")
                continue
            done = any(line["pid"] == earlier["pid"] for line in ends.get(key, []))
            notes.append(f"{earlier['activity']} of {earlier['session']}: {earlier['node']}[{earlier['pid']}] was "
                         f"killed {max(0, killed - earlier['t']) / 1000:.1f} ms after it began, "
                         f"{'done but not committed' if done else 'not done'}; "
                         f"attempt {later['attempt']} by {later['node']}[{later['pid']}]")

    for key in sorted(set(starts) - set(activities)):
        ledger.fault(f"started but never scheduled: key {key}")
    for key in sorted(set(results) - set(activities)):
        ledger.fault(f"a result of what was never scheduled: key {key}")
    for key, (error, payload) in sorted(results.items()):
        if key not in starts:
            ledger.fault(f"recorded but never started: key {key}")
            continue
        line = ends.get(key, [{}])[-1]
        if line.get("attempt") != starts[key][-1]["attempt"]:
            ledger.fault(f"recorded, but its last attempt never ended: key {key}")
        elif line["ok"] != ("1" if error == 0 else "0") or line["result"] != payload:
            ledger.fault(f"recorded is not what the activity said: key {key}: {payload!r}, {line['result']!r}")
    for key, lines in starts.items():
        last = lines[-1]
        if len(ends.get(key, [])) == 0 and last["pid"] not in kills:
            ledger.fault(f"never ended, though nobody killed {last['node']}[{last['pid']}]: key {key}")
    open_timers = timers - fired
    for instance, execution, event in sorted(open_timers):
        if (instance, execution) in ended or last_command[instance, execution] != event:
            ledger.fault(f"timer passed over: {database.instances[instance][0]}, event {event}")

    ledger.row("activities scheduled", len(activities), "in history")
    ledger.row("started", len(starts), "in the run logs")
    ledger.row("recorded", len(recorded), "with a result, each equal to the run log's")
    ledger.row("recorded as failed", len(failed), "the orchestration went on")
    ledger.row("waiting", len(waiting), "scheduled when the gateway stopped, kept for its next start")
    ledger.row("lost", len(lost))
    ledger.row("run twice", len(twice), f"{len(twice)} explained by a kill" if not unexplained else
               f"{unexplained} WITHOUT a reason")
    for note in notes:
        print(f"    {note}")
    ledger.row("timers set / fired", f"{len(timers)}/{len(fired)}", f"{len(open_timers)} still running")
    return activities, recorded


def check_samples(ledger, database, activities, recorded):
    scheduled = {key for key, meta in activities.items() if meta.get("name") == "sample"}
    ledger.row("of these, samples scheduled", len(scheduled))
    ledger.row("samples recorded", len(scheduled & recorded))
    rounds = collections.Counter(instance for instance, _, _ in scheduled)
    if set(rounds) != set(database.instances):
        ledger.fault("a sensor without a single sample")
    for name, state in database.instances.values():
        if state != 0:
            ledger.fault(f"the orchestration of {name} does not run any more: state {state}")


def check_sessions(ledger, lines, ends, kills, exits):
    """At any moment at most one process is at a session, and a higher epoch is later."""
    ended_at = {(key, line["pid"]): line["t"] for key, attempts in ends.items() for line in attempts}
    by_session = collections.defaultdict(list)
    for key, line in lines:
        until = ended_at.get((key, line["pid"])) or kills.get(line["pid"], (None,))[0] or exits.get(line["pid"]) or float("inf")
        by_session[line["session"]].append((line["t"], until, line["pid"], line["node"], line["epoch"]))
    changes = 0
    for session, intervals in by_session.items():
        intervals.sort()
        holder = {}
        for previous, following in zip(intervals, intervals[1:]):
            if following[4] < previous[4]:
                ledger.fault(f"{session}: epoch {following[4]} after {previous[4]}")
            changes += following[4] > previous[4]
        latest_end = (float("-inf"), None)
        for start, until, pid, node, epoch in intervals:
            if holder.setdefault(epoch, pid) != pid:
                ledger.fault(f"{session}: two processes in epoch {epoch}: {holder[epoch]} and {pid}")
            if start < latest_end[0] and pid != latest_end[1]:
                ledger.fault(f"{session}: {node}[{pid}] began while [{latest_end[1]}] was still at it")
            latest_end = max(latest_end, (until, pid))
    ledger.row("sessions", len(by_session), "one process at a time in each")
    ledger.row("changes of owner", changes, "each under a higher epoch")


def check_alarms(ledger, folder, database, activities, recorded):
    lines = [line for line in runlog.read(os.path.join(folder, "alarms")) if line["what"] == "alarm"]
    written = collections.Counter(key_of(database.id, line) for line in lines)
    wanted = {key for key, meta in activities.items() if meta.get("name") == "alarm" and key in recorded}
    for key in sorted(wanted - set(written)):
        ledger.fault(f"alarm recorded but not in the file: key {key}")
    for key, count in written.items():
        if key not in activities:
            ledger.fault(f"an alarm in the file that was never scheduled: {key}")
        if count > 1:
            ledger.fault(f"an alarm {count} times in the file: {key}")
    sensors = sorted({line["sensor"] for line in lines})
    ledger.row("alarms raised", len(lines), ", ".join(sensors))


def show_readers(lines, ends):
    readers = collections.Counter()
    times = collections.defaultdict(list)
    for key, line in lines:
        if line["activity"] != "sample":
            continue
        times[line["session"]].append(line["t"])
        if any(end["pid"] == line["pid"] for end in ends.get(key, [])):
            readers[line["session"], line["node"], line["pid"]] += 1
    width = max([len(session) for session in times] + [6])
    print(f"\n  {'sensor':<{width}}  samples  longest gap  read by")
    for session in sorted(times):
        mine = [(node, pid, count) for (name, node, pid), count in readers.items() if name == session]
        gaps = [(later - earlier) / 1e6 for earlier, later in zip(times[session], times[session][1:])]
        print(f"  {session:<{width}}  {sum(count for _, _, count in mine):7}  {max(gaps, default=0):9.2f} s  "
              + ", ".join(f"{node}[{pid}] {count}" for node, pid, count in mine))


def show_wear(folder, samples, seconds):
    totals = [0] * 6
    files = glob.glob(os.path.join(folder, "observer", "*"))
    for path in files:
        with open(path, "rb") as counts:
            data = counts.read(64)
        if len(data) == 64:
            totals = [total + more for total, more in zip(totals, struct.unpack("<6Q", data[:48]))]
    if not files or samples == 0 or seconds <= 0:
        print("\n  flushes and bytes: not observed (no observer/ in the folder)")
        return
    flushes, writes, size, log_flushes, _, log_size = totals
    print(f"\n  Wear of the card. Counted in {len(files)} processes, killed ones too, by a library that stands before"
          "\n  their fsync, fdatasync, pwrite and write; what the kernel writes on its own account is not in it.")
    Ledger.row("flushes of the database", flushes, f"{flushes / samples:.2f} a sample")
    Ledger.row("bytes written to database and log", size, f"{size / samples:.0f} a sample, in {writes} writes")
    Ledger.row("estimated bytes a day, as run", f"{size / seconds * 86400 / 1e9:.2f}", "GB (10^9)")
    Ledger.row("  with a sample a minute a sensor", f"{size / samples * 1440 / 1e6:.2f}", "MB (10^6) a day a sensor")
    Ledger.row("flushes of the gateway's own logs", log_flushes, f"{log_size} bytes, not in the figures above")


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    folder = sys.argv[1]
    ledger = Ledger()
    database = Database(os.path.join(folder, "gateway.db"))
    if database.integrity != "ok":
        ledger.fault(f"the database file is damaged: {database.integrity}")

    events = runlog.events(folder)
    # When the signal was sent, and when the process was dead.
    kills = {event["pid"]: (event["t"], event.get("dead", event["t"])) for event in events if event["action"] == "killed"}
    exits = {event["pid"]: event["t"] for event in events if event["action"] == "exited"}
    for event in events:
        if event["action"] == "exited" and event.get("status") != "0":
            ledger.fault(f"{event['node']}[{event['pid']}] ended with status {event.get('status')}")

    lines = []
    starts, ends = collections.defaultdict(list), collections.defaultdict(list)
    for line in runlog.worker_lines(folder):
        key = key_of(database.id, line)
        if key is None:
            ledger.fault(f"a run log line of another database: {line['key']}")
            continue
        if line["what"] == "start":
            lines.append((key, line))
            starts[key].append(line)
        else:
            ends[key].append(line)

    print("The ledger")
    activities, recorded = check_work(ledger, database, starts, ends, kills)
    check_samples(ledger, database, activities, recorded)
    check_sessions(ledger, lines, ends, kills, exits)
    check_alarms(ledger, folder, database, activities, recorded)
    workers_killed = sum(1 for event in events if event["action"] == "killed" and event["role"] == "worker")
    ledger.row("processes killed", len(kills), f"{workers_killed} of them workers")
    show_readers(lines, ends)
    done = sum(1 for _, line in lines if line["activity"] == "sample")
    seconds = (events[-1]["t"] - events[0]["t"]) / 1e6 if len(events) > 1 else 0
    show_wear(folder, done, seconds)

    print()
    for text in ledger.faults[:50]:
        print(f"  FAULT {text}")
    if len(ledger.faults) > 50:
        print(f"  and {len(ledger.faults) - 50} more")
    if not activities:
        ledger.fault("nothing was scheduled at all")
    print("The ledger balances." if not ledger.faults else f"The ledger does NOT balance: {len(ledger.faults)} faults.")
    return 0 if not ledger.faults else 1


sys.exit(main())
