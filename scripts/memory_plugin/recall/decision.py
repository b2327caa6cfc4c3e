"""What Claude gets of each hit: its full text, a pointer, or nothing, with the reason.

A pure function of the ranking, the judges' answers, the limits and the session's history, so that every case is a row in a table.
"""

from __future__ import annotations

from .rendering import Budget, pointer_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..kernel.settings.load import Settings
    from .history import RecallHistory
    from .ranking import Hit

__all__ = ["Choice", "Limits", "choose"]

_NOTES = "native"


class Limits:
    """What the settings allow on one prompt; `max_inject` may be less than the setting where judges are involved."""

    __slots__ = (
        "inject_threshold",
        "max_characters",
        "max_inject",
        "max_pointers",
        "max_tokens",
        "pointer_threshold",
        "repeat_after",
    )

    def __init__(self, settings: Settings, room: int) -> None:
        """`room`: characters left in the hook's output."""
        self.inject_threshold = settings.number("retrieval.inject_threshold")
        self.pointer_threshold = settings.number("retrieval.pointer_threshold")
        self.max_inject = settings.integer("retrieval.max_inject")
        self.max_pointers = settings.integer("retrieval.max_pointers")
        self.max_tokens = settings.integer("retrieval.max_tokens")
        self.max_characters = min(settings.integer("retrieval.max_characters"), room)
        self.repeat_after = settings.integer("retrieval.repeat_after_turns")


class Choice:
    """What Claude gets on a prompt: the hits in full, the hits pointed at, and the reason for every other hit, by key.

    `reason` is why the best hit that deserved anything is withheld; it matters only when Claude gets nothing at all.
    """

    __slots__ = ("full", "pointers", "reason", "withheld")

    def __init__(self) -> None:
        self.full: list[Hit] = []
        self.pointers: list[Hit] = []
        self.withheld: dict[str, str] = {}
        self.reason = ""


def choose(
    hits: list[Hit],
    approvals: dict[str, str],
    limits: Limits,
    history: RecallHistory,
    is_current: Callable[[Hit], bool],
) -> Choice:
    """Return what Claude gets of some hits, best first.

    `approvals` maps the key of a judged hit to "both", "one" or "none"; the thresholds decide about the others. `is_current` says
    whether a hit's file still holds what was indexed; it is called only for hits that would be used.
    """
    selection = _Selection(limits, history, is_current)
    choice = selection.choice
    deserved = [(hit, *_deserves(hit, approvals.get(hit.key, ""), limits)) for hit in hits]
    for hit, full, _ in deserved:
        if full:
            selection.inject(hit)
    injected = {hit.key for hit in choice.full}
    for hit, full, pointer in deserved:
        if hit.key in injected or choice.withheld.get(hit.key) in ("already_injected", "edited"):
            continue
        if pointer:
            selection.point(hit)
        elif not full:
            choice.withheld[hit.key] = "declined" if hit.key in approvals else "below_threshold"
    choice.reason = _reason(deserved, choice)
    return choice


def _deserves(hit: Hit, approval: str, limits: Limits) -> tuple[bool, bool]:
    """Return whether a hit is good enough for its full text, and whether for a pointer."""
    if approval:
        return approval == "both", approval != "none" and limits.max_pointers > 0
    full = hit.confidence >= limits.inject_threshold
    return full, limits.max_pointers > 0 and hit.pointer_confidence >= limits.pointer_threshold


class _Selection:
    """A choice while it is made, with the budget that is left."""

    __slots__ = ("_budget", "_history", "_is_current", "_limits", "choice")

    def __init__(self, limits: Limits, history: RecallHistory, is_current: Callable[[Hit], bool]) -> None:
        self.choice = Choice()
        self._limits = limits
        self._history = history
        self._is_current = is_current
        self._budget = Budget(limits.max_tokens, limits.max_characters, with_header=not history.header_said)

    def inject(self, hit: Hit) -> None:
        """Take a hit in full, or withhold it with the reason."""
        reason = self._why_not_injected(hit)
        if reason:
            self.choice.withheld[hit.key] = reason
        else:
            self.choice.full.append(hit)

    def point(self, hit: Hit) -> None:
        """Take a hit as a pointer, or withhold it with the reason."""
        reason = self._why_not_pointed(hit, pointer_line(hit))
        if reason:
            self.choice.withheld[hit.key] = reason
        else:
            self.choice.withheld.pop(hit.key, None)
            self.choice.pointers.append(hit)

    def _why_not_injected(self, hit: Hit) -> str:
        if self._history.was_injected(hit.key, hit.inject, self._limits.repeat_after):
            return "already_injected"
        if len(self.choice.full) >= self._limits.max_inject:
            return "over_limit"
        if not self._is_current(hit):
            return "edited"
        return "" if self._budget.take(hit.inject) else "over_budget"

    def _why_not_pointed(self, hit: Hit, line: str) -> str:
        if hit.scope == _NOTES:
            return "note"  # Claude Code lists its notes at the start of a session, and `memory show` does not know them
        if self._history.was_injected(hit.key, hit.inject, self._limits.repeat_after):
            return "already_injected"
        if self._history.was_pointed(hit.key, line):
            return "already_pointed"
        if len(self.choice.pointers) >= self._limits.max_pointers:
            return "over_limit"
        if not self._is_current(hit):
            return "edited"
        return "" if self._budget.take_pointer(line) else "over_budget"


def _reason(deserved: list[tuple[Hit, bool, bool]], choice: Choice) -> str:
    for hit, full, pointer in deserved:
        if full or pointer:
            return choice.withheld.get(hit.key, "")
    return "declined" if "declined" in choice.withheld.values() else "below_threshold"
