"""Which answer the fake API gives to which request: rules first, then a queue of turns, then a default.

The form of a script is told in README.md.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from typing import Any

Reply = dict[str, Any]
Body = dict[str, Any]


def text_of(content: object) -> str:
    """All text in a message's content or in a system prompt: a string, or a list of blocks."""
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
    """Return the text of the last message of the user's, or ""."""
    own = [message for message in body.get("messages") or [] if message.get("role") == "user"]
    return text_of(own[-1].get("content")) if own else ""


def kind(path: str, headers: Mapping[str, str], body: Body) -> str:
    """Who asks for what.

    `main` is the client's agent loop (it carries tools), `side` its other calls of the model, `count` its
    counting of tokens, `client` anything else of the client's, and `other` a caller that is not the client:
    a plugin.
    """
    if not re.search(r"claude-cli|claude-code", headers.get("user-agent", ""), re.IGNORECASE):
        return "other"
    if path.startswith("/v1/messages/count_tokens"):
        return "count"
    if path.startswith("/v1/messages"):
        return "main" if body.get("tools") else "side"
    return "client"


class Rule:
    """Replies for the requests that fit, and how often it was used."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.name = str(spec.get("name", "rule"))
        self.when: dict[str, str | bool] = spec.get("when", {})
        self.times: int | None = spec.get("times")
        self.replies: list[Reply] = spec.get("replies") or [spec["reply"]]
        self.used = 0

    def fits(self, facts: dict[str, str | bool]) -> bool:
        """Whether the rule has uses left and all its patterns are found."""
        if self.times is not None and self.used >= self.times:
            return False
        return all(
            facts[key] == want if isinstance(want, bool) else re.search(want, str(facts[key]), re.DOTALL)
            for key, want in self.when.items()
        )

    def reply(self) -> Reply:
        """Return the next reply; the last one again and again."""
        self.used += 1
        return self.replies[min(self.used, len(self.replies)) - 1]


class Script:
    """Picks replies; safe to be asked from several threads."""

    def __init__(self, spec: dict[str, Any]) -> None:
        unknown = set(spec) - {"rules", "turns", "default", "side"}
        if unknown:
            raise ValueError("a script has no %s" % ", ".join(sorted(unknown)))
        self.rules = [Rule(rule) for rule in spec.get("rules", [])]
        self.turns: list[Reply] = list(spec.get("turns", []))
        self.default: Reply = spec.get("default", {"text": "fake reply"})
        self.side: Reply = spec.get("side", {"text": "fake side reply"})
        self.lock = threading.Lock()

    def pick(self, asker: str, path: str, body: Body) -> tuple[Reply, str]:
        """Return the reply to a request of the kind `asker`, and where it came from."""
        facts: dict[str, str | bool] = {
            "kind": asker,
            "path": path,
            "model": str(body.get("model", "")),
            "system": text_of(body.get("system")),
            "last_user": last_user(body),
            "any": json.dumps(body, ensure_ascii=False),
            "stream": bool(body.get("stream")),
        }
        with self.lock:
            for rule in self.rules:
                if rule.fits(facts):
                    return rule.reply(), rule.name
            if asker != "main":
                return self.side, "side"
            return (self.turns.pop(0), "turn") if self.turns else (self.default, "default")
