#!/usr/bin/env python3
"""pawl-admin on the database of examples/hello, on sessions of examples/conversation, and on what admin_program wrote.

  admin_test.py SOURCE_DIR BUILD_DIR tool|payloads|hostile|watch [EMULATOR ARGUMENT...]
"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time

_, BUILD, PART = sys.argv[1:4]
EMULATOR = sys.argv[4:]
HELLO = [*EMULATOR, os.path.join(BUILD, "examples", "hello", "hello")]
CONVERSATION = [*EMULATOR, os.path.join(BUILD, "examples", "conversation", "conversation")]
ADMIN = [*EMULATOR, os.path.join(BUILD, "src", "admin", "pawl-admin")]
PROGRAM = [*EMULATOR, os.path.join(BUILD, "test", "e2e", "admin_program")]
SCRATCH = os.path.join(BUILD, "test", "e2e", f"admin.{PART}.scratch")


def admin(*arguments, status=0):
    run = subprocess.run([*ADMIN, *arguments], cwd=SCRATCH, capture_output=True, text=True, timeout=60)
    if run.returncode != status:
        print(f"FAILED: {arguments}: status {run.returncode}, not {status}\n{run.stdout}{run.stderr}")
        sys.exit(1)
    return run.stdout if status == 0 else run.stderr


def expect(condition, text):
    if not condition:
        print(f"FAILED: {text}")
        sys.exit(1)


def wait_for(text, *command):
    """A test that hangs ends here; nothing passes or fails by the time it takes."""
    deadline = time.monotonic() + 100
    while text not in admin(*command):
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
            wait_for(f"{node}\tpid ", "talk.db", "workers")
        owner = say("hello there")
        other = "b" if owner == "a" else "a"
        wait_for(f"agent\tof {owner}\t", "talk.db", "sessions")
        for filters in (["--node", owner], ["--of", "talk"], ["--node", owner, "--of", "talk"]):
            expect(admin("talk.db", "sessions", *filters).startswith("agent\tof "), f"by {filters}")
        for filters in (["--node", other], ["--of", "nobody"]):
            expect(admin("talk.db", "sessions", *filters) == "", f"by {filters}")
        expect("\nsessions_idle 1\n" in admin("talk.db", "metrics"), "one session")
        expect("\nsessions_ended 0\n" in admin("talk.db", "metrics"), "which has not ended")
        expect(admin("talk.db", "leaks") == "", "nor is it old")
        expect(admin("talk.db", "leaks", "--open-ms", "1").startswith(f"agent\tof {owner}\t"), "leaks")
        expect(admin("talk.db", "leaks", "--unused-ms", "1") == "", "it was used")

        admin("talk.db", "hold", "agent", "--of", "talk", "--for-ms", "60000")
        admin("talk.db", "change-session", "agent", "--of", "talk", "--age-ms", "3600000", "--kind", "chat")
        listed = admin("talk.db", "sessions", "--kind", "chat")
        expect(listed.startswith("agent\tof ") and "\texpires in " in listed, listed)
        for verb in ("hold", "handoff", "change-session"):
            expect("not_found" in admin("talk.db", verb, "agent", status=1), f"{verb} of a shared one")
        expect("invalid_argument" in admin("talk.db", "change-session", "agent", "--of", "talk", "--close-ms", "9", status=1),
               "too short")
        # Of the instance that opened it: there is no shared one of this name.
        expect("not_found" in admin("talk.db", "transfer", "agent", "--to", other, status=1), "a shared one")
        expect("not_found" in admin("talk.db", "transfer", "agent", "--of", "nobody", "--to", other, status=1), "of nobody")
        expect("no_eligible_target" in admin("talk.db", "transfer", "agent", "--of", "talk", "--to", "c", status=1), "to c")
        admin("talk.db", "transfer", "agent", "--of", "talk", "--to", other)
        # What its agent knows does not move with it: so it is lost, and made anew.
        wait_for("sessions_ended 1\n", "talk.db", "metrics")
        say("are you still there?")
        counted = admin("talk.db", "metrics")
        expect("\nsessions_activities_up_to_10 1\n" in counted, counted)
        expect("\nsessions_lasted_ms_beyond 0\n" in counted, counted)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


# ---- whatever payload the engine takes ------------------------------------------------------------------------------


def payloads():
    """Each call sees all of it, and one large row is in nobody's way."""
    for size in (1, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20):
        database = f"payload-{size}.db"
        subprocess.run([*PROGRAM, database, str(size)], cwd=SCRATCH, check=True, timeout=120)
        payload = "x" * size
        expect(f"output {payload}\n" in admin(database, "show", "b-big"), f"output of {size}")
        expect(f"value\t{size} bytes\tupdated " in admin(database, "values", "b-big"), f"value of {size}")
        expect(f"\t{size} bytes\n" in admin(database, "history", "b-big"), f"history with {size}")
        events = [json.loads(line) for line in admin(database, "history", "--json", "b-big").splitlines()]
        expect([event["kind"] for event in events if event.get("payload") == payload] ==
               ["started", "activity", "activity_done", "state_write", "delivery", "ended"], f"export of {size}")
        expect(f"\toutput {payload}\n" in admin(database, "show", "d-rounds"), f"output of an execution with {size}")
        # Beside large rows, and then those themselves.
        expect("output s\n" in admin(database, "show", "a-small"), "a neighbour is shown")
        expect("2 executions" in admin(database, "prune", "e-small"), "a neighbour is pruned")
        expect("2 executions" in admin(database, "prune", "d-rounds"), f"pruned with {size}")
        expect("1 instances" in admin(database, "delete", "a-small"), "a neighbour is deleted")
        expect("1 instances" in admin(database, "delete", "b-big"), f"deleted with {size}")
        expect("1 instances" in admin(database, "delete-ended", "--prefix", "c-"), "the other neighbour goes")
        expect("4 instances" in admin(database, "delete-ended"), "and all that ended")
        expect(admin(database, "list").startswith("trying\t"), "one is left")
        expect("1 instances" in admin(database, "delete", "--force", "trying"), "and goes")
        with sqlite3.connect(os.path.join(SCRATCH, database)) as left:
            for table in ("history", "kv", "executions", "instances", "orchestrator_queue", "worker_queue"):
                expect(left.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), f"{table} is empty")


