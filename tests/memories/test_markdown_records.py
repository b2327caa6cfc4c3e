"""Decision records and runbooks: which documents are recognized, how their sections become fields, and which stay several memories."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.fastjson import loads
from memory_plugin.kernel.paths import data_path
from memory_plugin.memories.markdown import sections
from memory_plugin.memories.markdown_records import (
    WrittenRecord,
    is_over,
    phrases_in,
    questions_in,
    records_in,
)

NYGARD = """# 7. Use Postgres for billing

Date: 2024-03-01

## Status
Accepted

## Context
MySQL lost row locks. How do we keep invoice numbers unique? MariaDB was considered.

## Decision
Billing runs on Postgres 16.

## Consequences
One more database.
"""
MADR = """# Use MySQL

## Context and Problem Statement
Which database should billing use?

## Considered Options
* MySQL
* Oracle

## Decision Outcome
MySQL, since we know it.

### Consequences
* Good, since cheap

## Pros and Cons of the Options
### MySQL
Well known.
"""
RUNBOOK = """# Queue is stuck
## Symptoms
- `subscription locked` in the log
- "shop shows no sales"
## Cause
A dead extractor.
## Fix
1. kill it
2. restart it
"""
MANY = """# Decisions
## ADR-1: Use Redis
### Context
Cookies too large.
### Decision
Redis.
## ADR-2: Use S3
### Problem
Disk full.
### Solution
S3.
"""


def read(text: str) -> list[WrittenRecord]:
    return records_in(text, sections(text), "0009-from-the-file")


def test_nygard_s_template_is_one_decision() -> None:
    (record,) = read(NYGARD)
    assert (record.title, record.category, record.is_over) == ("Use Postgres for billing", "decision", False)
    assert record.fields["answer"] == "Billing runs on Postgres 16."
    assert record.fields["context"].startswith("MySQL lost row locks.")
    assert record.fields["notes"] == "Date: 2024-03-01"
    assert record.asked_as == ["How do we keep invoice numbers unique?"]


def test_madr_is_one_decision_with_its_options() -> None:
    (record,) = read(MADR)
    assert record.fields["alternatives"] == "* MySQL\n* Oracle\n\nMySQL: Well known."
    assert record.fields["consequences"] == "* Good, since cheap"
    assert record.asked_as == ["Which database should billing use?"]


def test_a_runbook_is_asked_for_by_its_symptoms() -> None:
    (record,) = read(RUNBOOK)
    assert (record.category, record.fields["answer"]) == ("runbook", "1. kill it\n2. restart it")
    assert record.asked_as == ["`subscription locked` in the log", "shop shows no sales"]


def test_a_file_of_records_is_one_memory_each() -> None:
    found = [(record.title, record.fields["answer"], record.fields["context"]) for record in read(MANY)]
    assert found == [("Use Redis", "Redis.", "Cookies too large."), ("Use S3", "S3.", "Disk full.")]


def test_a_record_without_a_title_is_named_by_its_file() -> None:
    (record,) = read("## Context\nx\n## Decision\ny\n")
    assert record.title == "from the file"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# Shop\n## Code style\nTabs.\n## Deploy\nrun a\n",
        "# A\n## Decision\nonly the answer\n",
        "# A\n## Context\nonly the problem\n",
        "# A\n## Context\nx\n## Context\ny\n## Decision\nz\n",
        "intro\n# A\n## One\n### Context\nx\n### Decision\ny\n## Style\nTabs.\n",
        "```\n## Context\n## Decision\n```\n",
    ],
    ids=["nothing", "notes", "no context", "no answer", "twice", "a record among notes", "code"],
)
def test_a_document_that_is_not_a_record_stays_sections(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize(
    "status", ["Superseded by [ADR 12](12.md)", "**Deprecated**", "rejected", "Ersetzt durch 12"]
)
def test_a_record_that_does_not_hold_any_more(status: str) -> None:
    assert is_over(status)
    assert read(NYGARD.replace("Accepted", status))[0].is_over


@pytest.mark.parametrize(
    "status", ["Accepted", "proposed", "", "Supersedes ADR 3", "Accepted, not deprecated"]
)
def test_a_record_that_is_still_valid(status: str) -> None:
    assert not is_over(status)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It fails. Why does it fail? Nobody knows.", ["Why does it fail?"]),
        ("Which port?\nWhich host?\nWhich port?", ["Which port?", "Which host?"]),
        (
            "\u306a\u305c\u30dd\u30fc\u30c8\u304c\u5fc5\u8981\u3067\u3059\u304b\uff1f",
            ["\u306a\u305c\u30dd\u30fc\u30c8\u304c\u5fc5\u8981\u3067\u3059\u304b\uff1f"],
        ),
        ("Why?", []),
        ("x" * 200 + "?", []),
        ("https://example.org/?a=1", []),
    ],
)
def test_questions(text: str, found: list[str]) -> None:
    assert questions_in(text) == found


def test_a_heading_means_one_field() -> None:
    with open(data_path("memories", "importing.json"), encoding="utf-8") as file:
        table = loads(file.read())
    assert isinstance(table, dict)
    headings = [heading for names in table["roles"].values() for heading in names]
    assert len(headings) == len(set(headings))
    assert all(heading == heading.lower().strip() for heading in headings)


PIECES = st.sampled_from(
    ["# A", "## Context", "## Decision", "### Fix", "## Symptoms", "## x", "text?", "- a line", "```", ""]
)


@given(st.lists(PIECES, max_size=12))
def test_any_document_is_read(lines: list[str]) -> None:
    text = "\n".join(lines)
    for record in read(text):
        assert record.fields["answer"]
        assert len(record.fields) > 1
        assert len(record.asked_as) <= 5


@given(st.text(max_size=200))
def test_any_text_gives_phrases(text: str) -> None:
    assert all(8 <= len(phrase) <= 160 for phrase in [*questions_in(text), *phrases_in(text)])
