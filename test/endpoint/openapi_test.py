#!/usr/bin/env python3
"""What the server says of itself (/v1/openapi.json) against what it does, against the committed copy and against the pages.

usage: openapi_test.py PROJECT PROGRAM [--write]

Every route is called with good and with wrong values of each parameter, and every answer has the members that its schema says, no more
and no fewer. --write: makes src/parts/endpoint/openapi.json anew.
"""
import difflib
import json
import re
import sys

from harness import PROJECT, Program, check, finish, quote

COPY = PROJECT / "src/parts/endpoint/openapi.json"
WIDTH = 120
used = set()
described = {}


def text_of(value, indent=0, before=0):
    """JSON as people read it: what holds no object stands on one line, if it fits there."""
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    flat = json.dumps(value)
    if isinstance(value, dict) and inner:
        flat = f"{{ {flat[1:-1]} }}"
    if not inner or (not any(isinstance(one, dict) for one in inner) and indent + before + len(flat) < WIDTH):
        return flat
    rows = [f"{json.dumps(key)}: {text_of(one, indent + 2, len(key) + 4)}" for key, one in value.items()] \
        if isinstance(value, dict) else [text_of(one, indent + 2) for one in value]
    first, last = "{}" if isinstance(value, dict) else "[]"
    return first + ",".join(f"\n{' ' * (indent + 2)}{row}" for row in rows) + f"\n{' ' * indent}{last}"


def copy_is_same(text):
    if "--write" in sys.argv:
        COPY.write_text(text, encoding="utf-8")
    was = COPY.read_text(encoding="utf-8")
    diff = difflib.unified_diff(was.splitlines(), text.splitlines(), "openapi.json", "the server", lineterm="", n=1)
    check(was == text, "src/parts/endpoint/openapi.json is not what the server says; --write makes it anew:\n" + "\n".join(diff))


def routes():
    for path, methods in described["paths"].items():
        for method, one in methods.items():
            yield method, path, one


def parameters_of(route, place):
    return [one for one in route.get("parameters", []) if one["in"] == place]


def forms_are_whole():
    for method, path, one in routes():
        in_path = parameters_of(one, "path")
        check([each["name"] for each in in_path] == re.findall(r"\{(\w+)\}", path), f"{method} {path}: parameters of the path")
        check(all(each.get("required") for each in in_path), f"{method} {path}: required")
        marked = [each["name"] for each in parameters_of(one, "header")] == ["X-Pawl-Request"]
        check(marked == (method != "get"), f"{method} {path}: X-Pawl-Request")


# ---- answers ----


def resolve(schema):
    if "$ref" not in schema:
        return schema
    name = schema["$ref"].rsplit("/", 1)[1]
    used.add(name)
    return described["components"]["schemas"][name]


def fits(value, schema, where):
    schema = resolve(schema)
    kind = schema.get("type")
    types = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
    if not check(kind is None or (isinstance(value, types[kind]) and not (kind == "integer" and isinstance(value, bool))),
                 f"{where} is no {kind}: {value!r}"):
        return
    if "enum" in schema:
        check(value in schema["enum"], f"{where} is {value!r}, which is none of {schema['enum']}")
    if kind == "array":
        for at, one in enumerate(value):
            fits(one, schema["items"], f"{where}[{at}]")
    if kind == "object" and "properties" in schema:
        for name in schema["required"]:
            check(name in value, f"{where} lacks {name}")
        for name, one in value.items():
            if check(name in schema["properties"], f"{where} has {name}, which is not in the schema"):
                fits(one, schema["properties"][name], f"{where}.{name}")


def answer_fits(method, path, got):
    answers = described["paths"][path][method]["responses"]
    where = f"{method} {path} {got.status}"
    answer = answers.get(str(got.status)) or answers["default"]
    if "$ref" in answer:
        answer = described["components"]["responses"]["Error"]
    kind, content = next(iter(answer["content"].items()))
    check(kind == "*/*" or got.headers["Content-Type"].startswith(kind), f"{where}: {got.headers['Content-Type']}")
    if kind == "application/json":
        fits(got.json, content["schema"], where)


def address(path, query, values):
    path = re.sub(r"\{(\w+)\}", lambda found: quote(values[found[1]]), path)
    return path + ("?" + query if query else "")


THERE = {"id": "one", "key": "greeting", "name": "go", "session": "bay", "node": "me", "device": "none", "file": "index.html"}  # and a token
QUERIES = {("post", "/v1/instances"): "name=hello&id=again", ("post", "/v1/sessions/{session}/hold"): "hold_ms=10",
           ("get", "/v1/instances/{id}/watch"): "timeout_ms=0",
           ("post", "/v1/workers/{node}/drain"): "stop_timeout_ms=0"}


