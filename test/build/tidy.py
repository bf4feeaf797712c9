#!/usr/bin/env python3
"""Runs clang-tidy over sources, and over one that has passed only when something it depends on has changed.

usage: tidy.py PROJECT BUILD KEPT SOURCE...    SOURCE is relative to PROJECT; BUILD has a compile_commands.json

What a source depends on is the content of all files it includes, its command, .clang-tidy and the tool's version, but not the folder
of the project: a clean clone finds what another one passed. The folder KEPT has an empty file of a month for each.
"""
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

KEPT_S = 30 * 24 * 3600
OPTIONS = ["--quiet", "--extra-arg=-Wno-unknown-warning-option"]
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

    def key(self, source):
        """The name of all that the answer depends on, or None if the preprocessor finds an error, which is clang-tidy's to tell."""
        entry = self.commands[source]
        command = shlex.split(entry["command"])
        # The same parser as clang-tidy's: what it includes may differ from gcc's.
        flags = [word for word in command[1:command.index("-o")] if word != "-c"]
        ran = subprocess.run(["clang++", *flags, "-M", "-MT", "x", entry["file"]], cwd=entry["directory"],
                             capture_output=True, text=True)
        if ran.returncode != 0:
            return None
        text = hashlib.sha256("\n".join([*self.common, *command]).replace(str(self.project), ".").encode())
        for name in ran.stdout.replace("\\\n", " ").split()[1:]:
            path = (pathlib.Path(entry["directory"]) / name).resolve()
            text.update(f"{str(path).replace(str(self.project), '.')} {digest_of_file(path)}\n".encode())
        return text.hexdigest()

    def look(self, source):
        """(status, text)"""
        key = self.key(source)
        if key and (self.passed / key).exists():
            (self.passed / key).touch()
            return 0, ""
        ran = subprocess.run(["clang-tidy", "-p", self.build, *OPTIONS, source], cwd=self.project,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        said = "".join(line for line in ran.stdout.splitlines(True) if not line.rstrip().endswith("generated."))
        # A warning that does not count as an error is told again.
        if key and ran.returncode == 0 and not said:
            (self.passed / key).touch()
        return ran.returncode, said


def main(project, build, kept, *sources):
    tidy = Tidy(project, build, kept)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for status, text in pool.map(tidy.look, sources):
            failed |= status != 0
            print(text, end="", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
