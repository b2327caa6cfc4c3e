"""What a stored memory says about a candidate."""

from __future__ import annotations

import pytest

from memory_plugin.capture.candidate import Origin, RuleHit, new_candidate
from memory_plugin.capture.coverage import CONTRADICTED, COVERED, compare
from memory_plugin.memories.record import categories, new_memory, parse_memory

RULE = RuleHit("correction", "preference", "use-not", 0.8)


@pytest.mark.parametrize(
    ("quote", "title", "body", "result"),
    [
        ("no, use pnpm not npm", "Use pnpm", "Use pnpm, not npm, in all packages.", COVERED),
        ("use npm, not pnpm", "Use pnpm", "Use pnpm, not npm, in all packages.", CONTRADICTED),
        (
            "never mock the database",
            "Database in tests",
            "Never mock the database; start the container.",
            COVERED,
        ),
        ("always mock the database", "Never mock the database", "Start the container.", CONTRADICTED),
        ("staging is reset at 3", "Use pnpm", "Use pnpm, not npm.", ""),
        ("never mock the database", "Mock servers", "The mock server listens on 8080.", ""),
    ],
)
def test_compare(quote: str, title: str, body: str, result: str) -> None:
    candidate = new_candidate(RULE, quote, Origin("s", 1, "2026-01-01T00:00:00Z"))
    category = categories()["preference"]
    memory = parse_memory(new_memory(category, "m", title, {"value": body}, {}), "m", category)
    assert candidate is not None
    assert compare(candidate, memory) == result
