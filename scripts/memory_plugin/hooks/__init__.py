"""Handle the client's events: read one, handle it within its deadline, and print at most one JSON object."""

from __future__ import annotations

import sys


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
    """Import faster, past damaged bytecode files.

    While a user waits, garbage collection and the import of `os` are switched off: with `_exit_fast` this saves half of a hook's time.
    """
    if is_waited_for:
        import gc

        gc.disable()
    try:
        from ..kernel.quick_start import install_imports, install_os
    except (EOFError, ValueError, TypeError):
        from ..kernel.bytecode import discard_damaged

        discard_damaged()
        from ..kernel.quick_start import install_imports, install_os
    if is_waited_for:
        install_os()
    install_imports()


def _exit_fast(status: int) -> int:
    """End the process without finalizing the interpreter."""
    import os

    os._exit(status)
