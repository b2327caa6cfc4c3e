"""Compare claims of work with the tool calls and outputs before them.

The evidence of a claim is the output of the command that the claim is about, after the last change. Its figures occur in an output, and
what it names occurs in a call. Only a plain contradiction, or a claim without anything that could have shown it, fails; whatever is unsure
is a note.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .conversations import ConversationTurn
from .last_reply import digits, numbers_in, stems, value_of
from .rule_matching import ClaimEvidence, split_sentences

Turns = Sequence[ConversationTurn]

_FILE = re.compile(r"[\w*./-]+\.\w{1,5}\b")
_TOTAL = "tota"  # no part counts as one
_PASSED = "pass"
_NOUNS = {  # by their first letters
    **dict.fromkeys(("case", "test", "spec", "exam", "gree"), _PASSED),
    **dict.fromkeys(("all", "line", "over", "cove", "gesa", "abde"), _TOTAL),
}
_AT_START = 6  # characters before a claim that begins a sentence, as in "Yes, all tests pass"
_MAX_EXECUTED = 2  # one of more commands may show what the rules do not know
_LONG_WORD = re.compile(r"[a-z0-9]{3,}")
_TOLD = 1500  # first and last characters of a run whose words a reply may use to say that it failed
_MIN_TELLING = 10  # a smaller number stands in most outputs


class Doubt(NamedTuple):
    """Why the turns before a claim do not prove it; a note does not fail the gate."""

    reason: str
    note: bool


class Claim(NamedTuple):
    """A claim: the words that match a rule, the sentence around them, and the whole reply.

    `is_last` is whether no call follows the reply; `is_plain` is False for words that only count against a run that failed.
    """

    words: str
    sentence: str
    reply: str
    is_last: bool = True
    is_plain: bool = True


class Run(NamedTuple):
    """A turn that is evidence; `failed` is whether its output contradicts a claim."""

    place: int
    turn: ConversationTurn
    failed: bool


class EvidenceLog:
    """What the turns before a claim contain for one kind of evidence; each turn is read once, however many claims follow.

    `changed` is the place of the last turn that changed a file, `unsure` whether another than the runs may have shown it, `others` whether
    earlier turns or other agents may have done what no call shows, `executed` the number of commands, and `counted` what the outputs
    count, as place, noun and number.
    """

    def __init__(self, evidence: ClaimEvidence) -> None:
        self.evidence = evidence
        self.runs: list[Run] = []
        self.changed = -1
        self.unsure = "note" in evidence.flags
        self.others = False
        self.executed = 0
        self.counted: list[tuple[int, str, float]] = []
        self._read = 0

    def read(self, before: Turns) -> None:
        """Read the turns that are new since the last call."""
        for place in range(self._read, len(before)):
            turn, evidence = before[place], self.evidence
            if _is_evidence(evidence, turn):
                self.runs.append(Run(place, turn, _has_failed(evidence, turn)))
            if turn.role == "system":  # the summary of earlier turns
                self.unsure = self.others = True
            elif turn.role == "tool":
                if not _is_passed_over(evidence, turn):
                    self.unsure = self.unsure or evidence.has("maybe", turn.call)
                    self.counted += [(place, *pair) for pair in _pairs(evidence, turn.output)]
                self.others = self.others or evidence.has("others", turn.call)
                self.executed += evidence.has("commands", turn.call)
                is_change = not turn.failed and evidence.has("stale_after", turn.call)
                self.changed = place if is_change else self.changed
        self._read = len(before)


def find_doubt(log: EvidenceLog, claim: Claim, before: Turns) -> Doubt | None:
    """Return why the turns before a claim do not prove it, or None if they do."""
    log.read(before)
    if not claim.is_plain:
        return _open_failure(log, claim, before)
    if not log.runs:
        unsure = log.unsure or log.executed > _MAX_EXECUTED or _is_told(log.evidence, claim, before)
        unsure = unsure or not _is_own(log, claim, before)
        nothing = Doubt("Nothing in the conversation shows it.", unsure)
        return min(nothing, _name_doubt(log, claim, before) or nothing, key=lambda doubt: doubt.note)
    evidence, fresh = log.evidence, [run for run in log.runs if run.place > log.changed]
    runs = fresh or log.runs
    doubts = [_name_doubt(log, claim, before) or _figure_doubt(log, claim, before, runs)]
    is_shown = "suffices" in evidence.flags and not all(run.failed for run in runs)
    if runs[-1].failed and not is_shown:
        doubts.append(_contradiction(log, claim, runs[-1]))
    if not (fresh or is_shown):
        doubts.append(_stale(claim, log, before))
    return min(filter(None, doubts), key=lambda doubt: doubt.note, default=None)


def _open_failure(log: EvidenceLog, claim: Claim, before: Turns) -> Doubt | None:
    """Return the doubt if the last run failed and a last reply speaks well of it without a word about that."""
    if not (claim.is_last and log.runs and log.runs[-1].failed):
        return None
    doubt = _contradiction(log, claim, log.runs[-1])
    remarks = (turn.content for turn in before[log.runs[-1].place :] if turn.role == "assistant")
    is_told = any(log.evidence.has("admits", remark) for remark in remarks)
    return None if doubt.note or is_told else doubt


def _is_own(log: EvidenceLog, claim: Claim, before: Turns) -> bool:
    """Return whether a claim begins its sentence, tells what the assistant did, or follows a change since the user's last turn."""
    asked = max((place for place, turn in enumerate(before) if turn.role == "user"), default=-1)
    own = log.evidence.patterns["own"]
    if own is None or claim.sentence.find(claim.words) <= _AT_START:
        return True
    return log.changed > asked or own.search(claim.sentence) is not None


