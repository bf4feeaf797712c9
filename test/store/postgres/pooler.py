#!/usr/bin/env python3
"""A pooler of connections before the server is found, and refused with the reason.

usage: pooler.py PROGRAM

PROGRAM is trouble_program; the server is that of server.py.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import server

SETTINGS = """[databases]
* = host={host} user=pawl
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = {folder}
auth_type = any
pool_mode = {mode}
logfile = {folder}/log
pidfile = {folder}/pid
"""


def try_through(program, mode):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-pooler-"))
    host = re.search(r"host=(\S+)", os.environ["PAWL_POSTGRES"]).group(1)
    (folder / "pooler.ini").write_text(SETTINGS.format(host=host, folder=folder, mode=mode), encoding="utf-8")
    if os.getuid() == 0:
        shutil.chown(folder, server.USER, server.USER)
    pooler = subprocess.Popen(server.as_server(["/usr/sbin/pgbouncer", "-q", folder / "pooler.ini"]), stderr=subprocess.DEVNULL)
    try:
        address = f"host={folder} port=6432 user=pawl dbname=postgres connect_timeout=10"
        ready = ["pg_isready", "-q", "-h", folder, "-p", "6432"]
        while subprocess.run(ready, check=False).returncode != 0 and pooler.poll() is None:
            pass
        return subprocess.run([program, folder / "pawl", address], input="", capture_output=True, text=True, check=False)
    finally:
        pooler.terminate()
        pooler.wait()
        shutil.rmtree(folder, ignore_errors=True)


def main(program):
    for mode in ("transaction", "session"):
        ran = try_through(program, mode)
        assert ran.returncode != 0, ran.stdout
        assert "a pooler of connections stands before the server" in ran.stderr, ran.stderr
    with tempfile.TemporaryDirectory() as folder:
        directly = subprocess.run([program, folder + "/pawl", os.environ["PAWL_POSTGRES"]], input="", capture_output=True, text=True,
                                  check=False)
    assert directly.returncode == 0, directly.stderr


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
