"""Claude Code's own memory: injected only in the project that a transcript beside it names."""

from __future__ import annotations

import json
import os
import re

import pytest

from memory_plugin.memories.nearby import native_folders, notes
from tests.project import Project
from tests.recall.store_files import at_home, last, no_threshold

NOTE = "# Ledger proxy\n\nThe ledger proxy listens on port 7777.\n\n## Deploy\n\nDeploy with `make ship`.\n"
ASK = "Which port does the ledger proxy listen on?"


def folder(project: Project, cwd: object, note: str = NOTE, name: str = "MEMORY.md") -> str:
    """Return the client's folder of this project with a note, and with a transcript that names `cwd`."""
    path = os.path.join(project.config, "projects", re.sub(r"[^A-Za-z0-9]", "-", project.root))
    os.makedirs(os.path.join(path, "memory"), exist_ok=True)
    with open(os.path.join(path, "memory", name), "w", encoding="utf-8") as file:
        file.write(note)
    with open(os.path.join(path, "session.jsonl"), "w", encoding="utf-8") as file:
        file.write('{"type": "summary"}\nnot JSON\n' + json.dumps({"type": "user", "cwd": cwd}) + "\n")
    return path


def told(project: Project) -> str:
    """Return what a new session is told."""
    run = project.prompt(ASK, session_id=os.urandom(4).hex())
    assert (run.returncode, run.stderr) == (0, "")
    return run.context


@pytest.fixture(autouse=True)
def _no_threshold(project: Project) -> None:
    no_threshold(project)


def test_a_note_of_this_project_is_injected(project: Project) -> None:
    folder(project, project.root)
    assert "7777" in told(project)
    assert last(project)["injected"][0].startswith("native:")


def test_the_index_of_the_notes_is_no_note(project: Project) -> None:
    """Claude Code's own list of its files; any other text beside it is one."""
    index = "- [Ledger proxy](ledger-proxy.md) - which port\n* [Tests](how.to_test.md)\n"
    at = os.path.join(folder(project, project.root, "# Memory\n\n" + index), "memory")
    assert list(notes(at)) == []
    folder(project, project.root, "# Memory\n\n%sUse port 7777.\n" % index)
    assert [note.title for note in notes(at)] == ["Memory"]


def test_a_session_in_a_folder_below_names_the_project(project: Project) -> None:
    os.makedirs(os.path.join(project.root, "src"))
    folder(project, os.path.join(project.root, "src"))
    assert "7777" in told(project)


@pytest.mark.parametrize("cwd", ["/elsewhere", "", None, 5, "relative", "project"])
def test_a_note_of_another_project_is_not_injected(project: Project, cwd: object) -> None:
    folder(project, cwd)
    assert told(project) == ""


def test_a_folder_of_the_same_name_is_another_project(project: Project) -> None:
    """`/a/b-c` and `/a/b/c` share one folder of the client."""
    twin = os.path.join(os.path.dirname(project.root), "x", "y")
    os.makedirs(twin)
    mine = os.path.join(os.path.dirname(project.root), "x-y")
    os.makedirs(mine)
    project.root = twin
    project.git("init", "-q")
    folder(project, twin)
    project.root = mine
    project.git("init", "-q")
    assert told(project) == ""
    project.root = twin
    assert "7777" in told(project)


@pytest.mark.parametrize("kind", ["none", "FIFO", "folder", "garbage", "nested"])
def test_without_a_transcript_of_the_project_nothing_is_injected(project: Project, kind: str) -> None:
    path = os.path.join(folder(project, project.root), "session.jsonl")
    os.unlink(path)
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "folder":
        os.mkdir(path)
    elif kind != "none":
        with open(path, "wb") as file:
            file.write(b"\xff\0" * 1000 if kind == "garbage" else b"[" * 100_000)
    assert told(project) == ""


def test_a_note_that_changes_or_goes_is_no_longer_injected(project: Project) -> None:
    path = os.path.join(folder(project, project.root), "memory", "MEMORY.md")
    assert "7777" in told(project)
    with open(path, "w", encoding="utf-8") as file:
        file.write(NOTE.replace("7777", "8888"))
    assert "7777" not in told(project), "the old text is never told"
    assert project.cli("refresh").returncode == 0
    assert "8888" in told(project)
    os.unlink(path)
    assert told(project) == ""


def test_the_user_can_leave_them_out(project: Project) -> None:
    folder(project, project.root)
    with open(os.path.join(project.config, "settings.json"), "w", encoding="utf-8") as file:
        json.dump({"memory": {"native": {"enabled": False}}}, file)
    assert told(project) == ""


def test_they_are_never_written(project: Project) -> None:
    path = os.path.join(folder(project, project.root), "memory")
    before = {name: os.stat(os.path.join(path, name)).st_mtime_ns for name in os.listdir(path)}
    told(project)
    project.start()
    project.cli("refresh")
    assert {name: os.stat(os.path.join(path, name)).st_mtime_ns for name in os.listdir(path)} == before


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("no heading", [("MEMORY", "no heading")]),
        ("# One\n\ntext\n## Two\nmore\n", [("One", "text"), ("Two", "more")]),
        ("before\n# One\ntext", [("MEMORY", "before"), ("One", "text")]),
        ("# Empty\n# One\ntext", [("One", "text")]),
        ("---\nname: n\ndescription: What it is\n---\ntext", [("What it is", "text")]),
        ("---\nnot closed\ntext", [("MEMORY", "---\nnot closed\ntext")]),
        ("# One\r\ntext\r\n", [("One", "text")]),
        ("#hashtag is no heading", [("MEMORY", "#hashtag is no heading")]),
    ],
)
def test_a_file_falls_into_passages(project: Project, text: str, found: list[tuple[str, str]]) -> None:
    path = os.path.join(folder(project, project.root, text), "memory")
    with at_home(project) as paths:
        assert native_folders(paths) == [path]
        assert [(note.title, note.body) for note in notes(path)] == found


def test_a_path_that_is_no_file_is_skipped(project: Project) -> None:
    path = os.path.join(folder(project, project.root, ""), "memory")
    os.mkfifo(os.path.join(path, "a.md"))
    os.mkdir(os.path.join(path, "b.md"))
    os.symlink("/etc/passwd", os.path.join(path, "c.md"))
    with open(os.path.join(path, "d.md"), "wb") as file:
        file.truncate(1 << 20)
    with open(os.path.join(path, "e.md"), "wb") as file:
        file.write(b"\xff bytes")
    assert [note.body for note in notes(path)] == ["\ufffd bytes"]
