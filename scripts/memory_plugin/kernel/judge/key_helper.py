"""The user's `apiKeyHelper`: a command that prints a key. Never on the prompt's path, since it may be slow or ask."""

from __future__ import annotations

import os
import signal
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired

from .outcome import Failed

__all__ = ["helper_key"]

SECONDS = 10.0
_OFF = "MEMORY_DISABLE"  # every entry of ours checks it first: a helper that runs the client must not run us


def helper_key(command: str, seconds: float = SECONDS) -> str:
    """The key that the command prints. Raises Failed `no_key`, without its output, when it fails or takes too long."""
    environment = dict(os.environ, **{_OFF: "1"})
    process = Popen(  # noqa: S602 (the user's own command, which the client runs in a shell as well)
        command,
        shell=True,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=DEVNULL,
        env=environment,
        start_new_session=True,
    )
    try:
        output = process.communicate(timeout=seconds)[0]
    except TimeoutExpired:
        _end(process)
        raise Failed("no_key", "apiKeyHelper took longer than %d seconds" % seconds) from None
    if process.returncode:
        raise Failed("no_key", "apiKeyHelper ended with exit code %d" % process.returncode)
    return output.decode("utf-8", "replace").strip()


def _end(process: Popen[bytes]) -> None:
    """End the command and what it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, ProcessLookupError):
        process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
