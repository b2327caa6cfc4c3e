"""Checks of what the plugin keeps for itself: the index and the ledgers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...kernel.clock import iso, now
from ...kernel.ledger import Ledger
from ...kernel.sqlite import SqliteError
from ...kernel.text.clean import plain
from ...recall.index_refresh import index_state
from .check import NOTE, OK, WARN, Check, counted

if TYPE_CHECKING:
    from ..command_context import Session

__all__ = ["events", "index", "ledgers"]

_DAYS = 7
_SHOWN = 5
_MAX_EVENT = 300
_END = ".jsonl"
_HEAL = "memory heal"


def index(session: Session) -> Check:
    """Whether the index is whole and up to date."""
    if session.places.state_dir is None:
        return Check("index", NOTE, "none without a state folder")
    try:
        state = index_state(session.places)
    except SqliteError as error:
        return Check("index", WARN, "unusable: %s; it is made anew" % error, _HEAL)
    named = state["state"]
    if named == "unusable":
        return Check("index", WARN, "unusable: %s; it is made anew" % state["reason"], _HEAL)
    if named == "missing":
        return Check("index", NOTE, "not made yet; the next session or save makes it", _HEAL)
    size = "%s entries, %d kB" % (state["memories"], int(str(state["bytes"])) // 1024)
    if named == "behind":
        return Check("index", NOTE, "behind the stores, the next prompt brings it up to date; " + size, _HEAL)
    return Check("index", OK, size)


def ledgers(session: Session) -> Check:
    """Whether the ledgers can be read line by line."""
    folder = session.places.state_dir
    skipped = []
    for name in _ledger_names(folder):
        rows = Ledger(folder or "", name).rows()
        count = sum(1 for _ in rows)
        if rows.skipped:
            skipped.append(
                "%s: %d of %d lines are no records" % (name + _END, rows.skipped, rows.skipped + count)
            )
    if skipped:
        return Check("ledgers", NOTE, "some lines cannot be read and are passed over", "", tuple(skipped))
    return Check("ledgers", OK, "every line can be read")


def _ledger_names(folder: str | None) -> list[str]:
    if folder is None or not os.path.isdir(folder):
        return []
    return sorted(
        name[: -len(_END)] for name in os.listdir(folder) if name.endswith(_END) and name.count(".") == 1
    )


def events(session: Session) -> Check:
    """What went wrong in hooks during the last days."""
    if session.places.state_dir is None:
        return Check("events", NOTE, "none are written without a state folder")
    oldest = iso(now() - _DAYS * 86400)
    rows = [
        row for row in Ledger(session.places.state_dir, "events").rows() if str(row.get("time", "")) >= oldest
    ]
    if not rows:
        return Check("events", OK, "no hook met trouble in the last %d days" % _DAYS)
    details = tuple(
        plain("%s %s: %s" % (row.get("time"), row.get("event"), row.get("what")), _MAX_EVENT)
        for row in rows[-_SHOWN:]
    )
    serious = any(row.get("kind") == "error" for row in rows)
    text = "%s of trouble in the last %d days; the prompts went through" % (counted(len(rows), "line"), _DAYS)
    return Check("events", WARN if serious else NOTE, text, "", details)
