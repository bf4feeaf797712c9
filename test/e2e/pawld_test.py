#!/usr/bin/env python3
"""pawld as its users run it: programs that behave and programs that do not, kill -9 on the way, and what is left after it.

  pawld_test.py SOURCE_DIR PAWLD PAWLD_CLIENT SCRATCH PART [EMULATOR ARGUMENT...]
"""

import ctypes
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
import tempfile
import time

import error_lines

SOURCE, PAWLD, CLIENT, SCRATCH, PART = sys.argv[1:6]
EMULATOR = sys.argv[6:]
FOLDER = pathlib.Path(SCRATCH) / PART
DATABASE = FOLDER / "pawl.db"
CONFIG = FOLDER / "pawld.json"
LOG = FOLDER / "log"
# A test that hangs ends here; nothing passes or fails by it otherwise.
GUARD = 100

daemon = None
os.umask(0o022)  # a configuration that a group may write is refused


def expect(condition, text):
    if condition:
        return
    print(f"FAILED: {text}")
    if LOG.exists():
        print("--- log\n" + "\n".join(LOG.read_text(errors="replace").splitlines()[-60:]))
    if daemon is not None:
        daemon.kill()
    sys.exit(1)


def until(holds, what):
    deadline = time.monotonic() + GUARD
    while not holds():
        expect(time.monotonic() < deadline, f"waited in vain: {what}")
        time.sleep(0.01)


def script(name, text):
    """A program of the test; a shell script, since pawld needs none."""
    path = FOLDER / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


def configure(path=CONFIG, **sections):
    path.write_text(json.dumps({"database": str(DATABASE), "node": "test", "clock": "always", **sections}, indent=1))


def run(*arguments, **more):
    return subprocess.run([*EMULATOR, PAWLD, *arguments], capture_output=True, text=True, timeout=GUARD, **more)


def start(config=CONFIG, **more):
    """Until it is ready, or has ended."""
    global daemon
    before = log().count("info ready ")
    with open(LOG, "ab") as output:
        daemon = subprocess.Popen([*EMULATOR, PAWLD, str(config)], stdin=subprocess.DEVNULL, stdout=output, stderr=output, **more)
    until(lambda: log().count("info ready ") > before or daemon.poll() is not None, "pawld is up")
    return daemon


def kill():
    daemon.kill()
    daemon.wait(GUARD)


def stop():
    daemon.send_signal(signal.SIGTERM)
    expect(daemon.wait(GUARD) == 0, f"pawld ended with {daemon.returncode}")


def log():
    return LOG.read_text(errors="replace") if LOG.exists() else ""


def client(*arguments):
    done = subprocess.run([*EMULATOR, CLIENT, str(DATABASE), *arguments], capture_output=True, text=True, timeout=GUARD)
    return done.stdout if done.returncode == 0 else ""


def shown(instance):
    """State, output or error, and custom status."""
    found = client("show", instance).rstrip("\n").split("\t")
    return found if len(found) == 3 else ["", "", ""]


def ended(instance):
    return shown(instance)[0] in ("completed", "failed", "stopped")


def wait_for(instance):
    until(lambda: ended(instance), f"{instance} has ended")
    return shown(instance)


def lines(name):
    path = FOLDER / name
    return path.read_text().splitlines() if path.exists() else []


def alive(pid):
    """Not gone, and no zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def children(pid):
    found = subprocess.run(["ps", "-o", "pid=,stat=", "--ppid", str(pid)], capture_output=True, text=True)
    return found.stdout.split("\n")


# ---- sequence ----


def sequence():
    """Killed in the middle of each step: a step that has a result does not run again."""
    note = script("note", f"""
