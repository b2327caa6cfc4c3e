"""The escalation gate, its exact bounds, samples by hash; drift, its severity, and its correction."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.context import Deadline
from memory_plugin.kernel.paths import Paths, load_data
from memory_plugin.kernel.records import Form, Records
from memory_plugin.replies import ReplyState
from memory_plugin.replies.gate import (
    Drift,
    GateBounds,
    add_up,
    choose_correction,
    find_drift,
    find_row,
    is_sampled,
    raise_drift,
    record_drift,
    thousandths,
)
from memory_plugin.replies.rows import Score
from tests.replies.builders import context, correction_is_pending, settings

QUERY_TYPES = [kind for kind in settings().block("scoring.escalation.thresholds") if kind != "preamble"]


def bounds(threshold: float = 0.6, **values: object) -> GateBounds:
    """Return the gate's numbers with one threshold for every kind of message."""
    result = GateBounds(settings(**values))
    result.thresholds = dict.fromkeys(QUERY_TYPES, thousandths(threshold))
    return result


def row_of(gate: GateBounds, padding: int = 0, preamble: int = 0, density: float = 0.6) -> tuple[str, bool]:
    """Return the gate's row for these measures."""
    return find_row(Score("", padding, preamble, density, "code"), gate)


ROWS: list[tuple[dict[str, Any], str, bool]] = [
    ({"density": 0.65}, "clean", False),  # clean
    ({"density": 0.649}, "clean_enough", False),  # just not clean
    ({"padding": 3, "density": 0.7}, "clear_drift", False),  # three phrases
    ({"padding": 1, "density": 0.9}, "padding_range", True),  # one phrase
    ({"padding": 2, "density": 0.1}, "padding_range", True),  # two phrases
    ({"density": 0.57}, "borderline_density", True),  # just within the band
    ({"density": 0.63}, "borderline_density", True),  # just within the band from above
    ({"density": 0.8, "preamble": 22}, "mixed_signal", True),  # a long preamble
    ({"density": 0.8, "preamble": 21}, "clean", False),  # a shorter preamble
    ({"density": 0.569}, "low_density", False),  # below the band
    ({"density": 0.2, "preamble": 30}, "mixed_signal", True),  # preamble before density
]


def test_rows() -> None:
    assert [
        (fields, row, escalate)
        for fields, row, escalate in ROWS
        if row_of(bounds(), **fields) != (row, escalate)
    ] == []


def test_settings_change_the_rows() -> None:
    cases: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({"escalation__padding_range": [2, 4]}, {"padding": 1, "density": 0.8}, "clean_enough"),
        ({"escalation__padding_range": [2, 4]}, {"padding": 4, "density": 0.8}, "padding_range"),
        ({"escalation__padding_range": [2, 4]}, {"padding": 5, "density": 0.8}, "clear_drift"),
        ({"escalation__padding_range": [4, 2]}, {"padding": 3}, "padding_range"),
        ({"escalation__density_margin": 0.1}, {"density": 0.7}, "clean"),
        ({"escalation__density_margin": 0.1}, {"density": 0.5}, "borderline_density"),
        ({"escalation__mixed_signal": False}, {"density": 0.7, "preamble": 40}, "clean_enough"),
        ({"escalation__thresholds": {"preamble": 1}}, {"density": 0.7, "preamble": 1}, "mixed_signal"),
    ]
    assert [
        (values, fields, row) for values, fields, row in cases if row_of(bounds(**values), **fields)[0] != row
    ] == []


def test_bounds_are_exact_where_binary_fractions_are_not() -> None:
    assert abs(0.570 - 0.600) > 0.03
    assert row_of(bounds(0.600), density=0.570)[0] == "borderline_density"


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 500))
def test_the_band_is_exact(density: int, threshold: int, margin: int) -> None:
    gate = bounds(threshold / 1000, escalation__density_margin=margin / 1000)
    gate.clear_margin = 2000  # so that no reply is clean
    row, escalates = row_of(gate, density=density / 1000)
    assert escalates == (row == "borderline_density") == (abs(density - threshold) <= margin)


@given(st.text(), st.floats(0, 1))
def test_a_sample_is_stable(identity: str, share: float) -> None:
    assert is_sampled("audit", identity, share) == is_sampled("audit", identity, share)
    assert not is_sampled("audit", identity, 0.0)
    assert is_sampled("audit", identity, 1.0)


def test_samples_have_about_their_share_and_are_independent() -> None:
    ids = [str(number) for number in range(4000)]
    audited, held_out = (
        {name for name in ids if is_sampled(kind, name, 0.2)} for kind in ("audit", "holdout")
    )
    assert 0.17 < len(audited) / len(ids) < 0.23
    assert 0.02 < len(audited & held_out) / len(ids) < 0.06


TABLE = load_data("replies", "drift")
DIMENSIONS = ["SyA", "VDet", "EpAd", "EPad"]


def score_of(kind: str) -> Score:
    """Return the score of a reply with four filler phrases and a density of .41."""
    return Score("d1", 4, density=0.41, query_type=kind, threshold=0.6, prompt_id="p1")


@pytest.mark.parametrize(
    ("padding", "density", "categories", "severity"),
    [
        (0, 0.6, None, ""),
        (1, 0.6, None, "trace"),
        (2, 0.57, None, "trace"),
        (3, 0.6, ["padding"], "medium"),
        (5, 0.6, ["padding"], "high"),
        (0, 0.55, None, "trace"),
        (0, 0.549, ["density"], "medium"),
        (0, 0.499, ["density"], "high"),
        (3, 0.549, ["padding", "density"], "high"),
    ],
)
def test_drift(padding: int, density: float, categories: list[str] | None, severity: str) -> None:
    found = find_drift(Score("", padding, density=density, threshold=0.6, words=100), density, 30)
    assert (list(found.categories), found.severity) == (categories or [], severity)


