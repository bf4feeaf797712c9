#!/usr/bin/env python3
"""Rows are read by the names of their columns.

usage: sql_columns.py PROJECT

The compiler finds the number of PAWL_COLUMN(kQuery, name) in the text of the query, and a name that is not there does not
compile. This test finds what the compiler does not:

Numbers: a row of more than three columns is read by names, and no column has a number above 2.

Rows: the names are those of the query that the row comes from. A function that is given a row reads the names of a list
(sql::Columns). Each query whose rows it is given begins with the columns of that list, or has them one behind the other
if the function adds a number.

Columns: each one that is selected is read. The parts of a UNION have the same columns.
"""
import pathlib
import re
import sys
from typing import NamedTuple

import sql_sources

PROJECT = pathlib.Path(sys.argv[1])
STORE = PROJECT / "src/store"
NAMED_MAX = 3  # a row with more columns is read by names
READ = re.compile(r"\b(\w+)\.(?:integer|is_integer|is_null|optional_ms|bytes)\(")
NAME = re.compile(r"(\+ )?PAWL_COLUMN\((k\w+), ([\w.]+)\)")
problems = []


class Name(NamedTuple):
    of: str        # a query or a list
    name: str
    shifted: bool  # a number is added
    at: int


class Row:
    """A row in a part of a file: of a statement, or a parameter."""

    def __init__(self, variable, begin, end, queries, reader):
        self.variable, self.begin, self.end = variable, begin, end
        self.queries = queries  # names; of a parameter none
        self.reader = reader    # of a parameter: the name of its function
        self.needs = set()      # of a parameter: (list or query, shifted)
        self.numbers = set()

    def covers(self, at):
        return self.begin <= at < self.end


def closing(source, at):
    """The place of the bracket that closes the one that is open there."""
    depth = 1
    for found in re.compile(rf"{sql_sources.STRING}|'[^']'|[(){{}}]").finditer(source, at):
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(found[0], 0)
        if depth == 0:
            return found.start()
    return len(source)


