"""A project whose settings tell git what to write into its log: from then on the log is no witness of who changed a memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..kernel.files import cause
from ..memories.stores import project_store
from ..memories.trust import load_trust
from ..memories.writing import store_lock
from .event_log import note

if TYPE_CHECKING:
    from ..kernel.paths import Places

__all__ = ["doubt_git"]

_LOCK_WAIT = 0.5


def doubt_git(places: Places, session: str) -> None:
    """Let what changes next in the project's store wait for the user's word. What goes wrong is a line in the events ledger.

    It is kept, since the settings may be gone again, by the same pull, when the change is looked at.
    """
    if places.state_dir is None:
        return
    store = project_store(places)
    try:
        with store_lock(places, store, _LOCK_WAIT):
            trust = load_trust(places, store)
            trust.doubt()
            trust.save()
    except OSError as error:
        note(places, session, "trust", "trouble", "git's log could not be doubted: %s" % cause(error))
