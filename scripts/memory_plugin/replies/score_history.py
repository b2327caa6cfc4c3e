"""Read past scores from the ledgers: join each reply with its judge's record, and group them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.records import Records
from ..kernel.stats import Proportion, share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..kernel.paths import Paths

PADDING_DIMENSIONS = frozenset(("VDet", "EPad"))  # the judge's dimensions that filler rules measure too
_SEVERE_LEVEL = 2  # of 3
_DAY = len("2026-01-31")
_NONE: frozenset[str] = frozenset()
# The fields without which a record cannot be used, by kind.
_NEEDED = {
    "score": frozenset(("time", "padding_count", "threshold", "matches")),
    "judged": frozenset(("outcome",)),
}


class PastScore(NamedTuple):
    """One scored reply; `row` is its ledger record, `judged` the judge's record where one answered, else None."""

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


class ScoreGroup(NamedTuple):
    """The shares of a group of replies; `density` is the mean, None if none was measured."""

    name: str
    replies: int
    padded: Proportion
    drifted: Proportion
    escalated: Proportion
    density: float | None


def read_scores(paths: Paths, since: str = "", project: str = "") -> tuple[list[PastScore], int]:
    """Return the scored replies since a time (as `kernel.clock.iso` writes it), oldest first, and the number of unusable lines.

    A reply that was scored twice counts once, by its last record.
    """
    scores: dict[str, dict[str, Any]] = {}
    judged: dict[str, dict[str, Any]] = {}
    rows = Records(paths.state(), "scores")
    bad = 0
    for row in rows:
        identity, kind = row.get("id", ""), row.get("kind", "")
        if not identity or not _NEEDED.get(kind, _NONE) <= row.keys():
            bad += 1
        elif kind == "judged" and row["outcome"] == "ok":
            judged[identity] = row
        elif kind == "score" and row["time"] >= since and project in ("", row.get("project")):
            scores.pop(identity, None)
            scores[identity] = row
    _fill_models(list(scores.values()))
    return [_past_score(row, judged.get(identity)) for identity, row in scores.items()], bad + rows.skipped


def _fill_models(rows: list[dict[str, Any]]) -> None:
    """Fill in missing models from the session's nearest reply, preferring later ones (a transcript may lag behind its reply)."""
    for ordered in (rows[::-1], rows):
        models: dict[object, object] = {}  # by session
        for row in ordered:
            row["model"] = row.get("model") or models.get(row.get("session"), "")
            models[row.get("session")] = row["model"]


def _past_score(row: dict[str, Any], judged: dict[str, Any] | None) -> PastScore:
    return PastScore(
        **{name: row.get(name, "") for name in ("id", "time", "session", "project", "model", "gate")},
        padding=row["padding_count"],
        density=row.get("density"),
        threshold=row["threshold"],
        escalated=row.get("escalate") is True,
        audited=row.get("audit") is True,
        drift=row.get("drift", []),
        rules=[rule for _, _, rule in row["matches"]],
        row=row,
        judged=judged,
    )


def group_scores(scores: Iterable[PastScore], key: Callable[[PastScore], str]) -> list[ScoreGroup]:
    """Group replies by a key, the largest group first."""
    groups: dict[str, list[PastScore]] = {}
    for score in scores:
        groups.setdefault(key(score), []).append(score)
    summaries = [_summarize(name, members) for name, members in groups.items()]
    return sorted(summaries, key=lambda group: (-group.replies, group.name))


def _summarize(name: str, scores: Sequence[PastScore]) -> ScoreGroup:
    count = len(scores)
    densities = [score.density for score in scores if score.density is not None]
    return ScoreGroup(
        name or "unknown",
        count,
        share(sum(score.padding > 0 for score in scores), count),
        share(sum(bool(score.drift) for score in scores), count),
        share(sum(score.escalated for score in scores), count),
        sum(densities) / len(densities) if densities else None,
    )


def group_by_day(scores: Iterable[PastScore]) -> list[ScoreGroup]:
    """Group replies by day (UTC), oldest first; days without replies are left out."""
    return sorted(group_scores(scores, lambda score: score.time[:_DAY]), key=lambda group: group.name)


def count_patterns(scores: Iterable[PastScore]) -> list[tuple[str, int]]:
    """Return how often each rule matched, the most frequent first."""
    return Counter(rule for score in scores for rule in score.rules).most_common()


def missed_by_rules(scores: Iterable[PastScore]) -> Proportion:
    """Return the share of audited replies in which the judge found something.

    Audited replies passed the gate, so this estimates what the rules miss. No other record covers replies that passed.
    """
    judged = [score.judged for score in scores if score.audited and score.judged is not None]
    findings = sum(bool(severe_dimensions(row.get("levels", {})) or row.get("missed")) for row in judged)
    return share(findings, len(judged))


def severe_dimensions(levels: dict[str, int]) -> set[str]:
    """Return the dimensions with a level of 2 or 3 among a judge's levels."""
    return {name for name, level in levels.items() if level >= _SEVERE_LEVEL}
