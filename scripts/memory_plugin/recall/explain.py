"""What recall decided and why, read from its ledger and described for a person."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.ledger import Ledger

if TYPE_CHECKING:
    from ..kernel.paths import Places

__all__ = [
    "REASONS",
    "Outcome",
    "decisions",
    "find_decision",
    "outcomes",
    "problem",
    "reason_text",
    "remedy",
    "sentence",
    "thresholds",
]

REASONS = {
    "disabled": "recall is switched off in the settings",
    "empty": "the prompt was empty, or all of it was private",
    "command": "it was a slash command",
    "not_typed": "it was a notice from the client, not a prompt",
    "told_not_to": "the prompt said not to use memory",
    "confirmation": "it was a confirmation or small talk",
    "short": "it was too short to say what it is about",
    "no_match": "no memory shares a distinctive word with it",
    "below_threshold": "the best match was not good enough",
    "below_floor": "the best match was not good enough",  # in records of versions with one threshold
    "declined": "the judges found nothing relevant or useful",
    "no_fallback": "no judge answered, and retrieval.judge.fallback_top_k is 0",
    "already_injected": "Claude was told already in this session",
    "already_pointed": "Claude was pointed to it already in this session",
    "over_limit": "other memories filled every place on this prompt",
    "note": "Claude Code itself lists its notes for Claude",
    "over_budget": "nothing fit the token budget",
    "max_inject": "the setting retrieval.max_inject or retrieval.judge.modes.auto.max_output is 0",
    "refreshing": "the index is being brought up to date in the background",
    "index_locked": "the index was locked by another process",
    "index_damaged": "the index was damaged; it is being rebuilt",
    "index_unwritable": "the index could not be written",
    "refreshed_elsewhere": "another process was building the index",
    "edited": "the file of every good match was edited just now and could not be read again in time",
    "fault": "a fault of the plugin; the events ledger names the place",
    "timeout": "there was no time left",
}
# The names of reasons in records of version 0.1.0.
_OLD_REASONS = {"healing": "refreshing", "healed_elsewhere": "refreshed_elsewhere"}
_WITHHELD = {
    "already_injected": "Claude was told already in this session",
    "already_pointed": "Claude was pointed to it already in this session",
    "over_limit": "other memories filled every place on this prompt (retrieval.max_inject, retrieval.max_pointers)",
    "over_budget": "it did not fit the rest of retrieval.max_tokens",
    "edited": "its file was edited just now; the next prompt finds the new text",
    "note": "Claude Code itself lists its notes for Claude",
}
_REMEDIES = {
    "disabled": "memory config set retrieval.enabled true",
    "max_inject": "memory config show retrieval",
    "no_fallback": "memory judge check",
    "no_match": "memory search WORDS",
    "fault": "memory doctor",
}
_INJECTED, _POINTED, _WITHHELD_MARK = "injected", "pointed", "withheld"


class Outcome(NamedTuple):
    """The result for one candidate: injected, pointed or withheld, the reason as text, and whether another phrase would have helped."""

    key: str
    said: str
    words: str
    lacks_words: bool


def decisions(places: Places, session: str = "", last: int = 20) -> list[dict[str, Any]]:
    """Return the last decisions for this project, newest first; only those of `session` if it is given."""
    rows: list[dict[str, Any]] = []
    for row in Ledger(places.state(), "recalls").rows():
        if row.get("project") == places.project_key and (not session or row.get("session") == session):
            rows.append(row)
            del rows[:-last]
    return rows[::-1]


def find_decision(places: Places, which: str, session: str = "") -> dict[str, Any] | None:
    """Return the decision about one prompt, named `last` or by its id or the start of its id; None when there is none."""
    for row in decisions(places, session, last=1 if which == "last" else 100_000):
        if which == "last" or str(row.get("prompt_id") or "").startswith(which):
            return row
    return None


def sentence(row: dict[str, Any]) -> str:
    """Return one decision as a sentence."""
    injected, pointed = _keys(row, _INJECTED), _keys(row, _POINTED)
    if row.get("outcome") == _INJECTED:
        told = "told Claude " + _memories(len(injected))
        return told + (", pointed to %d" % len(pointed) if pointed else "")
    if row.get("outcome") == _POINTED:
        return "pointed Claude to " + _memories(len(pointed))
    return "silent: " + (reason_text(str(row.get("reason") or "")) or "no reason noted")


def reason_text(reason: str) -> str:
    """Return a reason of the ledger as text; one that is unknown is returned as it is."""
    return REASONS.get(_OLD_REASONS.get(reason, reason), reason)


def problem(row: dict[str, Any]) -> str:
    """Return what prevented the index from answering or from being up to date, as text; empty for nothing."""
    reason = row.get("problem") or row.get("trouble")  # the name in records of version 0.1.0
    return reason_text(str(reason)) if reason else ""


def remedy(row: dict[str, Any]) -> str:
    """Return the command that helps if a prompt got nothing; mostly empty."""
    return _REMEDIES.get(str(row.get("reason") or ""), "")


def _memories(number: int) -> str:
    return "%d memor%s" % (number, "y" if number == 1 else "ies")


def _keys(row: dict[str, Any], name: str) -> list[str]:
    value = row.get(name)
    return [str(key) for key in value] if isinstance(value, list) else []


def thresholds(row: dict[str, Any]) -> tuple[float | None, float | None]:
    """Return the thresholds for the full text and for a pointer; None where the record does not say."""
    inject = row.get("inject_threshold", row.get("floor"))  # the name in older records
    return _number(inject), _number(row.get("pointer_threshold"))


def outcomes(row: dict[str, Any]) -> list[Outcome]:
    """Return the results for the candidates of one decision: first the injected ones, then the pointers, then the rest, best first."""
    listed = row.get("candidates")
    candidates = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    found = [_outcome(one, row) for one in candidates]
    order = (_INJECTED, _POINTED, _WITHHELD_MARK)
    return sorted(found, key=lambda one: order.index(one.said))


def _outcome(candidate: dict[str, Any], row: dict[str, Any]) -> Outcome:
    key = str(candidate.get("key"))
    sure = _sure(candidate.get("confidence"))
    judges = _opinion(candidate.get("key"), row)
    withheld = str(candidate.get("withheld") or "")
    inject, pointer = thresholds(row)
    confidence = _number(candidate.get("confidence"))
    below = not judges and confidence is not None and inject is not None and confidence < inject
    needed = ", %s needed" % _percent(inject) if below and inject is not None else ""
    if key in _keys(row, _INJECTED):
        return Outcome(key, _INJECTED, sure + judges, lacks_words=False)
    if key in _keys(row, _POINTED):
        why = needed + " for the full text" if needed else ""
        return Outcome(key, _POINTED, sure + judges + why, lacks_words=bool(needed))
    if withheld in _WITHHELD:
        return Outcome(
            key, _WITHHELD_MARK, "%s%s; %s" % (sure, judges, _WITHHELD[withheld]), lacks_words=False
        )
    also = " (%s for a pointer)" % _percent(pointer) if needed and pointer is not None else ""
    return Outcome(key, _WITHHELD_MARK, sure + judges + needed + also, lacks_words=bool(needed))


def _opinion(key: object, row: dict[str, Any]) -> str:
    """Return the judges' opinion of a candidate; empty if they were not asked about it."""
    judge = row.get("judge")
    verdicts = judge.get("verdicts") if isinstance(judge, dict) else None
    pair = verdicts.get(key) if isinstance(verdicts, dict) and isinstance(key, str) else None
    if not isinstance(pair, list) or len(pair) != 2:
        return ""
    words = [
        "%s%s" % ("" if said else "not ", name)
        for name, said in zip(("relevant", "useful"), pair)
        if isinstance(said, bool)
    ]
    return "; the judges: " + ", ".join(words) if words else ""


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _sure(value: object) -> str:
    number = _number(value)
    return "sureness unknown" if number is None else _percent(number) + " sure"


def _percent(share: float) -> str:
    """Return a share in whole percent, rounded down: a value just below a threshold must not look as if it had reached it."""
    return "%d %%" % floor(100 * max(0.0, min(1.0, share)) + 1e-9)
