"""Agreement with a person, compared with the results of scikit-learn and SciPy.

The constants were computed once with scikit-learn 1.9.1 (`cohen_kappa_score`, `weights="quadratic"`, `labels=[0, 1, 2, 3]`) and SciPy
1.17.1 (`spearmanr`, `binomtest(k, n).proportion_ci(method="wilson")`), in an environment of its own: `pip install scipy scikit-learn`.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_plugin.kernel.stats import cohen_kappa, share, spearman, weighted_kappa
from memory_plugin.sessions.rows import (
    UnreadableLabels,
    compare,
    mean_error,
    read_labels,
    with_overall,
)
from memory_plugin.sessions.rubric import OVERALL, dimensions
from tests.sessions.grades import LEVELS, NUMBERS

A = [1, 1, 2, 3, 0, 0, 3, 2, 1, 1, 3, 3, 3, 1, 1, 1, 3, 0, 0, 1, 0, 2, 0, 2, 3, 3, 3, 3, 3, 1]
B = [1, 1, 2, 3, 1, 0, 3, 3, 2, 3, 3, 3, 2, 2, 0, 1, 2, 0, 1, 0, 0, 2, 2, 2, 3, 2, 3, 3, 3, 3]
C, D = [2, 2, 2, 1, 2, 2, 0, 2], [2, 1, 2, 1, 2, 2, 1, 2]
X = [
    0.9,
    1,
    0.9,
    0.6,
    0.7,
    0.2,
    0.8,
    0.6,
    0.3,
    0.1,
    0.9,
    1,
    0.1,
    0.8,
    0.4,
    0.2,
    0.3,
    0.8,
    0.9,
    0,
    0.6,
    0,
    0.7,
    0.3,
    0.9,
]
Y = [
    1,
    1,
    1,
    0.6,
    0.9,
    0.3,
    0.9,
    0.6,
    0.1,
    0.3,
    0.9,
    1,
    0.2,
    0.7,
    0.8,
    0.1,
    0.1,
    1,
    0.6,
    0,
    0.4,
    0,
    0.4,
    0,
    0.7,
]


@pytest.mark.parametrize(
    ("ours", "theirs", "plain", "weighted"),
    [(A, B, 0.4161676646706587, 0.7155172413793104), (C, D, 0.4838709677419355, 0.6521739130434783)],
)
def test_kappa_equals_scikit_learn(ours: list[int], theirs: list[int], plain: float, weighted: float) -> None:
    pairs = [(float(a), float(b)) for a, b in zip(ours, theirs)]
    assert cohen_kappa(pairs) == pytest.approx(plain, abs=1e-12)
    assert weighted_kappa(pairs) == pytest.approx(weighted, abs=1e-12)


def test_spearman_and_error_equal_scipy() -> None:
    pairs = list(zip(X, Y))
    assert spearman(pairs) == pytest.approx(0.8659251245097506, abs=1e-12)
    assert mean_error(pairs) == pytest.approx(0.136, abs=1e-12)


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(7, 10, 0.39677814746114526, 0.892208732593699), (0, 5, 0.0, 0.43448246478317476), (20, 20, 0.8388748419471808, 1.0),
     (3, 50, 0.020614970348973957, 0.1621709168883817)],
)  # fmt: skip
def test_wilsons_interval_equals_scipy(hits: int, n: int, low: float, high: float) -> None:
    proportion = share(hits, n)
    assert proportion.low == pytest.approx(low, abs=1e-12)
    assert proportion.high == pytest.approx(high, abs=1e-12)


@pytest.mark.parametrize("pairs", [[], [(1.0, 1.0)], [(2.0, 2.0)] * 9])
def test_undetermined_figures_are_none(pairs: list[tuple[float, float]]) -> None:
    assert (cohen_kappa(pairs), weighted_kappa(pairs), spearman(pairs)) == (None, None, None)
    assert share(0, 0).value is None


PAIRS = st.lists(st.tuples(st.integers(0, 3).map(float), st.integers(0, 3).map(float)), max_size=30)


@given(PAIRS)
def test_figures_stay_in_their_ranges_and_do_not_depend_on_the_order(
    pairs: list[tuple[float, float]],
) -> None:
    for figure in (cohen_kappa, weighted_kappa, spearman):
        value = figure(pairs)
        assert value is None or -1 - 1e-9 <= value <= 1 + 1e-9
        again = figure(pairs[::-1])
        assert value is None or again == pytest.approx(value)
    swapped = [(b, a) for a, b in pairs]
    assert cohen_kappa(pairs) == pytest.approx(cohen_kappa(swapped))


def scored(count: int, change: float = 0.0) -> dict[str, dict[str, float]]:
    """Return scores of some sessions, ours or a person's."""
    return {
        "s%d" % number: with_overall(
            {
                **{name: (number + int(change * 10)) % 4 for name in LEVELS},
                **{name: min(1, number / 30 + change) for name in NUMBERS},
            }
        )
        for number in range(count)
    }


