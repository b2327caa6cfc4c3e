"""Read past scores: join each reply with its judge's record, group them, read replies again, and measure the effect of corrections.

The ledger records where a reply is, not its text, so `memory replies tune` reads transcripts again.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, NamedTuple

from ..kernel.paths import Paths
from ..kernel.records import Form, Records, count, counts, lists_of, number, number_or_null, text, texts
from ..kernel.stats import Proportion, share, share_difference
from ..kernel.transcript.reader import Lines
from ..kernel.transcript.rows import reply_text_of
from .pipeline import score_id

PADDING_DIMENSIONS = frozenset(("VDet", "EPad"))  # the judge's dimensions that filler rules measure too
SCORES = Form(
    "scores",
    {
        **dict.fromkeys(("id", "outcome", "model", "gate", "transcript", "record", "prompt_id"), text),
        **dict.fromkeys(("text", "query_type"), text),
        **dict.fromkeys(("padding_count", "preamble_words", "words"), count),
        "density": number_or_null,
        "threshold": number,
        "matches": lists_of(int, int, str),
        "missed": lists_of(int, int),
        "phrases": lists_of(str, bool),
        "drift": texts,
        "levels": counts,
    },
)
DRIFT = Form("drift", {"id": text, "arm": text, "categories": texts})
_SEVERE_LEVEL = 2  # of 3
_DAY = len("2026-01-31")
# The fields without which a score cannot be used.
_NEEDED = {"id", "time", "padding_count", "preamble_words", "words", "query_type", "threshold", "matches"}
_MIN_DRIFTS = 10  # in each group; with fewer, the interval spans nearly everything
_ARMS = ("corrected", "control")


class PastScore:
    """One scored reply; `row` is its ledger record, `judged` the judge's record where one answered, else None."""

    def __init__(self, row: dict[str, Any], judged: dict[str, Any] | None) -> None:
        self.row = row
        self.judged = judged
        self.id: str = row["id"]
        self.model: str = row.get("model", "")
        self.padding: int = row["padding_count"]
        self.density: float | None = row.get("density")
        self.escalated: bool = row.get("escalate") is True


class ScoreGroup(NamedTuple):
    """The shares of a group of replies; `density` is the mean, None if none was measured."""

    name: str
    replies: int
    padded: Proportion
    drifted: Proportion
    escalated: Proportion
    density: float | None


class ScoreJoin:
    """Joins scores with the judge's records. A reply that was scored twice counts once, by its last record.

    `unusable` counts the rows of other kinds and those without a needed field.
    """

    def __init__(self) -> None:
        self._scores: dict[str, dict[str, Any]] = {}
        self._judged: dict[str, dict[str, Any]] = {}
        self.unusable = 0

    def add(self, row: dict[str, Any]) -> None:
        """Add the next row of the ledger `scores`."""
        if row.get("kind") == "judged" and "id" in row and "outcome" in row:
            if row["outcome"] == "ok":
                self._judged[row["id"]] = row
        elif row.get("kind") == "score" and row.keys() >= _NEEDED:
            self._scores.pop(row["id"], None)
            self._scores[row["id"]] = row
        else:
            self.unusable += 1

    def scores(self) -> list[PastScore]:
        """Return the scored replies, oldest first."""
        return [PastScore(row, self._judged.get(identity)) for identity, row in self._scores.items()]


def read_scores(paths: Paths, since: str = "", project: str = "") -> tuple[list[PastScore], int]:
    """Return the scored replies since a time (as `kernel.context.iso` writes it), oldest first, and the number of unusable lines."""
    join, rows = ScoreJoin(), Records(paths.state(), SCORES, since, project=project)
    for row in rows:
        join.add(row)
    return join.scores(), join.unusable + rows.skipped


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
        share(sum(bool(score.row.get("drift")) for score in scores), count),
        share(sum(score.escalated for score in scores), count),
        sum(densities) / len(densities) if densities else None,
    )


def group_by_day(scores: Iterable[PastScore]) -> list[ScoreGroup]:
    """Group replies by day (UTC), oldest first; days without replies are left out."""
    return sorted(group_scores(scores, lambda score: score.row["time"][:_DAY]), key=lambda group: group.name)


def count_patterns(scores: Iterable[PastScore]) -> list[tuple[str, int]]:
    """Return how often each rule matched, the most frequent first."""
    return Counter(rule for score in scores for _, _, rule in score.row["matches"]).most_common()


def missed_by_rules(scores: Iterable[PastScore]) -> Proportion:
    """Return the share of audited replies in which the judge found something.

    Audited replies passed the gate, so this estimates what the rules miss. No other record covers replies that passed.
    """
    judged = [score.judged for score in scores if score.row.get("audit") and score.judged]
    findings = sum(bool(severe_dimensions(row.get("levels", {})) or row.get("missed")) for row in judged)
    return share(findings, len(judged))


def severe_dimensions(levels: dict[str, int]) -> set[str]:
    """Return the dimensions with a level of 2 or 3 among a judge's levels."""
    return {name for name, level in levels.items() if level >= _SEVERE_LEVEL}


