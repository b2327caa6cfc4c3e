"""Score one reply with rules: read it, measure it, decide on escalation and drift, record the score.

This runs in the background when a reply has ended. Replies on which the rules are unsure are marked (`escalate` or `audit` in the record),
and a judge may grade them (see `grading.py`). Without one, the score by rules is the result.
"""

from __future__ import annotations

import os
from typing import Any

from ..kernel.context import Context
from ..kernel.fastjson import as_text, digest
from ..kernel.paths import load_data
from ..kernel.settings import Settings
from ..kernel.transcript.rows import SYNTHETIC, parse_row, records_backwards, reply_text_of, user_input_of
from .escalation import EscalationThresholds, decide_escalation, find_drift, is_sampled, record_drift
from .phrases import AMBIGUOUS, QueryClassifier, RulePackError, load_filler_rules
from .reply_signals import ReplySignals, WordLists, measure_reply
from .reply_state import ReplyState, run_steps

_TAIL_BYTES = 1 << 20  # of a transcript
_MAIN_SOURCES = ("sdk", "repl_main_thread")  # not titles, summaries or sub-agents


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

    def __init__(
        self, signals: ReplySignals, query_type: str, bounds: EscalationThresholds, drift: dict[str, Any]
    ) -> None:
        self.signals = signals
        self.query_type = query_type
        self.threshold = bounds.threshold(query_type) / 1000
        self.row, self.escalates = decide_escalation(signals, query_type, bounds)
        self.drift = find_drift(signals, query_type, bounds, drift)

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
            "drift": self.drift.categories,
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

    def score(self, text: str, prompt: str) -> ReplyScore:
        """Score a text as a reply to a prompt, without recording anything."""
        query_type, drafting = AMBIGUOUS, False
        if prompt:
            self._classifier = self._classifier or QueryClassifier()
            query_type, drafting = self._classifier.classify(prompt)
        signals = measure_reply(text, self._rules, self._lists, drafting)
        return ReplyScore(signals, query_type, self._bounds, self._drift)


def score_reply(reply: CompletedReply, context: Context) -> tuple[dict[str, Any], list[Exception]]:
    """Score a reply, record the score, and save a correction for the next prompt.

    Returns the record in `scores.jsonl` and the errors that occurred: every step runs even if the disk fails in another one.
    """
    # The host may omit the text, and the prompt is only in the transcript.
    last = read_last_reply(reply.transcript)
    reply.text, reply.prompt = reply.text or last.text, last.prompt
    scorer = ReplyScorer(context.settings, context.paths.state_dir)
    score = scorer.score(reply.text, last.prompt)
    record = _score_record(reply, last, score, context)
    errors: list[Exception] = [scorer.error] if scorer.error else []
    if "replies" in context.settings.texts("ledger.keep_text"):
        errors += run_steps(lambda: _keep_text(reply, record))
    errors += run_steps(lambda: _count_reply(record, context), lambda: context.append("scores", record))
    state = ReplyState(context.paths, context.session)
    has_drifted = bool(score.drift.categories)
    errors += run_steps(
        (lambda: record_drift(score.drift, record, context)) if has_drifted else state.discard_correction
    )
    return record, errors


def _keep_text(reply: CompletedReply, record: dict[str, Any]) -> None:
    """Add the redacted reply to the record, unless it may repeat a private part of a prompt of its session. Raises OSError."""
    from ..kernel.hygiene import redact
    from ..kernel.text.tags import without_private

    if without_private(reply.prompt) == reply.prompt and not _holds_private_prompt(reply.transcript):
        record["text"] = redact(without_private(reply.text), "ledger").text


def _count_reply(record: dict[str, Any], context: Context) -> None:
    """Add the reply's number in its session to the record."""
    record["turn"] = ReplyState(context.paths, context.session).count_reply()


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
        "severity": score.drift.severity,
        "matches": [
            [match.start, match.end, match.rule.id] for match in signals.matches[: gate["recorded_matches"]]
        ],
        "words": signals.words,
        "audit": passes and is_sampled("audit", identity, gate["audit_share"]),
        "mode": settings.text("scoring.mode"),
        "prompt_id": reply.prompt_id,
        "model": last.model,
        "transcript": reply.transcript,
        "record": last.record if last.text == reply.text else "",
    }


