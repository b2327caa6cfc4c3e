"""Count what Claude was told, pointed to and not told, by day, reason and memory, from the `recalls` ledger."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from ...kernel.fastjson import loads
from .counting import CappedCounter, Distinct, Histogram
from .ledger_files import best_candidate, candidates_of
from .quick_rows import CONTEXT, MISS_ENDS, NOTHING_FIT, NOTHING_TOLD, RECALL_LINE, TOLD, quick_rows, texts

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator
    from typing import Any

__all__ = ["NOTHING_FIT", "OUTCOMES", "MemoryUse", "MissedPrompt", "RecallFigures"]

OUTCOMES = ("injected", "pointed", "silent", "skipped", "failed")
_WITH_MEMORIES = ("injected", "pointed")
_GUARD_OUTCOMES = ("reminded", "asked", "let_through")
_POSITION = {name: at for at, name in enumerate(OUTCOMES)}
_MAX_MEMORIES = 50_000
_MAX_KEYS_IN_ROW = 50
_MAX_NAMES = 500
_MAX_MISSED = 400
_MAX_TALLIES = 20_000
_TIME = slice(20, 40)  # the position of the time in a line of our form
_DAY = 10


class MemoryUse:
    """How often one memory was told, pointed to, used by a reply, called useful or wrong, and came close without being told."""

    __slots__ = ("last", "near", "pointed", "told", "used", "useful", "wrong")

    def __init__(self) -> None:
        self.told = self.pointed = self.near = self.used = self.useful = self.wrong = 0
        self.last = ""


class MissedPrompt(NamedTuple):
    """A prompt on which nothing was good enough; `text` is set only where the ledger keeps prompts."""

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
        self.days: dict[str, list[int]] = {}
        self.reasons = CappedCounter(_MAX_NAMES)
        self.projects = CappedCounter(_MAX_NAMES)
        self.guards = CappedCounter(len(_GUARD_OUTCOMES))
        self.places = CappedCounter(_MAX_NAMES)
        self.memories: dict[tuple[str, str], MemoryUse] = {}
        self.memories_left_out = 0
        self.sessions = Distinct()
        self.wait = Histogram()
        self.tokens = 0
        self._session: str | None = None
        # Tallies of `add_lines` that are not added up yet: most rows differ only in the time of day, so they are counted first.
        self._prompts: dict[tuple[str, str], int] = {}
        self._waits: dict[str, int] = {}
        self._told: dict[tuple[str, str], tuple[int, str]] = {}
        self._near: dict[tuple[str, str], int] = {}
        self._missed: deque[str | MissedPrompt] = deque(maxlen=_MAX_MISSED)

    def add_lines(self, blocks: Iterable[list[str]], project: str = "") -> Iterator[str]:
        """Count the records in the form in which we write them, and yield all other lines, which need a parser.

        Args:
            blocks: Lines of the ledger `recalls`.
            project: The only project to count; empty for all.
        """
        own = '"project":"%s",' % project if project else ""
        for lines in blocks:
            for part, rows in quick_rows(lines, RECALL_LINE):
                if not rows:
                    self._add_up()
                    yield from part
                elif own:
                    pairs = [pair for pair in zip(part, rows) if pair[1][2].startswith(own)]
                    self._add_rows(pairs)
                else:
                    self._add_rows(zip(part, rows))
            if len(self._prompts) + len(self._waits) + len(self._near) + len(self._told) > _MAX_TALLIES:
                self._add_up()
        self._add_up()

    def _add_rows(self, pairs: Iterable[tuple[str, tuple[str, ...]]]) -> None:
        """Count lines with their groups; this loop runs millions of times."""
        prompts, waits, near, injected = self._prompts, self._waits, self._near, self._told
        for line, (day, session, context, nearest, told, took) in pairs:
            prompts[day, context] = prompts.get((day, context), 0) + 1
            waits[took] = waits.get(took, 0) + 1
            if session != self._session:  # a session's rows are mostly adjacent, and hashing costs time
                self._session = session
                self.sessions.add(session)
            if told != NOTHING_TOLD:
                number, last = injected.get((context, told), (0, ""))
                injected[context, told] = (number + 1, max(last, line[_TIME]))
            if context.endswith(MISS_ENDS):
                self._missed.append(line)
                if nearest:
                    near[context, nearest] = near.get((context, nearest), 0) + 1

    def _add_up(self) -> None:
        """Add the tallies of `add_lines` to the figures, in the order of their first occurrence."""
        for (day, context), number in self._prompts.items():
            project, outcome, reason = _groups(CONTEXT, context)
            self._day(day)[_POSITION[outcome]] += number
            self.projects.add(project, number)
            if outcome not in _WITH_MEMORIES:
                self.reasons.add(reason, number)
        for took, number in self._waits.items():
            self.wait.add(float(took), number)
        for (context, told), (number, last) in self._told.items():
            injected, pointed, tokens = _groups(TOLD, told)
            project = _groups(CONTEXT, context)[0]
            self._add_keys("injected", texts(injected), project, last, number)
            self._add_keys("pointed", texts(pointed), project, last, number)
            self.tokens += int(tokens or 0) * number
        for (context, key), number in self._near.items():
            self._add_near(key, _groups(CONTEXT, context)[0], number)
        for tally in (self._prompts, self._waits, self._told, self._near):
            tally.clear()

    def add(self, row: dict[str, Any], candidates: str) -> None:
        """Count one record."""
        outcome, place = row.get("outcome"), row.get("place")
        if place == "guard":
            if outcome in _GUARD_OUTCOMES:
                self.guards.add(str(outcome))
            return
        project = _text(row.get("project"))
        for name in _WITH_MEMORIES:
            keys = row.get(name)
            if keys and isinstance(keys, list):
                self._add_keys(name, keys, project, row["time"])
        tokens = row.get("tokens")
        if isinstance(tokens, int) and 0 <= tokens < 1 << 30:
            self.tokens += tokens
        if place not in (None, "prompt"):
            self.places.add(str(place)[:40])
        elif isinstance(outcome, str) and outcome in _POSITION:
            self._add_prompt(row, outcome, project)
            if outcome not in _WITH_MEMORIES:
                self._add_silence(row, project, candidates)

    def _add_prompt(self, row: dict[str, Any], outcome: str, project: str) -> None:
        self._day(row["time"][:_DAY])[_POSITION[outcome]] += 1
        self.projects.add(project)
        self.sessions.add(_text(row.get("session")))
        took = row.get("ms")
        if isinstance(took, (int, float)) and 0 <= took < 1e9:
            self.wait.add(took)

    def _day(self, day: str) -> list[int]:
        """Return the counts of a day by outcome, initially zeros."""
        return self.days.setdefault(day, [0] * len(OUTCOMES))

    def _add_keys(self, name: str, keys: list[Any], project: str, time: str, number: int = 1) -> None:
        for key in keys[:_MAX_KEYS_IN_ROW]:
            if isinstance(key, str):
                use = self.use_of(project, key)
                if use is not None:
                    if name == "injected":
                        use.told += number
                    else:
                        use.pointed += number
                    use.last = max(use.last, time)

    def use_of(self, project: str, key: str) -> MemoryUse | None:
        """Return the counts of a memory, initially zeros; None beyond 50,000 memories, which is counted."""
        place = ("" if key.startswith("user:") else project, key)  # the user's own memories have no project
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
        if reason not in NOTHING_FIT:
            return
        missed = _missed(row, candidates)
        self._add_near(missed.nearest, project, 1)
        self._missed.append(missed)

    def _add_near(self, key: str, project: str, number: int) -> None:
        use = self.use_of(project, key) if key else None
        if use is not None:
            use.near += number

    @property
    def missed(self) -> list[MissedPrompt]:
        """Return the latest prompts on which nothing was good enough, oldest first."""
        return [
            _missed(loads(line), candidates_of(line)) if isinstance(line, str) else line
            for line in self._missed
        ]

    def add_feedback(self, row: dict[str, Any]) -> None:
        """Count one record of the ledger `feedback`."""
        kind, keys = row.get("kind"), row.get("memories")
        if kind not in ("used", "useful", "wrong") or not isinstance(keys, list):
            return
        for key in keys[:_MAX_KEYS_IN_ROW]:
            use = self.use_of(_text(row.get("project")), key) if isinstance(key, str) else None
            if use is not None:
                setattr(use, kind, getattr(use, kind) + 1)

    def total(self, outcome: str) -> int:
        """Return the number of prompts with an outcome."""
        return sum(day[_POSITION[outcome]] for day in self.days.values())

    @property
    def prompts(self) -> int:
        """Return the number of prompts."""
        return sum(map(sum, self.days.values()))


def _groups(form: re.Pattern[str], text: str) -> tuple[str, ...]:
    """Return the groups of a part of a line; the expression that found the line contains this one."""
    match = form.fullmatch(text)
    if match is None:  # pragma: no cover (the forms agree)
        raise ValueError(text)
    return match.groups("")


def _missed(row: Any, candidates: str) -> MissedPrompt:  # noqa: ANN401  (a record of the ledger)
    key, confidence = best_candidate(candidates) or ("", 0.0)
    fields = {name: _text(row.get(name)) for name in ("session", "prompt_id", "project", "reason")}
    prompt = row.get("prompt")
    text = prompt if isinstance(prompt, str) else ""
    return MissedPrompt(time=row["time"], **fields, nearest=key, confidence=confidence, text=text)


def _text(value: object) -> str:
    return value[:200] if isinstance(value, str) else ""
