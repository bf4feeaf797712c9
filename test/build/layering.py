#!/usr/bin/env python3
"""The arrows between the layers: what a layer may include compiles, what it may not does not.

usage: layering.py PROJECT INCLUDE_SETS COMPILER

The arrows stand here once more and are not read from CMake: a link added there must be added here, on purpose.
"""
import pathlib
import re
import subprocess
import sys

# Layer: the layers that its sources may include, beside the public headers.
LAYERS = {
    "core": set(),
    "codec": {"core"},
    "replay": {"codec"},
    "rules": {"codec"},
    "store": {"rules"},
    "runtime": {"replay", "rules", "store"},
    "postgres": {"store", "fleet_rules"},
    "fleet_rules": {"core"},
}
ARROWS = {
    **LAYERS,
    # Parts and programs stand on the public headers, as an application does.
    "fields": set(),
    "export": {"fields"},
    "schedule": set(),
    "host": set(),
    "c_api": {"host"},
    "endpoint": {"fields"},
    "testing": {"port_sim"},
    "programs": set(),
    "tool": {"fields", "programs"},
    "pawld_parts": {"programs"},
    # Ports.
    "port_posix": set(),
    "port_sim": set(),
    "port_template": set(),
}
FOLDERS = [("src/store/sqlite", "engine"), ("src/store/postgres", "postgres"), ("src/store", "store"), ("src/core", "core"), ("src/codec", "codec"),
           ("src/replay", "replay"), ("src/runtime", "runtime"), ("src/apps/common", "programs"), ("src/apps/pawl", "tool"),
           ("src/apps/pawld", "pawld_parts"), ("port/posix", "port_posix"), ("port/sim", "port_sim"),
           ("port/template", "port_template"), ("port/bare_metal", "port_bare_metal"),
           *((f"src/parts/{part}", part) for part in ("fields", "export", "schedule", "host", "c_api", "endpoint", "testing"))]


def layer_of(path):
    if path.startswith("src/store/") and re.search(r"_rules\.[ch]pp$", path):
        return "fleet_rules" if path.startswith("src/store/postgres/") else "rules"
    return next(layer for folder, layer in FOLDERS if path.startswith(folder + "/"))


def reachable(layer):
    seen = {layer}
    for other in ARROWS[layer]:
        seen |= reachable(other)
    return seen


def main(project, include_sets, compiler):
    project = pathlib.Path(project)
    problems = []
    sources = sorted(str(path.relative_to(project)) for folder in ("src", "port") for path in (project / folder).rglob("*.[ch]pp"))
    # An include carries the path from src/, or from the project.
    names = {path.removeprefix("src/"): layer_of(path) for path in sources if path.endswith(".hpp")}

    def compiles(folders, text):
        flags = [f"-I{folder}" for folder in folders]
        run = subprocess.run([compiler, "-std=c++17", "-fsyntax-only", *flags, "-x", "c++", "-"],
                             input=text, capture_output=True, text=True)
        return run.returncode == 0, run.stderr

    sets = dict(line.split("|") for line in pathlib.Path(include_sets).read_text().splitlines())
    sets = {layer: [folder for folder in folders.split(";") if folder] for layer, folders in sets.items()}
    checked = 0
    for layer, include_set in sorted(sets.items()):
        allowed = reachable(layer)
        text = []
        for name, owner in names.items():
            if owner == "engine" and layer == "store":
                continue  # its sources include the engine; what follows says who else may
            may = owner in allowed
            text += [f'#if {"!" if may else ""}__has_include("{name}")',
                     f"#error {layer} {'does not reach' if may else 'reaches'} {name} of {owner}", "#endif"]
            checked += 1
        good, errors = compiles(include_set, "\n".join(text) + "\n")
        if not good:
            problems += re.findall(r"#error (.*)", errors) or [errors]

    # The same once as an engineer would meet it, and its control: a rule compiles in the storage and not in the engine of replay.
    rule = next(name for name, layer in names.items() if layer == "rules")
    line = f'#include "{rule}"\n'
    good, errors = compiles(sets["store"], line)
    if not good:
        problems.append(f"the store cannot include {rule}:\n{errors}")
    good, errors = compiles(sets["replay"], line)
    if good or rule not in errors:
        problems.append(f"the engine can include {rule}")

    # Each line says which layer it looks into; a path with dots leads anywhere.
    formatter = "port/bare_metal/qemu/formats.cpp"  # of texts alone: it opens no database
    own = re.compile(r"pawl/[\w.]+|[\w]+/[\w/.]+")
    for path in sources:
        text = (project / path).read_text()
        for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.M):
            checked += 1
            if ".." in name or not own.fullmatch(name) or not (name.startswith("pawl/") or name in names):
                problems.append(f'{path} includes "{name}", which is no path from src/')
            elif layer_of(path) == "rules" and names.get(name) == "store":
                problems.append(f"{path} is a rule and includes {name}")
            elif names.get(name) == "engine" and not path.startswith("src/store/sqlite/"):
                problems.append(f"{path} includes the engine")
        if not path.startswith("src/store/sqlite/") and path != formatter and re.search(r'#\s*include\s*[<"]sqlite3', text):
            problems.append(f"{path} includes sqlite3.h")

    for problem in problems:
        print(problem)
    print(f"{checked} pairs of layer and header checked, {len(problems)} problems")
    return 1 if problems or not checked else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