input=$(cat)
echo "$1 $PAWL_ATTEMPT $input" >> {FOLDER}/ran
if [ -e {FOLDER}/hold-$1 ]; then : > {FOLDER}/in-$1; sleep 1000; fi
echo "{{\\"step\\": \\"$1\\", \\"input\\": $input}}"
""")
    names = ["first", "second", "third"]
    configure(
        activities={name: {"argv": [note, name], "timeout": "5m"} for name in names},
        orchestrations={"all": {
            "type": "sequence",
            "steps": [{"activity": "first", "input": {"bed": "{input.bed}"}},
                      {"activity": "second", "input": {"of": "{steps.first.step}", "text": "bed {input.bed}"}},
                      {"pause": "10ms"},
                      {"activity": "third", "input": "{steps.second.input}", "when": "{input.go}"},
                      {"name": "never", "activity": "third", "when": "{input.stop}"}],
            "output": {"last": "{steps.third.input}", "never": "{steps.never}"}}},
        start=[{"name": "all", "id": "one", "input": {"bed": 7, "go": True, "stop": False}}])
    for name in names:
        (FOLDER / f"hold-{name}").touch()
        start()
        until((FOLDER / f"in-{name}").exists, f"{name} runs")
        programs = [int(row.split()[0]) for row in children(daemon.pid) if row] if not EMULATOR else []
        kill()
        until(lambda: not any(alive(pid) for pid in programs), "the program ends with pawld")
        (FOLDER / f"hold-{name}").unlink()
    start()
    state, end, _ = wait_for("one")
    expect(state == "completed", f"{state} {end}")
    expect('{"last":{"of":"first","text":"bed 7"},"never":null}' in end, end)
    stop()
    ran = [line.split()[0] for line in lines("ran")]
    # Once held and killed, once to its end.
    expect(ran == ["first", "first", "second", "second", "third", "third"], ran)
    expect('second 2 {"of":"first","text":"bed 7"}' in lines("ran"), lines("ran"))
    start()  # what is there already is not started again
    stop()
    expect(len(lines("ran")) == 6, "a completed instance ran again")


# ---- programs ----


def one_program(name, text, policy=None, given=None):
    """An activity and a sequence of one step around it."""
    activity = {"argv": [script(name, text)], "timeout": "1m", **(policy or {})}
    flow = {"type": "sequence", "steps": [{"activity": name, "input": "{input}"}]}
    return name, activity, flow, given


def programs():
    """Whatever a program does, its instance has a clear end and pawld goes on."""
    wanted = {
        "echoes": ("completed", '{"a":[1,2]}'),
        "plain": ("completed", '"wet"'),
        "ignores": ("completed", '"did not read"'),
        "floods": ("failed", "result_too_long: standard output has more than 1000 bytes"),
        "fills": ("completed", '"done"'),
        "stderr": ("failed", "exit code 3: the last words"),
        "permanent": ("failed", "exit code 64"),
        "tempfail": ("completed", '"third"'),
        "signalled": ("failed", "ended by signal 11"),
        "hangs": ("failed", "start_to_close"),
        "stubborn": ("failed", "start_to_close"),
        "forks": ("completed", '"parent"'),
        "absent": ("failed", "No such file or directory"),
        "no_folder": ("failed", "/nowhere: No such file or directory"),
        "tells": ("completed", '"'),
        "descriptors": ("completed", '"0 1 2"'),
    }
    big = "x" * 100_000
    all_of = [
        one_program("echoes", "cat", given={"a": [1, 2]}),
        one_program("plain", "cat > /dev/null; echo wet"),
        one_program("ignores", "exec 0<&-; echo did not read", given=big),
        one_program("floods", "yes", {"result_max": "1000B"}),
        # Both streams fill while standard input is not read yet.
        one_program("fills", "head -c 3000000 /dev/zero | tr '\\0' '\\n' >&2; cat > /dev/null; echo done", given=big),
        one_program("stderr", "echo first >&2; printf 'the last words' >&2; exit 3"),
        one_program("permanent", f"echo >> {FOLDER}/permanent.ran; exit 64", {"retry": {"attempts": 5, "base": "1ms"}}),
        one_program("tempfail", f"echo >> {FOLDER}/n; test $(wc -l < {FOLDER}/n) -ge 3 || exit 75; echo third",
                    {"retry": {"attempts": 5, "backoff": "fixed", "base": "1ms"}}),
        one_program("signalled", "kill -SEGV $$"),
        one_program("hangs", "exec sleep 1000", {"timeout": "200ms", "kill_after": "10s"}),
        one_program("stubborn", f"trap '' TERM; echo $$ > {FOLDER}/stubborn.pid; while :; do sleep 0.05; done",
                    {"timeout": "1s", "kill_after": "100ms"}),
        # The grandchild keeps standard output open.
        one_program("forks", f"sleep 1000 & echo $! > {FOLDER}/grandchild; echo parent"),
        one_program("absent", ""),
        one_program("no_folder", "", {"cwd": "/nowhere"}),
        one_program("tells", "env | grep ^PAWL_ | sort >&2; env | grep -c NOTIFY_SOCKET", {"session": "bed-{bed}"},
                    given={"bed": "seven"}),
        one_program("descriptors", "echo $(ls /proc/$$/fd | grep -v '^10$' | head -3)"),
    ]
    (FOLDER / "absent").unlink()
    all_of[-2][1]["exit_codes"] = {"permanent": []}
    configure(
        limits={"programs": 4, "payload": "256KiB"},
        session_folders=str(FOLDER / "folders"),
        activities={name: activity for name, activity, _, _ in all_of},
        orchestrations={name: flow for name, _, flow, _ in all_of},
        start=[{"name": name, "input": given} for name, _, _, given in all_of])
    (FOLDER / "folders").mkdir()
    start()
    for name, (state, text) in wanted.items():
        got = wait_for(name)
        if name == "tells":  # grep -c finds none and says so by its exit code
            continue
        expect(got[0] == state and text in got[1], f"{name}: {got}, wanted {state} {text}")
    expect(len(lines("permanent.ran")) == 1, "exit code 64 was tried again")
    expect(len(lines("n")) == 3, "exit code 75 was not tried again")
    for file in ("stubborn.pid", "grandchild"):
        pid = int(lines(file)[0])
        until(lambda pid=pid: not alive(pid), f"the process of {file} ends")
    said = log()
    for variable in ("PAWL_IDEMPOTENCY_KEY=", "PAWL_ACTIVITY=tells", "PAWL_INSTANCE=tells", "PAWL_ATTEMPT=1",
                     "PAWL_SESSION=bed-seven", "PAWL_SESSION_EPOCH=1", f"PAWL_SESSION_FOLDER={FOLDER}/folders/"):
        expect(variable in said, f"{variable} is not in the environment")
    if not EMULATOR:
        until(lambda: not any("Z" in row for row in children(daemon.pid)), "no zombie is left")
        expect(all(not row.strip() for row in children(daemon.pid)), f"children are left: {children(daemon.pid)}")
    stop()


# ---- configuration ----


def manual():
    """The page that the unit names has the options and exit codes of --help, and what it says of them."""
    said, page = run("--help").stdout, run("--man").stdout
    text = page.replace("\\-", "-")
    expect(page.startswith(".TH PAWLD 8 ") and "man:pawld(8)" in
           (pathlib.Path(SOURCE) / "packaging/systemd/pawld.service").read_text(), "the unit names the page")
    options = re.findall(r"^pawld (--[a-z-]+)", said, re.M)
    expect(options == ["--check-config", "--replay-check", "--help", "--version"], f"{options}")
    expect(re.findall(r"^\.B (--[a-z-]+)", text, re.M) == options, f"options of the page: {text}")
    for does in re.findall(r"^pawld (?:--[a-z-]+)?(?: *\[FILE\])?  +(.*)$", said, re.M):
        expect(f"{does[0].upper()}{does[1:]}." in text, f"the page does not say {does!r}")
    codes = re.findall(r"(?:: |; )(\d+) ([^;\n]+)", said.partition("Exit code")[2])
    expect(len(codes) == 4 and re.findall(r"^\.B (\d+)\n(.*)$", text, re.M) == codes, f"{codes}")
    # The program knows these, and one more for the build.
    known = re.findall(r'first == "(--[a-z-]+)"', (pathlib.Path(SOURCE) / "src/apps/pawld/main.cpp").read_text())
    expect(set(known) == {*options, "--man"}, f"{known}")
    expect("/etc/pawl/pawld.json" in said and "/etc/pawl/pawld.json" in text, "the default")
    if shutil.which("man"):
        file = FOLDER / "pawld.8"
        file.write_text(page)
        shown = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", str(file)], capture_output=True, text=True,
                               env=dict(os.environ, MANWIDTH="80", MANROFFSEQ=""))
        expect(shown.returncode == 0 and shown.stderr == "", f"roff: {shown.stderr}")


def trusted():
    """A file that others may have written decides nothing, and nothing waits for one that is none."""
    def refused(path, says):
        for arguments in (["--check-config", str(path)], ["--replay-check", str(path)], [str(path)]):
            bad = run(*arguments)
            expect(bad.returncode == 78 and says in bad.stderr, f"{arguments}: {bad.returncode} {bad.stderr}")

    for mode in (0o664, 0o646, 0o666):
        CONFIG.chmod(mode)
        refused(CONFIG, "others may write it: chmod 644")
    CONFIG.chmod(0o644)
    if os.geteuid() == 0:
        os.chown(CONFIG, 65534, 65534)
        refused(CONFIG, "belongs to another user")
        os.chown(CONFIG, 0, 0)
    pipe, link, second = FOLDER / "pipe", FOLDER / "link", FOLDER / "second"
    os.mkfifo(pipe)
    refused(pipe, "is no regular file")
    link.symlink_to(CONFIG)
    refused(link, "is a symbolic link")
    os.link(CONFIG, second)
    refused(second, "has a second name")
    second.unlink()
    expect(run("--check-config", str(CONFIG)).returncode == 0, "as it was")


def config():
    """The sample is good, and what is wrong ends with exit code 78 before anything is made."""
    sample = FOLDER / "gateway.json"
    sample.write_bytes((pathlib.Path(SOURCE) / "examples" / "pawld" / "gateway.json").read_bytes())
    good = run("--check-config", str(sample))
    expect(good.returncode == 0 and ": ok, " in good.stdout, good.stderr)
    # So are the samples of the pages.
    page = "".join((pathlib.Path(SOURCE) / "docs" / name).read_text() for name in ("pawld/programs.md", "pawld.md"))
    samples = [json.loads("{" + text + "}") for text in re.findall(r"```text\n(\".*?)\n```", page, re.S)]
    expect(len(samples) == 4, "samples of docs/pawld.md and docs/pawld/programs.md")
    activities = {"open_valve": {"argv": ["/bin/true"]}}
    activities.update(samples[0])
    configure(activities=activities, orchestrations=samples[1], **samples[3])
    good = run("--check-config", str(CONFIG))
    expect(good.returncode == 0, good.stderr)
    wrong = FOLDER / "wrong.json"
    wrong.write_text('{"database": "%s",\n "activitys": {}}' % DATABASE)
    for arguments in (["--check-config", str(wrong)], [str(wrong)], ["--replay-check", str(wrong)]):
        bad = run(*arguments)
        expect(bad.returncode == 78, f"{arguments} gave {bad.returncode}")
        expect(bad.stderr == f'{wrong}:2:15: activitys: is not known here; did you mean "activities"?\n', bad.stderr)
    expect(not DATABASE.exists(), "a database was made")
    expect(run("--check-config", str(FOLDER / "none")).returncode == 78, "a file that is not there")
    for arguments in (["--chek"], ["a", "b"], ["--check-config", "a", "b"]):
        expect(run(*arguments).returncode == 2, f"{arguments} is wrong use")
    expect(re.fullmatch(r"pawld \d+\.\d+\.\d+\n", run("--version").stdout), "--version")
    server = FOLDER / "server.json"
    server.write_text(json.dumps(samples[2]))
    checked = run("--check-config", str(server))
    without = f"{server}:1:14: database: is on a server, and this pawld was built without PostgreSQL\n"
    expect(checked.stderr == without or (checked.returncode == 0 and not EMULATOR), checked.stderr)
    trusted()
    manual()
    configure()
    none = run("--replay-check", str(CONFIG))
    expect(none.returncode == 0 and "no database yet" in none.stdout, none.stdout)


# ---- endpoint, log ----

def ask(path, token=None, port=None):
    """Status and body of a GET, over the Unix socket or a port."""
    if port is None:
        at = socket.socket(socket.AF_UNIX)
        at.connect(str(DATABASE) + "-http")
    else:
        at = socket.create_connection(("127.0.0.1", port))
    with at:
        at.settimeout(GUARD)
        given = f"Authorization: Bearer {token}\r\n" if token else ""
        at.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{given}Connection: close\r\n\r\n".encode())
        answer = b""
        while part := at.recv(65536):
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body.decode()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def endpoint():
    """The page, the calls and the metrics come from a member of the file, and the log goes where it says."""
    activities = {"say": {"argv": [script("say", "cat")]}}
    flow = {"hello": {"type": "sequence", "steps": [{"name": "a", "activity": "say", "input": "x"}]}}
    configure(activities=activities, orchestrations=flow, start=[{"name": "hello", "id": "one"}], endpoint={}, log_form="json")
    start_json()
    until(lambda: json.loads(ask("/v1/instances/one")[1]).get("status", {}).get("state") == "completed", "the instance is seen to complete")
    expect(ask("/ready")[0] == 200, "ready")
    socket_file = FOLDER / (DATABASE.name + "-http")
    expect(socket_file.stat().st_mode & 0o777 == 0o600, "the endpoint opens the database to no group")
    expect("pawl_instances" in ask("/metrics")[1], "metrics")
    expect("<html" in ask("/")[1], "the page")
    stop()
    for line in log().splitlines():
        one = json.loads(line)
        expect(re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", one["time"]) and one["level"] and one["event"], line)

    token, port = "0123456789abcdefXYZ", free_port()
    file = FOLDER / "token"
    file.write_text(token + "\n")
    file.chmod(0o600)
    configure(activities=activities, endpoint={"port": port, "token_file": str(file), "read_only": True})
    start()
    expect(ask("/v1/instances", port=port)[0] == 401, "no token")
    expect(ask("/v1/instances", token, port)[0] == 200, "the token")
    kill()
    file.chmod(0o644)
    start()
    expect(daemon.wait(GUARD) == 1 and "endpoint_failed" in log() and "others may read" in log(), "a token for all")

    configure(activities=activities, group_access=True, endpoint={})
    start()
    until(socket_file.exists, "a socket")
    expect(socket_file.stat().st_mode & 0o777 == 0o660, "where the group has access it has this, too")
    stop()
    a_stuck_thread(activities)

    # The journal has datagrams of its own; here it is away, which stops nothing.
    configure(activities=activities, orchestrations=flow, start=[{"name": "hello", "id": "two"}], log_to="journal")
    before = len(log())
    with open(LOG, "ab") as output:
        away = subprocess.Popen([*EMULATOR, PAWLD, str(CONFIG)], stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    expect(wait_for("two")[0] == "completed", "it works without a log")
    away.terminate()
    expect(away.wait(GUARD) == 0, "a stop without a log")
    expect(len(log()) == before, "nothing on standard error")


def a_stuck_thread(activities):
    """The end names a thread that does not come back, and fails."""
    seize, interrupt, wall = 0x4206, 0x4207, 0x40000000
    libc = ctypes.CDLL(None, use_errno=True)
    configure(activities=activities, endpoint={})
    start()
    tasks = {(task / "comm").read_text().strip(): int(task.name) for task in pathlib.Path(f"/proc/{daemon.pid}/task").iterdir()}
    thread = tasks.get("pawl-endpoint")
    expect(thread is not None or EMULATOR, f"the thread has a name: {tasks}")
    if EMULATOR or libc.ptrace(seize, thread, None, None) != 0:
        print("not tested: a thread of another process may not be stopped here")
        return kill()
    expect(libc.ptrace(interrupt, thread, None, None) == 0, "it is stopped")
    os.waitpid(thread, wall)
    daemon.send_signal(signal.SIGTERM)
    os.waitpid(thread, wall)
    expect(daemon.wait(GUARD) == 1, f"{daemon.returncode}")
    expect(re.search(r"error thread_runs text=\"?pawl-endpoint", log()), log())


def start_json():
    global daemon
    with open(LOG, "ab") as output:
        daemon = subprocess.Popen([*EMULATOR, PAWLD, str(CONFIG)], stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    until(lambda: '"event":"ready"' in log() or daemon.poll() is not None, "pawld is up")


# ---- flows ----


def flows():
    """Fan-out, watch-and-alarm and schedule, and what a cancel request does to a program."""
    read = script("read", f"""
