"""Paths as Windows writes them, with the functions of `ntpath` in the place of `os.path`."""

from __future__ import annotations

import ntpath
import os
from types import SimpleNamespace

import pytest

from memory_plugin.memories import guard_file

ROOT = "C:\\shop"


@pytest.fixture(autouse=True)
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the module the `os` of Windows."""
    monkeypatch.setattr(guard_file, "os", SimpleNamespace(path=ntpath, sep="\\", getcwd=os.getcwd))


def test_a_path_below_the_project() -> None:
    cases = [
        ("C:\\shop\\src\\port.ts", "", ["src/port.ts"]),
        ("C:/shop/src/port.ts", "", ["src/port.ts"]),
        ("src\\port.ts", "C:\\shop", ["src/port.ts"]),
        ("..\\src\\port.ts", "C:\\shop\\web", ["src/port.ts"]),
        ("C:\\shopping\\port.ts", "", []),
        ("D:\\shop\\port.ts", "", []),
        ("C:\\shop", "", []),
    ]
    assert [
        (path, folder, expected)
        for path, folder, expected in cases
        if guard_file.paths_below(ROOT, path, folder) != expected
    ] == []


@pytest.mark.parametrize(("pattern", "covers"), [("src/", True), ("SRC/*.ts", True), ("web/", False)])
def test_a_guard_covers_such_a_path_in_any_case(pattern: str, covers: bool) -> None:
    (path,) = guard_file.paths_below(ROOT, "C:\\shop\\src\\port.ts", "")
    assert guard_file.covers(pattern, path, ignores_case=True) is covers
