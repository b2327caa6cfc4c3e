"""The report as one self-contained HTML file: no script, no request, light and dark, printable.

Charts are inline SVG that holds shapes only and stretches to any width; labels are HTML, so that text is not stretched.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from math import log10
from typing import Any

from ... import VERSION
from ...kernel.paths import data_path
from ...kernel.text.clean import escape, plain
from .elements import (
    Bar,
    Bucket,
    Chart,
    Command,
    Name,
    Note,
    Section,
    SideBySide,
    Table,
    Tiles,
    count,
    day_label,
    fill_buckets,
    number_text,
)
from .sections import Report, lead, sections

MARK = b"<!-- memory report -->"  # tells our own files from others
_TITLE = "Memory report"
_MAX_TEXT = 1000
_MAX_ROWS = 25
_MAX_COLUMNS = 62
_WIDTH, _HEIGHT = 1000, 100
_GAP = 0.22  # of a column's width, between two columns
_PAGE = (
    '<!DOCTYPE html>\n%s\n<html lang="en"><head><meta charset="utf-8">'
    '<meta http-equiv="Content-Security-Policy" content="%s">'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
    '<title>%s</title><style>%s</style></head>\n<body><div class="sheet">%s<main>%s</main>%s</div></body></html>\n'
)
_TOP = (
    '<header class="top"><h1>%s</h1><span class="when">%s, %s to %s</span></header><p class="lead">%s</p>'
    '<nav aria-label="Sections">%s</nav>'
)
_BOTTOM = (
    "<footer><p>Made by memory %s on this machine. Nothing was sent anywhere."
    " This file may contain your prompts, so only your account can read it.</p></footer>"
)


def safe(text: object) -> str:
    """Return a text for HTML: one line without hidden characters that cannot end an element or an attribute."""
    return escape(plain(str(text), _MAX_TEXT))


def page(report: Report) -> str:
    """Return the HTML document; its policy admits no script and only its own style sheet."""
    with open(data_path("report", "report.css"), encoding="utf-8") as file:
        style = file.read()
    hashed = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    policy = "default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'" % hashed
    shown = sections(report)
    body = "\n".join(_section(section, report) for section in shown)
    return _PAGE % (
        MARK.decode("ascii"),
        policy,
        _TITLE,
        style,
        _top(report, shown),
        body,
        _BOTTOM % safe(VERSION),
    )


def _top(report: Report, shown: Sequence[Section]) -> str:
    links = "".join('<a href="#%s">%s</a>' % (section.name, safe(section.heading)) for section in shown)
    texts = (
        report.scope[:1].upper() + report.scope[1:],
        day_label(report.since),
        day_label(report.until),
        lead(report),
    )
    return _TOP % (_TITLE, *map(safe, texts), links)


def _section(section: Section, report: Report) -> str:
    parts = "".join(_part(part, report) for part in section.parts)
    texts = section.name, safe(section.heading), safe(section.about), parts
    return '<section id="%s"><h2>%s</h2><p class="about">%s</p>%s</section>' % texts


def _part(part: Any, report: Report) -> str:  # noqa: ANN401  (one of the parts of a section)
    if isinstance(part, Table):
        return _table(part)
    if isinstance(part, Chart):
        return _chart(part, fill_buckets(part, report.since, report.until, _MAX_COLUMNS))
    if isinstance(part, Tiles):
        return _tiles(part)
    if isinstance(part, SideBySide):
        shown = "".join(
            "<div>%s</div>" % text for text in (_part(item, report) for item in part.parts) if text
        )
        return '<div class="two">%s</div>' % shown if shown else ""
    return _note(part)


def _note(note: Note) -> str:
    command = " <code>%s</code>" % safe(note.command) if note.command else ""
    return '<p class="%s">%s%s</p>' % (note.kind, safe(note.text), command)


def _tiles(tiles: Tiles) -> str:
    shown = ((kind, safe(value), safe(label)) for value, label, kind in tiles.tiles)
    return '<div class="tiles">%s</div>' % "".join(
        '<div class="tile %s"><b>%s</b><span>%s</span></div>' % tile for tile in shown
    )


def _table(table: Table, most: int = _MAX_ROWS) -> str:
    """Return a table with its heading. On a narrow screen the rows of a wide table become cards."""
    heading = "<h3>%s</h3>" % safe(table.heading) if table.heading else ""
    if not table.rows:
        return heading + _note(Note(table.empty, kind="soft")) if table.empty else ""
    about = _note(Note(table.about, kind="soft")) if table.about else ""
    heads = "".join('<th scope="col" class="%s">%s</th>' % (kind, safe(name)) for name, kind in table.columns)
    rows = "".join("<tr>%s</tr>" % _cells(table, row) for row in table.rows[:most])
    kinds = [kind for _, kind in table.columns]
    is_wide = len(kinds) > 3 or (len(kinds) == 3 and "bar" not in kinds)
    more = len(table.rows) - most
    note = Note("and %s more:" % count(more), "memory report --json", "soft")
    return '%s%s<div class="scroll"><table class="%s"><thead><tr>%s</tr></thead><tbody>%s</tbody></table></div>%s' % (
        heading, about, "wide" if is_wide else "", heads, rows, _note(note) if more > 0 else "",
    )  # fmt: skip


def _cells(table: Table, row: Sequence[object]) -> str:
    return "".join(
        '<td class="%s"%s>%s</td>'
        % (kind, "" if kind in ("name", "bar") else ' data-label="%s"' % safe(name), _cell(cell))
        for (name, kind), cell in zip(table.columns, row)
    )


def _cell(cell: object) -> str:
    if isinstance(cell, Name):
        mark = (
            ' <span class="mark %s">%s</span>' % (safe(cell.status), safe(cell.status)) if cell.status else ""
        )
        return safe(cell.text) + mark + ("<small>%s</small>" % safe(cell.small) if cell.small else "")
    if isinstance(cell, Command):
        return "<code>%s</code>" % safe(cell.text) if cell.text else ""
    if isinstance(cell, Bar):
        return _bar(cell)
    return safe(cell)


def _bar(bar: Bar) -> str:
    shapes, x = [], 0.0
    for kind, value in bar.parts:
        width = _WIDTH * value / bar.total if bar.total > 0 else 0.0
        if width > 0:
            shapes.append('<rect class="f-%s" x="%.1f" y="0" width="%.1f" height="10"/>' % (kind, x, width))
        x += width
    return '<svg class="bar" role="img" viewBox="0 0 %d 10" preserveAspectRatio="none"><title>%s</title>%s</svg>' % (
        _WIDTH, safe(bar.text), "".join(shapes),
    )  # fmt: skip


def _chart(chart: Chart, buckets: Sequence[Bucket]) -> str:
    """Return stacked columns with their legend, and their numbers as a collapsed table."""
    totals = [sum(day[index] for day in chart.days.values()) for index in range(len(chart.series))]
    shown = [
        (color, label, number_text(total)) for (color, label), total in zip(chart.series, totals) if total
    ]
    legend = "".join('<li class="%s">%s: %s</li>' % series for series in shown)
    columns = [("Date", "name"), *((label, "n") for _, label in chart.series)]
    rows = [[bucket.label, *map(number_text, bucket.values)] for bucket in buckets if any(bucket.values)]
    numbers = "<details><summary>Show as a table</summary>%s</details>" % _table(
        Table("", columns, rows), _MAX_COLUMNS
    )
    return '<ul class="legend">%s</ul>%s%s' % (legend, _figure(chart, buckets), numbers)


def _columns(chart: Chart, buckets: Sequence[Bucket], top: float) -> str:
    step = _WIDTH / len(buckets)
    shapes = []
    for index, bucket in enumerate(buckets):
        base, parts = float(_HEIGHT), []
        shown = [(kind, label, value) for (kind, label), value in zip(chart.series, bucket.values) if value]
        for kind, _, value in shown:
            base -= _HEIGHT * value / top
            box = kind, index * step + step * _GAP / 2, base, step * (1 - _GAP), _HEIGHT * value / top
            parts.append('<rect class="f-%s" x="%.1f" y="%.2f" width="%.1f" height="%.2f"/>' % box)
        values = ", ".join("%s %s" % (number_text(value), label) for _, label, value in shown)
        if parts:
            shapes.append(
                "<g><title>%s: %s</title>%s</g>" % (safe(bucket.label), safe(values), "".join(parts))
            )
    return "".join(shapes)


def _figure(chart: Chart, buckets: Sequence[Bucket]) -> str:
    """Return the columns with their axes."""
    top = _round_up(max(sum(bucket.values) for bucket in buckets))
    starts = [bucket.start for bucket in buckets]
    grid = "".join('<line class="grid" x1="0" x2="%d" y1="%d" y2="%d"/>' % (_WIDTH, y, y) for y in (0, 50))
    ticks = [starts[0], starts[len(starts) // 2], starts[-1]] if len(starts) > 2 else starts
    return (
        '<figure><div class="plot"><div class="y" aria-hidden="true"><span>%s</span><span>%s</span><span>0</span></div>'
        '<svg role="img" viewBox="0 0 %d %d" preserveAspectRatio="none"><title>%s</title><desc>%s</desc>%s%s</svg>'
        '<div class="x" aria-hidden="true">%s</div></div></figure>'
    ) % (
        number_text(top), number_text(top / 2), _WIDTH, _HEIGHT, safe(chart.title), safe(chart.text), grid,
        _columns(chart, buckets, top), "".join("<span>%s</span>" % safe(day_label(start)) for start in ticks),
    )  # fmt: skip


def _round_up(value: float) -> float:
    """Return the next round number for the top of a scale; 1 for 0."""
    if value <= 0:
        return 1
    power: float = 10.0 ** (log10(value) // 1)
    steps = (1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10)
    return next(step * power for step in steps if step * power >= value * (1 - 1e-9))
