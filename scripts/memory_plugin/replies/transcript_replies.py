"""Read the last reply from a transcript when its turn ends, with the prompt that it answers."""

from __future__ import annotations

import os

from ..kernel.fastjson import digest, loads
from ..kernel.transcript.rows import SYNTHETIC, records_backwards, reply_text_of, user_input_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TAIL_BYTES = (96 * 1024, 1 << 20)  # much tool output pushes the prompt out of the first
_MAIN_SOURCES = ("sdk", "repl_main_thread")  # not titles, summaries or sub-agents


def score_id(session: str, prompt_id: str, text: str) -> str:
    """Return the id of a score in every ledger; the same reply to the same prompt has the same id."""
    parts = (session, prompt_id, digest(text.encode("utf-8", "replace")))
    return digest("\0".join(parts).encode("utf-8", "replace"), 8)


class LastReply:
    """The last reply at the end of a transcript. Any field may be empty: the file may lag behind, and a turn may be long.

    `text` and `record` are the assistant's last text and its record's id. `has_prompt` says that the user's message before it was found;
    its text, `prompt`, is empty for a slash command without arguments. `repeated_prompt` is the client's copy of the prompt, for turns
    whose own record is further back than is read.
    """

    __slots__ = ("has_prompt", "model", "prompt", "record", "repeated_prompt", "text")

    def __init__(self) -> None:
        self.model = ""
        self.record = ""
        self.text = ""
        self.prompt = ""
        self.has_prompt = False
        self.repeated_prompt: str | None = None


def read_last_reply(path: str) -> LastReply:
    """Return the last reply at the end of a transcript. Never raises; the fields stay empty for an unreadable file."""
    reply = LastReply()
    for size in _TAIL_BYTES:
        reply = LastReply()
        for record in records_backwards(path, size):
            _add_record(reply, record)
            if reply.has_prompt and reply.model:
                return reply
        if reply.has_prompt or reply.repeated_prompt is not None:
            break
    if not reply.has_prompt and reply.repeated_prompt is not None:
        reply.has_prompt, reply.prompt = True, reply.repeated_prompt
    return reply


def holds_private_prompt(path: str) -> bool:
    """Return whether a prompt of a transcript has a `<private>` part, which any later reply may repeat. Raises OSError."""
    from ..kernel.text.tags import without_private
    from ..kernel.transcript.lines import MAX_LINE

    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        while line := file.readline(MAX_LINE):
            if b"private" not in line.lower():
                continue
            try:
                record = loads(line.decode("utf-8"))
            except ValueError:
                continue
            words = user_input_of(record)[1] if isinstance(record, dict) else ""
            if without_private(words) != words:
                return True
    return False


def _add_record(reply: LastReply, record: dict[str, Any]) -> None:
    """Fill in the empty fields from one record; records come newest first."""
    kind = record.get("type")
    if kind == "assistant":
        _add_answer(reply, record)
    elif reply.has_prompt:  # an earlier turn: only its model is of use, because it is most likely the same
        return
    elif kind == "user":
        kind, reply.prompt = user_input_of(record)
        reply.has_prompt = bool(kind)
    elif kind == "last-prompt" and reply.repeated_prompt is None:
        reply.repeated_prompt = _repeated_prompt(record.get("lastPrompt"))
    elif kind == "api-request" and record.get("querySource") in _MAIN_SOURCES:  # written before the reply is
        params = record.get("params")
        reply.model = reply.model or _short(params.get("model") if isinstance(params, dict) else None)


def _add_answer(reply: LastReply, record: dict[str, Any]) -> None:
    message = record.get("message")
    if not isinstance(message, dict) or message.get("model") == SYNTHETIC or record.get("isSidechain"):
        return
    reply.model = reply.model or _short(message.get("model"))
    text = "" if reply.text or reply.has_prompt else reply_text_of(record)
    if text:
        reply.text, reply.record = text, _short(record.get("uuid"))


def _repeated_prompt(text: object) -> str | None:
    """Return the text of a repeated prompt (a slash command's arguments), or None if no person typed it."""
    kind, words = user_input_of({"type": "user", "message": {"content": text}})
    if not kind:
        return None
    return words.partition(" ")[2] if words.startswith("/") else words


def _short(value: object) -> str:
    return value[:200] if isinstance(value, str) else ""
