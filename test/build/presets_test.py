#!/usr/bin/env python3
"""What the presets build and test: each says what it is, and what the build presets of test/run make has every program that their
tests start.

  presets_test.py SOURCE_DIR BUILD_DIR CTEST

A build that names its targets forgets a new one, and nobody notices where an old build folder has all of them. The tests are those
of BUILD_DIR, which makes everything.
"""

import json
import pathlib
import re
import subprocess
import sys

SOURCE, BUILD = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
CTEST = sys.argv[3]
PRESETS = json.loads((SOURCE / "CMakePresets.json").read_text(encoding="utf-8"))
WHOLE = {"debug", "release", "asan-ubsan", "clang"}
IN_TEST_RUN = ("debug", "asan-ubsan")  # of these, the ones that test/run builds whole: one by each compiler
PARTLY = "Not the whole build: "
# Files that have another name than their target.
NAMES = {"pawl": "pawl-tool", "liballoc_count.so": "alloc_count"}
problems = []


def visible(kind):
    return {preset["name"]: preset for preset in PRESETS[kind + "Presets"] if not preset.get("hidden")}


def selection(test_preset):
    """Arguments of ctest: the filter of a test preset, or of the one it inherits."""
    presets = {preset["name"]: preset for preset in PRESETS["testPresets"]}
    preset = presets[test_preset]
    while "filter" not in preset:
        preset = presets[preset["inherits"]]
    include = preset["filter"]["include"]
    return ["-R", include["name"]] if "name" in include else ["-L", include["label"]]


def programs(*arguments):
    """Files of the build folder that tests name."""
    listed = subprocess.run([CTEST, "--test-dir", str(BUILD), "--show-only=json-v1", *arguments], check=True, capture_output=True, text=True)
    found = set()
    for test in json.loads(listed.stdout)["tests"]:
        for word in test.get("command", []):
            path = pathlib.Path(word)
            if path.is_absolute() and BUILD in path.parents and path.is_file() and path.stat().st_mode & 0o100:
                found.add(path)
    return found


def check_names():
    builds = visible("build")
    for name in visible("configure"):
        if builds.get(name, {}).get("configurePreset") != name:
            problems.append(f"`cmake --build --preset {name}` builds nothing, or another preset")
        if visible("test").get(name, {}).get("configurePreset", name) != name:
            problems.append(f"`ctest --preset {name}` tests another preset")
    inherited = {preset["name"]: preset for preset in PRESETS["buildPresets"]}
    for name, preset in builds.items():
        targets = preset.get("targets") or inherited.get(preset.get("inherits"), {}).get("targets")
        if bool(targets) != preset.get("displayName", "").startswith(PARTLY):
            problems.append(f"the build preset {name} has to say \"{PARTLY}...\" if and only if it names targets")
    for name in WHOLE:
        if "targets" in builds[name]:
            problems.append(f"the build preset {name} is no whole build")
    text = (SOURCE / "test/run").read_text(encoding="utf-8")
    for name in IN_TEST_RUN:
        if not re.search(rf"step {name} build_and_test {name}\b", text):
            problems.append(f"test/run does not build {name}")


def made_by(*targets):
    """Files that these targets of BUILD_DIR make, also by others that stand for several: those of a folder, and a custom one."""
    files, left = set(), list(targets)
    while left:
        said = subprocess.run(["ninja", "-C", str(BUILD), "-t", "query", left.pop()], check=True, capture_output=True, text=True).stdout
        lines = said.partition("  outputs:")[0].splitlines()
        found = [line.strip() for line in lines[2:] if lines[1] == "  input: phony" and "|" not in line]
        files |= {BUILD / name for name in found}
        left += found
    return files


def check_programs():
    targets = {preset["name"]: set(preset.get("targets", [])) for preset in PRESETS["buildPresets"]}
    for name in ("tsan", "board"):
        files = {path.name for path in programs(*selection(name))}
        assert files, f"{name}: no program found"
        for missing in sorted({NAMES.get(file, file) for file in files} - targets[name]):
            problems.append(f"CMakePresets.json: {name} does not build {missing}, which a test of it starts")
    if not (BUILD / "build.ninja").exists():
        return
    for name in ("first", "long"):
        files = programs(*selection(name))
        assert files, f"{name}: no program found"
        for missing in sorted(files - made_by(*targets[name])):
            problems.append(f"the build preset {name} does not build {missing}, which a test of it starts")


check_names()
check_programs()
print("\n".join(problems) or "presets are what they say")
sys.exit(1 if problems else 0)
