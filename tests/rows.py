"""Sampling for long parameter tables: each run takes some rows, slow runs take all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def every(step: int, rows: Iterable[Any]) -> list[Any]:
    """Return the rows as parameters; all except each `step`-th, from the first on, are marked slow."""
    return [row if number % step == 0 else _slow(row) for number, row in enumerate(rows)]


def _slow(row: Any) -> Any:  # noqa: ANN401 (a row is whatever its test takes)
    if isinstance(row, type(pytest.param())):
        return pytest.param(*row.values, marks=[*row.marks, pytest.mark.slow], id=row.id)
    return pytest.param(*(row if isinstance(row, tuple) else (row,)), marks=pytest.mark.slow)
