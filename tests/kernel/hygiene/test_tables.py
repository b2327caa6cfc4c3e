"""Rule files that are missing or have other content."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_plugin.kernel.hygiene import tables
from memory_plugin.kernel.hygiene.tables import DataError, strings, words


@pytest.mark.parametrize(
    ("content", "named"),
    [
        pytest.param(None, "odd.json", id="missing"),
        pytest.param(b"[]", "expected an object", id="a list"),
        pytest.param(b"{", "odd.json", id="cut"),
        pytest.param(b"\xff", "odd.json", id="not UTF-8"),
    ],
)
def test_a_wrong_file_is_refused_by_name(
    content: bytes | None, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if content is not None:
        (tmp_path / "odd.json").write_bytes(content)
    monkeypatch.setattr(tables, "data_path", lambda *parts: str(tmp_path / parts[-1]))
    with pytest.raises(DataError, match=named):
        tables.table.__wrapped__("odd.json")


def test_a_list_of_strings() -> None:
    assert strings(["a", "b"], "here") == ("a", "b")
    assert strings(None, "here") == ()


@pytest.mark.parametrize("value", ["ab", ["a", 1], {}, 7])
def test_anything_else_is_refused(value: object) -> None:
    with pytest.raises(DataError, match="here: expected a list of strings"):
        strings(value, "here")


def test_an_unknown_list_is_refused() -> None:
    with pytest.raises(DataError, match=r"words.json: no list nowhere"):
        words("nowhere")
