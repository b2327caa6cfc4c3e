"""What a section of the report is made of, for every form of output; and numbers and dates as text."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Union

from ...kernel.stats import Proportion

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


Cell = Union[str, Name, Bar, Command, "Proportion"]  # a proportion is drawn with its interval


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
    """Values by date, one for each series, which has a color and a label; stacked, or as a line of the share second/first."""

    title: str
    days: Mapping[str, Sequence[float]]
    series: Sequence[tuple[str, str]]
    text: str
    is_share: bool = False


class Tiles(NamedTuple):
    """Figures with a label and a color."""

    tiles: Sequence[tuple[str, str, str]]


class Note(NamedTuple):
    """A sentence, and perhaps a command; `kind` is a style: text, soft, or empty for what replaces missing figures."""

    text: str
    command: str = ""
    kind: str = "text"


class SideBySide(NamedTuple):
    """Tables next to each other where there is room: the parts of each column."""

    columns: Sequence[Sequence[Table | Note]]


Part = Union[Table, Chart, Tiles, Note, SideBySide]


class Section(NamedTuple):
    """A section: its name in JSON, its heading and short heading, a sentence about it, its figures for JSON, and its parts."""

    name: str
    heading: str
    short: str
    about: str
    figures: dict[str, Any]
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


def times(number: int) -> str:
    """Return `once` or `12 times`."""
    return "once" if number == 1 else "%s times" % count(number)
