"""The test server behaves as observed on real ones: it stores, silently drops or refuses a score."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory_plugin.sessions.langfuse import score_configs
from tests.sessions.langfuse.server import Langfuse

GOAL, TOOLS, ARCHIVED = "cfg-1", "cfg-2", "cfg-3"
CASES: list[Any] = [
    (
        "label and config",
        {"value": "complete", "dataType": "CATEGORICAL", "configId": GOAL},
        200,
        ("goal_achievement", "complete"),
    ),
    ("number and categorical config", {"value": 2, "configId": GOAL}, 200, None),
    ("unknown label and config", {"value": "done", "dataType": "CATEGORICAL", "configId": GOAL}, 200, None),
    ("label without a config", {"value": "complete", "dataType": "CATEGORICAL"}, 200, ("x", "complete")),
    ("number and config", {"value": 0.85, "configId": TOOLS}, 200, ("tool_efficiency", 0.85)),
    ("number out of range", {"value": 1.2, "configId": TOOLS}, 200, None),
    ("number as a text", {"value": "0.85", "configId": TOOLS}, 200, None),
    ("number with another type", {"value": 0.85, "dataType": "CATEGORICAL"}, 400, None),
    (
        "another name than the config's",
        {"name": "y", "value": 0.85, "configId": TOOLS},
        200,
        ("tool_efficiency", 0.85),
    ),
    ("archived config", {"value": 0.5, "configId": ARCHIVED}, 200, None),
    ("missing config", {"value": 0.5, "configId": "cfg-99"}, 200, None),
    ("no subject", {"value": 1, "sessionId": ""}, 400, None),
    ("two subjects", {"value": 1, "traceId": "t"}, 400, None),
    ("session and observation", {"value": 1, "observationId": "o"}, 400, None),
    ("empty name", {"name": "", "value": 1}, 400, None),
    ("no value", {"value": None}, 400, None),
    ("long comment", {"value": 0.5, "comment": "c" * 10_000}, 200, ("x", 0.5)),
    ("long text", {"value": "z" * 501, "dataType": "TEXT"}, 400, None),
    ("text", {"value": "z" * 500, "dataType": "TEXT"}, 200, ("x", "z" * 500)),
    ("true", {"value": True, "dataType": "BOOLEAN"}, 400, None),
    ("one for true", {"value": 1, "dataType": "BOOLEAN"}, 200, ("x", 1)),
    ("source EVAL", {"value": 1, "source": "EVAL"}, 400, None),
    ("timestamp", {"value": 1, "timestamp": "2026-01-01T00:00:00Z"}, 200, ("x", 1)),
]


@pytest.mark.parametrize(
    ("body", "status", "stored"), [pytest.param(*case[1:], id=case[0]) for case in CASES]
)
def test_a_score_is_stored_dropped_or_refused(
    langfuse: Langfuse, body: dict[str, Any], status: int, stored: tuple[str, Any] | None
) -> None:
    for name in ("goal_achievement", "tool_efficiency", "output_quality"):
        langfuse.answer("POST", "/api/public/score-configs", score_configs()[name])
    langfuse.configs[2]["isArchived"] = True
    score = json.loads(json.dumps({"id": "s1", "name": "x", "sessionId": "s", **body}))
    assert langfuse.answer("POST", "/api/public/scores", score)[0] == status
    rows = [(row["name"], row["value"]) for row in langfuse.scores.values()]
    assert rows == ([] if stored is None else [stored])


def test_a_score_with_the_same_id_is_updated_only_at_the_same_time(langfuse: Langfuse) -> None:
    for time, value in (("a", 1), ("a", 2), ("b", 3)):
        langfuse.answer(
            "POST",
            "/api/public/scores",
            {"id": "s1", "name": "x", "sessionId": "s", "value": value, "timestamp": time},
        )
    assert [row["value"] for row in langfuse.scores.values()] == [2, 3]
