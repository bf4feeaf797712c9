#!/usr/bin/env python3
"""The arrows between the layers: what a layer may include compiles, what it may not does not.

usage: layering.py PROJECT INCLUDE_SETS COMPILER

The arrows stand here once more and are not read from CMake: a link added there must be added here, on purpose.
"""
import collections
import pathlib
import re
import subprocess
import sys

ARROWS = {
    "core": set(),
    "codec": {"core"},
    "replay": {"codec"},
    "session": {"codec"},
    "store": {"session"},
    "runtime": {"replay", "session", "store"},
}


def reachable(layer):
    seen = {layer}
    for other in ARROWS[layer]:
        seen |= reachable(other)
    return seen


def main(project, include_sets, compiler):
    project = pathlib.Path(project)
    problems = []

    def headers(folder):
        return sorted(project.glob(f"{folder}/**/*.hpp"))

    def compiles(folders, text):
        flags = [f"-I{folder}" for folder in folders]
        run = subprocess.run([compiler, "-std=c++17", "-fsyntax-only", *flags, "-x", "c++", "-"],
                             input=text, capture_output=True, text=True)
        return run.returncode == 0, run.stderr

    sets = dict(line.split("|") for line in pathlib.Path(include_sets).read_text().splitlines())
    sets = {layer: folders.split(";") for layer, folders in sets.items()}
    folders = {layer: f"src/{layer}" for layer in sets} | {"port/posix": "port/posix", "port/sim": "port/sim"}

    # Headers are included by their bare name, so a name may exist once only.
    places = collections.defaultdict(list)
    for path in [*headers("src"), *headers("port")]:
        places[path.name].append(str(path.relative_to(project)))
    problems += [f"one name, two headers: {', '.join(paths)}" for paths in places.values() if len(paths) > 1]

    checked = 0
    for layer, include_set in sorted(sets.items()):
        allowed = reachable(layer)
        text = []
        for other, folder in folders.items():
            for header in headers(folder):
                # A header in a subfolder (store/sqlite) has two names.
                for name in {header.name, str(header.relative_to(project / folder))}:
                    if other not in allowed:
                        text += [f'#if __has_include("{name}")', f'#error {layer} reaches {name} of {other}', "#endif"]
                        checked += 1
            if other in allowed:
                for header in sorted((project / folder).glob("*.hpp")):
                    text += [f'#if !__has_include("{header.name}")',
                             f'#error {layer} does not reach {header.name} of {other}', "#endif"]
                    checked += 1
        good, errors = compiles(include_set, "\n".join(text) + "\n")
        if not good:
            problems += re.findall(r"#error (.*)", errors) or [errors]

    # The same once as an engineer would meet it, and its control: a header of the session compiles in the store
    # and does not in the engine.
    for header in headers("src/session")[:1]:
        line = f'#include "{header.name}"\n'
        good, errors = compiles(sets["store"], line)
        if not good:
            problems.append(f"the store cannot include {header.name}:\n{errors}")
        good, errors = compiles(sets["replay"], line)
        if good or header.name not in errors:
            problems.append(f"the engine can include {header.name}")
        checked += 2

    # The engine is below the tables: neither a file above it names it, nor does a header lead to it.
    engine = project / "src/store/sqlite"
    above = [path for path in project.glob("src/**/*.[ch]pp") if engine not in path.parents]
    above += [*project.glob("include/**/*.hpp"), *project.glob("port/**/*.[ch]pp")]
    formatter = project / "port/bare_metal/mps2/formats.cpp"  # of texts alone: it opens no database
    for path in above:
        if path != formatter and re.search(r'^\s*#\s*include\s*["<](sqlite3\.h|(?:store/)?sqlite/)', path.read_text(), re.M):
            problems.append(f"{path.relative_to(project)} includes the engine")
    tables = "".join(f'#include "{path.relative_to(project / "src/store")}"\n'
                     for path in headers("src/store") if engine not in path.parents)
    flags = [f"-I{folder}" for folder in sets["store"] if not folder.endswith("/sqlite")]
    run = subprocess.run([compiler, "-std=c++17", "-M", *flags, "-x", "c++", "-"], input=tables, capture_output=True,
                         text=True)
    if run.returncode != 0 or "sqlite3.h" in run.stdout or "store/sqlite/" in run.stdout:
        problems.append(f"a header of the tables leads to the engine: {run.stderr or 'sqlite3.h'}")
    checked += len(above)

    # A path with dots leads anywhere.
    for path in [*project.glob("src/**/*.[ch]pp"), *project.glob("include/**/*.hpp")]:
        if re.search(r'^\s*#\s*include\s*["<][^">]*\.\./', path.read_text(), re.M):
            problems.append(f"{path.relative_to(project)} includes by a path with ..")

    for problem in problems:
        print(problem)
    print(f"{checked} pairs of layer and header checked, {len(problems)} problems")
    return 1 if problems or not checked else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
