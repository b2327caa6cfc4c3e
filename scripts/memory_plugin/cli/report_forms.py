"""The report in a terminal, and as one self-contained HTML file: no script, no request, light and dark, printable.

Both show the sections of `config/report/sections.json`. Figures and cells are plain values; the kind of their column says how they are
written. Charts are inline SVG that holds shapes only and stretches to any width; labels are HTML, so that text is not stretched.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .. import VERSION
from ..kernel.paths import data_path, load_data
from ..kernel.text.clean import escape, plain
from ..recall.explain import reason_text
from ..work.judges import dollars
from ..work.report import Report, Values
from .console import Console

_DASH = "\u2013"
_MAX_TEXT = 1000
_MAX_ROWS = 8
# Kinds of columns that a table in a terminal leaves out: below the name of a row, and a command to copy.
_SMALL, _COMMAND = "small", "command"


class Column(NamedTuple):
    """A figure, a series of a chart or a column of a table: its name among the figures, its label and its kind."""

    name: str
    label: str
    kind: str = "count"


class Part(NamedTuple):
    """A part of a section in one of the forms figures, chart, table and note; `sections.json` describes the fields."""

    form: str
    name: str = ""
    heading: str = ""
    about: str = ""
    columns: Sequence[Column] = ()
    empty: str = ""
    command: str = ""
    style: str = ""


class Bucket(NamedTuple):
    """The sums of one day or several: their first day, a label, and a value for each series."""

    start: str
    label: str
    values: Counter[str]


def shown_parts(section: Values, figures: Values) -> Iterator[tuple[Part, Any]]:
    """Yield the parts of a section that have something to show, each with its value: for tiles and notes all figures of the section."""
    if "counts" in section and not figures[section["counts"]]:
        yield Part("note", about=section["empty"], command=section.get("command", ""), style="empty"), figures
        return
    for described in section["parts"]:
        part, columns = Part(**described), [Column(*one) for one in described.get("columns", ())]
        part = part._replace(about=part.about.format_map(figures), columns=columns)
        value = figures.get(part.name, figures)
        if value or part.empty:
            yield part, value


def when(report: Report) -> str:
    """Return what the report is about, with its dates."""
    scope = report.scope[:1].upper() + report.scope[1:]
    return "%s, %s to %s" % (scope, day_label(report.since), day_label(report.until))


def day_label(text: str) -> str:
    """Return an ISO time or date as `Nov 2, 2026`; any other text unchanged."""
    try:
        date = dt.date.fromisoformat(text[:10])
    except ValueError:
        return text
    return "%s %d, %d" % (date.strftime("%b"), date.day, date.year)


def fill_buckets(days: Mapping[str, Mapping[str, float]], since: str, until: str, most: int) -> list[Bucket]:
    """Return at most that many buckets of equally many days from `since` to `until`; a missing day counts as 0."""
    first, last = dt.date.fromisoformat(since[:10]).toordinal(), dt.date.fromisoformat(until[:10]).toordinal()
    dates = [dt.date.fromordinal(number).isoformat() for number in range(first, last + 1)]
    width, buckets = -(-len(dates) // most), []
    for at in range(0, len(dates), width):
        inside, values = dates[at : at + width], Counter[str]()
        for date in inside:
            values.update(days.get(date, {}))
        label = " to ".join(map(day_label, dict.fromkeys([inside[0], inside[-1]])))
        buckets.append(Bucket(inside[0], label, values))
    return buckets


def totals(part: Part, days: Mapping[str, Mapping[str, float]]) -> list[tuple[Column, str, str]]:
    """Return each series of a chart that is not empty, with its total and its share; no share if the chart has only one."""
    sums = [sum(day[column.name] for day in days.values()) for column in part.columns]
    shares = ["%.0f%%" % (100 * one / (sum(sums) or 1)) if len(sums) > 1 else "" for one in sums]
    figures = zip(part.columns, sums, shares)
    return [(column, number_text(one), share) for column, one, share in figures if one]


def number_text(value: float) -> str:
    """Return a number with as many digits as it needs: 1,200, 2.5, 0.0004."""
    return f"{value:,.0f}" if value >= 100 or value == int(value) else "%.3g" % value


def shown(kind: str, value: object) -> str:
    """Return a value as it is written, on one line without hidden characters; what is unknown is a dash."""
    return _DASH if value is None else plain(_FORMS.get(kind, str)(value), _MAX_TEXT)


def _term(name: str) -> str:
    """Return a name from the ledgers as text: the sentence of a reason, or its words."""
    text = reason_text(name).replace("_", " ")
    return text[:1].upper() + text[1:] or "No reason recorded"


_FORMS: dict[str, Callable[[Any], str]] = {
    "count": lambda value: value if isinstance(value, str) else number_text(value),
    "money": dollars,
    "ms": lambda value: "%s\u00a0ms" % number_text(round(value)),
    "date": day_label,
    "score": "{:.2f}".format,
    "term": _term,
}


def print_report(report: Report, console: Console) -> None:
    """Print a report in short lines."""
    console.line(console.style("Memory report", "bold") + "  " + when(report))
    console.paragraph(report.lead)
    for section in load_data("report", "sections")["sections"]:
        console.lines("", console.style(section["heading"], "bold"))
        for part, value in shown_parts(section, report.sections[section["name"]]):
            _PRINTERS[part.form](part, value, console)


def _print_figures(part: Part, figures: Values, console: Console) -> None:
    console.lines(*("  %s: %s" % (label, shown(kind, figures[name])) for name, label, kind in part.columns))


def _print_chart(part: Part, days: Values, console: Console) -> None:
    """Print the total of each series, and its share."""
    for column, total, share in totals(part, days):
        console.line(("  %s: %s  %s" % (column.label, total, share)).rstrip())


def _print_note(part: Part, _figures: Values, console: Console) -> None:
    console.paragraph("%s %s" % (part.about, part.command), "  ", 2)


def _print_table(part: Part, rows: Sequence[Values], console: Console) -> None:
    """Print each row as a paragraph, because its texts may be long, with its command below it."""
    console.paragraph("%s: %s" % (part.heading, part.about if rows else part.empty), "  ", 2)
    name, *others = [one for one in part.columns if one.kind not in (_SMALL, _COMMAND)]
    for row in rows[:_MAX_ROWS]:
        texts = [(one.label.lower(), shown(one.kind, row[one.name])) for one in others]
        facts = ["%s: %s" % each for each in texts if each[1]]
        console.paragraph("; ".join([shown(name.kind, row[name.name]), *facts]), "    ", 6)
        if row.get("fix"):
            console.paragraph(shown(_COMMAND, row["fix"]), "      > ", 8)
    console.more(len(rows) - _MAX_ROWS, "    ")


_PRINTERS: dict[str, Callable[[Part, Any, Console], None]] = {
    "figures": _print_figures,
    "chart": _print_chart,
    "table": _print_table,
    "note": _print_note,
}

HTML_HEAD = b"<!DOCTYPE html>\n<!-- memory report -->\n"  # tells our own files from others
_MAX_HTML_ROWS = 25
_MAX_COLUMNS = 62
_WIDTH, _HEIGHT = 1000, 100
_GAP = 0.22  # of a column's width, between two columns
_SECTION = '<section id="%s"><h2>%s</h2><p class="about">%s</p>%s</section>'
_TILE = '<div class="tile"><b>%s</b><span>%s</span></div>'
_PART = '<div class="part %s"><h3>%s</h3>%s%s%s</div>'
_TABLE = '<div class="scroll"><table class="%s"><thead><tr>%s</tr></thead><tbody>%s</tbody></table></div>'
_FIGURE = (
    '<figure><div class="plot"><div class="y" aria-hidden="true"><span>%s</span><span>0</span></div>'
    '<svg role="img" viewBox="0 0 %d %d" preserveAspectRatio="none"><title>%s</title><desc>%s</desc>%s</svg>'
    '<div class="x" aria-hidden="true">%s</div></div></figure>'
)
_BOX = '<rect class="f-%s" x="%.1f" y="%.2f" width="%.1f" height="%.2f"/>'
_HEAD = '<th scope="col" class="%s">%s</th>'


def safe(text: object) -> str:
    """Return a text for HTML: one line without hidden characters that cannot end an element or an attribute."""
    return escape(plain(str(text), _MAX_TEXT))


def html(report: Report) -> str:
    """Return the HTML document; its policy admits no script and only its own style sheet."""
    style, page = _config("report.css"), _config("page.html")
    links, sections = [], []
    for section in load_data("report", "sections")["sections"]:
        name, heading = section["name"], safe(section["heading"])
        parts = shown_parts(section, report.sections[name])
        body = "".join(_WRITERS[part.form](part, value, report) for part, value in parts)
        links.append('<a href="#%s">%s</a>' % (name, heading))
        sections.append(_SECTION % (name, heading, safe(section["about"]), body))
    return page.format(
        digest=base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii"),
        style=style,
        period=safe(when(report)),
        lead=safe(report.lead),
        links="".join(links),
        sections="\n".join(sections),
        version=safe(VERSION),
    )


def _config(name: str) -> str:
    with open(data_path("report", name), encoding="utf-8") as file:
        return file.read()


def _tiles(part: Part, figures: Values, _: Report) -> str:
    tiles = [_TILE % (safe(shown(kind, figures[name])), safe(label)) for name, label, kind in part.columns]
    return '<div class="tiles">%s</div>' % "".join(tiles)


def _note(part: Part, _figures: Values, _: Report) -> str:
    return _paragraph(part.about, part.command, part.style or "soft")


def _paragraph(text: str, command: str = "", style: str = "soft") -> str:
    """Return a paragraph, with a command at its end if there is one; empty without a text."""
    code = " <code>%s</code>" % safe(command) if command else ""
    return '<p class="%s">%s%s</p>' % (style, safe(text), code) if text else ""


def _part(part: Part, rows: Sequence[Values], _: Report) -> str:
    """Return a table with its heading. Narrow ones are next to each other where there is room."""
    left = len(rows) - _MAX_HTML_ROWS
    more = "and %s more; to list them: memory report --json" % number_text(left) if left > 0 else ""
    table = _table(part, rows) if rows else ""
    about = _paragraph(part.about if rows else part.empty)
    return _PART % (part.style or "wide", safe(part.heading), about, table, _paragraph(more))


def _table(part: Part, rows: Sequence[Values]) -> str:
    name, *columns = [column for column in part.columns if column.kind != _SMALL]
    smalls = [column.name for column in part.columns if column.kind == _SMALL]
    heads = [_HEAD % ("name", safe(name.label)), *(_HEAD % (_style(one), safe(one.label)) for one in columns)]
    lines = []
    for row in rows[:_MAX_HTML_ROWS]:
        small = " \u00b7 ".join(safe(row[one]) for one in smalls if row[one])
        first = safe(shown(name.kind, row[name.name])) + ("<small>%s</small>" % small if small else "")
        cells = "".join(_cell(column, row[column.name]) for column in columns)
        lines.append('<tr><td class="name">%s</td>%s</tr>' % (first, cells))
    return _TABLE % (part.style or "wide", "".join(heads), "".join(lines))


def _style(column: Column) -> str:
    return "text" if column.kind in ("text", "mark", _COMMAND) else "n"


def _cell(column: Column, value: object) -> str:
    text = safe(shown(column.kind, value))
    if text and column.kind == _COMMAND:
        text = "<code>%s</code>" % text
    elif column.kind == "mark":
        text = '<span class="mark %s">%s</span>' % (text, text)
    return '<td class="%s" data-label="%s">%s</td>' % (_style(column), safe(column.label), text)


def _chart(part: Part, days: Values, report: Report) -> str:
    """Return stacked columns with their legend."""
    buckets = fill_buckets(days, report.since, report.until, _MAX_COLUMNS)
    sums = totals(part, days)
    facts = ((one.kind, one.label, total, share) for one, total, share in sums)
    legend = "".join('<li class="%s">%s: %s %s</li>' % each for each in facts)
    text = "%s: %s" % (when(report), ", ".join("%s %s" % (total, one.label) for one, total, _ in sums))
    return '<ul class="legend">%s</ul>%s' % (legend, _figure(part, buckets, text))


def _figure(part: Part, buckets: Sequence[Bucket], text: str) -> str:
    """Return the columns with their axes; `text` describes them."""
    top = max(sum(bucket.values.values()) for bucket in buckets) or 1
    starts = [bucket.start for bucket in buckets]
    ticks = [starts[0], starts[len(starts) // 2], starts[-1]] if len(starts) > 2 else starts
    step = _WIDTH / len(buckets)
    shapes = [_column(part, bucket, top, index * step, step) for index, bucket in enumerate(buckets)]
    dates = "".join("<span>%s</span>" % safe(day_label(start)) for start in ticks)
    texts = safe(part.heading), safe(text), "".join(shapes), dates
    return _FIGURE % (number_text(top), _WIDTH, _HEIGHT, *texts)


def _column(part: Part, bucket: Bucket, top: float, left: float, step: float) -> str:
    """Return the stacked column of one bucket; empty without values."""
    base, boxes, texts = float(_HEIGHT), [], []
    for name, label, color in part.columns:
        value = bucket.values[name]
        if value:
            height = _HEIGHT * value / top
            base -= height
            boxes.append(_BOX % (color, left + step * _GAP / 2, base, step * (1 - _GAP), height))
            texts.append("%s %s" % (number_text(value), label))
    title = safe("%s: %s" % (bucket.label, ", ".join(texts)))
    return "<g><title>%s</title>%s</g>" % (title, "".join(boxes)) if boxes else ""


_WRITERS: dict[str, Callable[[Part, Any, Report], str]] = {
    "figures": _tiles,
    "chart": _chart,
    "table": _part,
    "note": _note,
}
