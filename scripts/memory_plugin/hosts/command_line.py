"""`memory`: the command line. One table of commands; each lives in a module of its own and is imported when it is asked for."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .. import VERSION
from ..kernel.locks import Busy
from ..kernel.paths import locate
from ..memories.record import InvalidMemory
from .console import Console
from .environment import clean, launch_folder
from .session_context import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["COMMANDS", "main"]

DONE, FAILED, USAGE = 0, 1, 2
COMMANDS = {
    "save": "save",
    "search": "search",
    "show": "show",
    "list": "listing",
    "edit": "edit",
    "forget": "forget",
    "restore": "restore",
    "archive": "archive",
    "accept": "accept",
    "import": "importing",
    "scan": "scan",
    "status": "status",
    "why": "why",
    "config": "config",
    "doctor": "doctor",
    "demo": "demo",
    "heal": "heal",
}


def main(argv: Sequence[str]) -> int:
    """Run one command; the exit code: 0 done, 1 failed or problems found, 2 usage."""
    console = Console()
    argv = _source_form(list(argv))
    parser = _parser(argv)
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else USAGE
    try:
        root = os.path.abspath(arguments.root) if arguments.root else launch_folder()
        if not os.path.isdir(root):
            console.error("--root: no folder at %s" % root)
            return USAGE
        taint = clean(root)
        session = Session(locate(_project_of(root)), console, taint)
        result: int = _module(arguments.command).run(arguments, session)
        return result
    except (InvalidMemory, Busy, OSError, RuntimeError) as error:
        console.error(str(error))
        return FAILED
    except BrokenPipeError:
        return FAILED
    except KeyboardInterrupt:
        console.error("stopped")
        return 130


def _project_of(root: str) -> str:
    """The project folder for `--root`, which takes the project or its store."""
    above, name = os.path.split(os.path.realpath(root))
    return os.path.dirname(above) if name == "memory" and os.path.basename(above) == ".claude" else root


def _source_form(argv: list[str]) -> list[str]:
    """The other spelling of a search, `--mode search --query "…"`, as a search command."""
    if "--mode" not in argv or not argv[0].startswith("--"):
        return argv
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--mode", choices=["search"])
    parser.add_argument("--query", default="")
    known, rest = parser.parse_known_args(argv)
    return ["search", *rest, "--", known.query]


def _module(command: str) -> Any:  # noqa: ANN401  (a module of functions: HELP, EXAMPLES, configure, run)
    return import_module(".commands." + COMMANDS[command], __package__)


def _parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="memory", description="What Claude should remember, and when it may be recalled.")
    parser.add_argument("--version", action="version", version="memory %s, Python %s" % (VERSION, sys.version.split()[0]))
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    named = next((word for word in argv if word in COMMANDS), None)
    for name in COMMANDS if named is None else [named]:
        module = _module(name)
        sub = commands.add_parser(
            name,
            help=module.HELP,
            description=module.HELP,
            epilog="examples:\n" + module.EXAMPLES.rstrip(),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.add_argument("--root", metavar="DIR", help="the project, or its store (default: the folder you are in)")
        sub.add_argument("--json", action="store_true", help="print JSON for programs")
        module.configure(sub)
    return parser
