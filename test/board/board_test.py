#!/usr/bin/env python3
"""Programs of the armhf build on a booted kernel.

  board_test.py BUILD SCRATCH power_cut [CUTS]   a disk whose power is cut, a setting that may lose, and a disk that lies, with
                                                 ext4 and with f2fs
  board_test.py BUILD SCRATCH card [INSTANCES]   what reaches the disk of what Pawl writes, by file system and its options
  board_test.py BUILD SCRATCH clock              a clock that is years off, set, trusted, and after 2038
  board_test.py BUILD SCRATCH sensors            the sensor gateway reads drivers of the kernel
  board_test.py BUILD SCRATCH energy [SECONDS]   what an idle gateway, and ten sensors, cost; and what is resident, held to footprint.txt
  board_test.py BUILD SCRATCH resident           what of programs is resident, into SCRATCH/resident.json

CUTS: 3 unless it says more; each kind of cut in turn. INSTANCES: 30 unless it says more. SECONDS: 3 unless it says more. PAWL_SEED: another choice of the moments.
"""
import calendar
import json
import os
import re
import shutil
import socket
import sys

sys.dont_write_bytecode = True

sys.path.insert(1, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bench"))

import block_log  # noqa: E402
import footprint  # noqa: E402
from board import DEADLINE_S, KERNEL, Board, BoardError, read  # noqa: E402

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


# ---- a cut of the power ----

class Run:
    """A disk on which instances were started until the power failed."""

    def __init__(self, name, folder, system="ext4", options="", flushed=True):
        self.name, self.system, self.flushed = name, system, flushed
        kind = system.split()[0]
        self.mount = f"mount -t {kind}{' -o ' + options if options else ''}"
        self.path = os.path.join(folder, name + ".img")
        self.log_path = os.path.join(folder, name + ".log")
        self.base = block_log.make_disk(self.path, system)

    def read_log(self, console):
        self.log = block_log.Log(self.log_path, self.base)
        started, ended = self.log.answers(len(self.log.requests))
        for what, known in (("start", started), ("end", ended)):
            printed = {int(number) for number in re.findall(rf"^{what} (\d+)$", console, re.MULTILINE)}
            expect(printed and printed <= known, f"{self.name}: the console knows of more {what}s than the disk's log")


def program(build):
    return os.path.join(build, "test/board/board_program")


def work(build, folder, runs, instances=INSTANCES):
    """On each disk in turn, starts instances until the last is acknowledged. Then the power fails."""
    drives = [word for run in runs for word in logged_drive(run.path, run.log_path, run.name)]
    with Board(os.path.join(folder, "work"), [program(build)], drives=drives) as board:
        disks = board.disks()
        for run in runs:
            board.run(f"{run.mount} {disks[run.name]}1 /disk")
            more = "" if run.flushed else " normal"
            board.send(f"board_program work /disk/board.db {instances} {disks[run.name]}2{more}")
            board.wait_for(rf"start {instances}\n")
            run.console = board.before
            run.bytes = int(board.wait_for(r"bytes (\d+)\n")[1])
            board.wait_for(r"@done 0\n")
            board.run("umount /disk")
    for run in runs:
        run.read_log(run.console)


class Cut:
    """A disk after a cut, and what a client knew then."""

    def __init__(self, run, name, writes_and_answers):
        self.run, self.name = run, name
        self.writes, (self.started, self.ended) = writes_and_answers

    def look(self, board, disk):
        """Has the board look at it."""
        status, output = board.try_run(f"{self.run.mount} {disk}1 /disk && board_program check /disk/board.db {INSTANCES}")
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
                out.write(cut.run.log.disk(cut.writes))
            drives += drive(path, f"cut{i}")
        with Board(os.path.join(folder, "look"), [program(build)], drives=drives) as board:
            disks = board.disks()
            for i, cut in enumerate(some):
                cut.look(board, disks[f"cut{i}"])
        for cut in some:
            cut.describe()


def power_cut(build, folder, count=3):
    pairs = [[Run(f"{system}{'full' if flushed else 'normal'}", folder, system, flushed=flushed) for flushed in (True, False)]
             for system in ("ext4", "f2fs")]
    work(build, folder, [run for pair in pairs for run in pair])
    for full, normal in pairs:
        cut_power(build, folder, full, normal, count)


def cut_power(build, folder, full, normal, count):
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
    may_lose = [Cut(normal, f"{normal.name}, later writes dropped, flush {widest}", normal.log.cut(widest, "dropped", chance))]
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
    for name, cuts in (("flushed", kept_word), ("not flushed", may_lose), *((f"a lie, {order}", some) for order, some in
                                                                          lies.items())):
        known = sum(len(cut.started) + len(cut.ended) for cut in cuts)
        unsound = sum(not cut.opened or not cut.sound for cut in cuts)
        print(f"{full.system}, {name}: {len(cuts)} cuts, {known} acknowledged, {sum(cut.lost() for cut in cuts)} lost, {unsound} not sound")


# ---- what reaches the disk ----

def card(build, folder, instances=30):
    """The same work with each file system: bytes that the program writes, and bytes that its file system makes of them."""
    runs = [Run(f"card{i}", folder, system, options) for i, (system, options) in enumerate(CARD)]
    work(build, folder, runs, instances)
    print(f"| {'file system':<24} | {'options':<24} | flushes | bytes of the program a flush | bytes that reach the disk a flush |")
    print("|---|---|---|---|---|")
    for run, (system, options) in zip(runs, CARD):
        flushes, reached = len(run.log.flushes), run.log.bytes_written()
        # The program's count has what it wrote to the ledger and to the console, too.
        ledger = sum(request[0] == "answer" for request in run.log.requests) * block_log.SECTOR
        written = run.bytes - ledger - len(run.console)
        print(f"| {system:<24} | {options:<24} | {flushes:,} | {written // flushes:,} | {reached // flushes:,} |")
        expect(reached > written > 0, f"{system} {options}: {reached} bytes reached the disk of {written} that were written")


CARD = [("ext4", ""), ("ext4", "noatime"), ("ext4", "noatime,data=journal"), ("ext4", "noatime,commit=60"),
        ("ext4 without a journal", "noatime"), ("f2fs", "noatime"), ("f2fs", "noatime,fsync_mode=strict")]


# ---- clocks ----

def utc(year, month=1, day=1):
    return calendar.timegm((year, month, day, 0, 0, 0))


NAP = r"clock: {} {} boot=(\d+) wall=(\d+)\n"
KEPT = r"clock: kept round=(\d+) epoch=(\d+) claimed=(\d)\n"


def clock_runs(board, rounds):
    """Goes on until the session was used in so many further rounds: it has one owner, who never lost it."""
    for _ in range(rounds):
        number, epoch, claimed = (int(word) for word in board.wait_for(KEPT).groups())
        expect(epoch == 1 and claimed == (1 if number == 1 else 0), f"round {number}: epoch {epoch}, claimed {claimed}")


def after_2038(board):
    """A SQLite with times of 32 bits makes a database in 2040, and opens it again. The kernel of a 32-bit board takes no
    such time from a battery-backed clock, and its busybox does not know one."""
    board.run(f"board_program wall {utc(2040, 6, 1)}")
    board.run("board_program work /disk/2040.db 9 /dev/vda2")
    seen = board.run("board_program check /disk/2040.db 9")
    expect(len(re.findall(r"^instance \d+ before=completed right=1$", seen, re.MULTILINE)) >= 6, seen)
    expect("findings 0 orphans 0" in seen and seen.count("right=1") == 9, seen)
    expect(int(board.run("board_program wall")) > utc(2040), "the clock is not in 2040")


def clock(build, folder):
    path = os.path.join(folder, "clock.img")
    block_log.make_disk(path)
    due_s = utc(2030, 6, 1)
    start = f"mount -t ext4 /dev/vda1 /disk; board_program clock /disk/clock.db {due_s}000 & true"
    # The battery of the clock was changed: it is years behind.
    with Board(os.path.join(folder, "boot"), [program(build)], drives=drive(path, "clock"),
               more=["-rtc", "base=2016-02-29T12:00:00"]) as board:
        expect("2016" in board.run("date"), "the clock does not begin in 2016")
        board.run(start)
        begun = {ms: int(board.wait_for(NAP.format("begins", ms))[1]) for ms in (4000, 8000)}
        clock_runs(board, 2)
        for year in (2037, 1990, 2027):
            board.run(f"board_program wall {utc(year)}")
            clock_runs(board, 6)
        for ms, began in begun.items():
            ended = find_all(board, NAP.format("ends", ms))
            expect(len(ended) == 1, f"the nap of {ms} ms ended {len(ended)} times")
            expect(int(ended[0][0]) - began >= ms, f"the nap of {ms} ms ended early")
        expect(not find_all(board, r"clock: (ends 3600000|was due)"), "the clock was set, and something was due too early")
        # Now it is the kernel's that says so.
        board.run(f"board_program wall {due_s - 5} synced")
        fired_ms = int(board.wait_for(NAP.format("was due", f"{due_s}000"))[2])
        expect(fired_ms >= due_s * 1000, f"a timer of {due_s}000 fired at {fired_ms}")
        clock_runs(board, 1)
    # Off for two hours: the nap of one hour has ended meanwhile, as the first trusted clock shows.
    with Board(os.path.join(folder, "boot"), [program(build)], drives=drive(path, "clock"),
               more=["-rtc", "base=2016-02-29T12:00:00"]) as board:
        board.run(start)
        board.wait_for(r"clock: kept")
        expect(not find_all(board, NAP.format("ends", 3600000)), "the nap of an hour ended without a clock")
        board.run(f"board_program wall {due_s + 7200} synced")
        board.wait_for(NAP.format("ends", 3600000))
        board.run("kill $!; wait $!")
        after_2038(board)



# ---- sensors ----

# An i.MX6 UltraLite: its I2C controller, and three chips behind it. Debian's kernel has their drivers as modules, and
# none of those that only pretend to be a device (i2c-stub, gpio-sim, gpio-mockup, iio_dummy).
EVK = ["-M", "mcimx6ul-evk", "-dtb", os.path.join(KERNEL, "imx6ul-14x14-evk.dtb"), "-serial", "stdio"]
CHIPS = (("tmp105", 0x48), ("emc1413", 0x4C), ("dps310", 0x77))
THERMOMETER = "hwmon:tmp105:temp1_input"


class Chips:
    """The other side of the chips: what is to be measured."""

    def __init__(self, path):
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.connect(path)
        self.lines = self.connection.makefile("rw")
        self.lines.readline()
        self.ask("qmp_capabilities")

    def ask(self, what, **arguments):
        self.lines.write(json.dumps({"execute": what, "arguments": arguments}) + "\n")
        self.lines.flush()
        while True:
            answer = json.loads(self.lines.readline())
            expect("error" not in answer, answer)
            if "return" in answer:
                return

    def set(self, name, of, millidegrees):
        self.ask("qom-set", path="/machine/peripheral/" + name, property=of, value=millidegrees)


def sensors(build, folder):
    gateway = os.path.join(build, "examples/sensor_gateway/sensor_gateway")
    path = os.path.join(folder, "chips")
    devices = [word for name, address in CHIPS
               for word in ("-device", f"{name},id={name},bus=i2c-bus.0,address={address}")]
    with Board(os.path.join(folder, "boot"), [gateway], machine=EVK, console="ttymxc0", memory=256,
               modules=["i2c_imx", "lm75", "emc1403", "dps310"],
               more=[*devices, "-qmp", f"unix:{path},server=on,wait=off"]) as board:
        chips = Chips(path)
        chips.set("tmp105", "temperature", 21500)
        chips.set("emc1413", "temperature0", 30000)
        for name, address in CHIPS:
            board.run(f"echo {name} {address} >/sys/bus/i2c/devices/i2c-0/new_device")
        channels = board.run("sensor_gateway channels")
        for wanted in (THERMOMETER + " 21.500 degC", "hwmon:emc1413:temp1_input 30.000 degC", "iio:dps310:in_temp_input "):
            expect(wanted in channels, f"no {wanted!r} among\n{channels}")
        board.run("cd /tmp; touch run.log alarms; tail -n 0 -F run.log alarms & true")
        board.run(f"sensor_gateway coordinator --db gateway.db --period-ms 300 --alarm {THERMOMETER}=40 & coordinator=$!")
        board.wait_for("worker_registered worker=coordinator")
        board.run("sensor_gateway worker --db gateway.db --node evk --log run.log --alarms alarms --max-sessions 30 & worker=$!")
        read = "end .*session=" + THERMOMETER + r" epoch=(\d+) .*ok={} result=(.*)\n"
        for channel in ("hwmon:emc1413:temp3_input", "iio:dps310:in_pressure_input"):
            board.wait_for(f"end .*session={channel} .*ok=1")
        epoch = board.wait_for(read.format(1))[1]
        chips.set("tmp105", "temperature", 62000)
        level = int(board.wait_for(r"alarm .*sensor=" + THERMOMETER + r" level=(\d+) ")[1])
        expect(40000 < level <= 62000, f"an alarm at {level}")
        # The chip is gone, and comes back.
        board.run("echo 0x48 >/sys/bus/i2c/devices/i2c-0/delete_device")
        board.wait_for(read.format(0))
        board.run("echo tmp105 0x48 >/sys/bus/i2c/devices/i2c-0/new_device")
        expect(board.wait_for(read.format(1))[1] == epoch, "its session has another owner, who never lost it")
        board.run("kill $worker; wait $worker")
        board.run("kill $coordinator; wait $coordinator")


# ---- energy ----

def energy(build, folder, seconds=3):
    """Nothing that is parked wakes the board; times under an emulator say nothing of a real one, and are printed."""
    programs = resident_programs(build)
    path = os.path.join(folder, "energy.img")
    block_log.make_disk(path)
    bench = os.path.join(build, "test/bench/pawl-bench")
    with Board(os.path.join(folder, "boot"), [bench, *programs], drives=drive(path, "energy")) as board:
        board.run("mount -t ext4 /dev/vda1 /disk; cd /disk")
        # What is counted while nothing runs is exact, so few seconds suffice, and others may run beside it.
        idle = f"idle 1000 --seconds {seconds}"
        board.run(f"pawl-bench {idle} --json >idle.json & idle=$!")
        rows = footprint.resident_rows(measure_resident(board)) if programs else {}
        seen = cost(idle, board.run("cd /disk; wait $idle && cat idle.json", DEADLINE_S + seconds))
        # Leases are renewed every 25 s. On a machine that has other work the measurement ends late.
        lasted_s = seen["measured_s"]
        expect(seen["fsyncs"] <= 1 + lasted_s / 20 and seen["wakeups"] <= 1 + lasted_s / 4, f"it wakes: {seen}")
        # Of sensors nothing is held.
        for scenario in (f"sensors {seconds}", f"sensors {seconds} --window 500") if seconds > 5 else ("sensors 1",):
            cost(scenario, board.run(f"pawl-bench {scenario} --json", DEADLINE_S + seconds))
        # The first timers are due before all are set, so it begins again with a longer time.
        burst = board.run("pawl-bench burst 50 --batch 1 --lead 100 --json")
        expect(int(re.search(r'"n":(\d+)', burst)[1]) == 50, "no burst")
    kept = not programs or footprint.hold(os.path.basename(build), rows)
    expect(kept, "more or less memory is resident than test/bench/footprint.txt says")


def cost(scenario, output):
    """What pawl-bench counted; printed."""
    seen = json.loads(output.strip().splitlines()[-1])
    figures = ", ".join(f"{seen[name + '_an_hour']:,.0f} {name}" for name in ("wakeups", "sleeps", "cpu_ms", "fsyncs"))
    print(f"  {scenario:<28} an hour: {figures}")
    return seen


# ---- resident memory ----

def resident_programs(build):
    """What footprint.py measures; a build without PAWL_FOOTPRINT has none of it."""
    if "PAWL_FOOTPRINT:BOOL=ON" not in read(os.path.join(build, "CMakeCache.txt")).decode():
        return []
    return [os.path.join(build, name) for name in ("test/bench/footprint_memory", "test/compact/footprint_memory_compact",
                                                   "test/compact/sensor_gateway_compact")]


def measure_resident(board):
    """{name: the kernel's sums of a process, in bytes}. The files are in memory, so all pages of a program that were
    touched are there, and those beside them that the kernel maps with them."""
    seen = {}

    def keep(name, text):
        sums = {what: int(kib) * 1024 for what, kib in re.findall(r"(\w+): +(\d+) kB", text)}
        private, shared = (sum(sums[f"{of}_{state}"] for state in ("Clean", "Dirty")) for of in ("Private", "Shared"))
        seen[name] = {"resident": sums["Rss"], "private": private, "shared": shared, "anonymous": sums["Anonymous"]}

    board.run("mkdir -p /tmp/resident/debian /tmp/resident/compact")
    sqlites = (("debian", "footprint_memory", ""), ("compact", "footprint_memory_compact", ", compact SQLite"))
    for options in ("smallest", "default"):
        # Both at the same time: they wait for timers, and share no file.
        started = " & ".join(f"(cd /tmp/resident/{folder}; rm -rf *; {name} {options} >out; echo $? >status)"
                             for folder, name, _ in sqlites)
        board.run(started + "; wait $!")
        for folder, name, sqlite in sqlites:
            output = board.run(f"cd /tmp/resident/{folder}; cat out; [ $(cat status) = 0 ]")
            for moment in ("idle", "busy"):
                text = "\n".join(re.findall(rf"^{moment} (.*)$", output, re.MULTILINE))
                keep(f"hello{sqlite}, {options} options, {moment}", text)
    gateway = "sensor_gateway_compact"
    board.run(f"cd /tmp/resident; {gateway} coordinator --db gateway.db --period-ms 100 2>log & coordinator=$!")
    board.run("until grep -q worker_registered log; do sleep 0.2; done")
    board.run(f"{gateway} worker --db gateway.db --node n --log run.log --alarms alarms 2>>log & worker=$!")
    board.run("until [ $(grep -c ok=1 run.log) -ge 50 ]; do sleep 0.3; done")
    for role in ("coordinator", "worker"):
        keep(f"gateway, compact SQLite, {role}", board.run(f"cat /proc/${role}/smaps_rollup"))
    board.run("kill $worker; wait $worker; kill $coordinator; wait $coordinator; cd /")
    return seen


def resident(build, folder):
    with Board(os.path.join(folder, "boot"), resident_programs(build)) as board, \
            open(os.path.join(folder, "resident.json"), "w", encoding="utf-8") as out:
        json.dump(measure_resident(board), out)


def find_all(board, pattern):
    return [found.groups() for found in re.finditer(pattern, board.written)]


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    build, folder, part = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    try:
        numbers = [int(word) for word in sys.argv[4:]]
        {"power_cut": power_cut, "card": card, "clock": clock, "sensors": sensors, "energy": energy,
         "resident": resident}[part](build, folder, *numbers)
    except BoardError as error:
        sys.exit(f"{part}: {error}")


main()
