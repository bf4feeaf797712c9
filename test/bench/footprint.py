#!/usr/bin/env python3
"""How many bytes Pawl takes on a board: the report, and the budget that a build is held to.

    footprint.py [BOARD...]                  builds what is measured, and prints the report; armhf and arm64 by default
    footprint.py --write REASON [BOARD...]   also writes each number that is another one into the budget, with the reason, and the
                                             table of memory into the page
    footprint.py --check BUILD               holds a build to the budget: fails where a number is above it, or far below, and
                                             where the page has another table of memory

The parts of a program come from the linker's map, the largest functions from its symbols, frames from what the compiler
wrote with -fstack-usage, stacks from threads whose stack was painted, resident memory from an emulated board that boots
(test/board), whose test board.energy holds it to the budget, too. The budget, footprint.txt, has one number a row: board,
number, name, reason of the last change. A row of bytes in a program or a stack is rounded up to a multiple of 256.
"""
import bisect
import json
import pathlib
import re
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parents[2]
BUDGET = pathlib.Path(__file__).with_suffix(".txt")
BOARDS = ("armhf", "arm64")
PROGRAMS = {"hello": "examples/hello/hello", "gateway": "examples/sensor_gateway/sensor_gateway",
            "hello, compact SQLite": "test/compact/hello_compact",
            "gateway, compact SQLite": "test/compact/sensor_gateway_compact"}
MEMORY = "test/bench/footprint_given"
STACKS = ("test/bench/footprint_stack", "test/compact/footprint_stack_compact")
TARGETS = ["hello", "sensor_gateway", "hello_compact", "sensor_gateway_compact", "footprint_given", "footprint_memory", "footprint_stack",
           "footprint_memory_compact", "footprint_stack_compact"]
BOOTED = ("armhf",)  # where test/board boots a kernel
RESIDENT = "resident: "  # rows of a booted board begin with it
# Resident memory varies by pages: which thread touched its stack when, and one more touch of a page of a file makes the
# kernel map up to 16 pages around it.
RESIDENT_SLACK = 64 * 1024
STACK_PAGE = PROJECT / "docs/porting.md"  # says how much stack to give
PAGE = PROJECT / "docs/performance/footprint.md"
PAGE_BOARD = "armhf"  # whose memory at start the page has, part by part
PAGE_TABLE = re.compile(r"(?<=<!-- memory: written by test/bench/footprint\.py -->\n\n).*?(?=\n<!-- end of memory -->)", re.S)
ROUND = 256
SLACK = 0.01  # more than this share below its budget, and at least SLACK_LEAST bytes: the budget is to be lowered
SLACK_LEAST = 1024
CLASSES = ("text", "constants", "data", "bss")
# What of Pawl is in no program of a user, or is a program of its own.
NOT_LINKED = {"apps", "export", "replay_check_main", "tool", "programs", "endpoint", "testing", "sim", "template", "bare_metal"}


def class_of(section):
    """The kind of memory that an output section takes, or None: it is not loaded."""
    if re.match(r"\.(text|init$|fini$|i?plt|__libc_freeres_fn)", section):
        return "text"
    if re.match(r"\.(rodata|eh_frame|gcc_except_table|ARM\.ex(idx|tab)|rela?\.|note\.|stapsdt)", section):
        return "constants"
    if re.match(r"\.(t?data|init_array|fini_array|preinit_array|i?got|tm_clone|__libc_|jcr)", section) or \
            section.startswith("__libc_"):
        return "data"
    if re.match(r"\.t?bss|__libc_freeres_ptrs", section):
        return "bss"
    return None


def part_of(path):
    for pattern, part in ((r"pawl_cjson", "cJSON"), (r"libsqlite3\.a|compact_sqlite", "SQLite"),
                          (r"libpawl_port_(\w+)\.a", "Pawl: port"), (r"libpawl_(\w+)\.a", None),
                          (r"lib(stdc\+\+|supc\+\+|gcc|gcc_eh)\.a|crtbegin|crtend", "libstdc++, libgcc"),
                          (r"lib(c|m|pthread|dl|rt|c_nonshared)(-[\d.]+)?\.a|crt[1in]\w*\.o", "C library"),
                          (r"examples/|test/compact/", "the program's own")):
        found = re.search(pattern, path)
        if found:
            return part or "Pawl: " + found[1]
    return "linker"


class Piece:
    """What the linker took from one input section."""

    def __init__(self, output, name, at, size, path):
        self.output, self.name, self.at, self.size, self.before = output, name, at, size, 0
        self.part = part_of(path)


