#!/usr/bin/env python3
"""Programs of the armhf build on a booted kernel.

  board_test.py BUILD SCRATCH power_cut [CUTS]   a disk whose power is cut, a setting that may lose, and a disk that lies
  board_test.py BUILD SCRATCH clock              a clock that is years off, set, trusted, and after 2038
  board_test.py BUILD SCRATCH sensors            the sensor gateway reads drivers of the kernel
  board_test.py BUILD SCRATCH energy             what an idle gateway, and ten sensors, cost

CUTS: 3 unless it says more; each kind of cut in turn. PAWL_SEED: another choice of the moments.
"""
import calendar
import os
import re
import shutil
import sys

sys.dont_write_bytecode = True

import block_log  # noqa: E402
from board import Board, BoardError  # noqa: E402

INSTANCES = 120
DISKS_AT_ONCE = 10


def expect(holds, what):
    if not holds:
        raise BoardError(what)


def drive(path, name):
    return ["-drive", f"if=none,id={name},file={path},format=raw", "-device", f"virtio-blk-device,drive={name},serial={name}"]


def logged_drive(path, log, name):
    """Flushes are kept in the log: the files themselves need none."""
    with open(log, "wb"):
        pass
    def node(role, file):
        return ["-blockdev", f"driver=file,node-name={name}-{role},filename={file},cache.no-flush=on"]
    return [*node("files", path), *node("log", log),
            "-blockdev", f"driver=blklogwrites,node-name={name},file={name}-files,log={name}-log",
            "-device", f"virtio-blk-device,drive={name},serial={name},write-cache=on"]


# ---- a cut of the power ---------------------------------------------------------------------------------------------

class Run:
    """A disk on which instances were started until the power failed."""

    def __init__(self, name, folder):
        self.name = name
        self.path = os.path.join(folder, name + ".img")
        self.log_path = os.path.join(folder, name + ".log")
        self.base = block_log.make_disk(self.path)

    def read_log(self, console):
        self.log = block_log.Log(self.log_path, self.base)
        started, ended = self.log.answers(len(self.log.requests))
        for what, known in (("start", started), ("end", ended)):
            printed = {int(number) for number in re.findall(rf"^{what} (\d+)$", console, re.MULTILINE)}
            expect(printed and printed <= known, f"{self.name}: the console knows of more {what}s than the disk's log")


def program(build):
    return os.path.join(build, "test/board/board_program")


def work(build, folder, runs):
    """On each disk in turn, starts instances until the last is acknowledged. Then the power fails."""
    drives = [word for run in runs for word in logged_drive(run.path, run.log_path, run.name)]
    with Board(os.path.join(folder, "work"), [program(build)], drives=drives) as board:
        disks = board.disks()
        for run in runs:
            board.run(f"mount -t ext4 {disks[run.name]}1 /disk")
            more = " normal" if run.name == "normal" else ""
            board.send(f"board_program work /disk/board.db {INSTANCES} {disks[run.name]}2{more}")
            board.wait_for(rf"start {INSTANCES}\n")
            run.console = board.before
            board.wait_for(r"@done 0\n")
            board.run("umount /disk")
    for run in runs:
        run.read_log(run.console)


class Cut:
    """A disk after a cut, and what a client knew then."""

    def __init__(self, run, name, image_and_answers):
        self.run, self.name = run, name
        self.image, (self.started, self.ended) = image_and_answers

    def look(self, board, disk):
        """Has the board look at it."""
        status, output = board.try_run(f"mount -t ext4 {disk}1 /disk && board_program check /disk/board.db {INSTANCES}")
        board.try_run("umount /disk")
        self.output, self.opened = output, status == 0
        there = re.findall(r"^instance (\d+) before=(\w+) right=(\d)$", output, re.MULTILINE)
        self.there = {int(number) for number, _, _ in there}
        self.completed = {int(number) for number, before, _ in there if before == "completed"}
        self.wrong = {int(number) for number, _, right in there if right == "0"}
        self.sound = re.search(r"^findings 0 orphans 0$", output, re.MULTILINE) is not None

    def lost(self):
        return len(self.started - self.there) + len(self.ended - self.completed)

    def describe(self):
        known = len(self.started) + len(self.ended)
        state = ("sound" if self.sound else "damaged") if self.opened else "refused"
        print(f"  {self.name:<40} {known:>4} acknowledged, {self.lost():>4} lost, {len(self.wrong)} wrong, {state}")
        if not self.opened or not self.sound:
            print("    " + " | ".join(line for line in self.output.splitlines() if line)[:300])


