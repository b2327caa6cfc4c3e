"""The recipes of CONTRIBUTING.md, followed step by step in a copy of the repository, pass the tests that they name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.recipes import ENTRIES, follow, recipes
from tests.release_tree import copy_entries

RECIPES = recipes()


@pytest.mark.slow
@pytest.mark.parametrize("title", RECIPES)
def test_the_steps_of_a_recipe_work(title: str, tmp_path: Path) -> None:
    copy_entries(ENTRIES, str(tmp_path), "client")
    for step in RECIPES[title]:
        follow(step, str(tmp_path))


def test_a_recipe_ends_by_running_its_tests() -> None:
    assert [title for title in RECIPES if not RECIPES[title][-1].startswith("Run `python3 -m pytest ")] == []


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ("Think about it.", "no form of a step"),
        ("In `a.txt`, after `three`, add:\n```\nx\n```", "0 lines"),
        ("In `a.txt`, after `o`, add:\n```\nx\n```", "2 lines"),
        ("In `a.txt`, after `one`, add: x", "exactly one block"),
        ("In `a.txt`, replace `three` with `four`.", "not exactly once"),
        ("Create `a.txt`:\n```\nx\n```", "exists already"),
        ("Run `python3 -c 'raise SystemExit(3)'`.", "SystemExit"),
    ],
)
def test_a_step_that_does_not_work_fails(tmp_path: Path, step: str, problem: str) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    with pytest.raises(AssertionError, match=problem):
        follow(step, str(tmp_path))
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "one\ntwo\n"


def test_each_form_of_a_step_changes_its_file(tmp_path: Path) -> None:
    root = str(tmp_path)
    (tmp_path / "a.json").write_text('{\n  "b": [\n    1\n  ]\n}\n', encoding="utf-8")
    follow('In `a.json`, after `"b": [`, add:\n   ```json\n   0,\n   ```', root)
    follow('In `a.json`, before ``  "b": [``, add:\n   ```json\n   "a": 1,\n   ```', root)
    follow("Copy `a.json` to `c.json`, and there replace `1` with `2`.", root)
    follow("At the end of `a.json`, add:\n```\n# end\n```", root)
    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    assert text == '{\n  "a": 1,\n  "b": [\n    0,\n    1\n  ]\n}\n# end\n'
    assert "2" in (tmp_path / "c.json").read_text(encoding="utf-8")
