"""What a section of the report is made of, for every form of output; numbers and dates as text; and the form in a terminal."""

from __future__ import annotations

import datetime as dt
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Union

from ...kernel.text.clean import plain
from ..console import Console

_MAX_ROWS = 8
_MAX_DAYS = 36
_MAX_TEXT = 300
_WIDTH = 80
_STEPS = " \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Name(NamedTuple):
    """The cell that names a row, with a small second line and a status, each of which may be empty."""

    text: str
    small: str = ""
    status: str = ""


class Bar(NamedTuple):
    """A cell with a bar of length `total`; each part has a color and a length. `text` describes it."""

    parts: Sequence[tuple[str, float]]
    total: float
    text: str


class Command(NamedTuple):
    """A cell with a command to type."""

    text: str


Cell = Union[str, Name, Bar, Command]


class Table(NamedTuple):
    """Rows of cells; the columns have headings and kinds: name, n (a number), bar, or text.

    `about` comes before the rows, and `empty` replaces them if there are none; without it, an empty table is left out. Each form
    shows as many rows as it has room for, and says how many it leaves out.
    """

    heading: str
    columns: Sequence[tuple[str, str]]
    rows: Sequence[Sequence[Cell]]
    about: str = ""
    empty: str = ""


class Chart(NamedTuple):
    """Values by date, one for each series, which has a color and a label; stacked."""

    title: str
    days: Mapping[str, Sequence[float]]
    series: Sequence[tuple[str, str]]
    text: str


class Tiles(NamedTuple):
    """Figures with a label and a color."""

    tiles: Sequence[tuple[str, str, str]]


class Note(NamedTuple):
    """A sentence, and perhaps a command; `kind` is a style: text, soft, or empty for what replaces missing figures."""

    text: str
    command: str = ""
    kind: str = "text"


class SideBySide(NamedTuple):
    """Tables next to each other where there is room."""

    parts: Sequence[Table | Note]


Part = Union[Table, Chart, Tiles, Note, SideBySide]


class Section(NamedTuple):
    """A section: its name in links, its heading, a sentence about it, and its parts."""

    name: str
    heading: str
    about: str
    parts: Sequence[Part]


class Bucket(NamedTuple):
    """The sums of one day or several: their first day, a label, and a value for each series."""

    start: str
    label: str
    values: tuple[float, ...]


