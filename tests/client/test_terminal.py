"""Sessions in a terminal: a compacted conversation recalls a memory again, and the user sees what Claude was told."""

from __future__ import annotations

import re

import pytest

from tests.client.plugin import ASK, SILENT, TITLE, count_memory, with_memory
from tests.client.sandbox import Sandbox
from tests.client.terminal import READY, Terminal
from tests.project import PLUGIN_ROOT

pytestmark = [pytest.mark.client, pytest.mark.terminal, pytest.mark.usefixtures("tmux")]


def ask(sandbox: Sandbox, terminal: Terminal, words: str) -> int:
    """Submit a prompt; return how often the memory occurs in the conversation that Claude sees."""
    before = len(sandbox.api.requests)
    terminal.submit(words)
    terminal.wait(re.escape(words) + ".*summary")
    terminal.settle()  # until the turn ends: an earlier line would be queued
    return count_memory([request for request in sandbox.api.requests[before:] if request.kind == "main"][-1])


def test_a_memory_is_recalled_again_after_a_compaction(sandbox: Sandbox) -> None:
    sandbox.set_script({"default": {"text": "A summary of nothing at all."}})
    terminal = with_memory(sandbox).terminal("--plugin-dir", PLUGIN_ROOT)
    terminal.wait(READY)
    assert ask(sandbox, terminal, ASK) == 1
    assert ask(sandbox, terminal, "Again: " + ASK) == 1
    terminal.submit("/compact")
    terminal.wait("Compacted")
    terminal.settle()
    assert ask(sandbox, terminal, SILENT) == 0
    assert ask(sandbox, terminal, "Once more: " + ASK) == 1
    terminal.submit("/exit")


def test_the_user_sees_what_claude_was_told(sandbox: Sandbox) -> None:
    terminal = with_memory(sandbox).terminal("--plugin-dir", PLUGIN_ROOT)
    terminal.wait(READY)
    terminal.submit(ASK)
    screen = terminal.wait("Hello\\.")
    (line,) = [line for line in screen.splitlines() if 'memory: showed Claude "' in line]
    assert 'memory: showed Claude "%s"' % TITLE in line
    terminal.submit(SILENT)
    screen = terminal.wait(re.escape(SILENT) + ".*Hello\\.")
    assert screen.count('memory: showed Claude "') == 1
    terminal.submit("/exit")
