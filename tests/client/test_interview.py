"""An interview in the real client: three turns, broken off and resumed in another session, two memories that the next prompt recalls."""

from __future__ import annotations

import pytest

from tests.client.plugin import PLUGIN, bash, hooks_went_well, memory, repository
from tests.client.sandbox import Sandbox
from tests.client.test_skills import results

pytestmark = pytest.mark.client
LIMIT = "exports finish within one minute"
FORMAT = "exports are plain CSV files"


def said(answer: str, *lines: str) -> str:
    """Return the command that hands an answer over."""
    return "memory interview answer --json <<'END-7f3a9c'\n%s\nEND-7f3a9c" % "\n".join(
        ["answer: " + answer, *lines]
    )


def test_three_turns_broken_off_and_resumed_end_in_two_memories(box: Sandbox) -> None:
    repository(box)
    start = bash("memory interview start 'billing exports' --json")
    box.say({"turns": [start, {"text": "How long may it take?"}], "default": {"text": "Done."}})
    first = box.prompt("/memory:interview billing exports", plugins=PLUGIN)
    assert first.text == "How long may it take?"
    box.say(
        {
            "turns": [
                bash(
                    said("A minute at most", "concept: constraint | %s | 1 | 0.9 | a minute at most" % LIMIT)
                )
            ],
            "default": {"text": "Broken off."},
        }
    )
    second = box.prompt("/memory:interview a minute at most", "--resume", first.session, plugins=PLUGIN)
    assert second.sent("An interview on .*billing exports.* is open")

    commands = [
        "memory interview resume --json",
        said(
            "Plain CSV, because their spreadsheet reads it",
            "concept: decision | %s | 1 | 0.9 | Plain CSV" % FORMAT,
        ),
        said("Nothing else, thanks."),
        "memory interview finish --confirm --json <<'END-7f3a9c'\n\nEND-7f3a9c",
    ]
    box.say({"turns": [bash(command) for command in commands], "default": {"text": "Done."}})
    third = box.prompt("/memory:interview go on where we were", plugins=PLUGIN)
    assert third.session != first.session
    answers = results(third)
    assert [answer["content"] for answer in answers if answer.get("is_error")] == []
    assert '"reason": "asked"' in str(answers[2]["content"]) or '"reason":"asked"' in str(
        answers[2]["content"]
    )
    hooks_went_well(box, third)
    rows = memory(box, "list")["memories"]
    assert {(row["title"], row["trust"]) for row in rows} == {
        (LIMIT, "trusted"),
        (FORMAT, "trusted"),
    }

    box.say({"default": {"text": "Hello."}})
    asked = box.prompt("Which file format do billing exports have, plain CSV?", plugins=PLUGIN)
    assert asked.sent("<memory-context>.*exports are plain CSV files")
    asked = box.prompt("How many minutes may exports take to finish?", plugins=PLUGIN)
    assert asked.sent("<memory-catalog>.*exports finish within one minute")
