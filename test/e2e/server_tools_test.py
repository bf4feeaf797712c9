#!/usr/bin/env python3
"""pawld, its endpoint and `pawl` on a PostgreSQL server, by a URL that has a password; no output, log, answer or file shows it.

  server_tools_test.py PAWLD PAWL SCRATCH     beside a server: see test/store/postgres/server.py
"""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time

PAWLD, PAWL = sys.argv[1:3]
FOLDER = pathlib.Path(sys.argv[3])
SECRET = "s3cret-word"
HOST = re.search(r"host=(\S+)", os.environ["PAWL_POSTGRES"])[1]
URL = f"postgresql://pawl:{SECRET}@/postgres?host={HOST}"
BY_IP = f"postgresql://pawl:{SECRET}@{os.environ['PAWL_POSTGRES_IP']}/postgres"
SCHEMA = "plant"
BESIDE = FOLDER / "plant"
CONFIG = FOLDER / "pawld.json"
LOG = FOLDER / "log"
GUARD = 100  # a test that hangs ends here

children = []
said = []  # all that any of the programs has written
os.umask(0o022)


def expect(condition, text):
    if condition:
        return
    sys.exit(f"FAILED: {text}\n--- log\n{LOG.read_text() if LOG.exists() else ''}")


def run(*command, status=0, **environment):
    done = subprocess.run(command, capture_output=True, text=True, timeout=GUARD,
                          env={**os.environ, "TMPDIR": str(FOLDER / "tmp"), **environment})
    said.append(done.stdout + done.stderr)
    expect(done.returncode == status, f"{command}: status {done.returncode}, not {status}\n{said[-1]}")
    return done.stdout if status in (0, 5) else done.stderr


def pawl(*arguments, status=0, url=URL, schema=SCHEMA):
    return run(PAWL, "--db", url, "--schema", schema, *arguments, status=status)


def until(holds, what):
    deadline = time.monotonic() + GUARD
    while not holds():
        expect(time.monotonic() < deadline, f"waited in vain: {what}")
        time.sleep(0.01)


def configure(**sections):
    CONFIG.write_text(json.dumps({"database": URL, "schema": SCHEMA, "beside": str(BESIDE), "clock": "always", **sections}))


def start():
    with open(LOG, "ab") as output:
        daemon = subprocess.Popen([PAWLD, str(CONFIG)], stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    children.append(daemon)
    until(lambda: " info ready " in LOG.read_text() or daemon.poll() is not None, "pawld is up")
    expect(daemon.poll() is None, "pawld works on the server")
    return daemon


def ask(path):
    with socket.socket(socket.AF_UNIX) as to:
        to.settimeout(GUARD)
        to.connect(str(BESIDE) + "-http")
        to.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: to.recv(65536), b"")).decode()
    said.append(answer)
    expect(answer.startswith("HTTP/1.1 200"), answer)
    return answer.partition("\r\n\r\n")[2]


def by_hand(path, sql):
    file = sqlite3.connect(path, isolation_level=None)
    file.execute(sql)
    file.close()


