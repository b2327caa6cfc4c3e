"""Every result for a hit: thresholds x judges x limits x history of the session, as tables."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.paths import Paths
from memory_plugin.kernel.settings import Settings
from memory_plugin.kernel.settings.load import load
from memory_plugin.recall.decision import (
    Choice,
    Limits,
    choose,
    estimated_tokens,
    pointer_line,
    render,
)
from memory_plugin.recall.history import RecallHistory
from memory_plugin.recall.ranking import Hit
from tests.recall import memories

NOWHERE = Paths("/")  # a history without a session is not saved


def settings(**values: object) -> Settings:
    """Return the defaults, with other values for some keys of `retrieval`."""
    return load(None, None).with_values({"retrieval." + name: value for name, value in values.items()})


def hit(
    key: str, confidence: float, pointer: float | None = None, scope: str = "project", size: int = 40
) -> Hit:
    """Return a ranked memory."""
    return memories.hit(key, confidence, pointer, scope=scope, text=key + "x" * size)


def decide(
    hits: Sequence[Hit],
    approvals: dict[str, str] | None = None,
    history: RecallHistory | None = None,
    room: int = 9500,
    **values: object,
) -> Choice:
    """Return the choice among some hits under the defaults, with a lower pointer threshold, and other values for some settings."""
    history = history or RecallHistory(NOWHERE, "")
    limits = Limits(settings(**{"pointer_threshold": 0.25, **values}), room)
    return choose(list(hits), approvals or {}, limits, history)


def chosen_keys(choice: Choice) -> tuple[str, str]:
    """Return the keys in full, and those with a pointer."""
    return " ".join(candidate.key for candidate in choice.full), " ".join(
        candidate.key for candidate in choice.pointers
    )


HIGH, MIDDLE, LOW = 0.8, 0.4, 0.1
THRESHOLDS = {
    "above both": (HIGH, None, "a", "", ""),
    "just at the first": (0.5, None, "a", "", ""),
    "between": (MIDDLE, None, "", "a", ""),
    "just at the second": (0.25, None, "", "a", ""),
    "below both": (LOW, None, "", "", "below_threshold"),
    "a pointer's own confidence": (LOW, 0.3, "", "a", ""),
    "no pointer by its own": (MIDDLE, LOW, "", "", "below_threshold"),
}


@pytest.mark.parametrize("name", THRESHOLDS)
def test_two_thresholds(name: str) -> None:
    confidence, pointer, full, pointed, reason = THRESHOLDS[name]
    choice = decide([hit("a", confidence, pointer)])
    assert chosen_keys(choice) == (full, pointed)
    assert choice.withheld.get("a", "") == reason


@pytest.mark.parametrize(
    ("approval", "confidence", "full", "pointed", "reason"),
    [
        ("both", LOW, "a", "", ""),
        ("one", LOW, "", "a", ""),
        ("none", HIGH, "", "", "declined"),
        ("one", HIGH, "", "a", ""),
        ("", HIGH, "a", "", ""),
        ("", MIDDLE, "", "a", ""),
    ],
)
def test_the_judges_go_before_the_thresholds(
    approval: str, confidence: float, full: str, pointed: str, reason: str
) -> None:
    choice = decide([hit("a", confidence)], {"a": approval} if approval else {})
    assert chosen_keys(choice) == (full, pointed)
    assert choice.withheld.get("a", "") == reason


SHARES: dict[str, tuple[float, float, dict[str, str], str, str]] = {
    "close": (0.4, MIDDLE, {}, "b", ""),
    "far behind": (0.39, MIDDLE, {}, "", "far_behind"),
    "far behind and unsure": (0.39, LOW, {}, "", "below_threshold"),
    "far behind, but sure": (0.39, HIGH, {}, "b", ""),
    "far behind, but approved by a judge": (0.39, MIDDLE, {"b": "one"}, "b", ""),
}


@pytest.mark.parametrize("name", SHARES)
def test_a_pointer_takes_a_share_of_the_best_score(name: str) -> None:
    share, confidence, approvals, pointed, reason = SHARES[name]
    best, other = hit("a", HIGH), hit("b", confidence)
    other.score = share * best.score
    choice = decide([best, other], approvals, max_inject=1)
    assert chosen_keys(choice) == ("a", pointed)
    assert choice.withheld.get("b", "") == reason


def test_a_memory_with_a_rarer_word_is_never_far_behind() -> None:
    best, other = hit("a", MIDDLE), hit("b", MIDDLE)
    best.signals, other.signals, other.score = {"best": 4.0}, {"best": 4.5}, 0.1
    assert chosen_keys(decide([best, other])) == ("", "a b")


FIVE = [hit(name, 0.9 - at / 100) for at, name in enumerate("abcde")]
LIMITS: dict[str, tuple[dict[str, int], str, str]] = {
    "the defaults": ({}, "a b c", "d e"),
    "fewer in full": ({"max_inject": 1}, "a", "b c d"),
    "fewer pointers": ({"max_inject": 1, "max_pointers": 1}, "a", "b"),
    "no pointers": ({"max_inject": 2, "max_pointers": 0}, "a b", ""),
    "everything": ({"max_inject": 10}, "a b c d e", ""),
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_broad_question_gets_the_best_and_pointers_to_the_rest(name: str) -> None:
    values, full, pointed = LIMITS[name]
    choice = decide(FIVE, None, None, 9500, **values)
    assert chosen_keys(choice) == (full, pointed)
    left = {candidate.key for candidate in FIVE} - {*full.split(), *pointed.split()}
    assert {key: choice.withheld[key] for key in left} == dict.fromkeys(left, "over_limit")


def test_approved_by_both_and_over_the_limit_is_a_pointer() -> None:
    choice = decide([hit("a", LOW), hit("b", LOW)], {"a": "both", "b": "both"}, max_inject=1)
    assert chosen_keys(choice) == ("a", "b")


def test_a_text_that_does_not_fit_becomes_a_pointer() -> None:
    hits = [hit("long", HIGH, size=8000), hit("short", HIGH)]
    assert chosen_keys(decide(hits, max_tokens=200)) == ("short", "long")


def test_a_text_that_fits_nowhere_is_withheld() -> None:
    choice = decide([hit("a", HIGH, size=8000)], max_tokens=100, room=150)
    assert chosen_keys(choice) == ("", "")
    assert (choice.withheld, choice.reason) == ({"a": "over_budget"}, "over_budget")


@pytest.mark.parametrize("confidence", [HIGH, MIDDLE])
def test_an_edited_file_is_never_injected(confidence: float) -> None:
    edited = hit("a", confidence)
    edited.digest = "another"
    choice = decide([edited, hit("b", confidence)])
    assert "a" not in "".join(chosen_keys(choice))
    assert choice.withheld == {"a": "edited"}


def test_notes_of_claudes_own_get_no_pointer() -> None:
    choice = decide([hit("a", HIGH, scope="native"), hit("b", MIDDLE, scope="native")])
    assert chosen_keys(choice) == ("a", "")
    assert choice.withheld == {"b": "note"}


def history_with(*, injected: str = "", pointed: str = "", header: bool = True) -> RecallHistory:
    """Return a history with some injected memories and pointers."""
    history = RecallHistory(NOWHERE, "")
    for key in injected.split():
        history.record_injected(key, hit(key, HIGH).injection_text)
    for key in pointed.split():
        history.record_pointer(key, pointer_line(hit(key, HIGH))[0])
    history.has_header = header
    return history


SESSIONS: dict[str, tuple[str, str, float, str, str, str]] = {
    "injected before, high": ("a", "", HIGH, "", "", "already_injected"),
    "injected before, middle": ("a", "", MIDDLE, "", "", "already_injected"),
    "injected before, low": ("a", "", LOW, "", "", "below_threshold"),
    "pointed before, high": ("", "a", HIGH, "a", "", ""),
    "pointed before, middle": ("", "a", MIDDLE, "", "", "already_pointed"),
}


@pytest.mark.parametrize("name", SESSIONS)
def test_nothing_is_repeated_but_a_pointer_may_become_a_text(name: str) -> None:
    injected, pointed, confidence, full, pointer, reason = SESSIONS[name]
    choice = decide([hit("a", confidence)], history=history_with(injected=injected, pointed=pointed))
    assert chosen_keys(choice) == (full, pointer)
    assert choice.reason == reason or (full or pointer)


@pytest.mark.parametrize(("turns", "pointer"), [(1, ""), (4, ""), (5, "a"), (60, "a")])
def test_a_pointer_comes_again_some_prompts_later(turns: int, pointer: str) -> None:
    history = history_with(pointed="a")
    history.turn += turns
    assert chosen_keys(decide([hit("a", MIDDLE)], history=history)) == ("", pointer)


def test_what_was_injected_before_takes_no_place() -> None:
    choice = decide(FIVE, history=history_with(injected="a b", pointed="c"))
    assert chosen_keys(choice) == ("c d e", "")


@pytest.mark.parametrize(
    ("confidences", "approvals", "reason"),
    [
        ([LOW, LOW], {}, "below_threshold"),
        ([HIGH, LOW], {"a": "none"}, "declined"),
        ([LOW, LOW], {"b": "none"}, "declined"),
    ],
)
def test_silence_names_its_reason(confidences: list[float], approvals: dict[str, str], reason: str) -> None:
    choice = decide([hit(name, candidate) for name, candidate in zip("ab", confidences)], approvals)
    assert (chosen_keys(choice), choice.reason) == (("", ""), reason)


HITS = st.lists(
    st.tuples(
        st.floats(0, 1), st.floats(0, 1), st.integers(0, 3000), st.sampled_from(["", "both", "one", "none"])
    ),
    max_size=12,
)


@given(
    rows=HITS,
    most=st.integers(0, 10),
    pointers=st.integers(0, 10),
    tokens=st.integers(100, 2500),
    room=st.integers(200, 9500),
)
def test_every_hit_has_one_result_and_the_limits_hold(
    rows: list[tuple[float, float, int, str]], most: int, pointers: int, tokens: int, room: int
) -> None:
    hits = [hit("k%d" % at, row[0], row[1], size=row[2]) for at, row in enumerate(rows)]
    approvals = {candidate.key: row[3] for candidate, row in zip(hits, rows) if row[3]}
    choice = decide(hits, approvals, room=room, max_inject=most, max_pointers=pointers, max_tokens=tokens)
    ends = [candidate.key for candidate in choice.full + choice.pointers] + list(choice.withheld)
    assert sorted(ends) == sorted(candidate.key for candidate in hits)
    assert len(choice.full) <= most
    assert len(choice.pointers) <= pointers
    text = render(choice.full, choice.lines.values(), with_header=True)
    assert len(text) <= room
    assert estimated_tokens(text) <= tokens + len(rows) + 1
    for candidate in choice.full:
        assert approvals.get(candidate.key, "both") == "both"
    for candidate in choice.pointers:
        assert approvals.get(candidate.key) != "none"
