"""The end of a transcript: which model spoke, what it was asked, and where its reply stands."""

from __future__ import annotations

from ..kernel.transcript.tail import asked, records_backwards, replied

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Tail", "last_reply"]

_TAIL_BYTES = (96 * 1024, 1 << 20)  # a turn with much tool output pushes its prompt out of the first
_SYNTHETIC = "<synthetic>"
_MAIN_SOURCES = ("sdk", "repl_main_thread")  # not those of titles, summaries and sub-agents


class Tail:
    """What the tail of a transcript tells of the last reply; each may be empty, for the file may lag behind, and a turn may be long.

    `text` and `record` are the last text that the assistant wrote and its record's id.  `asked` says that the user's message before it
    was found, `prompt` are its words: none for a slash command without arguments.  `repeated` is the line in which the client says a
    prompt again, for turns whose own row lies further back than is read.
    """

    __slots__ = ("asked", "model", "prompt", "record", "repeated", "text")

    def __init__(self) -> None:
        self.model = ""
        self.record = ""
        self.text = ""
        self.prompt = ""
        self.asked = False
        self.repeated: str | None = None


def last_reply(path: str) -> Tail:
    """The end of a transcript. Never raises; a file that is missing, a pipe, or full of other things tells nothing."""
    tail = Tail()
    for size in _TAIL_BYTES:
        tail = Tail()
        for record in records_backwards(path, size):
            _take(tail, record)
            if tail.asked and tail.model:
                return tail
        if tail.asked or tail.repeated is not None:
            break
    if not tail.asked and tail.repeated is not None:
        tail.asked, tail.prompt = True, tail.repeated
    return tail


def _take(tail: Tail, record: dict[str, Any]) -> None:
    """Take from one record what the tail does not have yet; later records come first."""
    kind = record.get("type")
    if kind == "assistant":
        _take_answer(tail, record)
    elif tail.asked:  # an earlier turn, of which only the model is of use: it is most likely still the model
        return
    elif kind == "user":
        said, tail.prompt = asked(record)
        tail.asked = bool(said)
    elif kind == "last-prompt" and tail.repeated is None:
        tail.repeated = _typed_again(record.get("lastPrompt"))
    elif kind == "api-request" and record.get("querySource") in _MAIN_SOURCES:  # written before the reply is
        params = record.get("params")
        tail.model = tail.model or _short(params.get("model") if isinstance(params, dict) else None)


def _take_answer(tail: Tail, record: dict[str, Any]) -> None:
    message = record.get("message")
    if not isinstance(message, dict) or message.get("model") == _SYNTHETIC or record.get("isSidechain"):
        return
    tail.model = tail.model or _short(message.get("model"))
    text = "" if tail.text or tail.asked else replied(record)
    if text:
        tail.text, tail.record = text, _short(record.get("uuid"))


def _typed_again(text: object) -> str | None:
    """The words of a prompt that the client says again, of a slash command its arguments; None when no person typed it."""
    said, words = asked({"type": "user", "message": {"content": text}})
    if not said:
        return None
    return words.partition(" ")[2] if words.startswith("/") else words


def _short(value: object) -> str:
    return value[:200] if isinstance(value, str) else ""
