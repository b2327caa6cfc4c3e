"""Claude Code's own memory is read only if a transcript proves that it belongs to this project."""

from __future__ import annotations

import json
import os
import re
import shutil

import pytest

from memory_plugin.kernel.paths import Paths
from memory_plugin.memories.nearby import native_folders, notes, notes_elsewhere


def folder(paths: Paths) -> str:
    return os.path.join(str(paths.config_dir), "projects", re.sub(r"[^A-Za-z0-9]", "-", paths.project_root))


def transcript(paths: Paths, cwd: object, *before: str) -> None:
    os.makedirs(folder(paths), exist_ok=True)
    lines = [*before, json.dumps({"type": "user", "cwd": cwd})]
    with open(os.path.join(folder(paths), "s.jsonl"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def test_the_folder_counts_when_a_transcript_names_the_project(paths: Paths) -> None:
    assert native_folders(paths) == []
    transcript(paths, os.path.join(paths.project_root, "."), '{"type": "summary"}', "no JSON", "[]")
    assert native_folders(paths) == [os.path.join(folder(paths), "memory")]


@pytest.mark.parametrize("cwd", ["/another/project", "relative", None, 7, ""])
def test_it_does_not_count_for_another_project(paths: Paths, cwd: object) -> None:
    transcript(paths, cwd)
    assert native_folders(paths) == []


def test_a_linked_folder_does_not_count(paths: Paths) -> None:
    transcript(paths, paths.project_root)
    moved = folder(paths) + "-moved"
    shutil.move(folder(paths), moved)
    os.symlink(moved, folder(paths))
    assert native_folders(paths) == []


def note(paths: Paths, name: str, text: bytes) -> str:
    path = os.path.join(folder(paths), "memory")
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, name), "wb") as file:
        file.write(text)
    return path


@pytest.mark.parametrize(
    ("before", "files", "is_named"),
    [
        ("old", ["pay/tax.py", "pay/rates.csv", "Makefile.am", "gone.py"], True),
        ("elsewhere/old", ["pay/tax.py", "pay/rates.csv", "Makefile.am"], True),
        ("old", ["pay/tax.py", "Makefile.am"], False),
        ("old", ["pay/tax.py", "pay/rates.csv", "Makefile.am", "a.c", "b.c", "c.c"], False),
        ("old", [], False),
        ("elsewhere/project", [], True),
        ("elsewhere/old", [], False),
    ],
)
def test_notes_of_a_project_that_was_moved_are_named(
    paths: Paths, before: str, files: list[str], is_named: bool
) -> None:
    os.makedirs(os.path.join(paths.project_root, "pay"))
    for path in ("pay/tax.py", "pay/rates.csv", "Makefile.am"):
        with open(os.path.join(paths.project_root, path), "w", encoding="utf-8"):
            pass
    place, name = os.path.split(paths.project_root)
    was = os.path.join(place, before.replace("project", name))
    folder_before = os.path.join(str(paths.config_dir), "projects", re.sub(r"[^A-Za-z0-9]", "-", was))
    os.makedirs(os.path.join(folder_before, "memory"))
    with open(os.path.join(folder_before, "memory", "deploy.md"), "w", encoding="utf-8") as file:
        file.write("Tuesdays only.\n")
    with open(os.path.join(folder_before, "s.jsonl"), "w", encoding="utf-8") as file:
        file.write(json.dumps({"type": "user", "cwd": was}) + "\n")
        file.writelines(json.dumps({"file_path": os.path.join(was, path)}) + "\n" for path in files)
    lines = [
        "Claude Code's notes for %s, which is gone, are not read; if it was moved here: memory import %s/memory"
    ]
    assert notes_elsewhere(paths) == [line % (was, folder_before) for line in lines if is_named]
    os.makedirs(was)
    assert notes_elsewhere(paths) == []


def test_notes_in_the_user_s_own_store_are_named(paths: Paths) -> None:
    own = os.path.join(str(paths.config_dir), "memory")
    os.makedirs(own)
    with open(os.path.join(own, "me.md"), "w", encoding="utf-8") as file:
        file.write("Short answers.\n")
    (line,) = notes_elsewhere(paths)
    assert line.startswith("1 Markdown note in %s is not read" % own)


def test_passages_below_headings_are_notes(paths: Paths) -> None:
    path = note(paths, "MEMORY.md", b"# Billing\nPostgres\n## Deploy\r\nTuesdays\n## Empty\n")
    assert [(one.title, one.body) for one in notes(path)] == [("Billing", "Postgres"), ("Deploy", "Tuesdays")]


def test_a_mark_of_the_encoding_is_no_text(paths: Paths) -> None:
    path = note(
        paths,
        "deploy.md",
        b"\xef\xbb\xbf---\r\ndescription: We deploy on Tuesdays\r\n---\r\nNot on Fridays.\r\n",
    )
    assert [(one.title, one.body) for one in notes(path)] == [("We deploy on Tuesdays", "Not on Fridays.")]


def test_a_file_without_headings_is_one_note(paths: Paths) -> None:
    path = note(paths, "a.md", b"---\nname: n\ndescription: What it is\n---\ntext\xff\n")
    assert [(one.title, one.body) for one in notes(path)] == [("What it is", "text\ufffd")]


def test_links_pipes_and_huge_files_are_skipped(paths: Paths) -> None:
    path = note(paths, "huge.md", b"x" * (600 * 1024))
    os.symlink("/etc/passwd", os.path.join(path, "link.md"))
    os.mkfifo(os.path.join(path, "pipe.md"))
    assert list(notes(path)) == []
    assert list(notes(path + "-missing")) == []
