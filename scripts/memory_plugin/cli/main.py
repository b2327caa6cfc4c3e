"""`memory`: parse the command line and run one command from the table of commands. Only that command's module is imported."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from .. import VERSION
from ..hooks.environment import launch_folder
from ..hooks.events import error_location
from ..kernel.bytecode import discard_damaged, import_with_cache_repair
from ..kernel.files import error_text
from ..kernel.paths import locate
from ..memories.invalid_memory import InvalidMemory
from .caller import identify
from .command_context import CommandContext, CommandError, UsageError
from .console import Console, finish_streams, open_closed_streams, terminal_width
from .options import add_common_options, require_existing
from .wrapping import fitted_examples, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

FAILED, USAGE = 1, 2
_INTERRUPTED = 130
_TICKET = "--ticket"  # with the number of a ticket, the end of a command that the client's dialog allowed
# The commands that the help lists, by topic. To add one: a name here, a module `commands/NAME_command.py`, and a test.
GROUPS = {
    "memories": (
        *(
            "save",
            "search",
            "show",
            "list",
            "edit",
            "forget",
            "restore",
            "archive",
            "review",
            "accept",
            "reject",
        ),
        *("guards", "import", "capture", "promote", "check", "scan", "hygiene"),
    ),
    "what happened": ("status", "why", "report", "useful", "wrong", "feedback", "replay", "doctor", "demo"),
    "replies": ("score", "scores", "tune"),
    "sessions": ("session", "label", "calibrate", "langfuse"),
    "interview": ("interview",),
    "evaluation": ("evaluate", "rules"),
    "settings": ("config", "judge", "statusline", "completions"),
}
_LISTED = tuple(name for group in GROUPS.values() for name in group)
_INTERNAL = ("grade", "refresh", "propose", "describe")  # started by hooks; the help leaves them out
# These commands never prompt, so they may show a heartbeat at any time. The others show one around their slow parts.
_NON_INTERACTIVE = (
    *("search", "show", "list", "guards", "check", "scan", "status", "why", "feedback", "replay"),
    *("doctor", "demo", "scores", "tune", "langfuse", "refresh"),
)
COMMANDS = {name: name + "_command" for name in (*_LISTED, *_INTERNAL)}  # name: module


def main(argv: Sequence[str]) -> int:
    """Run one command and return its exit code: 0 done, 1 failed or problems found, 2 usage."""
    open_closed_streams()
    try:
        words, ticket = (argv[:-2], argv[-1]) if argv[-2:-1] == [_TICKET] else (argv, "")
        code = _guarded(list(words), ticket, Console())
    except SystemExit as stop:  # the help or a usage error was printed
        code = stop.code if isinstance(stop.code, int) else USAGE
    return finish_streams(code)


def parse_arguments(argv: list[str]) -> argparse.Namespace:
    """Return the parsed arguments. Raises SystemExit after printing help or an error."""
    argv = _as_search_command(argv)
    if argv[:1] == ["help"]:  # like git
        argv = [*argv[1:2], "--help"]
    if not argv:
        _parser(argv).print_help()
        raise SystemExit(USAGE)
    return _parser(argv).parse_args(argv)


def _guarded(argv: list[str], ticket: str, console: Console) -> int:
    """Run a command and return its exit code. Every error becomes one line of text here."""
    try:
        return _run(argv, ticket, console)
    except BrokenPipeError:  # the reader of our output is gone
        return FAILED
    except CommandError as error:
        console.error(str(error))
        return error.exit_code
    except (InvalidMemory, OSError, RuntimeError) as error:
        console.error(error_text(error))
        return FAILED
    except KeyboardInterrupt:
        console.error("stopped")
        return _INTERRUPTED
    except Exception as error:  # the outermost handler: a bug of ours is reported on one line too
        if discard_damaged():
            console.error(
                "Python's bytecode cache for memory was damaged and has been deleted. Run the command again."
            )
        else:
            console.error(
                "a bug in memory: %s at %s: %s" % (type(error).__name__, error_location(error), error)
            )
        return FAILED


def _run(argv: list[str], ticket: str, console: Console) -> int:
    arguments = parse_arguments(argv)
    caller = identify(argv)
    caller.settle_folders()
    root = _root(arguments.root)
    taint = caller.settle(root)
    context = CommandContext(locate(root), console, taint, caller)
    module = module_of(arguments.command)
    if context.inside_client and hasattr(module, "approval"):
        from .approval import needed_approval, require_approval  # commands in a terminal need none

        approval = needed_approval(module, arguments, context)
        if approval is not None:
            require_approval(approval, argv, ticket, context)
    run = module.run
    if arguments.command not in _NON_INTERACTIVE:
        return int(run(arguments, context) or 0)
    with console.working(arguments.command):
        return int(run(arguments, context) or 0)


def _root(option: str | None) -> str:
    """Return the project folder that `--root` names (default: the current folder). Raises UsageError if it does not exist."""
    try:
        root = _project_of(os.path.abspath(option)) if option else launch_folder()
    except FileNotFoundError:  # from os.getcwd, when the current folder was deleted
        raise UsageError("the current folder no longer exists; change to another one") from None
    require_existing(root)
    if not os.path.isdir(root):
        raise UsageError("%s: not a folder" % root)
    return root


def _project_of(path: str) -> str:
    """Return the project folder for a path that may be the project or its store."""
    parent, name = os.path.split(path)
    return os.path.dirname(parent) if name == "memory" and os.path.basename(parent) == ".claude" else path


def _as_search_command(argv: list[str]) -> list[str]:
    """Rewrite the alternative form `--mode search --query "..."` as a search command; return anything else unchanged."""
    if not argv or not argv[0].startswith("--") or not any(word.split("=")[0] == "--mode" for word in argv):
        return argv
    parser = _Parser(prog="memory", add_help=False)
    parser.add_argument("--mode", choices=["search"])
    parser.add_argument("--query", default="")
    parsed, rest = parser.parse_known_args(argv)
    return ["search", *rest, "--", parsed.query]


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """The format of all help. Given a width, argparse does not import a module to find it for each declared argument."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_help_width())


