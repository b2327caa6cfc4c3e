"""Responses of the Messages API: a JSON message, an error, or the events of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.client.script import Body, Reply

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
Event = tuple[str, dict[str, Any]]


def error(reply: Reply, status: int) -> dict[str, Any]:
    """Return the body of an API error."""
    kind = reply.get("error_type", ERROR_TYPES.get(status, "api_error"))
    return {
        "type": "error",
        "error": {"type": kind, "message": reply.get("message", "fake error %d" % status)},
    }


def blocks(reply: Reply, serial: int) -> list[dict[str, Any]]:
    """Return the content blocks of a reply: thinking, text and tool calls, or else its raw content."""
    content: list[dict[str, Any]] = []
    if reply.get("thinking"):
        content.append({"type": "thinking", "thinking": reply["thinking"], "signature": "ZmFrZQ=="})
    if reply.get("text") is not None:
        content.append({"type": "text", "text": reply["text"]})
    for number, tool in enumerate(reply.get("tool_use", [])):
        call = {
            "id": "toolu_fake_%d_%d" % (serial, number),
            "name": tool["name"],
            "input": tool.get("input", {}),
        }
        content.append({"type": "tool_use", **call})
    return content or list(reply.get("content", []))


def message(reply: Reply, body: Body, serial: int, size: int) -> dict[str, Any]:
    """Return the complete message; `size` is the request's length in bytes, with four bytes to a token."""
    content = blocks(reply, serial)
    calls = any(block["type"] == "tool_use" for block in content)
    usage = {
        "input_tokens": size // 4,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": max(1, len(json.dumps(content)) // 4),
        "service_tier": "standard",
    }
    return {
        "id": "msg_fake_%d" % serial,
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "fake"),
        "content": content,
        "stop_reason": reply.get("stop_reason") or ("tool_use" if calls else "end_turn"),
        "stop_sequence": None,
        "usage": {**usage, **reply.get("usage", {})},
    }


def deltas(block: dict[str, Any], chunk: int) -> Iterator[dict[str, Any]]:
    """Yield the deltas of a content block; text comes in pieces of `chunk` characters."""
    if block["type"] == "text":
        for start in range(0, max(1, len(block["text"])), chunk):
            yield {"type": "text_delta", "text": block["text"][start : start + chunk]}
    elif block["type"] == "thinking":
        yield {"type": "thinking_delta", "thinking": block["thinking"]}
        yield {"type": "signature_delta", "signature": block["signature"]}
    elif block["type"] == "tool_use":
        yield {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}


def events(whole: dict[str, Any], chunk: int) -> Iterator[Event]:
    """Yield name and data of a stream's events, from `message_start` to `message_stop`."""
    empty: dict[str, dict[str, Any]] = {
        "text": {"text": ""},
        "thinking": {"thinking": "", "signature": ""},
        "tool_use": {"input": {}},
    }
    yield "message_start", {"message": {**whole, "content": [], "stop_reason": None}}
    for index, block in enumerate(whole["content"]):
        yield (
            "content_block_start",
            {"index": index, "content_block": {**block, **empty.get(block["type"], {})}},
        )
        for delta in deltas(block, chunk):
            yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    end = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"delta": end, "usage": {"output_tokens": whole["usage"]["output_tokens"]}}
    yield "message_stop", {}
