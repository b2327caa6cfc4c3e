"""`memory`: how a command line is parsed, and how one command is run.

Only that command's module is imported. Every error becomes a line of text and an exit code.

A command has one word (`save`) or two (`replies score`). The options of all commands may stand anywhere, so they are read first; then the
command is known, and argparse reads the other words with its options alone.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from argparse import ArgumentParser, HelpFormatter, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from importlib import import_module
from itertools import chain
from typing import Any, NoReturn, cast

from .. import VERSION
from ..host.caller import Caller, identify
from ..host.commands import COMMANDS, DAILY, MORE, SHARING, TABLE, second_words
from ..host.environment import launch_folder
from ..kernel.fastjson import as_text, as_texts
from ..kernel.files import Busy, bug_text, error_text
from ..kernel.paths import Paths
from ..memories import InvalidMemory
from ..memories.tickets import FOLDER, OPTION, settle, take_ticket
from ..work import WorkError
from .command_context import DONE, FAILED, USAGE, CommandContext, CommandError, Handler, UsageError
from .console import Console, broken, finish_streams, prepare_streams, terminal_width, wrapped
from .options import add_common_options, require_existing

_INTERRUPTED = 130
_FORBIDDEN = (errno.EROFS, errno.EACCES, errno.EPERM)
_IN_SANDBOX = "; if Claude Code's sandbox forbids it, run the command in your own terminal"
_NOTED = (
    "noted: it takes effect when the reply ends, or with `memory settle`,"
    " once Claude Code's transcript shows that the user allowed it, and not a hook"
)
_NOT_APPROVED = "nothing changed: the user must approve this: %s Run it by itself so that Claude Code can ask, or in a terminal"
_CHANGED = "nothing changed: a memory changed after you approved it; run the command again"
_ACTION = "ACTION"
_CHOICE = re.compile(r"argument (\S+): invalid choice: '([^']*)' \(choose from (.*)\)")
_LEFTOVERS = re.compile(r"unrecognized arguments: (.*)")
# argparse names the option, and we the field of the same name.
_TWICE = re.compile(r"^argument (--([\w-]+)): \2: ")
_OVERVIEW = """\
usage: memory COMMAND [--json] [--root DIR]

