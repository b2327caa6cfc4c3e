"""What becomes of decision records and notes: what replaces what, what no longer holds, titles, dates, templates."""

from __future__ import annotations

import pytest

from memory_plugin.memories.importing import Reading, archive_replaced
from memory_plugin.memories.importing import read
from tests.project import Project

RECORD = "# %s\n\n## Status\n\n%s\n\n## Context\n\nIt was slow.\n\n## Decision\n\n%s\n"


def imported(project: Project, files: dict[str, str]) -> tuple[dict[str, str], Reading]:
    """Return title -> status of what the files become, and the reading."""
    for name, text in files.items():
        project.write("docs/" + name, text)
    reading = read(project.root + "/docs", root=project.root)
    archive_replaced(reading.drafts)
    return {draft.data["title"]: draft.data["record_status"] for draft in reading.drafts}, reading


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("Accepted\n\nAmended by 3: the earlier framing is\nsuperseded for this layer.", "active"),
        ("~~Accepted~~ Superseded by ADR-2", "archived"),
        ("Accepted\n\nSuperceded by [2. Use B](0002-b.md)", "archived"),
        ("Accepted\nsuperseded by 0002", "archived"),
        ("Accepted 2024-02-03; superseded 2025-01-01 by 0002", "archived"),
        ("Superseded by\n[ADR-2](2.md)", "archived"),
        ("| Rejected |", "archived"),
        ("Partially superseded by ADR-2", "active"),
        ("Proposed", "archived"),
        ("Proposed, then accepted in May", "active"),
        ("Approved", "active"),
        ("Accepted\n\n**Superseded by**: none", "active"),
    ],
)
def test_only_a_status_that_says_so_ends_a_record(project: Project, status: str, expected: str) -> None:
    found, _ = imported(project, {"0001-a.md": RECORD % ("1. Use the queue", status, "We use the queue.")})
    assert found == {"Use the queue": expected}


@pytest.mark.parametrize("name", ["status: rejected", "status: superseded by 0009", "superseded_by: 0009"])
def test_a_field_ends_a_note(project: Project, name: str) -> None:
    found, _ = imported(project, {"search.md": "---\n%s\ntags: [x]\n---\nThe search runs on Solr.\n" % name})
    assert list(found.values()) == ["archived"]


@pytest.mark.parametrize(
    "said",
    [
        "Accepted (supersedes ADR-024)",
        "Accepted\n\nSupersedes [24. Runners](ADR-024.md)",
        "Accepted\n\n* Supersedes: 0024",
        "Accepted\n\nReplaces [[ADR-024]]",
    ],
)
def test_a_record_replaces_what_it_names(project: Project, said: str) -> None:
    found, _ = imported(
        project,
        {
            "ADR-024.md": RECORD % ("ADR-024: Old runners", "Accepted", "We use ubuntu."),
            "ADR-055.md": RECORD % ("ADR-055: New runners", said, "We use arm64."),
        },
    )
    assert found == {"Old runners": "archived", "New runners": "active"}


def test_a_front_matter_list_names_what_is_replaced_but_a_proposal_replaces_nothing(project: Project) -> None:
    old = RECORD % ("1. Old way", "Accepted", "We use A.")
    for status, expected in (("accepted", "archived"), ("proposed", "active")):
        new = "---\nstatus: %s\nsupersedes: [0001]\n---\n" % status + RECORD % ("2. New way", "", "We use B.")
        found, _ = imported(project, {"0001-old.md": old, "0002-new.md": new})
        assert found["Old way"] == expected


@pytest.mark.parametrize(
    "said",
    [
        "Accepted\n\nSupersedes: None (extends ADR-024)",
        "Accepted. This replaces the prior ADR-024 statement on costs.",
        "Accepted\n\nAmends ADR-024",
    ],
)
def test_prose_about_another_record_replaces_nothing(project: Project, said: str) -> None:
    old = "---\nsuperseded-by: null\nsupersedes: []\n---\n" + RECORD % (
        "ADR-024: Old runners",
        "Accepted",
        "Ubuntu.",
    )
    new = (
        RECORD % ("ADR-055: New runners", said, "We use arm64.")
        + "\n## Notes\n\nIt replaces what ADR-024 said.\n"
    )
    found, _ = imported(project, {"ADR-024.md": old, "ADR-055.md": new})
    assert found == {"Old runners": "active", "New runners": "active"}


