"""The end of a transcript, read backwards: fast for a file of any size."""

from __future__ import annotations

import os

from ..fastjson import loads
from .user_rows import PROMPT, is_from_person, kind_of, user_text, without_notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["COMMAND", "plain_text", "records_backwards", "reply_text_of", "user_input_of"]

COMMAND = "command"
_SYNTHETIC = "<synthetic>"
# Flags of rows that only look like the conversation: of sub-agents, of the client's notes, of the summary after a compaction.
_NOT_SAID = ("isSidechain", "isMeta", "isCompactSummary", "isApiErrorMessage")


def records_backwards(path: str, tail_bytes: int, most: int = 2000) -> Iterator[dict[str, Any]]:
    """Yield the objects on the last `most` lines of a transcript, within its last `tail_bytes` bytes, the latest first.

    Never raises: a file that is missing, a pipe, or not a transcript yields nothing.
    """
    for line in reversed(_lines(path, tail_bytes)[-most:]):
        try:
            record = loads(line.decode("utf-8"))
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def user_input_of(record: dict[str, Any]) -> tuple[str, str]:
    """Return the kind of a row that a person wrote, PROMPT or COMMAND, and its text; of a slash command, its arguments.

    Two empty texts for every other row: tool results, interruptions, summaries of compactions, and the client's notes.
    """
    message = record.get("message")
    if record.get("type") != "user" or not isinstance(message, dict) or "toolUseResult" in record:
        return "", ""
    if any(record.get(mark) for mark in _NOT_SAID) or not is_from_person(record):
        return "", ""
    text = without_notes(plain_text(message.get("content"))).strip()
    kind = kind_of(text) if text else ""
    if kind == COMMAND:
        return COMMAND, user_text(kind, text).partition(" ")[2]
    return (PROMPT, text) if kind == PROMPT else ("", "")


def reply_text_of(record: dict[str, Any]) -> str:
    """Return the model's text in a row; empty for tool calls, API errors and sub-agents."""
    message = record.get("message")
    if record.get("type") != "assistant" or not isinstance(message, dict):
        return ""
    if message.get("model") == _SYNTHETIC or any(record.get(mark) for mark in _NOT_SAID):
        return ""
    return plain_text(message.get("content"))


def plain_text(content: object) -> str:
    """Return the text of a message's content, without tool calls, tool results and images."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [
        block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text"
    ]
    return "\n".join(text for text in texts if isinstance(text, str))


def _lines(path: str, tail_bytes: int) -> list[bytes]:
    if not path or not os.path.isfile(path):
        return []
    try:
        with open(path, "rb") as handle:
            size = handle.seek(0, os.SEEK_END)
            handle.seek(max(0, size - tail_bytes))
            lines = handle.read(tail_bytes).split(b"\n")
    except OSError:
        return []
    return [line for line in (lines[1:] if size > tail_bytes else lines) if line]
