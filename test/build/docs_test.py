#!/usr/bin/env python3
"""The pages under docs/, held to their words.

usage: docs_test.py PROJECT COMPILER

Samples compile, commands and paths exist, queries run on the real schema, and every table that repeats what the code
says (options, ranges, constants, columns, event kinds, layers, public calls) is compared with the code. A page that
says less or other than the code fails, with the line to change.

Marks of fenced blocks:
  cpp compile                declarations, known to the samples behind it on the page; with an #include of its own it
                             is a whole file, else headers are included for it
  cpp compile orchestration  the body of an orchestration
  cpp compile activity       the body of an activity
  cpp compile conformance    what stands in the test program of a port
  cpp compile host           statements of a host that has a runtime, a client and so on
  cpp run NAME, c run NAME   a program; pawl_add_sample(NAME ...) in test/build/CMakeLists.txt compiles and runs it
  cpp quote FILE             lines of that file, as they stand there; its indent and its blanks may differ
  cpp declaration            of docs/reference, which docs/reference/make.py makes and checks
  sh run                     every command is checked; sqlite3 is run
  sh execute, text output    commands that test/e2e/pages_test.py runs, and what they print
  sh machine, sh workstation what test/e2e/first_day_test.py runs in a Debian, and beside it
  cmake, sh consumers NAME   what test/consumers/consumers.py does outside of the tree
  .. recipe FILE             a whole file of a recipe, on the pages that test/build/recipes_test.py reads
  sql run                    runs on an empty database of the real schema
  text                       for people

A sample of the guide knows those of the guide's pages before its own, in the order in which docs/guide.md links them.

Every page can be reached from docs/README.md, whose questions lead to answers. A page takes less than ten minutes: it
has at most WORDS_MAX words. A word is what stands between two spaces, of the whole file: prose, tables, code and links
count alike. A page with more than SECTIONS_MAX sections, and a longer one with more than one, has its
contents at its top: links to all of its sections. Files of the tree that cite a page, or a heading of one, cite what
is there.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
import layering

PROJECT = pathlib.Path(sys.argv[1])
COMPILER = sys.argv[2]
PAGES = sorted((PROJECT / "docs").glob("**/*.md"))
problems = []
counts = {}


def problem(where, text):
    problems.append(f"{where}: {text}")


def count(what, number=1):
    counts[what] = counts.get(what, 0) + number


def read(path):
    return (PROJECT / path).read_text(encoding="utf-8")


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


# ---- pages ----


def anchor_of(heading):
    return re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")


class Page:
    """Headings, fenced blocks, tables and the rest of one page; every line has its number."""

    def __init__(self, path):
        self.path = path
        self.name = str(path.relative_to(PROJECT))
        text = path.read_text(encoding="utf-8")
        self.words = len(text.split())
        self.headings = []  # (line, level, text)
        self.blocks = []  # (line, language, words after it, text)
        self.tables = []  # (line, heading, header cells, rows of cells)
        self.prose = []  # (line, text) outside of blocks
        self._parse(text.splitlines())

    def _parse(self, lines):
        heading, table, block = "", None, None
        for number, line in enumerate(lines, 1):
            fence = re.match(r"```(\S*)\s*(.*)$", line)
            if block is not None:
                if fence:
                    self.blocks.append((block[0], block[1], block[2], "\n".join(block[3]) + "\n"))
                    block = None
                else:
                    block[3].append(line)
                continue
            if fence:
                block, table = (number + 1, fence[1], fence[2].split(), []), None
                continue
            self.prose.append((number, line))
            title = re.match(r"(#+) (.*)$", line)
            if title:
                heading, table = title[2], None
                self.headings.append((number, len(title[1]), heading))
            elif line.startswith("|"):
                cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
                if table is None:
                    table = (number, heading, cells, [])
                    self.tables.append(table)
                elif not all(re.fullmatch(r":?-+:?", cell) for cell in cells):
                    table[3].append((number, cells))
            else:
                table = None
        if block is not None:
            problem(self.name, f"the block of line {block[0]} has no end")

    def anchors(self):
        return {anchor_of(text) for _, _, text in self.headings}

    def rows(self, *header):
        """Rows of all tables whose header begins so: (where, cells, heading)."""
        for _, heading, cells, rows in self.tables:
            if cells[:len(header)] == list(header):
                for number, row in rows:
                    if len(row) != len(cells):
                        problem(f"{self.name}:{number}", f"{len(row)} cells under {len(cells)} headers")
                    else:
                        yield f"{self.name}:{number}", row, heading


# Pages elsewhere in the tree, whose links and names are held, too.
LINKING = [Page(PROJECT / name) for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + [
    Page(path) for path in sorted((PROJECT / "examples").glob("**/*.md"))]
PARSED = {str(path.relative_to(PROJECT / "docs")): Page(path) for path in PAGES}


def page(name):
    if name not in PARSED:
        problem("docs", f"{name} is missing")
        sys.exit("\n".join(problems))
    return PARSED[name]


def pages_of(name):
    """The page of this name, and those of the folder of this name, which are its parts."""
    return [page(f"{name}.md"), *(one for other, one in PARSED.items() if other.startswith(f"{name}/"))]


def rows_of(pages, *header):
    return (row for one in pages for row in one.rows(*header))


def guide_pages():
    """In the order in which docs/guide.md links them."""
    names = list(dict.fromkeys(re.findall(r"\]\((guide/[\w-]+\.md)\)", "\n".join(line for _, line in page("guide.md").prose))))
    for name in PARSED:
        if name.startswith("guide/") and name not in names:
            problem("docs/guide.md", f"does not link {name}")
    return [page(name) for name in names]


def name_in(cell):
    found = re.match(r"`([^`]+)`", cell)
    return found[1] if found else cell


# ---- values ----

UNITS = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}


def evaluate(text, names=None):
    """A constant of C++ or of a page: a number where it is one, else its words."""
    text = text.strip().strip("`").strip()
    size = re.fullmatch(r"(\d+) ?(B|KiB|MiB|GiB)", text)
    if size:
        return int(size[1]) * UNITS[size[2]]
    plain = re.sub(r"(?<=\d)'(?=\d)", "", text)
    plain = re.sub(r"std::u?int\d+_t\{(\d+)\}", r"\1", plain)
    plain = re.sub(r"std::chrono::milliseconds\((.*)\)", r"\1", plain)
    plain = re.sub(r"static_cast<[^>]*>\((.*)\)", r"\1", plain)
    plain = re.sub(r"\b(0x[0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", plain).replace("^", "**")
    for name, value in (names or {}).items():
        plain = re.sub(rf"\b{name}\b", str(value), plain)
    if re.fullmatch(r"[\d\s+*<>()x\-a-fA-F]+", plain) and re.search(r"\d", plain):
        try:
            return int(eval(plain, {"__builtins__": {}}))  # digits and operators only
        except SyntaxError:
            pass
    return plain.split("::")[-1].strip('"')


def constants_of(path):
    found = {}
    for name, text in re.findall(r"\b([a-z]\w*)\s*(?:\[\])?\s*=\s*([^;]+);", without_comments(read(path))):
        found.setdefault(name, " ".join(text.split()))
    return found


# ---- samples ----

INCLUDES = """#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <string_view>
#include <vector>
#include <poll.h>
#include <unistd.h>
#include "pawl/pawl.hpp"
#include "pawl/host.hpp"
"""
# Each sample that is no declaration is in a namespace of its own, so that a page fits one file.
AROUND = {
    "": ("", ""),
    "conformance": ("#include <memory>\n#include \"pawl/port_sim.hpp\"\n#include \"port_conformance.hpp\"\n"
                    "namespace pawl::port_test {\n", "}\n"),
    "orchestration": ("namespace line%d {\npawl::Poll sample(pawl::OrchestrationContext& ctx) {\n", "}\n}\n"),
    "activity": ("namespace line%d {\npawl::ActivityResult sample(pawl::ActivityContext& ctx) {\n", "}\n}\n"),
    "host": ("namespace line%d {\nextern pawl::Process process;\nextern pawl::Registry registry;\nextern pawl::Options options;\n"
             "extern pawl::Runtime runtime;\nextern pawl::Client client;\nextern pawl::posix::SystemPort port;\n"
             "void sample() {\n", "}\n}\n"),
}
FLAGS = ["-std=c++17", "-fno-exceptions", "-fno-rtti", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror",
         "-fsyntax-only", f"-I{PROJECT / 'include'}", "-x", "c++", "-"]

CONFORMANCE_FLAGS = [f"-I{PROJECT / 'test/port'}", "-isystem", "/usr/src/googletest/googletest/include"]


class Samples:
    """What is compiled: a file for each page, in which a sample knows those before it, and one for each sample that is a whole file."""

    def __init__(self):
        self.files = []  # (where, flags, text)
        self.of_guide = ""  # declared by its pages so far

    def add_page(self, one):
        text, declared, known = "", "", True  # known: all of it is in a file already
        for line, language, words, sample in one.blocks:
            if language != "cpp" or words[:1] != ["compile"] or (words[1:] or [""])[0] not in AROUND:
                continue
            count("samples")
            place = (words[1:] or [""])[0]
            before, after = (part.replace("%d", str(line)) for part in AROUND[place])
            placed = f'{before}#line {line} "{one.name}"\n{sample}{after}'
            if place == "conformance":
                self.files.append((f"{one.name}:{line}", CONFORMANCE_FLAGS, INCLUDES + placed))
                continue
            text += placed
            declared += sample if place == "" else ""
            if re.search(r"^\s*#\s*include", sample, re.M):
                self.files.append((f"{one.name}:{line}", [], placed))
            else:
                known = False
        in_guide = one.name.startswith("docs/guide/")
        if not known:
            self.files.append((one.name, [], INCLUDES + (self.of_guide if in_guide else "") + text))
        if in_guide:
            self.of_guide += declared

    def compile(self):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for answer in pool.map(compile_file, self.files):
                if answer:
                    problem(*answer)


def compile_file(file):
    where, flags, text = file
    run = subprocess.run([COMPILER, *flags, *FLAGS], input=text, capture_output=True, text=True)
    return () if run.returncode == 0 else (where, f"a sample does not compile:\n{run.stderr}")


def check_blocks():
    samples = Samples()
    for one in [*guide_pages(), *(one for name, one in PARSED.items() if not name.startswith("guide/"))]:
        samples.add_page(one)
        for line, language, words, text in one.blocks:
            where = f"{one.name}:{line}"
            if language == "cpp" and words[:1] == ["compile"] and (words[1:] == [] or words[1] in AROUND):
                continue
            elif language in ("cpp", "c") and words[:1] == ["run"] and len(words) == 2:
                count("programs")
                if f"pawl_add_sample({words[1]} {one.path.relative_to(PROJECT / 'docs')} " not in read("test/build/CMakeLists.txt"):
                    problem(where, f"nothing runs the program {words[1]}")
            elif language == "cpp" and words[:1] == ["quote"] and len(words) == 2:
                check_quote(where, PROJECT / words[1], text)
            elif language == "cpp" and words == ["declaration"] and one.name.startswith("docs/reference/"):
                count("declarations")
            elif language == "sh" and words == ["execute"]:
                check_executed(where, one, text)
            elif language == "sh" and words in (["machine"], ["workstation"]) and one.path.name == "first-day.md":
                count("commands of the first day")
            elif words[:1] == ["consumers"] and len(words) == 2:
                kind = {"cmake": "cmake", "sh": "(?:sh|shell)"}.get(language, "nothing")
                if not re.search(rf"(?:take\(\"{language}\", |self\.{kind}\()\"{words[1]}\"", read("test/consumers/consumers.py")):
                    problem(where, f"test/consumers does nothing with {language} {words[1]}")
            elif words[:1] == ["recipe"] and len(words) == 2:
                count("files of recipes")
                if f'"{one.name}"' not in read("test/build/recipes_test.py"):
                    problem(where, "test/build/recipes_test.py does not read this page")
            elif language == "sh" and words == ["run"]:
                check_commands(where, text)
            elif language == "sql" and words == ["run"]:
                run_query(where, text)
            elif language == "text" and words not in ([], ["output"]):
                problem(where, f"a block of \"text {' '.join(words)}\" is checked by nothing")
            elif language != "text":
                problem(where, f"a block of \"{language} {' '.join(words)}\" is checked by nothing")
    samples.compile()


def check_quote(where, path, text):
    count("quotes")
    if not path.is_file():
        return problem(where, f"no {path.relative_to(PROJECT)}")
    lines = [" ".join(line.split()) for line in path.read_text(encoding="utf-8").splitlines()]
    quoted = [" ".join(line.split()) for line in text.splitlines()]
    if not any(lines[at:at + len(quoted)] == quoted for at in range(len(lines))):
        missing = next((line for line in quoted if line not in lines), quoted[0])
        problem(where, f"{path.relative_to(PROJECT)} has no such lines; look at \"{missing}\"")
    return None


def check_executed(where, one, text):
    count("executed blocks")
    folder = one.path.parent.name
    if folder not in ("tutorial", "howto"):
        problem(where, "test/e2e/pages_test.py does not run commands of this page")
    for program in re.findall(r"\.\./release/(\S+)", text):
        if not (PROJECT / f"{program}.cpp").is_file():
            problem(where, f"no {program}.cpp")


# ---- commands and queries ----


def schema():
    text = read("src/store/sql/schema.hpp")
    database = sqlite3.connect(":memory:")
    database.executescript(re.search(r'R"sql\((.*?)\)sql"', text, re.S)[1])
    return database


SCHEMA = schema()


def run_query(where, text):
    count("queries")
    try:
        SCHEMA.executescript(text)
    except sqlite3.Error as error:
        problem(where, f"{error}")


def check_commands(where, text):
    text = text.replace("\\\n", " ")
    for line in text.splitlines():
        line = re.sub(r"(^|\s)#.*$", "", line).strip()
        if line:
            count("commands")
            check_command(where, line)


def check_command(where, line):
    query = re.fullmatch(r'sqlite3 (?:-\w+ )*\S+ "([^"]*)"', line)
    if query:
        return run_query(where, query[1])
    words = line.split()
    if words[0].startswith("./"):
        script = PROJECT / words[0]
        if not os.access(script, os.X_OK):
            return problem(where, f"{words[0]} cannot be run")
        text = script.read_text(encoding="utf-8", errors="replace")
        for word in words[1:]:
            if not re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text):
                problem(where, f"{words[0]} does not know {word}")
        return None
    if words[0] in ("mkdir", "cd"):
        return None
    if words[0] not in ("cmake", "ctest"):
        return problem(where, f"nobody checks \"{words[0]}\"")
    kind = "test" if words[0] == "ctest" else "build" if "--build" in words else "configure"
    file = json.loads(read("CMakePresets.json"))
    presets = {preset["name"] for preset in file[kind + "Presets"]}
    made = "".join(path.read_text(encoding="utf-8") for folder in ("src", "test", "examples")
                   for path in (PROJECT / folder).glob("**/CMakeLists.txt"))
    if "--target" in words and not re.search(rf"(?<![\w-]){words[words.index('--target') + 1]}(?![\w-])", made):
        problem(where, f"{line}: no such target")
    if "--preset" not in words:
        return problem(where, f"{line}: without a preset")
    if words[words.index("--preset") + 1] not in presets:
        problem(where, f"{line}: no such preset")
    cmake = "".join(path.read_text(encoding="utf-8") for path in
                    [PROJECT / "CMakeLists.txt", *PROJECT.glob("toolchains/*.cmake"), *PROJECT.glob("test/CMakeLists.txt")])
    for option in re.findall(r"-D(\w+)=", line):
        if not re.search(rf"\((?:option\()?{option}\b|\bset\({option}\b|\boption\({option}\b", cmake):
            problem(where, f"{line}: no option {option}")
    if "-L" in words and not (PROJECT / "test" / words[words.index("-L") + 1]).is_dir():
        problem(where, f"{line}: no such label")
    return None


# ---- names ----


# What coming-from.md names of other systems.
OF_OTHERS = {"schedule_activity_with_retry", "schedule_orchestration", "select2", "schedule_activity_on_session", "with_tag"}


def check_names():
    code = "".join(path.read_text(encoding="utf-8", errors="replace")
                   for folder in ("include", "src", "port", "toolchains", "test")
                   for path in sorted((PROJECT / folder).glob("**/*")) if path.suffix in (".hpp", ".cpp", ".h", ".cmake"))
    code += "".join(read(path) for path in ("CMakeLists.txt", "packaging/library.cmake", "packaging/endpoint_library.cmake",
                                            "packaging/postgres_library.cmake", "packaging/debian.cmake"))
    code += "".join(text for one in PARSED.values() for _, _, words, text in one.blocks if words[:1] == ["recipe"])
    for one in [*PARSED.values(), *LINKING]:
        for number, line in one.prose:
            where = f"{one.name}:{number}"
            for target in re.findall(r"\]\(([^)\s]+)\)", line):
                check_link(where, one, target)
            for span in re.findall(r"`([^`]+)`", line):
                path = re.fullmatch(r"((?:include|src|port|test|docs|examples|toolchains)/[\w./-]*)", span)
                if path:
                    count("paths")
                    if not (PROJECT / path[1]).exists():
                        problem(where, f"no {path[1]}")
                for name in [] if one in LINKING else re.findall(r"\bk[A-Z]\w+\b|\bPAWL_[A-Z_]+\b|\b[a-z_][a-z_0-9]+(?=\()", span):
                    count("names")
                    if name in OF_OTHERS and one.path.name == "coming-from.md":
                        continue
                    if not re.search(rf"\b{name}\b", code):
                        problem(where, f"the code has no {name}")


def check_link(where, one, target):
    if re.match(r"https?:", target):
        return
    count("links")
    file, _, anchor = target.partition("#")
    path = (one.path.parent / file).resolve() if file else one.path
    if not path.exists():
        return problem(where, f"no {target}")
    if anchor:
        other = next((known for known in [*PARSED.values(), *LINKING] if known.path.resolve() == path.resolve()), None)
        if other is None or anchor not in other.anchors():
            problem(where, f"no heading {target}")


# ---- sizes, contents, ways ----

WORDS_MAX = 2000  # ten minutes, at 200 a minute
README_WORDS_MAX = 700  # a screen, and hello
CONTENTS_FROM = 900  # a longer page with several sections has its contents at its top
SECTIONS_MAX = 5  # and so has a page with more sections


def check_sizes():
    for name, one in [*PARSED.items(), *((one.name, one) for one in LINKING)]:
        if name == "CONTRIBUTING.md":
            continue
        count("pages under ten minutes")
        most = README_WORDS_MAX if one.name == "README.md" else WORDS_MAX
        if one.words > most:
            problem(one.name, f"{one.words} words take longer than ten minutes, or than a screen: at most {most}")
        headings = [(line, text) for line, level, text in one.headings if level == 2]
        if len(headings) <= SECTIONS_MAX and (one.words < CONTENTS_FROM or len(headings) < 2) or one.name == "README.md":
            continue
        top = "\n".join(line for number, line in one.prose if number < headings[0][0])
        for _, text in headings:
            if f"](#{anchor_of(text)})" not in top:
                problem(one.name, f"its contents lack \"{text}\"")


# What the index must answer, by words of its questions.
ASKED = ["power cut", "process is killed", "disk is full", "exactly once", "several machines", "flash card live",
         "harm the database", "cross-compile", "install it", "memory", "wait for a time", "runs twice", "code throws", "change code", "out of service",
         "another machine", "over http", "update fits", "does not go on", "is stopped", "timer is late", "is refused", "line of the log",
         "column of the database", "range of an option", "this word mean"]


def check_index():
    """Each row of the index leads from its question to a page, and the usual questions are there."""
    index = page("README.md")
    questions = []
    for _, _, _, rows in index.tables:
        for number, cells in rows:
            questions.append(cells[0].lower())
            if len(cells) != 2 or not re.search(r"\]\([^)]+\)", cells[1]):
                problem(f"{index.name}:{number}", "no page answers this question")
    count("questions", len(questions))
    for asked in ASKED:
        if not any(asked in question for question in questions):
            problem(index.name, f"no row answers \"{asked}\"")


def check_ways():
    """From the index by question to every page."""
    known, left = set(), [page("README.md")]
    while left:
        one = left.pop()
        known.add(one.path.resolve())
        for _, line in one.prose:
            for target in re.findall(r"\]\(([^)\s#]+)", line):
                path = (one.path.parent / target).resolve()
                other = next((other for other in PARSED.values() if other.path.resolve() == path), None)
                if other is not None and path not in known:
                    left.append(other)
    for one in PARSED.values():
        if one.path.resolve() not in known:
            problem("docs/README.md", f"no way leads from it to {one.name}")


def check_citations():
    """docs/PAGE.md and docs/PAGE.md#heading, where code, tests and scripts cite them."""
    for folder in ("include", "src", "port", "test", "examples", "toolchains", "docs"):
        for path in sorted((PROJECT / folder).glob("**/*")):
            if path.suffix not in (".hpp", ".cpp", ".h", ".c", ".py", ".cmake", ".txt", ".svg", ".sh", ""):
                continue
            if not path.is_file():
                continue
            for file, anchor in re.findall(r"\bdocs/([\w/-]+\.md)(?:#([\w-]+))?", path.read_text(encoding="utf-8", errors="replace")):
                if file in ("PAGE.md",):
                    continue
                count("citations")
                if file not in PARSED or anchor and anchor not in PARSED[file].anchors():
                    problem(path.relative_to(PROJECT), f"cites docs/{file}{'#' + anchor if anchor else ''}, which is not there")


