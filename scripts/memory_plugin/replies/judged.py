"""What follows from a judge's opinion: the enriched record, the override where judge and rules differ, drift that is raised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.ledger import Ledger
from .data import load_table
from .drift import Drift, correction, raised
from .escalation import by_hash
from .grading import Material, grade_question, opinion
from .state import SessionState
from .tuning_notice import count_judged

if TYPE_CHECKING:
    from ..kernel.clock import Deadline
    from ..kernel.judge.judge import Judge
    from ..kernel.judge.question import Values, Verdict
    from ..kernel.paths import Places
    from ..kernel.settings.load import Settings

__all__ = ["SWITCHED_OFF_BY", "Order", "grade_reply"]

# Failures that no later reply of the session will be spared: the judge is not asked again in it.
SWITCHED_OFF_BY = ("no_key", "disabled", "bad_url", "http_401", "http_403")
_GRAVE = 2  # of 3, from which a dimension says that the reply is padded
_PADDED = ("VDet", "EPad")


class Order(NamedTuple):
    """One reply to be judged: whose it is, what rules said, and its text's head and tail (`tail_at` is where the tail stands)."""

    id: str
    session: str
    prompt_id: str
    query_type: str
    threshold: int
    padding: int
    density: float | None
    why: str
    replies: int
    drifted: list[str]
    severity: str
    matches: list[list[Any]]
    head: str
    tail: str
    tail_at: int


def grade_reply(
    order: Order,
    user: str,
    calls: list[str],
    judge: Judge,
    places: Places,
    settings: Settings,
    deadline: Deadline,
) -> str:
    """Ask, and write down what came of it; the failure's name, or an empty text. The score of the rules stays as it is in any case."""
    phrases = [_phrase(order, start, end) for start, end, _ in order.matches]
    material = Material(
        order.query_type, user, calls, order.head + ("\n[...]\n" + order.tail if order.tail else ""), phrases
    )
    verdict = opinion(judge, grade_question(material, settings.texts("scoring.judge.dimensions")), deadline)
    _append(places, settings, order, "scores", _record(order, verdict, judge.model))
    if verdict.values is None:
        if verdict.failure in SWITCHED_OFF_BY:
            SessionState(places, order.session).switch_judge_off(verdict.failure)
        return verdict.failure
    count_judged(places)
    override = _override(order, verdict.values)
    if override is not None:
        _append(places, settings, order, "judge-overrides", override)
    if settings.flag("scoring.judge.raise_drift") and order.why != "audit":
        _raise_drift(order, verdict.values["levels"], places, settings)
    return ""


def _phrase(order: Order, start: int, end: int) -> str:
    if end <= len(order.head):
        return order.head[start:end]
    return order.tail[max(0, start - order.tail_at) : max(0, end - order.tail_at)]


def _append(places: Places, settings: Settings, order: Order, name: str, record: dict[str, object]) -> None:
    ledger = Ledger(
        places.state(), name, settings.integer("ledger.max_bytes"), settings.integer("ledger.keep_files")
    )
    ledger.append(order.session, places.project_key, record)


def _record(order: Order, verdict: Verdict, model: str) -> dict[str, object]:
    """The line that joins the score by its id."""
    record: dict[str, object] = {
        "kind": "judged", "id": order.id, "why": order.why, "outcome": verdict.failure or "ok", "judge_model": model,
        "latency_ms": verdict.ms, "cost_usd": verdict.cost, "cached": verdict.cached,
    }  # fmt: skip
    if verdict.values is not None:
        values = verdict.values
        record.update(
            levels=values["levels"],
            clamped=values["clamped"],
            phrases=[[order.matches[at][2], filler] for at, filler in values["phrases"]],
            missed=[_in_original(order, *span) for span in values["missed"]],
            agrees=_judge_sees_padding(values) == (order.padding > 0),
        )
    return record


def _in_original(order: Order, start: int, end: int) -> list[int]:
    """A place in what the judge saw as a place in the reply."""
    shift = 0 if end <= len(order.head) else order.tail_at - (len(order.head) + len("\n[...]\n"))
    return [start + shift, end + shift]


def _judge_sees_padding(values: Values) -> bool:
    confirmed = any(filler for _, filler in values["phrases"])
    grave = any(values["levels"].get(name, 0) >= _GRAVE for name in _PADDED)
    return confirmed or grave or bool(values["missed"])


def _override(order: Order, values: Values) -> dict[str, object] | None:
    """The line for the tuning, where the judge says another thing than the rules: phrases cleared, padding missed. Else None."""
    cleared = [order.matches[at] for at, filler in values["phrases"] if not filler]
    grave = {name: level for name, level in values["levels"].items() if level >= _GRAVE}
    new = (
        grave if order.padding == 0 else {name: level for name, level in grave.items() if name not in _PADDED}
    )
    if not cleared and not new and not values["missed"]:
        return None
    return {
        "kind": "override",
        "id": order.id,
        "why": order.why,
        "padding_count": order.padding,
        "cleared": [match[2] for match in cleared],
        "cleared_spans": [match[:2] for match in cleared],
        "levels": values["levels"],
        "missed": [_in_original(order, *span) for span in values["missed"]],
    }


def _raise_drift(order: Order, levels: dict[str, int], places: Places, settings: Settings) -> None:
    """Add what the judge saw to the drift, and leave a correction where none was left; a reply scored since makes it too late."""
    table = load_table("drift")
    before = Drift(order.drifted, order.severity, order.threshold) if order.drifted else None
    drift = raised(before, levels, order.threshold, table)
    if drift is None or drift is before:
        return
    row, text = correction(drift, order.padding, order.density, order.query_type, table)
    state = SessionState(places, order.session)
    held = by_hash("holdout", order.id, settings.number("scoring.holdout"))
    timely = state.replies() == order.replies
    wanted = bool(text) and settings.flag("scoring.corrections") and not order.drifted and timely
    record: dict[str, object] = {
        "kind": "raised" if order.drifted else "drift", "id": order.id, "prompt_id": order.prompt_id, "categories": drift.categories,
        "severity": drift.severity, "query_type": order.query_type, "padding_count": order.padding, "density": order.density,
        "threshold": order.threshold / 1000, "levels": drift.levels, "correction": row,
        "arm": ("control" if held else "corrected") if wanted else "none",
    }  # fmt: skip
    _append(places, settings, order, "drift", record)
    if wanted and not held:
        state.leave_correction(order.id, text, table["pending_hours"])
