"""What was chosen and what was not, and the part of a project that a file is for: options, verdicts, folders with a dot."""

from __future__ import annotations

import json
import os

import pytest

from memory_plugin.memories.importing import read
from tests.memories.conftest import imported
from tests.project import Project

RECORD = """# 7. Cool the milk

Status: accepted

## Context

It turns in a day.

## Considered Options

* Option 1: A brook in the cellar
* Option 2: A tank with ice

## Decision Outcome

%s

## Pros and Cons of the Options

### Option 1: A brook in the cellar

* Good, because it costs nothing
  and never stops
* Bad, because it is warm in August

### Option 2: A tank with ice

#### Pros

- It is cold all year.

#### Cons

- The ice is dear.
"""


@pytest.mark.parametrize(
    ("chosen", "kept", "dropped"),
    [
        pytest.param("Option 1, since it is there.", ["costs nothing", "is dear"], ["cold all year"], id="by its number"),
        pytest.param("We take a tank with ice.", ["cold all year", "warm in August"], ["costs nothing", "never stops"], id="by its name"),
        pytest.param("Neither.", ["is dear", "warm in August"], ["costs nothing", "never stops", "cold all year"], id="none"),
    ],
)  # fmt: skip
def test_what_speaks_for_an_option_is_kept_of_the_chosen_one(
    project: Project, chosen: str, kept: list[str], dropped: list[str]
) -> None:
    _, reading = imported(project, {"adr/0007-milk.md": RECORD % chosen})
    said = reading.drafts[0].data["content"]["alternatives"]
    assert [words for words in (*kept, *dropped) if words in said] == kept


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("1. Churn: oak — SELECTED", "active"),
        ("Plastic pails (dropped since 2031)", "archived"),
        ("Goats - REJECTED", "archived"),
        ("Second shift — DEFERRED", "archived"),
    ],
)
def test_a_heading_with_a_verdict_is_a_record_with_all_below_it(
    project: Project, heading: str, expected: str
) -> None:
    text = "# Dairy tools\n\n## %s\n\nWe looked at four.\n\n### Why so\n\n- It is easy to clean.\n- It is cheap.\n"
    text += "\n## Cleaning\n\n- Never leave milk in a pail.\n"
    found, reading = imported(project, {"tools.md": text % heading})
    assert list(found.values()) == [expected, "active"]
    said = reading.drafts[0].data["content"]["decision"]
    assert said == "We looked at four.\n\nWhy so:\n- It is easy to clean.\n- It is cheap."


def test_a_verdict_on_an_alternative_is_a_part_of_its_record(project: Project) -> None:
    text = (RECORD % "Option 2.").replace("### Option 1: A brook in the cellar", "### A brook - REJECTED")
    found, _ = imported(project, {"adr/0007-milk.md": text})
    assert found == {"Cool the milk": "active"}


@pytest.mark.parametrize(
    ("path", "title", "files"),
    [
        ("farm/dairy/.claude/notes.jsonl", "dairy: Milk is cooled at once", ["farm/dairy/"]),
        (".claude/notes.jsonl", "Milk is cooled at once", []),
        ("farm/dairy/notes.jsonl", "Milk is cooled at once", []),
    ],
    ids=["of a part", "of the project", "beside documents"],
)
def test_a_file_of_memories_is_for_the_part_that_it_is_in(
    project: Project, path: str, title: str, files: list[str]
) -> None:
    text = json.dumps({"type": "decision", "content": "Milk is cooled at once"})
    (draft,) = read(project.write(path, text), root=project.root).drafts
    assert (draft.data["title"], draft.data["related_files"]) == (title, files)


def test_folders_with_a_dot_are_read_or_named(project: Project) -> None:
    rule = "# Rules\n\n- Never leave milk in a pail.\n"
    stores = (".claude/memory/index.md", "part/.claude/memory/index.md")  # its own, and that of a part
    for name in (".ai/rules.md", ".drafts/rules.md", ".cache/README.md", ".tool/deep/rules.md", *stores):
        project.write(name, rule)
    reading = read(project.root, root=project.root)
    assert [os.path.relpath(draft.path, project.root) for draft in reading.drafts] == [".ai/rules.md"]
    left = [(os.path.relpath(path, project.root), why) for path, why in reading.left_out]
    assert left == [
        (name, "a hidden folder; to import it, name it") for name in (".drafts", "part/.claude/memory")
    ]


def test_an_entry_with_symptom_cause_and_cure_in_bold_is_one_runbook(project: Project) -> None:
    entry = "### %s\n\n**Symptom.** It is %s.\n\n**Root cause (seen in May).** The ice ran out.\n\n"
    entry += "**Guards in place.** A lamp.\n\n**If it happens.** Order ice.\n\n"
    text = "# Dairy faults\n\n" + entry % ("Warm milk", "warm") + entry % ("Sour milk", "sour")
    found, reading = imported(project, {"faults.md": text})
    assert list(found) == ["Warm milk", "Sour milk"]
    content = reading.drafts[1].data["content"]
    assert (content["symptoms"], content["steps"]) == ("It is sour.", ["Order ice."])


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("AD-012: Pails are of oak", "Pails are of oak"),
        ("Dec 12: pails are of oak", "Dec 12: pails are of oak"),
    ],
    ids=["a number", "a day"],
)
def test_the_number_of_a_record_is_no_part_of_its_title(project: Project, title: str, expected: str) -> None:
    text = "# Log\n\n## %s\n\n**Status:** final\n\nOak lasts.\n" % title
    found, _ = imported(project, {"log.md": text})
    assert list(found) == [expected]