class File:
    def __init__(self, path, shared):
        self.path = path
        self.source = sql_sources.code_of(path)
        self.texts = {**shared, **{query.name: query for query in sql_sources.queries(PROJECT, path)}}
        self.own = [query for query in self.texts.values() if query.path == path]
        self.columns = {name: sql_sources.columns_of(query.text) for name, query in self.texts.items()}
        self.lists = sql_sources.lists(PROJECT, path)
        self.names = [Name(at[2], at[3], bool(at[1]), at.start()) for at in NAME.finditer(self.source)]
        self.rows = list(self.parameters()) + list(self.statements())

    def where(self, at):
        return f"{self.path.relative_to(PROJECT)}:{self.source.count(chr(10), 0, at) + 1}"

    def parameters(self):
        for at in re.finditer(r"\b(\w+)\(([^(){};]*\bStatement&? (\w+)[^(){};]*)\)[^;{}()]*\{", self.source):
            yield Row(at[3], at.end(), closing(self.source, at.end()), [], at[1])

    def statements(self):
        """`Statement row = ...use(kQuery)`, to the end of its block."""
        used = set(re.findall(r"\buse\((k\w+)\)", self.source))
        passed = [query.name for query in self.own if query.name not in used]
        for at in re.finditer(r"\bStatement (\w+) = ([^;]*);", self.source):
            yield Row(at[1], at.end(), closing(self.source, at.end()), re.findall(r"\buse\((k\w+)\)", at[2]) or passed, None)

    def row_of(self, variable, at):
        """The innermost row of this name."""
        return max((row for row in self.rows if row.variable == variable and row.covers(at)), key=lambda row: row.begin,
                   default=None)

    def has(self, query, of, shifted):
        """The names of `of` fit the rows of the query."""
        if of == query:
            return True
        wanted, columns = self.lists.get(of), self.columns[query]
        if wanted is None:
            return False
        places = range(len(columns) - len(wanted) + 1) if shifted else [0]
        return any(columns[place:place + len(wanted)] == wanted for place in places)

    def check_number(self, at, query, number):
        count = 1 if self.texts[query].text.startswith("PRAGMA") else len(self.columns[query])
        if number >= NAMED_MAX or count > NAMED_MAX or number >= count:
            problems.append(f"{self.where(at)}: column {number} of {query}, which has {count}, is read by its number")

    def check_names(self):
        for name in self.names:
            if name.of not in self.columns and name.of not in self.lists:
                problems.append(f"{self.where(name.at)}: {name.of} is no query and no list of columns in this file")
                continue
            covering = [row for row in self.rows if row.covers(name.at)]
            if any(row.queries and all(self.has(query, name.of, name.shifted) for query in row.queries) for row in covering):
                continue
            parameters = [row for row in covering if row.reader]
            if not parameters:
                problems.append(f"{self.where(name.at)}: {name.name} of {name.of} is read, and there is no row of it")
            for row in parameters:
                row.needs.add((name.of, name.shifted))

    def check_reads(self):
        for at in READ.finditer(self.source):
            row = self.row_of(at[1], at.start())
            if row is None:
                continue
            argument = sql_sources.split(self.source[at.end():closing(self.source, at.end())])[0]
            if argument.isdigit():
                row.numbers.add(int(argument))
                for query in row.queries:
                    self.check_number(at.start(), query, int(argument))
                if row.reader and int(argument) >= NAMED_MAX:
                    problems.append(f"{self.where(at.start())}: column {argument} is read by its number")
            name = NAME.fullmatch(argument)
            for query in row.queries if name else []:
                if not self.has(query, name[2], False):
                    problems.append(f"{self.where(at.start())}: {name[3]} of {name[2]} is read from a row of {query}")

    def calls(self):
        """(place, parameter, queries or row) of each call that hands a row on."""
        readers = {}
        for row in self.rows:
            if row.reader:
                readers.setdefault(row.reader, []).append(row)
        for at in re.finditer(r"\b(\w+)\(", self.source):
            for given in sql_sources.split(self.source[at.end():closing(self.source, at.end())]) if at[1] in readers else []:
                query = re.fullmatch(r"[\w.]*\buse\((k\w+)\)", given)
                row = self.row_of(given, at.start())
                for reader in readers[at[1]] if query or row else []:
                    yield at.start(), reader, [query[1]] if query else row.queries, row

    def check_calls(self):
        calls = list(self.calls())
        changed = True
        while changed:
            changed = False
            for _, reader, _, row in calls:
                if row is not None and row.reader and not (reader.needs <= row.needs and reader.numbers <= row.numbers):
                    row.needs |= reader.needs
                    row.numbers |= reader.numbers
                    changed = True
        for at, reader, queries, _ in calls:
            for query in queries:
                for of, shifted in sorted(reader.needs):
                    if not self.has(query, of, shifted):
                        problems.append(f"{self.where(at)}: {reader.reader}() reads {of}, and gets a row of {query}, which "
                                        f"has {', '.join(self.columns[query])}")
                for number in sorted(reader.numbers):
                    self.check_number(at, query, number)
        called = {reader.reader for _, reader, _, _ in calls}
        problems.extend(f"{self.where(row.begin)}: nothing in this file gives {row.reader}() a row" for row in self.rows
                        if row.needs and row.reader not in called)

    def check_selected(self):
        for query in self.own:
            if "postgres" in query.path.parts:
                continue  # about the server's catalogue
            columns = self.columns[query.name]
            unions = [at.span() for at in re.finditer(" UNION ALL (?=SELECT)", query.text)
                      if sql_sources.is_outside(query.text, at.start())]
            begins, ends = [0, *(end for _, end in unions)], [*(begin for begin, _ in unions), None]
            parts = [sql_sources.columns_of(query.text[begin:end]) for begin, end in zip(begins, ends)]
            if query.text.startswith("SELECT") and any(part != columns for part in parts):
                problems.append(f"{query.where}: the parts of {query.name} have different columns")
            if len(columns) <= NAMED_MAX:
                continue
            if len(set(columns)) != len(columns):
                problems.append(f"{query.where}: two columns of {query.name} have one name")
            of = {query.name} | {name for name in self.lists if self.has(query.name, name, True)}
            read = {name.name for name in self.names if name.of in of}
            sorted_by = {columns[int(number) - 1] for number in re.findall(r" ORDER BY (\d+)", query.text)}
            problems.extend(f"{query.where}: {query.name} selects {column}, which nothing reads" for column in columns
                            if column not in read | sorted_by)


def main():
    paths = sorted(STORE.rglob("*.[ch]pp"))
    shared = {query.name: query for path in paths if path.suffix == ".hpp" for query in sql_sources.queries(PROJECT, path)}
    wide = names = rows = 0
    for path in paths:
        file = File(path, shared)
        file.check_names()
        file.check_reads()
        file.check_calls()
        file.check_selected()
        wide += sum(len(file.columns[query.name]) > NAMED_MAX for query in file.own)
        names += len(file.names)
        rows += len(file.rows)
    if wide < 50 or names < 350 or rows < 200:
        problems.append(f"only {wide} wide queries, {names} names and {rows} rows were found: they are read wrongly")
    print("\n".join(problems) or f"{names} reads by name, of {wide} queries with more than {NAMED_MAX} columns; {rows} rows")
    return 1 if problems else 0


sys.exit(main())
