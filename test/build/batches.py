#!/usr/bin/env python3
"""Which sources of a test program are compiled together, in one file that includes them.

usage: batches.py FOLDER NAME SOURCE...

Half of the time of a test's source goes into headers, which all tests of a program have in common. A source that has a name that
another one defines comes into another file: one file has one unnamed namespace, and nothing may mean something else there. Writes FOLDER/NAME_N.cpp and prints what
has to be compiled: those files, and sources that are alone. Names are read as clang-format leaves them: at the beginning of a line.
"""
import os
import pathlib
import re
import sys

LINES_MAX = 2800  # more would leave a processor without work at the end of a build
NAMES = re.compile(
    r"""^(?:class|struct|union|enum(?:\ class)?)\s+(?:\[\[\w+\]\]\s+)?(\w+)|
        ^using\s+(\w+)\s*=|
        ^\#define\s+(\w+)|
        ^(?=\w)(?!(?:using|return|namespace|extern|template|TEST|TYPED_TEST|INSTANTIATE|REGISTER)\w*\b)
        [\w:<>,*&\s\[\]"]*?[\s*&](\w+)\s*(?:\(|=|\{|\[|;)""", re.X)


def names_of(text):
    found = (NAMES.match(line) for line in text.splitlines())
    return {name for one in found if one for name in one.groups() if name}


def words_of(text):
    return set(re.findall(r"\b[A-Za-z_]\w*", re.sub(r'//.*|"(?:[^"\\\n]|\\.)*"', "", text)))


class Batch:
    def __init__(self):
        self.sources, self.lines, self.names, self.words = [], 0, set(), set()

    def takes(self, lines, names, words):
        return not self.sources or self.lines + lines <= LINES_MAX and not self.names & words and not self.words & names

    def add(self, source, lines, names, words):
        self.sources.append(source)
        self.lines += lines
        self.names |= names
        self.words |= words


def batches_of(sources):
    batches = []
    for source in sources:
        text = pathlib.Path(source).read_text(encoding="utf-8")
        found = text.count("\n"), names_of(text), words_of(text)
        batch = next((one for one in batches if one.takes(*found)), None)
        if batch is None:
            batch = Batch()
            batches.append(batch)
        batch.add(source, *found)
    return batches


def main(folder, name, *sources):
    compiled = []
    for number, batch in enumerate(batches_of(sources)):
        if len(batch.sources) == 1:
            compiled.append(batch.sources[0])
            continue
        path = pathlib.Path(folder) / f"{name}_{number}.cpp"
        # Without the folder of the clone, which a compiler cache would take for another source.
        text = "".join(f'#include "{os.path.relpath(source, folder)}"\n' for source in batch.sources)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
        compiled.append(str(path))
    print(";".join(compiled), end="")


if __name__ == "__main__":
    main(*sys.argv[1:])
