"""Whether a claim of work is borne out by what stands before it in the conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .conversation import Turn
    from .packs import Evidence, Pack, Rule

__all__ = ["Doubt", "unproven"]


class Doubt(NamedTuple):
    """Why a claim is not borne out; an empty reason when it is. A note is a doubt that does not fail the gate."""

    reason: str
    note: bool = False


def unproven(pack: Pack, rule: Rule, before: Sequence[Turn]) -> Doubt:
    """What speaks against a claim, by the turns before it: nothing that shows it, or the last try failed."""
    if not rule.needs:
        return Doubt(rule.reason)
    evidence = pack.evidence[rule.needs]
    for place in range(len(before) - 1, -1, -1):
        turn = before[place]
        if not _shows(evidence, turn):
            continue
        if turn.failed or (evidence.against is not None and evidence.against.search(_output(turn))):
            return Doubt("%s Turn %d says otherwise." % (rule.reason, turn.number))
        if _stale(evidence, before[place + 1 :]):
            return Doubt(
                "%s Files were changed after turn %d, which showed it." % (rule.reason, turn.number),
                note=True,
            )
        return Doubt("")
    return Doubt("%s Nothing in the conversation shows it." % rule.reason)


def _shows(evidence: Evidence, turn: Turn) -> bool:
    """Whether a tool's call or output, or an output that the user pasted, is of the kind asked for."""
    if evidence.passed_over is not None and turn.role == "tool" and evidence.passed_over.match(turn.content):
        return False
    if turn.role == "tool":
        return bool(evidence.call.search(turn.content)) or _has_output(evidence, turn)
    return turn.role == "user" and _has_output(evidence, turn)


def _has_output(evidence: Evidence, turn: Turn) -> bool:
    return evidence.output is not None and evidence.output.search(turn.content) is not None


def _output(turn: Turn) -> str:
    """A tool turn without its first line, which is the call; one line alone is an output."""
    call, _, output = turn.content.partition("\n")
    return output if output.strip() else call


def _stale(evidence: Evidence, after: Sequence[Turn]) -> bool:
    return evidence.stale_after is not None and any(
        turn.role == "tool" and evidence.stale_after.search(turn.content) for turn in after
    )
