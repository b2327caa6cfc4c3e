"""`memory label`: a person's own scores for a session, entered in the terminal with the signals shown."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ...kernel.paths import locate
from ...sessions.calibration import label_row, parse_score
from ...sessions.dimensions import dimensions
from ...sessions.score_rows import RowNotWritten, append_row, session_id_of
from ...sessions.session_signals import Timeline, collect_signals
from ..session_views import show_signals, show_timeline
from .session_command import named_transcript

if TYPE_CHECKING:
    import argparse

    from ..command_context import CommandContext

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

DONE, FAILED, USAGE = 0, 1, 2
HELP = "give a session your own six scores, to compare the scorer's with"
EXAMPLES = """\
  memory label 0d1ec0de                                   asks for each score, with the signals shown
  memory label 0d1ec0de --set goal_achievement=complete --set tool_efficiency=0.8
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "target", nargs="?", metavar="FILE|ID", help="a transcript, or a session's id or its beginning"
    )
    parser.add_argument(
        "--current", action="store_true", help="this session; outside of one, the newest of the project"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="DIMENSION=SCORE",
        help="a score, instead of being asked; may be repeated",
    )
    parser.add_argument("--note", default="", metavar="TEXT", help="a note to keep with the scores")


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Read the scores and write them to the ledger."""
    if bool(arguments.target) == arguments.current:
        context.console.error("name one of: a file, an id, --current")
        return USAGE
    context.require_approval("keep scores as yours")
    given = _given(arguments.set, context)
    if given is None:
        return USAGE
    path = named_transcript(arguments, context)
    timeline = Timeline()
    signals = collect_signals(path, timeline.add)
    if not given:
        show_signals(context.console, os.path.basename(path), signals)
        show_timeline(context.console, timeline.moments(signals.detections, 60))
        given = _asked(context)
    name = session_id_of(path, signals.totals.session)
    return _keep(name, signals.totals.folder, given, arguments, context)


def _keep(
    name: str, folder: str, given: dict[str, float], arguments: argparse.Namespace, context: CommandContext
) -> int:
    project = locate(folder).project_key if os.path.isabs(folder) else context.places.project_key
    row = label_row(name, project, given, arguments.note[:2000])
    if not given:
        context.console.error("nothing was stored: no score was given")
        return FAILED
    try:
        append_row(context.places, context.settings, row)
    except RowNotWritten as error:
        context.console.error("nothing was stored: %s" % error)
        return FAILED
    if arguments.json:
        context.console.json(row)
    else:
        context.console.line("%d scores stored for %s; compare them: memory calibrate" % (len(given), name))
    return DONE


def _given(words: list[str], context: CommandContext) -> dict[str, float] | None:
    """Return the scores of `--set`; None, after printing the error, when one is invalid."""
    found = {}
    for word in words:
        name, _, text = word.partition("=")
        score = parse_score(name, text) if name in dimensions() else None
        if score is None:
            context.console.error(
                "--set %s: expected DIMENSION=SCORE, such as goal_achievement=complete or tool_efficiency=0.8"
                % word[:100]
            )
            return None
        found[name] = score
    return found


def _asked(context: CommandContext) -> dict[str, float]:
    """Ask for the scores in the terminal; an empty line skips a dimension, the end of input ends the questions."""
    found: dict[str, float] = {}
    for name, dimension in dimensions().items():
        scale = ", ".join("%d %s" % pair for pair in enumerate(dimension.labels)) or "0.0 to 1.0"
        while True:
            context.console.line("%s (%s; empty: not scored) " % (name, scale))
            line = sys.stdin.readline()
            if not line:
                return found
            score = parse_score(name, line)
            if score is not None:
                found[name] = score
            if score is not None or not line.strip():
                break
            context.console.line("expected %s" % scale)
    return found