def test_sessions_of_both_are_compared_dimension_by_dimension() -> None:
    found = {
        agreement.dimension: agreement
        for agreement in compare(
            {**scored(20), "only ours": {"tool_efficiency": 1.0}}, {**scored(20, 0.1), "only theirs": {}}
        )
    }
    assert set(found) == {*dimensions(), OVERALL}
    assert found["tool_efficiency"].n == 20
    assert found["tool_efficiency"].figures["mae"].value == pytest.approx(0.1, abs=1e-6)
    assert found["tool_efficiency"].figures["spearman"].value == pytest.approx(1)
    assert found["goal_achievement"].figures["exact"].value == 0
    assert set(found["goal_achievement"].figures) == {"exact", "weighted_kappa"}


@pytest.mark.slow
def test_intervals_contain_their_value_and_are_reproducible() -> None:
    first, second = compare(scored(20), scored(20, 0.1)), compare(scored(20), scored(20, 0.1))
    assert first == second
    for agreement in first:
        for name, figure in agreement.figures.items():
            if figure.low is not None and figure.high is not None and figure.value is not None:
                assert figure.low - 1e-9 <= figure.value <= figure.high + 1e-9, (agreement.dimension, name)
    assert all(
        figure.low is None
        for agreement in compare(scored(3), scored(3))
        for name, figure in agreement.figures.items()
        if name == "mae"
    )


def test_a_typed_score_is_on_its_scale_or_none() -> None:
    cases = [
        ("goal_achievement", "complete", 2),
        ("goal_achievement", " 3 ", 3),
        ("goal_achievement", "2.5", None),
        ("goal_achievement", "4", None),
        ("tool_efficiency", "0.85", 0.85),
        ("tool_efficiency", "1.2", None),
        ("tool_efficiency", "nan", None),
        ("tool_efficiency", "good", None),
    ]
    assert [
        (name, text, score) for name, text, score in cases if dimensions()[name].read(text) != score
    ] == []


def test_labels_are_read_from_a_spreadsheet(tmp_path: Path) -> None:
    text = "\ufeffsession,goal_achievement,tool_efficiency,output_quality\r\na,complete,0.5,\r\n"
    (tmp_path / "labels.csv").write_bytes(text.encode())
    assert read_labels(str(tmp_path / "labels.csv")) == {"a": {"goal_achievement": 2, "tool_efficiency": 0.5}}


INVALID = ["", "[]", "session\na\n", '[{"session": "a"}]', "session,tool_efficiency\na,7\n"]


@pytest.mark.parametrize("content", [*INVALID, "a\x00b\n1,2\n"])
def test_files_without_valid_labels_are_rejected(tmp_path: Path, content: str) -> None:
    (tmp_path / "x").write_text(content, encoding="utf-8")
    with pytest.raises(UnreadableLabels):
        read_labels(str(tmp_path / "x"))


@settings(max_examples=40)
@given(st.text(max_size=60))
def test_any_file_is_read_or_rejected(tmp_path_factory: pytest.TempPathFactory, content: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any-labels"
    path.write_text(content, encoding="utf-8", errors="replace")
    try:
        labels = read_labels(str(path))
    except UnreadableLabels:
        return
    assert all(math.isfinite(score) for scores in labels.values() for score in scores.values())
