"""Evaluate conversations: gates by rules, then the jury if there is one, then one verdict and its record. Also runs batches of files.

Without jurors, or after a hard fail, the gates decide alone and the record says why.
"""

from __future__ import annotations

import sys
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.clock import Deadline
from ..kernel.fastjson import loads
from ..kernel.files import Unreadable, read_regular
from .aggregate import OverallResult, jury_kappa, overall_result, score_dimensions, variance
from .conversation import Conversation, read_conversation, read_lines
from .evaluation_files import STDIN
from .evaluation_gates import is_hard_fail, run_gates
from .jury import ask_jury
from .scenario import is_scenario, play, read_scenario, risk_gate, score_probes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .aggregate import DimensionScore
    from .evaluation_gates import GateResult
    from .evaluation_rubric import EvaluationRubric
    from .jury import Juror, Vote
    from .packs import RulePack
    from .scenario import Scenario, Subject

SCHEMA = 1
_MAX_SCENARIO = 1 << 20


class EvaluationPlan(NamedTuple):
    """The gates, rubric and jury of an evaluation.

    `seconds` is the time for one run of the jury. `why_no_jury` is the reason if there are no jurors.
    """

    packs: Sequence[RulePack]
    rubric: EvaluationRubric
    jurors: Sequence[Juror]
    quorum: int
    runs: int
    judges_after_fail: bool
    why_no_jury: str
    seconds: float


class Evaluation(NamedTuple):
    """The evaluation of one conversation.

    `votes` and `rows` (one per dimension) are from the last run, `scores` are the overall scores of all runs. `cost` is None if unknown.
    """

    conversation: Conversation
    gates: list[GateResult]
    votes: list[Vote]
    rows: list[DimensionScore]
    overall: OverallResult
    scores: list[float]
    rules_ms: float
    judges_ms: float
    cost: float | None


def evaluate(conversation: Conversation, plan: EvaluationPlan) -> Evaluation:
    """Evaluate one conversation. After a hard fail, judges are asked only if the plan says so."""
    started = perf_counter()
    gates = run_gates(plan.packs, conversation)
    rules_ms = _ms_since(started)
    asks_jury = bool(plan.jurors) and (plan.judges_after_fail or not is_hard_fail(gates))
    votes: list[Vote] = []
    rows: list[DimensionScore] = []
    scores: list[float] = []
    costs: list[float | None] = []
    started = perf_counter()
    deadline = Deadline(plan.seconds * plan.runs)
    for run in range(plan.runs if asks_jury else 0):
        votes = ask_jury(plan.jurors, plan.rubric, conversation, deadline, fresh=run > 0)
        rows = score_dimensions(plan.rubric, votes, plan.quorum)
        costs += [vote.verdict.cost for vote in votes]
        score = overall_result(gates, plan.rubric, rows, judged=True).score
        scores += [] if score is None else [score]
    judges_ms = _ms_since(started) if asks_jury else 0.0
    overall = overall_result(gates, plan.rubric, rows, judged=asks_jury)
    known_costs = [cost for cost in costs if cost is not None]
    cost = sum(known_costs) if len(known_costs) == len(costs) else None
    return Evaluation(conversation, gates, votes, rows, overall, scores, rules_ms, judges_ms, cost)


def _ms_since(started: float) -> float:
    return round((perf_counter() - started) * 1000, 3)


def evaluation_record(evaluation: Evaluation, plan: EvaluationPlan) -> dict[str, Any]:
    """Return the evaluation as JSON. Rules cost nothing; the cost of `judges` is None if a price is unknown."""
    overall, conversation = evaluation.overall, evaluation.conversation
    return {
        "schema": SCHEMA,
        "id": conversation.id,
        "digest": conversation.digest,
        "turns": len(conversation.turns),
        "skipped_lines": conversation.skipped,
        "verdict": overall.verdict,
        "overall": overall.score,
        "reason": overall.reason,
        "weight_scored": overall.share,
        "renormalised": overall.score is not None and 0 < overall.share < 1,
        "hard_fail": is_hard_fail(evaluation.gates),
        "packs": [pack.id for pack in plan.packs],
        "rubric": {"id": plan.rubric.id, "digest": plan.rubric.digest},
        "gates": [
            {**result._asdict(), "findings": [finding._asdict() for finding in result.findings]}
            for result in evaluation.gates
        ],
        "jury": _jury_record(evaluation, plan),
        "latency_ms": {"rules": evaluation.rules_ms, "judges": evaluation.judges_ms},
        "cost_usd": {"rules": 0.0, "judges": evaluation.cost},
    }


