"""Small folders in the styles of public repositories: what becomes a memory, in force or not, and what must become none."""

from __future__ import annotations

import os

import pytest

from memory_plugin.memories.importing import archive_replaced, read
from tests.project import Project

_SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "import_samples", "folders.txt")


def folders() -> list[tuple[str, str]]:
    """Return the name and the text of each folder: `--- PATH` before a file, then `+ STATUS TITLE` and `- TEXT` lines."""
    with open(_SAMPLES, encoding="utf-8") as file:
        parts = file.read().removeprefix("#### ").split("\n#### ")
    return [(name, text) for name, _, text in (part.partition("\n") for part in parts)]


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in folders()])
def test_a_folder_becomes_what_its_people_would_keep(project: Project, text: str) -> None:
    files, _, marks = text.partition("\n+ ")
    for part in files.removeprefix("--- ").split("\n--- "):
        name, _, content = part.partition("\n")
        project.write(name, content + "\n")
    reading = read(project.root, root=project.root)
    archive_replaced(reading.drafts)
    titles = {"%s %s" % (one.data["record_status"], one.data["title"]) for one in reading.drafts}
    lines = ("+ " + marks).splitlines()
    expected = [line[2:].partition(" ") for line in lines if line.startswith("+ ")]
    missing = [
        words
        for status, _, words in expected
        if not any(one.startswith(status) and words in one for one in titles)
    ]
    assert missing == []
    said = "\n".join("%s\n%s" % (one.data["title"], one.data["content"]) for one in reading.drafts)
    assert [line[2:] for line in lines if line.startswith("- ") and line[2:] in said] == []
    assert len(reading.drafts) <= len(expected) + 2
