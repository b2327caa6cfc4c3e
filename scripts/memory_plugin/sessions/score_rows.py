"""Write and read rows of `sessions.jsonl`: a grade, or a person's label, of one session. A session's last row counts."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from ..kernel.clock import now_iso
from ..kernel.fastjson import digest, loads
from ..kernel.files import read_regular
from ..kernel.ledger import open_ledger
from ..kernel.paths import locate
from .dimensions import OVERALL, dimensions, improvement_band, overall_score
from .scoring_request import rubric_digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..kernel.ledger import Ledger
    from ..kernel.paths import Paths
    from ..kernel.settings.load import Settings
    from .scoring_request import PreparedSession

SCORE, LABEL = "score", "label"
SOURCE = ".source"  # ending of the file beside a session that was read from Langfuse
_NAME = "sessions"
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")


def session_id(prepared: PreparedSession) -> str:
    """Return a session's id: its file name if that is a UUID, else the id in its records, else the file name."""
    return session_id_of(prepared.path, prepared.signals.totals.session)


def session_id_of(path: str, session: str) -> str:
    """Return the id of the session in a file whose records have the id `session`."""
    name = os.path.splitext(os.path.basename(path))[0]
    return name if _UUID.match(name) else session or name


def session_ledger(paths: Paths, settings: Settings) -> Ledger:
    """Return the ledger of sessions. Raises RuntimeError without a state folder."""
    return open_ledger(paths, settings, _NAME)


class RowNotWritten(OSError):
    """A row could not be written to the ledger; the text says why."""


def append_row(paths: Paths, settings: Settings, row: dict[str, Any]) -> None:
    """Write a row. Raises RowNotWritten."""
    fields = {name: value for name, value in row.items() if name not in ("session", "project")}
    project = row.get("project") or paths.project_key
    problem = session_ledger(paths, settings).append(row["session"], project, fields)
    if problem:
        raise RowNotWritten(problem)


def latest_rows(paths: Paths, settings: Settings, kind: str = SCORE) -> dict[str, dict[str, Any]]:
    """Return each session's current row by session id, in the order in which they were written."""
    latest: dict[str, dict[str, Any]] = {}
    for row in session_ledger(paths, settings).rows():
        if row.get("kind") == kind and "session" in row and "dimensions" in row:
            latest.pop(row["session"], None)  # so that the row moves to the end
            latest[row["session"]] = row
    return latest


def grade_row(
    prepared: PreparedSession,
    grade: dict[str, Any],
    scorer: dict[str, Any],
    settings: Settings,
    paths: Paths,
    before: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the row for a grade: scores, overall score, missing dimensions, and the scorer.

    `before` is the session's earlier row. `stamp` is the time of the scores in Langfuse. It never changes for a session, because Langfuse
    updates a score only under the same id and time.
    """
    totals = prepared.signals.totals
    scored = grade["dimensions"]
    total = overall_score(
        {name: entry["score"] for name, entry in scored.items()},
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
        "dimensions": scored,
        OVERALL: total,
        "improvement": None if total is None else improvement_band(total),
        "missing": [name for name in dimensions() if name not in scored],
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
    """Return the subject of the scores in Langfuse: the session, or the first trace if the session was read from there."""
    is_pulled = os.path.dirname(os.path.abspath(path)) == pulled_folder(paths)
    try:
        source = loads(read_regular(path + SOURCE, 4096)[0].decode("utf-8")) if is_pulled else None
    except (OSError, ValueError):
        source = None
    trace = source.get("trace") if isinstance(source, dict) else None
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
        highest = 3 if dimension.categorical else 1
        if isinstance(score, (int, float)) and not isinstance(score, bool) and 0 <= score <= highest:
            scores[name] = score
    return scores


def ungraded(transcripts: Sequence[str], paths: Paths, settings: Settings) -> list[str]:
    """Return the transcripts without a complete grade by the current rubric, and those that changed since their grade."""
    rows = latest_rows(paths, settings)
    return [
        path
        for path in transcripts
        if not _is_current(rows.get(os.path.splitext(os.path.basename(path))[0]), _size(path))
    ]


def _is_current(row: dict[str, Any] | None, size: int) -> bool:
    if row is None or row.get("scorer", {}).get("rubric") != rubric_digest():
        return False
    return row.get("bytes") == size and not row.get("missing")


def _ledger_time(time: str) -> str:
    """Return a transcript's time in the form of our ledgers, or "" if it has another form."""
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
