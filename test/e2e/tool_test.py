#!/usr/bin/env python3
"""The tool `pawl` on the database of examples/hello, on sessions of examples/conversation, and on what tool_program wrote.

  tool_test.py SOURCE_DIR BUILD_DIR tool|payloads|hostile|watch|json|misuse|files|outputs|doctor|restore|prometheus [EMULATOR ARGUMENT...]
"""

import ctypes
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import termios
import time

SOURCE, BUILD, PART = sys.argv[1:4]
EMULATOR = sys.argv[4:]
HELLO = [*EMULATOR, os.path.join(BUILD, "examples", "hello", "hello")]
CONVERSATION = [*EMULATOR, os.path.join(BUILD, "examples", "conversation", "conversation")]
PAWL = [*EMULATOR, os.path.join(BUILD, "src", "apps", "pawl", "pawl")]
PROGRAM = [*EMULATOR, os.path.join(BUILD, "test", "e2e", "tool_program")]
CAMP = [*EMULATOR, os.path.join(BUILD, "test", "e2e", "doctor_program")]
SCRATCH = os.path.join(BUILD, "test", "e2e", f"tool.{PART}.scratch")
ERRORS = os.environ["PAWL_TEST_ERRORS"] = os.path.join(SCRATCH, "errors")  # of tool_program


def pawl(database, *arguments, status=0):
    """Its output, or what it says of a failure."""
    run = subprocess.run([*PAWL, "--db", database, *arguments], cwd=SCRATCH, capture_output=True, text=True, timeout=60)
    if run.returncode != status:
        print(f"FAILED: {arguments}: status {run.returncode}, not {status}\n{run.stdout}{run.stderr}")
        sys.exit(1)
    return run.stdout if status in (0, 5, 6) else run.stderr


def expect(condition, text):
    if not condition:
        print(f"FAILED: {text}")
        sys.exit(1)


def wait_for(text, *command):
    """A test that hangs ends here; nothing passes or fails by the time it takes."""
    deadline = time.monotonic() + 100
    while text not in pawl(*command):
        expect(time.monotonic() < deadline, f"{command} never says {text!r}")
        time.sleep(0.05)


def say(text):
    """The worker that answers."""
    said = subprocess.run([*CONVERSATION, "say", "--db", "talk.db", "talk", text], cwd=SCRATCH, capture_output=True,
                          text=True, timeout=100, check=True)
    return said.stdout.partition("> ")[0]


