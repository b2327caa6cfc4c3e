"""Rows of transcripts for tests, as the client writes them."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

_numbers = count(1)


def row(kind: str, content: object, **more: object) -> dict[str, Any]:
    """Return a row with a message of its own uuid."""
    number = next(_numbers)
    common = {
        "uuid": "u%d" % number,
        "timestamp": "2026-03-01T08:%02d:%02d.000Z" % (number // 60 % 60, number % 60),
    }
    message = {"role": kind, "content": content, **more.pop("message", {})}  # type: ignore[dict-item]
    return {
        "type": kind,
        "sessionId": "s1",
        "cwd": "/p",
        "version": "2.1.330",
        **common,
        "message": message,
        **more,
    }


def user(text: object, **more: object) -> dict[str, Any]:
    """Return a row in the user's place."""
    return row("user", text, **more)


def answer(
    identity: str, *blocks: dict[str, Any], usage: dict[str, int] | None = None, **more: object
) -> dict[str, Any]:
    """Return one row of an answer."""
    tokens = usage or {"input_tokens": 10, "output_tokens": 5}
    return row(
        "assistant", list(blocks), message={"id": identity, "model": "claude-x", "usage": tokens}, **more
    )


def text_block(text: str) -> dict[str, Any]:
    """Return a block of text."""
    return {"type": "text", "text": text}


def call(identity: str, name: str = "Bash", /, **arguments: object) -> dict[str, Any]:
    """Return a block with a tool call."""
    return {"type": "tool_use", "id": identity, "name": name, "input": arguments}


def result(
    identity: str, content: object = "ok", *, failed: bool = False, details: object = None
) -> dict[str, Any]:
    """Return the row of a tool's result."""
    block = {
        "type": "tool_result",
        "tool_use_id": identity,
        "content": content,
        **({"is_error": True} if failed else {}),
    }
    return user([block], **({} if details is None else {"toolUseResult": details}))


def lines(*rows: dict[str, Any]) -> bytes:
    """Return the rows as a transcript."""
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)
