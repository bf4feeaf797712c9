#!/usr/bin/env python3
"""The examples of sessions as a user runs them, with processes killed on the way, and what they said.

  session_examples_test.py SOURCE_DIR BUILD_DIR conversation|device_gateway|session_broker|c_gateway [EMULATOR ARGUMENT...]
"""

import fcntl
import itertools
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
PROGRAM = [*sys.argv[4:], os.path.join(BUILD, "examples", PART, PART)]
FOLDER = os.path.join(BUILD, "test", "e2e", "session_examples.scratch", PART)
DATABASE = os.path.join(FOLDER, "pawl.db")
# A test that hangs ends here; nothing passes or fails by it otherwise.
GUARD = 100

processes = {}  # name -> Popen


def expect(condition, text):
    if not condition:
        print(f"FAILED: {text}")
        for name in sorted(os.listdir(FOLDER)):
            if name.endswith(".stderr"):
                with open(os.path.join(FOLDER, name), encoding="utf-8", errors="replace") as log:
                    print(f"--- {name}\n" + "".join(log.readlines()[-40:]))
        sys.exit(1)


def until(holds, what):
    deadline = time.monotonic() + GUARD
    while not holds():
        expect(time.monotonic() < deadline, f"waited in vain: {what}")
        time.sleep(0.01)


