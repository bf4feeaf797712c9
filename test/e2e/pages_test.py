#!/usr/bin/env python3
"""The commands of docs/tutorial and docs/howto, run as a reader runs them.

  pages_test.py SOURCE_DIR BUILD_DIR tutorial|howto

Each page has a folder of its own with build/release, which is the build at hand, and runs its blocks marked `sh execute`
one after the other in build/cold. The block `text output` that follows is what such a block prints, to the letter; none
follows: it prints nothing. Programs that no page runs are a failure, too.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE, BUILD, PART = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
SCRATCH = BUILD / "test" / "e2e" / "pages.scratch" / PART
PAGES = sorted((SOURCE / "docs" / PART).glob("*.md"))
BLOCK = re.compile(r"^```sh execute\n(.*?)^```\n(?:\n```text output\n(.*?)^```\n)?", re.M | re.S)


def attempt(page):
    """What is wrong with it, or an empty text."""
    cold = SCRATCH / page.stem / "build" / "cold"
    cold.mkdir(parents=True)
    (cold.parent / "release").symlink_to(BUILD)
    for commands, output in BLOCK.findall(page.read_text(encoding="utf-8")):
        run = subprocess.run(["sh", "-e", "-c", commands], cwd=cold, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, timeout=150, check=False)
        if run.returncode != 0 or run.stdout != output:
            return (f"{page.name}:\n{commands}ends with {run.returncode}, and prints\n{run.stdout}and not\n{output}"
                    f"on standard error:\n{run.stderr}")
    return ""


shutil.rmtree(SCRATCH, ignore_errors=True)
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    problems = [text for text in pool.map(attempt, PAGES) if text]
whole = "".join(page.read_text(encoding="utf-8") for page in PAGES)
programs = sorted((SOURCE / "examples" / PART).glob("*.cpp"))
for program in programs:
    if f"../release/examples/{PART}/{program.stem}" not in whole:
        problems.append(f"no page of docs/{PART} runs {program.name}")
if len(programs) < 6:
    problems.append(f"only {len(programs)} programs in examples/{PART}")
print("\n".join(problems) if problems else f"{len(PAGES)} pages, {len(programs)} programs: passed")
sys.exit(1 if problems else 0)
