"""Past scores: joined with the judge's lines, grouped, and what corrections did."""

from __future__ import annotations

from memory_plugin.kernel.ledger import Ledger
from memory_plugin.kernel.paths import Places
from memory_plugin.replies.effect import measure_effect
from memory_plugin.replies.history import by_day, grouped, missed_by_rules, patterns, read_scores
from tests.replies.ledgers import drifted, judged, said, scored


def test_a_judges_line_joins_its_score(places: Places) -> None:
    scored(places, "a")
    scored(places, "b")
    judged(places, "b")
    judged(places, "a", outcome="timeout")
    found, bad = read_scores(places)
    assert ([(one.id, one.judged is not None) for one in found], bad) == ([("a", False), ("b", True)], 0)


def test_what_is_no_score_is_counted_and_left_out(places: Places) -> None:
    scored(places, "a")
    scored(places, "b", padding_count="three")
    scored(places, "c", matches=None)
    Ledger(places.state(), "scores").append("s", "p", {"kind": "score"})
    with open(places.state("scores.jsonl"), "ab") as file:
        file.write(b'{"cut\n[]\n')
    found, bad = read_scores(places)
    assert ([one.id for one in found], bad) == (["a"], 5)


def test_the_same_reply_counts_once_and_old_ones_not(places: Places) -> None:
    scored(places, "a", time="2020-01-01T00:00:00Z")
    scored(places, "b")
    scored(places, "b", padding_count=1)
    found, _ = read_scores(places, "2021-01-01T00:00:00Z")
    assert [(one.id, one.padding) for one in found] == [("b", 1)]
    assert [one.id for one in read_scores(places, project="other")[0]] == []


def test_groups(places: Places) -> None:
    scored(places, "a", model="x", padding_count=1, matches=[[0, 3, "thanks"]], time="2026-01-02T00:00:00Z")
    scored(places, "b", model="x", drift=["density"], density=None, time="2026-01-01T00:00:00Z")
    scored(places, "c", "other", model="", escalate=True, time="2026-01-01T09:00:00Z")
    found, _ = read_scores(places)
    first, second = grouped(found, lambda one: one.model)
    assert (first.name, first.replies, first.padded.k, first.drifted.k, first.density) == ("x", 2, 1, 1, 0.6)
    assert (second.name, second.escalated.value) == ("unknown", 1.0)
    assert [(day.name, day.replies) for day in by_day(found)] == [("2026-01-01", 2), ("2026-01-02", 1)]
    assert patterns(found) == [("thanks", 1)]


def test_a_model_that_was_not_told_is_that_of_the_session(places: Places) -> None:
    for identity, model in (("a", ""), ("b", "x"), ("c", ""), ("d", "y"), ("e", "")):
        scored(places, identity, model=model)
    scored(places, "f", "other", model="")
    assert [one.model for one in read_scores(places)[0]] == ["x", "x", "y", "y", "y", ""]


def test_what_rules_miss_is_told_by_the_audited_alone(places: Places) -> None:
    grave = {"SyA": 0, "VDet": 2, "EpAd": 0, "EPad": 0}
    for number in range(4):
        scored(places, "audited%d" % number, audit=True)
        judged(
            places,
            "audited%d" % number,
            why="audit",
            levels=grave if number == 0 else {},
            missed=[[0, 4]] if number == 1 else [],
        )
    scored(places, "escalated", escalate=True)
    judged(places, "escalated", levels=grave)
    missed = missed_by_rules(read_scores(places)[0])
    assert (missed.k, missed.n) == (2, 4)


def test_the_effect_is_the_difference_to_the_uncorrected(places: Places) -> None:
    for number in range(20):
        arm = "corrected" if number < 12 else "control"
        session, identity = "s%d" % number, "d%d" % number
        drifted(places, identity, arm, session)
        if arm == "corrected":
            said(places, identity, session)
        scored(places, identity, session, padding_count=3, drift=["padding"])
        better = number < 9 or number in (12, 13)
        scored(places, "n%d" % number, session, padding_count=0 if better else 3)
    effect = measure_effect(places)
    assert (effect.corrected.k, effect.corrected.n, effect.control.k, effect.control.n) == (9, 12, 2, 8)
    assert effect.gap is not None
    assert round(effect.gap[0], 3) == 0.5
    assert effect.gap[1] < 0.5 < effect.gap[2]
    assert not effect.enough


def test_what_was_never_said_or_never_answered_does_not_count(places: Places) -> None:
    drifted(places, "unsaid", "corrected", "one")
    scored(places, "unsaid", "one", padding_count=3)
    scored(places, "after", "one")
    drifted(places, "last", "control", "two")
    scored(places, "last", "two", padding_count=3)
    drifted(places, "none", "none", "three")
    effect = measure_effect(places)
    assert (effect.corrected.n, effect.control.n, effect.unanswered, effect.gap) == (0, 0, 1, None)


def test_sessions_do_not_answer_each_other(places: Places) -> None:
    drifted(places, "a", "control", "one")
    scored(places, "a", "one", padding_count=3)
    scored(places, "b", "two")
    assert measure_effect(places).unanswered == 1
