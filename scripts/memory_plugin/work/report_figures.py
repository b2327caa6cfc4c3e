"""Sum the ledgers of a folder: one pass over the records of each."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from typing import Any

from ..kernel.judge.asking import CALLS
from ..kernel.records import Records
from ..kernel.text.clean import plain
from ..recall.recall_rows import FEEDBACK, RECALLS
from ..replies.rows import DRIFT, SCORES, DriftLog, ScoreJoin
from ..sessions.rows import SCORE, SESSIONS
from .installation import EVENTS

OUTCOMES = ("injected", "pointed", "silent", "skipped", "failed")
MISS_REASONS = ("no_match", "below_threshold", "declined")
_STARTS = ("catalog", "subagent")  # where Claude gets the same rules each time
_RECALLED = ("injected", "pointed")
_MAX_MISSED = 400  # the latest, whose texts are looked up in transcripts
_MAX_EVENT = 160
_DAY = 10  # characters of a date


class RecallFigures:
    """What was recalled, from the ledgers `recalls` and `feedback`.

    `uses` counts by project and key of a memory how often it was shown in full (`told`) or by title (`pointed`), used in a reply, called
    useful or wrong, and near: the best match, but too weak. `started` counts the session starts at which a rule was shown.
    """

    def __init__(self) -> None:
        self.days: dict[str, Counter[str]] = defaultdict(Counter)  # prompts by outcome
        self.reasons: Counter[str] = Counter()
        self.projects: Counter[str] = Counter()
        self.guards: Counter[str] = Counter()
        self.uses: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self.last: dict[tuple[str, str], str] = defaultdict(str)  # when a memory was last shown
        self.sessions: set[str] = set()
        self.waits: list[float] = []  # milliseconds
        self.tokens = self.past = 0
        self.missed: deque[dict[str, Any]] = deque(maxlen=_MAX_MISSED)

    def add(self, row: dict[str, Any]) -> None:
        """Count one decision."""
        outcome, place = row.get("outcome", ""), row.get("place", "prompt")
        if place == "guard":
            self.guards[outcome] += outcome in ("reminded", "asked", "let_through")
            return
        self.past += place == "past"
        counted = ("started", "started") if place in _STARTS else ("told", "pointed")
        for outcomes, name in zip(_RECALLED, counted):
            for key in row.get(outcomes, ()):
                memory = memory_of(key, row.get("project", ""))
                self.uses[memory][name] += 1
                self.last[memory] = max(self.last[memory], row["time"])
        self.tokens += row.get("tokens", 0)
        if place == "prompt" and outcome in OUTCOMES:
            self._add_prompt(row, outcome)

    def _add_prompt(self, row: dict[str, Any], outcome: str) -> None:
        project, reason = row.get("project", ""), row.get("reason", "")
        self.days[row["time"][:_DAY]][outcome] += 1
        self.projects[project] += 1
        self.sessions.add(row.get("session", ""))
        if row.get("ms") is not None:
            self.waits.append(row["ms"])
        if outcome in _RECALLED:
            return
        self.reasons[reason] += 1
        if reason in MISS_REASONS:
            for best in row.get("candidates", ())[:1]:
                self.uses[memory_of(best["key"], project)]["near"] += 1
            self.missed.append(row)

    def add_feedback(self, row: dict[str, Any]) -> None:
        """Count one rating, or one reply that used memories."""
        kind = row.get("kind", "")
        for key in row.get("memories", ()) if kind in ("used", "useful", "wrong") else ():
            self.uses[memory_of(key, row.get("project", ""))][kind] += 1


def memory_of(key: str, project: str) -> tuple[str, str]:
    """Return what a memory is counted under. The user's own memories are the same in every project."""
    return "" if key.startswith("user:") else project, key


class LedgerFigures:
    """The sums over all ledgers of a folder in a period; `lines` were read, `skipped` of them hold no record."""

    def __init__(self, folder: str, since: str, until: str, project: str) -> None:
        """Read the ledgers; `project` is the only one to count, or empty for all."""
        self.recalls = RecallFigures()
        self.grades: dict[str, dict[str, Any]] = {}  # the latest of each session
        self.calls: dict[str, Counter[str]] = defaultdict(Counter)  # of judges, by feature; see `_add_call`
        self.usd: dict[str, float] = defaultdict(float)  # by feature, as far as the price is known
        self.usd_by_day: dict[str, float] = defaultdict(float)
        self.events: Counter[str] = Counter()
        self.lines = self.skipped = 0
        scores, drifts = ScoreJoin(), DriftLog()
        readers = {
            RECALLS: self.recalls.add,
            FEEDBACK: self.recalls.add_feedback,
            DRIFT: drifts.add,
            SCORES: scores.add,
            SESSIONS: self._add_grade,
            CALLS: self._add_call,
            EVENTS: self._add_event,
        }
        for form, add in readers.items():
            records = Records(folder, form, since, until, project)
            for row in records:
                add(row)
            self.lines += records.lines
            self.skipped += records.skipped
        self.replies = scores.scores()
        self.effect = drifts.effect(self.replies)

    def _add_grade(self, row: dict[str, Any]) -> None:
        """Add one grade; it replaces an earlier grade of the same session."""
        if row.get("kind") == SCORE and "session" in row and "dimensions" in row:
            self.grades[row["session"]] = row

    def _add_call(self, row: dict[str, Any]) -> None:
        """Count one call of a judge: whether it was cached, failed or has no known price, its tokens and its cost."""
        cost, cached = row.get("cost_usd"), row.get("cached") is True
        failed = row.get("outcome", "") != "ok" and not cached
        feature = row.get("feature") or "unknown"
        counts = self.calls[feature]
        counts["calls"] += 1
        counts["cached"] += cached
        counts["failed"] += failed
        counts["unpriced"] += cost is None and not (failed or cached)
        if not cached:
            counts["tokens"] += row.get("tokens_in", 0) + row.get("tokens_out", 0)
            if cost:
                self.usd[feature] += cost
                self.usd_by_day[row["time"][:_DAY]] += cost

    def _add_event(self, row: dict[str, Any]) -> None:
        self.events[plain("%s: %s" % (row.get("event"), row.get("what")), _MAX_EVENT)] += 1


def quantile(values: list[float], share: float) -> float | None:
    """Return the value below which that share (0 to 1) of the values lies; None without values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def ranked(counts: Mapping[str, int], name: str, number: str) -> list[dict[str, object]]:
    """Return rows of the counts above zero, with these names of their fields, the most frequent first, ties by name."""
    pairs = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [{name: counted, number: times} for counted, times in pairs if times]
