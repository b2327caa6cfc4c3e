"""The two judges in recall: what comes of their answers, in each case of the cascade."""

from __future__ import annotations

import json

import pytest

from memory_plugin.recall.ranking import Hit
from tests.recall.judge_trial import (
    BROKEN,
    HITS,
    SURES,
    UNSURES,
    MakeTrial,
    Wanted,
    asked,
    hit,
    judges,
)


@pytest.mark.parametrize(
    ("relevance", "usefulness", "full", "pointed", "search"),
    [
        pytest.param(["u1"], ["u1"], ["u1"], [], ["u1"], id="yes yes"),
        pytest.param(["u1"], [], [], ["u1"], ["u1"], id="yes no"),
        pytest.param([], ["u1"], [], ["u1"], ["u1"], id="no yes"),
        pytest.param([], [], [], [], [], id="no no"),
        pytest.param(["u1"], BROKEN, ["u1"], [], ["u1"], id="yes, the other fails"),
        pytest.param(BROKEN, [], [], [], [], id="no, the other fails"),
        pytest.param(BROKEN, BROKEN, [], ["u1", "u2"], ["u1", "u2"], id="both fail: the thresholds"),
    ],
)
def test_the_table_of_opinions(
    trial: MakeTrial,
    relevance: Wanted,
    usefulness: Wanted,
    full: list[str],
    pointed: list[str],
    search: list[str],
) -> None:
    tried = trial(judges(relevance=relevance, usefulness=usefulness))
    assert tried.said(UNSURES) == (full, pointed)
    assert tried.shown(UNSURES) == search


def test_lenient_takes_one_opinion_for_both(trial: MakeTrial) -> None:
    tried = trial(judges(relevance=["u1"], usefulness=["u2"]))
    tried.bench.retrieval["modes"] = {"auto": {"verification": "lenient"}}
    assert tried.said(UNSURES) == (["u1", "u2"], [])


@pytest.mark.parametrize(
    ("relevance", "usefulness", "said", "path", "reasons"),
    [
        pytest.param(["u1", "u2"], ["u2"], (["s1", "s2", "u2"], ["u1"]), "judged", [], id="both"),
        pytest.param(
            ["u1"], BROKEN, (["s1", "s2", "u1"], []), "partial", ["usefulness: http_500"], id="one fails"
        ),
        pytest.param(
            BROKEN, ["u2"], (["s1", "s2", "u2"], []), "partial", ["relevance: http_500"], id="other fails"
        ),
        pytest.param(
            BROKEN,
            BROKEN,
            (["s1", "s2"], ["u1", "u2"]),
            "fallback",
            ["relevance: http_500", "usefulness: http_500"],
            id="both fail",
        ),
    ],
)
def test_on_a_prompt_the_unsure_are_judged_and_the_sure_are_not(
    trial: MakeTrial,
    relevance: Wanted,
    usefulness: Wanted,
    said: tuple[list[str], list[str]],
    path: str,
    reasons: list[str],
) -> None:
    tried = trial(judges(relevance=relevance, usefulness=usefulness))
    hits = [*HITS[:2], *HITS[3:]]
    judged = tried.run(hits)
    assert (tried.said(hits, judged), judged.path, judged.reasons) == (said, path, reasons)
    for seen in tried.api.seen:
        assert sorted(note["title"] for note in asked(seen).data["notes"]) == ["Title of u1", "Title of u2"]


def test_always_asks_about_the_pool_whatever_the_confidence(trial: MakeTrial) -> None:
    tried = trial(judges(relevance=["s1", "s3", "w1"], usefulness=["s3", "w1"]))
    tried.bench.retrieval["when"] = "always"
    assert tried.said(HITS) == (["s3", "w1"], ["s1"])
    assert {len(asked(seen).data["notes"]) for seen in tried.api.seen} == {6}


def test_the_sources_own_block_asks_about_everything(trial: MakeTrial) -> None:
    """The source's false positive: a page's style stored, a bug on that page asked about, and the best match sure of itself."""
    tried = trial(judges(relevance=[], usefulness=[]))
    tried.bench.use_top_level()
    sure = hit("css", 0.6, "Login page CSS uses tailwind")
    assert tried.said([sure]) == ([], [])
    assert tried.run([sure]).asked == 1


@pytest.mark.parametrize(("least", "asked_about"), [(0.0, 3), (0.2, 2), (0.45, 0)])
def test_the_unsure_begin_at_the_users_least_confidence(
    trial: MakeTrial, least: float, asked_about: int
) -> None:
    tried = trial(judges(relevance=["w1"], usefulness=["w1"]))
    tried.bench.retrieval["min_confidence"] = least
    assert tried.run(HITS[3:]).asked == asked_about


def test_a_project_that_raises_its_threshold_sends_out_no_more(trial: MakeTrial) -> None:
    tried = trial(judges(relevance=["s3"], usefulness=["s3"]))
    tried.bench.project_says({"retrieval": {"inject_threshold": 0.75}})
    judged = tried.run([*SURES, *UNSURES])
    assert judged.asked == 2
    assert tried.said([*SURES, *UNSURES], judged) == (["s1", "s2"], ["s3"])


