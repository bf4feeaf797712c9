#!/usr/bin/env python3
"""What the build presets of test/run make has every program that their tests start.

  presets_test.py SOURCE_DIR BUILD_DIR CTEST

A preset that names its targets forgets a new one, and nobody notices where an old build folder has all of them. The tests are those
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
TARGETS = {preset["name"]: set(preset.get("targets", [])) for preset in PRESETS["buildPresets"]}
FILTERS = {preset["name"]: preset.get("filter", {}).get("include", {}).get("name") for preset in PRESETS["testPresets"]}
LONG = "e2e|property"  # what test/run runs in the release build


def programs(*selection):
    """Files of the build folder that tests name."""
    listed = subprocess.run([CTEST, "--test-dir", str(BUILD), "--show-only=json-v1", *selection], check=True, capture_output=True, text=True)
    found = set()
    for test in json.loads(listed.stdout)["tests"]:
        for word in test.get("command", []):
            path = pathlib.Path(word)
            if path.is_absolute() and BUILD in path.parents and path.is_file() and path.stat().st_mode & 0o100:
                found.add(path.name)
    return found


def main():
    assert re.search(rf"run_tests release -L '{re.escape(LONG)}'", (SOURCE / "test/run").read_text(encoding="utf-8")), "test/run"
    started = {"release-tests": programs("-L", LONG)}
    for name in ("quick", "tsan", "board"):
        started[name] = programs("-R", FILTERS[name])
    bad = 0
    # Files that have another name than their target.
    names = {"pawl": "pawl-tool", "liballoc_count.so": "alloc_count"}
    for preset, files in started.items():
        assert files, f"{preset}: no program found"
        for missing in sorted({names.get(file, file) for file in files} - TARGETS[preset]):
            print(f"CMakePresets.json: {preset} does not build {missing}, which a test of it starts")
            bad = 1
    sys.exit(bad)


main()
