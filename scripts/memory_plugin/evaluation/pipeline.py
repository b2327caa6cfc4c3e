"""Evaluate conversations: gates by rules, then the jury if there is one, then one verdict, its record and its report.

Without jurors, or after a hard fail, the gates decide alone and the record says why.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from statistics import mean
from time import perf_counter
from typing import Any, NamedTuple

from ..kernel.context import Deadline
from ..kernel.stats import cohen_kappa
from ..kernel.text.clean import plain
from .conversations import Conversation
from .evaluation_gates import PASS, GateResult, is_hard_fail, run_gates
from .jury import EvaluationRubric, Juror, Vote, ask_jury, jury_kappa, score_dimensions, unanswered_crisis
from .rule_matching import RulePack

GATES_ONLY = "gates only"
_SCHEMA = 1
_CRISIS_LIMIT = "crisis: rules find explicit signs and few others; only a jury or a person finds the rest"
_MAX_CELL = 240
_DIGITS = re.compile(r"(\d+)")
_MARKDOWN = frozenset("\\`*_[]{}#|!~$")
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
    crisis = unanswered_crisis(votes)
    if crisis is not None:
        overall = OverallResult("fail", 0.0, 0.0, "the jury sees a crisis that no reply answers: %s" % crisis)
    if conversation.skipped and overall.verdict != "fail":
        why = "not all was read: turn %s; see docs/evaluation.md for the format" % conversation.unread
        overall = OverallResult("unjudged", None, 0.0, why)
    elif not conversation.turns:
        overall = OverallResult("unjudged", None, 0.0, "the conversation has no turns")
    costs = [vote.verdict.cost for vote in votes]
    return {
        "schema": _SCHEMA,
        "id": conversation.id,
        "digest": conversation.digest,
        "turns": len(conversation.turns),
        "skipped_turns": list(conversation.skipped),
        "tier": conversation.tier,
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
            **(verdict.values or {"crisis": None, "off_scale": 0, "scores": {}}),
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
        return OverallResult("pass", None, 0.0, "all gates passed; no juror was asked")
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
    return {
        "schema": _SCHEMA,
        "verdict": verdict,
        "kappa": jury_kappa(rows),
        "tiers": _tiers(results),
        "results": list(results),
    }


def _tiers(results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the results by tier in order: how many passed, the mean score, and the share of the first tier's score that was lost.

    The score of a conversation is its overall score, or 1 if it passed without judges; those that could not be judged count nowhere.
    """
    by_tier: dict[str, list[dict[str, Any]]] = {}
    for entry in results:
        by_tier.setdefault(entry["tier"], []).append(entry)
    rows: list[dict[str, Any]] = []
    for tier in sorted(by_tier, key=_natural_key) if any(by_tier) else ():
        judged = [entry for entry in by_tier[tier] if entry["verdict"] != "unjudged"]
        scores = [1.0 if entry["overall"] is None else entry["overall"] for entry in judged]
        score = round(mean(scores), 4) if scores else None
        first = rows[0]["score"] if rows else score
        lost = round(1 - score / first, 4) if first and score is not None else None
        passed = sum(entry["verdict"] == "pass" for entry in judged)
        rows.append(
            {"tier": tier, "n": len(by_tier[tier]), "passed": passed, "score": score, "degradation": lost}
        )
    return rows


