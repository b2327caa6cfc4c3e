"""Score one reply with rules: read it, measure it, decide on escalation and drift, record the score.

A hook never waits for a judge. Replies on which the rules are unsure are marked here (`ScoredReply.wants_judge`); `memory grade` asks the
judge about them in the background (see `judgment.py`). Without a judge, the score by rules is the result.
"""

from __future__ import annotations

from ..kernel.overrides import load_or_shipped
from .drift import find_drift, record_drift
from .escalation import EscalationThresholds, decide_escalation, is_sampled
from .filler import load_filler_rules
from .query_types import AMBIGUOUS, load_query_classifier
from .reply_signals import load_word_lists, measure_reply
from .reply_state import ReplyState, run_steps
from .transcript_replies import holds_private_prompt, read_last_reply, score_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.context import Context
    from ..kernel.settings.load import Settings
    from .drift import Drift
    from .escalation import EscalationDecision
    from .filler import RulePackError
    from .reply_signals import ReplySignals


class CompletedReply:
    """A reply as the host passes it when a turn ends; without a text it is read from the transcript.

    `prompt` is the prompt that it answers, set after the transcript was read.
    """

    __slots__ = ("prompt", "prompt_id", "text", "transcript")

    def __init__(self, text: str, prompt_id: str = "", transcript: str = "") -> None:
        self.text = text
        self.prompt = ""
        self.prompt_id = prompt_id
        self.transcript = transcript


class ReplyScore:
    """One reply's score by rules; `threshold` is the expected density in thousandths."""

    __slots__ = ("decision", "drift", "query_type", "signals", "threshold")

    def __init__(
        self,
        signals: ReplySignals,
        query_type: str,
        decision: EscalationDecision,
        drift: Drift | None,
        threshold: int,
    ) -> None:
        self.signals = signals
        self.query_type = query_type
        self.decision = decision
        self.drift = drift
        self.threshold = threshold

    def fields(self) -> dict[str, Any]:
        """Return the figures that the ledger and `memory replies score` share; nothing is quoted."""
        return {
            "padding_count": self.signals.padding,
            "preamble_words": self.signals.preamble,
            "density": self.signals.density,
            "query_type": self.query_type,
            "threshold": self.threshold / 1000,
            "gate": self.decision.row,
            "escalate": self.decision.escalate,
            "drift": self.drift.categories if self.drift else [],
        }


class ReplyScorer:
    """The data for scoring, loaded once; `error` names a rejected rule of the user's own pack, else None."""

    __slots__ = ("_bounds", "_drift", "_lists", "_rules", "error")

    def __init__(self, settings: Settings, state_dir: str | None) -> None:
        self._rules = load_filler_rules(state_dir)
        self._lists = load_word_lists()
        self._bounds = EscalationThresholds(settings, load_or_shipped("replies", "gate"))
        self._drift = load_or_shipped("replies", "drift")
        self.error: RulePackError | None = self._rules.error

    def score(self, text: str, query_type: str, drafting: bool = False) -> ReplyScore:
        """Score a text as a reply to a message of that kind, without recording anything."""
        signals = measure_reply(text, self._rules, self._lists, drafting)
        decision = decide_escalation(signals, query_type, self._bounds)
        drift = find_drift(signals, query_type, self._bounds, self._drift)
        return ReplyScore(signals, query_type, decision, drift, self._bounds.threshold(query_type))


class ScoredReply:
    """A scored reply: its text and ids, the score, its record in `scores.jsonl`, and the errors that occurred."""

    __slots__ = ("errors", "record", "reply", "score")

    def __init__(self, reply: CompletedReply, score: ReplyScore, record: dict[str, Any]) -> None:
        self.reply = reply
        self.score = score
        self.record = record
        self.errors: list[Exception] = []

    @property
    def id(self) -> str:
        """Return the score's id, which names it in every ledger."""
        return str(self.record["id"])

    @property
    def wants_judge(self) -> bool:
        """Return whether the rules are unsure about the reply, or the audit sample includes it."""
        return self.score.decision.escalate or bool(self.record["audit"])


def score_reply(reply: CompletedReply, context: Context) -> ScoredReply:
    """Score a reply, record the score, and save a correction for the next prompt. Disk errors are collected, never raised."""
    settings = context.settings
    # Read: the host may omit the text; the prompt is only in the transcript.
    last = read_last_reply(reply.transcript)
    reply.text, reply.prompt = reply.text or last.text, last.prompt
    query_type, drafting = (
        load_query_classifier().classify(last.prompt) if last.prompt else (AMBIGUOUS, False)
    )
    # Decide: signals, then the escalation gate and drift.
    scorer = ReplyScorer(settings, context.paths.state_dir)
    score = scorer.score(reply.text, query_type, drafting)
    # Record: every step runs even if the disk fails in another one.
    identity = score_id(context.session, reply.prompt_id, reply.text)
    record = _score_record(identity, score, settings)
    record.update(
        prompt_id=reply.prompt_id,
        model=last.model,
        transcript=reply.transcript,
        record=last.record if last.text == reply.text else "",
    )
    scored = ScoredReply(reply, score, record)
    scored.errors += [scorer.error] if scorer.error else []
    if settings.flag("scoring.keep_text"):
        scored.errors += run_steps(lambda: _keep_text(scored))
    scored.errors += run_steps(
        lambda: _count_reply(record, context), lambda: context.append("scores", record)
    )
    drift = score.drift
    if drift is not None:
        scored.errors += run_steps(lambda: record_drift(drift, identity, reply.prompt_id, context))
    return scored


def _keep_text(scored: ScoredReply) -> None:
    """Add the redacted reply to the record, unless it may repeat a private part of a prompt of its session. Raises OSError."""
    from ..kernel.hygiene import redact
    from ..kernel.text.tags import without_private

    reply = scored.reply
    if without_private(reply.prompt) == reply.prompt and not holds_private_prompt(reply.transcript):
        scored.record["text"] = redact(without_private(reply.text), "ledger").text


def _count_reply(record: dict[str, Any], context: Context) -> None:
    """Add the reply's number in its session to the record, and discard a correction that came too late for this reply."""
    state = ReplyState(context.paths, context.session)
    record["turn"] = state.count_reply()
    state.discard_correction()


def _score_record(identity: str, score: ReplyScore, settings: Settings) -> dict[str, Any]:
    """Return the ledger record of a score, which quotes nothing of the reply."""
    signals = score.signals
    max_matches = load_or_shipped("replies", "gate")["recorded_matches"]
    # A sample of the replies that pass the gate is judged too, to measure what the rules miss.
    passes = signals.density is not None and not score.decision.escalate
    return {
        "kind": "score",
        "id": identity,
        **score.fields(),
        "matches": [[match.start, match.end, match.rule.id] for match in signals.matches[:max_matches]],
        "words": signals.words,
        "cut": signals.cut,
        "audit": passes and is_sampled("audit", identity, settings.number("scoring.audit_share")),
        "mode": settings.text("scoring.mode"),
    }
