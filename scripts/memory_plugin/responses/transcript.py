"""The end of a transcript: which model spoke, and where its reply stands. Read from the tail, however long the file is."""

from __future__ import annotations

import os

from ..kernel.native import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Tail", "last_reply", "records_backwards"]

_TAIL_BYTES = 96 * 1024
_MAX_RECORDS = 60


class Tail:
    """What the tail of a transcript tells of the last reply; each may be empty, for the file may lag behind."""

    __slots__ = ("model", "prompt", "record", "text")

    def __init__(self) -> None:
        self.model = ""
        self.record = ""
        self.text = ""
        self.prompt = ""


def last_reply(path: str) -> Tail:
    """The model, the id and the text of the last text that the assistant wrote, and the prompt before it where it is in reach. Never raises."""
    tail = Tail()
    for record in records_backwards(path, _TAIL_BYTES):
        message = record.get("message")
        if not isinstance(message, dict) or record.get("isSidechain") or record.get("isMeta"):
            continue
        text = plain_text(message.get("content"))
        if record.get("type") == "assistant" and not tail.record and text:
            tail.text = text
            tail.model, tail.record = _texted(message.get("model")), _texted(record.get("uuid"))
        elif record.get("type") == "user" and text and not text.lstrip().startswith("<") and "toolUseResult" not in record:
            tail.prompt = text
            break
    return tail


def _texted(value: object) -> str:
    return value[:200] if isinstance(value, str) else ""


def plain_text(content: object) -> str:
    """The text of a message's content; tool calls and their results have none."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))


def records_backwards(path: str, tail_bytes: int, most: int = _MAX_RECORDS) -> Iterator[dict[str, object]]:
    """The last records of a transcript, the youngest first, as far as they lie within its last bytes."""
    for line in reversed(_lines(path, tail_bytes)[-most:]):
        try:
            record = loads(line.decode("utf-8"))
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


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
