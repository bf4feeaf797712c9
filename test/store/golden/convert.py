#!/usr/bin/env python3
"""Carries a database of format 1 or 2 over to the schema of this tree, which has its tables and columns.

    convert.py OLD NEW      run in the root of the tree; nothing else has OLD open

The schema and the number of the format are those of src/store/sqlite/schema.hpp.
"""
import pathlib
import re
import sqlite3
import sys

HEADER = pathlib.Path("src/store/sqlite/schema.hpp")
ORDER = {"history": " ORDER BY instance,execution,id"}


def columns(connection, schema, table):
    return [row[1] for row in connection.execute(f"PRAGMA {schema}.table_info({table})")]


def copy(new, table):
    known = set(columns(new, "old", table))
    names = ",".join(name for name in columns(new, "main", table) if name in known)
    if names:  # else the table is new
        new.execute(f"INSERT INTO main.{table}({names}) SELECT {names} FROM old.{table}{ORDER.get(table, '')}")


def adapt(new):
    new.execute("INSERT INTO sqlite_sequence(name,seq) SELECT o.name,o.seq FROM old.sqlite_sequence AS o WHERE "
                "o.name NOT IN (SELECT name FROM sqlite_sequence)")


def main():
    old, made = sys.argv[1], pathlib.Path(sys.argv[2])
    if made.exists():
        sys.exit(f"{made} exists")
    text = HEADER.read_text(encoding="utf-8")
    with sqlite3.connect(made, isolation_level=None) as new:
        page_bytes = re.search(r"kPageBytes = (\d+);", text)[1]
        new.execute(f"PRAGMA page_size={page_bytes}")
        new.execute("ATTACH ? AS old", (old,))
        if new.execute("PRAGMA old.user_version").fetchone() not in ((1,), (2,)):
            sys.exit(f"{old} has another format than this script converts")
        new.execute("BEGIN")
        for statement in re.search(r'kSchema\[\] = R"sql\((.*?)\)sql"', text, re.S)[1].split(";")[:-1]:
            new.execute(statement)
        for (table,) in new.execute("SELECT name FROM main.sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite_%'").fetchall():
            copy(new, table)
        adapt(new)
        new.execute("PRAGMA application_id=0x5061776c")
        version = re.search(r"kSchemaVersion = (\d+);", text)[1]
        new.execute(f"PRAGMA user_version={version}")
        new.execute("COMMIT")
        new.execute("DETACH old")
        new.execute("PRAGMA journal_mode=WAL")
    new.close()


main()
