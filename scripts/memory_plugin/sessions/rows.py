"""The rows of `sessions.jsonl`: a grade, or a person's label, of one session, whose last row counts; and how well both agree.

Agreement is measured by weighted kappa, error and rank correlation, with 95% intervals; `kernel/stats.py` names the formulas' sources.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..kernel.context import Ledger, LedgerError, now_iso
from ..kernel.files import read_regular
from ..kernel.judge.question import Values
from ..kernel.paths import Paths, read_state
from ..kernel.records import Form, Records, counts, mapping, number_or_null
from ..kernel.stats import Estimate, bootstrap, share, spearman, weighted_kappa
from .material import PreparedSession, rubric_digest
from .rubric import OVERALL, dimensions, merge, overall_score, scales, valid_scores

SCORE, LABEL = "score", "label"
SOURCE = ".source"  # ending of the file beside a session that was read from Langfuse
SESSIONS = Form(
    "sessions",
    {
        **dict.fromkeys(("dimensions", "scorer", "subject"), mapping),
        "overall_quality": number_or_null,
        "signals": counts,
    },
)
Scores = Mapping[str, Mapping[str, float]]
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_MAX_BYTES = 32 << 20


def session_id(prepared: PreparedSession) -> str:
    """Return a session's id: its file name if that is a UUID, else the id in its records, else the file name."""
    name = os.path.splitext(os.path.basename(prepared.path))[0]
    return name if _UUID.match(name) else prepared.signals.totals.session or name


def project_of(folder: str, paths: Paths) -> str:
    """Return the key of the project of a session that ran in a folder; the current project's if the folder is unknown."""
    return Paths(folder).project_key if os.path.isabs(folder) else paths.project_key


def append_row(paths: Paths, row: dict[str, Any]) -> None:
    """Write a row. Raises LedgerError."""
    problem = Ledger(paths.state(), SESSIONS.name).append(row["session"], row["project"], row)
    if problem:
        raise LedgerError(problem)


