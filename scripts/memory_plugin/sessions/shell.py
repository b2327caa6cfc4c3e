"""Find the commands that a shell command line runs: the first of each pipeline, without wrappers and assignments.

This is an approximation of a shell's grammar, in linear time.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.data import load_data

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_COMMAND = 20_000
_PREPARATIONS = ("", "cd", "export", "source", "set")
_PIPES = ("|", "|&")
_FAILING_COMMANDS = ("exit", "return", "false")
# An operator, or a word with its quotes and escapes. Blanks, comments and continued lines are skipped. Each piece of a word starts with
# a different character and cannot fail once started, so nothing is tried twice: linear time.
_PART = re.compile(
    r"""\\\n | (?<![^\s;|&(])\#[^\n]*
    | ( (?: [^\s'"\\;|&]+ | '[^']*'? | "(?:[^"\\]+|\\.?)*"? | \\(?!\n).? | (?<=[<>])& | &(?=>) )+ )
    | ( &&|\|\||;|\n|\|&?|& )""",
    re.VERBOSE | re.DOTALL,
)
_PLAIN = re.compile(r"""[^'"\\;|&\#\n]+""")
_QUOTED = re.compile(r"""'([^']*)'?|"((?:[^"\\]+|\\.?)*)"?|\\(.?)""", re.DOTALL)
_ESCAPED = re.compile(r"""\\(["\\$`])""")


class Head(NamedTuple):
    """The first command of a pipeline; `hidden` means that the exit code of the whole line does not show its failure."""

    words: tuple[str, ...]
    hidden: bool = False


def pipeline_heads(command: str) -> list[Head]:
    """Return the first command of every pipeline in a command line; here-documents are skipped."""
    command = command[:_MAX_COMMAND]
    if _PLAIN.fullmatch(command):
        plain = _unwrapped(command.split())
        return [Head(tuple(plain))] if plain else []
    heads: list[Head] = []
    commands = list(_commands(_without_documents(command)))
    strict = any(words[:1] == ["set"] and "pipefail" in words for words, _ in commands)
    previous_operator = ""
    for (words, operator), is_shown in zip(commands, _failure_shows(commands)):
        plain = _unwrapped(words) if previous_operator not in _PIPES else []
        if plain:
            heads.append(Head(tuple(plain), not is_shown or (operator in _PIPES and not strict)))
        previous_operator = operator
    return heads


def _commands(command: str) -> Iterator[tuple[list[str], str]]:
    """Yield each command's words and the operator after it (empty at the end), without quotes."""
    words: list[str] = []
    for part in _PART.finditer(command):
        word, operator = part.groups()
        if word:
            plain = "'" not in word and '"' not in word and "\\" not in word
            words.append(word if plain else _QUOTED.sub(_unquote, word))
        elif operator and (words or operator != "\n"):
            yield words, operator
            words = []
    if words:
        yield words, ""


def _unquote(match: re.Match[str]) -> str:
    """Return a quoted piece without its quotes."""
    single, double, escaped = match.groups()
    if double is not None:
        return _ESCAPED.sub(r"\1", double)
    return str(single if single is not None else escaped)


def _failure_shows(commands: list[tuple[list[str], str]]) -> list[bool]:
    """Return for each command whether the whole line fails if its pipeline fails."""
    shown: list[bool] = []
    following: list[str] = []
    for words, operator in reversed(commands):
        if operator == "||":
            shown.append(following[:1] != [] and following[0] in _FAILING_COMMANDS)
        elif operator in ("&&", *_PIPES):
            shown.append(shown[-1] if shown else True)
        else:
            shown.append(operator != "&" and not following)
        following = words
    return shown[::-1]


def _without_documents(command: str) -> str:
    """Remove the content of here-documents."""
    if "<<" not in command:
        return command
    lines: list[str] = []
    end = ""
    for line in command.split("\n"):
        if end:
            end = "" if line.strip() == end else end
            continue
        lines.append(line)
        _, mark, after = line.partition("<<")
        if mark and not after.startswith("<"):
            words = after.lstrip("-").split()
            end = words[0].strip("'\"\\;)") if words else ""
    return "\n".join(lines)


def _unwrapped(words: list[str]) -> list[str]:
    """Return a command's words without assignments and wrappers; empty for a command that only prepares others."""
    wrappers = _wrappers()
    if words and words[0] not in wrappers and words[0].isalnum() and ")" not in words[-1]:
        return words if words[0] not in _PREPARATIONS else []
    at = 0
    while at < len(words):
        word = words[at].lstrip("(")
        name, equals, _ = word.partition("=")
        is_assignment = bool(equals) and name.isidentifier()
        is_number = at > 0 and word.rstrip("sm").isdigit()  # an argument of a wrapper, as in `timeout 30s`
        if not (is_assignment or is_number or word in wrappers):
            break
        at += 1
    rest = [words[at].lstrip("("), *words[at + 1 :]] if at < len(words) else []
    if rest and "(" not in rest[-1]:
        rest[-1] = rest[-1].rstrip(")")
    return rest if rest and rest[0] not in _PREPARATIONS else []


@cache
def _table() -> dict[str, Any]:
    return load_data("sessions", "commands")


@cache
def _wrappers() -> frozenset[str]:
    return frozenset(_table()["wrappers"])


@cache
def _tests() -> dict[str, list[list[str]]]:
    """Return the commands that run tests, by their first word."""
    by_word: dict[str, list[list[str]]] = {}
    for words in _table()["tests"]:
        by_word.setdefault(words[0], []).append(words[1:])
    return by_word


def runs_tests(head: Head) -> bool:
    """Return whether a command runs tests."""
    tests, first = _tests(), head.words[0]
    patterns = tests.get(first)
    if patterns is None:
        name = first.rpartition("/")[2]
        patterns = tests.get(name) or tests.get(name.rstrip("0123456789."))
        if patterns is None:
            return False
    without_options = tuple(word for word in head.words[1:] if not word.startswith(("-", "+")))
    return any(
        _starts_with(words, pattern) for pattern in patterns for words in (head.words[1:], without_options)
    )


def _starts_with(words: tuple[str, ...], pattern: list[str]) -> bool:
    return len(words) >= len(pattern) and all(_matches(word, name) for word, name in zip(words, pattern))


def _matches(word: str, name: str) -> bool:
    return word.startswith(name[:-1]) if name.endswith("*") else word == name


def tool_for(head: Head) -> dict[str, Any] | None:
    """Return the table's entry for a command that one of Claude's tools could replace, else None."""
    entries = _entries_by_word().get(head.words[0], ())
    return next((entry for entry in entries if _fits(head.words[1:], entry)), None)


@cache
def _entries_by_word() -> dict[str, list[dict[str, Any]]]:
    """Return the entries of `stands_for` by their first words."""
    by_word: dict[str, list[dict[str, Any]]] = {}
    for entry in _table()["stands_for"]:
        for word in entry["words"]:
            by_word.setdefault(word, []).append(entry)
    return by_word


def _fits(words: tuple[str, ...], entry: dict[str, Any]) -> bool:
    required, excluded = entry.get("options"), entry.get("without", ())
    if required is not None and not any(_has(words, option) for option in required):
        return False
    return not any(_has(words, option) for option in excluded)


def _has(words: tuple[str, ...], option: str) -> bool:
    redirect = option.startswith((">", "<"))
    return any(word == option or (redirect and word.startswith(option)) for word in words)