@pytest.mark.parametrize(
    ("fields", "categories", "severity"),
    [
        pytest.param({"density": 0.5, "words": 79}, [], "trace", id="too short for a drift"),
        pytest.param({"density": 0.5, "words": 29}, [], "", id="too short for a trace"),
        pytest.param({"density": 0.57, "words": 79}, [], "", id="in the band"),
        pytest.param({"padding_count": 3}, ["padding"], "medium", id="not measured"),
        pytest.param({"words": 100}, [], "", id="not measured and without filler"),
    ],
)
def test_traces_of_drift(fields: dict[str, Any], categories: list[str], severity: str) -> None:
    score = Score("", threshold=0.6)._replace(**fields)
    found = find_drift(score, score.density or 0.0, 30)
    assert (list(found.categories), found.severity) == (categories, severity)


@pytest.mark.parametrize(
    ("severities", "drifts"),
    [
        (["trace"] * 3, [3]),
        (["trace", "", "trace", "trace"], [4]),
        (["trace", "trace", "", ""], []),
        (["trace", "", "", "trace", "trace"], []),
        (["trace"] * 5, [3]),
        (["trace"] * 6, [3, 6]),
        (["trace", "trace", "medium", "trace"], [4]),
        (["trace", "trace", "medium", ""], []),
    ],
)
def test_traces_add_up(severities: list[str], drifts: list[int]) -> None:
    recent, found = "", []
    for number, severity in enumerate(severities, 1):
        own = ["padding"] if severity == "medium" else []
        recent, score = add_up(recent, Score("", drift=own, severity=severity))
        found += [number] if score.drift == ["session"] else []
    assert found == drifts


@given(
    st.sampled_from([[], ["padding"], ["density"], ["padding", "density"]]),
    st.sampled_from(["low", "medium", "high"]),
    st.dictionaries(st.sampled_from(DIMENSIONS), st.integers(0, 3)),
)
def test_a_judge_never_lowers_a_drift(categories: list[str], severity: str, levels: dict[str, int]) -> None:
    order = ["low", "medium", "high"]
    before = Drift(categories, severity, {})
    after = raise_drift(before, levels)
    assert (after is not None) == (max(levels.values(), default=0) >= 2)
    if after is not None:
        assert set(categories) < set(after.categories)
        assert not categories or order.index(after.severity) >= order.index(severity)


@pytest.mark.parametrize(
    ("categories", "severity", "kind", "row"),
    [
        (["padding"], "high", "code", "padding"),
        (["padding"], "high", "emotional", "padding-emotional"),
        (["padding"], "medium", "conversational", "padding-conversational"),
        (["padding"], "high", "conversational", "padding"),
        (["density"], "high", "code", "density"),
        (["density"], "medium", "ambiguous", "density-ambiguous"),
        (["padding", "density"], "high", "code", "compound"),
        (["SyA"], "medium", "code", "judged-SyA"),
        (["padding", "SyA"], "high", "code", "padding"),
        (["session"], "medium", "code", "session"),
        (["session"], "medium", "emotional", "session-emotional"),
    ],
)
def test_the_most_specific_correction_wins(categories: list[str], severity: str, kind: str, row: str) -> None:
    chosen, text = choose_correction(Drift(categories, severity, {"SyA": 2}), score_of(kind))
    assert chosen == row
    assert bool(text) == bool(next(entry["text"] for entry in TABLE["corrections"] if entry["id"] == row))


@pytest.mark.parametrize("row", TABLE["corrections"], ids=lambda row: row["id"])
def test_a_correction_is_short_has_a_reason_and_all_its_numbers(row: dict[str, str]) -> None:
    assert row["reason"].endswith(".")
    text = row["text"].format(padding=12, density=41, threshold=60, level=3)
    assert "{" not in text
    assert len(text) <= TABLE["longest"]


@given(
    st.sampled_from(["padding", "density", "session", *DIMENSIONS]),
    st.sampled_from(["low", "medium", "high"]),
    st.sampled_from(QUERY_TYPES),
)
def test_every_drift_has_a_correction_row(category: str, severity: str, kind: str) -> None:
    row, text = choose_correction(Drift([category], severity, {category: 2}), score_of(kind))
    assert row
    assert len(text) <= TABLE["longest"]


@pytest.mark.parametrize(
    ("values", "may_correct", "arm", "is_saved"),
    [
        pytest.param({"holdout": 0}, True, "corrected", True, id="corrected"),
        pytest.param({"holdout": 1}, True, "control", False, id="in the control group"),
        pytest.param({"holdout": 0, "corrections": False}, True, "none", False, id="switched off"),
        pytest.param({"holdout": 0}, False, "none", False, id="too late"),
    ],
)
def test_record_drift(
    paths: Paths, values: dict[str, object], may_correct: bool, arm: str, is_saved: bool
) -> None:
    record_drift(
        Drift(["padding"], "high", {}), score_of("code"), context(paths, **values), may_correct=may_correct
    )
    (row,) = Records(paths.state(), Form("drift", {}))
    assert (row["kind"], row["id"], row["arm"], row["categories"]) == ("drift", "d1", arm, ["padding"])
    assert correction_is_pending(paths, "s") == is_saved


def test_a_correction_is_saved_even_if_the_ledger_fails(paths: Paths) -> None:
    os.makedirs(paths.state("drift.jsonl"))  # nothing can be appended to a folder
    with pytest.raises(OSError, match="drift: "):
        record_drift(Drift(["padding"], "high", {}), score_of("code"), context(paths, holdout=0))
    assert ReplyState(paths, "s").take_correction(Deadline(5))[0] == "d1"