def grade_figures(grades: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return how many sessions were graded, their mean quality, and the mean score of each dimension that was scored."""
    from statistics import fmean  # only a report needs it

    scores = [valid_scores(row["dimensions"]) for row in grades]
    overall = [row[OVERALL] for row in grades if row.get(OVERALL) is not None]
    dimension_rows = []
    for name, one in dimensions().items():
        given = [found[name] for found in scores if name in found]
        if given:
            row = {"dimension": name, "mean": fmean(given), "highest": one.highest, "sessions": len(given)}
            dimension_rows.append(row)
    return {"graded": len(grades), "quality": fmean(overall) if overall else None, "scores": dimension_rows}


def latest_rows(paths: Paths, kind: str = SCORE) -> dict[str, dict[str, Any]]:
    """Return each session's current row by session id, in the order in which they were written.

    A person's labels add up: a later one replaces only the dimensions that it has.
    """
    latest: dict[str, dict[str, Any]] = {}
    for row in Records(paths.state(), SESSIONS):
        if row.get("kind") == kind and "session" in row and "dimensions" in row:
            before = latest.pop(row["session"], {})  # so that the row moves to the end
            if kind == LABEL:
                row["dimensions"] = {**before.get("dimensions", {}), **row["dimensions"]}
            latest[row["session"]] = row
    return latest


def grade_row(
    prepared: PreparedSession, answers: Sequence[Values | None], scorer: Mapping[str, object], paths: Paths
) -> dict[str, Any]:
    """Return the row for the answers about all parts: scores, overall score, missing dimensions, and the scorer.

    At least one part has an answer.
    `stamp` is the time of the scores in Langfuse. It never changes for a session, because Langfuse updates a score only under the same id
    and time.
    """
    totals, session = prepared.signals.totals, session_id(prepared)
    grade = merge(answers, [part.tokens for part in prepared.parts])
    stamp = latest_rows(paths).get(session, {}).get("stamp")
    total = overall_score({name: entry["score"] for name, entry in grade["dimensions"].items()})
    started = _TIME.match(totals.started)
    return {
        **grade,
        "kind": SCORE,
        "session": session,
        "project": project_of(totals.folder, paths),
        "stamp": stamp or (started.group() + "Z" if started else now_iso()),
        "scorer": {**scorer, "rubric": rubric_digest(), "left_out": prepared.left_out},
        "subject": score_subject(prepared.path, paths),
        OVERALL: total,
        "missing": [name for name in dimensions() if name not in grade["dimensions"]],
        "turns": totals.turns,
        "started": totals.started,
        "ended": totals.ended,
        "bytes": os.path.getsize(prepared.path),
        "signals": {signal.name: signal.count for signal in prepared.signals.found},
    }


def score_subject(path: str, paths: Paths) -> dict[str, str]:
    """Return the subject of the scores in Langfuse: the session, or the first trace if the session was read from there."""
    is_pulled = os.path.dirname(os.path.abspath(path)) == pulled_folder(paths)
    trace = read_state(path + SOURCE).get("trace") if is_pulled else None
    return {"kind": "trace", "id": trace} if isinstance(trace, str) and trace else {"kind": "session"}


def pulled_folder(paths: Paths) -> str:
    """Return the folder of sessions that were read from Langfuse."""
    return paths.state("grading", "pulled")


def ungraded(transcripts: Sequence[str], paths: Paths) -> list[str]:
    """Return the transcripts without a complete grade by the current rubric, and those that changed since their grade."""
    rows = latest_rows(paths)
    return [path for path in transcripts if not _is_current(path, rows)]


def _is_current(path: str, rows: dict[str, dict[str, Any]]) -> bool:
    row = rows.get(os.path.splitext(os.path.basename(path))[0], {})
    is_complete = row.get("scorer", {}).get("rubric") == rubric_digest() and not row.get("missing")
    return is_complete and os.path.isfile(path) and row.get("bytes") == os.path.getsize(path)


class UnreadableLabels(RuntimeError):
    """A file has no labels, or a score outside its scale; the text says where."""


def with_overall(scores: dict[str, float]) -> dict[str, float]:
    """Return scores, with the overall score if no dimension is missing."""
    total = overall_score(scores)
    return scores if total is None else {**scores, OVERALL: total}


def read_labels(path: str) -> dict[str, dict[str, float]]:
    """Return the scores in a CSV file by session; later lines win. Raises UnreadableLabels and OSError.

    Its header names `session` and the dimensions, whose values are numbers or labels; an empty value is not a score.
    """
    text = read_regular(path, _MAX_BYTES, follow=True)[0].decode("utf-8-sig", "replace")
    labels: dict[str, dict[str, float]] = {}
    try:
        for number, row in enumerate(csv.DictReader(io.StringIO(text, newline="")), 1):
            scores = _scores(row, number)
            if row.get("session") and scores:
                labels[row["session"]] = with_overall(scores)
    except csv.Error as error:
        raise UnreadableLabels("not a readable CSV: %s" % error) from None
    if not labels:
        raise UnreadableLabels("%s: expected sessions with scores, found none" % path)
    return labels


def _scores(row: Mapping[str, str], number: int) -> dict[str, float]:
    scores = {}
    for name, scale in dimensions().items():
        if not row.get(name):
            continue
        score = scale.read(row[name])
        if score is None:
            text = "row %d, %s: expected %s, found another value"
            raise UnreadableLabels(text % (number, name, scale.text))
        scores[name] = score
    return scores


class Agreement(NamedTuple):
    """The agreement in one dimension over `n` sessions, as figures by name."""

    dimension: str
    n: int
    figures: dict[str, Estimate]


def compare(ours: Scores, theirs: Scores) -> list[Agreement]:
    """Return the agreement in each dimension and in the overall score, over the sessions that both have scored.

    For levels: exact agreement and weighted kappa. For numbers: mean absolute error and Spearman's rho.
    """
    agreements = []
    for name, scale in scales().items():
        both = [(ours[session], theirs[session]) for session in sorted(ours.keys() & theirs.keys())]
        pairs = [(float(one[name]), float(two[name])) for one, two in both if name in one and name in two]
        if scale.labels:
            exact = Estimate(*share(sum(a == b for a, b in pairs), len(pairs))[2:])
            figures = {"exact": exact, "weighted_kappa": bootstrap(weighted_kappa, pairs)}
        else:
            figures = {"mae": bootstrap(mean_error, pairs), "spearman": bootstrap(spearman, pairs)}
        agreements.append(Agreement(name, len(pairs), figures))
    return agreements


def mean_error(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return the mean absolute difference; None without pairs."""
    return sum(abs(a - b) for a, b in pairs) / len(pairs) if pairs else None


def latest_scores(paths: Paths, kind: str) -> dict[str, dict[str, float]]:
    """Return the latest scores of each session in the ledger: the scorer's or a person's (SCORE or LABEL)."""
    rows = latest_rows(paths, kind)
    return {name: with_overall(valid_scores(row["dimensions"])) for name, row in rows.items()}


def store_label(paths: Paths, session: PreparedSession, scores: Mapping[str, float]) -> dict[str, Any]:
    """Append a person's scores of a session to the ledger and return the row. Raises LedgerError."""
    project = project_of(session.signals.totals.folder, paths)
    given = {name: {"score": one, "label": dimensions()[name].label(one)} for name, one in scores.items()}
    row = {"kind": LABEL, "session": session_id(session), "project": project, "dimensions": given}
    append_row(paths, row)
    return row
