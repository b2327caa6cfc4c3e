"""The user's key helper has a time limit, and its processes end with it."""

from __future__ import annotations

import os
from pathlib import Path
from time import monotonic, sleep

import pytest

from memory_plugin.kernel.judge.credentials import run_key_helper
from memory_plugin.kernel.judge.question import JudgeError


def test_a_helper_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    group = tmp_path / "group"
    started = monotonic()
    with pytest.raises(JudgeError) as caught:
        run_key_helper("echo $$ >%s; (sleep 60; :) | cat" % group, 0.5)
    assert monotonic() - started < 30
    assert (caught.value.name, caught.value.detail) == ("no_key", "apiKeyHelper took longer than 0 seconds")
    while True:  # what was killed is there until the first process of the system has noticed
        try:
            os.killpg(int(group.read_text(encoding="ascii")), 0)
        except ProcessLookupError:
            break
        assert monotonic() - started < 30
        sleep(0.02)


def test_a_helper_runs_with_the_plugin_switched_off() -> None:
    assert run_key_helper("echo $MEMORY_DISABLE") == "1"
