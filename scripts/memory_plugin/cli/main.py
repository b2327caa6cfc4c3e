"""`memory`: run one command and turn every error into a line of text and an exit code. Only that command's module is imported."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext

from ..hooks.environment import launch_folder
from ..hooks.events import error_location
from ..kernel.bytecode import discard_damaged
from ..kernel.files import error_text
from ..kernel.paths import locate
from ..memories import InvalidMemory
from .caller import identify
from .command_context import CommandContext, CommandError, UsageError, needed_approval, require_approval
from .command_line import USAGE, module_of, parse_arguments
from .console import Console, finish_streams, open_closed_streams
from .options import require_existing

FAILED = 1
_INTERRUPTED = 130
_TICKET = "--ticket"  # with the number of a ticket, the end of a command that the client's dialog allowed
# These commands never prompt, so they may show a heartbeat at any time. The others show one around their slow parts.
_NON_INTERACTIVE = (
    *("search", "show", "list", "guards", "check", "check secrets", "status", "why", "feedback", "doctor"),
    *("report replay", "demo", "replies history", "replies tune", "session langfuse", "refresh"),
)


def main(argv: Sequence[str]) -> int:
    """Run one command and return its exit code: 0 done, 1 failed or problems found, 2 usage."""
    open_closed_streams()
    try:
        words, ticket = (argv[:-2], argv[-1]) if argv[-2:-1] == [_TICKET] else (argv, "")
        code = _guarded(list(words), ticket, Console())
    except SystemExit as stop:  # the help or a usage error was printed
        code = stop.code if isinstance(stop.code, int) else USAGE
    return finish_streams(code)


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
        text = "a bug in memory: %s at %s: %s" % (type(error).__name__, error_location(error), error)
        if discard_damaged():
            text = (
                "Python's bytecode cache for memory was damaged and has been deleted. Run the command again."
            )
        console.error(text)
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
        approval = needed_approval(module, arguments, context)
        if approval is not None:
            require_approval(approval, argv, ticket, context)
    is_quiet = arguments.command in _NON_INTERACTIVE
    with console.working(arguments.command) if is_quiet else nullcontext():
        return int(module.run(arguments, context) or 0)


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
