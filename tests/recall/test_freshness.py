"""A few `stat` calls detect changed paths, and report those of which they cannot be sure."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memory_plugin.kernel.fastjson import dumps
from memory_plugin.kernel.sqlite import Connection
from memory_plugin.recall.index_file import WATCHED, changed_paths, meta_set, snapshot
from memory_plugin.recall.index_refresh import create_index


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    """Yield a new index."""
    with closing(create_index(str(tmp_path / "index.sqlite3"))) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder that has not changed for a minute."""
    path = tmp_path / "folder"
    path.mkdir()
    long_ago(path)
    return path


def long_ago(path: Path, seconds: float = 60.125) -> None:
    """Let a path's last change lie back so far, with a fraction of a second as a fine clock has it."""
    os.utime(path, (time.time() - seconds, time.time() - seconds))


def save_marks(connection: Connection, paths: list[str]) -> None:
    """Save the present marks of paths, as a refresh does."""
    meta_set(connection, WATCHED, dumps(snapshot(paths)))


def test_without_marks_the_changes_are_unknown(connection: Connection) -> None:
    assert changed_paths(connection) is None


def test_an_untouched_path_is_not_changed(connection: Connection, folder: Path) -> None:
    save_marks(connection, [str(folder), str(folder / "absent")])
    assert changed_paths(connection) == set()


@pytest.mark.parametrize("change", ["a file", "gone", "another folder", "a link", "appeared", "owner"])
def test_a_change_is_seen(connection: Connection, folder: Path, change: str) -> None:
    watched = folder / "new" if change == "appeared" else folder
    save_marks(connection, [str(watched)])
    if change == "a file":
        (folder / "x").write_text("x", encoding="utf-8")
    elif change == "gone":
        folder.rmdir()
    elif change == "appeared":
        watched.mkdir()
    elif change == "owner":
        if os.getuid() != 0:
            pytest.skip("only root can give a folder away")
        os.chown(folder, 12345, -1)
    else:
        moved = folder.rename(folder.parent / "moved")
        if change == "a link":
            folder.symlink_to(moved)
        else:
            folder.mkdir()
            long_ago(folder)
    assert changed_paths(connection) == {str(watched)}


def test_a_path_that_changed_just_now_is_unsure(connection: Connection, folder: Path) -> None:
    os.utime(folder)
    save_marks(connection, [str(folder)])
    assert changed_paths(connection) == {str(folder)}
    time.sleep(0.06)
    assert changed_paths(connection) == {str(folder)}, "until it is looked at again"
    save_marks(connection, [str(folder)])
    assert changed_paths(connection) == set()


def test_a_coarse_clock_is_given_two_seconds(folder: Path) -> None:
    os.utime(folder, (int(time.time()) - 1, int(time.time()) - 1))
    assert snapshot([str(folder)]) == {str(folder): "?"}
    os.utime(folder, (int(time.time()) - 5, int(time.time()) - 5))
    assert snapshot([str(folder)]) != {str(folder): "?"}


def test_a_path_changed_by_a_clock_slightly_ahead_is_unsure(folder: Path) -> None:
    long_ago(folder, -30.5)
    assert snapshot([str(folder)]) == {str(folder): "?"}


@pytest.mark.parametrize("ahead", [3600.5, 86400.0 * 365 * 40], ids=["an hour", "forty years"])
def test_a_folder_from_the_future_is_not_read_again_on_each_prompt(
    connection: Connection, folder: Path, ahead: float
) -> None:
    long_ago(folder, -ahead)
    save_marks(connection, [str(folder)])
    assert changed_paths(connection) == set()
    (folder / "x").write_text("x", encoding="utf-8")
    assert changed_paths(connection) == {str(folder)}


@pytest.mark.parametrize("kept", ["[]", "5", '"x"'])
def test_invalid_marks_are_unknown(connection: Connection, kept: str) -> None:
    meta_set(connection, "watched", kept)
    assert changed_paths(connection) is None
