"""The command line: one module per command, imported only when that command runs."""

from __future__ import annotations

import sys

from ..kernel import import_fast


def run_command() -> int:
    """Run the command of this process and return its exit code: 0 done, 1 failed or problems found, 2 usage."""
    import_fast()
    from .command_line import main

    return main(sys.argv[1:])
