"""Draw charts as inline SVG.

An SVG holds only shapes, which stretch to any width; its labels are HTML next to it, so they keep their size.
"""

from __future__ import annotations

import datetime as dt
from math import log10
from typing import TYPE_CHECKING, NamedTuple

from ...kernel.text.clean import escape, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Bucket", "buckets", "columns", "curve", "day_label", "interval", "safe", "share_bar"]

_MAX_COLUMNS = 62
_WIDTH, _HEIGHT = 1000, 100
_MAX_TEXT = 1000
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_GAP = 0.22  # of a column's width, between two columns


class Bucket(NamedTuple):
    """Consecutive days shown as one column: their first date, and the sums of their numbers."""

    label: str
    values: tuple[float, ...]


def safe(text: object) -> str:
    """Return a text escaped for HTML elements and attributes, on one line and without hidden characters."""
    return escape(plain(str(text), _MAX_TEXT))


def buckets(days: Mapping[str, Sequence[float]], first: str, last: str, width: int) -> list[Bucket]:
    """Group the days from `first` to `last` into at most 62 columns of equal length; a day without numbers counts as 0."""
    start, end = _date(first), _date(last)
    if start is None or end is None or end < start:
        return []
    number = (end - start).days + 1
    size = -(-number // _MAX_COLUMNS)
    sums = [[0.0] * width for _ in range(-(-number // size))]
    for day, values in days.items():
        date = _date(day)
        if date is not None and start <= date <= end:
            column = sums[(date - start).days // size]
            for at, value in enumerate(values[:width]):
                column[at] += value
    return [
        Bucket((start + dt.timedelta(days=at * size)).isoformat(), tuple(column))
        for at, column in enumerate(sums)
    ]


def _date(text: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text[:10])
    except ValueError:
        return None


def columns(days: Sequence[Bucket], series: Sequence[tuple[str, str]], title: str, text: str) -> str:
    """Return stacked columns; `series` are the CSS class and the label of each value, from the bottom up."""
    top = _nice(max((sum(day.values) for day in days), default=0))
    step = _WIDTH / max(1, len(days))
    shapes = []
    for at, day in enumerate(days):
        base = float(_HEIGHT)
        parts = []
        for (kind, _), value in zip(series, day.values):
            height = _HEIGHT * value / top
            base -= height
            if height > 0:
                parts.append(
                    '<rect class="f-%s" x="%.1f" y="%.2f" width="%.1f" height="%.2f"/>'
                    % (kind, at * step + step * _GAP / 2, base, step * (1 - _GAP), height)
                )
        if parts:
            values = zip(series, day.values)
            counts = ", ".join("%s %s" % (_number(value), label) for (_, label), value in values if value)
            hint = "%s: %s" % (safe(day_label(day.label)), safe(counts))
            shapes.append("<g><title>%s</title>%s</g>" % (hint, "".join(parts)))
    figure = _figure("".join(shapes), days, (_number(top), _number(top / 2)), title, text)
    return figure + _as_table(days, series)


def _as_table(days: Sequence[Bucket], series: Sequence[tuple[str, str]]) -> str:
    """Return a chart's numbers as a collapsed table, for screen readers and for copying."""
    heads = "".join('<th scope="col" class="n">%s</th>' % safe(label) for _, label in series)
    rows = []
    for day in days:
        if any(day.values):
            cells = "".join('<td class="n">%s</td>' % _number(value) for value in day.values)
            rows.append('<tr><th scope="row">%s</th>%s</tr>' % (safe(day_label(day.label)), cells))
    return (
        '<details><summary>As a table</summary><div class="scroll"><table><thead><tr><th scope="col">From</th>%s</tr></thead>'
        "<tbody>%s</tbody></table></div></details>" % (heads, "".join(rows))
    )


def curve(points: Sequence[tuple[str, float | None]], title: str, text: str) -> str:
    """Return a line of shares (0 to 1) over time; None leaves a gap."""
    top = _nice(100 * max((value for _, value in points if value is not None), default=0.0)) / 100
    step = _WIDTH / max(1, len(points))
    runs: list[list[tuple[float, float, str]]] = [[]]
    for at, (label, value) in enumerate(points):
        if value is None:
            runs.append([])
        else:
            hint = "%s: %.0f%%" % (day_label(label), 100 * value)
            runs[-1].append(((at + 0.5) * step, _HEIGHT * (1 - value / top), hint))
    shapes = "".join(_run(run, step) for run in runs if run)
    days = [Bucket(label, ()) for label, _ in points]
    return _figure(shapes, days, ("%.0f%%" % (100 * top), "%.0f%%" % (50 * top)), title, text)


def _run(run: Sequence[tuple[float, float, str]], step: float) -> str:
    """Return a line through consecutive points, each with its position and hint."""
    points = [(x, y) for x, y, _ in run]
    if len(points) == 1:  # a single day is a short stroke
        (x, y) = points[0]
        points = [(x - step / 3, y), (x + step / 3, y)]
    line = " ".join("%.1f,%.2f" % point for point in points)
    area = "%.1f,%d %s %.1f,%d" % (points[0][0], _HEIGHT, line, points[-1][0], _HEIGHT)
    targets = "".join(
        '<rect x="%.1f" y="0" width="%.1f" height="%d" fill="none" pointer-events="all"><title>%s</title></rect>'
        % (x - step / 2, step, _HEIGHT, safe(hint))
        for x, _, hint in run
    )
    return '<polygon class="area" points="%s"/><polyline class="curve" points="%s"/>%s' % (
        area,
        line,
        targets,
    )


def _figure(shapes: str, days: Sequence[Bucket], scale: tuple[str, str], title: str, text: str) -> str:
    """Return a chart with its axes; `scale` are the labels at the top and in the middle."""
    lines = "".join('<line class="grid" x1="0" x2="%d" y1="%d" y2="%d"/>' % (_WIDTH, y, y) for y in (0, 50))
    marked = [days[0], days[len(days) // 2], days[-1]] if len(days) > 2 else days
    labels = dict.fromkeys(day_label(day.label) for day in marked)
    return (
        '<figure><div class="plot"><div class="y" aria-hidden="true"><span>%s</span><span>%s</span><span>0</span></div>'
        % (safe(scale[0]), safe(scale[1]))
        + '<svg role="img" viewBox="0 0 %d %d" preserveAspectRatio="none"><title>%s</title><desc>%s</desc>%s%s</svg>'
        % (_WIDTH, _HEIGHT, safe(title), safe(text), lines, shapes)
        + '<div class="x" aria-hidden="true">%s</div></div></figure>'
        % "".join("<span>%s</span>" % safe(label) for label in labels)
    )


def share_bar(parts: Sequence[tuple[str, float]], whole: float, text: str) -> str:
    """Return one horizontal bar; each part has a CSS class and a number, of `whole`."""
    shapes, x = [], 0.0
    for kind, value in parts:
        width = _WIDTH * value / whole if whole > 0 else 0.0
        if width > 0:
            shapes.append('<rect class="f-%s" x="%.1f" y="0" width="%.1f" height="10"/>' % (kind, x, width))
        x += width
    return (
        '<svg class="bar" role="img" viewBox="0 0 %d 10" preserveAspectRatio="none"><title>%s</title>'
        '<rect class="f-track" width="%d" height="10"/>%s</svg>'
        % (_WIDTH, safe(text), _WIDTH, "".join(shapes))
    )


def interval(low: float, value: float, high: float, text: str) -> str:
    """Return a share with its interval on a line from 0 to 1."""
    x1, x, x2 = (_WIDTH * max(0.0, min(1.0, share)) for share in (low, value, high))
    return (
        '<svg class="bar" role="img" viewBox="0 0 %d 10" preserveAspectRatio="none"><title>%s</title>'
        '<rect class="f-track" width="%d" height="10"/><rect class="f-told" width="%.1f" height="10"/>'
        '<line class="interval" x1="%.1f" x2="%.1f" y1="5" y2="5"/></svg>'
        % (_WIDTH, safe(text), _WIDTH, x, x1, x2)
    )


def _nice(value: float) -> float:
    """Return a round number, at least the value, for the top of a scale."""
    if value <= 0:
        return 1
    power: float = 10.0 ** (log10(value) // 1)
    return next(
        step * power
        for step in (1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10)
        if step * power >= value * (1 - 1e-9)
    )


def _number(value: float) -> str:
    """Return a number with as many digits as it needs: 1,200, 2.5, 0.0004."""
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return "%.3g" % value


def day_label(text: str) -> str:
    """Return a date as people write it, such as `Nov 2, 2026`; return any other text unchanged."""
    date = _date(text)
    return text if date is None else "%s %d, %d" % (_MONTHS[date.month - 1], date.day, date.year)
