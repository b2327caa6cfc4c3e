"""The command line: one module per command, imported only when that command runs."""

from __future__ import annotations

import sys
from typing import Callable

from ..kernel.bytecode import import_with_cache_repair


def run_command() -> int:
    """Run the command of this process and return its exit code: 0 done, 1 failed or problems found, 2 usage."""
    return import_with_cache_repair(_main)(sys.argv[1:])


def _main() -> Callable[[list[str]], int]:
    from .command_line import main

    return main
