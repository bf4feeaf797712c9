#!/usr/bin/env python3
"""`pawl upgrade` on databases of earlier forms: what it keeps, what it refuses, and what is there after a kill.

  upgrade_test.py SOURCE_DIR BUILD_DIR converted|damaged|refused|interrupted|meanwhile|power|large|linked [EMULATOR ARGUMENT...]
"""

import fcntl
import json
import os
import pathlib
import resource
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import time

SOURCE, BUILD, PART = sys.argv[1:4]
EMULATOR = sys.argv[4:]
PAWL = [*EMULATOR, os.path.join(BUILD, "src", "apps", "pawl", "pawl")]
GOLDEN = pathlib.Path(SOURCE) / "test" / "store" / "golden"
FOLDER = pathlib.Path(BUILD) / "test" / "e2e" / f"upgrade.{PART}.scratch"
DATABASE = FOLDER / "one.db"
EARLIER = ("format1.db", "format2_early.db", "format2_leases.db")
GUARD = 100
OTHER = 65534  # a user and a group that own nothing


def expect(condition, text):
    if not condition:
        print(f"FAILED: {text}")
        sys.exit(1)


def pawl(*arguments, status=0, database=DATABASE, **more):
    run = subprocess.run([*PAWL, "--db", str(database), *arguments], cwd=FOLDER, capture_output=True, text=True,
                         timeout=GUARD, **more)
    expect(run.returncode == status, f"{arguments}: status {run.returncode}, not {status}\n{run.stdout}{run.stderr}")
    return run.stdout if status == 0 else run.stderr


def fresh(name=EARLIER[0]):
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    shutil.copy(GOLDEN / name, DATABASE)
    DATABASE.chmod(0o640)


def rows(database, sql, *values):
    connection = sqlite3.connect(database, isolation_level=None)
    try:
        return connection.execute(sql, values).fetchall()
    finally:
        connection.close()


def names_beside():
    return sorted(path.name for path in FOLDER.iterdir() if path.name.startswith("one.db"))


# ---- checksums of events ----

TABLE = []
for value in range(256):
    for _ in range(8):
        value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    TABLE.append(value)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def as_bytes(value):
    return b"" if value is None else value.encode() if isinstance(value, str) else value


def crc_of(instance, execution, event, kind, branch, ordinal, ref, when, meta, payload, prev=None):
    meta, payload = as_bytes(meta), as_bytes(payload)
    numbers = [instance, execution, event, kind, branch or 0, ordinal or 0, ref or 0, when, len(meta), len(payload)]
    return crc32c(struct.pack(f"<{len(numbers) + (prev is not None)}q", *numbers, *([] if prev is None else [prev]))
                  + meta + payload)


COLUMNS = "instance,execution,id,kind,branch,ordinal,ref,time,meta,payload"


def plant(lengths, steps=(1, 3, 2)):
    """Ended instances in a database of an earlier form: events of each arrive by turns, with the others' between them."""
    connection = sqlite3.connect(DATABASE, isolation_level=None)
    linked = any(row[1] == "prev" for row in connection.execute("PRAGMA table_info(history)"))
    connection.execute("BEGIN")
    keys, last = {}, {}
    for number, length in enumerate(lengths):
        connection.execute(
            "INSERT INTO instances(id,name,version,state,execution,revision,home,crashes,strikes,reboots,created_stamp,"
            "updated_stamp,finished_at,last_event) SELECT ?1,name,version,state,execution,revision,home,crashes,strikes,"
            "reboots,created_stamp,updated_stamp,finished_at,?2 FROM instances WHERE id='completed'", (f"more{number}", length))
        keys[number] = connection.execute("SELECT last_insert_rowid()").fetchone()[0]
        connection.execute("INSERT INTO executions(instance,execution,end,last_event,started_stamp,ended_stamp) "
                           "VALUES(?1,1,1,?2,1800000000000,1800000000000)", (keys[number], length))
    done = {number: 0 for number in keys}
    turn = 0
    while any(done[number] < lengths[number] for number in keys):
        for number, key in keys.items():
            for event in range(done[number] + 1, min(done[number] + steps[turn % len(steps)], lengths[number]) + 1):
                row = event_row(key, event, lengths[number])
                if linked:
                    here = connection.execute("SELECT coalesce(max(row_number),0)+1 FROM history").fetchone()[0]
                    prev = None if last.get(key) in (None, here - 1) else last[key]
                    connection.execute(f"INSERT INTO history({COLUMNS},crc,row_number,prev) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)",
                                       (*row, crc_of(*row, prev=prev), here, prev))
                    last[key] = here
                else:
                    connection.execute(f"INSERT INTO history({COLUMNS},crc) VALUES(?,?,?,?,?,?,?,?,?,?,?)", (*row, crc_of(*row)))
                done[number] = event
            turn += 1
    for key, row in last.items():
        connection.execute("UPDATE instances SET last_row=? WHERE key=?", (row, key))
        connection.execute("UPDATE executions SET last_row=? WHERE instance=?", (row, key))
    connection.execute("COMMIT")
    connection.close()
    return keys


