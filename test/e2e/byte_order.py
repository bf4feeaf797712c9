#!/usr/bin/env python3
"""A database goes from a machine of one byte order to one of the other, and its instances end there: both ways.

usage: byte_order.py NATIVE_BUILD BOARD_BUILD EMULATOR [ARGUMENT...]

The board's programs run under the emulator. The golden database of each is read by the other, and README's hello is begun by
one, killed, and ended by the other.
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

NATIVE, BOARD = (pathlib.Path(folder).resolve() for folder in sys.argv[1:3])
EMULATOR = sys.argv[3:]
GOLDEN = pathlib.Path("test/store/golden")
HELLO = pathlib.Path("examples/hello/hello")
failed = []


def expect(condition, text):
    print(f"{'ok' if condition else 'FAILED'}: {text}")
    if not condition:
        failed.append(text)


def byte_order(program):
    with open(program, "rb") as file:
        return {1: "little", 2: "big"}[file.read(6)[5]]


def golden(writer, reader, folder):
    database = folder / "golden.db"
    database.unlink(missing_ok=True)
    made = subprocess.run([*writer[1], writer[0] / GOLDEN / "golden_generate", database], capture_output=True, text=True)
    expect(made.returncode == 0, f"a golden database is made by {writer[0].name}{made.stdout if made.returncode else ''}")
    # The other test of a kept file is about one that an earlier Pawl made.
    read = subprocess.run([*reader[1], reader[0] / GOLDEN / "golden_test", "--gtest_filter=Golden.KeptFile_OpensAndAllEndsRight"],
                          capture_output=True, text=True, cwd=folder, env={**os.environ, "PAWL_GOLDEN_DATABASE": str(database)})
    expect(read.returncode == 0, f"and read by {reader[0].name}{read.stdout if read.returncode else ''}")


def hello(first, second, folder):
    for old in folder.glob("hello.db*"):
        subprocess.run(["rm", "-rf", old], check=True)
    with subprocess.Popen([*first[1], first[0] / HELLO], cwd=folder, stdout=subprocess.PIPE, text=True) as begun:
        said = begun.stdout.readline()
        begun.send_signal(signal.SIGKILL)
    expect(said == "hello\n", f"{first[0].name} says hello and dies")
    goodbye = "goodbye, two seconds later\n"
    ended = subprocess.run([*second[1], second[0] / HELLO], cwd=folder, capture_output=True, text=True, timeout=60)
    # The kill may have come before the first result was committed; then that activity runs again.
    expect(ended.returncode == 0 and ended.stdout in (goodbye, "hello\n" + goodbye),
           f"{second[0].name} goes on with {ended.stdout!r}")


def main():
    native, board = (NATIVE, []), (BOARD, EMULATOR)
    orders = [byte_order(build / HELLO) for build in (NATIVE, BOARD)]
    expect(orders[0] != orders[1], f"the byte orders are {orders}")
    with tempfile.TemporaryDirectory() as scratch:
        for one, other in ((native, board), (board, native)):
            golden(one, other, pathlib.Path(scratch))
            hello(one, other, pathlib.Path(scratch))
    print(f"{len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
