#!/usr/bin/env python3
"""/metrics and the file for the textfile collector, as Prometheus reads them; the alerts and the dashboard over them.

usage: metrics_test.py PROJECT PROGRAM
"""
import itertools
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

from harness import PROJECT, Program, check, finish

PACKAGED = PROJECT / "packaging" / "prometheus"


def promtool(*arguments, text=None):
    run = subprocess.run(["promtool", *arguments], input=text, capture_output=True, text=True, cwd=PACKAGED)
    check(run.returncode == 0, f"promtool {' '.join(arguments)}:\n{run.stdout}{run.stderr}")
    return run.stdout + run.stderr


def names_of(text):
    return set(re.findall(r"^# TYPE (\w+) ", text, re.M))


def samples_of(text):
    return [line.rsplit(" ", 1)[0] for line in text.splitlines() if not line.startswith("#")]


def rows_of(text):
    """The table of docs/endpoint/prometheus.md."""
    for name, told in re.findall(r"^# HELP (\w+) (.*)\.$", text, re.M):
        kind = re.search(rf"^# TYPE {name} (\w+)$", text, re.M)[1]
        sample = re.search(rf"^{name}(?:_bucket)?({{.*}})? ", text, re.M)
        labels = [f"`{label}`" for label in re.findall(r'(\w+)="', sample[1] or "") if label != "le"]
        yield f"| `{name}` | {kind} | {', '.join(labels)} | {told[0].lower()}{told[1:]} |"


def value_of(text, sample):
    return next(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.rsplit(" ", 1)[0] == sample)


def used_in(text, known):
    """Names of metrics, without the endings of a histogram's samples."""
    found = set()
    for name in re.findall(r"\bpawl_[a-z_]+", text):
        base = re.sub(r"_(bucket|sum|count)$", "", name)
        found.add(base if base in known else name)
    return found


folder = tempfile.mkdtemp(prefix="pawl-endpoint-")
with Program("--metrics-file", f"{folder}/pawl.prom") as at:
    for i in range(3):
        at.start("hello", f"one{i}", "hi")
        at.until_state(f"one{i}", "completed")
    at.start("failing", "two")
    at.until_state("two", "failed")
    time.sleep(1.2)  # counts are read once a second
    first = at.get("/metrics").body.decode()
    for i in range(40):
        at.start("hello", f"label-{i}", "hi")
    at.until_state("label-39", "completed")
    time.sleep(1.2)
    text = at.get("/metrics").body.decode()
    at.until("/health", lambda _: os.path.exists(f"{folder}/pawl.prom"))
    with open(f"{folder}/pawl.prom", encoding="utf-8") as lines:
        filed = lines.read()

promtool("check", "metrics", text=text)
promtool("check", "metrics", text=filed)
check(value_of(text, 'pawl_instances{state="completed"}') == 43, "instances are counted")
check(value_of(text, 'pawl_orchestrations_completed_total{orchestration="hello",version="1.0.0"}') == 43, "and by name")
check(value_of(text, 'pawl_activities_failed_total{activity="refuse"}') == 1, "and activities")
for histogram in ("turn", "commit", "flush"):
    check(re.search(rf"^pawl_{histogram}_duration_seconds_count.* [1-9]", text, re.M) is not None, f"a histogram of {histogram}s")
check(value_of(text, "pawl_flush_duration_seconds_count") <= value_of(text, "pawl_flushes_total"), "flushes of commits")
check("label-" not in text, "no id of an instance is a label")
check(len(samples_of(text)) == len(samples_of(first)), "more instances are no more samples")
check(len(samples_of(text)) == len(set(samples_of(text))), "each sample once")
check(names_of(filed) == names_of(text), "the file has what /metrics has")
known = names_of(text)

promtool("check", "rules", "pawl.rules.yml")
promtool("test", "rules", "pawl.rules_test.yml")
rules = (PACKAGED / "pawl.rules.yml").read_text(encoding="utf-8")
dashboard = (PACKAGED / "pawl-dashboard.json").read_text(encoding="utf-8")
for where, uses in (("pawl.rules.yml", used_in(rules, known)), ("pawl-dashboard.json", used_in(dashboard, known))):
    check(uses and uses <= known, f"{where} names what is not there: {sorted(uses - known)}")
panels = json.loads(dashboard)["panels"]
check(len({panel["id"] for panel in panels}) == len(panels) > 10, "panels of the dashboard")
for panel in panels:
    for target in panel["targets"]:
        expression = target["expr"].replace("$instance", "a")
        promtool("check", "rules", "/dev/stdin",
                 text=f"groups: [{{name: a, rules: [{{record: a, expr: {json.dumps(expression)}}}]}}]")
for page in ("docs/endpoint.md", "docs/endpoint/prometheus.md"):
    named = set(re.findall(r"`(pawl_[a-z_]+)`", (PROJECT / page).read_text(encoding="utf-8")))
    check(named <= known, f"{page} names what is not there: {sorted(named - known)}")
rows = [line for line in (PROJECT / "docs/endpoint/prometheus.md").read_text(encoding="utf-8").splitlines() if line.startswith("| `pawl_")]
for was, now in itertools.zip_longest(rows, rows_of(text)):
    check(was == now, f"docs/endpoint/prometheus.md has\n{was}\nand not\n{now}")
shutil.rmtree(folder, ignore_errors=True)
print(f"{len(known)} metrics, {len(samples_of(text))} samples")
finish()