def event_row(key, event, length):
    if event == 1:
        return (key, 1, 1, 1, None, None, None, 1800000000000, '{"name":"ends_at_once","version":"1.0.0","number":1}', b"first")
    if event == length:
        return (key, 1, event, 50, None, None, None, 1800000000000, '{"end":1,"horizon":1}', f"event {event}".encode())
    return (key, 1, event, 8, 0, event - 2, None, 1800000000000, None, f"event {event}".encode())


# ---- what it keeps ----


def tables(database):
    """Each table's columns of the old form, with all rows."""
    return {name: [row[1] for row in rows(database, f"PRAGMA table_info({name})")] for (name,) in rows(
        database, "SELECT name FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite_stat%'")}


def contents(database, columns, order):
    return {table: rows(database, f"SELECT {','.join(c for c in names if (table, c) != ('history', 'crc'))} FROM {table} ORDER BY {order[table]}")
            for table, names in columns.items()}


def expect_linked(database):
    """Each event's row leads to the row of the event before, and its checksum is right."""
    found = {}
    count = 0
    for row in rows(database, f"SELECT row_number,prev,crc,{COLUMNS} FROM history ORDER BY instance,execution,id"):
        (number, prev, crc), event = row[:3], row[3:]
        before = found.get(event[:2])
        expect(event[2] == (1 if before is None else before[0] + 1), f"{event} follows {before}")
        expect(before is None or number > before[1], f"{event}: numbers rise")
        expect((number - 1 if prev is None else prev) == before[1] if before else prev is None, f"{row} leads to {before}")
        expect(crc == crc_of(*event, prev=prev), f"{row}: its checksum is wrong")
        found[event[:2]] = (event[2], number)
        count += prev is not None
    expect(rows(database, "SELECT count(*) FROM instances AS i LEFT JOIN history AS h ON h.row_number=i.last_row AND "
                "h.instance=i.key AND h.execution=i.execution AND h.id=i.last_event WHERE h.id IS NULL")[0][0] == 0, "last_row")
    expect(rows(database, "SELECT count(*) FROM executions AS e LEFT JOIN history AS h ON h.row_number=e.last_row AND "
                "h.instance=e.instance AND h.execution=e.execution AND h.id=e.last_event WHERE h.id IS NOT e.last_event")[0][0] == 0,
           "last_row of executions")
    expect(rows(database, "SELECT count(*) FROM worker_queue AS q LEFT JOIN history AS h ON h.row_number=q.event_row AND "
                "h.instance=q.instance AND h.execution=q.execution AND h.id=q.event WHERE h.id IS NULL")[0][0] == 0, "event_row")
    return count