CHANGES_BYTES_MAX = 4096  # one page, as long as there was no release


def check_changes():
    """The newest heading of CHANGELOG.md has the version of the tree."""
    version = ".".join(re.findall(r"#define PAWL_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", read("include/pawl/version.h")))
    changes = next(one for one in LINKING if one.name == "CHANGELOG.md")
    newest = next((text for _, level, text in changes.headings if level == 2), "")
    if newest.split(",")[0] != version:
        problem(changes.name, f"begins with \"{newest}\", and the version is {version}")
    if "not released yet" in newest and changes.path.stat().st_size > CHANGES_BYTES_MAX:
        problem(changes.name, f"says what there is, in more than {CHANGES_BYTES_MAX} bytes")


# ---- limits.md, limits/ ----

STRUCTS = {
    "Options": "include/pawl/options.hpp",
    "LimitOptions": "include/pawl/options.hpp",
    "SlotOptions": "include/pawl/options.hpp",
    "LeaseOptions": "include/pawl/options.hpp",
    "SessionOptions": "include/pawl/options.hpp",
    "TimingOptions": "include/pawl/options.hpp",
    "RetentionOptions": "include/pawl/options.hpp",
    "SpaceOptions": "include/pawl/options.hpp",
    "ActivityOptions": "include/pawl/activity_options.hpp",
    "Retry": "include/pawl/activity_options.hpp",
    "ProcessOptions": "include/pawl/process.hpp",
    "ClientOptions": "include/pawl/client_options.hpp",
    "PortOptions": "include/pawl/port_posix.hpp",
}