# ---- texts that others wrote ----------------------------------------------------------------------------------------

HOSTILE = "n\nforged\tcompleted\x1b[31m\x9b31m\u009b31m\u202e\u2066\u200f\u2028\x7f\\"
# Names that an older database may hold: no C0 in them.
OLD_NAME = "old\u009b31m\u202e\u2066\u200e\u2029\\"
TURNS = {0x061c, 0x200e, 0x200f, 0x2028, 0x2029, *range(0x202a, 0x202f), *range(0x2066, 0x206a)}


def is_shown(text):
    """Nothing in it that a terminal obeys, besides what separates rows and columns."""
    return all(c in "\n\t" or (ord(c) >= 0x20 and not 0x7f <= ord(c) < 0xa0 and ord(c) not in TURNS) for c in text)


def shown(lines, *arguments, status=0):
    """So many rows, all of them harmless; text=True has refused what is no UTF-8."""
    out = admin("hostile.db", *arguments, status=status)
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
    expect("output good\\nbad\\tcompleted\\x1b[31m \\x1b]0;title\\x07 \\u009b31m \\x9b\\x7f \\u202edesrever \\u2066 "
           "\\u2028 \\\\n\n" in shown(4, "show", "hostile"), "output")
    shown(5, "show", "failing")
    shown(1, "restart", "failing", status=1)
    shown(0, "restart", "--from", "start", "--by", "ann", "failing")
    expect("failing\tfailing\trunning\texecution 2\t" in shown(3, "show", "failing"), "it runs again")
    shown(1, "values", "hostile")
    trying = shown(4, "show", "trying")
    expect("\tprogress good\\nbad" in trying and "\tlast error good\\nbad" in trying, trying)
    for name in (HOSTILE, OLD_NAME):
        shown(4, "show", name)
        shown(7, "history", name)
        shown(7, "history", "--json", name)
        shown(0, "children", name)
        shown(1, "tree", name)
    shown(4, "history", "--json", "hostile")
    shown(1, "sessions")
    shown(1, "workers")
    # What is refused is said with the name that was given.
    for command in ("show", "history", "values", "cancel", "delete", "forget-device", "transfer", "drain", HOSTILE):
        out = admin("hostile.db", command, "no " + HOSTILE, status=2 if command == HOSTILE else 1)
        expect(is_shown(out), f"{command}: {out!r}")
    expect(is_shown(admin("hostile.db", "list", "--" + HOSTILE, status=2)), "an option")
    expect(is_shown(admin(HOSTILE, "list", status=1)), "a path")


def watch():
    """What an activity reports is there while it runs, in another process."""
    with subprocess.Popen([*PROGRAM, "said.db", "talk"], cwd=SCRATCH, stdin=subprocess.PIPE, text=True) as program:
        deadline = time.monotonic() + 100
        while not os.path.exists(os.path.join(SCRATCH, "said.db")) and time.monotonic() < deadline:
            time.sleep(0.05)
        wait_for("talker\trunning", "said.db", "list")
        with subprocess.Popen([*ADMIN, "said.db", "watch", "talk"], cwd=SCRATCH, stdout=subprocess.PIPE,
                              text=True) as watcher:
            said = [watcher.stdout.readline(), watcher.stdout.readline()]
            expect(said == ["activity 2\tattempt 1\t1\tGood\n", "activity 2\tattempt 1\t2\tmorn\\ning\n"], f"{said}")
            expect("progress" not in admin("said.db", "show", "talk"), "nothing of it is stored")
            program.stdin.write("\n")
            program.stdin.flush()
            expect(program.wait(timeout=100) == 0, "the program ends")
            rest = watcher.stdout.read()
            expect(rest in ("", "activity 2\tattempt 1\t3\tbye\n"), f"the rest is {rest}")
            expect(watcher.wait(timeout=100) == 0, "the watcher ends with the instance")
    expect("not_found" in admin("said.db", "watch", "nobody", status=1), "nobody talks")


