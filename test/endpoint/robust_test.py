#!/usr/bin/env python3
"""Clients that are slow, that send too much, or that send anything at all: each is refused, memory stays bounded, and the
next one is answered.

usage: robust_test.py PROJECT PROGRAM
"""
import json
import os
import random
import re
import socket
import time
import urllib.parse

from harness import PROJECT, TOKEN, Program, check, finish

SEED = int(os.environ.get("PAWL_SEED", "1"))
REQUESTS = 3_000
CALLS = 1_500
# What the buffers of all connections may take once they were used, the library's memory for connections, and the
# allocator's. A program with a sanitizer keeps what was freed.
GROWTH_KIB = 24 * 1024


def read_all(one):
    got = b""
    try:
        while True:
            part = one.recv(65536)
            if not part:
                return got
            got += part
    except OSError:
        return got


def is_sanitized(at):
    with open(f"/proc/{at.process.pid}/maps", encoding="utf-8", errors="replace") as lines:
        return any("san.so" in line for line in lines) or b"__asan_init" in open(f"/proc/{at.process.pid}/exe", "rb").read()


def slow_clients():
    with Program("--timeout", "700", "--connections", "8") as at:
        # All connections are taken: no request, half a request a byte at a time, half a body, an answer that is not read.
        silent = [at.raw() for _ in range(3)]
        drips = [at.raw(b"GET /health HTTP/1.1\r\n") for _ in range(3)]
        body = at.raw(b"POST /v1/instances?name=hello&id=x HTTP/1.1\r\nHost: a\r\nX-Pawl-Request: 1\r\nContent-Length: 100\r\n\r\nhalf")
        end = time.monotonic() + 20
        open_ones = set(drips)
        while open_ones and time.monotonic() < end:
            for one in list(open_ones):
                try:
                    one.sendall(b"X")
                except OSError:
                    open_ones.discard(one)
            time.sleep(0.05)
        check(not open_ones, "who sends a byte at a time is cut off")
        for one in [*silent, body]:
            one.settimeout(20)
            check(b"200" not in read_all(one), "who sends nothing, or half a body, is cut off")
        check(at.get("/health").status == 200, "then the next is answered")
        check(at.get("/v1/instances/x").status == 404, "half a body starts nothing")
        # Many requests whose answers are not read.
        at.start("hello", "big", "x" * 60_000)
        at.until_state("big", "completed")
        deaf = []
        for _ in range(7):
            one = at.raw()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.sendall(b"GET /v1/instances/big/history HTTP/1.1\r\nHost: a\r\n\r\n" * 20)
            deaf.append(one)
        time.sleep(2)
        check(at.get("/health").status == 200, "who does not read does not keep its connection")
        for one in deaf:
            one.close()


