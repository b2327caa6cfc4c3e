"""Scores of sessions by a person."""

from __future__ import annotations

from typing import Any

from ..sessions import score_rows
from ..sessions.scoring_request import PreparedSession
from .context import WorkContext


def latest(context: WorkContext, kind: str) -> dict[str, dict[str, float]]:
    """Return the latest scores of each session in the ledger: the scorer's or a person's (SCORE or LABEL)."""
    rows = score_rows.latest_rows(context.paths, kind)
    return {name: score_rows.with_overall(row) for name, row in rows.items()}


def store_label(context: WorkContext, session: PreparedSession, scores: dict[str, float]) -> dict[str, Any]:
    """Append the scores of a session to the ledger and return the row. Raises LedgerError."""
    project = score_rows.project_of(session.signals.totals.folder, context.paths)
    row = score_rows.label_row(score_rows.session_id(session), project, scores)
    score_rows.append_row(context.paths, row)
    return row
