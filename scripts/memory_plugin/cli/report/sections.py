"""The report as a list of sections, from which the page and the text are made, and its figures as JSON data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...kernel.data import load_data
from ...recall.explain import reason_text
from ...replies.score_history import ScoreGroup, count_patterns, group_by_day, group_scores
from ...sessions.dimensions import dimensions
from ..checks import Check
from .elements import (
    Bar,
    Cell,
    Chart,
    Command,
    Name,
    Note,
    Part,
    Section,
    SideBySide,
    Table,
    Tiles,
    count,
    day_label,
    milliseconds,
    money,
    number_text,
    percent,
    times,
)
from .figures import OUTCOMES, LedgerFigures, quantile, ranked
from .memory_rows import MemoryFigures, memories_json, memories_section, missed_section

_LABELS = {
    "injected": ("told", "told in full"),
    "pointed": ("pointed", "pointed to"),
    "silent": ("silent", "silent"),
    "skipped": ("skipped", "not looked up"),
    "failed": ("failed", "failed"),
}
_MAX_ROWS = 10
_MAX_EXAMPLE = 80


class Report(NamedTuple):
    """What the sections are made of; `since` and `until` are UTC times as in ledgers."""

    scope: str
    days: int
    since: str
    until: str
    ledgers: LedgerFigures
    memories: MemoryFigures
    missed: list[dict[str, Any]]
    checks: list[Check]


def sections(report: Report) -> list[Section]:
    """Return the sections in the order in which they are shown."""
    recalls = report.ledgers.recalls
    return [
        _recall(report),
        memories_section(report.memories, recalls.prompts, report.scope),
        missed_section(report.missed, recalls.missed_number, recalls.prompts),
        _replies(report),
        _sessions(report),
        _spend(report),
        _health(report),
    ]


def as_json(report: Report) -> dict[str, Any]:
    """Return the figures as JSON data."""
    ledgers = report.ledgers
    recalls, replies, graded, spend = ledgers.recalls, ledgers.replies, ledgers.sessions, ledgers.spend
    return {
        **{name: getattr(report, name) for name in ("scope", "days", "since", "until")},
        "lines": ledgers.lines,
        "lines_skipped": ledgers.skipped,
        "recall": {
            "prompts": recalls.prompts,
            "sessions": len(recalls.sessions),
            "tokens": recalls.tokens,
            **{name: recalls.total(name) for name in OUTCOMES},
            "ms_median": quantile(recalls.waits, 0.5),
            "ms_p95": quantile(recalls.waits, 0.95),
            **{name: dict(ranked(getattr(recalls, name))) for name in ("reasons", "projects", "guards")},
            "other_places": dict(ranked(recalls.places)),
            "days": {day: dict(counts) for day, counts in sorted(recalls.days.items())},
        },
        "memories": memories_json(report.memories),
        "missed": {"prompts": recalls.missed_number, "latest": report.missed},
        "replies": {
            **dict(zip(("replies", "padded", "drifted", "density"), _reply_totals(report))),
            "models": {group.name: group.replies for group in _by_model(report)},
            "patterns": dict(ranked(dict(count_patterns(replies)))),
            "effect": {**ledgers.effect._asdict(), "enough": ledgers.effect.is_conclusive},
        },
        "sessions": {
            "graded": len(graded.rows),
            "scores": {name: {"mean": mean, "sessions": n} for name, (mean, n) in graded.means().items()},
            "signals": dict(ranked(graded.signals())),
        },
        "spend": {
            "usd": spend.total,
            "features": {
                name: {**counts, "usd": spend.usd.get(name, 0.0)} for name, counts in spend.features.items()
            },
            "failures": dict(ranked(spend.failures)),
            "verdicts": dict(ranked(spend.verdicts)),
        },
        "health": {
            "checks": [check._asdict() for check in report.checks],
            "events": dict(ranked(ledgers.events)),
        },
    }


def lead(report: Report) -> str:
    """Return a summary of the report in two or three sentences."""
    recalls, memories = report.ledgers.recalls, report.memories
    if not recalls.prompts:
        return "Nothing was recorded in this period."
    prompts = times(recalls.prompts, "prompt")
    told, pointed = count(recalls.total("injected")), count(recalls.total("pointed"))
    text = "Claude was told at least one memory on %s of %s, and only pointed to some on %s."
    text %= (told, prompts, pointed)
    used = sum(use.used for use in recalls.memories.values())
    if used:
        text += " Replies used one at least %s." % times(used)
    if memories.unused:
        numbers = count(len(memories.unused)), count(memories.stored)
        text += " Never recalled: %s of %s memories in this project." % numbers
    return text


def _recall(report: Report) -> Section:
    recalls = report.ledgers.recalls
    heading = ("recall", "What Claude was told")
    if not recalls.prompts:
        about = "The memories that reached Claude, and the reasons when none did."
        nothing = (
            "No prompts were recorded in this period. Recording starts with your next prompt in Claude Code."
            " To check the installation:"
        )
        return Section(*heading, about, [Note(nothing, "memory doctor", "empty")])
    summary = ", ".join("%s %s" % (count(recalls.total(name)), _LABELS[name][1]) for name in OUTCOMES)
    reasons, projects = ranked(recalls.reasons), ranked(recalls.projects)
    tiles = [(percent(recalls.total(name), recalls.prompts), *_LABELS[name][::-1]) for name in OUTCOMES[:2]]
    tiles += [(count(recalls.prompts), "prompts", ""), (count(len(recalls.sessions)), "sessions", "")]
    tiles.append((milliseconds(quantile(recalls.waits, 0.5)), "median hook time", ""))
    why = [(_reason(name), number) for name, number in reasons]
    parts: list[Part] = [
        Tiles(tiles),
        Chart(
            "Prompts by day and outcome",
            {day: [counts[name] for name in OUTCOMES] for day, counts in recalls.days.items()},
            [_LABELS[name] for name in OUTCOMES],
            "%s to %s: %s." % (day_label(report.since), day_label(report.until), summary),
        ),
        SideBySide(
            [
                _ranking("Why Claude was told nothing", "Reason", "silent", why),
                _ranking("Projects", "Project", "accent", projects if len(projects) > 1 else []),
            ]
        ),
    ]
    guards = ", ".join("%s %s" % (count(n), name.replace("_", " ")) for name, n in ranked(recalls.guards))
    if guards:
        parts.append(Note("Guarded tool calls: %s." % guards, kind="soft"))
    about = (
        "Each prompt counts once. Claude was told a memory in full, was pointed to one by its title, or got nothing: silent"
        " if nothing new fit the prompt, not looked up if it was a command or small talk."
    )
    return Section(*heading, about, parts)


def _reason(name: str) -> str:
    text = reason_text(name) or "no reason recorded"
    return text[:1].upper() + text[1:]


def _ranking(
    heading: str, name: str, color: str, counts: Sequence[tuple[str, int]], unit: str = "Prompts"
) -> Table:
    """Return a table of names, each with a bar and a number."""
    rows: list[list[Cell]] = [
        [Name(text), _bar(color, number, counts[0][1], unit), count(number)]
        for text, number in counts[:_MAX_ROWS]
    ]
    return Table(heading, [(name, "name"), ("", "bar"), (unit, "n")], rows)


def _bar(color: str, number: float, total: float, unit: str) -> Bar:
    return Bar([(color, number)], total, "%s %s" % (number_text(number), unit.lower()))


def _reply_totals(report: Report) -> tuple[int, int, int, float | None]:
    """Return the numbers of replies, of those with filler and of those that drifted, and the mean density."""
    for group in group_scores(report.ledgers.replies, lambda _: "all"):
        return group.replies, group.padded.k, group.drifted.k, group.density
    return 0, 0, 0, None


def _by_model(report: Report) -> list[ScoreGroup]:
    return group_scores(report.ledgers.replies, lambda score: score.model)


def _replies(report: Report) -> Section:
    replies = report.ledgers.replies
    number, padded, drifted, mean = _reply_totals(report)
    about = "How much filler Claude's replies contain, counted by rules. A reply without filler is not necessarily a good one."
    if not number:
        nothing = Note("No replies were scored in this period.", kind="empty")
        return Section("replies", "Replies", about, [nothing])
    density = "\u2013" if mean is None else "%.2f" % mean
    parts: list[Part] = [
        Tiles(
            [
                (count(number), "replies scored", ""),
                (percent(padded, number), "with filler", ""),
                (percent(drifted, number), "drifted", ""),
                (density, "mean density, 0 to 1", ""),
            ]
        ),
        Chart(
            "Replies with and without filler, by day",
            {day.name: (day.padded.k, day.replies - day.padded.k) for day in group_by_day(replies)},
            [("pointed", "with filler"), ("silent", "without filler")],
            "%s of %s replies contain filler." % (count(padded), count(number)),
        ),
        SideBySide([_filler(report), _effect(report), _models(report)]),
    ]
    return Section("replies", "Replies", about, parts)


def _filler(report: Report) -> Table:
    data, rules = (
        load_data("replies", "filler")["rules"],
        ranked(dict(count_patterns(report.ledgers.replies))),
    )
    hits = {rule["id"]: rule["hit"][0].split("\n")[0][:_MAX_EXAMPLE] for rule in data if rule.get("hit")}
    table = _ranking("Most common filler", "Rule", "pointed", rules, "Matches")
    quoted = ("\u201c%s\u201d" % hits[name] if hits.get(name) else "" for name, _ in rules)
    return table._replace(
        rows=[[Name(str(row[0].text), example), *row[1:]] for row, example in zip(table.rows, quoted)]  # type: ignore[union-attr]
    )


def _effect(report: Report) -> Table:
    effect = report.ledgers.effect
    groups = (("Corrected", effect.corrected), ("Control group", effect.control))
    rows: list[list[Cell]] = [[Name(name), str(group)] for name, group in groups if group.n]
    return Table(
        "Do corrections help?",
        [("Group", "name"), ("Back in line", "n")],
        rows,
        "The share of drifting replies whose next reply was back in line. " + _effect_sentence(report),
        "No drifting reply was followed by another one that could be measured.",
    )


def _effect_sentence(report: Report) -> str:
    """Return whether corrections help, with the difference to the control group in percentage points."""
    effect = report.ledgers.effect
    if effect.gap is None or not effect.is_conclusive:
        return "Too few drifting replies for a conclusion: each group needs at least 10."
    gap, low, high = ("%+.0f" % (100 * part) for part in effect.gap)
    verdict = "help" if effect.gap[1] > 0 else "hurt" if effect.gap[2] < 0 else "have no clear effect"
    text = "Corrections %s: %s percentage points (95%% interval %s to %s)." % (verdict, gap, low, high)
    return text.replace("-", "\u2212")


def _models(report: Report) -> Table:
    rows: list[list[Cell]] = [
        [Name(group.name), count(group.replies), percent(group.padded.k, group.replies)]
        for group in _by_model(report)[:_MAX_ROWS]
    ]
    columns = [("Model", "name"), ("Replies", "n"), ("With filler", "n")]
    return Table("Models", columns, rows if len(rows) > 1 else [])


def _counts(heading: str, name: str, unit: str, counts: Sequence[tuple[str, int]]) -> Table:
    """Return a table of names with numbers."""
    rows: list[list[Cell]] = [[Name(text), count(number)] for text, number in counts[:_MAX_ROWS]]
    return Table(heading, [(name, "name"), (unit, "n")], rows)


def _sessions(report: Report) -> Section:
    graded, about = report.ledgers.sessions, "The latest grade of each session, on six dimensions."
    if not graded.rows:
        nothing = "No sessions were graded in this period. To grade one, type in Claude Code:"
        return Section("sessions", "Sessions", about, [Note(nothing, "/memory:score-session", "empty")])
    quality = graded.quality()
    grades: list[list[Cell]] = []
    for name, (mean, number) in graded.means().items():
        best = dimensions()[name].highest if name in dimensions() else 1
        score = "%.2f of %d" % (mean, best)
        bar = Bar([("accent", mean)], best, "%s, sessions: %s" % (score, count(number)))
        grades.append([Name(name.replace("_", " ")), bar, score, count(number)])
    signals = [
        (name.replace("_", " ").replace("-", " "), number) for name, number in ranked(graded.signals())
    ]
    tiles = [(count(len(graded.rows)), "sessions graded", "")]
    tiles += [] if quality is None else [("%.2f" % quality, "mean quality, 0 to 1", "")]
    columns = [("Dimension", "name"), ("", "bar"), ("Mean", "n"), ("Sessions", "n")]
    tables = [Table("Mean grades", columns, grades), _counts("Signals", "Signal", "Sessions", signals)]
    return Section("sessions", "Sessions", about, [Tiles(tiles), SideBySide(tables)])


def _spend(report: Report) -> Section:
    spend, recalls = report.ledgers.spend, report.ledgers.recalls
    per_prompt = recalls.tokens / recalls.prompts if recalls.prompts else 0
    parts: list[Part] = [
        Tiles(
            [
                (money(spend.total), "spent on judges", ""),
                (count(recalls.tokens), "tokens added by memories", ""),
                ("%.0f" % per_prompt, "tokens per prompt, on average", ""),
            ]
        )
    ]
    if spend.days:
        days = {date: (usd,) for date, usd in spend.days.items()}
        total = "%s in total." % money(spend.total)
        parts.append(Chart("Judge costs by day", days, [("accent", "US dollars")], total))
    heads = ("Calls", "From cache", "Failed", "Tokens", "Median wait", "Cost")
    rows: list[list[Cell]] = [
        [
            Name(name),
            *(count(counts[part]) for part in ("calls", "cached", "failed", "tokens")),
            milliseconds(quantile(spend.waits.get(name, []), 0.5)),
            money(spend.usd.get(name, 0.0)),
        ]
        for name, counts in sorted(spend.features.items())
    ]
    parts.append(Table("", [("Feature", "name"), *((head, "n") for head in heads)], rows))
    if not rows:
        nothing = "No judge was asked: nothing was sent or spent. To switch the judges on:"
        parts.append(Note(nothing, "memory judge on", "empty"))
    unpriced = sum(counts["unpriced"] for counts in spend.features.values())
    if unpriced:
        left_out = "Calls without a known price, not included in the total: %s." % count(unpriced)
        parts.append(Note(left_out, kind="soft"))
    about = "What the judges cost, estimated from their token usage, and the tokens that memories added to your prompts."
    return Section("spend", "Spending", about, parts)


def _health(report: Report) -> Section:
    ledgers, waits = report.ledgers, report.ledgers.recalls.waits
    found = [check for check in report.checks if check.status != "ok"]
    rows: list[list[Cell]] = [
        [Name(check.name, "", check.status), check.text, Command(check.fix)] for check in found
    ]
    numbers = len(report.checks) - len(found), len(report.checks)
    hook = "Time in the prompt hook, not counting the start of Python: median %s, 95th percentile %s."
    hook_times = milliseconds(quantile(waits, 0.5)), milliseconds(quantile(waits, 0.95))
    lines = "Ledger lines read: %s. Unreadable: %s." % (count(ledgers.lines), count(ledgers.skipped))
    return Section(
        "health",
        "Health",
        "What memory doctor finds now, and the problems that hooks reported in this period.",
        [
            Table("", [("Check", "name"), ("Finding", "text"), ("What to do", "text")], rows),
            Note("%d of %d checks passed without a remark." % numbers, kind="soft"),
            _counts("Problems in hooks", "Event", "Times", ranked(ledgers.events)),
            *([Note(hook % hook_times)] if waits else []),
            Note(lines, kind="soft"),
        ],
    )
