"""Classify shell command lines: whether two of them run the same command, and what kind of command it is."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.data import load_data
from ..memories.command_prefixes import base_name
from ..memories.shell_commands import shell_commands

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MAX_COMMAND = 4000
_WORDS = 3
_PLAIN_WORD = re.compile(r"[A-Za-z][\w:.-]*\Z")
_WRAPPERS = frozenset(["sudo", "env", "time", "nice", "nohup", "command", "exec", "timeout", "caffeinate"])
_ONE_SUBCOMMAND = frozenset(["git", "gh", "docker", "kubectl", "mix", "go", "cargo"])
_FORCING = frozenset(["-f", "--force", "-a", "-A", "-m", "-rf"])


class CommandLine(NamedTuple):
    """The commands of one shell line, without those that only read: their heads (program and subcommand) and all their words."""

    heads: frozenset[tuple[str, ...]]
    words: tuple[str, ...]
    text: str


@lru_cache(maxsize=256)
def command_line(text: str) -> CommandLine:
    """Parse a shell line; it has no heads if its commands only read."""
    heads: list[tuple[str, ...]] = []
    words: list[str] = []
    for command in _commands(text):
        if not _begins(command, _word_lists("looks")):
            heads.append(_head(command))
            words += command
    return CommandLine(frozenset(heads), tuple(words), text)


def runs_same(line: CommandLine, later: CommandLine) -> bool:
    """Return whether a later line runs everything that a line ran, or another program with exactly the same arguments."""
    if not line.heads or not later.heads:
        return False
    if line.heads <= later.heads:
        return True
    return len(line.words) > 2 and line.words[1:] == later.words[1:]


def is_development_check(line: CommandLine) -> bool:
    """Return whether a line only runs tests, linters, compilers or scripts, which fail and pass all day."""
    return bool(line.heads) and all(_begins(list(head), _word_lists("loops")) for head in line.heads)


def change_kind(text: str) -> str:
    """Return how a command line changes the environment: install, service, setup or format; otherwise ""."""
    for command in _commands(text):
        for kind in ("install", "service", "setup", "format"):
            if _begins(command, _word_lists("changes", kind)):
                return kind
    return ""


def _commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each command in a line, without wrappers such as `sudo` and without the program's folder."""
    for command in shell_commands(text[:_MAX_COMMAND]):
        words = list(command.words)
        while words and (
            words[0] in _WRAPPERS or "=" in words[0].lstrip("-") or words[0][:1] in "-0123456789"
        ):
            del words[0]
        if words:
            yield [base_name(words[0]), *words[1:]]


def _head(words: list[str]) -> tuple[str, ...]:
    """Return the program and the following words that look like subcommands, at most three words."""
    head = [words[0]]
    for word in words[1:]:
        if len(head) == _WORDS or not _PLAIN_WORD.match(word) or "." in word[-5:]:
            break
        head.append(word)
    has_one_subcommand = words[0] in _ONE_SUBCOMMAND and head[1:2] != ["compose"]
    return tuple(head[:2] if has_one_subcommand else head)


def _begins(words: list[str], prefixes: Iterable[tuple[str, ...]]) -> bool:
    """Return whether a command begins with one of the prefixes, with or without its long options."""
    bare = [word for word in words[1:] if not word.startswith("-") or word in _FORCING or len(word) <= 2]
    return any(
        _starts(words, prefix) or _starts([words[0], *bare], prefix)
        for prefix in prefixes
        if prefix[0] == words[0] or "/" in prefix[0]
    )


def _starts(words: list[str], prefix: tuple[str, ...]) -> bool:
    return len(words) >= len(prefix) and all(
        word.startswith(name[:-1]) if name.endswith("*") else word == name
        for word, name in zip(words, prefix)
    )


@cache
def error_table() -> dict[str, Any]:
    """Return `config/capture/errors.json`."""
    return load_data("capture", "errors")


def explains_itself(output: str) -> bool:
    """Return whether an output contains an error that says how to fix it, which needs no memory.

    Substrings are checked first, because they are much faster than the patterns.
    """
    lower = output.lower()
    return any(
        any(part in lower for part in parts) and pattern.search(output) is not None
        for parts, pattern in _generic()
    )


@cache
def _generic() -> tuple[tuple[list[str], re.Pattern[str]], ...]:
    entries = error_table()["generic"]["patterns"]
    flags = re.IGNORECASE | re.MULTILINE
    return tuple((entry["holds"], re.compile(entry["pattern"], flags)) for entry in entries)


@cache
def error_pattern(name: str) -> re.Pattern[str]:
    """Return a pattern of `config/capture/errors.json` by its name."""
    return re.compile(error_table()[name]["pattern"], re.IGNORECASE | re.MULTILINE)


@cache
def _word_lists(name: str, kind: str = "values") -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(text.split()) for text in error_table()[name][kind])
