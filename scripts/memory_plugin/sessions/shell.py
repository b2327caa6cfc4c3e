"""What a shell command runs: the first words of each pipeline, wrappers and assignments left out. An approximation in linear time."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from .data import load_table

__all__ = ["Head", "heads", "is_test", "stands_for"]

_LONGEST = 20_000
_BREAKS = ("&&", "||", ";", "\n", "&")


class Head(NamedTuple):
    """The first command of a pipeline."""

    words: tuple[str, ...]


def heads(command: str) -> list[Head]:
    """The first command of every pipeline in a command line; texts of here-documents are none."""
    found: list[Head] = []
    words: list[str] = []
    behind_pipe = False
    for part in [*_tokens(_without_documents(command[:_LONGEST])), ";"]:
        if part != "|" and part not in _BREAKS:
            words.append(part)
            continue
        plain = _unwrapped(words)
        if plain and not behind_pipe:
            found.append(Head(tuple(plain)))
        words = []
        behind_pipe = part == "|"
    return found


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


def _tokens(command: str) -> list[str]:
    """Words and operators; quotes hold a word together and stay out of it."""
    tokens: list[str] = []
    word = ""
    quote = ""
    at = 0
    while at < len(command):
        character = command[at]
        at += 1
        if quote:
            quote = "" if character == quote else quote
            word += "" if not quote else character
        elif character in "'\"":
            quote = character
        elif character == "\\" and at < len(command):
            word += command[at]
            at += 1
        elif character in " \t\n;|&" and not (character == "&" and word.endswith((">", "<"))):
            tokens += [word] if word else []
            word = ""
            if character in "|&" and command[at : at + 1] == character:
                character += character
                at += 1
            tokens += [] if character in " \t" else [character]
        else:
            word += character
    return [*tokens, word] if word else tokens


def _unwrapped(words: list[str]) -> list[str]:
    """A command without what only prepares it."""
    wrappers = load_table("commands")["wrappers"]
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
    return rest if rest and rest[0] not in ("", "cd", "export", "source", "set") else []


@cache
def _tests() -> dict[str, list[list[str]]]:
    """The commands that run tests, by their first word."""
    found: dict[str, list[list[str]]] = {}
    for words in load_table("commands")["tests"]:
        found.setdefault(words[0], []).append(words[1:])
    return found


def is_test(head: Head) -> bool:
    """Whether a command runs tests."""
    first = head.words[0]
    known = _tests().get(first) or _tests().get(first.rpartition("/")[2])
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
    for entry in load_table("commands")["stands_for"]:
        if head.words[0] in entry["words"] and _fits(head.words[1:], entry):
            return dict(entry)
    return None


def _fits(words: tuple[str, ...], entry: dict[str, Any]) -> bool:
    wanted, unwanted = entry.get("options"), entry.get("without", ())
    return (wanted is None or any(_has(words, option) for option in wanted)) and not any(
        _has(words, word) for word in unwanted
    )


def _has(words: tuple[str, ...], option: str) -> bool:
    redirect = option.startswith((">", "<"))
    return any(word == option or (redirect and word.startswith(option)) for word in words)
