"""Print sessions: signals, turns, and scores with evidence; and ask a person to score them, one or a series that can be interrupted."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..kernel.judge.question import one_line
from ..kernel.text.clean import plain
from ..kernel.transcript.turn import Totals
from ..sessions.calibration import label_row, parse_score
from ..sessions.detection import signal_entries
from ..sessions.dimensions import OVERALL, dimensions
from ..sessions.score_rows import LABEL, RowNotWritten, append_row, latest_rows, project_of, session_id_of
from ..sessions.scoring_request import TranscriptDigest
from ..sessions.session_signals import SessionSignals, collect_signals
from .command_context import CommandContext, CommandError, UsageError
from .console import Console, counted

_MAX_TURNS_NAMED = 8
_MAX_TURNS = 24
_MAX_EXAMPLE = 80
_MIN_TURNS = 2
_MINUTES = 3  # per session, before any was labeled
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
            one_line(found.by_signal[entry["id"]][-1].what, _MAX_EXAMPLE),
        ]
        for entry in signal_entries()
        if found.counts[entry["id"]]
    ]
    if rows:
        console.table(["signal", "count", "", "turns", "the last one"], rows)
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


class ShownSession(NamedTuple):
    """A session as shown to a person; `turns` have the form in which a scorer sees them."""

    name: str
    signals: SessionSignals
    turns: list[dict[str, Any]]


def read_session(path: str) -> ShownSession:
    """Return a session as shown to a person. Raises FileNotFoundError and Unreadable."""
    digest = TranscriptDigest()
    signals = collect_signals(path, digest.add)
    name = session_id_of(path, signals.totals.session)
    return ShownSession(name, signals, [shown.turn for shown in digest.shown])


def parse_scores(words: list[str]) -> dict[str, float]:
    """Return the scores given by `--set`. Raises UsageError for an invalid one."""
    scores = {}
    for word in words:
        name, _, text = word.partition("=")
        score = parse_score(name, text) if name in dimensions() else None
        if score is None:
            raise UsageError(
                "--set %s: expected DIMENSION=SCORE, such as goal_achievement=complete or tool_efficiency=0.8"
                % word[:100]
            )
        scores[name] = score
    return scores


def ask_scores(console: Console, session: ShownSession) -> tuple[dict[str, float], bool]:
    """Show a session and ask for its scores; return them, and whether the person quit.

    An empty line leaves a dimension out, `s` skips the session, `q` stops.
    """
    show_signals(console, session.name, session.signals)
    show_turns(console, session.turns)
    scores: dict[str, float] = {}
    for name, dimension in dimensions().items():
        scale = ", ".join("%d %s" % pair for pair in enumerate(dimension.labels)) or "0.0 to 1.0"
        while name not in scores:
            console.line("%s (%s; empty line: not scored) " % (name, scale))
            line = sys.stdin.readline()
            if not line:
                return scores, True
            word = line.strip().lower()
            if word in ("s", "q"):
                return {}, word == "q"
            if not word:
                break
            score = parse_score(name, word)
            if score is None:
                console.line("expected %s, s to skip the session, or q to stop" % scale)
            else:
                scores[name] = score
    return scores, False


def store_label(
    context: CommandContext, session: ShownSession, scores: dict[str, float], note: str = ""
) -> dict[str, Any]:
    """Append the scores of a session to the ledger and return the row. Raises CommandError if it could not be written."""
    project = project_of(session.signals.totals.folder, context.paths)
    row = label_row(session.name, project, scores, note)
    try:
        append_row(context.paths, row)
    except RowNotWritten as error:
        raise CommandError("nothing was stored: %s" % error) from None
    return row


def label_series(context: CommandContext, paths: Sequence[str], target: int) -> int:
    """Go through sessions until `target` are labeled, and return how many are. Sessions labeled before are skipped.

    The scorer's own scores are not shown, so that they cannot bias the person.
    """
    done = set(latest_rows(context.paths, LABEL))
    labeled_before, started = len(done), time.monotonic()
    for path in paths:
        if len(done) >= target:
            break
        try:
            session = read_session(path)
        except OSError:
            continue
        if session.signals.totals.turns < _MIN_TURNS or session.name in done:
            continue
        labeled_now = len(done) - labeled_before
        pace = (time.monotonic() - started) / 60 / labeled_now if labeled_now else _MINUTES
        minutes = counted(max(1, round(pace * (target - len(done)))), "minute")
        progress = "session %d of %d, about %s left" % (len(done) + 1, target, minutes)
        context.console.line()
        context.console.line(context.console.style(progress, "bold"))
        scores, has_quit = ask_scores(context.console, session)
        if scores:
            store_label(context, session, scores)
            done.add(session.name)
        if has_quit:
            break
    return len(done)