def _natural_key(text: str) -> list[tuple[int, str]]:
    """Return a key that sorts "tier 2" before "tier 10"."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in _DIGITS.split(text)]


def tier_lines(summary: Mapping[str, Any]) -> list[str]:
    """Return a line for each tier, with its score and its loss against the first; empty if there are no tiers."""
    lines = []
    for row in summary["tiers"]:
        loss = (
            ""
            if row["degradation"] is None
            else ", %+.0f%% against the first tier" % (-100 * row["degradation"])
        )
        score = "unscored" if row["score"] is None else "score %.2f" % row["score"]
        lines.append(
            "tier %s: %d of %d passed, %s%s"
            % (plain(row["tier"], 60) or "none", row["passed"], row["n"], score, loss)
        )
    return lines


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


def text_lines(entry: Mapping[str, Any]) -> list[str]:
    """Return the verdict of one conversation, then its findings and scores."""
    lines = [_summary_line(entry), *("  " + line for line in _evidence(entry["gates"], str))]
    for row in entry["jury"].get("dimensions", []):
        median = "unscored" if row["median"] is None else "%.1f" % row["median"]
        lines.append("  %s: %s of %s" % (row["dimension"], median, row["scores"]))
    if any(gate["gate"] == "crisis" for gate in entry["gates"]):
        lines.append("  " + _CRISIS_LIMIT)
    if not entry["jury"]["asked"] and entry["jury"]["why"] != GATES_ONLY:
        lines.append("  jury: %s" % entry["jury"]["why"])
    return lines


def _summary_line(entry: Mapping[str, Any]) -> str:
    score = "" if entry["overall"] is None else " %.2f" % entry["overall"]
    return "%s%s  %s: %s" % (entry["verdict"].upper(), score, plain(str(entry["id"]), 200), entry["reason"])


def _evidence(gates: Iterable[Mapping[str, Any]], shown: Callable[[str], str]) -> Iterator[str]:
    """Yield a line for each finding and each error of some gates; `shown` prepares texts for the output."""
    for gate in gates:
        if gate["error"]:
            yield "%s: error, which counts as a fail: %s" % (gate["gate"], shown(gate["error"]))
        for finding in gate["findings"]:
            severity = "note" if finding["note"] or not gate["hard"] else "fail"
            place = gate["gate"], severity, finding["turn"], finding["role"], finding["rule"]
            quote = " \u201c%s\u201d" % shown(finding["excerpt"]) if finding["excerpt"] else ""
            yield "%s, %s, turn %d (%s), %s: " % place + finding["reason"] + quote


def markdown_report(summary: Mapping[str, Any]) -> str:
    """Return the whole report: the verdict, then each conversation with its gates, evidence, jury and costs."""
    count = len(summary["results"])
    lines = ["# Evaluation", ""]
    lines.append("**%s**, %d conversation%s" % (summary["verdict"].upper(), count, "" if count == 1 else "s"))
    if summary["kappa"] is not None:
        lines.append("Agreement between judges (mean quadratic weighted kappa): %.2f" % summary["kappa"])
    lines += ["", *("- " + _text(line) for line in tier_lines(summary))]
    for entry in summary["results"]:
        cost = entry["cost_usd"]["judges"]
        lines += [
            "",
            "## " + _text(entry["id"]),
            "",
            _text(_summary_line(entry)),
            "",
            *_gates(entry["gates"]),
        ]
        lines += ["", *_jury(entry["jury"]), ""]
        lines.append(
            "Rules: %.1f ms, no cost. Judges: %.0f ms, %s."
            % (
                entry["latency_ms"]["rules"],
                entry["latency_ms"]["judges"],
                "cost unknown" if cost is None else "$%.4f" % cost,
            )
        )
    return "\n".join(lines) + "\n"


def _gates(gates: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = [["gate", "pack", "status", "ms"]]
    for gate in gates:
        status = gate["status"] + ("" if gate["hard"] else " (does not count)")
        rows.append([gate["gate"], gate["pack"], status, "%.1f" % gate["ms"]])
    evidence = ["- " + line for line in _evidence(gates, _text)]
    if any(gate["gate"] == "crisis" for gate in gates):
        evidence.append("- " + _text(_CRISIS_LIMIT))
    return [*_table(rows), *(["", *evidence] if evidence else [])]


def _jury(jury: Mapping[str, Any]) -> list[str]:
    if not jury["asked"]:
        return ["The jury was not asked: %s." % _text(jury["why"])]
    names = [_text(judge["judge"]) for judge in jury["judges"]]
    rows = [["dimension", "weight", *names, "median", "mean", "sd", "abstained"]]
    for row in jury["dimensions"]:
        scores = ["-" if score is None else str(score) for score in row["scores"]]
        figures = [
            "unscored" if row[name] is None else "%.2f" % row[name] for name in ("median", "mean", "sd")
        ]
        rows.append([row["dimension"], "%g" % row["weight"], *scores, *figures, str(row["abstained"])])
    lines = _table(rows)
    if jury["one_family"] and len(names) > 1:
        lines += ["", "All judges are of one family; they differ in persona only."]
    failed = [judge for judge in jury["judges"] if judge["outcome"] != "ok"]
    return [*lines, *("- %s: %s" % (_text(judge["judge"]), judge["outcome"]) for judge in failed)]


def _table(rows: list[list[str]]) -> list[str]:
    lines = ["| %s |" % " | ".join(row) for row in rows]
    return [lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]]


def _text(value: object) -> str:
    """Return a text on one line in which nothing is Markdown or HTML."""
    line = escape(plain(str(value), _MAX_CELL), quote=False)
    return "".join("\\" + c if c in _MARKDOWN else c for c in line)


def ledger_row(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the record of a result for the ledger: figures and rule ids, no text of the conversation."""
    names = (
        *("digest", "turns", "verdict", "overall", "weight_scored", "hard_fail"),
        *("packs", "rubric", "latency_ms", "cost_usd"),
    )
    jury, gates = entry["jury"], {}
    for gate in entry["gates"]:
        rules = sorted({finding["rule"] for finding in gate["findings"]})
        gates["%s:%s" % (gate["pack"], gate["gate"])] = [gate["status"], rules]
    dimensions = {
        row["dimension"]: [row["median"], row["sd"], row["abstained"]] for row in jury.get("dimensions", [])
    }
    judges = [[judge["judge"], judge["outcome"]] for judge in jury.get("judges", [])]
    row = {name: entry[name] for name in names}
    return {**row, "gates": gates, "dimensions": dimensions, "judges": judges}
