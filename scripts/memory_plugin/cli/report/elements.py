"""What a section of the report is made of, for every form of output, and two of these: text in a terminal, and JSON data.

Cells and figures are plain values; their kind says how they are written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...kernel.text.clean import plain
from ...recall.explain import reason_text
from ...work.report_elements import Chart, Figures, Note, Page, Part, Table, day_label, fill_buckets
from ..console import Console

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
    "date": day_label,
    "score": "{:.2f}".format,
    "term": _term,
    "share": str,
}


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
