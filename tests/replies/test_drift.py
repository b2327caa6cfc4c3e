"""Drift, its severity, and its correction."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.data import load_data
from memory_plugin.kernel.ledger import Ledger
from memory_plugin.kernel.paths import Paths
from memory_plugin.replies.drift import Drift, choose_correction, find_drift, raise_drift, record_drift
from memory_plugin.replies.query_types import QUERY_TYPES
from memory_plugin.replies.reply_state import ReplyState
from tests.replies.builders import context, correction_is_pending
from tests.replies.test_escalation import bounds, signals

TABLE = load_data("replies", "drift")
DIMENSIONS = ["SyA", "VDet", "EpAd", "EPad"]


def drift(
    categories: list[str], severity: str, kind: str = "code", levels: dict[str, int] | None = None
) -> Drift:
    """Return a drift of a reply with four filler phrases and a density of .41."""
    result = Drift(categories, severity, kind, 4, 0.41, 600)
    result.levels = levels or {}
    return result


@pytest.mark.parametrize(
    ("padding", "density", "categories", "severity"),
    [
        (0, 0.6, None, ""),
        (1, 0.6, None, ""),
        (2, 0.57, None, ""),
        (3, 0.6, ["padding"], "medium"),
        (5, 0.6, ["padding"], "high"),
        (0, 0.569, ["density"], "low"),
        (0, 0.549, ["density"], "medium"),
        (0, 0.499, ["density"], "high"),
        (3, 0.569, ["padding", "density"], "high"),
        (3, None, None, ""),
    ],
)
def test_drift(padding: int, density: float | None, categories: list[str] | None, severity: str) -> None:
    found = find_drift(signals(padding, density=density), "code", bounds(), TABLE)
    assert (found and found.categories, found.severity if found else "") == (categories, severity)


@given(
    st.sampled_from([[], ["padding"], ["density"], ["padding", "density"]]),
    st.sampled_from(["low", "medium", "high"]),
    st.dictionaries(st.sampled_from(DIMENSIONS), st.integers(0, 3)),
)
def test_a_judge_never_lowers_a_drift(categories: list[str], severity: str, levels: dict[str, int]) -> None:
    order = ["low", "medium", "high"]
    before = drift(categories, severity)
    after = raise_drift(before, levels, TABLE)
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
        (["density"], "low", "code", "density-low"),
        (["density"], "medium", "ambiguous", "density-ambiguous"),
        (["padding", "density"], "high", "code", "compound"),
        (["SyA"], "medium", "code", "judged-SyA"),
        (["padding", "SyA"], "high", "code", "padding"),
    ],
)
def test_the_most_specific_correction_wins(categories: list[str], severity: str, kind: str, row: str) -> None:
    chosen, text = choose_correction(drift(categories, severity, kind, {"SyA": 2}), TABLE)
    assert chosen == row
    assert bool(text) == bool(next(entry["text"] for entry in TABLE["corrections"] if entry["id"] == row))


@pytest.mark.parametrize("row", TABLE["corrections"], ids=lambda row: row["id"])
def test_a_correction_is_short_has_a_reason_and_all_its_numbers(row: dict[str, str]) -> None:
    assert row["reason"].endswith(".")
    text = row["text"].format(padding=12, density=41, threshold=60, level=3)
    assert "{" not in text
    assert len(text) <= TABLE["longest"]


@given(
    st.sampled_from(["padding", "density", *DIMENSIONS]),
    st.sampled_from(["low", "medium", "high"]),
    st.sampled_from(QUERY_TYPES),
)
def test_every_drift_has_a_correction_row(category: str, severity: str, kind: str) -> None:
    row, text = choose_correction(drift([category], severity, kind, {category: 2}), TABLE)
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
    record_drift(drift(["padding"], "high"), "d1", "p1", context(paths, **values), may_correct=may_correct)
    (row,) = Ledger(paths.state(), "drift").rows()
    assert (row["kind"], row["id"], row["arm"], row["padding_count"], row["threshold"]) == (
        "drift", "d1", arm, 4, 0.6,
    )  # fmt: skip
    assert correction_is_pending(paths, "s") == is_saved


def test_a_correction_is_saved_even_if_the_ledger_fails(paths: Paths) -> None:
    os.makedirs(paths.state("drift.jsonl"))  # nothing can be appended to a folder
    with pytest.raises(OSError, match="drift: "):
        record_drift(drift(["padding"], "high"), "d1", "p1", context(paths, holdout=0))
    assert ReplyState(paths, "s").take_correction()[0] == "d1"
