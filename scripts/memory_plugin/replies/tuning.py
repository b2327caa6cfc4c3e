"""What judged replies say about the rules: which phrases the judge clears, how often it agrees, which phrases rules miss.

These are proposals. Nothing changes until the user asks for it (`memory tune --apply`).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.stats import Proportion, share
from .filler import find_filler, load_rule_table, read_user_pack, rule_problem, word_classes
from .prose import BREAK, read_prose
from .score_history import missed_by_rules
from .transcript_replies import reread_replies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .filler import FillerRules
    from .score_history import PastScore
    from .transcript_replies import RereadReply

__all__ = ["PhraseCandidate", "RuleClearance", "TuningStudy", "gate_advice", "propose_pack", "study_scores"]

# Agreement on escalated replies: above, judging only confirms the rules; below, the rules decide too much alone.
_AGREES_TOO_MUCH, _AGREES_TOO_LITTLE = 0.9, 0.5
_ENOUGH_JUDGED = 20
_ENOUGH_VERDICTS = 5
_ENOUGH_REPLIES = 3
_MIN_WORDS, _MAX_WORDS = 2, 8  # of a candidate
_MAX_QUOTED = 200
_SHORTEST_RUN, _LONGEST_RUN = 3, 6  # words of a phrase that is looked for in whole sentences
_MAX_SENTENCE = 80  # words
_SENTENCE_ENDS = ".!?:\n"
_MAX_CANDIDATES = 20
# A phrase that nobody quoted is proposed as a rule only if this many padded replies of this many sessions hold it, and no other reply.
_ENOUGH_PADDED, _ENOUGH_SESSIONS = 5, 3
_SEVERE_LEVEL = 2
_REASONS = {
    "judge": "called filler by the judge in %d replies",
    "verbose": "in %d replies that the judge found padded, and in no other",
}


class RuleClearance(NamedTuple):
    """How often the judge cleared a rule's phrases as appropriate in their context; `exempt` proposes to switch the rule off."""

    rule: str
    cleared: Proportion
    exempt: bool


class PhraseCandidate(NamedTuple):
    """A phrase that no rule covers, the number of replies that contain it, and its source.

    `judge`: the judge quoted it as filler. `verbose`: replies hold it that the judge found padded although rules found nothing, more
    than twice as often as others do. `promote` proposes it as a rule, with `position` as in the rule pack.
    """

    phrase: str
    replies: int
    source: str
    promote: bool
    position: str


class TuningStudy(NamedTuple):
    """What judged replies say about the rules; `reread` of the `judged` replies could be read again for candidates."""

    judged: int
    reread: int
    agreement: Proportion
    missed: Proportion
    cleared: list[RuleClearance]
    candidates: list[PhraseCandidate]


def study_scores(scores: Sequence[PastScore], rules: FillerRules) -> TuningStudy:
    """Return what the judged replies among some scores say about the rules."""
    judged = [score for score in scores if score.judged is not None]
    escalated = [score.judged for score in judged if score.escalated and score.judged is not None]
    texts = {reply.id: reply for reply in reread_replies(score.row for score in judged)}
    agreement = share(sum(row.get("agrees") is True for row in escalated), len(escalated))
    return TuningStudy(
        len(judged),
        len(texts),
        agreement,
        missed_by_rules(scores),
        _cleared(judged),
        _candidates(judged, texts, rules),
    )


def _cleared(judged: Sequence[PastScore]) -> list[RuleClearance]:
    """Return the rules with verdicts, the most cleared first. One cleared every time, at least five times, is proposed for exemption."""
    verdicts: dict[str, list[bool]] = {}
    for score in judged:
        given = (score.judged or {}).get("phrases")
        for pair in given if isinstance(given, list) else ():
            if (
                isinstance(pair, list)
                and len(pair) == 2
                and isinstance(pair[0], str)
                and isinstance(pair[1], bool)
            ):
                verdicts.setdefault(pair[0], []).append(pair[1])
    clearances = [
        RuleClearance(rule, share(given.count(False), len(given)), _always_cleared(given))
        for rule, given in verdicts.items()
    ]
    return sorted(
        clearances,
        key=lambda clearance: (-(clearance.cleared.value or 0.0), -clearance.cleared.n, clearance.rule),
    )


def _always_cleared(verdicts: list[bool]) -> bool:
    return len(verdicts) >= _ENOUGH_VERDICTS and not any(verdicts)


def _candidates(
    judged: Sequence[PastScore], texts: dict[str, RereadReply], rules: FillerRules
) -> list[PhraseCandidate]:
    """Return the phrases that the judge quoted, then those that tell padded replies from others, the most frequent first."""
    quoted, padded, others = _Occurrences(), _Occurrences(), _Occurrences()
    for score in judged:
        reply = texts.get(score.id)
        if reply is None or score.judged is None:
            continue
        quoted.add(_quoted_phrases(score.judged, reply.text), score.session)
        levels = score.judged.get("levels")
        is_severe = isinstance(levels, dict) and any(
            levels.get(name, 0) >= _SEVERE_LEVEL for name in ("VDet", "EPad")
        )
        (padded if is_severe and score.padding == 0 else others).add(_phrases(reply.text), score.session)
    candidates = [
        PhraseCandidate(phrase, count, "judge", count >= _ENOUGH_REPLIES, quoted.position(phrase))
        for phrase, count in quoted.replies.most_common(_MAX_QUOTED)
        if not find_filler(read_prose(phrase), rules)  # a rule knows it by now
    ]
    telling = {
        phrase: count
        for phrase, count in padded.replies.items()
        if count >= _ENOUGH_REPLIES and count > 2 * others.replies[phrase]
    }
    for phrase, count in sorted(_longest_of(telling).items(), key=lambda pair: (-pair[1], pair[0])):
        is_sure = (
            count >= _ENOUGH_PADDED
            and not others.replies[phrase]
            and len(padded.sessions[phrase]) >= _ENOUGH_SESSIONS
        )
        candidates.append(PhraseCandidate(phrase, count, "verbose", is_sure, padded.position(phrase)))
    return candidates[:_MAX_CANDIDATES]


