"""What a row in the user's place is: a prompt, a command, or one of the client's own notes."""

from __future__ import annotations

from ..native import loads
from ..paths import data_path

__all__ = ["PROMPT", "kind_of", "spoken"]

PROMPT = "prompt"
_ARGUMENTS = ("<command-args>", "</command-args>")
_NAME = ("<command-name>", "</command-name>")
_LONGEST = 100_000  # characters of one prompt that are kept
_table: list[tuple[tuple[str, ...], str]] = []


def _beginnings() -> list[tuple[tuple[str, ...], str]]:
    if not _table:
        with open(data_path("transcripts", "beginnings.json"), encoding="utf-8") as file:
            content = loads(file.read())
        assert isinstance(content, dict)
        _table.extend((tuple(entry["starts"]), entry["kind"]) for entry in content["beginnings"])
    return _table


def kind_of(text: str) -> str:
    """The kind of a row in the user's place, by how its text begins: PROMPT, or one of `config/transcripts/beginnings.json`."""
    text = text.lstrip()
    for starts, kind in _beginnings():
        if text.startswith(starts):
            return kind
    return PROMPT


def spoken(kind: str, text: str) -> str:
    """What a person said in such a row: a command's name and arguments, else the text, cut to 100,000 characters."""
    if kind != "command":
        return text[:_LONGEST].strip()
    name, arguments = _between(text, *_NAME), _between(text, *_ARGUMENTS)
    return (name + " " + arguments).strip()[:_LONGEST]


def _between(text: str, start: str, end: str) -> str:
    at = text.find(start)
    if at < 0:
        return ""
    at += len(start)
    stop = text.find(end, at)
    return text[at : stop if stop >= 0 else len(text)].strip()
