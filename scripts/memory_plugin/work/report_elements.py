"""The parts of a report: figures, tables, charts and notes, in sections of a page."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Union

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Figures:
    """Figures: the name in JSON, the label, the kind and the value of each."""

    def __init__(self, *values: tuple[str, str, str, Any]) -> None:
        self.values = values


class Table(NamedTuple):
    """Rows of values; each column has a name in JSON, a heading and a kind.

    Kinds are name, term (a name from the ledgers), small (below the name), text, command, mark, and those of figures.

    `about` comes before the rows, and `empty` replaces them if there are none; without it, an empty table is left out. `bar` is the
    color of bars that show the first figure. Page and text show as many rows as they have room for, and say how many they leave out.
    """

    name: str
    heading: str
    columns: Sequence[tuple[str, str, str]]
    rows: Sequence[Sequence[Any]]
    about: str = ""
    empty: str = ""
    bar: str = ""


class Chart(NamedTuple):
    """Values by date, one for each series, which has a name in JSON, a color and a label; stacked. `text` describes it.

    A section has at most one; in JSON it is called `days`.
    """

    title: str
    days: Mapping[str, Sequence[float]]
    series: Sequence[tuple[str, str, str]]
    text: str


class Note(NamedTuple):
    """A sentence, and perhaps a command; `kind` is a style: text, soft, or empty for what replaces missing figures."""

    text: str
    command: str = ""
    kind: str = "text"


Part = Union[Figures, Table, Chart, Note]


class Section(NamedTuple):
    """A section: its name in links and in JSON, its heading, a sentence about it, and its parts."""

    name: str
    heading: str
    about: str
    parts: Sequence[Part]


class Bucket(NamedTuple):
    """The sums of one day or several: their first day, a label, and a value for each series."""

    start: str
    label: str
    values: tuple[float, ...]


class Page(NamedTuple):
    """A report: what it is about, its first and its last day, its summary, and its sections."""

    scope: str
    since: str
    until: str
    lead: str
    sections: Sequence[Section]

    @property
    def when(self) -> str:
        """Return what the report is about, with its dates."""
        return "%s, %s to %s" % (self.scope, day_label(self.since), day_label(self.until))


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
        label = day_label(dates[0]) + (" to " + day_label(dates[-1]) if width > 1 else "")
        buckets.append(Bucket(dates[0], label, values))
        start = last + dt.timedelta(days=1)
    return buckets


def day_label(text: str) -> str:
    """Return an ISO time or date as `Nov 2, 2026`; any other text unchanged."""
    try:
        date = dt.date.fromisoformat(text[:10])
    except ValueError:
        return text
    return "%s %d, %d" % (_MONTHS[date.month - 1], date.day, date.year)


def as_json(sections: Sequence[Section]) -> dict[str, object]:
    """Return the figures, the charts and all rows of the tables, by section."""
    return {section.name: _section_json(section) for section in sections}


def _section_json(section: Section) -> dict[str, object]:
    record: dict[str, object] = {}
    for part in section.parts:
        if isinstance(part, Figures):
            record.update({name: value for name, _, _, value in part.values})
        elif isinstance(part, Chart):
            names = [name for name, _, _ in part.series]
            record["days"] = {day: dict(zip(names, values)) for day, values in sorted(part.days.items())}
        elif isinstance(part, Table):
            names = [name for name, _, _ in part.columns]
            record[part.name] = [dict(zip(names, row)) for row in part.rows]
    return record
