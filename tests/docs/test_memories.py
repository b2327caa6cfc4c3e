"""The tables of docs/memories.md match what the plugin writes and reads."""

from __future__ import annotations

import json
import os
import re

from memory_plugin.memories.record import categories, parse_memory
from tests.docs.pages import fences, page, section
from tests.project import Project

TEXT = page("docs/memories.md")


def documented_fields() -> set[str]:
    """Return the fields in the page's table; a row may name two."""
    heads = re.findall(r"^\| (`[^|]+) \|", section(TEXT, "A file"), re.MULTILINE)
    return {name for head in heads for name in re.findall(r"`(\w+)`", head)}


def written_fields(project: Project) -> set[str]:
    """Return every field that the command line writes into a memory file."""
    old = project.save("Use MySQL", "MySQL holds the invoices.", "--expires", "2099-01-01")
    words = (
        *("--tags", "a", "--asked-as", "which database", "--file", "db.py"),
        *("--supersedes", old, "--guard-command", "mysql"),
    )
    new = project.save("Use Postgres", "Postgres holds the invoices.", *words)
    project.cli("forget", old, "--reason", "gone")
    project.cli("forget", "--keep", new, "--reason", "kept")
    fields: set[str] = set()
    for name in (old, new):
        path = os.path.join(project.root, ".claude", "memory", "decisions", name + ".json")
        with open(path, encoding="utf-8") as file:
            fields |= set(json.load(file))
    return fields


def test_the_page_lists_the_fields_that_are_written(project: Project) -> None:
    assert documented_fields() == written_fields(project)


def test_the_example_is_a_memory() -> None:
    (example,) = fences(TEXT, "json")
    data = json.loads(example.text)
    memory = parse_memory(data, data["id"], categories()[data["category"]])
    assert (memory.title, memory.status) == (data["title"], "active")
    assert set(data) <= documented_fields()


def test_the_page_lists_the_categories() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `([\w-]+)` \| (.+) \|$", section(TEXT, "Categories"), re.MULTILINE)
    documented = {
        name: (folder, re.findall(r"\*\*(\w+)\*\*", fields), set(re.findall(r"\w+", fields)))
        for name, folder, fields in rows
    }
    assert documented == {
        category.name: (category.folder, [category.primary], {*category.fields, category.primary})
        for category in categories().values()
    }