bed=$(cat)
now={FOLDER}/now-$PAWL_INSTANCE
: > $now-$bed; ls {FOLDER} | grep -c "^now-$PAWL_INSTANCE-" >> {FOLDER}/at-once; sleep 0.1; rm $now-$bed
test "$bed" != 4 || exit 64
echo "$bed"0
""")
    level = FOLDER / "level"
    level.write_text('{"celsius": 5}')
    activities = {
        "read": {"argv": [read]},
        "sample": {"argv": [script("sample", f"cat {level}")]},
        "note": {"argv": [script("note", f"cat >> {FOLDER}/alarms; echo >> {FOLDER}/alarms")]},
        "slow": {"argv": [script("slow", f"trap 'echo > {FOLDER}/asked; exit 0' TERM; : > {FOLDER}/slow-runs; while :; do sleep 0.02; done")],
                 "timeout": "0s"},
    }
    fan_out = {"type": "fan-out", "over": "{input.beds}", "activity": "read", "at_once": 2}
    watch = {"type": "watch-and-alarm", "sample": {"activity": "sample"}, "value": "celsius", "every": "100ms",
             "alarm_below": 2, "clear_above": 4, "alarm_after_failures": 3,
             "alarm": {"activity": "note", "input": "{instance} {reason} {value}"},
             "clear": {"activity": "note"}}
    configure(
        limits={"programs": 8}, activities=activities,
        orchestrations={
            "all": fan_out, "collect": {**fan_out, "on_error": "collect"}, "few": {**fan_out, "items_max": 2},
            "frost": watch, "slow": {"type": "sequence", "steps": [{"activity": "slow"}]},
            "daily": {"type": "schedule", "cron": "0 0 1 1 *", "run": "all", "input": {"beds": [1, 2]}}},
        start=[{"name": "all", "input": {"beds": [1, 2, 3, 5]}}, {"name": "collect", "input": {"beds": [3, 4, 5]}},
               {"name": "all", "id": "fails", "input": {"beds": [4, 1]}}, {"name": "all", "id": "none", "input": {"beds": []}},
               {"name": "all", "id": "no-array", "input": {"beds": 7}}, {"name": "few", "input": {"beds": [1, 2, 3]}},
               {"name": "frost"}, {"name": "slow"}, {"name": "daily"}])
    start()
    wanted = {"all": ("completed", "[10,20,30,50]"), "collect": ("completed", '[30,{"error":"exit code 64"},50]'),
              "fails": ("failed", "item 0: exit code 64"), "none": ("completed", "[]"),
              "no-array": ("failed", "over: is no array"), "few": ("failed", "over: has 3 items, items_max is 2")}
    for name, (state, text) in wanted.items():
        expect(wait_for(name)[:2] == [state, text], f"{name}: {shown(name)}")

    expect(set(lines("at-once")) <= {"1", "2"}, f"more than two at once: {lines('at-once')}")

    def seen(value, alarmed):
        """The watch has looked at this value; a level is replaced as a whole."""
        (FOLDER / "level.new").write_text(f'{{"celsius": {value}}}')
        (FOLDER / "level.new").rename(level)
        until(lambda: f'{{"value":{value},"alarmed":{alarmed},' in shown("frost")[2], f"{value} is seen: {shown('frost')}")
    # Once below 2 and not again before it was at 4: 3 is neither.
    seen(1, "true")
    seen(3, "true")
    seen(1.5, "true")
    kill()  # what it knows survives
    start()
    seen(3.5, "true")
    seen(4, "false")
    until(lambda: len(lines("alarms")) == 2, "the end of the alarm")
    seen(2, "false")
    level.write_text("no number")
    until(lambda: len(lines("alarms")) == 3, "an alarm for silence")
    expect(lines("alarms") == ['"frost below 1"', '{"value":4,"reason":"clear"}', '"frost no_sample null"'], lines("alarms"))

    client("raise", "daily", "pawl.schedule", '{"action":"kTrigger"}')
    run_id = ""

    def triggered():
        nonlocal run_id
        found = re.findall(r"orchestration_completed instance=(\S+) orchestration=all ", log())
        run_id = next((one.strip('"') for one in found if one.strip('"').startswith("daily@")), "")
        return run_id != ""
    until(triggered, "the schedule started a run")
    expect(shown(run_id)[:2] == ["completed", "[10,20]"], shown(run_id))

    until((FOLDER / "slow-runs").exists, "the slow program runs")
    client("cancel", "slow")
    until((FOLDER / "asked").exists, "the program is asked to end")
    expect(wait_for("slow")[0] == "failed", shown("slow"))
    client("cancel", "frost")
    expect(wait_for("frost")[0] == "failed", shown("frost"))
    stop()


# ---- updates ----


def updates():
    """Two releases of a file on one database: A is under way when B comes, and B is checked before."""
    go = FOLDER / "go"
    wait = script("wait", f"cat > /dev/null; while ! [ -e {go} ]; do sleep 0.02; done; echo waited")
    note = script("note", f"cat >> {FOLDER}/noted; echo >> {FOLDER}/noted; echo '\"ok\"'")

    def flow(*texts):
        return {"type": "sequence", "steps": [{"activity": "wait"}] + [
            {"name": f"s{i}", "activity": "note", "input": text} for i, text in enumerate(texts)]}
    release = {
        "a": dict(activities={"wait": {"argv": [wait]}, "note": {"argv": [note]}},
                  orchestrations={"job": flow("a1", "a2")}),
        "b": dict(activities={"wait": {"argv": [wait], "timeout": "5m", "retry": {"attempts": 9}}, "note": {"argv": [note]}},
                  orchestrations={"job": flow("b0", "b1", "b2")}),
        "lacks-activity": dict(activities={"wait": {"argv": [wait]}},
                               orchestrations={"job": {"type": "sequence", "steps": [{"activity": "wait"}]}}),
        "lacks-job": dict(activities={"wait": {"argv": [wait]}, "note": {"argv": [note]}}, orchestrations={}),
    }
    files = {name: FOLDER / f"{name}.json" for name in release}
    for name, sections in release.items():
        configure(files[name], **sections)
    start(files["a"])
    client("start", "job", "old", "null")
    until(lambda: "activity_started" in log() or children(daemon.pid)[0].strip() or EMULATOR, "the program runs")
    # Beside the daemon that works, as a package's pre-install hook would.
    checked = run("--replay-check", str(files["b"]))
    expect(checked.returncode == 0 and checked.stdout == "1 go, 0 no-go\n", checked.stdout + checked.stderr)
    for name, reason in (("lacks-activity", 'the configuration has no activity "note" any more'),
                         ("lacks-job", "unregistered")):
        bad = run("--replay-check", str(files[name]))
        expect(bad.returncode == 1, f"{name} gave {bad.returncode}: {bad.stdout}{bad.stderr}")
        expect("no-go old: job, execution 1: " in bad.stdout and reason in bad.stdout, bad.stdout)
        expect(bad.stdout.endswith("0 go, 1 no-go\n"), bad.stdout)
    kill()
    # Installed all the same, the wrong release loses nothing: the instance waits.
    start(files["lacks-job"])
    go.touch()
    until(lambda: "orchestration_unregistered" in log(), "the instance is set aside")
    expect(shown("old")[0] == "running", shown("old"))
    stop()
    start(files["b"])
    expect(wait_for("old")[0] == "completed", shown("old"))
    client("start", "job", "new", "null")
    expect(wait_for("new")[0] == "completed", shown("new"))
    stop()
    expect(lines("noted") == ['"a1"', '"a2"', '"b0"', '"b1"', '"b2"'], lines("noted"))
    done = run("--replay-check", str(files["lacks-job"]))
    expect(done.returncode == 0 and done.stdout == "0 go, 0 no-go\n", done.stdout)


def older():
    """A database of an earlier form is converted at the start, before anything runs; one that is in use stays."""
    def take(name):
        DATABASE.unlink(missing_ok=True)
        shutil.copy(pathlib.Path(SOURCE) / "test" / "store" / "golden" / name, DATABASE)
    configure(activities={"measure": {"argv": [script("measure", "cat > /dev/null; echo '\"measured\"'")]}})
    for name, number in (("format1.db", 1), ("format2_early.db", 2)):
        take(name)
        # The older Pawl had begun to delete one: it deletes the first events first.
        with sqlite3.connect(DATABASE) as database:
            database.execute("UPDATE instances SET state=5,parked_until=9223372036854775807,ready_id=NULL WHERE id='anew'")
            database.execute("DELETE FROM history WHERE instance=4 AND execution=1")
            database.execute("DELETE FROM history WHERE instance=4 AND execution=2 AND id=1")
            database.execute("DELETE FROM executions WHERE instance=4 AND execution=1")
        database.close()
        manager = Manager(str(FOLDER / f"manager{number}"))
        start(env=manager.environment)
        manager.expect("EXTEND_TIMEOUT_USEC=60000000")
        expect(re.search(rf"info database_older .*format={number} needs_bytes=\d+ free_bytes=\d+", log()), log())
        expect(log().index("database_older") < log().index("database_converted") < log().index("info ready"), "in this order")
        expect(shown("completed")[:2] == ["completed", "echo first"] and shown("timer")[0] == "running", shown("completed"))
        def rest():
            database = sqlite3.connect(DATABASE)
            left = database.execute("SELECT (SELECT count(*) FROM history WHERE instance=4)+(SELECT count(*) FROM "
                                    "instances WHERE key=4)").fetchone()[0]
            database.close()
            return left
        until(lambda: rest() == 0, "the rest of it is deleted")
        stop()
        # A second start finds today's form.
        before = log().count("database_older")
        start()
        expect(log().count("database_older") == before, "it is converted once")
        stop()
        for path in FOLDER.glob("pawl.db-*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    take("format1.db")
    before = DATABASE.read_bytes()
    user = subprocess.Popen([sys.executable, "-c", f"import sqlite3,sys; c=sqlite3.connect({str(DATABASE)!r}); "
                             "c.execute('SELECT count(*) FROM instances').fetchall(); print('open', flush=True); sys.stdin.read()"],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    expect(user.stdout.readline() == "open\n", "a process has it open")
    expect(start().wait() == 1, "pawld ends")
    expect("error database_not_converted " in log() and "status=busy" in log() and "is in use" in log(), log())
    user.communicate()
    expect(DATABASE.read_bytes() == before, "and changes nothing")


# ---- service ----


class Manager:
    """A service manager's end of NOTIFY_SOCKET."""

    def __init__(self, name):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + name[1:] if name[0] == "@" else name)
        self.environment = {**os.environ, "NOTIFY_SOCKET": name, "WATCHDOG_USEC": "400000"}

    def next(self, seconds=GUARD):
        """The lines of the next message; none within that time: empty."""
        self.socket.settimeout(seconds)
        try:
            return self.socket.recv(4096).decode().split("\n")
        except socket.timeout:
            return []

    def expect(self, line):
        deadline = time.monotonic() + GUARD
        while line not in (got := self.next()):
            expect(got and time.monotonic() < deadline, f"{line} was not sent")

    def drain(self):
        while self.next(0.05):
            pass