def look_at(build, folder, cuts):
    """Boots with the disks as they are after the cuts, several at a time."""
    for first in range(0, len(cuts), DISKS_AT_ONCE):
        some, drives = cuts[first:first + DISKS_AT_ONCE], []
        for i, cut in enumerate(some):
            path = os.path.join(folder, f"cut{i}.img")
            with open(path, "wb") as out:
                out.write(cut.image)
            drives += drive(path, f"cut{i}")
        with Board(os.path.join(folder, "look"), [program(build)], drives=drives) as board:
            disks = board.disks()
            for i, cut in enumerate(some):
                cut.look(board, disks[f"cut{i}"])
                cut.image = None
        for cut in some:
            cut.describe()


def power_cut(build, folder, count):
    full, normal = Run("full", folder), Run("normal", folder)
    work(build, folder, [full, normal])
    chance = block_log.chance_of(int(os.environ.get("PAWL_SEED", "1")))
    modes = ("dropped", "torn", "kept")

    def cuts_of(run, how_many):
        behind = run.log.candidates(10)
        return [Cut(run, f"{run.name}, later writes {mode}, flush {which}", run.log.cut(which, mode, chance))
                for mode, which in ((modes[i % 3], chance.choice(behind)) for i in range(how_many))]

    kept_word = cuts_of(full, count)
    # Where the most was answered between two flushes, and some others.
    widest = max(normal.log.candidates(0), key=lambda which: len(
        {answer for answer in normal.log.requests[normal.log.flushes[which]:normal.log.flushes[which + 1]]
         if answer[0] == "answer"}))
    may_lose = [Cut(normal, f"normal, later writes dropped, flush {widest}", normal.log.cut(widest, "dropped", chance))]
    may_lose += cuts_of(normal, max(1, count // 5))
    behind = full.log.candidates(INSTANCES // 2)
    lies = {order: [Cut(full, f"a lie, {order}, flush {which}",
                        full.log.lie(which, 40, order == "in order", chance))
                    for which in (chance.choice(behind) for _ in range(max(1, count // 5)))]
            for order in ("in order", "out of order")}
    look_at(build, folder, kept_word + may_lose + lies["in order"] + lies["out of order"])

    for cut in kept_word:
        expect(cut.opened and cut.sound and not cut.wrong and cut.lost() == 0, f"{cut.name}:\n{cut.output}")
    # It never tears; that this test sees losses at all is shown here.
    for cut in may_lose:
        expect(cut.opened and cut.sound and not cut.wrong, f"{cut.name}:\n{cut.output}")
    expect(sum(cut.lost() for cut in may_lose) > 0, "no flushes, and nothing lost: this test does not see what it should")
    # An earlier state of the disk: all that was started is there up to some number, and none behind it.
    for cut in lies["in order"]:
        expect(cut.opened and cut.sound and not cut.wrong, f"{cut.name}:\n{cut.output}")
        expect(cut.there == set(range(1, len(cut.there) + 1)), f"{cut.name}: a gap among {sorted(cut.there)}")
    expect(sum(cut.lost() for cut in lies["in order"]) > 0, "a disk that lied, and nothing lost")
    # What opens is right, or the look at its pages says that it is not.
    for cut in lies["out of order"]:
        expect(not cut.opened or not cut.sound or not cut.wrong, f"{cut.name}:\n{cut.output}")
    known = sum(len(cut.started) + len(cut.ended) for cut in kept_word)
    print(f"{len(kept_word)} cuts, {known} acknowledgements, none lost")


# ---- clocks ---------------------------------------------------------------------------------------------------------

def utc(year, month=1, day=1):
    return calendar.timegm((year, month, day, 0, 0, 0))


NAP = r"clock: {} {} boot=(\d+) wall=(\d+)\n"
KEPT = r"clock: kept round=(\d+) epoch=(\d+) claimed=(\d)\n"


def clock_runs(board, rounds):
    """Goes on until the session was used in so many further rounds: it has one owner, who never lost it."""
    for _ in range(rounds):
        number, epoch, claimed = (int(word) for word in board.wait_for(KEPT).groups())
        expect(epoch == 1 and claimed == (1 if number == 1 else 0), f"round {number}: epoch {epoch}, claimed {claimed}")


def clock(build, folder):
    path = os.path.join(folder, "clock.img")
    block_log.make_disk(path)
    start = f"mount -t ext4 /dev/vda1 /disk; board_program clock /disk/clock.db & sleep 0"
    # The battery of the clock was changed: it is years behind.
    with Board(os.path.join(folder, "boot"), [program(build)], drives=drive(path, "clock"),
               more=["-rtc", "base=2016-02-29T12:00:00"]) as board:
        expect("2016" in board.run("date"), "the clock does not begin in 2016")
        board.run(start)
        begun = {ms: int(board.wait_for(NAP.format("begins", ms))[1]) for ms in (4000, 8000)}
        wall = int(board.wait_for(NAP.format("waits for", r"\d+"))[2]) // 1000
        due_ms = int(re.search(r"waits for (\d+) ", board.written)[1])
        clock_runs(board, 2)
        for years, rounds in ((10, 6), (-30, 6), (20, 6)):
            wall += years * 366 * 86400
            board.run(f"board_program wall {wall}")
            clock_runs(board, rounds)
        for ms, began in begun.items():
            ended = find_all(board, NAP.format("ends", ms))
            expect(len(ended) == 1, f"the nap of {ms} ms ended {len(ended)} times")
            expect(int(ended[0][0]) - began >= ms, f"the nap of {ms} ms ended early")
        expect(not find_all(board, r"clock: (ends 3600000|was due)"), "the clock was set, and something was due too early")
        # Now it is the kernel's that says so.
        board.run(f"board_program wall {due_ms // 1000 - 5} synced")
        fired_ms = int(board.wait_for(NAP.format("was due", due_ms))[2])
        expect(fired_ms >= due_ms, f"a timer of {due_ms} fired at {fired_ms}")
        clock_runs(board, 1)
    # Off for two hours: the nap of one hour has ended meanwhile, as the first trusted clock shows.
    with Board(os.path.join(folder, "boot"), [program(build)], drives=drive(path, "clock"),
               more=["-rtc", "base=2016-02-29T12:00:00"]) as board:
        board.run(start)
        board.wait_for(r"clock: kept")
        expect(not find_all(board, NAP.format("ends", 3600000)), "the nap of an hour ended without a clock")
        board.run(f"board_program wall {due_ms // 1000 + 7200} synced")
        board.wait_for(NAP.format("ends", 3600000))
        board.run("kill $!; wait $!")
        # A SQLite with times of 32 bits, among files of 2040.
        board.run(f"board_program wall {utc(2040, 6, 1)}; touch /disk/clock.db /disk/clock.db-wal")
        expect("2040" in board.run("board_program wall $(board_program wall)"), "the clock is not in 2040")


def find_all(board, pattern):
    return [found.groups() for found in re.finditer(pattern, board.written)]


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    build, folder, part = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    try:
        if part == "power_cut":
            power_cut(build, folder, int(sys.argv[4]) if len(sys.argv) > 4 else 3)
        else:
            {"clock": clock, "sensors": sensors, "energy": energy}[part](build, folder)
    except BoardError as error:
        sys.exit(f"{part}: {error}")


main()