def test_a_numbered_record_is_one_memory_whatever_its_headings(project: Project) -> None:
    text = "# ADR-030: Skills come first\n\n## Discovery\n\n- Skills see all tools.\n\n## Phases\n\n- Prototype it.\n"
    more = (
        RECORD % ("ADR-031: Thin jobs", "Accepted", "Jobs are thin.")
        + "\n## Amendment\n\n### Decision\n\nData may be fat.\n"
    )
    found, _ = imported(project, {"ADR-030.md": text, "ADR-031.md": more})
    assert found == {"Skills come first": "active", "Thin jobs": "active"}


@pytest.mark.parametrize(
    ("name", "text", "title"),
    [
        ("Refunds go through the ledger.md", "---\ntags: [a]\n---\n## Summary\nOnce a day.\n", "Refunds go through the ledger"),
        ("x.md", "---\ntags: [a]\n---\n# Payouts run on Thursday\n\n## Summary\nx y z.\n", "Payouts run on Thursday"),
        ("a.md", "---\nid: 7\n---\n---\ntitle: Ports of staging\n---\nStaging listens on 8081.\n", "Ports of staging"),
        ("2026-05-01.md", "---\ntags: [daily]\n---\nThe broker was moved to Kafka.\n", "The broker was moved to Kafka"),
    ],
)  # fmt: skip
def test_a_note_is_one_memory_with_the_title_that_people_see(
    project: Project, name: str, text: str, title: str
) -> None:
    found, _ = imported(project, {name: text})
    assert list(found) == [title]


def test_a_record_has_its_own_date(project: Project) -> None:
    _, reading = imported(
        project, {"0001-a.md": "# 1. Use it\n\nDate: 2024-03-01\n" + RECORD[5:] % ("Accepted", "Yes, we do.")}
    )
    (draft,) = reading.drafts
    assert draft.data["created_at"] == draft.data["updated_at"] == "2024-03-01T00:00:00Z"
    assert "notes" not in draft.data["content"]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("adr-template.md", "1. Use it"),
        ("templates/adr.md", "1. Use it"),
        ("0000-x.md", "{short title of the problem}"),
        ("0000-x.md", "ADR-NNN: [Title]"),
        ("0000-x.md", "NUMBER. TITLE"),
    ],
)
def test_templates_are_left_out(project: Project, name: str, title: str) -> None:
    found, reading = imported(project, {name: RECORD % (title, "Proposed", "What is decided.")})
    assert (found, [why for _, why in reading.left_out]) == ({}, ["a template"])


def test_the_mark_of_a_table_of_contents_is_no_rule(project: Project) -> None:
    found, _ = imported(project, {"a.md": "[[_TOC_]]\n\n# Rules\n\n- Never push to the main branch.\n"})
    assert list(found) == ["Never push to the main branch"]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("accepted", "active"),
        ("rejected", "archived"),
        ("superseded by 3", "archived"),
        ("dropped", "archived"),
    ],
)
def test_a_record_of_a_status_and_an_outcome_is_one_memory(
    project: Project, status: str, expected: str
) -> None:
    text = "# Poll every minute\n\n- Status: %s\n- Date: 2025-03-03\n\n## Decision Outcome\n\nWe poll.\n"
    found, _ = imported(project, {"20250303-poll.md": text % status})
    assert found == {"Poll every minute": expected}


def test_each_entry_of_a_log_of_decisions_has_its_own_status(project: Project) -> None:
    text = "# Log\n\n## E-2 Own broker (2026-01-30)\n\n**Status:** accepted\n\nWe run it.\n"
    text += "\n## E-1 Voice control (2025-12-04)\n\n**Status:** rejected\n\nIt listens in the hall.\n"
    found, _ = imported(project, {"decisions.md": text})
    assert list(found.values()) == ["active", "archived"]
