"""Start what runs in the background: the refresh of an index, the steps that follow a reply or a session, and what the user allowed.

Each process has a clean environment and outlives the hook, so the user does not wait for it.
"""

from __future__ import annotations

import os
import sys
from time import sleep, time

from ..host.ancestry import hand_over
from ..host.environment import HANDED_OVER, OFF
from ..kernel.context import Context
from ..kernel.fastjson import dumps
from ..kernel.files import FileLock, make_folder
from ..kernel.paths import Paths, own_script
from ..kernel.settings import Settings

MAX_INPUT = 60_000  # bytes: a pipe holds 64 KiB before its reader has begun to read (pipe(7))
_INHERITED = ("PATH", "HOME", "USERPROFILE", "SYSTEMROOT", "CLAUDE_CONFIG_DIR", "LANG", "LC_ALL", "LC_CTYPE")
# The variables that kernel/judge/credentials.py and OpenSSL read; the environment is already clean.
_JUDGE_VARIABLES = (
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL",
    "GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS",
    "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip
_PAUSE_SECONDS = 2.0
_OUTPUT_SECONDS, _PAUSE = 2.0, 0.05
_STARTED = "memory: carried out, because you allowed it: `memory %s`"
_FAILED = "memory: not done, because no process could be started: `memory %s`"


def start_refresh(paths: Paths) -> bool:
    """Start `memory refresh` for a project; return False if one is running or was started in the last two seconds."""
    from ..recall.index_file import index_path, refresh_lock  # loads SQLite, which a Stop hook does without

    path = index_path(paths)
    try:
        if not _is_due(path + ".started"):
            return False
        with refresh_lock(path, 0.0):
            pass
    except OSError:  # also Busy
        return False
    return start(["refresh", "--root", paths.project_root])


def start_steps(request: dict[str, object], context: Context, variables: tuple[str, ...]) -> bool:
    """Start the steps that follow the reply or session that an event ended; return False if no process could be started.

    The reply's `text` travels on standard input, so that no file holds it. A process reads one that is too long from the transcript.
    """
    data = dumps(request).encode("ascii")
    if len(data) > MAX_INPUT:
        data = dumps({**request, "text": ""}).encode("ascii")
    return start(["background", "--root", context.paths.project_root], data, variables)


def settle_deferred(context: Context, *, wait: float = 0.0, is_last: bool = False) -> list[str]:
    """Start what the user allowed; return lines about it, about what is not done, and about saves that the user has not seen.

    `is_last` gives up what is still open. What a command prints follows its line if it comes in time, else it comes with the next lines
    for the user. All waits are within the deadline of the context. Raises OSError.
    """
    from ..memories.tickets import end_tickets, settle, shown  # most sessions have none

    end_tickets(context.paths, context.session)
    wait = min(wait, context.deadline.remaining())
    allowed, not_done = settle(context.paths, context.session, wait=wait, is_last=is_last)
    lines = [*_unseen(context), *not_done]
    if not allowed:
        return lines
    data = dumps({"session": context.session, "commands": allowed}).encode("ascii")
    root = ["--root", context.paths.project_root]
    is_started = len(data) <= MAX_INPUT and start(["settle", *root], data, judge_variables(context.settings))
    lines += [(_STARTED if is_started else _FAILED) % shown(command) for command in allowed]
    output: list[str] = []
    deadline = context.deadline.within(_OUTPUT_SECONDS)
    while is_started and not output and deadline.remaining():
        sleep(_PAUSE)
        output = _unseen(context)
    return [*lines, *output]


def _unseen(context: Context) -> list[str]:
    """Return the lines about saves that the user has not seen; none if they cannot be taken now, and then they come later."""
    from ..memories.grants import take_unshown_saves

    try:
        return take_unshown_saves(context.paths, context.session)
    except OSError:
        return []


def _is_due(path: str) -> bool:
    """Return whether the last start is long enough ago, and record a start if so. Raises Busy if another process is checking."""
    make_folder(os.path.dirname(path))
    with FileLock(path, 0.0):
        status = os.stat(path)
        if status.st_size and 0 <= time() - status.st_mtime < _PAUSE_SECONDS:
            return False
        with open(path, "wb") as handle:
            handle.write(b"started\n")
    return True


def judge_variables(settings: Settings) -> tuple[str, ...]:
    """Return the environment variables that a process needs to ask a judge, including the user's own `judge.key_variable`."""
    own = settings.text("judge.key_variable")
    return (*_JUDGE_VARIABLES, own) if own else _JUDGE_VARIABLES


def start(arguments: list[str], data: bytes = b"", variables: tuple[str, ...] = ()) -> bool:
    """Start `memory` with arguments, and with `data` (at most MAX_INPUT bytes) on standard input; return whether it was started.

    `variables` are names of additional environment variables for the process. Raises ValueError for more data than a pipe holds.
    """
    if len(data) > MAX_INPUT:
        raise ValueError("at most %d bytes can be passed, got %d" % (MAX_INPUT, len(data)))
    command = [sys.executable, "-I", "-S", own_script(), *arguments]
    environment = {name: os.environ[name] for name in (*_INHERITED, *variables) if name in os.environ}
    environment[OFF] = "1"
    try:
        environment[HANDED_OVER] = hand_over()
        try:
            return _spawn_posix(command, environment, data)
        except (AttributeError, NotImplementedError):  # no posix_spawn, or none that can leave the session
            return _spawn_elsewhere(command, environment, data)
    except OSError:
        return False


def _spawn_elsewhere(command: list[str], environment: dict[str, str], data: bytes) -> bool:
    import subprocess

    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        close_fds=True,
        start_new_session=True,
        # Without it, Ctrl+C in the client's console on Windows ends the process.
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )
    assert process.stdin is not None
    try:
        process.stdin.write(data)
        process.stdin.close()
    except OSError:  # it has ended already
        return False
    return True


def _spawn_posix(command: list[str], environment: dict[str, str], data: bytes) -> bool:
    """Start a process as `subprocess` does, but without importing it, which takes ten milliseconds."""
    _keep_files_from_children()
    reading, writing = os.pipe()
    try:
        # The data fits into the pipe, so writing does not wait for the child.
        _fill(writing, data)
        actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [(os.POSIX_SPAWN_DUP2, reading, 0)]
        actions += [(os.POSIX_SPAWN_OPEN, handle, os.devnull, os.O_WRONLY, 0) for handle in (1, 2)]
        os.posix_spawn(command[0], command, environment, file_actions=actions, setsid=True)
    finally:
        os.close(reading)
    return True


def _fill(handle: int, data: bytes) -> None:
    """Write all data and close the handle. Raises BlockingIOError if the data does not fit into the pipe."""
    try:
        os.set_blocking(handle, False)
        while data:
            data = data[os.write(handle, data) :]
    finally:
        os.close(handle)


def _keep_files_from_children() -> None:
    """Prevent child processes, which may outlive the host, from inheriting the files that it left open for us."""
    try:
        handles = [int(name) for name in os.listdir("/dev/fd")]
    except OSError:
        return
    for handle in handles:
        try:
            os.set_inheritable(handle, False)
        except OSError:  # the handle that `listdir` used
            continue
