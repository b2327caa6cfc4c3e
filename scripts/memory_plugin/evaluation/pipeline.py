"""Evaluate conversations: gates by rules, then the jury if there is one, then one verdict, its record and its report.

Without jurors, or after a hard fail, the gates decide alone and the record says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from statistics import mean
from time import perf_counter
from typing import NamedTuple

from ..kernel.context import Deadline
from ..kernel.stats import cohen_kappa
from ..kernel.text.clean import plain
from . import jury
from .conversations import Conversation
from .evaluation_gates import PASS, GateResult, is_hard_fail, run_gates
from .jury import DimensionScore, EvaluationRubric, Juror, Vote
from .rule_matching import RulePack

GATES_ONLY = "gates only"
_SCHEMA = 1
_CRISIS_LIMIT = "crisis: rules find explicit signs and few others; only a jury or a person finds the rest"
_MAX_CELL = 240
_FORM = '{"role": "user", "content": "..."}'
_MAX_PLACES = 60  # characters
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


class EvaluationResult(NamedTuple):
    """The result of one conversation. `no_jury` says why no juror was asked, or is empty; the times are milliseconds."""

    conversation: Conversation
    plan: EvaluationPlan
    gates: list[GateResult]
    votes: list[Vote]
    dimensions: list[DimensionScore]
    overall: OverallResult
    no_jury: str
    rules_ms: float
    judges_ms: float

    @property
    def cost(self) -> float | None:
        """Return what the judges cost in US dollars; None if a price is unknown."""
        costs = [vote.verdict.cost for vote in self.votes]
        return None if None in costs else sum(filter(None, costs))

    @property
    def one_family(self) -> bool:
        """Return whether all judges are of one backend."""
        return len({vote.juror.judge.backend for vote in self.votes}) == 1

    @property
    def figures(self) -> dict[str, object]:
        """Return what the record and the ledger both hold."""
        overall, rubric = self.overall, self.plan.rubric
        return {
            "turns": len(self.conversation.turns),
            "verdict": overall.verdict,
            "overall": overall.score,
            "weight_scored": overall.share,
            "hard_fail": is_hard_fail(self.gates),
            "packs": [pack.id for pack in self.plan.packs],
            "rubric": {"id": rubric.id, "digest": rubric.digest},
            "latency_ms": {"rules": self.rules_ms, "judges": self.judges_ms},
            "cost_usd": {"rules": 0.0, "judges": self.cost},
        }

    def record(self) -> dict[str, object]:
        """Return the whole result; its named tuples are objects in JSON."""
        return {
            "schema": _SCHEMA,
            "id": self.conversation.id,
            **self.figures,
            "skipped_turns": list(self.conversation.skipped),
            "tier": self.conversation.tier,
            "reason": self.overall.reason,
            "renormalised": self.overall.score is not None and 0 < self.overall.share < 1,
            "gates": self.gates,
            "jury": self._jury_record(),
        }

    def _jury_record(self) -> dict[str, object]:
        if self.no_jury:
            return {"asked": False, "why": self.no_jury}
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
            for juror, verdict in self.votes
        ]
        return {
            "asked": True,
            "quorum": self.plan.quorum,
            "one_family": self.one_family,
            "judges": judges,
            "dimensions": self.dimensions,
        }

    def ledger_row(self) -> dict[str, object]:
        """Return the record for the ledger: figures and rule ids, no text of the conversation."""
        gates = {}
        for gate in self.gates:
            rules = sorted({finding.rule for finding in gate.findings})
            gates["%s:%s" % (gate.pack, gate.gate)] = [gate.status, rules]
        dimensions = {row.dimension: [row.median, row.sd, row.abstained] for row in self.dimensions}
        judges = [[vote.juror.name, vote.verdict.failure or "ok"] for vote in self.votes]
        return {**self.figures, "gates": gates, "dimensions": dimensions, "judges": judges}

    def text_lines(self) -> list[str]:
        """Return the verdict, then findings and scores."""
        lines = [self.summary_line(), *("  " + line for line in self.evidence(str))]
        for row in self.dimensions:
            median = "unscored" if row.median is None else "%.1f" % row.median
            lines.append("  %s: %s of %s" % (row.dimension, median, row.scores))
        if self.no_jury not in ("", GATES_ONLY):
            lines.append("  jury: %s" % self.no_jury)
        return lines

    def summary_line(self) -> str:
        """Return verdict, score, name and reason on one line."""
        score = "" if self.overall.score is None else " %.2f" % self.overall.score
        name = plain(self.conversation.id, 200)
        return "%s%s  %s: %s" % (self.overall.verdict.upper(), score, name, self.overall.reason)

    def evidence(self, shown: Callable[[str], str]) -> Iterator[str]:
        """Yield a line for each finding and each error of the gates; `shown` prepares texts for the output."""
        for gate in self.gates:
            if gate.error:
                yield "%s: error, which counts as a fail: %s" % (gate.gate, shown(gate.error))
            for finding in gate.findings:
                severity = "note" if finding.note or not gate.hard else "fail"
                place = gate.gate, severity, finding.turn, finding.role, finding.rule
                quote = " \u201c%s\u201d" % shown(finding.excerpt) if finding.excerpt else ""
                yield "%s, %s, turn %d (%s), %s: " % place + finding.reason + quote
        if any(gate.gate == "crisis" for gate in self.gates):
            yield shown(_CRISIS_LIMIT)


class TierResult(NamedTuple):
    """The results of one tier: `degradation` is the share of the first tier's score that was lost."""

    tier: str
    n: int
    passed: int
    score: float | None
    degradation: float | None

    def line(self) -> str:
        """Return the tier on one line."""
        lost = self.degradation
        loss = "" if lost is None else ", %+.0f%% against the first tier" % (-100 * lost)
        score = "unscored" if self.score is None else "score %.2f" % self.score
        tier = plain(self.tier, 60) or "none"
        return "tier %s: %d of %d passed, %s%s" % (tier, self.passed, self.n, score, loss)


