#!/usr/bin/env python3
"""What requests at the endpoint cost the loop: how long its ticks take with and without them.

usage: endpoint_bench.py PROGRAM [SECONDS] [REQUESTS_A_SECOND] [SAMPLERS]

PROGRAM is endpoint_ticks of an optimised build (preset release). SAMPLERS (20) instances take a sample each 100 ms. In turn, four
times each, nothing is asked for SECONDS (15), and then so many requests a second (50): lists, one instance, its history, sessions,
workers, the runtime and /metrics. Printed is how long ticks took in both, from outside of the runtime, and how long the
answers took. Only an idle machine gives figures that mean something. Exits with 1 if no tick or no answer came.
"""
import http.client
import socket
import subprocess
import sys
import tempfile
import time

PATHS = ["/v1/instances?limit=50", "/v1/instances/i1", "/v1/instances/i1/history", "/v1/sessions", "/v1/workers", "/metrics",
         "/v1/runtime"]
TURNS = 4


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=30)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def ask(connection, path):
    began = time.monotonic()
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.read()
    if answer.status != 200:
        sys.exit(f"{path}: {answer.status}")
    return time.monotonic() - began


def share(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))] / 1000


def show(what, us):
    print(f"{what}: {len(us)}, median {share(us, 0.5):.2f} ms, p90 {share(us, 0.9):.2f} ms, p99 {share(us, 0.99):.2f} ms, "
          f"longest {max(us) / 1000:.2f} ms")


def measure(process, folder, seconds, rate, phases, answers):
    """The ticks; adds to phases and answers."""
    if process.stdout.readline() != "ready\n":
        sys.exit("it did not start")
    time.sleep(1)
    for turn in range(2 * TURNS):
        began, asked = time.monotonic(), turn % 2
        connection = Connection(f"{folder}/a.db-http")  # the endpoint closes one that says nothing for 10 s
        for number in range(rate * seconds if asked else 0):
            answers.append(1e6 * ask(connection, PATHS[number % len(PATHS)]))
            time.sleep(max(0.0, began + (number + 1) / rate - time.monotonic()))
        time.sleep(max(0.0, began + seconds - time.monotonic()))
        phases.append((1e6 * began, 1e6 * time.monotonic(), asked))
    process.terminate()
    return [tuple(map(int, line.split())) for line in process.communicate()[0].splitlines()]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    seconds, rate, samplers = (int(given) for given in (sys.argv[2:] + ["15", "50", "20"][len(sys.argv) - 2:]))
    phases = []  # began, ended, asked; in microseconds
    answers = []
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen([sys.argv[1], f"{folder}/a.db", str(samplers)], stdout=subprocess.PIPE, text=True)
        try:
            ticks = measure(process, folder, seconds, rate, phases, answers)
        finally:
            process.kill()  # whoever waits for its output would wait for ever
    print(f"{samplers} samplers, {TURNS} times {seconds} s without and with {rate} requests a second")
    took = [[us for at, us in ticks for began, ended, asked in phases if asked == which and began <= at < ended] for which in (0, 1)]
    if not answers or not all(took):
        sys.exit("nothing was measured")
    show("ticks, nothing asked", took[0])
    show("ticks, asked        ", took[1])
    show("answers             ", answers)


main()
