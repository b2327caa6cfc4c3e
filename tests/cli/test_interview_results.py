"""The actions that read, finish or delete an interview, as a person sees them."""

from __future__ import annotations

import json
import re

import pytest

from memory_plugin.interview.setup import find_pack
from tests.project import Project

FACTORS = re.compile(r"^(?:next: )?cover_element on .*: ([0-9.]+) = ([0-9.]+) x ([0-9.]+)$", re.MULTILINE)


@pytest.mark.parametrize("multiplier", [1.0, 1.12, 1.125])
def test_the_factors_that_are_shown_make_the_score(project: Project, multiplier: float) -> None:
    with open(find_pack("requirements", ""), encoding="utf-8") as file:
        pack = json.load(file)
    pack["multipliers"] = {"exploratory": {"cover_element": multiplier}}
    path = project.write("pack.json", pack)
    assert project.cli("interview", "start", "billing export", "--pack", path).returncode == 0
    shown = FACTORS.findall(project.cli("interview", "explain").stdout)
    assert len(shown) > 1
    for score, total, factor in shown:
        assert float(factor) == multiplier
        assert float(score) == pytest.approx(float(total) * multiplier, abs=0.0011)


def test_one_gap_is_not_several(project: Project) -> None:
    project.cli("interview", "start", "billing export")
    assert re.search(r"[ \t]1 gap$", project.cli("interview", "explain").stdout, re.MULTILINE)


def test_discard_needs_the_id_of_an_interview(project: Project) -> None:
    name = project.cli("interview", "start", "billing export", "--json").json["interview"]
    run = project.cli("interview", "discard")
    assert (run.returncode, run.stderr) == (
        2,
        "memory: discard: expected --session ID, so that none is deleted by mistake; `memory interview status` lists them\n",
    )
    assert "discard has no default" in " ".join(project.cli("interview", "--help").stdout.split())
    assert name in project.cli("interview", "status").stdout
    assert project.cli("interview", "discard", "--session", name).stdout == "deleted %s\n" % name
    assert "No interviews" in project.cli("interview", "status").stdout
