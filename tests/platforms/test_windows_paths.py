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


@pytest.mark.parametrize(
    ("path", "folder", "expected"),
    [
        ("C:\\shop\\src\\port.ts", "", ["src/port.ts"]),
        ("C:/shop/src/port.ts", "", ["src/port.ts"]),
        ("src\\port.ts", "C:\\shop", ["src/port.ts"]),
        ("..\\src\\port.ts", "C:\\shop\\web", ["src/port.ts"]),
        ("C:\\shopping\\port.ts", "", []),
        ("D:\\shop\\port.ts", "", []),
        ("C:\\shop", "", []),
    ],
    ids=["absolute", "slashes", "relative", "upward", "longer-name", "other-drive", "the-root"],
)
def test_a_path_below_the_project(path: str, folder: str, expected: list[str]) -> None:
    assert guard_file.paths_below(ROOT, path, folder) == expected


@pytest.mark.parametrize(("pattern", "covers"), [("src/", True), ("SRC/*.ts", True), ("web/", False)])
def test_a_guard_covers_such_a_path_in_any_case(pattern: str, covers: bool) -> None:
    (path,) = guard_file.paths_below(ROOT, "C:\\shop\\src\\port.ts", "")
    assert guard_file.covers(pattern, path, ignores_case=True) is covers
