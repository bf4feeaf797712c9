#!/usr/bin/env python3
"""The script that a package of the tools runs after an update asks as the service's user whether pawld can go on, and not for ever.

usage: postinst_test.py PROJECT

Here it meets programs of the system that note their calls, and as root the real runuser. The whole of it, with systemd and apt:
test/e2e/first_day_test.py.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(sys.argv[1])
problems = []


def expect(holds, text):
    if not holds:
        problems.append(text)


def run(pawld, limit=None):
    """(calls, in order; what the script prints)"""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        calls = folder / "calls"
        calls.touch()
        calls.chmod(0o666)
        (folder / "system").mkdir()
        stubs = {"systemd-sysusers": "true", "deb-systemd-invoke": f'echo "$@" >> {calls}',
                 "systemctl": 'case "$*" in *property=User*) echo nobody ;; esac', "pawld": f"echo pawld $(id -un) >> {calls}\n{pawld}"}
        if os.geteuid() != 0:  # it asks for nobody, and only root can become another
            stubs["runuser"] = 'test "$1 $2" = "-u nobody"; shift 3; exec "$@"'
        for stub, text in stubs.items():
            (folder / stub).write_text(f"#!/bin/sh\n{text}\n")
            (folder / stub).chmod(0o755)
        script = (PROJECT / "packaging/debian/postinst").read_text(encoding="utf-8")
        script = script.replace("/run/systemd/system", str(folder / "system"))
        if limit is not None:
            script, changed = re.subn(r"--kill-after=10 \d+", f"--kill-after=10 {limit}", script)
            expect(changed == 1, "it has no time limit")
        (folder / "postinst").write_text(script)
        path = f"{folder}:{os.environ['PATH']}:/usr/sbin:/sbin"
        done = subprocess.run(["sh", folder / "postinst", "configure", "0.1"], env={**os.environ, "PATH": path}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=50, check=False)
        expect(done.returncode == 0, f"it failed: {done.stdout}")
        return calls.read_text(encoding="utf-8").splitlines(), done.stdout


user = "nobody" if os.geteuid() == 0 else subprocess.run(["id", "-un"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
ran, _ = run("true")
expect(ran == [f"pawld {user}", "restart pawld.service"], f"a check that is good: {ran}")
ran, said = run("exit 1")
expect(ran == [f"pawld {user}"] and "goes on with the old program" in said, f"one that is not: {ran} {said}")
ran, said = run("exec sleep 1000", limit="1")
expect("restart pawld.service" not in ran and "goes on with the old program" in said, f"one that does not end: {ran} {said}")
print("\n".join(problems))
sys.exit(1 if problems else 0)
