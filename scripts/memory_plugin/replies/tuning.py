"""What the judge's opinions say about the rules: which phrases it clears, how often it agrees, what it misses in them.

Proposals only. Nothing changes until somebody asks for it (`memory tune --apply`).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from .history import missed_by_rules
from .intervals import Share, share
from .prose import BREAK, read_prose
from .reread import reread
from .rules import Rules, RulesError, load_rule_table, pack_problem, read_pack, word_classes
from .signals import find_matches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .history import Scored
    from .reread import Again

__all__ = ["Candidate", "Cleared", "Tuning", "advice", "proposed_pack", "study"]

# Agreement bounds of the gate: above, judging only confirms what rules say; below, rules decide too much alone.
_AGREES_TOO_MUCH, _AGREES_TOO_LITTLE = 0.9, 0.5
_ENOUGH_JUDGED = 20
_ENOUGH_VERDICTS = 5
_ENOUGH_REPLIES = 3
_SHORTEST, _LONGEST = 2, 8  # words of a candidate
_MOST_QUOTED = 200
_OPENING = 3
_GRAVE = 2


class Cleared(NamedTuple):
    """How often a rule's phrases were cleared as contextual; `exempt` proposes to leave the rule out."""

    rule: str
    cleared: Share
    exempt: bool


class Candidate(NamedTuple):
    """A phrase that rules do not know: in how many replies, and where it comes from.

    `judge`: quoted by the judge as filler; `verbose`: begins sentences of replies that the judge found padded more often than of others.
    Only the first are proposed for promotion.
    """

    phrase: str
    replies: int
    source: str
    promote: bool


class Tuning(NamedTuple):
    """What there is to know for a tuning. `reread` of `judged` replies could be read again for candidates."""

    judged: int
    reread: int
    agreement: Share
    missed: Share
    cleared: list[Cleared]
    candidates: list[Candidate]


def study(scores: Sequence[Scored], rules: Rules) -> Tuning:
    """What the judged replies among some scores tell."""
    judged = [one for one in scores if one.judged is not None]
    escalated = [one.judged for one in judged if one.escalated and one.judged is not None]
    texts = {again.id: again for again in reread(one.row for one in judged)}
    agreement = share(sum(row.get("agrees") is True for row in escalated), len(escalated))
    return Tuning(
        len(judged),
        len(texts),
        agreement,
        missed_by_rules(scores),
        _cleared(judged),
        _candidates(judged, texts, rules),
    )


def _cleared(judged: Sequence[Scored]) -> list[Cleared]:
    """The rules with verdicts, the most cleared first; one that was cleared every time, five times at least, is proposed for exemption."""
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
        Cleared(rule, share(given.count(False), len(given)), _always_cleared(given))
        for rule, given in verdicts.items()
    ]
    return sorted(found, key=lambda one: (-(one.cleared.value or 0.0), -one.cleared.n, one.rule))


def _always_cleared(verdicts: list[bool]) -> bool:
    return len(verdicts) >= _ENOUGH_VERDICTS and not any(verdicts)


def _candidates(judged: Sequence[Scored], texts: dict[str, Again], rules: Rules) -> list[Candidate]:
    quoted: Counter[str] = Counter()
    padded: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for one in judged:
        again = texts.get(one.id)
        if again is None or one.judged is None:
            continue
        quoted.update({phrase for phrase in _quoted(one.judged, again.text) if phrase})
        levels = one.judged.get("levels")
        grave = isinstance(levels, dict) and any(levels.get(name, 0) >= _GRAVE for name in ("VDet", "EPad"))
        (padded if grave and one.padding == 0 else others).update(_openings(again.text))
    found = [
        Candidate(phrase, count, "judge", count >= _ENOUGH_REPLIES)
        for phrase, count in quoted.most_common(_MOST_QUOTED)
        if not find_matches(read_prose(phrase), rules)  # learned since
    ]
    found += [
        Candidate(phrase, count, "verbose", promote=False)
        for phrase, count in padded.most_common()
        if count >= _ENOUGH_REPLIES and count > 2 * others[phrase]
    ]
    return found[:20]


def _quoted(judged: dict[str, Any], text: str) -> list[str]:
    """The passages that the judge quoted as missed, as words; empty for what is too short or too long for a pattern."""
    spans = judged.get("missed")
    phrases = []
    for span in spans if isinstance(spans, list) else ():
        if isinstance(span, list) and len(span) == 2 and all(isinstance(at, int) for at in span):
            words = [word for word in read_prose(text[span[0] : span[1]]).words if word != BREAK]
            phrases.append(" ".join(words) if _SHORTEST <= len(words) <= _LONGEST else "")
    return phrases


def _openings(text: str) -> set[str]:
    """The first three words of each sentence."""
    prose = read_prose(text)
    starts = [at for at in range(len(prose)) if prose.level(at)]
    openings = [prose.words[at : at + _OPENING] for at in starts]
    return {" ".join(words) for words in openings if len(words) == _OPENING and BREAK not in words}


def advice(tuning: Tuning) -> str:
    """What the agreement of judge and rules says about the gate, in a sentence."""
    agreement = tuning.agreement
    if agreement.n < _ENOUGH_JUDGED or agreement.value is None:
        return "%d escalated replies were judged; advice on the gate needs %d" % (agreement.n, _ENOUGH_JUDGED)
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


def proposed_pack(tuning: Tuning, state_dir: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The user's rule pack as it is, and as the proposals would make it. Raises RulesError for a pack that cannot be read."""
    before, trouble = read_pack(state_dir)
    if trouble:
        raise RulesError(trouble)
    exempt = dict(before.get("exempt") or {})
    rules = list(before.get("rules") or [])
    for one in tuning.cleared:
        if one.exempt:
            exempt.setdefault(one.rule, "cleared by the judge in %d of %d" % (one.cleared.k, one.cleared.n))
    classes = word_classes(load_rule_table())
    present = {pattern for rule in rules if isinstance(rule, dict) for pattern in rule.get("patterns") or ()}
    for candidate in tuning.candidates:
        rule = {
            "id": "own-" + candidate.phrase.replace(" ", "-").replace("'", ""),
            "category": "own",
            "reason": "called filler by the judge in %d replies" % candidate.replies,
            "patterns": [candidate.phrase],
            "position": "sentence",
        }
        if candidate.promote and candidate.phrase not in present and not pack_problem(rule, classes):
            rules.append(rule)
    return dict(before), {**before, "exempt": exempt, "rules": rules}
