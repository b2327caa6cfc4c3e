"""Study judged replies to improve the rules: which phrases the judge clears, how often it agrees, which phrases rules miss.

The results are proposals. Nothing changes until the user asks for it (`memory replies tune --apply`).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.stats import Proportion, share
from .filler import find_filler, load_rule_table, read_user_pack, rule_problem, word_classes
from .prose import BREAK, read_prose
from .score_history import PADDING_DIMENSIONS, missed_by_rules, severe_dimensions
from .transcript_replies import reread_replies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .filler import FillerRules
    from .score_history import PastScore
    from .transcript_replies import RereadReply

# Agreement on escalated replies. Above the maximum, judging only confirms the rules; below the minimum, the rules decide too much alone.
_MIN_AGREEMENT, _MAX_AGREEMENT = 0.5, 0.9
_MIN_JUDGED = 20
_MIN_VERDICTS = 5
_MIN_REPLIES = 3
_MIN_WORDS, _MAX_WORDS = 2, 8  # of a quoted phrase
_MAX_QUOTED = 200
_MIN_RUN, _MAX_RUN = 3, 6  # words of a phrase that is searched for in whole sentences
_MAX_SENTENCE = 80  # words
_SENTENCE_ENDS = ".!?:\n"
_MAX_CANDIDATES = 20
# A phrase that the judge never quoted becomes a rule only if this many padded replies of this many sessions contain it, and no other reply.
_MIN_PADDED, _MIN_SESSIONS = 5, 3
_REASONS = {
    "judge": "called filler by the judge in %d replies",
    "verbose": "in %d replies that the judge found padded, and in no other",
}


class RuleClearance(NamedTuple):
    """How often the judge cleared a rule's phrases, as appropriate in their context; `exempt` proposes to switch the rule off."""

    rule: str
    cleared: Proportion
    exempt: bool


class PhraseCandidate(NamedTuple):
    """A phrase that no rule covers, the number of replies that contain it, and its source.

    `judge`: the judge quoted it as filler. `verbose`: it occurs more than twice as often in replies that only the judge found padded as in
    others. `promote` proposes it as a rule, with `position` as in the rule pack.
    """

    phrase: str
    replies: int
    source: str
    promote: bool
    position: str


class TuningStudy(NamedTuple):
    """Findings from judged replies; the transcripts of `reread` among the `judged` replies could be read again for candidates."""

    judged: int
    reread: int
    agreement: Proportion
    missed: Proportion
    cleared: list[RuleClearance]
    candidates: list[PhraseCandidate]


def study_scores(scores: Sequence[PastScore], rules: FillerRules) -> TuningStudy:
    """Study the judged replies among some scores."""
    judged = [score for score in scores if score.judged is not None]
    escalated = [score.judged for score in judged if score.escalated and score.judged is not None]
    texts = {reply.id: reply for reply in reread_replies(score.row for score in judged)}
    agreement = share(sum(row.get("agrees") is True for row in escalated), len(escalated))
    return TuningStudy(
        len(judged),
        len(texts),
        agreement,
        missed_by_rules(scores),
        _clearances(judged),
        _candidates(judged, texts, rules),
    )


def _clearances(judged: Sequence[PastScore]) -> list[RuleClearance]:
    """Return the rules with verdicts, the most cleared first. A rule with at least five verdicts, all clearing it, gets `exempt`."""
    verdicts: dict[str, list[bool]] = {}
    for score in judged:
        for rule, is_filler in (score.judged or {}).get("phrases", ()):
            verdicts.setdefault(rule, []).append(is_filler)
    clearances = [
        RuleClearance(
            rule,
            share(is_filler.count(False), len(is_filler)),
            len(is_filler) >= _MIN_VERDICTS and not any(is_filler),
        )
        for rule, is_filler in verdicts.items()
    ]
    return sorted(
        clearances,
        key=lambda clearance: (-(clearance.cleared.value or 0.0), -clearance.cleared.n, clearance.rule),
    )


def _candidates(
    judged: Sequence[PastScore], texts: dict[str, RereadReply], rules: FillerRules
) -> list[PhraseCandidate]:
    """Return the phrases that the judge quoted, then those typical of padded replies, the most frequent first."""
    quoted, padded, others = _PhraseCounts(), _PhraseCounts(), _PhraseCounts()
    for score in judged:
        reply = texts.get(score.id)
        if reply is None or score.judged is None:
            continue
        quoted.add(_quoted_phrases(score.judged, reply.text), score.session)
        is_padded = not severe_dimensions(score.judged.get("levels", {})).isdisjoint(PADDING_DIMENSIONS)
        counts = padded if is_padded and score.padding == 0 else others
        counts.add(_phrases(reply.text), score.session)
    candidates = [
        PhraseCandidate(phrase, count, "judge", count >= _MIN_REPLIES, quoted.position(phrase))
        for phrase, count in quoted.replies.most_common(_MAX_QUOTED)
        if not find_filler(read_prose(phrase), rules)  # a rule may have been added since
    ]
    return (candidates + _typical_of_padded(padded, others))[:_MAX_CANDIDATES]


