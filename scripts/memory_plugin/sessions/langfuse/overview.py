"""How things stand with a server, as far as this machine knows: nobody is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..records import latest
from .outbox import Outbox
from .scores import bodies

if TYPE_CHECKING:
    from ...kernel.judge.access import Access
    from ...kernel.paths import Places
    from ...kernel.settings.load import Settings

__all__ = ["Overview", "overview"]


class Overview(NamedTuple):
    """Scores of this project: `unqueued` are only in the ledger, `waiting` in the outbox, `sent` were seen on the server.

    `refused` maps a score's id to the reason; `not_before` is the time at which the server wants to be asked again, 0 for any.
    """

    host: str
    unqueued: int
    waiting: int
    sent: int
    refused: dict[str, str]
    not_before: float


def overview(places: Places, settings: Settings, access: Access) -> Overview:
    """What was sent, and what was not."""
    outbox = Outbox(places, access)
    unqueued = sum(
        body["id"] not in outbox.sent and body["id"] not in outbox.waiting
        for row in latest(places, settings).values()
        for body in bodies(row)
    )
    return Overview(
        access.address.authority,
        unqueued,
        len(outbox.waiting),
        len(outbox.sent) - len(outbox.refused),
        outbox.refused,
        outbox.not_before,
    )
