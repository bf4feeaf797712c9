#!/usr/bin/env python3
"""The storage's contract on PostgreSQL alone.

usage: alone.py PROGRAM

Runs all tests but those of sqlite_alone.txt, which must pass, and then those, each of which must fail: they speak SQLite's dialect to
the rows, or know the numbers that it gives to them. One that passes has to leave the list.
"""
import pathlib
import re
import subprocess
import sys

LISTED = (pathlib.Path(__file__).parent / "sqlite_alone.txt").read_text().split()


def main(program):
    status = subprocess.run([program, "--gtest_brief=1", "--gtest_filter=*/sim*:-*DiskFaults*:" + ":".join(LISTED)]).returncode
    said = subprocess.run([program, "--gtest_brief=1", "--gtest_filter=" + ":".join(LISTED)], capture_output=True, text=True).stdout
    failed = set(re.findall(r"^\[  FAILED  \] ([^ ,]+)", said, re.M))
    for name in sorted(set(LISTED) - failed):
        print(f"{name} passes, or is no test, and is listed in sqlite_alone.txt")
        status = 1
    return int(status != 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
