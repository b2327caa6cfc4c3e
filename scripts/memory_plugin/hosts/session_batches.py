"""`memory session score --batch`: collect what is done, submit what is not graded, say what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..kernel.judge.outcome import Failed
from ..kernel.judge.words import words_for
from ..sessions.batch import collect, submit
from ..sessions.todo import undone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..sessions.pipeline import Scorer
    from .console import Console

__all__ = ["score_by_batch"]

_FAILED = (
    "%d failed in a batch now, %d before. They are not submitted again by themselves: grade one with"
    " `memory session score ID`, or submit all of them with --again."
)


def score_by_batch(
    paths: Sequence[str], scorer: Scorer, console: Console, *, again: bool, as_json: bool
) -> int:
    """One step: 0 when something was submitted, collected or is under way, and nothing failed."""
    if scorer.settings.text("judge.backend") != "anthropic":
        console.error(
            "--batch: only the backend anthropic has batches, judge.backend is %s"
            % scorer.settings.text("judge.backend")
        )
        return 1
    try:
        collected = collect(scorer)
        graded = {row["session"] for row in collected.rows}
        todo = [
            path
            for path in (paths if again else undone(paths, scorer))
            if not any(name in path for name in graded)
        ]
        sent = submit(
            todo,
            scorer,
            lambda at: console.progress("%d of %d sessions read" % (at, len(todo))),
            again=again,
        )
    except Failed as failed:
        words = words_for(failed.name, "sessions")
        console.error("%s: %s %s %s" % (failed.name, failed.detail, words.says, words.do))
        return 1
    console.progress("")
    failed_ones = {**collected.failed, **{name: why for name, why in sent.refused.items() if why != "empty"}}
    if as_json:
        console.json(
            {
                "graded": collected.rows,
                "submitted": sent.sessions,
                "pending": [*collected.pending, *sent.batches],
                "failed": failed_ones,
                "failed_before": sent.failed_before,
            }
        )
    else:
        console.line(
            "%d graded, %d submitted, %d not graded" % (len(graded), sent.sessions, len(failed_ones))
        )
        for name, why in list(failed_ones.items())[:20]:
            console.error("%s: %s" % (name, why))
        if collected.failed or sent.failed_before:
            console.line(_FAILED % (len(collected.failed), sent.failed_before))
        if collected.pending or sent.batches:
            console.line(
                "The provider works on %s; run the same command again to collect."
                % ", ".join([*collected.pending, *sent.batches])
            )
    return 1 if failed_ones else 0
