"""What becomes of decision records and notes: what replaces what, what no longer holds, titles, dates, templates."""

from __future__ import annotations

import pytest

from tests.memories.conftest import imported
from tests.project import Project

RECORD = "# %s\n\n## Status\n\n%s\n\n## Context\n\nIt was slow.\n\n## Decision\n\n%s\n"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("~~Accepted~~ Superseded by ADR-2", "archived"),
        ("Accepted\n\nSuperceded by [2. Use B](0002-b.md)", "archived"),
        ("Accepted\nsuperseded by 0002", "archived"),
        ("Accepted 2024-02-03; superseded 2025-01-01 by 0002", "archived"),
        ("Superseded by\n[ADR-2](2.md)", "archived"),
        ("| Rejected |", "archived"),
        ("Depreciated.", "archived"),
        ("Partially superseded by ADR-2", "active"),
        ("Proposed", "archived"),
        ("Proposed, then accepted in May", "active"),
        ("On hold", "archived"),
        ("Approved", "active"),
        ("Accepted\n\n**Superseded by**: none", "active"),
    ],
)
def test_only_a_status_that_says_so_ends_a_record(project: Project, status: str, expected: str) -> None:
    found, _ = imported(project, {"0001-a.md": RECORD % ("1. Use the queue", status, "We use the queue.")})
    assert found == {"Use the queue": expected}


@pytest.mark.parametrize(
    "name",
    [
        "status: rejected",
        "status: superseded by 0009",
        "superseded_by: 0009",
        "status:\n  - superseded\n  - ADR-9",
    ],
)
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
        "Accepted, replaces #24",
        "Accepted; supersedes ADRs 20 and 24",
        "Accepted; supersedes ADR-19, 20 and 24",
        "Angenommen, ersetzt ADR-24",
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


@pytest.mark.parametrize(
    ("said", "first", "expected"),
    [
        ("[ADR-24](0024-gas-boiler.md)", "Accepted", ["archived", "active", ""]),
        ("ADR-24", "Superseded by ADR-25", ["archived", "active", ""]),
        ("ADR-24", "Accepted", ["active", "active", "perhaps over: a later record is called Heat with wood"]),
    ],
    ids=["a link", "its own status", "nothing but the number"],
)
def test_of_two_records_with_one_number_the_named_one_is_replaced(
    project: Project, said: str, first: str, expected: list[str]
) -> None:
    files = {
        "0024-gas-boiler.md": RECORD % ("24. Gas boiler", first, "Gas."),
        "0024-oil-lamps.md": RECORD % ("24. Oil lamps", "Accepted", "Oil."),
        "0025-wood.md": RECORD % ("25. Heat with wood", "Accepted. Supersedes %s." % said, "Wood."),
    }
    found, reading = imported(project, files)
    doubts = [str(draft.data["content"]["status"]).partition("\n")[2] for draft in reading.drafts[:2]]
    assert [found["Gas boiler"], found["Oil lamps"], doubts[0]] == expected
    assert doubts[0] == doubts[1]


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
        "Accepted\n\n- **ADR-024** Old runners, replaces ADR-003",
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
        ("2026-05-01-broker.md", "---\ntags: [a]\n---\nThe broker was moved to Kafka.\n", "The broker was moved to Kafka"),
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
        ("ISSUE-TEMPLATE-BUG.md", "1. Use it"),
    ],
)
def test_templates_are_left_out(project: Project, name: str, title: str) -> None:
    found, reading = imported(project, {name: RECORD % (title, "Proposed", "What is decided.")})
    assert (found, [why for _, why in reading.left_out]) == ({}, ["a template"])


