"""`memory replies tune --thresholds`: fit thresholds to a ledger, write them, score with them, and undo."""

from __future__ import annotations

import json
import random

import pytest

from memory_plugin.kernel.context import Ledger
from tests.project import Project
from tests.recall.store_files import at_home

KEY = "scoring.escalation.thresholds.code"


def ledger(project: Project, count: int) -> None:
    """Write scored replies, all about code, nearly all of them dense."""
    draw = random.Random(1)
    with at_home(project) as paths:
        book = Ledger(paths.state(), "scores")
        for number in range(count):
            row: dict[str, object] = {
                "kind": "score", "id": "i%d" % number, "padding_count": 0, "matches": [], "preamble_words": 0, "words": 80,
                "density": round(draw.gauss(0.7, 0.05), 3), "query_type": "code", "threshold": 0.44, "escalate": False,
                "gate": "clean", "model": "claude-opus-5-5",
            }  # fmt: skip
            book.append("s", paths.project_key, row)


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a project with 220 scored replies."""
    project = Project(str(tmp_path_factory.mktemp("tune")))
    ledger(project, 220)
    return project


def test_the_proposal_is_shown_and_applied(scored: Project) -> None:
    assert (
        "not 20 to 30%; to adjust thresholds: memory replies tune --thresholds"
        in scored.cli("replies", "history").stdout
    )
    shown = scored.cli("replies", "tune", "--thresholds")
    assert shown.returncode == 0, shown.stderr
    assert KEY in shown.stdout
    assert scored.cli("config", "get", KEY, "--json").json["value"] == 0.44
    applied = scored.cli("replies", "tune", "--thresholds", "--apply", "--json").json
    assert applied["applied"] is True
    assert 0.2 <= applied["after"]["value"] <= 0.3
    assert scored.cli("config", "get", KEY, "--json").json["value"] == applied["settings"][KEY] > 0.44


def test_apply_inside_the_client_needs_approval(scored: Project) -> None:
    run = scored.cli("replies", "tune", "--thresholds", "--apply", inside=True)
    assert (run.returncode, "the user must approve this" in run.stderr) == (1, True)
    assert scored.cli("replies", "tune", "--thresholds", inside=True).returncode == 0


def test_too_few_replies_are_an_error(project: Project) -> None:
    ledger(project, 30)
    run = project.cli("replies", "tune", "--thresholds")
    assert (run.returncode, "takes 200 replies" in run.stderr, "has 30" in run.stderr) == (1, True, True)


def test_a_project_cannot_set_thresholds(project: Project) -> None:
    project.write(
        ".claude/settings.json",
        json.dumps({"memory": {"scoring": {"escalation": {"thresholds": {"code": 0.9}}}}}),
    )
    assert project.cli("config", "get", KEY, "--json").json["value"] == 0.44
