#!/usr/bin/env python3
"""docs/howto/first-day.md, command by command, on a Debian of its own that systemd has booted.

  first_day_test.py SOURCE_DIR BUILD_DIR

The Debian is made by mmdebstrap from this machine's own apt sources, and lives in namespaces: blocks marked `sh machine` run in one
shell in it, those marked `sh workstation` run here and reach it by ssh. The block `text output` that follows is what such a block
prints; `...` stands for anything. The packages are those that the test of consumers has built, or are built here. What does
not change between two runs is kept in BUILD_DIR/debian: the bare Debian, for a week, and packages from Debian.

Needs root, namespaces and a cgroup2 hierarchy; where one is missing it says so and is skipped (77). Without Debian's
archive it fails.
"""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import page_test
from container import make_group, remove_group, skip

SOURCE, BUILD = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
KEPT = BUILD / "debian"
SCRATCH = BUILD / "test" / "e2e" / "first_day.scratch"
PAGE = SOURCE / "docs" / "howto" / "first-day.md"
BLOCK = re.compile(r"^```sh (machine|workstation)\n(.*?)^```\n(?:\n```text output\n(.*?)^```\n)?", re.M | re.S)
CHAPTER_BLOCK = re.compile(r"^```sh execute\n(.*?)^```\n(?:\n```text output\n(.*?)^```\n)?", re.M | re.S)
REVISION = "2"
GUARD_S = 600  # of one block; the longest gets a compiler from Debian
WEEK_S = 7 * 24 * 3600
# What an installed Debian has and the smallest bootstrap has not: an init, ps and pkill, a way in.
INSTALLED = ("systemd-sysv", "procps", "openssh-server")
NAMESPACES = ("pid", "mount", "cgroup", "uts", "ipc")
UNSHARE = ("unshare", "--fork", "--mount-proc", "--net", *(f"--{name}" for name in NAMESPACES))


expect, wait_for = page_test.expect, page_test.wait_for


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=False, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


# ---- the bare Debian ----


def apt_sources():
    """Debian's own archives among the apt sources of this machine."""
    form = "$(ORIGIN)|deb $(REPO_URI) $(RELEASE) $(COMPONENT)"
    for attempt in range(2):
        lines = run("apt-get", "indextargets", "--format", form, "Created-By: Packages").stdout.splitlines()
        lines = [line.partition("|")[2] for line in lines if line.startswith("Debian|")]
        if lines:
            return "\n".join(lines) + "\n"
        if attempt == 0:
            run("apt-get", "-q", "update")
    raise AssertionError("no Debian can be made: this machine's apt knows no archive of Debian; try apt-get update")


def apt_options():
    """How this machine reaches them: its proxies, and what it asks of dates."""
    settings = re.findall(r'^(Acquire::(?:https?|ftp|Check-\S+|Retries)\S* ".*");$', run("apt-config", "dump").stdout, re.M)
    return [f"--aptopt={setting}" for setting in [*settings, 'APT::Keep-Downloaded-Packages "true"']]