def works():
    """An instance from its start to its export, by the tool, and by the endpoint."""
    expect("holds no tables" in pawl("list", status=1), "nothing is made by a look")
    may_end = FOLDER / "may_end"
    until_then = ["/bin/sh", "-c", f"until test -e {may_end}; do sleep 0.05; done"]
    configure(database=BY_IP, endpoint={}, activities={"say": {"argv": ["/bin/cat"]}, "linger": {"argv": until_then}},
              start=[{"name": "hello", "id": "first"}, {"name": "late", "id": "late"}],
              orchestrations={"hello": {"type": "sequence", "steps": [{"name": "a", "activity": "say", "input": "x"}]},
                              "late": {"type": "sequence", "steps": [{"name": "a", "activity": "linger", "input": "x"}]}})
    run(PAWLD, "--check-config", str(CONFIG))
    daemon = start()
    waiter = subprocess.Popen([PAWL, "--db", URL, "--schema", SCHEMA, "wait", "late"], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env={**os.environ, "TMPDIR": str(FOLDER / "tmp")})
    children.append(waiter)
    began = time.monotonic()
    beside = ("--beside", str(BESIDE))
    expect(pawl(*beside, "start", "hello", "null", "--id", "second") == "second\n", "start")
    expect(pawl(*beside, "wait", "second") == '"x"\n', "its result")
    expect(pawl("wait", "first") == '"x"\n', "a wait without the files of the workers")
    listed = [row.split("\t")[:3] for row in pawl("list").splitlines()]
    expect(sorted(listed) == [["first", "hello", "completed"], ["late", "late", "running"], ["second", "hello", "completed"]], f"{listed}")
    expect('\noutput\t"x"\n' in pawl("show", "second"), "show")
    events = [json.loads(line) for line in pawl("history", "second", "--json").splitlines()]
    expect((events[0]["kind"], events[-1]["kind"]) == ("started", "ended"), f"{events}")
    exported = pawl("export", "second").splitlines()
    expect(len(exported) > len(events) and all(json.loads(line) for line in exported), "export")
    expect("\ninstances_completed\t2\n" in "\n" + pawl("metrics"), "metrics")
    expect(pawl("workers").startswith("pawld\t"), "workers")
    expect(json.loads(pawl("workers", "--json"))["address"] == "127.0.0.1", f"where it is connected from: {said[-1]}")
    expect(pawl(*beside, "watch", "second") == "", "a watch of one that has ended")
    pawl("start", "hello", "null", "--id", "third")
    expect(pawl("wait", "third") == '"x"\n', "a worker that nothing rings for looks by itself")
    run(PAWL, "list", PAWL_DB=URL, PAWL_SCHEMA=SCHEMA)
    expect(run(PAWLD, "--replay-check", str(CONFIG)) == "1 go, 0 no-go\n", "a replay check")

    expect(json.loads(ask("/v1/instances/second"))["status"]["state"] == "completed", "the endpoint has the same rows")
    for path in ("/", "/v1/metrics", "/v1/workers", "/ready", "/health", "/metrics", "/v1/openapi.json"):
        ask(path)
    for title in ("comm", "cmdline", "status"):
        said.append(pathlib.Path(f"/proc/{daemon.pid}/{title}").read_text())
    until(lambda: time.monotonic() - began > 7, "the looks of a wait that something rings for are over")
    may_end.touch()
    said.append(waiter.communicate(timeout=GUARD)[0])
    expect(waiter.returncode == 0, f"nothing rings for this wait, so it looks by itself: {said[-1]}")
    daemon.send_signal(signal.SIGTERM)
    expect(daemon.wait(GUARD) == 0, f"pawld ended with {daemon.returncode}")


def moves():
    """To a file, which a daemon goes on with, and back to another schema; the old places are closed."""
    plain = FOLDER / "moved.db"
    to_file = ("--db", str(plain))
    expect(re.fullmatch(r"moved, [1-9]\d+ rows, compared\n", pawl("move", str(plain))), said[-1])
    expect("moved to another database" in pawl("list", status=1), "the schema is closed")
    expect(run(PAWL, *to_file, "wait", "second") == '"x"\n', "its result came along")
    expect(run(PAWL, *to_file, "doctor").endswith("verdict\thealthy\n"), "a sound file")
    say = {"type": "sequence", "steps": [{"name": "a", "activity": "say", "input": "x"}]}
    CONFIG.write_text(json.dumps({"database": str(plain), "activities": {"say": {"argv": ["/bin/cat"]}}, "orchestrations": {"hello": say},
                                  "clock": "always"}))
    LOG.write_text("")
    daemon = start()
    run(PAWL, *to_file, "start", "hello", "null", "--id", "fourth")
    expect(run(PAWL, *to_file, "wait", "fourth") == '"x"\n', "the file is in use")
    refused = run(PAWL, *to_file, "move", URL, "--to-schema", "plant2", status=1)
    expect(f"in use by process {daemon.pid}" in refused, refused)
    daemon.send_signal(signal.SIGTERM)
    expect(daemon.wait(GUARD) == 0, "pawld ends")
    by_hand(plain, "UPDATE instances SET revision='x' WHERE id='fourth'")
    refused = run(PAWL, *to_file, "move", URL, "--to-schema", "plant2", status=1)
    expect("corrupt: " in refused and "table instances, the row of key" in refused, refused)
    by_hand(plain, "UPDATE instances SET revision=3 WHERE id='fourth'")
    moved = json.loads(run(PAWL, *to_file, "move", URL, "--to-schema", "plant2", "--json"))
    expect(moved["done"] == "move" and moved["rows"] > 20, f"{moved}")
    expect(len(pawl("list", schema="plant2").splitlines()) == 5, said[-1])
    expect("moved to another database" in run(PAWL, *to_file, "list", status=1), "the file is closed")
    expect("holds no tables" in run(PAWL, *to_file, "move", URL, "--to-schema", "plant3", status=1), said[-1])
    expect("for a database on a server" in run(PAWL, *to_file, "move", "x.db", "--to-schema", "y", status=2), said[-1])