def _typical_of_padded(padded: _PhraseCounts, others: _PhraseCounts) -> list[PhraseCandidate]:
    """Return the phrases that occur more than twice as often in padded replies as in others, the most frequent first."""
    typical = {
        phrase: count
        for phrase, count in padded.replies.items()
        if count >= _MIN_REPLIES and count > 2 * others.replies[phrase]
    }
    candidates = []
    for phrase, count in sorted(_longest_of(typical).items(), key=lambda pair: (-pair[1], pair[0])):
        promote = (
            count >= _MIN_PADDED
            and not others.replies[phrase]
            and len(padded.sessions[phrase]) >= _MIN_SESSIONS
        )
        candidates.append(PhraseCandidate(phrase, count, "verbose", promote, padded.position(phrase)))
    return candidates


class _PhraseCounts:
    """The replies and sessions in which each phrase occurs, and whether it ever occurs inside a sentence."""

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
    """Return the passages that the judge quoted as missed, as words, and whether each always begins a sentence.

    Passages too short or too long for a pattern are left out.
    """
    phrases: dict[str, bool] = {}
    for start, end in judged.get("missed", ()):
        words = [word for word in read_prose(text[start:end]).words if word != BREAK]
        if _MIN_WORDS <= len(words) <= _MAX_WORDS:
            phrase = " ".join(words)
            before = text[:start].rstrip()
            begins_sentence = not before or before[-1] in _SENTENCE_ENDS
            phrases[phrase] = phrases.get(phrase, True) and begins_sentence
    return phrases


def _phrases(text: str) -> dict[str, bool]:
    """Return every run of three to six words within one sentence of a text, and whether all its occurrences begin sentences."""
    prose = read_prose(text)
    runs: dict[str, bool] = {}
    start = 0
    for at in range(1, len(prose) + 1):
        if at == len(prose) or prose.boundary(at) or prose.words[at] == BREAK:
            _add_runs(runs, prose.words[start:at], is_sentence=bool(prose.boundary(start)))
            start = at
    return runs


def _add_runs(runs: dict[str, bool], words: Sequence[str], *, is_sentence: bool) -> None:
    """Add the runs in a sentence, or in the part of a sentence that follows a masked passage."""
    unmasked = [word for word in words[:_MAX_SENTENCE] if word != BREAK]
    for length in range(_MIN_RUN, _MAX_RUN + 1):
        for at in range(len(unmasked) - length + 1):
            phrase = " ".join(unmasked[at : at + length])
            runs[phrase] = runs.get(phrase, True) and at == 0 and is_sentence


def _longest_of(counts: dict[str, int]) -> dict[str, int]:
    """Return the phrases without those that occur only inside a longer one."""
    inner: dict[str, int] = {}
    for phrase, count in counts.items():
        words = phrase.split()
        for part in (" ".join(words[1:]), " ".join(words[:-1])):
            inner[part] = max(inner.get(part, 0), count)
    return {phrase: count for phrase, count in counts.items() if count > inner.get(phrase, 0)}


def gate_advice(study: TuningStudy) -> str:
    """Return a sentence of advice on the escalation gate, from the agreement of judge and rules."""
    agreement = study.agreement
    if agreement.n < _MIN_JUDGED or agreement.value is None:
        return "escalated replies judged: %d; advice on the gate needs %d" % (agreement.n, _MIN_JUDGED)
    if agreement.value > _MAX_AGREEMENT:
        return (
            "judge and rules agree on %s of the escalated replies: narrow the gate, for instance with"
            " `memory config set scoring.escalation.density_margin 0.02`" % (agreement,)
        )
    if agreement.value < _MIN_AGREEMENT:
        return (
            "judge and rules agree on only %s of the escalated replies: widen the gate, for instance with"
            " `memory config set scoring.escalation.density_margin 0.05`" % (agreement,)
        )
    return "judge and rules agree on %s of the escalated replies: the gate is about right" % (agreement,)


def propose_pack(study: TuningStudy, state_dir: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the user's rule pack before and after applying the proposals. Raises RulePackError for a pack that cannot be read."""
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
