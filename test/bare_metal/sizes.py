#!/usr/bin/env python3
"""Where the bytes of a program without an operating system are.

usage: sizes.py MAP

Reads the linker's map: code and constants, and memory, by archive; the flash of the medium is not counted.
"""
import collections
import re
import sys

PARTS = [("pawl_cjson", "cJSON"), ("libpawl_compact_sqlite", "SQLite"), ("libpawl_port_bare_metal", "port"), ("libpawl_board", "board"),
         ("libc_nano", "library of C"), ("libc.a", "library of C"), ("libm.a", "library of C"),
         ("libgcc", "library of C")]
SECTION = re.compile(r"^ (\.[\w.$*]+|COMMON)(?:\s+0x[0-9a-f]+\s+(0x[0-9a-f]+)\s+(\S.*))?$")
REST = re.compile(r"^\s+0x[0-9a-f]+\s+(0x[0-9a-f]+)\s+(\S.*)$")
FILL = re.compile(r"^ \*fill\*\s+0x[0-9a-f]+\s+(0x[0-9a-f]+)")


LAYER = re.compile(r"libpawl_(\w+)\.a")


def part_of(file):
    layer = LAYER.search(file)
    return next((part for name, part in PARTS if name in file), f"Pawl: {layer[1]}" if layer else "the program")


def main(path):
    flash, ram = collections.Counter(), collections.Counter()
    output = None
    pending = False
    with open(path) as lines:
        text = lines.read().split("Linker script and memory map", 1)[1]
    for line in text.splitlines():
        if re.match(r"^\.[\w.]+", line) or line == "":
            output = line.split()[0] if line else output
            pending = False
            continue
        found = SECTION.match(line)
        size = file = None
        if found:
            pending = found.group(2) is None
            size, file = found.group(2), found.group(3)
        elif pending and REST.match(line):
            size, file = REST.match(line).groups()
            pending = False
        elif FILL.match(line):
            size, file = FILL.match(line).group(1), "fill"
        if size is None:
            continue
        if output in (".text", ".ARM.exidx", ".ARM.extab", ".data"):
            flash[part_of(file)] += int(size, 16)
        if output in (".data", ".bss"):
            ram[part_of(file)] += int(size, 16)
    for title, parts in (("flash", flash), ("memory", ram)):
        for part, size in parts.most_common():
            print(f"{title:7} {part:14} {size:8}")
        print(f"{title:7} {'all':14} {sum(parts.values()):8}")
    stack = re.search(r"(0x[0-9a-f]+)\s+pawl_stack_bytes = ", text)
    print(f"memory  {'stack':14} {int(stack.group(1), 16):8}")


if __name__ == "__main__":
    main(sys.argv[1])