class Summary(NamedTuple):
    """All results with one verdict, the agreement of the jurors, and the tiers, if there are any."""

    verdict: str
    kappa: float | None
    tiers: list[TierResult]
    results: Sequence[EvaluationResult]

    def record(self) -> dict[str, object]:
        """Return the summary; its named tuples are objects in JSON."""
        return {"schema": _SCHEMA, **self._asdict(), "results": [result.record() for result in self.results]}


def evaluate(conversation: Conversation, plan: EvaluationPlan) -> EvaluationResult:
    """Evaluate one conversation. After a hard fail, judges are asked only if the plan says so."""
    started = perf_counter()
    gates = run_gates(plan.packs, conversation)
    rules_ms = _ms_since(started)
    is_asked = plan.judges_after_fail or not is_hard_fail(gates)
    jurors = plan.jurors if is_asked and conversation.turns else ()
    started = perf_counter()
    votes = jury.ask_jury(jurors, plan.rubric, conversation, Deadline(_JURY_SECONDS))
    rows = jury.score_dimensions(plan.rubric, votes, plan.quorum) if votes else []
    overall = overall_result(gates, plan.rubric, rows, judged=bool(votes))
    crisis = jury.unanswered_crisis(votes)
    if crisis is not None:
        overall = OverallResult("fail", 0.0, 0.0, "the jury sees a crisis that no reply answers: %s" % crisis)
    if conversation.skipped and overall.verdict != "fail":
        places = plain(", ".join(map(str, conversation.skipped)), _MAX_PLACES)
        why = "not all was read: turn %s; expected %s, see docs/evaluation.md" % (places, _FORM)
        overall = OverallResult("unjudged", None, 0.0, why)
    elif all(turn.role == "system" for turn in conversation.turns):
        overall = OverallResult("unjudged", None, 0.0, "the conversation has no turns")
    no_jury = "" if votes else plan.why_no_jury or "a gate failed"
    judges_ms = _ms_since(started) if votes else 0.0
    return EvaluationResult(conversation, plan, gates, votes, rows, overall, no_jury, rules_ms, judges_ms)


def _ms_since(started: float) -> float:
    return round((perf_counter() - started) * 1000, 3)


