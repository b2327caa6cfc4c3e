"""The top floor: turns host events and command lines into calls of the features."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, TypeVar

    T = TypeVar("T")

__all__ = ["run_command", "run_hook", "whole"]


def run_hook(event: str) -> int:
    """Handle one event of the host, as `entry.run` does; always 0."""
    return whole(_hook)(event)


def run_command(words: list[str]) -> int:
    """Run one command, as `command_line.main` does; its exit code."""
    return whole(_command)(words)


def _hook() -> Callable[[str], int]:
    from .entry import run

    return run


def _command() -> Callable[[list[str]], int]:
    from .command_line import main

    return main


def whole(load: Callable[[], T]) -> T:
    """What `load` imports, from source where Python's cache of it is damaged."""
    try:
        return load()
    except (EOFError, ValueError, TypeError):
        from .bytecode import discard_damaged

        if not discard_damaged():
            raise
        return load()
