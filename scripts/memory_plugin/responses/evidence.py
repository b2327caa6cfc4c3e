"""What happened in a turn before its reply: the user's message and the tool calls in short, which is the evidence that the agent had."""

from __future__ import annotations

from ..kernel.native import dumps
from .transcript import plain_text, records_backwards

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["turn_so_far"]

_TAIL_BYTES = 2 << 20
_ARGUMENT, _RESULT = 100, 100  # characters


def turn_so_far(path: str) -> tuple[str, list[str]]:
    """What the user typed last, and each tool call since as `name(arguments) -> result`; empty where the transcript does not tell."""
    results: dict[str, str] = {}
    calls: list[str] = []
    for record in records_backwards(path, _TAIL_BYTES):
        message = record.get("message")
        if not isinstance(message, dict) or record.get("isSidechain") or record.get("isMeta"):
            continue
        content = message.get("content")
        text = plain_text(content)
        if (
            record.get("type") == "user"
            and text
            and "toolUseResult" not in record
            and not text.lstrip().startswith("<")
        ):
            return text, calls[::-1]
        for block in reversed(content) if isinstance(content, list) else ():
            if isinstance(block, dict) and block.get("type") == "tool_result":
                results[str(block.get("tool_use_id"))] = _result(block)
            elif isinstance(block, dict) and block.get("type") == "tool_use":
                calls.append(
                    "%s(%s) -> %s"
                    % (block.get("name"), _arguments(block), results.get(str(block.get("id")), "no result"))
                )
    return "", calls[::-1]


def _result(block: dict[str, Any]) -> str:
    text = plain_text(block.get("content"))
    return ("error: " if block.get("is_error") is True else "") + " ".join(text[: 4 * _RESULT].split())[
        :_RESULT
    ]


def _arguments(block: dict[str, Any]) -> str:
    try:
        return dumps(block.get("input"))[:_ARGUMENT]
    except (TypeError, ValueError):
        return ""
