"""Prompts that were typed while the model worked: they have no row of their own in the user's place."""

from __future__ import annotations

from .kinds import PROMPT, kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Queue", "handed_over"]

_MOST = 50
_PEOPLE = (None, "human", "channel")


def handed_over(attachment: object) -> object:
    """The content of a prompt that the client put into a running turn, since 2.1.4x; None for all other attachments."""
    if not isinstance(attachment, dict) or attachment.get("type") != "queued_command":
        return None
    if attachment.get("commandMode") not in (None, "prompt") or attachment.get("isMeta") is True:
        return None
    return attachment.get("prompt") if by_person(attachment) else None


def by_person(record: dict[str, Any]) -> bool:
    """Whether a row was written by a person, as far as its `origin` tells; older clients name none."""
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
        """A prompt has a row of its own, so it waits no longer."""
        if text in self._waiting:
            self._waiting.remove(text)
