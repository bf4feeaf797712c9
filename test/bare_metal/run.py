#!/usr/bin/env python3
"""Programs of a board without an operating system, under QEMU.

usage: run.py PROGRAM FOLDER RESULT CUTS EMULATOR...

Runs PROGRAM on an empty flash, and again on what that left. Then, CUTS times, on an empty flash whose power goes at
operations spread over those of the first run, and without cuts until it ends. Each must end with the line RESULT.
"""
import pathlib
import re
import subprocess
import sys

POWER_CUT = 42  # the exit status of FileFlash, which makes its file itself
CHIP_BYTES = 32 * 1024 * 1024  # of a flash that the emulator has
# With a counter of instructions for a clock: a sleep takes no time, and each run is like the one before.
OPTIONS = ["-nographic", "-monitor", "none", "-serial", "null", "-nic", "none",
           "-icount", "shift=5,sleep=off"]


def run(emulator, program, folder, arguments=""):
    semihosting = f"enable=on,target=native,arg=program,arg={arguments}"
    done = subprocess.run([*emulator, program, *OPTIONS, "-semihosting-config", semihosting],
                          cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def main(program, folder, result, cuts, emulator):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    flash = folder / "flash.bin"
    problems = []

    def expect_end(what, arguments=""):
        status, output = run(emulator, program, folder, arguments)
        if status != 0 or result not in output.splitlines():
            problems.append(f"{what}: status {status}\n{output}")
        return output

    def erase():
        flash.unlink(missing_ok=True)
        if any(word.endswith("file=flash.bin") for word in emulator):
            flash.write_bytes(b"\xff" * CHIP_BYTES)

    erase()
    output = expect_end("first run")
    print(output)
    expect_end("second run")
    found = re.search(r"flash: (\d+) operations", output)
    operations = int(found.group(1)) if found else 0
    were_cut = 0
    for cut in range(cuts):
        erase()
        at = 1 + operations * cut // cuts
        status, output = run(emulator, program, folder, f"cut={at}")
        were_cut += status == POWER_CUT
        # The next boot is cut, too, at another place.
        status_again, _ = run(emulator, program, folder, f"cut={1 + 7 * cut}")
        if status not in (0, POWER_CUT) or status_again not in (0, POWER_CUT):
            problems.append(f"cut at {at}: status {status}, then {status_again}\n{output}")
        expect_end(f"after a cut at {at}")
    print(f"{were_cut} power cuts")
    if were_cut < cuts * 3 // 4:
        problems.append(f"only {were_cut} of {cuts} runs were cut")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4], int(sys.argv[4]), sys.argv[5:]))
