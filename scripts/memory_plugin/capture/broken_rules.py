"""Detect rules that Claude keeps breaking: the user repeats an injected memory, or a guard answers in many sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .candidate import RuleHit, new_candidate, now_origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from .candidate import Candidate

_CORRECTIONS = ("correction", "rule", "repeated")
_MIN_SESSIONS = 3
_ANSWERS = ("reminded", "asked")


def repeated_correction(candidate: Candidate, name: str) -> Candidate | None:
    """Return a hint about a memory that was injected in this session and that the user had to repeat; None if it was no correction."""
    if candidate.kind not in _CORRECTIONS:
        return None
    title = "You had to repeat a memory: %s" % name
    body = "Claude was told %s in this session, but you had to repeat it. Reword it or add a guard: memory edit %s"
    finding = RuleHit("mistake", candidate.category, "told-and-corrected", 0.8)
    return new_candidate(finding, candidate.quote, candidate.origin, title, body % (name, name))


def repeating_guards(rows: Iterable[Mapping[str, Any]], names: Mapping[str, str]) -> list[Candidate]:
    """Return a hint for each guard that answered in at least three sessions, given rows of the recalls ledger."""
    sessions: dict[str, set[str]] = {}
    for row in rows:
        for key in row.get("guards", ()) if row.get("outcome") in _ANSWERS else ():
            if key in names:
                sessions.setdefault(key, set()).add(row.get("session", ""))
    candidates = []
    for key, seen in sessions.items():
        if len(seen) >= _MIN_SESSIONS:
            text = "the guard of %s answered in %d sessions" % (names[key], len(seen))
            body = "Claude keeps trying what the guard of %s covers. Reword the memory, or state the rule in CLAUDE.md: memory show %s"
            finding = RuleHit("guard", "constraint", "answering-guard", 0.6)
            title = "A guard keeps answering: %s" % names[key]
            candidates.append(
                new_candidate(finding, text, now_origin(""), title, body % (names[key], names[key]))
            )
    return [candidate for candidate in candidates if candidate is not None]