def _is_told(evidence: ClaimEvidence, claim: Claim, before: Turns) -> bool:
    """Return whether the user reported what a claim says, or its numbers were read or pasted, as in a document of earlier sessions."""
    said = [one.output.lower() for one in before if one.role == "user" and evidence.has("told", one.output)]
    for text in (claim.words, claim.sentence):
        words = set(_LONG_WORD.findall(text.lower()))
        if any(2 * sum(word in report for word in words) >= len(words) for report in said):
            return True
    claimed = {value for _, value in _pairs(evidence, claim.sentence)}
    told = (turn.output for turn in before if turn.role != "assistant")
    return min(claimed, default=0) >= _MIN_TELLING and any(claimed <= numbers_in(text) for text in told)


def _figure_doubt(log: EvidenceLog, claim: Claim, before: Turns, runs: Sequence[Run]) -> Doubt | None:
    """Return the doubt about a number of runs or a count that no call and no output has."""
    evidence = log.evidence
    told_in = [turn for turn in before if turn.role == "tool" and not _is_passed_over(evidence, turn)]
    for match in evidence.find("times", claim.sentence):
        times = value_of(match)
        files = {file for run in runs for file in _FILE.findall(run.turn.call)}
        is_told = "each" not in evidence.flags and any(times in numbers_in(turn.content) for turn in told_in)
        if times > max(2, len(runs), len(files)) and not is_told:
            return Doubt("The calls do not show %s." % match[0], log.others)
    pairs = _pairs(evidence, claim.sentence)
    return next(filter(None, (_count_doubt(log, claim, before, *pair) for pair in pairs)), None)


def _name_doubt(log: EvidenceLog, claim: Claim, before: Turns) -> Doubt | None:
    """Return the doubt about a name in a claim that no call and no output has."""
    evidence, tools = log.evidence, [turn for turn in before if turn.role == "tool"]
    for name in _names(evidence, claim.sentence):
        if not any(name.search(evidence.without("left_out", turn.content)) for turn in tools):
            reason = "No call is about %s." % name.pattern.replace("\\", "")
            return Doubt(reason, log.others)
    return None


def _count_doubt(log: EvidenceLog, claim: Claim, before: Turns, noun: str, value: float) -> Doubt | None:
    """Return the doubt if outputs count a noun, but none as claimed.

    It is a note if they count it more than once, unless more tests are said to pass than all together, or if a later run counts nothing.
    """
    counted = [(place, number) for place, other, number in log.counted if other == noun]
    if not counted or any(abs(value - number) <= 0.5 for _, number in counted):  # rounded
        return None
    place, total = counted[-1][0], sum(number for _, number in counted)
    if value and noun != _TOTAL and any(_has_number(turn.output, value) for turn in before):
        return None  # it is the number of something else
    is_several = len(counted) > 1 and (noun != _PASSED or value <= total)
    is_followed = noun != "" and log.runs[-1].place > place  # what shows no status says nothing about one
    unsure = is_several or is_followed or _is_of_other(log, claim, before[place])
    return Doubt("Turn %d shows another number." % before[place].number, unsure)


