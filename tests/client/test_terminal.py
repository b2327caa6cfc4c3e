"""A session in a terminal: a compaction takes memories out of the conversation, so they may come again."""

from __future__ import annotations

import re

import pytest

from tests.client.plugin import ASK, SILENT, TITLE, begin, times
from tests.client.sandbox import Sandbox
from tests.client.terminal import READY, Terminal
from tests.project import PLUGIN_ROOT

pytestmark = [pytest.mark.client, pytest.mark.terminal, pytest.mark.usefixtures("tmux")]


def ask(box: Sandbox, terminal: Terminal, words: str) -> int:
    """How often the memory occurs in the conversation that Claude sees with this prompt."""
    before = len(box.api.requests)
    terminal.submit(words)
    terminal.wait(re.escape(words) + ".*summary")
    terminal.settle()  # the turn's end: what is typed earlier is queued
    return times([request for request in box.api.requests[before:] if request.kind == "main"][-1])


def test_a_compaction_lets_a_memory_be_recalled_again(box: Sandbox) -> None:
    box.say({"default": {"text": "A summary of nothing at all."}})
    terminal = begin(box).terminal("--plugin-dir", PLUGIN_ROOT)
    terminal.wait(READY)
    assert ask(box, terminal, ASK) == 1
    assert ask(box, terminal, "Again: " + ASK) == 1
    terminal.submit("/compact")
    terminal.wait("Compacted")
    terminal.settle()
    assert ask(box, terminal, SILENT) == 0
    assert ask(box, terminal, "Once more: " + ASK) == 1
    terminal.submit("/exit")


def test_the_person_sees_what_claude_was_told(box: Sandbox) -> None:
    terminal = begin(box).terminal("--plugin-dir", PLUGIN_ROOT)
    terminal.wait(READY)
    terminal.submit(ASK)
    screen = terminal.wait("Hello\\.")
    (line,) = [line for line in screen.splitlines() if "memory: told Claude" in line]
    assert 'memory: told Claude "%s"' % TITLE in line
    terminal.submit(SILENT)
    screen = terminal.wait(re.escape(SILENT) + ".*Hello\\.")
    assert screen.count("memory: told Claude") == 1
    terminal.submit("/exit")
