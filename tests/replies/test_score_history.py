"""Past scores: joined with the judge's records, grouped, and the effect of corrections."""

from __future__ import annotations

from memory_plugin.kernel.ledger import Ledger
from memory_plugin.kernel.paths import Places
from memory_plugin.replies.correction_effect import measure_effect
from memory_plugin.replies.score_history import (
    count_patterns,
    group_by_day,
    group_scores,
    missed_by_rules,
    read_scores,
)
from tests.replies.builders import append_drift, append_judged, append_said, append_score


def test_a_judges_record_joins_its_score(places: Places) -> None:
    append_score(places, "a")
    append_score(places, "b")
    append_judged(places, "b")
    append_judged(places, "a", outcome="timeout")
    found, bad = read_scores(places)
    assert ([(one.id, one.judged is not None) for one in found], bad) == ([("a", False), ("b", True)], 0)


def test_unusable_lines_are_counted_and_left_out(places: Places) -> None:
    append_score(places, "a")
    append_score(places, "b", padding_count="three")
    append_score(places, "c", matches=None)
    Ledger(places.state(), "scores").append("s", "p", {"kind": "score"})
    with open(places.state("scores.jsonl"), "ab") as file:
        file.write(b'{"cut\n[]\n')
    found, bad = read_scores(places)
    assert ([one.id for one in found], bad) == (["a"], 5)


def test_a_reply_counts_once_and_old_ones_do_not(places: Places) -> None:
    append_score(places, "a", time="2020-01-01T00:00:00Z")
    append_score(places, "b")
    append_score(places, "b", padding_count=1)
    found, _ = read_scores(places, "2021-01-01T00:00:00Z")
    assert [(one.id, one.padding) for one in found] == [("b", 1)]
    assert [one.id for one in read_scores(places, project="other")[0]] == []


def test_groups(places: Places) -> None:
    append_score(
        places, "a", model="x", padding_count=1, matches=[[0, 3, "thanks"]], time="2026-01-02T00:00:00Z"
    )
    append_score(places, "b", model="x", drift=["density"], density=None, time="2026-01-01T00:00:00Z")
    append_score(places, "c", "other", model="", escalate=True, time="2026-01-01T09:00:00Z")
    found, _ = read_scores(places)
    first, second = group_scores(found, lambda one: one.model)
    assert (first.name, first.replies, first.padded.k, first.drifted.k, first.density) == ("x", 2, 1, 1, 0.6)
    assert (second.name, second.escalated.value) == ("unknown", 1.0)
    assert [(day.name, day.replies) for day in group_by_day(found)] == [("2026-01-01", 2), ("2026-01-02", 1)]
    assert count_patterns(found) == [("thanks", 1)]


def test_a_missing_model_is_taken_from_the_session(places: Places) -> None:
    for identity, model in (("a", ""), ("b", "x"), ("c", ""), ("d", "y"), ("e", "")):
        append_score(places, identity, model=model)
    append_score(places, "f", "other", model="")
    assert [one.model for one in read_scores(places)[0]] == ["x", "x", "y", "y", "y", ""]


def test_only_audited_replies_tell_what_rules_miss(places: Places) -> None:
    grave = {"SyA": 0, "VDet": 2, "EpAd": 0, "EPad": 0}
    for number in range(4):
        append_score(places, "audited%d" % number, audit=True)
        append_judged(
            places,
            "audited%d" % number,
            why="audit",
            levels=grave if number == 0 else {},
            missed=[[0, 4]] if number == 1 else [],
        )
    append_score(places, "escalated", escalate=True)
    append_judged(places, "escalated", levels=grave)
    missed = missed_by_rules(read_scores(places)[0])
    assert (missed.k, missed.n) == (2, 4)


def test_the_effect_is_the_difference_to_the_control_group(places: Places) -> None:
    for number in range(20):
        arm = "corrected" if number < 12 else "control"
        session, identity = "s%d" % number, "d%d" % number
        append_drift(places, identity, arm, session)
        if arm == "corrected":
            append_said(places, identity, session)
        append_score(places, identity, session, padding_count=3, drift=["padding"])
        better = number < 9 or number in (12, 13)
        append_score(places, "n%d" % number, session, padding_count=0 if better else 3)
    effect = measure_effect(places)
    assert (effect.corrected.k, effect.corrected.n, effect.control.k, effect.control.n) == (9, 12, 2, 8)
    assert effect.gap is not None
    assert round(effect.gap[0], 3) == 0.5
    assert effect.gap[1] < 0.5 < effect.gap[2]
    assert not effect.enough


def test_drifts_without_correction_or_next_reply_do_not_count(places: Places) -> None:
    append_drift(places, "unsaid", "corrected", "one")
    append_score(places, "unsaid", "one", padding_count=3)
    append_score(places, "after", "one")
    append_drift(places, "last", "control", "two")
    append_score(places, "last", "two", padding_count=3)
    append_drift(places, "none", "none", "three")
    effect = measure_effect(places)
    assert (effect.corrected.n, effect.control.n, effect.unanswered, effect.gap) == (0, 0, 1, None)


def test_the_next_reply_is_of_the_same_session(places: Places) -> None:
    append_drift(places, "a", "control", "one")
    append_score(places, "a", "one", padding_count=3)
    append_score(places, "b", "two")
    assert measure_effect(places).unanswered == 1
