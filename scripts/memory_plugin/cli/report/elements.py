"""The parts that sections of the page are made of: tables, tiles, notes for what is empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .charts import safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "about",
    "code",
    "count",
    "empty",
    "money",
    "more",
    "percent",
    "section",
    "table",
    "tile",
]


_FITS_A_PHONE = 4  # columns, when one of them is a bar


def section(name: str, heading: str, text: str, *parts: str) -> str:
    """Return a section with its anchor, heading, and a sentence about it."""
    return '<section id="%s"><h2>%s</h2><p class="about">%s</p>%s</section>' % (
        name,
        safe(heading),
        safe(text),
        "".join(parts),
    )


def table(heads: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; `heads` are headings with the CSS class of their column, cells are HTML.

    On a narrow screen the rows of a wide one become cards.
    """
    top = "".join('<th scope="col" class="%s">%s</th>' % (kind, safe(name)) for name, kind in heads)
    body = "".join(
        "<tr>%s</tr>"
        % "".join(
            '<td class="%s" data-label="%s">%s</td>' % (kind, safe(name), cell)
            for (name, kind), cell in zip(heads, row)
        )
        for row in rows
    )
    is_wide = len(heads) > _FITS_A_PHONE or (
        len(heads) > 2 and not any(kind == "barcell" for _, kind in heads)
    )
    return (
        '<div class="scroll"><table class="%s"><thead><tr>%s</tr></thead><tbody>%s</tbody></table></div>'
        % (
            "wide" if is_wide else "",
            top,
            body,
        )
    )


def tile(value: str, label: str, kind: str = "") -> str:
    """Return one figure with its label."""
    return '<div class="tile %s"><b>%s</b><span>%s</span></div>' % (kind, safe(value), safe(label))


def about(text: str) -> str:
    """Return a paragraph in a quiet color."""
    return '<p class="soft">%s</p>' % safe(text)


def empty(text: str, command: str = "") -> str:
    """Return what to say instead of a table or a chart without rows, and what to do."""
    return '<p class="empty">%s%s</p>' % (safe(text), " " + code(command) if command else "")


def code(text: str) -> str:
    """Return a command to type."""
    return "<code>%s</code>" % safe(text)


def more(shown: int, number: int, command: str) -> str:
    """Return how many rows a table leaves out, and where they are; empty if there are none."""
    if number <= shown:
        return ""
    return '<p class="soft">%s</p>' % ("and %s more: " % count(number - shown) + code(command))


def count(number: float) -> str:
    """Return a whole number with separators; nothing for 0, so that a table shows what there is."""
    return f"{number:,.0f}"


def percent(part: float, whole: float) -> str:
    """Return a share in percent; a dash without a whole."""
    return "%.0f%%" % (100 * part / whole) if whole else "\u2013"


def money(usd: float) -> str:
    """Return an amount in US dollars, small ones with enough digits."""
    return "$%.2f" % usd if usd >= 1 or usd == 0 else "$%.4f" % usd
