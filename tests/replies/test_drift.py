"""Drift, its severity, and the one correction for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.replies.data import load_table
from memory_plugin.replies.drift import Drift, correction, find_drift, raised
from memory_plugin.replies.escalation import thousandths
from memory_plugin.replies.query_type import QUERY_TYPES
from tests.replies.test_escalation import bounds, signals

TABLE = load_table("drift")
DIMENSIONS = ["SyA", "VDet", "EpAd", "EPad"]


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
    st.sampled_from([None, ["padding"], ["density"], ["padding", "density"]]),
    st.sampled_from(["low", "medium", "high"]),
    st.dictionaries(st.sampled_from(DIMENSIONS), st.integers(0, 3)),
)
def test_a_judge_only_ever_raises(
    categories: list[str] | None, severity: str, judged: dict[str, int]
) -> None:
    order = ["", "low", "medium", "high"]
    before = Drift(categories, severity, 600) if categories else None
    after = raised(before, judged, 600, TABLE)
    assert (after is not None) == (before is not None or max(judged.values(), default=0) >= 2)
    if before is not None and after is not None:
        assert set(before.categories) <= set(after.categories)
        assert order.index(after.severity) >= order.index(before.severity)


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
    found = correction(Drift(categories, severity, 600, {"SyA": 2}), 4, 0.41, kind, TABLE)
    assert found[0] == row
    assert bool(found[1]) == bool(next(entry["text"] for entry in TABLE["corrections"] if entry["id"] == row))


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
def test_every_drift_has_a_row(category: str, severity: str, kind: str) -> None:
    row, text = correction(Drift([category], severity, thousandths(0.5), {category: 2}), 3, 0.4, kind, TABLE)
    assert row
    assert len(text) <= TABLE["longest"]
