#!/usr/bin/env python3
"""pawld.service under a real systemd, in namespaces of its own: started, killed, hung, stopped and misconfigured.

  pawld_systemd_test.py SOURCE_DIR PAWLD PAWLD_CLIENT SCRATCH

Needs root, systemd, unshare and a cgroup2 hierarchy; where one is missing it says so and is skipped (77).
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE, PAWLD, CLIENT, SCRATCH = sys.argv[1:5]
SOURCE, FOLDER = pathlib.Path(SOURCE), pathlib.Path(SCRATCH)
SKIPPED = 77
GUARD = 120

# Each line of `out` is a fact. Waits are for the fact, and end after a minute.
STEPS = """
client="/opt/test/pawld_client /var/lib/pawl/g.db"
show() { systemctl show pawld --value -p "$1"; }
say() { echo "$1=$2" >> /opt/test/out; }
until_is() { i=0; while [ "$(show "$1")" != "$2" ] && [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done; say "$3" "$(show "$1")"; }
systemctl start pawld
say started "$(show ActiveState)"
say status "$(show StatusText)"
i=0; while ! $client show who | grep -q completed && [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done
say who "$($client show who)"
kill -KILL "$(show MainPID)"
until_is NRestarts 1 killed_restarts
until_is ActiveState active killed_active
kill -STOP "$(show MainPID)"
until_is NRestarts 2 hung_restarts
until_is ActiveState active hung_active
# A program that left its process group dies with the unit.
$client start leaves leaves null
i=0; while ! [ -e /run/pawl/left ] && [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done
systemctl stop pawld
say stopped "$(show Result) $(show ActiveState)"
say left "$(pgrep -f 'sleep 1000')"
echo '{"database": 5}' > /etc/pawl/pawld.json
systemctl start pawld
until_is ActiveState failed misconfigured
sleep 3
say misconfigured_status "$(show ExecMainStatus) $(show NRestarts)"
echo done=yes >> /opt/test/out
systemctl poweroff -ff
"""

LEAVES = """setsid sh -c ': > /run/pawl/left; exec sleep 1000' > /dev/null 2>&1 &
while ! [ -e /run/pawl/left ]; do sleep 0.02; done"""


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def expect(condition, text):
    if condition:
        return
    print(f"FAILED: {text}")
    for name in ("out", "console"):
        if (FOLDER / name).exists():
            print(f"--- {name}\n" + "\n".join((FOLDER / name).read_text(errors="replace").splitlines()[-60:]))
    sys.exit(1)


def cgroup():
    """A group of its own in the cgroup2 hierarchy, the root of the container's."""
    mounts = pathlib.Path("/proc/mounts").read_text(encoding="utf-8")
    found = re.search(r"^\S+ (\S+) cgroup2 rw", mounts, re.M)
    if found is None:
        skip("no cgroup2 that can be written")
    folder = pathlib.Path(found[1]) / f"pawld-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        skip(f"{folder}: {error}")
    return folder


def prepare():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    for path in (PAWLD, CLIENT, SOURCE / "packaging/systemd/pawld.service", SOURCE / "packaging/systemd/pawl.sysusers"):
        shutil.copy(path, FOLDER)
    flows = {name: {"type": "sequence", "steps": [{"activity": name}]} for name in ("who", "leaves")}
    activities = {"who": {"argv": ["/usr/bin/id", "-un"]},
                  # It ends when what it leaves behind is a session of its own, and not before.
                  "leaves": {"argv": ["/bin/sh", "-c", LEAVES], "timeout": "0s"}}
    # Nothing but for a build that looks for leaks: that needs ptrace, which the unit forbids.
    with open(FOLDER / "pawld.service", "a", encoding="utf-8") as unit:
        unit.write("\n[Service]\nEnvironment=ASAN_OPTIONS=detect_leaks=0\n")
    (FOLDER / "pawld.json").write_text(json.dumps(
        {"database": "/var/lib/pawl/g.db", "activities": activities, "orchestrations": flows, "start": [{"name": "who"}]}))
    (FOLDER / "steps.sh").write_text(STEPS)


def main():
    if os.geteuid() != 0 or not pathlib.Path("/lib/systemd/systemd").exists():
        skip("needs root and systemd")
    namespaces = ["unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "--cgroup", "--uts", "--ipc", "--net"]
    if shutil.which("unshare") is None or subprocess.run([*namespaces, "true"], check=False).returncode != 0:
        skip("no namespaces")
    prepare()
    group = cgroup()

    def enter():
        (group / "cgroup.procs").write_text(str(os.getpid()))
    try:
        with open(FOLDER / "console", "wb") as console:
            subprocess.run([*namespaces, str(SOURCE / "test/e2e/pawld_systemd.sh"), str(FOLDER)], preexec_fn=enter,
                           stdin=subprocess.DEVNULL, stdout=console, stderr=console, timeout=GUARD, check=False)
    finally:
        for inner in sorted(group.glob("**/"), reverse=True):
            inner.rmdir()
    if not (FOLDER / "out").exists():
        print((FOLDER / "console").read_text(errors="replace")[-2000:])
        skip("systemd does not run in a container here")
    facts = dict(line.split("=", 1) for line in (FOLDER / "out").read_text().splitlines())
    wanted = {"started": "active", "status": "2 activities, 2 orchestrations", "who": 'completed\t"pawl"\t',
              "killed_restarts": "1", "killed_active": "active", "hung_restarts": "2", "hung_active": "active",
              "stopped": "success inactive", "left": "", "misconfigured": "failed", "misconfigured_status": "78 0",
              "done": "yes"}
    for name, value in wanted.items():
        expect(facts.get(name) == value, f"{name} is {facts.get(name)!r}, wanted {value!r}")
    print("ok: " + ", ".join(f"{name} {value}" for name, value in facts.items()))


main()
