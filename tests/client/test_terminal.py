"""A session in a terminal: a compaction takes memories out of the conversation, so they may come again."""

from __future__ import annotations

import time

import pytest

from tests.client.plugin import ASK, begin
from tests.client.sandbox import Sandbox
from tests.client.terminal import READY, Terminal
from tests.project import PLUGIN_ROOT

pytestmark = [pytest.mark.client, pytest.mark.terminal, pytest.mark.usefixtures("tmux")]


def ask(box: Sandbox, terminal: Terminal, words: str) -> int:
    """How often the memory stands in the conversation that Claude sees with this prompt."""
    before = len(box.api.requests)
    terminal.submit(words)
    end = time.monotonic() + 30
    while time.monotonic() < end:
        fitting = [r for r in box.api.requests[before:] if r.kind == "main" and words in str(r.messages)]
        if fitting:
            terminal.wait(READY)
            return sum("<memory-context>" in text and "Postgres 15" in text for text in fitting[-1].texts)
        time.sleep(0.1)
    raise TimeoutError(terminal.screen())


def test_a_compaction_lets_a_memory_be_recalled_again(box: Sandbox) -> None:
    box.say({"default": {"text": "A summary of nothing at all."}})
    terminal = begin(box).terminal("--plugin-dir", PLUGIN_ROOT)
    terminal.wait(READY)
    assert ask(box, terminal, ASK + " (one)") == 1
    time.sleep(1)
    assert ask(box, terminal, ASK + " (two)") == 1
    time.sleep(1)
    terminal.submit("/compact")
    terminal.wait("(?i)compacted")
    assert ask(box, terminal, ASK + " (three)") == 1
    terminal.submit("/exit")
