#!/usr/bin/env python3
"""Every public header compiles as the only include of a file, in the modes our users build in.

usage: public_headers.py PROJECT COMPILER...    a compiler that is not installed is skipped, unless it is the first
"""
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys

MODES = [
    ["-std=c++17", "-fno-exceptions", "-fno-rtti"],
    ["-std=c++17", "-fexceptions", "-frtti"],
    ["-std=c++20", "-fexceptions", "-frtti"],
]
# The headers of C, which have an end of their own.
C_MODES = [["-x", "c", "-std=c99"], ["-x", "c", "-std=c17"], ["-x", "c++", "-std=c++17"]]
C_WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-pedantic-errors", "-Wshadow", "-Wconversion", "-Wundef", "-Werror"]
# What careful users compile with; a header of ours must not be the one that breaks their build.
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wsign-conversion", "-Wold-style-cast",
            "-Wnon-virtual-dtor", "-Wundef", "-Werror"]


def main(project, *compilers):
    include = pathlib.Path(project) / "include"
    headers = sorted(path.relative_to(include) for path in include.glob("pawl/**/*.hpp"))
    c_headers = sorted(path.relative_to(include) for path in include.glob("pawl/**/*.h"))
    used = [compilers[0], *(compiler for compiler in compilers[1:] if shutil.which(compiler))]

    def attempt(job):
        compiler, mode, header = job
        # Twice: a header without its guard shows here.
        text = f"#include <{header}>\n#include <{header}>\nint main(void) {{ return 0; }}\n"
        flags = [*C_WARNINGS, *mode] if header.suffix == ".h" else [*mode, *WARNINGS, "-x", "c++"]
        command = [compiler, *flags, "-fsyntax-only", f"-I{include}", "-"]
        run = subprocess.run(command, input=text, capture_output=True, text=True)
        return "" if run.returncode == 0 else f"<{header}> with {compiler} {' '.join(mode)}:\n{run.stderr}"

    jobs = [(compiler, mode, header) for compiler in used for mode in MODES for header in headers]
    jobs += [(compiler, mode, header) for compiler in used for mode in C_MODES for header in c_headers]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [text for text in pool.map(attempt, jobs) if text]
    print("\n".join(failures))
    print(f"{len(headers) + len(c_headers)} headers, {len(jobs)} compilations with {', '.join(used)}, {len(failures)} failed")
    return 1 if failures or not headers or not c_headers else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