def sessions():
    os.mkdir(os.path.join(SCRATCH, "store"))
    workers = []
    try:
        for node in ("a", "b"):
            workers.append(subprocess.Popen(
                [*CONVERSATION, "worker", "--db", "talk.db", "--node", node, "--store", "store", "--agent",
                 " ".join([*CONVERSATION, "agent"])], cwd=SCRATCH, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            if node == "a":
                deadline = time.monotonic() + 100
                while not os.path.exists(os.path.join(SCRATCH, "talk.db")) and time.monotonic() < deadline:
                    time.sleep(0.05)
            wait_for(f"{node}\t{workers[-1].pid if not EMULATOR else ''}", "talk.db", "workers")
        owner = say("hello there")
        other = "b" if owner == "a" else "a"
        wait_for(f"agent\t{owner}\t", "talk.db", "sessions")
        for filters in (["--node", owner], ["--of", "talk"], ["--node", owner, "--of", "talk"]):
            expect(pawl("talk.db", "sessions", *filters).startswith(f"agent\t{owner}\t"), f"by {filters}")
        for filters in (["--node", other], ["--of", "nobody"]):
            expect(pawl("talk.db", "sessions", *filters) == "", f"by {filters}")
        expect("\nsessions_idle\t1\n" in pawl("talk.db", "metrics"), "one session")
        expect("\nsessions_ended\t0\n" in pawl("talk.db", "metrics"), "which has not ended")
        expect(pawl("talk.db", "leaks") == "", "nor is it old")
        expect(pawl("talk.db", "leaks", "--open", "1ms").startswith(f"agent\t{owner}\t"), "leaks")
        expect(pawl("talk.db", "leaks", "--unused", "1ms") == "", "it was used")

        pawl("talk.db", "hold", "agent", "--of", "talk", "--for", "1m")
        pawl("talk.db", "change-session", "agent", "--of", "talk", "--age", "1h", "--kind", "chat")
        listed = pawl("talk.db", "sessions", "--kind", "chat")
        expect(listed.startswith(f"agent\t{owner}\t"), listed)
        expect(0 < json.loads(pawl("talk.db", "sessions", "--kind", "chat", "--json"))["expires_in_ms"] <= 3600000, "age")
        for verb in (["hold", "--for", "1m"], ["handoff"], ["change-session"], ["close"], ["evict"]):
            expect("not_found" in pawl("talk.db", *verb, "agent", status=3), f"{verb} of a shared one")
        expect("invalid_argument" in pawl("talk.db", "change-session", "agent", "--of", "talk", "--close", "9ms", status=1),
               "too short")
        # Of the instance that opened it: there is no shared one of this name.
        expect("not_found" in pawl("talk.db", "transfer", "agent", "--to", other, status=3), "a shared one")
        expect("not_found" in pawl("talk.db", "transfer", "agent", "--of", "nobody", "--to", other, status=3), "of nobody")
        expect("no_eligible_target" in pawl("talk.db", "transfer", "agent", "--of", "talk", "--to", "c", status=1), "to c")
        pawl("talk.db", "transfer", "agent", "--of", "talk", "--to", other)
        # What its agent knows does not move with it: so it is lost, and made anew.
        wait_for("sessions_ended\t1\n", "talk.db", "metrics")
        say("are you still there?")
        counted = pawl("talk.db", "metrics")
        expect("\nsessions_activities_up_to_10\t1\n" in counted, counted)
        expect("\nsessions_lasted_ms_beyond\t0\n" in counted, counted)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


# ---- whatever payload the engine takes ----


def payloads():
    """Each call sees all of it, and one large row is in nobody's way."""
    for size in (1, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20):
        database = f"payload-{size}.db"
        subprocess.run([*PROGRAM, database, str(size)], cwd=SCRATCH, check=True, timeout=120)
        payload = "x" * size
        expect(f"\noutput\t{payload}\n" in pawl(database, "show", "b-big"), f"output of {size}")
        row = pawl(database, "values", "b-big").split("\t")
        expect(row[:2] == ["value", f"{size}"] and row[3] == f"{payload}\n", f"value of {size}")
        expect(f"\t{size} {'byte' if size == 1 else 'bytes'}\t" in pawl(database, "history", "b-big"), f"history with {size}")
        events = [json.loads(line) for line in pawl(database, "history", "--json", "b-big").splitlines()]
        expect([event["kind"] for event in events if event.get("payload") == payload] ==
               ["started", "activity", "activity_done", "state_write", "delivery", "ended"], f"export of {size}")
        expect(f"\t{payload}\n" in pawl(database, "show", "d-rounds"), f"output of an execution with {size}")
        # Beside large rows, and then those themselves.
        expect("\noutput\ts\n" in pawl(database, "show", "a-small"), "a neighbour is shown")
        expect("2 executions" in pawl(database, "prune", "e-small"), "a neighbour is pruned")
        expect("2 executions" in pawl(database, "prune", "d-rounds"), f"pruned with {size}")
        expect("1 instance, " in pawl(database, "delete", "a-small"), "a neighbour is deleted")
        expect("1 instance, " in pawl(database, "delete", "b-big"), f"deleted with {size}")
        expect("1 instance, " in pawl(database, "delete-ended", "--prefix", "c-"), "the other neighbour goes")
        expect("4 instances" in pawl(database, "delete-ended"), "and all that ended")
        expect(pawl(database, "list").startswith("trying\t"), "one is left")
        expect("1 instance, " in pawl(database, "delete", "--force", "trying"), "and goes")
        with sqlite3.connect(os.path.join(SCRATCH, database)) as left:
            for table in ("history", "kv", "executions", "instances", "orchestrator_queue", "worker_queue"):
                expect(left.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), f"{table} is empty")


# ---- texts that others wrote ----

HOSTILE = "n\nforged\tcompleted\x1b[31m\x9b31m\u009b31m\u202e\u2066\u200f\u2028\x7f\\"
# Names that an older database may hold: no C0 in them.
OLD_NAME = "old\u009b31m\u202e\u2066\u200e\u2029\\"
TURNS = {0x061c, 0x200e, 0x200f, 0x2028, 0x2029, *range(0x202a, 0x202f), *range(0x2066, 0x206a)}


def is_shown(text):
    """Nothing in it that a terminal obeys, besides what separates rows and columns."""
    return all(c in "\n\t" or (ord(c) >= 0x20 and not 0x7f <= ord(c) < 0xa0 and ord(c) not in TURNS) for c in text)


def shown(lines, *arguments, status=0):
    """So many rows, all of them harmless; text=True has refused what is no UTF-8."""
    out = pawl("hostile.db", *arguments, status=status)
    expect(is_shown(out), f"{arguments}: {out!r}")
    expect(len(out.splitlines()) == lines, f"{arguments}: not {lines} rows: {out!r}")
    return out


def plant():
    """Each text of each table that the tool shows."""
    with sqlite3.connect(os.path.join(SCRATCH, "hostile.db")) as database:
        database.execute("UPDATE instances SET id=?1, name=?1 WHERE id='a-small'", (HOSTILE,))
        database.execute("UPDATE instances SET id=?1, name=?1 WHERE id='c-small'", (OLD_NAME,))
        database.execute("UPDATE instances SET version=?1", (HOSTILE,))
        database.execute(
            "INSERT INTO workers(node,pid,start_time,boot_seq,lock_visible,locked_until,draining,buried,any_tag,"
            "sessions_max) VALUES(?1,1,1,1,1,1,0,0,1,1)", (HOSTILE,))
        database.execute(
            "INSERT INTO sessions(scope,name,gen,lifecycle,fail,hard,excl,state,owner,prev_node,epoch,epoch_used,"
            "locked_until,boot_seq,last_activity_at,hold_until,created_stamp,created_at,activities,owner_label,kind) "
            "SELECT i.key,?1,1,1,0,0,0,0,w.inc,?1,1,1,1,1,0,0,0,0,0,?1,?1 FROM instances i, workers w "
            "WHERE i.id=?1 AND w.node=?1", (HOSTILE,))


def hostile():
    subprocess.run([*PROGRAM, "hostile.db", "1"], cwd=SCRATCH, check=True, timeout=120)
    plant()
    listed = shown(8, "list")
    expect("n\\nforged\\tcompleted\\x1b[31m\\u009b31m\\u009b31m\\u202e\\u2066\\u200f\\u2028\\x7f\\\\\t" in listed, listed)
    expect("\noutput\tgood\\nbad\\tcompleted\\x1b[31m \\x1b]0;title\\x07 \\u009b31m \\x9b\\x7f \\u202edesrever \\u2066 "
           "\\u2028 \\\\n\n" in shown(15, "show", "hostile"), "output")
    shown(15, "show", "failing")
    shown(1, "restart", "failing", status=1)
    shown(0, "restart", "--from", "start", "--by", "ann", "failing")
    expect("\nstate\trunning\nexecution\t2\n" in shown(12, "show", "failing"), "it runs again")
    shown(1, "values", "hostile")
    trying = shown(14, "show", "trying")
    expect(trying.splitlines()[-3].count("\tgood\\nbad") == 2, trying)
    for name in (HOSTILE, OLD_NAME):
        shown(14, "show", name)
        shown(2, "explain", name)
        shown(7, "history", name)
        shown(7, "history", "--json", name)
        shown(0, "children", name)
        shown(1, "tree", name)
    shown(4, "history", "--json", "hostile")
    shown(1, "sessions")
    shown(1, "workers")
    # What is refused is said with the name that was given.
    for command in ("show", "history", "values", "cancel", "delete", "forget-device", "transfer", "drain", HOSTILE):
        out = pawl("hostile.db", command, "no " + HOSTILE, status=2 if command == HOSTILE else 3)
        expect(is_shown(out), f"{command}: {out!r}")
    expect(is_shown(pawl("hostile.db", "list", "--" + HOSTILE, status=2)), "an option")
    expect(is_shown(pawl(HOSTILE, "list", status=3)), "a path")


def watch():
    """What an activity reports is there while it runs, in another process."""
    with subprocess.Popen([*PROGRAM, "said.db", "talk"], cwd=SCRATCH, stdin=subprocess.PIPE, text=True) as program:
        deadline = time.monotonic() + 100
        while not os.path.exists(os.path.join(SCRATCH, "said.db")) and time.monotonic() < deadline:
            time.sleep(0.05)
        wait_for("talk\ttalker\trunning\t", "said.db", "list")
        with subprocess.Popen([*PAWL, "--db", "said.db", "watch", "talk"], cwd=SCRATCH, stdout=subprocess.PIPE,
                              text=True) as watcher:
            said = [watcher.stdout.readline(), watcher.stdout.readline()]
            expect(said == ["activity 2\tattempt 1\t1\tGood\n", "activity 2\tattempt 1\t2\tmorn\\ning\n"], f"{said}")
            expect("Good" not in pawl("said.db", "show", "talk") and "morn" not in pawl("said.db", "show", "talk"),
                   "nothing of it is stored")
            program.stdin.write("\n")
            program.stdin.flush()
            expect(program.wait(timeout=100) == 0, "the program ends")
            rest = watcher.stdout.read()
            expect(rest in ("", "activity 2\tattempt 1\t3\tbye\n"), f"the rest is {rest}")
            expect(watcher.wait(timeout=100) == 0, "the watcher ends with the instance")
    expect("not_found" in pawl("said.db", "watch", "nobody", status=3), "nobody talks")


def tool():
    expect("not_found" in pawl("hello.db", "list", status=3), "a database that is not there is not made")
    expect(not os.path.exists(os.path.join(SCRATCH, "hello.db")), "nor is its file")
    subprocess.run(HELLO, cwd=SCRATCH, check=True, stdout=subprocess.DEVNULL, timeout=120)

    listed = pawl("hello.db", "list")
    expect(listed.startswith("first\tgreet\tcompleted\t1\t"), listed)
    expect(pawl("hello.db", "list", "--state", "completed", "--prefix", "fir", "--limit", "1") == listed, "filters")
    expect(pawl("hello.db", "list", "--name", "other") == "", "a name nobody has")
    shown = pawl("hello.db", "show", "first")
    expect("\noutput\tgoodbye" in shown and "execution 1\tcompleted\t8 events" in shown, shown)
    expect("\nhistory\t8 events, " in shown and "\nvalues\t0 keys, 0 bytes\n" in shown, shown)
    explained = pawl("hello.db", "explain", "first")
    expect(explained.startswith("ended\tgreet, since ") and explained.endswith("\n\tNothing is left to do; a restart runs it again.\n"), explained)
    expect(shown.endswith(explained), f"show ends with it: {shown}")
    expect("not_found" in pawl("hello.db", "explain", "second", status=3), "causes of an unknown id")
    expect("not_found" in pawl("hello.db", "explain", "--session", "none", status=3), "causes of an unknown session")
    expect("give the ID" in pawl("hello.db", "explain", status=2), "causes of what?")
    expect(pawl("hello.db", "values", "first") == "", "hello keeps nothing")
    expect("not_found" in pawl("hello.db", "values", "second", status=3), "values of an unknown id")
    events = [json.loads(line) for line in pawl("hello.db", "history", "--json", "first").splitlines()]
    expect([event["id"] for event in events] == list(range(1, 9)), events)
    expect(events[0]["kind"] == "started" and events[-1]["kind"] == "ended", events)
    expect(len(pawl("hello.db", "history", "first").splitlines()) == 8, "one line an event")
    expect("instances_completed\t1\n" in pawl("hello.db", "metrics"), "metrics")
    expect("\nexecutions\t1\nevents\t8\n" in pawl("hello.db", "metrics"), "totals")
    expect("\nquota_bytes\t0\nrefuses_new\t0\n" in pawl("hello.db", "metrics"), "room")
    pawl("hello.db", "quota", "1M")
    expect("\nquota_bytes\t1048576\nrefuses_new\t0\n" in pawl("hello.db", "metrics"), "quota")
    for wrong in ("1000", "1K", "9000T"):
        expect("0 or 262144..1125899906842624" in pawl("hello.db", "quota", wrong, status=1), wrong)
    for wrong in ("much", "1k", "-1", "1 M", "", "9999999999999T"):
        expect("is not a size" in pawl("hello.db", "quota", "--", wrong, status=2), wrong)
    expect("\nquota_bytes\t1048576\n" in pawl("hello.db", "metrics"), "the quota is as it was")
    pawl("hello.db", "quota", "0")
    expect("\nquota_bytes\t0\n" in pawl("hello.db", "metrics"), "no quota")

    expect(pawl("hello.db", "workers") == "", "hello has unregistered")
    expect(pawl("hello.db", "sessions") == "", "hello has none")
    for command in ("cancel", "terminate", "suspend", "resume"):
        expect("stale" in pawl("hello.db", command, "first", status=1), command)
    expect("not_restartable: not restarted: the instance completed" in
           pawl("hello.db", "restart", "first", status=1), "restart of one that completed")
    expect("invalid_argument" in pawl("hello.db", "restart", "--from", "start", "--version", "x", "first", status=1),
           "restart with what is no version")
    expect("none of start, last-good-event" in pawl("hello.db", "restart", "--from", "here", "first", status=2),
           "restart from anywhere")
    expect(pawl("hello.db", "cancel", "--all", "--reason", "enough") == "0 instances\n", "none is left to cancel")
    expect("not_found" in pawl("hello.db", "show", "second", status=3), "an unknown id")
    expect(pawl("hello.db", "prune", "--keep", "1", "first") == "0 instances, 0 executions, 0 events\n", "prune")
    pawl("hello.db", "delete", "first")
    expect(pawl("hello.db", "list") == "", "deleted")

    for wrong in ([], ["dance"], ["show"], ["list", "first"], ["list", "--limit", "x"], ["list", "--state", "tired"],
                  ["list", "--colour"]):
        expect("usage:" in pawl("hello.db", *wrong, status=2), wrong)
    sessions()


# ---- JSON, held to docs/tool/values.md ----


def documented():
    """Command -> (keys that are always there, all keys)."""
    found = {}
    with open(os.path.join(SOURCE, "docs", "tool", "values.md"), encoding="utf-8") as page:
        rows = page.read().partition("| command | keys |")[2].partition("\n\n")[0].splitlines()[2:]
    for row in rows:
        commands, keys = row.strip("|").split(" | ", 1)
        keys = re.sub(r"\([^)]*\)", "", keys)  # those of an object inside
        named = re.findall(r"`(\w+\??)`", keys)
        for command in re.findall(r"`([\w-]+)`", commands):
            found[command] = ({key for key in named if key[-1] != "?"}, {key.rstrip("?") for key in named})
    return found


def keys_of_json():
    """Each command gives the keys that the page lists, and no others."""
    subprocess.run([*PROGRAM, "hostile.db", "1"], cwd=SCRATCH, check=True, timeout=120)
    plant()
    page = documented()
    seen = {}

    def run(command, *arguments, status=0, lines=None, database="hostile.db"):
        # In front of the command or behind it; behind --with stand words of the program.
        words = ["--json", command, *arguments] if command == "check" else [command, *arguments, "--json"]
        out = pawl(database, *words, status=status)
        rows = [json.loads(line) for line in out.splitlines()] if status in (0, 5) else []
        expect(is_shown(out), f"{command}: {out!r}")
        expect(lines is None or len(rows) == lines, f"{command}: {len(rows)} lines")
        always, known = page[command]
        seen.setdefault(command, set())
        for row in rows:
            keys = {key.removesuffix("_base64") for key in row}  # of what is no UTF-8
            expect(always <= keys <= known, f"{command}: {sorted(keys ^ always)} beside {sorted(always)}")
            seen[command].update(keys)
        return rows

    expect(run("start", "keeper", "@@x", "--id", "new") == [{"done": "start", "id": "new"}], "start")
    expect(run("show", "new")[0]["instance"]["id"] == "new", "show")
    expect([(one["kind"], one["name"], one["help"]) for one in run("explain", "new", lines=1)] ==
           [("no_worker", "keeper", "Start a worker: none lives.")], "explain")
    for command, arguments in (("raise", ["new", "go", '{"a":[1,2]}']), ("enqueue", ["new", "queue", "[1,2]"]),
                               ("suspend", ["new"]), ("resume", ["new"]), ("time-limit", ["new", "2h"])):
        expect(run(command, *arguments) == [{"done": command, "id": "new"}], command)
    limited = run("show", "new")[0]["instance"]
    expect(limited["time_limit_ms"] == 7_200_000 and 7_000_000 < limited["time_left_ms"] <= 7_200_000, f"a time limit: {limited}")
    expect("left" in pawl("hostile.db", "list", "--prefix", "new"), "the list shows it")
    run("time-limit", "new", "0")
    expect("time_limit_ms" not in run("show", "new")[0]["instance"], "no time limit")
    run("start", "keeper", "--id", "limited", "--time-limit", "1h")
    expect(run("show", "limited")[0]["instance"]["time_limit_ms"] == 3_600_000, "a start with a time limit")
    run("start", "keeper", "--id", "bad", "--time-limit", "0", status=1)
    pawl("hostile.db", "delete", "--force", "limited")
    expect(run("cancel", "new") == [{"done": "cancel", "id": "new"}], "cancel")
    run("time-limit", "new", "1h", status=1)
    expect(run("cancel", "--prefix", "ne") == [{"done": "cancel", "instances": 0}], "asked before")
    expect(run("terminate", "new", "--reason", HOSTILE)[0]["done"] == "terminate", "terminate")
    # A message starts what is not there, and a start says what an id in use means (R10.5).
    run("enqueue", "begun", "queue", "m", status=3)
    run("enqueue", "begun", "queue", "m", "--start", "keeper", "--input", "in")
    expect(run("show", "begun")[0]["instance"]["name"] == "keeper", "the message started it")
    run("start", "keeper", "--id", "begun", status=1)
    run("start", "keeper", "--id", "begun", "--take-running")
    pawl("hostile.db", "delete", "--force", "begun")
    run("raise", "begun", "go", "m", "--start", "other")
    expect(run("show", "begun")[0]["instance"]["name"] == "other", "a removed id is free")
    pawl("hostile.db", "delete", "--force", "begun")
    # A message with a key is one, and a call has one answer (R11.1, R13.2).
    run("start", "keeper", "--id", "once")
    for _ in range(2):
        run("enqueue", "once", "queue", "m", "--key", "k")
    run("raise", "once", "queue", "m", "--key", "k", status=1)
    pawl("hostile.db", "delete", "--force", "once")
    # A call is answered while nobody waits; asked again with its key, it has that answer.
    busy = [*PROGRAM, "calls.db", "busy"]
    subprocess.run([*busy, "1"], cwd=SCRATCH, check=False, timeout=120)
    for id, text in (("asked", "yes"), ("refused", "no")):
        said = pawl("calls.db", "call", id, "queue", text, "--start", "keeper", "--key", "k", "--timeout", "1ms", status=4)
        expect("ask again with --key k" in said, said)
    subprocess.run([*busy, "50"], cwd=SCRATCH, check=False, timeout=120)
    expect(run("call", "asked", "queue", "yes", "--key", "k", database="calls.db") == [{"value": "yes"}], "an answer")
    expect(run("call", "refused", "queue", "no", "--key", "k", status=5, database="calls.db") ==
           [{"error": "application", "value": "not that"}], "a refusal")
    expect(pawl("calls.db", "call", "refused", "queue", "no", "--key", "k", status=5) ==
           "refused: application: not that\n", "in words")
    # Activities that are completed from outside.
    subprocess.run([*PROGRAM, "asks.db", "ask"], cwd=SCRATCH, check=True, timeout=120)
    tokens = {}
    for row in run("queue", "--state", "outside", database="asks.db"):
        expect(row["work"]["state"] == "outside" and row["work"]["outside_since_ms"] > 0, f"it is outside: {row}")
    expect("an answer since" in pawl("asks.db", "queue"), "and people see since when")
    waits = run("explain", "asks-1", database="asks.db")
    expect(len(waits) == 1 and waits[0]["kind"] == "outside" and waits[0]["attempt"] == 1, f"causes: {waits}")
    none = subprocess.run([*PAWL, "--db", "asks.db", "explain", "none", "--json"], cwd=SCRATCH, capture_output=True, text=True, timeout=60)
    expect(none.returncode == 3 and none.stdout == "", f"nothing before an error: {none.stdout!r}")
    text = pawl("asks.db", "explain", "asks-1")
    expect(re.fullmatch(r"outside\tevent \d+, \w+, attempt 1, since \S+\n\tComplete it by its token\.\n", text), text)
    for id in ("asks-1", "asks-2", "asks-3"):
        tokens[id] = run("show", id, database="asks.db")[0]["activities"][0]["last_progress"]
    one, two, three = tokens["asks-1"], tokens["asks-2"], tokens["asks-3"]
    expect(run("heartbeat", one, "half", database="asks.db")[0] == {"done": "heartbeat", "id": one}, "heartbeat")
    expect(run("complete", one, "yes", database="asks.db")[0] == {"done": "complete", "id": one}, "complete")
    run("complete", one, "yes", database="asks.db")
    run("complete", one, "no", status=1, database="asks.db")
    run("heartbeat", one, status=3, database="asks.db")
    expect(run("fail", two, "no", "--permanent", database="asks.db")[0] == {"done": "fail", "id": two}, "fail")
    run("complete", three, database="asks.db")
    expect("invalid_argument" in pawl("asks.db", "complete", "x", status=1), "what is no token")
    expect("no activity waits" in pawl("asks.db", "complete", "1-" + 32 * "0", status=3), "a token of none")
    # Each end has an exit code of its own.
    expect(run("wait", "failing", status=5)[0]["error"] == "application", "it failed")
    expect(is_shown(pawl("hostile.db", "wait", "failing", status=5)), "with a hostile text")
    pawl("hostile.db", "start", "unknown", "--id", "stopped")
    with sqlite3.connect(os.path.join(SCRATCH, "hostile.db")) as database:
        database.execute("UPDATE instances SET state=3 WHERE id='stopped'")
    expect(json.loads(pawl("hostile.db", "wait", "stopped", "--json", status=6))["state"] == "stopped", "it is stopped")
    pawl("hostile.db", "delete", "--force", "stopped")
    expect(run("restart", "failing", "--from", "start")[0]["done"] == "restart", "restart")
    expect(run("wait", "a-small", "--timeout", "0", status=3) == [], "an id that the planting changed")
    expect(run("wait", HOSTILE, "--timeout", "0")[0]["output"] == "s", "its result")
    expect(run("wait", "e-small", "--timeout", "0")[0]["state"] == "completed", "its state")
    expect(len(run("list")) == 9 and run("list", "--name", "trying", lines=1), "list")
    for command in ("history", "values", "tree", "children", "watch"):
        run(command, HOSTILE)
    run("watch", HOSTILE, "--events", "--status")
    run("show", "trying")
    run("history", "hostile")
    run("values", "hostile")
    run("metrics", lines=1)
    work = run("queue", lines=1)[0]["work"]
    expect(work["instance_id"] == "trying" and work["name"] == "hopeless" and work["state"] == "delayed", f"{work}")
    expect(run("queue", "--name", "hopeless") == run("queue", "trying") == [{"work": work}], "of it")
    expect(run("queue", "--state", "delayed") == [{"work": work}], "in its state")
    for other in (["--name", "echo"], ["--tag", "t"], ["--session", "s"], ["--state", "running"]):
        run("queue", *other, lines=0)
    pawl("hostile.db", "start", "unknown", "a b", "--id", "kept")
    pawl("hostile.db", "enqueue", "kept", "mail", "x\x1b\u2067\n")
    messages = [row["message"] for row in run("queue", "kept", lines=2)]
    expect([(one["kind"], one["name"], one["payload"]) for one in messages] ==
           [("start", "unknown", "a b"), ("queue", "mail", "x\x1b\u2067\n")], f"{messages}")
    expect("\tmail\t6\tx\\x1b\\u2067\\n\n" in shown(2, "queue", "kept"), "for people")
    run("workers", lines=1)
    run("sessions", lines=1)
    run("leaks", "--open", "1ms")
    run("quota", "0", lines=1)
    run("prune", "--all", lines=1)
    run("delete", "e-small", lines=1)
    run("delete-ended", lines=1)
    seen["top"] = set(run("top", "--once", "--every", "100ms", lines=1)[0])
    exported = [json.loads(line) for line in pawl("hostile.db", "export", "--json").splitlines()]
    expect(all(len(row) == 1 and set(row) <= page["export"][1] for row in exported), "export")
    seen["export"] = {key for row in exported for key in row}
    expect(seen["export"] >= {"instance", "status", "execution", "history_of", "event"}, f"{seen['export']}")
    ids = [json.loads(line)["id"] for line in pawl("hostile.db", "list", "--json").splitlines()]
    expect([row["instance"]["id"] for row in exported if "instance" in row] == ids, "all instances, in order")
    run("backup", "hostile.copy", lines=1)
    expect(run("upgrade") == [{"done": "upgrade", "converted": False}], "e2e.upgrade.converted converts one")
    seen["upgrade"].update(("format", "bytes"))
    run("doctor", "--for", "10ms", "--endurance", "1T", lines=1)
    expect(run("check", "--with", *PROGRAM, "check", status=5, lines=1)[0]["go"] is False, "no-go")
    # What is refused is JSON, too.
    for wrong, status, name in ((["show", "nobody"], 3, "not_found"), (["list", "--colour"], 2, "usage"),
                                (["dance"], 2, "usage"), (["wait", "trying", "--timeout", "1ms"], 4, "timeout"),
                                (["suspend", "a-small"], 3, "not_found")):
        said = json.loads(pawl("hostile.db", *wrong, "--json", status=status))
        expect(set(said) == {"error", "text", "exit"} and said["error"] == name and said["exit"] == status, f"{said}")
    missing = {"drain", "undrain", "forget-device", "transfer", "evict", "close", "hold", "handoff",
               "change-session", "restore"}  # e2e.tool.tool and e2e.tool.files run them
    expect(set(page) == set(seen) | missing, f"documented and not run: {set(page) - set(seen) - missing}")


# ---- files ----


def execution_of(database):
    return int(json.loads(pawl(database, "list", "--json"))["execution_id"])


def goes_on(database):
    """A writer, which has written at least a few executions more."""
    before = execution_of(database) if os.path.exists(os.path.join(SCRATCH, database)) else 0
    writer = subprocess.Popen([*PROGRAM, database, "busy"], cwd=SCRATCH)
    deadline = time.monotonic() + 100
    while not os.path.exists(os.path.join(SCRATCH, database)) and time.monotonic() < deadline:
        time.sleep(0.05)
    wait_for("forever\tforever\trunning\t", database, "list")
    while execution_of(database) < before + 5:
        expect(time.monotonic() < deadline, f"{database} does not go on")
    return writer


def files():
    """Backups of a database that is written, and what restore refuses."""
    writer = goes_on("busy.db")
    try:
        for number in range(5):
            said = json.loads(pawl("busy.db", "backup", f"copy{number}", "--json"))
            expect(set(said) == {"done", "file", "bytes"} and said["bytes"] > 0, f"{said}")
            expect(os.stat(os.path.join(SCRATCH, f"copy{number}")).st_mode & 0o777 == 0o600, "nobody else reads it")
        expect("already_exists" in pawl("busy.db", "backup", "copy0", status=1), "it replaces nothing")
        pawl("busy.db", "backup", "copy0", "--force")
        refused = pawl("busy.db", "restore", "copy1", "--force", status=1)
        expect(refused.startswith("pawl: busy: busy.db is in use") and str(writer.pid) in refused or EMULATOR, refused)
        # What the workers' processes write is seen where /proc can be read.
        said = json.loads(pawl("busy.db", "doctor", "--for", "300ms", "--endurance", "10TB", "--json"))
        expect(said["healthy"] and said["workers"] == 1 and said["unfinished"] == 1, f"{said}")
        if not EMULATOR:
            expect(said["bytes_a_day"] >= 0 and ("endurance_days" in said or said["bytes_a_day"] == 0), f"{said}")
        top = json.loads(pawl("busy.db", "top", "--once", "--every", "200ms", "--json"))
        expect([one["id"] for one in top["instances"]] == ["forever"] and len(top["workers"]) == 1, f"{top}")
    finally:
        writer.kill()
        writer.wait()
    executions = [execution_of(f"copy{number}") for number in range(5)]
    expect(executions[1:] == sorted(executions[1:]), f"each is of its moment: {executions}")
    for number in range(5):
        expect(json.loads(pawl(f"copy{number}", "doctor", "--json"))["healthy"], f"copy{number}")
    copy = goes_on("copy3")
    copy.kill()
    copy.wait()
    restores()
    damage()


def listing():
    """Each file of the folder, with its number and, where no process writes it meanwhile, what is in it."""
    found = {}
    for folder, _, names in os.walk(SCRATCH):
        for name in names:
            path = os.path.join(folder, name)
            found[os.path.relpath(path, SCRATCH)] = os.lstat(path).st_ino
    return found


def refused_output(database, *arguments, says="busy.db"):
    """It is refused with a text that names what would go, and nothing is another file than before."""
    before = listing()
    said = pawl(database, *arguments, status=1)
    expect(says in said, f"{arguments}: {said}")
    after = listing()
    moved = {name for name in before if after.get(name) != before[name]}
    left = [name for name in after if name not in before and name.endswith(".part")]
    expect(not moved and not left, f"{arguments} changed {moved}, left {left}")
    return said


def outputs():
    """No command writes over a database that is in use, nor over a file of one, whatever name it is given."""
    writer = goes_on("busy.db")
    try:
        outputs_beside(writer)
    finally:
        writer.kill()
        writer.wait()
    outputs_onto_logs()


def outputs_beside(writer):
    pawl("busy.db", "backup", "copy")
    shut = [name for name in listing() if name == "busy.db" or name.startswith("busy.db-")]
    expect({"busy.db", "busy.db-wal", "busy.db-shm", "busy.db-bell"} <= set(shut) and
           [name for name in shut if name.startswith("busy.db-workers/")], f"{shut}")
    for name in [*shut, "busy.db-journal", "busy.db-new", "busy.db-http", "busy.db-http.lock", "busy.db-workers/new"]:
        path = os.path.join(SCRATCH, name)
        refused_output("busy.db", "backup", "--force", name)
        refused_output(os.path.join(SCRATCH, "busy.db"), "backup", "--force", os.path.join("..", os.path.basename(SCRATCH), name))
        # By another database's name: what is in use is in use.
        refused_output("copy", "backup", "--force", name)
        if os.path.exists(path):
            os.symlink(path, os.path.join(SCRATCH, "link"))
            refused_output("busy.db", "backup", "--force", "link")
            os.unlink(os.path.join(SCRATCH, "link"))
    for name in shut:
        os.link(os.path.join(SCRATCH, name), os.path.join(SCRATCH, "second"))
        refused_output("copy", "backup", "--force", "second", says="second")
        os.unlink(os.path.join(SCRATCH, "second"))
    # Under the name of the copy that is made, too; and a restore reads what it must not remove.
    shutil.copy(os.path.join(SCRATCH, "copy"), os.path.join(SCRATCH, "old.part"))
    refused_output("old.part", "backup", "old", says="old.part")
    refused_output("old", "restore", "old.part", says="old.part")
    for name in ("busy.db", "busy.db-wal"):
        refused_output(name, "restore", "--force", "copy")
    # A shell has opened the output before the tool begins.
    for name in ("busy.db-bell", "busy.db-wal"):
        size = os.path.getsize(os.path.join(SCRATCH, name))
        with open(os.path.join(SCRATCH, name), "ab") as out:
            run = subprocess.run([*PAWL, "--db", "busy.db", "export"], cwd=SCRATCH, stdout=out, stderr=subprocess.PIPE, text=True,
                                 timeout=60, check=False)
        expect(run.returncode == 1 and name in run.stderr, f"export to {name}: {run.returncode} {run.stderr}")
        expect(name != "busy.db-bell" or os.path.getsize(os.path.join(SCRATCH, name)) == size, f"{name} has not grown")
    # Any file that a process writes.
    with open(os.path.join(SCRATCH, "notes"), "w", encoding="ascii") as held:
        if not EMULATOR:
            expect(f"process {os.getpid()}" in refused_output("busy.db", "backup", "--force", "notes", says="in use"), "it is named")
        held.write("kept")
    pawl("busy.db", "backup", "--force", "notes")
    before = execution_of("busy.db")
    while execution_of("busy.db") < before + 3:
        expect(writer.poll() is None, "the writer has ended")
    expect(json.loads(pawl("busy.db", "doctor", "--json"))["healthy"], "the database is sound")


def outputs_onto_logs():
    """A log that lies beside the copy's place would be taken for the copy's."""
    for ending in ("-wal", "-journal"):
        with open(os.path.join(SCRATCH, "copy" + ending), "wb") as log:
            log.write(b"of another")
        for given in (["--force", "copy"], ["copy2"]):
            if given == ["copy2"]:
                os.rename(os.path.join(SCRATCH, "copy" + ending), os.path.join(SCRATCH, "copy2" + ending))
            expect("of another file" in pawl("busy.db", "backup", *given, status=1), f"backup {given} beside {ending}")
        os.unlink(os.path.join(SCRATCH, "copy2" + ending))


def numbers_of(name):
    """What the database gives out next, never twice."""
    with sqlite3.connect(os.path.join(SCRATCH, name)) as database:
        given = {f"numbers of {table}": number for table, number in database.execute("SELECT name, seq FROM sqlite_sequence")}
        given["epochs"], given["tokens"] = database.execute("SELECT next_epoch, next_token FROM meta").fetchone()
    return given


def expect_no_number_again(name, of):
    """Idempotency keys, epochs and names of folders are made of them."""
    now, given = numbers_of(name), numbers_of(of)
    expect({"epochs", "tokens", "numbers of instances", "numbers of sessions", "numbers of workers"} <= set(now), f"{now}")
    for what, number in now.items():
        expect(number >= given.get(what, 0) + 2**29, f"{what} of {name}: {number}, and {of} has given {given.get(what)}")


def restores():
    """Into the place of its own database it goes; anywhere else its identity would be there twice."""
    own = execution_of("busy.db")
    expect("would_fork" in pawl("other.db", "restore", "copy2", status=1), "two of them")
    expect(not [name for name in os.listdir(SCRATCH) if name.startswith("other.db")], "nothing is left")
    expect("already_exists" in pawl("busy.db", "restore", "copy2", status=1), "it replaces nothing unless told")
    expect("not_found" in pawl("busy.db", "restore", "no-copy", "--force", status=3), "no backup")
    pawl("busy.db", "restore", "copy2", "--force")
    expect(execution_of("busy.db") == execution_of("copy2"), "the state of the backup")
    expect(execution_of("busy.db.replaced") == own, "what was there is kept")
    expect_no_number_again("busy.db", "busy.db.replaced")
    again = goes_on("busy.db")
    again.kill()
    again.wait()
    said = json.loads(pawl("other.db", "restore", "copy2", "--same-identity", "--json"))
    expect(set(said) == {"done", "file", "bytes"} and execution_of("other.db") == execution_of("copy2"), f"{said}")
    expect_no_number_again("other.db", "busy.db.replaced")
    pawl("copy2", "delete", "--force", "forever")
    pawl("third.db", "restore", "copy2")  # nothing is in flight: nothing is done twice
    expect_no_number_again("third.db", "copy2")


def damage():
    """Findings, whatever is wrong with the file; and no copy of it."""
    with open(os.path.join(SCRATCH, "other.db"), "r+b") as file:
        pages = len(file.read()) // 512
        for page in range(pages // 2, pages):
            file.seek(512 * page + 7)
            file.write(b"\xff" * 450)
    said = json.loads(pawl("other.db", "doctor", "--json", status=5))
    expect(not said["healthy"] and said["findings"], f"{said}")
    expect("finding\t" in pawl("other.db", "doctor", status=5), "for people, too")
    expect("corrupt" in pawl("other.db", "backup", "bad", status=1), "it is not copied")
    with open(os.path.join(SCRATCH, "junk.db"), "wb") as file:
        file.write(bytes(range(256)) * 20)
    expect("not a database" in pawl("junk.db", "doctor", status=5), "no database at all")
    with sqlite3.connect(os.path.join(SCRATCH, "foreign.db")) as foreign:
        foreign.execute("CREATE TABLE t(a)")
    expect("foreign_database" in pawl("foreign.db", "doctor", status=1), "of another program")
    expect("foreign_database" in pawl("foreign.db", "backup", "bad", status=1), "likewise")
    for command in (["doctor"], ["backup", "bad"], ["list"], ["check", "--with", "true"], ["export"]):
        expect("not_found: there is no file missing.db" in pawl("missing.db", *command, status=3), f"none: {command}")
    expect(not os.path.exists(os.path.join(SCRATCH, "missing.db")), "and none is made")
    pawl("busy.db", "suspend", "forever")
    with sqlite3.connect(os.path.join(SCRATCH, "busy.db")) as database:
        database.execute("UPDATE instances SET parent=999, parent_execution=1, parent_event=1, root=999")
    said = json.loads(pawl("busy.db", "doctor", "--json", status=5))
    expect(said["orphans"] == 1 and "not there" in said["findings"][0], f"{said}")
    left = [name for name in os.listdir(SCRATCH) if name.startswith("bad") or ".part" in name or "-doctor" in name]
    expect(not left, f"left behind: {left}")


# ---- restore ----


def restore():
    """What is there is never lost, whatever happens on the way, and a copy becomes a database of its own when told."""
    went_on("busy.db")
    pawl("busy.db", "backup", "copy")
    went_on("busy.db")
    refused()
    if not EMULATOR:
        interrupted()
        made_meanwhile()
        replaced_meanwhile()
    new_identity()


def went_on(database):
    """A writer was killed there after some rounds: as many on a slow machine as on a fast one, since each write of
    a restore is a step of the test."""
    writer = subprocess.run([*PROGRAM, database, "busy", "20"], cwd=SCRATCH, timeout=100)
    expect(writer.returncode == -9, f"{database}: {writer.returncode}")


def stop(writer):
    writer.kill()
    writer.wait()


def fresh(name):
    """busy.db as the writer that was killed left it, alone in a folder."""
    folder = os.path.join(SCRATCH, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    for ending in ("", "-wal"):
        if size_of("busy.db" + ending) > 0:
            shutil.copy(os.path.join(SCRATCH, "busy.db" + ending), os.path.join(folder, "one.db" + ending))
    os.chmod(os.path.join(folder, "one.db"), 0o660)
    return os.path.join(folder, "one.db")


def refused():
    expect("opposite" in pawl("new.db", "restore", "copy", "--same-identity", "--new-identity", status=2), "both")
    with open(os.path.join(SCRATCH, "new.db-wal"), "wb") as log:
        log.write(b"of another")
    expect("of another file than the new one" in pawl("new.db", "restore", "copy", "--same-identity", status=1), "a log alone")
    with open(os.path.join(SCRATCH, "new.db-wal"), "rb") as log:
        expect(log.read() == b"of another", "which stays")
    os.remove(os.path.join(SCRATCH, "new.db-wal"))
    # What is in the place is kept, whatever it is.
    with open(os.path.join(SCRATCH, "junk.db"), "wb") as junk:
        junk.write(b"no database")
    pawl("junk.db", "restore", "copy", "--force", "--same-identity")
    with open(os.path.join(SCRATCH, "junk.db.replaced"), "rb") as junk:
        expect(junk.read() == b"no database" and execution_of("junk.db") == execution_of("copy"), "it is kept")
    expect(not [name for name in os.listdir(SCRATCH) if name.startswith("new.db")], "nothing is left")


def with_step(path, number, when):
    """An environment in which something happens at the that many-th write, flush or rename of files that begin so."""
    return dict(os.environ, LD_PRELOAD=os.path.join(BUILD, "test", "shim", "libcrash_at.so"),
                ASAN_OPTIONS="verify_asan_link_order=0:detect_leaks=0", PAWL_CRASH_PREFIX=path,
                PAWL_CRASH_REPORT=os.path.join(SCRATCH, "report"), PAWL_CRASH_AT=str(number), PAWL_CRASH_WHEN=when)


def restore_step(database, number, when):
    """A restore, and what happened to it."""
    run = subprocess.run([*PAWL, "--db", database, "restore", "copy", "--force"], cwd=SCRATCH, capture_output=True,
                         text=True, timeout=60, env=with_step(os.path.dirname(database), number, when))
    with open(os.path.join(SCRATCH, "report"), encoding="utf-8") as said:
        return run, said.read()


def interrupted():
    """Killed at each step, and with each step failing: one of the two is there, and so is the old one."""
    path = fresh("steps")
    old, copy = execution_of(path), execution_of("copy")
    expect(old > copy, "they can be told apart")
    fresh("steps")
    steps = int(restore_step(path, 0, "after")[1].split()[1])
    expect(execution_of(path) == copy and execution_of(path + ".replaced") == old, "nothing happens to it")
    expect(os.stat(path).st_mode & 0o777 == 0o660, "it has the mode of the old one")
    outcomes = set()
    every = range(1, steps + 1)
    for when, numbers in (("before", every), ("after", every[-1:]), ("fail", every)):
        for number in numbers:
            fresh("steps")
            run, said = restore_step(path, number, when)
            where = f"{when} {number} of {steps}: {said}{run.stderr}"
            expect(run.returncode == -9 or when == "fail", where)
            left = {name for name in os.listdir(os.path.dirname(path)) if "one.db." in name}
            now = execution_of(path)
            expect(now == old or now == copy and execution_of(path + ".replaced") == old, f"{where}: {now}")
            if when == "fail" and run.returncode != 0:
                expect(now == old and left == set(), f"it says that it failed, and has left {left}: {where}")
            outcomes.add((when, now == old))
            # The next one does not mind what is left.
            if when != "fail" and left != {"one.db.part"}:
                pawl(path, "restore", "copy", "--force")
                expect(execution_of(path) == copy, where)
    expect(outcomes >= {("before", True), ("before", False), ("after", False), ("fail", True)}, f"{outcomes}")


def made_meanwhile():
    """A database that a process made in the empty place while the copy was made stays."""
    path = os.path.join(SCRATCH, "late.db")
    restoring = subprocess.Popen([*PAWL, "--db", path, "restore", "copy", "--same-identity"], cwd=SCRATCH,
                                 stderr=subprocess.PIPE, text=True, env=with_step(path + ".part", 1, "stop"))
    os.waitid(os.P_PID, restoring.pid, os.WSTOPPED | os.WNOWAIT)
    stop(goes_on("late.db"))
    os.kill(restoring.pid, signal.SIGCONT)
    said = restoring.communicate(timeout=100)[1]
    expect(restoring.returncode == 1 and "was made by another process" in said, said)
    expect(diagnosis("late.db")["database_id"] != diagnosis("copy")["database_id"], "it stays")
    expect(not os.path.exists(path + ".part"), "and no copy does")


def replaced_meanwhile():
    """Who waits for the lock while a database is replaced does not work on the one that was replaced."""
    path = fresh("turn")
    pawl(path, "list")  # folds the log
    shutil.copy(os.path.join(SCRATCH, "copy"), os.path.join(SCRATCH, "next.db"))
    with open(path, "r+b") as file:
        # As WholeLock has it.
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 512, 0x40000000)
        starting = subprocess.Popen([*PROGRAM, path, "busy"], cwd=SCRATCH, stderr=subprocess.PIPE, text=True)
        folder = f"/proc/{starting.pid}/fd"
        while starting.poll() is None and path not in [os.path.realpath(os.path.join(folder, one))
                                                       for one in os.listdir(folder)]:
            time.sleep(0.01)
        expect(starting.poll() is None, "it waits for the lock")
        os.rename(path, path + ".replaced")
        os.rename(os.path.join(SCRATCH, "next.db"), path)
        before = file.read()
    try:
        said = starting.communicate(timeout=60)[1]
    finally:
        starting.kill()  # one that goes on with the old file never ends
    expect(starting.returncode == 1 and "busy" in said and "was replaced by another file" in said, said)
    with open(path + ".replaced", "rb") as file:
        expect(file.read() == before, "it has not written into it")
    stop(goes_on(path))


def new_identity():
    root = os.path.join(SCRATCH, "root")
    os.mkdir(root)
    subprocess.run([*CAMP, "camp.db", "camp", root], cwd=SCRATCH, check=True, timeout=120)
    pawl("camp.db", "backup", "camp.copy")
    expect("would_fork" in pawl("twin.db", "restore", "camp.copy", status=1), "unless told")
    pawl("twin.db", "restore", "camp.copy", "--new-identity")
    expect({name for name in os.listdir(SCRATCH) if name.startswith("twin.db")} <= {"twin.db"}, "nothing beside it")
    own, other = diagnosis("camp.db", status=5), diagnosis("twin.db", status=5)
    expect(re.fullmatch("[0-9a-f]{32}", other["database_id"]) and own["database_id"] != other["database_id"], "the id")
    expect(other["unfinished"] == own["unfinished"] == 2, f"{other}")

    def tent(database):
        return [json.loads(row) for row in pawl(database, "sessions", "--json").splitlines()][0]

    folder = tent("camp.db")["folder"]
    expect(os.path.isdir(folder) and "folder" not in tent("twin.db"), "the copy has none of its folders")
    # With the same place for folders the copy ends its session, and leaves the original's alone.
    pawl("twin.db", "terminate", "stays")
    for number in (97, 98, 99):
        os.mkdir(os.path.join(root, f"{other['database_id']}-{number}.1"))
    subprocess.run([*CAMP, "twin.db", "end", root], cwd=SCRATCH, check=True, timeout=120)
    expect(pawl("twin.db", "sessions").count("tent") == 0 and os.path.isdir(folder), "the original's stays")
    expect(tent("camp.db")["folder"] == folder, "and so does its session")
    # The copy's keys are not those of the original.
    keys = set()
    for database in ("camp.db", "twin.db"):
        said = subprocess.run([*CAMP, database, "key", "bed-7"], cwd=SCRATCH, check=True, timeout=120,
                              capture_output=True, text=True).stdout
        expect(said.startswith("key "), said)
        keys.add(said)
    expect(len(keys) == 2, f"{keys}")
    # Told so, it is another one even in the place of the original.
    pawl("camp.db", "restore", "camp.copy", "--force", "--new-identity")
    expect(diagnosis("camp.db", status=5)["database_id"] not in (own["database_id"], other["database_id"]), "anew")
    expect(diagnosis("camp.db.replaced", status=5)["database_id"] == own["database_id"], "the original is kept")


# ---- doctor ----


def diagnosis(database, *arguments, status=0):
    return json.loads(pawl(database, "doctor", "--json", *arguments, status=status))


def size_of(name):
    path = os.path.join(SCRATCH, name)
    return os.stat(path).st_size if os.path.exists(path) else 0


def written_by(pid):
    with open(f"/proc/{pid}/io", encoding="ascii") as counts:
        return int(re.search(r"^write_bytes: (\d+)$", counts.read(), re.M)[1])


def doctor():
    """Each thing that it says is as others see it, and each that it finds goes when it is put right."""
    subprocess.run(HELLO, cwd=SCRATCH, check=True, stdout=subprocess.DEVNULL, timeout=120)
    facts()
    wear()
    found_folders()
    found_devices()


def broken_links(database):
    row, instance, event, prev = database.execute(
        "SELECT row_number, instance, id, prev FROM history ORDER BY row_number DESC LIMIT 1").fetchone()
    for changes, was, missing in (("prev", prev, event - 1), ("id", event, event)):
        database.execute(f"UPDATE history SET {changes}=? WHERE row_number=?", (row + 7, row))
        database.commit()
        said = diagnosis("hello.db", status=5)
        name = f"history of instance {instance}, execution 1, event {missing}: is missing, or its link is wrong"
        expect(name in said["findings"], f"{said}")
        with tempfile.TemporaryDirectory() as folder:
            pawl("hello.db", "backup", os.path.join(folder, "copy"))  # one instance stops, and no backup
        database.execute(f"UPDATE history SET {changes}=? WHERE row_number=?", (was, row))
        database.commit()
    expect(diagnosis("hello.db")["healthy"], "mended")


def facts():
    said = diagnosis("hello.db")
    expect(said["healthy"] and said["findings"] == [] and said["folder_roots"] == 0, f"{said}")
    with sqlite3.connect(os.path.join(SCRATCH, "hello.db")) as database:
        expect(said["format"] == database.execute("PRAGMA user_version").fetchone()[0] == 2, "the format")
        expect(said["database_id"] == database.execute("SELECT database_id FROM meta").fetchone()[0], "the id")
        expect(said["file_bytes"] == size_of("hello.db") > 0, "the size")
        # The log, as of a writer that has not ended.
        database.execute("PRAGMA wal_autocheckpoint=0")
        database.execute("DELETE FROM clock_ring")
        database.commit()
        logged = diagnosis("hello.db")
        expect(logged["log_bytes"] == size_of("hello.db-wal") > 0, f"{logged}")
        expect(not logged["clock_was_trusted"], "never trusted")
        database.execute("INSERT INTO clock_ring VALUES(1,1,'synced',1,1,1,0)")
        database.commit()
        expect(diagnosis("hello.db")["clock_was_trusted"], "trusted once")
        database.execute("INSERT INTO kv VALUES(999,'k',1,0,NULL,1,0)")
        database.commit()
        said = diagnosis("hello.db", status=5)
        expect(said["orphans"] == 1 and said["findings"] == ["1 row belongs to an instance that is not there"], f"{said}")
        database.execute("DELETE FROM kv WHERE instance=999")
        broken_links(database)
    if not EMULATOR:
        # As the kernel has it: STA_UNSYNC in what adjtimex() answers.
        timex = (ctypes.c_char * 512)()
        state = ctypes.CDLL(None).adjtimex(timex)
        unsynchronised = state == 5 or int.from_bytes(timex[40:44], sys.byteorder) & 0x40 != 0
        expect(diagnosis("hello.db")["clock_is_trusted"] == (not unsynchronised), "the clock now")
    foreign = os.path.join(SCRATCH, "newer.db")
    shutil.copy(os.path.join(SCRATCH, "hello.db"), foreign)
    with sqlite3.connect(foreign) as database:
        database.execute("PRAGMA user_version=999")
    expect("newer_database" in pawl("newer.db", "doctor", status=1), "a format of the future is named")
    with sqlite3.connect(foreign) as database:
        database.execute("PRAGMA user_version=1")
    expect("older_database" in pawl("newer.db", "doctor", status=1), "a format of the past is named")


def wear():
    """Flushes are made, and what the worker writes is what the kernel counts for it."""
    if EMULATOR:
        return
    subprocess.run([*PAWL, "--db", "hello.db", "doctor"], cwd=SCRATCH, capture_output=True, check=True, timeout=60,
                   env=with_step(os.path.join(SCRATCH, "hello.db-doctor"), 0, "after"))
    with open(os.path.join(SCRATCH, "report"), encoding="ascii") as counts:
        expect(counts.read() == "total 40 write 20 sync 20 rename 0 truncate 0\n", "twenty flushes of a page each")
    said = diagnosis("hello.db")
    expect(0 < said["flush_median_us"] <= said["flush_most_us"], f"{said}")
    expect("bytes_a_day" not in said and "endurance_days" not in said, "nothing was measured")
    # Where the file lies on a block device of this kernel, that is what is counted.
    device = os.stat(os.path.join(SCRATCH, "hello.db")).st_dev
    block = f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat"
    expect(("flush_card_bytes" in said) == os.path.exists(block), f"{said}")
    expect(said.get("flush_card_bytes", 4096) >= 4096, f"{said}: a page a flush at least reaches it")
    with open("/proc/self/mountinfo", encoding="ascii", errors="replace") as mounts:
        lines = [line.split() for line in mounts if line.split()[2] == f"{os.major(device)}:{os.minor(device)}"]
    expect(("file_system" in said) == bool(lines), f"{said}")
    expect(not lines or said["file_system"] == lines[-1][lines[-1].index("-") + 1], f"{said}, {lines}")
    writer = goes_on("busy.db")
    try:
        before = written_by(writer.pid)
        said = diagnosis("busy.db", "--for", "300ms", "--endurance", "10TB")
        after = written_by(writer.pid)
        expect(said["workers"] == 1, f"{said}")
        if after > before:  # not where the folder is in memory
            expect(0 < said["bytes_a_day"] * 300 / 86400000 <= after - before, f"{said}, {after - before}")
            expect(said["endurance_days"] == 10**13 // said["bytes_a_day"], f"{said}")
            text = pawl("busy.db", "doctor", "--for", "300ms", "--endurance", "10TB")
            expect("\nwrites\t" in text and "\nendurance\t" in text, text)
    finally:
        writer.kill()
        writer.wait()


def used(database, ms_ago):
    """A folder may be made right behind the commit that names it, so it matters when a session was used."""
    with sqlite3.connect(os.path.join(SCRATCH, database)) as rows:
        rows.execute("UPDATE sessions SET last_activity_at=last_activity_at-?", (ms_ago,))


def found_folders():
    root = os.path.join(SCRATCH, "root")
    os.mkdir(root)
    subprocess.run([*CAMP, "camp.db", "camp", root], cwd=SCRATCH, check=True, timeout=120)
    used("camp.db", 3600000)
    said = diagnosis("camp.db", status=5)
    own = said["database_id"]
    kept, gone = (os.path.join(root, f"{own}-{number}.1") for number in (1, 2))
    # Its process ended before it looked for folders of ended sessions.
    if not os.path.exists(gone):
        os.mkdir(gone)
    said = diagnosis("camp.db", status=5)
    expect(said["folders_orphaned"] == 1 and said["folders_orphaned_first"] == [gone], f"{said}")
    expect(said["folders_missing"] == 0 and said["folder_roots"] == 1 and said["folders_foreign"] == 0, f"{said}")
    expect(any("no open session" in text and gone in text for text in said["findings"]), f"{said}")
    os.rmdir(gone)
    # What is not quite such a name, and what another database has there, is none of it.
    for name in (f"{own}-1.1x", f"{own}-.1", f"{own}-1", "lost+found", f"{'0' * 32}-1.1"):
        os.mkdir(os.path.join(root, name))
    said = diagnosis("camp.db", status=5)
    expect(said["folders_orphaned"] == 0 and said["folders_foreign"] == 1, f"{said}")
    # An earlier opening of the session that is there, and a place that no row names.
    other = os.path.join(SCRATCH, "other")
    for path in (os.path.join(root, f"{own}-1.0"), os.path.join(other, f"{own}-7.1")):
        os.makedirs(path)
    said = diagnosis("camp.db", status=5)
    expect(said["folders_orphaned_first"] == [os.path.join(root, f"{own}-1.0")], f"{said}")
    said = diagnosis("camp.db", "--folders", other, "--folders", os.path.join(SCRATCH, "none"), status=5)
    expect(said["folders_orphaned"] == 2 and said["folder_roots"] == 3, f"{said}")
    expect(said["folder_roots_unread"] == 1 and "none" in said["folder_roots_unread_first"][0], f"{said}")
    # Bounded, however many there are.
    for number in range(100, 150):
        os.mkdir(os.path.join(root, f"{own}-{number}.1"))
    said = diagnosis("camp.db", status=5)
    expect(said["folders_orphaned"] == 51 and len(said["folders_orphaned_first"]) == 20, f"{said}")
    text = pawl("camp.db", "doctor", status=5)
    expect("\nfolders\t51 orphaned, 0 missing, 1 of other databases, in 1 place\n" in text, text)
    expect(len(text) < 4000 and text.count(root) == 3, text)
    os.rmdir(kept)
    said = diagnosis("camp.db", status=5)
    expect(said["folders_missing"] == 1 and said["folders_missing_first"] == [kept], f"{said}")
    expect(any("lost its folder" in finding for finding in said["findings"]), f"{said}")
    used("camp.db", -2 * 3600000)
    expect(diagnosis("camp.db", status=5)["folders_missing"] == 0, "it is about to be made")


def found_devices():
    """A device without a worker waits, and so does one whose worker was killed; not one that is served."""
    said = diagnosis("camp.db", status=5)
    expect(said["devices_waiting"] == 1 and said["devices_waiting_first"] == ["bed-7"], f"{said}")
    expect([text for text in said["findings"] if "wait" in text or "device" in text] ==
           ["1 device has work, and no living worker serves it: bed-7"], f"{said}")
    expect("\ndevices\t1 waits\n" in pawl("camp.db", "doctor", status=5), "for people")
    holder = subprocess.Popen([*CAMP, "hold.db", "hold", "bed-8"], cwd=SCRATCH, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    try:
        expect(holder.stdout.readline() == "holds\n", "its work runs")
        said = diagnosis("hold.db")
        expect(said["healthy"] and said["devices_waiting"] == 0, f"{said}")
    finally:
        holder.kill()
        holder.wait()
    said = diagnosis("hold.db", status=5)  # whatever its lease says
    expect(said["devices_waiting_first"] == ["bed-8"] and not said["healthy"], f"{said}")


# ---- misuse ----


def commands():
    """All that the tool has, as its help lists them."""
    text = subprocess.run([*PAWL, "--help"], capture_output=True, text=True, check=True, timeout=60).stdout
    return re.findall(r"^  ([a-z][a-z-]*) ", text.partition("Subcommands:")[2], re.M)


def checks():
    """Go and no-go of what is in flight, as a package's hook asks."""
    expect(pawl("hello.db", "check", "--with", *PROGRAM, "check") == "0 go, 0 no-go\n", "nothing is in flight")
    pawl("hello.db", "start", "trying", "--id", "t1")
    expect(pawl("hello.db", "check", "--with", *PROGRAM, "check", "--all").endswith("1 go, 0 no-go\n"), "go")
    run = subprocess.run([*PAWL, "--db", "hello.db", "check", "--with", *PROGRAM, "check-nothing"], cwd=SCRATCH,
                         capture_output=True, text=True, timeout=60)
    expect(run.returncode == 5 and run.stdout.endswith("0 go, 1 no-go\n") and is_shown(run.stdout), run.stdout)
    expect("cannot_open" in pawl("hello.db", "check", "--with", "./no-such-program", status=3), "no program")
    expect("could not check" in pawl("hello.db", "check", "--with", *PROGRAM, "check", "a", "b", status=1), "its usage")
    pawl("hello.db", "delete", "--force", "t1")


def misuse():
    """What is unknown is named, with what was meant."""
    shown = subprocess.run([*PAWL, "--version"], capture_output=True, text=True, check=True, timeout=60).stdout
    expect(re.fullmatch(r"pawl \d+\.\d+\.\d+\n", shown), f"--version: {shown}")
    subprocess.run(HELLO, cwd=SCRATCH, check=True, stdout=subprocess.DEVNULL, timeout=120)
    with open(os.path.join(SOURCE, "docs", "tool.md"), encoding="utf-8") as page:
        text = page.read()
    for command in commands():
        expect(f"| `{command}" in text, f"docs/tool.md has no {command}")
        shown = subprocess.run([*PAWL, command, "--help"], capture_output=True, text=True, check=True, timeout=60).stdout
        rows = "".join(row for row in text.splitlines() if row.startswith(f"| `{command}"))
        for option in set(re.findall(r"--[a-z-]+", shown)) - {"--help", "--db", "--schema", "--beside", "--json"}:
            expect(option in rows or "likewise" in rows, f"docs/tool.md has no {option} of {command}")
        expect("unknown option --colour" in pawl("hello.db", command, "--colour", status=2), f"{command} --colour")
    for wrong, said in (
            (["lsit"], "unknown command lsit; did you mean list?"),
            (["hstory", "x"], "unknown command hstory; did you mean history?"),
            (["list", "--stat", "failed"], "unknown option --stat; did you mean --state?"),
            (["list", "--state", "complete"], "did you mean completed?"),
            (["list", "--state", "tired"], "--state: \"tired\" is none of running, completed,"),
            (["list", "--limit"], "--limit"), (["list", "--limit", "-1"], "is not a number"),
            (["list", "--since", "yesterday"], "is not a time"), (["list", "--since", "2026-02-31"], "is not a time"),
            (["show"], "ID is required"), (["show", "a", "b"], "one argument too many: b"),
            (["raise", "a"], "EVENT is required"), (["start"], "NAME is required"),
            (["wait", "first", "--timeout", "90"], "is not a duration, as 90s"),
            (["wait", "first", "--timeout", "1fortnight"], "is not a duration"),
            (["restart", "first", "--from", "strat"], "did you mean start?"), (["hold", "a"], "--for is required"),
            (["cancel"], "Give an ID"), (["cancel", "first", "--all"], "not both"), (["prune"], "Give an ID"),
            (["quota"], "SIZE is required"), ([], "no command")):
        out = pawl("hello.db", *wrong, status=2)
        expect(said in out and "usage: pawl" in out, f"{wrong}: {out!r}")
        expect(("\nWorkers and sessions" in out) == (not wrong), f"only without a command all of them are shown: {out!r}")
    # Words of commands are ids like others, and so is what begins with a dash behind a double one.
    expect("there is no instance \"list\"" in pawl("hello.db", "show", "list", status=3), "an id that is a command")
    expect("there is no instance \"-x\"" in pawl("hello.db", "show", "--", "-x", status=3), "an id with a dash")
    run = subprocess.run([*PAWL, "list"], capture_output=True, text=True, timeout=60,
                         env={k: v for k, v in os.environ.items() if k != "PAWL_DB"})
    expect(run.returncode == 2 and "no database" in run.stderr, "no database")
    run = subprocess.run([*PAWL, "list"], cwd=SCRATCH, capture_output=True, text=True, timeout=60,
                         env=dict(os.environ, PAWL_DB="hello.db", PAWL_COLUMNS="60"))
    expect(run.returncode == 0 and run.stdout.startswith("ID "), "a terminal has titles")
    expect(all(len(line) <= 60 for line in run.stdout.splitlines()), f"and no more columns: {run.stdout}")
    # A server is known also where no library of one is.
    refused = pawl("postgresql://u:secret@127.0.0.1:1/x", "list", status=1)
    without = "unsupported: this pawl was built without PostgreSQL"
    expect(without in refused or ("cannot be reached" in refused and not EMULATOR), refused)
    payload_forms()
    checks()
    made_texts()
    if not EMULATOR:
        live_view()


def made_texts():
    """The manual page and the completions know every command."""
    man = subprocess.run([*PAWL, "man"], capture_output=True, text=True, check=True, timeout=60).stdout
    for command in commands():
        expect(f".SS {command}\n".replace("-", "\\-") in man, f"the page has no {command}")
    expect(man.startswith(".TH PAWL 1 ") and ".SH EXIT STATUS\n" in man, "its sections")
    for shell in ("bash", "zsh"):
        subprocess.run([*PAWL, "completion", shell], capture_output=True, check=True, timeout=60)
    script = subprocess.run([*PAWL, "completion", "bash"], capture_output=True, text=True, check=True).stdout
    for words, want in (("li", "list"), ("hist", "history"), ("wait --time", "--timeout"), ("--db x list --st", "--state")):
        given = ["pawl", *words.split(" ")]
        run = subprocess.run(["bash", "-c", f"{script}\nCOMP_WORDS=({' '.join(given)})\nCOMP_CWORD={len(given) - 1}\n_pawl\n"
                              "echo ${COMPREPLY[@]}"], capture_output=True, text=True, timeout=60)
        expect(run.stdout.split()[:1] == [want] and not run.stderr, f"{words}: {run.stdout}{run.stderr}")


def live_view():
    """It draws, hears q, and leaves the terminal as it was."""
    leader, terminal = pty.openpty()
    before = termios.tcgetattr(terminal)
    with subprocess.Popen([*PAWL, "--db", "hello.db", "top", "--every", "1h"], cwd=SCRATCH, stdin=terminal,
                          stdout=terminal, stderr=terminal) as view:
        drawn = b""
        while b"rates" not in drawn:
            drawn += os.read(leader, 4096)
        expect(drawn.startswith(b"\x1b[?1049h"), "a screen of its own")
        expect(termios.tcgetattr(terminal)[3] & termios.ICANON == 0, "keys come at once")
        os.write(leader, b"q")
        while b"\x1b[?1049l" not in drawn:
            drawn += os.read(leader, 4096)
        expect(view.wait(timeout=100) == 0, "q ends it")
    expect(termios.tcgetattr(terminal) == before, "the terminal is as it was")
    os.close(leader)
    os.close(terminal)


def payload_forms():
    """Literals, files and the standard input are the bytes that the instance gets."""
    with open(os.path.join(SCRATCH, "bytes"), "wb") as file:
        file.write(b"\x00\xff\n")
    for number, (given, stdin, want) in enumerate((
            ("", None, None), ("[1,2]", None, "[1,2]"), ("{}", None, "{}"), ("a b", None, "a b"),
            ("@@x", None, "@x"), ("@bytes", None, b"\x00\xff\n"), ("-", b"in\n", "in\n"))):
        run = subprocess.run([*PAWL, "--db", "hello.db", "enqueue", "first", "q", given], cwd=SCRATCH, input=stdin,
                             capture_output=True, timeout=60)
        expect(run.returncode == 1 and b"stale" in run.stderr, f"{given}: {run.stderr}")  # it has ended
        started = subprocess.run([*PAWL, "--db", "hello.db", "start", "keep", given, "--id", f"p{number}"], cwd=SCRATCH,
                                 input=stdin, capture_output=True, timeout=60)
        expect(started.returncode == 0 and started.stdout.decode() == f"p{number}\n", f"{given}: {started.stderr}")
        with sqlite3.connect(os.path.join(SCRATCH, "hello.db")) as database:
            row = database.execute("SELECT payload FROM orchestrator_queue q JOIN instances i ON i.key = q.instance "
                                   "WHERE i.id = ?", (f"p{number}",)).fetchone()
        want = want.encode() if isinstance(want, str) else want
        got = row[0].encode() if isinstance(row[0], str) else row[0]
        expect((got or None) == want, f"{given!r} is {got!r}")
        pawl("hello.db", "delete", "--force", f"p{number}")
    for wrong in ("@missing", "@"):
        pawl("hello.db", "start", "keep", wrong, status=3)


def prometheus():
    """The text is that of the endpoint as far as the database says it: the names of the page, in their order."""
    subprocess.run(HELLO, cwd=SCRATCH, check=True, stdout=subprocess.DEVNULL, timeout=120)
    text = pawl("hello.db", "metrics", "--prometheus")
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
    expect(checked.returncode == 0, f"promtool: {checked.stdout}{checked.stderr}")
    with open(os.path.join(SOURCE, "docs", "endpoint", "prometheus.md"), encoding="utf-8") as page:
        listed = re.findall(r"^\| `(pawl_\w+)` \| (\w+) \|", page.read(), re.M)
    of_database = listed[:listed.index(("pawl_up", "gauge"))]
    expect(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.M) == of_database, f"not what the page lists: {text}")
    for sample in ('pawl_instances{state="completed"} 1', "pawl_executions 1", "pawl_history_events 8", "pawl_workers 0",
                   "pawl_devices_waiting 0", "pawl_quota_bytes 0"):
        expect(f"\n{sample}\n" in text, f"{sample}: {text}")
    expect("two forms" in pawl("hello.db", "--json", "metrics", "--prometheus", status=2), "and JSON at once")
    with open("/dev/full", "w", encoding="utf-8") as full:
        run = subprocess.run([*PAWL, "--db", "hello.db", "metrics", "--prometheus"], cwd=SCRATCH, stdout=full,
                             stderr=subprocess.PIPE, text=True, timeout=60)
    expect(run.returncode == 1 and "could not be written" in run.stderr, f"a full disk: {run.returncode} {run.stderr}")


def main():
    shutil.rmtree(SCRATCH, ignore_errors=True)
    os.makedirs(SCRATCH)
    {"tool": tool, "payloads": payloads, "hostile": hostile, "watch": watch, "json": keys_of_json,
     "misuse": misuse, "files": files, "outputs": outputs, "doctor": doctor, "restore": restore,
     "prometheus": prometheus}[PART]()
    if os.path.exists(ERRORS):
        with open(ERRORS, encoding="utf-8", errors="replace") as log:
            expect(not log.read(), f"errors in the log of tool_program: {ERRORS}")
    print("ok")


if __name__ == "__main__":
    main()
