#!/usr/bin/env python3
"""What can be wrong at the start and behind it: sockets, token files, and databases that are gone, busy or broken.

usage: start_test.py PROJECT PROGRAM
"""
import os
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time

from harness import PROGRAM, TOKEN, WALL, Program, check, finish

FOLDER = tempfile.mkdtemp(prefix="pawl-endpoint-")


def refused(text, *arguments, folder):
    one = Program(*arguments, folder=folder)
    check(one.port == 0 and text in one.first_line, f"{arguments}: {one.first_line!r} has no {text!r}")
    one.stop()


def sockets():
    with Program() as first:
        # The same database and socket, by another program.
        second = Program("--socket", first.socket, "--no-runtime", folder=first.folder)
        check("already_exists" in second.first_line, f"two on one socket: {second.first_line}")
        second.stop()
        check(first.get("/health").status == 200, "the first goes on")
        first.process.send_signal(signal.SIGKILL)
        first.process.wait()
        check(os.path.exists(first.socket), "a killed process leaves its socket")
        third = Program(folder=first.folder)
        check(third.get("/health").status == 200, "which is taken over")
        third.stop()
        check(not os.path.exists(first.socket), "and removed in the end")
        with open(first.socket, "w", encoding="ascii") as out:
            out.write("mine")
        refused("is no socket", folder=first.folder)
        os.unlink(first.socket)
        other = socket.socket(socket.AF_UNIX)
        other.bind(first.socket)
        other.listen(1)
        refused("already_exists", folder=first.folder)
        other.close()
        refused("a socket's name has", "--socket", f"{first.folder}/{'x' * 120}", folder=first.folder)
        refused("cannot_open", "--socket", f"{first.folder}/none/s", folder=first.folder)
        refused("socket_mode", "--mode", "0100", folder=first.folder)
        refused("connections", "--connections", "0", folder=first.folder)
        refused("request_timeout", "--timeout", "5", folder=first.folder)


def no_thread():
    """A thread's stack is as large as the limit of the first one's, and there is no room for this one."""
    most = resource.getrlimit(resource.RLIMIT_STACK)[1]
    if most not in (-1, resource.RLIM_INFINITY) and most < 1 << 47:
        return print("not tested: the limit of stacks may not be raised here")
    with open(PROGRAM, "rb") as program:
        if b"__tsan_init" in program.read():
            return print("not tested: the thread sanitizer has a map of addresses of its own, without room for that limit")

    def no_room():
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 47, most))

    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([PROGRAM, f"{folder}/a.db"], preexec_fn=no_room, capture_output=True, text=True, timeout=60)
        check(run.returncode == 1 and "resource_exhausted: the system has no thread" in run.stdout,
              f"no thread: {run.returncode} {run.stdout} {run.stderr}")
        check(not os.path.exists(f"{folder}/a.db-http"), "no socket is left behind")


def token_files():
    path = f"{FOLDER}/token"

    def start(*arguments):
        run = subprocess.Popen([PROGRAM, f"{FOLDER}/t.db", "--tcp", path, *arguments], stdout=subprocess.PIPE, text=True)
        line = run.stdout.readline()
        run.terminate()
        run.wait()
        run.stdout.close()
        return line

    def write(text, mode):
        if os.path.exists(path):
            os.unlink(path)
        with open(path, "w", encoding="latin-1") as out:
            out.write(text)
        os.chmod(path, mode)

    check("cannot be read" in start(), "no token file")
    for mode in (0o644, 0o604, 0o602, 0o620, 0o666):
        write(TOKEN, mode)
        check("others may read or write" in start(), f"mode {mode:o} is refused")
    for text in ("", "short", "with a space in it.", "x" * 600, "\x01" * 20):
        write(text, 0o600)
        check("a token has" in start(), f"{text[:20]!r} is no token")
    for mode in (0o600, 0o640, 0o400):
        write(TOKEN + "\n", mode)
        check(start().startswith("ready"), f"mode {mode:o} is good")
    for address in ("0.0.0.0", "192.0.2.1", "::"):
        check("allow_others" in start("--address", address), f"{address} is refused")
    check("is no number" in start("--address", "localhost"), "a name is no address")
    os.unlink(path)
    os.mkdir(path)
    check("is no regular file" in start(), "a folder is no token file")
    os.rmdir(path)


