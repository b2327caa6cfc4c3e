"""What recall decided and why, read back from its ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..kernel.ledger import Ledger

if TYPE_CHECKING:
    from ..kernel.paths import Places

__all__ = ["REASONS", "decisions", "find_decision", "sentence"]

REASONS = {
    "disabled": "recall is switched off in the settings",
    "empty": "the prompt was empty, or private from end to end",
    "command": "it was a slash command",
    "not_typed": "it was a notice of the client, not a prompt",
    "told_not_to": "the prompt said not to use memory",
    "confirmation": "it was a confirmation or small talk",
    "short": "it was too short to say what it is about",
    "no_match": "no memory shares a telling word with it",
    "below_threshold": "the best match was not good enough in itself",
    "below_floor": "the best match was not good enough in itself",  # records of before there were two thresholds
    "declined": "the judges found nothing relevant or useful",
    "no_fallback": "no judge answered, and retrieval.judge.fallback_top_k is 0",
    "already_injected": "this session was told already",
    "already_pointed": "this session was pointed to it already",
    "over_limit": "enough was said on this prompt without it",
    "note": "Claude Code itself lists its notes for Claude",
    "over_budget": "nothing fitted the token budget",
    "max_inject": "the setting retrieval.max_inject is 0",
    "healing": "the index is being brought up to date in the background",
    "index_locked": "the index was locked by another process",
    "index_damaged": "the index was damaged; it is being made anew",
    "index_unwritable": "the index could not be written",
    "healed_elsewhere": "another process was making the index",
    "edited": "the file of every good match was edited just now and could not be read anew in time",
    "fault": "a fault of the plugin; the events ledger names the place",
    "timeout": "there was no time left",
}


def decisions(places: Places, session: str = "", last: int = 20) -> list[dict[str, Any]]:
    """The last decisions for this project, the newest first; of one session where one is named."""
    rows: list[dict[str, Any]] = []
    for row in Ledger(places.state(), "recalls").rows():
        if row.get("project") == places.project_key and (not session or row.get("session") == session):
            rows.append(row)
            del rows[:-last]
    return rows[::-1]


def find_decision(places: Places, which: str, session: str = "") -> dict[str, Any] | None:
    """The decision about one prompt: `last`, or a prompt's id or the beginning of one; None when there is none."""
    for row in decisions(places, session, last=1 if which == "last" else 100_000):
        if which == "last" or str(row.get("prompt_id") or "").startswith(which):
            return row
    return None


def sentence(row: dict[str, Any]) -> str:
    """One decision in plain words."""
    if row.get("outcome") == "injected":
        injected = row.get("injected")
        return "told Claude %d memor%s" % (
            (n := len(injected) if isinstance(injected, list) else 0),
            "y" if n == 1 else "ies",
        )
    reason = str(row.get("reason") or "")
    return "silent: " + REASONS.get(reason, reason or "no reason noted")
