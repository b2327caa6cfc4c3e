"""The two judges in recall: the result of their answers, in each case."""

from __future__ import annotations

import json

import pytest

from memory_plugin.recall.ranking import Hit
from tests.recall.judge_trial import (
    BROKEN,
    HITS,
    SURES,
    UNSURES,
    Choice,
    MakeTrial,
    hit,
    judges,
    parse_request,
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
def test_each_pair_of_answers(
    make_trial: MakeTrial,
    relevance: Choice,
    usefulness: Choice,
    full: list[str],
    pointed: list[str],
    search: list[str],
) -> None:
    trial = make_trial(judges(relevance=relevance, usefulness=usefulness))
    assert trial.chosen_keys(UNSURES) == (full, pointed)
    assert trial.search_keys(UNSURES) == search


def test_with_lenient_verification_one_approval_is_enough(make_trial: MakeTrial) -> None:
    trial = make_trial(judges(relevance=["u1"], usefulness=["u2"]))
    trial.bench.retrieval["modes"] = {"auto": {"verification": "lenient"}}
    assert trial.chosen_keys(UNSURES) == (["u1", "u2"], [])


@pytest.mark.parametrize(
    ("relevance", "usefulness", "expected", "path", "reasons"),
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
    make_trial: MakeTrial,
    relevance: Choice,
    usefulness: Choice,
    expected: tuple[list[str], list[str]],
    path: str,
    reasons: list[str],
) -> None:
    trial = make_trial(judges(relevance=relevance, usefulness=usefulness))
    trial.bench.retrieval["when"] = "unsure"
    hits = [*HITS[:2], *HITS[3:]]
    judged = trial.run(hits)
    assert (trial.chosen_keys(hits, judged), judged.path, judged.reasons) == (expected, path, reasons)
    for seen in trial.api.seen:
        assert sorted(note["title"] for note in parse_request(seen).data["notes"]) == [
            "Title of u1",
            "Title of u2",
        ]


@pytest.mark.parametrize("top_level", [False, True], ids=["in the block memory", "at the top level"])
def test_the_pool_is_judged_whatever_the_confidence(make_trial: MakeTrial, *, top_level: bool) -> None:
    trial = make_trial(judges(relevance=["s1", "s3", "w1"], usefulness=["s3", "w1"]))
    trial.bench.top_level = top_level
    assert trial.chosen_keys(HITS) == (["s3", "w1"], ["s1"])
    assert {len(parse_request(seen).data["notes"]) for seen in trial.api.seen} == {6}


def test_a_confident_match_is_judged_too(make_trial: MakeTrial) -> None:
    """The source's false positive: a page's style stored, a bug on that page asked about, and the best match sure of itself."""
    trial = make_trial(judges(relevance=[], usefulness=[]))
    sure = hit("css", 0.6, "Login page CSS uses tailwind")
    assert trial.chosen_keys([sure]) == ([], [])
    assert trial.run([sure]).record()["asked"] == 1


@pytest.mark.parametrize(("least", "asked_about"), [(0.0, 3), (0.2, 2), (0.45, 0)])
def test_the_unsure_begin_at_the_users_least_confidence(
    make_trial: MakeTrial, least: float, asked_about: int
) -> None:
    trial = make_trial(judges(relevance=["w1"], usefulness=["w1"]))
    trial.bench.retrieval["when"] = "unsure"
    trial.bench.retrieval["min_confidence"] = least
    assert trial.run(HITS[3:]).record()["asked"] == asked_about


def test_a_project_that_raises_its_threshold_sends_out_no_more(make_trial: MakeTrial) -> None:
    trial = make_trial(judges(relevance=["s3"], usefulness=["s3"]))
    trial.bench.retrieval["when"] = "unsure"
    trial.bench.project_says({"retrieval": {"inject_threshold": 0.75}})
    judged = trial.run([*SURES, *UNSURES])
    assert judged.record()["asked"] == 2
    assert trial.chosen_keys([*SURES, *UNSURES], judged) == (["s1", "s2"], ["s3"])


def test_without_unsure_candidates_no_judge_is_asked(make_trial: MakeTrial) -> None:
    trial = make_trial(BROKEN)
    trial.bench.retrieval["when"] = "unsure"
    hits = [*SURES, HITS[5]]
    judged = trial.run(hits)
    assert (trial.chosen_keys(hits, judged), judged.path) == ((["s1", "s2", "s3"], []), "rules")
    assert trial.api.connections == 0


@pytest.mark.parametrize(
    ("sure", "asked_about"), [(SURES, 0), (SURES[:2], 2)], ids=["every place", "all places but one"]
)
def test_judges_are_asked_only_if_a_place_is_left(
    make_trial: MakeTrial, sure: list[Hit], asked_about: int
) -> None:
    trial = make_trial(judges(relevance=["u1"], usefulness=["u1"]))
    trial.bench.retrieval["when"] = "unsure"
    hits = [*sure, *UNSURES]
    judged = trial.run(hits)
    assert (judged.record()["asked"], judged.path) == (asked_about, "judged" if asked_about else "rules")
    assert trial.chosen_keys(hits, judged)[0] == ["s1", "s2", "u1" if asked_about else "s3"]
    assert (trial.api.connections > 0) == (asked_about > 0)


def test_the_places_are_those_of_the_smaller_limit(make_trial: MakeTrial) -> None:
    trial = make_trial(BROKEN)
    trial.bench.retrieval["when"] = "unsure"
    trial.bench.retrieval["modes"] = {"auto": {"max_output": 1}}
    hits = [SURES[0], *UNSURES]
    judged = trial.run(hits)
    assert (trial.chosen_keys(hits, judged), judged.path) == ((["s1"], ["u1", "u2"]), "rules")
    assert trial.api.connections == 0


@pytest.mark.parametrize(
    ("top", "expected"),
    [
        (2, (["s1", "s2"], ["s3", "u1", "u2"])),
        (0, ([], [])),
        (10, (["s1", "s2", "s3"], ["u1", "u2"])),
    ],
)
def test_without_a_key_and_without_an_answer_the_thresholds_decide_about_the_best_few(
    make_trial: MakeTrial, top: int, expected: tuple[list[str], list[str]]
) -> None:
    trial = make_trial(BROKEN)
    trial.bench.retrieval["fallback_top_k"] = top
    assert trial.chosen_keys(HITS) == expected
    trial.bench.env = {}
    judged = trial.run(HITS)
    assert (trial.chosen_keys(HITS, judged), judged.path, judged.reasons) == (expected, "no_key", ["no_key"])


def test_a_judge_that_is_off_leaves_the_thresholds(make_trial: MakeTrial) -> None:
    trial = make_trial(BROKEN)
    trial.bench.retrieval["enabled"] = False
    judged = trial.run(HITS)
    assert (trial.chosen_keys(HITS, judged), judged.path) == ((["s1", "s2", "s3"], ["u1", "u2"]), "disabled")


def test_a_project_that_reaches_for_keys_gets_no_judge(make_trial: MakeTrial) -> None:
    trial = make_trial(BROKEN)
    judged = trial.run(HITS, taint=True)
    assert (trial.chosen_keys(HITS, judged), judged.path) == ((["s1", "s2", "s3"], ["u1", "u2"]), "disabled")
    assert "doctor" in judged.reasons[0]
    assert trial.api.connections == 0


def test_a_search_without_an_answer_shows_all(make_trial: MakeTrial) -> None:
    trial = make_trial(BROKEN)
    many = [hit("m%02d" % at, 0.9 - at / 100) for at in range(30)]
    assert trial.search_keys(many) == ["m%02d" % at for at in range(30)]


def test_a_search_asks_about_all_that_it_was_given(make_trial: MakeTrial) -> None:
    many = [hit("m%02d" % at, 0.2 - at / 1000) for at in range(30)]
    names = ["m%02d" % at for at in range(30)]
    trial = make_trial(judges(relevance=names, usefulness=[]))
    assert trial.search_keys(many) == names
    assert {len(parse_request(seen).data["notes"]) for seen in trial.api.seen} == {30}


def test_what_both_approved_comes_before_what_one_approved(make_trial: MakeTrial) -> None:
    names = ["m%02d" % at for at in range(8)]
    trial = make_trial(judges(relevance=names, usefulness=names[3:]))
    assert trial.chosen_keys([hit(name, 0.1) for name in names]) == (names[3:6], [*names[6:], names[0]])


@pytest.mark.parametrize(("whole_store", "asked"), [(0, 15), (100, 30)])
def test_the_pool_and_the_outputs_are_bounded(make_trial: MakeTrial, whole_store: int, asked: int) -> None:
    many = [hit("m%02d" % at, 0.49 - at / 1000) for at in range(30)]
    names = ["m%02d" % at for at in range(30)]
    trial = make_trial(judges(relevance=names, usefulness=names))
    trial.bench.retrieval["whole_store"] = whole_store
    assert trial.chosen_keys(many) == (names[:3], names[3:6])
    assert {len(parse_request(seen).data["notes"]) for seen in trial.api.seen} == {asked}


def test_one_question_in_place_of_two(make_trial: MakeTrial) -> None:
    trial = make_trial(judges(combined=["u2"]))
    trial.bench.retrieval["dual_verification"] = False
    judged = trial.run(UNSURES)
    assert (trial.chosen_keys(UNSURES, judged), judged.path) == ((["u2"], []), "single")
    assert judged.verdicts == {"u1": [False, False], "u2": [True, True]}
    assert len(trial.api.seen) == 1


def test_the_ledger_gets_both_verdicts_and_no_text(make_trial: MakeTrial) -> None:
    trial = make_trial(judges(relevance=["u1", "u2"], usefulness=["u1"]))
    record = trial.run(UNSURES).record()
    assert record["verdicts"] == {"u1": [True, True], "u2": [True, False]}
    assert (record["path"], record["asked"]) == ("judged", 2)
    assert record["cost_usd"] == pytest.approx(2 * (600 * 0.1 + 12 * 0.5) / 1e6)
    assert "Title" not in json.dumps(record)