def tool():
    expect("cannot_open" in admin("hello.db", "list", status=1), "a database that is not there is not made")
    expect(not os.path.exists(os.path.join(SCRATCH, "hello.db")), "nor is its file")
    subprocess.run(HELLO, cwd=SCRATCH, check=True, stdout=subprocess.DEVNULL, timeout=120)

    listed = admin("hello.db", "list")
    expect(listed.startswith("first\tgreet\tcompleted\texecution 1\t"), listed)
    expect(admin("hello.db", "list", "--state", "completed", "--prefix", "fir", "--limit", "1") == listed, "filters")
    expect(admin("hello.db", "list", "--name", "other") == "", "a name nobody has")
    shown = admin("hello.db", "show", "first")
    expect("output goodbye" in shown and "execution 1\tcompleted\t8 events" in shown, shown)
    expect("history 8 events, " in shown and "0 keys, 0 bytes" in shown, shown)
    expect(admin("hello.db", "values", "first") == "", "hello keeps nothing")
    expect("not_found" in admin("hello.db", "values", "second", status=1), "values of an unknown id")
    events = [json.loads(line) for line in admin("hello.db", "history", "--json", "first").splitlines()]
    expect([event["id"] for event in events] == list(range(1, 9)), events)
    expect(events[0]["kind"] == "started" and events[-1]["kind"] == "ended", events)
    expect(len(admin("hello.db", "history", "first").splitlines()) == 8, "one line an event")
    expect("instances_completed 1\n" in admin("hello.db", "metrics"), "metrics")
    expect("\nexecutions 1\nevents 8\n" in admin("hello.db", "metrics"), "totals")
    expect("\nquota_bytes 0\nrefuses_new 0\n" in admin("hello.db", "metrics"), "room")
    admin("hello.db", "quota", "1048576")
    expect("\nquota_bytes 1048576\nrefuses_new 0\n" in admin("hello.db", "metrics"), "quota")
    for wrong in ("1000", "much", "1k"):
        expect("0 or 262144..1125899906842624" in admin("hello.db", "quota", wrong, status=1), wrong)
    expect("\nquota_bytes 1048576\n" in admin("hello.db", "metrics"), "the quota is as it was")
    admin("hello.db", "quota", "0")
    expect("\nquota_bytes 0\n" in admin("hello.db", "metrics"), "no quota")

    expect(admin("hello.db", "workers") == "", "hello has unregistered")
    expect(admin("hello.db", "sessions") == "", "hello has none")
    for command in ("cancel", "terminate", "suspend", "resume"):
        expect("stale" in admin("hello.db", command, "first", status=1), command)
    expect("not_restartable: not restarted: the instance completed" in
           admin("hello.db", "restart", "first", status=1), "restart of one that completed")
    expect("invalid_argument" in admin("hello.db", "restart", "--from", "start", "--version", "x", "first", status=1),
           "restart with what is no version")
    expect("usage:" in admin("hello.db", "restart", "--from", "here", "first", status=2), "restart from anywhere")
    expect(admin("hello.db", "cancel-all", "--reason", "enough") == "0 instances\n", "none is left to cancel")
    expect("not_found" in admin("hello.db", "show", "second", status=1), "an unknown id")
    expect(admin("hello.db", "prune", "--keep", "1", "first") == "0 instances, 0 executions, 0 events\n", "prune")
    admin("hello.db", "delete", "first")
    expect(admin("hello.db", "list") == "", "deleted")

    for wrong in ([], ["hello.db"], ["hello.db", "dance"], ["hello.db", "show"], ["hello.db", "list", "first"],
                  ["hello.db", "list", "--limit", "x"], ["hello.db", "list", "--state", "tired"],
                  ["hello.db", "list", "--colour"]):
        expect("usage:" in admin(*wrong, status=2), wrong)
    sessions()


def main():
    shutil.rmtree(SCRATCH, ignore_errors=True)
    os.makedirs(SCRATCH)
    {"tool": tool, "payloads": payloads, "hostile": hostile, "watch": watch}[PART]()
    print("ok")


if __name__ == "__main__":
    main()
