"""What a memory says of the headings above it, and of the fields at the head of its file."""

from __future__ import annotations

import pytest

from memory_plugin.memories.importing import archive_replaced, read
from tests.project import Project

OPTIONS = """# 12. Charts are drawn by the server

## Status

Accepted

## Context

Old tablets draw charts slowly.

### Impact

Pages wait for seconds.

## Considered Options

- Canvas
- Images

## Pros and Cons of the Options

### Canvas

#### Advantages

- It zooms.

#### Consequences

- The battery drains.

### Images

#### Advantages

- They are cached.

## Decision

We send images.

### Consequences

- One more service.
"""


def test_the_parts_of_an_alternative_keep_its_name(project: Project) -> None:
    (draft,) = read(project.write("adr/0012-charts.md", OPTIONS)).drafts
    content = draft.data["content"]
    assert content["alternatives"].split("\n\n")[1:] == [
        "Canvas: Consequences:\n- The battery drains.",
        "Images: Advantages:\n- They are cached.",
    ]
    assert content["context"] == "Old tablets draw charts slowly.\n\nImpact: Pages wait for seconds."
    assert (content["decision"], content["consequences"]) == ("We send images.", "- One more service.")


@pytest.mark.parametrize(
    ("fields", "status", "said"),
    [
        ("status: accepted\npartially-superseded-by: ADR-30", "active", "Partially-superseded by: ADR-30"),
        (
            "status: accepted\nrelations:\n  - type: partially-superseded-by\n    target: ADR-30",
            "active",
            "Partially-superseded by ADR-30",
        ),
        ("status: accepted\nreplaced-by: 30", "archived", "Replaced by: ADR-30"),
        (
            "relations:\n  - type: see-also\n    target: ADR-2\n  - type: superseded-by\n    target: ADR-30",
            "archived",
            "Superseded by ADR-30",
        ),
        ("status: accepted\nobsoletes: ADR-30", "active", "Obsoletes: ADR-30"),
        ("status: accepted\nsuperceded_by: ADR-30", "archived", "Superceded by: ADR-30"),
        ("status: accepted\namended-by:\n  - ADR-30", "active", "Amended by: ADR-30"),
    ],
)
def test_a_record_says_what_its_fields_say_about_others(
    project: Project, fields: str, status: str, said: str
) -> None:
    text = (
        "---\n%s\n---\n# Jobs run at night\n\n## Context\n\nBusy days.\n\n## Decision\n\nAt two.\n" % fields
    )
    (draft,) = read(project.write("adr/ADR-3-jobs.md", text)).drafts
    assert draft.data["record_status"] == status
    assert said in draft.data["content"]["status"].splitlines()


def test_a_record_of_which_a_part_is_replaced_is_kept(project: Project) -> None:
    text = "---\nstatus: accepted\n%s\n---\n# %s\n\n## Context\n\nBusy.\n\n## Decision\n\nYes.\n"
    project.write("adr/0003-jobs.md", text % ("date: 2026-01-02", "Jobs run at night"))
    project.write("adr/0030-mails.md", text % ("partially-supersedes: [ADR-0003]", "Mails are sent at once"))
    reading = read(project.root + "/adr")
    archive_replaced(reading.drafts)
    assert [draft.data["record_status"] for draft in reading.drafts] == ["active", "active"]


def test_a_section_of_a_runbook_names_what_is_above_it(project: Project) -> None:
    text = "# Pager\n\n## DiskFull\n\n### First aid\n\n- Drop the logs.\n\n## QueueStuck\n\n### First aid\n\n- Wait.\n"
    drafts = read(project.write("runbooks/pager.md", text), root=project.root).drafts
    assert [draft.data["title"] for draft in drafts] == [
        "Pager: DiskFull",
        "Pager: QueueStuck",
    ]
    assert [draft.data["content"]["steps"] for draft in drafts] == [
        ["First aid: Drop the logs."],
        ["First aid: Wait."],
    ]


def test_a_rule_has_the_headings_that_it_does_not_say(project: Project) -> None:
    text = "# Guide\n\n## Mobile app\n\n### Maps\n\n- Always ask before the position is read.\n"
    (draft,) = read(project.write("guide.md", text)).drafts
    assert draft.data["content"]["context"] == "Mobile app > Maps"


def test_a_head_without_its_first_line_makes_a_note(project: Project) -> None:
    text = "Tags:\n- networks\n- notes\n---\n- It gives out addresses.\n- It uses port 67.\n\n---\n## References\n- \n"
    (draft,) = read(project.write("vault/DHCP.md", text)).drafts
    assert draft.data["title"].startswith("DHCP: ")
    assert draft.data["content"]["decision"] == "- It gives out addresses.\n- It uses port 67."
    assert draft.data["tags"] == ["networks", "notes"]


def test_a_list_of_the_targets_of_links_is_no_step(project: Project) -> None:
    text = "# Pump stops\n\n## Symptoms\n\nNo water.\n\n## Steps\n\n1. Read [the plan][plan].\n2. Call the owner.\n\n"
    text += "[plan]: https://a.test/plan\n[other]:\n  https://a.test/b\n"
    (draft,) = read(project.write("runbooks/pump.md", text), root=project.root).drafts
    assert draft.data["content"]["steps"] == ["Read [the plan][plan].", "Call the owner."]


