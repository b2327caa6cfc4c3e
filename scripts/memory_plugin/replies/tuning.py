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
_OPENING = 3  # words of a sentence
_GRAVE = 2


class RuleClearance(NamedTuple):
    """How often the judge cleared a rule's phrases as fitting where they stand; `exempt` proposes to switch the rule off."""

    rule: str
    cleared: Proportion
    exempt: bool


class PhraseCandidate(NamedTuple):
    """A phrase that no rule knows, in how many replies it stands, and its source.

    `judge`: the judge quoted it as filler. `verbose`: it begins sentences of replies that the judge found padded, more than twice as often
    as of others. Only the former can be proposed as a rule (`promote`).
    """

    phrase: str
    replies: int
    source: str
    promote: bool


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
    judged = [one for one in scores if one.judged is not None]
    escalated = [one.judged for one in judged if one.escalated and one.judged is not None]
    texts = {reply.id: reply for reply in reread_replies(one.row for one in judged)}
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
    for one in judged:
        given = (one.judged or {}).get("phrases")
        for pair in given if isinstance(given, list) else ():
            if (
                isinstance(pair, list)
                and len(pair) == 2
                and isinstance(pair[0], str)
                and isinstance(pair[1], bool)
            ):
                verdicts.setdefault(pair[0], []).append(pair[1])
    found = [
        RuleClearance(rule, share(given.count(False), len(given)), _always_cleared(given))
        for rule, given in verdicts.items()
    ]
    return sorted(found, key=lambda one: (-(one.cleared.value or 0.0), -one.cleared.n, one.rule))


def _always_cleared(verdicts: list[bool]) -> bool:
    return len(verdicts) >= _ENOUGH_VERDICTS and not any(verdicts)


def _candidates(
    judged: Sequence[PastScore], texts: dict[str, RereadReply], rules: FillerRules
) -> list[PhraseCandidate]:
    quoted: Counter[str] = Counter()
    padded: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for one in judged:
        reply = texts.get(one.id)
        if reply is None or one.judged is None:
            continue
        quoted.update({phrase for phrase in _quoted_phrases(one.judged, reply.text) if phrase})
        levels = one.judged.get("levels")
        is_grave = isinstance(levels, dict) and any(
            levels.get(name, 0) >= _GRAVE for name in ("VDet", "EPad")
        )
        (padded if is_grave and one.padding == 0 else others).update(_openings(reply.text))
    found = [
        PhraseCandidate(phrase, count, "judge", count >= _ENOUGH_REPLIES)
        for phrase, count in quoted.most_common(_MAX_QUOTED)
        if not find_filler(read_prose(phrase), rules)  # a rule knows it by now
    ]
    found += [
        PhraseCandidate(phrase, count, "verbose", promote=False)
        for phrase, count in padded.most_common()
        if count >= _ENOUGH_REPLIES and count > 2 * others[phrase]
    ]
    return found[:20]


def _quoted_phrases(judged: dict[str, Any], text: str) -> list[str]:
    """Return the passages that the judge quoted as missed, as words; empty for one too short or too long for a pattern."""
    spans = judged.get("missed")
    phrases = []
    for span in spans if isinstance(spans, list) else ():
        if isinstance(span, list) and len(span) == 2 and all(isinstance(at, int) for at in span):
            words = [word for word in read_prose(text[span[0] : span[1]]).words if word != BREAK]
            phrases.append(" ".join(words) if _MIN_WORDS <= len(words) <= _MAX_WORDS else "")
    return phrases


def _openings(text: str) -> set[str]:
    """Return the first three words of each sentence."""
    prose = read_prose(text)
    starts = [at for at in range(len(prose)) if prose.level(at)]
    openings = [prose.words[at : at + _OPENING] for at in starts]
    return {" ".join(words) for words in openings if len(words) == _OPENING and BREAK not in words}


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
    for one in study.cleared:
        if one.exempt:
            exempt.setdefault(one.rule, "cleared by the judge in %d of %d" % (one.cleared.k, one.cleared.n))
    classes = word_classes(load_rule_table())
    present = {pattern for rule in rules if isinstance(rule, dict) for pattern in rule.get("patterns") or ()}
    for candidate in study.candidates:
        rule = {
            "id": "own-" + candidate.phrase.replace(" ", "-").replace("'", ""),
            "category": "own",
            "reason": "called filler by the judge in %d replies" % candidate.replies,
            "patterns": [candidate.phrase],
            "position": "sentence",
        }
        if candidate.promote and candidate.phrase not in present and not rule_problem(rule, classes):
            rules.append(rule)
    return before, {**before, "exempt": exempt, "rules": rules}
