#!/usr/bin/env python3
"""The examples of sessions as a user runs them, with processes killed on the way, and what they said.

  session_examples_test.py SOURCE_DIR BUILD_DIR conversation|device_gateway [EMULATOR ARGUMENT...]
"""

import fcntl
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

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


# --- conversation ---------------------------------------------------------------------------------------


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


# --- device gateway -------------------------------------------------------------------------------------


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
    series = begin_read("bed-7", "40", "10")
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


shutil.rmtree(FOLDER, ignore_errors=True)
os.makedirs(FOLDER)
try:
    {"conversation": conversation, "device_gateway": device_gateway}[PART]()
    print("passed")
finally:
    for left in processes.values():
        left.kill()
