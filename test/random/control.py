#!/usr/bin/env python3
"""Puts defects back that were mended, one at a time, and expects the random worlds to find each: within so many seeds as an idle machine
runs in a minute.

    control.py BUILD        of a folder in which random_test was built

The tree is not changed: the source with the defect is compiled into a scratch folder, and linked in front of the library.
"""
import json
import pathlib
import re
import resource
import shlex
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv[1]).resolve()
SEEDS = 150
# Name, source, and what is replaced by what.
DEFECTS = [
    ("a start and a request that was handed on are written behind the messages of a turn", "src/store/instance/turn_reader.cpp",
     [(r"capacity_ = kBeginningMax \+ ", "capacity_ = "), (r' *PAWL_CHECK\("store-44"[^\n]*\n', "")]),
    ("an execution that a limit ended in its first turn cannot be restarted", "src/replay/engine.cpp",
     [(r"input\.restored == 1 \? 0 : input\.restored", "input.restored")]),
]


def processor_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def with_defect(source, changes, scratch):
    """The object of this source with the defect in it."""
    command = next(entry for entry in json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))
                   if entry["file"] == str(PROJECT / source))
    text = (PROJECT / source).read_text(encoding="utf-8")
    for out, into in changes:
        text, count = re.subn(out, into, text)
        if count != 1:
            sys.exit(f"{source} has {out} {count} times")
    copy, made = scratch / pathlib.Path(source).name, scratch / "defect.o"
    copy.write_text(text, encoding="utf-8")
    words = shlex.split(command["command"])
    words[words.index("-o") + 1] = str(made)
    words[words.index("-c") + 1] = str(copy)
    subprocess.run([*words, f"-I{(PROJECT / source).parent}"], cwd=command["directory"], check=True)
    return made


def link(made, program):
    command = subprocess.run(["ninja", "-C", str(BUILD), "-t", "commands", "random_test"], capture_output=True, text=True,
                             check=True).stdout.splitlines()[-1]
    command = re.search(r"\S*(?:g\+\+|clang\+\+|c\+\+)\S* [^&]* -o \S*random_test [^&]*", command)[0]
    words = shlex.split(command)
    at = words.index("-o")
    words[at + 1] = str(program)
    words.insert(at, str(made))
    subprocess.run(words, cwd=BUILD, check=True)


failures = 0
for name, source, changes in DEFECTS:
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        link(with_defect(source, changes, scratch), scratch / "random_test")
        before = processor_s()
        run = subprocess.run([scratch / "random_test"], env={"PAWL_SEEDS": str(SEEDS)}, cwd=scratch, capture_output=True,
                             text=True, errors="replace", check=False)
        found = run.returncode != 0
        said = re.search(r"Which is: (.*)", run.stdout)
        seed = re.search(r"PAWL_SEED=(\d+)", run.stdout)
        print(f"{'found' if found else 'NOT FOUND'} by seed {seed[1] if seed else '?'}, after {processor_s() - before:.0f} s of the"
              f" processor: {name}: {said[1][:200] if said else run.returncode}")
        failures += not found
sys.exit(1 if failures else 0)
