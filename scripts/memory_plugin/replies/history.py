"""The scores of the past, read from the ledger: each reply's line joined with what a judge said of it later."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.ledger import Ledger
from .intervals import Share, share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..kernel.paths import Places

__all__ = ["Group", "Scored", "by_day", "grouped", "missed_by_rules", "patterns", "read_scores"]

_GRAVE = 2
_DAY = 10  # characters of a time


class Scored(NamedTuple):
    """One scored reply. `judged` is the judge's line where it answered, else None; `row` is the score's own line."""

    id: str
    time: str
    session: str
    project: str
    model: str
    padding: int
    density: float | None
    threshold: float
    gate: str
    escalated: bool
    audited: bool
    drift: Sequence[str]
    rules: Sequence[str]
    row: dict[str, Any]
    judged: dict[str, Any] | None


def read_scores(places: Places, since: str = "", project: str = "") -> tuple[list[Scored], int]:
    """The scored replies from a time on (as `kernel.clock.iso` writes it), oldest first, and how many lines were none.

    A reply that was scored twice counts once, by its last line.
    """
    scores: dict[str, dict[str, Any]] = {}
    judged: dict[str, dict[str, Any]] = {}
    rows = Ledger(places.state(), "scores").rows()
    bad = 0
    for row in rows:
        identity = row.get("id")
        if not isinstance(identity, str) or not isinstance(row.get("time"), str):
            bad += 1
        elif row.get("kind") == "judged":
            if row.get("outcome") == "ok":
                judged[identity] = row
        elif (
            row.get("kind") == "score"
            and str(row["time"]) >= since
            and (not project or row.get("project") == project)
        ):
            scores.pop(identity, None)
            scores[identity] = row
    _fill_models(list(scores.values()))
    found = [_scored(row, judged.get(identity)) for identity, row in scores.items()]
    return [one for one in found if one is not None], bad + rows.skipped + found.count(None)


def _fill_models(rows: list[dict[str, Any]]) -> None:
    """Give a reply whose transcript lagged behind the model of its session's nearest reply that has one, later ones first."""
    for ordered in (rows[::-1], rows):
        known: dict[object, object] = {}
        for row in ordered:
            row["model"] = row.get("model") or known.get(row.get("session"), "")
            known[row.get("session")] = row["model"]


def _scored(row: dict[str, Any], judged: dict[str, Any] | None) -> Scored | None:
    """One reply; None when a field is of another type than we write."""
    padding, density, threshold, matches = (
        row.get(name) for name in ("padding_count", "density", "threshold", "matches")
    )
    if (
        not isinstance(padding, int)
        or not isinstance(threshold, (int, float))
        or not isinstance(matches, list)
    ):
        return None
    if density is not None and not isinstance(density, (int, float)):
        return None
    texts = {
        name: row[name] if isinstance(row.get(name), str) else ""
        for name in ("id", "time", "session", "project", "model", "gate")
    }
    rules = [
        match[2]
        for match in matches
        if isinstance(match, list) and len(match) == 3 and isinstance(match[2], str)
    ]
    drift = row.get("drift")
    return Scored(
        **texts,
        padding=padding,
        density=density,
        threshold=float(threshold),
        escalated=row.get("escalate") is True,
        audited=row.get("audit") is True,
        drift=[name for name in drift if isinstance(name, str)] if isinstance(drift, list) else [],
        rules=rules,
        row=row,
        judged=judged,
    )


class Group(NamedTuple):
    """Some replies taken together; `density` is their mean, None where none was measured."""

    name: str
    replies: int
    padded: Share
    drifted: Share
    escalated: Share
    density: float | None


def _group(name: str, scores: Sequence[Scored]) -> Group:
    count = len(scores)
    densities = [one.density for one in scores if one.density is not None]
    return Group(
        name or "unknown",
        count,
        share(sum(one.padding > 0 for one in scores), count),
        share(sum(bool(one.drift) for one in scores), count),
        share(sum(one.escalated for one in scores), count),
        sum(densities) / len(densities) if densities else None,
    )


def grouped(scores: Iterable[Scored], key: Callable[[Scored], str]) -> list[Group]:
    """The replies by some key, the largest group first."""
    groups: dict[str, list[Scored]] = {}
    for one in scores:
        groups.setdefault(key(one), []).append(one)
    return sorted(
        (_group(name, ones) for name, ones in groups.items()), key=lambda group: (-group.replies, group.name)
    )


def by_day(scores: Iterable[Scored]) -> list[Group]:
    """The replies by day (UTC), oldest first; days without replies are left out."""
    return sorted(grouped(scores, lambda one: one.time[:_DAY]), key=lambda group: group.name)


def patterns(scores: Iterable[Scored]) -> list[tuple[str, int]]:
    """How often each rule matched, the most frequent first."""
    return Counter(rule for one in scores for rule in one.rules).most_common()


def missed_by_rules(scores: Iterable[Scored]) -> Share:
    """Of the replies that the gate let pass and that were judged all the same: those in which the judge saw something.

    The only honest estimate of what rules miss, since nothing else looks at such replies.
    """
    judged = [one.judged for one in scores if one.audited and one.judged is not None]
    return share(sum(_saw_something(row) for row in judged), len(judged))


def _saw_something(row: dict[str, Any]) -> bool:
    levels = row.get("levels")
    grave = isinstance(levels, dict) and any(
        isinstance(level, int) and level >= _GRAVE for level in levels.values()
    )
    return grave or bool(row.get("missed"))
