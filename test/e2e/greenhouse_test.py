#!/usr/bin/env python3
"""The greenhouse as a gardener runs it: three programs, the pump's killed in the middle of a watering, a bed cancelled
while it gets water, and an older release before the newer one.

  greenhouse_test.py SOURCE_DIR BUILD_DIR all [EMULATOR ARGUMENT...]
"""

import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import error_lines

SOURCE, BUILD, PART = sys.argv[1:4]
PROGRAMS = os.path.join(BUILD, "examples", "greenhouse")
FOLDER = os.path.join(BUILD, "test", "e2e", "greenhouse.scratch")
FIELD = os.path.join(FOLDER, "field")
DATABASE = os.path.join(FOLDER, "greenhouse.db")
# A test that hangs ends here; nothing passes or fails by it otherwise.
GUARD = 100

processes = {}  # name -> Popen


def expect(condition, text):
    if not condition:
        print(f"FAILED: {text}")
        for name in ("greenhouse", "greenhouse-pump"):
            print(f"--- {name}\n" + "".join(log(name).splitlines(True)[-40:]))
        sys.exit(1)


def until(holds, what):
    deadline = time.monotonic() + GUARD
    while not holds():
        expect(time.monotonic() < deadline, f"waited in vain: {what}")
        time.sleep(0.01)


