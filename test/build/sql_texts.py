#!/usr/bin/env python3
"""The statements of the storage, read as texts.

usage: sql_texts.py PROJECT

Due times: a statement that changes when a row is due has a mark of tables/due.hpp, or binds the due time with
bind_due(). What needs neither stands in DUE_EXCEPTIONS, with its reason.

Engines: what only SQLite has is marked (sql/query.hpp), in the text or for the whole statement.

States: a number that is one of an enum stands under its name, as sql::number<State::kOpen>. The text of the schema is
stored as it is, so it has digits; SCHEMA_STATES says which constant each of them is.

Keys: what is inserted into a table that does not count by itself (AUTOINCREMENT) names its key, and no statement makes
one from the highest that is there. The engine's choice, the highest and one, may be what our counter gives out later.
"""
import pathlib
import re
import sys

import sql_sources

PROJECT = pathlib.Path(sys.argv[1])
STORE = PROJECT / "src/store"

# Columns on which a due time hangs, by table: the kinds whose earliest due time changes with them.
UPDATED = {
    "orchestrator_queue": {"due": ["Timer"], "base": ["Timer"]},
    "instances": {"parked_until": ["Parked", "Timer"], "limit_due": ["Limit"], "home": ["Timer"]},
    "worker_queue": {name: ["Work"] for name in
                     ("due", "start_due", "close_due", "run_due", "silent_due", "unavailable_due")},
    "sessions": {"stop_due": ["Stop"], "look_at": ["Look"]},
    "workers": {"buried": ["Timer"]},
    "meta": {"off": ["Timer"]},
}
INSERTED = {
    "orchestrator_queue": {"due": ["Timer"]},
    "instances": {"parked_until": ["Parked"], "limit_due": ["Limit"]},
    "worker_queue": UPDATED["worker_queue"],
    "sessions": UPDATED["sessions"],
}
DELETED = {
    "orchestrator_queue": ["Timer"],
    "instances": ["Parked", "Limit"],
    "worker_queue": ["Work"],
    "sessions": ["Stop", "Look"],
}
# Of these a change of the column makes nothing due that was not: "Moves" is enough, whatever is written.
NEVER_COMES = {("instances", "home"), ("workers", "buried"), ("meta", "off"), ("orchestrator_queue", "base")}
# File and name of a query: why it needs no mark.
DUE_EXCEPTIONS = {
    ("session/devices.cpp", "kForgetDevice"): "only an opened session is looked at, and a device is none",
    ("instance/turn_writer.cpp", "kDeleteCompletions"): "what it deletes is no timer, and kGoOn, which follows, has the mark",
    ("session/rows.cpp", "kForget"): "a closed session that nobody looks at has no due time",
    ("instance/removal.cpp", "kDeleteInstance"): "what is swept was parked for ever by kMark, which has the mark",
}
# Columns whose numbers are those of an enum, and the enums.
STATES = {
    "state": ("State", "WorkState", "InstanceState", "CallState"),
    "kind": ("MessageKind", "EventKind"),
    "base": ("TimeBase",),
    "end": ("EndKind",),
    "role": ("Role",),
    "waiting": ("Waiting",),
    "stop_kind": ("ErrorKind",),
    "error": ("ErrorKind",),
}
# By index of the schema: the constants of its condition, in their order.
SCHEMA_STATES = {
    "i_removed": ["InstanceState::kDeleted"],
    "i_stopped": ["InstanceState::kStopped"],
    "e_past": ["EndKind::kContinuedAsNew"],
    "s_owned": ["State::kOpen"],
    "s_claim": ["State::kOpen"],
    "s_stopping": ["State::kStopping"],
    "s_opened": ["State::kClosed"],
    "s_label": ["State::kClosed"],
    "s_ended": ["State::kStopping"],
    "wq_free": ["WorkState::kReady"],
    "wq_tagged": ["WorkState::kReady"],
    "wq_tag": ["WorkState::kReady"],
    "wq_delayed": ["WorkState::kDelayed"],
    "wq_locked": ["WorkState::kLocked", "WorkState::kCancelledRunning"],
}
# What only SQLite has: in no text outside of a marked part. Of marked parts there are these only.
SQLITE_WORDS = re.compile(r"\b(?:INDEXED|CROSS|OR (?:IGNORE|REPLACE|ABORT|FAIL|ROLLBACK)|REPLACE INTO|IMMEDIATE|EXCLUSIVE|"
                          r"PRAGMA|sqlite_\w+|[Rr][Oo][Ww][Ii][Dd]|oid|GLOB|MATCH|AUTOINCREMENT|UNINDEXED|"
                          r"(?:typeof|ifnull|printf|total|group_concat|json_\w+|likely|unlikely|last_insert_rowid|changes|"
                          r"total_changes|randomblob|zeroblob|hex|quote|julianday|strftime)(?=\())|==")
