#!/usr/bin/env python3
"""Takes one rule at a time out of the sources, and expects the test that a page names for it to fail.

    run.py                  all of mutations.toml that was not seen caught since its source, its test or its entry changed
    run.py NAME...          these, whatever was seen before
    run.py --again          all, whatever was seen before
    run.py --list           what there is, and what was seen

Works in build/mutation, on a copy of the tree: the tree itself is never changed. The copy is built once; a mutation builds the one source
that it changes, links the program of its test and runs that test alone, which has to pass without the mutation. What was
seen is kept in build/mutation/seen.json after each, so that a run that was stopped goes on where it was.

A test that does not end within TEST_LIMIT_S is not counted as one that has caught anything.
"""
import collections
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True

import mutations  # noqa: E402

PROJECT = pathlib.Path(__file__).resolve().parents[2]
WORK = PROJECT / "build" / "mutation"
TREE = WORK / "tree"
BUILD = TREE / "build" / "mutation"
SEEN = WORK / "seen.json"
TEST_LIMIT_S = 900


def run(*command, **how):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **how)


def tracked():
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=PROJECT)
    return {name for name in listed.stdout.split("\0") if name and (PROJECT / name).is_file()}


def copy_tree():
    """Only what differs is written, so that only that is built again; a mutation that was left behind is undone."""
    wanted = tracked()
    for name in wanted:
        source, copy = PROJECT / name, TREE / name
        if copy.is_file() and copy.read_bytes() == source.read_bytes():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)
    for path in list(TREE.rglob("*")):
        name = str(path.relative_to(TREE))
        if path.is_file() and not name.startswith("build/") and name not in wanted:
            path.unlink()
    packages = TREE / "build" / "packages"
    packages.parent.mkdir(exist_ok=True)
    if not packages.exists():
        packages.symlink_to(PROJECT / "build" / "packages")


def configure():
    if shutil.which("ccache"):
        os.environ.setdefault("CMAKE_C_COMPILER_LAUNCHER", "ccache")
        os.environ.setdefault("CMAKE_CXX_COMPILER_LAUNCHER", "ccache")
        os.environ.update(CCACHE_BASEDIR=str(TREE), CCACHE_NOHASHDIR="1")
    done = run("cmake", "-G", "Ninja", "-S", TREE, "-B", BUILD, "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=",
               "-DCMAKE_C_FLAGS_DEBUG=")
    if done.returncode != 0:
        sys.exit(done.stdout)


def build(program):
    return run("ninja", "-C", BUILD, program)


def path_of(program):
    found = [path for path in (BUILD / "test").rglob(program) if path.is_file() and os.access(path, os.X_OK)]
    return found[0]


def test(mutation):
    """passed, failed, hangs or missing"""
    scratch = WORK / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    suite, name = mutation.test.split(".")
    patterns = [f"{before}{suite}{between}.{name}{after}"
                for before in ("", "*/") for between in ("", "/*") for after in ("", "/*")]
    try:
        done = run(path_of(mutation.program), "--gtest_brief=1", "--gtest_filter=" + ":".join(patterns), cwd=scratch,
                   timeout=TEST_LIMIT_S)
    except subprocess.TimeoutExpired:
        return "hangs"
    if done.returncode == 0 and "[  PASSED  ] 0 tests" in done.stdout:
        return "missing"
    return "passed" if done.returncode == 0 else "failed"


def judge(mutation):
    """caught, or why not"""
    place = TREE / mutation.file
    before = place.read_text(encoding="utf-8")
    place.write_text(before.replace(mutation.out, mutation.into), encoding="utf-8")
    try:
        built = build(mutation.program)
        if built.returncode != 0:
            print(built.stdout)
            return "does not compile"
        return {"failed": "caught", "passed": "NOT CAUGHT", "hangs": "HANGS", "missing": "no such test"}[test(mutation)]
    finally:
        place.write_text(before, encoding="utf-8")


def key(mutation):
    """Changes with the entry, the source that it changes and the program that has its test."""
    tests = sorted(mutation.sources_of_tests(PROJECT))
    text = hashlib.sha256(repr(mutation).encode())
    for path in (PROJECT / mutation.file, *tests):
        text.update(path.read_bytes())
    return text.hexdigest()


def read_seen():
    return json.loads(SEEN.read_text(encoding="utf-8")) if SEEN.exists() else {}


def keep(seen, mutation, verdict):
    seen[mutation.name] = {"key": key(mutation), "verdict": verdict}
    SEEN.write_text(json.dumps(seen, indent=1), encoding="utf-8")


def verdict_of(seen, mutation):
    one = seen.get(mutation.name, {})
    return one["verdict"] if one.get("key") == key(mutation) else "not seen"


def show(every, seen):
    for mutation in every:
        print(f"{verdict_of(seen, mutation):<17} {mutation.name:<26} {mutation.test}")
    sums = collections.Counter(verdict_of(seen, mutation) for mutation in every)
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(sums.items())), f"of {len(every)}")


def main():
    every = mutations.read(PROJECT)
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    unknown = set(words) - {mutation.name for mutation in every}
    if unknown or set(sys.argv[1:]) - set(words) - {"--again", "--list"}:
        sys.exit(__doc__)
    seen = read_seen()
    if "--list" in sys.argv:
        return show(every, seen)
    chosen = [mutation for mutation in every if mutation.name in words] if words else \
        [mutation for mutation in every if "--again" in sys.argv or verdict_of(seen, mutation) != "caught"]
    WORK.mkdir(parents=True, exist_ok=True)
    copy_tree()
    configure()
    for program, some in mutations.by_program(chosen):
        built = build(program)
        if built.returncode != 0:
            sys.exit(built.stdout)
        whole = [mutation for mutation in some if test(mutation) == "passed"]
        for mutation in some:
            verdict = judge(mutation) if mutation in whole else "fails as it is"
            keep(seen, mutation, verdict)
            print(f"{verdict:<17} {mutation.name}: {mutation.test}", flush=True)
    print()
    show(every, seen)
    return 0 if all(verdict_of(seen, mutation) == "caught" for mutation in words and chosen or every) else 1


if __name__ == "__main__":
    sys.exit(main())
