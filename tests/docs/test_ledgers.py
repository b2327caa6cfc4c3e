"""docs/ledgers.md lists the fields that are written, the reasons that recall gives, and both as columns of a table."""

from __future__ import annotations

import json
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


def fields_of_hooks(project: Project) -> tuple[set[str], set[str]]:
    """Run hooks on prompts, session starts, a guarded call and a bad event; return the fields of recalls and events."""
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


def fields_of_judged_prompt(project: Project) -> tuple[set[str], set[str]]:
    """Run a judged prompt; return the fields of its recall and of the judge calls. The page must name each part of `judge`."""
    project.save(TITLE, BODY)
    retrieval = {"judge": {"when": "always"}}
    project.write_settings(retrieval=retrieval, judge={"backend": "scripted"})
    project.script_judge(
        {"rubric": "relevance", "text": '{"relevant": [0]}'},
        {"rubric": "usefulness", "text": '{"useful": [0]}'},
    )
    project.prompt(ASK)
    (row,) = project.ledger("recalls")
    assert row["judge"]["path"] == "judged"
    text = section(TEXT, "recalls.jsonl")
    assert [name for name in row["judge"] if "`%s`" % name not in text] == []
    return set(row), {name for call in project.ledger("judge-calls") for name in call}


def test_the_page_lists_the_fields_of_judged_prompts(project: Project) -> None:
    recalls, calls = fields_of_judged_prompt(project)
    assert recalls <= {*COMMON, *fields("recalls.jsonl")}
    assert calls == {*COMMON, *fields("judge-calls.jsonl")}


def test_the_page_lists_the_fields_that_hooks_write(project: Project) -> None:
    recalls, events = fields_of_hooks(project)
    assert recalls | {"judge"} == {*COMMON, *fields("recalls.jsonl")}
    assert events == {*COMMON, *fields("events.jsonl")}


@pytest.mark.parametrize("ledger", ["recalls.jsonl", "judge-calls.jsonl", "events.jsonl"])
def test_an_example_has_only_documented_fields(ledger: str) -> None:
    (example,) = fences(section(TEXT, ledger), "json")
    assert set(json.loads(example.text)) <= {*COMMON, *fields(ledger)}


def test_the_page_lists_the_reasons_that_recall_gives() -> None:
    table = section(TEXT, "recalls.jsonl").partition("\n| reason |")[2]
    assert dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", table, re.MULTILINE)) == REASONS


@pytest.mark.parametrize("engine", ["DuckDB", "ClickHouse"])
def test_the_columns_of_the_table_are_the_fields(engine: str) -> None:
    """They have the page's order. The prompt's text has no column, because few people record it."""
    (create, *_) = fences(section(TEXT, engine), "sql")[0].text.split(";")
    inner = re.sub(r"(STRUCT|Tuple|Nested)\([^)]*\)", "String", create)
    columns = re.findall(r"(?:^|[\s{(,])(\w+)(?:: '| (?:Array|U?Int|DateTime|String|LowC|Float))", inner)
    documented = [*COMMON, *fields("recalls.jsonl")]
    assert [name for name in columns if name != "columns"] == [name for name in documented if name in columns]
    assert set(documented) - set(columns) == {"prompt"}
