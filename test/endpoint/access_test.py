#!/usr/bin/env python3
"""Who gets an answer: the token, the Host, the Origin, the header of a write, and an endpoint that only reads.

usage: access_test.py PROJECT PROGRAM
"""
import os
import stat

from harness import TOKEN, Program, check, finish

WRITE = {"X-Pawl-Request": "1"}
GOOD = {"Authorization": f"Bearer {TOKEN}"}


def over_tcp(at):
    check(at.port > 0, f"a port: {at.first_line}")
    at.until("/v1/workers", lambda one: one["workers"])
    for path in ("/v1/instances", "/v1/runtime", "/metrics", "/v1/none", "/none"):
        got = at.ask("GET", path)
        check(got.status == 401 and got.json["error"] == "unauthorized" and got.headers["WWW-Authenticate"] == "Bearer",
              f"{path} without a token: {got.status}")
    for path in ("/health", "/ready", "/", "/page/index.html", "/v1/openapi.json"):
        check(at.ask("GET", path).status == 200, f"{path} needs no token")
    for wrong in ("", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN,
                  f"Bearer  {TOKEN}", "Bearer " + "x" * 2000, f"Bearer {TOKEN.upper()}"):
        check(at.ask("GET", "/v1/instances", headers={"Authorization": wrong}).status == 401, f"{wrong[:40]} is no token")
    check(at.ask("GET", "/v1/instances", headers=GOOD).status == 200, "the token")
    check(at.ask("GET", "/v1/instances", headers={"Authorization": f"bearer {TOKEN}"}).status == 200, "the scheme has no case")
    for host in ("evil.example", f"evil.example:{at.port}", "127.0.0.1.evil.example", "localhost.evil", "", "[::2]", "0.0.0.0"):
        got = at.ask("GET", "/v1/instances", headers={**GOOD, "Host": host})
        check(got.status == 421 or (host == "" and got.status == 400), f"Host {host!r}: {got.status}")
        check(at.ask("GET", "/", headers={"Host": host}).status in (421, 400), f"no page for Host {host!r}")
    for host in ("localhost", f"LOCALHOST:{at.port}", "127.0.0.1", f"[::1]:{at.port}"):
        check(at.ask("GET", "/v1/instances", headers={**GOOD, "Host": host}).status == 200, f"Host {host!r} is this machine")
    for origin in ("http://evil.example", "null", "http://localhost", f"http://127.0.0.1:{at.port + 1}"):
        got = at.ask("GET", "/v1/instances", headers={**GOOD, "Origin": origin})
        check(got.status == 403, f"Origin {origin}: {got.status}")
    got = at.ask("GET", "/v1/instances", headers={**GOOD, "Origin": f"http://127.0.0.1:{at.port}"})
    check(got.status == 200, f"its own origin: {got.status}")
    check(not any(name.lower().startswith("access-control") for name in got.headers), "there is no CORS")
    check(at.ask("OPTIONS", "/v1/instances", headers=GOOD).status == 405, "no preflight is answered")
    writes(at, GOOD)


def writes(at, headers):
    got = at.ask("POST", "/v1/instances?name=hello&id=w", b"", headers)
    check(got.status == 403 and "X-Pawl-Request" in got.json["message"], f"a write without its header: {got.status}")
    check(at.get("/v1/instances/w").status == 404, "and nothing was started")
    check(at.ask("DELETE", "/v1/instances/w", headers=headers).status == 403, "likewise a DELETE")
    check(at.ask("POST", "/v1/instances?name=hello&id=w", b"", {**headers, **WRITE}).status == 201, "with it")


def headers_of_the_page(at):
    got = at.get("/")
    policy = got.headers["Content-Security-Policy"]
    check("default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy, policy)
    check(got.headers["X-Content-Type-Options"] == "nosniff" and got.headers["Content-Type"] == "text/html; charset=utf-8",
          f"{got.headers}")
    for path in ("/page/none.js", "/page/..%2Fopenapi.json", "/page/" + "x" * 300, "/page/%2e%2e/index.html"):
        check(at.get(path).status == 404, f"{path} is no file")
    check(at.get("/v1/instances").headers["Cache-Control"] == "no-store", "answers are not kept")


with Program("--tcp") as program:
    over_tcp(program)
    headers_of_the_page(program)
with Program() as program:
    check(stat.S_IMODE(os.stat(program.socket).st_mode) == 0o600, "a socket for its owner")
    writes(program, {})
    check(program.get("/v1/endpoint").json == {"read_only": False}, "an endpoint that takes writes")
    check(program.ask("GET", "/health", headers={"Host": "anything"}).status == 200, "a Unix socket needs no Host of ours")
with Program("--mode", "0600", "--read-only") as program:
    check(stat.S_IMODE(os.stat(program.socket).st_mode) == 0o600, "a socket for its owner")
    got = program.post("/v1/instances?name=hello&id=w")
    check(got.status == 403 and "only reads" in got.json["message"], f"an endpoint that only reads: {got.body}")
    check(program.get("/v1/instances").json["instances"] == [], "and reads")
    check(program.get("/v1/endpoint").json == {"read_only": True}, "and says so")
finish()
