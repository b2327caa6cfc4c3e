"""Evaluate conversations: gates by rules, then the jury if there is one, then one verdict and its record.

Without jurors, or after a hard fail, the gates decide alone and the record says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any, NamedTuple

from ..kernel.clock import Deadline
from ..kernel.stats import cohen_kappa
from .conversation import Conversation
from .evaluation_gates import PASS, GateResult, is_hard_fail, run_gates
from .evaluation_rubric import EvaluationRubric
from .jury import Juror, Vote, ask_jury, jury_kappa, score_dimensions
from .rule_matching import RulePack

_SCHEMA = 1
_JURY_SECONDS = 60.0  # for all judges of one conversation together


class EvaluationPlan(NamedTuple):
    """The gates, rubric and jury of an evaluation; `why_no_jury` is the reason if there are no jurors."""

    packs: Sequence[RulePack]
    rubric: EvaluationRubric
    jurors: Sequence[Juror]
    quorum: int
    judges_after_fail: bool
    why_no_jury: str


class OverallResult(NamedTuple):
    """The verdict (pass, fail or unjudged) and the score from 0 to 1, None without judges; `share` is the weight that was scored."""

    verdict: str
    score: float | None
    share: float
    reason: str


def evaluate(conversation: Conversation, plan: EvaluationPlan) -> dict[str, Any]:
    """Evaluate one conversation and return the record as JSON.

    After a hard fail, judges are asked only if the plan says so. Rules cost nothing; the cost of `judges` is None if a price is unknown.
    """
    started = perf_counter()
    gates = run_gates(plan.packs, conversation)
    rules_ms = _ms_since(started)
    asks_jury = bool(conversation.turns and plan.jurors) and (
        plan.judges_after_fail or not is_hard_fail(gates)
    )
    started = perf_counter()
    votes = ask_jury(plan.jurors, plan.rubric, conversation, Deadline(_JURY_SECONDS)) if asks_jury else []
    rows = score_dimensions(plan.rubric, votes, plan.quorum) if asks_jury else []
    overall = overall_result(gates, plan.rubric, rows, judged=asks_jury)
    if not conversation.turns:
        overall = OverallResult("unjudged", None, 0.0, "the conversation has no turns")
    costs = [vote.verdict.cost for vote in votes]
    return {
        "schema": _SCHEMA,
        "id": conversation.id,
        "digest": conversation.digest,
        "turns": len(conversation.turns),
        "skipped_lines": conversation.skipped,
        "verdict": overall.verdict,
        "overall": overall.score,
        "reason": overall.reason,
        "weight_scored": overall.share,
        "renormalised": overall.score is not None and 0 < overall.share < 1,
        "hard_fail": is_hard_fail(gates),
        "packs": [pack.id for pack in plan.packs],
        "rubric": {"id": plan.rubric.id, "digest": plan.rubric.digest},
        "gates": [
            {**result._asdict(), "findings": [finding._asdict() for finding in result.findings]}
            for result in gates
        ],
        "jury": _jury_record(votes, rows, plan),
        "latency_ms": {"rules": rules_ms, "judges": _ms_since(started) if asks_jury else 0.0},
        "cost_usd": {"rules": 0.0, "judges": None if None in costs else sum(filter(None, costs))},
    }


def _ms_since(started: float) -> float:
    return round((perf_counter() - started) * 1000, 3)


def _jury_record(
    votes: Sequence[Vote], rows: Sequence[dict[str, Any]], plan: EvaluationPlan
) -> dict[str, Any]:
    if not votes:
        return {"asked": False, "why": plan.why_no_jury or "a gate failed"}
    judges = [
        {
            "judge": juror.name,
            "persona": juror.persona,
            "instead_of": juror.instead_of,
            "outcome": verdict.failure or "ok",
            "cached": verdict.cached,
            "ms": verdict.ms,
            "cost_usd": verdict.cost,
            **(verdict.values or {"clamped": 0, "scores": {}}),
        }
        for juror, verdict in votes
    ]
    return {
        "asked": True,
        "quorum": plan.quorum,
        "one_family": len({vote.juror.judge.backend for vote in votes}) == 1,
        "judges": judges,
        "dimensions": list(rows),
    }


def overall_result(
    results: Sequence[GateResult], rubric: EvaluationRubric, rows: Sequence[dict[str, Any]], *, judged: bool
) -> OverallResult:
    """Return verdict and score.

    A hard fail scores 0, whatever judges say. Otherwise the score is the weighted mean of gates (1 if passed, else 0) and dimensions
    (median over the scale), renormalized over what was scored. Without judges, the gates decide alone and there is no score.
    """
    if is_hard_fail(results):
        failed = sorted({result.gate for result in results if result.hard and result.status != PASS})
        return OverallResult("fail", 0.0, 0.0, "failed gates: " + ", ".join(failed))
    if not judged:
        return OverallResult("pass", None, 0.0, "all gates passed; no judges were asked")
    parts = [(row["weight"], row["median"] / rubric.highest) for row in rows if row["median"] is not None]
    if not parts:
        return OverallResult("unjudged", None, 0.0, "all gates passed; no dimension has a quorum of judges")
    passed = {result.gate: result.status == PASS for result in results}
    parts += [(weight, float(passed[gate])) for gate, weight in rubric.gate_weights.items() if gate in passed]
    share = sum(weight for weight, _ in parts)
    if share <= 0:
        return OverallResult("unjudged", None, 0.0, "nothing that was scored has a weight")
    score = sum(weight * value for weight, value in parts) / share
    verdict = "pass" if score >= rubric.pass_at else "fail"
    reason = "%.2f, and %.2f passes" % (score, rubric.pass_at)
    return OverallResult(verdict, round(score, 4), round(share, 4), reason)


def summarize(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return all results with one verdict: fail if one failed, else unjudged if one could not be judged, else pass."""
    verdicts = {result["verdict"] for result in results}
    verdict = next((worst for worst in ("fail", "unjudged") if worst in verdicts), "pass")
    rows = [row["scores"] for result in results for row in result["jury"].get("dimensions", [])]
    return {"schema": _SCHEMA, "verdict": verdict, "kappa": jury_kappa(rows), "results": list(results)}


def compare_labels(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return kappa, the share of equal labels, and recall and precision by class; pairs are (human label, our label)."""
    table = {}
    for label in sorted({label for pair in pairs for label in pair}):
        agreed = sum(a == b == label for a, b in pairs)
        human, ours = sum(a == label for a, _ in pairs), sum(b == label for _, b in pairs)
        table[label] = {
            "human": human,
            "ours": ours,
            "recall": round(agreed / human, 4) if human else None,
            "precision": round(agreed / ours, 4) if ours else None,
        }
    kappa = cohen_kappa(pairs)
    return {
        "n": len(pairs),
        "equal": sum(a == b for a, b in pairs) / len(pairs),
        "kappa": None if kappa is None else round(kappa, 4),
        "classes": table,
    }