def service():
    """What the service manager hears, and what it does not hear while the loop hangs or the runtime is not ready."""
    wait = script("wait", f": > {FOLDER}/waits; while ! [ -e {FOLDER}/go ]; do sleep 0.02; done")
    configure(activities={"environment": {"argv": [script("environment", "env >&2")]}, "wait": {"argv": [wait], "timeout": "0s"}},
              orchestrations={"show": {"type": "sequence", "steps": [{"activity": "environment"}]},
                              "wait": {"type": "sequence", "steps": [{"activity": "wait"}]}})
    for name in (str(FOLDER / "notify"), f"@pawld-test-{os.getpid()}"):
        manager = Manager(name)
        start(env=manager.environment)
        first = manager.next()
        expect(first == ["READY=1", "STATUS=2 activities, 2 orchestrations"], first)
        for _ in range(3):
            manager.expect("WATCHDOG=1")
        stop()
        manager.expect("STOPPING=1")
        expect(manager.next(0.1) == [], "something is said behind the end")

    manager = Manager(str(FOLDER / "notify2"))
    start(env=manager.environment)
    client("start", "show", "show", "null")
    wait_for("show")
    for variable in ("NOTIFY_SOCKET", "WATCHDOG_USEC"):
        expect(variable not in log(), f"a program has {variable}")
    # The loop hangs.
    manager.expect("WATCHDOG=1")
    daemon.send_signal(signal.SIGSTOP)
    manager.drain()
    expect(manager.next(1.2) == [], "a process that does nothing feeds the watchdog")
    daemon.send_signal(signal.SIGCONT)
    manager.expect("WATCHDOG=1")
    # The loop goes round, and the runtime is not ready: another process has the write lock.
    client("start", "wait", "wait", "null")
    until((FOLDER / "waits").exists, "a program runs")
    holder = sqlite3.connect(DATABASE, isolation_level=None, timeout=30)
    holder.execute("BEGIN IMMEDIATE")
    (FOLDER / "go").touch()  # its result cannot be written
    manager.expect("STATUS=not ready: see the log")
    manager.drain()
    expect(manager.next(1.2) == [], "a runtime that is not ready feeds the watchdog")
    holder.execute("ROLLBACK")
    holder.close()
    manager.expect("STATUS=ready again")
    manager.expect("WATCHDOG=1")
    expect(wait_for("wait")[0] == "completed", shown("wait"))
    # SIGHUP checks the file, and loads nothing.
    daemon.send_signal(signal.SIGHUP)
    until(lambda: "configuration_good" in log(), "SIGHUP checks the file")
    CONFIG.write_text('{"database": 5}')
    daemon.send_signal(signal.SIGHUP)
    until(lambda: "configuration_wrong" in log() and "database: is a number, expected a text" in log(), "what is wrong is logged")
    # Nor does it wait for what is no file.
    CONFIG.unlink()
    os.mkfifo(CONFIG)
    daemon.send_signal(signal.SIGHUP)
    until(lambda: "is no regular file" in log(), "SIGHUP on a pipe")
    client("start", "wait", "after", "null")
    until(lambda: shown("after")[0] != "", "the loop goes on")
    expect(daemon.poll() is None, "SIGHUP ended it")
    manager.drain()  # its socket holds a few messages only
    stop()
    manager.expect("STOPPING=1")