def read_map(path):
    text = path.read_text(encoding="utf-8", errors="replace")
    pieces, output, name = [], "", ""
    for line in text[text.index("Linker script and memory map"):].splitlines():
        if re.match(r"[._A-Za-z]\S*", line):
            output, name = line.split()[0], ""
            continue
        if re.match(r" \S+$", line):  # a long name has the rest on the next line
            name = line.strip()
            continue
        found = re.match(r" (\S*) +0x([0-9a-f]+) +0x([0-9a-f]+) ?(.*)$", line)
        relaxed = re.match(r" +0x([0-9a-f]+) \(size before relaxing\)", line)
        if found and class_of(output):
            pieces.append(Piece(output, found[1] or name, int(found[2], 16), int(found[3], 16), found[4]))
        elif relaxed and pieces:
            pieces[-1].before = int(relaxed[1], 16)
        name = ""
    share_merged(pieces)
    return pieces


def share_merged(pieces):
    """Equal texts are kept once, and the map gives all of them to one input. Each part gets its share of what it brought."""
    for output in {piece.output for piece in pieces}:
        merged = [piece for piece in pieces if piece.output == output and re.search(r"\.(str|cst)\d", piece.name)]
        kept, brought = sum(piece.size for piece in merged), sum(piece.before or piece.size for piece in merged)
        for piece in merged:
            piece.size = kept * (piece.before or piece.size) / brought if brought else 0


def parts_of(pieces):
    parts = {}
    for piece in pieces:
        row = parts.setdefault(piece.part, dict.fromkeys(CLASSES, 0))
        row[class_of(piece.output)] += piece.size
    return {part: {name: round(size) for name, size in row.items()} for part, row in sorted(parts.items())}


def flash(row):
    return row["text"] + row["constants"] + row["data"]


def run(*command, cwd=None):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=cwd).stdout


