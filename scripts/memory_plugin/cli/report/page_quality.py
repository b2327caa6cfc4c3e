"""Sections of the page about quality and cost: replies, sessions, spend, health."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel.data import load_data
from ...sessions.dimensions import dimensions
from .charts import buckets, columns, curve, interval, safe, share_bar
from .elements import about, code, count, empty, money, percent, section, table, tile

if TYPE_CHECKING:
    from ...kernel.stats import Proportion
    from .figures import Report

__all__ = ["health_section", "replies_section", "sessions_section", "spend_section"]

_ROWS = 10


def replies_section(report: Report) -> str:
    """Return the trend of filler, the phrases found most, and the effect of corrections."""
    replies = report.ledgers.replies
    total = replies.total()
    text = "How much filler Claude's replies carry, by rules; a low share does not prove a good answer."
    if not total.replies:
        return section("replies", "Replies", text, empty("No reply was scored in this period."))
    sums = {day: (one.replies, one.padded) for day, one in replies.days.items()}
    points = [
        (one.label, one.values[1] / one.values[0] if one.values[0] else None)
        for one in buckets(sums, report.since, report.until, 2)
    ]
    density = "%.2f" % (total.density / total.measured) if total.measured else "\u2013"
    tiles = [
        tile(count(total.replies), "replies scored"),
        tile(percent(total.padded, total.replies), "with filler"),
        tile(percent(total.drifted, total.replies), "drifted"),
        tile(density, "mean density"),
    ]
    return section(
        "replies",
        "Replies",
        text,
        '<div class="tiles">%s</div>' % "".join(tiles),
        '<ul class="legend"><li class="accent">share of replies with filler</li></ul>',
        curve(
            points,
            "Replies with filler, by day",
            "%d of %d replies hold filler." % (total.padded, total.replies),
        ),
        '<div class="two"><div>%s</div><div>%s%s</div></div>'
        % (_patterns(report), _effect(report), _models(report)),
    )


def _patterns(report: Report) -> str:
    found = list(report.ledgers.replies.rules)[:_ROWS]
    if not found:
        return ""
    examples = {
        rule["id"]: rule["hit"][0] for rule in load_data("replies", "filler")["rules"] if rule.get("hit")
    }
    cells = []
    for name, number in found:
        example = examples.get(name, "").split("\n")[0]
        quote = "<small>\u201c%s\u201d</small>" % safe(example[:80]) if example else ""
        bar = share_bar([("pointed", number)], found[0][1], "%d matches" % number)
        cells.append((safe(name) + quote, bar, count(number)))
    return "<h3>Phrases found most</h3>" + table([("Rule", "name"), ("", "barcell"), ("Matches", "n")], cells)


def _effect(report: Report) -> str:
    effect = report.ledgers.effect
    head = "<h3>Do corrections help?</h3>"
    if not effect.corrected.n and not effect.control.n:
        return head + about("No reply drifted and was followed by another one that could be measured.")
    rows = [
        (safe(name), _interval(one), percent(one.k, one.n), count(one.n))
        for name, one in (("Corrected", effect.corrected), ("Control group", effect.control))
    ]
    parts = table([("Next reply in line", "name"), ("", "barcell"), ("Share", "n"), ("Drifts", "n")], rows)
    if effect.gap is None or not effect.is_conclusive:
        return (
            head + parts + about("Too few drifting replies for a conclusion: each group needs at least 10.")
        )
    gap, low, high = (100 * one for one in effect.gap)
    word = "help" if low > 0 else "hurt" if high < 0 else "may or may not help"
    said = "Corrections %s: %+.0f points (95%% interval %+.0f to %+.0f)." % (word, gap, low, high)
    return head + parts + "<p>%s</p>" % safe(said)


def _interval(one: Proportion) -> str:
    if one.value is None or one.low is None or one.high is None:
        return ""
    return interval(one.low, one.value, one.high, str(one))


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
        return section(
            "sessions",
            "Sessions",
            text,
            empty("No session was graded in this period. In the client:", "/memory:score-session"),
        )
    known = dimensions()
    rows = []
    for name, (mean, number) in sessions.mean_scores().items():
        best = 3 if name in known and known[name].categorical else 1
        bar = share_bar([("accent", mean)], best, "%.2f of %d" % (mean, best))
        rows.append((safe(name.replace("_", " ")), bar, "%.2f of %d" % (mean, best), count(number)))
    signals = [(safe(name.replace("_", " ").replace("-", " ")), count(n)) for name, n in sessions.signals()][
        :_ROWS
    ]
    overall = [one.overall for one in sessions.sessions.values() if one.overall is not None]
    tiles = [tile(count(len(sessions.sessions)), "sessions graded")]
    if overall:
        tiles.append(tile("%.2f" % (sum(overall) / len(overall)), "mean quality, 0 to 1"))
    noticed = (
        "<h3>Noticed in sessions</h3>" + table([("Signal", "name"), ("Sessions", "n")], signals)
        if signals
        else ""
    )
    scores = "<h3>Mean grades</h3>" + table(
        [("Dimension", "name"), ("", "barcell"), ("Mean", "n"), ("Sessions", "n")], rows
    )
    return section(
        "sessions",
        "Sessions",
        text,
        '<div class="tiles">%s</div><div class="two"><div>%s</div><div>%s</div></div>'
        % ("".join(tiles), scores, noticed),
    )


def spend_section(report: Report) -> str:
    """Return what judges cost, and what recalled memories add to prompts."""
    spend, recalls = report.ledgers.spend, report.ledgers.recalls
    text = "What judges cost as estimated from their usage, and the tokens that recalled memories added to your prompts."
    a_prompt = recalls.tokens / recalls.prompts if recalls.prompts else 0
    tiles = [
        tile(money(spend.usd), "for judges"),
        tile(count(recalls.tokens), "tokens told to Claude"),
        tile("%.0f" % a_prompt, "tokens a prompt, on average"),
    ]
    parts = ['<div class="tiles">%s</div>' % "".join(tiles)]
    if spend.days:
        days = {day: (usd,) for day, usd in spend.days.items()}
        shown = buckets(days, report.since, report.until, 1)
        parts.append('<ul class="legend"><li class="accent">US dollars a day</li></ul>')
        parts.append(
            columns(
                shown, [("accent", "US dollars")], "Cost of judges by day", "%s in all." % money(spend.usd)
            )
        )
    if spend.features:
        rows = [
            (
                safe(name),
                count(one.calls),
                count(one.cached),
                count(one.failed),
                count(one.tokens),
                _wait(one.wait.quantile(0.5)),
                safe(money(one.usd)),
            )
            for name, one in sorted(spend.features.items())
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
        parts.append(table(heads, rows))
    else:
        parts.append(empty("No judge was asked: nothing was sent, and nothing was spent.", "memory judge on"))
    unpriced = sum(one.unpriced for one in spend.features.values())
    if unpriced:
        parts.append(about("%s calls have no known price and are not in the sum." % count(unpriced)))
    return section("spend", "Spend", text, *parts)


def _wait(ms: float | None) -> str:
    return "" if ms is None else "%.0f\u00a0ms" % ms


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
    sound = sum(check.status == "ok" for check in report.checks)
    parts = [table([("", "n"), ("Check", "name"), ("Finding", "")], rows)] if rows else []
    parts.append(about("%d of %d checks of the doctor found nothing to fix." % (sound, len(report.checks))))
    events = list(figures.events)[:_ROWS]
    if events:
        cells = [(safe(name), count(number)) for name, number in events]
        parts.append("<h3>What went wrong in hooks</h3>" + table([("Event", "name"), ("Times", "n")], cells))
    half, most = figures.recalls.wait.quantile(0.5), figures.recalls.wait.quantile(0.95)
    if half is not None and most is not None:
        parts.append(
            "<p>Time in the prompt hook, without the start of Python: median %.0f\u00a0ms, 95%% below %.0f\u00a0ms.</p>"
            % (half, most)
        )
    lines = "%s lines of ledgers read, %s of them unreadable." % (
        count(figures.lines),
        count(figures.skipped),
    )
    return section(
        "health",
        "Health",
        "What the doctor says now, and what hooks reported in this period.",
        *parts,
        about(lines),
    )
