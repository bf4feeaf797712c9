#!/usr/bin/env python3
"""pawl-admin on the database of examples/hello.

  admin_test.py SOURCE_DIR BUILD_DIR tool [EMULATOR ARGUMENT...]
"""

import json
import os
import shutil
import subprocess
import sys

_, BUILD, _ = sys.argv[1:4]
EMULATOR = sys.argv[4:]
HELLO = [*EMULATOR, os.path.join(BUILD, "examples", "hello", "hello")]
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
    print("ok")


if __name__ == "__main__":
    main()
