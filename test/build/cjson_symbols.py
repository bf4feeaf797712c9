#!/usr/bin/env python3
"""Our copies of cJSON and libmd have names of their own, and none of cJSON's leaves an executable.

usage: cjson_symbols.py NM CODEC CORE EXECUTABLE
"""
import subprocess
import sys


def main(nm, codec, core, executable):
    def symbols(*arguments):
        lines = subprocess.run([nm, *arguments], check=True, capture_output=True, text=True).stdout.splitlines()
        return {line.split()[-1] for line in lines if len(line.split()) > 1}

    defined = symbols("--defined-only", "--extern-only", codec)
    hashes = symbols("--defined-only", "--extern-only", core)
    exported = symbols("--dynamic", "--defined-only", executable)
    needed = symbols("--dynamic", "--undefined-only", executable)
    checks = {
        "the archive has our copy": "pawl_cJSON_Parse" in defined,
        "under no name of cJSON": not {name for name in defined if name.startswith("cJSON_")},
        "and that of libmd, under no name of libmd": "pawl_SHA256Init" in hashes and not {name for name in hashes if name.startswith("SHA")},
        "the executable exports its symbols": "main" in exported,
        "but nothing of our copy": not {name for name in exported if "cJSON_" in name},
        "and takes cJSON from the shared library": "cJSON_Parse" in needed,
    }
    for what, holds in checks.items():
        print("ok    " if holds else "FAILED", what)
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
