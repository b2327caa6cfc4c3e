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
from ..sessions.rubric import valid_scores
from .installation import EVENTS

OUTCOMES = ("injected", "pointed", "silent", "skipped", "failed")
MISS_REASONS = ("no_match", "below_threshold", "declined")
_STARTS = ("catalog", "subagent")  # where Claude gets the same rules each time
_RECALLED = ("injected", "pointed")
_GUARD_OUTCOMES = ("reminded", "asked", "let_through")
_RATINGS = ("used", "useful", "wrong")
_MAX_MISSED = 400  # the latest, whose texts are looked up in transcripts
_MAX_EVENT = 160
_DAY = 10  # characters of a date


class MemoryUse:
    """How often a memory was shown in full or by title, used in a reply, called useful or wrong, and near: the best match, but too weak.

    `started` counts the session starts at which a rule was shown.
    """

    __slots__ = ("last", "near", "pointed", "started", "told", "used", "useful", "wrong")

    def __init__(self) -> None:
        self.told = self.pointed = self.started = self.near = self.used = self.useful = self.wrong = 0
        self.last = ""


class RecallFigures:
    """What was recalled, from the ledgers `recalls` and `feedback`."""

    def __init__(self) -> None:
        self.days: dict[str, Counter[str]] = defaultdict(Counter)  # prompts by outcome
        self.reasons: Counter[str] = Counter()
        self.projects: Counter[str] = Counter()
        self.guards: Counter[str] = Counter()
        self.memories: dict[tuple[str, str], MemoryUse] = defaultdict(MemoryUse)  # by project and key
        self.sessions: set[str] = set()
        self.waits: list[float] = []  # milliseconds
        self.tokens = self.past = 0
        self.missed: deque[dict[str, Any]] = deque(maxlen=_MAX_MISSED)

    def add(self, row: dict[str, Any]) -> None:
        """Count one decision."""
        outcome, place = row.get("outcome", ""), row.get("place", "prompt")
        if place == "guard":
            self.guards[outcome] += outcome in _GUARD_OUTCOMES
            return
        self.past += place == "past"
        counted = ("started", "started") if place in _STARTS else ("told", "pointed")
        for outcomes, name in zip(_RECALLED, counted):
            for key in row.get(outcomes, ()):
                use = self._use(row, key)
                setattr(use, name, getattr(use, name) + 1)
                use.last = max(use.last, row["time"])
        self.tokens += row.get("tokens", 0)
        if place == "prompt" and outcome in OUTCOMES:
            self._add_prompt(row, outcome)

    def _use(self, row: dict[str, Any], key: str) -> MemoryUse:
        """Return the counts of a memory. The user's own memories are the same in every project."""
        return self.memories["" if key.startswith("user:") else row.get("project", ""), key]

    def _add_prompt(self, row: dict[str, Any], outcome: str) -> None:
        self.days[row["time"][:_DAY]][outcome] += 1
        self.projects[row.get("project", "")] += 1
        self.sessions.add(row.get("session", ""))
        if row.get("ms") is not None:
            self.waits.append(row["ms"])
        if outcome in _RECALLED:
            return
        reason = row.get("reason", "")
        self.reasons[reason] += 1
        if reason in MISS_REASONS:
            for best in row.get("candidates", ())[:1]:
                self._use(row, best["key"]).near += 1
            self.missed.append(row)

    def add_feedback(self, row: dict[str, Any]) -> None:
        """Count one rating, or one reply that used memories."""
        kind = row.get("kind", "")
        for key in row.get("memories", ()) if kind in _RATINGS else ():
            use = self._use(row, key)
            setattr(use, kind, getattr(use, kind) + 1)

    def total(self, outcome: str) -> int:
        """Return the number of prompts with an outcome."""
        return sum(day[outcome] for day in self.days.values())

    @property
    def prompts(self) -> int:
        """Return the number of prompts."""
        return sum(self.projects.values())


class LedgerFigures:
    """The sums over all ledgers of a folder in a period; `lines` were read, `skipped` of them hold no record."""

    def __init__(self, folder: str, since: str, until: str, project: str) -> None:
        """Read the ledgers; `project` is the only one to count, or empty for all."""
        self.recalls = RecallFigures()
        self.sessions: dict[str, dict[str, Any]] = {}  # the latest grade of each
        self.calls: dict[str, Counter[str]] = defaultdict(Counter)  # of judges, by feature; see `_add_call`
        self.usd: dict[str, float] = defaultdict(float)  # by feature, as far as the price is known
        self.usd_by_day: dict[str, float] = defaultdict(float)
        self.events: Counter[str] = Counter()
        self.lines = self.skipped = 0
        scores, drifts = ScoreJoin(), DriftLog()
        readers = {
            RECALLS: (self.recalls.add,),
            FEEDBACK: (self.recalls.add_feedback,),
            DRIFT: (drifts.add,),
            SCORES: (scores.add,),
            SESSIONS: (self._add_grade,),
            CALLS: (self._add_call,),
            EVENTS: (self._add_event,),
        }
        for form, adders in readers.items():
            records = Records(folder, form, since, until, project)
            for row in records:
                for add in adders:
                    add(row)
            self.lines += records.lines
            self.skipped += records.skipped
        self.replies = scores.scores()
        self.effect = drifts.effect(self.replies)

    def _add_grade(self, row: dict[str, Any]) -> None:
        """Add one grade; it replaces an earlier grade of the same session."""
        if row.get("kind") == SCORE and "session" in row and "dimensions" in row:
            self.sessions[row["session"]] = row

    def _add_call(self, row: dict[str, Any]) -> None:
        """Count one call of a judge: whether it was cached, failed or has no known price, its tokens and its cost."""
        feature, cost = row.get("feature") or "unknown", row.get("cost_usd")
        failed, cached = row.get("outcome", "") != "ok", row.get("cached") is True
        self.calls[feature].update(
            calls=1,
            cached=cached,
            failed=failed and not cached,
            tokens=0 if cached else row.get("tokens_in", 0) + row.get("tokens_out", 0),
            unpriced=cost is None and not (failed or cached),
        )
        if cost is not None and not cached:
            self.usd[feature] += cost
            self.usd_by_day[row["time"][:_DAY]] += cost

    def _add_event(self, row: dict[str, Any]) -> None:
        self.events[plain("%s: %s" % (row.get("event"), row.get("what")), _MAX_EVENT)] += 1

    def mean_grades(self) -> dict[str, tuple[float, int]]:
        """Return each dimension's mean score and number of sessions."""
        scores: dict[str, list[float]] = defaultdict(list)
        for row in self.sessions.values():
            for name, score in valid_scores(row["dimensions"]).items():
                scores[name].append(score)
        return {name: (sum(found) / len(found), len(found)) for name, found in scores.items()}


def quantile(values: list[float], share: float) -> float | None:
    """Return the value below which that share (0 to 1) of the values lies; None without values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def ranked(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return names and counts above zero, the most frequent first, ties by name."""
    pairs = [(name, number) for name, number in counts.items() if number]
    return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))
