"""Grading many sessions, one after the other: with progress, and to be gone on with after a stop."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..kernel.files import in_words
from ..sessions.pipeline import Graded, grade_session
from ..sessions.todo import undone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..sessions.pipeline import Scorer
    from .console import Console

__all__ = ["score_one_by_one"]

_LASTING = frozenset(["over_budget", "disabled", "no_key", "http_401", "http_403", "no_state", "bad_url"])


def score_one_by_one(
    paths: Sequence[str], scorer: Scorer, console: Console, *, again: bool, as_json: bool
) -> int:
    """Grade what is not graded yet; 0 when all of it is.

    Each grade is written down at once, so that a second run goes on where the first was stopped.  A failure that the next session would
    meet as well ends the run.
    """
    todo = list(paths) if again else undone(paths, scorer)
    failed: dict[str, str] = {}
    done: list[dict[str, Any]] = []
    for at, path in enumerate(todo):
        console.progress(
            "%d of %d sessions, %d not graded: %s" % (at, len(todo), len(failed), os.path.basename(path))
        )
        graded = _graded(path, scorer)
        if isinstance(graded, Graded) and graded.row is not None and not graded.trouble:
            done.append(graded.row)
            continue
        why = graded if isinstance(graded, str) else (graded.failures or [graded.trouble])[0]
        failed[path] = why
        if why in _LASTING:
            failed.update((left, why) for left in todo[at + 1 :])
            break
    console.progress("")
    left = {os.path.basename(path): why for path, why in failed.items() if why != "empty"}
    if as_json:
        console.json({"graded": done, "failed": left, "already": len(paths) - len(todo)})
    else:
        console.line(
            "%d graded, %d graded before, %d not graded" % (len(done), len(paths) - len(todo), len(left))
        )
        for name, why in list(left.items())[:20]:
            console.error("%s: %s" % (name, why))
    return 1 if left else 0


def _graded(path: str, scorer: Scorer) -> Graded | str:
    try:
        return grade_session(path, scorer)
    except OSError as error:
        return in_words(error)