def finds_what_is_broken():
    """All rows are looked through; a link that leads nowhere is named, and nothing is changed."""
    broken = "UPDATE plant.history SET row_number=-row_number WHERE id=2 AND instance=(SELECT key FROM plant.instances WHERE id='third')"
    by_server = lambda: run("psql", "-X", "-q", "-d", os.environ["PAWL_POSTGRES"], "-c", broken)  # noqa: E731
    expect(pawl("doctor").endswith("verdict\thealthy\n"), said[-1])
    by_server()
    expect("event 2: is missing, or its link is wrong" in pawl("doctor", status=5), said[-1])
    found = json.loads(pawl("doctor", "--json", status=5))
    expect((found["healthy"], len(found["findings"]), "file_bytes" in found) == (False, 2, False), f"{found}")
    by_server()
    expect(json.loads(pawl("doctor", "--json"))["healthy"], said[-1])
    for options in (["--for", "1s"], ["--folders", "/tmp"]):
        expect("are for a file" in pawl("doctor", *options, status=2), said[-1])


def refuses():
    """A clear text and the documented exit code for each."""
    for command, instead in ((["backup", "x"], "pg_dump"), (["restore", "x"], "pg_restore"), (["upgrade"], "not converted"), (["check", "--with", "/bin/true"], "PROGRAM PATH")):
        refused = pawl(*command, status=1)
        expect("unsupported: the database is on a server" in refused and instead in refused, refused)
    expect("--beside" in pawl("watch", "second", status=2), "a watch without the files of the workers")
    expect("holds no tables" in pawl("list", schema="nothing", status=1), "a schema that is not there")
    expect("the name of a schema" in pawl("list", schema="No-Schema", status=1), "no name of a schema")
    away = f"postgresql://pawl:{SECRET}@127.0.0.1:1/x?password={SECRET}"
    for arguments in (["list"], ["list", "--json"], ["wait", "a"]):
        expect("cannot be reached" in pawl(*arguments, url=away, status=1), "a server that is away")
    for arguments, text in (([URL], "unknown command"), (["list", URL], "one argument too many"),
                            (["list", "--json", URL], "one argument too many")):
        refused = run(PAWL, *arguments, status=2)
        expect(text in refused, refused)
    expect("there is no file" in run(PAWL, "--db", f"host=x password={SECRET}", "list", status=3), "only a URL is a server")
    for option in ("--schema", "--beside"):
        expect("database on a server" in run(PAWL, "--db", "x.db", option, "x", "list", status=2), f"{option} of a file")

    configure(database=away)
    refused = subprocess.run([PAWLD, str(CONFIG)], capture_output=True, text=True, timeout=GUARD)
    said.append(refused.stdout + refused.stderr)
    expect(refused.returncode == 1 and "cannot be reached" in said[-1], said[-1])
    for sections, text in (({"beside": URL}, "beside: is "), ({"beside": "x"}, "expected an absolute path"),
                           ({"database": str(BESIDE)}, "schema: is for"), ({"node": URL + "\n"}, "node")):
        configure(**sections)
        expect(text in run(PAWLD, "--check-config", str(CONFIG), status=78), f"{sections}")
    CONFIG.write_text(json.dumps({"database": URL}))
    expect("beside: " in run(PAWLD, "--check-config", str(CONFIG), status=78), "the files beside it need a place")
    run(PAWLD, URL, status=78)


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    (FOLDER / "tmp").mkdir(parents=True)
    works()
    finds_what_is_broken()
    refuses()
    moves()
    CONFIG.unlink()
    expect(not os.listdir(FOLDER / "tmp"), "the tool leaves no folder behind")
    with open(str(BESIDE) + "-bell", "ab") as bell:
        refused = subprocess.run([PAWL, "--db", URL, "--schema", "plant2", "--beside", str(BESIDE), "list"], stdout=bell,
                                 stderr=subprocess.PIPE, text=True, timeout=GUARD)
    expect(refused.returncode == 1 and "plant-bell" in refused.stderr, refused.stderr)
    texts = "".join(said)
    expect(len(texts) > 10000 and "cannot be reached" in texts, "the search is of something")
    found = re.search(f".*{SECRET}.*", texts)
    expect(not found, f"the password is shown: {found and found[0]}")
    for file in FOLDER.rglob("*"):
        expect(not file.is_file() or SECRET.encode() not in file.read_bytes(), f"the password is in {file}")
    # Activities take long on a busy machine.
    expect(not re.search(r" error | warning (?!inline_activity_overlong )", LOG.read_text()), "a line of the log that is none of this")
    print("ok")


try:
    main()
finally:  # the server ends when no program is connected any more
    for child in children:
        child.kill()
