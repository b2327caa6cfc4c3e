"""The turn before, read from the tail of the transcript, for prompts such as "fix that" that say little by themselves."""

from __future__ import annotations

import os

from ..kernel.native import loads
from ..kernel.text.private import without_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["last_turn"]

_TAIL_BYTES = 256 * 1024
_MAX_LINES = 400
_MOST_CHARACTERS = 800
# Marks of records that look like a turn: of sub-agents, of the client's own notes, of the summary that a compaction leaves.
_NOT_SAID = ("isSidechain", "isMeta", "isCompactSummary", "isApiErrorMessage")


def last_turn(path: str) -> str:
    """The last prompt that the user typed and the last text of the reply to it, cut to 800 characters each; empty when there is none.

    Never raises: a transcript that is missing, a pipe or full of other things is one without a turn.
    """
    asked = replied = ""
    for record in _records_backwards(path):
        text = _text(record)
        if not text:
            continue
        if record.get("type") == "assistant":
            replied = replied or text
        elif record.get("type") == "user":
            asked = text
            break
    return (asked[:_MOST_CHARACTERS] + " \n" + replied[-_MOST_CHARACTERS:]).strip()


def _records_backwards(path: str) -> Iterator[dict[str, object]]:
    for line in reversed(_tail(path)[-_MAX_LINES:]):
        try:
            record = loads(line.decode("utf-8"))
        except ValueError:
            continue
        if isinstance(record, dict) and not any(record.get(mark) for mark in _NOT_SAID):
            yield record


def _tail(path: str) -> list[bytes]:
    if not os.path.isfile(path):
        return []
    try:
        with open(path, "rb") as handle:
            size = handle.seek(0, os.SEEK_END)
            handle.seek(max(0, size - _TAIL_BYTES))
            lines = handle.read(_TAIL_BYTES).split(b"\n")
    except OSError:
        return []
    return lines[1:] if size > _TAIL_BYTES else lines


def _text(record: dict[str, object]) -> str:
    """The text that a person typed or Claude said; empty for tool calls, their results, and commands."""
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        found = content
    elif isinstance(content, list):
        texts = [
            block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text"
        ]
        found = "\n".join(text for text in texts if isinstance(text, str))
    else:
        return ""
    return "" if found.lstrip().startswith("<") else without_private(found).strip()