def bare_debian():
    """A tar of the root, made anew once a week."""
    tar = KEPT / "bare.tar"
    if tar.exists() and time.time() - tar.stat().st_mtime < WEEK_S:
        return tar
    shutil.rmtree(KEPT, ignore_errors=True)
    (KEPT / "archives/partial").mkdir(parents=True)
    codename = re.search(r"^VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text(encoding="utf-8"), re.M)[1]
    part = KEPT / "part.tar"
    made = run("mmdebstrap", "--variant=minbase", "--mode=root", f"--include={','.join(INSTALLED)}", *apt_options(), codename,
               part, "-", input=apt_sources())
    expect(made.returncode == 0, f"no Debian can be made; is Debian's archive within reach?\n{made.stdout[-3000:]}")
    part.rename(tar)
    return tar


class Machine:
    """It runs from the time it is made to stop()."""

    def __init__(self):
        self.root = SCRATCH / "root"
        self.root.mkdir()
        unpacked = run("tar", "-C", self.root, "-xf", bare_debian())
        expect(unpacked.returncode == 0, unpacked.stdout)
        self.group = make_group("pawl-first-day")
        self.shell = self.process = None
        console = SCRATCH / "console"
        try:
            self.boot(console)
        except AssertionError:
            print(console.read_text(errors="replace")[-3000:])
            self.stop()
            raise

    def boot(self, console_path):
        def enter():
            (self.group / "cgroup.procs").write_text(str(os.getpid()))
        with open(console_path, "wb") as console:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig=KILL", *UNSHARE, "--kill-child",
                 str(SOURCE / "test/e2e/first_day_boot.sh"), str(self.root), str(KEPT / "archives")],
                preexec_fn=enter, stdin=subprocess.DEVNULL, stdout=console, stderr=console)
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        self.init = wait_for("the first process", lambda: self.has_ended() or children.read_text().strip())
        wait_for("the machine is up", lambda: self.has_ended() or self.is_up())
        expect(not self.has_ended(), "the machine did not start; its console is above")

    def has_ended(self):
        return self.process.poll() is not None

    def is_up(self):
        return self.run("systemctl", "is-system-running").stdout.strip() in ("running", "degraded")

    def into(self):
        """What enters it. The network is that of this machine, for Debian's archive."""
        proxies = [f"{name}={value}" for name, value in os.environ.items() if name.lower().endswith("_proxy")]
        return ["nsenter", f"--target={self.init}", "--root", *(f"--{name}" for name in NAMESPACES),
                "env", "-i", "--chdir=/root", "HOME=/root", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", "TERM=dumb", *proxies,
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]

    def run(self, *command, **options):
        return run(*self.into(), *command, **options)

    def type(self, commands):
        """Into the one shell: its status, 0 or that of the command that failed, and what was printed."""
        if self.shell is None:
            self.shell = subprocess.Popen([*self.into(), "bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                          stderr=subprocess.STDOUT, text=True, errors="replace")
        (self.root / "root/.block").write_text(f"set -e\n{commands}set +e\n")
        self.shell.stdin.write("trap 'echo \"end of block $?\"' EXIT\n. /root/.block </dev/null\necho 'end of block 0'\n")
        self.shell.stdin.flush()
        guard = threading.Timer(GUARD_S, self.shell.kill)
        guard.start()
        printed = ""
        for line in self.shell.stdout:
            end = re.search(r"end of block (\d+)$", line)
            if end:
                guard.cancel()
                return int(end[1]), printed + line[:end.start()]
            printed += line
        guard.cancel()
        return -1, printed

    def stop(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        remove_group(self.group)


# ---- your own machine ----


class Workstation:
    """A folder with build/debs, an ssh that knows `greenhouse`, and a browser."""

    def __init__(self, machine):
        self.folder, bin_folder = SCRATCH / "workstation", SCRATCH / "bin"
        (self.folder / "build/debs").mkdir(parents=True)
        bin_folder.mkdir()
        key, config = SCRATCH / "key", SCRATCH / "ssh_config"
        expect(run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).returncode == 0, "ssh-keygen")
        (machine.root / "root/.ssh").mkdir(mode=0o700, exist_ok=True)
        shutil.copy(f"{key}.pub", machine.root / "root/.ssh/authorized_keys")
        door = " ".join([*machine.into(), "/usr/sbin/sshd", "-i"])
        config.write_text(f"Host greenhouse\n  ProxyCommand {door}\n  IdentityFile {key}\n  BatchMode yes\n  LogLevel ERROR\n"
                          "  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n")
        for program in ("ssh", "scp"):
            (bin_folder / program).write_text(f'#!/bin/sh\nexec {shutil.which(program)} -F {config} "$@"\n')
            (bin_folder / program).chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}"}
        self.tunnel = self.browser = None

    def type(self, commands):
        if commands.startswith("ssh -N"):
            self.look(commands)
            return 0, ""
        ran = run("bash", "-e", "-c", commands, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, timeout=GUARD_S)
        return ran.returncode, ran.stdout

    def look(self, commands):
        """A command that leads to the page, as long as it runs. The port on the page may be another's on this machine."""
        port = next(int(found) for found in re.findall(r"-L (\d+):", commands))
        with socket.create_server(("127.0.0.1", 0)) as free:
            own = free.getsockname()[1]
        self.tunnel = subprocess.Popen(["bash", "-e", "-c", "exec " + commands.replace(f"-L {port}:", f"-L {own}:")],
                                       env=self.environment, stdin=subprocess.DEVNULL)
        wait_for("the tunnel", lambda: socket.create_connection(("127.0.0.1", own)))
        self.browser = page_test.Browser()
        self.browser.driver.get(f"http://localhost:{own}/")
        self.browser.wait_text("Live", "#link")

    # The page that is open comes to all that follows without being loaded again.

    def listed(self, instance):
        return next((row.text.split()[0] for row in self.browser.rows("Instances") if row.text.split()[1] == instance), None)

    def shows(self, instance, state):
        if self.browser:
            wait_for(f"the page shows {instance} as {state}", lambda: self.listed(instance) == state)

    def forgets(self, instance):
        wait_for(f"the page has no {instance}", lambda: self.browser.rows("Instances") and self.listed(instance) is None)

    def timeline(self, instance, label):
        self.browser.click('table[aria-label="Instances"] a', instance)
        self.browser.wait_text(label, ".lanes .lane text")
        self.browser.go("#/instances")

    def drains(self, worker):
        self.browser.go("#/sessions")
        self.browser.wait_text(worker, ".worker h2")
        self.browser.wait_text("draining", ".worker .badge")
        self.browser.go("#/instances")

    def close(self):
        if self.browser:
            self.browser.driver.quit()
        if self.tunnel:
            self.tunnel.terminate()
            self.tunnel.wait()


def packages(revision):
    """Debian packages of this machine's architecture, of the first build or of the one behind it."""
    kept = sorted((BUILD / "debs").glob("*.deb"))
    if not kept or min(package.stat().st_mtime for package in kept) < newest_source():
        shutil.rmtree(BUILD / "debs", ignore_errors=True)
        (BUILD / "debs").mkdir()
        for of in ("", REVISION):
            built = run(SOURCE / "packaging/debs", env={**os.environ, "PAWL_DEBIAN_REVISION": of})
            expect(built.returncode == 0, built.stdout[-3000:])
            for name in re.findall(r"^(\S+\.deb)$", built.stdout, re.M):
                shutil.copy(name, BUILD / "debs")
        kept = sorted((BUILD / "debs").glob("*.deb"))
    return [package for package in kept if (f"-{REVISION}_" in package.name) == (revision == REVISION)]


def newest_source():
    files = [SOURCE / "CMakeLists.txt"]
    for folder in ("docs", "examples", "include", "packaging", "port", "src"):
        files += (path for path in (SOURCE / folder).glob("**/*") if path.is_file() and "__pycache__" not in path.parts)
    return max(path.stat().st_mtime for path in files)


# ---- the day ----


def fits(printed, wanted):
    parts = [re.escape(part) for part in (wanted or "").split("...")]
    return re.fullmatch(".*".join(parts), printed, re.S) is not None


def newer(_machine, workstation, _found):
    for package in packages(REVISION):
        shutil.copy(package, workstation.folder / "build/debs")


def chapters(machine, _workstation, _found):
    """All commands of the tutorial, from the pages that the package has brought."""
    cold = ["env", "--chdir=/root/tutorial/build/cold", "sh", "-e", "-c"]
    machine.run(*cold, "rm -rf ./*")
    for page in sorted((machine.root / "usr/share/doc/pawl/docs/tutorial").glob("*.md")):
        for commands, wanted in CHAPTER_BLOCK.findall(page.read_text(encoding="utf-8")):
            ran = subprocess.run([*machine.into(), *cold, commands], check=False, text=True, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
            expect((ran.returncode, ran.stdout) == (0, wanted), f"{page.name}: {commands}{ran}")


# What else is looked at when a block with such a line has been run.
BEHIND = [
    (r"^ssh -N", lambda _machine, workstation, _found: workstation.timeline("first-watering", "open_valve")),
    (r"^pawl wait (\S+)$", lambda _machine, workstation, found: workstation.shows(found, "completed")),
    (r"^pawl drain (\S+)$", lambda _machine, workstation, found: workstation.drains(found)),
    (r"^pawl restore ", lambda _machine, workstation, _found: workstation.forgets("fifth")),
    (r"^\.\./release/examples/tutorial/01_reading$", chapters),
    (r"^cd ~/tutorial/build/cold$", newer),
]


def live(machine, workstation):
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    expect(len(blocks) > 5, f"only {len(blocks)} blocks")
    for place, commands, wanted in blocks:
        before = time.monotonic()
        at = machine if place == "machine" else workstation
        status, printed = at.type(commands)
        # A look may come before the first turn of what was just started.
        while commands.startswith("pawl queue ") and not fits(printed, wanted) and time.monotonic() < before + 60:
            status, printed = at.type(commands)
        print(f"--- {place}, {time.monotonic() - before:.1f} s\n{commands}\n{printed[-1500:]}", flush=True)
        expect(status == 0, f"ends with {status}")
        expect(fits(printed, wanted), f"printed is not\n{wanted}")
        for pattern, act in BEHIND:
            for found in re.findall(pattern, commands, re.M):
                act(machine, workstation, found)


def main():
    if os.geteuid() != 0:
        skip("needs root")
    if shutil.which("unshare") is None or run(*UNSHARE, "true").returncode != 0:
        skip("no namespaces")
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    machine = workstation = None
    page_test.SCRATCH = str(SCRATCH)
    try:
        machine = Machine()
        workstation = Workstation(machine)
        for package in packages(""):
            shutil.copy(package, workstation.folder / "build/debs")
        live(machine, workstation)
    except AssertionError as failure:
        print(f"FAILED: {failure}")
        if machine is not None:
            print(machine.run("journalctl", "--no-pager", "-n", "60").stdout)
        return 1
    finally:
        if workstation is not None:
            workstation.close()
        if machine is not None:
            machine.stop()
    shutil.rmtree(SCRATCH)
    print("passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
