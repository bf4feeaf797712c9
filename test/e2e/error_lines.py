"""The net of the C++ tests (testing/announced.cpp) for tests in Python: an error in the log of a process that a test started, and did
not announce, fails it."""
import collections
import re

LINE = re.compile(r'^(?:\S+Z )?error (\w+)(?: |$)|^\{.*"level":"error","event":"(\w+)"')


def unexpected(text, announced):
    """What differs from `announced`, event -> (least, most), as texts."""
    lines = collections.defaultdict(list)
    for line in text.splitlines():
        found = LINE.match(line)
        if found:
            lines[found[1] or found[2]].append(line)
    problems = [f"{event}: {len(lines[event])} in the log, at least {least} were announced"
                for event, (least, _) in announced.items() if len(lines[event]) < least]
    return problems + [f"{event}: {len(of)} in the log, {announced.get(event, (0, 0))[1]} were announced: {of[0]}"
                       for event, of in lines.items() if len(of) > announced.get(event, (0, 0))[1]]
