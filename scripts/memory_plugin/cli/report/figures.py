"""The figures of a report: read them from a folder of ledgers in one pass, and return them as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...kernel.text.clean import plain
from ...replies.correction_effect import EffectMeter
from .counting import CappedCounter
from .ledger_files import candidates_of
from .recall_figures import OUTCOMES, RecallFigures
from .reply_figures import ReplyFigures
from .session_figures import SessionFigures
from .spend_figures import SpendFigures

if TYPE_CHECKING:
    from ...replies.correction_effect import CorrectionEffect
    from ..checks import Check
    from .ledger_files import LedgerFolder
    from .memory_rows import MemoryFigures, MemoryRow
    from .missed_prompts import MissedRow
    from .spend_figures import FeatureSpend

_MAX_EVENTS = 200
_MAX_NAME = 120


class LedgerFigures(NamedTuple):
    """The sums over the ledgers."""

    recalls: RecallFigures
    replies: ReplyFigures
    effect: CorrectionEffect
    sessions: SessionFigures
    spend: SpendFigures
    events: CappedCounter
    lines: int
    skipped: int


class Report(NamedTuple):
    """What the page, the text and the JSON show; `since` and `until` are UTC times as in ledgers."""

    scope: str
    days: int
    since: str
    until: str
    version: str
    ledgers: LedgerFigures
    memories: MemoryFigures
    missed: list[MissedRow]
    missed_number: int
    checks: list[Check]


def read_ledgers(folder: LedgerFolder) -> LedgerFigures:
    """Read all ledgers of a folder; damaged rows are skipped and counted."""
    recalls, replies, meter = RecallFigures(), ReplyFigures(), EffectMeter()
    sessions, spend, events = SessionFigures(), SpendFigures(), CappedCounter(_MAX_EVENTS)
    _read_recalls(folder, recalls)
    for row in folder.rows("feedback"):
        recalls.add_feedback(row)
    for row in folder.rows("drift"):
        meter.add_drift(row)
    _read_scores(folder, replies, meter)
    for row in folder.rows("sessions"):
        sessions.add(row)
    for row in folder.rows("judge-calls"):
        spend.add(row)
    for row in folder.rows("evaluations"):
        spend.add_evaluation(row)
    for row in folder.rows("events"):
        events.add("%s: %s" % (plain(str(row.get("event")), 40), plain(str(row.get("what")), _MAX_NAME)))
    return LedgerFigures(
        recalls, replies, meter.effect(), sessions, spend, events, folder.lines, folder.skipped
    )


def _read_recalls(folder: LedgerFolder, recalls: RecallFigures) -> None:
    for line in recalls.add_lines(folder.blocks("recalls"), folder.period.project):
        row = folder.parse(line)
        if row is not None:
            recalls.add(row, candidates_of(line))


def _read_scores(folder: LedgerFolder, replies: ReplyFigures, meter: EffectMeter) -> None:
    for line in replies.add_lines(folder.blocks("scores"), meter, folder.period.project):
        row = folder.parse(line)
        if row is not None:
            replies.add(row)
            meter.add_score(row)


def as_json(report: Report) -> dict[str, Any]:
    """Return the report as JSON values."""
    figures = report.ledgers
    return {
        "scope": report.scope,
        "days": report.days,
        "since": report.since,
        "until": report.until,
        "lines": figures.lines,
        "lines_skipped": figures.skipped,
        "recall": _recall_json(figures.recalls),
        "memories": _memories_json(report.memories, figures.recalls.memories_left_out),
        "missed": {"prompts": report.missed_number, "latest": [row._asdict() for row in report.missed]},
        "replies": _replies_json(figures),
        "sessions": {
            "graded": len(figures.sessions.sessions),
            "scores": {
                name: {"mean": round(mean, 3), "sessions": n}
                for name, (mean, n) in figures.sessions.mean_scores().items()
            },
            "signals": dict(figures.sessions.signals()),
        },
        "spend": {
            "usd": round(figures.spend.usd, 6),
            "features": {
                name: _feature_json(spend) for name, spend in sorted(figures.spend.features.items())
            },
            "failures": dict(figures.spend.failures),
            "verdicts": dict(figures.spend.verdicts),
        },
        "health": {
            "checks": [check._asdict() for check in report.checks],
            "events": dict(figures.events),
        },
    }


def _recall_json(recalls: RecallFigures) -> dict[str, Any]:
    return {
        "prompts": recalls.prompts,
        **{name: recalls.total(name) for name in OUTCOMES},
        "sessions": recalls.sessions.estimate(),
        "sessions_exact": recalls.sessions.is_exact,
        "tokens": recalls.tokens,
        "ms_median": _rounded(recalls.wait.quantile(0.5), 1),
        "ms_p95": _rounded(recalls.wait.quantile(0.95), 1),
        "reasons": dict(recalls.reasons),
        "projects": dict(recalls.projects),
        "guards": dict(recalls.guards),
        "other_places": dict(recalls.places),
        "days": {day: dict(zip(OUTCOMES, counts)) for day, counts in sorted(recalls.days.items())},
    }


def _memories_json(memories: MemoryFigures, left_out: int) -> dict[str, Any]:
    return {
        "stored": memories.stored,
        "pending": memories.pending,
        "recalled": memories.recalled,
        "helping": [_memory_json(row) for row in memories.helping],
        "never_used": memories.unused_number,
        "unused": [_memory_json(row) for row in memories.unused],
        "stale_number": memories.stale_number,
        "stale": [{**_memory_json(row), "why": row.stale, "fix": row.fix} for row in memories.stale],
        "left_out": left_out,
    }


def _replies_json(figures: LedgerFigures) -> dict[str, Any]:
    replies, effect = figures.replies, figures.effect
    total = replies.total()
    return {
        **{name: getattr(total, name) for name in ("replies", "padded", "drifted")},
        "density": _mean(total.density, total.measured),
        "models": dict(replies.models),
        "patterns": dict(replies.rules),
        "effect": {
            "corrected": effect.corrected._asdict(),
            "control": effect.control._asdict(),
            "difference": effect.gap,
            "enough": effect.is_conclusive,
        },
    }


def _memory_json(row: MemoryRow) -> dict[str, Any]:
    counts = {name: getattr(row.use, name) for name in row.use.__slots__}
    return {"id": row.name, "title": row.title, "project": row.project, "updated": row.updated, **counts}


def _feature_json(spend: FeatureSpend) -> dict[str, Any]:
    names = ("calls", "cached", "failed", "unpriced", "tokens")
    median = _rounded(spend.wait.quantile(0.5), 1)
    return {**{name: getattr(spend, name) for name in names}, "usd": round(spend.usd, 6), "ms_median": median}


def _mean(total: float, n: int) -> float | None:
    return round(total / n, 3) if n else None


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
