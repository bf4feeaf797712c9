#!/usr/bin/env python3
"""Every public function that can say no is documented in one order: what it does; Returns; Requires.

usage: comments_test.py PROJECT

Of include/pawl the functions that answer a status, an error kind, a handle or the end of a function. The comment stands
above the function, or above the group of functions that it is for, with no empty line between. A line that begins with
"Returns" says what comes back; one that begins with "Requires:", if anything is required, says with which error each
violation is answered, and is the last paragraph.
"""
import pathlib
import re
import sys

# What ports implement, and what simulated machines of tests are made of.
NOT_CALLED_BY_APPLICATIONS = {"port.hpp", "port_sim.hpp"}
ANSWERS = r"(?:Status|Result<\w+>|ErrorKind|Handle|Selection|Session|Poll|ActivityResult|ActivityStep|Lease|Host&)"
FUNCTION = re.compile(rf"^(?:  )?(?:inline )?{ANSWERS} (\w+)\(")


def functions(text):
    """(line, name, comment) of every public one."""
    text = re.sub(r"namespace internal \{\n(?:(?:class|struct) (?:\[\[.*\]\] )?\w+;\n)+\}", lambda m: "\n" * m[0].count("\n"), text)
    public, internal, group, in_comment = [True], False, [], False
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"namespace internal \{", line):
            internal = True
        if re.match(r"\}  // namespace internal", line):
            internal = False
        if internal:
            continue
        opening = re.match(r"(?:template <.*> )?(class|struct)\b[^;]*\{$", line)
        if opening:
            public.append(opening[1] == "struct")
        if line.startswith("};") and len(public) > 1:
            public.pop()
        label = re.match(r" (public|private|protected):", line)
        if label:
            public[-1] = label[1] == "public"
        stripped = line.strip()
        if stripped.startswith("//"):
            if not in_comment:
                group = []
            group.append(stripped[2:].strip())
            in_comment = True
            continue
        in_comment = False
        if not stripped:
            group = []
        found = FUNCTION.match(line)
        # A definition behind the class, and a thing of a struct's own, has its comment at the declaration.
        if found and public[-1]:
            yield number, found[1], group


def problem_of(comment):
    if not comment:
        return "has no comment"
    begins = [line.split(" ")[0] for line in comment]
    if "Returns" not in begins:
        return "does not say what it Returns"
    returns = begins.index("Returns")
    if returns == 0 or comment[0].startswith("---") and returns == 1:
        return "does not say what it does, before what it Returns"
    if "Requires:" in begins and begins.index("Requires:") < returns:
        return "says what it Requires before what it Returns"
    return ""


def main(project):
    problems, count = [], 0
    for path in sorted(pathlib.Path(project).glob("include/pawl/**/*.hpp")):
        if path.name in NOT_CALLED_BY_APPLICATIONS:
            continue
        for number, name, comment in functions(path.read_text(encoding="utf-8")):
            count += 1
            text = problem_of(comment)
            if text:
                problems.append(f"include/pawl/{path.name}:{number}: {name}() {text}")
    print("\n".join(problems))
    print(f"{count} functions, {len(problems)} problems")
    return 1 if problems or count < 100 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
