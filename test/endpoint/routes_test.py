#!/usr/bin/env python3
"""Each route does what docs/endpoint.md says.

usage: routes_test.py PROJECT PROGRAM
"""
import threading
import time

from harness import Program, check, finish, quote

HOSTILE = "a/b?c=d&e#f %20+\"<script>\\ä"


def instances(at):
    check(at.start("hello", "one", "hi").status == 201, "an instance starts")
    got = at.start("hello", "one", "hi")
    check(got.status == 409 and got.json["error"] == "already_exists", f"it starts once: {got.body}")
    one = at.until_state("one", "completed").json
    check(one["status"]["output"] == "hi", f"its output: {one}")
    check([value["key"] for value in one["values"]] == ["greeting"], "its values")
    check(len(one["executions"]) == 1 and one["executions"][0]["state"] == "completed", "its executions")
    check(at.get("/v1/instances/none").status == 404, "an instance that is not there")
    check(at.get("/v1/instances/one/values/greeting").json["value"] == "hi", "a value")
    check(at.get("/v1/instances/one/values/none").status == 404, "a value that is not there")
    got = at.get("/v1/instances/one/values?limit=1").json
    check(got["values"][0]["key"] == "greeting" and got["after"] == "greeting", f"values: {got}")
    check(at.get("/v1/instances/one/values?after=greeting").json == {"values": [], "after": "greeting", "more": False},
          "values behind the last")
    got = at.get("/v1/instances/one/executions").json
    check(got["executions"][0]["output"] == "hi" and got["after"] == 1 and not got["more"], f"executions: {got}")
    check(at.post("/v1/instances?id=x").json["message"] == '"name" is missing', "a missing parameter is named")
    check(at.start("hello", "x" * 300).status == 400, "an id that is too long")
    check(at.post("/v1/instances?name=hello&id=v&version=x").status == 400, "a version that is none")
    for page in ("causes", "children", "tree", "history", "executions", "values", "watch"):
        check(at.get(f"/v1/instances/none/{page}").status == 404, f"{page} of an instance that is not there")


def hostile(at):
    got = at.start("hello", HOSTILE, "\x1b]0;\u202etitle\x07</script>").json
    check(got.get("id") == HOSTILE, f"a hostile id comes back: {got}")
    one = at.until_state(HOSTILE, "completed")
    check(one.json["instance"]["id"] == HOSTILE, "a hostile id is found")
    check(b"\x1b" not in one.body and "\u202e".encode() not in one.body, "nothing of it reaches a terminal")
    check(one.json["status"]["output"] == "\x1b]0;\u202etitle\x07</script>", "and a reader of JSON gets it all")
    got = at.post("/v1/instances?name=hello&id=bytes", b"\xff\xfe\x00")
    check(got.status == 201, "a payload of bytes")
    got = at.until_state("bytes", "completed").json
    check(got["status"]["output_base64"] == "//4A", f"bytes are base64: {got['status']}")
    check(at.get("/v1/instances/%00").status == 404, "a zero byte is no id")
    check(at.get("/v1/instances/%zz").status == 400, "a percent sign and no digits")
    check(at.get("/v1/instances/%f").status == 400, "a percent sign and one digit")


def filters(at):
    for i in range(7):
        at.start("waiting", f"w{i}")
    seen, after = [], 0
    while True:
        got = at.get(f"/v1/instances?id_prefix=w&limit=2&after={after}").json
        check(len(got["instances"]) <= 2, "a page has its limit")
        seen += [one["id"] for one in got["instances"]]
        after = got["after"]
        if not got["more"]:
            break
    check(seen == [f"w{i}" for i in range(7)], f"pages: {seen}")
    check(len(at.get("/v1/instances?name=waiting&state=running").json["instances"]) == 7, "by name and state")
    for bad in ("state=none", "limit=0", "limit=201", "limit=x", "after=-1", "colour=red", "roots_only=maybe",
                "limit=1&limit=2", "limit=99999999999999999999", "%zz=1", "limit="):
        got = at.get(f"/v1/instances?{bad}")
        check(got.status == 400 and got.json["error"] == "bad_request", f"{bad} is refused: {got.status}")


