#!/usr/bin/env python3
"""Runs clang-tidy over sources, several at a time, and over those that have passed only when something they depend on has changed.

usage: tidy.py PROJECT BUILD KEPT SOURCE...    SOURCE is relative to PROJECT; BUILD has a compile_commands.json

Most of the time goes into headers, so sources with the same command that define no name twice are looked at in one file that
includes them, in a third of the time. What they depend on is the content of all files they include, their command, .clang-tidy and the
tool's version, but not the folder of the project: a clean clone finds what another one passed. The folder KEPT has an empty file of a
month for each.
"""
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time
import types

import batches

MEMBER = re.compile(r"^[^=(]*\b\w+::~?\w+\(")  # a function of a class, whose name is the class's
KEPT_S = 30 * 24 * 3600
# The analyser would pass functions over that are not in the file it is given.
OPTIONS = ["--quiet", *(f"--extra-arg={word}" for word in ("-Wno-unknown-warning-option", "-Xclang", "-analyzer-opt-analyze-headers"))]
# The analyser takes five sixths of the time, and most of that for the last of its paths: --soak walks them all.
if not os.environ.get("PAWL_SOAK"):
    OPTIONS += [f"--extra-arg={word}" for word in ("-Xclang", "-analyzer-config", "-Xclang", "mode=shallow")]


@functools.lru_cache(maxsize=None)
def digest_of_file(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


class Tidy:
    def __init__(self, project, build, kept):
        self.project, self.build = pathlib.Path(project).resolve(), pathlib.Path(build).resolve()
        self.commands = {str(pathlib.Path(entry["file"]).relative_to(self.project)): entry for entry in
                         json.loads((self.build / "compile_commands.json").read_text())
                         if pathlib.Path(entry["file"]).is_relative_to(self.project)}
        version = subprocess.run(["clang-tidy", "--version"], capture_output=True, text=True, check=True).stdout
        self.common = [version, digest_of_file(self.project / ".clang-tidy"), *OPTIONS]
        self.passed = pathlib.Path(kept) / "clang-tidy"
        self.passed.mkdir(parents=True, exist_ok=True)
        for path in self.passed.iterdir():
            if path.stat().st_mtime < time.time() - KEPT_S:
                path.unlink(missing_ok=True)

    def groups(self, sources):
        """Sources with the same command that define no name twice."""
        found = []
        for source in sources:
            lines = (self.project / source).read_text(encoding="utf-8").splitlines()
            names = batches.names_of("\n".join(line for line in lines if not MEMBER.search(line)))
            flags = self.flags(source)
            for group in found:
                if group.flags == flags and group.lines + len(lines) <= batches.LINES_MAX and not group.names & names:
                    break
            else:
                group = types.SimpleNamespace(flags=flags, sources=[], lines=0, names=set())
                found.append(group)
            group.sources.append(source)
            group.lines += len(lines)
            group.names |= names
        return found

    def write(self, sources):
        """The file of each group, and compile_commands.json beside them."""
        self.folder = self.build / "tidy"
        self.folder.mkdir(exist_ok=True)
        groups = self.groups(sources)
        # A group that does not compile is looked at source by source, so these have a file, too.
        self.alone = {source: types.SimpleNamespace(flags=group.flags, sources=[source]) for group in groups for source in group.sources}
        entries = []
        for number, group in enumerate([*groups, *self.alone.values()]):
            group.path = self.folder / f"{number}.cpp"
            group.path.write_text("".join(
                f'#include "{os.path.relpath(self.project / source, self.folder)}"  // NOLINT(bugprone-suspicious-include)\n'
                for source in group.sources), encoding="utf-8")
            entries.append({"directory": group.flags[0], "file": str(group.path), "command": shlex.join([*group.flags[1:], str(group.path)])})
        (self.folder / "compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")
        return groups

    def flags(self, source):
        """The folder and the words of a source's command that it has in common with others."""
        entry = self.commands[source]
        command = shlex.split(entry["command"])
        return entry["directory"], *(word for word in command[:command.index("-o")] if word != "-c")

    def key(self, group):
        """The name of all that the answer depends on, or None if the preprocessor finds an error, which is clang-tidy's to tell."""
        # The same parser as clang-tidy's: what it includes may differ from gcc's.
        ran = subprocess.run(["clang++", *group.flags[2:], str(group.path), "-M", "-MT", "x"], cwd=group.flags[0],
                             capture_output=True, text=True)
        if ran.returncode != 0:
            return None
        text = hashlib.sha256("\n".join([*self.common, *group.flags]).replace(str(self.project), ".").encode())
        for name in ran.stdout.replace("\\\n", " ").split()[1:]:
            path = (pathlib.Path(group.flags[0]) / name).resolve()
            known = "" if path == group.path else str(path).replace(str(self.project), ".")
            text.update(f"{known} {digest_of_file(path)}\n".encode())
        return text.hexdigest()

    def look(self, group):
        """(status, text)"""
        key = self.key(group)
        if key and (self.passed / key).exists():
            (self.passed / key).touch()
            return 0, ""
        ran = subprocess.run(["clang-tidy", "-p", self.folder, f"--config-file={self.project}/.clang-tidy", *OPTIONS, group.path],
                             cwd=self.project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        said = "".join(line for line in ran.stdout.splitlines(True) if not line.rstrip().endswith("generated."))
        if len(group.sources) > 1 and "[clang-diagnostic-" in said:
            answers = [self.look(self.alone[source]) for source in group.sources]
            return max(status for status, _ in answers), "".join(text for _, text in answers)
        # A warning that does not count as an error is told again.
        if key and ran.returncode == 0 and not said:
            (self.passed / key).touch()
        return ran.returncode, said


def main(project, build, kept, *sources):
    tidy = Tidy(project, build, kept)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for status, text in pool.map(tidy.look, tidy.write(sources)):
            failed |= status != 0
            print(text, end="", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
