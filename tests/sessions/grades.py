"""Replies of a scorer for tests."""

from __future__ import annotations

from typing import Any

LEVELS = {"goal_achievement": 2, "error_handling": 1}
NUMBERS = {"tool_efficiency": 0.8, "process_adherence": 0.6, "context_efficiency": 0.4, "output_quality": 1.0}


def reply(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 (any JSON)
    """Return a complete reply with some fields changed: a number replaces a dimension's score, and None removes a field."""
    fields: dict[str, Any] = {
        name: {
            "score": score,
            "evidence": [{"turn": 1, "what": "seen"}],
            "rationale": "Because of %s." % name,
        }
        for name, score in {**LEVELS, **NUMBERS}.items()
    }
    fields.update(root_cause="none", improvements=[], confidence=0.8)
    for name, value in changes.items():
        if value is None:
            del fields[name]
        elif name in (*LEVELS, *NUMBERS) and not isinstance(value, dict):
            fields[name]["score"] = value
        else:
            fields[name] = value
    return fields
