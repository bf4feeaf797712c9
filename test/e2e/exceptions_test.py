#!/usr/bin/env python3
"""A program that throws, and one that is compiled without exceptions.

  exceptions_test.py SCRATCH NM THROWING PLAIN [EMULATOR ARGUMENT...]

The throwing one has a unit without exceptions in it, which must not take the catching away from the other: both use the
same templates. In the plain one nothing of it may be left.
"""
import os
import shutil
import subprocess
import sys

SCRATCH, NM, THROWING, PLAIN = sys.argv[1:5]
EMULATOR = sys.argv[5:]
shutil.rmtree(SCRATCH, ignore_errors=True)
os.makedirs(SCRATCH)
failed = []
for program in (THROWING, PLAIN):
    run = subprocess.run([*EMULATOR, program], cwd=SCRATCH, stdout=subprocess.PIPE, text=True, timeout=100, check=False)
    print(f"{os.path.basename(program)}: {run.returncode}: {run.stdout}", end="")
    if run.returncode != 0 or run.stdout != "passed\n":
        failed.append(program)
listing = subprocess.run([NM, "-C", PLAIN], stdout=subprocess.PIPE, text=True, check=True).stdout
if "WithExceptions" in listing:
    failed.append("the plain program catches")
if "WithExceptions" not in subprocess.run([NM, "-C", THROWING], stdout=subprocess.PIPE, text=True, check=True).stdout:
    failed.append("the throwing program does not catch")
print("FAILED: " + ", ".join(failed) if failed else "passed")
sys.exit(1 if failed else 0)
