"""Start background processes with a clean environment; they outlive the hook, so the user does not wait for them."""

from __future__ import annotations

import os
import sys

from ..kernel.settings import Settings
from .ancestry import hand_over
from .environment import HANDED_OVER, OFF

MAX_INPUT = 60_000  # bytes: a pipe holds 64 KiB before its reader has begun to read (pipe(7))
_INHERITED = ("PATH", "HOME", "USERPROFILE", "SYSTEMROOT", "CLAUDE_CONFIG_DIR", "LANG", "LC_ALL", "LC_CTYPE")
# The variables that kernel/judge/credentials.py and OpenSSL read; the environment is already clean.
_JUDGE_VARIABLES = (
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL",
    "GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS",
    "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip


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
    script = os.path.join(
        os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))), "memory.py"
    )
    command = [sys.executable, "-I", "-S", script, *arguments]
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
