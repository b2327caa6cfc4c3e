"""Ask a person to score sessions in the terminal: one session, or a series that can be interrupted and resumed."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.files import Unreadable
from ..kernel.paths import locate
from ..kernel.text.clean import plain
from ..sessions.calibration import label_row, parse_score
from ..sessions.dimensions import dimensions
from ..sessions.score_rows import LABEL, RowNotWritten, append_row, latest_rows, session_id_of
from ..sessions.session_digest import TranscriptDigest
from ..sessions.session_signals import Timeline, collect_signals
from .command_context import CommandError
from .console import counted
from .session_views import show_signals, show_timeline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..kernel.transcript.turn import Turn
    from ..sessions.session_signals import Moment, SessionSignals
    from .command_context import CommandContext
    from .console import Console

SERIES = 20  # sessions, enough to measure agreement
_MIN_TURNS = 2
_MAX_TURNS = 24
_MINUTES = 3  # per session, before any was labeled
_MAX_TEXT = 400
_MAX_LAST_REPLY = 1500
_MAX_MOMENTS = 12


class ShownSession(NamedTuple):
    """A session as shown to a person; `turns` have the form in which a scorer sees them."""

    name: str
    signals: SessionSignals
    moments: list[Moment]
    turns: list[dict[str, Any]]


class LabelInput(NamedTuple):
    """The scores that a person typed; `left` if they quit, `skipped` if they skipped this session."""

    scores: dict[str, float]
    skipped: bool = False
    left: bool = False


def ask_scores(console: Console) -> LabelInput:
    """Ask for the scores in the terminal: an empty line leaves a dimension out, `s` skips the session, `q` stops."""
    scores: dict[str, float] = {}
    for name, dimension in dimensions().items():
        scale = ", ".join("%d %s" % pair for pair in enumerate(dimension.labels)) or "0.0 to 1.0"
        while True:
            console.line("%s (%s; empty line: not scored) " % (name, scale))
            line = sys.stdin.readline()
            if not line:
                return LabelInput(scores, left=True)
            word = line.strip().lower()
            if word in ("s", "q"):
                return LabelInput({}, skipped=word == "s", left=word == "q")
            score = parse_score(name, line)
            if score is not None:
                scores[name] = score
            if score is not None or not word:
                break
            console.line("expected %s, s to skip the session, or q to stop" % scale)
    return LabelInput(scores)


def store_label(
    context: CommandContext, name: str, folder: str, scores: dict[str, float], note: str = ""
) -> dict[str, Any]:
    """Append the scores of a session to the ledger and return the row. Raises CommandError if it could not be written."""
    project = locate(folder).project_key if os.path.isabs(folder) else context.paths.project_key
    row = label_row(name, project, scores, note)
    try:
        append_row(context.paths, context.settings, row)
    except RowNotWritten as error:
        raise CommandError("nothing was stored: %s" % error) from None
    return row


def label_series(context: CommandContext, paths: Sequence[str], target: int) -> int:
    """Go through sessions until `target` are labeled, and return how many are. Sessions labeled before are skipped.

    The scorer's own scores are not shown, so that they cannot bias the person.
    """
    done = set(latest_rows(context.paths, context.settings, LABEL))
    labeled_before, started = len(done), time.monotonic()
    for path in paths:
        if len(done) >= target:
            break
        session = read_session(path)
        if session is None or session.name in done:
            continue
        console = context.console
        console.line()
        console.line(console.style(_progress(len(done), target, labeled_before, started), "bold"))
        show_session(console, session)
        answer = ask_scores(console)
        if answer.scores:
            store_label(context, session.name, session.signals.totals.folder, answer.scores)
            done.add(session.name)
        if answer.left:
            break
    return len(done)


def read_session(path: str) -> ShownSession | None:
    """Return a session as shown to a person; None if it is too short or unreadable."""
    digest, timeline = TranscriptDigest(), Timeline()

    def add(turn: Turn) -> None:
        digest.add(turn)
        timeline.add(turn)

    try:
        signals = collect_signals(path, add)
    except (OSError, Unreadable):
        return None
    if signals.totals.turns < _MIN_TURNS:
        return None
    turns = [shown.turn for shown in digest.shown]
    moments = timeline.moments(signals.detections, _MAX_MOMENTS)
    return ShownSession(session_id_of(path, signals.totals.session), signals, moments, turns)


def _progress(done: int, target: int, before: int, started: float) -> str:
    labeled_now = done - before
    pace = (time.monotonic() - started) / 60 / labeled_now if labeled_now else _MINUTES
    minutes = counted(max(1, round(pace * (target - done))), "minute")
    return "session %d of %d, about %s left" % (done + 1, target, minutes)


def show_session(console: Console, session: ShownSession) -> None:
    """Print what a person needs for the six scores: signals, timeline, abridged turns, and the last reply."""
    show_signals(console, session.name, session.signals)
    show_timeline(console, session.moments)
    turns = session.turns
    omitted, half = len(turns) - _MAX_TURNS, _MAX_TURNS // 2
    for turn in turns if omitted <= 0 else turns[:half]:
        _show_turn(console, turn)
    if omitted > 0:
        console.line("... %s not shown ..." % counted(omitted, "turn"))
        for turn in turns[-half:]:
            _show_turn(console, turn)
    last = next((turn["reply"] for turn in reversed(turns) if turn.get("reply")), "")
    console.paragraph("last reply: " + _in_line(last, _MAX_LAST_REPLY))


def _show_turn(console: Console, turn: dict[str, Any]) -> None:
    for key, who in (("user", "user"), ("reply", "Claude")):
        if turn.get(key):
            console.paragraph("%3d %s: %s" % (turn["turn"], who, _in_line(turn[key], _MAX_TEXT)), hang=4)
    calls = turn.get("calls", [])
    if calls:
        failed = sum("error" in call for call in calls)
        names = ", ".join("%s %s" % (call["tool"], call.get("input", "")[:40]) for call in calls[:4])
        number = counted(len(calls) + turn.get("more_calls", 0), "call")
        number += ", %d failed" % failed if failed else ""
        console.paragraph("    %s: %s" % (number, _in_line(names, _MAX_TEXT)), hang=4)


def _in_line(text: str, max_length: int) -> str:
    """Return transcript text on one line of at most `max_length` characters, without control characters."""
    return plain(" ".join(text.split()), max_length)
