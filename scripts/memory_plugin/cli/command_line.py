"""`memory`: how a command line is parsed, and how one command is run.

Only that command's module is imported. Every error becomes a line of text and an exit code.

A command has one word (`save`) or two (`replies score`). A name of two words is joined into one before argparse sees it.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext, redirect_stdout
from functools import partial
from importlib import import_module
from itertools import chain
from typing import Any, NoReturn, cast

from .. import VERSION
from ..host.caller import Caller, identify
from ..host.commands import COMMANDS, DAILY, MORE, SHARING, TABLE, second_words
from ..host.environment import launch_folder
from ..kernel.bytecode import discard_damaged, import_with_cache_repair
from ..kernel.fastjson import as_texts
from ..kernel.files import bug_text, error_text
from ..kernel.paths import locate
from ..memories import InvalidMemory
from ..memories.tickets import FOLDER, OPTION, settle
from ..work.context import WorkError
from .command_context import (
    FAILED,
    USAGE,
    CommandContext,
    CommandError,
    Handler,
    UsageError,
    require_approval,
)
from .console import Console, finish_streams, prepare_streams, terminal_width, wrapped
from .options import add_actions, add_common_options, require_existing

_INTERRUPTED = 130
_NOTED = (
    "noted: it takes effect when the reply ends, or with `memory settle`,"
    " once Claude Code's transcript shows that the user allowed it, and not a hook"
)
_CHANGED = "nothing changed: a memory changed after you approved it; run the command again"
_ACTION = "ACTION"
_CHOICE = re.compile(r"argument (?:COMMAND|ACTION): invalid choice: '([^']*)'")
_LEFTOVERS = re.compile(r"unrecognized arguments: (.*)")
_TWICE = re.compile(
    r"^argument (--([\w-]+)): \2: "
)  # argparse names the option, and we the field of the same name
_JSON = "--json"
_CUTOFF = 0.6  # how similar a suggested word must be


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
    except WorkError as error:
        console.error(str(error))
        return error.exit_code
    except (InvalidMemory, OSError, RuntimeError) as error:
        console.error(error_text(error))
        return FAILED
    except KeyboardInterrupt:
        console.error("stopped")
        return _INTERRUPTED
    except Exception as error:  # the outermost handler: a bug of ours is reported on one line too
        text = "a bug in memory: %s: %s" % (bug_text(error), error)
        if discard_damaged():
            text = (
                "Python's bytecode cache for memory was damaged and has been deleted. Run the command again."
            )
        console.error(text)
        return FAILED


def _run(argv: list[str], ticket: str, console: Console) -> int:
    arguments, context, handler = _prepared(argv, console, identify(argv))
    if not context.inside_client:
        return _started(arguments, context, handler)
    if arguments.command != "describe":
        _settle(arguments, context)
    approval = handler.approval and handler.approval(arguments, context)
    if approval is None:
        return _started(arguments, context, handler)
    require_approval(approval, argv, ticket, context)
    console.result(arguments.json, {"waits_for": "Claude Code's transcript"}, _NOTED)
    return 0


def _prepared(
    argv: list[str], console: Console, caller: Caller
) -> tuple[argparse.Namespace, CommandContext, Handler]:
    """Return the arguments of a command line, its context and its handler. Raises SystemExit and UsageError."""
    arguments = parse_arguments(argv)
    caller.settle_folders()
    root = _root(arguments.root)
    taint = caller.settle(root)
    context = CommandContext(locate(root), console, taint, caller)
    return arguments, context, handler_of(arguments.command)


def _started(arguments: argparse.Namespace, context: CommandContext, handler: Handler) -> int:
    assert handler.run
    prompts = COMMANDS[arguments.command].prompts
    with nullcontext() if prompts else context.console.working(arguments.command):
        return handler.run(arguments, context) or 0


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
    arguments, context, handler = _prepared(as_texts(wish["words"]), caller.console, caller.caller)
    approval = handler.approval and handler.approval(arguments, context)
    if approval is not None and not set(as_texts(wish["texts"])).issuperset(approval.texts):
        raise CommandError(_CHANGED)
    context.has_ticket = True
    return _started(arguments, context, handler)


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


def parse_arguments(words: Sequence[str]) -> argparse.Namespace:
    """Return the parsed arguments. Raises SystemExit after printing help or an error."""
    argv = _as_search_command(list(words))
    if argv[:1] == ["help"]:  # like git
        argv = [*argv[1:3], "--help"]
    end = argv.index("--") if "--" in argv else len(argv)
    if _JSON in argv[:end]:  # argparse takes no positional arguments on both sides of an option
        argv = [_JSON, *(word for word in argv[:end] if word != _JSON), *argv[end:]]
    argv, command = _joined(argv)
    parser = _parser(command)
    if not argv:
        parser.print_help()
        raise SystemExit(USAGE)
    return parser.parse_args(argv)


def handler_of(command: str) -> Handler:
    """Return what carries out a command. A module of several commands lists them in HANDLERS."""
    name = ".commands." + COMMANDS[command].module
    module = import_with_cache_repair(lambda: import_module(name, __package__))
    if COMMANDS[command].shared:
        return cast("Handler", module.HANDLERS[command])
    run, configure, approval = (getattr(module, part, None) for part in ("run", "configure", "approval"))
    return Handler("%s\n%s" % (module.HELP, module.EXAMPLES), run, configure, approval)


def _as_search_command(argv: list[str]) -> list[str]:
    """Rewrite the alternative form `--mode search --query "..."` as a search command; return anything else unchanged."""
    if not argv or not argv[0].startswith("--") or not any(word.split("=")[0] == "--mode" for word in argv):
        return argv
    parser = _Parser(prog="memory", add_help=False)
    parser.add_argument("--mode", choices=["search"])
    parser.add_argument("--query", default="")
    parsed, rest = parser.parse_known_args(argv)
    return ["search", *rest, "--", parsed.query]


def _joined(argv: list[str]) -> tuple[list[str], str]:
    """Return the words with a name of two words joined, and the command; it is empty if there is none."""
    at = _after_options(argv, 0)
    second = _after_options(argv, at + 1)
    pair = " ".join(argv[at : at + 1] + argv[second : second + 1])
    if " " in pair and pair in COMMANDS:
        return [*argv[:at], pair, *argv[at + 1 : second], *argv[second + 1 :]], pair
    name = "".join(argv[at : at + 1])
    return argv, name if name in COMMANDS else ""


def _after_options(argv: list[str], at: int) -> int:
    """Return the position of the first word from `at` on that is not one of the options for all commands."""
    while at < len(argv) and argv[at].partition("=")[0] in (_JSON, "--root"):
        at += 2 if argv[at] == "--root" else 1
    return at


def _formatter(prog: str) -> argparse.HelpFormatter:
    """Return the format of all help. Given a width, argparse does not import a module to find it for each declared argument."""
    return argparse.RawDescriptionHelpFormatter(prog, width=_help_width())


class _Parser(argparse.ArgumentParser):
    """An argument parser that prints one-line errors.

    `option_names` are the command's options, used to suggest a correction; `texts` are its help and its examples. `leftovers_of` is the
    program and the command whose unknown options this parser reports; empty for none.
    """

    option_names: tuple[str, ...] = ()
    leftovers_of = ""
    texts: tuple[str, str] | None = None

    def __init__(self, **options: Any) -> None:  # noqa: ANN401  (whatever argparse takes)
        super().__init__(formatter_class=_formatter, **options)

    @property
    def name(self) -> str:
        """Return the command, without `memory`."""
        return self.prog.partition(" ")[2]

    def format_help(self) -> str:
        """Return the help, wrapped to the terminal's width. It is wrapped only here, because most runs print none."""
        if (
            self.usage
        ):  # of all commands: one screen, without the options, which every command's own help lists
            return "%s\n%s\n\n%s\n" % (self.format_usage().rstrip("\n"), self.description, self.epilog)
        if self.texts:
            width = _help_width()
            self.description = wrapped(self.texts[0], width)
            self.epilog = "examples:\n" + self.texts[1].rstrip()  # whole, so that a command can be copied
            pairs = ["%s %s" % (self.name, word) for word in second_words(self.name)]
            if pairs:
                self.epilog = "\n".join(["also:", *_described(pairs, width, "memory "), "", self.epilog])
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Print the error and where to find help. Raises SystemExit with code 2."""
        # The parser of all commands reports what that of the given command left over.
        command = self.leftovers_of or self.prog if message.startswith("unrecognized") else self.prog
        explained = self._explained(" ".join(message.split()))
        see = " See" if explained.endswith("?") else "; see"
        Console().error("%s%s `%s --help`" % (explained, see, command))
        raise SystemExit(USAGE)

    def _explained(self, message: str) -> str:
        """Shorten argparse's message about a word that is unknown or missing, and add the closest known one."""
        choice, leftovers = _CHOICE.match(message), _LEFTOVERS.match(message)
        if choice:
            known = self._known_names()
            near = _nearest(choice[1], known)
            if self.name and not near:
                return "%s: expected one of %s, got '%s'" % (self.name, ", ".join(known), choice[1])
            return "unknown command '%s'%s" % (("%s %s" % (self.name, choice[1])).strip(), near)
        if leftovers:
            word = leftovers[1].split()[0].partition("=")[0]
            if word.startswith("-"):
                known = dict(zip(self.option_names, self.option_names))
                return "unknown option '%s'%s" % (word, _nearest(word, known))
            return "unexpected word '%s'; put a text of several words in quotes" % word
        if message.endswith("required: " + _ACTION):
            return "expected one of " + ", ".join(self._known_names())
        return _TWICE.sub(r"\1: ", message)

    def _known_names(self) -> dict[str, str]:
        """Return the commands that a mistyped word may mean, by the word to compare."""
        if not self.name:
            seconds = {row.second: row.name for row in TABLE if row.second}
            return {**seconds, **{row.name: row.name for row in TABLE if row.group}}
        actions = [action.choices or () for action in self._actions if action.metavar == _ACTION]
        words = [*chain(*actions), *second_words(self.name)]
        return {word: "%s %s" % (self.name, word) for word in words}


