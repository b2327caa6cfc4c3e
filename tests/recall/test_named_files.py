"""The prepared paths: which memories name a file, and how."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from memory_plugin.kernel.paths import Paths
from memory_plugin.kernel.sqlite import Connection
from memory_plugin.recall import project_files as named_files
from memory_plugin.recall.documents import named_in_files, named_in_text
from memory_plugin.recall.index_refresh import create_index_in_memory
from memory_plugin.recall.project_files import (
    FILE,
    FOLDER,
    KIN,
    PATTERN,
    TEXT,
    NamedFiles,
    named_files_path,
    write_named_files,
)
from tests.project import Project
from tests.recall.store_files import at_home

NAMED = [
    ("src/api/users.py", "users", FILE),
    ("src/api/teams.py", "teams", FILE),
    ("docs/api/", "pages", FILE),
    ("build", "built", FILE),
    ("app/(shop)/[slug]/page.tsx", "route", FILE),
    ("db/**/*.sql", "migrations", PATTERN),
    ("infra/orders/main.tf", "orders", FILE),
    ("src/core/", "core", TEXT),
    ("über straße/größe.md", "words", FILE),
]


@contextmanager
def index_of(named: list[tuple[str, str, str]]) -> Iterator[Connection]:
    """Yield an index in which memories name these paths."""
    with closing(create_index_in_memory()) as connection:
        connection.executemany("INSERT INTO paths VALUES (?, ?, ?, 1)", named)
        yield connection


def prepare(paths: Paths, named: list[tuple[str, str, str]]) -> bool:
    """Write the file from such an index; return whether it changed."""
    with index_of(named) as connection:
        return write_named_files(paths, connection)


def naming(paths: Paths, path: str, named: list[tuple[str, str, str]], *, is_new: bool) -> dict[str, str]:
    """Return which memories name a path, as a tool call finds them: if the prepared file lets it look into the index."""
    prepare(paths, named)
    with index_of(named) as connection:
        found = named_files.naming(connection, {path: is_new})
    may_name = NamedFiles(paths).may_name(path, is_new=is_new)
    assert may_name or not found, "the file is wrong only when it says yes"
    return found


@pytest.fixture
def paths(project: Project) -> Iterator[Paths]:
    """Return the paths of a project with the paths above prepared."""
    with at_home(project) as found:
        assert prepare(found, NAMED)
        yield found


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("src/api/users.py", {"users": FILE}),
        ("src/api/users.pyc", {}),
        ("rc/api/users.py", {}),
        ("lib/src/api/users.py", {}),
        ("src/api", {}),
        ("docs/api/auth/login.md", {"pages": FOLDER}),
        ("docs/apis/login.md", {}),
        ("build/out.js", {"built": FOLDER}),
        ("app/(shop)/[slug]/page.tsx", {"route": FILE}),
        ("db/2025/01/a.sql", {"migrations": PATTERN}),
        ("db/a.py", {}),
        ("src/core/loop.py", {"core": TEXT}),
        ("über straße/größe.md", {"words": FILE}),
        ("src/api/roles.py", {}),
        ('"\\\t\n', {}),
        ("", {}),
    ],
)
def test_paths_are_compared_as_paths(paths: Paths, path: str, named: dict[str, str]) -> None:
    assert naming(paths, path, NAMED, is_new=False) == named


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("src/api/roles.py", {"users": KIN, "teams": KIN}),
        ("src/api/roles.md", {}),
        ("src/api/deep/roles.py", {}),
        ("src/roles.py", {}),
        ("infra/pricing/main.tf", {}),
        ("roles.py", {}),
    ],
)
def test_a_new_file_has_kin_beside_it(paths: Paths, path: str, named: dict[str, str]) -> None:
    assert naming(paths, path, NAMED, is_new=True) == named


def test_a_new_file_has_kin_of_its_name_in_a_neighboring_folder(paths: Paths) -> None:
    named = [("stacks/rds/orders/main.tf", "orders", FILE)]
    assert naming(paths, "stacks/rds/pricing/main.tf", named, is_new=True) == {"orders": KIN}
    assert naming(paths, "stacks/rds/pricing/outputs.tf", named, is_new=True) == {}
    assert naming(paths, "stacks/s3/pricing/main.tf", named, is_new=True) == {}


def test_a_folder_that_many_memories_name_has_no_kin(paths: Paths) -> None:
    named = [("src/%d.py" % at, "m%d" % at, FILE) for at in range(3)]
    assert naming(paths, "src/new.py", named, is_new=True) == {}


def test_the_surest_way_counts(paths: Paths) -> None:
    named = [("a/b.py", "m", TEXT), ("a/", "m", FILE), ("*.py", "m", PATTERN)]
    assert naming(paths, "a/b.py", named, is_new=False) == {"m": PATTERN}


def test_the_file_goes_when_nothing_is_named(paths: Paths) -> None:
    assert not prepare(paths, NAMED)
    assert prepare(paths, [])
    assert not os.path.lexists(named_files_path(paths))
    assert not NamedFiles(paths).may_name("src/api/users.py", is_new=False)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[]\nsrc/a.py\n",
        b'{"schema": 9, "root": "/", "patterns": []}\nsrc/a.py\n',
        b'{"schema": 2, "root": "/elsewhere", "patterns": []}\nsrc/a.py\n',
    ],
)
def test_a_damaged_file_names_nothing(paths: Paths, content: bytes) -> None:
    with open(named_files_path(paths), "wb") as file:
        file.write(content)
    assert not NamedFiles(paths).may_name("src/a.py", is_new=True)


def test_paths_named_by_an_entry_of_files() -> None:
    cases = [
        ("src/a.py", [("src/a.py", FILE)]),
        ("./src/a.py:12", [("src/a.py", FILE)]),
        ("src/a.py:12-40", [("src/a.py", FILE)]),
        ("src\\win\\a.py", [("src/win/a.py", FILE)]),
        ("/work/src/a.py", [("src/a.py", FILE)]),
        ("db/migrations/", [("db/migrations/", FILE)]),
        ("*.sql", [("*.sql", PATTERN)]),
        ("app/[slug]/page.tsx", [("app/[slug]/page.tsx", FILE)]),
        ("/etc/passwd", []),
        ("../other/a.py", []),
        ("~/notes.md", []),
        ("**", []),
        ("*", []),
        ("", []),
    ]
    assert [(entry, named) for entry, named in cases if named_in_files(entry, "/work") != named] == []


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("Changes under app/safety/ need two reviewers.", {"app/safety/"}),
        ("Import `db` from `lib/db.ts`, not from prisma.", {"lib/db.ts"}),
        ("See (docs/api.md).", {"docs/api.md"}),
        ("Workflows are in .github/workflows/ci.yml.", {".github/workflows/ci.yml"}),
        ("The folder src/ holds all of it.", set()),
        ("Read it, then write and commit.", set()),
        ("It is version 2.5 of 2024.", set()),
    ],
)
def test_paths_named_in_a_text(text: str, paths: set[str]) -> None:
    assert paths <= named_in_text(text)
    assert {path for path in named_in_text(text) if path.startswith(tuple("abcdelsv"))} == {
        path for path in paths if not path.startswith(".")
    }
