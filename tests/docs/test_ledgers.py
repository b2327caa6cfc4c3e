"""The fields that docs/ledgers.md lists are written."""

from __future__ import annotations

import re

from tests.docs.pages import page, section
from tests.project import Project

TEXT = page("docs/ledgers.md")
TITLE, BODY = (
    "Use Postgres for the billing database",
    "The billing service stores its invoices in Postgres 15.",
)
ASK = "Which database do we use for the billing service?"


def fields(heading: str) -> set[str]:
    """Return the fields in the first column of a section's table."""
    heads = re.findall(r"^\| (`[^|]+) \|", section(TEXT, heading), re.MULTILINE)
    return {name for head in heads for name in re.findall(r"`(\w+)`", head)}


def fields_of_hooks(project: Project) -> tuple[set[str], set[str]]:
    """Run hooks on prompts, session starts, a guarded call and a bad event; return the fields of recalls and events."""
    project.save(TITLE, BODY)
    project.prompt(ASK)
    project.prompt("ok")
    project.prompt("Write a short poem about the sea, please.")
    project.cli("config", "set", "ledger.keep_text", '["prompts"]')
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
    """Run a judged prompt; return the fields of its recall and of the judge calls."""
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
    named = re.findall(
        r"`(\w+)`", section(TEXT, "recalls.jsonl").partition("| `judge` |")[2].partition("\n")[0]
    )
    assert set(named) <= set(row["judge"])
    return set(row), {name for call in project.ledger("judge-calls") for name in call}


def test_the_fields_on_the_page_are_written(project: Project) -> None:
    recalls, events = fields_of_hooks(project)
    common = fields("Fields of every record")
    assert fields("recalls.jsonl") <= recalls | {"judge"}
    assert common <= recalls & events


def test_the_fields_of_judge_calls_on_the_page_are_written(project: Project) -> None:
    recalls, calls = fields_of_judged_prompt(project)
    assert "judge" in recalls
    assert fields("judge-calls.jsonl") <= calls


def test_the_columns_of_the_programs_are_fields_on_the_page() -> None:
    duckdb = page("docs/large.md").partition("columns = {")[2].partition("}")[0]
    columns = set(re.findall(r"(\w+): '", duckdb))
    assert len(columns) > 5
    assert columns <= fields("recalls.jsonl") | fields("Fields of every record")
