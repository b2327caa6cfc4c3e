"""Which sessions are still to be graded."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .asking import rubric_digest
from .records import latest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .pipeline import Scorer

__all__ = ["undone"]


def undone(paths: Sequence[str], scorer: Scorer) -> list[str]:
    """The transcripts without a grade by the present question, and those that grew since, or whose grade lacks a dimension."""
    rows = latest(scorer.places, scorer.settings)
    found = []
    for path in paths:
        row = rows.get(os.path.splitext(os.path.basename(path))[0])
        scorer_of = row.get("scorer") if row else None
        same = isinstance(scorer_of, dict) and scorer_of.get("rubric") == rubric_digest()
        if not (row and same and row.get("bytes") == _size(path) and not row.get("missing")):
            found.append(path)
    return found


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return -1
