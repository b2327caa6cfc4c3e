"""The files that Claude Code reads itself: instruction files, the files they name, and when splitting one helps."""

from __future__ import annotations

import os

from memory_plugin.memories.import_loaded import LONG, is_worth_splitting, loaded_files
from tests.project import Project


def test_instruction_files_and_the_files_they_name_are_found(project: Project) -> None:
    project.write(
        "CLAUDE.md", "See @AGENTS.md and @docs/style.md, not `@code.md`, me@mail.org\n```\n@fence.md\n```\n"
    )
    for name in ("AGENTS.md", "docs/style.md", "code.md", "fence.md", "other.md", ".claude/rules/api.md"):
        project.write(name, "text @../CLAUDE.md\n" if "/" in name else "text\n")
    root = os.path.realpath(project.root)
    found = {os.path.relpath(path, root): by for path, by in loaded_files(project.root).items()}
    assert found == {
        "CLAUDE.md": "",
        "AGENTS.md": "CLAUDE.md",
        os.path.join("docs", "style.md"): "CLAUDE.md",
        os.path.join(".claude", "rules", "api.md"): "",
    }


def test_agents_md_alone_is_not_read_by_claude(project: Project) -> None:
    project.write("AGENTS.md", "- Use tabs in Go code.\n")
    assert loaded_files(project.root) == {}


def test_long_files_and_rules_for_some_files_are_worth_splitting(project: Project) -> None:
    short, long = project.write("a.md", "x\n"), project.write("b.md", "x\n" * (LONG + 1))
    assert is_worth_splitting(short, has_files=False) == ""
    assert is_worth_splitting(short, has_files=True) == "holds for some files only"
    assert is_worth_splitting(long, has_files=False) == "%d lines" % (LONG + 1)
