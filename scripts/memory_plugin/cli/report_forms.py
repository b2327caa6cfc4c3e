"""The report in a terminal, and as one self-contained HTML file: no script, no request, light and dark, printable.

Cells and figures are plain values; their kind says how they are written. Charts are inline SVG that holds shapes only and stretches to any
width; labels are HTML, so that text is not stretched.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from .. import VERSION
from ..kernel.paths import data_path
from ..kernel.text.clean import escape, plain
from ..recall.explain import reason_text
from ..work import report_elements as elements
from .console import Console

TITLE = "Memory report"
_MAX_TEXT = 1000
_MAX_ROWS = 8
_MAX_STEPS = 36  # of a chart
_BLOCKS = " \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"


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
    "date": elements.day_label,
    "score": "{:.2f}".format,
    "term": _term,
    "share": str,
}


def print_page(page: elements.Page, console: Console) -> None:
    """Print a report in short lines."""
    console.line(console.style(TITLE, "bold") + "  " + page.when)
    console.paragraph(page.lead)
    for section in page.sections:
        console.lines("", console.style(section.heading, "bold"))
        for part in section.parts:
            _print(part, page, console)


def _print(part: elements.Part, page: elements.Page, console: Console) -> None:
    if isinstance(part, elements.Figures):
        console.lines(*("  %s: %s" % (label, shown(kind, value)) for _, label, kind, value in part.values))
    elif isinstance(part, elements.Chart):
        buckets = elements.fill_buckets(part, page.since, page.until, _MAX_STEPS)
        for index, (label, total, share) in enumerate(totals(part)):
            values = [bucket.values[index] for bucket in buckets]
            if any(values):
                steps = (round((len(_BLOCKS) - 1) * value / max(values)) for value in values)
                course = "".join(_BLOCKS[step] for step in steps) if sum(map(bool, values)) > 1 else ""
                console.line(("  %-14s %9s %4s  %s" % (label, total, share, course)).rstrip())
    elif isinstance(part, elements.Note):
        console.paragraph("%s %s" % (part.text, part.command), "  ", 2)
    elif part.rows:
        console.paragraph(("%s: %s" % (part.heading, part.about)).strip(), "  ", 2)
        _print_rows(part, console)
    elif part.empty:
        console.paragraph("%s: %s" % (part.heading, part.empty), "  ", 2)


def _print_rows(table: elements.Table, console: Console) -> None:
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


def totals(chart: elements.Chart) -> list[tuple[str, str, str]]:
    """Return the label, the total and the share of each series."""
    sums = [sum(day[index] for day in chart.days.values()) for index in range(len(chart.series))]
    shares = [percent(one, sum(sums)) if len(sums) > 1 else "" for one in sums]
    return [(label, number_text(one), share) for (_, _, label), one, share in zip(chart.series, sums, shares)]


MARK = b"<!-- memory report -->"  # tells our own files from others
_MAX_HTML_ROWS = 25
_MAX_COLUMNS = 62
_WIDTH, _HEIGHT = 1000, 100
_GAP = 0.22  # of a column's width, between two columns
_NARROW = (["name", "n"], ["name", "n", "n"])  # columns of tables that stand next to each other
_PAGE = (
    '<!DOCTYPE html>\n%s\n<html lang="en"><head><meta charset="utf-8">'
    '<meta http-equiv="Content-Security-Policy" content="%s">'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
    '<title>%s</title><style>%s</style></head>\n<body><div class="sheet">%s<main>%s</main>%s</div></body></html>\n'
)
_TOP = (
    '<header class="top"><h1>%s</h1><span class="when">%s</span></header><p class="lead">%s</p>'
    '<nav aria-label="Sections">%s</nav>'
)
_BOTTOM = (
    "<footer><p>Made by memory %s on this machine. Nothing was sent anywhere."
    " This file may contain your prompts, so only your account can read it.</p></footer>"
)
_FIGURE = (
    '<figure><div class="plot"><div class="y" aria-hidden="true"><span>%s</span><span>0</span></div>'
    '<svg role="img" viewBox="0 0 %d %d" preserveAspectRatio="none"><title>%s</title><desc>%s</desc>%s</svg>'
    '<div class="x" aria-hidden="true">%s</div></div></figure>'
)
_BAR = (
    '<td class="bar"><svg class="bar" role="img" viewBox="0 0 %d 10" preserveAspectRatio="none"><title>%s</title>'
    '<rect class="f-%s" x="0" y="0" width="%.1f" height="10"/></svg></td>'
)


def safe(text: object) -> str:
    """Return a text for HTML: one line without hidden characters that cannot end an element or an attribute."""
    return escape(plain(str(text), _MAX_TEXT))


def html(page: elements.Page) -> str:
    """Return the HTML document; its policy admits no script and only its own style sheet."""
    with open(data_path("report", "report.css"), encoding="utf-8") as file:
        style = file.read()
    hashed = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    policy = "default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'" % hashed
    links = "".join('<a href="#%s">%s</a>' % (one.name, safe(one.heading)) for one in page.sections)
    top = _TOP % (TITLE, safe(page.when[:1].upper() + page.when[1:]), safe(page.lead), links)
    body = "\n".join(_section(section, page) for section in page.sections)
    return _PAGE % (MARK.decode("ascii"), policy, TITLE, style, top, body, _BOTTOM % safe(VERSION))


def _section(section: elements.Section, page: elements.Page) -> str:
    """Return a section; its narrow tables are next to each other where there is room."""
    parts = []
    for is_narrow, group in groupby(section.parts, _is_narrow):
        texts = [text for text in (_part(part, page) for part in group) if text]
        both = "".join("<div>%s</div>" % text for text in texts) if is_narrow else "".join(texts)
        parts.append('<div class="two">%s</div>' % both if is_narrow and both else both)
    texts = [section.name, safe(section.heading), safe(section.about), "".join(parts)]
    return '<section id="%s"><h2>%s</h2><p class="about">%s</p>%s</section>' % tuple(texts)


def _is_narrow(part: elements.Part) -> bool:
    return (
        isinstance(part, elements.Table)
        and [_style(kind) for _, _, kind in part.columns if kind != "small"] in _NARROW
    )


def _part(part: elements.Part, page: elements.Page) -> str:
    if isinstance(part, elements.Table):
        return _table(part)
    if isinstance(part, elements.Chart):
        return _chart(part, elements.fill_buckets(part, page.since, page.until, _MAX_COLUMNS))
    if isinstance(part, elements.Figures):
        tiles = ((safe(shown(kind, value)), safe(label)) for _, label, kind, value in part.values)
        return '<div class="tiles">%s</div>' % "".join(
            '<div class="tile"><b>%s</b><span>%s</span></div>' % tile for tile in tiles
        )
    command = " <code>%s</code>" % safe(part.command) if part.command else ""
    return '<p class="%s">%s%s</p>' % (part.kind, safe(part.text), command)


def _soft(text: str) -> str:
    return '<p class="soft">%s</p>' % safe(text) if text else ""


def _table(table: elements.Table, most: int = _MAX_HTML_ROWS) -> str:
    """Return a table with its heading. On a narrow screen the rows of a wide table become cards."""
    heading = "<h3>%s</h3>" % safe(table.heading) if table.heading else ""
    if not table.rows:
        return heading + _soft(table.empty) if table.empty else ""
    heads = [
        '<th scope="col" class="%s">%s</th>' % (_style(kind), safe(name))
        for _, name, kind in table.columns
        if kind != "small"
    ]
    heads[1:1] = ['<th scope="col" class="bar"></th>'] if table.bar else []
    rows = "".join("<tr>%s</tr>" % _cells(table, row) for row in table.rows[:most])
    more = len(table.rows) - most
    return '%s%s<div class="scroll"><table class="%s"><thead><tr>%s</tr></thead><tbody>%s</tbody></table></div>%s' % (
        heading, _soft(table.about), "" if _is_narrow(table) else "wide", "".join(heads), rows,
        _soft("and %s more; to list them: memory report --json" % number_text(more)) if more > 0 else "",
    )  # fmt: skip


def _style(kind: str) -> str:
    """Return the style of a column."""
    texts = dict.fromkeys(("text", "command", "mark"), "text")
    return {"name": "name", "term": "name", "small": "small", **texts}.get(kind, "n")


def _cells(table: elements.Table, row: Sequence[Any]) -> str:
    """Return the cells of a row. After the name comes a bar for the first figure, if the table has bars."""
    smalls = [safe(value) for (_, _, kind), value in zip(table.columns, row) if kind == "small" and value]
    cells = []
    for (_, head, kind), value in zip(table.columns, row):
        style, text = _style(kind), safe(shown(kind, value))
        if style == "name":
            small_line = "<small>%s</small>" % " \u00b7 ".join(smalls) if smalls else ""
            cells.append('<td class="name">%s%s</td>%s' % (text, small_line, _bar(table, row)))
        elif kind != "small":
            form = {
                "mark": '<span class="mark %s">%s</span>' % (text, text),
                "command": "<code>%s</code>" % text,
            }
            shown_text = form.get(kind, text) if text else ""
            cells.append('<td class="%s" data-label="%s">%s</td>' % (style, safe(head), shown_text))
    return "".join(cells)


def _bar(table: elements.Table, row: Sequence[Any]) -> str:
    """Return a bar for the first figure of a row; empty for a table without bars."""
    if not table.bar:
        return ""
    column = next(index for index, (_, _, kind) in enumerate(table.columns) if _style(kind) == "n")
    most = max(other[column] for other in table.rows) or 1
    text = "%s: %s" % (table.columns[column][1], number_text(row[column]))
    return _BAR % (_WIDTH, safe(text), table.bar, _WIDTH * row[column] / most)


def _chart(chart: elements.Chart, buckets: Sequence[elements.Bucket]) -> str:
    """Return stacked columns with their legend, and their numbers as a collapsed table."""
    legend = "".join(
        '<li class="%s">%s: %s %s</li>' % (color, label, total, share)
        for (_, color, _), (label, total, share) in zip(chart.series, totals(chart))
        if total != "0"
    )
    columns = [("date", "Date", "name"), *((name, label, "count") for name, _, label in chart.series)]
    rows = [[bucket.label, *bucket.values] for bucket in buckets if any(bucket.values)]
    numbers = _table(elements.Table("", "", columns, rows), _MAX_COLUMNS)
    details = "<details><summary>Show as a table</summary>%s</details>" % numbers
    return '<ul class="legend">%s</ul>%s%s' % (legend, _figure(chart, buckets), details)


def _figure(chart: elements.Chart, buckets: Sequence[elements.Bucket]) -> str:
    """Return the columns with their axes."""
    top = max(sum(bucket.values) for bucket in buckets) or 1
    starts = [bucket.start for bucket in buckets]
    ticks = [starts[0], starts[len(starts) // 2], starts[-1]] if len(starts) > 2 else starts
    step = _WIDTH / len(buckets)
    shapes = [_column(chart, bucket, top, index * step, step) for index, bucket in enumerate(buckets)]
    dates = "".join("<span>%s</span>" % safe(elements.day_label(start)) for start in ticks)
    texts = safe(chart.title), safe(chart.text), "".join(shapes), dates
    return _FIGURE % (number_text(top), _WIDTH, _HEIGHT, *texts)


def _column(chart: elements.Chart, bucket: elements.Bucket, top: float, left: float, step: float) -> str:
    """Return the stacked column of one bucket; empty without values."""
    base, parts, values = float(_HEIGHT), [], []
    for (_, color, label), value in zip(chart.series, bucket.values):
        if value:
            height = _HEIGHT * value / top
            base -= height
            box = color, left + step * _GAP / 2, base, step * (1 - _GAP), height
            parts.append('<rect class="f-%s" x="%.1f" y="%.2f" width="%.1f" height="%.2f"/>' % box)
            values.append("%s %s" % (number_text(value), label))
    title = safe("%s: %s" % (bucket.label, ", ".join(values)))
    return "<g><title>%s</title>%s</g>" % (title, "".join(parts)) if parts else ""
