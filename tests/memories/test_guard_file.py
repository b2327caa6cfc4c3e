"""The prepared file of guards is read as it was written; its file patterns follow the rules of gitignore, as git itself says."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel.paths import Paths
from memory_plugin.memories.guard_file import (
    GuardFile,
    alternatives,
    covers,
    guard_file_path,
    paths_below,
    pattern_problem,
    saved_rows,
    write_guard_file,
    written_out,
)
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
    head = {"schema": 1, "root": "ROOT", "guards": [ROW]}
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
        changed(guards=None),
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
    ("[^a-c]x", "dx", True),
    ("[\\^a]x", "^x", True),
    ("[\\^a]x", "dx", False),
    ("[z-a]x", "bx", False),
    ("\\*x", "*x", True),
    ("\\*x", "ax", False),
    ("infra", "infra/main.tf", True),
    ("infra/prod", "infra/prod/main.tf", True),
    ("infra/prod", "x/infra/prod/main.tf", False),
    ("Makefile", "makefile", False),
    ("*", "a/b", True),
    ("**", "a/b", True),
]


def test_a_pattern() -> None:
    assert [
        (pattern, path)
        for pattern, path, covered in CASES
        if covers(pattern, path, ignores_case=False) != covered
    ] == []


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
    [("!a", "no exceptions"), ("a/../b", "leave out"), ("./a", "leave out"), ("a//b", "empty"), ("a/b", ""), ("\\!a", ""),
     ("*.{js", "close the braces"), ("{a,{b}", "close the braces"), ("x{1..3}", "ranges"), ("\\{a,b", ""), ("a/{id}/b", ""),
     ("{a,..}/b", "leave out"), ("a..b/.c", ""), ("*.(go|rs)", "in braces"), ("app/(auth)/x.tsx", ""), ("a|b", "by itself"),
     ("lib/ src/", "by itself"), ("my lib/", ""), ("^lib/", "no regular"), (".*\\.go$", "no regular"), ("routes/$id.go", ""),
     ("file:lib/a.go", "colon"), ("lib/a.go:12", "colon"), ("lib/<name>/x", "any name"), ("[a-z", "bracket"), ("[id].go", ""),
     ('"lib/**"', "quotes"), ("lib/...", "any folders"), ("$PWD/lib/**", "variables"), ("%ROOT%/lib", "variables"), ("lib\\**", "write /"),
     ("A$B.class", ""), ("lib/\\*", "")],
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


def test_a_file_in_another_worktree_has_its_path_there(project: Project) -> None:
    project.git("commit", "-q", "--allow-empty", "-m", "begin")
    inside, beside = (os.path.join(project.root, ".claude", "worktrees", "x"), project.root + "-linked")
    for folder in (inside, beside):
        project.git("worktree", "add", "-q", folder)
    roots = [os.path.realpath(folder) for folder in (project.root, inside, beside)]
    assert [paths_below(root, os.path.join(one, "db/a.sql"), root) for root in roots for one in roots] == [
        ["db/a.sql"]
    ] * 9


def test_braces_are_written_out_as_in_a_shell() -> None:
    cases = [
        ("gen/**/*.{ts,js}", ["gen/**/*.ts", "gen/**/*.js"]),
        ("{a,b}/{c,{d,e}}", ["a/c", "b/c", "a/d", "a/e", "b/d", "b/e"]),
        ("{{cookiecutter.name}}/x", ["{{cookiecutter.name}}/x"]),
        ("src/**.{ts,tsx}", ["src/**/*.ts", "src/**/*.tsx"]),
        ("**.ts", ["**/*.ts"]),
        ("a**/b**.c/**", ["a**/b**.c/**"]),
        (r"\{a,b\}", [r"\{a,b\}"]),
        ("{a,b}" * 7, []),
    ]
    assert [
        (pattern, written)
        for pattern, written in cases
        if sorted(set(alternatives(pattern))) != sorted(written)
    ] == []


def test_brackets_are_also_part_of_a_name() -> None:
    forms = written_out("app/[id]/page.{ts,tsx}")
    assert any(covers(form, "app/[id]/page.tsx") for form in forms)
    assert any(covers(form, "app/i/page.ts") for form in forms)


def test_what_a_pattern_cannot_hold_is_refused() -> None:
    cases = [
        *(
            "!gen/**",
            "{a,b",
            "{1..3}.txt",
            "src/@(a|b).ts",
            "[[:alpha:]].ts",
            r"gen\api",
            "~/gen/*",
            "a/../b",
            "//etc/**",
            ".env,.env.local",
            "*.ts, *.js",
        ),
        *("Read(gen/**)", "{a,b}" * 7),
    ]
    assert [pattern for pattern in cases if not pattern_problem(pattern)] == []
