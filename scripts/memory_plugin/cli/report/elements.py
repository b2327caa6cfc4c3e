"""Building blocks of the page: sections, tables, tiles and notes, and numbers as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .charts import safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MAX_NARROW_COLUMNS = 3  # that fit a phone side by side
_UNLABELED = ("name", "barcell")  # columns that need no label on a card


def section(anchor: str, heading: str, text: str, *parts: str) -> str:
    """Return a section with its anchor, heading, and a sentence about it."""
    return '<section id="%s"><h2>%s</h2><p class="about">%s</p>%s</section>' % (
        anchor,
        safe(heading),
        safe(text),
        "".join(parts),
    )


def side_by_side(*columns: str) -> str:
    """Return columns next to each other on a wide screen; empty ones leave no gap."""
    shown = "".join("<div>%s</div>" % column for column in columns if column)
    return '<div class="two">%s</div>' % shown if shown else ""


def table(heads: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; `heads` are headings with the CSS class of their column, cells are HTML.

    On a narrow screen the rows of a wide table become cards.
    """
    head_cells = "".join('<th scope="col" class="%s">%s</th>' % (kind, safe(name)) for name, kind in heads)
    body = "".join("<tr>%s</tr>" % _cells(heads, row) for row in rows)
    is_wide = len(heads) > _MAX_NARROW_COLUMNS or (len(heads) == 3 and ("", "barcell") not in heads)
    return (
        '<div class="scroll"><table class="%s"><thead><tr>%s</tr></thead><tbody>%s</tbody></table></div>'
        % ("wide" if is_wide else "", head_cells, body)
    )


def _cells(heads: Sequence[tuple[str, str]], row: Sequence[str]) -> str:
    return "".join(
        '<td class="%s"%s>%s</td>'
        % (kind, "" if kind in _UNLABELED else ' data-label="%s"' % safe(name), cell)
        for (name, kind), cell in zip(heads, row)
    )


def tile(value: str, label: str, kind: str = "") -> str:
    """Return one figure with its label."""
    return '<div class="tile %s"><b>%s</b><span>%s</span></div>' % (kind, safe(value), safe(label))


def tiles(*shown: str) -> str:
    """Return a row of tiles."""
    return '<div class="tiles">%s</div>' % "".join(shown)


def note(text: str) -> str:
    """Return a paragraph in a muted color."""
    return '<p class="soft">%s</p>' % safe(text)


def empty(text: str, command: str = "") -> str:
    """Return what to show instead of an empty table or chart; `command` is what to run."""
    return '<p class="empty">%s%s</p>' % (safe(text), " " + code(command) if command else "")


def code(text: str) -> str:
    """Return a command to type."""
    return "<code>%s</code>" % safe(text)


def remaining(shown: int, number: int, command: str) -> str:
    """Return how many rows a table leaves out, and the command that lists them; empty if there are none."""
    if number <= shown:
        return ""
    return '<p class="soft">and %s more: %s</p>' % (count(number - shown), code(command))


def count(number: float) -> str:
    """Return a whole number with separators."""
    return f"{number:,.0f}"


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


def shorten(text: str, max_length: int) -> str:
    """Return a text cut to a length, with an ellipsis if anything was cut."""
    return text if len(text) <= max_length else text[: max_length - 1] + "\u2026"