Save what Claude should remember, and see when it was used.
"""
_BELOW = "      "  # before what an example does, below it
_CUTOFF = 0.6  # how similar a suggested word must be


def main(argv: Sequence[str]) -> int:
    """Run one command and return its exit code: 0 done, 1 failed or problems found, 2 usage."""
    prepare_streams()
    if os.name == "nt":
        os.environ["NODEFAULTCURRENTDIRECTORYINEXEPATH"] = "1"  # a repository may hold a `notepad.exe`
    words, ticket = (argv[:-2], argv[-1]) if argv[-2:-1] == [OPTION] else (argv, "")
    console = Console()
    return finish_streams(_guarded(partial(_run, list(words), ticket, console), console))


def _guarded(run: Callable[[], int], console: Console) -> int:
    """Run a command and return its exit code. Every error becomes one line of text here."""
    try:
        return run()
    except SystemExit as stop:  # help was printed
        code = stop.code if isinstance(stop.code, int) else DONE
    except BrokenPipeError:  # the reader of our output is gone
        code = FAILED
    except WorkError as error:
        console.error(str(error))
        code = error.exit_code
    except (InvalidMemory, OSError, RuntimeError) as error:
        is_forbidden = isinstance(error, OSError) and error.errno in _FORBIDDEN
        advice = "; run the command again" if isinstance(error, Busy) else _IN_SANDBOX if is_forbidden else ""
        console.error(error_text(error) + advice)
        code = FAILED
    except KeyboardInterrupt:
        console.error("stopped")
        code = _INTERRUPTED
    except Exception as error:  # the outermost handler: a bug of ours is reported on one line too
        console.error("a bug in memory: %s: %s" % (bug_text(error), error))
        code = FAILED
    return code


def _run(argv: list[str], ticket: str, console: Console) -> int:
    arguments, context, handler = _prepared(argv, console, identify(argv))
    if not context.inside_client:
        return _started(arguments, context, handler)
    if arguments.command != "describe":
        _settle(context)
    approval = handler.approval and handler.approval(arguments, context)
    if approval is None:
        return _started(arguments, context, handler)
    if not ticket or not take_ticket(context.paths, context.session, ticket, argv):
        raise CommandError(_NOT_APPROVED % approval.question)
    console.result({"waits_for": "Claude Code's transcript"}, _NOTED)
    return DONE


def _prepared(argv: list[str], console: Console, caller: Caller) -> tuple[Namespace, CommandContext, Handler]:
    """Return the arguments of a command line, its context and its handler. Raises SystemExit and UsageError."""
    arguments = parse_arguments(argv)
    console.as_json = arguments.json
    caller.settle_folders()
    root = _root(arguments.root)
    taint = caller.settle(root)
    context = CommandContext(Paths(root), console, taint, caller)
    return arguments, context, handler_of(arguments.command)


def _started(arguments: Namespace, context: CommandContext, handler: Handler) -> int:
    assert handler.run
    prompts = COMMANDS[arguments.command].prompts
    with nullcontext() if prompts else context.console.working(arguments.command):
        return handler.run(arguments, context) or 0


def _settle(context: CommandContext) -> None:
    """Carry out what the user allowed earlier in this session, if the transcript says so by now."""
    if context.paths.state_dir is None or not os.path.isdir(context.paths.state(FOLDER)):
        return
    folder = os.getcwd()  # raises FileNotFoundError in a deleted folder, before anything is taken
    allowed, lines = settle(context.paths, context.session)
    for line in lines:
        context.console.error(line.removeprefix("memory: "))
    said = Console(sys.stderr) if context.console.as_json else Console()
    carry_out(allowed, context.caller, said)
    os.chdir(folder)


def carry_out(commands: list[dict[str, Any]], caller: Caller, console: Console) -> int:
    """Run commands that the user allowed, for exactly the texts that the dialog showed; return the exit code of the last that failed.

    Each runs in its own folder, where this process then stays.
    """
    code = DONE
    for command in commands:
        code = _guarded(partial(_run_allowed, command, caller, console), console) or code
    return code


def _run_allowed(command: dict[str, Any], caller: Caller, console: Console) -> int:
    os.chdir(as_text(command.get("folder")))
    arguments, context, handler = _prepared(as_texts(command.get("words")), console, caller)
    approval = handler.approval and handler.approval(arguments, context)
    if approval is not None and not set(as_texts(command.get("texts"))).issuperset(approval.texts):
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


def parse_arguments(words: Sequence[str]) -> Namespace:
    """Return the parsed arguments. Raises UsageError, and SystemExit after printing help."""
    argv = _as_search_command(list(words))
    if argv[:1] == ["help"]:  # like git
        argv = [*argv[1:3], "--help"]
    end = argv.index("--") if "--" in argv else len(argv)
    options = _Parser(prog="memory", add_help=False, allow_abbrev=False)
    add_common_options(options)
    given, rest = options.parse_known_args(argv[:end], Namespace(root=None, json=False))
    pair = " ".join(rest[:2])
    command, rest = (pair, rest[2:]) if pair in COMMANDS else ("".join(rest[:1]), rest[1:])
    if command == "--version":
        Console().line("memory %s, Python %s" % (VERSION, sys.version.split()[0]))
        raise SystemExit(DONE)
    if command in ("", "--help", "-h"):
        Console().verbatim(_overview())
        raise SystemExit(DONE if command else USAGE)
    if command not in COMMANDS:
        seconds = {row.second: row.name for row in TABLE if row.second}
        firsts = {row.name: row.name for row in TABLE if row.group}
        near = _nearest(command, {**seconds, **firsts})
        raise _usage_error("unknown command '%s'%s" % (command, near), "memory")
    given.command = command
    return _parser(command).parse_args([*rest, *argv[end:]], given)


def handler_of(command: str) -> Handler:
    """Return what carries out a command."""
    module = import_module(".commands.%s_command" % COMMANDS[command].module, __package__)
    return cast("Handler", module.HANDLERS[command])


def _as_search_command(argv: list[str]) -> list[str]:
    """Rewrite the alternative form `--mode search --query "..."` as a search command; return anything else unchanged."""
    if not argv or not argv[0].startswith("--") or not any(word.split("=")[0] == "--mode" for word in argv):
        return argv
    parser = _Parser(prog="memory", add_help=False)
    parser.add_argument("--mode", choices=["search"])
    parser.add_argument("--query", default="")
    parsed, rest = parser.parse_known_args(argv)
    return ["search", *rest, "--", parsed.query]


def _formatter(prog: str) -> HelpFormatter:
    """Return the format of all help. Given a width, argparse does not import a module to find it for each declared argument."""
    return RawDescriptionHelpFormatter(prog, width=_help_width())


def _usage_error(text: str, prog: str) -> UsageError:
    """Return the error for a command line, with the command whose help explains it."""
    see = " See" if text.endswith("?") else "; see"
    return UsageError("%s%s `%s --help`" % (text, see, prog))


class _Parser(ArgumentParser):
    """An argument parser that raises its errors as UsageError, in one line. `texts` are the help of a command and its examples."""

    texts: tuple[str, str] | None = None

    def __init__(self, **options: Any) -> None:  # noqa: ANN401  (whatever argparse takes)
        super().__init__(formatter_class=_formatter, **options)

    @property
    def name(self) -> str:
        """Return the command, without `memory`."""
        return self.prog.partition(" ")[2]

    def format_help(self) -> str:
        """Return the help, wrapped to the terminal's width. It is wrapped only here, because most runs print none."""
        if self.texts:
            width = _help_width()
            self.description = wrapped(self.texts[0], width)
            self.epilog = "\n".join(["examples:", *_fitted(self.texts[1], width)])
            pairs = ["%s %s" % (self.name, word) for word in second_words(self.name)]
            if pairs:
                self.epilog = "\n".join(["also:", *_described(pairs, width, "memory "), "", self.epilog])
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Raise UsageError, which names the command whose help explains the error."""
        raise _usage_error(self._explained(" ".join(message.split())), self.prog)

    def _explained(self, message: str) -> str:
        """Shorten argparse's message about a word that is unknown or missing, and add the closest known one."""
        choice, leftovers = _CHOICE.match(message), _LEFTOVERS.match(message)
        if choice:
            return self._unknown_choice(*choice.groups())
        if leftovers:
            word = leftovers[1].split()[0].partition("=")[0]
            if word.startswith("-"):
                known = {name: name for action in self._actions for name in action.option_strings}
                return "unknown option '%s'%s" % (word, _nearest(word, known))
            unexpected = "unexpected word '%s'; put a text of several words in quotes" % word
            return self._near_command(word) or unexpected
        if message.partition("required: ")[2].startswith(_ACTION):
            return "expected one of " + ", ".join(self._second_words())
        return _TWICE.sub(r"\1: ", message).removeprefix("argument ")

    def _unknown_choice(self, argument: str, word: str, choices: str) -> str:
        near = ""
        if argument == _ACTION:
            near = self._near_command(word)
            argument, choices = self.name, ", ".join(self._second_words())
        return near or "%s: expected one of %s, got '%s'" % (argument, choices.replace("'", ""), word)

    def _near_command(self, word: str) -> str:
        """Return the message about an unknown second word of the command, with the closest known one; empty if none is close."""
        near = _nearest(word, {second: "%s %s" % (self.name, second) for second in self._second_words()})
        return near and "unknown command '%s %s'%s" % (self.name, word, near)

    def _second_words(self) -> list[str]:
        """Return the actions of the command, and the second words of others that begin with it."""
        actions = [action.choices or () for action in self._actions if action.metavar == _ACTION]
        return list(dict.fromkeys([*chain(*actions), *second_words(self.name)]))


