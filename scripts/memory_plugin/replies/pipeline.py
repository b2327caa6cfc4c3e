"""Scoring one reply, from top to bottom: signals, kind of message, gate, drift, ledger, correction. No judge and no network."""

from __future__ import annotations

from ..kernel.files import cause
from ..kernel.ledger import Ledger
from ..kernel.native import digest
from .data import load_lexicon, load_table
from .drift import Drift, correction, find_drift
from .escalation import by_hash, decide, load_bounds
from .query_type import AMBIGUOUS, load_query_types
from .rules import load_rules
from .signals import measure
from .state import SessionState
from .transcript import last_reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..kernel.paths import Places
    from ..kernel.settings.load import Settings
    from .escalation import Decision
    from .rules import Rules
    from .signals import Signals

__all__ = ["Reply", "Score", "Scorer", "describe", "note_drift", "score_id", "score_reply"]


class Reply:
    """A reply as the host hands it over when a turn ends."""

    __slots__ = ("prompt_id", "session", "text", "transcript")

    def __init__(self, text: str, session: str = "", prompt_id: str = "", transcript: str = "") -> None:
        self.text = text
        self.session = session
        self.prompt_id = prompt_id
        self.transcript = transcript


class Score:
    """What rules say about one reply; `id` names it in every ledger."""

    __slots__ = ("decision", "drift", "id", "query_type", "signals", "threshold")

    def __init__(
        self, signals: Signals, query_type: str, decision: Decision, drift: Drift | None, threshold: int
    ) -> None:
        self.signals = signals
        self.query_type = query_type
        self.decision = decision
        self.drift = drift
        self.threshold = threshold
        self.id = ""


class Scorer:
    """All that scoring needs, loaded once; `trouble` says what of the user's own rules is not used."""

    __slots__ = ("_bounds", "_drift", "_lexicon", "_rules", "trouble")

    def __init__(self, settings: Settings, state_dir: str | None, rules: Rules | None = None) -> None:
        self._rules = rules or load_rules(state_dir)
        self._lexicon = load_lexicon()
        self._bounds = load_bounds(settings, load_table("gate"))
        self._drift = load_table("drift")
        self.trouble = self._rules.trouble

    def score(self, text: str, query_type: str, drafting: bool = False) -> Score:
        """The score of a text as a reply to a message of some kind; nothing is written down."""
        signals = measure(text, self._rules, self._lexicon, drafting)
        decision = decide(signals, query_type, self._bounds)
        drift = find_drift(signals, query_type, self._bounds, self._drift)
        return Score(signals, query_type, decision, drift, self._bounds.threshold(query_type))


def score_reply(reply: Reply, places: Places, settings: Settings) -> tuple[Score, dict[str, Any], list[str]]:
    """Score a reply and write the score down: the score, its record, and what went wrong on the way. Never raises OSError."""
    state = SessionState(places, reply.session)
    tail = last_reply(reply.transcript)
    text = reply.text = reply.text or tail.text
    query_type, drafting = _asked(tail.prompt)
    scorer = Scorer(settings, places.state_dir)
    score = scorer.score(text, query_type, drafting)
    score.id = score_id(reply.session, reply.prompt_id, text)
    troubles = [scorer.trouble]
    record = describe(score, settings)
    record.update(
        prompt_id=reply.prompt_id,
        model=tail.model,
        transcript=reply.transcript,
        record=tail.record if tail.text == text else "",
    )
    try:
        record["turn"] = state.count_reply()
        state.drop_correction()
    except OSError as error:
        troubles.append("the session's state was not kept: %s" % cause(error))
    if settings.flag("scoring.keep_text"):
        from ..kernel.hygiene import redact

        record["text"] = redact(text, "ledger").text
    troubles.append(
        _ledger(places, settings, "scores").append(reply.session, places.project_key, record) or ""
    )
    if score.drift is not None:
        troubles.append(note_drift(score, score.drift, reply.session, reply.prompt_id, places, settings))
    return score, record, [trouble for trouble in troubles if trouble]


def score_id(session: str, prompt_id: str, text: str) -> str:
    """What names a score in every ledger; the same reply to the same prompt has the same."""
    parts = (session, prompt_id, digest(text.encode("utf-8", "replace")))
    return digest("\0".join(parts).encode("utf-8", "replace"), 8)


def _asked(prompt: str) -> tuple[str, bool]:
    """The kind of the message before a reply, and whether it asked for a draft."""
    if not prompt:
        return AMBIGUOUS, False
    return load_query_types().classify(prompt)


def describe(score: Score, settings: Settings) -> dict[str, Any]:
    """The record of a score, without ids and texts."""
    signals = score.signals
    most = load_table("gate")["recorded_matches"]
    return {
        "kind": "score",
        "id": score.id,
        "padding_count": signals.padding,
        "matches": [[match.start, match.end, match.rule.id] for match in signals.matches[:most]],
        "preamble_words": signals.preamble,
        "words": signals.words,
        "density": signals.density,
        "cut": signals.cut,
        "query_type": score.query_type,
        "threshold": score.threshold / 1000,
        "gate": score.decision.row,
        "escalate": score.decision.escalate,
        "audit": is_audited(score, settings),
        "mode": settings.text("scoring.mode"),
        "drift": score.drift.categories if score.drift else [],
    }


def is_audited(score: Score, settings: Settings) -> bool:
    """Whether a reply that the gate lets pass is judged all the same, to measure what the rules miss."""
    measured = score.signals.density is not None and not score.decision.escalate
    return measured and by_hash("audit", score.id, settings.number("scoring.audit_share"))


def note_drift(
    score: Score, drift: Drift, session: str, prompt_id: str, places: Places, settings: Settings
) -> str:
    """Write a drift down and leave its correction for the next prompt, unless it belongs to the control share; what went wrong, or ""."""
    table = load_table("drift")
    signals = score.signals
    row, text = correction(drift, signals.padding, signals.density, score.query_type, table)
    held = by_hash("holdout", score.id, settings.number("scoring.holdout"))
    wanted = bool(text) and settings.flag("scoring.corrections")
    record: dict[str, object] = {
        "kind": "drift", "id": score.id, "prompt_id": prompt_id, "categories": drift.categories, "severity": drift.severity,
        "query_type": score.query_type, "padding_count": signals.padding, "density": signals.density, "threshold": drift.threshold / 1000,
        "levels": drift.levels, "correction": row, "arm": ("control" if held else "corrected") if wanted else "none",
    }  # fmt: skip
    trouble = _ledger(places, settings, "drift").append(session, places.project_key, record) or ""
    if wanted and not held:
        try:
            SessionState(places, session).leave_correction(score.id, text, table["pending_hours"])
        except OSError as error:
            trouble = trouble or "the correction was not left: %s" % cause(error)
    return trouble


def _ledger(places: Places, settings: Settings, name: str) -> Ledger:
    return Ledger(
        places.state(), name, settings.integer("ledger.max_bytes"), settings.integer("ledger.keep_files")
    )