MARKED = re.compile(r"INDEXED BY \w+|CROSS|typeof\(\w+\)='integer'|CAST\(\w+ AS BLOB\)")
problems = []
unused = set(DUE_EXCEPTIONS)


def is_own(column, value):
    """The column keeps what it has, or loses it."""
    return value == "NULL" or re.search(rf"\b{column}\b", value) is not None


def needs(sql):
    """(kind, must it come, column, value) of each due time that the statement changes."""
    update = sql_sources.update_of(sql)
    if update is not None:
        table, values = update
        for column, value in values.items():
            for kind in UPDATED.get(table, {}).get(column, []):
                moves = is_own(column, value) or (table, column) in NEVER_COMES or kind == "Timer" != UPDATED[table][column][0]
                yield kind, not moves, column, value
    insert = re.match(r"INSERT (?:OR \w+ )?INTO (\w+)\((.*?)\)", sql)
    if insert:
        for column in insert[2].split(","):
            for kind in INSERTED.get(insert[1], {}).get(column, []):
                yield kind, True, column, "?"
    delete = re.match(r"DELETE FROM (\w+)", sql)
    if delete:
        for kind in DELETED.get(delete[1], []):
            yield kind, False, "row", "NULL"


def bound_after(source, name):
    """The least number of due times that are bound where the query is used, by kind."""
    counts = []
    for at in re.finditer(rf"use\({name}[,)]", source):
        use = re.split(r"\n}\n|\buse\(", source[at.end():], maxsplit=1)[0]
        counts.append(re.findall(r"bind_due\([^;]*?\bk(\w+)Comes\)", use))
    return {kind: min(count.count(kind) for count in counts) for kind in sum(counts, [])} if counts else {}


def check_due(query, source):
    key = (query.path.relative_to(STORE).as_posix(), query.name)
    wanted = list(needs(query.text))
    marked = set(re.findall(r"\bk(\w+?(?:Comes|Moves))\b", query.marks))
    missing = []
    to_bind = {}
    for kind, comes, column, value in wanted:
        if kind + "Comes" in marked or (not comes and kind + "Moves" in marked):
            continue
        if comes and re.fullmatch(r"\?\d*", value):
            to_bind.setdefault(kind, []).append(column)
        else:
            missing.append(f"{column} ({kind})")
    bound = bound_after(source, query.name) if to_bind else {}
    for kind, columns in to_bind.items():
        if bound.get(kind, 0) < len(columns):
            missing.append(f"{', '.join(columns)} ({kind}; bind_due() binds {bound.get(kind, 0)})")
    if missing and key in DUE_EXCEPTIONS:
        unused.discard(key)
    elif missing:
        problems.append(f"{query.where}: {query.name} changes due times and says so by no mark: {'; '.join(missing)}")


def numbers_of(text):
    """(column, enum or None, what stands there) of each number that a column of a state is compared with or set to."""
    value = r"(?:\{(?:\w+::)*(\w+)::\w+\}|(-?\d+))"
    columns = "|".join(STATES)
    for at in re.finditer(rf"\b({columns})(?: ?(?:=|<>|<=|>=|<|>) ?|\)? (?:NOT )?IN ?\()(?={value})", text):
        rest = re.match(rf"{value}(?:, ?{value})*" if at[0].endswith("(") else value, text[at.end():])[0]
        for number in re.finditer(value, rest):
            yield at[1], number[1], number[0]
    for at in re.finditer(rf"\bCASE (?:\w+\.)?({columns})((?: WHEN {value} THEN [^ ]+)+)", text):
        for number in re.finditer(rf"WHEN {value}", at[2]):
            yield at[1], number[1], number[0]
    # PAWL_IS_THERE, and what else compares an expression of states.
    for at in re.finditer(rf"\biif\([^?]*?\b({columns})\b[^?]*?\)\)(?:=|<>|<|>){value}", text):
        yield at[1], at[2], at[0]
    insert = re.match(r"INSERT (?:OR \w+ )?INTO \w+\((.*?)\) (?:VALUES ?\((.*)\)|SELECT (.*?) FROM)", text)
    if insert:
        for column, given in zip(insert[1].split(","), sql_sources.split(insert[2] or insert[3])):
            number = re.fullmatch(value, given)
            if column in STATES and number:
                yield column, number[1], given