def may_request_grade(context: Context, *, judges_off: bool) -> bool:
    """Return whether a judge may be asked about replies here.

    This requires hybrid mode and no earlier refusal in this session. `judges_off` says that the project's environment may have set an
    endpoint or a key.
    """
    is_on = context.settings.is_judge_enabled("scoring") and not judges_off
    return is_on and not ReplyState(context.paths, context.session).is_judge_disabled()


def score_id(session: str, prompt_id: str, text: str) -> str:
    """Return the id of a score in every ledger; the same reply to the same prompt has the same id."""
    parts = (session, prompt_id, digest(text.encode("utf-8", "replace")))
    return digest("\0".join(parts).encode("utf-8", "replace"), 8)


class LastReply:
    """The last reply at the end of a transcript. Any field may be empty: the file may lag behind, and a turn may be long.

    `text` and `record` are the assistant's last text and its record's id. `has_prompt` says that the user's message before it was found;
    its text, `prompt`, is empty for a slash command without arguments. `repeated_prompt` is the client's copy of the prompt, for turns
    whose own record is further back than is read.
    """

    __slots__ = ("has_prompt", "model", "prompt", "record", "repeated_prompt", "text")

    def __init__(self) -> None:
        self.model = ""
        self.record = ""
        self.text = ""
        self.prompt = ""
        self.has_prompt = False
        self.repeated_prompt: str | None = None


def read_last_reply(path: str) -> LastReply:
    """Return the last reply at the end of a transcript. Never raises; the fields stay empty for an unreadable file."""
    reply = LastReply()
    for record in records_backwards(path, _TAIL_BYTES):
        _add_record(reply, record)
        if reply.has_prompt and reply.model:
            return reply
    if not reply.has_prompt and reply.repeated_prompt is not None:
        reply.has_prompt, reply.prompt = True, reply.repeated_prompt
    return reply


def _holds_private_prompt(path: str) -> bool:
    """Return whether a prompt of a transcript has a `<private>` part, which any later reply may repeat. Raises OSError."""
    from ..kernel.text.tags import without_private
    from ..kernel.transcript.reader import MAX_LINE

    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        lines = (line for line in iter(lambda: file.readline(MAX_LINE), b"") if b"private" in line.lower())
        texts = (user_input_of(record)[1] for record in map(parse_row, lines) if record)
        return any(without_private(text) != text for text in texts)


def _add_record(reply: LastReply, record: dict[str, Any]) -> None:
    """Fill in the empty fields from one record; records come newest first."""
    kind = record.get("type")
    if kind == "assistant":
        _add_answer(reply, record)
    elif reply.has_prompt:  # an earlier turn: only its model is of use, because it is most likely the same
        return
    elif kind == "user":
        kind, reply.prompt = user_input_of(record)
        reply.has_prompt = bool(kind)
    elif kind == "last-prompt" and reply.repeated_prompt is None:
        reply.repeated_prompt = _repeated_prompt(record.get("lastPrompt"))
    elif kind == "api-request" and record.get("querySource") in _MAIN_SOURCES:  # written before the reply is
        params = record.get("params")
        reply.model = reply.model or as_text(params.get("model") if isinstance(params, dict) else None)


def _add_answer(reply: LastReply, record: dict[str, Any]) -> None:
    message = record.get("message")
    if not isinstance(message, dict) or message.get("model") == SYNTHETIC or record.get("isSidechain"):
        return
    reply.model = reply.model or as_text(message.get("model"))
    text = "" if reply.text or reply.has_prompt else reply_text_of(record)
    if text:
        reply.text, reply.record = text, as_text(record.get("uuid"))


def _repeated_prompt(text: object) -> str | None:
    """Return the text of a repeated prompt (a slash command's arguments), or None if no person typed it."""
    kind, words = user_input_of({"type": "user", "message": {"content": text}})
    if not kind:
        return None
    return words.partition(" ")[2] if words.startswith("/") else words
