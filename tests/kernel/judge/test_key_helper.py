"""The user's key helper has a time limit, and runs with the plugin switched off."""

from __future__ import annotations

import pytest

from memory_plugin.kernel.judge.credentials import run_key_helper
from memory_plugin.kernel.judge.question import JudgeError


def test_a_helper_that_hangs_is_ended() -> None:
    with pytest.raises(JudgeError) as caught:
        run_key_helper("sleep 60", 0.5)
    assert (caught.value.name, caught.value.detail) == ("no_key", "apiKeyHelper took longer than 0 seconds")


def test_a_helper_runs_with_the_plugin_switched_off() -> None:
    assert run_key_helper("echo $MEMORY_DISABLE") == "1"
