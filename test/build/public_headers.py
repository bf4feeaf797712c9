#!/usr/bin/env python3
"""Every public header compiles as the only include of a file, in the modes our users build in.

usage: public_headers.py first|rest PROJECT COMPILER...    a compiler that is not installed is skipped, unless it is the first

Each header alone in the first mode of its language, and all of them in one file in the other modes: with the first compiler, or with
the rest of them. With PAWL_SOAK, the rest is each header alone in each mode with each compiler.
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



def text_of(headers):
    """Each twice: a header without its guard shows here."""
    return "".join(f"#include <{header}>\n" * 2 for header in headers) + "int main(void) { return 0; }\n"


def jobs_of(part, compilers, modes, headers):
    """(compiler, mode, headers of one file)"""
    if part == "rest" and os.environ.get("PAWL_SOAK"):
        return [(compiler, mode, [header]) for compiler in compilers for mode in modes for header in headers]
    return [job for compiler in (compilers[:1] if part == "first" else compilers[1:])
            for job in [*((compiler, modes[0], [header]) for header in headers), *((compiler, mode, headers) for mode in modes[1:])]]


def main(part, project, *compilers):
    include = pathlib.Path(project) / "include"
    headers = sorted(path.relative_to(include) for path in include.glob("pawl/**/*.hpp"))
    c_headers = sorted(path.relative_to(include) for path in include.glob("pawl/**/*.h"))
    used = [compilers[0], *(compiler for compiler in compilers[1:] if shutil.which(compiler))]

    def attempt(job):
        compiler, mode, together = job
        flags = [*C_WARNINGS, *mode] if together[0].suffix == ".h" else [*mode, *WARNINGS, "-x", "c++"]
        command = [compiler, *flags, "-fsyntax-only", f"-I{include}", "-"]
        run = subprocess.run(command, input=text_of(together), capture_output=True, text=True)
        names = " ".join(f"<{header}>" for header in together)
        return "" if run.returncode == 0 else f"{names} with {compiler} {' '.join(mode)}:\n{run.stderr}"

    jobs = jobs_of(part, used, MODES, headers) + jobs_of(part, used, C_MODES, c_headers)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [text for text in pool.map(attempt, jobs) if text]
    print("\n".join(failures))
    print(f"{len(headers) + len(c_headers)} headers, {len(jobs)} compilations with {', '.join(used)}, {len(failures)} failed")
    return 1 if failures or not headers or not c_headers else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
