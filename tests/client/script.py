"""The fake API's script: rules first, then a queue of turns, then a default. README.md describes its form."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from typing import Any

Reply = dict[str, Any]
Body = dict[str, Any]


def text_of(content: object) -> str:
    """Return all text in a message's content or a system prompt, which is a string or a list of blocks."""
    if isinstance(content, str):
        return content
    parts: list[str] = []
    for block in content if isinstance(content, list) else []:
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, dict) and block.get("type") == "tool_result":
            parts.append(text_of(block.get("content")))
        elif isinstance(block, dict) and "text" in block:
            parts.append(str(block["text"]))
    return "\n".join(parts)


def last_user(body: Body) -> str:
    """Return the text of the last user message, or ""."""
    messages = [message for message in body.get("messages") or [] if message.get("role") == "user"]
    return text_of(messages[-1].get("content")) if messages else ""


def request_kind(path: str, headers: Mapping[str, str], body: Body) -> str:
    """Return the kind of a request.

    `main` is the client's agent loop (it carries tools), `side` its other calls of the model, `count` its token counts, `client` its other
    requests, and `other` a request of another program, such as a plugin.
    """
    if not re.search(r"claude-cli|claude-code", headers.get("user-agent", ""), re.IGNORECASE):
        return "other"
    if path.startswith("/v1/messages/count_tokens"):
        return "count"
    if path.startswith("/v1/messages"):
        return "main" if body.get("tools") else "side"
    return "client"


class Rule:
    """Replies for the requests that match its patterns, with a count of its uses."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.name = str(spec.get("name", "rule"))
        self.when: dict[str, str | bool] = spec.get("when", {})
        self.times: int | None = spec.get("times")
        self.replies: list[Reply] = spec.get("replies") or [spec["reply"]]
        self.used = 0

    def matches(self, facts: dict[str, str | bool]) -> bool:
        """Return whether the rule has uses left and all its patterns match."""
        if self.times is not None and self.used >= self.times:
            return False
        return all(
            facts[key] == pattern
            if isinstance(pattern, bool)
            else re.search(pattern, str(facts[key]), re.DOTALL)
            for key, pattern in self.when.items()
        )

    def reply(self) -> Reply:
        """Return the next reply; the last one repeats."""
        self.used += 1
        return self.replies[min(self.used, len(self.replies)) - 1]


class Script:
    """Picks replies; several threads may use it."""

    def __init__(self, spec: dict[str, Any]) -> None:
        unknown = set(spec) - {"rules", "turns", "default", "side"}
        if unknown:
            raise ValueError("a script has no %s" % ", ".join(sorted(unknown)))
        self.rules = [Rule(rule) for rule in spec.get("rules", [])]
        self.turns: list[Reply] = list(spec.get("turns", []))
        self.default: Reply = spec.get("default", {"text": "fake reply"})
        self.side: Reply = spec.get("side", {"text": "fake side reply"})
        self.lock = threading.Lock()

    def pick(self, kind: str, path: str, body: Body) -> tuple[Reply, str]:
        """Return the reply to a request of this kind, and its source: a rule's name, `turn`, `default` or `side`."""
        facts: dict[str, str | bool] = {
            "kind": kind,
            "path": path,
            "model": str(body.get("model", "")),
            "system": text_of(body.get("system")),
            "last_user": last_user(body),
            "any": json.dumps(body, ensure_ascii=False),
            "stream": bool(body.get("stream")),
        }
        with self.lock:
            for rule in self.rules:
                if rule.matches(facts):
                    return rule.reply(), rule.name
            if kind != "main":
                return self.side, "side"
            return (self.turns.pop(0), "turn") if self.turns else (self.default, "default")
