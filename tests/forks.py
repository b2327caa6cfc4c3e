"""Run the plugin's scripts in forks of a Python that has its modules imported (fork_server.py), in a tenth of a process's time.

A fork has its own standard streams, environment, folder and session, and the tests' guard works in it. It has no cold start: tests of
cold starts, Python's options, kills or a copy of the plugin run real processes.
"""

from __future__ import annotations

import atexit
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack, suppress
from time import monotonic
from typing import NamedTuple

from tests.guards import REAL_HOME

SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fork_server.py")
LANG = "C.UTF-8"
IS_SUPPORTED = sys.platform == "linux"
# Python and the C library read variables with these prefixes when they start.
STARTUP_PREFIXES = ("PYTHON", "LC_", "LANGUAGE", "LD_", "TZ", "MALLOC_", "SQLITE_", "OPENSSL_", "SSL_")
WARNINGS_VARIABLE = "PYTHONWARNDEFAULTENCODING"


class Completed(NamedTuple):
    """Exit code and output of a fork that ended."""

    returncode: int
    stdout: bytes
    stderr: bytes


def is_like_a_process(env: dict[str, str]) -> bool:
    """Return whether a fork with this environment behaves like a process that was started with it."""
    server_env = {"LANG": LANG, WARNINGS_VARIABLE: os.environ.get(WARNINGS_VARIABLE)}
    read_at_start = [name for name in env if name.startswith(STARTUP_PREFIXES) and name != WARNINGS_VARIABLE]
    return (
        IS_SUPPORTED
        and not read_at_start
        and all(env.get(name) == value for name, value in server_env.items())
    )


class ForkServer:
    """A server process; it ends with this process."""

    def __init__(self, root: str, options: tuple[str, ...]) -> None:
        env = {"LANG": LANG, "HOME": os.path.join(tempfile.gettempdir(), "no-home"), "PATH": os.defpath}
        if WARNINGS_VARIABLE in os.environ:
            env[WARNINGS_VARIABLE] = os.environ[WARNINGS_VARIABLE]
        self.control, theirs = socket.socketpair()
        words = [root, REAL_HOME, tempfile.gettempdir(), sys.prefix]
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, *options, SERVER, *words], stdin=theirs.fileno(), env=env
            )
        atexit.register(self.stop)

    def stop(self) -> None:
        """End the server."""
        self.control.close()
        self.process.wait()

    def run(self, words: list[str], stdin: bytes, cwd: str, env: dict[str, str], timeout: float) -> Completed:
        """Run a script with its arguments. Raises TimeoutExpired as subprocess.run does."""
        request = {"script": words[0], "words": words[1:], "cwd": cwd, "env": env}
        with ExitStack() as stack:
            ours, theirs = socket.socketpair()
            stack.enter_context(ours)
            (their_in, our_in), (our_out, their_out), (our_err, their_err) = (os.pipe() for _ in range(3))
            handles = [theirs.fileno(), their_in, their_out, their_err]
            socket.send_fds(self.control, [b"x"], handles)
            for handle in handles[1:]:
                os.close(handle)
            theirs.close()
            ours.sendall(json.dumps(request).encode("ascii"))
            ours.shutdown(socket.SHUT_WR)
            fork = Fork(ours, our_in, our_out, our_err, stdin)
            stack.callback(fork.close)
            return fork.wait(words, timeout)


class Fork:
    """Our ends of a fork's streams and of its connection."""

    def __init__(self, connection: socket.socket, to: int, out: int, err: int, stdin: bytes) -> None:
        self.connection, self.to, self.unsent = connection, to, memoryview(stdin)
        self.read: dict[int, list[bytes]] = {out: [], err: [], connection.fileno(): []}
        self.open = {to, out, err}
        self.events = selectors.DefaultSelector()
        os.set_blocking(to, False)
        self.events.register(to, selectors.EVENT_WRITE)
        for handle in self.read:
            self.events.register(handle, selectors.EVENT_READ)

    def close(self) -> None:
        """Close what is still open."""
        self.events.close()
        for handle in self.open:
            os.close(handle)

    def end(self, handle: int) -> None:
        """Close one of our ends."""
        self.events.unregister(handle)
        self.open.remove(handle)
        os.close(handle)

    @property
    def status_lines(self) -> list[tuple[str, str]]:
        """Return the complete lines on the connection, each as a word and its value."""
        received = b"".join(self.read[self.connection.fileno()]).decode("ascii")
        lines = received[: received.rfind("\n") + 1].splitlines()
        return [(word, value) for word, _, value in (line.partition(" ") for line in lines)]

    @property
    def is_over(self) -> bool:
        """Return whether the process has ended and its output is closed."""
        lines = self.status_lines
        return lines != [] and lines[-1][0] == "exit" and self.open <= {self.to}

    def wait(self, words: list[str], timeout: float) -> Completed:
        """Write and read until the process has ended and its output is closed."""
        end = monotonic() + timeout
        while not self.is_over:
            left = end - monotonic()
            if left <= 0:
                self.kill()
                raise subprocess.TimeoutExpired(words, timeout)
            for key, _ in self.events.select(left):
                self.step(key.fd)
        lines = self.status_lines
        refused = [json.loads(value) for word, value in lines if word == "refused"]
        assert refused == [], "refused in a fork: %s" % refused
        out, err, _ = (b"".join(parts) for parts in self.read.values())
        return Completed(int(dict(lines)["exit"]), out, err)

    def step(self, handle: int) -> None:
        """Write or read once."""
        if handle == self.to:
            with suppress(BrokenPipeError):
                self.unsent = (
                    self.unsent[os.write(handle, self.unsent[: 1 << 16]) :] if self.unsent else self.unsent
                )
                if self.unsent:
                    return
            self.end(handle)
            return
        data = self.connection.recv(4096) if handle == self.connection.fileno() else os.read(handle, 1 << 16)
        if data:
            self.read[handle].append(data)
        elif handle == self.connection.fileno():
            self.events.unregister(handle)
            assert self.status_lines, "the fork server ended before its fork"
        else:
            self.end(handle)

    def kill(self) -> None:
        """Kill the process."""
        for word, value in self.status_lines:
            if word == "process":
                with suppress(ProcessLookupError):
                    os.kill(int(value), signal.SIGKILL)


_servers: dict[tuple[str, ...], ForkServer] = {}


def server(root: str, options: tuple[str, ...]) -> ForkServer:
    """Return the server for a Python with these options; start it on first use."""
    if options not in _servers:
        _servers[options] = ForkServer(root, options)
    return _servers[options]
