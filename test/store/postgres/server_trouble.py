#!/usr/bin/env python3
"""A node whose server is killed, is read-only, and is failed over.

usage: server_trouble.py PROGRAM

PROGRAM (trouble_program.cpp) sends numbers and says what each call was answered. Whatever happens to the server: a number that was
answered with ok is received once, one with another answer at most once, and one with io never. A failover to a standby that is not
synchronous may lose what was acknowledged; then it is reported, and nothing comes twice.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

from server import PLACES, as_server

PROGRAMS = pathlib.Path(PLACES[-1]) if PLACES else None
TIMES = 3  # each trouble comes so often
BETWEEN = 40  # answers between two troubles


def is_running(process):
    """Whether it still has its memory. One that ended, and whose parent has not noticed, has none."""
    try:
        return (pathlib.Path("/proc") / str(process) / "stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


class Server:
    def __init__(self, folder, port):
        self.folder = folder
        self.port = port
        self.process = None

    @property
    def data(self):
        return self.folder / f"data-{self.port}"

    def make(self):
        subprocess.run(as_server([PROGRAMS / "initdb", "-D", self.data, "-U", "pawl", "-A", "trust", "-E", "UTF8", "--locale=C",
                                  "--no-sync"]), check=True, stdout=subprocess.DEVNULL, cwd=self.folder)
        return self

    def make_standby_of(self, primary):
        subprocess.run(as_server([PROGRAMS / "pg_basebackup", "-D", self.data, "-R", "-X", "stream", "--no-sync", "-c", "fast", "-d",
                                  f"host={self.folder} port={primary.port} user=pawl application_name=standby"]), check=True,
                       cwd=self.folder)
        return self

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(as_server([
                PROGRAMS / "postgres", "-D", self.data, "-k", self.folder, "-p", str(self.port), "-c", "listen_addresses=", "-c",
                "fsync=off"]), stdout=log, stderr=log, cwd=self.folder)
        self.wait_until_it_answers()
        return self

    def wait_until_it_answers(self):
        while subprocess.run([PROGRAMS / "pg_isready", "-q", "-h", self.folder, "-p", str(self.port)], check=False).returncode:
            if self.process.poll() is not None:
                sys.exit((self.folder / "log").read_text(errors="replace"))

    def kill(self):
        """All its processes, with SIGKILL. One that is left would keep the next server from its memory."""
        self.process.send_signal(signal.SIGSTOP)  # it begins no more of them
        children = self.children()
        for process in [self.process.pid, *children]:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        while any(map(is_running, children)):
            pass

    def children(self):
        found = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=False).stdout
        return list(map(int, found.split()))

    def ask(self, sql):
        return subprocess.run([PROGRAMS / "psql", "-h", self.folder, "-p", str(self.port), "-U", "pawl", "-d", "postgres", "-Atc", sql],
                              check=True, capture_output=True, text=True,
                              env={**os.environ, "PGOPTIONS": "-c default_transaction_read_only=off"}).stdout.strip()

    def promote(self):
        self.wait_until_it_answers()
        subprocess.run(as_server([PROGRAMS / "pg_ctl", "promote", "-w", "-s", "-D", self.data]), check=True, cwd=self.folder)

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait()


class Node:
    def __init__(self, program, folder, *servers):
        hosts = ",".join(str(one.folder) for one in servers)
        ports = ",".join(str(one.port) for one in servers)
        address = f"host={hosts} port={ports} user=pawl dbname=postgres connect_timeout=2 target_session_attrs=read-write"
        self.errors = open(folder / "errors", "w+", encoding="utf-8")
        self.process = subprocess.Popen([program, folder / "node", address], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, text=True)
        self.answers = []
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.answers.append(line.split())
                self.changed.notify()
        with self.changed:
            self.answers.append(["ended"])
            self.changed.notify()

    def goes_on(self, more=BETWEEN, answer="ok"):
        """Waits for so many more of these answers."""
        with self.changed:
            begun = len(self.answers)
            while sum(one[0] == answer for one in self.answers[begun:]) < more:
                self.changed.wait()
                if self.answers[-1][0] == "ended":
                    sys.exit(f"the program ended: {self.said()}")

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def ends(self):
        self.process.stdin.close()
        self.reader.join()
        if self.process.wait() != 0:
            sys.exit(f"the program failed: {self.said()}")
        received = next(one[1:] for one in self.answers if one[0] == "all")
        return received, [one for one in self.answers if one[0] not in ("all", "ended") and one[1] != "end"]


def judge(what, received, answers, may_lose=False):
    """Returns how many were lost."""
    found = {number: received.count(number) for _, number in answers}
    twice = [number for number, times in found.items() if times > 1]
    lost = [number for answer, number in answers if answer == "ok" and found[number] == 0]
    denied = [number for answer, number in answers if answer not in ("ok", "in_doubt") and found[number] > 0]
    counts = {answer: sum(one[0] == answer for one in answers) for answer in sorted({one[0] for one in answers})}
    print(f"{what}: {counts}, {len(lost)} lost, {len(twice)} twice, {len(denied)} in spite of an error", flush=True)
    if twice or denied or (lost and not may_lose) or not set(counts) <= {"ok", "io", "in_doubt", "busy", "read_only"}:
        sys.exit(f"{what}: lost {lost}, twice {twice}, denied {denied}")
    return len(lost)


def kill_and_restart(program, folder):
    server = Server(folder, 5432).make().start()
    node = Node(program, folder, server)
    for _ in range(TIMES):
        node.goes_on()
        server.kill()
        server.start()
    node.goes_on()
    judge("killed and started again", *node.ends())
    server.stop()


def read_only(program, folder):
    server = Server(folder, 5432).make().start()
    node = Node(program, folder, server)
    for _ in range(TIMES):
        node.goes_on()
        server.ask("ALTER SYSTEM SET default_transaction_read_only=on")
        server.ask("SELECT pg_reload_conf()")
        node.goes_on(3, "read_only")
        server.ask("ALTER SYSTEM RESET default_transaction_read_only")
        server.ask("SELECT pg_reload_conf()")
    node.goes_on()
    judge("read-only for a while", *node.ends())
    server.stop()


def failover(program, folder, synchronous):
    primary = Server(folder, 5432).make().start()
    standby = Server(folder, 5433).make_standby_of(primary).start()
    if synchronous:
        primary.ask("ALTER SYSTEM SET synchronous_standby_names='standby'")
        primary.ask("SELECT pg_reload_conf()")
    node = Node(program, folder, primary, standby)
    node.goes_on()
    if not synchronous:
        standby.process.send_signal(signal.SIGSTOP)
        for process in standby.children():
            os.kill(process, signal.SIGSTOP)
        node.goes_on()
    primary.kill()
    if not synchronous:
        for process in standby.children():
            os.kill(process, signal.SIGCONT)
        standby.process.send_signal(signal.SIGCONT)
    standby.promote()
    node.goes_on()
    # The old one comes back and can be written to: nobody has fenced it.
    primary.start()
    standby.ask("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE backend_type='client backend' "
                "AND pid<>pg_backend_pid()")
    node.goes_on(3, "io")
    primary.kill()
    node.goes_on()
    if standby.ask("SELECT next_token>=1099511627776 FROM pawl.meta") != "t":
        sys.exit("numbers of before the failover may be given out again")
    received, answers = node.ends()
    kind = "synchronous" if synchronous else "asynchronous"
    lost = judge(f"failed over to a standby, {kind}", received, answers, may_lose=not synchronous)
    said = node.said()
    reported = len(re.findall("has lost commits", said))
    older = len(re.findall("is on timeline 1, behind 2", said))
    if (lost > 0) != (reported > 0) or (not synchronous and lost == 0) or older == 0:
        sys.exit(f"{kind}: {lost} lost, {reported} reports, {older} refusals of the old primary\n{said}")
    primary.stop()
    standby.stop()


def main(program):
    for trouble in (kill_and_restart, read_only, lambda *of: failover(*of, True), lambda *of: failover(*of, False)):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-trouble-"))
        if os.getuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        try:
            trouble(program, folder)
        finally:
            subprocess.run(["pkill", "-KILL", "-f", str(folder)], check=False)
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
