"""Compare a person's scores with the scorer's: agreement, kappa, error and rank correlation, with 95% intervals.

`kernel/stats.py` names the sources of the formulas.
"""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.fastjson import loads
from ..kernel.files import read_regular
from ..kernel.stats import Estimate, bootstrap, cohen_kappa, share, spearman, weighted_kappa
from .dimensions import OVERALL, dimensions, overall_score
from .score_rows import LABEL, scores_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .dimensions import ScoreDimension

_MAX_BYTES = 32 << 20
_SESSION_NAMES = ("session", "session_id", "id")
_TOLERANCE = 0.05  # numbers this close agree


class UnreadableLabels(ValueError):
    """A file has no labels, or a score outside its scale; the text says where."""


def parse_score(name: str, text: str) -> float | None:
    """Return the score that a person typed, a number or a level's label; None if it is neither or off the scale.

    Raises KeyError for an unknown dimension.
    """
    dimension = dimensions()[name]
    word = text.strip().lower()
    if word in dimension.labels:
        return dimension.labels.index(word)
    try:
        value = float(word)
    except ValueError:
        return None
    highest = len(dimension.labels) - 1 if dimension.categorical else 1
    if not math.isfinite(value) or not 0 <= value <= highest:
        return None
    return None if dimension.categorical and not value.is_integer() else value


def label_row(session: str, project: str, scores: Mapping[str, float], note: str = "") -> dict[str, Any]:
    """Return the ledger's row for a person's scores."""
    entries = {
        name: {"score": score, "label": dimensions()[name].label(score)} for name, score in scores.items()
    }
    return {
        "kind": LABEL,
        "session": session,
        "project": project,
        "dimensions": entries,
        OVERALL: overall_score(scores),
        "missing": [name for name in dimensions() if name not in scores],
        "note": note,
    }


def with_overall(row: Mapping[str, Any]) -> dict[str, float]:
    """Return a row's scores, with the overall score if no dimension is missing."""
    scores = scores_of(dict(row))
    total = overall_score(scores)
    return scores if total is None else {**scores, OVERALL: total}


def read_labels(path: str) -> dict[str, dict[str, float]]:
    """Return the scores in a file by session; later entries win. Raises UnreadableLabels and OSError.

    JSON: a list of objects, or an object that maps sessions to objects. JSON lines: one object per line. CSV: a header, then lines.
    Each object has `session` and the dimensions, as numbers, labels, or objects with a `score`; an empty value is not a score.
    """
    text = read_regular(path, _MAX_BYTES, follow=True)[0].decode("utf-8-sig", "replace")
    labels: dict[str, dict[str, float]] = {}
    for number, entry in enumerate(_entries(text), 1):
        session = next((str(entry[name]) for name in _SESSION_NAMES if entry.get(name)), "")
        inner = entry.get("dimensions")
        scores = _scores(inner if isinstance(inner, dict) else entry, number)
        if session and scores:
            labels[session] = with_overall({"dimensions": scores})
    if not labels:
        raise UnreadableLabels("%s: expected sessions with scores, found none" % path)
    return labels


def _entries(text: str) -> Iterable[dict[str, Any]]:
    """Return the objects in JSON, JSON lines or CSV."""
    stripped = text.lstrip()
    if stripped[:1] not in ("{", "["):
        try:
            return [dict(row) for row in csv.DictReader(io.StringIO(text, newline=""))]
        except csv.Error as error:
            raise UnreadableLabels("not a readable CSV: %s" % error) from None
    try:
        data = loads(text)
    except ValueError:
        return [row for row in map(_object, text.split("\n")) if row is not None]
    if isinstance(data, dict) and not any(data.get(name) for name in _SESSION_NAMES):
        return [{"session": session, **row} for session, row in data.items() if isinstance(row, dict)]
    return [row for row in (data if isinstance(data, list) else [data]) if isinstance(row, dict)]


def _object(line: str) -> dict[str, Any] | None:
    try:
        value = loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _scores(entry: Mapping[str, Any], number: int) -> dict[str, float]:
    scores = {}
    for name in dimensions():
        value = entry.get(name)
        value = value.get("score") if isinstance(value, dict) else value
        if value is None or value == "":
            continue
        score = None if isinstance(value, bool) else parse_score(name, str(value))
        if score is None:
            raise UnreadableLabels(
                "entry %d, %s: expected %s, found another value" % (number, name, _scale(name))
            )
        scores[name] = score
    return scores


def _scale(name: str) -> str:
    labels = dimensions()[name].labels
    return "0 to %d or one of %s" % (len(labels) - 1, ", ".join(labels)) if labels else "0 to 1"


class Agreement(NamedTuple):
    """The agreement in one dimension over `n` sessions, as figures by name."""

    dimension: str
    n: int
    figures: dict[str, Estimate]


def compare(
    ours: Mapping[str, Mapping[str, float]], theirs: Mapping[str, Mapping[str, float]]
) -> list[Agreement]:
    """Return the agreement in each dimension and in the overall score, over the sessions that both have scored.

    For levels: exact agreement, kappa and weighted kappa. For numbers: agreement within 0.05, mean absolute error, mean difference
    (ours minus theirs) and Spearman's rho.
    """
    agreements = []
    for name in (*dimensions(), OVERALL):
        shared = sorted(
            session
            for session in ours.keys() & theirs.keys()
            if name in ours[session] and name in theirs[session]
        )
        pairs = [(float(ours[session][name]), float(theirs[session][name])) for session in shared]
        agreements.append(Agreement(name, len(pairs), _figures(pairs, dimensions().get(name))))
    return agreements


def _figures(pairs: Sequence[tuple[float, float]], dimension: ScoreDimension | None) -> dict[str, Estimate]:
    if dimension is not None and dimension.categorical:
        same = sum(a == b for a, b in pairs)
        return {
            "exact": share(same, len(pairs)).estimate,
            "kappa": bootstrap(cohen_kappa, pairs),
            "weighted_kappa": bootstrap(weighted_kappa, pairs),
        }
    near = sum(abs(a - b) <= _TOLERANCE + 1e-9 for a, b in pairs)
    return {
        "within_0.05": share(near, len(pairs)).estimate,
        "mae": bootstrap(mean_error, pairs),
        "bias": bootstrap(mean_difference, pairs),
        "spearman": bootstrap(spearman, pairs),
    }


def mean_error(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return the mean absolute difference; None without pairs."""
    return sum(abs(a - b) for a, b in pairs) / len(pairs) if pairs else None


def mean_difference(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return the mean difference; above 0, the first of each pair is higher. None without pairs."""
    return sum(a - b for a, b in pairs) / len(pairs) if pairs else None
