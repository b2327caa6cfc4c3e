"""The skills in the real client: they reach Claude, and the commands they teach run without a question."""

from __future__ import annotations

import os
import re
import textwrap
from typing import Any

import pytest

from tests.client.plugin import PLUGIN, bash, begin, memory
from tests.client.sandbox import Sandbox
from tests.client.turn import Turn
from tests.project import PLUGIN_ROOT

pytestmark = pytest.mark.client
SKILLS = ["forget", "save", "search", "status"]
STRANGE = 'it\'s "quoted" $HOME `id` $(id) \\ \N{SNOWMAN}'


def taught(skill: str) -> list[str]:
    """The commands that a skill shows in full, and one of each sort that it allows."""
    with open(os.path.join(PLUGIN_ROOT, "skills", skill, "SKILL.md"), encoding="utf-8") as file:
        text = file.read()
    shown = [
        textwrap.dedent(block).strip()
        for block in re.findall(r"^ *```sh\n(.*?)```", text, re.DOTALL | re.MULTILINE)
    ]
    return shown + [words + " --help" for words in re.findall(r"Bash\((memory \w+):\*\)", text)]


def results(turn: Turn) -> list[dict[str, Any]]:
    """The results of Claude's tool calls, in their order."""
    contents = [message["content"] for message in turn.of_kind("main")[-1].messages]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return [block for block in blocks if block["type"] == "tool_result"]


def asked(answer: dict[str, Any]) -> bool:
    """Whether the client would have asked the user before running the command."""
    return bool(re.search("permission|approval|blocked", str(answer["content"])))


@pytest.mark.parametrize("skill", SKILLS)
def test_what_the_user_typed_reaches_claude_as_it_is(box: Sandbox, skill: str) -> None:
    turn = begin(box).prompt("/memory:%s %s" % (skill, STRANGE), plugins=PLUGIN)
    assert turn.text == "Hello."
    assert "memory:" + skill in turn.init["slash_commands"]
    if skill != "status":
        assert turn.sent(re.escape(STRANGE))
    assert not turn.sent("uid=")


@pytest.mark.parametrize("skill", SKILLS)
def test_the_commands_that_a_skill_teaches_run_without_a_question(box: Sandbox, skill: str) -> None:
    commands = taught(skill)
    assert commands
    begin(box).say({"turns": [bash(command) for command in commands], "default": {"text": "Done."}})
    turn = box.prompt("/memory:%s billing database" % skill, plugins=PLUGIN)
    assert turn.text == "Done."
    answers = results(turn)
    assert len(answers) == len(commands)
    assert [answer["content"] for answer in answers if asked(answer)] == []


def test_another_command_is_asked_for(box: Sandbox) -> None:
    begin(box).say({"turns": [bash("touch x")], "default": {"text": "Done."}})
    (answer,) = results(box.prompt("/memory:search billing database", plugins=PLUGIN))
    assert asked(answer)


def test_search_finds(box: Sandbox) -> None:
    begin(box).say(
        {"turns": [bash("memory search 'billing database' --limit 10")], "default": {"text": "Done."}}
    )
    turn = box.prompt("/memory:search billing database", plugins=PLUGIN)
    (answer,) = results(turn)
    assert "Use Postgres for the billing database" in str(answer["content"])


def test_save_by_the_users_command_keeps_text_to_the_letter(box: Sandbox) -> None:
    body = 'Say "it\'s" with $HOME, `id`, $(id) and \\n as they are.'
    command = (
        "memory save --category preference --title 'Strange text' --body - <<'END-7f3a9c'\n%s\nEND-7f3a9c"
        % body
    )
    begin(box).say({"turns": [bash(command)], "default": {"text": "Done."}})
    (answer,) = results(box.prompt("/memory:save the strange text", plugins=PLUGIN))
    assert not answer.get("is_error"), answer["content"]
    (found,) = [row for row in memory(box, "list")["memories"] if row["title"] == "Strange text"]
    assert found["trust"] == "trusted"
    assert memory(box, "show", found["id"])["content"] == {"value": body}