def overall_result(
    results: Sequence[GateResult], rubric: EvaluationRubric, rows: Sequence[DimensionScore], *, judged: bool
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
    parts = [(row.weight, row.median / rubric.highest) for row in rows if row.median is not None]
    if not parts:
        return OverallResult("unjudged", None, 0.0, "all gates passed; no dimension has a quorum of judges")
    passed = {result.gate: result.status == PASS for result in results}
    parts += [(weight, float(passed[gate])) for gate, weight in rubric.gates.items() if gate in passed]
    share = sum(weight for weight, _ in parts)
    if share <= 0:
        return OverallResult("unjudged", None, 0.0, "nothing that was scored has a weight")
    score = sum(weight * value for weight, value in parts) / share
    verdict = "pass" if score >= rubric.pass_at else "fail"
    reason = "%.2f, and %.2f passes" % (score, rubric.pass_at)
    return OverallResult(verdict, round(score, 4), round(share, 4), reason)


def summarize(results: Sequence[EvaluationResult]) -> Summary:
    """Return all results with one verdict: fail if one failed, else unjudged if one could not be judged, else pass."""
    verdicts = {result.overall.verdict for result in results}
    verdict = next((worst for worst in ("fail", "unjudged") if worst in verdicts), "pass")
    kappa = jury.jury_kappa([row.scores for result in results for row in result.dimensions])
    tiers = tier_results([(result.conversation.tier, result.overall) for result in results])
    return Summary(verdict, kappa, tiers, results)


def tier_results(results: Sequence[tuple[str, OverallResult]]) -> list[TierResult]:
    """Return the results by tier in order.

    The score of a conversation is its overall score, or 1 if it passed without judges; those that could not be judged count nowhere.
    """
    by_tier: dict[str, list[OverallResult]] = {}
    for tier, overall in results:
        by_tier.setdefault(tier, []).append(overall)
    rows: list[TierResult] = []
    # "10" comes after "2", and "tier 10" after "tier 2".
    for tier in sorted(by_tier, key=lambda name: (len(name), name)) if any(by_tier) else ():
        judged = [overall for overall in by_tier[tier] if overall.verdict != "unjudged"]
        scores = [1.0 if overall.score is None else overall.score for overall in judged]
        score = round(mean(scores), 4) if scores else None
        first = rows[0].score if rows else score
        lost = round(1 - score / first, 4) if first and score is not None else None
        passed = sum(overall.verdict == "pass" for overall in judged)
        rows.append(TierResult(tier, len(by_tier[tier]), passed, score, lost))
    return rows


class Agreement(NamedTuple):
    """How well the gates agree with people: the share of equal labels, kappa, and figures by label."""

    n: int
    equal: float
    kappa: float | None
    classes: dict[str, dict[str, float | None]]


def compare_labels(pairs: Sequence[tuple[str, str]]) -> Agreement:
    """Return the agreement of pairs (human label, our label); recall and precision are None without a case."""
    table: dict[str, dict[str, float | None]] = {}
    for label in sorted({label for pair in pairs for label in pair}):
        agreed = sum(a == b == label for a, b in pairs)
        human, ours = sum(a == label for a, _ in pairs), sum(b == label for _, b in pairs)
        recall, precision = (round(agreed / total, 4) if total else None for total in (human, ours))
        table[label] = {"human": human, "ours": ours, "recall": recall, "precision": precision}
    kappa = cohen_kappa(pairs)
    equal = sum(a == b for a, b in pairs) / len(pairs)
    return Agreement(len(pairs), equal, None if kappa is None else round(kappa, 4), table)


def markdown_report(summary: Summary) -> str:
    """Return the whole report: the verdict, then each conversation with its gates, evidence, jury and costs."""
    count = len(summary.results)
    lines = ["# Evaluation", ""]
    lines.append("**%s**, %d conversation%s" % (summary.verdict.upper(), count, "" if count == 1 else "s"))
    if summary.kappa is not None:
        lines.append("Agreement between judges (mean quadratic weighted kappa): %.2f" % summary.kappa)
    lines += ["", *("- " + _text(tier.line()) for tier in summary.tiers)]
    for result in summary.results:
        lines += ["", "## " + _text(result.conversation.id), "", _text(result.summary_line()), ""]
        lines += [*_gates(result), "", *_jury(result), ""]
        cost = "cost unknown" if result.cost is None else "$%.4f" % result.cost
        times = result.rules_ms, result.judges_ms, cost
        lines.append("Rules: %.1f ms, no cost. Judges: %.0f ms, %s." % times)
    return "\n".join(lines) + "\n"


def _gates(result: EvaluationResult) -> list[str]:
    rows = [["gate", "pack", "status", "ms"]]
    for gate in result.gates:
        status = gate.status + ("" if gate.hard else " (does not count)")
        rows.append([gate.gate, gate.pack, status, "%.1f" % gate.ms])
    evidence = ["- " + line for line in result.evidence(_text)]
    return [*_table(rows), *(["", *evidence] if evidence else [])]


def _jury(result: EvaluationResult) -> list[str]:
    if result.no_jury:
        return ["The jury was not asked: %s." % _text(result.no_jury)]
    names = [_text(vote.juror.name) for vote in result.votes]
    rows = [["dimension", "weight", *names, "median", "mean", "sd", "abstained"]]
    for row in result.dimensions:
        scores = ["-" if score is None else str(score) for score in row.scores]
        values = (row.median, row.mean, row.sd)
        figures = ["unscored" if value is None else "%.2f" % value for value in values]
        rows.append([row.dimension, "%g" % row.weight, *scores, *figures, str(row.abstained)])
    lines = _table(rows)
    if result.one_family and len(names) > 1:
        lines += ["", "All judges are of one family; they differ in persona only."]
    failures = ((_text(vote.juror.name), vote.verdict.failure) for vote in result.votes)
    return [*lines, *("- %s: %s" % failure for failure in failures if failure[1])]


def _table(rows: list[list[str]]) -> list[str]:
    lines = ["| %s |" % " | ".join(row) for row in rows]
    return [lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]]


def _text(value: str) -> str:
    """Return a text on one line in which nothing is Markdown or HTML."""
    line = escape(plain(value, _MAX_CELL), quote=False)
    return "".join("\\" + c if c in _MARKDOWN else c for c in line)
