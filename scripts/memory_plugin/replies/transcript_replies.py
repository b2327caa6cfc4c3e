"""Read replies from transcripts: the last one when its turn ends, and scored ones again later.

The ledger records where a reply is, not its text, so `memory replies tune` and `memory replies score --last` read transcripts again.
"""

from __future__ import annotations

import os

from ..kernel.fastjson import digest, loads
from ..kernel.records import Records
from ..kernel.transcript.rows import records_backwards, reply_text_of, user_input_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ..kernel.paths import Paths

_TAIL_BYTES = (96 * 1024, 1 << 20)  # much tool output pushes the prompt out of the first
_SYNTHETIC = "<synthetic>"
_MAIN_SOURCES = ("sdk", "repl_main_thread")  # not titles, summaries or sub-agents
_MAX_TRANSCRIPT_BYTES = 256 << 20
_SUFFIX = ".jsonl"
_MAX_TRIED = 20  # scores, newest first, whose transcripts are tried for the last reply


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
    from ..kernel.transcript.lines import MAX_LINE

    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        while line := file.readline(MAX_LINE):
            if b"private" in line.lower() and _is_private_prompt(line):
                return True
    return False


def _is_private_prompt(line: bytes) -> bool:
    from ..kernel.text.tags import without_private

    try:
        record = loads(line.decode("utf-8"))
    except ValueError:
        return False
    words = user_input_of(record)[1] if isinstance(record, dict) else ""
    return without_private(words) != words


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
    if not isinstance(message, dict) or message.get("model") == _SYNTHETIC or record.get("isSidechain"):
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


class RereadReply:
    """A scored reply read again: the score's id, the prompt, the text, and the names of the tools called in between."""

    __slots__ = ("calls", "id", "prompt", "text")

    def __init__(self, identity: str, prompt: str, text: str, calls: list[str]) -> None:
        self.id = identity
        self.prompt = prompt
        self.text = text
        self.calls = calls


def reread_last_scored(paths: Paths) -> RereadReply | None:
    """Return this project's last scored reply whose transcript can still be read, or None."""
    rows = [
        row
        for row in Records(paths.state(), "scores", project=paths.project_key)
        if row.get("kind") == "score"
    ]
    for row in reversed(rows[-_MAX_TRIED:]):
        for reply in reread_replies([row]):
            return reply
    return None


def reread_replies(rows: Iterable[dict[str, Any]]) -> Iterator[RereadReply]:
    """Yield the replies behind rows of `scores.jsonl` that transcripts still hold; each transcript is read once."""
    by_path: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        path = row.get("transcript", "")
        if "text" in row:
            yield RereadReply(row.get("id", ""), "", row["text"], [])
        elif path.endswith(_SUFFIX) and os.path.isabs(path):
            by_path.setdefault(path, []).append(row)
    for path, path_rows in by_path.items():
        yield from _reread_transcript(path, path_rows)


def _reread_transcript(path: str, rows: list[dict[str, Any]]) -> Iterator[RereadReply]:
    by_record = {row["record"]: row for row in rows if row.get("record")}
    # These were scored before the transcript contained the reply; the id, a digest of the text, finds it again.
    without_record = [row for row in rows if not row.get("record")]
    prompt = ""
    calls: list[str] = []
    for record in _records(path):
        kind, words = user_input_of(record)
        if kind:
            prompt, calls = words, []
        message = record.get("message")
        if record.get("type") != "assistant" or not isinstance(message, dict) or record.get("isSidechain"):
            continue
        calls += _call_names(message.get("content"))
        text = reply_text_of(record)
        row = by_record.get(record.get("uuid")) or next(
            (row for row in without_record if _is_score_of(row, text)), None
        )
        if text and row is not None:
            yield RereadReply(row.get("id", ""), prompt, text, list(calls))


def _is_score_of(row: dict[str, Any], text: str) -> bool:
    identity = score_id(row.get("session", ""), row.get("prompt_id", ""), text)
    return bool(text) and row.get("id") == identity


def _call_names(content: object) -> list[str]:
    blocks = content if isinstance(content, list) else []
    return [
        str(block.get("name"))
        for block in blocks
        if isinstance(block, dict) and block.get("type") == "tool_use"
    ]


def _records(path: str) -> Iterator[dict[str, Any]]:
    """Yield the records in a transcript's first 256 MB; none if it is missing, unreadable or not a regular file."""
    from ..kernel.transcript.lines import Lines

    if not os.path.isfile(path):
        return
    try:
        with open(path, "rb") as file:
            for record in Lines(file):
                if file.tell() > _MAX_TRANSCRIPT_BYTES:
                    return
                yield record
    except OSError:
        return
