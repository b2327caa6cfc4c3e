"""`memory`: the command line. One table of commands; each lives in a module of its own and is imported when it is asked for."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from .. import VERSION
from ..kernel.locks import Busy
from ..kernel.paths import locate
from ..memories.record import InvalidMemory
from . import whole
from .bytecode import discard_damaged
from .console import Console
from .environment import clean, launch_folder
from .events import where
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
    "hygiene": "hygiene",
    "evaluate": "evaluate",
    "rules": "rules",
    "status": "status",
    "why": "why",
    "score": "score",
    "scores": "scores",
    "tune": "tune",
    "grade": "grade",
    "judge": "judge",
    "session": "session",
    "interview": "interview",
    "langfuse": "langfuse",
    "label": "label",
    "calibrate": "calibrate",
    "config": "config",
    "doctor": "doctor",
    "demo": "demo",
    "heal": "heal",
}


def main(argv: Sequence[str]) -> int:
    """Run one command; the exit code: 0 done, 1 failed or problems found, 2 usage."""
    try:
        arguments = _arguments(list(argv))
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else USAGE
    return _guarded(arguments, Console())


def _arguments(argv: list[str]) -> argparse.Namespace:
    """What the words say. Raises SystemExit once help or an error is printed."""
    argv = _source_form(argv)
    if not argv:
        _parser(argv).print_help()
        raise SystemExit(USAGE)
    return _parser(argv).parse_args(argv)


def _guarded(arguments: argparse.Namespace, console: Console) -> int:
    """The exit code of a command; whatever goes wrong in it is one line."""
    try:
        return _run(arguments, console)
    except BrokenPipeError:
        # Whoever read our output has gone; else Python would complain once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except (InvalidMemory, Busy, OSError, RuntimeError) as error:
        console.error(str(error))
        return FAILED
    except KeyboardInterrupt:
        console.error("stopped")
        return 130
    except Exception as error:  # the outermost line: a fault of ours is one line too
        if discard_damaged():
            console.error("Python's cache of this program was damaged and is deleted; run the command again")
        else:
            console.error(
                "a fault of memory's own, %s at %s: %s" % (type(error).__name__, where(error), error)
            )
        return FAILED


def _run(arguments: argparse.Namespace, console: Console) -> int:
    root = _project_of(os.path.abspath(arguments.root)) if arguments.root else launch_folder()
    if not os.path.isdir(root):
        console.error("--root: no folder at %s" % root)
        return USAGE
    taint = clean(root)
    session = Session(locate(root), console, taint)
    result: int = _module(arguments.command).run(arguments, session)
    return result


def _project_of(root: str) -> str:
    """The project folder for `--root`, which takes the project or its store."""
    above, name = os.path.split(root)
    return os.path.dirname(above) if name == "memory" and os.path.basename(above) == ".claude" else root


def _source_form(argv: list[str]) -> list[str]:
    """The other spelling of a search, `--mode search --query "…"`, as a search command."""
    if not argv or not argv[0].startswith("--") or not any(word.split("=")[0] == "--mode" for word in argv):
        return argv
    parser = _Parser(prog="memory", add_help=False)
    parser.add_argument("--mode", choices=["search"])
    parser.add_argument("--query", default="")
    known, rest = parser.parse_known_args(argv)
    return ["search", *rest, "--", known.query]


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is, and stop with exit code 2."""
        message = " ".join(message.split())
        self.exit(USAGE, "memory: %s; `%s --help` shows how\n" % (message, self.prog))


def _module(command: str) -> Any:  # noqa: ANN401  (a module of functions: HELP, EXAMPLES, configure, run)
    return whole(lambda: import_module(".commands." + COMMANDS[command], __package__))


def _parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    parser = _Parser(prog="memory", description="What Claude should remember, and when it may be recalled.")
    _add_common(parser, None, default_json=False)
    parser.add_argument(
        "--version", action="version", version="memory %s, Python %s" % (VERSION, sys.version.split()[0])
    )
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
        # Suppressed defaults: what stands before the command must survive what is missing after it.
        _add_common(sub, argparse.SUPPRESS, default_json=argparse.SUPPRESS)
        module.configure(sub)
    return parser


def _add_common(parser: argparse.ArgumentParser, default_root: str | None, default_json: bool | str) -> None:
    parser.add_argument(
        "--root",
        metavar="DIR",
        default=default_root,
        help="the project, or its store (default: the folder you are in)",
    )
    parser.add_argument("--json", action="store_true", default=default_json, help="print JSON for programs")
