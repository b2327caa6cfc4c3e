"""Replies, settings and transcripts to try things on."""

from __future__ import annotations

import json
import os
from typing import Any

from memory_plugin.kernel.settings.load import Settings, defaults, load
from memory_plugin.replies.data import load_lexicon
from memory_plugin.replies.rules import load_rules
from memory_plugin.replies.signals import Signals, measure

RULES, LEXICON = load_rules(None), load_lexicon()
PLAIN = (
    "The port is 80 on both hosts, and the proxy sends health checks every ten seconds. "
    "A second listener needs another certificate, because names differ between them."
)
PADDED = "Great question! I'd be happy to help. %s Let me know if you need anything else." % PLAIN


def settings(**values: object) -> Settings:
    """The defaults, with some scoring keys changed; `__` stands for a dot."""
    made = Settings(defaults())
    for name, value in values.items():
        made.put("scoring." + name.replace("__", "."), value, "user")
    return made


def signals(text: str, *, drafting: bool = False) -> Signals:
    """The signals of a text."""
    return measure(text, RULES, LEXICON, drafting)


def phrases(text: str, *, drafting: bool = False) -> list[str]:
    """The filler phrases of a text, as they stand in it."""
    return [text[match.start : match.end] for match in signals(text, drafting=drafting).matches]


def user(text: str, **fields: object) -> dict[str, Any]:
    """A transcript's record of a prompt."""
    return {"type": "user", "uuid": "u-" + text[:8], "message": {"role": "user", "content": text}, **fields}


def assistant(text: str, model: str = "claude-opus-5-5", **fields: object) -> dict[str, Any]:
    """A transcript's record of a reply."""
    message = {"role": "assistant", "model": model, "content": [{"type": "text", "text": text}]}
    return {"type": "assistant", "uuid": "a-" + text[:8], "message": message, **fields}


def call(name: str, given: dict[str, Any], identity: str = "t1") -> dict[str, Any]:
    """A transcript's record of a tool call."""
    block = {"type": "tool_use", "id": identity, "name": name, "input": given}
    return {"type": "assistant", "uuid": "c-" + identity, "message": {"model": "m", "content": [block]}}


def result(text: str, identity: str = "t1", *, failed: bool = False) -> dict[str, Any]:
    """A transcript's record of what a tool call came to."""
    block = {"type": "tool_result", "tool_use_id": identity, "content": text, "is_error": failed}
    return {"type": "user", "toolUseResult": {}, "message": {"content": [block]}}


def write(path: str, *records: object) -> str:
    """The path of a transcript of these records; bytes are written as they are."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.writelines(
            record if isinstance(record, bytes) else json.dumps(record).encode() + b"\n" for record in records
        )
    return path


__all__ = [
    "LEXICON",
    "PADDED",
    "PLAIN",
    "RULES",
    "assistant",
    "call",
    "load",
    "phrases",
    "result",
    "settings",
    "signals",
    "user",
    "write",
]
