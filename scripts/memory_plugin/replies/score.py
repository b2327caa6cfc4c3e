"""Score one reply with rules: read it, measure it, decide on escalation and drift, record the score.

This runs in the background when a reply has
ended. Replies on which the rules are unsure are marked (`escalate` or `audit`), and a judge may grade them (see `judge.py`).
"""

from __future__ import annotations

import os
from collections import Counter
from functools import cache
from typing import NamedTuple

from ..kernel.context import Context
from ..kernel.fastjson import as_text
from ..kernel.hygiene import redact
from ..kernel.paths import load_data
from ..kernel.settings import Settings
from ..kernel.text import without_private
from ..kernel.transcript import (
    SYNTHETIC,
    message_of,
    parse_row,
    records_backwards,
    reply_text_of,
    user_input_of,
)
from ..kernel.transcript.reader import MAX_LINE, Row
from . import ReplyState, gate
from .prose import BREAK, POSITIONS, PhraseIndex, Prose, word_classes
from .rows import Score, score_id
from .signals import load_filler_rules, measure_reply

_DRAFTING = "drafting"
_TAIL_BYTES = 4 << 20  # of a transcript


class QueryClassifier:
    """The rules of `config/replies/query_types.json`, applied to a message."""

    def __init__(self) -> None:
        self._table = table = load_data("replies", "query_types")
        owners = [*table["types"], {**table["drafting"], "id": _DRAFTING}]
        patterns = [
            (pattern, POSITIONS[position], owner["id"])
            for owner in owners
            for position, pattern in owner["patterns"]
        ]
        self._phrases = PhraseIndex(patterns, word_classes(table))

    def classify(self, prompt: str) -> tuple[str, bool]:
        """Return a message's kind (`ambiguous` if no rule matches), and whether it asks for a draft in someone's voice."""
        prose = Prose(prompt[: self._table["looked_at"]])
        counts = self._count_matches(prose)
        has_code = BREAK in prose.words or "```" in prompt
        best, most = gate.AMBIGUOUS, 0
        for kind in self._table["types"]:  # of equal ones, the first wins
            points = kind["weight"] * min(counts[kind["id"]], self._table["most_counted"])
            points += kind.get("with_code", 0) if has_code else 0
            if points > most:
                best, most = kind["id"], points
        return best, _DRAFTING in counts

    def _count_matches(self, prose: Prose) -> Counter[str]:
        """Return at how many words a pattern of each kind begins."""
        counts: Counter[str] = Counter()
        for at in range(len(prose)):
            counts.update({kind for kind, _ in self._phrases.matches(prose, at, prose.boundary(at))})
        return counts


class ReplyScorer:
    """The data for scoring, loaded once; `error` names a rejected rule of the user's own pack, else None."""

    def __init__(self, settings: Settings, state_dir: str | None) -> None:
        self._rules = load_filler_rules(state_dir)
        self._bounds = gate.GateBounds(settings)
        self._classifier = cache(QueryClassifier)
        self.error = self._rules.error

    def score(self, text: str, prompt: str) -> Score:
        """Score a text as a reply to a prompt, without recording anything, so that it has no id.

        Without a density it is not escalated, `gate` is the reason, and only filler is a drift.
        """
        bounds = self._bounds
        query_type, drafting = self._classifier().classify(prompt) if prompt else (gate.AMBIGUOUS, False)
        signals = measure_reply(text, self._rules, drafting=drafting)
        score = Score(
            "",
            len(signals.matches),
            signals.preamble,
            signals.density,
            query_type,
            bounds.threshold(query_type) / 1000,
            signals.unscored,
            matches=[(match.start, match.end, match.rule.id) for match in signals.matches],
            words=signals.words,
        )
        drift = gate.find_drift(score, 1.0 if drafting else signals.density_with_masked, bounds.margin)
        row, escalates = (score.gate, False) if score.density is None else gate.find_row(score, bounds)
        return score._replace(gate=row, escalate=escalates, drift=drift.categories, severity=drift.severity)