class _Parser(argparse.ArgumentParser):
    """An argument parser that prints one-line errors.

    `option_names` are the command's options, used to suggest a correction; `texts` are its help and its examples. `leftovers_of` is the
    program and the command whose unknown options this parser reports; empty for none.
    """

    option_names: tuple[str, ...] = ()
    leftovers_of = ""
    texts: tuple[str, str] | None = None

    def __init__(self, **options: Any) -> None:  # noqa: ANN401  (whatever argparse takes)
        super().__init__(formatter_class=_Formatter, **options)

    def format_help(self) -> str:
        """Return the help, wrapped to the terminal's width. It is wrapped only here, because most runs print none."""
        if self.texts:
            width = _help_width()
            self.description = wrapped(self.texts[0], width)
            self.epilog = "examples:\n" + fitted_examples(self.texts[1].rstrip(), width)
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Print the error and where to find help. Raises SystemExit with code 2."""
        from .suggestions import explain_unknown

        explained = explain_unknown(" ".join(message.split()), _LISTED, self.option_names)
        # The parser of all commands reports what that of the given command left over.
        command = self.leftovers_of or self.prog if message.startswith("unrecognized") else self.prog
        see = " See" if explained.endswith("?") else "; see"
        Console().error("%s%s `%s --help`" % (explained, see, command))
        raise SystemExit(USAGE)


def module_of(command: str) -> Any:  # noqa: ANN401  (a module of functions: HELP, EXAMPLES, configure, approval, run)
    """Return the module of a command."""
    return import_with_cache_repair(lambda: import_module(".commands." + COMMANDS[command], __package__))


def _parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    command = next((word for word in argv if word in COMMANDS), None)
    parser = _Parser(
        prog="memory",
        description="Manage what Claude remembers, and when it is recalled.",
        epilog=None if command else _overview(),
    )
    add_common_options(parser, at_start=True)
    parser.add_argument(
        "--version", action="version", version="memory %s, Python %s" % (VERSION, sys.version.split()[0])
    )
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", help="one of the commands below", prog="memory"
    )
    for name in COMMANDS if command is None else [command]:
        module = module_of(name)
        sub = commands.add_parser(name)
        sub.texts = module.HELP, module.EXAMPLES
        parser.leftovers_of = sub.prog if name == command else ""
        add_common_options(sub)
        if hasattr(module, "configure"):
            module.configure(sub)
        parser.option_names += tuple(option for action in sub._actions for option in action.option_strings)  # noqa: SLF001
    return parser


def _help_width() -> int:
    """Return the width in columns that argparse uses for help: at least 11, as on any terminal."""
    return max(11, terminal_width() - 2)


def _overview() -> str:
    """Return the list of commands by topic."""
    import textwrap  # only for this help

    width = _help_width()
    lines = []
    for topic, commands in GROUPS.items():
        lines += ["", topic + ":"]
        for name in commands:
            lines += textwrap.wrap(
                "  %-12s%s" % (name, module_of(name).HELP), width, subsequent_indent=" " * 14
            )
    return "\n".join([*lines[1:], "", "Run `memory COMMAND --help` for options and examples."])
