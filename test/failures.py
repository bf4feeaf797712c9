#!/usr/bin/env python3
"""The tests that failed, each with the end of what it printed, from the results that ctest wrote.

  failures.py RESULTS...    JUnit files; one that is missing has no failure
"""

import os
import sys
import xml.etree.ElementTree

LINES = 25

for path in filter(os.path.exists, sys.argv[1:]):
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        failure = case.find("failure")
        if failure is None:
            continue
        print(f"\n--- {path}: {case.get('name')}: {failure.get('message') or 'failed'}")
        print("\n".join((case.findtext("system-out") or "").splitlines()[-LINES:]))
