"""`memory session calibrate`: let a person score sessions, one or a series that can be interrupted; compare with the scorer."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from ...kernel.stats import Estimate
from ...kernel.text.clean import counted, plain
from ...sessions import score_rows
from ...sessions.dimensions import dimensions
from ...sessions.score_rows import latest_scores, store_label
from ...sessions.scoring_request import PreparedSession, prepare
from ...sessions.session_files import project_transcripts
from ..command_context import Approval, CommandContext, CommandError
from ..console import Console
from ..options import add_flag, require_existing
from .session_command import show_signals

_SERIES = 20  # sessions, enough to measure agreement
_MAX_TURNS = 24
_MIN_TURNS = 2
_MAX_TEXT = 400
_MAX_LAST_REPLY = 1500
HELP = "score 20 sessions yourself and measure how well the scorer agrees with you"
EXAMPLES = """\
  memory session calibrate              in a terminal: shows each session and asks for six scores; q quits, and the next run resumes
  memory session calibrate --report     only compare, using the labels so far
  memory session calibrate labels.csv   a header row (session and the dimensions), then one row per session
  memory session calibrate labels.json --json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    help_text = "a person's scores: JSON or CSV (default: your labels)"
    parser.add_argument("file", nargs="?", metavar="FILE", help=help_text)
    add_flag(parser, "--report", "compare without asking for scores")
    add_flag(parser, "--ask", "ask even without a terminal, reading answers from standard input")


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval | None:  # noqa: ARG001  (every command gets the same arguments)
    """Return that scores are stored as the user's own; None for comparing them."""
    return Approval("store scores of sessions as your own?") if arguments.ask else None


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Label what is missing, compare the scores and print the figures. Raises UnreadableLabels for a file without scores."""
    require_existing(*filter(None, [arguments.file]))
    asks = arguments.ask or not (arguments.file or arguments.report or arguments.json)
    if arguments.ask or (asks and context.console.can_prompt()):
        labeled = _label_series(context)
        context.console.line("%s labeled; to go on: memory session calibrate" % counted(labeled, "session"))
    ours = latest_scores(context.paths, score_rows.SCORE)
    theirs = (
        score_rows.read_labels(arguments.file)
        if arguments.file
        else latest_scores(context.paths, score_rows.LABEL)
    )
    shared = sorted(ours.keys() & theirs.keys())
    if not shared:
        raise CommandError(
            "no session is both scored and labeled: %d scored (memory session score), %d labeled (memory session label)"
            % (len(ours), len(theirs))
        )
    agreements = score_rows.compare(ours, theirs)
    if arguments.json:
        records = [
            {"dimension": name, "n": n, **{key: figure._asdict() for key, figure in figures.items()}}
            for name, n, figures in agreements
        ]
        context.console.json({"sessions": len(shared), "dimensions": records})
        return
    context.console.line("%s scored by both" % counted(len(shared), "session"))
    if len(shared) < _SERIES:
        context.console.line("Fewer than %d sessions are too few to draw conclusions." % _SERIES)
    rows = [
        [dimension, str(n), name, _figure(figure)]
        for dimension, n, figures in agreements
        for name, figure in figures.items()
    ]
    context.console.table(["dimension", "n", "figure", "value and 95% interval"], rows)


def _figure(figure: Estimate) -> str:
    if figure.value is None:
        return "not determined"
    if figure.low is None or figure.high is None:
        return "%.2f" % figure.value
    return "%.2f  [%.2f, %.2f]" % (figure.value, figure.low, figure.high)


def ask_scores(console: Console, session: PreparedSession) -> tuple[dict[str, float], bool]:
    """Show a session and ask for its scores; return them, and whether the person quit.

    An empty line leaves a dimension out, `s` skips the session, `q` stops.
    """
    show_signals(console, score_rows.session_id(session), session.signals)
    _show_turns(console, [turn for part in session.parts for turn in part.turns])
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
            score = score_rows.parse_score(name, word)
            if score is None:
                console.line("expected %s, s to skip the session, or q to stop" % scale)
            else:
                scores[name] = score
    return scores, False


def _label_series(context: CommandContext) -> int:
    """Go through the project's sessions until 20 are labeled, and return how many are. Sessions labeled before are skipped.

    The scorer's own scores are not shown, so that they cannot bias the person.
    """
    done = set(score_rows.latest_rows(context.paths, score_rows.LABEL))
    for path in project_transcripts(context.paths):
        if len(done) >= _SERIES:
            break
        try:
            session = prepare(path)
        except OSError:
            continue
        name = score_rows.session_id(session)
        if session.signals.totals.turns < _MIN_TURNS or name in done:
            continue
        context.console.line()
        progress = "session %d of %d" % (len(done) + 1, _SERIES)
        context.console.line(context.console.style(progress, "bold"))
        scores, has_quit = ask_scores(context.console, session)
        if scores:
            store_label(context.paths, session, scores)
            done.add(name)
        if has_quit:
            break
    return len(done)


def _show_turns(console: Console, turns: list[dict[str, Any]]) -> None:
    """Print turns in the form in which a scorer sees them, without the middle of many, and the last reply at more length."""
    half = _MAX_TURNS // 2
    for turn in turns[:half] + turns[half:][-half:]:
        _show_turn(console, turn)
    if len(turns) > _MAX_TURNS:
        console.line("(%s in the middle not shown)" % counted(len(turns) - _MAX_TURNS, "turn"))
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
        counts = (counted(len(calls) + turn.get("more_calls", 0), "call"), failed)
        console.paragraph("    %s, %d failed: %s" % (*counts, plain(names, _MAX_TEXT)), hang=4)
