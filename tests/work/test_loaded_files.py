"""The files that Claude Code reads itself: instruction files, the files they name, except long ones."""

from __future__ import annotations

import os

from memory_plugin.work.imports import LONG, loaded_files
from tests.project import Project


def test_instruction_files_and_the_files_they_name_are_found(project: Project) -> None:
    project.write(
        "CLAUDE.md", "See @AGENTS.md and @docs/style.md, not `@code.md`, me@mail.org\n```\n@fence.md\n```\n"
    )
    for name in ("AGENTS.md", "docs/style.md", "code.md", "fence.md", "other.md", ".claude/rules/api.md"):
        project.write(name, "text @../CLAUDE.md\n" if "/" in name else "text\n")
    root = os.path.realpath(project.root)
    found = {os.path.relpath(path, root) for path in loaded_files(project.root)}
    assert found == {
        "CLAUDE.md",
        "AGENTS.md",
        os.path.join("docs", "style.md"),
        os.path.join(".claude", "rules", "api.md"),
    }


def test_agents_md_alone_is_not_read_by_claude(project: Project) -> None:
    project.write("AGENTS.md", "- Use tabs in Go code.\n")
    assert loaded_files(project.root) == set()


def test_a_long_file_is_worth_splitting(project: Project) -> None:
    project.write("CLAUDE.md", "See @long.md\n")
    project.write("long.md", "x\n" * (LONG + 1))
    assert loaded_files(project.root) == {os.path.realpath(os.path.join(project.root, "CLAUDE.md"))}
