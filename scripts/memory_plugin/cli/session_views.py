"""Print sessions: signals, timeline, scores with evidence, and the results of grading many sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..sessions.detection import signal_entries
from ..sessions.dimensions import OVERALL, dimensions
from .console import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..kernel.transcript.turn import Totals
    from ..sessions.grading_runs import GradingRun
    from ..sessions.session_signals import Moment, SessionSignals
    from .console import Console

_MAX_TURNS = 8
_MAX_FAILURES = 20


def show_signals(console: Console, name: str, signals: SessionSignals) -> None:
    """Print a summary of a session and its signals."""
    totals = signals.totals
    console.line(console.style("Session %s" % name, "bold"))
    console.line(_head(totals, sum(signals.tools.values())))
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
    counts = signals.detections.counts
    entries = [entry for entry in signal_entries() if counts[entry["id"]]]
    if not entries:
        console.line("no signals")
        return
    rows = []
    for entry in entries:
        tone = "" if entry["tone"] == "plain" else entry["tone"]
        turns = turns_text(signals.detections.turns(entry["id"]))
        rows.append([entry["label"], str(counts[entry["id"]]), tone, turns])
    console.table(["signal", "count", "", "turns"], rows)


def _head(totals: Totals, calls: int) -> str:
    times = "%s to %s, " % (totals.started[:16], totals.ended[:16]) if totals.started else ""
    models = ", ".join(sorted(filter(None, totals.models))) or "model unknown"
    return "%s%s, %s, %s" % (times, counted(totals.turns, "turn"), counted(calls, "call"), models)


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
    shown = " ".join("T%d" % turn for turn in turns[:_MAX_TURNS])
    return shown + (" +%d" % (len(turns) - _MAX_TURNS) if len(turns) > _MAX_TURNS else "")


def show_timeline(console: Console, moments: Sequence[Moment]) -> None:
    """Print the timeline of a session."""
    if moments:
        console.line()
        rows = [["T%d" % moment.turn, moment.time, moment.kind, moment.what] for moment in moments]
        console.table(["turn", "time", "what", ""], rows)


def show_scores(console: Console, row: dict[str, Any] | None) -> None:
    """Print the six scores with evidence, and the overall score; without a row, print that all are unscored."""
    console.line()
    if row is None:
        console.line("unscored: %s, %s" % (", ".join(dimensions()), OVERALL))
        return
    for name, dimension in dimensions().items():
        entry = row["dimensions"].get(name)
        if entry is None:
            console.line("%-20s %s" % (name, console.style("unscored", "dim")))
            continue
        score = "%.2f" % entry["score"]
        if dimension.categorical:
            score = "%d %s" % (entry["score"], entry["label"])
        console.line("%-20s %s  %s" % (name, console.style(score, "bold"), entry["rationale"]))
        for item in entry["evidence"]:
            console.line("%20s %s  %s" % ("", console.style(turns_text(item["turns"]), "cyan"), item["what"]))
    console.line(_overall(row))
    for item in row["improvements"]:
        console.line("improve %s: %s -> %s" % (item["dimension"], item["issue"], item["fix"]))


def _overall(row: dict[str, Any]) -> str:
    if row[OVERALL] is None:
        return "%-20s unscored, because these are missing: %s" % (OVERALL, ", ".join(row["missing"]))
    cause = row["root_cause"] or "not said"
    details = ["improvement needed: %s" % row["improvement"], "root cause: %s" % cause]
    if row["confidence"] is not None:
        details.append("confidence %.2f" % row["confidence"])
    if row["struck"]:
        details.append("%s removed: the turns do not exist" % counted(row["struck"], "reference"))
    return "%-20s %.2f  (%s)" % (OVERALL, row[OVERALL], "; ".join(details))


def show_run(console: Console, run: GradingRun, *, as_json: bool) -> None:
    """Print the result of grading sessions one by one."""
    record = {"graded": run.rows, "failed": run.failed, "already": run.graded_before}
    counts = (len(run.rows), run.graded_before, len(run.failed))
    console.result(as_json, record, "%d graded, %d already graded, %d not graded" % counts)
    if not as_json:
        _show_failures(console, run.failed)


def _show_failures(console: Console, failed: dict[str, str]) -> None:
    for name, why in list(failed.items())[:_MAX_FAILURES]:
        console.error("%s: %s" % (name, why))
