"""Print sessions: signals, timeline, turns, and scores with evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..kernel.text.clean import plain
from ..kernel.transcript.turn import Totals
from ..sessions.detection import signal_entries
from ..sessions.dimensions import OVERALL, dimensions
from ..sessions.session_signals import Moment, SessionSignals
from .console import Console, counted

_MAX_TURNS_NAMED = 8
_MAX_TURNS = 24
_MAX_TEXT = 400
_MAX_LAST_REPLY = 1500


def show_signals(console: Console, name: str, signals: SessionSignals) -> None:
    """Print a summary of a session and its signals."""
    totals = signals.totals
    console.line(console.style("Session %s" % name, "bold"))
    times = "%s to %s, " % (totals.started[:16], totals.ended[:16]) if totals.started else ""
    counts = (counted(totals.turns, "turn"), counted(sum(signals.tools.values()), "call"))
    models = ", ".join(sorted(filter(None, totals.models))) or "model unknown"
    console.line("%s%s, %s, %s" % (times, *counts, models))
    console.line(_tokens(totals))
    anomalies = (
        (totals.api_errors, "error", " of the provider"),
        (totals.bad, "unreadable row", ""),
        (totals.dropped, "row", " above 16 MB"),
        (totals.repeated, "repeated row", ""),
        (totals.side, "row", " of a sub-agent"),
        (totals.unresolved, "call", " without a result"),
    )
    if any(number for number, _, _ in anomalies):
        console.line(", ".join(counted(number, noun) + rest for number, noun, rest in anomalies if number))
    console.line()
    found = signals.detections
    rows = [
        [
            entry["label"],
            str(found.counts[entry["id"]]),
            "" if entry["tone"] == "plain" else entry["tone"],
            turns_text(found.turns(entry["id"])),
        ]
        for entry in signal_entries()
        if found.counts[entry["id"]]
    ]
    if rows:
        console.table(["signal", "count", "", "turns"], rows)
    else:
        console.line("no signals")


def _tokens(totals: Totals) -> str:
    usage = totals.usage
    estimate = f"the text is about {round(totals.estimated):,}"
    if not any(usage.values()):
        return "tokens: none recorded; " + estimate
    counts = "tokens: {:,} in, {:,} from the cache, {:,} out; largest context {:,}; ".format(
        usage["input_tokens"] + usage["cache_creation_input_tokens"],
        usage["cache_read_input_tokens"],
        usage["output_tokens"],
        totals.context,
    )
    return counts + estimate


def turns_text(turns: Sequence[int]) -> str:
    """Return turns as text for people, such as `T3 T7 +2`."""
    more = len(turns) - _MAX_TURNS_NAMED
    shown = " ".join("T%d" % turn for turn in turns[:_MAX_TURNS_NAMED])
    return "%s +%d" % (shown, more) if more > 0 else shown


def show_timeline(console: Console, moments: Sequence[Moment]) -> None:
    """Print the timeline of a session."""
    if moments:
        console.line()
        rows = [["T%d" % moment.turn, moment.time, moment.kind, moment.what] for moment in moments]
        console.table(["turn", "time", "what", ""], rows)


def show_turns(console: Console, turns: list[dict[str, Any]]) -> None:
    """Print turns in the form in which a scorer sees them, without the middle of many, and the last reply at more length."""
    omitted, half = len(turns) - _MAX_TURNS, _MAX_TURNS // 2
    for turn in turns if omitted <= 0 else turns[:half]:
        _show_turn(console, turn)
    if omitted > 0:
        console.line("... %s not shown ..." % counted(omitted, "turn"))
        for turn in turns[-half:]:
            _show_turn(console, turn)
    last = next((turn["reply"] for turn in reversed(turns) if turn.get("reply")), "")
    console.paragraph("last reply: " + plain(last, _MAX_LAST_REPLY))


def _show_turn(console: Console, turn: dict[str, Any]) -> None:
    for key, who in (("user", "user"), ("reply", "Claude")):
        if turn.get(key):
            console.paragraph("%3d %s: %s" % (turn["turn"], who, plain(turn[key], _MAX_TEXT)), hang=4)
    calls = turn.get("calls", [])
    if calls:
        failed = sum("error" in call for call in calls)
        names = ", ".join("%s %s" % (call["tool"], call.get("input", "")[:40]) for call in calls[:4])
        number = counted(len(calls) + turn.get("more_calls", 0), "call")
        number += ", %d failed" % failed if failed else ""
        console.paragraph("    %s: %s" % (number, plain(names, _MAX_TEXT)), hang=4)


def show_scores(console: Console, row: dict[str, Any] | None) -> None:
    """Print the six scores with evidence, and the overall score; without a row, print that all are unscored."""
    console.line()
    if row is None:
        console.line("unscored: %s, %s" % (", ".join(dimensions()), OVERALL))
        return
    for name in dimensions():
        entry = row["dimensions"].get(name)
        if entry is None:
            console.line("%-20s %s" % (name, console.style("unscored", "dim")))
            continue
        score = "%d %s" % (entry["score"], entry["label"]) if entry["label"] else "%.2f" % entry["score"]
        console.line("%-20s %s  %s" % (name, console.style(score, "bold"), entry["rationale"]))
        for item in entry["evidence"]:
            console.line("%20s %s  %s" % ("", console.style(turns_text(item["turns"]), "cyan"), item["what"]))
    console.line("%-20s %s" % (OVERALL, _overall(row)))
    for item in row["improvements"]:
        console.line("improve %s: %s -> %s" % (item["dimension"], item["issue"], item["fix"]))


def _overall(row: dict[str, Any]) -> str:
    if row[OVERALL] is None:
        return "unscored, because these are missing: %s" % ", ".join(row["missing"])
    cause = row["root_cause"] or "not said"
    details = ["improvement needed: %s" % row["improvement"], "root cause: %s" % cause]
    if row["confidence"] is not None:
        details.append("confidence %.2f" % row["confidence"])
    if row["struck"]:
        details.append("%s removed: the turns do not exist" % counted(row["struck"], "reference"))
    return "%.2f  (%s)" % (row[OVERALL], "; ".join(details))
