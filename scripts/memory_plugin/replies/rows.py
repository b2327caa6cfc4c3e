"""The rows of the ledgers `scores` and `drift`: as they are written, read, joined and grouped; and the effect of corrections.

The ledger records the transcript of a reply, not its text, so `memory replies tune` reads transcripts again. The id, a digest of the text,
finds the reply.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ..kernel import records
from ..kernel.fastjson import digest
from ..kernel.paths import Paths
from ..kernel.stats import Proportion, share, share_difference
from ..kernel.transcript import reply_text_of
from ..kernel.transcript.reader import Lines

PADDING_DIMENSIONS = frozenset(("VDet", "EPad"))  # the judge's dimensions that filler rules measure too
_SEVERE_LEVEL = 2  # of 3
_DAY = len("2026-01-31")
_MIN_DRIFTS = 10  # in each group; with fewer, the interval spans nearly everything
_TOO_FEW = (
    "Too few wordy replies for a conclusion: each group needs at least %d."
    " The setting scoring.holdout decides the size of the control group."
)
_ARMS = ("corrected", "control")


def _flag(value: object) -> object:
    return value if isinstance(value, bool) else records.WRONG


SCORES = records.Form(
    "scores",
    {
        **dict.fromkeys(("id", "outcome", "model", "gate", "transcript", "prompt_id"), records.text),
        **dict.fromkeys(("text", "query_type", "severity", "mode"), records.text),
        **dict.fromkeys(("padding_count", "preamble_words", "words", "turn"), records.count),
        **dict.fromkeys(("escalate", "audit", "agrees"), _flag),
        "density": records.number_or_null,
        "threshold": records.number,
        "matches": records.lists_of(int, int, str),
        "missed": records.lists_of(int, int),
        "phrases": records.lists_of(str, bool),
        "drift": records.texts,
        "levels": records.counts,
    },
)
DRIFT = records.Form("drift", {"id": records.text, "arm": records.text, "categories": records.texts})
# The fields without which a score cannot be used.
_NEEDED = {"id", "time", "padding_count", "preamble_words", "words", "query_type", "threshold", "matches"}
_ADDED = ("time", "session", "project", "judged")  # by the ledger, and by the join


class Judged(NamedTuple):
    """A judge's answer about a reply: the levels by dimension, [rule, is filler] of the rules' phrases, and passages missed.

    `agrees` is None if it gave no verdict on the phrases of the rules.
    """

    levels: Mapping[str, int] = {}
    phrases: Sequence[tuple[str, bool]] = ()
    missed: Sequence[tuple[int, int]] = ()
    agrees: bool | None = None


class Score(NamedTuple):
    """One scored reply, which the ledger quotes only if the user allows it; `judged` is the judge's answer, None without one.

    `matches` are [start, end, rule] in the reply, and `density` is None if it was not measured. `gate` is the row of the escalation gate,
    and `turn` the reply's number in its session.
    """

    id: str
    padding_count: int = 0
    preamble_words: int = 0
    density: float | None = None
    query_type: str = ""
    threshold: float = 0.0
    gate: str = ""
    escalate: bool = False
    drift: Sequence[str] = ()
    severity: str = ""
    matches: Sequence[tuple[int, int, str]] = ()
    words: int = 0
    audit: bool = False
    mode: str = ""
    prompt_id: str = ""
    model: str = ""
    transcript: str = ""
    text: str = ""
    turn: int = 0
    time: str = ""
    session: str = ""
    project: str = ""
    judged: Judged | None = None

    def fields(self) -> dict[str, object]:
        """Return the row for the ledger."""
        unwritten = _ADDED if self.text else (*_ADDED, "text")
        row = {name: value for name, value in self._asdict().items() if name not in unwritten}
        return {"kind": "score", **row}


class ScoreJoin:
    """Joins scores with the judge's answers. A reply that was scored twice counts once, as it was scored last."""

    def __init__(self) -> None:
        self._scores: dict[str, Score] = {}
        self._judged: dict[str, Judged] = {}

    def add(self, row: dict[str, Any]) -> None:
        """Add the next row of the ledger `scores`."""
        if row.get("kind") == "judged" and "id" in row and "outcome" in row:
            if row["outcome"] == "ok":
                self._judged[row["id"]] = Judged()._replace(**_known(Judged._fields, row))
        elif row.get("kind") == "score" and row.keys() >= _NEEDED:
            self._scores[row["id"]] = Score(**_known(Score._fields, row))

    def scores(self) -> list[Score]:
        """Return the scored replies, oldest first."""
        return [score._replace(judged=self._judged.get(score.id)) for score in self._scores.values()]


def _known(names: Iterable[str], row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in names if name in row}


def read_scores(paths: Paths, since: str = "", project: str = "") -> list[Score]:
    """Return the scored replies since a time (as `kernel.context.iso` writes it), oldest first; unusable lines are left out."""
    join = ScoreJoin()
    for row in records.Records(paths.state(), SCORES, since, project=project):
        join.add(row)
    return join.scores()


class ScoreGroup(NamedTuple):
    """The shares of a group of replies; `density` is the mean, None if none was measured."""

    name: str
    replies: int
    padded: Proportion
    drifted: Proportion
    escalated: Proportion
    density: float | None


def group_scores(scores: Iterable[Score], key: Callable[[Score], str]) -> list[ScoreGroup]:
    """Group replies by a key, the largest group first."""
    groups: dict[str, list[Score]] = {}
    for score in scores:
        groups.setdefault(key(score), []).append(score)
    summaries = [_summarize(name, members) for name, members in groups.items()]
    return sorted(summaries, key=lambda group: (-group.replies, group.name))


