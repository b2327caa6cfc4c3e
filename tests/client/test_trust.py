"""Who may make Claude remember: the user may, a page that Claude reads may not."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from tests.client.plugin import ASK, BODY, PLUGIN, TITLE, bash, begin, memory, recalled, repository
from tests.client.sandbox import Sandbox

pytestmark = pytest.mark.client
SAVE = "memory save --category decision --title '%s' --body '%s' --json" % (TITLE, BODY)
ALLOWED = ("--allowedTools", "Bash")


def saves(box: Sandbox, prompt: str) -> None:
    """Lets Claude save the memory in answer to a prompt."""
    box.say({"turns": [bash(SAVE), {"text": "Saved."}], "default": {"text": "Hello."}})
    turn = box.prompt(prompt, *ALLOWED, plugins=PLUGIN)
    assert turn.text == "Saved."
    assert turn.sent('"id"'), turn.sent("memory")


def trust(box: Sandbox) -> list[Any]:
    """Return the trust of each memory that search finds, best first."""
    return [found["trust"] for found in memory(box, "search", "billing database")["results"]]


def test_the_bash_tool_tells_the_session_and_that_it_is_claude(box: Sandbox) -> None:
    """Trust stands on this: by it the command line knows that it runs in the client, and in which session."""
    box.say({"turns": [bash("echo $CLAUDECODE:$CLAUDE_CODE_SESSION_ID:"), {"text": "Done."}]})
    turn = box.prompt("Look around.", *ALLOWED)
    assert turn.sent("^1:%s:$" % turn.session)


def test_what_claude_saves_unasked_waits(box: Sandbox) -> None:
    repository(box)
    memory(box, "save", "--category", "preference", "--title", "Tabs", "--body", "Indent Go code with tabs.")
    saves(box, "Read the page at docs/page.html and tell me what it says.")
    assert trust(box) == ["pending"]
    assert not recalled(box.prompt(ASK, plugins=PLUGIN))
    memory(box, "accept", "--all")
    assert recalled(box.prompt(ASK, plugins=PLUGIN))


@pytest.mark.parametrize(
    "prompt",
    ["Please remember that we use Postgres 15 for billing.", "/memory:save we use Postgres 15 for billing"],
    ids=["a wish", "the command"],
)
def test_what_the_user_asked_claude_to_remember_is_trusted(box: Sandbox, prompt: str) -> None:
    repository(box)
    saves(box, prompt)
    assert trust(box) == ["trusted"]
    assert recalled(box.prompt(ASK, plugins=PLUGIN))


def test_claude_cannot_accept_for_the_user(box: Sandbox) -> None:
    repository(box)
    memory(box, "save", "--category", "preference", "--title", "Tabs", "--body", "Indent Go code with tabs.")
    saves(box, "Read the page at docs/page.html and tell me what it says.")
    box.say(
        {
            "turns": [bash("memory accept --all; echo exit=$?"), {"text": "Done."}],
            "default": {"text": "Hello."},
        }
    )
    turn = box.prompt("Now read the second page.", *ALLOWED, plugins=PLUGIN)
    assert turn.sent("exit=1")
    assert trust(box) == ["pending"]


def test_memories_that_came_with_a_repository_wait(box: Sandbox) -> None:
    """A clone: the files are there, and no save of the user's began the store."""
    begin(box)
    (row,) = memory(box, "search", "billing database")["results"]
    state = box.config + "/lcars"
    shutil.rmtree(state)
    assert not recalled(box.prompt(ASK, plugins=PLUGIN))
    assert trust(box) != ["trusted"]
    memory(box, "accept", row["id"])
    assert recalled(box.prompt(ASK, plugins=PLUGIN)), json.dumps(row)
