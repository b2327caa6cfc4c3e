"""Rows of `sessions.jsonl`: a grade, or a person's label, of one session. A later row replaces an earlier one, which stays as history."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from ..kernel.clock import now_iso
from ..kernel.fastjson import digest, loads
from ..kernel.files import read_regular
from ..kernel.ledger import open_ledger
from ..kernel.paths import locate
from .dimensions import OVERALL, dimensions, improvement_band, overall
from .scoring_request import rubric_digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..kernel.ledger import Ledger
    from ..kernel.paths import Paths
    from ..kernel.settings.load import Settings
    from .scoring_request import PreparedSession

__all__ = [
    "LABEL",
    "SCORE",
    "SOURCE",
    "RowNotWritten",
    "append_row",
    "grade_row",
    "latest_rows",
    "pulled_folder",
    "score_subject",
    "scores_of",
    "session_id",
    "session_id_of",
    "session_ledger",
    "ungraded",
]

SCORE, LABEL = "score", "label"
SOURCE = ".source"  # ending of the file beside a session that was read from Langfuse
_NAME = "sessions"
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")


def session_id(prepared: PreparedSession) -> str:
    """Return the id of a session: its file's name if that is a UUID, else the id in its rows, else the name."""
    return session_id_of(prepared.path, prepared.signals.totals.session)


def session_id_of(path: str, session: str) -> str:
    """Return the id of the session in a file whose rows say `session`."""
    name = os.path.splitext(os.path.basename(path))[0]
    return name if _UUID.match(name) else session or name


def session_ledger(paths: Paths, settings: Settings) -> Ledger:
    """Return the ledger of sessions. Raises RuntimeError without a state folder."""
    return open_ledger(paths, settings, _NAME)


class RowNotWritten(OSError):
    """The ledger did not take a row; the text says why."""


def append_row(paths: Paths, settings: Settings, row: dict[str, Any]) -> None:
    """Write a row. Raises RowNotWritten."""
    fields = {name: value for name, value in row.items() if name not in ("session", "project")}
    project = row.get("project") or paths.project_key
    problem = session_ledger(paths, settings).append(row["session"], project, fields)
    if problem:
        raise RowNotWritten(problem)


def latest_rows(paths: Paths, settings: Settings, kind: str = SCORE) -> dict[str, dict[str, Any]]:
    """Return the current row of each session, by session id, in the order in which they were written."""
    found: dict[str, dict[str, Any]] = {}
    for row in session_ledger(paths, settings).rows():
        if (
            row.get("kind") == kind
            and isinstance(row.get("session"), str)
            and isinstance(row.get("dimensions"), dict)
        ):
            found.pop(str(row["session"]), None)  # the order is that of the last rows
            found[str(row["session"])] = row
    return found


def grade_row(
    prepared: PreparedSession,
    grade: dict[str, Any],
    scorer: dict[str, Any],
    settings: Settings,
    paths: Paths,
    before: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the row for a grade: scores, overall, what is missing, and who scored it.

    `before` is the earlier row of the session. `stamp` is the time of the scores in Langfuse; it never changes for a session, since
    Langfuse updates a score only under the same id and time.
    """
    totals = prepared.signals.totals
    found = grade["dimensions"]
    total = overall(
        {name: entry["score"] for name, entry in found.items()},
        renormalize=settings.flag("sessions.renormalize"),
    )
    return {
        "kind": SCORE,
        "id": digest(session_id(prepared).encode("utf-8", "replace"), 8),
        "session": session_id(prepared),
        "project": locate(totals.folder).project_key if os.path.isabs(totals.folder) else paths.project_key,
        "stamp": (before or {}).get("stamp") or _ledger_time(totals.started) or now_iso(),
        "scorer": {
            **scorer,
            "rubric": rubric_digest(),
            "parts": len(prepared.parts),
            "tokens": round(prepared.tokens),
            "left_out": prepared.left_out,
        },
        "subject": score_subject(prepared.path, paths),
        "dimensions": found,
        OVERALL: total,
        "improvement": None if total is None else improvement_band(total),
        "missing": [name for name in dimensions() if name not in found],
        "root_cause": grade["root_cause"],
        "improvements": grade["improvements"],
        "confidence": grade["confidence"],
        "struck": grade["struck"],
        "clamped": grade["clamped"],
        "turns": totals.turns,
        "started": totals.started,
        "ended": totals.ended,
        "bytes": max(0, _size(prepared.path)),
        "signals": {name: count for name, count in prepared.signals.detections.counts.items() if count},
    }


def score_subject(path: str, paths: Paths) -> dict[str, str]:
    """Return what the scores are about in Langfuse: the session, or for one that was read from there its first trace."""
    inside = os.path.dirname(os.path.abspath(path)) == pulled_folder(paths)
    try:
        source = loads(read_regular(path + SOURCE, 4096)[0].decode("utf-8")) if inside else None
    except (OSError, ValueError):
        source = None
    trace = source.get("trace") if isinstance(source, dict) else None
    return {"kind": "trace", "id": trace} if isinstance(trace, str) and trace else {"kind": "session"}


def pulled_folder(paths: Paths) -> str:
    """Return the folder of sessions that were read from Langfuse."""
    return paths.state("grading", "pulled")


def scores_of(row: dict[str, Any]) -> dict[str, float]:
    """Return the valid scores of a row by dimension: a line of a ledger may hold anything."""
    found = {}
    for name in dimensions():
        entry = row["dimensions"].get(name)
        score = entry.get("score") if isinstance(entry, dict) else entry
        if (
            isinstance(score, (int, float))
            and not isinstance(score, bool)
            and 0 <= score <= (3 if dimensions()[name].categorical else 1)
        ):
            found[name] = score
    return found


def ungraded(transcripts: Sequence[str], paths: Paths, settings: Settings) -> list[str]:
    """Return the transcripts without a complete grade by the present rubric, and those that changed since."""
    rows = latest_rows(paths, settings)
    return [
        path
        for path in transcripts
        if not _is_current(rows.get(os.path.splitext(os.path.basename(path))[0]), _size(path))
    ]


def _is_current(row: dict[str, Any] | None, size: int) -> bool:
    scorer = row.get("scorer") if row else None
    same_rubric = isinstance(scorer, dict) and scorer.get("rubric") == rubric_digest()
    return bool(row and same_rubric and row.get("bytes") == size and not row.get("missing"))


def _ledger_time(time: str) -> str:
    """Return a transcript's time in the form of our ledgers; empty for one of another form."""
    head = time[:19]
    valid = (
        len(head) == 19
        and head[4] == head[7] == "-"
        and head[10] == "T"
        and head.replace("-", "").replace(":", "").replace("T", "").isdigit()
    )
    return head + "Z" if valid else ""


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return -1
