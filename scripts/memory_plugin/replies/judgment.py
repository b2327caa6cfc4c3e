"""Ask a judge about an escalated reply: record its answer, overrides where judge and rules differ, and additional drift."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..kernel.overrides import load_or_shipped
from .drift import Drift, raise_drift, record_drift
from .grading import GradeMaterial, grade_question
from .reply_state import ReplyState, count_judged, run_steps
from .score_history import PADDING_DIMENSIONS, severe_dimensions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..kernel.context import Context
    from ..kernel.judge.asking import Judge
    from ..kernel.judge.question import Values, Verdict
    from .grade_request import GradeRequest

# Failures that would repeat for every later reply of the session, so the judge is not asked again in it.
DISABLING_FAILURES = ("no_key", "disabled", "bad_url", "http_401", "http_403")


def grade_reply(
    request: GradeRequest, user: str, calls: Sequence[str], judge: Judge, context: Context
) -> str:
    """Ask the judge about a reply and record the result; return the failure's name, or "" for an answer.

    The score by rules never changes. Raises OSError if something could not be recorded.
    """
    phrases = [request.phrase(start, end) for start, end, _ in request.matches]
    material = GradeMaterial(request.query_type, user, calls, request.shown_text(), phrases)
    question = grade_question(material, context.settings.texts("scoring.judge.dimensions"))
    verdict = judge.ask(question, context.deadline, retry=True)
    errors = run_steps(lambda: context.append("scores", _judged_record(request, verdict, judge.model)))
    if verdict.values is not None:
        values = verdict.values
        errors += run_steps(
            lambda: count_judged(context.paths),
            lambda: _append_override(request, values, context),
            lambda: _add_drift(request, values["levels"], context),
        )
    elif verdict.failure in DISABLING_FAILURES:
        state = ReplyState(context.paths, context.session)
        errors += run_steps(lambda: state.disable_judge(verdict.failure))
    if errors:
        raise errors[0]
    return verdict.failure


def _judged_record(request: GradeRequest, verdict: Verdict, model: str) -> dict[str, object]:
    """Return the record that joins the score by its id."""
    record: dict[str, object] = {
        "kind": "judged", "id": request.id, "why": request.why, "outcome": verdict.failure or "ok", "judge_model": model,
        "latency_ms": verdict.ms, "cost_usd": verdict.cost, "cached": verdict.cached,
    }  # fmt: skip
    if verdict.values is not None:
        values = verdict.values
        record.update(
            levels=values["levels"],
            clamped=values["clamped"],
            phrases=[[request.matches[at][2], filler] for at, filler in values["phrases"]],
            missed=[request.original_span(*span) for span in values["missed"]],
            agrees=_agrees(request, values),
        )
    return record


def _agrees(request: GradeRequest, values: Values) -> bool:
    """Return whether the judge agrees with the rules.

    With verdicts on phrases, it agrees if it confirms all of them. Without, it agrees if it found padding (passages quoted as missed, or a
    severe level of a padding dimension) exactly where the rules did.
    """
    if values["phrases"]:
        return all(filler for _, filler in values["phrases"])
    is_padded = not severe_dimensions(values["levels"]).isdisjoint(PADDING_DIMENSIONS)
    return (is_padded or bool(values["missed"])) == (request.padding > 0)


def _append_override(request: GradeRequest, values: Values, context: Context) -> None:
    """Record for `memory replies tune` where the judge differs from the rules: phrases cleared, padding missed."""
    cleared = [request.matches[at] for at, filler in values["phrases"] if not filler]
    severe = severe_dimensions(values["levels"])
    # Where rules found padding, a severe level of a padding dimension agrees with them.
    added = severe if request.padding == 0 else severe - PADDING_DIMENSIONS
    if not cleared and not added and not values["missed"]:
        return
    record: dict[str, object] = {
        "kind": "override",
        "id": request.id,
        "why": request.why,
        "padding_count": request.padding,
        "cleared": [match[2] for match in cleared],
        "cleared_spans": [match[:2] for match in cleared],
        "levels": values["levels"],
        "missed": [request.original_span(*span) for span in values["missed"]],
    }
    context.append("judge-overrides", record)


def _add_drift(request: GradeRequest, levels: dict[str, int], context: Context) -> None:
    """Record the drift that the judge's levels add, unless the settings forbid it or the reply is only audited.

    It is corrected only if the rules saved no correction and no newer reply was scored.
    """
    if not context.settings.flag("scoring.judge.raise_drift") or request.why == "audit":
        return
    before = Drift(
        request.drift, request.severity, request.query_type, request.padding, request.density, request.threshold
    )  # fmt: skip
    drift = raise_drift(before, levels, load_or_shipped("replies", "drift"))
    if drift is None:
        return
    is_current = ReplyState(context.paths, context.session).replies() == request.turn
    kind = "raised" if request.drift else "drift"
    may_correct = not request.drift and is_current
    record_drift(drift, request.id, request.prompt_id, context, kind=kind, may_correct=may_correct)
