"""Decide what a write makes trusted: one rule for every command that writes memories.

A text is trusted after a write only if the user accepted all of it: the whole text was trusted before, or the command wrote it because the
user asked for it, or the user was shown the text and accepted it now. An edit of a pending or a rejected text leaves it what it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..kernel.paths import Paths
from .memory_files import StoredMemory
from .record import ACTIVE
from .trust import REJECTED, TRUSTED, Trust, load_trust, with_phrases
from .writing import Written

_STORED = "%s; what you saved is pending: your approval was not recorded. Solve that, then: memory review"


class Before(NamedTuple):
    """A memory before a write: its trust, those of its phrases that nobody accepted, and whether the user rejected it or these.

    The trust of a forgotten memory, which was withdrawn, is that of its text when it was active.
    """

    state: str
    new_phrases: frozenset[str]
    is_rejected: bool


class Change(NamedTuple):
    """A write: what was stored, and the memory before; None if all of its text comes from the command.

    `only_new` for a text that may only be trusted if it was neither stored nor rejected before.
    """

    written: Written
    before: Before | None = None
    only_new: bool = False


def before_write(paths: Paths, stored: StoredMemory) -> Before:
    """Return what is known about a memory before a write."""
    trust = load_trust(paths)
    if stored.memory.status != ACTIVE and not trust.is_trusted(stored):
        active = stored.memory._replace(status=ACTIVE, data={**stored.memory.data, "record_status": ACTIVE})
        stored = stored._replace(memory=active)
        if trust.state_of(stored) != REJECTED and trust.was_accepted(stored):
            return Before(TRUSTED, frozenset(), False)
    state, accepted = trust.state_of(stored), trust.with_accepted_phrases(stored).memory.asked_as
    new = frozenset(stored.memory.asked_as).difference(accepted)
    return Before(state, new, state == REJECTED or bool(new and not trust.new_phrases(stored)))


def trust_written(paths: Paths, changes: Iterable[Change], approved: bool, how: str) -> None:
    """Trust what may be trusted of what was written, if the user asked for it (`approved`); keep rejected texts rejected.

    The files exist already and are pending until this succeeds. Raises OSError, which says so.
    """
    try:
        trust = load_trust(paths)
        changes = list(changes)
        covered = [text for change in changes if approved and (text := _covered(trust, change)) is not None]
        trust.accept(covered, how) if covered else None
        kept = [change.written.stored for change in changes if _stays_rejected(trust, change)]
        trust.reject(*kept) if kept else None
    except OSError as error:
        raise OSError(error.errno, _STORED % (error.strerror or error), error.filename) from None


def _stays_rejected(trust: Trust, change: Change) -> bool:
    """Return whether the user rejected this text, or the phrases that it still has, before the write."""
    written, before = change.written.stored, change.before
    if before is None or not before.is_rejected:
        return False
    return trust.has_new_phrases(written) or (before.state == REJECTED and not trust.is_trusted(written))


def _covered(trust: Trust, change: Change) -> StoredMemory | None:
    """Return the written memory as far as the user accepted it: without phrases that nobody accepted; None for nothing."""
    written, before = change.written, change.before
    if before is None:
        is_old = not written.created or trust.state_of(written.stored) == REJECTED
        return written.stored if written.is_exact and not (change.only_new and is_old) else None
    if before.state != TRUSTED:
        return None
    phrases = [text for text in written.stored.memory.asked_as if text not in before.new_phrases]
    return with_phrases(written.stored, phrases) if before.new_phrases else written.stored
