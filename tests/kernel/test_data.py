"""The plugin's data files must contain an object; state files are read as they were written, and other content counts as empty."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_plugin.kernel import paths
from memory_plugin.kernel.paths import load_data, read_state, write_state


def test_a_name_leads_to_a_file_of_config() -> None:
    assert load_data("replies", "gate")["clear_margin"] == 0.05


def test_each_call_reads_the_file_again() -> None:
    load_data("replies", "gate").clear()
    assert load_data("replies", "gate")


def test_a_missing_file_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        load_data("replies", "no-such-table")


def test_a_damaged_file_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.json").write_text("{", encoding="utf-8")
    monkeypatch.setattr(paths, "data_path", lambda *parts: str(tmp_path.joinpath(*parts)))
    with pytest.raises(ValueError, match=r".+"):
        load_data("x")
    (tmp_path / "x.json").write_text(json.dumps({"a": 1}), encoding="utf-8")
    assert load_data("x") == {"a": 1}


def test_written_state_is_read_back_and_private(tmp_path: Path) -> None:
    path = str(tmp_path / "new" / "folder" / "s.json")
    write_state(path, {"a": [1, "\u00e9\ud800"]})
    assert read_state(path) == {"a": [1, "\u00e9\ud800"]}
    assert os.stat(path).st_mode & 0o077 == 0
    write_state(path, {"b": 2})
    assert read_state(path) == {"b": 2}
    assert os.listdir(os.path.dirname(path)) == ["s.json"]


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"3", b"\xff", b"[" * 100_000])
def test_a_damaged_file_counts_as_empty(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "s.json").write_bytes(content)
    assert read_state(str(tmp_path / "s.json")) == {}


@pytest.mark.parametrize("kind", ["missing", "folder", "link", "pipe", "large"])
def test_anything_but_a_small_regular_file_counts_as_empty(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "s.json"
    (tmp_path / "other").write_bytes(b'{"a": 1}')
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to(tmp_path / "other")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "large":
        path.write_bytes(b'{"a": "%s"}' % (b"x" * 100))
    assert read_state(str(path), 100) == {}


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match=r".+"):
        write_state(str(tmp_path / "file" / "s.json"), {})


@given(st.binary(max_size=200))
def test_no_content_raises(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_bytes(content)
    assert isinstance(read_state(str(path)), dict)
