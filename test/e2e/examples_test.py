#!/usr/bin/env python3
"""The sensor gateway as a user runs it, and whether its checker would notice.

  examples_test.py SOURCE_DIR BUILD_DIR channels|failures|waiting|gateway|tampering [EMULATOR ARGUMENT...]
"""

import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import error_lines

SOURCE, BUILD, PART = sys.argv[1:4]
TOOLS = os.path.join(SOURCE, "examples", "sensor_gateway")
GATEWAY = [*sys.argv[4:], os.path.join(BUILD, "examples", "sensor_gateway", "sensor_gateway")]
SCRATCH = os.path.join(BUILD, "test", "e2e", "examples.scratch")
RUN_FOLDER = os.path.join(SCRATCH, "gateway")


def fail(text):
    print(f"FAILED: {text}")
    sys.exit(1)


def expect(condition, text):
    if not condition:
        fail(text)


def fresh(name):
    folder = os.path.join(SCRATCH, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def environment():
    """Under AddressSanitizer something may be loaded before its runtime: the observer of ./examples/run."""
    result = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    result["ASAN_OPTIONS"] = result.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    return result


def check(folder):
    run = subprocess.run([sys.executable, os.path.join(TOOLS, "check.py"), folder], env=environment(),
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return run.returncode, run.stdout


# ---- channels: every kind, by stable names ----


def fake_machine(folder, hwmon_numbers=(0, 1, 2)):
    """A sysfs and a proc with one channel of every kind, and two chips of one name."""
    core, first, second = (f"{folder}/sys/class/hwmon/hwmon{number}" for number in hwmon_numbers)
    write(core + "/name", "coretemp\n")
    write(core + "/temp1_input", "45123\n")
    write(core + "/temp1_max", "90000\n")
    write(core + "/in0_input", "1205\n")
    write(core + "/curr1_input", "250\n")
    write(core + "/fan1_input", "1200\n")
    write(core + "/power1_average", "15000000\n")
    for chip, device in ((first, "nvme0"), (second, "nvme1")):
        write(chip + "/name", "nvme\n")
        write(chip + "/temp1_input", "38850\n")
        os.makedirs(f"{folder}/devices/{device}", exist_ok=True)
        os.symlink(f"{folder}/devices/{device}", chip + "/device")
    write(f"{folder}/sys/class/thermal/thermal_zone0/temp", "51000\n")
    write(f"{folder}/sys/class/thermal/cooling_device0/type", "Fan\n")
    adc = f"{folder}/sys/bus/iio/devices/iio:device0"
    write(adc + "/name", "mcp3008\n")
    write(adc + "/in_voltage0_raw", "512\n")
    write(adc + "/in_voltage1_raw", "1000\n")
    write(adc + "/in_voltage1_scale", "2.5\n")
    write(adc + "/in_voltage_scale", "3.222656\n")
    air = f"{folder}/sys/bus/iio/devices/iio:device1"
    write(air + "/name", "bme280 air\n")
    write(air + "/in_temp_raw", "100\n")
    write(air + "/in_temp_offset", "20\n")
    write(air + "/in_temp_scale", "200\n")
    write(air + "/in_pressure_input", "101.325\n")
    write(air + "/in_humidityrelative_input", "no number\n")
    write(f"{folder}/proc/loadavg", "0.50 0.40 0.31 1/95 4711\n")
    write(f"{folder}/proc/meminfo", "MemTotal: 2048 kB\nMemAvailable:    1024 kB\nDirty: 512 kB\n"
                                    "SwapCached: 1 kB\nCached: 256 kB\n")
    write(f"{folder}/proc/stat", "cpu  10 20 30 40 0 0 0 0 0 0\ncpu0 10 20 30 40 0 0 0 0 0 0\n"
                                 "ctxt 5000\nprocesses 77\n")


def list_channels(folder):
    return subprocess.run([*GATEWAY, "channels", "--sysfs", folder + "/sys", "--proc", folder + "/proc"],
                          stdout=subprocess.PIPE, text=True, check=True).stdout


def channels():
    folder = fresh("channels")
    fake_machine(folder)
    wanted = f"""\
hwmon:coretemp:curr1_input 0.250 A
hwmon:coretemp:fan1_input 1200.000 rpm
hwmon:coretemp:in0_input 1.205 V
hwmon:coretemp:power1_average 15.000 W
hwmon:coretemp:temp1_input 45.123 degC
hwmon:nvme@nvme0:temp1_input 38.850 degC
hwmon:nvme@nvme1:temp1_input 38.850 degC
iio:bme280_air:in_humidityrelative_input - {folder}/sys/bus/iio/devices/iio:device1/in_humidityrelative_input: no number
iio:bme280_air:in_pressure_input 101.325
iio:bme280_air:in_temp_raw 24.000 degC
iio:mcp3008:in_voltage0_raw 1.650 V
iio:mcp3008:in_voltage1_raw 2.500 V
proc:loadavg:15m 0.310
proc:loadavg:1m 0.500
proc:loadavg:5m 0.400
proc:meminfo:Cached 0.250 MiB
proc:meminfo:Dirty 0.500 MiB
proc:meminfo:MemAvailable 1.000 MiB
proc:stat:busy 60.000 %
proc:stat:ctxt 0.000 1/s
proc:stat:processes 0.000 1/s
thermal:thermal_zone0 51.000 degC
"""
    found = list_channels(folder)
    expect(found == wanted, f"channels are\n{found}\nand not\n{wanted}")

    # Another boot, other numbers: the ids stay.
    other = fresh("channels.other")
    fake_machine(other, (7, 3, 5))
    expect([line.split()[0] for line in list_channels(other).splitlines()] ==
           [line.split()[0] for line in wanted.splitlines()], "ids depend on the numbers of this boot")

    # This machine has at least the kernel's own figures, and they are numbers.
    own = subprocess.run([*GATEWAY, "channels"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    expect(len(own) >= 6, f"only {len(own)} channels here")
    own_proc = [line for line in own if line.startswith("proc:")]
    expect(len(own_proc) >= 6 and not any(" - " in line for line in own_proc), "unreadable: " + "\n".join(own_proc))


# ---- failures: a sensor that breaks, comes back, and moves to another file ----


class Gateway:
    """A coordinator and a worker on a fake machine, with the account of events that check.py reads."""

    def __init__(self, folder, machine):
        self.folder = folder
        self.processes = []
        common = ["--db", folder + "/gateway.db", "--sysfs", machine + "/sys", "--proc", machine + "/proc"]
        self.start("worker", "a", common + ["--node", "a", "--log", folder + "/a.log",
                                            "--alarms", folder + "/alarms"])
        self.start("coordinator", "coordinator", common + ["--period-ms", "100"])

    def start(self, role, node, arguments):
        with open(f"{self.folder}/{node}.stderr", "ab") as errors:
            process = subprocess.Popen([*GATEWAY, role, *arguments], stderr=errors)
        self.processes.append((role, node, process))
        self.event(f"action=started role={role} node={node} pid={process.pid}")

    def event(self, text):
        when = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
        with open(self.folder + "/events", "a", encoding="utf-8") as events:
            events.write(f"event t={when} {text}\n")

    def stop(self):
        for role, node, process in self.processes:
            process.send_signal(signal.SIGTERM)
            status = process.wait(30)
            self.event(f"action=exited role={role} node={node} pid={process.pid} status={status}")
            expect(status == 0, f"{node} ended with {status}")
            text = pathlib.Path(self.folder, f"{node}.stderr").read_text(errors="replace")
            expect(not error_lines.unexpected(text, {"activity_unregistered": (0, 1)}), text)

    def results(self):
        """The ok= of all finished samples, in order."""
        try:
            with open(self.folder + "/a.log", encoding="utf-8") as log:
                return [line.split(" ok=")[1][0] for line in log
                        if line.startswith("end ") and " activity=sample " in line and line.endswith("\n")]
        except FileNotFoundError:
            return []

    def wait_for(self, what, wanted):
        """Until `wanted` further samples ended that way."""
        before = self.results().count(what)
        deadline = time.monotonic() + 30
        while self.results().count(what) < before + wanted:
            expect(time.monotonic() < deadline, f"no {wanted} samples with ok={what} within 30 s")
            time.sleep(0.05)


def failures():
    folder = fresh("failures")
    machine = folder + "/machine"
    chip = machine + "/sys/class/hwmon/hwmon0"
    write(chip + "/name", "probe\n")
    write(chip + "/temp1_input", "20000\n")
    gateway = Gateway(folder, machine)
    gateway.wait_for("1", 5)
    write(chip + "/temp1_input", "n/a\n")
    gateway.wait_for("0", 3)
    write(chip + "/temp1_input", "21000\n")
    gateway.wait_for("1", 5)
    # A chip that is pulled out, and comes back under another number.
    write(chip + "/temp1_input", "no such device\n")
    gateway.wait_for("0", 1)
    shutil.rmtree(chip)
    gateway.wait_for("0", 2)
    write(machine + "/sys/class/hwmon/hwmon4/name", "probe\n")
    write(machine + "/sys/class/hwmon/hwmon4/temp1_input", "95000\n")
    gateway.wait_for("1", 12)
    gateway.stop()

    status, output = check(folder)
    print(output)
    expect(status == 0, "the ledger does not balance")
    expect(re.search(r"recorded as failed +[1-9]", output), "no failure was recorded")
    expect(re.search(r"alarms raised +1 +hwmon:probe:temp1_input", output), "95 degrees, and not one alarm")


# ---- waiting: timers are due and nobody runs orchestrations ----


def wake_ups(pid):
    """How often the threads of a process went to sleep so far."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="utf-8") as status:
            total += int(re.search(r"\nvoluntary_ctxt_switches:\s+(\d+)", status.read()).group(1))
    return total


def waiting():
    folder = fresh("waiting")
    machine = folder + "/machine"
    fake_machine(machine)
    gateway = Gateway(folder, machine)
    gateway.wait_for("1", 50)
    role, node, coordinator = gateway.processes.pop()
    gateway.event(f"action=killed role={role} node={node} pid={coordinator.pid}")
    coordinator.kill()
    coordinator.wait()
    # The last results and the looks that follow a wake-up are over, all timers of 100 ms are due, and sessions that
    # waited have had the room of those that were idle for evict_idle (2 s).
    time.sleep(5)
    worker = gateway.processes[0][2].pid
    before = wake_ups(worker)
    time.sleep(3)
    wakes = wake_ups(worker) - before
    print(f"a worker without work, while the coordinator is away: {wakes} wake-ups in 3 s")
    gateway.stop()
    status, output = check(folder)
    print(output)
    expect(status == 0, "the ledger does not balance")
    expect(wakes <= 30, "a worker must sleep while timers of orchestrations are due that it cannot run")


# ---- the whole show, and what the checker is worth ----


def gateway_show():
    shutil.rmtree(RUN_FOLDER, ignore_errors=True)
    os.makedirs(SCRATCH, exist_ok=True)
    run = subprocess.run([os.path.join(SOURCE, "examples", "run"), "--no-build", BUILD, "--seconds", "12",
                          "--dir", RUN_FOLDER],
                         env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(run.stdout)
    expect(run.returncode == 0, f"exit status {run.returncode}")
    for wanted in (r"SIGKILL to worker \w\[\d+\]", r"SIGKILL to the coordinator", r"read by \w\[\d+\] after",
                   r"lost +0\n", r"alarms raised +[1-9]", r"flushes of the database +[1-9]",
                   r"estimated bytes a day", r"The ledger balances\."):
        expect(re.search(wanted, run.stdout), f"the output lacks {wanted}")


def sql(folder, statement):
    connection = sqlite3.connect(os.path.join(folder, "gateway.db"))
    changed = connection.execute(statement).rowcount
    connection.commit()
    connection.close()
    expect(changed == 1, f"{statement}: {changed} rows")


def edit_log(folder, edit):
    """Gives `edit` the lines of the busiest worker's log, and writes back what it leaves."""
    logs = sorted((os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".log")),
                  key=os.path.getsize)
    with open(logs[-1], encoding="utf-8") as log:
        lines = log.readlines()
    edit(lines)
    with open(logs[-1], "w", encoding="utf-8") as log:
        log.writelines(lines)


def middle_sample(lines, what):
    """Index of a recorded sample's line, well inside the log; of one that needed no second attempt, whose log has both."""
    def keys(begin, has):
        return {re.search(r" key=(\S+)", line).group(1) for line in lines if line.startswith(begin) and has in line}

    whole = keys("start ", " attempt=1 ") & keys("end ", "")
    indices = [i for i, line in enumerate(lines) if line.startswith(what) and " activity=sample " in line
               and re.search(r" key=(\S+)", line).group(1) in whole]
    return indices[len(indices) // 2]


ANY_RESULT = ("(SELECT instance, execution, id FROM history WHERE kind = 32 AND execution = 1 "
              "ORDER BY instance, id LIMIT 1)")


def drop_result(folder):
    sql(folder, f"DELETE FROM history WHERE (instance, execution, id) = {ANY_RESULT}")


def change_result(folder):
    sql(folder, f"UPDATE history SET payload = CAST('value=1' AS BLOB) WHERE (instance, execution, id) = {ANY_RESULT}")


def drop_waiting(folder):
    """The newest command of each sensor: without a result, and nobody has it."""
    connection = sqlite3.connect(os.path.join(folder, "gateway.db"))
    connection.execute("DELETE FROM worker_queue")
    connection.execute("DELETE FROM orchestrator_queue")
    connection.execute("DELETE FROM history WHERE kind = 32 AND (instance, execution, ref) IN (SELECT instance, "
                       "execution, max(id) FROM history WHERE kind = 2 GROUP BY instance, execution)")
    connection.commit()
    connection.close()


def repeat_start(folder):
    edit_log(folder, lambda lines: lines.insert(middle_sample(lines, "start "), lines[middle_sample(lines, "start ")]))


def drop_start(folder):
    edit_log(folder, lambda lines: lines.pop(middle_sample(lines, "start ")))


def drop_end(folder):
    edit_log(folder, lambda lines: lines.pop(middle_sample(lines, "end ")))


def intrude(folder):
    """Another process at the same session in the middle of a sample, under the same epoch."""
    def edit(lines):
        at = middle_sample(lines, "start ")
        lines.insert(at + 1, re.sub(r" pid=\d+", " pid=1", lines[at]))
    edit_log(folder, edit)


def overlap(folder):
    """The same under a higher epoch: a session that moved while its owner was at it."""
    def edit(lines):
        at = middle_sample(lines, "start ")
        started = re.search(r" t=(\d+)", lines[at]).group(1)
        later = re.sub(r" pid=\d+", " pid=1", lines[at]).replace(f" t={started}", f" t={int(started) + 1}")
        later = re.sub(r" epoch=\d+", " epoch=999999", later)
        lines.insert(at + 1, later)
        lines.insert(at + 2, later.replace("start ", "end ").replace(" claimed=0", " ok=1 result=value=0"))
    edit_log(folder, edit)


def repeat_alarm(folder):
    path = os.path.join(folder, "alarms")
    with open(path, encoding="utf-8") as alarms:
        first = alarms.readline()
    with open(path, "a", encoding="utf-8") as alarms:
        alarms.write(first)


def drop_alarms(folder):
    open(os.path.join(folder, "alarms"), "w", encoding="utf-8").close()


def bad_exit(folder):
    with open(os.path.join(folder, "events"), "a", encoding="utf-8") as events:
        events.write("event t=9000000000000000 action=exited role=worker node=z pid=1 status=139\n")


def tampering():
    expect(os.path.exists(RUN_FOLDER + "/gateway.db"), "run the gateway part first")
    status, output = check(RUN_FOLDER)
    expect(status == 0, "the untouched run does not balance:\n" + output)
    cases = [
        (drop_result, "FAULT lost:"),
        (drop_waiting, "FAULT lost:"),
        (change_result, "FAULT recorded is not what the activity said"),
        (repeat_start, "FAULT run twice without a reason"),
        (drop_start, "FAULT recorded but never started"),
        (drop_end, "FAULT recorded, but its last attempt never ended"),
        (intrude, "FAULT .*two processes in epoch"),
        (overlap, "FAULT .*was still at it"),
        (repeat_alarm, "FAULT an alarm 2 times in the file"),
        (drop_alarms, "FAULT alarm recorded but not in the file"),
        (bad_exit, "FAULT .*ended with status 139"),
    ]
    missed = []
    for tamper, wanted in cases:
        copy = os.path.join(SCRATCH, "tampered")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(RUN_FOLDER, copy)
        tamper(copy)
        status, output = check(copy)
        noticed = status == 1 and re.search(wanted, output) and "does NOT balance" in output
        print(f"{tamper.__name__}: {'noticed' if noticed else 'MISSED, status ' + str(status)}")
        if not noticed:
            missed.append(tamper.__name__)
            print(output)
    expect(not missed, "the checker misses: " + ", ".join(missed))


{"channels": channels, "failures": failures, "waiting": waiting, "gateway": gateway_show, "tampering": tampering}[PART]()
print("passed")