def test_rules_about_security_are_rules_and_a_security_policy_is_none(project: Project) -> None:
    texts = {
        "docs/SECURITY.md": "# Security\n\n- Never log a token of a user.\n",
        "SECURITY.md": "# Security Policy\n\n- Never file a public issue about a hole.\n",
    }
    found, reading = imported(project, texts)
    assert list(found) == ["Never log a token of a user"]
    assert [path.rpartition("/")[2] for path, _ in reading.left_out] == ["SECURITY.md"]


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
    text = "# Log\n\nNew ones come first.\n\n## E-2 Own broker (2026-01-30)\n\n**Status:** accepted\n\nWe run it.\n"
    text += "\n## E-1 Voice control (2025-12-04)\n\n**Status:** rejected\n\nIt listens in the hall.\n"
    text += "\n## Template\n\n**Status:** open | accepted\n\nTwo sentences, what and why.\n"
    found, _ = imported(project, {"decisions.md": text})
    assert list(found.values()) == ["active", "archived"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.mdc", "---\ndescription: '[DEPRECATED] Redux'\n---\n# Redux\n\n- Always write one slice for a folder.\n"),
        ("a.md", "# Old rules\n\n> **Deprecated**: see b.md\n\n- Always write one slice for a folder.\n"),
        ("a.md", "---\nsource: https://x.test/a\npublished: 2026-01-01\n---\nWe moved to Kafka and were happy.\n"),
        ("Journal/2026-02-03.md", "# A day\n\n- We moved the broker to Kafka today.\n"),
        ("2026-05-01.md", "---\ntags: [daily]\n---\nThe broker was moved to Kafka.\n"),
        ("c.mdc", "---\ndescription: DEPRECATED - use b.mdc\n---\n- Always write one slice for a folder.\n"),
        ("d.mdc", "---\ndescription: Redux\n---\n# Redux (deprecated)\n\n- Always write one slice for a folder.\n"),
        ("a.md", "Legacy notice: the rules now live in b.md.\n\n# Redux\n\n- Always write one slice for a folder.\n"),
        ("a.md", "# Redux\n\nThis page is historical\nreference only.\n\n- Always write one slice for a folder.\n"),
        ("a.md", "# Redux\n\n*Kept for historical context.*\n\n- Always write one slice for a folder.\n"),
        ("a.md", "# Redux\n\nMoved to `b.md`.\n\n- Always write one slice for a folder.\n"),
        ("Welcome.md", "This is your new vault.\n\nMake a note of something.\n"),
        ("ideas.md", "# Ideas\n\n- Use Rust for the parser of the feed.\n"),
        ("roadmap-2026.md", "# Roadmap\n\n- We move to Kafka in spring.\n"),
        ("b.md", "---\ntags: [a]\n---\n# Disk failure\n\nSee [the other page](other.md)\n"),
        ("Home.md", "---\ntags: [moc]\n---\n# Home\n\n- [[Leaderboards]] and how they are reset\n"),
        (".cursor/rules/example.mdc", "---\nglobs: a/**\n---\n# Title\n\n- Write one rule a line.\n"),
        ("notes/Reading list.md", "---\ntags: [list]\n---\n- the manual of PROJ (recommended by Ann)\n"),
        ("todo.md", "# TODO\n\n- [ ] replace the font by a free one\n"),
        (".claude/skills/a/SKILL.md", "---\nname: a\n---\nAlways read the file first.\n"),
    ],
)  # fmt: skip
def test_what_is_over_or_of_others_or_of_one_day_is_left_out(project: Project, name: str, text: str) -> None:
    found, reading = imported(project, {name: text})
    assert (found, len(reading.left_out)) == ({}, 1)


@pytest.mark.parametrize(
    "said",
    [
        "Legacy clients have a year.",
        "The table is for reference only in the tests of the feed, which is not historical.\n\nIt is read only.",
        "We moved to slices.",
        "Archived feeds are kept for ever.",
    ],
)
def test_what_only_speaks_of_the_past_is_in_force(project: Project, said: str) -> None:
    text = "# Redux rules\n\n- Always write one slice for a folder.\n\n%s\n" % said
    found, _ = imported(project, {"redux.md": text})
    assert "Always write one slice for a folder" in found


def test_minutes_keep_what_they_mark_as_decided(project: Project) -> None:
    text = "# Weekly\n\n- Ann was ill.\n\n## Fees\n\nA long talk.\n\n**Decision:** Fees end at five euros.\n\n## Next\n\n- Cake\n"
    found, _ = imported(project, {"meetings/2026-03-17.md": text})
    assert list(found) == ["Fees end at five euros"]


def test_a_day_may_hold_several_decisions(project: Project) -> None:
    text = """# Call with the supplier

- decided: invoices are sent on the first working day
- they will send a new price list
- [ ] decided: ask Pia

Long talk about units. Decided: weights are stored in grams,
and shown in ounces for the US.

Not decided: who pays for returns.
"""
    found, _ = imported(project, {"Daily/2026-02-03.md": text})
    assert list(found) == [
        "invoices are sent on the first working day",
        "weights are stored in grams, and shown in ounces for the US",
    ]


@pytest.mark.parametrize(
    "mark", ["**Learned:**", "**Merke:**", "- **Dauerhaft so in Rom:**", "Lesson:", "From now on"]
)
def test_a_diary_keeps_what_it_learned(project: Project, mark: str) -> None:
    text = (
        "# Log\n\n## 2024-02-01 (Kim)\n\nLit it.\n\n%s peat smokes\n\n## 2024-02-02 (Lou)\n\nRain.\n" % mark
    )
    found, _ = imported(project, {"oven-log.md": text})
    assert [title.rpartition("on ")[2] for title in found] == ["peat smokes"]


def test_minutes_may_mark_a_decision_without_bold(project: Project) -> None:
    text = "# January\n\nDecided: invoices are numbered per tenant.\n\nWe also spoke about lunch.\n"
    found, _ = imported(project, {"minutes/jan.md": text})
    assert list(found) == ["invoices are numbered per tenant"]


