"""What a disk was given, from QEMU's `blklogwrites`, and disks as they would be after a cut of the power.

A device that keeps its word has on it what was written before the last flush it acknowledged. Of what was written later
each write is there, missing, or torn at a sector, in any order. One that lies has lost something in spite of a flush.
"""
import random
import re
import struct
import subprocess

SECTOR = 512
MIB = 1 << 20
FLUSH, FORCED, DISCARD = 1, 2, 4
MAGIC = 0x6A736677736872

# Two partitions: a file system, and one sector that says what a client was answered (board_program.cpp). f2fs wants as much.
FIRST, SIZE, LEDGER = 1 * MIB, 62 * MIB, 63 * MIB
DISK = 64 * MIB

# Each ext4 can name times after 2038.
EXT4 = ["/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-I", "256", "-E", "lazy_itable_init=0,lazy_journal_init=0"]
MAKERS = {"ext4": EXT4, "ext4 without a journal": [*EXT4, "-O", "^has_journal"], "f2fs": ["/sbin/mkfs.f2fs", "-q", "-f"]}


def make_disk(path, system="ext4"):
    """A disk with an empty file system."""
    files = path + ".files"
    with open(files, "wb") as out:
        out.truncate(SIZE)
    subprocess.run([*MAKERS[system], files], check=True, stdout=subprocess.DEVNULL)
    image = bytearray(DISK)
    for number, (start, size, kind) in enumerate(((FIRST, SIZE, 0x83), (LEDGER, MIB, 0xDA))):
        struct.pack_into("<B3sB3sII", image, 446 + 16 * number, 0, b"\0\2\0", kind, b"\0\2\0", start // SECTOR, size // SECTOR)
    image[510:512] = b"\x55\xAA"
    with open(files, "rb") as system:
        image[FIRST:FIRST + SIZE] = system.read()
    with open(path, "wb") as out:
        out.write(image)
    return bytes(image)


class Log:
    """The requests to a disk, in the order of their completion."""

    def __init__(self, path, base):
        self.base = base
        self.requests = []  # ("flush",), ("write", offset, bytes, forced), or ("answer", what, number)
        with open(path, "rb") as file:
            data = file.read()
        magic, _, _, size = struct.unpack_from("<QQQI", data, 0)
        assert magic == MAGIC and size == SECTOR, f"{path} is no log of writes"
        at = SECTOR  # the count in the head is that of some time ago
        while at + SECTOR <= len(data):
            sector, sectors, flags, _ = struct.unpack_from("<QQQQ", data, at)
            at += SECTOR
            if sectors == 0 and flags == 0:
                break
            content = b""
            if not flags & DISCARD:
                content = data[at:at + sectors * SECTOR]
                at += sectors * SECTOR
            if len(content) != sectors * SECTOR and not flags & DISCARD:
                break
            if flags & FLUSH:
                self.requests.append(("flush",))
            if content:
                self._add_write(sector * SECTOR, content, bool(flags & FORCED))
        self.flushes = [i for i, request in enumerate(self.requests) if request[0] == "flush"]

    def _add_write(self, offset, content, forced):
        if offset < LEDGER:
            self.requests.append(("write", offset, content, forced))
            return
        what, number = re.match(rb"(\w+) (\d+)\n", content).groups()
        self.requests.append(("answer", what.decode(), int(number)))

    def writes(self, first, last):
        return [request for request in self.requests[first:last] if request[0] == "write"]

    def answers(self, before):
        """(started, ended): numbers of which a client knew before this request."""
        known = {"start": set(), "end": set()}
        for request in self.requests[:before]:
            if request[0] == "answer":
                known[request[1]].add(request[2])
        return known["start"], known["end"]

    def disk(self, writes):
        image = bytearray(self.base)
        for _, offset, content, _ in writes:
            image[offset:offset + len(content)] = content
        return image

    def candidates(self, answers):
        """The flushes behind which a client knew of so many starts, the last of all left out."""
        return [i for i in range(len(self.flushes) - 1) if len(self.answers(self.flushes[i])[0]) >= answers]

    def bytes_written(self):
        """What the file system gave to the disk."""
        return sum(len(request[2]) for request in self.requests if request[0] == "write")

    def cut(self, which, mode, chance):
        """The power fails right before flush `which` + 1 is acknowledged: (writes on the disk, what clients knew then)."""
        flush, following = self.flushes[which], self.flushes[which + 1]
        writes = self.writes(0, flush)
        for write in self.writes(flush, following):
            fate = chance.choice(("kept", "dropped", "torn")) if mode == "torn" else mode
            if write[3] or fate == "kept":
                writes.append(write)
            elif fate == "torn":
                size = chance.randrange(len(write[2]) // SECTOR + 1) * SECTOR
                # ext4 keeps its superblock in two sectors under one checksum, and on a disk this small has no copy: torn
                # between them, no tool mounts it again.
                if write[1] == FIRST:
                    size -= size % (2 * SECTOR)
                writes.append(("write", write[1], write[2][:size], False))
        return writes, self.answers(following)

    def lie(self, which, flushes, in_order, chance):
        """The same by a device that has lost, of what it acknowledged, writes of the last `flushes` flushes: all of them,
        or some and not the others."""
        lost_from = self.flushes[max(0, which - flushes)]
        writes = self.writes(0, lost_from)
        if not in_order:
            writes += [write for write in self.writes(lost_from, self.flushes[which + 1]) if chance.random() < 0.5]
        return writes, self.answers(self.flushes[which + 1])


def chance_of(seed):
    return random.Random(seed)
