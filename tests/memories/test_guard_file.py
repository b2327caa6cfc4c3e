"""The prepared file of guards: it is read as it was written, and any other content has no guards."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from memory_plugin.kernel.paths import Paths
from memory_plugin.memories.guard_file import GuardFile, guard_file_path, saved_rows, write_guard_file
from tests.project import Project
from tests.recall.store_files import at_home

TEXTS = {
    "title": "T",
    "block": "<memory>B</memory>",
    "body": "B",
    "mark": "m",
    "path": "/p",
    "current": "yes",
}
ROW: dict[str, Any] = {
    "key": "project:constraint/x",
    "action": "ask",
    "until": "",
    "commands": [["git", "push", "--force"]],
    "files": ["db/"],
    "texts": TEXTS,
}


def test_dumps_and_loads_are_inverse(project: Project) -> None:
    with at_home(project) as paths:
        assert write_guard_file(paths, [ROW])
        assert not write_guard_file(paths, [ROW])
        prepared = GuardFile(paths)
        (guard,) = prepared.guards
        assert (guard.key, guard.action, guard.commands, guard.files) == tuple(
            ROW[name] for name in ("key", "action", "commands", "files")
        )
        assert prepared.has_files
        assert {name: prepared.text(ROW["key"], name) for name in TEXTS} == TEXTS
        assert saved_rows(paths) == {ROW["key"]: ROW}


def test_without_guards_there_is_no_file(project: Project) -> None:
    with at_home(project) as paths:
        assert not write_guard_file(paths, [])
        write_guard_file(paths, [ROW])
        assert write_guard_file(paths, [])
        assert not os.path.exists(guard_file_path(paths))
        assert GuardFile(paths).guards == []


@pytest.mark.skipif(os.name == "nt", reason="modes are those of POSIX")
def test_the_file_is_the_users_alone(project: Project) -> None:
    with at_home(project) as paths:
        write_guard_file(paths, [ROW])
        path = guard_file_path(paths)
        assert (os.stat(path).st_mode & 0o777, os.stat(os.path.dirname(path)).st_mode & 0o777) == (
            0o600,
            0o700,
        )


def changed(**fields: object) -> bytes:
    """Return a file with other values in its first line."""
    head = {"schema": 1, "root": "ROOT", "has_files": True, "guards": [ROW]}
    return json.dumps({**head, **fields}).encode() + b"\n{}"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"{",
        b"[]",
        b"\xff\xfe",
        changed(schema=2),
        changed(root="/elsewhere"),
        changed(guards=[{"key": "x"}]),
        changed(guards=[5]),
        changed(guards=5),
        changed(has_files=None, guards=None),
        changed(guards=[{**ROW, "commands": [5]}]),
    ],
)
def test_a_damaged_file_holds_no_guard(project: Project, content: bytes) -> None:
    with at_home(project) as paths:
        write_guard_file(paths, [ROW])
        with open(guard_file_path(paths), "wb") as file:
            file.write(content.replace(b"ROOT", os.fsencode(paths.project_root)))
        prepared = GuardFile(paths)
        assert prepared.guards == []
        assert not prepared.may_cover({"command": "git push --force"})


def test_damaged_texts_are_empty(project: Project) -> None:
    with at_home(project) as paths:
        write_guard_file(paths, [ROW])
        with open(guard_file_path(paths), "r+b") as file:
            file.truncate(os.path.getsize(guard_file_path(paths)) - 5)
        prepared = GuardFile(paths)
        assert len(prepared.guards) == 1
        assert prepared.text(ROW["key"], "title") == ""


@pytest.mark.parametrize(
    ("tool_input", "covers"),
    [
        ({"command": "ls"}, False),
        ({"command": "git push origin main"}, False),
        ({"command": "git push --force"}, True),
        ({"command": "echo git push --force"}, True),
        ({"command": "g''it push --fo\\\nrce"}, True),
        ({"command": "$'\\x67it'"}, True),
        ({"file_path": "a"}, True),
        ({"command": 5}, True),
        (None, False),
        ([], False),
    ],
)
def test_the_quick_look(project: Project, tool_input: object, *, covers: bool) -> None:
    with at_home(project) as paths:
        assert prepared(paths).may_cover(tool_input) == covers


def prepared(paths: Paths) -> GuardFile:
    """Return the guards of a project with one guard."""
    write_guard_file(paths, [ROW])
    return GuardFile(paths)
