#!/usr/bin/env python3
"""Pawl can be built with musl: its sources take what musl's headers have, and its archives need no symbol that musl's
library lacks.

Debian has musl for C alone, without a C++ library. So the sources that use the system are read with musl's headers and
the C++ headers of the compiler at hand, and not linked.

usage: musl.py PROJECT CXX NM LIBMD ARCHIVE...    LIBMD: the folder of its source
"""
import pathlib
import subprocess
import sys
import tempfile

# What libstdc++ takes for granted of glibc's headers.
AS_GLIBC = ["-D__GLIBC_PREREQ(a,b)=0", "-D__locale_t=locale_t"]
PRELUDE = """#include <bits/c++config.h>
#undef _GLIBCXX_USE_PTHREAD_COND_CLOCKWAIT
#undef _GLIBCXX_USE_PTHREAD_MUTEX_CLOCKLOCK
#undef _GLIBCXX_USE_PTHREAD_RWLOCK_CLOCKLOCK
"""
# musl leaves the kernel's headers to the system, as glibc does.
KERNEL_HEADERS = ["linux", "asm-generic", "asm"]
# Behind macros of glibc's headers, for what musl's headers do without a function.
OF_GLIBC_MACROS = {"gnu_dev_major", "gnu_dev_minor"}
SYSTEM_SOURCES = ["port/posix", "src/parts/host", "src/core"]
# By whom else a symbol may be defined, by its beginning.
OTHERS = ("_Z", "__cxa_", "__gxx_", "__dso_handle", "sqlite3_", "pawl_", "_GLOBAL_OFFSET_TABLE_", "_Unwind_", "__gcov",
          "__asan_", "__ubsan_", "__tsan_", "__stack_chk")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def find_musl(machine):
    include = pathlib.Path("/usr/include") / f"{machine}-linux-musl"
    library = pathlib.Path("/usr/lib") / f"{machine}-linux-musl" / "libc.so"
    return include, library


def make_prelude(folder, target):
    (folder / "prelude.hpp").write_text(PRELUDE)
    for name in KERNEL_HEADERS:
        places = [pathlib.Path("/usr/include") / name, pathlib.Path("/usr/include") / target / name]
        (folder / name).symlink_to(next(place for place in places if place.is_dir()))


def read_sources(project, compiler, include, libmd, folder):
    version = output(compiler, "-dumpversion").strip().split(".")[0]
    target = output(compiler, "-dumpmachine").strip()
    headers = [f"/usr/include/c++/{version}", f"/usr/include/{target}/c++/{version}",
               f"/usr/include/c++/{version}/backward", output(compiler, "-print-file-name=include").strip(), str(include),
               str(folder)]
    make_prelude(folder, target)
    failed = 0
    sources = [source for folder in SYSTEM_SOURCES for source in sorted((project / folder).glob("*.cpp"))]
    for source in sources:
        command = [compiler, "-std=c++17", "-fno-exceptions", "-fno-rtti", "-fsyntax-only", "-nostdinc", "-nostdinc++",
                   *AS_GLIBC, "-include", "prelude.hpp",
                   *(f"-I{project / part}" for part in ("include", "src", "")), f"-I{libmd}/include"]
        command += [word for header in headers for word in ("-isystem", header)]
        done = subprocess.run([*command, str(source)], capture_output=True, text=True)
        if done.returncode != 0:
            failed += 1
            print(f"{source.relative_to(project)}:\n{done.stderr}")
    return len(sources), failed


def missing_symbols(nm, library, archives):
    def names(*arguments):
        lines = output(nm, *arguments).splitlines()
        return {line.split()[-1].split("@")[0] for line in lines if line.strip() and not line.endswith(":")}

    needed, defined = set(), names("--dynamic", "--defined-only", str(library))
    for archive in archives:
        needed |= names("--undefined-only", archive)
        defined |= names("--defined-only", archive)
    return sorted(name for name in needed - defined - OF_GLIBC_MACROS if not name.startswith(OTHERS)), len(needed)


def main(project, compiler, nm, libmd, *archives):
    project = pathlib.Path(project)
    machine = output(compiler, "-dumpmachine").split("-")[0]
    include, library = find_musl(machine)
    if not include.is_dir() or not library.exists():
        print(f"{include} or {library} is missing: ./setup all installs them")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        sources, failed = read_sources(project, compiler, include, libmd, pathlib.Path(folder))
    missing, needed = missing_symbols(nm, library, archives)
    for name in missing:
        print(f"musl has no {name}")
    print(f"{sources} sources, {failed} that musl's headers do not fit; "
          f"{needed} symbols of {len(archives)} archives, {len(missing)} missing")
    return 1 if failed or missing or not sources or not needed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
