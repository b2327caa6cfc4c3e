"""Rules that Claude broke again: a memory that was told and corrected all the same, and guards that keep answering."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .candidate import RuleHit, new_candidate, now_origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from .candidate import Candidate

__all__ = ["answering_guards", "told_and_corrected"]

CORRECTING = ("correction", "rule", "repeated")
_LEAST_SESSIONS = 3
_ANSWERS = ("reminded", "asked")


def told_and_corrected(candidate: Candidate, name: str) -> Candidate | None:
    """Return the hint that a memory was told in this session and the user corrected the same; None for what is no correction."""
    if candidate.kind not in CORRECTING:
        return None
    title = "Told, and corrected all the same: %s" % name
    body = "Claude was told %s in this session, and you had to say it again. A guard, or other words, may help: memory edit %s"
    finding = RuleHit("mistake", candidate.category, "told-and-corrected", 0.8)
    return new_candidate(finding, candidate.quote, candidate.origin, title, body % (name, name))


def answering_guards(rows: Iterable[Mapping[str, Any]], names: Mapping[str, str]) -> list[Candidate]:
    """Return a hint for each guard that answered in three sessions or more, from rows of the ledger of recalls."""
    sessions: dict[str, set[str]] = {}
    for row in rows:
        keys = row.get("guards")
        if row.get("outcome") in _ANSWERS and isinstance(keys, list):
            for key in keys:
                if isinstance(key, str) and key in names:
                    sessions.setdefault(key, set()).add(str(row.get("session")))
    candidates = []
    for key, seen in sessions.items():
        if len(seen) >= _LEAST_SESSIONS:
            text = "the guard of %s answered in %d sessions" % (names[key], len(seen))
            body = "Claude keeps trying what the guard of %s covers. CLAUDE.md or other words may help: memory show %s"
            finding = RuleHit("guard", "constraint", "answering-guard", 0.6)
            title = "A guard keeps answering: %s" % names[key]
            candidates.append(
                new_candidate(finding, text, now_origin(""), title, body % (names[key], names[key]))
            )
    return [candidate for candidate in candidates if candidate is not None]
