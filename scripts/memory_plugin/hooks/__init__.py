"""Handle the client's events: read one, handle it within its deadline, and print at most one JSON object."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, TypeVar

    T = TypeVar("T")

STATUS_LINE = "StatusLine"


def run_hook(event: str, *, is_waited_for: bool = False) -> int:
    """Handle one event of the client and return the exit code, which is always 0.

    If the user waits for the event (`is_waited_for`), this ends the process. An argument of the script names another agent.
    """
    if is_waited_for:
        _start_fast()
    status = _load_with_repair(_runner, event)(event, *sys.argv[1:2])
    return _exit_fast(status) if is_waited_for else status


def run_status_line() -> int:
    """Print the line for the client's status line, and end this process."""
    _start_fast()
    return _exit_fast(_load_with_repair(_runner, STATUS_LINE)())


def _start_fast() -> None:
    """Switch off garbage collection and the import of `os`. Together with `_exit_fast` this saves half of a hook's time."""
    import gc

    gc.disable()
    _load_with_repair(_quick_os)()


def _exit_fast(status: int) -> int:
    """End the process without finalizing the interpreter."""
    import os

    os._exit(status)


def _load_with_repair(load: Callable[..., T], *arguments: str) -> T:
    """Return what `load` imports; if a bytecode file is damaged, import it again from source."""
    try:
        return load(*arguments)
    except (EOFError, ValueError, TypeError):
        from ..kernel.bytecode import import_with_cache_repair

        return import_with_cache_repair(lambda: load(*arguments))


def _quick_os() -> Callable[[], None]:
    from ..kernel.quick_start import install_os

    return install_os


def _runner(event: str) -> Callable[..., int]:
    """Return the function that handles an event or prints the status line."""
    from ..kernel.quick_start import install_imports

    install_imports()
    if event == STATUS_LINE:
        from .session_events import print_status_line

        return print_status_line
    from .entry import run

    return run
