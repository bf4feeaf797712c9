#!/usr/bin/env python3
"""How wide the classes and headers of Pawl are, and whether a name of a type says which layer it is of.

A reader holds a class in mind if it fits a screen. This test counts, in every header of the tree, the member functions
and data members of each class and the lines of the file, and fails beyond the limits below. What is wider for a good
reason is named in WIDER with that reason; an entry that is not needed any more fails, too.

A class of the storage has narrower limits: its members, its lines with those of its sources, and the references that its
constructor takes beside the context. Their number has limits, too: a class for each thought is as hard to find one's way
in as one for all.

A type of a namespace has one name in all layers, so that a reader who sees it knows which one is meant. Nested types may have
any name. The ports are no layer: each is one implementation of the same interfaces.

    width_test.py ROOT            the test
    width_test.py ROOT --table    the widest classes and headers
"""
import pathlib
import re
import sys

FUNCTIONS_MAX = 40
DATA_MAX = 25
LINES_MAX = 400

# Of src/store alone.
STORE_MEMBERS_MAX = 40
STORE_LINES_MAX = 900
REFERENCES_MAX = 5
TABLES = range(15, 30)

# "Class" or "path": reason.
WIDER = {
    "OrchestrationContext": "what an orchestration may do is one page of the manual; each call is a line",
    "Client": "likewise of a client",
    "include/pawl/client.hpp": "likewise of a client",
    "Runtime": "likewise of a loop",
    "RuntimeStats": "plain counters, a line each",
    "StoreContext": "plain values that all tables share; of meta each column",
}

KEYWORDS = ("public:", "private:", "protected:")


def strip(text):
    """Without comments, texts, preprocessor lines and attributes."""
    text = re.sub(r'R"\((.*?)\)"', '""', text, flags=re.S)
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r'"(\\.|[^"\\\n])*"', '""', text)
    text = re.sub(r"'(\\.|[^'\\\n])'", "0", text)
    text = re.sub(r"^[ \t]*#(.*\\\n)*.*$", "", text, flags=re.M)
    return re.sub(r"\[\[[^\]]*\]\]|alignas\([^()]*(\([^()]*\))?[^()]*\)", "", text)


def closing(text, at):
    """Where the bracket that opens at `at` closes."""
    pairs = {"{": "}", "(": ")"}
    opens, closes = text[at], pairs[text[at]]
    depth = 0
    for i in range(at, len(text)):
        if text[i] == opens:
            depth += 1
        elif text[i] == closes:
            depth -= 1
            if depth == 0:
                return i
    raise SystemExit("unbalanced " + opens)


CLASS = re.compile(r"\b(class|struct|union)\s+([A-Za-z_]\w*(?:::\w+)*)\s*(?:final\s*)?(:[^;{]*)?\{")


def declarations(body):
    """The statements of a class body, each without what stands in braces."""
    statement, i = "", 0
    while i < len(body):
        c = body[i]
        if c == "{":
            end = closing(body, i)
            rest = body[end + 1:].lstrip()
            statement += "{}"
            i = end + 1
            # A function's body or a nested type ends here unless a semicolon, initializer or name follows.
            if "(" in statement and not re.search(r"=\s*\{\}$", statement) and not rest.startswith((";", ",", "{")):
                yield statement.strip()
                statement = ""
            continue
        if c == "(":
            end = closing(body, i)
            statement += "()"
            i = end + 1
            continue
        if c == ";":
            if statement.strip():
                yield statement.strip()
            statement = ""
        else:
            statement += c
            if statement.strip() in KEYWORDS:
                statement = ""
        i += 1


def kind_of(statement):
    """'function', 'data' or None of one declaration."""
    s = re.sub(r"\s+", " ", statement)
    s = re.sub(r"^template ?<[^{}]*?> (?=[\w:~])", "", s)
    if re.match(r"(using|friend|typedef|enum|static_assert|class \w+$|struct \w+$|union \w+$)", s):
        return None
    if re.match(r"(class|struct|union) [\w:]+ ?(final )?(:[^{]*)?\{\}$", s):
        return None
    head = re.split(r"=|\{", s)[0] if not re.search(r"operator", s) else s
    if "()" in head:
        if re.search(r"= ?delete$", s):
            return None
        return "function"
    if re.match(r"static (inline )?constexpr|inline static constexpr|constexpr static", s):
        return None
    if re.match(r"(class|struct|union|enum) ?[\w:]* ?\{\}", s):
        return "data"
    return "data"


def bodies(text):
    """(class, its bases, its body) of each class."""
    for found in CLASS.finditer(text):
        if re.search(r"enum\s*$", text[:found.start()]):
            continue
        at = found.end() - 1
        yield found.group(2), found.group(3) or "", text[at + 1:closing(text, at)]


def classes(text):
    for name, _, body in bodies(text):
        functions = data = 0
        for statement in declarations(body):
            kind = kind_of(statement)
            if kind == "function":
                functions += 1
            elif kind == "data":
                data += 1
        yield name, functions, data


# ---- classes of the storage ----


