#!/usr/bin/env python3
"""The examples of one idea each: every one runs to its end, and prints what its last comment says.

  one_idea_test.py SOURCE_DIR BUILD_DIR all [EMULATOR ARGUMENT...]
"""
import concurrent.futures
import glob
import os
import shutil
import subprocess
import sys

SOURCE, BUILD = sys.argv[1:3]
EMULATOR = sys.argv[4:]
SCRATCH = os.path.join(BUILD, "test", "e2e", "one_idea.scratch")
LINES_MAX = 40
shutil.rmtree(SCRATCH, ignore_errors=True)


def attempt(path):
    """What is wrong with it, or an empty text."""
    with open(path, encoding="utf-8") as source:
        program, mark, wanted = source.read().partition("\n// Prints:\n")
    name = os.path.basename(path)[:-len(".cpp")]
    if not mark:
        return f"{name} does not say what it prints"
    if len(program.splitlines()) > LINES_MAX:
        return f"{name} has more than {LINES_MAX} lines"
    expected = "".join(line[3:] + "\n" for line in wanted.splitlines())
    folder = os.path.join(SCRATCH, name)
    os.makedirs(folder)
    run = subprocess.run([*EMULATOR, os.path.join(BUILD, "examples", name)], cwd=folder, stdout=subprocess.PIPE,
                         text=True, timeout=100, check=False)
    if run.returncode != 0 or run.stdout != expected:
        return f"{name}: status {run.returncode}, and it prints\n{run.stdout}and not\n{expected}"
    return ""


paths = sorted(glob.glob(os.path.join(SOURCE, "examples", "[0-9][0-9]_*.cpp")))
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    problems = [text for text in pool.map(attempt, paths) if text]
numbers = [os.path.basename(path)[:2] for path in paths]
if numbers != [f"{number:02}" for number in range(1, 13)]:
    problems.append(f"the examples are numbered {numbers}")
with open(os.path.join(SOURCE, "examples", "README.md"), encoding="utf-8") as page:
    text = page.read()
    problems += [f"examples/README.md does not name {path}" for path in paths if os.path.basename(path) not in text]
print("\n".join(problems) if problems else "passed")
sys.exit(1 if problems else 0)
