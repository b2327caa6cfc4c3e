"""Shell commands by what they run: whether two lines run the same command, and what kind of command it is."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.data import load_data
from ..memories.command_prefixes import base_name
from ..memories.shell_commands import shell_commands

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "Run",
    "change_of",
    "command_run",
    "error_table",
    "explains_itself",
    "is_loop",
    "is_same",
    "pattern_of",
]

_MAX_COMMAND = 4000
_WORDS = 3
_PLAIN_WORD = re.compile(r"[A-Za-z][\w:.-]*\Z")
_WRAPPERS = frozenset(["sudo", "env", "time", "nice", "nohup", "command", "exec", "timeout", "caffeinate"])
_FORCING = frozenset(["-f", "--force", "-a", "-A", "-m", "-rf"])


class Run(NamedTuple):
    """A command line: the first words of each command that matters, and all words without those that only look."""

    heads: frozenset[tuple[str, ...]]
    words: tuple[str, ...]
    text: str


@lru_cache(maxsize=256)
def command_run(text: str) -> Run:
    """Return what a command line runs; no heads for one that only looks at things."""
    heads: list[tuple[str, ...]] = []
    kept: list[str] = []
    for plain in _commands(text):
        if not _begins(plain, _listed("looks")):
            heads.append(_head(plain))
            kept += plain
    return Run(frozenset(heads), tuple(kept), text)


def is_same(run: Run, other: Run) -> bool:
    """Return whether a later line runs all that an earlier one ran; another program with the very same arguments counts too."""
    if not run.heads or not other.heads:
        return False
    if run.heads <= other.heads:
        return True
    return len(run.words) > 2 and run.words[1:] == other.words[1:]


def is_loop(run: Run) -> bool:
    """Return whether a line only checks the code at work: tests, linters, compilers, scripts."""
    return bool(run.heads) and all(_begins(list(head), _listed("loops")) for head in run.heads)


def change_of(text: str) -> str:
    """Return how a command line changes the surroundings: install, service, setup, format; empty for any other."""
    for plain in _commands(text):
        for kind in ("install", "service", "setup", "format"):
            if _begins(plain, _listed("changes", kind)):
                return kind
    return ""


def _commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each command of a line, without the wrappers before it and the folder of its program."""
    for command in shell_commands(text[:_MAX_COMMAND]):
        words = list(command.words)
        while words and (
            words[0] in _WRAPPERS or "=" in words[0].lstrip("-") or words[0][:1] in "-0123456789"
        ):
            del words[0]
        if words:
            yield [base_name(words[0]), *words[1:]]


def _head(words: list[str]) -> tuple[str, ...]:
    """Return the words that name a command: the program and what follows as long as it looks like the name of a command."""
    head = [words[0]]
    for word in words[1:]:
        if len(head) == _WORDS or not _PLAIN_WORD.match(word) or "." in word[-5:]:
            break
        head.append(word)
    return tuple(
        head[:2]
        if words[0] in ("git", "gh", "docker", "kubectl", "mix", "go", "cargo") and head[1:2] != ["compose"]
        else head
    )


def _begins(words: list[str], listed: Iterable[tuple[str, ...]]) -> bool:
    bare = [word for word in words[1:] if not word.startswith("-") or word in _FORCING or len(word) <= 2]
    return any(
        _starts(words, wanted) or _starts([words[0], *bare], wanted)
        for wanted in listed
        if wanted[0] == words[0] or "/" in wanted[0]
    )


def _starts(words: list[str], wanted: tuple[str, ...]) -> bool:
    return len(words) >= len(wanted) and all(
        word.startswith(name[:-1]) if name.endswith("*") else word == name
        for word, name in zip(words, wanted)
    )


@cache
def error_table() -> dict[str, Any]:
    """Return `config/capture/errors.json`."""
    return load_data("capture", "errors")


def explains_itself(output: str) -> bool:
    """Return whether an output holds one of the errors that are not worth keeping; substrings leave most patterns untried."""
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
def pattern_of(name: str) -> re.Pattern[str]:
    """Return one of the patterns of `config/capture/errors.json`."""
    return re.compile(error_table()[name]["pattern"], re.IGNORECASE | re.MULTILINE)


@cache
def _listed(name: str, kind: str = "values") -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(text.split()) for text in error_table()[name][kind])
