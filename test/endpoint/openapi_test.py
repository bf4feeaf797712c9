#!/usr/bin/env python3
"""src/parts/endpoint/openapi.json against the server: every route of one is in the other, with its parameters, and every answer
has the members that its schema says, no more and no fewer.

usage: openapi_test.py PROJECT PROGRAM
"""
import json
import re

from harness import PROJECT, Program, check, finish, quote

FILE = json.loads((PROJECT / "src/parts/endpoint/openapi.json").read_text(encoding="utf-8"))
SCHEMAS = FILE["components"]["schemas"]
used = set()


def routes_of_code():
    text = (PROJECT / "src/parts/endpoint/routes.cpp").read_text(encoding="utf-8")
    text = re.sub(r'"\s*\n\s*"', "", text).replace("kPageOf", '"after limit "', 1)
    table = text[text.index("kRoutes[] = {"):]
    table = table[:table.index("\n};")].replace("kPageOf", '"after limit "')
    return {(method.lower(), path): (set(names.split()), ("kOpen" in rest or "kProbe" in rest), "true" in rest) for method, path, names, rest in
            re.findall(r'\{Method::k(\w+),\s*"([^"]*)",\s*"([^"]*)",([^}]*)\}', table)}


def routes_of_file():
    found = {}
    for path, methods in FILE["paths"].items():
        for method, one in methods.items():
            given = one.get("parameters", [])
            in_path = {each["name"] for each in given if each["in"] == "path"}
            check(in_path == set(re.findall(r"\{(\w+)\}", path)), f"{method} {path}: parameters of the path")
            check(all(each.get("required") for each in given if each["in"] == "path"), f"{method} {path}: required")
            marked = any(each["name"] == "X-Pawl-Request" for each in given)
            check(marked == (method != "get"), f"{method} {path}: X-Pawl-Request")
            found[method, path] = ({each["name"] for each in given if each["in"] == "query"}, one.get("security") == [],
                                   "requestBody" in one)
    return found


def resolve(schema):
    if "$ref" not in schema:
        return schema
    name = schema["$ref"].rsplit("/", 1)[1]
    used.add(name)
    return SCHEMAS[name]


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
    answers = FILE["paths"][path][method]["responses"]
    where = f"{method} {path} {got.status}"
    answer = answers.get(str(got.status)) or answers["default"]
    if "$ref" in answer:
        answer = FILE["components"]["responses"]["Error"]
    kind, content = next(iter(answer["content"].items()))
    check(kind == "*/*" or got.headers["Content-Type"].startswith(kind), f"{where}: {got.headers['Content-Type']}")
    if kind == "application/json":
        fits(got.json, content["schema"], where)


def address(path, query):
    values = {"id": "one", "key": "greeting", "name": "go", "session": "bay", "node": "me", "device": "none",
              "file": "index.html"}
    path = re.sub(r"\{(\w+)\}", lambda found: quote(values[found[1]]), path)
    return path + ("?" + query if query else "")


QUERIES = {("post", "/v1/instances"): "name=hello&id=again", ("post", "/v1/sessions/{session}/hold"): "hold_ms=10",
           ("get", "/v1/instances/{id}/watch"): "timeout_ms=0",
           ("post", "/v1/workers/{node}/drain"): "stop_timeout_ms=0"}


def every_route(at, routes):
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
    # What ends things comes last.
    for method, path in sorted(routes, key=lambda one: (one[0] == "delete", one[0] == "post", one[1])):
        ask = {"get": at.get, "post": at.post, "delete": at.delete}[method]
        got = ask(address(path, QUERIES.get((method, path), "")))
        check(got.status not in (405, 500) and b"no_such_path" not in got.body, f"{method} {path}: {got.status} {got.body[:200]}")
        answer_fits(method, path, got)
        if method == "get":
            head = at.ask("HEAD", address(path, QUERIES.get((method, path), "")))
            check(head.status == got.status and head.body == b"", f"HEAD {path}: {head.status}")
    for ident in ("two", "three", "four", "five"):
        for path in ("/v1/instances/{id}", "/v1/instances/{id}/history", "/v1/instances/{id}/executions"):
            answer_fits("get", path, at.get(path.replace("{id}", ident)))
    for path, methods in FILE["paths"].items():
        got = at.ask("PUT", address(path, ""))
        allowed = [method.upper() for method in methods] + (["HEAD"] if "get" in methods else [])
        check(got.status == 405 and sorted(got.headers["Allow"].split(", ")) == sorted(allowed), f"PUT {path}: {got.status}")
        fits(got.json, {"$ref": "#/components/schemas/Error"}, f"PUT {path}")
    for path in ("/v1", "/v2/instances", "/v1/instances/one/none", "/v1/instances/", "//", "/v1/instances/a/b/c/d/e/f/g"):
        got = at.get(path)
        check(got.status == 404 and got.json["error"] == "no_such_path", f"{path}: {got.status} {got.body}")


code, described = routes_of_code(), routes_of_file()
check(len(code) == len(re.findall(r"\{Method::k", (PROJECT / "src/parts/endpoint/routes.cpp").read_text(encoding="utf-8"))),
      "this test reads all routes of the code")
for route in sorted(code.keys() | described.keys()):
    if check(route in code, f"the server has no {route}") and check(route in described, f"the file has no {route}"):
        check(code[route] == described[route], f"{route}: the code has {code[route]}, the file {described[route]}")
with Program() as program:
    every_route(program, described)
    check(program.get("/v1/openapi.json").json == FILE, "the server gives the file")
check(used == SCHEMAS.keys(), f"schemas that no answer showed: {SCHEMAS.keys() - used}")
page = (PROJECT / "docs/endpoint.md").read_text(encoding="utf-8")
for method, path in described:
    check(f"`{method.upper()} {path}`" in page, f"docs/endpoint.md lacks {method.upper()} {path}")
print(f"{len(described)} routes")
finish()
