"""The result of an interview: the proposed memories and the summary."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from memory_plugin.interview.results import propose_memories, summary
from tests.interview.respondents import after, say, setup_for


def test_memories_say_what_the_user_is_against() -> None:
    loved = say("I love weekly releases", "weekly releases", kind="decision", stance=1)
    hated = say("Weekly releases are awful", "weekly releases", kind="decision", stance=-1)
    slow = say("and slow reviews", "slow reviews", kind="decision", stance=-1)
    state, _ = after(loved, hated, slow)
    interview: Any = SimpleNamespace(state=state, setup=setup_for(), topic="releases", id="i")
    proposed = {memory.title: memory.body for memory in propose_memories(interview)}
    assert proposed == {
        "weekly releases": 'Decision of releases: weekly releases. The user said: "weekly releases".',
        "Against: weekly releases": "Decision of releases: weekly releases. The user is against it."
        ' The user said: "weekly releases".',
        "Against: slow reviews": "Decision of releases: slow reviews. The user is against it."
        ' The user said: "slow reviews".',
    }
    assert summary(interview)["learnt"] == {"Decision": list(proposed)}


def test_memories_contain_the_question_and_the_answer() -> None:
    answer = "We had an outage, so never more than a minute please"
    question = "How fast  must\nthe export be?"
    state, _ = after(say(answer, "export within a minute", question=question, kind="constraint"))
    interview: Any = SimpleNamespace(state=state, setup=setup_for(), topic="export", id="i")
    (memory,) = propose_memories(interview)
    assert memory.asked_as == [], "Claude writes phrases"
    assert memory.context.startswith('Asked in an interview: "How fast must the export be?"')
    assert "We had an outage" in memory.context + memory.body
