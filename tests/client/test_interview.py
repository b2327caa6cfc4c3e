"""An interview in the real client: interrupted, resumed in another session, and saved as two memories that prompts recall."""

from __future__ import annotations

import pytest

from tests.client.plugin import PLUGIN, bash, hooks_succeeded, make_repository, memory
from tests.client.sandbox import Sandbox
from tests.client.test_skills import tool_results

pytestmark = pytest.mark.client
LIMIT = "exports finish within one minute"
FORMAT = "exports are plain CSV files"


def answer_command(answer: str, *lines: str) -> str:
    """Return the command that passes an answer and its concepts."""
    return "memory interview answer --json <<'END-7f3a9c'\n%s\nEND-7f3a9c" % "\n".join(
        ["answer: " + answer, *lines]
    )


def test_an_interrupted_interview_is_resumed_and_saved(sandbox: Sandbox) -> None:
    make_repository(sandbox)
    start = bash("memory interview start 'billing exports' --json")
    sandbox.set_script({"turns": [start, {"text": "How long may it take?"}], "default": {"text": "Done."}})
    first = sandbox.prompt("/memory:interview billing exports", plugins=PLUGIN)
    assert first.text == "How long may it take?"
    sandbox.set_script(
        {
            "turns": [
                bash(
                    answer_command(
                        "A minute at most", "concept: constraint | %s | 1 | 0.9 | a minute at most" % LIMIT
                    )
                )
            ],
            "default": {"text": "Interrupted."},
        }
    )
    second = sandbox.prompt("/memory:interview a minute at most", "--resume", first.session, plugins=PLUGIN)
    assert second.sent("An interview on .*billing exports.* is open")

    commands = [
        "memory interview resume --json",
        answer_command(
            "Plain CSV, because their spreadsheet reads it",
            "concept: decision | %s | 1 | 0.9 | Plain CSV" % FORMAT,
        ),
        answer_command("Nothing else, thanks."),
        "memory interview finish --confirm --json <<'END-7f3a9c'\n\nEND-7f3a9c",
    ]
    sandbox.set_script({"turns": [bash(command) for command in commands], "default": {"text": "Done."}})
    third = sandbox.prompt("/memory:interview go on where we were", plugins=PLUGIN)
    assert third.session != first.session
    answers = tool_results(third)
    assert [answer["content"] for answer in answers if answer.get("is_error")] == []
    assert '"reason": "asked"' in str(answers[2]["content"]) or '"reason":"asked"' in str(
        answers[2]["content"]
    )
    hooks_succeeded(sandbox, third)
    rows = memory(sandbox, "list")["memories"]
    assert {(row["title"], row["trust"]) for row in rows} == {
        (LIMIT, "pending"),
        (FORMAT, "pending"),
    }

    memory(sandbox, "accept", "--all")
    sandbox.set_script({"default": {"text": "Hello."}})
    turn = sandbox.prompt("Which file format do billing exports have, plain CSV?", plugins=PLUGIN)
    assert turn.sent("<memory-context>.*exports are plain CSV files")
    turn = sandbox.prompt("How many minutes may exports take to finish?", plugins=PLUGIN)
    assert turn.sent("<memory-catalog>.*exports finish within one minute")
