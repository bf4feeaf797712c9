#!/usr/bin/env python3
"""Three nodes of examples/fleet share conversations and a valve, while nodes and the server are killed and cut.

usage: fleet_example.py PROGRAM

The ledger has to balance: what was said and answered with ok was heard once and in order; no epoch has two owners; no two nodes moved
the valve at once. The nodes are on one machine here; each has a folder and a network of its own, so they count as several.
"""
import os
import pathlib
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

from server import USER
from server_trouble import PLACES, Server

CONVERSATIONS = ["ann", "bob", "cem"]
BETWEEN = 60  # texts between two troubles
LEASE_S = 10


class Network:
    """Between a node and the server; it can be cut."""

    def __init__(self, folder, server):
        self.folder = folder
        self.server = str(server.folder / f".s.PGSQL.{server.port}")
        folder.mkdir()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(folder / ".s.PGSQL.5432"))
        self.listener.listen()
        self.is_cut = False
        self.pairs = {}
        threading.Thread(target=self.forward, daemon=True).start()

    def forward(self):
        looks = selectors.DefaultSelector()
        looks.register(self.listener, selectors.EVENT_READ)
        while True:
            for ready, _ in looks.select(0.05):
                one = ready.fileobj
                if one is self.listener:
                    self.accept(looks)
                elif one in self.pairs and not self.pass_on(one):
                    self.end(looks, one)
            for one in list(self.pairs) if self.is_cut else []:
                if one in self.pairs:
                    self.end(looks, one)

    def accept(self, looks):
        client, _ = self.listener.accept()
        server = socket.socket(socket.AF_UNIX)
        try:
            if self.is_cut:
                raise OSError("cut")
            server.connect(self.server)
        except OSError:
            client.close()
            server.close()
            return
        self.pairs.update({client: server, server: client})
        looks.register(client, selectors.EVENT_READ)
        looks.register(server, selectors.EVENT_READ)

    def pass_on(self, one):
        try:
            data = one.recv(65536)
            self.pairs[one].sendall(data)
            return bool(data)
        except OSError:
            return False

    def end(self, looks, one):
        for side in (one, self.pairs[one]):
            looks.unregister(side)
            del self.pairs[side]
            side.close()


class Node:
    def __init__(self, program, folder, name, server):
        self.command = [program, "node", f"host={folder / name} user=pawl dbname=postgres", folder / name / "pawl", name,
                        folder / "ledger"]
        self.name = name
        self.network = Network(folder / name, server)
        self.log = open(folder / f"{name}.log", "ab")
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stderr=self.log)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        if self.process.wait(60) != 0:
            sys.exit(f"node {self.name} ended with {self.process.returncode}")


class Speaker:
    """Says numbers, to one after the other. Those that were answered with ok are in `said`."""

    def __init__(self, program, folder, server):
        self.process = subprocess.Popen([program, "say", f"host={server.folder} port={server.port} user=pawl dbname=postgres",
                                         folder / "speaker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=open(folder / "speaker.log", "wb"))
        self.said = {name: [] for name in [*CONVERSATIONS, "valve"]}
        self.number = 0

    def say(self, name, text):
        self.process.stdin.write(f"{name} {text}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if answer != ["ok", name, text]:
            sys.exit(f"{name} {text} was answered with {answer}")

    def goes_on(self, count=BETWEEN):
        for _ in range(count):
            self.number += 1
            name = "valve" if self.number % 20 == 0 else CONVERSATIONS[self.number % len(CONVERSATIONS)]
            self.say(name, str(self.number))
            self.said[name].append(str(self.number))

    def end(self, name):
        self.say(name, "bye")
        return self.process.stdout.readline().split()[2:]


def moves_of(folder):
    lines = (folder / "ledger").read_text(encoding="utf-8").splitlines() if (folder / "ledger").exists() else []
    return [(int(epoch), node, int(ms)) for _, _, epoch, node, ms in map(str.split, lines)]


def owner(folder, nodes):
    """The node that moved the valve last."""
    while not moves_of(folder):
        time.sleep(0.05)
    return nodes[moves_of(folder)[-1][1]]


def judge(folder, speaker, heard):
    for name, texts in heard.items():
        assert texts == speaker.said[name], f"{name} heard {texts}, and was said {speaker.said[name]}"
    nodes = {}
    spans = {}
    for epoch, node, ms in moves_of(folder):
        assert nodes.setdefault(epoch, node) == node, f"epoch {epoch} has two owners: {nodes[epoch]} and {node}"
        first, last = spans.get(epoch, (ms, ms))
        spans[epoch] = (min(first, ms), max(last, ms))
    in_order = sorted(spans.items(), key=lambda one: one[1])
    for (epoch, (_, end)), (other, (begin, _)) in zip(in_order, in_order[1:]):
        assert end < begin, f"the valve was moved under epochs {epoch} and {other} at once"
    assert len(set(nodes.values())) > 1, "the valve did not change its owner"
    return len(spans)


def run(program, folder):
    server = Server(folder, 5432)
    server.make().start()
    nodes = {}
    try:
        for name in ("a", "b", "c"):
            nodes[name] = Node(program, folder, name, server)
        speaker = Speaker(program, folder, server)
        speaker.goes_on()
        cut = owner(folder, nodes)
        cut.network.is_cut = True
        speaker.goes_on()
        time.sleep(LEASE_S + 3)  # for longer than a lease: this is what the fault is
        speaker.goes_on()
        cut.network.is_cut = False
        speaker.goes_on()
        killed = owner(folder, nodes)
        killed.kill()
        speaker.goes_on()
        server.kill()
        server.start()
        killed.start()
        speaker.goes_on()
        heard = {name: speaker.end(name) for name in speaker.said}
        owners = judge(folder, speaker, heard)
        for node in nodes.values():
            node.stop()
        refused = sum((folder / f"{name}.log").read_text(errors="replace").count("lease_over") for name in nodes)
        print(f"{speaker.number} said and heard once; the valve had {owners} owners; {refused} runs of a lease that was over")
    except BaseException:
        for log in sorted(folder.glob("*.log")):
            print(f"--- {log.name}\n" + "\n".join(log.read_text(errors="replace").splitlines()[-25:]), file=sys.stderr)
        raise
    finally:
        for node in nodes.values():
            node.process.kill()
        server.stop()


def main(program):
    if not PLACES:
        sys.exit("no PostgreSQL server is installed (Debian: postgresql)")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-fleet-"))
    try:
        if os.getuid() == 0:
            shutil.chown(folder, USER, USER)
        run(program, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
