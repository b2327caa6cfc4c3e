"""The end of a transcript: which model spoke, and where its reply stands. Read from the tail, however long the file is."""

from __future__ import annotations

import os

from ..kernel.native import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Tail", "last_reply", "records_backwards"]

_TAIL_BYTES = (96 * 1024, 1 << 20)  # a turn with much tool output pushes its prompt out of the first
_MAX_RECORDS = 2000
_SYNTHETIC = "<synthetic>"
_MAIN_SOURCES = ("sdk", "repl_main_thread")  # not those of titles, summaries and sub-agents


class Tail:
    """What the tail of a transcript tells of the last reply; each may be empty, for the file may lag behind, and a turn may be long.

    `text` and `record` are the last text that the assistant wrote and its record's id, `prompt` is what the user typed before it.
    """

    __slots__ = ("model", "prompt", "record", "text")

    def __init__(self) -> None:
        self.model = ""
        self.record = ""
        self.text = ""
        self.prompt = ""


def last_reply(path: str) -> Tail:
    """The end of a transcript. Never raises; a file that is missing, a pipe, or full of other things tells nothing."""
    tail = Tail()
    for size in _TAIL_BYTES:
        tail = Tail()
        for record in records_backwards(path, size):
            if record.get("isSidechain") or record.get("isMeta"):
                continue
            _take(tail, record)
            if tail.prompt and tail.model:
                return tail
        if tail.prompt:
            return tail
    return tail


def _take(tail: Tail, record: dict[str, object]) -> None:
    """Take from one record what the tail does not have yet; later records come first."""
    kind, message = record.get("type"), record.get("message")
    if tail.prompt:  # an earlier turn: its model is most likely still the model
        spoke = isinstance(message, dict) and kind == "assistant" and message.get("model") != _SYNTHETIC
        tail.model = _short(message.get("model")) if spoke and isinstance(message, dict) else ""
        return
    if kind == "last-prompt":  # the client repeats the prompt near the end, cut to a line
        tail.prompt = _typed(record.get("lastPrompt"))
    if kind == "api-request" and record.get("querySource") in _MAIN_SOURCES:  # written before the reply is
        params = record.get("params")
        tail.model = tail.model or _short(params.get("model") if isinstance(params, dict) else None)
    if not isinstance(message, dict):
        return
    if kind == "user" and "toolUseResult" not in record:
        tail.prompt = _typed(plain_text(message.get("content")))
    elif kind == "assistant" and message.get("model") != _SYNTHETIC:
        text = plain_text(message.get("content"))
        tail.model = tail.model or _short(message.get("model"))
        if text and not tail.text:
            tail.text, tail.record = text, _short(record.get("uuid"))


def _typed(value: object) -> str:
    """A prompt that a person typed; what begins with a tag is a command or a note of the client's own."""
    return value if isinstance(value, str) and not value.lstrip().startswith("<") else ""


def _short(value: object) -> str:
    return value[:200] if isinstance(value, str) else ""


def plain_text(content: object) -> str:
    """The text of a message's content; tool calls and their results have none."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [
        block.get("text") for block in content if isinstance(block, dict) and block.get("type") == "text"
    ]
    return "\n".join(text for text in texts if isinstance(text, str))


def records_backwards(path: str, tail_bytes: int) -> Iterator[dict[str, object]]:
    """The last records of a transcript, the youngest first, as far as they lie within its last bytes."""
    for line in reversed(_lines(path, tail_bytes)[-_MAX_RECORDS:]):
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
