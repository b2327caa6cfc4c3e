"""Write and read rows of `sessions.jsonl`: a grade, or a person's label, of one session. A session's last row counts."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from ..kernel.clock import now_iso
from ..kernel.data import read_state
from ..kernel.fastjson import digest
from ..kernel.ledger import Ledger
from ..kernel.paths import Paths, locate
from .dimensions import OVERALL, dimensions, improvement_band, overall_score
from .scoring_request import PreparedSession, rubric_digest

SCORE, LABEL = "score", "label"
SOURCE = ".source"  # ending of the file beside a session that was read from Langfuse
_NAME = "sessions"
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")


def session_id(prepared: PreparedSession) -> str:
    """Return a session's id: its file name if that is a UUID, else the id in its records, else the file name."""
    return session_id_of(prepared.path, prepared.signals.totals.session)


def session_id_of(path: str, session: str) -> str:
    """Return the id of the session in a file whose records have the id `session`."""
    name = os.path.splitext(os.path.basename(path))[0]
    return name if _UUID.match(name) else session or name


def project_of(folder: str, paths: Paths) -> str:
    """Return the key of the project of a session that ran in a folder; the current project's if the folder is unknown."""
    return locate(folder).project_key if os.path.isabs(folder) else paths.project_key


class RowNotWritten(OSError):
    """A row could not be written to the ledger; the text says why."""


def append_row(paths: Paths, row: dict[str, Any]) -> None:
    """Write a row. Raises RowNotWritten."""
    fields = {name: value for name, value in row.items() if name not in ("session", "project")}
    problem = Ledger(paths.state(), _NAME).append(row["session"], row["project"], fields)
    if problem:
        raise RowNotWritten(problem)


def latest_rows(paths: Paths, kind: str = SCORE) -> dict[str, dict[str, Any]]:
    """Return each session's current row by session id, in the order in which they were written.

    A person's labels add up: a later one replaces only the dimensions that it has.
    """
    latest: dict[str, dict[str, Any]] = {}
    for row in Ledger(paths.state(), _NAME).rows():
        if row.get("kind") == kind and "session" in row and "dimensions" in row:
            before = latest.pop(row["session"], {})  # so that the row moves to the end
            if kind == LABEL:
                row["dimensions"] = {**before.get("dimensions", {}), **row["dimensions"]}
            latest[row["session"]] = row
    return latest


def grade_row(
    prepared: PreparedSession, grade: dict[str, Any], scorer: dict[str, Any], paths: Paths, stamp: str = ""
) -> dict[str, Any]:
    """Return the row for a grade: scores, overall score, missing dimensions, and the scorer.

    `stamp` is the time of the session's earlier scores in Langfuse. It never changes for a session, because Langfuse updates a score only
    under the same id and time.
    """
    totals, session = prepared.signals.totals, session_id(prepared)
    total = overall_score({name: entry["score"] for name, entry in grade["dimensions"].items()})
    started = _TIME.match(totals.started)
    return {
        **grade,
        "kind": SCORE,
        "id": digest(session.encode("utf-8", "replace"), 8),
        "session": session,
        "project": project_of(totals.folder, paths),
        "stamp": stamp or (started.group() + "Z" if started else now_iso()),
        "scorer": {
            **scorer,
            "rubric": rubric_digest(),
            "parts": len(prepared.parts),
            "tokens": round(prepared.tokens),
            "left_out": prepared.left_out,
        },
        "subject": score_subject(prepared.path, paths),
        OVERALL: total,
        "improvement": None if total is None else improvement_band(total),
        "missing": [name for name in dimensions() if name not in grade["dimensions"]],
        "turns": totals.turns,
        "started": totals.started,
        "ended": totals.ended,
        "bytes": os.path.getsize(prepared.path),
        "signals": {name: count for name, count in prepared.signals.detections.counts.items() if count},
    }


def score_subject(path: str, paths: Paths) -> dict[str, str]:
    """Return the subject of the scores in Langfuse: the session, or the first trace if the session was read from there."""
    is_pulled = os.path.dirname(os.path.abspath(path)) == pulled_folder(paths)
    trace = read_state(path + SOURCE).get("trace") if is_pulled else None
    return {"kind": "trace", "id": trace} if isinstance(trace, str) and trace else {"kind": "session"}


def pulled_folder(paths: Paths) -> str:
    """Return the folder of sessions that were read from Langfuse."""
    return paths.state("grading", "pulled")


def scores_of(row: dict[str, Any]) -> dict[str, float]:
    """Return a row's valid scores by dimension; a ledger line may contain anything."""
    scores = {}
    for name, dimension in dimensions().items():
        entry = row["dimensions"].get(name)
        score = entry.get("score") if isinstance(entry, dict) else entry
        if isinstance(score, (int, float)) and 0 <= score <= dimension.highest:
            scores[name] = score
    return scores


def ungraded(transcripts: Sequence[str], paths: Paths) -> list[str]:
    """Return the transcripts without a complete grade by the current rubric, and those that changed since their grade."""
    rows = latest_rows(paths)
    return [path for path in transcripts if not _is_current(path, rows)]


def _is_current(path: str, rows: dict[str, dict[str, Any]]) -> bool:
    row = rows.get(os.path.splitext(os.path.basename(path))[0], {})
    is_complete = row.get("scorer", {}).get("rubric") == rubric_digest() and not row.get("missing")
    return is_complete and os.path.isfile(path) and row.get("bytes") == os.path.getsize(path)
