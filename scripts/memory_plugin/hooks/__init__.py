"""Handle the client's events: read one, handle it within its deadline, and print at most one JSON object."""

from __future__ import annotations

import sys

from ..kernel import import_fast


def run_hook(event: str, *, is_waited_for: bool = False) -> int:
    """Handle one event of the client and return the exit code, which is always 0.

    If the user waits for the event (`is_waited_for`), this ends the process. An argument of the script names another agent.
    """
    _start(is_waited_for=is_waited_for)
    from .entry import run

    status = run(event, *sys.argv[1:2])
    return _exit_fast(status) if is_waited_for else status


def run_status_line() -> int:
    """Print the line for the client's status line, and end this process."""
    _start(is_waited_for=True)
    from .session_events import print_status_line

    return _exit_fast(print_status_line())


def _start(*, is_waited_for: bool) -> None:
    """Import fast. While a user waits, do it without garbage collection and `os`: with `_exit_fast` this saves half of a hook's time."""
    if is_waited_for:
        import gc

        gc.disable()
    import_fast(without_os=is_waited_for)


def _exit_fast(status: int) -> int:
    """End the process without finalizing the interpreter."""
    import os

    os._exit(status)
