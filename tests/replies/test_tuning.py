"""What the judge's opinions say about the rules, and when a look is due."""

from __future__ import annotations

import json

import pytest

from memory_plugin.kernel.clock import now
from memory_plugin.kernel.paths import Places
from memory_plugin.replies.history import read_scores
from memory_plugin.replies.reread import last_scored, reread
from memory_plugin.replies.rules import PACK, RulesError, load_rules
from memory_plugin.replies.tuning import Tuning, advice, proposed_pack, study
from memory_plugin.replies.tuning_notice import count_judged, due_tuning, tuning_done
from tests.replies.ledgers import judged, scored
from tests.replies.made import assistant, call, user, write

PHRASE = "It bears keeping in view that"


def look(places: Places) -> Tuning:
    """The study of all scores."""
    return study(read_scores(places)[0], load_rules(places.state_dir))


def opinions(places: Places, rule: str, *fillers: bool) -> None:
    """Verdicts on the phrases of one rule."""
    for number, filler in enumerate(fillers):
        scored(places, "%s%d" % (rule, number), padding_count=1, matches=[[0, 3, rule]], escalate=True)
        judged(places, "%s%d" % (rule, number), phrases=[[rule, filler]], agrees=filler)


def test_a_rule_that_is_always_cleared_is_proposed_for_exemption(places: Places) -> None:
    opinions(places, "thanks", *[False] * 5)
    opinions(places, "apology", *[False] * 4)
    opinions(places, "greeting", *[False] * 9, True)
    found = {one.rule: one for one in look(places).cleared}
    assert {rule: (one.cleared.k, one.cleared.n, one.exempt) for rule, one in found.items()} == {
        "thanks": (5, 5, True),
        "apology": (4, 4, False),
        "greeting": (9, 10, False),
    }
    before, after = proposed_pack(look(places), places.state_dir)
    assert (before, list(after["exempt"]), after["rules"]) == ({}, ["thanks"], [])


@pytest.mark.parametrize(
    ("agreeing", "of", "word"),
    [
        (19, 19, "needs 20"),
        (19, 20, "narrow"),
        (18, 20, "about right"),
        (10, 20, "about right"),
        (9, 20, "widen"),
    ],
)
def test_advice(places: Places, agreeing: int, of: int, word: str) -> None:
    for number in range(of):
        scored(places, str(number), escalate=True)
        judged(places, str(number), agrees=number < agreeing)
    assert word in advice(look(places))


def replies_with(places: Places, *texts: str, phrase: str = PHRASE) -> None:
    """Judged replies in one transcript, in each of which the judge quoted a phrase as missed."""
    path = write(
        places.state("t.jsonl"),
        *[row for n, text in enumerate(texts) for row in (user("q%d" % n), assistant(text, uuid="r%d" % n))],
    )
    for number, text in enumerate(texts):
        at = text.find(phrase)
        scored(places, "i%d" % number, transcript=path, record="r%d" % number, escalate=True)
        judged(places, "i%d" % number, missed=[[at, at + len(phrase)]])


def test_a_phrase_that_the_judge_keeps_quoting_is_promoted(places: Places) -> None:
    replies_with(places, *["The port is %d. %s it moves." % (n, PHRASE) for n in range(3)])
    (candidate,) = look(places).candidates
    assert candidate == ("it bears keeping in view that", 3, "judge", True)
    _, after = proposed_pack(look(places), places.state_dir)
    (rule,) = after["rules"]
    assert (rule["id"], rule["patterns"]) == ("own-it-bears-keeping-in-view-that", [candidate.phrase])
    with open(places.state(PACK), "w", encoding="utf-8") as file:
        json.dump(after, file)
    assert proposed_pack(look(places), places.state_dir) == (after, after)
    assert look(places).candidates == []


def test_what_the_rules_have_learned_since_is_proposed_no_more(places: Places) -> None:
    known = "let me know how it all goes"
    replies_with(places, *["The port is %d. Then %s." % (n, known) for n in range(3)], phrase=known)
    assert look(places).candidates == []


def test_twice_is_not_enough(places: Places) -> None:
    replies_with(places, *["The port is %d. %s it moves." % (n, PHRASE) for n in range(2)])
    assert [one.promote for one in look(places).candidates] == [False]


def test_a_damaged_pack_is_never_overwritten(places: Places) -> None:
    opinions(places, "thanks", *[False] * 5)
    with open(places.state(PACK), "w", encoding="utf-8") as file:
        file.write("{")
    with pytest.raises(RulesError):
        proposed_pack(look(places), places.state_dir)


def test_replies_are_read_again_by_record_or_by_what_they_say(places: Places) -> None:
    from memory_plugin.replies.pipeline import score_id

    path = write(
        places.state("t.jsonl"),
        user("first"),
        assistant("one", uuid="r1"),
        user("second"),
        call("Bash", {}),
        assistant("two"),
    )
    scored(places, "x", transcript=path, record="r1")
    scored(places, score_id("s", "p", "two"), transcript=path, record="", prompt_id="p")
    scored(places, "gone", transcript=path + "x.jsonl", record="r1")
    scored(places, "odd", transcript="relative.jsonl", record="r1")
    found = list(reread(one.row for one in read_scores(places)[0]))
    assert [(again.prompt, again.text, again.calls) for again in found] == [
        ("first", "one", []),
        ("second", "two", ["Bash"]),
    ]
    last = last_scored(places)
    assert last is not None
    assert last.text == "two"


def test_a_look_is_due_after_a_week_with_enough_judged_and_said_once(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert due_tuning(places) == ""
    for _ in range(20):
        count_judged(places)
    assert due_tuning(places) == ""
    week = now() + 8 * 86400
    monkeypatch.setattr("memory_plugin.replies.tuning_notice.now", lambda: week)
    assert "20 replies were judged" in due_tuning(places)
    assert due_tuning(places) == ""
    tuning_done(places)
    assert due_tuning(places) == ""


def test_too_few_judged_are_not_worth_a_line(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(19):
        count_judged(places)
    week = now() + 8 * 86400
    monkeypatch.setattr("memory_plugin.replies.tuning_notice.now", lambda: week)
    assert due_tuning(places) == ""
