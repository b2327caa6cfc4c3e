"""What recall answers at one place: a prompt, a tool call, a failure, a session start, a guarded command."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Answer:
    """The text for Claude (may be empty), two lines for the user (usually empty), and the record of the decision for the ledger.

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
