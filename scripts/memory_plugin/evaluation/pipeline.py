"""One evaluation, from top to bottom: gates, then the jury where it is wanted and makes sense, then one verdict."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from .gates import hard_fail, run_gates
from .jury import ask_jury
from .reduce import overall, spread, tabulated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..kernel.clock import Deadline
    from .conversation import Conversation
    from .gates import GateResult
    from .jury import Ballot, Seat
    from .packs import Pack
    from .reduce import Overall, Row
    from .rubric import EvaluationRubric

__all__ = ["Evaluation", "Plan", "evaluate", "record"]

SCHEMA = 1


class Plan(NamedTuple):
    """What to evaluate with. An empty jury asks nobody; `why_no_jury` says why."""

    packs: Sequence[Pack]
    rubric: EvaluationRubric
    jury: Sequence[Seat]
    quorum: int
    runs: int
    judges_after_fail: bool
    why_no_jury: str


class Evaluation(NamedTuple):
    """What came of one conversation; `scores` are the overall scores of all runs of the jury."""

    conversation: Conversation
    gates: list[GateResult]
    ballots: list[Ballot]
    rows: list[Row]
    overall: Overall
    scores: list[float]
    all_rows: list[Row]
    rules_ms: float
    judges_ms: float
    cost: float | None


def evaluate(conversation: Conversation, plan: Plan, deadline: Deadline) -> Evaluation:
    """The evaluation of one conversation. Judges are not asked after a hard fail unless the plan says so."""
    started = perf_counter()
    gates = run_gates(plan.packs, conversation)
    rules_ms = _since(started)
    ballots: list[Ballot] = []
    rows: list[Row] = []
    scores: list[float] = []
    all_rows: list[Row] = []
    spent: list[float | None] = []
    started = perf_counter()
    asked = bool(plan.jury) and (plan.judges_after_fail or not hard_fail(gates))
    for run in range(plan.runs if asked else 0):
        ballots = ask_jury(plan.jury, plan.rubric, conversation, deadline, fresh=run > 0)
        rows = tabulated(plan.rubric, ballots, plan.quorum)
        all_rows += rows
        spent += [ballot.verdict.cost for ballot in ballots]
        score = overall(gates, plan.rubric, rows, judged=True).score
        scores += [] if score is None else [score]
    end = overall(gates, plan.rubric, rows, judged=asked)
    judges_ms = _since(started) if asked else 0.0
    known = [cost for cost in spent if cost is not None]
    cost = sum(known) if len(known) == len(spent) else None
    return Evaluation(conversation, gates, ballots, rows, end, scores, all_rows, rules_ms, judges_ms, cost)


def _since(started: float) -> float:
    return round((perf_counter() - started) * 1000, 3)


def record(evaluation: Evaluation, plan: Plan) -> dict[str, Any]:
    """The evaluation as JSON can hold it. Rules cost nothing; `judges` is None where a price is unknown."""
    end = evaluation.overall
    return {
        "schema": SCHEMA,
        "id": evaluation.conversation.id,
        "digest": evaluation.conversation.digest,
        "turns": len(evaluation.conversation.turns),
        "skipped_lines": evaluation.conversation.skipped,
        "verdict": end.verdict,
        "overall": end.score,
        "reason": end.reason,
        "weight_scored": end.share,
        "renormalised": end.score is not None and 0 < end.share < 1,
        "hard_fail": hard_fail(evaluation.gates),
        "packs": [pack.id for pack in plan.packs],
        "rubric": {"id": plan.rubric.id, "digest": plan.rubric.digest},
        "gates": [_gate(result) for result in evaluation.gates],
        "jury": _jury(evaluation, plan),
        "latency_ms": {"rules": evaluation.rules_ms, "judges": evaluation.judges_ms},
        "cost_usd": {"rules": 0.0, "judges": evaluation.cost},
    }


def _gate(result: GateResult) -> dict[str, Any]:
    return {**result._asdict(), "findings": [finding._asdict() for finding in result.findings]}


def _jury(evaluation: Evaluation, plan: Plan) -> dict[str, Any]:
    if not evaluation.ballots:
        return {"asked": False, "why": plan.why_no_jury or "a gate failed"}
    return {
        "asked": True,
        "quorum": plan.quorum,
        "one_family": len({ballot.seat.judge.backend for ballot in evaluation.ballots}) == 1,
        "judges": [_ballot(ballot) for ballot in evaluation.ballots],
        "dimensions": [_dimension(row) for row in evaluation.rows],
        "variance": spread(evaluation.scores),
    }


def _dimension(row: Row) -> dict[str, Any]:
    return {
        "dimension": row.dimension,
        "weight": row.weight,
        "scores": list(row.scores),
        "valid": row.valid,
        "abstained": row.abstained,
        "median": row.median,
        "mean": row.mean,
        "sd": row.sd,
        "range": row.range,
    }


def _ballot(ballot: Ballot) -> dict[str, Any]:
    verdict, seat = ballot.verdict, ballot.seat
    values = verdict.values or {}
    return {
        "judge": seat.name,
        "persona": seat.persona,
        "instead_of": seat.instead_of,
        "outcome": verdict.failure or "ok",
        "cached": verdict.cached,
        "ms": verdict.ms,
        "cost_usd": verdict.cost,
        "clamped": values.get("clamped", 0),
        "scores": values.get("scores", {}),
    }
