"""Decide whether a shell command line runs a guarded command.

One of its simple commands, with or without prefixes such as `sudo`, must begin with the first word of the guard (base names are compared)
and its subcommand, and have the other words in the same order. Options may be in any order, bundled (`-uf`), repeated, or have a value.
`config/memories/command_options.json` holds what must be known about programs.
"""

from __future__ import annotations

from ..kernel.data import load_data
from .command_prefixes import base_name, run_commands
from .shell_commands import shell_commands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# A longer command line is a program; checking the rest would only use up the call's time.
_MAX_COMMANDS = 20_000
_OFF = ("no", "false", "off", "0")  # values that switch an option off
_MAX_BUNDLE = 5  # characters, with the hyphen


def guard_words(pattern: str) -> list[str]:
    """Return the words of a guard's command, the first as a base name; empty unless it is one simple command."""
    commands = shell_commands("run " + pattern)
    if len(commands) != 1 or commands[0].redirections or len(commands[0].words) < 2:
        return []
    program, *arguments = commands[0].words[1:]
    return [base_name(program), *arguments] if base_name(program) else []


def run_by(text: str, guards: Sequence[Sequence[str]]) -> set[int]:
    """Return the indices of those `guards` (each a list of words) that a command line runs."""
    by_name: dict[str, list[int]] = {}
    for at, words in enumerate(guards):
        by_name.setdefault(words[0], []).append(at)
    matches: set[int] = set()
    for count, command in enumerate(run_commands(text)):
        if count >= _MAX_COMMANDS:
            break
        for at in by_name.get(base_name(command[0]), ()):
            if at not in matches and _covers(command, guards[at]):
                matches.add(at)
    return matches


def other_spellings(pattern: str) -> list[str]:
    """Return the guards that hold the same command with the short or the long form of an option, such as `-f` for `--force`."""
    words = guard_words(pattern)
    found = []
    for command, *names in _options("same") if words else ():
        given = [name for name in names if name in words]
        if words[: len(command.split())] == command.split() and len(given) == 1:
            other = names[1 - names.index(given[0])]
            found.append(" ".join(other if word == given[0] else word for word in words))
    return found


def _options(name: str) -> Any:  # noqa: ANN401  (a list or a table of the data file)
    return load_data("memories", "command_options")[name]["values"]


def _covers(command: list[str], words: Sequence[str]) -> bool:
    """Return whether a command has the subcommand of a guard, and its other words after that."""
    at, program = 1, words[0]
    has_subcommand = words[1:2] and words[1].replace("-", "").replace("_", "").isalnum()
    if has_subcommand and "." not in program and program not in _options("operands_only"):
        at = _after_subcommand(command, words[1])
    return at > 0 and _Arguments(command[at:], _options("with_value").get(program, "")).contain(
        words[1 if at == 1 else 2 :]
    )


def _after_subcommand(command: list[str], name: str) -> int:
    """Return the position after a subcommand, 0 if the command has another one; only options and their values come before it."""
    for at in range(1, len(command)):
        if command[at] == name:
            return at + 1
        if command[at][:1] not in ("-", "+") and (at == 1 or command[at - 1][:1] != "-"):
            break
    return 0


class _Arguments:
    """The arguments of a command: its operands in order, its options as written and without their values, the letters of short ones."""

    __slots__ = ("_letters", "_operands", "_options")

    def __init__(self, words: Sequence[str], with_value: str) -> None:
        self._letters: set[str] = set()
        self._operands: list[str] = []
        self._options: set[str] = set()
        before = ""  # the option whose value this word is
        for at, word in enumerate(words):
            if before:
                self._options.add("%s=%s" % (before, word))
                before = ""
            elif word == "--":
                self._operands += words[at:]
                break
            elif word[:1] == "-" and len(word) > 1:
                name, _, value = word.partition("=")
                self._options |= {word} if value.lower() in _OFF else {word, name}
                if _is_bundle(word):
                    before = self._read_letters(word, with_value)
            else:
                self._operands.append(word)

    def _read_letters(self, word: str, with_value: str) -> str:
        """Add the letters of a bundle; return the option whose value is the next word, or "" for none."""
        for at, letter in enumerate(word[1:], 2):
            self._letters.add(letter)
            if letter in with_value:
                return "-" + letter if at == len(word) else ""
        return ""

    def contain(self, words: Sequence[str]) -> bool:
        """Return whether all words of a guard are there: operands in their order, options anywhere, also as `--option=value`."""
        operands = iter(self._operands)  # consumed by `in`, which keeps the order
        for before, word in zip(["", *words], words):
            if word[:1] == "-" and len(word) > 1:
                name, _, value = word.partition("=")
                has_option = word in self._options or (value and name in self._options and value in operands)
                if not has_option and not (_is_bundle(word) and self._letters.issuperset(word[1:])):
                    return False
            elif "%s=%s" % (before, word) not in self._options and word not in operands:
                return False
        return True


def _is_bundle(word: str) -> bool:
    """Return whether a word is a short option or several; longer words after one hyphen are names, as in `-target`."""
    return word[1:].isalpha() and len(word) <= _MAX_BUNDLE