def fields_of(struct, path, *flags):
    """Field -> default, as the preprocessor leaves them."""
    run = subprocess.run([COMPILER, "-std=c++17", "-E", "-P", *flags, f"-I{PROJECT / 'include'}", "-x", "c++", "-"],
                         input=f'#include "{PROJECT / path}"\n', capture_output=True, text=True, check=True)
    body = re.search(rf"\bstruct {struct}\s*\{{(.*?)\n\}};", run.stdout, re.S)[1]
    found = {}
    for statement in body.split(";"):
        field = re.fullmatch(r"\s*[\w:]+(?:<[\w:]+>)?(?:\s+const|\s+)?[\w:\s*]*?\b(\w+)\s*(?:=\s*(.*)|\{(.*)\})?", " ".join(statement.split()))
        if field:
            found[field[1]] = (field[2] or field[3] or "").strip()
    return found


def check_options():
    limits, pages = page("limits.md"), pages_of("limits")
    for struct, path in STRUCTS.items():
        defaults = fields_of(struct, path)
        released = fields_of(struct, path, "-DNDEBUG")
        seen = set()
        for where, cells, heading in rows_of(pages, "field"):
            if name_in(heading) != struct:
                continue
            field, default = name_in(cells[0]), cells[3]
            seen.add(field)
            if field not in defaults:
                problem(where, f"{struct} has no {field}")
                continue
            count("options")
            wanted = evaluate(defaults[field])
            if defaults[field] != released[field]:
                if not default.startswith(f"`{wanted}`") or f"`{evaluate(released[field])}` with `NDEBUG`" not in default:
                    problem(where, f"{field} is {wanted}, with NDEBUG {evaluate(released[field])}; the page: {default}")
            elif defaults[field] and evaluate(default) != wanted:
                problem(where, f"the default of {field} is {wanted}, the page says {default}")
        for field in defaults.keys() - seen:
            problem(limits.name, f"the table of {struct} lacks {field} (default {defaults[field] or 'a struct'})")


