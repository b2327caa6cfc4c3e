"""From the ledger to the server: what is graded is put into the outbox, and what waits there is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel.clock import Deadline
from ..records import latest
from .access import find_access
from .client import Client
from .outbox import Outbox
from .push import Pushed, push
from .scores import bodies

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...kernel.paths import Places
    from ...kernel.settings.load import Settings

__all__ = ["send"]


def send(
    places: Places, settings: Settings, off: str, seconds: float, progress: Callable[[str], None]
) -> Pushed:
    """Send all scores that are not there yet. Raises Failed, OSError, and Busy while another process sends."""
    access = find_access(places, settings, off)
    outbox = Outbox(places, access)
    with outbox.lock():
        outbox.reload()
        outbox.enqueue(body for row in latest(places, settings).values() for body in bodies(row))
        return push(outbox, Client(access, Deadline(seconds)), progress)
