"""Learn from past replies: which phrases the judge clears, how often it agrees, which phrases rules miss.

The results are proposals. Nothing changes until the user asks for it (`memory replies tune --apply`).
"""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ..kernel.files import read_regular, replace_file
from ..kernel.paths import Paths, load_data
from ..kernel.stats import Proportion, share
from .prose import BREAK, Prose, rule_problem, word_classes
from .rows import PADDING_DIMENSIONS, Judged, Score, missed_by_rules, reread_replies, severe_dimensions
from .signals import USER_PACK, FillerRules, find_filler, measure_reply, read_user_pack

# Agreement on escalated replies. Above the maximum, judging only confirms the rules; below the minimum, the rules decide too much alone.
_MIN_AGREEMENT, _MAX_AGREEMENT = 0.5, 0.9
_MIN_JUDGED = 20
_GATE_SETTINGS = {  # by the row of the gate: its setting, and which change of it lets fewer and more replies escalate
    "padding_range": ("padding_range", "narrower", "wider"),
    "borderline_density": ("density_margin", "smaller", "larger"),
    "mixed_signal": ("thresholds.preamble", "larger", "smaller"),
}
_MIN_VERDICTS = 5
_MIN_QUOTED = 3
_MIN_WORDS, _MAX_WORDS = 2, 8  # of a quoted phrase
_MAX_CANDIDATES = 20
_MAX_RESCORED = 500
_MAX_BYTES = 1 << 20


class RuleClearance(NamedTuple):
    """How often the judge cleared a rule's phrases, as appropriate in their context; `exempt` proposes to switch the rule off."""

    rule: str
    cleared: Proportion
    exempt: bool


class PhraseCandidate(NamedTuple):
    """A phrase that the judge quoted as filler, and the number of replies that contain it.

    `promote` proposes it as a rule.
    """

    phrase: str
    replies: int
    promote: bool


class TuningStudy(NamedTuple):
    """Findings from judged replies; the transcripts of `reread` among the `judged` replies could be read again for candidates.

    `agreement` is over the escalated replies on which the judge decided, and `rows` counts these by the gate's row.
    """

    judged: int
    reread: int
    agreement: Proportion
    rows: dict[str, int]
    missed: Proportion
    cleared: list[RuleClearance]
    candidates: list[PhraseCandidate]


def study_scores(scores: Sequence[Score], rules: FillerRules) -> TuningStudy:
    """Study the judged replies among some scores."""
    judged = [(score, score.judged) for score in scores if score.judged is not None]
    decided = [(score, answer) for score, answer in judged if score.escalate and _has_decided(score, answer)]
    texts = dict(reread_replies(score for score, _ in judged))
    return TuningStudy(
        len(judged),
        len(texts),
        share(sum(answer.agrees is True for _, answer in decided), len(decided)),
        dict(Counter(score.gate for score, _ in decided).most_common()),
        missed_by_rules(scores),
        _clearances(answer for _, answer in judged),
        _candidates(judged, texts, rules),
    )


def _has_decided(score: Score, answer: Judged) -> bool:
    """Return whether a judge gave a verdict on the rules' phrases, if there are any, or found what rules cannot see."""
    has_verdicts = bool(answer.phrases) or not score.padding_count
    return has_verdicts or bool(severe_dimensions(answer.levels) - PADDING_DIMENSIONS)


def _clearances(answers: Iterable[Judged]) -> list[RuleClearance]:
    """Return the rules with verdicts, the most cleared first. A rule with at least five verdicts, all clearing it, gets `exempt`."""
    verdicts: dict[str, list[bool]] = {}
    for answer in answers:
        for rule, is_filler in answer.phrases:
            verdicts.setdefault(rule, []).append(is_filler)
    clearances = []
    for rule, given in verdicts.items():
        is_cleared = len(given) >= _MIN_VERDICTS and not any(given)
        clearances.append(RuleClearance(rule, share(given.count(False), len(given)), is_cleared))
    return sorted(clearances, key=lambda row: (-(row.cleared.value or 0.0), -row.cleared.n, row.rule))


def _candidates(
    judged: Iterable[tuple[Score, Judged]], texts: dict[str, str], rules: FillerRules
) -> list[PhraseCandidate]:
    """Return the phrases that the judge quoted as missed and that no rule covers, the most frequent first."""
    replies: Counter[str] = Counter()
    for score, answer in judged:
        replies.update(set(_quoted_phrases(answer.missed, texts.get(score.id, ""))))
    return [
        PhraseCandidate(phrase, count, count >= _MIN_QUOTED)
        for phrase, count in replies.most_common()
        if not find_filler(Prose(phrase), rules)  # a rule may have been added since
    ][:_MAX_CANDIDATES]