def test_nothing_unsure_asks_nobody(trial: MakeTrial) -> None:
    tried = trial(BROKEN)
    hits = [*SURES, HITS[5]]
    judged = tried.run(hits)
    assert (tried.said(hits, judged), judged.path) == ((["s1", "s2", "s3"], []), "rules")
    assert tried.api.connections == 0


@pytest.mark.parametrize(
    ("sure", "asked_about"), [(SURES, 0), (SURES[:2], 2)], ids=["every place", "all places but one"]
)
def test_an_unsure_one_is_asked_about_only_where_a_place_is_left(
    trial: MakeTrial, sure: list[Hit], asked_about: int
) -> None:
    tried = trial(judges(relevance=["u1"], usefulness=["u1"]))
    hits = [*sure, *UNSURES]
    judged = tried.run(hits)
    assert (judged.asked, judged.path) == (asked_about, "judged" if asked_about else "rules")
    assert tried.said(hits, judged)[0] == ["s1", "s2", "u1" if asked_about else "s3"]
    assert (tried.api.connections > 0) == (asked_about > 0)


def test_the_places_are_those_of_the_smaller_limit(trial: MakeTrial) -> None:
    tried = trial(BROKEN)
    tried.bench.retrieval["modes"] = {"auto": {"max_output": 1}}
    hits = [SURES[0], *UNSURES]
    judged = tried.run(hits)
    assert (tried.said(hits, judged), judged.path) == ((["s1"], ["u1", "u2"]), "rules")
    assert tried.api.connections == 0


@pytest.mark.parametrize(
    ("top", "said"),
    [
        (2, (["s1", "s2"], ["s3", "u1", "u2"])),
        (0, ([], [])),
        (10, (["s1", "s2", "s3"], ["u1", "u2"])),
    ],
)
def test_without_a_key_and_without_an_answer_the_thresholds_decide_about_the_best_few(
    trial: MakeTrial, top: int, said: tuple[list[str], list[str]]
) -> None:
    tried = trial(BROKEN)
    tried.bench.retrieval.update(fallback_top_k=top, when="always")
    assert tried.said(HITS) == said
    tried.bench.env = {}
    judged = tried.run(HITS)
    assert (tried.said(HITS, judged), judged.path, judged.reasons) == (said, "no_key", ["no_key"])


def test_a_judge_that_is_off_leaves_the_thresholds(trial: MakeTrial) -> None:
    tried = trial(BROKEN)
    tried.bench.retrieval["enabled"] = False
    judged = tried.run(HITS)
    assert (tried.said(HITS, judged), judged.path) == ((["s1", "s2", "s3"], ["u1", "u2"]), "disabled")


def test_a_project_that_reaches_for_keys_gets_no_judge(trial: MakeTrial) -> None:
    tried = trial(BROKEN)
    judged = tried.run(HITS, taint=True)
    assert (tried.said(HITS, judged), judged.path) == ((["s1", "s2", "s3"], ["u1", "u2"]), "disabled")
    assert "doctor" in judged.reasons[0]
    assert tried.api.connections == 0


def test_a_search_without_an_answer_shows_all(trial: MakeTrial) -> None:
    tried = trial(BROKEN)
    many = [hit("m%02d" % at, 0.9 - at / 100) for at in range(30)]
    assert tried.shown(many) == ["m%02d" % at for at in range(10)]


def test_a_search_asks_about_twenty_and_shows_ten(trial: MakeTrial) -> None:
    many = [hit("m%02d" % at, 0.2 - at / 1000) for at in range(30)]
    names = ["m%02d" % at for at in range(30)]
    tried = trial(judges(relevance=names, usefulness=[]))
    assert tried.shown(many) == names[:10]
    assert {len(asked(seen).data["notes"]) for seen in tried.api.seen} == {20}


def test_the_pool_and_the_outputs_are_bounded(trial: MakeTrial) -> None:
    many = [hit("m%02d" % at, 0.49 - at / 1000) for at in range(30)]
    names = ["m%02d" % at for at in range(30)]
    tried = trial(judges(relevance=names, usefulness=names))
    assert tried.said(many) == (names[:3], names[3:6])
    assert {len(asked(seen).data["notes"]) for seen in tried.api.seen} == {15}


def test_one_question_in_place_of_two(trial: MakeTrial) -> None:
    tried = trial(judges(combined=["u2"]))
    tried.bench.retrieval["dual_verification"] = False
    judged = tried.run(UNSURES)
    assert (tried.said(UNSURES, judged), judged.path) == ((["u2"], []), "single")
    assert judged.verdicts == {"u1": (False, False), "u2": (True, True)}
    assert len(tried.api.seen) == 1


def test_the_ledger_gets_both_verdicts_and_no_text(trial: MakeTrial) -> None:
    tried = trial(judges(relevance=["u1", "u2"], usefulness=["u1"]))
    record = tried.run(UNSURES).record()
    assert record["verdicts"] == {"u1": [True, True], "u2": [True, False]}
    assert (record["path"], record["asked"], record["dropped"]) == ("judged", 2, 0)
    assert record["cost_usd"] == pytest.approx(2 * (600 * 0.1 + 12 * 0.5) / 1e6)
    assert "Title" not in json.dumps(record)