def test_boxes_are_things_to_do_unless_they_are_a_checklist(project: Project) -> None:
    text = (
        "# Rules of the team\n\n- Never push to the main branch.\n- [ ] Ann asks the lawyer about the logo\n"
    )
    text += "\n## Release checklist\n\n- [ ] Bump the version in setup.py\n- [ ] Tag the commit with the version\n"
    found, _ = imported(project, {"team.md": text})
    assert list(found) == [
        "Never push to the main branch",
        "Release checklist: Bump the version in setup.py",
        "Release checklist: Tag the commit with the version",
    ]


def test_a_note_below_a_folder_of_runbooks_is_one(project: Project) -> None:
    text = "---\ntitle: List errors\n---\n## Meaning\n\nNo lists.\n\n## Diagnosis\n\nCheck the tokens of the service account.\n"
    _, reading = imported(project, {"runbooks/operator/list-errors.md": text})
    assert [draft.data["category"] for draft in reading.drafts] == ["runbook"]


TABLE = "# %s\n\n| Field | Value |\n| --- | --- |\n| Status   | %s |\n| Date | 2026-02-21 |\n%s"
TABLE += "\n## Context\n\nIt was slow.\n\n## Decision\n\nWe use %s.\n"


@pytest.mark.parametrize(
    ("status", "more", "expected"),
    [
        ("Proposed", "", "archived"),
        ("**Accepted**", "| Bead | 7 |\n", "active"),
        ("Superseded by [2](2.md)", "", "archived"),
        ("Accepted", "| Superseded by | ADR-9 |\n", "archived"),
        ("Accepted", "| **Superseded by** | None |\n", "active"),
    ],
)
def test_a_table_at_its_head_has_the_status_of_a_record(
    project: Project, status: str, more: str, expected: str
) -> None:
    found, reading = imported(project, {"0004-a.md": TABLE % ("ADR-4: Use it", status, more, "it")})
    assert found == {"Use it": expected}
    assert reading.drafts[0].data["created_at"] == "2026-02-21T00:00:00Z"
    assert "Date" not in str(reading.drafts[0].data["content"])


def test_a_table_at_its_head_says_what_a_record_replaces(project: Project) -> None:
    old, new = (
        "ADR-4: Old way",
        ("ADR-5: New way", "Accepted", "| Supersedes      | [ADR-4](ADR-4.md) |\n", "B"),
    )
    found, _ = imported(project, {"ADR-4.md": TABLE % (old, "Accepted", "", "A"), "ADR-5.md": TABLE % new})
    assert found == {"Old way": "archived", "New way": "active"}


@pytest.mark.parametrize(
    "said",
    [
        "- **Status:** it moves from a pending state to `Accepted` or `Rejected`. The vendor reads it.\n- Requests must be signed.",
        "- **Status:** accepted requests are kept for a year.\n- Requests must be signed.",
        "| Status | Meaning |\n| --- | --- |\n| 410 | It is gone. |\n\n- Requests must be signed.",
        "- Requests must be signed, as here:\n\n```yaml\nStatus: Superseded\n```",
        "`status: superseded` and ranked below the current one.\n\n- Requests must be signed.",
    ],
)
def test_a_sentence_about_a_status_is_none(project: Project, said: str) -> None:
    text = "# Flow\n\n## Requests\n\nA vendor asks, a customer answers.\n\n%s\n" % said
    _, reading = imported(project, {"flow.md": text})
    assert reading.drafts
    assert all("status" not in draft.data["content"] for draft in reading.drafts)
    assert ("a pending state" in said) == any(
        "a pending state" in str(draft.data) for draft in reading.drafts
    )


@pytest.mark.parametrize(
    ("lead", "kept"),
    [
        ("Things that _shouldn\u2019t_ be an incident", "shouldn\u2019t"),
        ("These are not incidents:", "not"),
        ("We never page anybody for:", "never"),
        ("Das ist kein Vorfall:", "kein"),
    ],
)
@pytest.mark.parametrize(
    "items", ["- Lag below five minutes\n- Planned downtime\n", "- The lag is small.\n- A test is red.\n"]
)
def test_an_introduction_with_a_negation_belongs_to_its_items(
    project: Project, lead: str, kept: str, items: str
) -> None:
    text = "# Rules for incidents\n\n## When to raise an incident\n\nThese are:\n\n- The data is lost.\n- The site is down.\n\n%s\n\n%s"
    _, reading = imported(project, {"incidents.md": text % (lead, items)})
    last = [draft.data for draft in reading.drafts if "lag" in str(draft.data).lower()]
    assert last
    assert all(kept in data["title"] and kept in str(data["content"]) for data in last)
    assert not any(kept in str(draft.data) for draft in reading.drafts if "lost" in str(draft.data))
