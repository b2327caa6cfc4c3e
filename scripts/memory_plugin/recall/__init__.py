"""Recall: find the few memories that matter for a prompt, or none."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.settings import Settings


def follow_hygiene(settings: Settings) -> None:
    """Apply the user's choice of hygiene rules to this process; import nothing if the settings have their defaults."""
    allow, packs = settings.texts("hygiene.allow"), settings.texts("hygiene.packs")
    if allow or packs:
        from ..kernel.hygiene import choose, rules_checksum
        from .index_file import set_redaction

        choose(allow, packs)
        set_redaction(rules_checksum())


class Answer:
    """What recall answers at one place: a text for Claude, two lines for the user, and the record of the decision; all texts may be empty.

    `receipt` says what was injected, `notice` something about the judges. `needs_refresh` asks for a background process that brings the
    index up to date. Until a decision is recorded, the record says that a fault prevented it.
    """

    __slots__ = ("block", "needs_refresh", "notice", "receipt", "record")

    def __init__(self, place: str, **facts: object) -> None:
        """`facts` are added to the record."""
        self.block = ""
        self.notice = ""
        self.receipt = ""
        self.needs_refresh = False
        self.record: dict[str, Any] = {
            "place": place,
            "outcome": "failed",
            "reason": "fault",
            "answered_by": "rules",
            "candidates": [],
            "injected": [],
            "pointed": [],
            **facts,
        }

    def withhold(self, reason: str, outcome: str = "silent") -> Answer:
        """Record that nothing is injected, and the reason; return this answer."""
        self.record.update(outcome=outcome, reason=reason)
        return self
