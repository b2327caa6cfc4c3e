"""The context: one deadline for all, and records of its session in the project's ledgers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_plugin.kernel.context import Context, Deadline, LedgerError
from memory_plugin.kernel.paths import Paths
from memory_plugin.kernel.records import Form, Records
from memory_plugin.kernel.settings import Settings, shipped


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    """Return the context of a new project with an empty home."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    (tmp_path / "project").mkdir()
    return Context(Paths(str(tmp_path / "project")), Settings(shipped("defaults.json")), Deadline(60), "s1")


def test_within_only_ever_shortens_the_deadline(context: Context) -> None:
    short = context.within(1)
    assert 0 < short.deadline.remaining() <= 1
    assert short.within(100).deadline.remaining() <= 1
    assert (short.paths, short.settings, short.session) == (context.paths, context.settings, "s1")


def test_a_record_carries_session_and_project(context: Context) -> None:
    context.append("scores", {"kind": "x"})
    (row,) = Records(context.paths.state(), Form("scores", {}))
    assert (row["session"], row["project"], row["kind"]) == ("s1", context.paths.project_key, "x")


def test_a_record_that_cannot_be_written_is_an_error(context: Context) -> None:
    os.makedirs(context.paths.state("scores.jsonl"))
    with pytest.raises(LedgerError, match="scores: "):
        context.append("scores", {})
