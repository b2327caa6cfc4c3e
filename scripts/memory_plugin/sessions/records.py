"""Rows of `sessions.jsonl`: a grade, or a person's label, of one session. A later row replaces an earlier one, which stays as history."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from ..kernel.clock import now_iso
from ..kernel.files import read_regular
from ..kernel.ledger import Ledger
from ..kernel.native import digest, loads
from ..kernel.paths import locate
from .asking import rubric_digest
from .dimensions import OVERALL, band_of, dimensions, overall

if TYPE_CHECKING:
    from ..kernel.paths import Places
    from ..kernel.settings.load import Settings
    from .asking import Prepared

__all__ = [
    "LABEL",
    "SCORE",
    "SOURCE",
    "append",
    "latest",
    "ledger",
    "named",
    "pulled_folder",
    "row_of",
    "scores_of",
    "session_id",
    "subject_of",
]

SCORE, LABEL = "score", "label"
SOURCE = ".source"  # beside a session that was read from Langfuse
_NAME = "sessions"
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")


def session_id(prepared: Prepared) -> str:
    """The id of a session: its file's name where that is one, else what its rows say, else the name."""
    return named(prepared.path, prepared.signals.totals.session)


def named(path: str, session: str) -> str:
    """The id of the session in a file whose rows say `session`."""
    name = os.path.splitext(os.path.basename(path))[0]
    return name if _UUID.match(name) else session or name


def ledger(places: Places, settings: Settings) -> Ledger:
    """The ledger of sessions. Raises RuntimeError without a state folder."""
    return Ledger(
        places.state(), _NAME, settings.integer("ledger.max_bytes"), settings.integer("ledger.keep_files")
    )


def append(places: Places, settings: Settings, row: dict[str, Any]) -> str:
    """Write a row; what went wrong, or an empty text."""
    fields = {name: value for name, value in row.items() if name not in ("session", "project")}
    return (
        ledger(places, settings).append(row["session"], row.get("project") or places.project_key, fields)
        or ""
    )


def latest(places: Places, settings: Settings, kind: str = SCORE) -> dict[str, dict[str, Any]]:
    """The row in force of each session, by session id."""
    found: dict[str, dict[str, Any]] = {}
    for row in ledger(places, settings).rows():
        if (
            row.get("kind") == kind
            and isinstance(row.get("session"), str)
            and isinstance(row.get("dimensions"), dict)
        ):
            found.pop(str(row["session"]), None)  # the order is that of the last rows
            found[str(row["session"])] = row
    return found


def row_of(
    prepared: Prepared,
    grade: dict[str, Any],
    scorer: dict[str, Any],
    settings: Settings,
    places: Places,
    before: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The row for a grade: scores, overall, what is missing, and who scored it.

    `stamp` is the time under which the scores go to Langfuse; it never changes for a session, since a score is updated there only by the
    same id and time.
    """
    totals = prepared.signals.totals
    found = grade["dimensions"]
    whole = overall(
        {name: entry["score"] for name, entry in found.items()},
        renormalize=settings.flag("sessions.renormalize"),
    )
    return {
        "kind": SCORE,
        "id": digest(session_id(prepared).encode("utf-8", "replace"), 8),
        "session": session_id(prepared),
        "project": locate(totals.folder).project_key if os.path.isabs(totals.folder) else places.project_key,
        "stamp": (before or {}).get("stamp") or _whole_seconds(totals.started) or now_iso(),
        "scorer": {
            **scorer,
            "rubric": rubric_digest(),
            "parts": len(prepared.parts),
            "tokens": round(prepared.tokens),
            "left_out": prepared.left_out,
        },
        "subject": subject_of(prepared.path, places),
        "dimensions": found,
        OVERALL: whole,
        "improvement": None if whole is None else band_of(whole),
        "missing": [name for name in dimensions() if name not in found],
        "root_cause": grade["root_cause"],
        "improvements": grade["improvements"],
        "confidence": grade["confidence"],
        "struck": grade["struck"],
        "clamped": grade["clamped"],
        "turns": totals.turns,
        "started": totals.started,
        "ended": totals.ended,
        "bytes": _size(prepared.path),
        "signals": {name: count for name, count in prepared.signals.sightings.counts.items() if count},
    }


def subject_of(path: str, places: Places) -> dict[str, str]:
    """What the scores are about in Langfuse: the session, or for one that was read from there its first trace."""
    inside = os.path.dirname(os.path.abspath(path)) == pulled_folder(places)
    try:
        told = loads(read_regular(path + SOURCE, 4096)[0].decode("utf-8")) if inside else None
    except (OSError, ValueError):
        told = None
    trace = told.get("trace") if isinstance(told, dict) else None
    return {"kind": "trace", "id": trace} if isinstance(trace, str) and trace else {"kind": "session"}


def pulled_folder(places: Places) -> str:
    """Where sessions lie that were read from Langfuse."""
    return places.state("grading", "pulled")


def scores_of(row: dict[str, Any]) -> dict[str, float]:
    """The numbers of a row by dimension; those that are no scores are left out, for a ledger's line may say anything."""
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


def _whole_seconds(time: str) -> str:
    """A transcript's time as ours are written; empty for one of another form."""
    head = time[:19]
    sound = (
        len(head) == 19
        and head[4] == head[7] == "-"
        and head[10] == "T"
        and head.replace("-", "").replace(":", "").replace("T", "").isdigit()
    )
    return head + "Z" if sound else ""


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