def every_route(at):
    at.start("hello", "one", "hi")
    at.until_state("one", "completed")
    at.start("failing", "two")
    at.until_state("two", "failed")
    at.post("/v1/instances?name=hello&id=three", b"\xff")
    at.until_state("three", "completed")
    at.start("busy", "four")
    at.until("/v1/sessions/bay", lambda one: one["state"] == "active")
    answer_fits("get", "/v1/instances/{id}", at.get("/v1/instances/four"))
    at.start("unknown", "six", "kept")
    answer_fits("get", "/v1/instances/{id}/messages", at.get("/v1/instances/six/messages"))
    at.start("parent", "five")
    at.until_state("five", "completed")
    at.start("asking", "seven")
    THERE["token"] = at.until("/v1/instances/seven", lambda one: one["activities"] and
                              one["activities"][0]["state"] == "outside").json["activities"][0]["last_progress"]
    answer_fits("get", "/v1/instances/{id}", at.get("/v1/instances/seven"))
    # What ends things comes last.
    for method, path, _ in sorted(routes(), key=lambda one: (one[0] == "delete", one[0] == "post", one[1])):
        ask = {"get": at.get, "post": at.post, "delete": at.delete}[method]
        got = ask(address(path, QUERIES.get((method, path), ""), THERE))
        check(got.status not in (405, 500) and b"no_such_path" not in got.body, f"{method} {path}: {got.status} {got.body[:200]}")
        answer_fits(method, path, got)
        if method == "get":
            head = at.ask("HEAD", address(path, QUERIES.get((method, path), ""), THERE))
            check(head.status == got.status and head.body == b"", f"HEAD {path}: {head.status}")
    for ident in ("two", "three", "four", "five"):
        for path in ("/v1/instances/{id}", "/v1/instances/{id}/history", "/v1/instances/{id}/executions"):
            answer_fits("get", path, at.get(path.replace("{id}", ident)))
    for path, methods in described["paths"].items():
        got = at.ask("PUT", address(path, "", THERE))
        allowed = [method.upper() for method in methods] + (["HEAD"] if "get" in methods else [])
        check(got.status == 405 and sorted(got.headers["Allow"].split(", ")) == sorted(allowed), f"PUT {path}: {got.status}")
        fits(got.json, {"$ref": "#/components/schemas/Error"}, f"PUT {path}")
    for path in ("/v1", "/v2/instances", "/v1/instances/one/none", "/v1/instances/", "//", "/v1/instances/a/b/c/d/e/f/g"):
        got = at.get(path)
        check(got.status == 404 and got.json["error"] == "no_such_path", f"{path}: {got.status} {got.body}")


def causes_are_described():
    """docs/tool/explain.md has a row for each cause, with the help that a program gives."""
    page = (PROJECT / "docs/tool/explain.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| .+ \| (.+) \|$", page, re.M)
    source = (PROJECT / "src/core/cause_names.cpp").read_text(encoding="utf-8")
    check(rows == re.findall(r'\{"(\w+)",\s+"([^"]+)"\}', source), "docs/tool/explain.md has other causes than src/core/cause_names.cpp")
    kinds = described["components"]["schemas"]["Cause"]["properties"]["kind"]["enum"]
    check([name for name, _ in rows] == kinds, f"docs/tool/explain.md has other causes than {kinds}")


# ---- parameters ----

INT64_MAX = 2**63 - 1
# Nothing that is started begins before the program ends.
LATER = {("post", "/v1/instances"): {"start_after_ms": 10**9}, ("post", "/v1/instances/{id}/calls/{name}"): {"timeout_ms": 0}}
# A message that brought its start has made what the paths name: a call of it would wait so long.
NOT_WAITED_FOR = ("post", "/v1/instances/{id}/calls/{name}", "timeout_ms")


def good_values(schema):
    if schema["type"] == "integer":
        most = schema.get("maximum", INT64_MAX)
        return [schema["minimum"], most, schema.get("default", most)]
    if schema["type"] == "boolean":
        return ["true", "false"]
    return schema.get("enum") or (["n" * schema["maxLength"]] if "maxLength" in schema else []) + ["a b"]


def wrong_values(schema):
    if schema["type"] == "integer":
        return [schema["minimum"] - 1, schema.get("maximum", INT64_MAX) + 1, "x", "1x", "1.5", " 1", ""]
    if schema["type"] == "boolean":
        return ["maybe", "1", "TRUE", ""]
    if "enum" in schema:
        return ["none of them", schema["enum"][0].upper(), schema["enum"][0][:-1], ""]
    return ["n" * (schema["maxLength"] + 1)] if "maxLength" in schema else []