def _summarize(name: str, scores: Sequence[Score]) -> ScoreGroup:
    total = len(scores)
    densities = [score.density for score in scores if score.density is not None]
    return ScoreGroup(
        name or "unknown",
        total,
        share(sum(score.padding_count > 0 for score in scores), total),
        share(sum(bool(score.drift) for score in scores), total),
        share(sum(score.escalate for score in scores), total),
        sum(densities) / len(densities) if densities else None,
    )


def group_by_day(scores: Iterable[Score]) -> list[ScoreGroup]:
    """Group replies by day (UTC), oldest first; days without replies are left out."""
    return sorted(group_scores(scores, lambda score: score.time[:_DAY]), key=lambda group: group.name)


def count_patterns(scores: Iterable[Score]) -> list[tuple[str, int]]:
    """Return how often each rule matched, the most frequent first."""
    return Counter(rule for score in scores for _, _, rule in score.matches).most_common()


def missed_by_rules(scores: Iterable[Score]) -> Proportion:
    """Return the share of audited replies in which the judge found something.

    Audited replies passed the gate, so this estimates what the rules miss. No other record covers replies that passed.
    """
    judged = [score.judged for score in scores if score.audit and score.judged]
    findings = sum(bool(severe_dimensions(answer.levels) or answer.missed) for answer in judged)
    return share(findings, len(judged))


def severe_dimensions(levels: Mapping[str, int]) -> set[str]:
    """Return the dimensions with a level of 2 or 3 among a judge's levels."""
    return {name for name, level in levels.items() if level >= _SEVERE_LEVEL}


def score_id(session: str, prompt_id: str, reply: str) -> str:
    """Return the id of a score in every ledger; the same reply to the same prompt has the same id."""
    parts = (session, prompt_id, digest(reply.encode("utf-8", "replace")))
    return digest("\0".join(parts).encode("utf-8", "replace"), 8)


def reread_replies(scores: Iterable[Score]) -> Iterator[tuple[str, str]]:
    """Yield id and text of the scored replies that the ledger or transcripts still hold; each transcript is read once."""
    by_path: dict[str, list[Score]] = {}
    for score in scores:
        path = score.transcript
        if score.text:
            yield score.id, score.text
        elif path.endswith(".jsonl") and os.path.isabs(path) and os.path.isfile(path):
            by_path.setdefault(path, []).append(score)
    for path, members in by_path.items():
        with suppress(OSError), open(path, "rb") as file:
            for reply in filter(None, map(reply_text_of, Lines(file))):
                ids = (score_id(one.session, one.prompt_id, reply) for one in members)
                yield from ((one.id, reply) for one, found in zip(members, ids) if one.id == found)


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

    @property
    def verdict(self) -> str:
        """Return whether corrections help, with the difference to the control group in percentage points."""
        if self.gap is None or not self.is_conclusive:
            return _TOO_FEW % _MIN_DRIFTS
        _, low, high = self.gap
        verdict = "help" if low > 0 else "hurt"
        if low <= 0 <= high:
            verdict = "have no clear effect"
        points = tuple(("%+.0f" % (100 * part)).replace("-", "\u2212") for part in self.gap)
        return "Corrections %s: %s percentage points (95%% interval %s to %s)." % (verdict, *points)


class DriftLog:
    """Takes the rows of the ledger `drift`."""

    def __init__(self) -> None:
        self._drifts: dict[str, tuple[str, list[str]]] = {}  # id: arm and categories
        self._delivered: set[str] = set()  # drifts whose correction Claude got

    def add(self, row: dict[str, Any]) -> None:
        """Record a drift, or that Claude got its correction."""
        if row.get("kind") == "said":
            self._delivered.add(row.get("id", ""))
        elif row.get("kind") == "drift" and row.get("arm") in _ARMS and "categories" in row:
            self._drifts[row.get("id", "")] = (row["arm"], row["categories"])

    def effect(self, scores: Iterable[Score]) -> CorrectionEffect:
        """Return the effect of the corrections on the replies that followed."""
        outcomes: dict[str, list[bool]] = {arm: [] for arm in _ARMS}
        last: dict[tuple[str, str], str] = {}  # (project, session): its last reply
        for score in scores:
            before = last.get((score.project, score.session), "")
            last[score.project, score.session] = score.id
            arm, categories = self._drifts.get(before, ("", []))
            if arm == "control" or (arm and before in self._delivered):
                in_line = _is_in_line(categories, score)
                outcomes[arm] += [] if in_line is None else [in_line]
        corrected, control = (share(sum(outcomes[arm]), len(outcomes[arm])) for arm in _ARMS)
        return CorrectionEffect(corrected, control, share_difference(corrected, control))


def _is_in_line(categories: Iterable[str], reply: Score) -> bool | None:
    """Return whether a reply is in line in all categories that drifted before; None if none of them was measured."""
    if reply.density is None:
        return None
    if "session" in categories:
        return not reply.severity
    severe = severe_dimensions(reply.judged.levels) if reply.judged else set()
    measured = [name for name in categories if reply.judged or name in ("padding", "density")]
    return severe.union(reply.drift).isdisjoint(measured) if measured else None


def measure_effect(paths: Paths, since: str = "") -> CorrectionEffect:
    """Return the effect of the corrections since a time."""
    log = DriftLog()
    for row in records.Records(paths.state(), DRIFT, since):
        log.add(row)
    return log.effect(read_scores(paths))