def reread_replies(rows: Iterable[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield id and text of the replies behind rows of `scores.jsonl` that transcripts still hold; each transcript is read once."""
    by_path: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        path = row.get("transcript", "")
        if "text" in row:
            yield row["id"], row["text"]
        elif path.endswith(".jsonl") and os.path.isabs(path) and os.path.isfile(path):
            by_path.setdefault(path, []).append(row)
    for path, path_rows in by_path.items():
        try:
            with open(path, "rb") as file:
                yield from _reread(file, path_rows)
        except OSError:
            continue


def _reread(file: IO[bytes], rows: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    by_record = {row["record"]: row["id"] for row in rows if row.get("record")}
    # These were scored before the transcript contained the reply; the id, a digest of the text, finds it again.
    without_record = [row for row in rows if not row.get("record")]
    for record in Lines(file):
        text = reply_text_of(record)
        by_text = (row["id"] for row in without_record if row["id"] == _id_with(text, row))
        identity = by_record.get(record.get("uuid")) or next(by_text, "")
        if text and identity:
            yield identity, text


def _id_with(text: str, row: dict[str, Any]) -> str:
    return score_id(row.get("session", ""), row.get("prompt_id", ""), text)


class CorrectionEffect(NamedTuple):
    """The share of drifts whose next reply was in line again, in both groups, and the difference with its 95% interval.

    A drift is an extreme value, so the next reply is usually better even without a correction (regression to the mean). Only the
    difference from the control group shows the effect of corrections.
    """

    corrected: Proportion
    control: Proportion
    gap: tuple[float, float, float] | None

    @property
    def is_conclusive(self) -> bool:
        """Return whether both groups have enough drifts for a conclusion."""
        return min(self.corrected.n, self.control.n) >= _MIN_DRIFTS


class EffectMeter:
    """Takes the rows of the `drift` ledger first, then those of `scores`; holds of these only the replies that follow drifts."""

    def __init__(self) -> None:
        self._drifts: dict[str, tuple[str, list[str]]] = {}  # id: arm and categories
        self._delivered: set[str] = set()  # drifts whose correction Claude was told
        self._open: dict[tuple[object, object], str] = {}  # (project, session): its last drift
        self._next_replies: dict[str, dict[str, Any]] = {}  # by drift
        self._levels: dict[str, dict[str, int]] = {}  # the judge's, by reply

    def add_drift(self, row: dict[str, Any]) -> None:
        """Record a drift, or that Claude was told its correction."""
        if row.get("kind") == "said":
            self._delivered.add(row.get("id", ""))
        elif row.get("kind") == "drift" and row.get("arm") in _ARMS and "categories" in row:
            self._drifts[row.get("id", "")] = (row["arm"], row["categories"])

    def add_score(self, row: dict[str, Any]) -> None:
        """Record a scored reply if it follows a drift in its session, or a judge's verdict."""
        identity = row.get("id", "")
        if row.get("outcome") == "ok" and "levels" in row:
            self._levels[identity] = row["levels"]
        if row.get("kind") != "score" or not row.keys() >= _NEEDED:
            return
        session = (row.get("project"), row.get("session"))
        drift = self._open.get(session, identity)
        if drift != identity:
            if (
                self._next_replies.get(drift, row)["id"] == identity
            ):  # the next reply, or a later record of it
                self._next_replies[drift] = row
            else:
                del self._open[session]
        if identity in self._drifts:
            self._open[session] = identity

    def effect(self) -> CorrectionEffect:
        """Return the effect over all rows added so far."""
        outcomes: dict[str, list[bool]] = {arm: [] for arm in _ARMS}
        for identity, (arm, categories) in self._drifts.items():
            if arm == "corrected" and identity not in self._delivered:
                continue  # no prompt followed, or the correction was too old
            in_line = self._is_in_line(categories, self._next_replies.get(identity))
            if in_line is not None:
                outcomes[arm].append(in_line)
        corrected, control = (share(sum(outcomes[arm]), len(outcomes[arm])) for arm in _ARMS)
        return CorrectionEffect(corrected, control, share_difference(corrected, control))

    def _is_in_line(self, categories: list[str], reply: dict[str, Any] | None) -> bool | None:
        """Return whether the next reply is in line in all categories that drifted; None if none of them was measured."""
        if reply is None or reply.get("density") is None:
            return None
        levels = self._levels.get(reply["id"])
        checks: list[bool] = []
        for name in categories:
            if name in ("padding", "density"):
                checks.append(name not in reply.get("drift", ()))
            elif levels is not None:
                checks.append(levels.get(name, 0) < _SEVERE_LEVEL)
        return all(checks) if checks else None


def measure_effect(paths: Paths, since: str = "") -> CorrectionEffect:
    """Return the effect of the corrections since a time."""
    meter = EffectMeter()
    for row in Records(paths.state(), DRIFT, since):
        meter.add_drift(row)
    for row in Records(paths.state(), SCORES):
        meter.add_score(row)
    return meter.effect()
