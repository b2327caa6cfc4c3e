"""Build the parts of the page's sections: tables, tiles, notes, and messages for empty ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .charts import safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["about", "code", "count", "empty", "money", "more", "percent", "section", "table", "tile", "tiles"]


_MAX_NARROW = 4  # columns that fit on a phone if one of them is a bar


def tiles(*figures: str) -> str:
    """Return a row of tiles."""
    return '<div class="tiles">%s</div>' % "".join(figures)


def section(name: str, heading: str, text: str, *parts: str) -> str:
    """Return a section with its anchor, heading, and a sentence about it; `parts` are HTML."""
    head = '<section id="%s"><h2>%s</h2><p class="about">%s</p>' % (name, safe(heading), safe(text))
    return head + "".join(parts) + "</section>"


def table(heads: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; `heads` are headings with the CSS class of their column, cells are HTML.

    On a narrow screen the rows of a wide one become cards.
    """
    top = "".join('<th scope="col" class="%s">%s</th>' % (kind, safe(name)) for name, kind in heads)
    body = []
    for row in rows:
        cells = (
            '<td class="%s" data-label="%s">%s</td>' % (kind, safe(name), cell)
            for (name, kind), cell in zip(heads, row)
        )
        body.append("<tr>%s</tr>" % "".join(cells))
    has_bar = any(kind == "barcell" for _, kind in heads)
    is_wide = len(heads) > (_MAX_NARROW if has_bar else 2)
    html = '<div class="scroll"><table class="%s"><thead><tr>%s</tr></thead><tbody>%s</tbody></table></div>'
    return html % ("wide" if is_wide else "", top, "".join(body))


def tile(value: str, label: str, kind: str = "") -> str:
    """Return one figure with its label."""
    return '<div class="tile %s"><b>%s</b><span>%s</span></div>' % (kind, safe(value), safe(label))


def about(text: str) -> str:
    """Return a paragraph in a muted color."""
    return '<p class="soft">%s</p>' % safe(text)


def empty(text: str, command: str = "") -> str:
    """Return the message for a table or chart without rows, with a command to run."""
    return '<p class="empty">%s%s</p>' % (safe(text), " " + code(command) if command else "")


def code(text: str) -> str:
    """Return a command to type."""
    return "<code>%s</code>" % safe(text)


def more(shown: int, number: int, command: str) -> str:
    """Return a note on how many rows a table omits, with the command that shows them; empty if it omits none."""
    if number <= shown:
        return ""
    return '<p class="soft">and %s more: %s</p>' % (count(number - shown), code(command))


def count(number: float) -> str:
    """Return a number rounded to a whole one, with thousands separators."""
    return f"{number:,.0f}"


def percent(part: float, whole: float) -> str:
    """Return a share in percent; a dash without a whole."""
    return "%.0f%%" % (100 * part / whole) if whole else "\u2013"


def money(usd: float) -> str:
    """Return an amount in US dollars, small ones with enough digits."""
    return "$%.2f" % usd if usd >= 1 or usd == 0 else "$%.4f" % usd
