#!/usr/bin/env python3
"""What tests and steps came to: the tests that failed, each with the end of what it printed, and one line that counts.

  results.py STEP ok|FAILED [RESULTS]...    a step with the JUnit file that ctest wrote, or - where it has none

A step without tests counts as one. So does one that failed and none of whose tests did, as when its build fails. A test that could
not be started or that needs what failed before has failed. Only one that says that it does not apply here is skipped.
"""
import os
import sys
import xml.etree.ElementTree

LINES = 25
# By SKIP_RETURN_CODE and SKIP_REGULAR_EXPRESSION.
SAYS_SO = "SKIP_"


def outcomes(path):
    """(name, passed|failed|skipped, why, output) of each test."""
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        reason = {kind: found.get("message") or kind for kind in ("failure", "skipped")
                  for found in [case.find(kind)] if found is not None}
        if not reason and case.get("status") == "run":
            yield case.get("name"), "passed", "", ""
        elif case.get("status") == "disabled" or reason.get("skipped", "").startswith(SAYS_SO):
            yield case.get("name"), "skipped", "", ""
        else:
            why = "".join(reason.values()) or case.get("status")
            yield case.get("name"), "failed", why, case.findtext("system-out") or ""


def count_step(name, result, path, counts):
    of_step = dict.fromkeys(counts, 0)
    if path != "-" and os.path.exists(path):
        for test, outcome, why, output in outcomes(path):
            of_step[outcome] += 1
            if outcome == "failed":
                print(f"\n--- {name}: {test}: {why}")
                print("\n".join(output.splitlines()[-LINES:]))
    if result != "ok" and of_step["failed"] == 0:
        of_step["failed"] = 1
    elif not any(of_step.values()):
        of_step["passed"] = 1
    for outcome, number in of_step.items():
        counts[outcome] += number


def main(*words):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for at in range(0, len(words), 3):
        count_step(*words[at:at + 3], counts)
    print(", ".join(f"{number} {outcome}" for outcome, number in counts.items()))


if __name__ == "__main__":
    main(*sys.argv[1:])
