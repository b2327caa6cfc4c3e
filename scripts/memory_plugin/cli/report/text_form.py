"""The report in the terminal: the sections of the page in short lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel.text.clean import plain
from ...recall.explain import reason_text
from .charts import day_label
from .elements import count, milliseconds, money, percent, shorten
from .page import lead
from .page_quality import best_score, effect_sentence
from .page_recall import OUTCOME_LABELS, recalled_sentence
from .recall_figures import OUTCOMES

if TYPE_CHECKING:
    from ..console import Console
    from .figures import Report

_MAX_ROWS = 8
_MAX_DAYS = 60
_STEPS = " \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
_BAR = 24
_MAX_REASON = 100
_MAX_PROMPT = 140


def print_report(report: Report, console: Console) -> None:
    """Print the report."""
    dates = "%s to %s" % (day_label(report.since), day_label(report.until))
    console.line(console.style("Memory report", "bold") + "  %s, %s" % (report.scope, dates))
    console.paragraph(lead(report))
    _print_recall(report, console)
    _print_memories(report, console)
    _print_missed(report, console)
    _print_replies(report, console)
    _print_sessions(report, console)
    _heading("Spending", console)
    console.line("  judges: %s" % money(report.ledgers.spend.usd))
    console.line("  tokens added to prompts by memories: %s" % count(report.ledgers.recalls.tokens))
    _print_health(report, console)


def _heading(text: str, console: Console) -> None:
    console.line()
    console.line(console.style(text, "bold"))


def _print_recall(report: Report, console: Console) -> None:
    recalls = report.ledgers.recalls
    if not recalls.prompts:
        return
    _heading("What Claude was told", console)
    for outcome in OUTCOMES:
        number = recalls.total(outcome)
        if number:
            _, label = OUTCOME_LABELS[outcome]
            bar = "\u2588" * max(1, round(_BAR * number / recalls.prompts))
            share = percent(number, recalls.prompts)
            console.line("  %-14s %-*s %9s  %s" % (label, _BAR, bar, count(number), share))
    days = [recalls.days[day] for day in sorted(recalls.days)][-_MAX_DAYS:]
    largest = max(sum(counts) for counts in days)
    told_or_pointed = [counts[0] + counts[1] for counts in days]
    trend = "".join(_STEPS[round((len(_STEPS) - 1) * number / largest)] for number in told_or_pointed)
    console.line("  told or pointed to, by day  %s" % trend)
    reasons = list(recalls.reasons)[:_MAX_ROWS]
    if reasons:
        console.line("  why Claude was told nothing:")
    for name, number in reasons:
        text = plain(reason_text(name), _MAX_REASON) or "no reason recorded"
        console.paragraph(text, "  %8s  " % count(number), 12)


def _print_memories(report: Report, console: Console) -> None:
    memories = report.memories
    _heading("Memories", console)
    console.line("  " + recalled_sentence(report))
    if memories.helping:
        console.line("  most used:")
    for row in memories.helping[:_MAX_ROWS]:
        counts = tuple(map(count, (row.use.told, row.use.pointed, row.use.used)))
        console.line("    told %5s  pointed to %5s  used %4s  " % counts + shorten(row.title, 34))
    if memories.unused:
        heading = (
            "never recalled (%s):" if memories.unused_number <= _MAX_ROWS else "never recalled (%s), such as:"
        )
        console.line("  " + heading % count(memories.unused_number))
    for row in memories.unused[:_MAX_ROWS]:
        console.line("    " + shorten(row.title, 70))
    if memories.stale:
        console.line("  may be out of date:")
    for row in memories.stale[:_MAX_ROWS]:
        console.paragraph("%s: %s" % (shorten(row.title, 60), row.stale), "    ", 6)
        console.line("      > " + row.fix)


def _print_missed(report: Report, console: Console) -> None:
    if not report.missed_number:
        return
    _heading("Prompts that found nothing", console)
    rows = [row for row in report.missed if row.text][:_MAX_ROWS]
    console.line("  %s%s" % (count(report.missed_number), " in total, such as:" if rows else ""))
    for row in rows:
        repeats = "  (%s\u00d7)" % count(row.times) if row.times > 1 else ""
        console.paragraph(shorten(row.text, _MAX_PROMPT) + repeats, "  %s  " % row.time[:10], 14)


def _print_replies(report: Report, console: Console) -> None:
    total = report.ledgers.replies.total()
    if not total.replies:
        return
    _heading("Replies", console)
    shares = percent(total.padded, total.replies), percent(total.drifted, total.replies)
    console.line("  %s scored, %s with filler, %s drifted" % (count(total.replies), *shares))
    rules = list(report.ledgers.replies.rules)[:_MAX_ROWS]
    if rules:
        console.line("  most common filler:")
    for name, number in rules:
        console.line("  %8s  %s" % (count(number), plain(name, 60)))
    effect = report.ledgers.effect
    if effect.corrected.n or effect.control.n:
        console.paragraph(effect_sentence(report), "  ", 2)


def _print_sessions(report: Report, console: Console) -> None:
    means = report.ledgers.sessions.mean_scores()
    if not means:
        return
    _heading("Sessions", console)
    console.line("  mean grades (sessions):")
    for name, (mean, number) in sorted(means.items()):
        label = plain(name, 22).replace("_", " ")
        console.line("    %-22s %.2f of %d  (%s)" % (label, mean, best_score(name), count(number)))


def _print_health(report: Report, console: Console) -> None:
    figures = report.ledgers
    _heading("Health", console)
    findings = [check for check in report.checks if check.status in ("warn", "fail")]
    for check in findings:
        console.paragraph("%s: %s" % (check.name, check.text[:300]), "  %-4s  " % check.status, 8)
    if not findings:
        console.line("  memory doctor finds no problems")
    median, p95 = figures.recalls.wait.quantile(0.5), figures.recalls.wait.quantile(0.95)
    if median is not None:
        times = milliseconds(median), milliseconds(p95)
        console.line("  time in the prompt hook: median %s, 95th percentile %s" % times)
    console.line("  ledger lines read: %s, unreadable: %s" % (count(figures.lines), count(figures.skipped)))
