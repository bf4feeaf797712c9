#!/usr/bin/env python3
"""Where the bytes of a program without an operating system are.

usage: sizes.py MAP

Reads the linker's map: code and constants, and memory, by archive; the flash of the medium is not counted. Fails if the parts are not
all of it.
"""
import collections
import re
import sys

PARTS = [("pawl_cjson", "cJSON"), ("libpawl_compact_sqlite", "SQLite"), ("libpawl_port_bare_metal", "port"), ("libpawl_board", "board"),
         ("libc_nano", "library of C"), ("libc.a", "library of C"), ("libm.a", "library of C"),
         ("libgcc", "library of C")]
IN_FLASH = (".text", ".ARM.exidx", ".ARM.extab", ".data")
IN_MEMORY = (".data", ".bss")
PLACE = r"\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)"
OUTPUT = re.compile(rf"(\.[\w.]+)(?:{PLACE})?")
SECTION = re.compile(rf" (?:\.[\w.$*]+|COMMON)(?:{PLACE}\s+(\S.*))?$")
REST = re.compile(rf"{PLACE}\s+(\S.*)$")  # of a section whose name has a line of its own
FILL = re.compile(rf" \*fill\*{PLACE}()")
LAYER = re.compile(r"libpawl_(\w+)\.a")


def part_of(file):
    layer = LAYER.search(file)
    return next((part for name, part in PARTS if name in file), f"Pawl: {layer[1]}" if layer else "the program")


def read_map(text):
    """Of each output section its size, and the address, size and file of each piece."""
    sizes, pieces = {}, collections.defaultdict(list)
    output = None
    pending = False
    for line in text.splitlines():
        head = OUTPUT.match(line)
        if head:
            output = head[1]
            sizes[output] = int(head[3] or "0", 16)
        found = SECTION.match(line) or FILL.match(line) or (pending and REST.match(line))
        pending = bool(found) and found[1] is None
        if found and not pending:
            pieces[output].append((int(found[1], 16), int(found[2], 16), found[3]))
    return sizes, pieces


def parts_of(outputs, sizes, pieces):
    parts = collections.Counter()
    for output in outputs:
        own = pieces[output]
        # A text that several files have is there once, and the map gives its size to each: the next piece begins before its end.
        for (begin, size, file), following in zip(own, own[1:] + [(own[-1][0] + own[-1][1], 0, "")] if own else []):
            parts[part_of(file)] += min(size, following[0] - begin)
    return parts


def main(path):
    with open(path, encoding="utf-8") as lines:
        text = lines.read().split("Linker script and memory map", 1)[1]
    sizes, pieces = read_map(text)
    complete = True
    for title, outputs in (("flash", IN_FLASH), ("memory", IN_MEMORY)):
        parts = parts_of(outputs, sizes, pieces)
        whole = sum(sizes.get(output, 0) for output in outputs)
        for part, size in parts.most_common():
            print(f"{title:7} {part:14} {size:8}")
        print(f"{title:7} {'all':14} {whole:8}")
        complete = complete and abs(whole - sum(parts.values())) <= 16
    stack = re.search(r"(0x[0-9a-f]+)\s+pawl_stack_bytes = ", text)
    print(f"memory  {'stack':14} {int(stack.group(1), 16):8}")
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
