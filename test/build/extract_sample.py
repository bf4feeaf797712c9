#!/usr/bin/env python3
"""Takes the block marked ```cpp run NAME, or ```c run NAME, out of a page, so that it can be compiled and run.

usage: extract_sample.py PAGE NAME OUTPUT
"""
import pathlib
import re
import sys


def main(page, name, output):
    text = pathlib.Path(page).read_text(encoding="utf-8")
    found = re.search(rf"^```(?:cpp|c) run {re.escape(name)}\n(.*?)^```$", text, re.M | re.S)
    if not found:
        return f"{page}: no block \"cpp run {name}\" or \"c run {name}\""
    line = text.count("\n", 0, found.start(1)) + 1
    pathlib.Path(output).write_text(f'#line {line} "{page}"\n{found[1]}', encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