def history(at):
    at.start("longest", "long", "60")
    at.until_state("long", "completed")
    events, after = [], 0
    while True:
        got = at.get(f"/v1/instances/long/history?limit=50&after={after}").json
        events += [event["id"] for event in got["events"]]
        after = got["after"]
        if not got["more"]:
            break
    check(len(events) > 120 and events == list(range(1, len(events) + 1)), f"a history by pages: {len(events)}")
    check(at.get("/v1/instances/long/history?after=100000").json["events"] == [], "behind its end")
    check(at.get("/v1/instances/long/history?execution=9").status == 404, "an execution that is not there")
    # Payloads of 30 KiB, each byte of which is six in JSON: a page ends by its bytes before it ends by its rows.
    at.start("longest", "wide", "20,30000")
    at.until_state("wide", "completed")
    events, after, pages = [], 0, 0
    while True:
        got = at.get(f"/v1/instances/wide/history?limit=200&after={after}")
        check(len(got.body) < 450_000, f"a page is bounded: {len(got.body)}")
        events += [event["id"] for event in got.json["events"]]
        after, pages = got.json["after"], pages + 1
        if not got.json["more"]:
            break
    check(events == list(range(1, len(events) + 1)) and len(events) > 40 and pages > 5, f"{len(events)} on {pages} pages")


def calls(at):
    at.start("waiting", "deaf")
    check(at.post("/v1/instances/deaf/calls/mail", b"x").status == 400, "a call has a key")
    got = at.post("/v1/instances/deaf/calls/mail?key=k&timeout_ms=100", b"x")
    check(got.status == 200 and not got.json["answered"], f"no answer yet: {got.body}")
    box = []
    waiter = threading.Thread(target=lambda: box.append(at.post("/v1/instances/deaf/calls/mail?key=k", b"x")))
    waiter.start()
    check(at.get("/health").status == 200, "others are answered while a call waits")
    at.post("/v1/instances/deaf/events/go", b"")
    waiter.join(20)
    check(box and box[0].status == 409 and box[0].json["error"] == "stale", f"it ended without an answer: {box}")
    for _ in range(2):
        got = at.post("/v1/instances/talk/calls/mail?key=k&start=queue", b"hello")
        check(got.json == {"answered": True, "value": "hello"}, f"an answer, and again: {got.body}")
    got = at.post("/v1/instances/talk/calls/mail?key=l&start=queue", b"no")
    check(got.json == {"answered": True, "error": "application", "value": "not that"}, f"a refusal: {got.body}")
    check(at.post("/v1/instances/none/calls/mail?key=k", b"x").status == 404, "no instance")
    check(at.post("/v1/instances/talk/calls/mail?key=k&timeout_ms=30001", b"x").status == 400, "a wait is bounded")


def operations(at):
    at.start("waiting", "p")
    check(at.post("/v1/instances/p/suspend").json == {"status": "ok"}, "suspend")
    at.until_state("p", "suspended")
    check(at.post("/v1/instances/p/resume").status == 200, "resume")
    check(at.post("/v1/instances/p/time_limit?time_limit_ms=3600000").status == 200, "a time limit")
    shown = at.get("/v1/instances/p").json["instance"]
    check(shown["time_limit_ms"] == 3600000 and 0 < shown["time_left_ms"] <= 3600000, f"a time limit is shown: {shown}")
    check(at.post("/v1/instances/p/time_limit").status == 200, "no time limit")
    check("time_limit_ms" not in at.get("/v1/instances/p").json["instance"], "no time limit is shown")
    check(at.post("/v1/instances/p/time_limit?time_limit_ms=-1").status == 400, "a limit below 0")
    check(at.post("/v1/instances/p/events/go", b"payload \xff").status == 200, "an event")
    check(at.until_state("p", "completed").json["status"]["output_base64"], "an event is its bytes")
    check(at.post("/v1/instances/p/events/go").json["error"] == "stale", "an event after its end")
    check(at.post("/v1/instances/p/time_limit").json["error"] == "stale", "a limit after its end")
    at.start("queue", "q")
    check(at.post("/v1/instances/q/queues/mail", b"letter").status == 200, "a message of a queue")
    check(at.until_state("q", "completed").json["status"]["output"] == "letter", "comes")
    # A message with a key is one, however often it is sent, and a start comes with it.
    for expected in (200, 200):
        check(at.post("/v1/instances/once/queues/mail?key=k&start=queue", b"letter").status == expected, "a key")
    got = at.post("/v1/instances/once/queues/mail?key=k", b"other")
    check(got.status == 409 and got.json["error"] == "key_reused", f"a key of another message: {got.body}")
    check(at.until_state("once", "completed").json["status"]["execution_id"] == 1, "it was delivered once")
    calls(at)
    at.start("waiting", "c")
    check(at.post("/v1/instances/c/cancel?reason=no+more").status == 200, "cancel")
    at.until("/v1/instances/c", lambda one: one["instance"]["state"] != "running")
    at.start("waiting", "t")
    check(at.delete("/v1/instances/t").json["error"] == "still_running", "delete waits for the end")
    check(at.post("/v1/instances/t/terminate?reason=over").status == 200, "terminate")
    got = at.until_state("t", "failed").json
    check(got["status"]["error"] == "terminated", f"terminated: {got['status']}")
    check(at.delete("/v1/instances/t").json["instances"] == 1, "delete")
    check(at.get("/v1/instances/t").status == 404, "and it is gone")
    at.start("failing", "f")
    got = at.until_state("f", "failed")
    check(got.json["status"]["output"] == "no \x1b[31m luck" and b"\x1b" not in got.body, "an error is escaped")
    check(at.post("/v1/instances/f/restart?from=last_good_event&by=me").status == 200, "restart")
    at.until("/v1/instances/f", lambda one: one["instance"]["execution_id"] == 2)
    check(at.post("/v1/instances/f/restart?from=anywhere").status == 400, "restart from nowhere")
    at.start("parent", "mother")
    at.until_state("mother", "completed")
    got = at.get("/v1/instances/mother/children").json["instances"]
    check(len(got) == 1 and got[0]["parent_id"] == "mother", f"children: {got}")
    check(len(at.get("/v1/instances/mother/tree").json["instances"]) == 2, "a tree")