class _Occurrences:
    """In how many replies and which sessions each phrase occurs, and whether it ever occurs inside a sentence."""

    def __init__(self) -> None:
        self.replies: Counter[str] = Counter()
        self.sessions: dict[str, set[str]] = {}
        self._inside: set[str] = set()

    def add(self, phrases: dict[str, bool], session: str) -> None:
        """Add the phrases of one reply; the value says whether all of its occurrences begin sentences."""
        self.replies.update(phrases.keys())
        for phrase, begins in phrases.items():
            self.sessions.setdefault(phrase, set()).add(session)
            if not begins:
                self._inside.add(phrase)

    def position(self, phrase: str) -> str:
        """Return the position that a rule for a phrase needs."""
        return "anywhere" if phrase in self._inside else "sentence"


def _quoted_phrases(judged: dict[str, Any], text: str) -> dict[str, bool]:
    """Return the passages that the judge quoted as missed, as words, and whether each begins a sentence.

    One too short or too long for a pattern is left out.
    """
    spans = judged.get("missed")
    phrases: dict[str, bool] = {}
    for span in spans if isinstance(spans, list) else ():
        if isinstance(span, list) and len(span) == 2 and all(isinstance(at, int) for at in span):
            words = [word for word in read_prose(text[span[0] : span[1]]).words if word != BREAK]
            if _MIN_WORDS <= len(words) <= _MAX_WORDS:
                phrase = " ".join(words)
                begins = not text[: span[0]].rstrip() or text[: span[0]].rstrip()[-1] in _SENTENCE_ENDS
                phrases[phrase] = phrases.get(phrase, True) and begins
    return phrases


def _phrases(text: str) -> dict[str, bool]:
    """Return every run of three to six words within one sentence of a text, and whether all its occurrences begin sentences."""
    prose = read_prose(text)
    found: dict[str, bool] = {}
    start = 0
    for at in range(1, len(prose) + 1):
        if at == len(prose) or prose.level(at) or prose.words[at] == BREAK:
            _add_runs(found, prose.words[start:at], is_sentence=bool(prose.level(start)))
            start = at
    return found


def _add_runs(found: dict[str, bool], words: Sequence[str], *, is_sentence: bool) -> None:
    """Add the runs of words of a sentence, or of the part of one that follows a masked passage."""
    kept = [word for word in words[:_MAX_SENTENCE] if word != BREAK]
    for length in range(_SHORTEST_RUN, _LONGEST_RUN + 1):
        for at in range(len(kept) - length + 1):
            phrase = " ".join(kept[at : at + length])
            found[phrase] = found.get(phrase, True) and at == 0 and is_sentence


def _longest_of(counts: dict[str, int]) -> dict[str, int]:
    """Return the phrases without those that occur only inside a longer one."""
    inner: dict[str, int] = {}
    for phrase, count in counts.items():
        words = phrase.split()
        for part in (" ".join(words[1:]), " ".join(words[:-1])):
            inner[part] = max(inner.get(part, 0), count)
    return {phrase: count for phrase, count in counts.items() if count > inner.get(phrase, 0)}


def gate_advice(study: TuningStudy) -> str:
    """Return a sentence on what the agreement of judge and rules says about the escalation gate."""
    agreement = study.agreement
    if agreement.n < _ENOUGH_JUDGED or agreement.value is None:
        return "escalated replies judged: %d; advice on the gate needs %d" % (agreement.n, _ENOUGH_JUDGED)
    if agreement.value > _AGREES_TOO_MUCH:
        return (
            "judge and rules agree on %s of the escalated replies: narrow the gate, for instance with"
            " `memory config set scoring.escalation.density_margin 0.02`" % (agreement,)
        )
    if agreement.value < _AGREES_TOO_LITTLE:
        return (
            "judge and rules agree on only %s of the escalated replies: widen the gate, for instance with"
            " `memory config set scoring.escalation.density_margin 0.05`" % (agreement,)
        )
    return "judge and rules agree on %s of the escalated replies: the gate is about right" % (agreement,)


def propose_pack(study: TuningStudy, state_dir: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the user's rule pack as it is, and with the proposals applied. Raises RulePackError for a pack that cannot be read."""
    before = read_user_pack(state_dir)
    exempt = dict(before.get("exempt") or {})
    rules = list(before.get("rules") or [])
    for clearance in study.cleared:
        if clearance.exempt:
            exempt.setdefault(
                clearance.rule,
                "cleared by the judge in %d of %d" % (clearance.cleared.k, clearance.cleared.n),
            )
    classes = word_classes(load_rule_table())
    present = {pattern for rule in rules if isinstance(rule, dict) for pattern in rule.get("patterns") or ()}
    for candidate in study.candidates:
        rule = {
            "id": "own-" + candidate.phrase.replace(" ", "-").replace("'", ""),
            "category": "own",
            "reason": _REASONS[candidate.source] % candidate.replies,
            "patterns": [candidate.phrase],
            "position": candidate.position,
        }
        if candidate.promote and candidate.phrase not in present and not rule_problem(rule, classes):
            rules.append(rule)
    return before, {**before, "exempt": exempt, "rules": rules}