def references_of(name, body):
    """How many references the constructor of a class takes beside the context."""
    found = re.search(r"(?<!~)\b%s\(" % name, body)
    if not found:
        return 0
    taken = body[found.end():closing(body, found.end() - 1)].split(",")
    return sum("&" in one and "const" not in one and "StoreContext" not in one for one in taken)


def lines_of(name, body, folder):
    """The lines of a class and of the sources that define its functions."""
    definition = re.compile(r"^[\w:<>*&, ]*\b%s::~?\w+\(" % name, re.M)
    texts = [path.read_text() for path in sorted(folder.glob("*.cpp"))]
    return body.count("\n") + sum(text.count("\n") for text in texts if definition.search(text))


def measure_store(root):
    tables, failed = 0, []
    for path in sorted((root / "src/store").rglob("*.hpp")):
        text = strip(path.read_text())
        where = str(path.relative_to(root))
        members = {name: functions + data for name, functions, data in classes(text)}
        for name, bases, body in bodies(text):
            tables += bool(re.search(r"\bTable\b", bases))
            for count, most, what in ((members[name], STORE_MEMBERS_MAX, "members"),
                                      (references_of(name, body), REFERENCES_MAX, "references beside the context"),
                                      (lines_of(name, body, path.parent), STORE_LINES_MAX, "lines with its sources")):
                if count > most and name not in WIDER:
                    failed.append("%s: class %s has %d %s" % (where, name, count, what))
    if tables not in TABLES:
        failed.append("%d classes of the storage have the base Table" % tables)
    return tables, failed


# ---- names ----


TYPE = re.compile(r"\b(?:class|struct|union|enum)\s+(?:class\s+|struct\s+)?([A-Za-z_]\w*)\s*(?:final\s*)?(?::[^;{(]*)?\{$")


def types_of_namespaces(text):
    """The names of the types that stand in a namespace, and not in another type or a function."""
    inside, last = [], 0
    for brace in re.finditer(r"[{};]", text):
        head = text[last:brace.end()]
        last = brace.end()
        if brace.group() == "{":
            found = TYPE.search(head)
            if found and all(inside):
                yield found.group(1)
            inside.append(bool(re.search(r"\bnamespace\b[\w:\s]*\{$|\bextern\s*\"\"\s*\{$", head)))
        elif brace.group() == "}":
            inside.pop()


def layer_of(path):
    """The layer of a header of src or include, as docs/architecture.md has them."""
    if path.parts[0] == "include":
        return "public headers"
    if path.parts[1] in ("parts", "apps"):
        return "/".join(path.parts[1:3])
    return "rules" if path.name.endswith("_rules.hpp") else path.parts[1]


def names_of_two_layers(root):
    layers = {}
    for folder in ("include", "src"):
        for path in sorted((root / folder).rglob("*.hpp")):
            short = path.relative_to(root)
            for name in types_of_namespaces(strip(path.read_text())):
                layers.setdefault(name, {}).setdefault(layer_of(short), short)
    if len(layers) < 300:
        raise SystemExit("only %d types were found" % len(layers))
    return ["%s is a type of two layers: %s" % (name, ", ".join("%s (%s)" % (path, layer) for layer, path in of.items()))
            for name, of in sorted(layers.items()) if len(of) > 1]


def measure(root):
    rows, lines = [], []
    for folder in ("include", "src", "port"):
        for path in sorted((root / folder).rglob("*.hpp")):
            text = path.read_text()
            name = str(path.relative_to(root))
            lines.append((name, text.count("\n")))
            for cls, functions, data in classes(strip(text)):
                rows.append((name, cls, functions, data))
    return rows, lines


def main():
    root = pathlib.Path(sys.argv[1])
    rows, lines = measure(root)
    if len(rows) < 100 or len(lines) < 50:
        raise SystemExit("the tree was not found: %d classes, %d headers" % (len(rows), len(lines)))
    if "--table" in sys.argv:
        for name, cls, functions, data in sorted(rows, key=lambda r: -max(r[2] / FUNCTIONS_MAX, r[3] / DATA_MAX))[:25]:
            print("%4d functions %4d data  %s (%s)" % (functions, data, cls, name))
        for name, count in sorted(lines, key=lambda r: -r[1])[:12]:
            print("%5d lines  %s" % (count, name))
        return
    wide, failed = set(), []
    for name, cls, functions, data in rows:
        if functions > FUNCTIONS_MAX or data > DATA_MAX:
            wide.add(cls)
            if cls not in WIDER:
                failed.append("%s: class %s has %d functions and %d data members" % (name, cls, functions, data))
    for name, count in lines:
        if count > LINES_MAX:
            wide.add(name)
            if name not in WIDER:
                failed.append("%s has %d lines" % (name, count))
    failed += ["%s is named in WIDER and is not wide" % name for name in WIDER if name not in wide]
    tables, of_store = measure_store(root)
    failed += of_store + names_of_two_layers(root)
    print("%d classes, %d headers, %d tables" % (len(rows), len(lines), tables))
    for line in failed:
        print(line)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
