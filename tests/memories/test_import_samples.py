"""The samples: every rule of a guide becomes a memory whose title uses its words, and every record one memory."""

from __future__ import annotations

import os

import pytest

from memory_plugin.memories.importing import read
from tests.memories.import_samples.labeled import fits, guide, records
from tests.project import Project

GUIDES = ["first", "fifth", "sixth"]
RECORDS = ["first", "second", "third", "fifth"]


@pytest.mark.parametrize("name", GUIDES)
def test_a_guide_becomes_a_memory_for_each_rule(project: Project, name: str) -> None:
    text, expected = guide(name)
    drafts = [draft.data for draft in read(project.write("guide.md", text)).drafts]
    assert len(drafts) == len(expected)
    for rule in expected:
        assert any(fits(data["title"], rule) for data in drafts), rule


@pytest.mark.parametrize("name", RECORDS)
def test_each_record_is_one_memory_that_says_what_was_decided(project: Project, name: str) -> None:
    for record in records(name):
        path = project.write(os.path.join(name, record.path), record.text)
        (draft,) = read(path).drafts
        found = (draft.data["category"], draft.data["record_status"])
        assert found == (record.category, record.status), record.path
        assert record.fragment.lower() in draft.data["title"].lower()


def test_the_first_guide_is_as_long_as_real_ones_grow() -> None:
    assert guide("first")[0].count("\n") >= 300
    assert len(records("first")) == 15