def unit():
    """The unit file, as systemd reads it: its exposure, as it is and with what devices need."""
    folder = pathlib.Path(SOURCE) / "packaging" / "systemd"
    if shutil.which("systemd-analyze") is None:
        print("there is no systemd-analyze; not checked")
        return
    plain = (folder / "pawld.service").read_text()
    with_devices = FOLDER / "pawld-devices.service"
    with_devices.write_text(plain.split("[Install]")[0] + (folder / "devices.conf").read_text())
    for path in (folder / "pawld.service", with_devices):
        done = subprocess.run(["systemd-analyze", "security", "--offline=true", str(path)], capture_output=True, text=True)
        found = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
        expect(found is not None and float(found[1]) < 3.0, f"{path.name}: {done.stdout[-200:]}{done.stderr}")
        print(f"{path.name}: exposure {found[1]}")
    # So often may it be started as steps may end it before they are poison.
    burst = int(re.search(r"StartLimitBurst=(\d+)", plain)[1])
    crashes = int(re.search(r"crashes_max = (\d+);", (pathlib.Path(SOURCE) / "include/pawl/options.hpp").read_text())[1])
    expect(burst > 3 * crashes, "three bad steps stop the service before they are poison")


def group():
    """Users of one group work on one database; others do not, and without the option none does."""
    if os.geteuid() != 0:
        print("not root: there are no other users")
        return
    place = pathlib.Path(tempfile.mkdtemp(prefix="pawld-group-"))
    place.chmod(0o755)
    shutil.copy(PAWLD, place / "pawld")
    shutil.copy(CLIENT, place / "client")
    daemon_user, member, stranger, operators = 20001, 20002, 20003, 20010
    started = []
    try:
        for name, option, mode in (("shared", True, 0o660), ("private", False, 0o600)):
            folder = place / name
            folder.mkdir()
            os.chown(folder, daemon_user, operators)
            folder.chmod(0o2770)
            database = folder / "pawl.db"
            config = place / f"{name}.json"
            config.write_text(json.dumps({"database": str(database), "group_access": option, "clock": "always"}))
            process = subprocess.Popen([*EMULATOR, str(place / "pawld"), str(config)], stderr=subprocess.PIPE, text=True,
                                       user=daemon_user, group=operators, extra_groups=[], umask=0o077)
            started.append(process)
            said = ""
            while "info ready" not in said:
                expect(process.poll() is None, f"pawld ended: {said}")
                said += process.stderr.readline()

            def call(user, groups):
                done = subprocess.run([*EMULATOR, str(place / "client"), str(database), "start", "job", f"by-{user}", "null"],
                                      capture_output=True, text=True, timeout=GUARD, user=user, group=user,
                                      extra_groups=groups, umask=0o077)
                return done.returncode == 0
            expect(call(member, [operators]) == option, f"a member of the group, {name}")
            expect(not call(stranger, []), f"a stranger, {name}")
            for path in (database, *folder.glob("pawl.db-*"), *folder.glob("pawl.db-workers/*")):
                wanted = mode | (0o110 if path.is_dir() and option else 0o100 if path.is_dir() else 0)
                expect(path.stat().st_mode & 0o777 == wanted, f"{path} is {oct(path.stat().st_mode)}")
                expect(path.stat().st_gid == operators, f"{path} is of group {path.stat().st_gid}")
            process.send_signal(signal.SIGTERM)
            said += process.stderr.read()
            expect(process.wait(GUARD) == 0, said)
            expect(("database_folder_open_to_others" in said) == (not option), said)
            # A second daemon, of another user of the group, and the first one's files.
            if option:
                config.write_text(json.dumps({"database": str(database), "node": "other", "clock": "always"}))
                other = subprocess.Popen([*EMULATOR, str(place / "pawld"), str(config)], stderr=subprocess.PIPE, text=True,
                                         user=member, group=member, extra_groups=[operators], umask=0o077)
                started.append(other)
                while "info ready" not in (line := other.stderr.readline()):
                    expect(other.poll() is None, f"another user's pawld ended: {line}")
                other.send_signal(signal.SIGTERM)
                expect(other.wait(GUARD) == 0, other.stderr.read())
    finally:
        for process in started:
            process.kill()
            process.wait(GUARD)
        shutil.rmtree(place)