# Member of Options -> its struct.
GROUPS = {"limits": "LimitOptions", "slots": "SlotOptions", "leases": "LeaseOptions", "sessions": "SessionOptions",
          "timing": "TimingOptions", "retention": "RetentionOptions", "space": "SpaceOptions"}


def owner_of(field):
    return next(struct for struct in ("LeaseOptions", "SessionOptions") if field in fields_of(struct, STRUCTS[struct]))


def ranges_in_code():
    found = {}
    check = "src/runtime/options_check.cpp"
    names = {"port::kThreadsMax": evaluate(constants_of("include/pawl/port.hpp")["kThreadsMax"])}
    for group, field, least, most in re.findall(r'\{"(\w+)\.(\w+)",[^{}]*?,\s*([^,{}]+),\s*([^,{}]+)\}', without_comments(read(check))):
        found[GROUPS[group], field] = (evaluate(least, names), evaluate(most, names))
    check = "src/store/worker/term_rules.cpp"
    names = {name: evaluate(text) for name, text in constants_of(check).items()}
    for field, least in re.findall(r'in_range\("(\w+)",\s*terms\.\w+,\s*(\w+),', read(check)):
        found[owner_of(field), field] = (evaluate(least, names), names["kDurationMsMax"])
    for least, most, field in re.findall(r"options\.\w+ < (\d+) \|\|\s*options\.\w+ > ([\d']+)()", read("src/runtime/process.cpp")):
        found["ProcessOptions", len(found)] = (evaluate(least), evaluate(most))
    return found


