"""The report as a list of sections, from which the page, the text and the JSON are made."""

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
from .memory_rows import MemoryFigures, memories_section
from .missed_prompts import MissedRow, missed_section

_LABELS = {
    "injected": ("told", "told in full"),
    "pointed": ("pointed", "pointed to"),
    "silent": ("silent", "silent"),
    "skipped": ("skipped", "not looked up"),
    "failed": ("failed", "failed"),
}
_MAX_ROWS = 10
_MAX_EXAMPLE = 80
_ALL = "memory report --json"


class Report(NamedTuple):
    """What the sections are made of; `since` and `until` are UTC times as in ledgers."""

    scope: str
    days: int
    since: str
    until: str
    ledgers: LedgerFigures
    memories: MemoryFigures
    missed: list[MissedRow]
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
    """Return the report as JSON values."""
    return {
        **{name: getattr(report, name) for name in ("scope", "days", "since", "until")},
        "lines": report.ledgers.lines,
        "lines_skipped": report.ledgers.skipped,
        **{section.name: section.figures for section in sections(report)},
    }


def lead(report: Report) -> str:
    """Return a summary of the report in two or three sentences."""
    recalls, memories = report.ledgers.recalls, report.memories
    if not recalls.prompts:
        return "Nothing was recorded in this period."
    prompts = "1 prompt" if recalls.prompts == 1 else count(recalls.prompts) + " prompts"
    told, pointed = count(recalls.total("injected")), count(recalls.total("pointed"))
    text = "Claude got at least one full memory on %s of %s, and only pointers on %s." % (
        told,
        prompts,
        pointed,
    )
    used = sum(use.used for use in recalls.memories.values())
    if used:
        text += " Replies used one at least %s." % times(used)
    if memories.unused:
        numbers = count(len(memories.unused)), count(memories.stored)
        text += " Never recalled: %s of %s memories in this project." % numbers
    return text


