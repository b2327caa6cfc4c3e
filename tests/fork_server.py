"""A Python that has the plugin's modules imported and forks itself for each run: `fork_server.py PLUGIN_ROOT TEMP PREFIX HOME`.

Standard input is a socket. Each byte on it carries four descriptors: a connection and the three standard streams of the run. The request
arrives on the connection as JSON. The replies are lines: the process id, what the guard refused, the exit code. The server exits when the
socket is closed.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import traceback
from contextlib import suppress
from types import ModuleType
from typing import Any

CLEAN_PATH = list(sys.path)  # what a fresh Python has
# Most texts of the tests need the same patterns as this one, which holds no secret.
SAMPLE_TEXT = (
    "The staging database is db-2 (since 2026-01-02, 10:30): ask ada@example.org, see https://example.org/a?b=1. Use the api key by name, "
    "key: token, --user ada, and mysql -h db-2 -p 3306 at 10:30:00 or ::1; the passphrase of a zip file is s.12."
)
# A file system of Linux tells changes apart that are 10 ms apart. The plugin waits longer, for file systems of other machines.
RESOLUTION_SECONDS = 0.012
STREAMS = {"stdin": sys.stdin, "stdout": sys.stdout, "stderr": sys.stderr}


def preload(package: str) -> None:
    """Import every module of the package in this folder."""
    sys.path.insert(0, os.path.dirname(package))
    for folder, folders, names in os.walk(package):
        folders[:] = sorted(name for name in folders if name.isidentifier() and name != "__pycache__")
        where = os.path.relpath(folder, os.path.dirname(package)).replace(os.sep, ".")
        for name in sorted(names):
            if name.endswith(".py"):
                importlib.import_module(where if name == "__init__.py" else "%s.%s" % (where, name[:-3]))
    sys.path[:] = CLEAN_PATH


def warm_up() -> None:
    """Build what many runs need and only the plugin's files decide: its tables, and the patterns of its rules."""
    for name in ("_strptime", "pwd"):
        importlib.import_module(name)
    modules = [module for name, module in sys.modules.items() if name.startswith("memory_plugin.")]
    for value in [value for module in modules for value in vars(module).values()]:
        if hasattr(value, "cache_info") and not value.__wrapped__.__code__.co_argcount:
            value()
    sys.modules["memory_plugin.recall.gate"].load_gate()
    sys.modules["memory_plugin.memories.hygiene"].shown(SAMPLE_TEXT)
    sys.modules["memory_plugin.memories.grants"].asks_to_save("please remember this")
    statements = sys.modules["memory_plugin.capture.statements"]
    for sentence in statements.own_sentences(SAMPLE_TEXT):
        statements.rules_in(sentence)
    vars(sys.modules["memory_plugin.recall.index_file"])["_RESOLUTION_SECONDS"] = RESOLUTION_SECONDS
    if not sys.flags.isolated:  # hooks parse no command line
        sys.modules["memory_plugin.cli.command_line"].parse_arguments(["list"])


def start_in_forks(server: socket.socket) -> None:
    """Let the plugin start its own processes as forks of the server, too; the real way has tests of its own."""

    def fork(
        command: list[str], environment: dict[str, str], folder: str, data: bytes, output: int
    ) -> socket.socket:
        ours, theirs = socket.socketpair()
        reading, writing = os.pipe()
        with open(os.devnull, "wb") as null, theirs:
            socket.send_fds(server, [b"x"], [theirs.fileno(), reading, output, null.fileno()])
        os.close(reading)
        with open(writing, "wb") as file:
            file.write(data)  # fits into the pipe
        request = {"script": command[3], "words": command[4:], "cwd": folder, "env": environment}
        ours.sendall(json.dumps(request).encode("ascii"))
        ours.shutdown(socket.SHUT_WR)
        return ours

    def start(command: list[str], environment: dict[str, str], data: bytes) -> bool:
        with (
            open(os.devnull, "wb") as null,
            fork(command, environment, os.getcwd(), data, null.fileno()) as ours,
        ):
            return ours.recv(64).startswith(b"process ")  # in its folder now, where `Project` looks for it

    def check_output(command: list[str], *, env: dict[str, str], cwd: str | None, **_: object) -> bytes:
        reading, writing = os.pipe()
        with fork(command, env, cwd or os.getcwd(), b"", writing) as ours:
            os.close(writing)
            with open(reading, "rb") as file, ours.makefile("r") as status:
                output = file.read()
                *lines, last = status.read().splitlines()
        if last != "exit 0" or any(line.startswith("refused") for line in lines):
            raise subprocess.CalledProcessError(1, command)
        return output

    vars(sys.modules["memory_plugin.work.background"])["_spawn_posix"] = start
    subprocess.check_output = check_output  # type: ignore[assignment]  # the plugin calls it for its own script only


