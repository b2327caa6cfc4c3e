"""Resolve commands that run other commands, such as `sudo`, `env`, `xargs` or `bash -c`, to the command that is finally run.

Which commands these are, and what their options mean, is data: `config/memories/command_prefixes.json`.
"""

from __future__ import annotations

from ..kernel.data import load_data
from .shell_commands import shell_commands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .shell_commands import SimpleCommand

# Nested prefixes and nested shell texts. Each level reads the rest of the line again.
_MAX_LEVELS = 8
_EXECUTABLE = ".exe"


def base_name(word: str) -> str:
    """Return the name of a program without its folder and without `.exe`."""
    name = word.rpartition("/")[2]
    return name[: -len(_EXECUTABLE)] if name.lower().endswith(_EXECUTABLE) else name


def run_commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each command that a shell text runs: as written, and with its prefixes removed one by one."""
    return _commands_in(text, _table(), 0)


def _commands_in(text: str, table: dict[str, list[dict[str, Any]]], level: int) -> Iterator[list[str]]:
    for command in shell_commands(text, level):
        yield from _with_inner(command.words, command, table, level)


def _table() -> dict[str, list[dict[str, Any]]]:
    """Return the prefix definitions by program name; a program may have several forms."""
    table: dict[str, list[dict[str, Any]]] = {}
    for prefix in load_data("memories", "command_prefixes")["prefixes"]:
        for name in prefix["names"]:
            table.setdefault(name, []).append(prefix)
    return table


def _with_inner(
    words: list[str], command: SimpleCommand, table: dict[str, list[dict[str, Any]]], level: int
) -> Iterator[list[str]]:
    yield words
    if level >= _MAX_LEVELS:
        return
    for prefix in table.get(base_name(words[0]), ()):
        inner, texts = _inner(words, prefix, command)
        for part in inner:
            yield from _with_inner(part, command, table, level + 1)
        for text in texts:
            yield from _commands_in(text, table, level + 1)


def _inner(
    words: list[str], prefix: dict[str, Any], command: SimpleCommand
) -> tuple[list[list[str]], list[str]]:
    """Return the commands and the shell texts that a command with a prefix runs."""
    kind = prefix.get("kind", "runs")
    if kind == "exec":
        return _after_markers(words, prefix["markers"]), []
    reader = _PrefixReader(prefix)
    rest = reader.rest(words)
    texts = reader.texts
    if reader.is_lookup:
        return [], []
    if kind == "shell":
        return _run_by_shell(words, rest, texts, command)
    if kind == "text":
        return [], texts + _operand_texts(rest, prefix.get("texts"))
    return ([rest] if rest else []), texts


def _operand_texts(rest: list[str], count: int | None) -> list[str]:
    """Return the operands that are shell text: the first `count` if others follow, or with None all of them, joined."""
    if count is None:
        return [" ".join(rest)] if rest else []
    return rest[:count] if len(rest) > count else []


def _run_by_shell(
    words: list[str], rest: list[str], texts: list[str], command: SimpleCommand
) -> tuple[list[list[str]], list[str]]:
    """Return the command or the texts that a shell runs: the text after `-c`, else its script, else its input."""
    options = words[1 : len(words) - len(rest)]
    if any(_has_short_option(word, "c") for word in options):
        return [], texts + rest[:1]
    reads_input = any(_has_short_option(word, "s") for word in options)
    if rest and not reads_input:
        return [rest], texts
    return [], texts + command.inputs


def _has_short_option(word: str, letter: str) -> bool:
    """Return whether a word contains a short option, alone or with others, as in `-lc`."""
    return word[:1] == "-" and word[1:2] != "-" and letter in word


def _after_markers(words: list[str], markers: list[str]) -> list[list[str]]:
    """Return the commands between a marker such as `-exec` and the `;` or `+` that ends it."""
    commands: list[list[str]] = []
    current: list[str] | None = None
    for word in words[1:]:
        if current is None:
            current = [] if word in markers else None
        elif word in (";", "+"):
            commands.append(current)
            current = None
        else:
            current.append(word)
    return [part for part in [*commands, current or []] if part]


class _PrefixReader:
    """A reader of a prefix's options and operands. `texts` are the shell texts in its options; `is_lookup` says that it runs nothing."""

    __slots__ = ("_operands", "_prefix", "_subcommands", "at", "is_lookup", "texts")

    def __init__(self, prefix: dict[str, Any]) -> None:
        self._prefix = prefix
        self._subcommands = prefix.get("subcommand")
        self._operands = int(prefix.get("operands", 0))
        self.at = 1
        self.texts: list[str] = []
        self.is_lookup = False

    def rest(self, words: list[str]) -> list[str]:
        """Return the words after the prefix's own options and operands."""
        while self.at < len(words):
            word = words[self.at]
            if word == "--" and not self._subcommands:
                return words[self.at + 1 :][self._operands :]
            if word[:1] in ("-", "+") and len(word) > 1:
                self._read_option(words)
            elif not self._consumes(word):
                return words[self.at :]
            if self.is_lookup:
                break
            self.at += 1
        return []

    def _read_option(self, words: list[str]) -> None:
        values, codes = self._prefix.get("values", ()), self._prefix.get("codes", ())
        if _has_option(words[self.at], self._prefix.get("lookups", ()), values):
            self.is_lookup = True
            return
        option, value = _option(words[self.at], (*values, *codes))
        if option and value is None:
            self.at += 1
            value = words[self.at] if self.at < len(words) else ""
        if option in codes and value:
            self.texts.append(value)

    def _consumes(self, word: str) -> bool:
        """Return whether a word that is no option belongs to the prefix: its subcommand, an assignment or an operand."""
        if self._subcommands:
            self.is_lookup = word not in self._subcommands
            self._subcommands = None
            return True
        if word == "-" or (self._prefix.get("assignments") and _is_assignment(word)):
            return True
        if self._operands:
            self._operands -= 1
            return True
        return self._prefix.get("texts") == 0


def _is_assignment(word: str) -> bool:
    name, sign, _ = word.partition("=")
    return bool(sign) and name.isidentifier()


def _has_option(word: str, options: tuple[str, ...], valued: tuple[str, ...]) -> bool:
    """Return whether a word is one of these options, or contains one before the value of another."""
    if word in options or word[:2] == "--":
        return word in options
    for letter in word[1:]:
        if "-" + letter in options or "-" + letter in valued:
            return "-" + letter in options
    return False


def _option(word: str, valued: tuple[str, ...]) -> tuple[str, str | None]:
    """Return the option with a value in a word, and the value or None if it is the next word; ("", None) for any other word."""
    if word in valued:
        return word, None
    name, sign, value = word.partition("=")
    if word[:2] == "--":
        return (name, value) if sign and name in valued else ("", None)
    for at, letter in enumerate(word[1:], 1):
        if word[0] + letter in valued:
            return word[0] + letter, (word[at + 1 :] or None)
    return "", None
