"""What a row in the user's place is: a prompt, a command, or one of the client's own notes."""

from __future__ import annotations

from ..native import loads
from ..paths import data_path

__all__ = ["PROMPT", "kind_of", "spoken", "without_notes"]

PROMPT = "prompt"
_ARGUMENTS = ("<command-args>", "</command-args>")
_NAME = ("<command-name>", "</command-name>")
_LONGEST = 100_000  # characters of one prompt that are kept
_MOST_NOTES = 20  # before one prompt
_table: list[tuple[tuple[str, ...], str]] = []
_notes: list[str] = []


def _load() -> None:
    if not _table:
        with open(data_path("transcripts", "beginnings.json"), encoding="utf-8") as file:
            content = loads(file.read())
        assert isinstance(content, dict)
        _notes.extend(content["notes"]["tags"])
        _table.extend((tuple(entry["starts"]), entry["kind"]) for entry in content["beginnings"])


def kind_of(text: str) -> str:
    """The kind of a row in the user's place, by how its text begins: PROMPT, or one of `config/transcripts/beginnings.json`."""
    text = text.lstrip()
    _load()
    for starts, kind in _table:
        if text.startswith(starts):
            return kind
    return PROMPT


def without_notes(text: str) -> str:
    """A person's words without the client's notes in front of them; the text as it is when nothing else is in it."""
    rest = text.lstrip()
    if rest[:1] != "<":
        return text
    _load()
    for _ in range(_MOST_NOTES):
        tag = next((tag for tag in _notes if rest.startswith(("<%s>" % tag, "<%s " % tag))), "")
        end = rest.find("</%s>" % tag) if tag else -1
        if end < 0:
            break
        rest = rest[end + len(tag) + 3 :].lstrip()
    return rest or text


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
