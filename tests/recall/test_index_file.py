"""The index file: complete, or refused."""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from importlib import import_module
from pathlib import Path

import pytest

from memory_plugin.recall import index_file
from memory_plugin.recall.index_file import (
    SCHEMA,
    IndexMissing,
    IndexOutdated,
    IndexUnavailable,
    failure_reason,
    has_fts5,
    meta_get,
    meta_set,
    open_index,
    transaction,
)
from memory_plugin.recall.index_refresh import create_index


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Where the index of a test lies."""
    return str(tmp_path / "index.sqlite")


def test_a_new_index_opens_and_leaves_nothing_beside_it(path: str) -> None:
    create_index(path).close()
    with closing(open_index(path)) as connection:
        assert meta_get(connection, "model")
    assert os.listdir(os.path.dirname(path)) == ["index.sqlite"]
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_a_new_index_replaces_an_old_one(path: str) -> None:
    with closing(create_index(path)) as connection:
        meta_set(connection, "mark", "old")
    with closing(create_index(path)) as connection:
        assert meta_get(connection, "mark") is None


def test_no_file_is_named_missing_and_none_is_made(path: str) -> None:
    with pytest.raises(IndexMissing):
        open_index(path)
    assert not os.path.exists(path)


@pytest.mark.parametrize(
    "content", [b"", b"no database at all, but long enough to look like one " * 40], ids=["empty", "rubbish"]
)
def test_a_file_that_is_no_index_is_unusable(path: str, content: bytes) -> None:
    Path(path).write_bytes(content)
    with pytest.raises(IndexUnavailable):
        open_index(path)


@pytest.mark.parametrize("version", [1, SCHEMA - 1, SCHEMA + 1])
def test_another_version_is_outdated_and_not_damaged(path: str, version: int) -> None:
    create_index(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = %d" % version)
    with pytest.raises(IndexOutdated, match=path) as outdated:
        open_index(path)
    assert failure_reason(outdated.value) == "index_outdated"


def test_a_folder_that_is_not_there_makes_it_unusable(tmp_path: Path) -> None:
    with pytest.raises(IndexUnavailable):
        create_index(str(tmp_path / "none" / "index.sqlite"))


def test_a_python_without_sqlite_makes_it_unusable(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    create_index(path).close()
    for name in ("_sqlite3", "sqlite3"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "memory_plugin.kernel.sqlite")
    without = import_module("memory_plugin.kernel.sqlite")
    for name in ("open_database", "SqliteError"):
        monkeypatch.setattr(index_file, name, getattr(without, name))
    with pytest.raises(IndexUnavailable, match="no SQLite"):
        open_index(path)


def test_fts5_can_be_left_out(path: str) -> None:
    with closing(create_index(path, fts5=False)) as connection:
        assert not has_fts5(connection)
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    assert not any(name.startswith("postings") for name in tables)


def test_a_transaction_undoes_everything_on_an_error(path: str) -> None:
    with closing(create_index(path)) as connection:
        with pytest.raises(ZeroDivisionError), transaction(connection):  # noqa: PT012 - the transaction is what is tested
            meta_set(connection, "mark", "half")
            raise ZeroDivisionError
        assert meta_get(connection, "mark") is None
        with transaction(connection):
            meta_set(connection, "mark", "whole")
        assert meta_get(connection, "mark") == "whole"