def _quoted_phrases(missed: Iterable[tuple[int, int]], text: str) -> Iterator[str]:
    """Yield the words of the passages that the judge quoted as missed; those too short or too long for a pattern are left out."""
    for start, end in missed:
        words = [word for word in Prose(text[start:end]).words if word != BREAK]
        if _MIN_WORDS <= len(words) <= _MAX_WORDS:
            yield " ".join(words)


def gate_advice(study: TuningStudy) -> str:
    """Return a sentence of advice on the escalation gate. It names the setting that made most of the judged replies escalate."""
    agreement = study.agreement
    if agreement.n < _MIN_JUDGED or agreement.value is None:
        text = "needs %d judged replies, has %d; to turn the judge on: memory judge on replies"
        return text % (_MIN_JUDGED, agreement.n)
    rows = (row for row in (*study.rows, *_GATE_SETTINGS) if row in _GATE_SETTINGS)
    setting, fewer, more = _GATE_SETTINGS[next(rows)]
    agree, change = "", "the judge is asked about as often as it should be"
    if agreement.value > _MAX_AGREEMENT:
        change = "ask the judge less often, with a %s scoring.escalation.%s" % (fewer, setting)
    elif agreement.value < _MIN_AGREEMENT:
        agree = "only "
        change = "ask the judge more often, with a %s scoring.escalation.%s" % (more, setting)
    return "judge and rules agree on %s%s of the judged replies: %s" % (agree, agreement, change)


class PackChange(NamedTuple):
    """The user's rule pack before and after applying the proposals."""

    before: dict[str, Any]
    after: dict[str, Any]

    @property
    def diff(self) -> str:
        """Return the difference as a unified diff; empty if there is none."""
        if {"exempt": {}, "rules": [], **self.before} == self.after:
            return ""
        old, new = ((json.dumps(pack, indent=2) if pack else "").splitlines() for pack in self)
        return "\n".join(difflib.unified_diff(old, new, "your rule pack", "proposed", lineterm=""))

    def rescored(self, scores: Sequence[Score]) -> dict[str, int]:
        """Return the number of replies with filler, and of filler phrases, under both packs."""
        texts = [text for _, text in reread_replies(scores[-_MAX_RESCORED:])]
        totals = {"replies": len(texts)}
        for name, pack in self._asdict().items():
            rules = FillerRules(pack)
            counts = [len(measure_reply(text, rules).matches) for text in texts]
            totals["padded_" + name], totals["phrases_" + name] = sum(map(bool, counts)), sum(counts)
        return totals

    def write(self, paths: Paths) -> tuple[str, str]:
        """Write the pack after a backup of the present one; return both paths, the latter empty without one. Raises OSError."""
        path, backup = paths.state(USER_PACK), ""
        with suppress(FileNotFoundError):  # there was no pack before
            replace_file(path + ".backup", read_regular(path, _MAX_BYTES)[0])
            backup = path + ".backup"
        replace_file(path, (json.dumps(self.after, indent=2) + "\n").encode("ascii"))
        return path, backup


def propose_pack(study: TuningStudy, state_dir: str | None) -> PackChange:
    """Return the change of the user's rule pack by the proposals. Raises RulePackError for a pack that cannot be read."""
    before = read_user_pack(state_dir)
    exempt, rules = dict(before.get("exempt") or {}), list(before.get("rules") or [])
    for rule, cleared, is_exempt in study.cleared:
        if is_exempt:
            exempt.setdefault(rule, "cleared by the judge in %d of %d" % (cleared.k, cleared.n))
    classes = word_classes(load_data("replies", "filler"))
    present = {pattern for rule in rules if isinstance(rule, dict) for pattern in rule.get("patterns") or ()}
    for candidate in study.candidates:
        new = {
            "id": "own-" + candidate.phrase.replace(" ", "-").replace("'", ""),
            "category": "own",
            "reason": "called filler by the judge in %d replies" % candidate.replies,
            "patterns": [candidate.phrase],
            "position": "anywhere",
        }
        if candidate.promote and candidate.phrase not in present and not rule_problem(new, classes):
            rules.append(new)
    return PackChange(before, {**before, "exempt": exempt, "rules": rules})