def devices():
    """A step waits for its device, finds it locked for it, and waits again when it was pulled out."""
    device = FOLDER / "ttyTest"
    read = script("read", f"""cat <&$PAWL_DEVICE_FD
test "$PAWL_DEVICE" = {device} && ! flock -n {device} true
""")
    configure(activities={"read": {"argv": [read], "device": str(device), "timeout": "1m"},
                          "short": {"argv": [read], "device": f"{device}-other", "device_wait": "100ms"}},
              orchestrations={name: {"type": "sequence", "steps": [{"activity": name}]} for name in ("read", "short")},
              start=[{"name": "read"}, {"name": "short"}])
    start()
    expect(wait_for("short")[0] == "failed", shown("short"))
    expect(shown("read")[0] == "running", "it ran without its device")
    device.write_text("21.5")
    expect(wait_for("read")[:2] == ["completed", "21.5"], shown("read"))
    device.unlink()
    until(lambda: "device_withdrawn" in log(), "the device is withdrawn")
    client("start", "read", "again", "null")
    device.write_text("22")  # another file of the same name
    expect(wait_for("again")[:2] == ["completed", "22"], shown("again"))
    stop()
    expect(subprocess.run(["flock", "-n", str(device), "true"], check=False).returncode == 0, "the lock outlives pawld")


# Errors in the log, by part.
ANNOUNCED = {
    "updates": {"orchestration_unregistered": (1, 1)},
    # The kept instances are of no orchestration of the file.
    "older": {"database_not_converted": (1, 1), "orchestration_unregistered": (0, 20), "activity_unregistered": (0, 20)},
    "service": {"write_lock_is_held": (1, 1), "configuration_wrong": (3, 3)},
    "endpoint": {"endpoint_failed": (1, 1), "thread_runs": (1, 1)},
}
PARTS = {name: value for name, value in list(globals().items()) if name in ("sequence", "programs", "flows", "updates", "older", "config", "service", "unit", "group", "devices", "endpoint")}
shutil.rmtree(FOLDER, ignore_errors=True)
FOLDER.mkdir(parents=True)
PARTS[PART]()
problems = error_lines.unexpected(log(), ANNOUNCED.get(PART, {}))
expect(not problems, problems)
print("ok")
