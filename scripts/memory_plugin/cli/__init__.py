"""The command line: one module a command, imported when it is used."""

from __future__ import annotations

from ..kernel.bytecode import import_with_cache_repair

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

__all__ = ["run_command"]


def run_command(words: list[str]) -> int:
    """Run one command and return its exit code: 0 done, 1 failed or problems found, 2 usage."""
    return import_with_cache_repair(_main)(words)


def _main() -> Callable[[list[str]], int]:
    from .main import main

    return main
