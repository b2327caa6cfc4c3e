"""`memory`: the names of all commands, and how a command line is parsed.

Only the command's module is imported.

A command has one word (`save`) or two (`replies score`). A name of two words is joined into one before argparse sees it.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from itertools import chain
from typing import Any, NoReturn

from .. import VERSION
from ..kernel.bytecode import import_with_cache_repair
from .console import Console, terminal_width, wrapped
from .options import add_actions, add_common_options

USAGE = 2
# The commands that the help lists, in two tiers. To add one: a name here, a module `commands/NAME_command.py`, and a test.
GROUPS = {
    "every day": (
        *("save", "search", "show", "list", "edit", "forget", "review", "accept", "status", "why"),
        *("feedback", "doctor"),
    ),
    "more": (
        *("restore", "reject", "guards", "import", "capture", "check", "demo", "report", "replies"),
        *("session", "interview", "evaluate", "judge", "config"),
    ),
}
# Commands of two words, and the old name of each: its module still has that name, and it works as a hidden alias.
PAIRS = {
    "check text": "hygiene",
    "check secrets": "scan",
    "check phrases": "phrases",
    "config statusline": "statusline",
    "config completions": "completions",
    "evaluate rules": "rules",
    "import promote": "promote",
    "replies score": "score",
    "replies history": "scores",
    "replies tune": "tune",
    "report replay": "replay",
    "session calibrate": "calibrate",
    "session label": "label",
    "session langfuse": "langfuse",
}
ALIASES = {
    **{old: name for name, old in PAIRS.items()},
    "archive": "forget --keep",
    "useful": "feedback useful",
    "wrong": "feedback wrong",
}
# Nouns without a command of their own.
NOUNS = {"replies": "score replies, show their scores over time, and tune the rules"}
_INTERNAL = ("background", "refresh", "describe", "settle")  # started by hooks; the help leaves them out
LISTED = tuple(name for group in GROUPS.values() for name in group)
COMMANDS = {  # name: module
    **{name: name + "_command" for name in LISTED if name not in NOUNS},
    **{name: old + "_command" for name, old in PAIRS.items()},
    **dict.fromkeys(_INTERNAL, "internal_command"),
    **dict.fromkeys(("replies score", "replies history"), "replies_command"),
    "check text": "scan_command",
    "evaluate rules": "evaluate_command",
    "config completions": "statusline_command",
    "import promote": "import_command",
    "reject": "accept_command",
    "restore": "forget_command",
    "session label": "calibrate_command",
    "show": "list_command",
    "why": "status_command",
}
_REMOVED_OPTIONS = {  # of earlier versions; see docs/upgrading.md
    "review --by": "the groups are made by author",
    "report replay --limit": "it shows ten differences, and all with --json",
    "evaluate --subject": "scenarios are gone",
    "evaluate --runs": "scenarios are gone",
    "evaluate --markdown": "--report writes the same",
    "interview --format": "it prints one document, or everything with --json",
    "interview --setup": "put the elements into a pack",
    "judge --keep-address": "the command prints how to save the address",
    "replies tune --undo": "restore the backup of your settings",
    "replies score --type": "give the message with --user",
    "session --again": "a session is graded again when it or the rubric has changed",
    "session calibrate --folder": "it reads this project's sessions",
    "session calibrate --sessions": "it labels twenty sessions",
    "session label --note": "a label is a score",
    "session langfuse --keep-address": "memory config set sessions.langfuse.host URL",
    "session langfuse --seconds": "a command may take two minutes",
    "capture --again": "transcripts are always read again",
    "session --moments": "its table shows the last occurrence of each signal",
}
_ACTION = "ACTION"
_CHOICE = re.compile(r"argument (?:COMMAND|ACTION): invalid choice: '([^']*)'")
_LEFTOVERS = re.compile(r"unrecognized arguments: (.*)")
_JSON = "--json"
_CUTOFF = 0.6  # how similar a suggested word must be


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


def module_of(command: str) -> Any:  # noqa: ANN401  (a module of functions: HELP, EXAMPLES, configure, approval, run)
    """Return the module of a command, or the part of it that is another command."""
    module = import_with_cache_repair(lambda: import_module(".commands." + COMMANDS[command], __package__))
    return module.PARTS.get(command, module) if hasattr(module, "PARTS") else module


def help_of(name: str) -> str:
    """Return the one-line help of a command or noun."""
    return NOUNS.get(name) or str(module_of(name).HELP)


def second_words(noun: str) -> list[str]:
    """Return the second words of the commands that begin with a noun."""
    return [name.split()[1] for name in PAIRS if name.split()[0] == noun]


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
    """Return the words with an old name replaced and a name of two words joined, and the command; it is empty if there is none."""
    at = _after_options(argv, 0)
    if argv[at:] and argv[at] in ALIASES:
        argv = [*argv[:at], *ALIASES[argv[at]].split(), *argv[at + 1 :]]
    second = _after_options(argv, at + 1)
    pair = " ".join(argv[at : at + 1] + argv[second : second + 1])
    if pair in PAIRS:
        return [*argv[:at], pair, *argv[at + 1 : second], *argv[second + 1 :]], pair
    name = "".join(argv[at : at + 1])
    return argv, name if name in COMMANDS or name in NOUNS else ""


def _after_options(argv: list[str], at: int) -> int:
    """Return the position of the first word from `at` on that is not one of the options for all commands."""
    while at < len(argv) and argv[at].partition("=")[0] in (_JSON, "--root"):
        at += 2 if argv[at] == "--root" else 1
    return at


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

    @property
    def name(self) -> str:
        """Return the command, without `memory`."""
        return self.prog.partition(" ")[2]

    def format_help(self) -> str:
        """Return the help, wrapped to the terminal's width. It is wrapped only here, because most runs print none."""
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
        explained = self._explained(" ".join(message.split()), command.partition(" ")[2])
        see = " See" if explained.endswith("?") else "; see"
        Console().error("%s%s `%s --help`" % (explained, see, command))
        raise SystemExit(USAGE)

    def _explained(self, message: str, command: str) -> str:
        """Shorten argparse's message about a word that is unknown or missing, and add the closest known one."""
        choice, leftovers = _CHOICE.match(message), _LEFTOVERS.match(message)
        if choice:
            known = self._known_names()
            near = _nearest(choice[1], known)
            if self.name and not near:
                return "%s: expected one of %s, got '%s'" % (self.name, ", ".join(known), choice[1])
            return "unknown command '%s'%s" % (("%s %s" % (self.name, choice[1])).strip(), near)
        if leftovers:
            return self._about_leftover(leftovers[1].split()[0].partition("=")[0], command)
        if message.endswith("required: " + _ACTION):
            return "expected one of " + ", ".join(self._known_names())
        return message

    def _about_leftover(self, word: str, command: str) -> str:
        removed = _REMOVED_OPTIONS.get("%s %s" % (command, word))
        if removed:
            return "%s was removed: %s" % (word, removed)
        if word.startswith("-"):
            known = dict(zip(self.option_names, self.option_names))
            return "unknown option '%s'%s" % (word, _nearest(word, known))
        return "unexpected word '%s'; put a text of several words in quotes" % word

    def _known_names(self) -> dict[str, str]:
        """Return the commands that a mistyped word may mean, by the word to compare."""
        if not self.name:
            seconds = {name.split()[-1]: name for name in PAIRS}
            return {**ALIASES, **seconds, **dict(zip(LISTED, LISTED))}
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
    for name in [command] if command else [*COMMANDS, *NOUNS]:
        sub = commands.add_parser(name)
        parser.leftovers_of = sub.prog if command else ""
        if name in NOUNS:
            sub.description = NOUNS[name]
            add_actions(sub, {word: help_of("%s %s" % (name, word)) for word in second_words(name)})
            continue
        module = module_of(name)
        sub.texts = module.HELP, module.EXAMPLES
        add_common_options(sub)
        if hasattr(module, "configure"):
            module.configure(sub)
        parser.option_names += tuple(option for action in sub._actions for option in action.option_strings)  # noqa: SLF001
    return parser


def _help_width() -> int:
    """Return the width in columns that argparse uses for help: at least 11, as on any terminal."""
    return max(11, terminal_width() - 2)


def _overview() -> str:
    """Return the list of commands in their tiers."""
    width = _help_width()
    lines = []
    for title, names in GROUPS.items():
        lines += ["", title + ":", *_described(names, width)]
    return "\n".join([*lines[1:], "", "Run `memory COMMAND --help` for options and examples."])


def _described(names: Sequence[str], width: int, lead: str = "") -> list[str]:
    """Return a line for each command with its help and the second words that it takes."""
    import textwrap  # only for help

    room = max(12, *(len(lead + name) + 2 for name in names))
    lines = []
    for name in names:
        also = ", ".join(second_words(name))
        text = help_of(name) + (" (%s%s)" % ("" if name in NOUNS else "also ", also) if also else "")
        line = "  %-*s%s" % (room, lead + name, text)
        lines += textwrap.wrap(line, width, subsequent_indent=" " * (room + 2))
    return lines
