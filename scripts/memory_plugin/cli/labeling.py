"""Ask a person to score sessions in the terminal: one session, or a series that can be interrupted and resumed."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..kernel.transcript.turn import Turn
from ..sessions.calibration import label_row, parse_score
from ..sessions.dimensions import dimensions
from ..sessions.score_rows import LABEL, RowNotWritten, append_row, latest_rows, project_of, session_id_of
from ..sessions.scoring_request import TranscriptDigest
from ..sessions.session_signals import SessionSignals, Timeline, collect_signals
from .command_context import CommandContext, CommandError
from .console import Console, counted
from .session_views import show_signals, show_timeline, show_turns

_MIN_TURNS = 2
_MINUTES = 3  # per session, before any was labeled
_MAX_MOMENTS = 12


class ShownSession(NamedTuple):
    """A session as shown to a person; `turns` have the form in which a scorer sees them."""

    name: str
    signals: SessionSignals
    timeline: Timeline
    turns: list[dict[str, Any]]


def read_session(path: str) -> ShownSession:
    """Return a session as shown to a person. Raises FileNotFoundError and Unreadable."""
    digest, timeline = TranscriptDigest(), Timeline()

    def add(turn: Turn) -> None:
        digest.add(turn)
        timeline.add(turn)

    signals = collect_signals(path, add)
    name = session_id_of(path, signals.totals.session)
    return ShownSession(name, signals, timeline, [shown.turn for shown in digest.shown])


def ask_scores(console: Console, session: ShownSession) -> tuple[dict[str, float], bool]:
    """Show a session and ask for its scores; return them, and whether the person quit.

    An empty line leaves a dimension out, `s` skips the session, `q` stops.
    """
    show_signals(console, session.name, session.signals)
    show_timeline(console, session.timeline.moments(session.signals.detections, _MAX_MOMENTS))
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
