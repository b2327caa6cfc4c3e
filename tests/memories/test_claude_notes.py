"""Claude Code's own memory: read only where a transcript proves whose it is."""

from __future__ import annotations

import json
import os
import re
import shutil

import pytest

from memory_plugin.kernel.paths import Places
from memory_plugin.memories.claude_notes import native_folders, notes


def folder(places: Places) -> str:
    return os.path.join(str(places.config_dir), "projects", re.sub(r"[^A-Za-z0-9]", "-", places.project_root))


def transcript(places: Places, cwd: object, *before: str) -> None:
    os.makedirs(folder(places), exist_ok=True)
    lines = [*before, json.dumps({"type": "user", "cwd": cwd})]
    with open(os.path.join(folder(places), "s.jsonl"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def test_the_folder_counts_when_a_transcript_names_the_project(places: Places) -> None:
    assert native_folders(places) == []
    transcript(places, os.path.join(places.project_root, "."), '{"type": "summary"}', "no JSON", "[]")
    assert native_folders(places) == [os.path.join(folder(places), "memory")]


@pytest.mark.parametrize("cwd", ["/another/project", "relative", None, 7, ""])
def test_it_does_not_count_for_another_project(places: Places, cwd: object) -> None:
    transcript(places, cwd)
    assert native_folders(places) == []


def test_a_linked_folder_does_not_count(places: Places) -> None:
    transcript(places, places.project_root)
    moved = folder(places) + "-moved"
    shutil.move(folder(places), moved)
    os.symlink(moved, folder(places))
    assert native_folders(places) == []


def note(places: Places, name: str, text: bytes) -> str:
    path = os.path.join(folder(places), "memory")
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, name), "wb") as file:
        file.write(text)
    return path


def test_passages_below_headings_are_notes(places: Places) -> None:
    path = note(places, "MEMORY.md", b"# Billing\nPostgres\n## Deploy\r\nTuesdays\n## Empty\n")
    assert [(one.title, one.body) for one in notes(path)] == [("Billing", "Postgres"), ("Deploy", "Tuesdays")]


def test_a_file_without_headings_is_one_note(places: Places) -> None:
    path = note(places, "a.md", b"---\nname: n\ndescription: What it is\n---\ntext\xff\n")
    assert [(one.title, one.body) for one in notes(path)] == [("What it is", "text\ufffd")]


def test_links_pipes_and_huge_files_are_passed_over(places: Places) -> None:
    path = note(places, "huge.md", b"x" * (600 * 1024))
    os.symlink("/etc/passwd", os.path.join(path, "link.md"))
    os.mkfifo(os.path.join(path, "pipe.md"))
    assert list(notes(path)) == []
    assert list(notes(path + "-missing")) == []
