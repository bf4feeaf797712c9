#!/usr/bin/env python3
"""Runs a command beside a PostgreSQL server of its own.

usage: server.py [--flush] COMMAND...

The server has a new, empty database in a folder of its own, and listens on a Unix socket there. PAWL_POSTGRES tells the
command its address, and PAWL_POSTGRES_IP one of the loopback network, which no other server has. It ends with the command, whose status is that of this program. PostgreSQL refuses to run as root, so
root starts it as the user of the Debian package.

The server flushes nothing: the tests are about what statements mean. With --flush it has the settings that a server has by itself,
for figures.
"""
import glob
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PLACES = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda place: int(place.split("/")[-2]))
USER = "postgres"
UNSAFE = ["-c", "autovacuum=off", "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"]


def as_server(command):
    if os.getuid() != 0:
        return command
    return ["setpriv", "--reuid", USER, "--regid", USER, "--clear-groups", *command]


def main(arguments):
    flushes = arguments[:1] == ["--flush"]
    if flushes:
        arguments = arguments[1:]
    if not arguments:
        sys.exit(__doc__)
    if not PLACES:
        sys.exit("no PostgreSQL server is installed (Debian: postgresql)")
    programs = pathlib.Path(PLACES[-1])
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-postgres-"))
    if os.getuid() == 0:
        shutil.chown(folder, USER, USER)
    data = folder / "data"
    ip = f"127.{1 + os.getpid() // 65536}.{os.getpid() // 256 % 256}.{os.getpid() % 256}"
    try:
        subprocess.run(as_server([programs / "initdb", "-D", data, "-U", "pawl", "-A", "trust", "-E", "UTF8", "--locale=C",
                                  "--no-sync"]), check=True, stdout=subprocess.DEVNULL, cwd=folder)
        with open(folder / "log", "wb") as log:
            server = subprocess.Popen(as_server([
                programs / "postgres", "-D", data, "-k", folder, "-c", f"listen_addresses={ip}", "-c", "max_connections=200",
                "-c", "log_min_messages=fatal", *([] if flushes else UNSAFE)]), stdout=log, stderr=log, cwd=folder)
        try:
            ready = subprocess.run([programs / "pg_isready", "-h", folder, "-t", "60"], stdout=subprocess.DEVNULL, check=False)
            while ready.returncode != 0 and server.poll() is None:
                ready = subprocess.run([programs / "pg_isready", "-h", folder], stdout=subprocess.DEVNULL, check=False)
            address = f"host={folder} user=pawl dbname=postgres"
            return subprocess.run(arguments, env={**os.environ, "PAWL_POSTGRES": address, "PAWL_POSTGRES_IP": ip}, check=False).returncode
        finally:
            server.terminate()
            server.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
