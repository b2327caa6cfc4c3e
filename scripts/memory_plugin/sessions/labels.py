"""A person's scores: given in the terminal, or read from a file of JSON, JSON lines or CSV."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING, Any

from ..kernel.files import read_regular
from ..kernel.native import loads
from .dimensions import OVERALL, dimensions, overall
from .records import LABEL, scores_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["UnreadableLabels", "label_row", "parse_score", "read_labels", "with_overall"]

_MAX_BYTES = 32 << 20
_SESSION_NAMES = ("session", "session_id", "id")


class UnreadableLabels(ValueError):
    """A file of labels that holds none, or a score that is on no scale: says where."""


def parse_score(name: str, text: str) -> float | None:
    """The score that a person wrote for a dimension: a number, or a level's label; None when it is neither.

    Raises KeyError for a dimension that does not exist.
    """
    dimension = dimensions()[name]
    word = text.strip().lower()
    if word in dimension.labels:
        return dimension.labels.index(word)
    try:
        value = float(word)
    except ValueError:
        return None
    if not math.isfinite(value) or not 0 <= value <= (
        len(dimension.labels) - 1 if dimension.categorical else 1
    ):
        return None
    return None if dimension.categorical and not value.is_integer() else value


def label_row(session: str, project: str, scores: Mapping[str, float], note: str = "") -> dict[str, Any]:
    """The ledger's row for a person's scores."""
    found = {
        name: {"score": score, "label": dimensions()[name].label(score)} for name, score in scores.items()
    }
    return {
        "kind": LABEL,
        "session": session,
        "project": project,
        "dimensions": found,
        OVERALL: overall(scores),
        "missing": [name for name in dimensions() if name not in scores],
        "note": note,
    }


def with_overall(row: Mapping[str, Any]) -> dict[str, float]:
    """The scores of a row, and the overall that they make."""
    scores = scores_of(dict(row))
    whole = overall(scores)
    return scores if whole is None else {**scores, OVERALL: whole}


def read_labels(path: str) -> dict[str, dict[str, float]]:
    """The scores in a file by session; later lines win. Raises UnreadableLabels and OSError.

    JSON: a list of objects, or an object that maps sessions to objects.  JSON lines: one object a line.  CSV: a header, then lines.
    Each object has `session` and the dimensions, as numbers, labels, or objects with a `score`; what is empty is not scored.
    """
    text = read_regular(path, _MAX_BYTES, follow=True)[0].decode("utf-8-sig", "replace")
    found: dict[str, dict[str, float]] = {}
    for number, entry in enumerate(_entries(text), 1):
        session = next((str(entry[name]) for name in _SESSION_NAMES if entry.get(name)), "")
        inner = entry.get("dimensions")
        scores = _scores(inner if isinstance(inner, dict) else entry, number)
        if session and scores:
            found[session] = with_overall({"dimensions": scores})
    if not found:
        raise UnreadableLabels("%s: expected sessions with scores, found none" % path)
    return found


def _entries(text: str) -> Iterable[dict[str, Any]]:
    stripped = text.lstrip()
    if stripped[:1] not in ("{", "["):
        try:
            return [dict(row) for row in csv.DictReader(io.StringIO(text, newline=""))]
        except csv.Error as error:
            raise UnreadableLabels("a CSV that cannot be read: %s" % error) from None
    try:
        whole = loads(text)
    except ValueError:
        return [row for line in text.split("\n") for row in [_object(line)] if row is not None]
    if isinstance(whole, dict) and not any(whole.get(name) for name in _SESSION_NAMES):
        return [{"session": session, **row} for session, row in whole.items() if isinstance(row, dict)]
    return [row for row in (whole if isinstance(whole, list) else [whole]) if isinstance(row, dict)]


def _object(line: str) -> dict[str, Any] | None:
    try:
        value = loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _scores(entry: Mapping[str, Any], number: int) -> dict[str, float]:
    found = {}
    for name in dimensions():
        given = entry.get(name)
        given = given.get("score") if isinstance(given, dict) else given
        if given is None or given == "":
            continue
        score = None if isinstance(given, bool) else parse_score(name, str(given))
        if score is None:
            raise UnreadableLabels(
                "entry %d, %s: expected %s, found another value" % (number, name, _scale(name))
            )
        found[name] = score
    return found


def _scale(name: str) -> str:
    labels = dimensions()[name].labels
    return "0 to %d or one of %s" % (len(labels) - 1, ", ".join(labels)) if labels else "0 to 1"