def check_ranges():
    limits, pages = page("limits.md"), pages_of("limits")
    ranges = ranges_in_code()
    in_process = [value for (struct, _), value in ranges.items() if struct == "ProcessOptions"]
    rows = {(name_in(heading), name_in(cells[0])): (where, cells[2]) for where, cells, heading in rows_of(pages, "field")}
    for (struct, field), wanted in ranges.items():
        if struct == "ProcessOptions":
            continue
        count("ranges")
        where, text = rows.get((struct, field), (limits.name, ""))
        if tuple(evaluate(part) for part in text.split("..")) != wanted:
            problem(where, f"the code checks {field} against {wanted[0]}..{wanted[1]}, the page says \"{text}\"")
    for (struct, field), (where, text) in rows.items():
        # A client's options are checked as those of a runtime.
        if struct in ("ProcessOptions", "ClientOptions") and ".." in text:
            count("ranges")
            known = in_process if struct == "ProcessOptions" else [value for (struct, name), value in ranges.items() if name == field]
            if tuple(evaluate(part) for part in text.split("..")) not in known:
                problem(where, f"the code does not check {field} against {text}")


def check_constants():
    limits, pages = page("limits.md"), pages_of("limits")
    for where, cells, _ in rows_of(pages, "constant"):
        name, file = name_in(cells[0]), name_in(cells[2])
        count("constants")
        known = constants_of(file)
        if name not in known:
            problem(where, f"{file} has no {name}")
            continue
        values = {other: evaluate(text, {}) for other, text in known.items()}
        numbers = {other: value for other, value in values.items() if isinstance(value, int) and other != name}
        wanted = evaluate(known[name], numbers)
        if known[name].startswith("{"):
            wanted = [evaluate(part) for part in known[name].strip("{}").split(",") if part.strip()]
            said = [evaluate(part) for part in cells[1].split(",")]
        else:
            said = evaluate(cells[1])
        if said != wanted:
            problem(where, f"{name} is {wanted}, the page says {cells[1]}")


