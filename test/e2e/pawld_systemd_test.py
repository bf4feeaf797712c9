#!/usr/bin/env python3
"""pawld.service under a real systemd, in namespaces of its own: started, killed, hung, stopped and misconfigured.

  pawld_systemd_test.py SOURCE_DIR PAWLD PAWLD_CLIENT SCRATCH

Needs root, systemd, unshare and a cgroup2 hierarchy; where one is missing it says so and is skipped (77).
"""

import json
import os
import pathlib
import shutil
import sys

from container import NAMESPACES, Container, make_group, remove_group, skip

SOURCE, PAWLD, CLIENT, SCRATCH = sys.argv[1:5]
SOURCE, FOLDER = pathlib.Path(SOURCE), pathlib.Path(SCRATCH)

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


def prepare():
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
    container = Container(FOLDER, (*NAMESPACES, "cgroup"))
    prepare()
    group = make_group("pawld-test")
    try:
        ran = container.run(SOURCE / "test/e2e/pawld_systemd.sh", group)
    finally:
        remove_group(group)
    if not ran:
        print(container.console()[-2000:])
        skip("systemd does not run in a container here")
    container.expect_facts(
        {"started": "active", "status": "2 activities, 2 orchestrations", "who": 'completed\t"pawl"\t',
         "killed_restarts": "1", "killed_active": "active", "hung_restarts": "2", "hung_active": "active",
         "stopped": "success inactive", "left": "", "misconfigured": "failed", "misconfigured_status": "78 0",
         "done": "yes"})


main()
