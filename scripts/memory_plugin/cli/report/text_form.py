"""The report in the terminal: each section in short lines of at most 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from ...kernel.text.clean import plain
from ..console import Console
from .elements import (
    Chart,
    Command,
    Name,
    Note,
    SideBySide,
    Table,
    Tiles,
    count,
    day_label,
    fill_buckets,
    number_text,
    percent,
)
from .sections import Report, lead, sections

_MAX_ROWS = 8
_MAX_DAYS = 36
_MAX_TEXT = 300
_WIDTH = 80
_STEPS = " \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"


def print_report(report: Report, console: Console) -> None:
    """Print the report."""
    dates = "%s to %s" % (day_label(report.since), day_label(report.until))
    console.line(console.style("Memory report", "bold") + "  %s, %s" % (report.scope, dates))
    console.paragraph(lead(report))
    for section in sections(report):
        console.line()
        console.line(console.style(section.heading, "bold"))
        for part in section.parts:
            _print(part, report, console)


def _print(part: Any, report: Report, console: Console) -> None:  # noqa: ANN401  (one of the parts of a section)
    if isinstance(part, Table):
        _print_table(part, console)
    elif isinstance(part, Chart):
        _print_chart(part, report, console)
    elif isinstance(part, Tiles):
        for value, label, _ in part.tiles:
            console.line("  %s: %s" % (label, value))
    elif isinstance(part, SideBySide):
        for column in part.columns:
            for item in column:
                _print(item, report, console)
    elif isinstance(part, Note):
        console.paragraph("%s %s" % (part.text, part.command), "  ", 2)


def _print_chart(chart: Chart, report: Report, console: Console) -> None:
    """Print each series as its total, its share of all, and its course over the days."""
    buckets = fill_buckets(chart, report.since, report.until, _MAX_DAYS)
    if chart.is_share:
        shares = [bucket.values[1] / bucket.values[0] if bucket.values[0] else 0.0 for bucket in buckets]
        console.line("  %-28s  %s" % (chart.series[1][1], _course(shares)))
        return
    totals = [sum(bucket.values[index] for bucket in buckets) for index in range(len(chart.series))]
    for index, ((_, label), total) in enumerate(zip(chart.series, totals)):
        if total:
            share = percent(total, sum(totals)) if len(totals) > 1 else ""
            course = _course([bucket.values[index] for bucket in buckets])
            console.line("  %-13s %9s %4s  %s" % (label, number_text(total), share, course))


def _course(values: Sequence[float]) -> str:
    largest = max(values) or 1
    return "".join(_STEPS[round((len(_STEPS) - 1) * value / largest)] for value in values)


def _print_table(table: Table, console: Console) -> None:
    """Print the rows: names and numbers in columns, and texts below them; bars are left out."""
    if not table.rows and not table.empty:
        return
    rows, numbers = (
        table.rows[:_MAX_ROWS],
        [index for index, (_, kind) in enumerate(table.columns) if kind == "n"],
    )
    more = len(table.rows) - len(rows)
    heads = [table.columns[index][0] for index in numbers]
    if not rows:
        console.paragraph("%s: %s" % (table.heading, table.empty), "  ", 2)
        return
    widths = [max(len(head), *(len(str(row[index])) for row in rows)) for index, head in zip(numbers, heads)]
    room = min(console.width, _WIDTH) - 4 - sum(width + 2 for width in widths)
    console.line(_row(table.heading or table.columns[0][0], heads, widths, room + 2, "  "))
    for row in rows:
        name = row[0] if isinstance(row[0], Name) else Name(str(row[0]))
        text = plain(name.text, _MAX_TEXT) + (": " + name.status if name.status else "")
        lines = textwrap.wrap(text, max(20, room), max_lines=2, placeholder="\u2026") or [""]
        console.line(_row(lines[0], [str(row[index]) for index in numbers], widths, room, "    "))
        for line in lines[1:]:
            console.line("    " + line)
        for (_, kind), cell in zip(table.columns, row):
            text = cell.text if isinstance(cell, Command) else str(cell)
            if kind == "text" and text:
                console.paragraph(
                    plain(text, _MAX_TEXT), "      > " if isinstance(cell, Command) else "      ", 8
                )
    if more:
        console.line("    and %s more" % count(more))


def _row(name: str, cells: Sequence[str], widths: Sequence[int], room: int, lead: str) -> str:
    numbers = "".join("  " + cell.rjust(width) for cell, width in zip(cells, widths))
    return lead + (name.ljust(room) + numbers if numbers else name)
