"""How sessions are shown to people: signals, timeline, scores with their evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..sessions.data import load_table
from ..sessions.dimensions import OVERALL, dimensions
from .checks.check import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..kernel.transcript.totals import Totals
    from ..sessions.signals import Signals
    from ..sessions.timeline import Moment
    from .console import Console

__all__ = ["show_scores", "show_signals", "show_timeline", "turns_text"]

_MOST_TURNS = 8
_COLOURS = {"good": "green", "bad": "yellow"}


def show_signals(console: Console, name: str, signals: Signals) -> None:
    """The head of a session and its signals."""
    totals = signals.totals
    console.line(console.style("Session %s" % name, "bold"))
    console.line(_head(totals, sum(signals.tools.values())))
    console.line(_tokens(totals))
    odd = (
        (totals.api_errors, "error", " of the provider"),
        (totals.bad, "unreadable row", ""),
        (totals.dropped, "row", " above 16 MB"),
        (totals.repeated, "repeated row", ""),
        (totals.side, "row", " of a sub-agent"),
        (totals.unresolved, "call", " without a result"),
    )
    if any(number for number, _, _ in odd):
        console.line(", ".join(counted(number, noun) + rest for number, noun, rest in odd if number))
    console.line()
    counts = signals.sightings.counts
    entries = [entry for entry in load_table("signals")["signals"] if counts[entry["id"]]]
    if not entries:
        console.line("no signals")
        return
    rows = [
        [
            e["label"],
            str(counts[e["id"]]),
            e["tone"] if e["tone"] != "plain" else "",
            turns_text(signals.sightings.turns(e["id"])),
        ]
        for e in entries
    ]
    console.table(["signal", "count", "", "turns"], rows)


def _head(totals: Totals, calls: int) -> str:
    times = "%s to %s, " % (totals.started[:16], totals.ended[:16]) if totals.started else ""
    models = ", ".join(sorted(filter(None, totals.models))) or "model unknown"
    return "%s%s, %s, %s" % (times, counted(totals.turns, "turn"), counted(calls, "call"), models)


def _tokens(totals: Totals) -> str:
    usage = totals.usage
    texts = "its texts about %s" % format(round(totals.estimated), ",")
    if not any(usage.values()):
        return "tokens: none recorded; " + texts
    parts = (
        usage["input_tokens"] + usage["cache_creation_input_tokens"],
        usage["cache_read_input_tokens"],
        usage["output_tokens"],
        totals.context,
    )
    return "tokens: %s in, %s more from the cache, %s out; largest context %s; %s" % (
        *(format(number, ",") for number in parts),
        texts,
    )


def turns_text(turns: Sequence[int]) -> str:
    """Turns as people read them, such as `T3 T7 +2`."""
    shown = " ".join("T%d" % turn for turn in turns[:_MOST_TURNS])
    return shown + (" +%d" % (len(turns) - _MOST_TURNS) if len(turns) > _MOST_TURNS else "")


def show_timeline(console: Console, moments: Sequence[Moment]) -> None:
    """What happened, line by line."""
    if moments:
        console.line()
        console.table(
            ["turn", "time", "what", ""], [["T%d" % m.turn, m.time, m.kind, m.what] for m in moments]
        )


def show_scores(console: Console, row: dict[str, Any] | None) -> None:
    """The six scores with their evidence, and the overall; all of them unscored without a row."""
    console.line()
    if row is None:
        console.line("unscored: %s, %s" % (", ".join(dimensions()), OVERALL))
        return
    found = row["dimensions"]
    for name, dimension in dimensions().items():
        entry = found.get(name)
        if entry is None:
            console.line("%-20s %s" % (name, console.style("unscored", "dim")))
            continue
        shown = (
            "%d %s" % (entry["score"], entry["label"]) if dimension.categorical else "%.2f" % entry["score"]
        )
        console.line("%-20s %s  %s" % (name, console.style(shown, "bold"), entry["rationale"]))
        for item in entry["evidence"]:
            console.line("%20s %s  %s" % ("", console.style(turns_text(item["turns"]), "cyan"), item["what"]))
    console.line(_overall(row))
    for item in row["improvements"]:
        console.line("improve %s: %s -> %s" % (item["dimension"], item["issue"], item["fix"]))


def _overall(row: dict[str, Any]) -> str:
    if row[OVERALL] is None:
        return "%-20s unscored: missing is not zero (%s)" % (OVERALL, ", ".join(row["missing"]))
    more = [
        "improvement needed: %s" % row["improvement"],
        "root cause: %s" % (row["root_cause"] or "not said"),
    ]
    if row["confidence"] is not None:
        more.append("confidence %.2f" % row["confidence"])
    if row["struck"]:
        more.append("%d pieces of evidence struck: their turns do not exist" % row["struck"])
    return "%-20s %.2f  (%s)" % (OVERALL, row[OVERALL], "; ".join(more))