def watch(at):
    at.start("waiting", "seen")
    first = at.get("/v1/instances/seen/watch").json
    check(first["changed"], "a watch without a revision answers at once")
    at.until("/v1/instances/seen", lambda one: one["stats"]["history_events"] > 0)
    now = at.get("/v1/instances/seen").json["revision"]
    got = at.get(f"/v1/instances/seen/watch?revision={now}&timeout_ms=300").json
    check(not got["changed"] and got["revision"] == now, f"nothing changed: {got}")
    box = []
    waiter = threading.Thread(target=lambda: box.append(at.get(f"/v1/instances/seen/watch?revision={now}").json))
    waiter.start()
    check(at.get("/health").status == 200, "others are answered while one waits")
    at.post("/v1/instances/seen/events/go", b"x")
    waiter.join(20)
    check(box and box[0]["changed"] and box[0]["revision"] != now, f"a watch answers with the change: {box}")
    check(at.get("/v1/instances/seen/watch?timeout_ms=30001").status == 400, "a watch is bounded")


def sessions(at):
    at.start("busy", "b")
    got = at.until("/v1/sessions/bay", lambda one: one["state"] == "active")
    check(got.json["name"] == "bay" and got.json["node"] == "me", f"a session: {got.body}")
    listed = at.get("/v1/sessions?node=me&state=active").json
    check([one["name"] for one in listed["sessions"]] == ["bay"] and not listed["more"], f"sessions: {listed}")
    check(at.get("/v1/sessions?state=none").status == 400, "a state that is none")
    got = at.get("/v1/instances/b").json["activities"]
    check(len(got) == 1 and got[0]["name"] == "hang", f"its activity: {got}")
    for of in ("/v1/instances/b/causes", "/v1/sessions/bay/causes"):
        got = at.get(of).json
        check(not got["more"] and [(one["kind"], one["name"], one["subject"], one["node"], one["instance_id"]) for one in got["causes"]]
              == [("runs", "hang", "bay", "me", "b")], f"{of}: {got}")
    check(at.get("/v1/sessions/bay/causes?instance=none").status == 404, "causes of a session of none")
    check(at.post("/v1/sessions/bay/hold?hold_ms=1000").status == 200, "hold")
    check(at.post("/v1/sessions/bay/hold").status == 400, "hold for how long?")
    check(at.post("/v1/sessions/bay/transfer?node=nowhere").status == 409, "transfer to a worker that is not there")
    check(at.post("/v1/sessions/bay/handoff?tag=none", b"summary").status == 200, "handoff")
    check(at.get("/v1/sessions/none").status == 404, "a session that is not there")
    check(at.delete("/v1/sessions/none").status == 404, "and to close it")
    check(at.delete("/v1/sessions/bay").status == 200, "close")
    check(at.post("/v1/sessions/bay/transfer?stop_timeout_ms=0&force=true").status in (200, 404), "evict")
    check(at.delete("/v1/devices/none").status == 404, "a device that is not there")
    workers = at.get("/v1/workers").json["workers"]
    check([one["node"] for one in workers] == ["me"] and "echo" in workers[0]["handlers"], f"workers: {workers}")
    check(at.post("/v1/workers/me/drain?stop_timeout_ms=100").status == 200, "drain")
    check(at.get("/v1/workers").json["workers"][0]["draining"], "it drains")
    check(at.post("/v1/workers/me/undrain").status == 200, "undrain")
    check(at.post("/v1/workers/none/drain").status == 404, "a worker that is not there")


