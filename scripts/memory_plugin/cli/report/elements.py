"""What a section of the report is made of, for every form of output, and two of these: text in a terminal, and JSON data.

Cells and figures are plain values; their kind says how they are written.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Union

from ...kernel.text.clean import plain
from ...recall.explain import reason_text
from ..console import Console

TITLE = "Memory report"
_MAX_TEXT = 1000
_MAX_ROWS = 8
_MAX_STEPS = 36  # of a chart
_BLOCKS = " \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
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


def number_text(value: float) -> str:
    """Return a number with as many digits as it needs: 1,200, 2.5, 0.0004."""
    return f"{value:,.0f}" if value >= 100 or value == int(value) else "%.3g" % value


def percent(part: float, whole: float) -> str:
    """Return a share in percent; a dash if `whole` is 0."""
    return "%.0f%%" % (100 * part / whole) if whole else "\u2013"


def shown(kind: str, value: Any) -> str:  # noqa: ANN401  (a text or a number)
    """Return a value as it is written; what is unknown is a dash."""
    if value is None:
        return "\u2013"
    if kind in _FORMS:
        return _FORMS[kind](value)
    return value if isinstance(value, str) else number_text(value)


def _money(value: float) -> str:
    """Return an amount in dollars, with four decimals below one dollar."""
    return "$%.2f" % value if value >= 1 or value == 0 else "$%.4f" % value


def _term(name: str) -> str:
    """Return a name from the ledgers as text: the sentence of a reason, or its words."""
    text = reason_text(name).replace("_", " ")
    return text[:1].upper() + text[1:] or "No reason recorded"


_FORMS: dict[str, Callable[[Any], str]] = {
    "money": _money,
    "ms": lambda value: "%s\u00a0ms" % number_text(round(value)),
    "date": day_label,
    "score": "{:.2f}".format,
    "term": _term,
    "share": str,
}


def as_json(sections: Sequence[Section]) -> dict[str, Any]:
    """Return the figures, the charts and all rows of the tables, by section."""
    return {section.name: _section_json(section) for section in sections}


def _section_json(section: Section) -> dict[str, Any]:
    record: dict[str, Any] = {}
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


def print_page(page: Page, console: Console) -> None:
    """Print a report in short lines."""
    console.line(console.style(TITLE, "bold") + "  " + page.when)
    console.paragraph(page.lead)
    for section in page.sections:
        console.line()
        console.line(console.style(section.heading, "bold"))
        for part in section.parts:
            _print(part, page, console)


def _print(part: Part, page: Page, console: Console) -> None:
    if isinstance(part, Figures):
        for _, label, kind, value in part.values:
            console.line("  %s: %s" % (label, shown(kind, value)))
    elif isinstance(part, Chart):
        buckets = fill_buckets(part, page.since, page.until, _MAX_STEPS)
        for index, (label, total, share) in enumerate(totals(part)):
            values = [bucket.values[index] for bucket in buckets]
            if any(values):
                steps = (round((len(_BLOCKS) - 1) * value / max(values)) for value in values)
                course = "".join(_BLOCKS[step] for step in steps) if sum(map(bool, values)) > 1 else ""
                console.line(("  %-14s %9s %4s  %s" % (label, total, share, course)).rstrip())
    elif isinstance(part, Note):
        console.paragraph("%s %s" % (part.text, part.command), "  ", 2)
    elif part.rows:
        console.paragraph(("%s: %s" % (part.heading, part.about)).strip(), "  ", 2)
        _print_rows(part, console)
    elif part.empty:
        console.paragraph("%s: %s" % (part.heading, part.empty), "  ", 2)


def _print_rows(table: Table, console: Console) -> None:
    """Print rows as a table, or, with texts that may be long, each as a paragraph with its command below it."""
    left_out = ("small", "command")
    heads = [heading for _, heading, kind in table.columns if kind not in left_out]
    is_long = not {"text", "command"}.isdisjoint(kind for _, _, kind in table.columns)
    printed = []
    for row in table.rows[:_MAX_ROWS]:
        cells = [
            (kind, plain(shown(kind, cell), _MAX_TEXT)) for (_, _, kind), cell in zip(table.columns, row)
        ]
        printed.append([text for kind, text in cells if kind not in left_out])
        if is_long:
            facts = [
                "%s: %s" % (head.lower(), text) for head, text in zip(heads[1:], printed[-1][1:]) if text
            ]
            console.paragraph("; ".join([printed[-1][0], *facts]), "    ", 6)
            for text in (text for kind, text in cells if kind == "command" and text):
                console.paragraph(text, "      > ", 8)
    if not is_long:
        console.table(heads, printed)
    if len(table.rows) > _MAX_ROWS:
        console.line("    and %d more" % (len(table.rows) - _MAX_ROWS))


def totals(chart: Chart) -> list[tuple[str, str, str]]:
    """Return the label, the total and the share of each series."""
    sums = [sum(day[index] for day in chart.days.values()) for index in range(len(chart.series))]
    shares = [percent(one, sum(sums)) if len(sums) > 1 else "" for one in sums]
    return [(label, number_text(one), share) for (_, _, label), one, share in zip(chart.series, sums, shares)]
