"""Decision records and runbooks in Markdown: their templates, languages and forms, and documents that are none."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory_plugin.kernel.fastjson import as_object, loads
from memory_plugin.kernel.paths import data_path
from memory_plugin.memories.import_documents import document_entries
from memory_plugin.memories.import_facts import Reading
from memory_plugin.memories.markdown import role_of

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


FRENCH = """# 3. Utiliser Knex

## Statut
2020-03-25 accepted
## Contexte et énoncé du problème
Quel outil ?
## Options envisagées
- un ORM
## Résultat de la décision
Knex.
### Conséquences positives
- rapide
### Conséquences négatives
- SQL à connaître
"""
IN_BOLD = """# Troubleshooting
Look here first.

## Login loops
**Symptom:** the page reloads.

**Cause:** two cookies.

**Fix:**

1. clear both

## ADR-2 \u00b7 Cookies stay
- **Status**: Accepted
- **Context.** Sessions are lost.
- **Decision**: One cookie.

## Notes
**Important:** nothing **Decision:** here.
"""


class Record(NamedTuple):
    """What was read of a record: `fields` are its texts, `answer` the main one."""

    title: str
    category: str
    fields: dict[str, str]
    line: int


def read(text: str) -> list[Record]:
    """Return the records of a document: the entries that have a field beside the answer."""
    entries = document_entries("from-the-file.md", text, Reading([], [], []))
    rows = [(entry, as_object(entry.item)) for entry in entries if entry.more]
    return [
        Record(
            str(item["title"]),
            entry.category,
            {**(entry.more or {}), "answer": str(item["body"])},
            int(entry.source.rpartition(":")[2]),
        )
        for entry, item in rows
    ]


def test_nygard_s_template_is_one_decision() -> None:
    (record,) = read(NYGARD)
    assert (record.title, record.category, record.line) == ("Use Postgres for billing", "decision", 1)
    assert record.fields["answer"] == "Billing runs on Postgres 16."
    assert record.fields["context"].startswith("MySQL lost row locks.")
    assert "notes" not in record.fields


def test_madr_is_one_decision_with_its_options() -> None:
    (record,) = read(MADR)
    assert record.fields["alternatives"] == "* MySQL\n* Oracle\n\nMySQL: Well known."
    assert record.fields["consequences"] == "* Good, since cheap"


def test_other_languages_have_records_too() -> None:
    (record,) = read(FRENCH)
    assert (record.title, record.fields["answer"]) == ("Utiliser Knex", "Knex.")
    assert (record.fields["context"], record.fields["alternatives"]) == ("Quel outil ?", "- un ORM")
    assert record.fields["consequences"] == "- rapide\n\nConséquences négatives:\n- SQL à connaître"


def test_fields_may_be_named_in_bold_and_other_sections_stay() -> None:
    records = read(IN_BOLD)
    assert [(record.title, record.category, record.line) for record in records] == [
        ("Login loops", "runbook", 4),
        ("Cookies stay", "decision", 13),
    ]
    assert records[0].fields == {
        "symptoms": "the page reloads.",
        "root_cause": "two cookies.",
        "answer": "1. clear both",
    }
    assert records[1].fields == {
        "status": "Accepted",
        "context": "Sessions are lost.",
        "answer": "One cookie.",
    }
    entries = document_entries("from-the-file.md", IN_BOLD, Reading([], [], []))
    assert [entry.source for entry in entries if not entry.more] == ["from-the-file.md:18"]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("# Mail queues\n## Context\nSlow mails.\n## Decision\n### Queue\nRedis.\n", "Queue: Redis."),
        ("# Mail queues\n## Background\nSlow mails.\n## Proposal\nRedis.\n", "Redis."),
    ],
    ids=[
        "only parts of a decision",
        "proposal",
    ],
)
def test_a_record_may_lack_the_heading_of_its_decision(text: str, answer: str) -> None:
    (record,) = read(text)
    assert (record.title, record.fields["answer"]) == ("Mail queues", answer)


def test_the_steps_of_a_runbook_are_its_answer() -> None:
    (record,) = read(RUNBOOK)
    assert (record.category, record.fields["answer"]) == ("runbook", "1. kill it\n2. restart it")


def test_a_file_of_records_is_one_memory_each() -> None:
    found = [(record.title, record.fields["answer"], record.fields["context"]) for record in read(MANY)]
    assert found == [("Use Redis", "Redis.", "Cookies too large."), ("Use S3", "S3.", "Disk full.")]


def test_a_record_without_a_title_is_named_by_its_file() -> None:
    (record,) = read("## Context\nx\n## Decision\ny\n")
    assert record.title == "from the file"


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("ADR-012: Use Redis", "Use Redis"),
        ("3 - Use CoAP", "Use CoAP"),
        ("2 databases are enough", "2 databases are enough"),
        ("ADR 7", "We use a queue"),
        ("12", "We use a queue"),
        ("5. use-a-queue", "use a queue"),
        ("ADR-5 \u00b7 Use Redis", "Use Redis"),
        ("QueueIsFull", "QueueIsFull: We use a queue"),
    ],
)
def test_the_number_of_a_record_is_no_title(heading: str, title: str) -> None:
    (record,) = read("# %s\n## Context\nx\n## Decision\nWe use a queue.\n" % heading)
    assert record.title == title


def test_a_document_that_is_not_a_record_stays_sections() -> None:
    cases = [
        "",
        "# Shop\n## Code style\nTabs.\n## Deploy\nrun a\n",
        "# A\n## Decision\nonly the answer\n",
        "# A\n## Context\nonly the problem\n",
        "# A\n## Status\nbeta\n## Background\nx\n## Usage\nrun a\n",
        "```\n## Context\n## Decision\n```\n",
    ]
    assert [text for text in cases if read(text) != []] == []


def test_a_heading_means_one_field() -> None:
    with open(data_path("memories", "importing.json"), encoding="utf-8") as file:
        table = loads(file.read())
    assert isinstance(table, dict)
    headings = [heading for names in table["roles"].values() for heading in names]
    assert len(headings) == len(set(headings))
    assert all(heading == heading.lower().strip() for heading in headings)


@pytest.mark.parametrize(
    ("heading", "role"),
    [
        ("Vurderte alternativer", "alternatives"),
        ("Verworfene Alternativen", "alternatives"),
        ("Alternatives we looked at", "alternatives"),
        ("Why not 2 or 3?", "alternatives"),
        ("Options that we considered", "alternatives"),
        ("Beslutning", "answer"),
        ("Bakgrunn og problem", "context"),
        ("Contesto e problema", "context"),
        ("Criteri della decisione", "rationale"),
        ("Reasons for the decision", "rationale"),
        ("Decision and its consequences", "answer"),
        ("Negative consequences of the decision", "consequences"),
        ("Option 2", ""),
        ("Configuration options", ""),
        ("Status codes", ""),
        ("Problem reports", ""),
        ("The", ""),
    ],
)
def test_a_heading_means_a_field_by_the_beginnings_of_its_words(heading: str, role: str) -> None:
    assert role_of(heading) == role


PIECES = st.sampled_from(
    ["# A", "## Context", "## Decision", "### Fix", "## Symptoms", "## x", "text?", "- a line", "```", ""]
)


@given(st.lists(PIECES, max_size=12))
@example(["## Context", "### Fix", "text?"])
def test_any_document_is_read(lines: list[str]) -> None:
    text = "\n".join(lines)
    for record in read(text):
        assert record.fields["answer"]
        assert len(record.fields) > 1
