"""Scored replies read again, out of their transcripts: the ledger keeps where a reply stands, not what it says."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ..kernel.ledger import Ledger
from ..kernel.native import loads
from ..kernel.transcript.tail import asked, replied
from .pipeline import score_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ..kernel.paths import Places

__all__ = ["Again", "last_scored", "reread"]

_MOST_BYTES = 256 << 20
_LONGEST_LINE = 16 << 20
_SUFFIX = ".jsonl"


class Again(NamedTuple):
    """A reply read again: the score's id, what the user had typed, the text, and the tools that were called in between."""

    id: str
    prompt: str
    text: str
    calls: list[str]


def last_scored(places: Places) -> Again | None:
    """The last reply of this project that can be read again; None when there is none."""
    rows = [
        row
        for row in Ledger(places.state(), "scores").rows()
        if row.get("kind") == "score" and row.get("project") == places.project_key
    ]
    for row in reversed(rows[-20:]):
        for found in reread([row]):
            return found
    return None


def reread(rows: Iterable[dict[str, Any]]) -> Iterator[Again]:
    """The replies of some rows of `scores.jsonl`, as far as their transcripts still hold them; each transcript is read once."""
    by_path: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        path = row.get("transcript")
        if isinstance(row.get("text"), str):
            yield Again(str(row.get("id")), "", row["text"], [])
        elif isinstance(path, str) and path.endswith(_SUFFIX) and os.path.isabs(path):
            by_path.setdefault(path, []).append(row)
    for path, wanted in by_path.items():
        yield from _from_transcript(path, wanted)


def _from_transcript(path: str, rows: list[dict[str, Any]]) -> Iterator[Again]:
    records = {row["record"]: row for row in rows if row.get("record")}
    unplaced = [row for row in rows if not row.get("record")]
    prompt = ""
    calls: list[str] = []
    for record in _records(path):
        said, words = asked(record)
        if said:
            prompt, calls = words, []
        message = record.get("message")
        if record.get("type") != "assistant" or not isinstance(message, dict) or record.get("isSidechain"):
            continue
        calls += _call_names(message.get("content"))
        text = replied(record)
        row = records.get(record.get("uuid")) or next((row for row in unplaced if _is_of(row, text)), None)
        if text and row is not None:
            yield Again(str(row.get("id")), prompt, text, list(calls))


def _is_of(row: dict[str, Any], text: str) -> bool:
    return bool(text) and row.get("id") == score_id(str(row.get("session")), str(row.get("prompt_id")), text)


def _call_names(content: object) -> list[str]:
    blocks = content if isinstance(content, list) else []
    return [
        str(block.get("name"))
        for block in blocks
        if isinstance(block, dict) and block.get("type") == "tool_use"
    ]


def _records(path: str) -> Iterator[dict[str, Any]]:
    if not os.path.isfile(path):
        return
    try:
        with open(path, "rb") as handle:
            left = _MOST_BYTES
            for line in handle:
                left -= len(line)
                if left < 0:
                    return
                record = _record(line)
                if record is not None:
                    yield record
    except OSError:
        return


def _record(line: bytes) -> dict[str, Any] | None:
    if len(line) > _LONGEST_LINE:
        return None
    try:
        record = loads(line.decode("utf-8", "replace"))
    except ValueError:
        return None
    return record if isinstance(record, dict) else None
