"""Where stores are, and reading stores that may be hostile: links, pipes, huge files, other owners, invalid bytes."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable

import pytest

from memory_plugin.kernel.paths import Paths
from memory_plugin.memories.memory_files import (
    MAX_BYTES,
    PROJECT,
    USER,
    FileProblem,
    Store,
    all_memories,
    category_folders,
    named_store,
    project_store,
    read_memory,
    store_key,
    stores,
    user_store,
    why_not_read,
)
from memory_plugin.memories.record import categories
from tests.memories.conftest import Put
from tests.project import Project

DECISION = categories()["decision"]
AS_ROOT = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away"
)


def read_store(store: Store) -> tuple[list[str], list[FileProblem]]:
    problems: list[FileProblem] = []
    return [stored.memory.id for stored in all_memories(store, problems)], problems


def test_a_store_that_does_not_exist_is_empty(store: Store) -> None:
    assert why_not_read(store) == ""
    assert read_store(store) == ([], [])


def test_memories_of_all_categories_are_found(store: Store, put: Put) -> None:
    for name in categories():
        put("in-" + name.replace("_", "-"), category=name)
    assert sorted(read_store(store)[0]) == sorted("in-" + name.replace("_", "-") for name in categories())


DEEP = b'{"title":"t","content":{"decision":' + b"[" * 100_000 + b"]" * 100_000 + b"}}"
BARELY_DEEP = b'{"title":"t","content":{"decision":' + b"[" * 500 + b'"x"' + b"]" * 500 + b"}}"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        pytest.param(b"", "invalid JSON", id="empty"),
        pytest.param(b"\0" * 100, "invalid JSON", id="NULs"),
        pytest.param(b"{", "invalid JSON", id="cut off"),
        pytest.param(b'{"title": "\xff", "content": {"decision": "x"}}', "not UTF-8", id="not UTF-8"),
        pytest.param(b"{} {}", "invalid JSON", id="two values"),
        pytest.param(b'{"title":"t","content":{"decision":NaN}}', "invalid JSON", id="NaN"),
        pytest.param(
            b'{"title":"t","content":{"decision":1e999}}', "out of range", id="a number that becomes infinite"
        ),
        pytest.param(DEEP, "at most 10000 values", id="nested 100,000 deep"),
        pytest.param(BARELY_DEEP, "nested", id="nested 500 deep"),
        pytest.param(b"[1]", "expected an object", id="a list"),
        pytest.param(b" " * (MAX_BYTES + 1), "at most", id="huge"),
    ],
)
def test_a_file_that_is_no_memory_is_a_problem_and_hides_no_other(
    store: Store, put: Put, raw: bytes, reason: str
) -> None:
    put("good")
    bad = put("bad", raw=raw)
    names, problems = read_store(store)
    assert names == ["good"]
    assert [problem.path for problem in problems] == [bad]
    assert reason in problems[0].reason


def test_a_byte_order_mark_and_lone_surrogates_are_read(store: Store, put: Put) -> None:
    content = json.dumps({"title": "a\ud800b", "content": {"decision": "x"}}).encode("ascii")
    put("odd", raw=b"\xef\xbb\xbf" + content)
    assert read_store(store) == (["odd"], [])


@pytest.mark.parametrize("name", ["Bad", "a_b", "-a", "a" * 81, "ä"])
def test_a_file_name_that_is_no_id_is_a_problem(store: Store, put: Put, name: str) -> None:
    put(name)
    names, problems = read_store(store)
    assert (names, len(problems)) == ([], 1)
    assert "id: expected" in problems[0].reason


def test_links_pipes_folders_and_hidden_files_are_skipped(store: Store, put: Put, paths: Paths) -> None:
    good = put("good")
    folder = os.path.dirname(good)
    outside = os.path.join(paths.project_root, "outside.json")
    shutil.copy(good, outside)
    os.symlink(outside, os.path.join(folder, "linked.json"))
    os.symlink("/dev/zero", os.path.join(folder, "device.json"))
    os.symlink("missing", os.path.join(folder, "dangling.json"))
    os.mkfifo(os.path.join(folder, "pipe.json"))
    os.mkdir(os.path.join(folder, "folder.json"))
    shutil.copy(good, os.path.join(folder, ".hidden.json"))
    shutil.copy(good, os.path.join(folder, "draft.json.12.abcd1234.tmp"))
    names, problems = read_store(store)
    assert names == ["good"]
    assert {os.path.basename(path): reason for path, reason in problems} == {
        "linked.json": "a symbolic link",
        "device.json": "a symbolic link",
        "dangling.json": "a symbolic link",
        "pipe.json": "not a regular file",
        "folder.json": "not a regular file",
    }


def test_the_reason_does_not_repeat_the_path(store: Store, put: Put) -> None:
    put("large", raw=b"x" * (256 * 1024 + 1))
    (problem,) = read_store(store)[1]
    assert problem.reason == "expected at most 262144 bytes, got 262145"


def test_a_pipe_or_link_that_takes_a_file_s_place_is_refused_at_once(store: Store, put: Put) -> None:
    path = put("gone")
    for target in ("", "/dev/zero"):
        os.unlink(path)
        os.symlink(target, path) if target else os.mkfifo(path)
        with pytest.raises(OSError, match=r"not a regular file|a symbolic link"):
            read_memory(store, DECISION, path)


def test_a_linked_category_folder_is_skipped(store: Store, put: Put, paths: Paths) -> None:
    folder = os.path.dirname(put("good"))
    moved = os.path.join(paths.project_root, "elsewhere")
    shutil.move(folder, moved)
    os.symlink(moved, folder)
    assert category_folders(store) == []
    names, problems = read_store(store)
    assert (names, [problem.path for problem in problems]) == ([], [folder])


@pytest.mark.parametrize("name", [".claude", os.path.join(".claude", "memory")])
@pytest.mark.parametrize("exists", [True, False], ids=["there", "not yet there"])
def test_a_project_s_store_that_is_linked_elsewhere_is_left_alone(
    store: Store, put: Put, paths: Paths, name: str, exists: bool
) -> None:
    put("good")
    link, target = (
        os.path.join(paths.project_root, name),
        os.path.join(os.path.dirname(paths.project_root), "target"),
    )
    shutil.move(link, target)
    if not exists:
        shutil.rmtree(target)
        os.makedirs(target if name == ".claude" else os.path.dirname(target), exist_ok=True)
    os.symlink(target, link)
    assert "symbolic link" in why_not_read(store)
    assert read_store(store) == ([], [])


def test_a_store_that_is_a_file_is_left_alone(store: Store) -> None:
    os.makedirs(os.path.dirname(store.root))
    with open(store.root, "w", encoding="utf-8"):
        pass
    assert "is not a folder" in why_not_read(store)


@AS_ROOT
def test_only_a_project_s_store_may_belong_to_another_user(store: Store, put: Put, paths: Paths) -> None:
    """In a container, a project is often another user's; only texts are trusted, so nothing is told because of it."""
    put("good")
    os.chown(store.root, 12345, 12345)
    assert why_not_read(store) == ""
    own = user_store(paths)
    assert own is not None
    os.makedirs(own.root)
    os.chown(own.root, 12345, 12345)
    assert "belongs to another user" in why_not_read(own)


