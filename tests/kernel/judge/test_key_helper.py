"""The user's key helper is bounded, and what it starts ends with it."""

from __future__ import annotations

from pathlib import Path
from time import monotonic, sleep

import pytest

from memory_plugin.kernel.judge.credentials import run_key_helper
from memory_plugin.kernel.judge.errors import JudgeError


def test_a_helper_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    started = monotonic()
    with pytest.raises(JudgeError) as caught:
        run_key_helper("(sleep 3; touch %s) | cat" % mark, 0.3)
    assert monotonic() - started < 2.8
    assert (caught.value.name, caught.value.detail) == ("no_key", "apiKeyHelper took longer than 0 seconds")
    sleep(3.5)
    assert not mark.exists()


def test_a_helper_runs_with_the_plugin_switched_off() -> None:
    assert run_key_helper("echo $MEMORY_DISABLE") == "1"
