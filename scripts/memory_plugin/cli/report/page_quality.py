"""Sections of the page about quality and cost: replies, sessions, spend, health."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel.data import load_data
from ...sessions.dimensions import dimensions
from .charts import buckets, columns, curve, interval, safe, share_bar
from .elements import about, code, count, empty, money, percent, section, table, tile, tiles

if TYPE_CHECKING:
    from ...kernel.stats import Proportion
    from .figures import Report
    from .spend_figures import FeatureSpend

__all__ = ["health_section", "replies_section", "sessions_section", "spend_section"]

_ROWS = 10


def replies_section(report: Report) -> str:
    """Return the trend of filler, the phrases found most, and the effect of corrections."""
    replies = report.ledgers.replies
    total = replies.total()
    text = "How much filler Claude's replies carry, by rules; a low share does not prove a good answer."
    if not total.replies:
        return section("replies", "Replies", text, empty("No reply was scored in this period."))
    sums = {name: (day.replies, day.padded) for name, day in replies.days.items()}
    points = [
        (day.label, day.values[1] / day.values[0] if day.values[0] else None)
        for day in buckets(sums, report.since, report.until, 2)
    ]
    density = "%.2f" % (total.density / total.measured) if total.measured else "\u2013"
    description = "%d of %d replies hold filler." % (total.padded, total.replies)
    return section(
        "replies",
        "Replies",
        text,
        tiles(
            tile(count(total.replies), "replies scored"),
            tile(percent(total.padded, total.replies), "with filler"),
            tile(percent(total.drifted, total.replies), "drifted"),
            tile(density, "mean density"),
        ),
        '<ul class="legend"><li class="accent">share of replies with filler</li></ul>',
        curve(points, "Replies with filler, by day", description),
        _two(_patterns(report), _effect(report) + _models(report)),
    )


def _two(left: str, right: str) -> str:
    """Return two blocks side by side."""
    return '<div class="two"><div>%s</div><div>%s</div></div>' % (left, right)


def _patterns(report: Report) -> str:
    rules = list(report.ledgers.replies.rules)[:_ROWS]
    if not rules:
        return ""
    examples = {
        rule["id"]: rule["hit"][0] for rule in load_data("replies", "filler")["rules"] if rule.get("hit")
    }
    cells = []
    for name, number in rules:
        example = examples.get(name, "").split("\n")[0]
        quote = "<small>\u201c%s\u201d</small>" % safe(example[:80]) if example else ""
        bar = share_bar([("pointed", number)], rules[0][1], "%d matches" % number)
        cells.append((safe(name) + quote, bar, count(number)))
    return "<h3>Phrases found most</h3>" + table([("Rule", "name"), ("", "barcell"), ("Matches", "n")], cells)


def _effect(report: Report) -> str:
    effect = report.ledgers.effect
    head = "<h3>Do corrections help?</h3>"
    if not effect.corrected.n and not effect.control.n:
        return head + about("No reply drifted and was followed by another one that could be measured.")
    rows = [
        (safe(name), _interval(group), percent(group.k, group.n), count(group.n))
        for name, group in (("Corrected", effect.corrected), ("Control group", effect.control))
    ]
    groups = table(
        [("Next reply without drift", "name"), ("", "barcell"), ("Share", "n"), ("Drifts", "n")], rows
    )
    if effect.gap is None or not effect.is_conclusive:
        note = about("Too few drifting replies for a conclusion: each group needs at least 10.")
        return head + groups + note
    gap, low, high = (100 * share for share in effect.gap)
    verb = "help" if low > 0 else "hurt" if high < 0 else "may or may not help"
    text = "Corrections %s: %+.0f points (95%% interval %+.0f to %+.0f)." % (verb, gap, low, high)
    return head + groups + "<p>%s</p>" % safe(text)


def _interval(share: Proportion) -> str:
    if share.value is None or share.low is None or share.high is None:
        return ""
    return interval(share.low, share.value, share.high, str(share))


def _models(report: Report) -> str:
    models = list(report.ledgers.replies.models)[:6]
    padded = dict(report.ledgers.replies.padded_by_model)
    if len(models) < 2:
        return ""
    rows = [(safe(name), count(number), percent(padded.get(name, 0), number)) for name, number in models]
    return "<h3>Models</h3>" + table([("Model", "name"), ("Replies", "n"), ("With filler", "n")], rows)


def sessions_section(report: Report) -> str:
    """Return the mean grades of sessions and what was noticed in them."""
    sessions = report.ledgers.sessions
    text = "Grades of whole sessions on six dimensions, the last grade of each session."
    if not sessions.sessions:
        none = empty("No session was graded in this period. In the client:", "/memory:score-session")
        return section("sessions", "Sessions", text, none)
    known = dimensions()
    rows = []
    for name, (mean, number) in sessions.mean_scores().items():
        best = 3 if name in known and known[name].categorical else 1
        score = "%.2f of %d" % (mean, best)
        bar = share_bar([("accent", mean)], best, score)
        rows.append((safe(name.replace("_", " ")), bar, score, count(number)))
    scores = table([("Dimension", "name"), ("", "barcell"), ("Mean", "n"), ("Sessions", "n")], rows)
    signals = [
        (safe(name.replace("_", " ").replace("-", " ")), count(number))
        for name, number in list(sessions.signals())[:_ROWS]
    ]
    noticed = ""
    if signals:
        noticed = "<h3>Noticed in sessions</h3>" + table([("Signal", "name"), ("Sessions", "n")], signals)
    overall = [grade.overall for grade in sessions.sessions.values() if grade.overall is not None]
    figures = [tile(count(len(sessions.sessions)), "sessions graded")]
    if overall:
        figures.append(tile("%.2f" % (sum(overall) / len(overall)), "mean quality, 0 to 1"))
    blocks = _two("<h3>Mean grades</h3>" + scores, noticed)
    return section("sessions", "Sessions", text, tiles(*figures), blocks)


def spend_section(report: Report) -> str:
    """Return what judges cost, and what recalled memories add to prompts."""
    spend, recalls = report.ledgers.spend, report.ledgers.recalls
    text = "What judges cost as estimated from their usage, and the tokens that recalled memories added to your prompts."
    a_prompt = recalls.tokens / recalls.prompts if recalls.prompts else 0
    parts = [
        tiles(
            tile(money(spend.usd), "for judges"),
            tile(count(recalls.tokens), "tokens told to Claude"),
            tile("%.0f" % a_prompt, "tokens a prompt, on average"),
        )
    ]
    if spend.days:
        days = buckets({day: (usd,) for day, usd in spend.days.items()}, report.since, report.until, 1)
        parts.append('<ul class="legend"><li class="accent">US dollars a day</li></ul>')
        total = "%s in all." % money(spend.usd)
        parts.append(columns(days, [("accent", "US dollars")], "Cost of judges by day", total))
    if spend.features:
        numbers = ("Calls", "From cache", "Failed", "Tokens", "Median wait", "Cost")
        rows = [_feature_row(name, feature) for name, feature in sorted(spend.features.items())]
        parts.append(table([("Feature", "name"), *((name, "n") for name in numbers)], rows))
    else:
        parts.append(empty("No judge was asked: nothing was sent, and nothing was spent.", "memory judge on"))
    unpriced = sum(feature.unpriced for feature in spend.features.values())
    if unpriced:
        parts.append(about("%s calls have no known price and are not in the sum." % count(unpriced)))
    return section("spend", "Spend", text, *parts)


def _feature_row(name: str, feature: FeatureSpend) -> tuple[str, ...]:
    counts = map(count, (feature.calls, feature.cached, feature.failed, feature.tokens))
    median = feature.wait.quantile(0.5)
    return (safe(name), *counts, "" if median is None else "%.0f\u00a0ms" % median, safe(money(feature.usd)))


def health_section(report: Report) -> str:
    """Return what the doctor found now, and what went wrong in hooks during the period."""
    figures = report.ledgers
    rows = [
        (
            '<span class="mark %s">%s</span>' % (safe(check.status), safe(check.status)),
            safe(check.name),
            safe(check.text) + (" " + code(check.fix) if check.fix else ""),
        )
        for check in report.checks
        if check.status != "ok"
    ]
    passed = sum(check.status == "ok" for check in report.checks)
    parts = [table([("", "n"), ("Check", "name"), ("Finding", "")], rows)] if rows else []
    parts.append(about("%d of %d checks of the doctor found nothing to fix." % (passed, len(report.checks))))
    events = list(figures.events)[:_ROWS]
    if events:
        cells = [(safe(name), count(number)) for name, number in events]
        parts.append("<h3>What went wrong in hooks</h3>" + table([("Event", "name"), ("Times", "n")], cells))
    median, p95 = figures.recalls.wait.quantile(0.5), figures.recalls.wait.quantile(0.95)
    if median is not None and p95 is not None:
        parts.append(
            "<p>Time in the prompt hook, without the start of Python: median %.0f\u00a0ms, 95%% below %.0f\u00a0ms.</p>"
            % (median, p95)
        )
    lines = "%s lines of ledgers read, %s of them unreadable." % (
        count(figures.lines),
        count(figures.skipped),
    )
    text = "What the doctor says now, and what hooks reported in this period."
    return section("health", "Health", text, *parts, about(lines))
