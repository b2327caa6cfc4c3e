"""The figures of a judge that knows the labels."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.project import PLUGIN_ROOT


@pytest.mark.slow
def test_a_judge_that_is_never_wrong_shows_what_is_needed_and_nothing_else() -> None:
    script = os.path.join(PLUGIN_ROOT, "benchmarks", "recall_judge.py")
    data = os.path.join(PLUGIN_ROOT, "benchmarks", "made")
    options = ["--only", "invoicing", "--when", "always", "--errors", "0", "--json"]
    run = subprocess.run(
        [sys.executable, script, data, *options],
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=120,
    )
    without, judged = map(json.loads, run.stdout.splitlines())
    assert without["told"] > 0.5
    assert without["wrong"] > 0
    assert judged["told"] > 0.95
    assert judged["wrong"] == 0
