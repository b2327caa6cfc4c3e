"""Both readings' labels are complete, within their scales, and hold no text."""

from __future__ import annotations

import csv
import os

import pytest

from memory_plugin.sessions.rows import compare, read_labels
from memory_plugin.sessions.rubric import OVERALL, dimensions
from tests.project import PLUGIN_ROOT

FOLDER = os.path.join(PLUGIN_ROOT, "benchmarks", "labels")
LABELS = os.path.join(FOLDER, "first_reading.csv")


@pytest.mark.parametrize("name", ["first_reading.csv", "second_reading.csv"])
def test_twenty_sessions_have_all_six_scores(name: str) -> None:
    labels = read_labels(os.path.join(FOLDER, name))
    assert len(labels) == 20
    assert all(set(scores) == {*dimensions(), OVERALL} for scores in labels.values())


@pytest.mark.parametrize("name", ["first_reading.csv", "second_reading.csv"])
def test_labels_hold_only_ids_and_numbers(name: str) -> None:
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        for row in csv.DictReader(file):
            assert len(row.pop("session")) <= 36
            assert [float(score) for score in row.values()]


@pytest.mark.slow
def test_a_reading_agrees_with_itself_and_not_with_its_opposite() -> None:
    labels = read_labels(LABELS)
    same = {agreement.dimension: agreement.figures for agreement in compare(labels, labels)}
    assert same["goal_achievement"]["weighted_kappa"].value == 1
    opposite = {
        name: {
            key: (3 if key in ("goal_achievement", "error_handling") else 1) - value
            for key, value in scores.items()
        }
        for name, scores in labels.items()
    }
    other = {agreement.dimension: agreement.figures for agreement in compare(opposite, labels)}
    assert (other["tool_efficiency"]["spearman"].value or 0) < 0
