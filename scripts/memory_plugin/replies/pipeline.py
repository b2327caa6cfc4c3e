"""Score one reply with rules: read it, measure it, decide on escalation and drift, record the score.

A hook never waits for a judge. Replies on which the rules are unsure are marked here (`ScoredReply.wants_judge`), and `encode_request`
hands them to `memory grade`, which asks the judge in the background (see `grading.py`). Without one, the score by rules is the result.
"""

from __future__ import annotations

from ..kernel.data import load_data
from ..kernel.fastjson import dumps
from .escalation import EscalationThresholds, decide_escalation, find_drift, is_sampled, record_drift
from .filler import load_filler_rules
from .phrases import AMBIGUOUS, QueryClassifier
from .reply_signals import WordLists, measure_reply
from .reply_state import ReplyState, run_steps
from .transcript_replies import holds_private_prompt, read_last_reply, score_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.context import Context
    from ..kernel.settings.values import Settings
    from .escalation import Drift
    from .filler import RulePackError
    from .reply_signals import ReplySignals
    from .transcript_replies import LastReply

_MAX_CHARACTERS = 40_000  # of a reply in a request
_MIN_CHARACTERS = 1000


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
    """One reply's score by rules: the gate's row and whether it escalates; `threshold` is the expected density."""

    __slots__ = ("drift", "escalates", "query_type", "row", "signals", "threshold")

    def __init__(self, signals: ReplySignals, query_type: str, threshold: float) -> None:
        self.signals = signals
        self.query_type = query_type
        self.threshold = threshold
        self.row = ""
        self.escalates = False
        self.drift: Drift | None = None

    def fields(self) -> dict[str, Any]:
        """Return the figures that the ledger and `memory replies score` share; nothing is quoted."""
        return {
            "padding_count": self.signals.padding,
            "preamble_words": self.signals.preamble,
            "density": self.signals.density,
            "query_type": self.query_type,
            "threshold": self.threshold,
            "gate": self.row,
            "escalate": self.escalates,
            "drift": self.drift.categories if self.drift else [],
        }


class ReplyScorer:
    """The data for scoring, loaded once; `error` names a rejected rule of the user's own pack, else None."""

    __slots__ = ("_bounds", "_classifier", "_drift", "_lists", "_rules", "error")

    def __init__(self, settings: Settings, state_dir: str | None) -> None:
        self._rules = load_filler_rules(state_dir)
        self._lists = WordLists()
        self._bounds = EscalationThresholds(settings)
        self._drift = load_data("replies", "drift")
        self._classifier: QueryClassifier | None = None
        self.error: RulePackError | None = self._rules.error

    def score(self, text: str, prompt: str, query_type: str = "") -> ReplyScore:
        """Score a text as a reply to a prompt, without recording anything. `query_type` overrides the kind that rules find."""
        by_rules, drafting = AMBIGUOUS, False
        if prompt:
            self._classifier = self._classifier or QueryClassifier()
            by_rules, drafting = self._classifier.classify(prompt)
        query_type = query_type or by_rules
        signals = measure_reply(text, self._rules, self._lists, drafting)
        score = ReplyScore(signals, query_type, self._bounds.threshold(query_type) / 1000)
        score.row, score.escalates = decide_escalation(signals, query_type, self._bounds)
        score.drift = find_drift(signals, query_type, self._bounds, self._drift)
        return score


class ScoredReply:
    """A scored reply: its text and ids, the score, its record in `scores.jsonl`, and the errors that occurred."""

    __slots__ = ("errors", "record", "reply", "score")

    def __init__(self, reply: CompletedReply, score: ReplyScore, record: dict[str, Any]) -> None:
        self.reply = reply
        self.score = score
        self.record = record
        self.errors: list[Exception] = []

    @property
    def wants_judge(self) -> bool:
        """Return whether the rules are unsure about the reply, or the audit sample includes it."""
        return self.score.escalates or bool(self.record["audit"])


def score_reply(reply: CompletedReply, context: Context) -> ScoredReply:
    """Score a reply, record the score, and save a correction for the next prompt. Disk errors are collected, never raised."""
    # Read: the host may omit the text; the prompt is only in the transcript.
    last = read_last_reply(reply.transcript)
    reply.text, reply.prompt = reply.text or last.text, last.prompt
    scorer = ReplyScorer(context.settings, context.paths.state_dir)
    score = scorer.score(reply.text, last.prompt)
    # Record: every step runs even if the disk fails in another one.
    record = _score_record(reply, last, score, context)
    scored = ScoredReply(reply, score, record)
    scored.errors += [scorer.error] if scorer.error else []
    if "replies" in context.settings.texts("ledger.keep_text"):
        scored.errors += run_steps(lambda: _keep_text(scored))
    scored.errors += run_steps(
        lambda: _count_reply(record, context), lambda: context.append("scores", record)
    )
    if (drift := score.drift) is not None:
        scored.errors += run_steps(lambda: record_drift(drift, record, context))
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


def _score_record(
    reply: CompletedReply, last: LastReply, score: ReplyScore, context: Context
) -> dict[str, Any]:
    """Return the ledger record of a score, which quotes nothing of the reply."""
    settings, signals = context.settings, score.signals
    identity = score_id(context.session, reply.prompt_id, reply.text)
    gate = load_data("replies", "gate")
    # A sample of the replies that pass the gate is judged too, to measure what the rules miss.
    passes = signals.density is not None and not score.escalates
    return {
        "kind": "score",
        "id": identity,
        **score.fields(),
        "matches": [
            [match.start, match.end, match.rule.id] for match in signals.matches[: gate["recorded_matches"]]
        ],
        "words": signals.words,
        "cut": signals.cut,
        "audit": passes and is_sampled("audit", identity, gate["audit_share"]),
        "mode": settings.text("scoring.mode"),
        "prompt_id": reply.prompt_id,
        "model": last.model,
        "transcript": reply.transcript,
        "record": last.record if last.text == reply.text else "",
    }


def may_request_grade(context: Context, *, judges_off: bool) -> bool:
    """Return whether a judge may be asked about replies here.

    This requires hybrid mode and no earlier refusal in this session. `judges_off` says that the
    project's environment may have set an endpoint or a key.
    """
    settings = context.settings
    if not settings.is_judge_enabled("scoring") or judges_off:
        return False
    return not ReplyState(context.paths, context.session).is_judge_disabled()


def encode_request(scored: ScoredReply, session: str, limit: int) -> bytes:
    """Return the request to grade a scored reply, for `GradeRequest`: JSON of at most `limit` bytes, with as much text as fits."""
    text, record, drift = scored.reply.text, scored.record, scored.score.drift
    size = _MAX_CHARACTERS
    while True:
        fits = len(text) <= size
        head_end, tail_at = (len(text), len(text)) if fits else (size // 2, len(text) - size // 2)
        matches = [match for match in record["matches"] if match[1] <= head_end or match[0] >= tail_at]
        request = {
            "session": session,
            "score": {**record, "matches": matches, "text": ""},
            "severity": drift.severity if drift else "",
            "head": text[:head_end],
            "tail": text[tail_at:],
            "tail_at": tail_at,
        }
        data = dumps(request).encode("ascii")
        if len(data) <= limit or size <= _MIN_CHARACTERS:  # a character may take twelve bytes as JSON
            return data
        size //= 2
