#!/usr/bin/env python3
"""pawl-admin on the database of examples/hello, and on sessions of examples/conversation.

  admin_test.py SOURCE_DIR BUILD_DIR tool [EMULATOR ARGUMENT...]
"""

import json
import os
import shutil
import subprocess
import sys
import time

_, BUILD, _ = sys.argv[1:4]
EMULATOR = sys.argv[4:]
HELLO = [*EMULATOR, os.path.join(BUILD, "examples", "hello", "hello")]
CONVERSATION = [*EMULATOR, os.path.join(BUILD, "examples", "conversation", "conversation")]
ADMIN = [*EMULATOR, os.path.join(BUILD, "src", "admin", "pawl-admin")]
SCRATCH = os.path.join(BUILD, "test", "e2e", "admin.scratch")


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
        expect("\nsessions_idle 1\n" in admin("talk.db", "metrics"), "one session")
        expect("\nsessions_ended 0\n" in admin("talk.db", "metrics"), "which has not ended")
        expect(admin("talk.db", "leaks") == "", "nor is it old")
        expect(admin("talk.db", "leaks", "--open-ms", "1").startswith(f"agent\tof {owner}\t"), "leaks")
        expect(admin("talk.db", "leaks", "--unused-ms", "1") == "", "it was used")

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


def main():
    shutil.rmtree(SCRATCH, ignore_errors=True)
    os.makedirs(SCRATCH)
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
    expect("not_found" in admin("hello.db", "show", "second", status=1), "an unknown id")
    expect(admin("hello.db", "prune", "--keep", "1", "first") == "0 instances, 0 executions, 0 events\n", "prune")
    admin("hello.db", "delete", "first")
    expect(admin("hello.db", "list") == "", "deleted")

    for wrong in ([], ["hello.db"], ["hello.db", "dance"], ["hello.db", "show"], ["hello.db", "list", "first"],
                  ["hello.db", "list", "--limit", "x"], ["hello.db", "list", "--state", "tired"],
                  ["hello.db", "list", "--colour"]):
        expect("usage:" in admin(*wrong, status=2), wrong)
    sessions()
    print("ok")


if __name__ == "__main__":
    main()