def test_a_store_that_may_not_be_read_is_no_empty_one(store: Store, put: Put) -> None:
    put("good")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "access", lambda *_: False)
        assert why_not_read(store) == "you may not read " + store.root


def test_the_user_s_own_store_may_be_a_link(paths: Paths, put: Put) -> None:
    own = user_store(paths)
    assert own is not None
    put("good", to=own)
    moved = own.root + "-dotfiles"
    shutil.move(own.root, moved)
    os.symlink(moved, own.root)
    assert read_store(own) == (["good"], [])


def test_the_project_s_store_is_found_from_any_folder_below(project: Project, paths: Paths) -> None:
    below = os.path.join(project.root, "src", "deep")
    os.makedirs(below)
    assert project_store(Paths(below)) == project_store(paths)
    assert project_store(paths).root == os.path.join(paths.project_root, ".claude", "memory")


def test_both_stores_are_searched_the_project_s_first(paths: Paths) -> None:
    assert [store.scope for store in stores(paths)] == [PROJECT, USER]
    assert named_store(paths, USER).root == os.path.join(str(paths.config_dir), "memory")


def test_in_the_home_folder_there_is_one_store(project: Project, paths: Paths) -> None:
    assert [store.scope for store in stores(Paths(project.home))] == [USER]


def worktree(project: Project) -> str:
    project.git("commit", "-q", "--allow-empty", "-m", "first")
    path = os.path.join(os.path.dirname(project.root), "linked")
    project.git("worktree", "add", "-q", path)
    return path


def test_a_worktree_without_a_store_shares_the_main_one(project: Project, paths: Paths) -> None:
    linked = Paths(worktree(project))
    assert project_store(linked).root.startswith(linked.project_root)
    os.makedirs(project_store(paths).folder("decision"))
    own = os.path.join(linked.project_root, ".claude", "memory")
    os.makedirs(own)  # a folder of notes is no store
    assert project_store(linked).root == project_store(paths).root
    os.makedirs(os.path.join(own, "constraints"))
    assert project_store(linked).root == own


def test_a_git_file_that_the_main_repository_does_not_know_is_not_believed(
    make_project: Callable[..., Project], project: Project, paths: Paths
) -> None:
    worktree(project)
    os.makedirs(project_store(paths).folder("decision"))
    thief = make_project()
    os.rename(os.path.join(thief.root, ".git"), os.path.join(thief.root, "git"))
    with open(os.path.join(thief.root, ".git"), "w", encoding="utf-8") as file:
        file.write("gitdir: %s\n" % os.path.join(project.root, ".git", "worktrees", "linked"))
    assert project_store(Paths(thief.root)).root.startswith(os.path.realpath(thief.root))


def test_every_store_has_a_key_of_its_own(paths: Paths) -> None:
    assert len({store_key(store) for store in stores(paths)}) == 2


def test_without_a_config_folder_there_is_no_user_store(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "USERPROFILE", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    paths = Paths(project.root)
    assert [store.scope for store in stores(paths)] == [PROJECT]
    with pytest.raises(RuntimeError, match="no home folder"):
        named_store(paths, USER)


def test_in_the_home_folder_the_project_s_store_is_the_user_s(project: Project) -> None:
    """As with a repository of dotfiles."""
    project.root, project.state = project.home, os.path.join(project.config, "lcars", "memory")
    project.git("init", "-q")
    run = project.cli(
        "save", "--category", "decision", "--title", "Stow links dotfiles", "--body", "It does."
    )
    assert (run.returncode, run.stderr) == (0, "")
    (memory,) = project.cli("list", "--json").json["memories"]
    assert memory["scope"] == "user"
