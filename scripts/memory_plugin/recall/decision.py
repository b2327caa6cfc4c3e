"""What is said of each hit: its full text, one line that points at it, or nothing, with the reason.

A pure function of the ranking, the judges' answers, the limits and what the session was told, so that every case is a row in a table.
"""

from __future__ import annotations

from .rendering import Budget, pointer_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..kernel.settings.load import Settings
    from .ranking import Hit
    from .session import RecallHistory

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
    """What is said on a prompt: the hits in full, the hits pointed at, and for the key of every other hit why it is withheld.

    `reason` is why the best hit that was good enough is withheld; only meaningful when nothing is said at all.
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
    """Return what is said of some hits, best first.

    `approvals` maps the key of a judged hit to "both", "one" or "none"; the thresholds decide about the others. `is_current` says
    whether a hit's file still holds what was indexed; it is asked only about what would be said.
    """
    choice = Choice()
    budget = Budget(limits.max_tokens, limits.max_characters, with_header=not history.header_said)
    deserved = [(hit, *_deserves(hit, approvals.get(hit.key, ""), limits)) for hit in hits]
    for hit, full, _ in deserved:
        if full:
            _inject(hit, choice, budget, limits, history, is_current)
    said = {hit.key for hit in choice.full}
    for hit, full, pointer in deserved:
        if hit.key in said or choice.withheld.get(hit.key) in ("already_injected", "edited"):
            continue
        if pointer:
            _point(hit, choice, budget, limits, history, is_current)
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


def _inject(
    hit: Hit,
    choice: Choice,
    budget: Budget,
    limits: Limits,
    history: RecallHistory,
    is_current: Callable[[Hit], bool],
) -> None:
    reason = ""
    if history.was_injected(hit.key, hit.inject, limits.repeat_after):
        reason = "already_injected"
    elif len(choice.full) >= limits.max_inject:
        reason = "over_limit"
    elif not is_current(hit):
        reason = "edited"
    elif not budget.take(hit.inject):
        reason = "over_budget"
    if reason:
        choice.withheld[hit.key] = reason
    else:
        choice.full.append(hit)


def _point(
    hit: Hit,
    choice: Choice,
    budget: Budget,
    limits: Limits,
    history: RecallHistory,
    is_current: Callable[[Hit], bool],
) -> None:
    line = pointer_line(hit)
    reason = ""
    if hit.scope == _NOTES:
        reason = "note"  # Claude Code itself lists its notes at the start of a session, and `memory show` has none of them
    elif history.was_injected(hit.key, hit.inject, limits.repeat_after):
        reason = "already_injected"
    elif history.was_pointed(hit.key, line):
        reason = "already_pointed"
    elif len(choice.pointers) >= limits.max_pointers:
        reason = "over_limit"
    elif not is_current(hit):
        reason = "edited"
    elif not budget.take_pointer(line):
        reason = "over_budget"
    if reason:
        choice.withheld[hit.key] = reason
    else:
        choice.withheld.pop(hit.key, None)
        choice.pointers.append(hit)


def _reason(deserved: list[tuple[Hit, bool, bool]], choice: Choice) -> str:
    for hit, full, pointer in deserved:
        if full or pointer:
            return choice.withheld.get(hit.key, "")
    return "declined" if "declined" in choice.withheld.values() else "below_threshold"
