#!/usr/bin/env python3
"""The plans of all statements that store_both_test ran, under three sets of statistics.

usage: plans.py [--table]     beside a server (server.py), after store_both_test

A statement names the index that it takes on SQLite (INDEXED BY). On PostgreSQL it takes the same one, and reads no table from
end to end, whatever the planner believes of the tables: that they are empty, that they are as the tests have left them, or
that each has 100,000 rows.
"""
import os
import re
import subprocess
import sys

SETTINGS = ("SET search_path=pawl,pg_catalog;SET enable_seqscan=off;SET enable_bitmapscan=off;SET enable_hashjoin=off;"
            "SET enable_mergejoin=off;SET jit=off;SET plan_cache_mode=force_generic_plan;")
# Tables of one row or of 64, and what is no table of ours.
SMALL = {"meta", "clock_ring"}
# Text: why its plan may differ.
EXCEPTIONS = {}
STATISTICS = {
    "empty": "DELETE FROM {table};VACUUM ANALYZE {table};",
    "many": "UPDATE pg_class SET reltuples=100000,relpages=2000 WHERE relname='{table}' AND relnamespace='pawl'::regnamespace;",
}


def psql(sql):
    command = ["psql", "-X", "-q", "-t", "-A", "-R", "\x1e", "-F", "\x1f", "-v", "ON_ERROR_STOP=1", os.environ["PAWL_POSTGRES"]]
    run = subprocess.run(command, input=sql, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(run.stderr)
    return [row.split("\x1f") for row in run.stdout.rstrip("\n").split("\x1e") if row]


def plans(texts):
    """The lines of the plan of each text, in one session."""
    sql = SETTINGS
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


def main(arguments):
    texts = psql("SELECT r.ours,r.theirs,min(p.types) FROM public.ran_texts r JOIN public.prepared p ON p.theirs=r.theirs "
                 "GROUP BY 1,2 ORDER BY 1")
    tables = [row[0] for row in psql("SELECT tablename FROM pg_tables WHERE schemaname='pawl'")]
    problems = set()
    for name, change in (("as left", ""), *STATISTICS.items()):
        psql("SET search_path=pawl,pg_catalog;" + "".join(change.format(table=table) for table in tables))
        for number, lines in plans(texts).items():
            ours = texts[number][0]
            plan = "\n".join(lines)
            wanted = set(re.findall(r"INDEXED BY (\w+)", ours))
            taken = set(re.findall(r"using (\w+)", plan))
            scanned = set(re.findall(r"Seq Scan on (\w+)", plan)) - SMALL
            if wanted - taken or scanned:
                problems.add((ours, f"{name}: wanted {sorted(wanted - taken)}, took {sorted(taken)}, scanned {sorted(scanned)}"))
    for ours, how in sorted(problems):
        print(f"{how}\n    {ours}")
    print(f"{len(texts)} texts, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
