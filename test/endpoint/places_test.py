#!/usr/bin/env python3
"""Connections that take places and give nothing for them: others are let in all the same. Requests have minutes here, so
a connection that ends has ended for another reason than its deadline.

usage: places_test.py PROJECT PROGRAM
"""
import re
import socket

from harness import TOKEN, Program, check, finish

MINUTES = ("--timeout", "600000", "--watches", "1")
SHOWN = b"Authorization: Bearer " + TOKEN.encode() + b"\r\n"
POST = b"POST /v1/instances?name=hello&id=%s HTTP/1.1\r\nHost: localhost\r\nX-Pawl-Request: 1\r\nContent-Length: 4\r\n"


def is_open(one):
    """What a client sees without waiting."""
    one.setblocking(False)
    try:
        return one.recv(65536) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        one.settimeout(100)


def finish_request(one, data):
    try:
        one.settimeout(100)
        one.sendall(data)
        return one.recv(65536)
    except OSError:
        return b""


def drips(one):
    """Sends one byte more of a head. Whether the connection is still open behind it."""
    try:
        one.sendall(b"X")
        one.settimeout(0.05)
        return one.recv(65536) != b""
    except socket.timeout:
        return True
    except OSError:
        return False


def silent_connections():
    """Fifty times more than there are places, and each of them stays open as long as the server lets it."""
    with Program("--tcp", "--connections", "4", *MINUTES) as at:
        trusted = at.raw((POST % b"half") + SHOWN + b"\r\nha")
        check(at.get("/health").status == 200, "the half request has its place")
        silent = [at.raw(timeout=100) for _ in range(200)]
        check(at.ask("GET", "/health", timeout=100).status == 200, "/health answers beside 200 silent connections")
        check(at.ask("GET", "/ready", timeout=100).status == 200, "so does /ready")
        check(at.get("/v1/instances").status == 200, "a request with the token is answered")
        more = [at.raw(timeout=100) for _ in range(20)]
        check(b" 201 " in finish_request(trusted, b"lf"), "a request with the token keeps its place")
        for one in [trusted, *silent, *more]:
            one.close()


def oldest_goes():
    """The places of those without a head are given on in the order in which they were taken."""
    with Program("--connections", "8", *MINUTES) as at:
        silent = [at.raw(timeout=100) for _ in range(20)]
        check(at.get("/health").status == 200, "all were let in")
        states = [is_open(one) for one in silent]
        check(not any(states[:15]), f"six of eight places are for those without a head, and one came after them: {states}")
        check(states == sorted(states), f"the oldest go: {states}")
        for one in silent:
            one.close()


def heads_have_an_end():
    """A head that comes byte by byte is cut off, and beside it a request that has minutes stays."""
    with Program(*MINUTES) as at:
        half = at.raw((POST % b"late") + b"\r\nla")
        check(at.get("/health").status == 200, "the half request has its place")
        drip, kept = at.raw(b"GET /health HTTP/1.1\r\n"), at.raw(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
        check(kept.recv(65536).startswith(b"HTTP/1.1 200"), "an answer, and the connection stays")
        check(any(not drips(drip) for _ in range(2_000)), "a head that comes byte by byte has an end")
        check(kept.recv(65536) == b"", "nor has the next head on a connection longer")
        check(b" 201 " in finish_request(half, b"te"), "a request whose head is complete has its own time")
        for one in (half, drip, kept):
            one.close()


def without_token():
    """Requests without the token that never end hold three quarters of the places at most; the rest is for probes and the
    token."""
    with Program("--tcp", "--connections", "8", *MINUTES) as at:
        strange = [at.raw((POST % b"s") + b"\r\nha", timeout=100) for _ in range(20)]
        check(at.ask("GET", "/health", timeout=100).status == 200, "/health answers beside half bodies without the token")
        check(at.get("/v1/instances").status == 200, "so does a request with the token")
        states = [is_open(one) for one in strange]
        check(not any(states[:14]) and all(states[14:]), f"the last six have their places: {states}")
        trusted = [at.raw((POST % b"t%d" % i) + SHOWN + b"\r\nha", timeout=100) for i in range(4)]
        check(at.ask("GET", "/health", timeout=100).status == 200, "four requests with the token have places, too")
        strange += [at.raw((POST % b"s") + b"\r\nha", timeout=100) for _ in range(20)]
        check(at.ask("GET", "/health", timeout=100).status == 200, "and /health answers")
        for one in trusted:
            check(b" 201 " in finish_request(one, b"lf"), "they keep their places")
        for one in [*trusted, *strange]:
            one.close()


def all_are_trusted():
    """Who may not be sent away is waited for: the next connection is let in when one has ended."""
    with Program("--connections", "2", *MINUTES) as at:
        halves = []
        for i in range(2):
            halves.append(at.raw((POST % b"h%d" % i) + b"\r\nha"))
        late = at.raw(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n", timeout=100)
        check(b" 201 " in finish_request(halves[0], b"lf"), "a request is done")
        halves[0].close()
        check(late.recv(65536).startswith(b"HTTP/1.1 200"), "then the next is let in")
        check(b" 201 " in finish_request(halves[1], b"lf"), "and the other had its place")
        for one in [halves[1], late]:
            one.close()


def ambiguous():
    """A head that two readers could take for different requests: 400, and nothing behind it is read as a request."""
    host, write = b"Host: localhost\r\n", b"X-Pawl-Request: 1\r\n"
    post = b"POST /v1/instances?name=hello&id=twice HTTP/1.1\r\n" + write
    cases = {
        "two lengths": post + host + SHOWN + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nhalf",
        "two lengths that agree": post + host + SHOWN + b"Content-Length: 4\r\ncontent-length: 4\r\n\r\nhalf",
        "two hosts": b"GET /health HTTP/1.1\r\n" + host + b"Host: evil.example\r\n\r\n",
        "two tokens": b"GET /v1/instances HTTP/1.1\r\n" + host + SHOWN + SHOWN + b"\r\n",
        "a length and an encoding": post + host + SHOWN + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "two encodings": post + host + SHOWN + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    }
    with Program("--tcp") as tcp, Program() as local:
        for at in (tcp, local):
            for name, data in cases.items():
                one = at.raw(data + b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", timeout=100)
                got = b""
                try:
                    while part := one.recv(65536):
                        got += part
                except OSError:
                    pass
                one.close()
                statuses = re.findall(rb"HTTP/1\.1 (\d+)", got)
                check(statuses == [b"400"] and b"connection: close" in got.lower(), f"{name}: {got[:400]}")
            check(at.get("/v1/instances").json["instances"] == [], "nothing was started")
            check(at.get("/health").status == 200, "and it answers")


silent_connections()
oldest_goes()
heads_have_an_end()
without_token()
all_are_trusted()
ambiguous()
finish()
