"""Option values of `save` and `edit`, which are the same on every Python."""

from __future__ import annotations

import argparse
import os

import pytest

from memory_plugin.cli.command_context import UsageError
from memory_plugin.cli.memory_input import MAX_TAGS, add_fields, check_fields, guard_of, project_files
from memory_plugin.kernel.paths import Paths
from memory_plugin.memories import InvalidMemory
from memory_plugin.memories.record import MAX_ASKED_AS
from tests.project import Project


def expires(text: str) -> str:
    """Return the parsed value of `--expires`."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_fields(parser)
    return str(parser.parse_args(["--expires", text]).expires)


@pytest.mark.parametrize(("name", "most"), [("tags", MAX_TAGS), ("asked_as", MAX_ASKED_AS)])
def test_tags_and_phrases_are_counted(name: str, most: int) -> None:
    given = argparse.Namespace(title=None, body=None, context=None, tags=None, asked_as=None)
    setattr(given, name, ["x"] * most)
    check_fields(given)
    setattr(given, name, ["x"] * (most + 1))
    with pytest.raises(UsageError, match="expected at most %d, got %d" % (most, most + 1)):
        check_fields(given)


def test_a_date_is_kept_as_it_is_and_a_time_in_utc() -> None:
    cases = [
        ("2031-12-31", "2031-12-31"),
        ("2031-12-31T10:00", "2031-12-31T10:00:00Z"),
        ("2031-12-31 10:00:30Z", "2031-12-31T10:00:30Z"),
        ("2031-12-31T01:00:00+05:00", "2031-12-30T20:00:00Z"),
        ("never", ""),
        ("none", ""),
    ]
    assert [(text, expected) for text, expected in cases if expires(text) != expected] == []


@pytest.mark.parametrize(
    "text",
    [
        "20311231",
        "2031-W50",
        "2031-W50-1",
        "2031-1-1",
        "2031-12-31T10",
        "2031-02-30",
        "31.12.2031",
        "soon",
        "",
    ],
)
def test_no_other_date_format_is_accepted(text: str) -> None:
    with pytest.raises(argparse.ArgumentError, match="expected a date such as 2031-12-31"):
        expires(text)


def test_a_pattern_below_the_project_begins_at_its_root(project: Project) -> None:
    paths = Paths(project.root)
    assert project_files([paths.project_root + "/gen/*.ts"], paths) == ["gen/*.ts"]


@pytest.mark.parametrize("path", ["../outside.py", "~/notes.md", "/etc/hosts", "packages/../../outside.py"])
def test_a_path_outside_of_the_project_is_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """No call in the project names it, so the memory would never be shown for it."""
    monkeypatch.chdir(project.root)
    with pytest.raises(InvalidMemory, match="expected a path below the project"):
        project_files([path], Paths(project.root))


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("src/*.ts", "packages/pay/src/*.ts"),
        ("./gen/*.ts", "packages/pay/gen/*.ts"),
        ("docs/*.md", "docs/*.md"),
        ("gen/*.ts", "gen/*.ts"),
        ("*.ts", "*.ts"),
    ],
)
def test_a_pattern_in_a_package_begins_where_its_folder_is(
    project: Project, monkeypatch: pytest.MonkeyPatch, written: str, stored: str
) -> None:
    for name in (".git/HEAD", "packages/pay/src/a.ts", "docs/a.md", "packages/pay/docs/a.md"):
        project.write(name, "")
    monkeypatch.chdir(os.path.join(project.root, "packages", "pay"))
    parser, paths = argparse.ArgumentParser(), Paths(project.root)
    add_fields(parser)
    arguments = parser.parse_args(["--file", written, "--guard-file", "Edit(%s)" % written])
    guard = guard_of(arguments, paths) or {}
    assert (project_files(arguments.files, paths), guard["files"]) == ([stored], [stored])