def _has_number(text: str, value: float) -> bool:
    same = r"(?<![\w.])%g(?![\w.])" % value
    return re.search(same, text) is not None or value in numbers_in(text)


def _is_of_other(log: EvidenceLog, claim: Claim, turn: ConversationTurn) -> bool:
    """Return whether a claim names what another run is about, and nothing that only this one is about."""
    own = stems(turn.call)
    others = set().union(*(stems(run.turn.call) for run in log.runs if run.turn.call != turn.call))
    # Both its words and its sentence must say so.
    return all((others - own) & said and not (own - others) & said for said in map(stems, claim[:2]))


def _names(evidence: ClaimEvidence, sentence: str) -> Iterator[re.Pattern[str]]:
    """Yield a pattern for each name in a claim: of a command its first two words, of a path its last two parts."""
    for match in evidence.find("names", sentence):
        name = next(filter(None, match.groups()))
        words = [word for word in name.split() if not word.startswith("-") and "=" not in word][:2]
        parts = [re.escape("/".join(word.rstrip("/").split("/")[-2:])) for word in words]
        if parts:
            yield re.compile(".*".join(parts), re.IGNORECASE)


def _pairs(evidence: ClaimEvidence, text: str) -> Iterator[tuple[str, float]]:
    """Yield what a text counts, as the first letters of a noun (empty for a status) and its number."""
    for match in evidence.find("counts", text):
        groups = [group for group in match.groups() if group is not None]
        first, second = (groups[0], groups[-1]) if len(groups) > 1 else (groups[0], "")
        noun, number = (first, second) if second[:1].isdigit() else (second, first)
        value = float(digits(number)) if number[0].isdigit() else 0.0
        yield _NOUNS.get(noun.lower()[:4], noun.lower()[:4]), value


def _stale(claim: Claim, log: EvidenceLog, before: Turns) -> Doubt:
    """Return the doubt about an output from before a change; a claim of a run after it is false."""
    reason = "Files were changed in turn %d, after the output that showed it." % before[log.changed].number
    return Doubt(reason, not log.evidence.has("reran", claim.sentence))


def _is_passed_over(evidence: ClaimEvidence, turn: ConversationTurn) -> bool:
    pattern = evidence.patterns["passed_over"]
    return pattern is not None and pattern.match(turn.call) is not None


def _is_evidence(evidence: ClaimEvidence, turn: ConversationTurn) -> bool:
    """Return whether a turn is a call that the claim is about, or an output of someone else that shows it.

    A user who asks for something may use the words of an output; one who reports it says who did it, gives its number or pastes its lines.
    """
    if turn.role == "user":
        is_told = "\n" in turn.output or evidence.has("told", turn.output)
        return any(is_told or re.search(r"\d", match[0]) for match in evidence.find("output", turn.output))
    if turn.role != "tool" or _is_passed_over(evidence, turn):
        return False
    return evidence.has("output", turn.output) or evidence.has("call", turn.call)


def _has_failed(evidence: ClaimEvidence, turn: ConversationTurn) -> bool:
    """Return whether an output contradicts the claim; titles of tests that passed are no errors."""
    output = evidence.without("titles", turn.output)
    if evidence.has("against", output):
        return True
    shows = evidence.has("output", output) and evidence.has("further", turn.call)
    return turn.failed and not (shows or "attempts" in evidence.flags)


def _contradiction(log: EvidenceLog, claim: Claim, run: Run) -> Doubt:
    """Return the doubt after a run that failed: a note if the reply says so."""
    return Doubt("Turn %d says otherwise." % run.turn.number, _is_admitted(log, claim, run))


def _is_admitted(log: EvidenceLog, claim: Claim, run: Run) -> bool:
    """Return whether the reply says that a run failed, in a sentence about the claim or about what the run did or printed."""
    if _is_of_other(log, claim, run.turn):
        return True
    evidence = log.evidence
    about = stems(claim.sentence) | stems(run.turn.content[:_TOLD] + run.turn.content[-_TOLD:])
    sentences = split_sentences(evidence.without("supposed", claim.reply), "code")
    return any(evidence.has("admits", one) and not about.isdisjoint(stems(one)) for one in sentences)
