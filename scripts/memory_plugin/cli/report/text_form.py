"""Print the report in the terminal: the page's sections, in short lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel.text.clean import plain
from ...recall.explain import reason_text
from ..checks import FAIL, WARN
from .elements import count, money, percent
from .page import lead
from .page_recall import OUTCOME_LABELS
from .recall_figures import OUTCOMES

if TYPE_CHECKING:
    from ..console import Console
    from .figures import Report

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
    highest = max(sum(day) for day in days)
    trend = "".join(_STEPS[round((len(_STEPS) - 1) * (day[0] + day[1]) / highest)] for day in days)
    console.line("  told or pointed, by day  %s" % trend)
    reasons = list(recalls.reasons)[:_ROWS]
    if reasons:
        console.line("  why nothing:")
        for name, number in reasons:
            reason = plain(reason_text(name), _MAX_REASON) or "no reason noted"
            console.paragraph(reason, "  %8s  " % count(number), 12)


def _print_memories(report: Report, console: Console) -> None:
    memories = report.memories
    counts = count(memories.stored), count(memories.recalled)
    _heading("Memories", console)
    console.line("  %s active here, %s recalled in this period" % counts)
    if memories.helping:
        console.line("  used most:")
    for row in memories.helping[:_ROWS]:
        uses = count(row.use.told), count(row.use.pointed), count(row.use.used)
        console.line("    told %5s  pointed %5s  used %4s  %s" % (*uses, _cut(row.title, 34)))
    if memories.unused:
        console.line("  never used: %s, such as" % count(memories.unused_number))
    for row in memories.unused[:_ROWS]:
        console.line("    " + _cut(row.title, 70))
    if memories.stale:
        console.line("  may be out of date:")
    for row in memories.stale[:_ROWS]:
        console.paragraph("%s: %s" % (_cut(row.title, 60), row.stale), "    ", 6)
        console.line("      > " + row.fix)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "\u2026"


def _print_missed(report: Report, console: Console) -> None:
    if not report.missed_number:
        return
    _heading("Prompts that found nothing", console)
    console.line("  %s; the latest:" % count(report.missed_number))
    for row in [row for row in report.missed if row.text][:_ROWS]:
        console.paragraph(_cut(row.text, 140), "  %s  " % row.time[:10], 14)


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
        points = tuple(100 * share for share in effect.gap)
        console.line("  effect of corrections: %+.0f points (%+.0f to %+.0f)" % points)


def _print_rest(report: Report, console: Console) -> None:
    figures = report.ledgers
    means = figures.sessions.mean_scores()
    if means:
        _heading("Sessions", console)
        for name, (mean, number) in sorted(means.items()):
            console.line("  %-22s %.2f  (%s)" % (plain(name, 22).replace("_", " "), mean, count(number)))
    _heading("Spend", console)
    spent, tokens = money(figures.spend.usd), count(figures.recalls.tokens)
    console.line("  judges: %s;  told to Claude: %s tokens" % (spent, tokens))
    _heading("Health", console)
    problems = [check for check in report.checks if check.status in (WARN, FAIL)]
    for check in problems:
        console.paragraph("%s: %s" % (check.name, check.text[:300]), "  %-4s  " % check.status, 8)
    if not problems:
        console.line("  the doctor found no problems")
    median, p95 = figures.recalls.wait.quantile(0.5), figures.recalls.wait.quantile(0.95)
    if median is not None and p95 is not None:
        console.line("  time in the hook: median %.0f ms, 95%% below %.0f ms" % (median, p95))
    lines = "line" if figures.lines == 1 else "lines"
    console.line("  %s ledger %s read, %s unreadable" % (count(figures.lines), lines, count(figures.skipped)))