def score_reply(
    text: str, context: Context, prompt_id: str = "", transcript: str = ""
) -> tuple[Score, str, list[Exception]]:
    """Score a reply, record the score, and save a correction for the next prompt; return the score, the text and what failed.

    Without a text, the reply is read from the transcript. Every step runs even if the disk fails in another one.
    """
    # The host may omit the text, and the prompt is only in the transcript.
    last = read_last_reply(transcript)
    text = text or last.text
    scorer = ReplyScorer(context.settings, context.paths.state_dir)
    found = scorer.score(text, last.prompt)
    state, table = ReplyState(context.paths, context.session), load_data("replies", "gate")
    recent, found = gate.add_up(state.recent(), found)
    identity = score_id(context.session, prompt_id, text)
    # A sample of the replies that pass the gate is judged too, to measure what the rules miss.
    passes = found.density is not None and not found.escalate
    errors: list[Exception] = [scorer.error] if scorer.error else []
    kept = [""]
    if "replies" in context.settings.texts("ledger.keep_text"):
        errors += gate.run_steps(lambda: kept.append(_text_to_keep(text, last.prompt, transcript)))
    score = found._replace(
        id=identity,
        matches=found.matches[: table["recorded_matches"]],
        audit=passes and gate.is_sampled("audit", identity, table["audit_share"]),
        mode=context.settings.text("scoring.mode"),
        prompt_id=prompt_id,
        model=last.model,
        transcript=transcript,
        text=kept[-1],
        turn=state.replies() + 1,
    )
    drift = gate.Drift(score.drift, score.severity)
    errors += gate.run_steps(
        lambda: state.count_reply(recent),
        lambda: context.append("scores", score.fields()),
        (lambda: gate.record_drift(drift, score, context)) if score.drift else state.discard_correction,
    )
    return score, text, errors


def _text_to_keep(text: str, prompt: str, transcript: str) -> str:
    """Return the redacted reply; empty if it may repeat a private part of a prompt of its session. Raises OSError."""
    if without_private(prompt) != prompt or _holds_private_prompt(transcript):
        return ""
    return redact(without_private(text), "ledger").text


def _holds_private_prompt(path: str) -> bool:
    """Return whether a prompt of a transcript has a `<private>` part, which any later reply may repeat. Raises OSError."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        lines = (line for line in iter(lambda: file.readline(MAX_LINE), b"") if b"private" in line.lower())
        texts = (user_input_of(record)[1] for record in map(parse_row, lines) if record)
        return any(without_private(text) != text for text in texts)


def may_request_grade(context: Context, *, judges_off: bool) -> bool:
    """Return whether a judge may be asked about replies here.

    This requires hybrid mode and no earlier refusal in this session. `judges_off` says that the project's environment may have set an
    endpoint or a key.
    """
    is_on = context.settings.is_judge_enabled("scoring") and not judges_off
    return is_on and not ReplyState(context.paths, context.session).is_judge_disabled()


class LastReply(NamedTuple):
    """The last reply at the end of a transcript, and the prompt before it; of a slash command, its arguments.

    Any field may be empty: the file may lag behind, and a turn may be long.
    """

    text: str
    prompt: str
    model: str


def read_last_reply(path: str) -> LastReply:
    """Return the last reply at the end of a transcript. Never raises; the fields stay empty for an unreadable file."""
    text = model = ""
    prompt: str | None = None
    for row in records_backwards(path, _TAIL_BYTES):
        kind, words = user_input_of(row)
        if row.get("type") == "assistant":
            text = text or (reply_text_of(row) if prompt is None else "")
            model = model or _model_of(row)  # even of an earlier turn, because it is most likely the same
        elif prompt is None and kind:
            prompt = words
        if prompt is not None and model:
            break
    return LastReply(text, prompt or "", model)


def _model_of(row: Row) -> str:
    model = as_text(message_of(row).get("model"))
    return "" if model == SYNTHETIC or row.get("isSidechain") else model
