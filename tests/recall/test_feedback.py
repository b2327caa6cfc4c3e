"""Ratings of memories move their own thresholds, within bounds, and can be reset."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace

import pytest

from memory_plugin.kernel.files import Unreadable
from memory_plugin.kernel.paths import Paths
from memory_plugin.recall import feedback
from memory_plugin.recall.decision import shifted_threshold
from memory_plugin.recall.feedback import USED, USEFUL, WRONG, Feedback, record_feedback, reset_feedback
from tests.project import Project
from tests.recall.store_files import at_home

KEY, OTHER = "project:decision/use-postgres", "project:decision/use-redis"


@pytest.mark.parametrize(
    ("said", "shift"),
    [
        pytest.param([], 0.0, id="nothing"),
        pytest.param([USED] * 5, 0.0, id="used alone moves nothing"),
        pytest.param([USEFUL], -0.1, id="useful once"),
        pytest.param([USEFUL] * 9, -0.2, id="useful often: the lower bound"),
        pytest.param([WRONG], 0.15, id="wrong once"),
        pytest.param([WRONG] * 9, 0.45, id="wrong often: the upper bound"),
        pytest.param([WRONG, USEFUL], 0.05, id="wrong weighs more"),
    ],
)
def test_a_shift_follows_the_ratings(project: Project, said: list[str], shift: float) -> None:
    with at_home(project) as paths:
        for kind in said:
            record_feedback(paths, [KEY], kind)
        assert Feedback(paths).shift(KEY) == pytest.approx(shift)
        assert Feedback(paths).shift(OTHER) == 0.0


@pytest.mark.parametrize(
    ("threshold", "shift", "own"),
    [
        (0.5, 0.0, 0.5),
        (0.5, -0.2, 0.3),
        (0.5, 0.45, 0.95),
        (0.3, -0.2, 0.2),
        (0.9, 0.45, 0.98),
        (0.1, -0.2, 0.1),
        (0.99, 0.45, 0.99),
        (0.0, 0.15, 0.2),
    ],
)
def test_an_own_threshold_stays_within_bounds(threshold: float, shift: float, own: float) -> None:
    assert shifted_threshold(threshold, shift) == pytest.approx(own)


def test_feedback_belongs_to_a_project_unless_the_memory_is_the_users(project: Project) -> None:
    with at_home(project) as paths:
        record_feedback(paths, [KEY, "user:preference/short"], WRONG)
        elsewhere = SimpleNamespace(project_key="another", state=paths.state)
        found = Feedback(elsewhere)  # type: ignore[arg-type]
        assert (found.shift(KEY), found.shift("user:preference/short")) == (0.0, 0.15)


def test_a_reset_forgets_the_named_ones_or_all(project: Project) -> None:
    with at_home(project) as paths:
        record_feedback(paths, [KEY, OTHER], USEFUL)
        assert (reset_feedback(paths, [KEY, "project:decision/none"]), reset_feedback(paths, [KEY])) == (
            1,
            0,
        )
        assert (Feedback(paths).shift(KEY), Feedback(paths).shift(OTHER)) == (0.0, -0.1)
        assert reset_feedback(paths, None) == 1
        assert Feedback(paths).counts(OTHER) == {USEFUL: 0, WRONG: 0, USED: 0}


def test_no_id_is_written_in_clear(project: Project) -> None:
    with at_home(project) as paths:
        record_feedback(paths, [KEY], USEFUL)
        with open(paths.state("feedback.json"), encoding="utf-8") as file:
            assert "postgres" not in file.read()


def _damage(paths: Paths, content: str) -> str:
    path = paths.state("feedback.json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)
    return path


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"memories": 5}', '{"memories": {"x": 5}}', '{"memories": {"x": {"useful": "many"}}}'],
)
def test_a_damaged_file_counts_as_empty_and_is_replaced(project: Project, content: str) -> None:
    with at_home(project) as paths:
        path = _damage(paths, content)
        assert Feedback(paths).shift(KEY) == 0.0
        record_feedback(paths, [KEY], USEFUL)
        assert Feedback(paths).shift(KEY) == -0.1
        assert os.path.exists(path + ".damaged") == (content in ("", "{"))


def test_a_file_that_cannot_be_read_now_is_not_replaced(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(*_: object) -> None:
        raise Unreadable("an error of the disk")

    with at_home(project) as paths:
        record_feedback(paths, [KEY], WRONG)
        with monkeypatch.context() as patch:
            patch.setattr(feedback, "read_regular", unreadable)
            with pytest.raises(Unreadable):
                record_feedback(paths, [OTHER], WRONG)
        assert Feedback(paths).shift(KEY) == 0.15


def test_the_oldest_feedback_goes_first(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feedback, "_MAX_ENTRIES", 2)
    with at_home(project) as paths:
        for number in range(3):
            monkeypatch.setattr(
                feedback, "now_iso", lambda number=number: "2026-01-0%dT00:00:00Z" % (number + 1)
            )
            record_feedback(paths, ["project:decision/%d" % number], WRONG)
        found = [Feedback(paths).counts("project:decision/%d" % number)[WRONG] for number in range(3)]
        assert found == [0, 1, 1]
        with open(paths.state("feedback.json"), encoding="utf-8") as file:
            assert len(json.load(file)["memories"]) == 2