def _recall(report: Report) -> Section:
    recalls = report.ledgers.recalls
    reasons, projects = ranked(recalls.reasons), ranked(recalls.projects)
    figures = {
        "prompts": recalls.prompts,
        **{name: recalls.total(name) for name in OUTCOMES},
        "sessions": len(recalls.sessions),
        "tokens": recalls.tokens,
        "ms_median": _rounded(quantile(recalls.waits, 0.5), 1),
        "ms_p95": _rounded(quantile(recalls.waits, 0.95), 1),
        "reasons": dict(reasons),
        "projects": dict(projects),
        "guards": dict(ranked(recalls.guards)),
        "other_places": dict(ranked(recalls.places)),
        "days": {
            day: {name: counts[name] for name in OUTCOMES} for day, counts in sorted(recalls.days.items())
        },
    }
    heading = ("recall", "What Claude was told", "Told")
    if not recalls.prompts:
        about = "The memories that reached Claude, and the reasons when none did."
        nothing = (
            "No prompts were recorded in this period. Recording starts with your next prompt in Claude Code."
            " To check the installation:"
        )
        return Section(*heading, about, figures, [Note(nothing, "memory doctor", "empty")])
    summary = ", ".join("%s %s" % (count(recalls.total(name)), _LABELS[name][1]) for name in OUTCOMES)
    parts: list[Part] = [
        Chart(
            "Prompts by day and outcome",
            {day: [counts[name] for name in OUTCOMES] for day, counts in recalls.days.items()},
            [_LABELS[name] for name in OUTCOMES],
            "%s to %s: %s." % (day_label(report.since), day_label(report.until), summary),
        ),
        SideBySide(
            [
                [
                    _ranking(
                        "Why Claude was told nothing",
                        "Reason",
                        "silent",
                        [(_reason(n), k) for n, k in reasons],
                    )
                ],
                [_ranking("Projects", "Project", "accent", projects if len(projects) > 1 else [])],
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
    return Section(*heading, about, figures, parts)


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


def _replies(report: Report) -> Section:
    replies, effect = report.ledgers.replies, report.ledgers.effect
    totals, density = {"replies": len(replies), "padded": 0, "drifted": 0}, None
    for group in group_scores(replies, lambda _: "all"):
        totals.update(padded=group.padded.k, drifted=group.drifted.k)
        density = group.density
    figures = {
        **totals,
        "density": _rounded(density, 3),
        "models": {group.name: group.replies for group in _by_model(report)},
        "patterns": dict(ranked(dict(count_patterns(replies)))),
        "effect": {
            "corrected": effect.corrected._asdict(),
            "control": effect.control._asdict(),
            "difference": effect.gap,
            "enough": effect.is_conclusive,
        },
    }
    about = "How much filler Claude's replies contain, counted by rules. A reply without filler is not necessarily a good one."
    parts: list[Part] = [Note("No replies were scored in this period.", kind="empty")]
    if totals["replies"]:
        parts = [
            Tiles(
                [
                    (count(totals["replies"]), "replies scored", ""),
                    (percent(totals["padded"], totals["replies"]), "with filler", ""),
                    (percent(totals["drifted"], totals["replies"]), "drifted", ""),
                    ("\u2013" if density is None else "%.2f" % density, "mean density, 0 to 1", ""),
                ]
            ),
            Chart(
                "Share of replies with filler, by day",
                {day.name: (day.replies, day.padded.k) for day in group_by_day(replies)},
                [("accent", "replies"), ("accent", "share of replies with filler")],
                "%s of %s replies contain filler." % (count(totals["padded"]), count(totals["replies"])),
                is_share=True,
            ),
            SideBySide([[_filler(report)], [*_effect(report), _models(report)]]),
        ]
    return Section("replies", "Replies", "Replies", about, figures, parts)


def _filler(report: Report) -> Table:
    data, rules = (
        load_data("replies", "filler")["rules"],
        ranked(dict(count_patterns(report.ledgers.replies))),
    )
    hits = {rule["id"]: rule["hit"][0].split("\n")[0][:_MAX_EXAMPLE] for rule in data if rule.get("hit")}
    examples = {name: "\u201c%s\u201d" % hit for name, hit in hits.items() if hit}
    table = _ranking("Most common filler", "Rule", "pointed", rules, "Matches")
    rows = [[Name(name, examples.get(name, "")), *cells[1:]] for (name, _), cells in zip(rules, table.rows)]
    return table._replace(rows=rows)


def _effect(report: Report) -> list[Table | Note]:
    effect = report.ledgers.effect
    groups = (("Corrected", effect.corrected), ("Control group", effect.control))
    rows: list[list[Cell]] = [
        [Name(name), group, percent(group.k, group.n), count(group.n)] for name, group in groups
    ]
    has_rows = bool(effect.corrected.n or effect.control.n)
    table = Table(
        "Do corrections help?",
        [("Group", "name"), ("", "bar"), ("Share", "n"), ("Drifting replies", "n")],
        rows if has_rows else [],
        "The share of drifting replies whose next reply was back in line.",
        "No drifting reply was followed by another one that could be measured.",
    )
    return [table, Note(_effect_sentence(report))] if has_rows else [table]


def _effect_sentence(report: Report) -> str:
    """Return whether corrections help, with the difference to the control group in percentage points."""
    effect = report.ledgers.effect
    if effect.gap is None or not effect.is_conclusive:
        return "Too few drifting replies for a conclusion: each group needs at least 10."
    gap, low, high = ("%+.0f" % (100 * part) for part in effect.gap)
    verdict = "help" if effect.gap[1] > 0 else "hurt" if effect.gap[2] < 0 else "have no clear effect"
    text = "Corrections %s: %s percentage points (95%% interval %s to %s)." % (verdict, gap, low, high)
    return text.replace("-", "\u2212")


def _by_model(report: Report) -> list[ScoreGroup]:
    return group_scores(report.ledgers.replies, lambda score: score.model)


def _models(report: Report) -> Table:
    rows: list[list[Cell]] = [
        [Name(group.name), count(group.replies), percent(group.padded.k, group.replies)]
        for group in _by_model(report)[:_MAX_ROWS]
    ]
    return Table(
        "Models", [("Model", "name"), ("Replies", "n"), ("With filler", "n")], rows if len(rows) > 1 else []
    )


def _sessions(report: Report) -> Section:
    graded = report.ledgers.sessions
    means, signals, quality = graded.means(), ranked(graded.signals()), graded.quality()
    figures = {
        "graded": len(graded.rows),
        "scores": {name: {"mean": round(mean, 3), "sessions": n} for name, (mean, n) in means.items()},
        "signals": dict(signals),
    }
    nothing = "No sessions were graded in this period. To grade one, type in Claude Code:"
    parts: list[Part] = [Note(nothing, "/memory:score-session", "empty")]
    if graded.rows:
        grades: list[list[Cell]] = []
        for name, (mean, number) in means.items():
            dimension = dimensions().get(name)
            best = dimension.highest if dimension is not None else 1
            score = "%.2f of %d" % (mean, best)
            bar = Bar([("accent", mean)], best, "%s, sessions: %s" % (score, count(number)))
            grades.append([Name(name.replace("_", " ")), bar, score, count(number)])
        columns = [("Dimension", "name"), ("", "bar"), ("Mean", "n"), ("Sessions", "n")]
        seen: list[list[Cell]] = [
            [Name(name.replace("_", " ").replace("-", " ")), count(number)]
            for name, number in signals[:_MAX_ROWS]
        ]
        tiles = [(count(len(graded.rows)), "sessions graded", "")]
        tiles += [] if quality is None else [("%.2f" % quality, "mean quality, 0 to 1", "")]
        tables = [
            Table("Mean grades", columns, grades),
            Table("Signals", [("Signal", "name"), ("Sessions", "n")], seen),
        ]
        parts = [Tiles(tiles), SideBySide([[table] for table in tables])]
    about = "The latest grade of each session, on six dimensions."
    return Section("sessions", "Sessions", "Sessions", about, figures, parts)


def _spend(report: Report) -> Section:
    spend, recalls = report.ledgers.spend, report.ledgers.recalls
    features = sorted(spend.features.items())
    medians = {name: quantile(spend.waits.get(name, []), 0.5) for name, _ in features}
    names = ("calls", "cached", "failed", "unpriced", "tokens")
    figures = {
        "usd": round(spend.total, 6),
        "features": {
            name: {
                **{part: counts[part] for part in names},
                "usd": round(spend.usd.get(name, 0.0), 6),
                "ms_median": _rounded(medians[name], 1),
            }
            for name, counts in features
        },
        "failures": dict(ranked(spend.failures)),
        "verdicts": dict(ranked(spend.verdicts)),
    }
    per_prompt = recalls.tokens / recalls.prompts if recalls.prompts else 0
    tiles = [
        (money(spend.total), "spent on judges", ""),
        (count(recalls.tokens), "tokens added by memories", ""),
        ("%.0f" % per_prompt, "tokens per prompt, on average", ""),
    ]
    parts: list[Part] = [Tiles(tiles)]
    if spend.days:
        days = {date: (usd,) for date, usd in spend.days.items()}
        parts.append(
            Chart("Judge costs by day", days, [("accent", "US dollars")], "%s in total." % money(spend.total))
        )
    heads = ("Calls", "From cache", "Failed", "Tokens", "Median wait", "Cost")
    rows: list[list[Cell]] = [
        [
            Name(name),
            *(count(counts[part]) for part in ("calls", "cached", "failed", "tokens")),
            milliseconds(medians[name]),
            money(spend.usd.get(name, 0.0)),
        ]
        for name, counts in features
    ]
    parts.append(Table("", [("Feature", "name"), *((head, "n") for head in heads)], rows))
    if not rows:
        nothing = "No judge was asked: nothing was sent or spent. To switch the judges on:"
        parts.append(Note(nothing, "memory judge on", "empty"))
    unpriced = sum(counts["unpriced"] for _, counts in features)
    if unpriced:
        left_out = "Calls without a known price, not included in the total: %s." % count(unpriced)
        parts.append(Note(left_out, kind="soft"))
    about = "What the judges cost, estimated from their token usage, and the tokens that memories added to your prompts."
    return Section("spend", "Spending", "Spending", about, figures, parts)


def _health(report: Report) -> Section:
    ledgers, waits = report.ledgers, report.ledgers.recalls.waits
    events = ranked(ledgers.events)
    found = [check for check in report.checks if check.status != "ok"]
    passed = "%d of %d checks passed without a remark." % (
        len(report.checks) - len(found),
        len(report.checks),
    )
    rows: list[list[Cell]] = [
        [Name(check.name, "", check.status), check.text, Command(check.fix)] for check in found
    ]
    seen: list[list[Cell]] = [[Name(name), count(number)] for name, number in events[:_MAX_ROWS]]
    hook = "Time in the prompt hook, not counting the start of Python: median %s, 95th percentile %s."
    hook_times = milliseconds(quantile(waits, 0.5)), milliseconds(quantile(waits, 0.95))
    lines = "Ledger lines read: %s. Unreadable: %s." % (count(ledgers.lines), count(ledgers.skipped))
    return Section(
        "health",
        "Health",
        "Health",
        "What memory doctor finds now, and the problems that hooks reported in this period.",
        {"checks": [check._asdict() for check in report.checks], "events": dict(events)},
        [
            Table("", [("Check", "name"), ("Finding", "text"), ("What to do", "text")], rows),
            Note(passed, kind="soft"),
            Table("Problems in hooks", [("Event", "name"), ("Times", "n")], seen),
            *([Note(hook % hook_times)] if waits else []),
            Note(lines, kind="soft"),
        ],
    )


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
