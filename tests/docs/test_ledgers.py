"""docs/ledgers.md: its fields are those that hooks write, its reasons those that recall gives, its columns those fields."""

from __future__ import annotations

import json
import os
import re

import pytest

from memory_plugin.recall.explain import REASONS
from tests.docs.pages import fences, first_column, page, section
from tests.project import Project

TEXT = page("docs/ledgers.md")
COMMON = first_column(section(TEXT, "Fields of every record"))
TITLE, BODY = (
    "Use Postgres for the billing database",
    "The billing service stores its invoices in Postgres 15.",
)
ASK = "Which database do we use for the billing service?"


def fields(ledger: str) -> list[str]:
    """Return the fields in the first table of a ledger's section."""
    return first_column(section(TEXT, ledger).partition("\n| reason |")[0])


def rows(project: Project) -> tuple[set[str], set[str]]:
    """Return the fields of everything that hooks write: prompts, one with its text, starts, a guard, and a bad event."""
    project.save(TITLE, BODY)
    project.prompt(ASK)
    project.prompt("ok")
    project.prompt("Write a short poem about the sea, please.")
    project.cli("config", "set", "ledger.prompt_text", "true")
    project.prompt(ASK)
    project.hook("UserPromptSubmit", b"no json")
    project.save("Never push", "Ask first.", "--guard-command", "git push")
    push = {"tool_name": "Bash", "tool_input": {"command": "git push"}, "tool_use_id": "t1"}
    project.hook("PreToolUse", project.event("PreToolUse", **push))
    project.start()
    project.save("Short answers", "One paragraph.", category="preference")
    project.hook("SubagentStart", project.event("SubagentStart", agent_id="a1", agent_type="general-purpose"))
    recalls, events = project.ledger("recalls"), project.ledger("events")
    assert {row["outcome"] for row in recalls} == {"injected", "listed", "silent", "skipped", "reminded"}
    return {name for row in recalls for name in row}, {name for row in events for name in row}


def judged(project: Project) -> tuple[set[str], set[str]]:
    """Return the fields of a judged prompt and of the calls, after checking that the page names everything in the field `judge`."""
    project.save(TITLE, BODY)
    retrieval = {"judge": {"when": "always"}}
    own = {"memory": {"retrieval": retrieval, "judge": {"backend": "scripted"}}}
    with open(os.path.join(project.config, "settings.json"), "w", encoding="utf-8") as file:
        json.dump(own, file)
    os.makedirs(os.path.join(project.state, "judge"))
    replies = [
        {"rubric": "relevance", "text": '{"relevant": [0]}'},
        {"rubric": "usefulness", "text": '{"useful": [0]}'},
    ]
    with open(os.path.join(project.state, "judge", "script.json"), "w", encoding="utf-8") as file:
        json.dump({"replies": replies}, file)
    project.prompt(ASK)
    (row,) = project.ledger("recalls")
    assert row["judge"]["path"] == "judged"
    told = section(TEXT, "recalls.jsonl")
    assert [name for name in row["judge"] if "`%s`" % name not in told] == []
    return set(row), {name for call in project.ledger("judge-calls") for name in call}


def test_the_fields_of_judges_are_those_that_are_written(project: Project) -> None:
    recalls, calls = judged(project)
    assert recalls <= {*COMMON, *fields("recalls.jsonl")}
    assert calls == {*COMMON, *fields("judge-calls.jsonl")}


def test_the_fields_are_those_that_are_written(project: Project) -> None:
    recalls, events = rows(project)
    assert recalls | {"judge"} == {*COMMON, *fields("recalls.jsonl")}
    assert events == {*COMMON, *fields("events.jsonl")}


@pytest.mark.parametrize("ledger", ["recalls.jsonl", "judge-calls.jsonl", "events.jsonl"])
def test_the_example_holds_documented_fields_only(ledger: str) -> None:
    (example,) = fences(section(TEXT, ledger), "json")
    assert set(json.loads(example.text)) <= {*COMMON, *fields(ledger)}


def test_the_reasons_are_those_that_recall_gives() -> None:
    table = section(TEXT, "recalls.jsonl").partition("\n| reason |")[2]
    assert dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", table, re.MULTILINE)) == REASONS


@pytest.mark.parametrize("engine", ["DuckDB", "ClickHouse"])
def test_the_columns_are_the_fields(engine: str) -> None:
    """In the order of the table; the prompt's text is left to who keeps it."""
    (create, *_) = fences(section(TEXT, engine), "sql")[0].text.split(";")
    inner = re.sub(r"(STRUCT|Tuple|Nested)\([^)]*\)", "String", create)
    columns = re.findall(r"(?:^|[\s{(,])(\w+)(?:: '| (?:Array|U?Int|DateTime|String|LowC|Float))", inner)
    told = [*COMMON, *fields("recalls.jsonl")]
    assert [name for name in columns if name != "columns"] == [name for name in told if name in columns]
    assert set(told) - set(columns) == {"prompt"}
