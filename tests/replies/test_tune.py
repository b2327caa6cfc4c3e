"""Findings from judged replies, the proposed changes to the user's pack, and thresholds that fit past replies."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from memory_plugin.kernel.paths import Paths
from memory_plugin.kernel.stats import share
from memory_plugin.replies.gate import QUERY_TYPES, GateBounds
from memory_plugin.replies.rows import read_scores
from memory_plugin.replies.signals import USER_PACK, RulePackError, load_filler_rules
from memory_plugin.replies.tune import (
    MeasuredReply,
    TuningStudy,
    escalated_share,
    fit_thresholds,
    gate_advice,
    is_outside,
    measured_replies,
    propose_pack,
    study_scores,
)
from tests.replies.builders import (
    append_judged,
    append_score,
    assistant_record,
    settings,
    user_record,
    write_transcript,
)

PHRASE = "It bears keeping in view that"


def study(paths: Paths) -> TuningStudy:
    """Return the study of all scores."""
    return study_scores(read_scores(paths)[0], load_filler_rules(paths.state_dir))


def advice(paths: Paths) -> str:
    """Return the advice on the gate under the shipped settings."""
    replies = measured_replies(read_scores(paths)[0])
    return gate_advice(study(paths), replies, GateBounds.of(settings()))


def append_verdicts(paths: Paths, rule: str, *fillers: bool) -> None:
    """Append verdicts on the phrases of one rule."""
    for number, filler in enumerate(fillers):
        append_score(paths, "%s%d" % (rule, number), padding_count=1, matches=[[0, 3, rule]], escalate=True)
        append_judged(paths, "%s%d" % (rule, number), phrases=[[rule, filler]], agrees=filler)


def test_a_rule_that_is_always_cleared_is_proposed_for_exemption(paths: Paths) -> None:
    append_verdicts(paths, "thanks", *[False] * 5)
    append_verdicts(paths, "apology", *[False] * 4)
    append_verdicts(paths, "greeting", *[False] * 9, True)
    clearances = {clearance.rule: clearance for clearance in study(paths).cleared}
    assert {rule: (item.cleared.k, item.cleared.n, item.exempt) for rule, item in clearances.items()} == {
        "thanks": (5, 5, True),
        "apology": (4, 4, False),
        "greeting": (9, 10, False),
    }
    before, after = propose_pack(study(paths), paths.state_dir)
    assert (before, list(after["exempt"]), after["rules"]) == ({}, ["thanks"], [])


@pytest.mark.parametrize(
    ("agreeing", "of", "word"),
    [
        (19, 19, "needs 20"),
        (19, 20, "less often"),
        (18, 20, "as often as it should be"),
        (10, 20, "as often as it should be"),
        (9, 20, "more often"),
    ],
)
def test_advice(paths: Paths, agreeing: int, of: int, word: str) -> None:
    for number in range(of):
        append_score(paths, str(number), escalate=True)
        append_judged(paths, str(number), agrees=number < agreeing)
    assert word in advice(paths)


def test_a_reply_whose_phrases_got_no_verdict_does_not_count(paths: Paths) -> None:
    for number in range(21):
        append_score(paths, str(number), padding_count=1, matches=[[0, 3, "thanks"]], escalate=True)
        append_judged(paths, str(number), agrees=False)
    found = study(paths)
    assert found.agreement.n == 0
    assert "needs 20" in advice(paths)


@pytest.mark.parametrize(
    ("gate", "agrees", "measures", "others", "command"),
    [
        ("padding_range", True, {"padding_count": 1}, {}, "padding_range [2,2]"),
        ("padding_range", True, {"padding_count": 2}, {}, "padding_range [1,1]"),
        ("padding_range", False, {"padding_count": 1}, {"padding_count": 3}, "padding_range [1,3]"),
        ("borderline_density", True, {"density": 0.415}, {}, "density_margin 0.02"),
        ("borderline_density", False, {"density": 0.43}, {"density": 0.395}, "density_margin 0.05"),
        ("mixed_signal", True, {"preamble_words": 28}, {}, "thresholds.preamble 30"),
        ("mixed_signal", False, {"preamble_words": 22}, {"preamble_words": 16}, "thresholds.preamble 15"),
        pytest.param("padding_range", False, {"padding_count": 1}, {}, "", id="no value changes anything"),
    ],
)
def test_advice_names_a_value_that_changes_how_many_escalate(
    paths: Paths,
    gate: str,
    agrees: bool,
    measures: dict[str, Any],
    others: dict[str, Any],
    command: str,
) -> None:
    for number in range(21):
        append_score(paths, str(number), **{"density": 0.6, **measures}, escalate=True, gate=gate)
        append_judged(paths, str(number), phrases=[["thanks", agrees]], agrees=agrees)
        append_score(paths, "other %d" % number, **{"density": 0.6, **others})
    assert ("memory config set scoring.escalation." + command in advice(paths)) is bool(command)


def test_a_dimension_that_rules_cannot_see_counts_as_a_difference(paths: Paths) -> None:
    for number in range(21):
        append_score(paths, str(number), padding_count=1, escalate=True, gate="padding_range")
        append_judged(
            paths, str(number), phrases=[["thanks", True]], levels={"SyA": 3, "EpAd": 3}, agrees=False
        )
    assert study(paths).agreement == share(0, 21)


def append_quoted(paths: Paths, *texts: str, phrase: str = PHRASE) -> None:
    """Append judged replies of one transcript, in each of which the judge quoted a phrase as missed."""
    path = write_transcript(
        paths.state("t.jsonl"),
        *[
            row
            for n, text in enumerate(texts)
            for row in (user_record("q%d" % n), assistant_record(text, uuid="r%d" % n))
        ],
    )
    for number, text in enumerate(texts):
        at = text.find(phrase)
        append_score(paths, "i%d" % number, transcript=path, record="r%d" % number, escalate=True)
        append_judged(paths, "i%d" % number, missed=[[at, at + len(phrase)]])


def test_a_phrase_quoted_in_three_replies_is_promoted(paths: Paths) -> None:
    append_quoted(paths, *["The port is %d. %s it moves." % (n, PHRASE) for n in range(3)])
    (candidate,) = study(paths).candidates
    assert candidate == ("it bears keeping in view that", 3, True, "sentence")
    _, after = propose_pack(study(paths), paths.state_dir)
    (rule,) = after["rules"]
    assert (rule["id"], rule["patterns"]) == ("own-it-bears-keeping-in-view-that", [candidate.phrase])
    with open(paths.state(USER_PACK), "w", encoding="utf-8") as file:
        json.dump(after, file)
    assert propose_pack(study(paths), paths.state_dir) == (after, after)
    assert study(paths).candidates == []


def test_a_phrase_that_a_rule_covers_is_not_proposed(paths: Paths) -> None:
    phrase = "let me know how it all goes"
    append_quoted(paths, *["The port is %d. Then %s." % (n, phrase) for n in range(3)], phrase=phrase)
    assert study(paths).candidates == []


def test_a_phrase_quoted_twice_is_not_promoted(paths: Paths) -> None:
    append_quoted(paths, *["The port is %d. %s it moves." % (n, PHRASE) for n in range(2)])
    assert [candidate.promote for candidate in study(paths).candidates] == [False]


def test_a_damaged_pack_is_never_overwritten(paths: Paths) -> None:
    append_verdicts(paths, "thanks", *[False] * 5)
    with open(paths.state(USER_PACK), "w", encoding="utf-8") as file:
        file.write("{")
    with pytest.raises(RulePackError):
        propose_pack(study(paths), paths.state_dir)


BOUNDS = GateBounds.of(settings())


def replies(
    count: int, mean: int, padded: float = 0.05, preamble: float = 0.05, seed: int = 1
) -> list[MeasuredReply]:
    """Return random replies: densities around `mean` thousandths, a share with one phrase, a share with a long preamble."""
    draw = random.Random(seed)
    return [
        MeasuredReply(
            draw.choice(("code", "directive", "factual", "meta")),
            int(draw.random() < padded),
            40 if draw.random() < preamble else 0,
            max(0, min(1000, round(draw.gauss(mean, 60)))),
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize(
    ("mean", "padded"),
    [
        pytest.param(450, 0.05, id="a terse user: too many near the thresholds", marks=pytest.mark.slow),
        pytest.param(700, 0.05, id="far above all thresholds: too few", marks=pytest.mark.slow),
        pytest.param(500, 0.18, id="many phrases"),
    ],
)
def test_a_fit_holds_on_the_other_half(mean: int, padded: float) -> None:
    tune, check = replies(500, mean, padded, seed=1), replies(500, mean, padded, seed=2)
    fit = fit_thresholds(tune, BOUNDS)
    after = escalated_share(check, fit.bounds)
    assert after.value is not None
    assert 0.2 <= after.value <= 0.3


def test_thresholds_in_range_stay() -> None:
    fitting = replies(1000, 500)
    fit = fit_thresholds(fitting, BOUNDS)
    again = fit_thresholds(fitting, fit.bounds)
    assert again.bounds is fit.bounds
    assert again.before == again.after == fit.after


def test_the_nearest_share_is_proposed_if_the_range_cannot_be_reached() -> None:
    fit = fit_thresholds(replies(400, 600, padded=0.6), BOUNDS)
    assert fit.after.value is not None
    assert fit.after.value > 0.3


def test_kinds_with_few_replies_move_along() -> None:
    tune = [reply._replace(kind="code") for reply in replies(400, 700)]
    fit = fit_thresholds(tune, BOUNDS)
    moved = {kind: fit.bounds.thresholds[kind] - BOUNDS.threshold(kind) for kind in QUERY_TYPES}
    assert set(moved.values()) == {moved["code"]}
    assert moved["code"] > 100


def test_no_replies_change_nothing() -> None:
    fit = fit_thresholds([], BOUNDS)
    assert (fit.bounds.thresholds, fit.before.value) == (BOUNDS.thresholds, None)


def test_a_share_is_outside_only_with_enough_replies() -> None:
    cases = [(50, 200, False), (70, 200, True), (30, 200, True), (70, 199, False), (60, 200, False)]
    assert [(k, n, outside) for k, n, outside in cases if is_outside(share(k, n)) is not outside] == []
