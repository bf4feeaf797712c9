#!/usr/bin/env python3
"""A suite on PostgreSQL alone.

usage: alone.py PROGRAM FILTER LISTED [PART OF SLOW]

Runs the tests of FILTER but those that the file LISTED names. They must pass. Then those, each of which must fail: they speak SQLite's
dialect to the rows, know the numbers that it gives to them, or are about its disk and its statements. One that passes has to leave the
list. PART OF: runs one of so many parts of the first, from 0; the first part runs those of the list. SLOW: a filter of tests that run
only where PAWL_SOAK is set.
"""
import os
import pathlib
import re
import subprocess
import sys


def main(program, chosen, file, part="0", parts="1", slow=""):
    listed = pathlib.Path(file).read_text(encoding="utf-8").split()
    left_out = ":".join(listed if "PAWL_SOAK" in os.environ else [slow, *listed])
    status = subprocess.run([program, "--gtest_brief=1", f"--gtest_filter={chosen}:{left_out}"], check=False,
                            env={**os.environ, "GTEST_TOTAL_SHARDS": parts, "GTEST_SHARD_INDEX": part}).returncode
    if part != "0":
        return int(status != 0)
    said = subprocess.run([program, "--gtest_brief=1", "--gtest_filter=" + ":".join(listed)], capture_output=True, text=True,
                          check=False).stdout
    failed = set(re.findall(r"^\[  FAILED  \] ([^ ,]+)", said, re.M))
    for name in sorted(set(listed) - failed):
        print(f"{name} passes, or is no test, and is listed in {file}")
        status = 1
    return int(status != 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