def serve(control: socket.socket, inner: socket.socket) -> tuple[socket.socket, list[int]]:
    """Fork a process for each request. Returns only in that process, with its connection and stream descriptors."""
    running: dict[int, socket.socket] = {}
    wake_reader, wake_writer = os.pipe()
    os.set_blocking(wake_reader, False)
    os.set_blocking(wake_writer, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_writer, warn_on_full_buffer=False)
    with selectors.DefaultSelector() as events:
        events.register(control, selectors.EVENT_READ)
        events.register(inner, selectors.EVENT_READ)
        events.register(wake_reader, selectors.EVENT_READ)
        while True:
            ready = [key.fileobj for key, _ in events.select()]
            if wake_reader in ready:
                reap(wake_reader, running)
            source = next((source for source in (control, inner) if source in ready), None)
            if source is None:
                continue
            byte, handles, _, _ = socket.recv_fds(source, 1, 4)
            if not byte:
                sys.exit(0)
            connection = socket.socket(fileno=handles[0])
            child = os.fork()
            if not child:
                break  # in the process of the request
            running[child] = connection
            for handle in handles[1:]:
                os.close(handle)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for handle in (wake_reader, wake_writer):
        os.close(handle)
    for inherited in (control, inner, *running.values()):
        inherited.close()
    return connection, handles[1:]


def reap(wake_reader: int, running: dict[int, socket.socket]) -> None:
    """Send the exit codes of the processes that ended."""
    os.read(wake_reader, 4096)
    while running:
        child, status = os.waitpid(-1, os.WNOHANG)
        if not child:
            return
        with running.pop(child) as connection, suppress(OSError):
            connection.sendall(b"exit %d\n" % os.waitstatus_to_exitcode(status))


def become(connection: socket.socket, handles: list[int]) -> dict[str, Any]:
    """Take over the request's streams, session, folder and environment; return the request."""
    os.setsid()
    with connection.makefile("rb") as file:
        request: dict[str, Any] = json.loads(file.read())
    for number, handle in enumerate(handles):
        os.dup2(handle, number)
        os.close(handle)
    for number, (name, old) in enumerate(STREAMS.items()):
        raw = open(number, "wb" if number else "rb", closefd=False)  # noqa: SIM115
        new = io.TextIOWrapper(raw, encoding=old.encoding, errors=old.errors, line_buffering=name == "stderr")
        setattr(sys, name, new)
        setattr(sys, "__%s__" % name, new)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    connection.sendall(b"process %d\n" % os.getpid())
    return request


def execute(script: str, words: list[str]) -> int:
    """Run a script as Python runs one and return the exit code."""
    sys.argv[:] = [script, *words]
    if not sys.flags.isolated:
        sys.path[0] = os.path.dirname(script)
    main = sys.modules["__main__"] = ModuleType("__main__")
    main.__dict__.update(__file__=script, __builtins__=__builtins__)
    status = 0
    try:
        with open(script, "rb") as file:
            code = compile(file.read(), script, "exec")
        exec(code, main.__dict__)  # noqa: S102 (a script of the plugin)
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        if status == 1 and not isinstance(stop.code, int):
            sys.stderr.write("%s\n" % (stop.code,))
    except BaseException:  # noqa: BLE001 (as Python does at the end of a script)
        traceback.print_exc()
        status = 1
    return finish(status)


def finish(status: int) -> int:
    """Do what Python does before it exits: wait for threads, flush; return the exit code."""
    if "threading" in sys.modules:
        sys.modules["threading"]._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except OSError:
            status = 120
    return status


class Refusals(list[str]):
    """A guard's list of refusals that sends each one to the test."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__()
        self.connection = connection

    def append(self, reason: str) -> None:
        """Add a reason and send it."""
        super().append(reason)
        self.connection.sendall(b"refused %s\n" % json.dumps(reason).encode("ascii"))


def main(root: str, home: str, *allowed: str) -> int:
    """Serve requests; in the process of a request, run it and return its exit code."""
    sys.path.insert(0, root)
    guards = importlib.import_module("tests.guards")
    sys.path[:] = CLEAN_PATH
    preload(os.path.join(root, "scripts", "memory_plugin"))
    warm_up()
    guard = guards.Guard(home, [root, *allowed])
    gc.collect()
    gc.freeze()
    gc.disable()  # in the forks: they are short
    inner, outer = socket.socketpair()
    start_in_forks(outer)
    connection, handles = serve(socket.socket(fileno=os.dup(0)), inner)
    request = become(connection, handles)
    guard.refused = Refusals(connection)
    sys.addaudithook(guard)
    return execute(request["script"], request["words"])


if __name__ == "__main__":
    os._exit(main(*sys.argv[1:]))