def too_much(at):
    def status(data):
        one = at.raw(data)
        one.settimeout(15)
        got = read_all(one) if b"close" in data else one.recv(65536)
        one.close()
        return int(got.split()[1]) if got.startswith(b"HTTP/1.1 ") else 0

    start = b"GET /health HTTP/1.1\r\nHost: a\r\n"
    check(status(start + b"X: " + b"y" * 20_000 + b"\r\n\r\n") in (0, 413, 431), "a header that is too long")
    check(status(start + b"".join(b"X%d: y\r\n" % i for i in range(5_000)) + b"\r\n") in (0, 413, 431), "too many headers")
    check(status(b"GET /" + b"a" * 5_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n") == 414, "a path that is too long")
    check(status(b"GET /" + b"a" * 50_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n") in (0, 414), "one that is far too long")
    check(status(b"GET /v1/instances?" + b"a=1&" * 50 + b" HTTP/1.1\r\nHost: a\r\n\r\n") == 400, "too many parameters")
    post = b"POST /v1/instances?name=hello&id=big HTTP/1.1\r\nHost: a\r\nX-Pawl-Request: 1\r\n"
    check(status(post + b"Content-Length: 65537\r\n\r\n") == 413, "a body that is too long is refused before it comes")
    check(status(post + b"Content-Length: 99999999999999999999\r\n\r\n") in (0, 400, 413), "a length that is no number")
    check(status(post + b"Content-Length: -1\r\n\r\n") in (0, 400, 413), "a length below zero")
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    check(status(post + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 2 + b"0\r\n\r\n") == 413, "a chunked body that is too long")
    try:
        got = status(post + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + chunk * 40)
    except OSError:
        got = 0
    check(got == 0, f"one without an end is cut off: {got}")
    check(at.get("/v1/instances/big").status == 404, "and nothing was started")
    got = at.ask("POST", "/v1/instances/x/suspend", b"body", {"X-Pawl-Request": "1"})
    check(got.status == 413 and "no body" in got.json["message"], f"a body where none belongs: {got.status}")
    check(at.ask("POST", "/v1/instances?name=hello&id=just", b"x" * 65536, {"X-Pawl-Request": "1"}).status == 201, "one that fits")


def too_many_watches():
    with Program("--watches", "2") as at:
        at.start("waiting", "w")
        at.until("/v1/instances/w", lambda one: one["stats"]["history_events"] > 0)
        revision = at.get("/v1/instances/w").json["revision"]
        request = f"GET /v1/instances/w/watch?revision={revision} HTTP/1.1\r\nHost: a\r\n\r\n".encode()
        waiting = [at.raw(request) for _ in range(2)]
        got = at.get(f"/v1/instances/w/watch?revision={revision}")
        check(got.status == 503 and got.json["error"] == "overloaded", f"a third watch: {got.status}")
        check(at.get("/health").status == 200, "others are answered")
        for one in waiting:
            one.close()
        # The places are free for the very next request, long before a watch is over.
        for _ in range(2):
            got = at.get(f"/v1/instances/w/watch?revision={revision}&timeout_ms=1")
            check(got.status == 200 and not got.json["changed"], f"a watch after others left: {got.status} {got.body}")


VALID = [b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
         b"GET /v1/instances?limit=5&state=running&after=3 HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n",
         b"GET /v1/instances/one%2Ftwo/history?execution=1&limit=7 HTTP/1.1\r\nHost: localhost\r\n\r\n",
         b"GET /v1/sessions/bay?instance=x HTTP/1.1\r\nHost: localhost\r\n\r\n",
         b"GET /v1/instances/w/watch?timeout_ms=1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
         b"POST /v1/instances/w/events/go HTTP/1.1\r\nHost: localhost\r\nX-Pawl-Request: 1\r\nContent-Length: 5\r\n\r\nhello",
         b"POST /v1/instances?name=hello&id=f HTTP/1.1\r\nHost: localhost\r\nX-Pawl-Request: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
         b"5\r\nhello\r\n0\r\n\r\n",
         b"DELETE /v1/instances/f?force=true HTTP/1.1\r\nHost: localhost\r\nX-Pawl-Request: 1\r\n\r\n",
         b"GET /metrics HTTP/1.0\r\n\r\n"]


def mutated(chance):
    data = bytearray(chance.choice(VALID))
    for _ in range(chance.randint(1, 8)):
        at = chance.randrange(len(data) + 1)
        what = chance.randrange(6)
        if what == 0:
            data[at:at] = bytes(chance.randrange(256) for _ in range(chance.randint(1, 20)))
        elif what == 1:
            del data[at:at + chance.randint(1, 20)]
        elif what == 2 and at < len(data):
            data[at] = chance.randrange(256)
        elif what == 3:
            data[at:at] = chance.choice([b"%00", b"%", b"%2", b"\r\n", b"\x00", b"?", b"&&==", b"/" * 50, b"%ff" * 30, b"+", b"\xe2\x80\xae"])
        elif what == 4:
            data[at:at] = data[at:at + 60] * chance.randint(1, 40)
        else:
            data += chance.choice(VALID)
    return bytes(data)


def fuzz(at):
    chance = random.Random(SEED)
    at.start("waiting", "w")
    for _ in range(100):  # until buffers and caches are warm
        send(at, mutated(chance), chance)
    before = at.resident_kib()
    for number in range(REQUESTS):
        data = chance.randbytes(chance.randint(1, 3_000)) if number % 3 == 0 else mutated(chance)
        send(at, data, chance)
        if not check(at.process.poll() is None, f"it died of {data!r} (seed {SEED})"):
            return
    after = at.resident_kib()
    check(at.get("/health").status == 200, "it answers afterwards")
    print(f"{REQUESTS} requests, {before} KiB before, {after} KiB after")
    if not is_sanitized(at):
        check(after - before < GROWTH_KIB, f"memory grew from {before} to {after} KiB")


def send(at, data, chance):
    try:
        one = at.raw(timeout=0.01)
        one.settimeout(0.2)
        one.sendall(data)
        if chance.randrange(2):
            one.shutdown(socket.SHUT_WR)
            read_all(one)
        one.close()
    except OSError:
        pass  # refused in the middle


VALUES = ["", "0", "-1", "1", "200", "201", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1e3", "true",
          "false", "running", "delayed", "x" * 300, "x" * 2_000, "hello", "w", "bay", "me", "go", "one/two", "..", "../../etc/passwd",
          "%", "%2", "'; DROP TABLE instances;--", "\x00", "a\x00b", "\r\nX: y", "\u202e", "1.0.0", "1.x", "start", "::", "w::1.2"]
ANSWERS = {200, 201, 400, 403, 404, 409, 413, 414, 503, 507}


def random_call(chance, paths):
    """A route that there is, with any values in its path, its query and its body."""
    def value():
        one = chance.choice(VALUES).encode()
        return urllib.parse.quote(chance.randbytes(chance.randint(1, 40)) if chance.randrange(8) == 0 else one, safe="")

    path, method = chance.choice(paths)
    described = [each["name"] for each in method[1].get("parameters", []) if each["in"] == "query"]
    given = [name for name in described if chance.randrange(2)]
    if chance.randrange(10) == 0:
        given.append(chance.choice(["colour", *described, ""]))
    query = "&".join(f"{name}={value()}" for name in given)
    body = chance.randbytes(chance.choice([1, 100, 65_536])) if method[0] == "post" and chance.randrange(2) else b""
    return method[0].upper(), re.sub(r"\{\w+\}", lambda _: value() or "x", path) + (f"?{query}" if query else ""), body


def any_values(at):
    """Whatever stands in a request of a known route: an answer that the page lists, in JSON, and never a fault of ours."""
    described = json.loads((PROJECT / "src/parts/endpoint/openapi.json").read_text(encoding="utf-8"))["paths"]
    paths = [(path, method) for path, methods in described.items() for method in methods.items()]
    chance = random.Random(SEED)
    seen = set()
    for _ in range(CALLS):
        method, address, body = random_call(chance, paths)
        headers = {"X-Pawl-Request": "1"} if method != "GET" else {}
        got = at.ask(method, address, body, headers)
        seen.add(got.status)
        if not check(got.status in ANSWERS, f"{method} {address}: {got.status} {got.body[:300]} (seed {SEED})"):
            return
        if got.headers["Content-Type"] == "application/json":
            said = {"error", "message"} == got.json.keys() or "ready" in got.json
            check(got.status < 400 or said, f"{method} {address}: {got.status} {got.body[:300]}")
    check({200, 400, 404} <= seen, f"all kinds of answers: {sorted(seen)}")
    check(at.get("/health").status == 200, "it answers afterwards")


def descriptors(at):
    return len(os.listdir(f"/proc/{at.process.pid}/fd"))


def half_requests():
    """More clients than there are connections, each with a part of a request: what each takes is given back."""
    with Program("--tcp", "--connections", "6", "--watches", "2", "--timeout", "1000") as at:
        line = b"POST /v1/instances?name=hello&id=x HTTP/1.1\r\n"
        head = line + b"Host: localhost\r\nX-Pawl-Request: 1\r\n"
        parts = [b"P", line[:20], line, head, head + b"Authorization: Bearer " + b"x" * 600, head + b"Content-Length: 9\r\n\r\n1",
                 head + b"Expect: 100-continue\r\nContent-Length: 60000\r\n\r\n", head + b"Transfer-Encoding: chunked\r\n\r\nffff\r\nx"]
        most, before = descriptors(at) + 6, at.resident_kib()
        for _ in range(5):
            clients = [at.raw(part) for part in parts * 3]
            check(descriptors(at) <= most, f"{descriptors(at)} descriptors for 6 connections")
            for number, one in enumerate(clients):
                if number % 2:
                    one.close()  # without waiting
            for one in clients[::2]:
                one.settimeout(20)
                check(b"HTTP/1.1 20" not in read_all(one), "half a request is never done")
                one.close()
        # Whatever was taken for a half is free again: all connections serve at once.
        whole = b"GET /v1/instances HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + TOKEN.encode() + b"\r\n\r\n"
        for _ in range(3):
            clients = [at.raw(whole) for _ in range(6)]
            for one in clients:
                one.settimeout(20)
                check(one.recv(65536).startswith(b"HTTP/1.1 200"), "each connection answers")
            for one in clients:
                one.close()
        if not is_sanitized(at):
            check(at.resident_kib() - before < GROWTH_KIB, "memory is bounded")
        check(at.get("/v1/instances").json["instances"] == [], "nothing was started")


def many_at_once(at):
    """Requests without waiting for answers, on one connection: each has its answer, in order."""
    one = at.raw(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n" * 399 + b"GET /none HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    one.settimeout(20)
    statuses = re.findall(rb"HTTP/1\.1 (\d+)", read_all(one))
    check(statuses == [b"200"] * 399 + [b"404"], f"{len(statuses)} answers")


def unauthenticated():
    with Program("--tcp") as at:
        before = at.resident_kib()
        for _ in range(1_000):
            check(at.ask("POST", "/v1/instances?name=hello&id=x", b"x" * 1_000, {"X-Pawl-Request": "1"}).status == 401, "no token")
        for _ in range(200):
            send(at, b"POST /v1/instances?name=hello&id=x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\n" + b"x" * 60_000,
                 random.Random(2))
        if not is_sanitized(at):
            check(at.resident_kib() - before < GROWTH_KIB, "memory is bounded")
        check(at.get("/v1/instances").json["instances"] == [], f"nothing was started; the token {TOKEN[:3]}.. is good")


slow_clients()
too_many_watches()
unauthenticated()
half_requests()
with Program() as program:
    program.announced = {"orchestration_unregistered": (0, 3000)}  # the fuzzer starts what there is not
    too_much(program)
    many_at_once(program)
    any_values(program)
    fuzz(program)
    check(program.stop() < 30 and program.process.returncode == 0, "it ends in order")
finish()
