"""An answer's effects: covered elements, proposed memories, and the wording of the next question."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from memory_plugin.interview.answer_input import parse_answer
from memory_plugin.interview.decisions import ANSWER, apply_event, begin
from memory_plugin.interview.proposals import propose_memories, summary
from tests.interview.respondents import clean, setup_for

SETUP = setup_for()


def after(*answers: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the state and the last decision after some answers, each as Claude passes it on."""
    state, decision = begin(SETUP, {})
    for data in answers:
        given, dropped = parse_answer(data, SETUP, clean)
        assert dropped == []
        decision = apply_event(state, SETUP, {"kind": ANSWER, "given": given})
    return state, decision


def say(
    answer: str, *concepts: str, question: str = "", kind: str = "behaviour", stance: int = 0
) -> dict[str, Any]:
    """Return an answer with concepts."""
    entries = [{"type": kind, "text": text, "stance": stance, "quote": text} for text in concepts]
    return {"answer": answer, "question": question, "concepts": entries}


OPENING = say("It saves the clerks some typing", "clerks type less")


def test_the_first_question_is_open_and_the_second_is_not() -> None:
    _, first = begin(SETUP, {})
    assert (first["strategy"], first["focus"]["key"]) == ("broaden", "open")
    assert first["intent"].startswith("Open with one wide and easy question")
    _, second = after(OPENING)
    assert second["strategy"] == "cover_element"


def test_no_open_question_follows_one_that_brought_nothing_new() -> None:
    answers = [
        OPENING,
        say("Fewer calls", "fewer calls"),
        say("Only the typing, as I said", "clerks type less"),
    ]
    state, _ = after(
        *answers, *(say("and number %s" % name, "thing %s" % name) for name in ("one", "two", "three"))
    )
    assert [turn["strategy"] for turn in state["turns"]].count("broaden") == 2
    assert state["turns"][2]["strategy"] == "broaden"


def test_an_element_is_asked_for_as_the_pack_says() -> None:
    _, second = after(OPENING)
    asks = {element["id"]: element["ask"] for element in SETUP["elements"]}
    assert second["intent"] == asks[second["focus"]["key"]].replace("{topic}", "the billing export")


@pytest.mark.parametrize(
    ("answer", "settled"),
    [
        pytest.param(say("Only what clerks need", "no printing"), True, id="an answer"),
        pytest.param(say("By the way, the coffee is cold again today"), False, id="a different subject"),
        pytest.param(say("Can you book me a table for tonight?"), False, id="a question in return"),
        pytest.param(say("Why do you ask that?"), False, id="asking why"),
        pytest.param(say("I do not know"), False, id="not known"),
        pytest.param({"answer": "Nothing at all, really nothing", "covered": ["goal"]}, True, id="settled by Claude"),
    ],
)  # fmt: skip
def test_an_element_is_covered_by_an_answer_to_its_question(answer: dict[str, Any], *, settled: bool) -> None:
    _, second = after(OPENING)
    assert second["focus"]["key"] == "goal"
    state, _ = after(OPENING, answer)
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
def test_elements_in_claudes_own_question_are_covered_too(question: str, covered: set[str]) -> None:
    state, _ = after(say("About forty of them, mostly in the north", "forty of them", question=question))
    assert set(state["covered"]) == covered


def test_a_question_in_return_is_answered_and_the_question_asked_again_once() -> None:
    state, decision = after(OPENING, say("Why do you ask that?"))
    assert (decision["strategy"], decision["focus"]["key"]) == ("clarify", "goal")
    assert decision["intent"].startswith("They did not understand the last question, or asked back")
    assert not state["turns"][-1]["low"]
    answers = [OPENING, say("Why do you ask that?"), say("Ah, I see, but that is not for me to say today")]
    answers += [say("one more thing, number %d" % n, "thing %s" % ("abcdefgh"[n])) for n in range(8)]
    state, _ = after(*answers)
    asked = [turn["focus"]["key"] for turn in state["turns"] if turn["strategy"] == "cover_element"]
    assert asked.count("goal") == 2


def test_the_answer_to_a_rephrased_question_covers_its_element() -> None:
    state, _ = after(OPENING, say("What do you mean?"), say("Ah. Fewer calls", "fewer calls"))
    assert "goal" in state["covered"]


def test_memories_say_what_the_user_is_against_and_both_sides_of_a_contradiction() -> None:
    loved = say("I love weekly releases", "weekly releases", kind="decision", stance=1)
    hated = say("Weekly releases are awful", "weekly releases", kind="decision", stance=-1)
    slow = say("and slow reviews", "slow reviews", kind="decision", stance=-1)
    state, _ = after(loved, hated, slow)
    interview: Any = SimpleNamespace(state=state, setup=SETUP, topic="releases", id="i")
    proposed = {memory["title"]: memory["body"] for memory in propose_memories(interview)}
    assert proposed == {
        "weekly releases": 'Decision of releases: weekly releases. The user said: "weekly releases".'
        ' In answer 2 the user spoke against it: "weekly releases".',
        "Against: weekly releases": "Decision of releases: weekly releases. The user is against it."
        ' The user said: "weekly releases". In answer 1 the user spoke for it: "weekly releases".',
        "Against: slow reviews": "Decision of releases: slow reviews. The user is against it."
        ' The user said: "slow reviews".',
    }
    assert summary(interview)["learnt"] == {"Decision": list(proposed)}


def test_memories_contain_the_question_and_the_answer() -> None:
    answer = "We had an outage, so never more than a minute please"
    question = "How fast  must\nthe export be?"
    state, _ = after(say(answer, "export within a minute", question=question, kind="constraint"))
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
    state, decision = after(loved, slow, hated, *rest)
    for _ in range(6):
        if decision["strategy"] == "contrast":
            break
        given, _ = parse_answer(say("as I said, more or less the same", "thing one"), SETUP, clean)
        decision = apply_event(state, SETUP, {"kind": ANSWER, "given": given})
    label = '"weekly releases" (for, question 1) and "weekly releases" (against, question 3)'
    assert decision["focus"]["label"] == label
    assert decision["intent"].startswith("They said both")