# ---- format.md, format/ ----


def check_tables():
    text, pages = page("format.md"), pages_of("format")
    tables = [row[0] for row in SCHEMA.execute(
        "SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid")]
    said = {}
    for where, cells, heading in rows_of(pages, "column"):
        said.setdefault(name_in(heading), []).append((where, name_in(cells[0])))
    for table in tables:
        columns = [row[1] for row in SCHEMA.execute(f"PRAGMA table_info({table})")]
        count("columns", len(columns))
        found = [name for _, name in said.pop(table, [])]
        if found != columns:
            problem(text.name, f"table {table} has the columns {columns}, the page {found}")
    for table in said:
        problem(text.name, f"there is no table {table}")
    indices = {row[0] for row in SCHEMA.execute("SELECT name FROM sqlite_master WHERE type='index' AND sql IS NOT NULL")}
    found = {name_in(cells[0]) for _, cells, _ in rows_of(pages, "index")}
    if found != indices:
        problem(text.name, f"the tables of indices differ: {sorted(found ^ indices)}")
    code = constants_of("src/store/sql/schema.hpp")
    whole = "\n".join(line for _, line in text.prose)
    for name in ("kSchemaVersion", "kApplicationId", "kPageBytes"):
        if f"`{evaluate(code[name])}`" not in whole and f"`{code[name]}`" not in whole:
            problem(text.name, f"{name} is {code[name]}")


