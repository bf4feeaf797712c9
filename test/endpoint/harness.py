"""What the tests of the endpoint share: the program, and a client over its socket."""
import ctypes
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

PROJECT = pathlib.Path(sys.argv[1])
sys.path.append(str(PROJECT / "test/e2e"))
import error_lines  # noqa: E402  (its folder is known only now)

PROGRAM = sys.argv[2]
TOKEN = "a-token-of-some-length"
problems = []


def check(holds, text):
    if not holds:
        problems.append(text)
        print("FAILED:", text)
    return holds


def finish():
    print(f"{len(problems)} problems")
    sys.exit(1 if problems else 0)


PTRACE_SEIZE, PTRACE_INTERRUPT, WALL = 0x4206, 0x4207, 0x40000000


def ptrace(request, thread):
    return ctypes.CDLL(None, use_errno=True).ptrace(request, thread, None, None) == 0


def thread_of(pid, name):
    """The number of the thread that the system lists by this name."""
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text(encoding="ascii").strip() == name:
            return int(task.name)
    raise AssertionError(f"no thread is called {name}")


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=30):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


def quote(text):
    return urllib.parse.quote(text, safe="")


class Program:
    """One endpoint_program in a folder of its own; `with` ends it."""

    def __init__(self, *arguments, folder=None, wait=True):
        self.own = folder is None
        self.folder = folder or tempfile.mkdtemp(prefix="pawl-endpoint-")
        self.database = f"{self.folder}/a.db"
        self.socket = f"{self.database}-http"
        self.arguments = list(arguments)
        if "--tcp" in self.arguments:
            token = f"{self.folder}/token"
            with open(token, "w", encoding="ascii") as out:
                out.write(TOKEN + "\n")
            os.chmod(token, 0o600)
            self.arguments.insert(self.arguments.index("--tcp") + 1, token)
        if "--socket" in self.arguments:
            self.socket = self.arguments[self.arguments.index("--socket") + 1]
        self.announced = {}  # errors in its log: event -> (least, most)
        with open(f"{self.folder}/errors", "wb") as errors:
            self.process = subprocess.Popen([PROGRAM, self.database, *self.arguments], stdout=subprocess.PIPE, stderr=errors, text=True)
        self.first_line = self.process.stdout.readline().strip() if wait else ""
        self.port = int(self.first_line.split()[1]) if self.first_line.startswith("ready") else 0
        if self.port == 0 and self.first_line.startswith("ready"):
            # The runtime opens the database; the endpoint says when it is there.
            for _ in range(100):
                if "--no-runtime" in self.arguments or self.get("/ready").status == 200:
                    break
                time.sleep(0.05)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        if self.own:
            shutil.rmtree(self.folder, ignore_errors=True)

    def freeze(self, name):
        """Stops one thread of it, as one that never comes back. Its number, to be waited for with WALL when the process has
        ended; None: this process may not."""
        thread = thread_of(self.process.pid, name)
        if not (ptrace(PTRACE_SEIZE, thread) and ptrace(PTRACE_INTERRUPT, thread)):
            return None
        os.waitpid(thread, WALL)
        return thread

    def stop(self):
        """Ends it in order, and says how long that took."""
        began = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)
        self.process.stdout.close()
        for problem in error_lines.unexpected(pathlib.Path(self.folder, "errors").read_text(errors="replace"), self.announced):
            check(False, problem)
        return time.monotonic() - began

    def connection(self, timeout=30):
        if self.port:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        return UnixConnection(self.socket, timeout)

    def raw(self, data=b"", timeout=30):
        if self.port:
            one = socket.create_connection(("127.0.0.1", self.port), timeout=timeout)
        else:
            one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            one.settimeout(timeout)
            one.connect(self.socket)
        if data:
            one.sendall(data)
        return one

    def ask(self, method, path, body=None, headers=None, timeout=30):
        connection = self.connection(timeout)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            got = connection.getresponse()
            return Answer(got.status, dict(got.getheaders()), got.read())
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.ask("GET", path, headers=self.with_token(headers))

    def post(self, path, body=b"", **headers):
        return self.ask("POST", path, body, self.with_token({"X-Pawl-Request": "1", **headers}))

    def delete(self, path):
        return self.ask("DELETE", path, headers=self.with_token({"X-Pawl-Request": "1"}))

    def with_token(self, headers):
        return {"Authorization": f"Bearer {TOKEN}", **headers} if self.port else headers

    def start(self, name, ident, text=""):
        return self.post(f"/v1/instances?name={name}&id={quote(ident)}", text.encode())

    def until(self, path, holds, seconds=30):
        """Asks until the answer holds; its last answer."""
        end = time.monotonic() + seconds
        while True:
            got = self.get(path)
            if (got.status == 200 and holds(got.json)) or time.monotonic() > end:
                return got
            time.sleep(0.02)

    def until_state(self, ident, state):
        return self.until(f"/v1/instances/{quote(ident)}", lambda one: one["instance"]["state"] == state)

    def resident_kib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
