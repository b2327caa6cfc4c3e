"""Leftovers of killed writers and deleted projects are removed; nothing else is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_plugin.kernel.context import now
from memory_plugin.kernel.paths import Paths
from memory_plugin.work.refresh import prune_state
from tests.project import Project

DAY = 86400
DRAFT = "a.json.4711.0a1b2c3d.tmp"


@pytest.mark.parametrize(
    ("name", "days", "gone"),
    [
        ("trust/" + DRAFT, 2, True),
        ("trust/" + DRAFT, 0, False),
        ("index/a.sqlite3.4711.new", 2, True),
        ("index/gone-0a1b2c3d.sqlite3", 91, True),
        ("index/gone-0a1b2c3d.sqlite3", 89, False),
        ("index/gone-0a1b2c3d.sqlite3", -400, False),
        ("trust/mine.jsonl", 400, False),
        ("drafts/use-postgres.4711.json", 31, True),
        ("drafts/use-postgres.4711.json", 29, False),
        ("recalls.jsonl", 400, False),
        ("own.tmp", 400, False),
    ],
)
def test_only_leftovers_are_deleted(
    project: Project, monkeypatch: pytest.MonkeyPatch, name: str, days: int, gone: bool
) -> None:
    monkeypatch.setenv("HOME", project.environment()["HOME"])
    paths = Paths(project.root)
    assert paths.state_dir is not None
    path = Path(paths.state_dir, *name.split("/"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (now() - days * DAY - 60,) * 2)
    assert prune_state(paths) == int(gone)
    assert path.exists() is not gone


def test_this_projects_index_is_kept(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", project.environment()["HOME"])
    paths = Paths(project.root)
    path = Path(paths.state("index", paths.project_key + ".sqlite3"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (1, 1))
    assert prune_state(paths) == 0
    assert path.exists()