def converted():
    for name in EARLIER:
        fresh(name)
        said = pawl("list", status=1)
        expect("older_database" in said and f"pawl upgrade --db {DATABASE}" in said, said)
        lengths = (40, 2, 300, 7)
        plant(lengths)
        # Work in the queue beyond the kept item: from an event in the middle, and a number that was given and whose row is gone.
        rows(DATABASE, "UPDATE sqlite_sequence SET seq=seq+1000")
        columns = tables(DATABASE)
        order = {table: ",".join(names) for table, names in columns.items()}
        before = contents(DATABASE, columns, order)
        inode = DATABASE.stat().st_ino
        told = subprocess.run([*PAWL, "--db", DATABASE, "upgrade"], cwd=FOLDER, capture_output=True, text=True, timeout=GUARD)
        expect(told.returncode == 0 and ": converted, " in told.stdout and "free" in told.stderr, told.stdout + told.stderr)
        expect(DATABASE.stat().st_ino != inode and DATABASE.stat().st_mode & 0o777 == 0o640, "a new file with the mode of the old")
        expect(names_beside() == ["one.db", "one.db-bell"], f"nothing is left: {names_beside()}")
        expect(DATABASE.read_bytes()[18:20] == b"\2\2", "its head says that it has a log")
        expect(contents(DATABASE, columns, order) == before, f"{name}: every column stays")
        expect(expect_linked(DATABASE) > 20, "turns are linked")
        expect(rows(DATABASE, "SELECT seq-1000 FROM sqlite_sequence WHERE name='instances'")[0][0] == 8, "numbers are not given again")
        for number, length in enumerate(lengths):
            events = [json.loads(line) for line in pawl("history", f"more{number}", "--json").splitlines()]
            text = json.dumps(events)
            expect(text.count("event_id") >= length or len(events) >= length, text[:300])
        # One that has today's form stays as it is, also while a process has it open.
        before = (DATABASE.read_bytes(), DATABASE.stat().st_ino)
        expect(json.loads(pawl("upgrade", "--json")) == {"done": "upgrade", "converted": False}, "it says so")
        expect((DATABASE.read_bytes(), DATABASE.stat().st_ino) == before, "nothing changes")
        watch = subprocess.Popen([*PAWL, "--db", DATABASE, "watch", "timer"], cwd=FOLDER, stdout=subprocess.DEVNULL)
        wait_until_open(watch)
        expect("already" in pawl("upgrade"), "while it is in use")
        watch.kill()
        watch.wait()


def wait_until_open(process):
    deadline = time.monotonic() + GUARD
    while process.poll() is None and not (FOLDER / "one.db-shm").exists():
        expect(time.monotonic() < deadline, "the database is never opened")
        time.sleep(0.01)


# ---- damage ----


def damaged():
    """What is wrong in the old file is as wrong in the new one, and all else is there."""
    fresh()
    keys = plant((30, 30, 30, 30, 30))
    # A payload and a meta that do not match their checksums, in a row that gets a link and in one that gets none.
    for number, event in ((0, 15), (0, 16), (0, 17)):
        rows(DATABASE, "UPDATE history SET payload='other' WHERE instance=? AND id=?", keys[number], event)
    rows(DATABASE, "DELETE FROM history WHERE instance=? AND id IN (9,10)", keys[1])
    rows(DATABASE, "DELETE FROM history WHERE instance=? AND id=30", keys[2])
    rows(DATABASE, "DELETE FROM history WHERE instance=? AND id=1", keys[3])
    rows(DATABASE, "UPDATE worker_queue SET event=99")
    # A checksum that is wrong in the old form, and that would be right of the row with its link.
    linked, number = rows(DATABASE, "SELECT h.id,p.rowid FROM history AS h JOIN history AS p ON p.instance=h.instance AND "
                          "p.id=h.id-1 WHERE h.instance=? AND h.id>10 AND p.rowid<h.rowid-1", keys[4])[0]
    row = rows(DATABASE, f"SELECT {COLUMNS} FROM history WHERE instance=? AND id=?", keys[4], linked)[0]
    rows(DATABASE, "UPDATE history SET crc=? WHERE instance=? AND id=?", crc_of(*row, prev=number), keys[4], linked)
    count = rows(DATABASE, "SELECT count(*) FROM history")[0][0]
    pawl("upgrade")
    expect(rows(DATABASE, "SELECT count(*) FROM history")[0][0] == count, "no event is lost")
    links = rows(DATABASE, "SELECT count(prev) FROM history WHERE payload='other'")[0][0]
    expect(links in (1, 2), f"{links} of the damaged rows have links")
    expect(rows(DATABASE, "SELECT prev FROM history WHERE instance=? AND id=?", keys[4], linked)[0][0] == number, "it has a link")
    for wrong in rows(DATABASE, f"SELECT prev,crc,{COLUMNS} FROM history WHERE payload='other' OR instance=? AND id=?", keys[4], linked):
        expect(wrong[1] != crc_of(*wrong[2:], prev=wrong[0]), f"{wrong}: a wrong checksum became right")
    for number, event in ((0, 15), (1, 9), (2, 30), (3, 1), (4, linked)):
        said = pawl("history", f"more{number}", status=1)
        expect(f"event {event}: " in said, f"more{number}: {said}")
    expect(rows(DATABASE, "SELECT event_row FROM worker_queue")[0][0] == 0, "work of an event that is missing names no row")
    expect("corrupt" not in pawl("history", "timer"), "the others are whole")
    pawl("delete", "more1")


