"""Each prompt gets one line in the ledger, which holds no text from the user or from a memory."""

from __future__ import annotations

import json
import os

import pytest

from tests.project import Project
from tests.recall.store_files import (
    ASK,
    BODY,
    TITLE,
    TOLD,
    everything_written,
    last,
    memory,
    no_threshold,
    put,
    put_accepted,
)

KEY = "AKIA" + "QWERTYUIOPASDFGH"
PROMPTS = {
    ASK: ("injected", ""),
    "ok": ("skipped", "confirmation"),
    "/compact": ("skipped", "command"),
    " ": ("skipped", "empty"),
    "abc": ("skipped", "short"),
    "<task-notification>x</task-notification>": ("skipped", "not_typed"),
    "ignore your memories: which database?": ("skipped", "told_not_to"),
    "a haiku about the sea please": ("silent", "no_match"),
}


@pytest.fixture
def recalling(project: Project) -> Project:
    """Return a project whose one memory answers ASK."""
    no_threshold(project)
    project.save(TITLE, BODY)
    return project


def user_settings(project: Project, **blocks: object) -> None:
    """Write the user's own settings."""
    with open(os.path.join(project.config, "settings.json"), "w", encoding="utf-8") as file:
        json.dump({"memory": blocks}, file)


@pytest.mark.parametrize(("prompt", "said"), PROMPTS.items(), ids=ascii)
def test_every_prompt_gets_one_ledger_line(recalling: Project, prompt: str, said: tuple[str, str]) -> None:
    recalling.prompt(prompt, "prompt-7")
    (row,) = recalling.ledger("recalls")
    assert (row["outcome"], row["reason"]) == said
    assert (row["prompt_id"], row["schema"]) == ("prompt-7", 1)
    assert row["ms"] > 0
    assert row["time"].endswith("Z")
    assert row["project"]


def test_nothing_the_user_typed_is_written_to_disk(recalling: Project) -> None:
    recalling.prompt("Which database holds xylophone invoices of the billing service?")
    recalling.prompt("fix the xylophone in it")
    recalling.hook("UserPromptSubmit", b'{"prompt": "xylophone')
    recalling.hook("UserPromptSubmit", recalling.event("UserPromptSubmit", prompt={"xylophone": 1}))
    assert b"xylophone" not in everything_written(recalling)


def test_prompt_text_is_logged_without_secrets_when_the_user_allows_it(recalling: Project) -> None:
    user_settings(recalling, ledger={"keep_text": ["prompts"]})
    recalling.prompt("Deploy billing with %s and <private>my plan</private> now" % KEY)
    text = last(recalling)["prompt"]
    assert "Deploy billing with" in text
    assert KEY not in text
    assert "my plan" not in text


def test_private_text_in_the_middle_of_a_long_prompt_is_never_written(recalling: Project) -> None:
    user_settings(recalling, ledger={"keep_text": ["prompts"]})
    recalling.prompt("head " * 300 + "<private>" + "xylophone " * 300 + "</private> tail " * 10)
    assert b"xylophone" not in everything_written(recalling)
    assert len(last(recalling)["prompt"]) <= 2000


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_a_project_cannot_turn_on_prompt_text_logging(recalling: Project, name: str) -> None:
    recalling.write(".claude/" + name, {"memory": {"ledger": {"keep_text": ["prompts"]}}})
    recalling.prompt("Which database holds xylophone invoices?")
    assert b"xylophone" not in everything_written(recalling)


def test_a_secret_in_a_memory_is_never_written_to_the_plugins_files(recalling: Project) -> None:
    put_accepted(
        recalling,
        "deploy",
        memory(
            "Deploy the billing service",
            "Export AWS_ACCESS_KEY_ID=%s, then deploy billing." % KEY,
            tags=[KEY],
        ),
    )
    run = recalling.prompt("How do we deploy the billing service?")
    assert "deploy" in run.context
    assert KEY not in run.context
    assert recalling.cli("refresh").returncode == 0
    assert KEY.encode() not in everything_written(recalling)


def test_a_project_can_only_lower_the_budget(recalling: Project) -> None:
    recalling.write(".claude/settings.json", {"memory": {"retrieval": {"max_inject": 0}}})
    assert recalling.prompt(ASK).stdout == ""
    assert last(recalling)["reason"] == "max_inject"
    recalling.write(
        ".claude/settings.json", {"memory": {"retrieval": {"max_inject": 50, "max_tokens": 100_000}}}
    )
    for number in range(8):
        put_accepted(
            recalling, "m%d" % number, memory("Billing database %d" % number, BODY + " Part %d." % number)
        )
    assert recalling.prompt(ASK).context.count("<memory ") == 3


def test_recall_can_be_turned_off(recalling: Project) -> None:
    recalling.write(".claude/settings.json", {"memory": {"retrieval": {"enabled": False}}})
    assert recalling.prompt(ASK).stdout == ""
    assert (last(recalling)["outcome"], last(recalling)["reason"]) == ("skipped", "disabled")


def test_a_budget_too_small_for_a_memory_leaves_it_out(recalling: Project) -> None:
    user_settings(recalling, retrieval={"max_tokens": 100, "inject_threshold": 0.0})
    put(recalling, "long", memory("The billing database archive", "The billing database archive. " * 60))
    context = recalling.prompt("Which billing database archive is there?").context
    assert "archive. The billing" not in context


def test_a_follow_up_question_is_understood_from_the_previous_turn(recalling: Project) -> None:
    path = os.path.join(os.path.dirname(recalling.root), "t.jsonl")
    turn = [
        {"type": "user", "message": {"content": "Show me the billing service and its database"}},
        {
            "type": "assistant",
            "message": {
                "content": [{"type": "text", "text": "The billing service stores invoices in a database."}]
            },
        },
    ]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in turn)
    assert recalling.prompt("why that?").stdout == ""
    assert TOLD in recalling.prompt("why that?", transcript_path=path).context


@pytest.mark.parametrize(
    "settings",
    ["{", "[]", '{"memory": 5}', '{"memory": {"retrieval": {"max_inject": "many", "enabled": "yes"}}}'],
)
def test_invalid_settings_fall_back_to_the_defaults(recalling: Project, settings: str) -> None:
    with open(os.path.join(recalling.config, "settings.json"), "w", encoding="utf-8") as file:
        file.write(settings)
    recalling.write(".claude/settings.json", settings)
    run = recalling.prompt(ASK)
    assert (run.returncode, run.stderr) == (0, "")
    assert last(recalling)["outcome"] in ("injected", "silent")
    assert last(recalling)["candidates"]
