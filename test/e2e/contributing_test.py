#!/usr/bin/env python3
"""CONTRIBUTING.md, done as printed.

  contributing_test.py SOURCE_DIR BUILD_DIR commands

In a copy of the sources: the blocks marked `run` are run, line by line. Of the blocks marked `dry run`, each line is run with
--dry-run, and answers with steps. Every command of the page is in one of both.
"""
import os
import re
import shutil
import subprocess
import sys

SOURCE, BUILD = sys.argv[1:3]
COPY = os.path.join(BUILD, "test", "e2e", "contributing.scratch")
STEPS = {"format", "asan-ubsan", "tsan", "release", "armhf", "arm64", "cortex-m7", "cortex-m33", "riscv32", "clang-tidy", "first",
         "debug", "fix", "armhf-compact", "armv6", "i386", "mipsel-musl", "musl", "powerpc", "riscv64"}


def expect(condition, text):
    if not condition:
        print(f"FAILED: {text}")
        sys.exit(1)


def copy_sources():
    shutil.rmtree(COPY, ignore_errors=True)
    shutil.copytree(SOURCE, COPY, symlinks=True, ignore=lambda folder, names: [
        name for name in names if name == ".git" or (folder == SOURCE and name == "build")])
    packages = os.path.join(SOURCE, "build", "packages")
    if os.path.isdir(packages):
        shutil.copytree(packages, os.path.join(COPY, "build", "packages"))


def run(line):
    print(f"$ {line}", flush=True)
    # The copy is no checkout, wherever it lies.
    environment = dict(os.environ, GIT_CEILING_DIRECTORIES=os.path.dirname(COPY))
    done = subprocess.run(["bash", "-c", line], cwd=COPY, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=800, check=False)
    print(done.stdout[-2000:], flush=True)
    expect(done.returncode == 0, f"status {done.returncode}: {line}")
    return done.stdout


def main():
    with open(os.path.join(SOURCE, "CONTRIBUTING.md"), encoding="utf-8") as page:
        text = page.read()
    blocks = re.findall(r"(?:<!-- (.*?) -->\n)?```(\w*)\n(.*?)```", text, re.DOTALL)
    expect(len(blocks) >= 4, "the page has no commands")
    copy_sources()
    for mark, language, commands in blocks:
        expect(language == "sh" and re.match(r"(dry )?run\b", mark), f"nothing runs this block:\n{commands}")
        for line in re.sub(r"(?m)\s+#.*$", "", commands).strip().splitlines():
            if not mark.startswith("dry"):
                out = run(line)
                expect("ctest" not in line or "100% tests passed" in out, f"no tests: {line}")
                continue
            expect(line.startswith("./test/run"), f"only ./test/run has --dry-run: {line}")
            said = run(line + " --dry-run").split()
            expect(said and set(said) <= STEPS, f"{line} would run {said}")
    shutil.rmtree(COPY, ignore_errors=True)


main()
