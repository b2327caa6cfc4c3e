"""Rows in the user's place: their kind (prompt, command, or a note of the client), and prompts that waited in the queue.

A prompt typed while the model works has no row of its own in older clients; only the rows of the queue tell of it.
"""

from __future__ import annotations

from ..data import load_data

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["PROMPT", "Queue", "inserted_prompt", "kind_of", "user_text", "without_notes"]

PROMPT = "prompt"
_ARGUMENTS = ("<command-args>", "</command-args>")
_NAME = ("<command-name>", "</command-name>")
_LONGEST = 100_000  # characters of one prompt that are kept
_MOST_NOTES = 20  # before one prompt
_table: list[tuple[tuple[str, ...], str]] = []
_notes: list[str] = []
_MOST_WAITING = 50
_PEOPLE = (None, "human", "channel")


def _load() -> None:
    if not _table:
        content = load_data("transcript", "beginnings")
        _notes.extend(content["notes"]["tags"])
        _table.extend((tuple(entry["starts"]), entry["kind"]) for entry in content["beginnings"])


def kind_of(text: str) -> str:
    """Return the kind of a row by the beginning of its text: PROMPT, or a kind in `config/transcript/beginnings.json`."""
    text = text.lstrip()
    _load()
    for starts, kind in _table:
        if text.startswith(starts):
            return kind
    return PROMPT


def without_notes(text: str) -> str:
    """Return a prompt without the client's notes before it; unchanged if it holds nothing else."""
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


def user_text(kind: str, text: str) -> str:
    """Return what a person wrote in a row: a command's name and arguments, else the text, cut to 100,000 characters."""
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


def inserted_prompt(attachment: object) -> object:
    """Return the content of a prompt that the client (since 2.1.4x) inserted into a running turn; None for other attachments."""
    if not isinstance(attachment, dict) or attachment.get("type") != "queued_command":
        return None
    if attachment.get("commandMode") not in (None, "prompt") or attachment.get("isMeta") is True:
        return None
    return attachment.get("prompt") if is_from_person(attachment) else None


def is_from_person(record: dict[str, Any]) -> bool:
    """Return whether a person wrote a row, by its `origin`; True for rows of older clients without one."""
    origin = record.get("origin")
    return not isinstance(origin, dict) or origin.get("kind") in _PEOPLE


class Queue:
    """The queue of prompts, from rows of type queue-operation: before 2.1.4x only they say that a prompt went into a running turn."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: list[str] = []

    def follow(self, record: dict[str, Any]) -> str | None:
        """Apply one operation; return the prompt that it inserted into the running turn, or None."""
        operation, text = record.get("operation"), record.get("content")
        if operation == "enqueue" and isinstance(text, str):
            if kind_of(text) == PROMPT and not text.startswith("/") and len(self._waiting) < _MOST_WAITING:
                self._waiting.append(text)
        elif operation == "popAll":  # returned to the editor
            self._waiting.clear()
        elif operation in ("remove", "dequeue") and self._waiting:
            text = self._waiting.pop(0)
            return text if operation == "remove" else None  # a dequeued prompt gets a row of its own
        return None

    def said(self, text: str) -> None:
        """Remove a prompt that has a row of its own."""
        if text in self._waiting:
            self._waiting.remove(text)
