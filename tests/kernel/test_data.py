"""The plugin's data files are read by name and must contain an object."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory_plugin.kernel import data
from memory_plugin.kernel.data import load_data


def test_a_name_leads_to_a_file_of_config() -> None:
    assert load_data("replies", "gate")["clear_margin"] == 0.05


def test_each_call_reads_the_file_again() -> None:
    load_data("replies", "gate").clear()
    assert load_data("replies", "gate")


def test_a_missing_file_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        load_data("replies", "no-such-table")


@pytest.mark.parametrize("content", ["[]", "3", "null", '"text"', "{"])
def test_anything_but_an_object_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    (tmp_path / "x.json").write_text(content, encoding="utf-8")
    monkeypatch.setattr(data, "data_path", lambda *parts: str(tmp_path.joinpath(*parts)))
    with pytest.raises(ValueError, match=r".+"):
        load_data("x")
    (tmp_path / "x.json").write_text(json.dumps({"a": 1}), encoding="utf-8")
    assert load_data("x") == {"a": 1}
