"""Replies of a scorer for tests."""

from __future__ import annotations

from typing import Any

LEVELS = {"goal_achievement": 2, "error_handling": 1}
NUMBERS = {"tool_efficiency": 0.8, "process_adherence": 0.6, "context_efficiency": 0.4, "output_quality": 1.0}


def reply(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 (what a model may say)
    """Return a complete reply. A named dimension takes another score, None leaves it out, anything else is inserted as it is."""
    found: dict[str, Any] = {
        name: {
            "score": score,
            "evidence": [{"turn": 1, "what": "seen"}],
            "rationale": "Because of %s." % name,
        }
        for name, score in {**LEVELS, **NUMBERS}.items()
    }
    found.update(root_cause="none", improvements=[], confidence=0.8)
    for name, value in changes.items():
        if value is None:
            del found[name]
        elif name in (*LEVELS, *NUMBERS) and not isinstance(value, dict):
            found[name]["score"] = value
        else:
            found[name] = value
    return found