def default_is_one_of_the_values(schema, where):
    if "default" in schema:
        check(str(schema["default"]).lower() in map(str, good_values(schema)), f"{where}: the default is none of its values")


def every_parameter(at):
    """Nothing is there of what the paths name, so that no good call changes anything."""
    asked = 0
    not_there = {name: "not there" for name in THERE}
    for method, path, one in routes():
        ask = {"get": at.get, "post": at.post, "delete": at.delete}[method]
        given = parameters_of(one, "query")
        needed = {each["name"]: "7" for each in given if each.get("required")}

        def refused(pairs, name):
            query = "&".join(f"{key}={quote(str(value))}" for key, value in pairs)
            got = ask(address(path, query, not_there))
            answer_fits(method, path, got)
            return got.status == 400 and got.json["error"] == "bad_request" and f'"{name}"' in got.json["message"]

        check(refused([*needed.items(), ("no_such_parameter", "1")], "no_such_parameter"), f"{method} {path} takes any parameter")
        for each in given:
            name, schema = each["name"], each["schema"]
            where = f"{method} {path} {name}"
            default_is_one_of_the_values(schema, where)
            others = {key: value for key, value in {**needed, **LATER.get((method, path), {})}.items() if key != name}
            for value in [0] if (method, path, name) == NOT_WAITED_FOR else good_values(schema):
                check(not refused([*others.items(), (name, value)], name), f"{where}={value} is refused")
            for value in wrong_values(schema):
                check(refused([*others.items(), (name, value)], name), f"{where}={value} is taken")
            value = good_values(schema)[0]
            check(refused([*others.items(), (name, value), (name, value)], name), f"{where} is taken twice")
            if each.get("required"):
                check(refused(others.items(), name), f"{where} may be missing")
                check(refused([*others.items(), (name, "")], name), f"{where} may be empty")
            asked += len(good_values(schema)) + len(wrong_values(schema))
    print(f"{asked} values of parameters")


# ---- pages ----


def rows_of(page):
    return [[cell.strip() for cell in line.strip("|").split("|")]
            for line in (PROJECT / page).read_text(encoding="utf-8").splitlines() if line.startswith("| `")]


def words_in(cell):
    return re.findall(r"`([a-z_0-9]+)\??`", cell)


def pages_are_same():
    listed = {(method.lower(), path): cells[1] for cells in rows_of("docs/endpoint.md")
              for method, path in re.findall(r"`(GET|POST|DELETE) ([^`]*)`", cells[0])}
    for method, path, one in routes():
        if not check((method, path) in listed, f"docs/endpoint.md lacks {method.upper()} {path}"):
            continue
        query = parameters_of(one, "query")
        values = {word for each in query for word in each["schema"].get("enum", [])}
        names = [word for word in words_in(listed[method, path]) if word not in values]
        check(names == [each["name"] for each in query], f"docs/endpoint.md: {method.upper()} {path} has {names}")
    check(len(listed) == len(list(routes())), "docs/endpoint.md has a route that is not there")
    keys = {command: words_in(cells[1]) for cells in rows_of("docs/tool/values.md") if len(cells) == 2
            for command in words_in(cells[0])}
    for command, name in {"list": "Instance", "wait": "OrchestrationStatus", "history": "Event", "values": "Value",
                          "workers": "Worker", "sessions": "Session", "metrics": "Metrics"}.items():
        members = [one for one in described["components"]["schemas"][name]["properties"] if not one.endswith("_base64")]
        check(keys.get(command) == members, f"docs/tool/values.md: {command} has {keys.get(command)}, and not {members}")


def page_names_what_is_there():
    """The page chooses what to show and in which order; it has no other list of members."""
    text = (PROJECT / "src/parts/endpoint/page/page.js").read_text(encoding="utf-8")
    chosen = {name: json.loads(found) for name, found in re.findall(r"^const (TILES|CHARTS|STATES) = (\[.*?\]);$", text, re.M)}
    schemas = described["components"]["schemas"]
    for name, schema in (("TILES", "Metrics"), ("CHARTS", "Runtime")):
        check(chosen[name] and set(chosen[name]) <= schemas[schema]["properties"].keys(), f"page.js: {name} are members of {schema}")
    check(chosen["STATES"] == schemas["Instance"]["properties"]["state"]["enum"], "page.js: STATES are those of instances")


with Program() as program:
    described = program.get("/v1/openapi.json").json
    copy_is_same(text_of(described) + "\n")
    forms_are_whole()
    every_route(program)
    every_parameter(program)
schemas = described["components"]["schemas"]
check(used == schemas.keys(), f"schemas that no answer showed: {schemas.keys() - used}")
pages_are_same()
page_names_what_is_there()
causes_are_described()
print(f"{len(list(routes()))} routes, {len(schemas)} schemas")
finish()
