"""Run one command: who calls it, what needs the user's approval, and what they allowed before. Every error becomes a line of text."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext, redirect_stdout
from functools import partial
from typing import Any

from ..host.caller import Caller, identify
from ..host.environment import launch_folder
from ..host.events import error_location
from ..kernel.bytecode import discard_damaged
from ..kernel.fastjson import as_texts
from ..kernel.files import error_text
from ..kernel.paths import locate
from ..memories import InvalidMemory
from ..memories.tickets import FOLDER, OPTION, settle
from .command_context import CommandContext, CommandError, UsageError, needed_approval, require_approval
from .command_line import USAGE, module_of, parse_arguments
from .console import Console, finish_streams, prepare_streams
from .options import require_existing

FAILED = 1
_INTERRUPTED = 130
_NOTED = (
    "noted: it takes effect when the reply ends, or with `memory settle`,"
    " once Claude Code's transcript shows that the user allowed it, and not a hook"
)
_CHANGED = "nothing was changed: a memory changed after you approved it. Run the command again."
# These commands never prompt, so they may show a heartbeat at any time. The others show one around their slow parts.
_NON_INTERACTIVE = (
    *("search", "show", "list", "guards", "check", "check secrets", "why", "status", "feedback", "doctor"),
    *("report replay", "demo", "replies history", "replies tune", "session langfuse", "refresh"),
)


def main(argv: Sequence[str]) -> int:
    """Run one command and return its exit code: 0 done, 1 failed or problems found, 2 usage."""
    prepare_streams()
    if os.name == "nt":
        os.environ["NODEFAULTCURRENTDIRECTORYINEXEPATH"] = "1"  # a repository may hold a `notepad.exe`
    try:
        words, ticket = (argv[:-2], argv[-1]) if argv[-2:-1] == [OPTION] else (argv, "")
        console = Console()
        code = _guarded(partial(_run, list(words), ticket, console), console)
    except SystemExit as stop:  # the help or a usage error was printed
        code = stop.code if isinstance(stop.code, int) else USAGE
    return finish_streams(code)


def _guarded(run: Callable[[], int], console: Console) -> int:
    """Run a command and return its exit code. Every error becomes one line of text here."""
    try:
        return run()
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
    arguments, context, module = _prepared(argv, console, identify(argv))
    if not context.inside_client:
        return _started(arguments, context, module)
    if arguments.command != "describe":
        _settle(arguments, context)
    approval = needed_approval(module, arguments, context)
    if approval is None:
        return _started(arguments, context, module)
    require_approval(approval, argv, ticket, context)
    console.result(arguments.json, {"waits_for": "Claude Code's transcript"}, _NOTED)
    return 0


def _prepared(
    argv: list[str], console: Console, caller: Caller
) -> tuple[argparse.Namespace, CommandContext, Any]:
    """Return the arguments of a command line, its context and its module. Raises SystemExit and UsageError."""
    arguments = parse_arguments(argv)
    caller.settle_folders()
    root = _root(arguments.root)
    taint = caller.settle(root)
    context = CommandContext(locate(root), console, taint, caller)
    return arguments, context, module_of(arguments.command)


def _started(arguments: argparse.Namespace, context: CommandContext, module: Any) -> int:  # noqa: ANN401  (a command)
    never_prompts = arguments.command in _NON_INTERACTIVE
    with context.console.working(arguments.command) if never_prompts else nullcontext():
        return int(module.run(arguments, context) or 0)


def _settle(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Carry out what the user allowed earlier in this session, if the transcript says so by now."""
    if context.paths.state_dir is None or not os.path.isdir(context.paths.state(FOLDER)):
        return
    allowed, lines = settle(context.paths, context.session)
    for line in lines:
        context.console.error(line.removeprefix("memory: "))
    with redirect_stdout(sys.stderr) if arguments.json else nullcontext():
        carry_out(allowed, context)


def carry_out(wishes: list[dict[str, Any]], caller: CommandContext) -> int:
    """Run commands that the user allowed, for exactly the texts that the dialog showed; return the exit code of the last that failed."""
    code, folder = 0, os.getcwd()
    for wish in wishes:
        try:
            os.chdir(str(wish["folder"]))
            code = _guarded(partial(_run_allowed, wish, caller), caller.console) or code
        finally:
            os.chdir(folder)
    return code


def _run_allowed(wish: dict[str, Any], caller: CommandContext) -> int:
    arguments, context, module = _prepared(as_texts(wish["words"]), caller.console, caller.caller)
    approval = needed_approval(module, arguments, context)
    if approval is not None and not set(as_texts(wish["texts"])).issuperset(approval.texts):
        raise CommandError(_CHANGED)
    context.has_ticket = True
    return _started(arguments, context, module)


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