def without_a_runtime():
    with Program() as one:
        one.start("hello", "one", "hi")
        one.until_state("one", "completed")
        one.stop()
        alone = Program("--no-runtime", folder=one.folder)
        check(alone.get("/v1/instances/one").json["status"]["output"] == "hi", "a database without a runtime")
        check(alone.get("/health").json == {"status": "ok", "runtime": False, "late_ms": 0}, "health of it")
        check(alone.get("/ready").status == 200, "ready, for the database is open")
        check(alone.get("/v1/runtime").status == 404, "no runtime's counters")
        check(b"pawl_instances" in alone.get("/metrics").body, "metrics")
        busy(alone)
        alone.stop()


def busy(at):
    lock = sqlite3.connect(at.database, isolation_level=None)
    lock.execute("PRAGMA busy_timeout=5000")
    lock.execute("BEGIN IMMEDIATE")
    got = at.post("/v1/instances?name=hello&id=late")
    check(got.status == 503 and got.json["error"] == "busy" and got.headers["Retry-After"] == "1", f"busy: {got.status} {got.body}")
    check(at.get("/v1/instances").status == 200, "reads go on")
    lock.execute("ROLLBACK")
    lock.close()
    check(at.post("/v1/instances?name=hello&id=late").status == 201, "and writes afterwards")


def broken_databases():
    folder = tempfile.mkdtemp(dir=FOLDER)
    alone = Program("--no-runtime", folder=folder)
    got = alone.get("/v1/instances")
    check(got.status == 503 and got.json["error"] == "cannot_open", f"no database: {got.status} {got.body}")
    check(alone.get("/ready").status == 503 and alone.get("/health").status == 200, "alive and not ready")
    with Program() as made:
        made.start("hello", "one", "hi")
        made.until_state("one", "completed")
        made.stop()
        shutil.copy(made.database, alone.database)
    os.chmod(alone.database, 0o600)
    check(alone.until("/v1/instances/one", lambda one: True).json["status"]["output"] == "hi", "it comes, and is opened")
    alone.stop()
    for text, error in ((b"not a database" * 100, "foreign_database"), (b"SQLite format 3\0" + b"\xff" * 4080, None)):
        for ending in ("", "-wal", "-shm"):
            if os.path.exists(alone.database + ending):
                os.unlink(alone.database + ending)
        with open(alone.database, "wb") as out:
            out.write(text)
        os.chmod(alone.database, 0o600)
        one = Program("--no-runtime", folder=folder)
        got = one.get("/v1/instances")
        check(got.status in (500, 503) and (error is None or got.json["error"] == error), f"{error}: {got.status} {got.body}")
        check(one.get("/health").status == 200, "and it answers")
        one.stop()


def a_stuck_loop():
    with Program() as at:
        at.start("blocking", "b", "14000")
        end = time.monotonic() + 30
        got = at.get("/health")
        while got.status == 200 and time.monotonic() < end:
            time.sleep(0.2)
            got = at.get("/health")
        check(got.status == 503 and got.json["status"] == "stalled" and got.json["late_ms"] > 10_000, f"stuck: {got.body}")
        check(at.get("/ready").status == 503, "and not ready")
        check(at.get("/v1/instances").status == 200, "the endpoint does not wait for the loop")
        got = at.until("/health", lambda one: one["status"] == "ok")
        check(got.status == 200, "and it comes back")


