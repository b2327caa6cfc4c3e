"""Handle the host's events: read one, handle it within its deadline, and print at most one JSON object."""

from __future__ import annotations

from ..kernel.bytecode import import_with_cache_repair

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

__all__ = ["run_hook"]


def run_hook(event: str) -> int:
    """Handle one event of the host and return the exit code, which is always 0."""
    return import_with_cache_repair(_run)(event)


def _run() -> Callable[[str], int]:
    from ..kernel.quick_import import install

    install()
    from .entry import run

    return run
