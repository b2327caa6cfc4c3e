"""What an answer settles, what it leaves open, and how the next question is worded after it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from memory_plugin.interview.answer_input import parse_answer
from memory_plugin.interview.decisions import ANSWER, apply_event, begin
from memory_plugin.interview.proposals import propose_memories, summary
from tests.interview.respondents import setup_for

SETUP = setup_for()


def talk(*answers: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the state and the last decision after answers, each as Claude passes it on."""
    state, decision = begin(SETUP, {})
    for data in answers:
        given, dropped = parse_answer(data, SETUP, lambda text, limit: text[:limit])
        assert dropped == []
        decision = apply_event(state, SETUP, {"kind": ANSWER, "given": given})
    return state, decision


def say(
    answer: str, *concepts: str, question: str = "", kind: str = "behaviour", stance: int = 0
) -> dict[str, Any]:
    """Return an answer with concepts."""
    made = [{"type": kind, "text": text, "stance": stance, "quote": text} for text in concepts]
    return {"answer": answer, "question": question, "concepts": made}


OPENING = say("It saves the clerks some typing", "clerks type less")


def test_the_first_question_is_wide_and_no_open_one_follows_an_open_one() -> None:
    _, first = begin(SETUP, {})
    assert (first["strategy"], first["focus"]["key"]) == ("broaden", "open")
    assert first["intent"].startswith("Open with one wide and easy question")
    _, second = talk(OPENING)
    assert second["strategy"] == "cover_element"


def test_no_open_question_follows_one_that_led_to_nothing_new() -> None:
    answers = [
        OPENING,
        say("Fewer calls", "fewer calls"),
        say("Only the typing, as I said", "clerks type less"),
    ]
    state, _ = talk(
        *answers, *(say("and number %s" % name, "thing %s" % name) for name in ("one", "two", "three"))
    )
    assert [turn["strategy"] for turn in state["turns"]].count("broaden") == 2
    assert state["turns"][2]["strategy"] == "broaden"


def test_an_element_is_asked_for_as_the_pack_says() -> None:
    _, second = talk(OPENING)
    asks = {element["id"]: element["ask"] for element in SETUP["elements"]}
    assert second["intent"] == asks[second["focus"]["key"]].replace("{topic}", "the billing export")


@pytest.mark.parametrize(
    ("answer", "settled"),
    [
        pytest.param(say("Only what clerks need", "no printing"), True, id="an answer"),
        pytest.param(say("By the way, the coffee is cold again today"), False, id="something else altogether"),
        pytest.param(say("Can you book me a table for tonight?"), False, id="a question in return"),
        pytest.param(say("Why do you ask that?"), False, id="asking why"),
        pytest.param(say("I do not know"), False, id="not known"),
        pytest.param({"answer": "Nothing at all, really nothing", "covered": ["goal"]}, True, id="settled by Claude's word"),
    ],
)  # fmt: skip
def test_what_covers_the_element_that_was_asked_for(answer: dict[str, Any], *, settled: bool) -> None:
    _, second = talk(OPENING)
    assert second["focus"]["key"] == "goal"
    state, _ = talk(OPENING, answer)
    assert ("goal" in state["covered"]) is settled


@pytest.mark.parametrize(
    ("question", "covered"),
    [
        ("Who are the users?", {"users"}),
        ("Apart from the users, what else matters?", set()),
        ("What is the billing export about?", set()),
        ("", set()),
    ],
)
def test_elements_in_the_question_of_claude_are_covered_too(question: str, covered: set[str]) -> None:
    state, _ = talk(say("About forty of them, mostly in the north", "forty of them", question=question))
    assert set(state["covered"]) == covered


def test_a_question_in_return_is_answered_and_the_question_asked_again_once() -> None:
    state, after = talk(OPENING, say("Why do you ask that?"))
    assert (after["strategy"], after["focus"]["key"]) == ("clarify", "goal")
    assert after["intent"].startswith("They did not understand the last question, or asked back")
    assert not state["turns"][-1]["low"]
    answers = [OPENING, say("Why do you ask that?"), say("Ah, I see, but that is not for me to say today")]
    answers += [say("one more thing, number %d" % n, "thing %s" % ("abcdefgh"[n])) for n in range(8)]
    state, _ = talk(*answers)
    asked = [turn["focus"]["key"] for turn in state["turns"] if turn["strategy"] == "cover_element"]
    assert asked.count("goal") == 2


def test_after_a_rephrased_question_the_answer_counts() -> None:
    state, _ = talk(OPENING, say("What do you mean?"), say("Ah. Fewer calls", "fewer calls"))
    assert "goal" in state["covered"]


def test_memories_say_what_the_user_is_against_and_both_sides_of_a_contradiction() -> None:
    loved = say("I love weekly releases", "weekly releases", kind="decision", stance=1)
    hated = say("Weekly releases are awful", "weekly releases", kind="decision", stance=-1)
    slow = say("and slow reviews", "slow reviews", kind="decision", stance=-1)
    state, _ = talk(loved, hated, slow)
    interview: Any = SimpleNamespace(state=state, setup=SETUP, topic="releases", id="i")
    found = {one["title"]: one["body"] for one in propose_memories(interview)}
    assert found == {
        "weekly releases": 'Decision of releases: weekly releases. The user said: "weekly releases".'
        ' In answer 2 the user spoke against it: "weekly releases".',
        "Against: weekly releases": "Decision of releases: weekly releases. The user is against it."
        ' The user said: "weekly releases". In answer 1 the user spoke for it: "weekly releases".',
        "Against: slow reviews": "Decision of releases: slow reviews. The user is against it."
        ' The user said: "slow reviews".',
    }
    assert summary(interview)["learnt"] == {"Decision": list(found)}


def test_memories_keep_what_was_asked_and_answered() -> None:
    said = say(
        "We had an outage, so never more than a minute please", "export within a minute", kind="constraint"
    )
    said["question"] = "How fast  must\nthe export be?"
    state, _ = talk(said)
    interview: Any = SimpleNamespace(state=state, setup=SETUP, topic="export", id="i")
    (memory,) = propose_memories(interview)
    assert memory["asked_as"] == ["How fast must the export be?"]
    assert memory["context"].startswith('Asked in an interview: "How fast must the export be?"')
    assert "We had an outage" in memory["context"] + memory["body"]


def test_contradictions_are_asked_about_first() -> None:
    loved = say("I love weekly releases", "weekly releases", kind="decision", stance=1)
    hated = say("Weekly releases are awful", "weekly releases", kind="decision", stance=-1)
    slow = say("and slow reviews", "slow reviews", kind="decision", stance=-1)
    rest = [say("and a thing more for you", "thing %s" % name) for name in ("one", "two", "three", "four")]
    state, decision = talk(loved, slow, hated, *rest)
    for _ in range(6):
        if decision["strategy"] == "contrast":
            break
        given, _ = parse_answer(
            say("as I said, more or less the same", "thing one"), SETUP, lambda text, limit: text[:limit]
        )
        decision = apply_event(state, SETUP, {"kind": ANSWER, "given": given})
    assert (
        decision["focus"]["label"]
        == '"weekly releases" (for, question 1) and "weekly releases" (against, question 3)'
    )
    assert decision["intent"].startswith("They said both")