def fill_buckets(chart: Chart, since: str, until: str, most: int) -> list[Bucket]:
    """Return at most that many buckets of equally many days from `since` to `until`; a missing day counts as 0."""
    start, end = dt.date.fromisoformat(since[:10]), dt.date.fromisoformat(until[:10])
    width = -(-((end - start).days + 1) // most)
    buckets = []
    while start <= end:
        last = min(end, start + dt.timedelta(days=width - 1))
        dates = [(start + dt.timedelta(days=number)).isoformat() for number in range((last - start).days + 1)]
        found = [chart.days[date] for date in dates if date in chart.days]
        values = tuple(sum(day[index] for day in found) for index in range(len(chart.series)))
        buckets.append(Bucket(dates[0], _days_label(dates[0], dates[-1]), values))
        start = last + dt.timedelta(days=1)
    return buckets


def _days_label(first: str, last: str) -> str:
    if first == last:
        return day_label(last)
    start = day_label(first)
    return "%s to %s" % (start.partition(",")[0] if first[:4] == last[:4] else start, day_label(last))


def day_label(text: str) -> str:
    """Return an ISO time or date as `Nov 2, 2026`; any other text unchanged."""
    try:
        date = dt.date.fromisoformat(text[:10])
    except ValueError:
        return text
    return "%s %d, %d" % (_MONTHS[date.month - 1], date.day, date.year)


def count(number: float) -> str:
    """Return a whole number with separators."""
    return f"{number:,.0f}"


def number_text(value: float) -> str:
    """Return a number with as many digits as it needs: 1,200, 2.5, 0.0004."""
    return count(value) if value >= 100 or value == int(value) else "%.3g" % value


def percent(part: float, whole: float) -> str:
    """Return a share in percent; a dash if `whole` is 0."""
    return "%.0f%%" % (100 * part / whole) if whole else "\u2013"


def money(usd: float) -> str:
    """Return an amount in US dollars; amounts below one dollar get four decimals."""
    return "$%.2f" % usd if usd >= 1 or usd == 0 else "$%.4f" % usd


def milliseconds(ms: float | None) -> str:
    """Return a duration in milliseconds; a dash for None."""
    return "\u2013" if ms is None else "%s\u00a0ms" % count(ms)


def times(number: int, noun: str = "time") -> str:
    """Return `once` or `12 times`; with another noun, `1 prompt` or `12 prompts`."""
    if number == 1:
        return "once" if noun == "time" else "1 " + noun
    return "%s %ss" % (count(number), noun)


def print_section(section: Section, since: str, until: str, console: Console) -> None:
    """Print a section in short lines of at most 80 columns; charts show the time from `since` to `until`."""
    console.line()
    console.line(console.style(section.heading, "bold"))
    for part in section.parts:
        for item in part.parts if isinstance(part, SideBySide) else [part]:
            _print(item, since, until, console)


def _print(part: Any, since: str, until: str, console: Console) -> None:  # noqa: ANN401  (one of the parts of a section)
    if isinstance(part, Table):
        _print_table(part, console)
    elif isinstance(part, Chart):
        _print_chart(part, fill_buckets(part, since, until, _MAX_DAYS), console)
    elif isinstance(part, Tiles):
        for value, label, _ in part.tiles:
            console.line("  %s: %s" % (label, value))
    else:
        console.paragraph("%s %s" % (part.text, part.command), "  ", 2)


def _print_chart(chart: Chart, buckets: Sequence[Bucket], console: Console) -> None:
    """Print each series as its total, its share of all, and its course over the days."""
    totals = [sum(bucket.values[index] for bucket in buckets) for index in range(len(chart.series))]
    for index, ((_, label), total) in enumerate(zip(chart.series, totals)):
        if total:
            share = percent(total, sum(totals)) if len(totals) > 1 else ""
            values = [bucket.values[index] for bucket in buckets]
            course = "".join(_STEPS[round((len(_STEPS) - 1) * value / max(values))] for value in values)
            console.line("  %-14s %9s %4s  %s" % (label, number_text(total), share, course))


def _print_table(table: Table, console: Console) -> None:
    """Print the rows: names and numbers in columns, and texts below them; bars are left out."""
    if not table.rows:
        if table.empty:
            console.paragraph("%s: %s" % (table.heading, table.empty), "  ", 2)
        return
    rows = table.rows[:_MAX_ROWS]
    numbers = [index for index, (_, kind) in enumerate(table.columns) if kind == "n"]
    heads = [table.columns[index][0] for index in numbers]
    widths = [max(len(head), *(len(str(row[index])) for row in rows)) for index, head in zip(numbers, heads)]
    room = max(20, min(console.width, _WIDTH) - 4 - sum(width + 2 for width in widths))
    texts = [index for index, (_, kind) in enumerate(table.columns) if kind == "text"]

    def print_row(lead: str, name: str, cells: Sequence[str]) -> None:
        shown = "".join("  " + cell.rjust(width) for cell, width in zip(cells, widths))
        console.line(lead + (name.ljust(room + 4 - len(lead)) + shown if shown else name))

    print_row("  ", table.heading or table.columns[0][0], heads)
    for row in rows:
        name = row[0] if isinstance(row[0], Name) else Name(str(row[0]))
        text = plain(name.text, _MAX_TEXT) + (": " + name.status if name.status else "")
        lines = textwrap.wrap(text, room, max_lines=2, placeholder="\u2026") or [""]
        print_row("    ", lines[0], [str(row[index]) for index in numbers])
        for line in lines[1:]:
            console.line("    " + line)
        for cell in filter(None, (row[index] for index in texts)):
            is_command = isinstance(cell, Command)
            text = plain(cell.text if isinstance(cell, Command) else str(cell), _MAX_TEXT)
            if text:
                console.paragraph(text, "      > " if is_command else "      ", 8)
    if len(table.rows) > len(rows):
        console.line("    and %s more" % count(len(table.rows) - len(rows)))
