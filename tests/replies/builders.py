"""Builders for tests about replies: settings, texts and their signals, transcripts, ledger records."""

from __future__ import annotations

import json
import os
from typing import Any

from memory_plugin.kernel.context import Context, Deadline, Ledger
from memory_plugin.kernel.paths import Paths, session_file
from memory_plugin.kernel.settings import Settings, shipped
from memory_plugin.replies.signals import ReplySignals, load_filler_rules, measure_reply

RULES = load_filler_rules(None)
PLAIN = (
    "The port is 80 on both hosts, and the proxy sends health checks every ten seconds. "
    "A second listener needs another certificate, because names differ between them."
)
PADDED = "Great question! I'd be happy to help. %s Let me know if you need anything else." % PLAIN


def settings(**values: object) -> Settings:
    """Return the defaults with some `scoring` keys changed; `__` stands for a dot."""
    changed = Settings(shipped("defaults.json"))
    for name, value in values.items():
        changed.set_value("scoring." + name.replace("__", "."), value, "user")
    return changed


def context(paths: Paths, **values: object) -> Context:
    """Return the context of session `s` with changed `scoring` settings and a deadline that no test reaches."""
    return Context(paths, settings(**values), Deadline(60), "s")


def measure(text: str, *, drafting: bool = False) -> ReplySignals:
    """Return the signals of a text by the shipped rules."""
    return measure_reply(text, RULES, drafting=drafting)


def filler_phrases(text: str, *, drafting: bool = False) -> list[str]:
    """Return a text's filler phrases in their original spelling."""
    return [text[match.start : match.end] for match in measure(text, drafting=drafting).matches]


def user_record(text: str, **fields: object) -> dict[str, Any]:
    """Return a transcript's record of a prompt."""
    return {"type": "user", "uuid": "u-" + text[:8], "message": {"role": "user", "content": text}, **fields}


def assistant_record(text: str, model: str = "claude-opus-5-5", **fields: object) -> dict[str, Any]:
    """Return a transcript's record of a reply."""
    message = {"role": "assistant", "model": model, "content": [{"type": "text", "text": text}]}
    return {"type": "assistant", "uuid": "a-" + text[:8], "message": message, **fields}


def call_record(name: str, arguments: dict[str, Any], identity: str = "t1") -> dict[str, Any]:
    """Return a transcript's record of a tool call."""
    block = {"type": "tool_use", "id": identity, "name": name, "input": arguments}
    return {"type": "assistant", "uuid": "c-" + identity, "message": {"model": "m", "content": [block]}}


def result_record(text: str, identity: str = "t1", *, failed: bool = False) -> dict[str, Any]:
    """Return a transcript's record of a tool call's result."""
    block = {"type": "tool_result", "tool_use_id": identity, "content": text, "is_error": failed}
    return {"type": "user", "toolUseResult": {}, "message": {"content": [block]}}


def write_transcript(path: str, *records: object) -> str:
    """Write records to a transcript and return its path; bytes are written as they are."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.writelines(
            record if isinstance(record, bytes) else json.dumps(record).encode() + b"\n" for record in records
        )
    return path


def append_score(paths: Paths, identity: str, session: str = "s", **fields: object) -> None:
    """Append a score as the plugin writes it, with some fields changed."""
    row: dict[str, Any] = {
        "kind": "score", "id": identity, "padding_count": 0, "matches": [], "preamble_words": 0, "words": 50, "density": 0.6,
        "query_type": "code", "threshold": 0.46, "gate": "clean", "escalate": False, "audit": False,
        "mode": "hybrid", "drift": [], "prompt_id": identity, "model": "m", "transcript": "", "turn": 1,
    }  # fmt: skip
    Ledger(paths.state(), "scores").append(session, paths.project_key, {**row, **fields})


def append_judged(paths: Paths, identity: str, session: str = "s", **fields: object) -> None:
    """Append a judge's record about a scored reply."""
    levels = {"SyA": 0, "VDet": 0, "EpAd": 0, "EPad": 0}
    row: dict[str, Any] = {
        "kind": "judged", "id": identity, "outcome": "ok", "levels": levels, "clamped": 0, "phrases": [],
        "missed": [], "agrees": True,
    }  # fmt: skip
    Ledger(paths.state(), "scores").append(session, paths.project_key, {**row, **fields})


def append_drift(paths: Paths, identity: str, arm: str, session: str = "s", **fields: object) -> None:
    """Append a drift of the corrected or the control group."""
    row: dict[str, Any] = {
        "kind": "drift",
        "id": identity,
        "categories": ["padding"],
        "severity": "medium",
        "arm": arm,
    }
    Ledger(paths.state(), "drift").append(session, paths.project_key, {**row, **fields})


def append_delivery(paths: Paths, identity: str, session: str = "s") -> None:
    """Append that Claude was told a drift's correction."""
    Ledger(paths.state(), "drift").append(session, paths.project_key, {"kind": "said", "id": identity})


def correction_is_pending(paths: Paths, session: str) -> bool:
    """Return whether a correction is saved for a session's next prompt."""
    return os.path.lexists(session_file(paths, session, "drift"))
