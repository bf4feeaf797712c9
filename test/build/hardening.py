#!/usr/bin/env python3
"""What PAWL_HARDENING promises, read out of the programs that were built with it.

  hardening.py READELF USER_FLAGS PROGRAM...

USER_FLAGS is a file with the flags that a target which links pawl::pawl is given: none of them is ours.
"""

import os
import re
import subprocess
import sys


def readelf(program, *flags):
    return subprocess.run([sys.argv[1], "-W", *flags, program], capture_output=True, text=True, check=True).stdout


def lacks(program):
    """What the program has not, in words."""
    header, segments, dynamic = readelf(program, "-h"), readelf(program, "-l"), readelf(program, "-d")
    symbols = readelf(program, "-s")
    if not re.search(r"Type:\s+DYN", header) or not re.search(r"\(FLAGS_1\).*\bPIE\b", dynamic):
        yield "random addresses: it is not position independent"
    if not re.search(r"^\s*GNU_RELRO\s", segments, re.M):
        yield "tables that become read-only (GNU_RELRO)"
    if "BIND_NOW" not in dynamic and not re.search(r"\(FLAGS_1\).*\bNOW\b", dynamic):
        yield "immediate binding (BIND_NOW)"
    stack = re.search(r"^\s*GNU_STACK\s.*?\s(R\S*)\s", segments, re.M)
    if not stack or "E" in stack[1]:
        yield "a stack that is not executable"
    if "__stack_chk_fail" not in symbols:
        yield "a stack protector"
    if not re.search(r"\b__(?!stack)\w+_chk\b", symbols):
        yield "checked calls of the C library (_FORTIFY_SOURCE)"


def main():
    problems = []
    with open(sys.argv[2], encoding="utf-8") as flags:
        for flag in re.findall(r"[^;\s]*(?:stack-|FORTIFY|relro|-z,|pie)[^;\s]*", flags.read(), re.I):
            problems.append(f"who links pawl::pawl is given {flag}")
    programs = [program for program in sys.argv[3:] if os.path.exists(program)]
    if not programs:
        problems.append(f"none of these was built: {' '.join(sys.argv[3:])}")
    for program in programs:
        problems += [f"{program} lacks {what}" for what in lacks(program)]
    for problem in problems:
        print(problem)
    print(f"{len(programs)} programs, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
