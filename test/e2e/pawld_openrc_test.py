#!/usr/bin/env python3
"""The script for OpenRC, run by OpenRC in namespaces of its own: started, killed, stopped and misconfigured.

  pawld_openrc_test.py SOURCE_DIR PAWLD PAWLD_CLIENT SCRATCH

OpenRC is not the init there: it needs its folder in /run and nothing more. Needs root, openrc and unshare; where one is
missing only the shell's syntax is checked, and the test is skipped (77).
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from container import Container, skip

SOURCE, PAWLD, CLIENT, SCRATCH = sys.argv[1:5]
SOURCE, FOLDER = pathlib.Path(SOURCE), pathlib.Path(SCRATCH)
SCRIPT = SOURCE / "packaging/openrc/pawld"

# Each line of `out` is a fact. Waits are for the fact, and end after a minute.
STEPS = """
client="/opt/test/pawld_client /var/lib/pawl/g.db"
say() { echo "$1=$2" >> /opt/test/out; }
until_ok() { i=0; while ! "$@" > /dev/null 2>&1 && [ $i -lt 300 ]; do sleep 0.1; i=$((i + 1)); done; }
daemon() { pgrep -x -u pawl pawld; }
other_daemon() { [ -n "$(daemon)" ] && [ "$(daemon)" != "$1" ]; }
# A client that came first would make the database, as root.
is_ready() { [ "$(grep -c ' info ready ' /var/log/pawld.log)" = "$1" ]; }
has_completed() { $client show who | grep -q completed; }
/etc/init.d/pawld start
say start $?
until_ok is_ready 1
until_ok has_completed
say who "$($client show who)"
say place "$(stat -c '%U:%G %a' /var/lib/pawl) $(stat -c '%U:%G %a' /run/pawl)"
say status "$(/etc/init.d/pawld status > /dev/null && echo started)"
before=$(daemon)
[ -z "$before" ] || kill -KILL "$before"
until_ok is_ready 2
say again "$(other_daemon "$before" && echo yes)"
say log "$(grep -c ' info ready ' /var/log/pawld.log)"
/etc/init.d/pawld stop
say stop $?
say gone "$(daemon)"
# A wrong file is said, and nothing is started.
echo '{"database": 5}' > /etc/pawl/pawld.json
/etc/init.d/pawld start > /opt/test/wrong 2>&1
say wrong $?
say wrong_said "$(grep -c 'database: is a number' /opt/test/wrong)"
say none "$(daemon)"
# So is another file, by /etc/conf.d.
echo 'PAWLD_CONFIG=/etc/pawl/none.json' > /etc/conf.d/pawld
/etc/init.d/pawld start > /opt/test/other 2>&1
say other "$(grep -c '/etc/pawl/none.json' /opt/test/other)"
echo done=yes >> /opt/test/out
"""


def prepare():
    for path in (PAWLD, CLIENT):
        shutil.copy(path, FOLDER)
    shutil.copy(SCRIPT, FOLDER / "pawld.rc")
    (FOLDER / "pawld.json").write_text(json.dumps(
        {"database": "/var/lib/pawl/g.db", "activities": {"who": {"argv": ["/usr/bin/id", "-un"]}},
         "orchestrations": {"who": {"type": "sequence", "steps": [{"activity": "who"}]}}, "start": [{"name": "who"}]}))
    (FOLDER / "steps.sh").write_text(STEPS)


def texts():
    """What holds without OpenRC: the shell takes it, and it is started oftener than a bad step may end it."""
    text = SCRIPT.read_text()
    checked = subprocess.run(["sh", "-n", str(SCRIPT)], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    crashes = int(re.search(r"crashes_max = (\d+);", (SOURCE / "include/pawl/options.hpp").read_text())[1])
    assert int(re.search(r"^respawn_max=(\d+)", text, re.M)[1]) > 3 * crashes, "three bad steps end it for good"


def main():
    texts()
    if os.geteuid() != 0 or not pathlib.Path("/sbin/openrc-run").exists():
        skip("needs root and OpenRC (Debian: openrc)")
    container = Container(FOLDER)
    prepare()
    assert container.run(SOURCE / "test/e2e/pawld_openrc.sh"), f"no step was made\n{container.console()}"
    container.expect_facts(
        {"start": "0", "who": 'completed\t"pawl"\t', "place": "pawl:pawl 750 pawl:pawl 750", "status": "started",
         "again": "yes", "log": "2", "stop": "0", "gone": "", "wrong": "1", "wrong_said": "1", "none": "", "other": "1",
         "done": "yes"})


main()
