"""Past scores: joined with the judge's records, grouped, read again; and the effect of corrections."""

from __future__ import annotations

import pytest

from memory_plugin.kernel.context import Ledger
from memory_plugin.kernel.paths import Paths
from memory_plugin.replies.rows import (
    count_patterns,
    group_by_day,
    group_scores,
    measure_effect,
    missed_by_rules,
    read_scores,
    reread_replies,
    score_id,
)
from tests.replies.builders import (
    append_delivery,
    append_drift,
    append_judged,
    append_score,
    assistant_record,
    user_record,
    write_transcript,
)


def test_a_judges_record_is_joined_with_its_score(paths: Paths) -> None:
    append_score(paths, "a")
    append_score(paths, "b")
    append_judged(paths, "b")
    append_judged(paths, "a", outcome="timeout")
    assert [(score.id, score.judged is not None) for score in read_scores(paths)] == [
        ("a", False),
        ("b", True),
    ]


def test_unusable_lines_are_left_out(paths: Paths) -> None:
    append_score(paths, "a")
    append_score(paths, "b", padding_count="three")
    append_score(paths, "c", matches=None)
    Ledger(paths.state(), "scores").append("s", "p", {"kind": "score"})
    with open(paths.state("scores.jsonl"), "ab") as file:
        file.write(b'{"cut\n[]\n')
    assert [score.id for score in read_scores(paths)] == ["a"]


def test_a_reply_counts_once_and_old_ones_do_not(paths: Paths) -> None:
    append_score(paths, "a", time="2020-01-01T00:00:00Z")
    append_score(paths, "b")
    append_score(paths, "b", padding_count=1)
    scores = read_scores(paths, "2021-01-01T00:00:00Z")
    assert [(score.id, score.padding_count) for score in scores] == [("b", 1)]
    assert [score.id for score in read_scores(paths, project="other")] == []


def test_groups(paths: Paths) -> None:
    append_score(
        paths, "a", model="x", padding_count=1, matches=[[0, 3, "thanks"]], time="2026-01-02T00:00:00Z"
    )
    append_score(paths, "b", model="x", drift=["density"], density=None, time="2026-01-01T00:00:00Z")
    append_score(paths, "c", "other", model="", escalate=True, time="2026-01-01T09:00:00Z")
    scores = read_scores(paths)
    first, second = group_scores(scores, lambda score: score.model)
    assert (first.name, first.replies, first.padded.k, first.drifted.k, first.density) == ("x", 2, 1, 1, 0.6)
    assert (second.name, second.escalated.value) == ("unknown", 1.0)
    assert [(day.name, day.replies) for day in group_by_day(scores)] == [("2026-01-01", 2), ("2026-01-02", 1)]
    assert count_patterns(scores) == [("thanks", 1)]


def test_only_audited_replies_tell_what_rules_miss(paths: Paths) -> None:
    grave = {"SyA": 0, "VDet": 2, "EpAd": 0, "EPad": 0}
    for number in range(4):
        append_score(paths, "audited%d" % number, audit=True)
        append_judged(
            paths,
            "audited%d" % number,
            levels=grave if number == 0 else {},
            missed=[[0, 4]] if number == 1 else [],
        )
    append_score(paths, "escalated", escalate=True)
    append_judged(paths, "escalated", levels=grave)
    missed = missed_by_rules(read_scores(paths))
    assert (missed.k, missed.n) == (2, 4)


def test_the_effect_is_the_difference_to_the_control_group(paths: Paths) -> None:
    for number in range(20):
        arm = "corrected" if number < 12 else "control"
        session, identity = "s%d" % number, "d%d" % number
        append_drift(paths, identity, arm, session)
        if arm == "corrected":
            append_delivery(paths, identity, session)
        append_score(paths, identity, session, padding_count=3, drift=["padding"])
        better = number < 9 or number in (12, 13)
        append_score(
            paths, "n%d" % number, session, **({} if better else {"padding_count": 3, "drift": ["padding"]})
        )
    effect = measure_effect(paths)
    assert (effect.corrected.k, effect.corrected.n, effect.control.k, effect.control.n) == (9, 12, 2, 8)
    assert effect.gap is not None
    assert round(effect.gap[0], 3) == 0.5
    assert effect.gap[1] < 0.5 < effect.gap[2]
    assert not effect.is_conclusive


def test_drifts_without_correction_or_next_reply_do_not_count(paths: Paths) -> None:
    append_drift(paths, "unsaid", "corrected", "one")
    append_score(paths, "unsaid", "one", padding_count=3)
    append_score(paths, "after", "one")
    append_drift(paths, "last", "control", "two")
    append_score(paths, "last", "two", padding_count=3)
    append_drift(paths, "none", "none", "three")
    effect = measure_effect(paths)
    assert (effect.corrected.n, effect.control.n, effect.gap) == (0, 0, None)


@pytest.mark.parametrize(("severity", "in_line"), [("", 1), ("trace", 0)])
def test_after_a_drift_of_the_session_a_reply_without_any_trace_is_in_line(
    paths: Paths, severity: str, in_line: int
) -> None:
    append_drift(paths, "a", "control", categories=["session"])
    append_score(paths, "a", drift=["session"])
    append_score(paths, "b", severity=severity)
    assert (measure_effect(paths).control.k, measure_effect(paths).control.n) == (in_line, 1)


def test_the_next_reply_is_of_the_same_session(paths: Paths) -> None:
    append_drift(paths, "a", "control", "one")
    append_score(paths, "a", "one", padding_count=3)
    append_score(paths, "b", "two")
    assert measure_effect(paths).control.n == 0


def test_replies_are_read_again_by_their_digest(paths: Paths) -> None:
    path = write_transcript(
        paths.state("t.jsonl"),
        user_record("first"),
        assistant_record("one"),
        user_record("second"),
        assistant_record("two"),
    )
    one, two = (score_id("s", "p", text) for text in ("one", "two"))
    append_score(paths, two, transcript=path, prompt_id="p")
    append_score(paths, one, transcript=path, prompt_id="other")
    append_score(paths, "gone", transcript=path + "x.jsonl")
    append_score(paths, "odd", transcript="relative.jsonl")
    assert list(reread_replies(read_scores(paths))) == [(two, "two")]