def queue(at):
    at.start("busy", "at work")
    at.until("/v1/queue?state=running", lambda page: page["queue"])
    for i in range(3):
        at.start("unserved", f"u{i}")
    at.until("/v1/queue?name=nobody", lambda page: len(page["queue"]) == 3)
    one = at.get("/v1/queue?state=running").json["queue"]
    check([(row["instance_id"], row["name"], row["session"], row["node"], row["is_unserved"]) for row in one] ==
          [("at work", "hang", "bay", "me", False)], f"what runs: {one}")
    check(at.get("/v1/queue?session=bay&instance=at%20work").json["queue"] == one, "of a session, and of an instance")
    check(at.get("/v1/queue?tag=none").json["queue"] == [], "for the workers of a tag")
    at.until("/v1/queue?state=delayed", lambda page: len(page["queue"]) == 3)
    seen, after = [], 0
    while True:
        got = at.get(f"/v1/queue?state=delayed&limit=2&after={after}").json
        check(len(got["queue"]) <= 2, "a page has its limit")
        seen += [(row["instance_id"], row["is_unserved"]) for row in got["queue"]]
        after = got["after"]
        if not got["more"]:
            break
    check(seen == [("u0", True), ("u1", True), ("u2", True)], f"no worker has it: {seen}")
    check(at.get("/v1/queue?state=lost").status == 400, "a state that is none")
    at.start("unknown", "kept", "input")
    for text in ("1", "2"):
        at.post("/v1/instances/kept/queues/mail", text.encode())
    seen, after = [], 0
    while True:
        got = at.get(f"/v1/instances/kept/messages?limit=2&after={after}").json
        seen += [(row["kind"], row["name"], row["payload"]) for row in got["messages"]]
        after = got["after"]
        if not got["more"]:
            break
    check(seen == [("start", "unknown", "input"), ("queue", "mail", "1"), ("queue", "mail", "2")], f"messages: {seen}")
    check(at.get("/v1/instances/none/messages").status == 404, "messages of an instance that is not there")


def outside(at):
    tokens = []
    for i in range(3):
        at.start("asking", f"ask {i}")
        rows = at.until(f"/v1/instances/ask%20{i}", lambda one: any(
            row["state"] == "outside" for row in one["activities"])).json["activities"]
        check(rows[0]["outside_since_ms"] > 0, f"since when: {rows}")
        tokens.append(rows[0]["last_progress"])
    check(len(at.get("/v1/queue?state=outside").json["queue"]) == 3, "by state")
    one, two, three = tokens
    check(at.post(f"/v1/activities/{one}/heartbeat", b"half").status == 200, "a heartbeat")
    got = at.get("/v1/instances/ask%200").json["activities"][0]
    check(got["last_progress"] == "half", f"it is stored: {got}")
    check(at.post(f"/v1/activities/{one}/complete", b"yes").status == 200, "an answer")
    check(at.post(f"/v1/activities/{one}/complete", b"yes").status == 200, "the same again")
    got = at.post(f"/v1/activities/{one}/complete", b"no")
    check(got.status == 409 and got.json["error"] == "stale", f"another one: {got.body}")
    check(at.post(f"/v1/activities/{one}/heartbeat").status == 404, "it is over")
    check(at.until_state("ask 0", "completed").json["status"]["output"] == "yes", "its result")
    check(at.post(f"/v1/activities/{two}/fail?permanent=true", b"bad luck").status == 200, "a failure")
    check(at.until_state("ask 1", "failed").json["status"]["output"] == "bad luck", "its error")
    check(at.post(f"/v1/activities/{three}/fail", b"worse luck").status == 200, "a failure without attempts left")
    at.until_state("ask 2", "failed")
    check(at.post("/v1/activities/none/complete").status == 400, "no token")
    check(at.post(f"/v1/activities/1-{32 * '0'}/complete").status == 404, "a token of none")


def numbers(at):
    metrics = at.get("/v1/metrics").json
    check(metrics["instances_completed"] > 0 and metrics["complete"], f"metrics: {metrics}")
    one = at.get("/v1/runtime").json
    check(one["worker"] == "me" and one["commits"] > 0 and one["flushed"]["counts"], "the runtime's counters")
    names = [each["name"] for each in one["orchestrations"]]
    check("hello" in names and "echo" in [each["name"] for each in one["activities"]], f"by name: {names}")
    time.sleep(1.1)
    text = at.get("/metrics")
    check(text.headers["Content-Type"].startswith("text/plain; version=0.0.4"), "the type of Prometheus")
    check('pawl_turn_duration_seconds_bucket{orchestration="hello"' in text.body.decode(), "a histogram of turns")


with Program() as program:
    program.announced = {"activity_unregistered": (1, 1)}
    for part in (instances, hostile, filters, history, operations, watch, sessions, queue, outside, numbers):
        part(program)
    check(program.stop() < 30, "it ends")
    check(program.process.returncode == 0, f"in order: {program.process.returncode}")
finish()
