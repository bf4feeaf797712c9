#!/usr/bin/env python3
"""The plans of all statements that store_both_test ran, under three sets of statistics.

usage: plans.py      beside a server (server.py), after store_both_test

No statement reads a table from end to end, whatever the planner believes of the tables: that they are as the tests have left
them, that they are empty, or that each has 20,000 rows. A statement names the index that it takes on SQLite (INDEXED BY); if
it takes another one here, that is printed.
"""
import os
import re
import subprocess
import sys

# Tables of one row or of 64, and what is no table of ours.
SMALL = {"meta", "clock_ring"}
ROWS = 20_000


def psql(sql):
    command = ["psql", "-X", "-q", "-t", "-A", "-R", "\x1e", "-F", "\x1f", "-v", "ON_ERROR_STOP=1", os.environ["PAWL_POSTGRES"]]
    run = subprocess.run(command, input=sql, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(run.stderr)
    return [row.split("\x1f") for row in run.stdout.rstrip("\n").split("\x1e") if row]


def plans(texts):
    """The lines of the plan of each text, in one session."""
    sql = "".join(f"SET {name}={value};" for name, value in psql("SELECT name,setting FROM public.settings"))
    for number, (_, theirs, types) in enumerate(texts):
        count = len(types.split(",")) if types else 0
        sql += f"PREPARE q{number}{'(' + types + ')' if count else ''} AS {theirs};"
        nulls = ",".join(["NULL"] * count)
        sql += f"SELECT '#{number}';EXPLAIN (COSTS OFF) EXECUTE q{number}{'(' + nulls + ')' if count else ''};"
    found, lines = {}, None
    for row in psql(sql):
        for line in row[0].split("\n"):
            if line.startswith("#"):
                lines = found[int(line[1:])] = []
            else:
                lines.append(line)
    return found


def filled(table):
    """The statement that fills a table: keys are numbers of their own, other columns have few values, and some none."""
    columns = psql(f"SELECT column_name,data_type,is_nullable FROM information_schema.columns WHERE table_schema='pawl' AND "
                   f"table_name='{table}' AND is_generated='NEVER' ORDER BY ordinal_position")
    keys = {row[0] for row in psql(
        "SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid=i.indrelid AND a.attnum=ANY(i.indkey) "
        f"WHERE i.indisunique AND i.indrelid='pawl.{table}'::regclass")}
    values = []
    for name, kind, nullable in columns:
        number = "1152921504606846976+g" if table == "worker_queue" and name == "id" else "g" if name in keys else "g/20" if name in ("instance", "sid", "root", "parent") else "g%7"
        value = {"bigint": number, "text": f"'t'||{number}"}.get(kind, "''::bytea")
        values.append(f"CASE WHEN g%3>0 THEN {value} END" if nullable == "YES" else value)
    names = ",".join(f'"{name}"' for name, _, _ in columns)
    rows = 1 if table == "meta" else ROWS
    return f"INSERT INTO {table}({names}) SELECT {','.join(values)} FROM generate_series(1,{rows}) AS g;"


def main():
    texts = psql("SELECT r.ours,r.theirs,min(p.types) FROM public.ran_texts r JOIN public.prepared p ON p.theirs=r.theirs "
                 "GROUP BY 1,2 ORDER BY 1")
    tables = [row[0] for row in psql("SELECT tablename FROM pg_tables WHERE schemaname='pawl'")]
    others, problems = set(), set()
    empty = "".join(f"DELETE FROM {table};" for table in tables)
    analyze = "VACUUM ANALYZE;"
    path = "SET search_path=pawl,pg_catalog;"
    for name, change in (("as left", []), ("empty", [empty, analyze]), ("filled", [*map(filled, tables), analyze])):
        for one in change:
            psql(path + one)
        for number, lines in plans(texts).items():
            ours = texts[number][0]
            plan = "\n".join(lines)
            wanted = set(re.findall(r"INDEXED BY (\w+)", ours))
            taken = set(re.findall(r"using (\w+)", plan))
            scanned = set(re.findall(r"Seq Scan on (\w+)", plan)) - SMALL
            if scanned:
                problems.add(f"{name}: scans {sorted(scanned)}: {ours}")
            if wanted - taken:
                others.add(f"{name}: {sorted(wanted - taken)} would be taken on SQLite, not {sorted(taken)}: {ours}")
    print(*sorted(others), *sorted(problems), sep="\n")
    print(f"{len(texts)} texts, {len(others)} times another index, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
