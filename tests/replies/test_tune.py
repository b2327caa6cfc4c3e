"""Findings from judged replies, and the proposed changes to the user's pack."""

from __future__ import annotations

import json

import pytest

from memory_plugin.kernel.paths import Paths
from memory_plugin.kernel.stats import share
from memory_plugin.replies.rows import read_scores, score_id
from memory_plugin.replies.signals import USER_PACK, RulePackError, load_filler_rules
from memory_plugin.replies.tune import (
    TuningStudy,
    gate_advice,
    propose_pack,
    study_scores,
)
from tests.replies.builders import (
    append_judged,
    append_score,
    assistant_record,
    user_record,
    write_transcript,
)

PHRASE = "It bears keeping in view that"


def study(paths: Paths) -> TuningStudy:
    """Return the study of all scores."""
    return study_scores(read_scores(paths), load_filler_rules(paths.state_dir))


def advice(paths: Paths) -> str:
    """Return the advice on the gate."""
    return gate_advice(study(paths))


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
    ("gate", "agrees", "change"),
    [
        ("padding_range", True, "less often, with a narrower scoring.escalation.padding_range"),
        ("padding_range", False, "more often, with a wider scoring.escalation.padding_range"),
        ("borderline_density", True, "less often, with a smaller scoring.escalation.density_margin"),
        ("mixed_signal", False, "more often, with a smaller scoring.escalation.thresholds.preamble"),
    ],
)
def test_advice_names_the_setting_that_made_most_replies_escalate(
    paths: Paths, gate: str, agrees: bool, change: str
) -> None:
    for number in range(21):
        row = "padding_range" if number == 0 else gate
        append_score(paths, str(number), padding_count=1, escalate=True, gate=row)
        append_judged(paths, str(number), phrases=[["thanks", agrees]], agrees=agrees)
    assert advice(paths).endswith(change)


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
        *[row for n, text in enumerate(texts) for row in (user_record("q%d" % n), assistant_record(text))],
    )
    for number, text in enumerate(texts):
        at, identity = text.find(phrase), score_id("s", "p%d" % number, text)
        append_score(paths, identity, transcript=path, prompt_id="p%d" % number, escalate=True)
        append_judged(paths, identity, missed=[[at, at + len(phrase)]])


def test_a_phrase_quoted_in_three_replies_is_promoted(paths: Paths) -> None:
    append_quoted(paths, *["The port is %d. %s it moves." % (n, PHRASE) for n in range(3)])
    (candidate,) = study(paths).candidates
    assert candidate == ("it bears keeping in view that", 3, True)
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