def log(name):
    try:
        with open(os.path.join(FOLDER, name + ".stderr"), encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def program(name, *arguments):
    return [*sys.argv[4:], os.path.join(PROGRAMS, name), "--db", DATABASE, *arguments]


def start(name, *arguments):
    registered = log(name).count("worker_registered")
    with open(os.path.join(FOLDER, name + ".stderr"), "ab") as errors:
        processes[name] = subprocess.Popen(program(name, "--field", FIELD, *arguments), stderr=errors)
    until(lambda: log(name).count("worker_registered") > registered, f"{name} is registered")


def stop(name):
    process = processes.pop(name)
    process.send_signal(signal.SIGTERM)
    expect(process.wait(GUARD) == 0, f"{name} ended with {process.returncode}")


def begin(*arguments):
    return subprocess.Popen(program("greenhouse-ctl", *map(str, arguments)), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def end(asked, status=0):
    out, errors = asked.communicate(timeout=GUARD)
    print(out + errors, end="")
    expect(asked.returncode == status, f"status {asked.returncode} and not {status}: {out}{errors}")
    return out if status == 0 else errors


def ctl(*arguments):
    return end(begin(*arguments))


def soil(bed, moisture=None):
    path = os.path.join(FIELD, f"soil-{bed}")
    if moisture is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{moisture}\n")
    with open(path, encoding="utf-8") as file:
        return int(file.read())


def pump():
    with open(os.path.join(FIELD, "pump"), encoding="utf-8") as file:
        return file.read().strip()


def pump_log():
    with open(os.path.join(FIELD, "pump.log"), encoding="utf-8") as file:
        return [line.rsplit(" ", 1) for line in file.read().splitlines()]


def query(statement):
    connection = sqlite3.connect(f"file:{DATABASE}?mode=ro", uri=True)
    rows = connection.execute(statement).fetchall()
    connection.close()
    return rows


def an_older_release_and_a_newer_one():
    start("greenhouse", "--beds", "3", "--release", "1")
    start("greenhouse-pump")
    ctl("start", 1, 140, 50)
    until(lambda: soil(1) >= 140, "bed 1 has its water")
    stop("greenhouse")
    start("greenhouse", "--beds", "3")
    ctl("start", 2, 150, 50)
    expect("version 1.0.0" in ctl("show", 1), "a bed stays with its version")
    until(lambda: soil(2) >= 150, "bed 2 has its water")
    expect("version 2.0.0" in ctl("show", 2), "a new one has the newer version")
    # An event, for the bed of the older version, and again after it went on as new.
    ctl("target", 1, 160)
    until(lambda: soil(1) >= 160, "bed 1 has its new aim")
    until(lambda: query("SELECT 1 FROM instances WHERE id = 'bed-1' AND execution > 1"), "its history began anew")
    expect("version 1.0.0" in ctl("show", 1), "it is still the older one")


def a_pump_killed_in_the_middle():
    """Each job is done, and in full; it may take a little more water, never less."""
    jobs = [begin("water", 2, ms) for ms in (2000, 200, 300)] + [begin("water", 1, 200)]
    # The long one: beds get water for shorter times meanwhile.
    until(lambda: query("SELECT 1 FROM worker_queue WHERE CAST(progress AS INTEGER) >= 500"), "a run has told how far it is")
    expect(pump().startswith("on "), "it runs")
    processes["greenhouse-pump"].kill()
    processes.pop("greenhouse-pump").wait()
    expect(pump().startswith("on "), "nobody switched it off")
    killed_at = len(pump_log())
    start("greenhouse-pump")
    expect(pump_log()[killed_at] == ["off at the", "start"], "first of all it is switched off")
    done = [int(re.search(r"watered for (\d+) ms", end(job))[1]) for job in jobs]
    expect(all(ran >= wanted for ran, wanted in zip(done, (2000, 200, 300, 200))), f"in full: {done}")
    twice = [key for state, key in pump_log() if state.startswith("on ")]
    expect(len(twice) == len(set(twice)) + 1, "one run had a second attempt, under the same key")


def a_bed_that_is_cancelled():
    ran = query("SELECT count(*) FROM history WHERE kind = 32")[0][0]
    job = begin("water", 1, 60_000)
    until(lambda: pump() == "on 1", "bed 1 gets water")
    answer = ctl("cancel", 1)
    expect(pump() == "off", "the pump is off when the bed has ended")
    expect(re.match(r"bed-1: ended, [1-9]\d* waterings", answer), "it says what it did")
    expect("stale" in end(job, status=1), "who waits for the job is told")
    expect(query("SELECT count(*) FROM history WHERE kind = 32")[0][0] > ran, "the end is in history")


def nothing_is_lost():
    soil(3, 77)
    found = ctl("survey", 1, 2, 3)
    expect(found == f"bed-1: moisture {soil(1)}\nbed-2: moisture {soil(2)}\nbed-3: moisture 77\n", "all of them")
    watching = begin("watch", 2)
    seen = [watching.stdout.readline() for _ in range(2)]
    expect(re.match(r"bed-2: running, moisture \d+ of 150", seen[1]), f"what it is at: {seen}")
    done = int(re.search(r"(\d+) ms", ctl("cancel", 2))[1])
    expect(watching.wait(GUARD) == 0, "who watches sees the end")
    # What the bed has counted is what its waterings answered.
    counted = query("SELECT sum(json_extract(CAST(h.payload AS TEXT), '$.ms')) FROM history AS h JOIN instances AS i"
                    " ON i.key = h.instance WHERE i.name = 'water' AND i.state = 1 AND h.kind = 32 AND"
                    " json_extract(CAST(h.payload AS TEXT), '$.bed') = 2")[0][0]
    expect(done == counted, f"{done} ms and not {counted}")
    until(lambda: not query("SELECT 1 FROM instances WHERE state NOT IN (1, 2)"), "all have ended")
    expect(query("SELECT count(*) FROM worker_queue") == [(0,)], "no work is left over")
    changes = [state.split()[0] for state, _ in pump_log()]
    expect("on on" not in " ".join(changes).replace("on off", ""), "never two runs at once")
    expect(pump() == "off" and changes[-1] == "off", "and it is off")
    stop("greenhouse-pump")
    stop("greenhouse")


shutil.rmtree(FOLDER, ignore_errors=True)
os.makedirs(FIELD)
for number in (1, 2, 3):
    soil(number, 100)
try:
    an_older_release_and_a_newer_one()
    a_pump_killed_in_the_middle()
    a_bed_that_is_cancelled()
    nothing_is_lost()
    for path in sorted(pathlib.Path(FOLDER).glob("*.stderr")):
        problems = error_lines.unexpected(path.read_text(errors="replace"), {})
        expect(not problems, f"{path.name}: {problems}")
    print("passed")
finally:
    for left in processes.values():
        left.kill()