# ---- what it refuses ----


def unchanged(says, *arguments, status=1, left=("one.db",)):
    before = (DATABASE.read_bytes(), DATABASE.stat().st_ino, DATABASE.stat().st_mtime_ns)
    said = pawl("upgrade", *arguments, status=status)
    expect(says in said, said)
    expect(before == (DATABASE.read_bytes(), DATABASE.stat().st_ino, DATABASE.stat().st_mtime_ns), f"{says}: it is unchanged")
    # The bell may be there, and the log and its index if a process uses them.
    rest = [name for name in names_beside() if name not in (*left, "one.db-bell", "one.db-wal", "one.db-shm")]
    expect(not rest, f"{says}: left {rest}")
    return said


def refused():
    fresh()
    expect("not_found" in pawl("upgrade", status=3, database=FOLDER / "none.db"), "no file")
    # A process that has it open, as an older Pawl has: it waits on a lock that this one keeps.
    user = subprocess.Popen([sys.executable, "-c", f"import sqlite3,sys; c=sqlite3.connect({str(DATABASE)!r}); "
                             "c.execute('SELECT count(*) FROM instances').fetchall(); print('open', flush=True); sys.stdin.read()"],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    expect(user.stdout.readline() == "open\n", "a process has it open")
    said = unchanged(f"in use by process {user.pid}" if not EMULATOR else "in use")
    expect(said.startswith("pawl: busy: "), said)
    user.communicate()
    # Another conversion, or the making of a database.
    with open(FOLDER / "one.db-bell", "w", encoding="utf-8") as bell:
        fcntl.flock(bell, fcntl.LOCK_EX)
        expect("busy" in unchanged("is being made by another process"), "one at a time")
    os.symlink("one.db", FOLDER / "link.db")
    expect("is a symbolic link" in pawl("upgrade", status=1, database=FOLDER / "link.db"), "a link")
    os.link(DATABASE, FOLDER / "second.db")
    unchanged("has a second name")
    os.remove(FOLDER / "second.db")
    for sql, says in (("CREATE TABLE mine(a)", '"mine" is not Pawl\'s'),
                      ("CREATE TABLE \"it's a name's\"(a)", '"it\'s a name\'s" is not Pawl\'s'),
                      (f"CREATE TABLE {'k' * 3000}(a)", '"' + 'k' * 64 + '" is not Pawl\'s'),
                      ("ALTER TABLE kv ADD COLUMN mine", 'column mine of "kv" is not Pawl\'s'),
                      ("CREATE VIEW mine AS SELECT 1", '"mine" is not Pawl\'s'),
                      ("CREATE TRIGGER mine AFTER INSERT ON kv BEGIN SELECT 1; END", '"mine" is not Pawl\'s'),
                      ("PRAGMA application_id=7", "foreign_database"),
                      ("PRAGMA user_version=99", "newer_database"),
                      ("PRAGMA user_version=0", "corrupt")):
        fresh()
        rows(DATABASE, sql)
        unchanged(says)
    # An index holds nothing of its own.
    fresh()
    rows(DATABASE, "CREATE INDEX mine ON kv(value)")
    pawl("upgrade")
    expect_linked(DATABASE)
    owners()
    too_large()
    # Today's form with something that is not Pawl's is damage, and no earlier form.
    fresh()
    pawl("upgrade")
    rows(DATABASE, "DROP INDEX i_limit")
    unchanged("corrupt")


def as_other(*arguments):
    """The command as a user who is not root and has no other groups."""
    return subprocess.run([*PAWL, "--db", DATABASE, *arguments], cwd="/", capture_output=True, text=True, timeout=GUARD,
                          user=OTHER, group=OTHER, extra_groups=[])


def owners():
    """Users who may not make the file, or not give it to its owner."""
    if os.geteuid() != 0:
        fresh()
        FOLDER.chmod(0o500)
        unchanged("read_only")
        FOLDER.chmod(0o700)
        return
    fresh()
    try:
        is_reached = as_other("--version").returncode == 0
    except PermissionError:
        is_reached = False
    if not is_reached:
        print("another user does not reach the programs: not tried")
        return
    for owner, group, mode, folder, says in (
            (0, 0, 0o666, 0o755, "read_only"), (0, 0, 0o666, 0o777, "belongs to another user"),
            (0, OTHER, 0o660, 0o777, None), (OTHER, OTHER, 0o600, 0o777, None)):
        fresh()
        os.chown(DATABASE, owner, group)
        DATABASE.chmod(mode)
        FOLDER.chmod(folder)
        before = DATABASE.stat()
        run = as_other("upgrade")
        after = DATABASE.stat()
        if says is None:
            expect(run.returncode == 0 and after.st_ino != before.st_ino, f"{owner} {group} {mode:o}: {run}")
            expect((after.st_uid, after.st_gid, after.st_mode) == (OTHER, OTHER, before.st_mode), f"{after}")
        else:
            expect(run.returncode == 1 and says in run.stderr and after.st_ino == before.st_ino, f"{owner} {group} {mode:o}: {run}")
        expect(not (FOLDER / "one.db-new").exists(), "nothing is left")
    # Root gives the new file to the owner of the old one.
    fresh()
    os.chown(DATABASE, OTHER, OTHER)
    DATABASE.chmod(0o600)
    pawl("upgrade")
    after = DATABASE.stat()
    expect((after.st_uid, after.st_gid, after.st_mode & 0o777) == (OTHER, OTHER, 0o600), f"{after}")


def too_large():
    """A database of a terabyte, nearly all of it holes of its file: no disk has as much free."""
    fresh()
    pages = 1 << 31
    with open(DATABASE, "r+b") as file:
        file.seek(28)
        file.write(struct.pack(">I", pages))
        file.seek(24)
        counter = file.read(4)
        file.seek(92)
        file.write(counter)
        file.truncate(pages * 512)
    before = DATABASE.stat()
    said = pawl("upgrade", status=1)
    expect(said.count("full: ") == 1 and f"takes {pages * 512 + 65536} bytes beside it" in said, said)
    expect(before.st_mtime_ns == DATABASE.stat().st_mtime_ns and not (FOLDER / "one.db-new").exists(), "nothing is changed")


# ---- kills and power cuts ----


def with_step(number, when):
    """An environment in which something happens at the that many-th write, flush, cut or rename in the folder."""
    return dict(os.environ, LD_PRELOAD=os.path.join(BUILD, "test", "shim", "libcrash_at.so"),
                ASAN_OPTIONS="verify_asan_link_order=0:detect_leaks=0", PAWL_CRASH_PREFIX=str(FOLDER),
                PAWL_CRASH_REPORT=str(FOLDER) + ".report", PAWL_CRASH_AT=str(number), PAWL_CRASH_WHEN=when)


def step(number, when):
    run = subprocess.run([*PAWL, "--db", DATABASE, "upgrade"], cwd=FOLDER, capture_output=True, text=True, timeout=GUARD,
                         env=with_step(number, when))
    return run, pathlib.Path(str(FOLDER) + ".report").read_text(encoding="utf-8").split()


def with_log():
    """The kept database with commits that are in its log alone, as a process that was killed leaves it."""
    fresh()
    connection = sqlite3.connect(DATABASE, isolation_level=None)
    connection.execute("PRAGMA wal_autocheckpoint=0")
    connection.execute("UPDATE instances SET custom_status='in the log' WHERE id='timer'")
    log = pathlib.Path(str(DATABASE) + "-wal").read_bytes()
    database = DATABASE.read_bytes()
    connection.close()
    DATABASE.write_bytes(database)
    pathlib.Path(str(DATABASE) + "-wal").write_bytes(log)
    expect(len(log) > 500, "there is a log")


def form_there():
    """Which of the two is there, whole, with what was in the log. A process looks at it, as one would at its start."""
    said = subprocess.run([*PAWL, "--db", DATABASE, "list"], cwd=FOLDER, capture_output=True, text=True, timeout=GUARD)
    connection = sqlite3.connect(DATABASE)
    expect(connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)], f"it is damaged: {said}")
    expect(connection.execute("SELECT custom_status FROM instances WHERE id='timer'").fetchone() == ("in the log",), f"{said}")
    expect(connection.execute("SELECT count(*) FROM history").fetchone() == (18,), f"{said}")
    form = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.close()
    if form == 2:
        expect(said.returncode == 0 and said.stdout.count("\n") == 4, f"{said}")
        expect_linked(DATABASE)
    else:
        expect(said.returncode == 1 and "older_database" in said.stderr, f"{said}")
    return form