def _fitted(examples: str, width: int) -> list[str]:
    """Return the lines of examples; what a command does is below it if both do not fit. A command stays whole, so it can be copied."""
    lines: list[str] = []
    for line in examples.rstrip().splitlines():
        command, _, about = line.strip().partition("  ")
        if about and len(line) > width:
            lines += ["  " + command, *broken(about.strip(), width, _BELOW, _BELOW)]
        else:
            lines.append(line)
    return lines


def _nearest(word: str, known: dict[str, str]) -> str:
    from difflib import get_close_matches  # for errors only

    found = get_close_matches(word, known, 1, _CUTOFF)
    return "; did you mean %s?" % known[found[0]] if found else ""


def _parser(command: str) -> _Parser:
    """Return the parser of a command."""
    handler = handler_of(command)
    parser = _Parser(prog="memory " + command)
    add_common_options(parser)
    if handler.run:
        parser.texts = handler.help, handler.examples
    else:  # only its second words are commands
        parser.description = handler.help
        group = parser.add_subparsers(required=True, metavar=_ACTION)
        for word in second_words(command):
            group.add_parser(word, help=handler_of("%s %s" % (command, word)).help)
    if handler.configure:
        handler.configure(parser)
    return parser


def _help_width() -> int:
    """Return the width in columns that argparse uses for help: at least 11, as on any terminal."""
    return max(11, terminal_width() - 2)


def _overview() -> str:
    """Return the list of commands: a line each for those of every day, the names of the others."""
    width = _help_width()
    daily = [row.name for row in TABLE if row.group == DAILY]
    sharing = ", ".join(row.name for row in TABLE if row.group == SHARING)
    more = ", ".join("%s (%s)" % (row.name, row.about) for row in TABLE if row.group == MORE)
    lines = [_OVERVIEW, DAILY + ":", *_described(daily, width), ""]
    for title, names in ((SHARING, sharing), (MORE, more)):
        lines += broken("%s: %s" % (title, names), width, "", "  ")
    return "\n".join([*lines, "", "Run `memory COMMAND --help` for options and examples."])


def _described(names: Sequence[str], width: int, lead: str = "") -> list[str]:
    """Return a line for each command with its help and the second words that it takes."""
    room = max(12, *(len(lead + name) + 2 for name in names))
    lines = []
    for name in names:
        also = ", ".join(second_words(name))
        handler = handler_of(name)
        text = handler.help + (" (%s%s)" % ("also " if handler.run else "", also) if also else "")
        lines.append(wrapped("  %-*s%s" % (room, lead + name, text), width))
    return lines
