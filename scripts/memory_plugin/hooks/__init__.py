"""Handle the host's events: read one, handle it within its deadline, and print at most one JSON object."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, TypeVar

    T = TypeVar("T")

__all__ = ["run_hook", "run_status_line"]


def run_hook(event: str, *, is_waited_for: bool = False) -> int:
    """Handle one event of the host and return the exit code, which is always 0.

    Where somebody waits for this process, it ends here.
    """
    if is_waited_for:
        _begin_quickly()
    status = _repaired(lambda: _entry(event))(event)
    return _end_quickly(status) if is_waited_for else status


def run_status_line() -> int:
    """Print the line for the client's status line, and end this process."""
    _begin_quickly()
    return _end_quickly(_repaired(_status_line)())


def _begin_quickly() -> None:
    """Prepare for a life of some milliseconds: look for no garbage, and import no `os`. With `_end_quickly` that is half of its time."""
    import gc

    gc.disable()
    _repaired(_quick_os)()


def _end_quickly(status: int) -> int:
    """End the process without taking the interpreter apart."""
    import os

    os._exit(status)


def _repaired(load: Callable[[], T]) -> T:
    """Return what `load` imports; where a bytecode file is damaged, it is imported again from source."""
    try:
        return load()
    except (EOFError, ValueError, TypeError):
        from ..kernel.bytecode import import_with_cache_repair

        return import_with_cache_repair(load)


def _quick_os() -> Callable[[], None]:
    from ..kernel.quick_os import install

    return install


def _entry(event: str) -> Callable[[str], int]:
    from .starting import event_handler

    return event_handler(event)


def _status_line() -> Callable[[], int]:
    from .starting import status_line

    return status_line()
