"""Runs of the plugin's own scripts in forks of a Python that has its modules imported (fork_server.py): a tenth of a process's time.

A fork has its own standard streams, environment, folder and session, and the guards of the tests hold in it. What it does not have is a
cold start; a test of that, of Python's options, of kills or of a copy of the plugin runs real processes.
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
POSSIBLE = sys.platform == "linux"
# Python and the C library read these when they start.
AT_START = ("PYTHON", "LC_", "LANGUAGE", "LD_", "TZ", "MALLOC_", "SQLITE_", "OPENSSL_", "SSL_")
WARNINGS = "PYTHONWARNDEFAULTENCODING"


class Done(NamedTuple):
    """What a fork left behind."""

    returncode: int
    stdout: bytes
    stderr: bytes


def is_like_a_process(env: dict[str, str]) -> bool:
    """Return whether a fork with this environment behaves like a process that was started with it."""
    same = {"LANG": LANG, WARNINGS: os.environ.get(WARNINGS)}
    wrong = [name for name in env if name.startswith(AT_START) and name != WARNINGS]
    return POSSIBLE and not wrong and all(env.get(name) == value for name, value in same.items())


class ForkServer:
    """One server process, started at the first run and ended with this process."""

    def __init__(self, root: str, options: tuple[str, ...]) -> None:
        env = {"LANG": LANG, "HOME": os.path.join(tempfile.gettempdir(), "no-home"), "PATH": os.defpath}
        if WARNINGS in os.environ:
            env[WARNINGS] = os.environ[WARNINGS]
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

    def run(self, words: list[str], stdin: bytes, cwd: str, env: dict[str, str], timeout: float) -> Done:
        """Run a script with these arguments; raise TimeoutExpired as subprocess.run does."""
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
    """The ends of a fork's streams and its connection."""

    def __init__(self, connection: socket.socket, to: int, out: int, err: int, stdin: bytes) -> None:
        self.connection, self.to, self.rest = connection, to, memoryview(stdin)
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
        """Close one end."""
        self.events.unregister(handle)
        self.open.remove(handle)
        os.close(handle)

    @property
    def told(self) -> list[tuple[str, str]]:
        """The lines on the connection, each as a word and its value."""
        received = b"".join(self.read[self.connection.fileno()]).decode("ascii")
        lines = received[: received.rfind("\n") + 1].splitlines()
        return [(word, value) for word, _, value in (line.partition(" ") for line in lines)]

    @property
    def is_over(self) -> bool:
        """Whether the process has ended and its output is closed."""
        return self.told[-1:] != [] and self.told[-1][0] == "exit" and self.open <= {self.to}

    def wait(self, words: list[str], timeout: float) -> Done:
        """Write and read until the process has ended and its output is closed."""
        end = monotonic() + timeout
        while not self.is_over:
            left = end - monotonic()
            if left <= 0:
                self.kill()
                raise subprocess.TimeoutExpired(words, timeout)
            for key, _ in self.events.select(left):
                self.step(key.fd)
        told = self.told
        refused = [json.loads(value) for word, value in told if word == "refused"]
        assert refused == [], "refused in a fork: %s" % refused
        out, err, _ = (b"".join(parts) for parts in self.read.values())
        return Done(int(dict(told)["exit"]), out, err)

    def step(self, handle: int) -> None:
        """Write or read once."""
        if handle == self.to:
            with suppress(BrokenPipeError):
                self.rest = self.rest[os.write(handle, self.rest[: 1 << 16]) :] if self.rest else self.rest
                if self.rest:
                    return
            self.end(handle)
            return
        data = self.connection.recv(4096) if handle == self.connection.fileno() else os.read(handle, 1 << 16)
        if data:
            self.read[handle].append(data)
        elif handle == self.connection.fileno():
            self.events.unregister(handle)
            assert self.told[-1:] != [], "the fork server ended before its fork"
        else:
            self.end(handle)

    def kill(self) -> None:
        """Kill the process."""
        for word, value in self.told:
            if word == "process":
                with suppress(ProcessLookupError):
                    os.kill(int(value), signal.SIGKILL)


_servers: dict[tuple[str, ...], ForkServer] = {}


def server(root: str, options: tuple[str, ...]) -> ForkServer:
    """Return the server for a Python with these options, started if need be."""
    if options not in _servers:
        _servers[options] = ForkServer(root, options)
    return _servers[options]