class Build:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.board = self.folder.name
        cache = (self.folder / "CMakeCache.txt").read_text(encoding="utf-8")
        self.cache = dict(re.findall(r"^([\w-]+):\w+=(.*)$", cache, re.M))
        self.parts = {}
        self.pieces = {}
        for name, program in PROGRAMS.items():
            self.pieces[name] = read_map(self.folder / (program + ".map"))
            self.parts[name] = parts_of(self.pieces[name])

    def archives(self):
        """Code and constants of all of Pawl that a program links, whether it uses it or not."""
        sizes = {}
        for archive in sorted(self.folder.glob("**/libpawl_*.a")):
            name = archive.stem[len("libpawl_"):].replace("port_posix", "port")
            is_of_a_test = "test" in archive.relative_to(self.folder).parts
            if {archive.parent.name, name} & NOT_LINKED or name == "compact_sqlite" or is_of_a_test:
                continue
            listed = run(self.cache["CMAKE_OBJDUMP"], "-h", "-w", str(archive))
            rows = re.findall(r"^ +\d+ (\S+) +([0-9a-f]{8}) .*$", listed, re.M)
            sizes[name] = sum(int(size, 16) for section, size in rows if class_of(section) in ("text", "constants") and
                              not section.startswith((".rel", ".note")))
        return sizes

    def functions(self, program):
        """(bytes, part, name) of functions and constants, the largest first."""
        pieces = sorted((piece.at, piece.part) for piece in self.pieces[program] if piece.size)
        starts = [at for at, _ in pieces]
        listed = run(self.cache["CMAKE_NM"], "-S", "-C", str(self.folder / PROGRAMS[program]))
        found = set()
        for at, size, kind, name in re.findall(r"^([0-9a-f]+) ([0-9a-f]+) (\w) (.*)$", listed, re.M):
            if kind in "TtWwVRr":
                i = bisect.bisect_right(starts, int(at, 16)) - 1
                found.add((int(size, 16), pieces[i][1] if i >= 0 else "linker", name))
        return sorted(found, reverse=True)

    def frames(self):
        """(bytes, how it grows, function, file) of Pawl's own functions, the deepest first."""
        found = set()
        for path in self.folder.glob("*/**/*.su"):
            folder = path.relative_to(self.folder).parts
            if folder[0] not in ("src", "port") or NOT_LINKED & set(folder):
                continue
            for line in path.read_text(encoding="utf-8").splitlines():
                place, size, how = line.split("\t")
                file, _, _, name = place.split(":", 3)
                found.add((int(size), how, name, pathlib.Path(file).name))
        return sorted(found, reverse=True)

    def run_program(self, program, *words):
        """In an empty folder."""
        emulator = self.cache.get("CMAKE_CROSSCOMPILING_EMULATOR", "")
        emulator = emulator.split(";") if emulator else self.toolchain_emulator()
        with tempfile.TemporaryDirectory() as folder:
            return run(*emulator, str(self.folder / program), *words, cwd=folder)

    def printed_by(self, program):
        """{name: number} of the lines of a program."""
        lines = self.run_program(program).splitlines()
        return {name: int(number) for number, name in (line.split(" ", 1) for line in lines)}

    def memory(self):
        return self.printed_by(MEMORY)

    def memory_by_part(self):
        """A table."""
        printed = self.run_program(MEMORY, "parts")
        return re.sub(r"\b\d+\b", lambda number: f"{int(number[0]):,}", printed)

    def stacks(self):
        """{load: how deep it reaches into its stack}, with the SQLite that reaches deeper."""
        all_of_them = [self.printed_by(program) for program in STACKS]
        return {name: max(printed[name] for printed in all_of_them) for name in all_of_them[0]}

    def resident(self):
        """{process: the kernel's sums of its resident memory}; boots a board for it."""
        if self.board not in BOOTED:
            return {}
        with tempfile.TemporaryDirectory() as folder:
            run(sys.executable, str(PROJECT / "test/board/board_test.py"), str(self.folder), folder, "resident")
            return json.loads((pathlib.Path(folder) / "resident.json").read_text(encoding="utf-8"))

    def toolchain_emulator(self):
        text = pathlib.Path(self.cache["CMAKE_TOOLCHAIN_FILE"]).read_text(encoding="utf-8")
        return re.search(r"set\(CMAKE_CROSSCOMPILING_EMULATOR ([^)]*)\)", text)[1].split()

    def rows(self):
        """What the budget has a row for."""
        rows = {}
        for program, parts in self.parts.items():
            ours = [row for part, row in parts.items() if part.startswith("Pawl")]
            rows[f"{program}: Pawl"] = sum(flash(row) for row in ours)
            for part in ("SQLite", "cJSON", "libstdc++, libgcc", "C library"):
                rows[f"{program}: {part}"] = flash(parts[part])
            rows[f"{program}: all but bss"] = sum(flash(row) for row in parts.values())
            rows[f"{program}: bss of Pawl"] = sum(row["bss"] for row in ours)
            rows[f"{program}: bss"] = sum(row["bss"] for row in parts.values())
        rows["archives of Pawl, text and constants"] = sum(self.archives().values())
        rows.update(self.stacks())
        rows = {name: -(-size // ROUND) * ROUND for name, size in rows.items()}
        deepest = self.frames()
        rows["deepest frame"] = deepest[0][0]
        rows["frames without a bound"] = sum(how == "dynamic" for _, how, _, _ in deepest)
        rows.update(self.memory())
        return rows


# ---- the report ----


def table(head, rows):
    print("\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in row) + " |")


def report(build, resident):
    for program, parts in build.parts.items():
        print(f"\n## {build.board}, {program}")
        total = {name: sum(row[name] for row in parts.values()) for name in CLASSES}
        rows = list(parts.items()) + [("all", total)]
        table(("part", *CLASSES), [(part, *(row[name] for name in CLASSES)) for part, row in rows])
        largest = build.functions(program)
        print("\nThe largest functions and constants of Pawl, and of all else:")
        for ours in (True, False):
            table(("bytes", "part", "name"), [(size, part, f"`{name[:90]}`") for size, part, name in largest
                                              if part.startswith("Pawl") == ours][:15])
    print(f"\n## {build.board}, all programs")
    archives = build.archives()
    table(("archive of Pawl", "text and constants"), [*archives.items(), ("all", sum(archives.values()))])
    table(("frame", "kind", "function", "file"),
          [(size, how, f"`{name[:90]}`", file) for size, how, name, file in build.frames()[:15]])
    table(("deepest stack of a thread", "bytes"), list(build.stacks().items()))
    table(("memory to give", "bytes"), list(build.memory().items()))
    print("\n" + build.memory_by_part(), end="")
    if resident:
        table(("process", *next(iter(resident.values()))), [(name, *sums.values()) for name, sums in resident.items()])


# ---- the budget ----


def read_budget():
    rows = {}
    for line in BUDGET.read_text(encoding="utf-8").splitlines() if BUDGET.exists() else []:
        if line and not line.startswith("#"):
            board, number, name, reason = (cell.strip() for cell in line.split("|"))
            rows[board, name] = (int(number), reason)
    return rows


def resident_rows(resident):
    return {RESIDENT + name: sums["resident"] for name, sums in resident.items()}


def write_budget(builds, residents, reason):
    budget = read_budget()
    for build, resident in zip(builds, residents):
        rows = build.rows() | resident_rows(resident)
        budget = {key: row for key, row in budget.items() if key[0] != build.board or key[1] in rows}
        for name, number in rows.items():
            allowed = budget.get((build.board, name), (None,))[0]
            varies = name.startswith(RESIDENT) and allowed is not None and abs(number - allowed) <= RESIDENT_SLACK
            if allowed != number and not varies:
                budget[build.board, name] = (number, reason)
    order = list(BOARDS)
    with open(BUDGET, "w", encoding="utf-8") as out:
        out.write("# board | bytes | what | reason of the last change; test/bench/footprint.py --write REASON\n")
        for (board, name), (number, why) in sorted(budget.items(), key=lambda item: order.index(item[0][0])):
            out.write(f"{board} | {number} | {name} | {why}\n")


def judge(rows, budget):
    """(ok or FAILED, what to say) of each row that is measured or in the budget."""
    def slack_above(name):
        return RESIDENT_SLACK if name.startswith(RESIDENT) else 0

    def slack_below(name):
        return RESIDENT_SLACK if name.startswith(RESIDENT) else max(SLACK_LEAST, SLACK * budget[name])

    for name in [name for name in budget if name not in rows]:
        yield "FAILED", f"{name}: is in the budget, and is not measured any more"
    for name, number in rows.items():
        allowed = budget.get(name)
        if allowed is None:
            yield "FAILED", f"{name}: {number}, and the budget has no row for it"
        elif number > allowed + slack_above(name):
            yield "FAILED", f"{name}: {number}, which is {number - allowed} above its budget of {allowed}"
        elif allowed - number > slack_below(name):
            yield "FAILED", f"{name}: {number}, which is {allowed - number} below its budget of {allowed}: lower the budget"
        else:
            yield "ok    ", f"{name}: {number} of {allowed}"


def is_kept(rows, budget):
    return all(verdict != "FAILED" for verdict, _ in judge(rows, budget))


def hold(board, rows):
    """Prints the verdict of each row: those of a booted board, or all others. Returns whether the budget is kept."""
    of_board = any(name.startswith(RESIDENT) for name in rows)
    budget = {name: number for (place, name), (number, _) in read_budget().items()
              if place == board and name.startswith(RESIDENT) == of_board}
    for verdict, text in judge(rows, budget):
        print(verdict, text)
    # The gate itself: one byte more in any row, or a row too few or too many, is seen.
    more = RESIDENT_SLACK if of_board else 0
    for name in rows:
        assert not is_kept({**rows, name: budget.get(name, 0) + more + 1}, budget), name
        assert not is_kept(rows, {**budget, name: rows[name] * 2 + 2 * SLACK_LEAST + more}), name
        assert not is_kept(rows, {other: number for other, number in budget.items() if other != name}), name
        assert not is_kept({other: number for other, number in rows.items() if other != name}, budget | {name: 0}), name
    if is_kept(rows, budget):
        return True
    print(f"\nIf it has to be so: test/bench/footprint.py --write REASON {board}, in the same commit. "
          "docs/performance/footprint.md says more.")
    return False


def stack_is_enough(stacks):
    """Whether what the page on porting has a user give to a thread holds the deepest stack."""
    given = int(re.search(r"a stack of (\d+) KiB", STACK_PAGE.read_text(encoding="utf-8"))[1]) * 1024
    for name, size in stacks.items():
        if size > given:
            print(f"FAILED {name}: {size}, and {STACK_PAGE.name} says that {given} are enough")
    return all(size <= given for size in stacks.values())


def write_page(build):
    text = PAGE.read_text(encoding="utf-8")
    table = build.memory_by_part()
    PAGE.write_text(PAGE_TABLE.sub(lambda _: table, text), encoding="utf-8")


def page_is_so(build):
    """Whether the page has the memory of this board as the board's program prints it."""
    if build.board != PAGE_BOARD:
        return True
    table = build.memory_by_part()
    is_so = PAGE_TABLE.search(PAGE.read_text(encoding="utf-8"))[0] == table
    if not is_so:
        print(f"FAILED {PAGE.name}: the table of memory at start is\n{table}")
    return is_so


def check(build):
    rows = build.rows()
    stacks = {name: rows[name] for name in rows if name.startswith("stack, ")}
    holds = [hold(build.board, rows), stack_is_enough(stacks), page_is_so(build)]
    return 0 if all(holds) else 1


def main():
    words = sys.argv[1:]
    if words[:1] == ["--check"]:
        return check(Build(words[1]))
    reason = None
    if words[:1] == ["--write"]:
        reason, words = words[1], words[2:]
        if "|" in reason or not reason.strip():
            sys.exit("the reason has to be a text without |")
    builds = []
    for board in words or BOARDS:
        subprocess.run(["cmake", "--preset", board], cwd=PROJECT, stdout=subprocess.DEVNULL, check=True)
        subprocess.run(["cmake", "--build", "--preset", board, "--target", *TARGETS], cwd=PROJECT,
                       stdout=subprocess.DEVNULL, check=True)
        builds.append(Build(PROJECT / "build" / board))
    residents = [build.resident() for build in builds]
    for build, resident in zip(builds, residents):
        report(build, resident)
    if reason is not None:
        write_budget(builds, residents, reason)
        for build in builds:
            if build.board == PAGE_BOARD:
                write_page(build)
    return 0


if __name__ == "__main__":
    sys.exit(main())
