"""Past sessions in the real client: an ask is answered from an earlier session, and another prompt is not."""

from __future__ import annotations

import pytest

from tests.client.plugin import PLUGIN, bash, make_repository, memory
from tests.client.sandbox import Sandbox
from tests.sessions.past_rows import LAMP, write_sessions

pytestmark = pytest.mark.client
BLOCK = "<past-sessions>"


def test_an_ask_is_answered_and_other_prompts_are_not(sandbox: Sandbox) -> None:
    make_repository(sandbox)
    write_sessions(sandbox.config, sandbox.project)
    memory(sandbox, "refresh")
    turn = sandbox.prompt("What did we do about the flickering lamp?", plugins=PLUGIN)
    assert turn.sent("2026-10-05 %s.*stable level" % LAMP[:8])
    turn = sandbox.prompt("Paint the lamp of the tower green, please.", plugins=PLUGIN)
    assert not turn.sent("stable level")


def test_a_session_is_found_after_it_ended(sandbox: Sandbox) -> None:
    make_repository(sandbox)
    sandbox.set_script({"turns": [bash("mkdir calibrated"), {"text": "The crane's hook hangs at 4.2 m."}]})
    first = sandbox.prompt("Calibrate the crane", "--allowedTools", "Bash", plugins=PLUGIN)
    found = memory(sandbox, "session", "find", "crane", "hook")["exchanges"]
    assert [(each["session"], each["prompt"], each["passed"]) for each in found] == [
        (first.session, "Calibrate the crane", ["mkdir calibrated"])
    ]
    turn = sandbox.prompt("at which height did we hang the hook of the crane?", plugins=PLUGIN)
    assert turn.sent(BLOCK + "[\\s\\S]*4.2 m")


def test_a_session_is_whole_after_a_compaction_a_resume_and_a_fork(sandbox: Sandbox) -> None:
    make_repository(sandbox)
    sandbox.set_script({"default": {"text": "The crane's hook hangs at 4.2 m."}})
    first = sandbox.prompt("Calibrate the crane", plugins=PLUGIN)
    for words in ("Oil the winch", "/compact", "Paint the boom"):
        sandbox.prompt(words, "--resume", first.session, plugins=PLUGIN)
    fork = sandbox.prompt("Sweep the deck", "--resume", first.session, "--fork-session", plugins=PLUGIN)
    said = memory(sandbox, "session", "find", "crane", "winch", "boom", "deck")["exchanges"]
    prompts = ("Calibrate the crane", "Oil the winch", "Paint the boom")
    expected = [*((first.session, text) for text in prompts), (fork.session, "Sweep the deck")]
    assert sorted((each["session"], each["prompt"]) for each in said) == sorted(expected)
