"""Complete interviews with simulated respondents: every strategy is used, no question is repeated, and each ends for its reason."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from memory_plugin.interview.decisions import ANSWER, STOP_REASONS, WRAP_UP, apply_event, begin
from memory_plugin.interview.exceptions import InterviewError
from memory_plugin.kernel.data import load_data
from tests.interview.respondents import KINDS, Respondent, hold_interview, setup_for

ENDS = {
    "steady": "covered",
    "brief": "covered",
    "chatty": "covered",
    "fatiguing": "nothing_said",
    "hedging": "covered",
    "contradicting": "covered",
    "fixated": "saturated",
    "ignorant": "closed",
    "confused": "covered",
    "souring": "mood",
    "leaving": "asked",
    "weaving": "closed",
    "harping": "covered",
}
SOME_KINDS = [
    pytest.param(
        kind, marks=[] if kind in ("fatiguing", "fixated", "souring", "leaving") else pytest.mark.slow
    )
    for kind in KINDS
]


@pytest.mark.slow
def test_every_strategy_is_chosen_at_least_once() -> None:
    used = Counter(
        d["strategy"] for kind in KINDS for d in hold_interview(kind, setup_for())[0] if not d["stop"]
    )
    assert set(used) == {
        entry["id"] for entry in load_data("interview", "scoring")["strategies"] if entry["enabled"]
    }


@pytest.mark.parametrize("kind", SOME_KINDS)
def test_an_interview_ends_for_its_reason_and_repeats_no_question(kind: str) -> None:
    decisions, state, answers = hold_interview(kind, setup_for())
    assert decisions[-1]["reason"] == ENDS[kind]
    assert len(answers) <= 24
    # A question that was not answered may be asked once more.
    probes = [d["probe"] for d, turn in zip(decisions, state["turns"]) if not turn["unanswered"]]
    assert len(set(probes)) == len(probes)
    strategies = [turn["strategy"] for turn in state["turns"]]
    assert ("broaden", "broaden") not in zip(strategies, strategies[1:])
    if ENDS[kind] == "covered":
        assert len(state["covered"]) >= 0.8 * 12


def test_every_stop_reason_is_tested() -> None:
    assert {*ENDS.values(), "budget"} == set(STOP_REASONS)


@pytest.mark.parametrize(("budget", "reason"), [(1, "closed"), (2, "budget"), (3, "budget"), (11, "budget")])
def test_the_budget_ends_every_interview(budget: int, reason: str) -> None:
    decisions, _, answers = hold_interview("weaving", setup_for(max_turns=budget))
    assert (len(answers), decisions[-1]["reason"]) == (budget, reason)
    assert decisions[budget - 1]["strategy"] in ("closing", "synthesis")


def test_a_falling_mood_may_be_ignored() -> None:
    decisions, _, _ = hold_interview("souring", setup_for(close_when_falling=False))
    assert decisions[-1]["reason"] == "covered"


@pytest.mark.parametrize("kind", SOME_KINDS)
def test_the_same_answers_give_the_same_decisions(kind: str) -> None:
    setup = setup_for()
    decisions, _, answers = hold_interview(kind, setup)
    frozen = json.loads(json.dumps(setup))
    state, decision = begin(frozen, {})
    replayed = [decision]
    for given in answers:
        state = json.loads(json.dumps(state))
        replayed.append(apply_event(state, frozen, {"kind": ANSWER, "given": json.loads(json.dumps(given))}))
    assert json.dumps(replayed) == json.dumps(decisions)


def test_skip_deeper_and_wrap_up() -> None:
    setup = setup_for()
    person = Respondent("steady")
    state, decision = begin(setup, {"goal": "README", "users": "README"})
    assert decision["progress"]["gaps"] == 10
    given: dict[str, Any] = {
        "answer": "",
        "question": "",
        "concepts": [],
        "relations": [],
        "signals": None,
        "covered": [],
        "wish": "skip",
    }
    skipped = decision["focus"]["key"]
    decision = apply_event(state, setup, {"kind": ANSWER, "given": given})
    assert skipped in state["skipped"]
    for _ in range(3):
        data = person.answer(decision)
        full = {**given, "wish": "", "answer": data["answer"], "concepts": []}
        full["concepts"] = [{"confidence": 0.8, "aliases": [], "revises": "", **c} for c in data["concepts"]]
        decision = apply_event(state, setup, {"kind": ANSWER, "given": full})
    assert decision["strategy"] in ("broaden", "cover_element")
    deeper = apply_event(state, setup, {"kind": "deeper"})
    assert deeper["strategy"] == "deepen"
    last = apply_event(state, setup, {"kind": WRAP_UP})
    assert (last["stop"], last["reason"]) == (True, "asked")
    assert last["deferred"]
    with pytest.raises(InterviewError, match="has ended"):
        apply_event(state, setup, {"kind": "deeper"})
