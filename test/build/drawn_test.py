#!/usr/bin/env python3
"""Every option of a Runtime and of a Client is drawn by random worlds: the fields of the structs in the public headers are
those of test/random/option_drawer.cpp.

usage: drawn_test.py PROJECT
"""
import pathlib
import re
import sys

PROJECT = pathlib.Path(sys.argv[1])
DRAWER = (PROJECT / "test/random/option_drawer.cpp").read_text(encoding="utf-8")
GROUPS = {"Options": "", "LimitOptions": "limits.", "SlotOptions": "slots.", "LeaseOptions": "leases.", "SessionOptions": "sessions.",
          "TimingOptions": "timing.", "RetentionOptions": "retention.", "SpaceOptions": "space."}
# No numbers: a world gives them as it needs them.
GIVEN = {"database_path", "database", "worker_node_id", "worker_tag_filter", "log", "board", "sessions.work_root", "sessions.listener",
         "sessions.claim_at_start", "sessions.claim_at_start_count"}
GIVEN_TO_CLIENT = {"database_path", "database", "create"}
problems = []


def fields_of(struct, header):
    text = re.sub(r"//[^\n]*", "", (PROJECT / "include/pawl" / header).read_text(encoding="utf-8"))
    text = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    body = re.search(rf"\bstruct {struct} \{{(.*?)\n\}};", text, re.S)[1]
    for statement in body.split(";"):
        words = re.sub(r"\{[^{}]*\}|=.*", "", " ".join(statement.split()))
        if " " in words and "(" not in words:
            yield words.split()[-1].lstrip("*")


drawn = set(re.findall(r"\{OPTION\(([\w.]+)\)", DRAWER))
options = {group + field for struct, group in GROUPS.items() for field in fields_of(struct, "options.hpp")}
options -= {group.rstrip(".") for group in GROUPS.values()}
for missing in sorted(options - drawn - GIVEN):
    problems.append(f"{missing} is not drawn")
for unknown in sorted((drawn | GIVEN) - options):
    problems.append(f"{unknown} is no option")
client = set(fields_of("ClientOptions", "client_options.hpp"))
for missing in sorted(client - set(re.findall(r"client\.(\w+) =", DRAWER)) - GIVEN_TO_CLIENT):
    problems.append(f"{missing} of ClientOptions is not drawn")
if len(options) < 50 or len(client) < 6:
    problems.append(f"only {len(options)} options and {len(client)} of a client were found")
for problem in problems:
    print(problem)
print(f"{len(drawn)} options are drawn, {len(problems)} problems")
sys.exit(1 if problems else 0)