def test_the_sentences_of_a_step_stay_together(project: Project) -> None:
    text = (
        "# Pump stops\n\n## Symptoms\n\nNo water.\n\n## Steps\n\nLook at the fuse.\nIt is in the cellar.\n\n"
    )
    text += "1. Open the box:\n   - the left door\n   - the right door\n2. Close it.\n"
    (draft,) = read(project.write("runbooks/pump.md", text), root=project.root).drafts
    assert draft.data["content"]["steps"] == [
        "Look at the fuse.\nIt is in the cellar.",
        "Open the box:\nthe left door\nthe right door",
        "Close it.",
    ]


def test_points_after_a_colon_are_one_step(project: Project) -> None:
    text = "# Pump stops\n\n## Symptoms\n\nNo water.\n\n## Steps\n\nLook for:\n\n- a leak\n- a closed valve\n\nOpen it.\n\n- Wait.\n"
    (draft,) = read(project.write("runbooks/pump.md", text), root=project.root).drafts
    assert draft.data["content"]["steps"] == ["Look for:\n- a leak\n- a closed valve", "Open it.", "Wait."]


def test_a_rule_file_with_a_description_is_a_list_of_rules(project: Project) -> None:
    text = "---\ndescription: How we write tests\n---\n# Tests\n\n- Never sleep in a test.\n- Prefer real databases.\n"
    path = project.write(".windsurf/rules/tests.md", text)
    drafts = read(path, root=project.root).drafts
    assert [draft.data["title"] for draft in drafts] == ["Never sleep in a test", "Prefer real databases"]


def test_a_list_that_a_word_introduces_is_kept_with_it(project: Project) -> None:
    text = "# Rules\n\n- purpose:\n  - it speaks to the printer\n- Never unplug it.\n"
    path = project.write("rules.md", text)
    assert [draft.data["title"] for draft in read(path).drafts] == [
        "Rules: purpose: it speaks to the printer",
        "Never unplug it",
    ]


def test_what_stands_below_a_heading_about_templates_is_named(project: Project) -> None:
    text = "# Rules\n\n- Never print at night.\n\n## Templates\n\n| Name | For |\n| --- | --- |\n| a | letters to all |\n"
    path = project.write("rules.md", text)
    reading = read(path)
    assert [draft.data["title"] for draft in reading.drafts] == ["Never print at night"]
    assert [source for source, _ in reading.left_out] == [path + ":7"]


def test_the_head_of_a_record_is_said_once_and_quoted_lines_of_it_are_no_notes(project: Project) -> None:
    head = "---\nstatus: Accepted\n---\n# Jobs run at night\n\n> **Status**: Accepted\n> **Date**: 2026-01-02\n\n"
    text = head + "## Status\n\nAccepted\n\n## Context\n\nBusy days.\n\n## Decision\n\nAt two.\n"
    (draft,) = read(project.write("adr/ADR-3-jobs.md", text)).drafts
    assert (draft.data["content"]["status"], draft.data["content"].get("notes")) == ("Accepted", None)


BELOW = {"app/AGENTS.md": "", "app/core/log.py": "", "lib/log.py": "", "app/lib/AGENTS.md": ""}


@pytest.mark.parametrize(
    ("name", "text", "files"),
    [
        ("app/AGENTS.md", "# App\n\n## Core (`core/`)\n\n**MUST:**\n\n- Log every call.\n", ["app/core/"]),
        ("app/AGENTS.md", "# App\n\n- Log with `core/log.py` only.\n", ["app/", "app/core/log.py"]),
        ("app/AGENTS.md", "# App\n\n- Log with `app/core/log.py` only.\n", ["app/", "app/core/log.py"]),
        ("app/lib/AGENTS.md", "# Lib\n\n- Log with `core/log.py` only.\n", ["app/lib/", "app/core/log.py"]),
        ("app/lib/AGENTS.md", "# Lib\n\n- Log with `lib/log.py` only.\n", ["app/lib/", "lib/log.py"]),
        ("app/AGENTS.md", "# App\n\n- Log with `new/log.py` only.\n", ["app/", "app/new/log.py"]),
    ],
    ids=["a heading's place", "below", "from the root", "of the folder above", "nearest", "not yet there"],
)
def test_a_rule_is_for_the_place_that_it_names(
    project: Project, name: str, text: str, files: list[str]
) -> None:
    for path, content in BELOW.items():
        project.write(path, content)
    (draft,) = read(project.write(name, text), root=project.root, everything=True).drafts
    assert draft.data["related_files"] == files


def test_what_a_document_is_not_for_is_in_each_memory_of_it(project: Project) -> None:
    note = "> **v1 (legacy).** For v2 see the other page."
    text = (
        "# Ovens\n\n%s\n\n## Lighting\n\n1. Take peat.\n2. Light it.\n\n## Cleaning\n\n1. Wait.\n2. Sweep.\n"
        % note
    )
    for name in ("runbooks/ovens.md", "CONTRIBUTING.md"):
        drafts = read(project.write(name, text), root=project.root).drafts
        assert len(drafts) > 1
        assert all("legacy" in str(draft.data["content"]) for draft in drafts)


def test_links_alone_are_no_part_of_a_note(project: Project) -> None:
    text = "---\ntitle: Oven of clay\n---\nIt burns peat.\n\nRead these:\n\n- [One](https://a.test/)\n- [Two](https://b.test/)\n"
    (note,) = read(project.write("notes/oven.md", text), root=project.root).drafts
    assert "https" not in note.data["content"]["decision"]
