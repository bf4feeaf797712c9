"""Reads the texts of the SQL statements out of the sources of the storage."""
import re
from typing import NamedTuple

STRING = r'"(?:[^"\\\n]|\\.)*"'
NAME = r"(?:\w+::)*\w+"
NUMBER = rf"\bsql::number<{NAME}(?:,\s*{NAME})*>"
TOKEN = re.compile(rf"(?P<string>{STRING})|//[^\n]*|(?P<macro>\bPAWL_\w+)|(?P<number>{NUMBER})")


class Query(NamedTuple):
    path: object  # pathlib.Path
    where: str    # path and line
    name: str
    text: str     # as the engine sees it, but {State::kOpen} where a number has a name
    common: str   # without the parts that are marked as SQLite's
    parts: list   # these parts
    marks: str    # what stands beside the text


def code_of(path):
    """The text of a file with spaces for its comments."""
    return re.sub(rf"{STRING}|//[^\n]*", lambda found: " " * len(found[0]) if found[0].startswith("//") else found[0],
                  path.read_text(encoding="utf-8"))


def macros(project):
    """Parts of texts that have a name: PAWL_... is a text of literals."""
    found = {}
    for path in (project / "src/store").rglob("*.[ch]pp"):
        for at in re.finditer(r"#define (PAWL_\w+)((?:[^\n\\]|\\\n|\\.)*)", path.read_text(encoding="utf-8")):
            literals = re.findall(STRING, at[2])
            if literals:
                found[at[1]] = at[2]
    return found


def text_of(body, named):
    """The text of literals, macros of them, and numbers."""
    text = ""
    for at in TOKEN.finditer(body):
        if at["string"]:
            text += re.sub(r"\\(.)", lambda found: {"f": "\f", "r": "\r"}.get(found[1], found[1]), at["string"][1:-1])
        elif at["macro"] in named:
            text += text_of(named[at["macro"]], named)
        elif at["number"]:
            text += ",".join("{" + name + "}" for name in re.findall(NAME, at["number"])[1:])
    return text


def texts(project, path):
    """(where, text) of all adjoining literals of a file, whatever they are for."""
    source = path.read_text(encoding="utf-8")
    named = macros(project)
    for at in re.finditer(rf"(?:(?:{STRING}|\bPAWL_\w+|,\s*{NUMBER}\s*,)\s*(?://[^\n]*\n\s*)*)+", source):
        where = f"{path.relative_to(project)}:{source.count(chr(10), 0, at.start()) + 1}"
        yield where, re.sub(r"\s+", " ", text_of(at[0], named)).strip()


def queries(project, path):
    """The statements of a file, in their order."""
    source = path.read_text(encoding="utf-8")
    named = macros(project)
    for at in re.finditer(rf"constexpr auto (k\w+) =\s+PAWL_QUERY\(((?:{STRING}|[^;\"])*)\);", source):
        where = f"{path.relative_to(project)}:{source.count(chr(10), 0, at.start()) + 1}"
        text = text_of(at[2], named)
        common = re.sub(r"\f[^\r]*\r", " ", text)
        yield Query(path, where, at[1], re.sub(r"\s+", " ", text).strip(), common,
                    re.findall(r"\f([^\r]*)\r", text), re.sub(rf"{STRING}|{NUMBER}", "", at[2]))


def lists(project, path):
    """The lists of columns of a file, by name: constants that say which columns a function reads."""
    source = path.read_text(encoding="utf-8")
    named = macros(project)
    return {name: columns_in(text_of(body, named))
            for name, body in re.findall(rf"constexpr auto (k\w+) =\s+sql::Columns\(((?:{STRING}|[^;\"])*)\);", source)}


def constants(project):
    """The numbers of all enum classes, by "Enum::kName"."""
    found = {}
    for folder in ("src", "include"):
        for path in sorted((project / folder).rglob("*.hpp")):
            for at in re.finditer(r"enum class (?:\[\[\w+\]\] ?)?(\w+)[^{;]*\{(.*?)\}", path.read_text(encoding="utf-8"), re.S):
                for name, number in re.findall(r"(k\w+) = (\d+)", at[2]):
                    found[f"{at[1]}::{name}"] = int(number)
    return found


def split(text):
    """The parts of a list at its commas; what stands in parentheses is one."""
    parts, depth = [""], 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def columns_in(text):
    """The names of the columns of a list, as PAWL_COLUMN() has them: the alias, or the whole text."""
    end = next((at.start() for at in re.finditer(" FROM ", text) if is_outside(text, at.start())), len(text))
    return [re.sub(r".* AS (\w+)$", r"\1", part, flags=re.S) for part in split(text[:end])]


def is_outside(text, at):
    """What stands there is in no parentheses."""
    return text.count("(", 0, at) == text.count(")", 0, at)


def columns_of(text):
    """The names of the columns that a statement gives to its rows."""
    before = "SELECT " if text.startswith(("SELECT", "WITH")) else " RETURNING "
    for at in re.finditer(before, text):
        if is_outside(text, at.start()):
            found = columns_in(text[at.end():])
            inner = re.match(r"\* FROM \(", text[at.end():])
            return columns_of(text[at.end() + inner.end():]) if inner else found
    return []


def update_of(text):
    """(table, {column: value}) of an UPDATE, or None."""
    at = re.search(r"\bUPDATE (?:OR \w+ )?(\w+)(?: AS \w+)?(?: INDEXED BY \w+)? SET ", text)
    if at is None:
        return None
    columns = {}
    for part in split(text[at.end():]):
        name = re.match(r"(\w+)\s*=(.*)", part)
        if name is None:
            break
        columns[name[1]] = re.split(r"\sWHERE\s", name[2])[0].strip()
        if re.search(r"\sWHERE\s", part):
            break
    return at[1], columns