def _nearest(word: str, known: dict[str, str]) -> str:
    from difflib import get_close_matches  # for errors only

    found = get_close_matches(word, known, 1, _CUTOFF)
    return "; did you mean %s?" % known[found[0]] if found else ""


def _parser(command: str) -> argparse.ArgumentParser:
    """Return the parser of one command; of all commands if `command` is empty."""
    parser = _Parser(
        prog="memory",
        description="Save what Claude should remember, and see when it was used.",
        epilog=None if command else _overview(),
        usage=None if command else "memory COMMAND [--json] [--root DIR]",
    )
    add_common_options(parser, at_start=True)
    parser.add_argument(
        "--version", action="version", version="memory %s, Python %s" % (VERSION, sys.version.split()[0])
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", prog="memory")
    for name in [command] if command else COMMANDS:
        sub = commands.add_parser(name)
        parser.leftovers_of = sub.prog if command else ""
        handler = handler_of(name)
        if not handler.run:  # only its second words are commands
            sub.description = handler.help
            add_actions(sub, {word: handler_of("%s %s" % (name, word)).help for word in second_words(name)})
            continue
        sub.texts = handler.help, handler.examples
        add_common_options(sub)
        if handler.configure:
            handler.configure(sub)
        parser.option_names += tuple(option for action in sub._actions for option in action.option_strings)  # noqa: SLF001
    return parser


def _help_width() -> int:
    """Return the width in columns that argparse uses for help: at least 11, as on any terminal."""
    return max(11, terminal_width() - 2)


def _overview() -> str:
    """Return the list of commands: a line each for those of every day, the names of the others."""
    import textwrap  # only for help

    width = _help_width()
    lines = [DAILY + ":", *_described([row.name for row in TABLE if row.group == DAILY], width), ""]
    sharing = ", ".join(row.name for row in TABLE if row.group == SHARING)
    more = ", ".join("%s (%s)" % (row.name, row.about) for row in TABLE if row.group == MORE)
    for title, names in ((SHARING, sharing), (MORE, more)):
        lines += textwrap.wrap(
            "%s: %s" % (title, names), width, subsequent_indent="  ", break_on_hyphens=False
        )
    return "\n".join([*lines, "", "Run `memory COMMAND --help` for options and examples."])


def _described(names: Sequence[str], width: int, lead: str = "") -> list[str]:
    """Return a line for each command with its help and the second words that it takes."""
    import textwrap  # only for help

    room = max(12, *(len(lead + name) + 2 for name in names))
    lines = []
    for name in names:
        also = ", ".join(second_words(name))
        handler = handler_of(name)
        text = handler.help + (" (%s%s)" % ("also " if handler.run else "", also) if also else "")
        line = "  %-*s%s" % (room, lead + name, text)
        lines += textwrap.wrap(line, width, subsequent_indent=" " * (room + 2))
    return lines
