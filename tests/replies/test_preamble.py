"""Words before the answer."""

from __future__ import annotations

from typing import Any

import pytest

from memory_plugin.replies.data import load_table
from tests.replies.made import signals

LEADS = load_table("preamble")["leads"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The port is 80.", 0),
        ("Perfect! The port is 80.", 1),
        ("You're absolutely right! The port is 80.", 3),
        ("Good question. Let me analyze what this test does. The port is 80.", 9),
        ("Sure! To create a link in Linux, you can use ln.", 7),
        ("## Summary\n\nHere is the plan:\n\n1. Stop.", 4),
        ("Done. Here's a summary of all changes:\n\n- a", 0),
        ("All 44 tests pass.", 0),
        ("Let me check the file.", 5),
        ("Here's how `x` is set in `y`:\n\n```\nz\n```", 7),
        ("Looking at the log, two hosts fail.", 4),
        ("", 0),
        ("```\nx\n```", 0),
    ],
)
def test_preamble(text: str, words: int) -> None:
    assert signals(text).preamble == words


@pytest.mark.parametrize("lead", LEADS, ids=lambda lead: lead["id"])
def test_the_examples_of_a_lead(lead: dict[str, Any]) -> None:
    assert [text for text in lead["hit"] if signals(text).preamble == 0] == []
    assert [text for text in lead["miss"] if signals(text).preamble > 0] == []
