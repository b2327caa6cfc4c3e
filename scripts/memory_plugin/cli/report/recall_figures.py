"""Recall figures from the ledger `recalls`: outcomes by day, reasons, projects, waits, and how often each memory was used."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from ...kernel.fastjson import loads
from .counting import CappedCounter, Distinct, Histogram
from .ledger_files import best_candidate, candidates_of
from .line_patterns import (
    MISS_ENDINGS,
    MISS_REASONS,
    NO_MEMORIES,
    RECALL_CONTEXT,
    RECALL_LINE,
    RECALL_MEMORIES,
    match_lines,
    parse_elements,
)

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator
    from typing import Any

OUTCOMES = ("injected", "pointed", "silent", "skipped", "failed")
_RECALLED = ("injected", "pointed")
_GUARD_OUTCOMES = ("reminded", "asked", "let_through")
_COLUMN = {outcome: column for column, outcome in enumerate(OUTCOMES)}
_MAX_MEMORIES = 50_000
_MAX_KEYS_PER_ROW = 50
_MAX_NAMES = 500
_MAX_MISSED = 400
_MAX_TALLIES = 20_000
_TIME = slice(20, 40)  # position of the time in a line that matches RECALL_LINE
_DAY = 10  # characters of a date


class MemoryUse:
    """How often a memory was told, pointed to, used in a reply, called useful or wrong, and near: the best match, but too weak."""

    __slots__ = ("last", "near", "pointed", "told", "used", "useful", "wrong")

    def __init__(self) -> None:
        self.told = self.pointed = self.near = self.used = self.useful = self.wrong = 0
        self.last = ""


class MissedPrompt(NamedTuple):
    """A prompt without a good enough memory; `text` is empty unless the ledger records prompts."""

    time: str
    session: str
    prompt_id: str
    project: str
    reason: str
    nearest: str
    confidence: float
    text: str


class RecallFigures:
    """The sums over all rows added so far."""

    def __init__(self) -> None:
        self.days: dict[str, list[int]] = {}  # counts in the order of OUTCOMES
        self.reasons = CappedCounter(_MAX_NAMES)
        self.projects = CappedCounter(_MAX_NAMES)
        self.guards = CappedCounter(len(_GUARD_OUTCOMES))
        self.places = CappedCounter(_MAX_NAMES)
        self.memories: dict[tuple[str, str], MemoryUse] = {}  # by project and key
        self.memories_left_out = 0
        self.sessions = Distinct()
        self.wait = Histogram()
        self.tokens = 0
        self._last_session: str | None = None
        # Tallies of `add_lines` that are not in the figures yet. Most rows differ only in the time of day, so equal rows are first
        # counted as text, and each distinct text is taken apart only once.
        self._prompts: dict[tuple[str, str], int] = {}
        self._waits: dict[str, int] = {}
        self._recalled: dict[tuple[str, str], tuple[int, str]] = {}
        self._near: dict[tuple[str, str], int] = {}
        self._missed: deque[str | MissedPrompt] = deque(maxlen=_MAX_MISSED)

    def add_lines(self, blocks: Iterable[list[str]], project: str = "") -> Iterator[str]:
        """Count the lines that match RECALL_LINE, and yield all others for the parser.

        Args:
            blocks: Lines of the ledger `recalls`.
            project: The only project to count; empty for all.
        """
        project_field = '"project":"%s",' % project if project else ""
        for block in blocks:
            for lines, rows in match_lines(block, RECALL_LINE):
                if not rows:
                    self._flush_tallies()  # first come, first counted: the counters have limits
                    yield from lines
                elif project_field:
                    pairs = zip(lines, rows)
                    self._tally_rows((line, row) for line, row in pairs if row[2].startswith(project_field))
                else:
                    self._tally_rows(zip(lines, rows))
            if len(self._prompts) + len(self._waits) + len(self._near) + len(self._recalled) > _MAX_TALLIES:
                self._flush_tallies()
        self._flush_tallies()

    def _tally_rows(self, pairs: Iterable[tuple[str, tuple[str, ...]]]) -> None:
        """Count lines with their groups; this loop runs millions of times."""
        prompts, waits, near, recalled = self._prompts, self._waits, self._near, self._recalled
        for line, (day, session, context, nearest, memories, ms) in pairs:
            prompts[day, context] = prompts.get((day, context), 0) + 1
            waits[ms] = waits.get(ms, 0) + 1
            if session != self._last_session:  # rows of a session mostly follow each other
                self._last_session = session
                self.sessions.add(session)
            if memories != NO_MEMORIES:
                number, last = recalled.get((context, memories), (0, ""))
                recalled[context, memories] = (number + 1, max(last, line[_TIME]))
            if context.endswith(MISS_ENDINGS):
                self._missed.append(line)
                if nearest:
                    near[context, nearest] = near.get((context, nearest), 0) + 1

    def _flush_tallies(self) -> None:
        """Add the tallies of `add_lines` to the figures, in the order in which they occurred."""
        for (day, context), number in self._prompts.items():
            project, outcome, reason = _groups(RECALL_CONTEXT, context)
            self._count_outcome(day, outcome, number)
            self.projects.add(project, number)
            if outcome not in _RECALLED:
                self.reasons.add(reason, number)
        for ms, number in self._waits.items():
            self.wait.add(float(ms), number)
        for (context, memories), (number, last) in self._recalled.items():
            injected, pointed, tokens = _groups(RECALL_MEMORIES, memories)
            project = _groups(RECALL_CONTEXT, context)[0]
            self._add_keys("injected", parse_elements(injected), project, last, number)
            self._add_keys("pointed", parse_elements(pointed), project, last, number)
            self.tokens += int(tokens or 0) * number
        for (context, key), number in self._near.items():
            self._add_near(key, _groups(RECALL_CONTEXT, context)[0], number)
        for tally in (self._prompts, self._waits, self._recalled, self._near):
            tally.clear()

    def add(self, row: dict[str, Any], candidates: str) -> None:
        """Count one parsed row; `candidates` is the start of its candidates as text."""
        outcome, place = row.get("outcome"), row.get("place")
        if place == "guard":
            if outcome in _GUARD_OUTCOMES:
                self.guards.add(str(outcome))
            return
        project = _text(row.get("project"))
        for name in _RECALLED:
            keys = row.get(name)
            if keys and isinstance(keys, list):
                self._add_keys(name, keys, project, row["time"])
        tokens = row.get("tokens")
        if isinstance(tokens, int) and 0 <= tokens < 1 << 30:
            self.tokens += tokens
        if place not in (None, "prompt"):
            self.places.add(str(place)[:40])
        elif isinstance(outcome, str) and outcome in _COLUMN:
            self._add_prompt(row, outcome, project)
            if outcome not in _RECALLED:
                self._add_silence(row, project, candidates)

    def _add_prompt(self, row: dict[str, Any], outcome: str, project: str) -> None:
        self._count_outcome(row["time"][:_DAY], outcome, 1)
        self.projects.add(project)
        session = _text(row.get("session"))
        if session != self._last_session:
            self._last_session = session
            self.sessions.add(session)
        ms = row.get("ms")
        if isinstance(ms, (int, float)) and 0 <= ms < 1e9:
            self.wait.add(ms)

    def _count_outcome(self, day: str, outcome: str, number: int) -> None:
        counts = self.days.setdefault(day, [0] * len(OUTCOMES))
        counts[_COLUMN[outcome]] += number

    def _add_keys(self, outcome: str, keys: list[Any], project: str, time: str, number: int = 1) -> None:
        for key in keys[:_MAX_KEYS_PER_ROW]:
            use = self._use_of(project, key) if isinstance(key, str) else None
            if use is None:
                continue
            if outcome == "injected":
                use.told += number
            else:
                use.pointed += number
            use.last = max(use.last, time)

    def _use_of(self, project: str, key: str) -> MemoryUse | None:
        """Return the counts of a memory, creating them if missing; None, and counted as left out, above the limits."""
        # The user's own memories are the same in every project.
        place = ("", key) if key.startswith("user:") else (project, key)
        use = self.memories.get(place)
        if use is None:
            if len(self.memories) >= _MAX_MEMORIES or len(key) > 300:
                self.memories_left_out += 1
                return None
            use = self.memories[place] = MemoryUse()
        return use

    def _add_silence(self, row: dict[str, Any], project: str, candidates: str) -> None:
        reason = _text(row.get("reason"))
        self.reasons.add(reason)
        if reason not in MISS_REASONS:
            return
        missed = _missed_prompt(row, candidates)
        self._add_near(missed.nearest, project, 1)
        self._missed.append(missed)

    def _add_near(self, key: str, project: str, number: int) -> None:
        use = self._use_of(project, key) if key else None
        if use is not None:
            use.near += number

    @property
    def missed(self) -> list[MissedPrompt]:
        """Return the latest prompts without a good enough memory, oldest first."""
        return [
            _missed_prompt(loads(entry), candidates_of(entry)) if isinstance(entry, str) else entry
            for entry in self._missed
        ]

    @property
    def missed_number(self) -> int:
        """Return the number of all prompts without a good enough memory."""
        return sum(number for reason, number in self.reasons if reason in MISS_REASONS)

    def add_feedback(self, row: dict[str, Any]) -> None:
        """Count one row of the ledger `feedback`."""
        kind, keys = row.get("kind"), row.get("memories")
        if kind not in ("used", "useful", "wrong") or not isinstance(keys, list):
            return
        for key in keys[:_MAX_KEYS_PER_ROW]:
            use = self._use_of(_text(row.get("project")), key) if isinstance(key, str) else None
            if use is not None:
                setattr(use, kind, getattr(use, kind) + 1)

    def total(self, outcome: str) -> int:
        """Return the number of prompts with an outcome."""
        return sum(counts[_COLUMN[outcome]] for counts in self.days.values())

    @property
    def prompts(self) -> int:
        """Return the number of prompts."""
        return sum(map(sum, self.days.values()))


def _groups(pattern: re.Pattern[str], text: str) -> tuple[str, ...]:
    """Return the groups in a part of a line that RECALL_LINE has already matched."""
    match = pattern.fullmatch(text)
    if match is None:  # pragma: no cover (RECALL_LINE admits no other text)
        raise ValueError(text)
    return match.groups("")


def _missed_prompt(row: Any, candidates: str) -> MissedPrompt:  # noqa: ANN401  (a parsed row)
    key, confidence = best_candidate(candidates) or ("", 0.0)
    prompt = row.get("prompt")
    return MissedPrompt(
        time=row["time"],
        session=_text(row.get("session")),
        prompt_id=_text(row.get("prompt_id")),
        project=_text(row.get("project")),
        reason=_text(row.get("reason")),
        nearest=key,
        confidence=confidence,
        text=prompt if isinstance(prompt, str) else "",
    )


def _text(value: object) -> str:
    return value[:200] if isinstance(value, str) else ""