def interrupted():
    with_log()
    steps = int(step(0, "after")[1][1])
    expect(form_there() == 2 and steps > 100, f"{steps} steps")
    outcomes = set()
    for when, numbers in (("before", range(1, steps + 1)), ("after", (steps,)), ("fail", range(1, steps + 1))):
        for number in numbers:
            with_log()
            run, said = step(number, when)
            where = f"{when} {number} of {steps}: {said}{run.stderr}"
            expect(run.returncode == -9 or when == "fail", where)
            form = form_there()
            outcomes.add((when, form))
            if when == "fail":
                expect(run.returncode == (0 if form == 2 else 1) or "sync" in where or form == 2, where)
                expect(not (FOLDER / "one.db-new").exists(), f"it leaves nothing: {where}")
            # The next one does not mind what is left, and leaves nothing of it.
            if number % 7 == 0 or form == 2:
                pawl("upgrade")
                expect(form_there() == 2 and not (FOLDER / "one.db-new").exists(), where)
    expect(outcomes == {(when, form) for when in ("before", "fail") for form in (1, 2)} | {("after", 2)}, f"{outcomes}")


def meanwhile():
    """A process that comes during a conversion waits, and works on the new file or on none."""
    with_log()
    steps = int(step(0, "after")[1][1])
    for number in (10, steps // 2, steps - 1, steps):
        with_log()
        converting = subprocess.Popen([*PAWL, "--db", DATABASE, "upgrade"], cwd=FOLDER, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL, env=with_step(number, "stop"))
        os.waitid(os.P_PID, converting.pid, os.WSTOPPED | os.WNOWAIT)
        looking = subprocess.Popen([*PAWL, "--db", DATABASE, "list"], cwd=FOLDER, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        folder = f"/proc/{looking.pid}/fd"
        while looking.poll() is None and str(DATABASE) not in [os.path.realpath(os.path.join(folder, one)) for one in os.listdir(folder)]:
            time.sleep(0.001)
        os.kill(converting.pid, signal.SIGCONT)
        expect(converting.wait(timeout=GUARD) == 0, f"step {number}: it is converted")
        said, why = looking.communicate(timeout=GUARD)
        expect(looking.returncode == 0 and said.count("\n") == 4 or looking.returncode == 1 and "busy" in why, f"step {number}: {said}{why}")
        expect(form_there() == 2, f"step {number}")
    # A Runtime of its own goes on with the new one.
    expect("running" in pawl("show", "timer"), "it goes on")


def power():
    """The disk after a power cut: files have what they had at their last flush, or some of what was written since; the
    folder has the names of its last flush, or of now."""
    with_log()
    steps = int(step(0, "after")[1][1])
    durable_names = None  # name -> inode, as of the last flush of the folder
    flushed = {}  # inode -> bytes, as of its last flush
    checked = 0
    outcomes = set()
    for number in range(1, steps + 1):
        with_log()
        start = {path.name: path for path in FOLDER.iterdir() if path.name.startswith("one.db")}
        if durable_names is None:
            durable_names = {name: name for name in start}
            flushed = {name: path.read_bytes() for name, path in start.items()}
        _, said = step(number, "before")
        kind, path = said[3], pathlib.Path(said[4]) if len(said) > 4 else FOLDER
        now = {path.name: path.read_bytes() for path in FOLDER.iterdir() if path.name in
               ("one.db", "one.db-wal", "one.db-journal", "one.db-new")}
        # Inodes are named by the name that they had first: the new file is one.db-new, also once it is one.db.
        is_renamed = "one.db-new" not in now and now["one.db"][18:20] == b"\2\2" and b"timer_id" in now["one.db"]
        names_now = {name: "one.db-new" if is_renamed and name == "one.db" else name for name in now}
        by_inode = {names_now[name]: data for name, data in now.items()}
        if kind in ("sync", "rename"):
            # A name may have come before another one went.
            for names in (durable_names, names_now, {**durable_names, **names_now}):
                for whole in (False, True):
                    put(names, {**flushed, **by_inode} if whole else flushed)
                    outcomes.add(form_there())
                    checked += 1
        if kind == "sync":
            if path == FOLDER:
                durable_names = names_now
            else:
                inode = names_now.get(path.name, path.name)
                flushed[inode] = by_inode.get(inode, b"")
    put(durable_names, flushed)
    expect(form_there() == 2, "it survives, since the command said that it is done")
    expect(checked > 15 and outcomes == {1, 2}, f"{checked} states, {outcomes}")


def put(names, data):
    """The folder with these names, of inodes with these bytes."""
    shutil.rmtree(FOLDER)
    FOLDER.mkdir()
    for name, inode in names.items():
        (FOLDER / name).write_bytes(data.get(inode, b""))


# ---- a large one ----


def peak_kib():
    child = subprocess.Popen([*PAWL, "--db", DATABASE, "upgrade"], cwd=FOLDER, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    expect(status == 0, f"status {status}")
    return usage.ru_maxrss


def large():
    """It takes no more memory for twenty times as many events, instances and messages."""
    peaks = []
    for count in (10_000, 200_000):
        fresh(EARLIER[1])
        connection = sqlite3.connect(DATABASE, isolation_level=None)
        connection.execute("BEGIN")
        numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<?1) "
        connection.execute(numbers + "INSERT INTO history(instance,execution,id,kind,time,payload,crc) "
                           "SELECT 100+i%50,1,1+i/50,8,0,randomblob(40),0 FROM n", (count,))
        connection.execute(numbers + "INSERT INTO instances(key,id,name,version,state,execution,revision,home,crashes,"
                           "strikes,reboots,created_stamp,updated_stamp) SELECT 1000+i,'i'||(i*7919%100003),'x','1',0,1,1,0,0,0,0,0,0 "
                           "FROM n", (count // 5,))
        connection.execute(numbers + "INSERT INTO orchestrator_queue(id,instance,execution,kind,error,ref,waiting,payload,crc) "
                           "SELECT 1000000+i,1000+i%100,0,7,0,0,1,randomblob(40),0 FROM n", (count // 5,))
        connection.execute("COMMIT")
        connection.close()
        peaks.append(peak_kib())
        expect(rows(DATABASE, "SELECT count(*) FROM history")[0][0] == count + 18, "all are there")
        expect(rows(DATABASE, "SELECT count(*) FROM history WHERE prev IS NOT NULL")[0][0] > count * 9 // 10, "with links")
    expect(peaks[1] < peaks[0] + 2048, f"it took {peaks} KiB")


# ---- programs without it ----


def linked():
    """A program that opens databases has no converter."""
    def symbols(*path):
        return subprocess.run(["nm", "-C", os.path.join(BUILD, *path)], capture_output=True, text=True, check=True).stdout
    hello = symbols("examples", "hello", "hello")
    expect("pawl::store::DatabaseFile" in hello and "DatabaseUpgrade" not in hello, "hello has none")
    expect("pawl::DatabaseUpgrade" in symbols("src", "apps", "pawl", "pawl"), "the tool has it")


if __name__ == "__main__":
    PARTS = {"linked": linked, "converted": converted, "damaged": damaged, "refused": refused, "interrupted": interrupted, "power": power, "meanwhile": meanwhile,
             "large": large}
    PARTS[PART]()
    print("ok")
