#!/usr/bin/env python3
"""The examples of sessions as a user runs them, with processes killed on the way, and what they said.

  session_examples_test.py SOURCE_DIR BUILD_DIR conversation [EMULATOR ARGUMENT...]
"""

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
    return int(re.findall(r"hydrated at turn \d+, agent (\d+)", log(worker))[-1])


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
    asked = log("b").count("asks its agent")
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


shutil.rmtree(FOLDER, ignore_errors=True)
os.makedirs(FOLDER)
try:
    {"conversation": conversation}[PART]()
    print("passed")
finally:
    for left in processes.values():
        left.kill()
