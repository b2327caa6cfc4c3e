"""File patterns of guards: the rules of gitignore, compared with git itself, and properties of any pattern."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.memories.guarded_files import covers, paths_below, pattern_problem

if TYPE_CHECKING:
    from pathlib import Path

    from tests.project import Project

CASES = [
    ("db/migrations/*.sql", "db/migrations/0001.sql", True),
    ("db/migrations/*.sql", "db/migrations/old/0001.sql", False),
    ("db/migrations/*.sql", "app/db/migrations/0001.sql", False),
    ("*.sql", "a/b/c.sql", True),
    ("*.sql", "c.sql.bak", False),
    ("db/", "db/x/y.txt", True),
    ("db/", "lib/db/y.txt", True),
    ("/db/", "lib/db/y.txt", False),
    ("db/", "db", False),
    ("db", "db", True),
    ("/go.sum", "go.sum", True),
    ("/go.sum", "tools/go.sum", False),
    ("go.sum", "tools/go.sum", True),
    ("src/**/gen", "src/gen", True),
    ("src/**/gen", "src/a/b/gen/x.go", True),
    ("src/**", "src/a", True),
    ("src/**", "src", False),
    ("**/gen.go", "gen.go", True),
    ("**/gen.go", "a/b/gen.go", True),
    ("a**b", "axxb", True),
    ("a**b", "ax/b", False),
    (".env*", "app/.env.local", True),
    ("a?c", "abc", True),
    ("a?c", "a/c", False),
    ("[a-c]x", "bx", True),
    ("[!a-c]x", "bx", False),
    ("[!a-c]x", "dx", True),
    ("[]a]x", "]x", True),
    ("\\*x", "*x", True),
    ("\\*x", "ax", False),
    ("infra", "infra/main.tf", True),
    ("infra/prod", "infra/prod/main.tf", True),
    ("infra/prod", "x/infra/prod/main.tf", False),
    ("Makefile", "makefile", False),
    ("*", "a/b", True),
    ("**", "a/b", True),
]


@pytest.mark.parametrize(("pattern", "path", "covered"), CASES)
def test_a_pattern(pattern: str, path: str, *, covered: bool) -> None:
    assert covers(pattern, path, ignores_case=False) == covered


@pytest.mark.parametrize(("pattern", "path", "covered"), CASES)
def test_git_says_the_same(project: Project, pattern: str, path: str, *, covered: bool) -> None:
    project.git("config", "core.ignoreCase", "false")
    project.write(path, "")
    project.write(".gitignore", pattern + "\n")
    ignored = project.process(["git", "check-ignore", "-q", "--", path]).returncode == 0
    assert ignored == covered


def test_names_are_the_same_whatever_their_case_where_the_file_system_says_so() -> None:
    assert covers("DB/*.Sql", "db/A.sql", ignores_case=True)
    assert not covers("DB/*.Sql", "db/A.sql", ignores_case=False)


@given(
    st.text(alphabet="ab*?[]!-\\/.", max_size=30),
    st.lists(st.text(alphabet="ab*[]-\\.", min_size=1, max_size=6), min_size=1, max_size=5),
)
def test_any_pattern_is_read(pattern: str, parts: list[str]) -> None:
    assert covers(pattern, "/".join(parts)) in (True, False)


@given(st.lists(st.text(alphabet="abc.", min_size=1, max_size=6), min_size=1, max_size=5))
def test_a_plain_path_covers_itself_and_what_is_below(parts: list[str]) -> None:
    path = "/".join(parts)
    assert covers("/" + path, path)
    assert covers("/" + path, path + "/below")
    assert not covers("/" + path, "above/" + path) or parts[0] == "above"


def test_many_stars_do_not_take_forever() -> None:
    assert not covers("*a" * 90, "a" * 80 + "b" * 4000)
    assert not covers("**/" * 60 + "x", "/".join("y" * 400))


@pytest.mark.parametrize(
    ("pattern", "fix"),
    [("!a", "no exceptions"), ("a/../b", "leave out"), ("./a", "leave out"), ("a//b", "empty"), ("a/b", ""), ("\\!a", "")],
)  # fmt: skip
def test_a_pattern_that_could_cover_nothing_is_refused(pattern: str, fix: str) -> None:
    assert fix in pattern_problem(pattern)
    assert bool(pattern_problem(pattern)) == bool(fix)


def test_a_path_counts_as_written_and_with_links_resolved(tmp_path: Path) -> None:
    root = os.path.realpath(tmp_path / "root")
    os.makedirs(os.path.join(root, "db"))
    os.symlink(os.path.join(root, "db"), os.path.join(root, "short"))
    os.symlink(root, tmp_path / "alias")
    assert paths_below(root, os.path.join(root, "short", "a.sql"), root) == ["short/a.sql", "db/a.sql"]
    assert paths_below(root, str(tmp_path / "alias" / "db" / "a.sql"), root) == ["db/a.sql"]
    assert paths_below(root, "../root/db/a.sql", root) == ["db/a.sql"]
    assert paths_below(root, "a.sql", os.path.join(root, "db")) == ["db/a.sql"]
    assert paths_below(root, str(tmp_path / "elsewhere.sql"), root) == []
    assert paths_below(root, root, root) == []
