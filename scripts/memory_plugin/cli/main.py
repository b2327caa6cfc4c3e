"""`memory`: the command line. One table of commands; each lives in a module of its own and is imported when it is asked for."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import textwrap
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from .. import VERSION
from ..hooks.environment import launch_folder
from ..hooks.events import where
from ..kernel.bytecode import discard_damaged, import_with_cache_repair
from ..kernel.files import in_words
from ..kernel.paths import locate
from ..memories.record import InvalidMemory
from .caller import identify
from .command_context import Session
from .console import Console
from .streams import open_closed, settled
from .usage import WrongUse, must_exist

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["COMMANDS", "main"]

DONE, FAILED, USAGE = 0, 1, 2
# What the help lists, by what it is about; then the commands that the plugin itself starts, which it leaves out.
GROUPS = {
    "memories": {
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
    },
    "what happened": {
        "status": "status",
        "why": "why",
        "doctor": "doctor",
        "demo": "demo",
    },
    "replies": {
        "score": "score",
        "scores": "scores",
        "tune": "tune",
    },
    "sessions": {
        "session": "session",
        "label": "label",
        "calibrate": "calibrate",
        "langfuse": "langfuse",
    },
    "interview": {
        "interview": "interview",
    },
    "evaluation": {
        "evaluate": "evaluate",
        "rules": "rules",
    },
    "settings": {
        "config": "config",
        "judge": "judge",
    },
}
_OF_THE_PLUGIN = {"grade": "grade", "refresh": "heal", "heal": "heal"}  # `heal` is its name in 0.1.0
COMMANDS = {name: module for group in (*GROUPS.values(), _OF_THE_PLUGIN) for name, module in group.items()}


def main(argv: Sequence[str]) -> int:
    """Run one command; the exit code: 0 done, 1 failed or problems found, 2 usage."""
    open_closed()
    try:
        arguments = _arguments(list(argv))
    except SystemExit as stop:
        return settled(stop.code if isinstance(stop.code, int) else USAGE)
    except OSError:  # help that could not be printed
        return settled(FAILED)
    return settled(_guarded(arguments, Console()))


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
    except BrokenPipeError:  # whoever read our output has gone
        return FAILED
    except (WrongUse, InvalidMemory, OSError, RuntimeError) as error:
        console.error(in_words(error))
        return USAGE if isinstance(error, WrongUse) else FAILED
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
    caller = identify()
    caller.settle_folders()
    root = _root(arguments.root)
    taint = caller.settle(root)
    session = Session(locate(root), console, taint, caller)
    result: int = _module(arguments.command).run(arguments, session)
    return result


def _root(given: str | None) -> str:
    """The project that the words name, else the folder at hand. Raises WrongUse where that is none."""
    try:
        root = _project_of(os.path.abspath(given)) if given else launch_folder()
    except FileNotFoundError:  # Python asks for the folder that we are in
        raise WrongUse("the folder you are in is not there any more; go to another one") from None
    must_exist(root)
    if not os.path.isdir(root):
        raise WrongUse("%s: not a folder" % root)
    return root


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
        with suppress(OSError):  # the exit code says it as well
            sys.stderr.write("memory: %s; `%s --help` shows how\n" % (message, self.prog))
        raise SystemExit(USAGE)


def _module(command: str) -> Any:  # noqa: ANN401  (a module of functions: HELP, EXAMPLES, configure, run)
    return import_with_cache_repair(lambda: import_module(".commands." + COMMANDS[command], __package__))


def _parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    named = next((word for word in argv if word in COMMANDS), None)
    parser = _Parser(
        prog="memory",
        description="What Claude should remember, and when it may be recalled.",
        epilog=None if named else _overview(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_common(parser, None, default_json=False)
    parser.add_argument(
        "--version", action="version", version="memory %s, Python %s" % (VERSION, sys.version.split()[0])
    )
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", help="one of those below"
    )
    for name in COMMANDS if named is None else [named]:
        module = _module(name)
        sub = commands.add_parser(
            name,
            description=module.HELP,
            epilog="examples:\n" + module.EXAMPLES.rstrip(),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        # Suppressed defaults: what stands before the command must survive what is missing after it.
        _add_common(sub, argparse.SUPPRESS, default_json=argparse.SUPPRESS)
        module.configure(sub)
    return parser


def _overview() -> str:
    """The commands for people, by what they are about."""
    width = shutil.get_terminal_size().columns - 2  # as argparse counts for the rest
    lines = []
    for about, commands in GROUPS.items():
        lines += ["", about + ":"]
        for name in commands:
            lines += textwrap.wrap(
                "  %-11s%s" % (name, _module(name).HELP), width, subsequent_indent=" " * 13
            )
    return "\n".join([*lines[1:], "", "memory COMMAND --help shows examples"])


def _add_common(parser: argparse.ArgumentParser, default_root: str | None, default_json: bool | str) -> None:
    parser.add_argument(
        "--root",
        metavar="DIR",
        default=default_root,
        help="the project, or its store (default: the folder you are in)",
    )
    parser.add_argument("--json", action="store_true", default=default_json, help="print JSON for programs")
