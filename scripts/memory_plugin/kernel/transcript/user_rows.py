"""What a row in the user's place is: a prompt, a command, or one of the client's own notes.

Prompts that were typed while the model worked: they have no row of their own in the user's place.
"""

from __future__ import annotations

from ..fastjson import loads
from ..paths import data_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["PROMPT", "Queue", "handed_over", "kind_of", "spoken", "without_notes"]

PROMPT = "prompt"
_ARGUMENTS = ("<command-args>", "</command-args>")
_NAME = ("<command-name>", "</command-name>")
_LONGEST = 100_000  # characters of one prompt that are kept
_MOST_NOTES = 20  # before one prompt
_table: list[tuple[tuple[str, ...], str]] = []
_notes: list[str] = []
_MOST = 50
_PEOPLE = (None, "human", "channel")


def _load() -> None:
    if not _table:
        with open(data_path("transcript", "beginnings.json"), encoding="utf-8") as file:
            content = loads(file.read())
        assert isinstance(content, dict)
        _notes.extend(content["notes"]["tags"])
        _table.extend((tuple(entry["starts"]), entry["kind"]) for entry in content["beginnings"])


def kind_of(text: str) -> str:
    """Return the kind of a row in the user's place, by how its text begins: PROMPT, or one of `config/transcript/beginnings.json`."""
    text = text.lstrip()
    _load()
    for starts, kind in _table:
        if text.startswith(starts):
            return kind
    return PROMPT


def without_notes(text: str) -> str:
    """Return a person's words without the client's notes in front of them; the text as it is when nothing else is in it."""
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
    """Return what a person said in such a row: a command's name and arguments, else the text, cut to 100,000 characters."""
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


def handed_over(attachment: object) -> object:
    """Return the content of a prompt that the client put into a running turn, since 2.1.4x; None for all other attachments."""
    if not isinstance(attachment, dict) or attachment.get("type") != "queued_command":
        return None
    if attachment.get("commandMode") not in (None, "prompt") or attachment.get("isMeta") is True:
        return None
    return attachment.get("prompt") if by_person(attachment) else None


def by_person(record: dict[str, Any]) -> bool:
    """Return whether a row was written by a person, as far as its `origin` tells; older clients name none."""
    origin = record.get("origin")
    return not isinstance(origin, dict) or origin.get("kind") in _PEOPLE


class Queue:
    """What waits, by the client's rows of type queue-operation: before 2.1.4x they alone tell that a prompt went into a running turn."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: list[str] = []

    def follow(self, record: dict[str, Any]) -> str | None:
        """Take one operation; the prompt that went into the running turn by it, else None."""
        operation, text = record.get("operation"), record.get("content")
        if operation == "enqueue" and isinstance(text, str):
            if kind_of(text) == PROMPT and not text.startswith("/") and len(self._waiting) < _MOST:
                self._waiting.append(text)
        elif operation == "popAll":  # taken back to be edited
            self._waiting.clear()
        elif operation in ("remove", "dequeue") and self._waiting:
            text = self._waiting.pop(0)
            return text if operation == "remove" else None  # a dequeued one gets a row
        return None

    def said(self, text: str) -> None:
        """Return a prompt has a row of its own, so it waits no longer."""
        if text in self._waiting:
            self._waiting.remove(text)