def _jury_record(evaluation: Evaluation, plan: EvaluationPlan) -> dict[str, Any]:
    if not evaluation.votes:
        return {"asked": False, "why": plan.why_no_jury or "a gate failed"}
    return {
        "asked": True,
        "quorum": plan.quorum,
        "one_family": len({vote.juror.judge.backend for vote in evaluation.votes}) == 1,
        "judges": [_vote_record(vote) for vote in evaluation.votes],
        "dimensions": [_dimension_record(row) for row in evaluation.rows],
        "variance": variance(evaluation.scores),
    }


def _dimension_record(row: DimensionScore) -> dict[str, Any]:
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


def _vote_record(vote: Vote) -> dict[str, Any]:
    verdict, juror = vote.verdict, vote.juror
    values = verdict.values or {}
    return {
        "judge": juror.name,
        "persona": juror.persona,
        "instead_of": juror.instead_of,
        "outcome": verdict.failure or "ok",
        "cached": verdict.cached,
        "ms": verdict.ms,
        "cost_usd": verdict.cost,
        "clamped": values.get("clamped", 0),
        "scores": values.get("scores", {}),
    }


def evaluate_all(
    files: Sequence[str],
    plan: EvaluationPlan,
    subject: Callable[[], Subject] | None,
    progress: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Evaluate each file; a scenario with a subject is played and evaluated `plan.runs` times.

    Raises EvaluationError, Unreadable and FileNotFoundError.
    """
    results = []
    for number, path in enumerate(files, 1):
        progress("%d of %d: %s" % (number, len(files), path))
        scenario = _load_scenario(path)
        if scenario is None:
            conversation = read_lines(sys.stdin.buffer, "stdin") if path == STDIN else read_conversation(path)
            results.append(_evaluate_conversation(conversation, plan))
        else:
            runs = plan.runs if subject else 1
            results += [_evaluate_scenario(scenario, plan, subject) for _ in range(runs)]
    return results


def _load_scenario(path: str) -> Scenario | None:
    """Return the scenario in a file, or None if the file is something else. Raises EvaluationError."""
    if not path.endswith(".json"):
        return None
    try:
        value = loads(read_regular(path, _MAX_SCENARIO, follow=True)[0].decode("utf-8", "replace"))
    except (Unreadable, ValueError):
        return None
    return read_scenario(path) if is_scenario(value) else None


def _evaluate_conversation(conversation: Conversation, plan: EvaluationPlan) -> dict[str, Any]:
    if conversation.turns:
        return evaluation_record(evaluate(conversation, plan), plan)
    empty = evaluate(conversation, plan._replace(jurors=()))
    overall = OverallResult("unjudged", None, 0.0, "the conversation has no turns")
    return evaluation_record(empty._replace(overall=overall), plan)


def _evaluate_scenario(
    scenario: Scenario, plan: EvaluationPlan, subject: Callable[[], Subject] | None
) -> dict[str, Any]:
    played = play(scenario, subject() if subject else None)
    # With a subject, every run plays the scenario again, so the jury scores each conversation once.
    run_plan = plan._replace(runs=1) if subject else plan
    evaluation = evaluate(played.conversation, run_plan)
    risk = risk_gate(scenario, played, plan.packs)
    gates = [*evaluation.gates, *([risk] if risk else [])]
    overall = overall_result(gates, plan.rubric, evaluation.rows, judged=bool(evaluation.votes))
    record = evaluation_record(evaluation._replace(gates=gates, overall=overall), run_plan)
    return {**record, "tier": scenario.tier, "probes": score_probes(scenario, played, plan.packs)}


def summarize(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return all results with one verdict: fail if one failed, else unjudged if one could not be judged, else pass."""
    verdicts = {result["verdict"] for result in results}
    verdict = next((worst for worst in ("fail", "unjudged") if worst in verdicts), "pass")
    rows = [row["scores"] for result in results for row in result["jury"].get("dimensions", [])]
    tiers: dict[str, dict[str, int]] = {}
    for result in results:
        if result.get("tier"):
            tier = tiers.setdefault(result["tier"], {"n": 0, "passed": 0})
            tier["n"] += 1
            tier["passed"] += result["verdict"] == "pass"
    return {
        "schema": SCHEMA,
        "verdict": verdict,
        "kappa": jury_kappa(rows),
        "tiers": tiers,
        "results": list(results),
    }