def start(name, *arguments):
    """A process whose stderr is NAME.stderr, over all its lives."""
    with open(os.path.join(FOLDER, name + ".stderr"), "ab") as errors:
        processes[name] = subprocess.Popen([*PROGRAM, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                           stderr=errors, text=True)
    return processes[name]


def log(name):
    try:
        with open(os.path.join(FOLDER, name + ".stderr"), encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def kill(name):
    processes[name].kill()
    processes.pop(name).wait()


def stop(name):
    process = processes.pop(name)
    process.send_signal(signal.SIGTERM)
    expect(process.wait(GUARD) == 0, f"{name} ended with {process.returncode}")


def alive(pid):
    """Not gone, and no zombie that nobody has looked at."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def query(statement):
    connection = sqlite3.connect(f"file:{DATABASE}?mode=ro", uri=True)
    rows = connection.execute(statement).fetchall()
    connection.close()
    return rows


# ---- conversation ----


class Talk:
    """What a conversation must answer, whatever happens to its workers."""

    def __init__(self, name):
        self.name = name
        self.texts = []

    def begin(self, text):
        return subprocess.Popen([*PROGRAM, "say", "--db", DATABASE, self.name, text], stdout=subprocess.PIPE,
                                text=True)

    def end(self, process, text):
        """The worker that answered."""
        answer = process.communicate(timeout=GUARD)[0].strip()
        expect(process.returncode == 0, f"{self.name} has no answer to {text!r}")
        self.texts.append(text)
        words = sum(len(said.split()) for said in self.texts)
        wanted = f'turn {len(self.texts)}, {words} words since "{self.texts[0]}"'
        worker, _, said = answer.partition("> ")
        print(f"{self.name}: {text!r}: {answer}")
        expect(said == wanted, f"{self.name} answers {answer!r} and not {wanted!r}")
        return worker

    def say(self, text):
        return self.end(self.begin(text), text)

    def command(self, text):
        return self.begin(text).communicate(timeout=GUARD)[0].strip()


def agent_of(worker):
    """Of the conversation "talk"; the other one may be at the same worker."""
    return int(re.findall(r"instance=talk .*hydrated at turn \d+, agent (\d+)", log(worker))[-1])


def conversation():
    store = os.path.join(FOLDER, "store")
    os.mkdir(store)
    agent = " ".join([*PROGRAM, "agent"])

    def worker(node):
        start(node, "worker", "--db", DATABASE, "--node", node, "--store", store, "--agent", agent)
        until(lambda: "worker_registered" in log(node), f"{node} is registered")

    worker("a")
    talk = Talk("talk")
    expect(talk.say("hello there") == "a", "nobody else is there")
    worker("b")
    other = Talk("../other: a talk")
    other.say("quite another talk")
    for text in ("my name is Ann", "I have a dog", "it is called Rex"):
        expect(talk.say(text) == "a", "its session stays with a")
    first_agent = agent_of("a")
    expect(query("SELECT count(*) FROM sessions WHERE owner IS NOT NULL") == [(2,)], "two sessions have an owner")

    # Killed between two turns, one of them behind the last checkpoint. Its agent ends with it.
    kill("a")
    expect(talk.say("what is his name?") == "b", "the other process takes over")
    expect("hydrated at turn 3," in log("b"), "from the checkpoint of turn 3")
    until(lambda: not alive(first_agent), "the agent of a dead worker ends")
    other.say("still the same?")

    # Killed in the middle of a turn, with an agent that hangs.
    worker("a")
    hung = agent_of("b")
    os.kill(hung, signal.SIGSTOP)
    asked = log("b").count("asks its agent")  # the other conversation is silent now
    saying = talk.begin("are you there?")
    until(lambda: log("b").count("asks its agent") > asked, "b asks")
    kill("b")
    os.kill(hung, signal.SIGCONT)
    expect(talk.end(saying, "are you there?") == "a", "the turn is taken by the other process")
    until(lambda: not alive(hung), "the agent of a dead worker ends")

    # The agent itself dies: another one is told what the last did not write down.
    os.kill(agent_of("a"), signal.SIGKILL)
    expect(talk.say("and now?") == "a", "the same worker, another agent")

    # The agent goes for a while, and the session may come back anywhere.
    last_agent = agent_of("a")
    expect(talk.command("/pause 50") == "paused", "it pauses")
    expect(f"dehydrated at turn {len(talk.texts)}" in log("a"), "written down")
    expect(not alive(last_agent), "and ended")
    talk.say("good morning")
    expect(talk.command("/bye") == "bye", "it ends")
    until(lambda: query("SELECT 1 FROM instances WHERE id = 'talk' AND state = 1"), "it has ended")
    expect(query("SELECT count(*) FROM sessions WHERE name = 'agent'") == [(1,)], "the other session is left")
    expect(other.command("/bye") == "bye", "the other ends")
    stop("a")
    expect(query("SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM worker_queue)") == [(0, 0)],
           "nothing is left over")


# ---- device gateway ----


def device_gateway():
    devices = os.path.join(FOLDER, "by-id")
    os.mkdir(devices)

    def plug_in(name, value):
        with open(os.path.join(FOLDER, "fresh"), "w", encoding="utf-8") as file:
            file.write(f"{value}\n")
        os.rename(os.path.join(FOLDER, "fresh"), os.path.join(devices, name))

    def gateway(node, *options):
        start(node, "gateway", "--db", DATABASE, "--node", node, "--devices", devices, *options)

    def begin_read(name, *limits):
        return subprocess.Popen([*PROGRAM, "read", "--db", DATABASE, os.path.join(devices, name), *limits],
                                stdout=subprocess.PIPE, text=True)

    def end(reading):
        values = reading.communicate(timeout=GUARD)[0].strip()
        print(values)
        return values

    def is_locked(name):
        with open(os.path.join(devices, name), encoding="utf-8") as device:
            try:
                fcntl.flock(device, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            return False

    # The one that is there first holds the device, and its lock, before anybody asks for it.
    plug_in("bed-7", 215)
    gateway("a")
    until(lambda: "bed-7 is ours, epoch 1, locked" in log("a"), "a holds bed-7")
    expect(is_locked("bed-7"), "the kernel knows it, too")
    gateway("b", "--standby")
    until(lambda: "bed-7 declared (standby)" in log("b"), "b stands by")
    expect(end(begin_read("bed-7")) == "a:215", "a reads")

    # Killed in the middle of a series: the other has it at once, and no value is missing.
    series = begin_read("bed-7", "40", "40")
    until(lambda: query("SELECT count(*) FROM history WHERE kind = 32")[0][0] > 5, "some were read")
    kill("a")
    values = end(series).split()
    expect(values == ["a:215"] * values.count("a:215") + ["b:215"] * values.count("b:215") and len(values) == 40,
           "all of them, first by one and then by the other")
    expect(5 <= values.count("a:215") < 40, "in the middle of it")
    expect(is_locked("bed-7") and "bed-7 is ours, epoch 2, locked" in log("b"), "b holds it")

    # A second one that wants it for itself is refused, and told who has it.
    gateway("a")
    until(lambda: "bed-7 declared device_held" in log("a"), "a is refused")
    expect(re.search(r"device_refused.*by-id/bed-7.*\bb\b", log("a")), "the log names the holder")
    stop("a")

    # Pulled out: work fails after its own limit. Plugged in again: it is there, with its new value.
    os.remove(os.path.join(devices, "bed-7"))
    until(lambda: "bed-7 is not ours any more, epoch 2" in log("b"), "b lets it go")
    expect(end(begin_read("bed-7", "1", "0", "300")) == "session_unavailable", "nobody has it")
    patient = begin_read("bed-7")
    plug_in("bed-7", 230)
    expect(end(patient) == "b:230", "who waits has it now")

    # Somebody who knows nothing of Pawl holds the lock: nobody else gets at the device, and a reader waits.
    fresh = os.path.join(FOLDER, "fresh")
    with open(fresh, "w", encoding="utf-8") as stranger:
        stranger.write("99\n")
        stranger.flush()
        fcntl.flock(stranger, fcntl.LOCK_EX)
        os.rename(fresh, os.path.join(devices, "bed-8"))
        until(lambda: "bed-8 is ours, epoch 5, locked by another process" in log("b"), "b is locked out")
        patient = begin_read("bed-8")
        until(lambda: query("SELECT 1 FROM worker_queue WHERE failures > 0"), "it was tried in vain")
    expect(end(patient) == "b:99", "it is read when the stranger has gone")
    stop("b")
    expect(not is_locked("bed-7"), "who stops lets go")


# ---- session broker ----


def session_broker():
    folders = os.path.join(FOLDER, "folders")
    os.mkdir(folders)
    chat_file = os.path.join(FOLDER, "chat")
    open(chat_file, "w", encoding="utf-8").close()
    agent = " ".join([*PROGRAM, "agent"])

    def worker(node, kind):
        registered = log(node).count("worker_registered")
        start(node, "worker", "--db", DATABASE, "--node", node, "--kind", kind, "--folder", folders,
              "--chat", chat_file, "--agent", agent, "--per-user", "2")
        until(lambda: log(node).count("worker_registered") > registered, f"{node} is registered")

    ids = (f"m{number}" for number in itertools.count(1))

    def say(line, *limits):
        """What the chat itself says to a new message; threads answer in their own time."""
        return say_all([f"{next(ids)} {line}"], *limits)

    def say_all(lines, *limits):
        return subprocess.run([*PROGRAM, "chat", "--db", DATABASE, *limits], input="\n".join(lines) + "\n", check=True,
                              stdout=subprocess.PIPE, text=True, timeout=GUARD).stdout.strip()

    def posts():
        with open(chat_file, encoding="utf-8") as file:
            return file.read().splitlines()

    def hear(line):
        until(lambda: line in posts(), line)
        print(line)

    def ask(line, answer, *limits):
        expect(say(line, *limits) == "", f"{line!r} is taken")
        hear(answer)

    def folder(node, thread):
        """Where the last agent of a thread worked, as its worker says."""
        return re.findall(rf"instance={thread} .*agent \d+ in ([^\"]+)", log(node))[-1]

    worker("a", "scribe")
    worker("b", "poet")

    # Whoever is in a thread may use it, and only its owner may close it.
    expect("not_found" in say("t1 ann /close"), "there is nothing to close")
    ask("t1 ann hello", "t1: 1. hello")
    ask("t2 ann good day", "t2: 1. good day")
    ask("t1 bob me too", "t1: 2. me too")
    expect(re.fullmatch("not_owner: .*ann.*", say("t1 bob /close")), "it is not his")
    ask("t7 bob hi", "t7: 1. hi")

    # Two threads a user; who wants a third is told which of the two could go.
    expect(say("t3 ann one more") == "", "the line is taken")
    refusal = re.compile('t3: No agent: owner "ann" has 2 sessions open.*instance "t[12]"')
    until(lambda: any(refusal.match(line) for line in posts()), "refused")
    until(lambda: query("SELECT 1 FROM instances WHERE id = 't3' AND state = 1"), "and over")

    # A chat that is killed does not know what arrived, so it says all of it again. Each message is taken once.
    lines = ["p1 t8 eve one", "p2 t8 eve two"]
    start("chat", "chat", "--db", DATABASE).stdin.write(lines[0] + "\n")
    processes["chat"].stdin.flush()
    hear("t8: 1. one")
    kill("chat")
    expect(say_all(lines) == "", "they are taken")
    hear("t8: 2. two")
    expect("key_reused" in say_all(["p1 t8 eve three"]), "an id is of one message")

    # A slow session holds up nobody else.
    slow = int(re.findall(r"instance=t1 .*agent (\d+) in ", log("a"))[-1])
    os.kill(slow, signal.SIGSTOP)
    expect(say("t1 ann are you slow?") == "", "it is taken")
    ask("t2 ann are you quick?", "t2: 2. are you quick?")
    expect("t1: 3. are you slow?" not in posts(), "it still thinks")
    os.kill(slow, signal.SIGCONT)
    hear("t1: 3. are you slow?")

    # To an agent of another kind, at another worker, with what the first had to say.
    expect(os.path.samefile(os.path.dirname(os.path.dirname(folder("a", "t2"))), folders), "each session has a folder")
    expect(folder("a", "t1") != folder("a", "t2"), "of its own")
    ask("t2 bob /handoff poet", "t2: Only ann may do that.")
    ask("t2 ann /handoff poet", "t2: Handed over to the poet.")
    ask("t2 ann sing", "t2: sing, sing! (verse 1) [knows: 2 messages, the last: are you quick?]")
    expect(os.path.dirname(folder("a", "t2")) == os.path.dirname(folder("b", "t2")), "which goes with the session")
    expect({"scribe", "poet"} == set(os.listdir(os.path.dirname(folder("b", "t2")))), "each kind has a part of it")
    expect(query("SELECT w.node FROM sessions s JOIN workers w ON w.inc = s.owner JOIN instances i ON i.key = s.scope"
                 " WHERE i.id = 't2'") == [("b",)], "routed by its kind")

    # Too many, too long, too quiet.
    for number in (1, 2):
        ask(f"t4 carl line {number}", f"t4: {number}. line {number}", "--per-minute", "2")
    ask("t4 carl line 3", "t4: ⏳ Rate limited, please wait.")
    for number in range(1, 5):
        ask(f"t5 dan line {number}", f"t5: {number}. line {number}", "--messages", "4")
    expect("t5: ⚠️ This session is long. Use /handoff or /close soon." in posts(), "it was warned")
    ask("t5 dan line 5", "t5: Session closed: it is full.")
    ask("t6 dan hello?", "t6: 1. hello?", "--idle-ms", "1000")
    hear("t6: ⏰ Session expired due to inactivity")
    until(lambda: not os.path.exists(folder("a", "t6")), "its folder goes as well")

    # Killed: the agents end with their worker, and know everything when it is back.
    kill("a")
    until(lambda: not alive(slow), "the agent of a dead worker ends")
    worker("a", "scribe")
    ask("t1 ann still there?", "t1: 4. still there?")
    # Stopped in order: the threads are told by who is left.
    stop("a")
    hear("t1: 🔄 Broker restarting...")
    worker("a", "scribe")
    ask("t1 ann and now?", "t1: 5. and now?")

    # Closed by its owner.
    closed = folder("a", "t1")
    ask("t1 ann /close", "t1: Session closed.")
    until(lambda: not os.path.exists(os.path.dirname(closed)), "its folder goes as well")
    until(lambda: query("SELECT 1 FROM instances WHERE id = 't1' AND state = 1"), "it has ended")
    ask("t1 ann hello again", "t1: 1. hello again")
    stop("a")
    stop("b")


# ---- c_gateway ----


def c_gateway():
    sensor = os.path.join(FOLDER, "probe")
    pathlib.Path(sensor).write_text("21\n", encoding="utf-8")

    def gateway(node, *options):
        start(node, "run", DATABASE, node, sensor, *options)

    def watch(name):
        return subprocess.Popen([*PROGRAM, "watch", DATABASE, name, "100", "20", sensor], stdout=subprocess.PIPE, text=True)

    def expect_whole(watching, made_anew):
        end = watching.communicate(timeout=GUARD)[0].strip()
        print(end)
        expect(re.fullmatch(f"100 2100, made anew {made_anew} times", end), "each of 100 samples counts once, whatever was lost")

    def show():
        return subprocess.run([*PROGRAM, "show", DATABASE], stdout=subprocess.PIPE, text=True, timeout=GUARD, check=True).stdout

    def samples(name):
        rows = query("SELECT CAST(value AS TEXT) FROM kv JOIN instances ON instances.key = instance "
                     f"WHERE kv.key = 'state' AND instances.id = '{name}'")
        return int(rows[0][0][1:].split()[0]) if rows else 0

    gateway("a")
    until(lambda: "is declared: ok" in log("a"), "a has declared the sensor")
    watching = watch("w")
    until(lambda: samples("w") >= 5, "some samples were taken")
    told = show()
    print(told)
    expect(f"device {sensor}: owner a, epoch 1" in told and "session window: owner a" in told and "watch w: runs" in told,
           "a has the device and the session")

    # Killed and started again: it has the device at once, and its code makes the average anew.
    kill("a")
    gateway("a")
    # The second asks while the first waits: for the same watch, or for the next if it comes late.
    joined = watch("w")
    expect_whole(watching, "[12]")
    expect_whole(joined, "[012]")
    expect(log("a").count("is declared: ok") == 2, "a has declared it again")

    # Killed for good: the one that stands by takes the sensor over, and the session, unless it had that from the beginning.
    gateway("b", "standby")
    until(lambda: "is declared: ok" in log("b"), "b stands by")
    watching = watch("v")
    until(lambda: samples("v") >= 5, "some samples of another watch were taken")
    kill("a")
    expect_whole(watching, "[012]")
    expect("the sensor is ours" in log("b"), "b took it over")
    stop("b")
    expect("the sensor is not ours" in log("b"), "who stops lets go")


shutil.rmtree(FOLDER, ignore_errors=True)
os.makedirs(FOLDER)
try:
    {"conversation": conversation, "device_gateway": device_gateway, "session_broker": session_broker, "c_gateway": c_gateway}[PART]()
    for path in sorted(pathlib.Path(FOLDER).glob("*.stderr")):
        problems = error_lines.unexpected(path.read_text(errors="replace"), {})
        expect(not problems, f"{path.name}: {problems}")
    print("passed")
finally:
    for left in processes.values():
        left.kill()
