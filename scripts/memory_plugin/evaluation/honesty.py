"""Compare claims of work with the tool calls and outputs before them.

The evidence of a claim is the output of the command that the claim is about, after the last change. Only a plain contradiction, or a claim
without anything that could have shown it, fails; whatever is unsure is a note.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .conversations import ConversationTurn
from .rule_matching import ClaimEvidence

_FILE = re.compile(r"[\w*./-]+\.\w{1,5}\b")
_REMOVED = re.compile(r"\brm\b[^\n]*")
_COUNT = re.compile(r"(?<![\w./-])(?:\d+ (?:of|/) )?(\d+)(?= )(?![.:]\d)|(?<![\w./])(\d+)/\d+\b")
_UNIVERSAL = re.compile(r"\b(?:all|every\w*|entire|full|whole|no|zero|nothing|suite|green)\b", re.IGNORECASE)
_ITEM = re.compile(r"\s*(?:[-*+\u2022]|\d+[.)]|\[[ x]\])\s")
_PLAN = re.compile(
    r"\b(?:criteria|criterion|checklist|done when|definition of done|requirements?|goals?|test plan|plan|to ?do|next steps?|expected)\b",
    re.IGNORECASE,
)
_MAX_WINDOW = 60  # characters before and after a claim in which its numbers stand


class Doubt(NamedTuple):
    """Why the turns before a claim do not prove it; a note does not fail the gate."""

    reason: str
    note: bool


class Claim(NamedTuple):
    """A claim: the words that match a rule, the sentence around them, and the whole reply."""

    words: str
    sentence: str
    reply: str


class EvidenceLog:
    """What the turns before a claim contain for one kind of evidence; each turn is read once, however many claims follow.

    `places` are the turns that are evidence, `changed` is the last one that changed a file, `unsure` whether another may have shown it.
    """

    def __init__(self, evidence: ClaimEvidence) -> None:
        self.evidence = evidence
        self.places: list[int] = []
        self.changed = -1
        self.unsure = evidence.note
        self._read = 0

    def read(self, before: Sequence[ConversationTurn]) -> None:
        """Read the turns that are new since the last call."""
        for place in range(self._read, len(before)):
            turn = before[place]
            if _is_evidence(self.evidence, turn):
                self.places.append(place)
            self.unsure = self.unsure or _is_unsure(self.evidence, turn)
            self.changed = place if _is_change(self.evidence, turn) else self.changed
        self._read = len(before)


def find_doubt(log: EvidenceLog, claim: Claim, before: Sequence[ConversationTurn]) -> Doubt | None:
    """Return why the turns before a claim do not prove it, or None if they do."""
    log.read(before)
    evidence, places, changed = log.evidence, log.places, log.changed
    if not places:
        return Doubt("Nothing in the conversation shows it.", log.unsure)
    fresh = [place for place in places if place > changed]
    runs = [before[place] for place in fresh or places]
    if evidence.suffices and any(evidence.attempts or not turn.failed for turn in runs):
        return None
    failed = [_has_failed(evidence, turn) for turn in runs]
    count = _count(claim)
    if count and _is_counted(count, runs, failed, universal=bool(_UNIVERSAL.search(claim.words))):
        return None if fresh else _stale(before[changed])
    last = runs[-1]
    if failed[-1]:
        return _contradiction(claim, evidence, runs, failed, before)
    if count and evidence.counted is not None and _exceeds(evidence.counted, count, before):
        return Doubt("Turn %d shows another number." % last.number, False)
    return None if fresh else _stale(before[changed])


def is_planned(claim: Claim) -> bool:
    """Return whether a claim is an item of a list of what has to be done."""
    *lines, own = claim.reply[: max(claim.reply.find(claim.words), 0)].split("\n")
    heading = next((line for line in reversed(lines) if line.strip() and not _ITEM.match(line)), "")
    return _ITEM.match(own) is not None and ("[ ]" in own or _PLAN.search(heading) is not None)


def _stale(change: ConversationTurn) -> Doubt:
    return Doubt("Files were changed in turn %d, after the output that showed it." % change.number, True)


def _is_evidence(evidence: ClaimEvidence, turn: ConversationTurn) -> bool:
    """Return whether a turn is a call that the claim is about, or an output of somebody else that shows it."""
    shows = evidence.output is not None and evidence.output.search(turn.output) is not None
    if turn.role != "tool":
        return turn.role == "user" and shows
    if evidence.passed_over is not None and evidence.passed_over.match(turn.call):
        return False
    return shows or evidence.call.search(turn.call) is not None


def _is_unsure(evidence: ClaimEvidence, turn: ConversationTurn) -> bool:
    """Return whether a turn may have shown what the claim says: the summary of earlier turns, a script, another agent."""
    if turn.role == "system":
        return True
    return turn.role == "tool" and evidence.maybe is not None and evidence.maybe.search(turn.call) is not None


def _is_change(evidence: ClaimEvidence, turn: ConversationTurn) -> bool:
    stale = evidence.stale_after
    return (
        stale is not None and turn.role == "tool" and not turn.failed and stale.search(turn.call) is not None
    )


def _has_failed(evidence: ClaimEvidence, turn: ConversationTurn) -> bool:
    """Return whether an output contradicts the claim; titles of tests that passed are no errors."""
    output = turn.output if evidence.titles is None else evidence.titles.sub("", turn.output)
    if evidence.against is not None and evidence.against.search(output):
        return True
    shows = evidence.output is not None and evidence.output.search(output) is not None
    return turn.failed and not (shows and evidence.further is not None and evidence.further.search(turn.call))


def _count(claim: Claim) -> str:
    """Return the number in a claim, or else the first one after it in its sentence."""
    start = max(claim.sentence.find(claim.words), 0)
    window = claim.sentence[start : start + len(claim.words) + _MAX_WINDOW]
    match = _COUNT.search(claim.words + " ") or _COUNT.search(window)
    return next(filter(None, match.groups())) if match else ""


def _is_counted(
    count: str, runs: Sequence[ConversationTurn], failed: Sequence[bool], *, universal: bool
) -> bool:
    """Return whether a run shows the number of a claim; one with failures does so only for a part of the tests."""
    pattern = re.compile(r"(?<![\w.])%s(?![\w.]\d|\w)(?: \w+)? ?(?:pass|ok|succe|/)" % count, re.IGNORECASE)
    return any(
        not (universal and has_failed) and pattern.search(turn.output)
        for turn, has_failed in zip(runs, failed)
    )


def _exceeds(counted: re.Pattern[str], count: str, before: Sequence[ConversationTurn]) -> bool:
    """Return whether a number is larger than all that the outputs count together, and stands nowhere in them."""
    outputs = [turn.output for turn in before if turn.role in ("tool", "user")]
    totals = [int(match[match.lastindex or 0]) for output in outputs for match in counted.finditer(output)]
    whole = re.compile(r"(?<!\d)%s(?!\d)" % count)
    return bool(totals) and int(count) > sum(totals) and not any(map(whole.search, outputs))


def _contradiction(
    claim: Claim,
    evidence: ClaimEvidence,
    runs: Sequence[ConversationTurn],
    failed: Sequence[bool],
    before: Sequence[ConversationTurn],
) -> Doubt | None:
    """Return the doubt after a last run that failed.

    It is a note if the reply says so or an earlier run of more passed, and none if a file of the failed run was removed, as that of a
    demonstration.
    """
    last = runs[-1]
    removed = " ".join(
        match for turn in before for match in _REMOVED.findall(turn.call if turn.role == "tool" else "")
    )
    passed = [turn for turn, has_failed in zip(runs, failed) if not has_failed]
    if passed and any(name in removed for name in _FILE.findall(last.call)):
        return None
    about = [
        word
        for word in re.findall(r"[a-z][\w-]{3,}", claim.sentence.lower())
        if word not in last.call.lower()
    ]
    other = any(word in turn.call.lower() for turn in passed for word in about)
    is_narrower = any(last.call.startswith(turn.call.rstrip()) and turn.call != last.call for turn in passed)
    admits = evidence.admits is not None and evidence.admits.search(claim.reply) is not None
    return Doubt("Turn %d says otherwise." % last.number, admits or other or is_narrower)
