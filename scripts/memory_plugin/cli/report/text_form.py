"""The report in the terminal: the same sections as the page, in short lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel.text.clean import plain
from ...recall.explain import reason_text
from .elements import count, money, percent
from .page import lead
from .page_recall import OUTCOME_LABELS
from .recall_figures import OUTCOMES

if TYPE_CHECKING:
    from ..console import Console
    from .figures import Report
    from .memory_rows import MemoryRow

__all__ = ["print_report"]

_ROWS = 8
_STEPS = " \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
_BAR = 24
_MAX_REASON = 100


def print_report(report: Report, console: Console) -> None:
    """Print the report."""
    dates = "%s to %s" % (report.since[:10], report.until[:10])
    console.line(console.style("memory report", "bold") + "  %s, %s" % (report.scope, dates))
    console.paragraph(lead(report))
    _print_recall(report, console)
    _print_memories(report, console)
    _print_missed(report, console)
    _print_replies(report, console)
    _print_rest(report, console)


def _heading(text: str, console: Console) -> None:
    console.line()
    console.line(console.style(text, "bold"))


def _print_recall(report: Report, console: Console) -> None:
    recalls = report.ledgers.recalls
    if not recalls.prompts:
        return
    _heading("What Claude was told", console)
    for name in OUTCOMES:
        number = recalls.total(name)
        if number:
            bar = "\u2588" * max(1, round(_BAR * number / recalls.prompts))
            console.line(
                "  %-14s %-*s %9s  %s"
                % (OUTCOME_LABELS[name][1], _BAR, bar, count(number), percent(number, recalls.prompts))
            )
    days = [recalls.days[day] for day in sorted(recalls.days)][-60:]
    most = max(sum(day) for day in days)
    trend = "".join(_STEPS[round((len(_STEPS) - 1) * (day[0] + day[1]) / most)] for day in days)
    console.line("  told or pointed, by day  %s" % trend)
    reasons = list(recalls.reasons)[:_ROWS]
    if reasons:
        console.line("  why nothing:")
        for name, number in reasons:
            console.paragraph(
                plain(reason_text(name), _MAX_REASON) or "no reason noted", "  %8s  " % count(number), 12
            )


def _print_memories(report: Report, console: Console) -> None:
    found = report.memories
    _heading("Memories", console)
    console.line(
        "  %s active here, %s recalled in this period" % (count(found.stored), count(found.recalled))
    )
    if found.helping:
        console.line("  used most:")
        for row in found.helping[:_ROWS]:
            console.line(
                "    told %5s  pointed %5s  used %4s  %s"
                % (count(row.use.told), count(row.use.pointed), count(row.use.used), _title(row, 34))
            )
    if found.unused:
        console.line("  never used: %s, such as" % count(found.unused_number))
        for row in found.unused[:_ROWS]:
            console.line("    " + _title(row, 70))
    if found.stale:
        console.line("  may be out of date:")
        for row in found.stale[:_ROWS]:
            console.paragraph("%s: %s" % (_title(row, 60), row.stale), "    ", 6)
            console.line("      > " + row.fix)


def _title(row: MemoryRow, most: int) -> str:
    return row.title if len(row.title) <= most else row.title[: most - 1] + "\u2026"


def _print_missed(report: Report, console: Console) -> None:
    if not report.missed_number:
        return
    _heading("Prompts that found nothing", console)
    console.line("  %s; the latest:" % count(report.missed_number))
    for row in [row for row in report.missed if row.text][:_ROWS]:
        text = row.text if len(row.text) <= 140 else row.text[:139] + "\u2026"
        console.paragraph(text, "  %s  " % row.time[:10], 14)


def _print_replies(report: Report, console: Console) -> None:
    total = report.ledgers.replies.total()
    if not total.replies:
        return
    _heading("Replies", console)
    shares = percent(total.padded, total.replies), percent(total.drifted, total.replies)
    console.line("  %s scored, %s with filler, %s drifted" % (count(total.replies), *shares))
    for name, number in list(report.ledgers.replies.rules)[:_ROWS]:
        console.line("  %8s  %s" % (count(number), plain(name, 60)))
    effect = report.ledgers.effect
    if effect.gap is not None and effect.is_conclusive:
        console.line(
            "  effect of corrections: %+.0f points (%+.0f to %+.0f)" % tuple(100 * one for one in effect.gap)
        )


def _print_rest(report: Report, console: Console) -> None:
    figures = report.ledgers
    means = figures.sessions.mean_scores()
    if means:
        _heading("Sessions", console)
        for name, (mean, number) in sorted(means.items()):
            console.line("  %-22s %.2f  (%s)" % (plain(name, 22).replace("_", " "), mean, count(number)))
    _heading("Spend", console)
    console.line(
        "  judges: %s;  told to Claude: %s tokens" % (money(figures.spend.usd), count(figures.recalls.tokens))
    )
    _heading("Health", console)
    found = [check for check in report.checks if check.status in ("warn", "fail")]
    for check in found:
        console.paragraph("%s: %s" % (check.name, check.text[:300]), "  %-4s  " % check.status, 8)
    if not found:
        console.line("  the doctor found no problems")
    half, most = figures.recalls.wait.quantile(0.5), figures.recalls.wait.quantile(0.95)
    if half is not None and most is not None:
        console.line("  time in the hook: median %.0f ms, 95%% below %.0f ms" % (half, most))
    lines = "line" if figures.lines == 1 else "lines"
    console.line("  %s ledger %s read, %s unreadable" % (count(figures.lines), lines, count(figures.skipped)))