def enum_of(path, enum):
    body = re.search(rf"enum class (?:\[\[\w+\]\] )?{enum}\b[^{{]*\{{(.*?)\}}", without_comments(read(path)), re.S)[1]
    found, number = {}, 0
    for part in body.split(","):
        part = part.strip()
        if part:
            name, _, value = (piece.strip() for piece in part.partition("="))
            number = evaluate(value) if value else number
            found[name] = number
            number += 1
    return found


def check_enums():
    text, pages = page("format.md"), pages_of("format")
    for enum, path in {"EventKind": "src/codec/event.hpp", "MessageKind": "src/codec/event.hpp",
                       "EndKind": "src/codec/event.hpp", "TimerBase": "src/codec/event.hpp",
                       "ErrorKind": "include/pawl/error.hpp", "InstanceState": "src/store/instance/arguments.hpp"}.items():
        wanted = enum_of(path, enum)
        said = {}
        for where, cells, heading in rows_of(pages, "number", "name"):
            if name_in(heading) == enum:
                said[name_in(cells[1])] = evaluate(cells[0])
        count("enum values", len(wanted))
        if said != wanted:
            problem(text.name, f"{enum}: {sorted(set(said.items()) ^ set(wanted.items()))} differ")
    keys = re.findall(r'writer\.add_\w+\("(\w+)"', read("src/codec/meta.cpp"))
    said = [name_in(cells[0]) for _, cells, _ in rows_of(pages, "key")]
    if said != keys:
        problem(text.name, f"meta has the keys {keys}, the page {said}")


# ---- architecture.md, the guide ----


def check_layers():
    said = {}
    for _, cells, _ in page("architecture.md").rows("layer"):
        said[name_in(cells[0])] = set(re.findall(r"`(\w+)`", cells[1]))
    if said != layering.LAYERS:
        problem("docs/architecture.md", f"the table of layers says {said}, test/build/layering.py {layering.LAYERS}")


PUBLIC = {
    "orchestration.hpp": ["OrchestrationContext"],
    "activity.hpp": ["ActivityContext"],
    "error.hpp": ["Outcome"],
    "runtime.hpp": ["Runtime"],
    "client.hpp": ["Client"],
    "process.hpp": ["Process"],
    "registry.hpp": ["Registry"],
}
# For macros, tests and Pawl itself.
NOT_FOR_USERS = {"success", "failure", "pending", "is_pending", "activity_count", "activity", "find_orchestration",
                 "find_activity"}


