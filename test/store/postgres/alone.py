#!/usr/bin/env python3
"""The storage's contract on PostgreSQL alone.

usage: alone.py PROGRAM FILTER LISTED

Runs the tests of FILTER but those that the file LISTED names. They must pass. Then those, each of which must fail: they speak SQLite's
dialect to the rows, or know the numbers that it gives to them. One that passes has to leave the list.
"""
import pathlib
import re
import subprocess
import sys


def main(program, chosen, file):
    listed = pathlib.Path(file).read_text(encoding="utf-8").split()
    status = subprocess.run([program, "--gtest_brief=1", f"--gtest_filter={chosen}:" + ":".join(listed)], check=False).returncode
    said = subprocess.run([program, "--gtest_brief=1", "--gtest_filter=" + ":".join(listed)], capture_output=True, text=True,
                          check=False).stdout
    failed = set(re.findall(r"^\[  FAILED  \] ([^ ,]+)", said, re.M))
    for name in sorted(set(listed) - failed):
        print(f"{name} passes, or is no test, and is listed in {file}")
        status = 1
    return int(status != 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