def check_states(query):
    for column, enum, found in numbers_of(query.text):
        if enum is None:
            problems.append(f"{query.where}: {query.name} has a number for {column}: {found}; its name is sql::number<...>")
        elif enum not in STATES[column]:
            problems.append(f"{query.where}: {query.name} has {found} for {column}")


def check_dialect(query):
    for part in query.parts:
        if not MARKED.fullmatch(part):
            problems.append(f"{query.where}: {query.name} marks what sql/query.hpp does not name: {part}")
    found = None if "postgres" in query.path.parts else SQLITE_WORDS.search(query.common)
    if found and "kEnginesOwn" not in query.marks:
        problems.append(f"{query.where}: {query.name} has {found[0]}, which only SQLite has, and no mark around it")
    if not found and "kEnginesOwn" in query.marks:
        problems.append(f"{query.where}: {query.name} needs no mark kEnginesOwn")


def check_schema():
    """The digits of states in the conditions of the indices are the constants that SCHEMA_STATES names."""
    constants = sql_sources.constants(PROJECT)
    left = dict(SCHEMA_STATES)
    schema = (STORE / "sql/schema.hpp").read_text(encoding="utf-8")
    for at in re.finditer(r"CREATE INDEX (\w+) ON [^;]*?WHERE ([^;]*);", schema):
        found = [number for _, _, number in numbers_of(re.sub(r"\s+", " ", at[2]))]
        names = left.pop(at[1], [])
        if [str(constants.get(name)) for name in names] != found:
            problems.append(f"schema.hpp: {at[1]} has the states {', '.join(found)}, and not {', '.join(names) or 'none'}")
    problems.extend(f"schema.hpp has no index {name}" for name in left)


def check_keys():
    schema = (STORE / "sql/schema.hpp").read_text(encoding="utf-8")
    keys = {}
    for table, columns in re.findall(r"CREATE TABLE (\w+)\((.*?)\)(?: WITHOUT ROWID)?;", schema, re.S):
        key = re.search(r"(\w+) INTEGER PRIMARY KEY(?! AUTOINCREMENT)", columns)
        if key:
            keys[table] = key[1]
    inserts = 0
    for path in sorted(STORE.rglob("*.[ch]pp")):
        for where, text in sql_sources.texts(PROJECT, path):
            for table, columns in re.findall(r"\b(?:INSERT|REPLACE)(?: OR \w+)? INTO (\w+) ?(?:\((.*?)\))?", text):
                inserts += table in keys
                if table in keys and keys[table] not in columns.split(","):
                    problems.append(f"{where}: inserts into {table} without {keys[table]}, which then is no number of the counter")
            for column, table in re.findall(r"\bmax\((?:\w+\.)?(\w+)\)[^ ]*\+ ?1\b.*? FROM (\w+)", text):
                if keys.get(table) == column:
                    problems.append(f"{where}: takes the highest {column} of {table} and one for a number of the counter")
    if not {"orchestrator_queue", "worker_queue"} <= set(keys) or inserts < 6:
        problems.append(f"only {inserts} statements that insert were found, and {len(keys)} tables: they are read wrongly")


def main():
    check_schema()
    check_keys()
    seen = 0
    named = 0
    changing = 0
    for path in sorted(STORE.rglob("*.[ch]pp")):
        source = path.read_text(encoding="utf-8")
        queries = list(sql_sources.queries(PROJECT, path))
        if path.name != "query.hpp" and len(queries) != len(re.findall(r"\bPAWL_QUERY\b", sql_sources.code_of(path))) or not all(query.text for query in queries):
            problems.append(f"{path.name}: not every statement in it is constexpr auto kName = PAWL_QUERY(...)")
        for query in queries:
            seen += 1
            changing += bool(list(needs(query.text)))
            named += len(re.findall(r"\{\w+::", query.text))
            check_due(query, source)
            check_states(query)
            check_dialect(query)
    problems.extend(f"{path}: {name} needs no exception" for path, name in sorted(unused))
    if seen < 200 or changing < 30 or named < 60:
        problems.append(f"only {seen} statements were found, {changing} that change due times, and {named} numbers with a "
                        "name: they are read wrongly")
    print("\n".join(problems) or f"{seen} statements, of which {changing} change due times; {named} numbers have names")
    return 1 if problems else 0


sys.exit(main())
