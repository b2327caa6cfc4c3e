"""What a shell command runs: the first words of each pipeline, wrappers and assignments left out. An approximation in linear time."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from .data import load_table

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Head", "heads", "is_test", "stands_for"]

_LONGEST = 20_000
_PREPARES = ("", "cd", "export", "source", "set")
_PIPES = ("|", "|&")
_GIVES_UP = ("exit", "return", "false")
# An operator, or a word with its quotes and escapes; what is neither (blanks, comments, continued lines) is passed over.  Each piece of a
# word begins with a character of its own and cannot fail once begun, so nothing is tried twice: linear.
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
    """The first command of a pipeline; `hidden` when its failure would not show in the exit code of the whole."""

    words: tuple[str, ...]
    hidden: bool = False


def heads(command: str) -> list[Head]:
    """The first command of every pipeline in a command line; texts of here-documents are none."""
    command = command[:_LONGEST]
    if _PLAIN.fullmatch(command):
        plain = _unwrapped(command.split())
        return [Head(tuple(plain))] if plain else []
    found: list[Head] = []
    commands = list(_commands(_without_documents(command)))
    strict = any(words[:1] == ["set"] and "pipefail" in words for words, _ in commands)
    before = ""
    for (words, operator), shown in zip(commands, _shown(commands)):
        plain = _unwrapped(words) if before not in _PIPES else []
        if plain:
            found.append(Head(tuple(plain), not shown or (operator in _PIPES and not strict)))
        before = operator
    return found


def _commands(command: str) -> Iterator[tuple[list[str], str]]:
    """Each command's words and the operator after it, empty at the end; quotes hold a word together and stay out of it."""
    words: list[str] = []
    for part in _PART.finditer(command):
        word, operator = part.groups()
        if word:
            plain = "'" not in word and '"' not in word and "\\" not in word
            words.append(word if plain else _QUOTED.sub(_bare, word))
        elif operator and (words or operator != "\n"):
            yield words, operator
            words = []
    if words:
        yield words, ""


def _bare(found: re.Match[str]) -> str:
    """A quoted piece without its marks."""
    single, double, escaped = found.groups()
    if double is not None:
        return _ESCAPED.sub(r"\1", double)
    return str(single if single is not None else escaped)


def _shown(commands: list[tuple[list[str], str]]) -> list[bool]:
    """For each command whether the whole fails where its pipeline fails, by what comes after it."""
    shown: list[bool] = []
    following: list[str] = []
    for words, operator in reversed(commands):
        if operator == "||":
            shown.append(following[:1] != [] and following[0] in _GIVES_UP)
        elif operator in ("&&", *_PIPES):
            shown.append(shown[-1] if shown else True)
        else:
            shown.append(operator != "&" and not following)
        following = words
    return shown[::-1]


def _without_documents(command: str) -> str:
    if "<<" not in command:
        return command
    kept: list[str] = []
    end = ""
    for line in command.split("\n"):
        if end:
            end = "" if line.strip() == end else end
            continue
        kept.append(line)
        _, mark, after = line.partition("<<")
        if mark and not after.startswith("<"):
            words = after.lstrip("-").split()
            end = words[0].strip("'\"\\;)") if words else ""
    return "\n".join(kept)


def _unwrapped(words: list[str]) -> list[str]:
    """A command without what only prepares it."""
    wrappers = _wrappers()
    if words and words[0] not in wrappers and words[0].isalnum() and ")" not in words[-1]:
        return words if words[0] not in _PREPARES else []
    at = 0
    while at < len(words):
        word = words[at].lstrip("(")
        name, equals, _ = word.partition("=")
        assigned = bool(equals) and name.isidentifier()
        counted = at > 0 and word.rstrip("sm").isdigit()
        if not (assigned or counted or word in wrappers):
            break
        at += 1
    rest = [words[at].lstrip("("), *words[at + 1 :]] if at < len(words) else []
    if rest and "(" not in rest[-1]:
        rest[-1] = rest[-1].rstrip(")")
    return rest if rest and rest[0] not in _PREPARES else []


@cache
def _wrappers() -> frozenset[str]:
    return frozenset(load_table("commands")["wrappers"])


@cache
def _tests() -> dict[str, list[list[str]]]:
    """The commands that run tests, by their first word."""
    found: dict[str, list[list[str]]] = {}
    for words in load_table("commands")["tests"]:
        found.setdefault(words[0], []).append(words[1:])
    return found


def is_test(head: Head) -> bool:
    """Whether a command runs tests."""
    tests, first = _tests(), head.words[0]
    known = tests.get(first)
    if known is None:
        name = first.rpartition("/")[2]
        known = tests.get(name) or tests.get(name.rstrip("0123456789."))
        if known is None:
            return False
    bare = tuple(word for word in head.words[1:] if not word.startswith(("-", "+")))
    return any(_begins(words, wanted) for wanted in known for words in (head.words[1:], bare))


def _begins(words: tuple[str, ...], wanted: list[str]) -> bool:
    return len(words) >= len(wanted) and all(_is(word, name) for word, name in zip(words, wanted))


def _is(word: str, name: str) -> bool:
    return word.startswith(name[:-1]) if name.endswith("*") else word == name


def stands_for(head: Head) -> dict[str, Any] | None:
    """The entry for a command that Claude has a tool of its own for; None for all others."""
    return next(
        (entry for entry in _stand_ins().get(head.words[0], ()) if _fits(head.words[1:], entry)), None
    )


@cache
def _stand_ins() -> dict[str, list[dict[str, Any]]]:
    """The entries of `stands_for` by their first words."""
    found: dict[str, list[dict[str, Any]]] = {}
    for entry in load_table("commands")["stands_for"]:
        for word in entry["words"]:
            found.setdefault(word, []).append(entry)
    return found


def _fits(words: tuple[str, ...], entry: dict[str, Any]) -> bool:
    wanted, unwanted = entry.get("options"), entry.get("without", ())
    return (wanted is None or any(_has(words, option) for option in wanted)) and not any(
        _has(words, word) for word in unwanted
    )


def _has(words: tuple[str, ...], option: str) -> bool:
    redirect = option.startswith((">", "<"))
    return any(word == option or (redirect and word.startswith(option)) for word in words)
