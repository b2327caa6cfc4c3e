"""Inline SVG charts. The SVG holds shapes only and stretches to any width; labels are HTML, so that text is not stretched."""

from __future__ import annotations

import datetime as dt
from math import log10
from typing import TYPE_CHECKING, NamedTuple

from ...kernel.text.clean import escape, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MAX_COLUMNS = 62
_WIDTH, _HEIGHT = 1000, 100
_MAX_TEXT = 1000
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_GAP = 0.22  # of a column's width, between two columns


class Bucket(NamedTuple):
    """One column: its first day, its label (a day or several), and the sums of the days' values."""

    start: str
    label: str
    values: tuple[float, ...]


def safe(text: object) -> str:
    """Return a text for HTML: one line without hidden characters that cannot end an element or an attribute."""
    return escape(plain(str(text), _MAX_TEXT))


def fill_buckets(days: Mapping[str, Sequence[float]], first: str, last: str, width: int) -> list[Bucket]:
    """Return buckets of equally many days from `first` to `last`, at most 62.

    Args:
        days: Values by ISO date; a missing day counts as 0.
        first: The ISO date of the first day.
        last: The ISO date of the last day.
        width: The number of values per day.
    """
    start, end = _date(first), _date(last)
    if start is None or end is None or end < start:
        return []
    number = (end - start).days + 1
    days_per_bucket = -(-number // _MAX_COLUMNS)
    sums = [[0.0] * width for _ in range(-(-number // days_per_bucket))]
    for day, values in days.items():
        date = _date(day)
        if date is not None and start <= date <= end:
            bucket = sums[(date - start).days // days_per_bucket]
            for index, value in enumerate(values[:width]):
                bucket[index] += value
    return [
        _bucket(start + dt.timedelta(days=index * days_per_bucket), end, days_per_bucket, values)
        for index, values in enumerate(sums)
    ]


def _bucket(start: dt.date, end: dt.date, days: int, values: Sequence[float]) -> Bucket:
    last = min(end, start + dt.timedelta(days=days - 1))
    label = day_label(last.isoformat())
    if last > start:
        first = day_label(start.isoformat())
        label = "%s to %s" % (first.partition(",")[0] if start.year == last.year else first, label)
    return Bucket(start.isoformat(), label, tuple(values))


def _date(text: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text[:10])
    except ValueError:
        return None


def columns(buckets: Sequence[Bucket], series: Sequence[tuple[str, str]], title: str, text: str) -> str:
    """Return a chart of stacked columns and its table; `series` are CSS classes and labels of the values, bottom first."""
    top = _round_up(max((sum(bucket.values) for bucket in buckets), default=0))
    step = _WIDTH / max(1, len(buckets))
    shapes = []
    for index, bucket in enumerate(buckets):
        base = float(_HEIGHT)
        parts = []
        for (kind, _), value in zip(series, bucket.values):
            height = _HEIGHT * value / top
            base -= height
            if height > 0:
                parts.append(
                    '<rect class="f-%s" x="%.1f" y="%.2f" width="%.1f" height="%.2f"/>'
                    % (kind, index * step + step * _GAP / 2, base, step * (1 - _GAP), height)
                )
        if parts:
            values = ", ".join(
                "%s %s" % (number_text(value), label)
                for (_, label), value in zip(series, bucket.values)
                if value
            )
            shapes.append(
                "<g><title>%s: %s</title>%s</g>" % (safe(bucket.label), safe(values), "".join(parts))
            )
    scale = number_text(top), number_text(top / 2)
    starts = [bucket.start for bucket in buckets]
    return _figure("".join(shapes), starts, scale, title, text) + _table(buckets, series)


def _table(buckets: Sequence[Bucket], series: Sequence[tuple[str, str]]) -> str:
    """Return a chart's numbers as a collapsed table: for screen readers, and to copy them."""
    heads = "".join('<th scope="col" class="n">%s</th>' % safe(label) for _, label in series)
    rows = "".join(
        '<tr><th scope="row">%s</th>%s</tr>'
        % (
            safe(bucket.label),
            "".join('<td class="n">%s</td>' % number_text(value) for value in bucket.values),
        )
        for bucket in buckets
        if any(bucket.values)
    )
    return (
        '<details><summary>Show as a table</summary><div class="scroll"><table><thead><tr><th scope="col">Date</th>%s</tr></thead>'
        "<tbody>%s</tbody></table></div></details>" % (heads, rows)
    )


def line_chart(points: Sequence[tuple[Bucket, float | None]], title: str, text: str) -> str:
    """Return a line of shares (0 to 1) over time; None leaves a gap."""
    top = _round_up(100 * max((share for _, share in points if share is not None), default=0.0)) / 100
    step = _WIDTH / max(1, len(points))
    runs: list[list[tuple[float, float, str]]] = [[]]
    for index, (bucket, share) in enumerate(points):
        if share is None:
            runs.append([])
        else:
            label = "%s: %.0f%%" % (bucket.label, 100 * share)
            runs[-1].append(((index + 0.5) * step, _HEIGHT * (1 - share / top), label))
    shapes = "".join(_run(run, step) for run in runs if run)
    scale = "%.0f%%" % (100 * top), "%.0f%%" % (50 * top)
    return _figure(shapes, [bucket.start for bucket, _ in points], scale, title, text)


def _run(run: Sequence[tuple[float, float, str]], step: float) -> str:
    """Return the line through points without a gap, with an invisible area around each point that shows its label."""
    points = [(x, y) for x, y, _ in run]
    if len(points) == 1:  # a single day is a short horizontal stroke
        (x, y) = points[0]
        points = [(x - step / 3, y), (x + step / 3, y)]
    line = " ".join("%.1f,%.2f" % point for point in points)
    area = "%.1f,%d %s %.1f,%d" % (points[0][0], _HEIGHT, line, points[-1][0], _HEIGHT)
    labels = "".join(
        '<rect x="%.1f" y="0" width="%.1f" height="%d" fill="none" pointer-events="all"><title>%s</title></rect>'
        % (x - step / 2, step, _HEIGHT, safe(label))
        for x, _, label in run
    )
    return '<polygon class="area" points="%s"/><polyline class="curve" points="%s"/>%s' % (area, line, labels)


def _figure(shapes: str, starts: Sequence[str], scale: tuple[str, str], title: str, text: str) -> str:
    """Return shapes with their axes; `scale` labels the top and the middle of the vertical axis."""
    grid = "".join('<line class="grid" x1="0" x2="%d" y1="%d" y2="%d"/>' % (_WIDTH, y, y) for y in (0, 50))
    ticks = [starts[0], starts[len(starts) // 2], starts[-1]] if len(starts) > 2 else starts
    return (
        '<figure><div class="plot"><div class="y" aria-hidden="true"><span>%s</span><span>%s</span><span>0</span></div>'
        '<svg role="img" viewBox="0 0 %d %d" preserveAspectRatio="none"><title>%s</title><desc>%s</desc>%s%s</svg>'
        '<div class="x" aria-hidden="true">%s</div></div></figure>'
        % (
            safe(scale[0]),
            safe(scale[1]),
            _WIDTH,
            _HEIGHT,
            safe(title),
            safe(text),
            grid,
            shapes,
            "".join("<span>%s</span>" % safe(day_label(start)) for start in ticks),
        )
    )


def share_bar(parts: Sequence[tuple[str, float]], total: float, text: str) -> str:
    """Return one horizontal bar of length `total`; each part has a CSS class and a number."""
    shapes, x = [], 0.0
    for kind, value in parts:
        width = _WIDTH * value / total if total > 0 else 0.0
        if width > 0:
            shapes.append('<rect class="f-%s" x="%.1f" y="0" width="%.1f" height="10"/>' % (kind, x, width))
        x += width
    return _bar("".join(shapes), text)


def interval(low: float, value: float, high: float, text: str) -> str:
    """Return a bar for a share (0 to 1) with its confidence interval."""
    x_low, x, x_high = (_WIDTH * max(0.0, min(1.0, share)) for share in (low, value, high))
    return _bar(
        '<rect class="f-told" width="%.1f" height="10"/><line class="interval" x1="%.1f" x2="%.1f" y1="5" y2="5"/>'
        % (x, x_low, x_high),
        text,
    )


def _bar(shapes: str, text: str) -> str:
    return (
        '<svg class="bar" role="img" viewBox="0 0 %d 10" preserveAspectRatio="none"><title>%s</title>%s</svg>'
        % (
            _WIDTH,
            safe(text),
            shapes,
        )
    )


def _round_up(value: float) -> float:
    """Return the next round number for the top of a scale; 1 for 0."""
    if value <= 0:
        return 1
    power: float = 10.0 ** (log10(value) // 1)
    return next(
        step * power
        for step in (1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10)
        if step * power >= value * (1 - 1e-9)
    )


def number_text(value: float) -> str:
    """Return a number with as many digits as it needs: 1,200, 2.5, 0.0004."""
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return "%.3g" % value


def day_label(text: str) -> str:
    """Return an ISO time or date as `Nov 2, 2026`; any other text unchanged."""
    date = _date(text)
    return text if date is None else "%s %d, %d" % (_MONTHS[date.month - 1], date.day, date.year)
