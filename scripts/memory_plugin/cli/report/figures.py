"""Read all figures of a report from a folder of ledgers in one pass, and return them as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...kernel.text.clean import plain
from ...replies.correction_effect import EffectMeter
from .counting import CappedCounter
from .ledger_files import candidates_of
from .prompt_texts import prompt_texts, shown_prompt
from .recall_figures import NOTHING_FIT, OUTCOMES, RecallFigures
from .reply_figures import ReplyFigures
from .session_figures import SessionFigures
from .spend_figures import SpendFigures

if TYPE_CHECKING:
    from ...kernel.paths import Paths
    from ...replies.correction_effect import CorrectionEffect
    from ..checks import Check
    from .ledger_files import LedgerFolder
    from .memory_rows import MemoryFigures, MemoryRow
    from .spend_figures import FeatureSpend

__all__ = ["LedgerFigures", "MissedRow", "Report", "as_json", "missed_rows", "read_ledgers"]

_MAX_EVENTS = 200
_MAX_PROMPTS = 25
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


class MissedRow(NamedTuple):
    """A prompt that found nothing: its text (empty if its transcript is gone), the reason, and the nearest memory."""

    time: str
    text: str
    prompt_id: str
    project: str
    reason: str
    nearest: str
    confidence: float
    times: int


class Report(NamedTuple):
    """What all three forms of the report show."""

    title: str
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
    """Return the figures of all ledgers in a folder. Damaged rows are skipped and counted."""
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
        row = folder.parsed(line)
        if row is not None:
            recalls.add(row, candidates_of(line))


def _read_scores(folder: LedgerFolder, replies: ReplyFigures, meter: EffectMeter) -> None:
    for line in replies.add_lines(folder.blocks("scores"), meter, folder.period.project):
        row = folder.parsed(line)
        if row is not None:
            replies.add(row)
            meter.add_score(row)


def missed_rows(recalls: RecallFigures, paths: Paths) -> tuple[list[MissedRow], int]:
    """Return the latest prompts that found nothing, each text once, and the number of all such prompts."""
    total = sum(number for reason, number in recalls.reasons if reason in NOTHING_FIT)
    texts = prompt_texts(recalls.missed, paths)
    rows: dict[str, MissedRow] = {}
    for prompt in reversed(recalls.missed):
        text = shown_prompt(prompt.text) if prompt.text else texts.get(prompt.prompt_id, "")
        name = text.casefold() or prompt.prompt_id
        if name in rows:
            rows[name] = rows[name]._replace(times=rows[name].times + 1)
            continue
        rows[name] = MissedRow(
            time=prompt.time,
            text=text,
            prompt_id=plain(prompt.prompt_id, _MAX_NAME),
            project=plain(prompt.project, _MAX_NAME),
            reason=prompt.reason,
            nearest=plain(prompt.nearest, _MAX_NAME),
            confidence=prompt.confidence,
            times=1,
        )
    ordered = sorted(rows.values(), key=lambda row: (bool(row.text), row.times, row.time), reverse=True)
    return ordered[:_MAX_PROMPTS], total


def as_json(report: Report) -> dict[str, Any]:
    """Return the report as JSON data."""
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
            "features": {name: _feature(spend) for name, spend in sorted(figures.spend.features.items())},
            "failures": dict(figures.spend.failures),
            "verdicts": dict(figures.spend.verdicts),
        },
        "health": {"checks": [check._asdict() for check in report.checks], "events": dict(figures.events)},
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
        "helping": [_memory(row) for row in memories.helping],
        "never_used": memories.unused_number,
        "unused": [_memory(row) for row in memories.unused],
        "stale_number": memories.stale_number,
        "stale": [{**_memory(row), "why": row.stale, "fix": row.fix} for row in memories.stale],
        "left_out": left_out,
    }


def _replies_json(figures: LedgerFigures) -> dict[str, Any]:
    replies, effect = figures.replies, figures.effect
    total = replies.total()
    return {
        **{name: getattr(total, name) for name in ("replies", "padded", "drifted")},
        "density": round(total.density / total.measured, 3) if total.measured else None,
        "models": dict(replies.models),
        "patterns": dict(replies.rules),
        "effect": {
            "corrected": effect.corrected._asdict(),
            "control": effect.control._asdict(),
            "difference": effect.gap,
            "enough": effect.is_conclusive,
        },
    }


def _memory(row: MemoryRow) -> dict[str, Any]:
    counts = {name: getattr(row.use, name) for name in row.use.__slots__}
    return {"id": row.name, "title": row.title, "project": row.project, "updated": row.updated, **counts}


def _feature(spend: FeatureSpend) -> dict[str, Any]:
    names = ("calls", "cached", "failed", "unpriced", "tokens")
    median = _rounded(spend.wait.quantile(0.5), 1)
    return {**{name: getattr(spend, name) for name in names}, "usd": round(spend.usd, 6), "ms_median": median}


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
