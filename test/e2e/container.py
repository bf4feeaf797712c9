"""Namespaces in which an init or a service manager runs beside this machine's own, for the tests of pawld's scripts.

A test that needs what the machine has not ends with 77, which ctest counts as skipped.
"""

import errno
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

SKIPPED = 77
GUARD_S = 120
NAMESPACES = ("pid", "mount", "uts", "ipc", "net")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def make_group(name):
    """A group of its own in the cgroup2 hierarchy: the root of the container's."""
    found = re.search(r"^\S+ (\S+) cgroup2 rw", pathlib.Path("/proc/mounts").read_text(encoding="utf-8"), re.M)
    if found is None:
        skip("no cgroup2 that can be written")
    folder = pathlib.Path(found[1]) / f"{name}-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        skip(f"{folder}: {error}")
    return folder


def remove_group(group):
    """When the last process in it has died, which may be a moment after it was killed."""
    deadline = time.monotonic() + GUARD_S
    for inner in sorted(group.glob("**/"), reverse=True):
        while True:
            try:
                inner.rmdir()
                break
            except OSError as error:
                if error.errno != errno.EBUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)


class Container:
    """What a script finds at /opt/test is `folder`; it writes the file `out` there, each line a fact: name=value."""

    def __init__(self, folder, namespaces=NAMESPACES):
        self.folder = folder
        self.unshare = ["unshare", "--fork", "--kill-child", "--mount-proc", *(f"--{name}" for name in namespaces)]
        if shutil.which("unshare") is None or subprocess.run([*self.unshare, "true"], check=False).returncode != 0:
            skip("no namespaces")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

    def run(self, script, group=None):
        """True if any step was made."""
        def enter():
            if group is not None:
                (group / "cgroup.procs").write_text(str(os.getpid()))
        with open(self.folder / "console", "wb") as console:
            subprocess.run([*self.unshare, str(script), str(self.folder)], preexec_fn=enter, stdin=subprocess.DEVNULL,
                           stdout=console, stderr=console, timeout=GUARD_S, check=False)
        return (self.folder / "out").exists()

    def console(self):
        return (self.folder / "console").read_text(errors="replace")

    def expect_facts(self, wanted):
        text = (self.folder / "out").read_text(errors="replace")
        facts = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
        for name, value in wanted.items():
            if facts.get(name) != value:
                print(f"FAILED: {name} is {facts.get(name)!r}, wanted {value!r}")
                print("--- out\n" + text + "--- console\n" + "\n".join(self.console().splitlines()[-60:]))
                sys.exit(1)
        print("ok: " + ", ".join(f"{name} {value}" for name, value in facts.items()))