def stop_under_way():
    with Program() as at:
        at.start("waiting", "w")
        at.until("/v1/instances/w", lambda one: one["stats"]["history_events"] > 0)
        revision = at.get("/v1/instances/w").json["revision"]
        over = threading.Event()

        def ask(path):
            while not over.is_set():
                try:
                    at.get(path)
                except OSError:
                    return
                except Exception:  # a connection that ends in the middle of an answer
                    return

        threads = [threading.Thread(target=ask, args=(path,)) for path in
                   ("/v1/instances", "/metrics", f"/v1/instances/w/watch?revision={revision}",
                    f"/v1/instances/w/watch?revision={revision}", "/v1/workers")]
        idle = at.raw(b"GET /health HTTP/1.1\r\nHost")
        for one in threads:
            one.start()
        time.sleep(0.5)
        took = at.stop()
        over.set()
        check(took < 15 and at.process.returncode == 0, f"stop() returns: {took:.1f} s, {at.process.returncode}")
        for one in threads:
            one.join(30)
            check(not one.is_alive(), "its clients hear of it")
        idle.close()


def metrics_files():
    """What lies at the file's name, or at its first one, is neither waited for nor written over."""
    with tempfile.TemporaryDirectory() as folder:
        database = f"{folder}/a.db"
        shut = {"the database": database, "its log": f"{database}-wal", "its bell": f"{database}-bell"}
        for what, path in shut.items():
            refused("metrics_file", "--metrics-file", path, folder=folder)
            check(not os.path.exists(path), f"{what} is not made")
        with Program(folder=folder):
            link, second = f"{folder}/link", f"{folder}/second"
            os.symlink(database, link)
            os.link(f"{database}-bell", second)
            for path in (*shut.values(), link, second, f"{folder}/../{os.path.basename(folder)}/a.db"):
                refused("metrics_file", "--no-runtime", "--socket", f"{folder}/s", "--metrics-file", path, folder=folder)
            os.unlink(second)
        victim, prom = f"{folder}/victim", f"{folder}/a.prom"
        with open(victim, "w", encoding="ascii") as out:
            out.write("of another")
        for put in (os.mkfifo, lambda name: os.link(victim, name), lambda name: os.symlink(victim, name)):
            put(f"{prom}.tmp")
            with Program("--metrics-file", prom, folder=folder) as at:
                at.until("/health", lambda _: os.path.exists(prom))
                check(at.get("/metrics").status == 200 and os.path.exists(prom), "it answers, and the file is written")
                with open(prom, encoding="utf-8") as lines:
                    check("pawl_instances" in lines.read(), "whole")
                at.stop()
                check(at.process.returncode == 0, "and ends")
            os.unlink(prom)
        with open(victim, encoding="ascii") as kept:
            check(kept.read() == "of another", "a second name is not written through")
        # Nor is the first name the database's.
        os.rename(database, f"{folder}/m.tmp")
        before = os.stat(f"{folder}/m.tmp").st_ino
        run = subprocess.run([PROGRAM, f"{folder}/m.tmp", "--metrics-file", f"{folder}/m"], stdout=subprocess.PIPE, text=True,
                             timeout=60, check=False)
        check("metrics_file" in run.stdout and run.returncode == 1, f"the first name: {run.stdout}")
        check(os.stat(f"{folder}/m.tmp").st_ino == before, "the database is the same")


def socket_modes():
    with Program() as at:
        check(os.stat(at.socket).st_mode & 0o777 == 0o600, "the socket is for the owner of the database alone")
    with Program("--group") as at:
        check(os.stat(at.socket).st_mode & 0o777 == 0o660, "and for the group, where the database is")
    with Program("--mode", "0666") as at:
        check(os.stat(at.socket).st_mode & 0o777 == 0o666, "or as it was asked for")


def a_stuck_thread():
    """The end does not wait for ever for a thread that does not come back; nothing is freed under it."""
    with Program("--no-runtime", "--timeout", "100") as at:
        frozen = at.freeze("pawl-endpoint")
        if frozen is None:
            return print("not tested: a thread of another process may not be stopped here")
        at.process.send_signal(signal.SIGTERM)
        os.waitpid(frozen, WALL)
        said = at.process.stdout.read()
        check(at.process.wait(60) == 4 and "pawl-endpoint still runs" in said, f"{at.process.returncode}: {said}")


for part in (sockets, no_thread, token_files, without_a_runtime, broken_databases, stop_under_way, a_stuck_loop, metrics_files, socket_modes, a_stuck_thread):
    part()
shutil.rmtree(FOLDER, ignore_errors=True)
finish()