def check_public_calls():
    guide = page("guide.md")
    whole = "".join(one.path.read_text(encoding="utf-8") for one in guide_pages())
    for header, classes in PUBLIC.items():
        text = without_comments(read(f"include/pawl/{header}"))
        for name in classes:
            body = re.search(rf"\bclass (?:\[\[nodiscard\]\] )?{name} (?:: public [\w<>]+ )?\{{\s*public:(.*?)(?:\n private:|\n\}};)", text, re.S)[1]
            for _ in range(4):  # bodies, and what is in them
                body = re.sub(r"\{[^{}]*\}", ";", body)
            for call in sorted(set(re.findall(r"\b([a-z][a-z_0-9]*)\(", body)) - {"static_assert", "sizeof"}):
                if call in NOT_FOR_USERS:
                    continue
                count("public calls")
                if not re.search(rf"\b{call}\(", whole):
                    problem(guide.name, f"does not mention {name}::{call}()")
    for kind in enum_of("include/pawl/error.hpp", "ErrorKind"):
        if kind != "kNone" and f"`{kind}`" not in whole:
            problem(guide.name, f"does not mention ErrorKind::{kind}")


# ---- guide/small-api.md ----

SCREEN = 66  # lines


def includes_of(text):
    return re.findall(r'^\s*#\s*include "(pawl/\w+\.h(?:pp)?)"', text, re.M)


def check_small_api():
    """Its program fits a screen, includes one header, and has all that the table lists; the headers that it names bring all."""
    text = page("guide/small-api.md")
    program = next((block for _, _, words, block in text.blocks if words == ["run", "small_api"]), "")
    if includes_of(program) != ["pawl/host.hpp"] or program.count("\n") > SCREEN:
        problem(text.name, f"the program has {program.count(chr(10))} lines, of {SCREEN}, and includes {includes_of(program)}")
    rows = 0
    for where, cells, _ in text.rows("call or type"):
        rows += 1
        for name in re.findall(r"`(?:\w+::)?(\w+)", cells[0]):
            if not re.search(rf"\b{name}\b", without_comments(program)):
                problem(where, f"the program has no {name}")
    known, left = set(), [name for _, cells, _ in text.rows("you write") for name in re.findall(r"`(pawl/[\w.]+)`", cells[1])]
    while left:
        name = left.pop()
        if name not in known:
            known.add(name)
            left += includes_of(read(f"include/{name}"))
    lacking = {f"pawl/{path.name}" for path in (PROJECT / "include/pawl").iterdir()} - known
    if rows < 10 or lacking:
        problem(text.name, f"{rows} rows of calls; no header that it names includes {sorted(lacking)}")


# ---- porting.md ----


def check_porting():
    """Every case of the conformance suite is explained, and every function of the interfaces is in the template."""
    text = page("porting.md")
    suite = without_comments(read("test/port/port_conformance.hpp"))
    cases = set(re.findall(r"TYPED_TEST_P\(PortConformance, (\w+)\)", suite))
    said = {case for _, cells, _ in text.rows("cases") for case in re.findall(r"`(\w+)`", cells[0])}
    unexplained = cases - said - {"VersionsAreOurs", "EmptyPath_IsRefusedWithAText", "FreeBytes_AreSaidOrUnsupported",
                                  "ReopenedWithoutADatabase_StillWaits"}
    count("conformance cases", len(cases))
    if unexplained or said - cases:
        problem(text.name, f"cases not explained: {sorted(unexplained)}; not there: {sorted(said - cases)}")
    template = "".join(read(path) for path in ("port/template/template_clock.cpp", "port/template/template_storage.cpp",
                                               "port/template/template_threads.cpp"))
    for function in re.findall(r"^[^/\n]*\bTemplate\w+::(\w+)\(", template, re.M):
        count("template functions")
        at = re.search(rf"((?:^//.*\n)?)^[^/\n]*\bTemplate\w+::{function}\(", template, re.M)
        if not at[1] and function not in {"unwatch_process", "remove_descriptor"}:
            problem("port/template", f"{function}() does not say what to write there")
    host = next((block for _, _, words, block in text.blocks if "conformance" in words), "")
    real = " ".join(re.sub(r"//[^\n]*", "", read("test/port/sim_port_test.cpp")).split())
    for statement in " ".join(re.sub(r"//[^\n]*", "", host).split()).split(";"):
        if statement.strip() not in real:
            problem(text.name, f"test/port/sim_port_test.cpp has no \"{statement.strip()}\"")


def main():
    check_blocks()
    check_names()
    check_sizes()
    check_index()
    check_ways()
    check_citations()
    check_changes()
    check_options()
    check_ranges()
    check_constants()
    check_tables()
    check_enums()
    check_layers()
    check_public_calls()
    check_small_api()
    check_porting()
    for text in problems:
        print(text)
    print(f"{len(PAGES)} pages: " + ", ".join(f"{number} {what}" for what, number in sorted(counts.items())) +
          f"; {len(problems)} problems")
    return 1 if problems or len(PAGES) < 6 else 0


if __name__ == "__main__":
    sys.exit(main())
