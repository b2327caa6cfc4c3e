"""Sections of the page about quality and cost: replies, sessions, spending, health."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel.data import load_data
from ...sessions.dimensions import dimensions
from .charts import columns, fill_buckets, interval, line_chart, safe, share_bar
from .elements import (
    code,
    count,
    empty,
    milliseconds,
    money,
    note,
    percent,
    section,
    side_by_side,
    table,
    tile,
    tiles,
)

if TYPE_CHECKING:
    from ...kernel.stats import Proportion
    from .figures import Report
    from .spend_figures import FeatureSpend

_MAX_ROWS = 10
_MAX_MODELS = 6
_MAX_EXAMPLE = 80


def replies_section(report: Report) -> str:
    """Return the trend of filler, the most common filler, and the effect of corrections."""
    replies = report.ledgers.replies
    total = replies.total()
    text = "How much filler Claude's replies contain, counted by rules. A reply without filler is not necessarily a good one."
    if not total.replies:
        return section("replies", "Replies", text, empty("No replies were scored in this period."))
    counts = {date: (day.replies, day.padded) for date, day in replies.days.items()}
    points = [
        (bucket, bucket.values[1] / bucket.values[0] if bucket.values[0] else None)
        for bucket in fill_buckets(counts, report.since, report.until, 2)
    ]
    density = "%.2f" % (total.density / total.measured) if total.measured else "\u2013"
    return section(
        "replies",
        "Replies",
        text,
        tiles(
            tile(count(total.replies), "replies scored"),
            tile(percent(total.padded, total.replies), "with filler"),
            tile(percent(total.drifted, total.replies), "drifted"),
            tile(density, "mean density, 0 to 1"),
        ),
        '<ul class="legend"><li class="accent">share of replies with filler</li></ul>',
        line_chart(
            points,
            "Share of replies with filler, by day",
            "%s of %s replies contain filler." % (count(total.padded), count(total.replies)),
        ),
        side_by_side(_patterns(report), _effect(report) + _models(report)),
    )


def _patterns(report: Report) -> str:
    rules = list(report.ledgers.replies.rules)[:_MAX_ROWS]
    if not rules:
        return ""
    examples = {
        rule["id"]: rule["hit"][0].split("\n")[0]
        for rule in load_data("replies", "filler")["rules"]
        if rule.get("hit")
    }
    cells = []
    for name, number in rules:
        example = examples.get(name, "")[:_MAX_EXAMPLE]
        quote = "<small>\u201c%s\u201d</small>" % safe(example) if example else ""
        bar = share_bar([("pointed", number)], rules[0][1], "%s matches" % count(number))
        cells.append((safe(name) + quote, bar, count(number)))
    return "<h3>Most common filler</h3>" + table([("Rule", "name"), ("", "barcell"), ("Matches", "n")], cells)


def _effect(report: Report) -> str:
    effect = report.ledgers.effect
    heading = "<h3>Do corrections help?</h3>"
    if not effect.corrected.n and not effect.control.n:
        return heading + note("No drifting reply was followed by another one that could be measured.")
    rows = [
        (safe(name), _interval_bar(group), percent(group.k, group.n), count(group.n))
        for name, group in (("Corrected", effect.corrected), ("Control group", effect.control))
    ]
    heads = [("Group", "name"), ("", "barcell"), ("Share", "n"), ("Drifting replies", "n")]
    explanation = note("The share of drifting replies whose next reply was back in line.")
    return heading + explanation + table(heads, rows) + "<p>%s</p>" % safe(effect_sentence(report))


def effect_sentence(report: Report) -> str:
    """Return whether corrections help, with the difference to the control group in percentage points."""
    effect = report.ledgers.effect
    if effect.gap is None or not effect.is_conclusive:
        return "Too few drifting replies for a conclusion: each group needs at least 10."
    gap, low, high = ("%+.0f" % (100 * part) for part in effect.gap)
    verdict = "help" if effect.gap[1] > 0 else "hurt" if effect.gap[2] < 0 else "have no clear effect"
    text = "Corrections %s: %s percentage points (95%% interval %s to %s)." % (verdict, gap, low, high)
    return text.replace("-", "\u2212")


def _interval_bar(group: Proportion) -> str:
    if group.value is None or group.low is None or group.high is None:
        return ""
    return interval(group.low, group.value, group.high, str(group))


def _models(report: Report) -> str:
    models = list(report.ledgers.replies.models)[:_MAX_MODELS]
    padded = dict(report.ledgers.replies.padded_by_model)
    if len(models) < 2:
        return ""
    rows = [(safe(name), count(number), percent(padded.get(name, 0), number)) for name, number in models]
    return "<h3>Models</h3>" + table([("Model", "name"), ("Replies", "n"), ("With filler", "n")], rows)


def sessions_section(report: Report) -> str:
    """Return the mean grades of sessions and the signals in them."""
    figures = report.ledgers.sessions
    text = "The latest grade of each session, on six dimensions."
    if not figures.sessions:
        message = "No sessions were graded in this period. To grade one, type in Claude Code:"
        return section("sessions", "Sessions", text, empty(message, "/memory:score-session"))
    grades = []
    for name, (mean, number) in figures.mean_scores().items():
        best = best_score(name)
        score = "%.2f of %d" % (mean, best)
        bar = share_bar([("accent", mean)], best, "%s, sessions: %s" % (score, count(number)))
        grades.append((safe(name.replace("_", " ")), bar, score))
    signals = [
        (safe(name.replace("_", " ").replace("-", " ")), count(number))
        for name, number in list(figures.signals())[:_MAX_ROWS]
    ]
    overall = [session.overall for session in figures.sessions.values() if session.overall is not None]
    mean_quality = tile("%.2f" % (sum(overall) / len(overall)), "mean quality, 0 to 1") if overall else ""
    return section(
        "sessions",
        "Sessions",
        text,
        tiles(tile(count(len(figures.sessions)), "sessions graded"), mean_quality),
        side_by_side(
            "<h3>Mean grades</h3>" + table([("Dimension", "name"), ("", "barcell"), ("Mean", "n")], grades),
            "<h3>Signals</h3>" + table([("Signal", "name"), ("Sessions", "n")], signals) if signals else "",
        ),
    )


def best_score(name: str) -> int:
    """Return the highest score of a dimension."""
    dimension = dimensions().get(name)
    return 3 if dimension is not None and dimension.categorical else 1


def spend_section(report: Report) -> str:
    """Return what judges cost, and the tokens that memories added to prompts."""
    spend, recalls = report.ledgers.spend, report.ledgers.recalls
    text = "What the judges cost, estimated from their token usage, and the tokens that memories added to your prompts."
    tokens_per_prompt = recalls.tokens / recalls.prompts if recalls.prompts else 0
    parts = [
        tiles(
            tile(money(spend.usd), "spent on judges"),
            tile(count(recalls.tokens), "tokens added by memories"),
            tile("%.0f" % tokens_per_prompt, "tokens per prompt, on average"),
        )
    ]
    if spend.days:
        costs = {date: (usd,) for date, usd in spend.days.items()}
        buckets = fill_buckets(costs, report.since, report.until, 1)
        parts.append('<ul class="legend"><li class="accent">US dollars</li></ul>')
        parts.append(
            columns(
                buckets, [("accent", "US dollars")], "Judge costs by day", "%s in total." % money(spend.usd)
            )
        )
    if spend.features:
        parts.append(_features(spend.features))
    else:
        parts.append(
            empty(
                "No judge was asked: nothing was sent or spent. To switch the judges on:", "memory judge on"
            )
        )
    unpriced = sum(feature.unpriced for feature in spend.features.values())
    if unpriced:
        parts.append(note("Calls without a known price, not included in the total: %s." % count(unpriced)))
    return section("spend", "Spending", text, *parts)


def _features(features: dict[str, FeatureSpend]) -> str:
    rows = [
        (
            safe(name),
            count(feature.calls),
            count(feature.cached),
            count(feature.failed),
            count(feature.tokens),
            milliseconds(feature.wait.quantile(0.5)),
            safe(money(feature.usd)),
        )
        for name, feature in sorted(features.items())
    ]
    heads = [
        ("Feature", "name"),
        ("Calls", "n"),
        ("From cache", "n"),
        ("Failed", "n"),
        ("Tokens", "n"),
        ("Median wait", "n"),
        ("Cost", "n"),
    ]
    return table(heads, rows)


def health_section(report: Report) -> str:
    """Return the doctor's findings now, and the hooks' problems in this period."""
    figures = report.ledgers
    rows = [
        (
            '%s <span class="mark %s">%s</span>' % (safe(check.name), safe(check.status), safe(check.status)),
            safe(check.text) + (" " + code(check.fix) if check.fix else ""),
        )
        for check in report.checks
        if check.status != "ok"
    ]
    passed = "%d of %d checks passed without a remark." % (len(report.checks) - len(rows), len(report.checks))
    parts = [table([("Check", "name"), ("Finding", "")], rows) if rows else "", note(passed)]
    events = [(safe(name), count(number)) for name, number in list(figures.events)[:_MAX_ROWS]]
    if events:
        parts.append("<h3>Problems in hooks</h3>" + table([("Event", "name"), ("Times", "n")], events))
    median, p95 = figures.recalls.wait.quantile(0.5), figures.recalls.wait.quantile(0.95)
    if median is not None and p95 is not None:
        times = "Time in the prompt hook, not counting the start of Python: median %s, 95th percentile %s."
        parts.append("<p>%s</p>" % (times % (milliseconds(median), milliseconds(p95))))
    lines = "Ledger lines read: %s. Unreadable: %s." % (count(figures.lines), count(figures.skipped))
    text = "What memory doctor finds now, and the problems that hooks reported in this period."
    return section("health", "Health", text, *parts, note(lines))
