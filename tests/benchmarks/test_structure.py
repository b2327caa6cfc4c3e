"""The figures of the structure, and their budget."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import structure

SOURCE = '''"""A docstring."""

import os  # a comment


def path() -> str:
    """Return a path
    in two lines."""
    # a comment
    return os.path.join(
        "a", """a text
in two lines"""
    )
'''


def test_docstrings_comments_and_blank_lines_are_no_code() -> None:
    assert structure.code_lines(SOURCE) == 6


def test_circles_of_imports() -> None:
    cases = [
        ({"a.py": "from . import b", "b.py": "from .a import x"}, [{"a", "b"}]),
        ({"a.py": "def f():\n    from .b import x", "b.py": "if 0:\n    from .a import X"}, [{"a", "b"}]),
        (
            {"a.py": "from .b import x", "b.py": "from .c import x", "c.py": "from . import a"},
            [{"a", "b", "c"}],
        ),
        ({"p/__init__.py": "from .m import x", "p/m.py": "from . import y"}, [{"p", "p.m"}]),
        (
            {
                "a.py": "from .p.m import x",
                "p/__init__.py": "",
                "p/m.py": "from ..b import x",
                "b.py": "import a",
            },
            [],
        ),
    ]
    assert [
        (sources, expected) for sources, expected in cases if structure.circles(sources) != expected
    ] == []


def test_a_table_holds_several_whole_names() -> None:
    words = {"save", "list", "check text"}
    source = 'A = ("save", ("list",))\nB = {"save and list"}\ndef f():\n    C = ("save", "list")\nD = ["check text", "list", "save"]'
    assert structure.tables_of(source, words, 2) == [1, 5]


def test_the_lists_of_modules_are_counted() -> None:
    sources = {
        "a/b.py": 'X = ("a.b a.c " "d")\nY = "a.b, not a list"',
        "a/c.py": "",
        "d.py": 'Z = ["a.b", "a.c", "d"]\nW = ["a.b", "d"]',
    }
    assert structure.hot_lists(sources) == 2


@pytest.mark.parametrize(
    ("found", "problems"),
    [({"modules": 100}, 0), ({"modules": 101}, 1), ({"modules": 1, "tables": 1}, 1)],
)
def test_the_budget_is_what_is_allowed_and_names_every_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: dict[str, int], problems: int
) -> None:
    (tmp_path / "budget.json").write_text(json.dumps({"modules": 100}), encoding="utf-8")
    monkeypatch.setattr(structure, "BUDGET", str(tmp_path / "budget.json"))
    assert len(structure.exceeded(found)) == problems
