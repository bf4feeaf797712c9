"""An emulated 32-bit ARM board: Debian's kernel, a busybox shell on its serial line, and programs of the armhf build.

The kernel and the busybox come from `./setup all` (build/packages/kernel). There is no network. A test waits for a line on the
board's console, and gives up at a deadline. While the emulator wants a processor and has none, no time passes for it: on a machine
that has other work the board is slower, and has as much time as on an idle one.
"""
import gzip
import os
import re
import select
import stat
import subprocess
import tempfile
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KERNEL = os.path.join(SOURCE, "build/packages/kernel")
DEADLINE_S = 120

# The shell reads a command a line and says when it has ended, so that the other side can wait for that.
INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp /disk
/bin/busybox --install -s /bin
export PATH=/bin:/programs
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t tmpfs none /tmp
exec </dev/CONSOLE >/dev/CONSOLE 2>&1
stty -echo -icrnl -onlcr 2>/dev/null
for module in $(cat /modules/order); do insmod /modules/$module || echo "@cannot load $module"; done
echo "@ready"
while read -r line; do
  eval "$line"
  echo "@done $?"
done
"""


class BoardError(Exception):
    """The board did not do what it was asked to; says what it wrote last."""


def module_order(names):
    """File names of kernel modules, each behind those it depends on. What is built in has no file and is left out."""
    order = []

    def add(name):
        file = find_module(name)
        if file is None or file in order:
            return
        with open(os.path.join(KERNEL, "modules", file), "rb") as module:
            text = module.read()
        for field in re.findall(rb"(?:depends|softdep)=([^\0]*)\0", text):
            words = field.decode().replace("pre:", "").replace(",", " ").split()
            for needed in words[:words.index("post:")] if "post:" in words else words:
                add(needed)
        order.append(file)

    for name in names:
        add(name)
    return order


def find_module(name):
    for spelling in (name, name.replace("_", "-"), name.replace("-", "_")):
        if os.path.exists(os.path.join(KERNEL, "modules", spelling + ".ko")):
            return spelling + ".ko"
    return None


def archive(entries):
    """A cpio archive, as the kernel unpacks it: [(name, mode, content)]."""
    out = bytearray()
    for number, (name, mode, content) in enumerate([*entries, ("TRAILER!!!", 0, b"")], 1):
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
        out += b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        out += b"\0" * (-len(out) % 4) + content
        out += b"\0" * (-len(out) % 4)
    return bytes(out)


def make_initramfs(path, programs, modules, console):
    folder, file = stat.S_IFDIR | 0o755, stat.S_IFREG | 0o755
    entries = [(name, folder, b"") for name in ("bin", "dev", "modules", "programs")]
    entries.append(("init", file, INIT.replace("CONSOLE", console).encode()))
    entries.append(("bin/busybox", file, read(os.path.join(KERNEL, "busybox"))))
    order = module_order(modules)
    entries.append(("modules/order", file, "\n".join(order).encode()))
    for module in order:
        entries.append(("modules/" + module, file, read(os.path.join(KERNEL, "modules", module))))
    for program in programs:
        entries.append(("programs/" + os.path.basename(program), file, stripped(program)))
    with open(path, "wb") as out:
        out.write(gzip.compress(archive(entries), 1))


def read(path):
    with open(path, "rb") as file:
        return file.read()


def stripped(program):
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["arm-linux-gnueabihf-strip", "-o", out.name, program], check=True)
        return read(out.name)


def waited_for_processor_s(pid):
    """How long the thread of a process that waited most could run and was not let to. The emulated processor is one thread."""
    waits = [0]
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            waits.append(int(read(f"/proc/{pid}/task/{task}/schedstat").split()[1]))
        except (FileNotFoundError, ProcessLookupError):
            continue  # this thread has just ended
    return max(waits) / 1e9


class Board:
    """One life of a board, from the start of its kernel to the cut of its power."""

    VIRT = ["-M", "virt", "-cpu", "cortex-a15", "-serial", "stdio"]
    VIRT_MODULES = ["virtio_mmio", "virtio_blk", "crc32c_generic", "crc32_generic", "ext4", "f2fs"]

    def __init__(self, folder, programs, *, drives=(), modules=(), machine=None, console="ttyAMA0", memory=128, more=()):
        self.written = ""
        self.pending = ""
        os.makedirs(folder, exist_ok=True)
        initramfs = os.path.join(folder, "initramfs.gz")
        make_initramfs(initramfs, programs, [*(self.VIRT_MODULES if machine is None else ()), *modules], console)
        command = ["qemu-system-arm", *(machine or self.VIRT), "-m", str(memory), "-nic", "none", "-display", "none",
                   "-monitor", "none", "-no-reboot", "-kernel", os.path.join(KERNEL, "vmlinuz"), "-initrd", initramfs,
                   *drives, *more, "-append", f"console={console} quiet loglevel=1 panic=-1"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.wait_for(r"@ready")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cut()

    def cut(self):
        """No more power. What the emulator has written so far is in its files."""
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def lived_s(self):
        """How long the board could work, or had nothing to do."""
        return time.monotonic() - waited_for_processor_s(self.process.pid)

    def wait_for(self, pattern, deadline_s=DEADLINE_S):
        """The first match of `pattern` in what was not waited for yet. What stands before it is in `before`."""
        deadline = self.lived_s() + deadline_s
        compiled = re.compile(pattern)
        while True:
            found = compiled.search(self.pending)
            if found:
                self.before, self.pending = self.pending[:found.start()], self.pending[found.end():]
                return found
            left = deadline - self.lived_s()
            ready = left > 0 and select.select([self.process.stdout], [], [], left)[0]
            if left > 0 and not ready:
                continue  # more of it is left if the board had to wait for a processor
            more = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            if not more:
                why = "the board has stopped" if ready else f"nothing of the kind in {deadline_s} s"
                raise BoardError(f"waiting for {pattern!r}: {why}; its console ends with:\n{self.written[-3000:]}")
            text = more.decode(errors="replace").replace("\r", "")
            self.written += text
            self.pending += text

    def send(self, command):
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()

    def try_run(self, command, deadline_s=DEADLINE_S):
        """Runs a command to its end: (exit status, output)."""
        self.send(command)
        status = int(self.wait_for(r"@done (\d+)\n", deadline_s)[1])
        return status, self.before

    def run(self, command, deadline_s=DEADLINE_S):
        status, output = self.try_run(command, deadline_s)
        if status != 0:
            raise BoardError(f"{command}: exit status {status}\n{output[-3000:]}")
        return output

    def disks(self):
        """The devices of the disks, by their serial numbers."""
        found = re.findall(r"^(vd\w+)/serial:(\w+)", self.run("cd /sys/block; grep -H . vd*/serial; cd /"), re.MULTILINE)
        return {serial: "/dev/" + device for device, serial in found}
