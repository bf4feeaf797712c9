#!/usr/bin/env python3
"""The count at the end of ./test/run, for each way in which a test, a build or a step ends.

usage: results_test.py PROJECT CTEST
"""
import pathlib
import subprocess
import sys
import tempfile

PROJECT, CTEST = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
# (name, command, properties)
TESTS = [
    ("passes", "true", ""),
    ("passes_too", "true", ""),
    ("fails", "sh -c 'echo the words; exit 3'", ""),
    ("late", "sleep 60", "TIMEOUT 1"),
    ("not_built", "/nowhere/program", ""),
    ("set_up", "false", "FIXTURES_SETUP place"),
    ("needs_it", "true", "FIXTURES_REQUIRED place"),
    ("disabled", "true", "DISABLED ON"),
    ("skipped_by_status", "sh -c 'exit 77'", "SKIP_RETURN_CODE 77"),
    ("skipped_by_words", "echo SKIPPED", "SKIP_REGULAR_EXPRESSION SKIPPED"),
]
FAILED = {"fails", "late", "not_built", "set_up", "needs_it"}
COUNT = "2 passed, 5 failed, 3 skipped"


def words_of(command):
    head, quote, rest = command.partition(" '")
    return [*head.split(), *([rest.rstrip("'")] if quote else [])]


def results(*words):
    return subprocess.run([sys.executable, "-B", PROJECT / "test/results.py", *words], check=True, capture_output=True, text=True).stdout


def main():
    problems = []

    def expect(holds, what):
        if not holds:
            problems.append(what)

    with tempfile.TemporaryDirectory() as folder:
        listing = ""
        for name, command, properties in TESTS:
            quoted = " ".join(f"[[{word}]]" for word in words_of(command))
            listing += f"add_test({name} {quoted})\n"
            listing += f"set_tests_properties({name} PROPERTIES {properties})\n" if properties else ""
        pathlib.Path(folder, "CTestTestfile.cmake").write_text(listing, encoding="utf-8")
        subprocess.run([CTEST, "--test-dir", folder, "--output-junit", "results.xml"], check=False, capture_output=True)
        path = f"{folder}/results.xml"
        said = results("native", "FAILED", path)
        expect(said.splitlines()[-1] == COUNT, f"the count is {said.splitlines()[-1]!r}, and not {COUNT!r}")
        shown = {line.split(": ")[1] for line in said.splitlines() if line.startswith("--- native: ")}
        expect(shown == FAILED, f"shown as failed: {sorted(shown)}")
        expect("the words" in said, "what a failed test printed is not shown")
        # Steps without tests, a build that failed, and tests that all passed in a step that did not.
        expect(results("format", "ok", "-", "clang", "FAILED", "-", "release", "FAILED", f"{folder}/none.xml") ==
               "1 passed, 2 failed, 0 skipped\n", "steps without tests are not one each")
        pathlib.Path(path).write_text('<testsuite><testcase name="a" status="run"/></testsuite>', encoding="utf-8")
        expect(results("native", "FAILED", path) == "1 passed, 1 failed, 0 skipped\n", "a failed step without a failed test is no failure")
    print("\n".join(problems) or "each end is counted")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
