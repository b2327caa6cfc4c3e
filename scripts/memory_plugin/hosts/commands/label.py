"""`memory label`: a person's own scores for a session, asked for in the terminal with the evidence shown."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ...kernel.paths import locate
from ...sessions.dimensions import dimensions
from ...sessions.labels import label_row, parse_score
from ...sessions.records import append, named
from ...sessions.signals import collect
from ...sessions.timeline import Timeline
from ..session_named import transcript_named
from ..session_views import show_signals, show_timeline

if TYPE_CHECKING:
    import argparse

    from ..session_context import Session

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

DONE, FAILED, USAGE = 0, 1, 2
HELP = "give a session your own six scores, to compare the scorer's with"
EXAMPLES = """\
  memory label 0d1ec0de                                   asks for each score, the signals shown
  memory label 0d1ec0de --set goal_achievement=complete --set tool_efficiency=0.8
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "target", nargs="?", metavar="FILE|ID", help="a transcript, or a session's id or its beginning"
    )
    parser.add_argument(
        "--current", action="store_true", help="this session; outside of one, the project's newest"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="DIMENSION=SCORE",
        help="a score, without being asked; may be repeated",
    )
    parser.add_argument("--note", default="", metavar="TEXT", help="a note to keep with the scores")


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Take the scores and write them down."""
    if bool(arguments.target) == arguments.current:
        session.console.error("name one of: a file, an id, --current")
        return USAGE
    if not session.require_word("keep scores as yours"):
        return FAILED
    given = _given(arguments.set, session)
    if given is None:
        return USAGE
    path = transcript_named(arguments, session)
    timeline = Timeline()
    signals = collect(path, timeline.add)
    if not given:
        show_signals(session.console, os.path.basename(path), signals)
        show_timeline(session.console, timeline.moments(signals.sightings, 60))
        given = _asked(session)
    name = named(path, signals.totals.session)
    return _keep(name, signals.totals.folder, given, arguments, session)


def _keep(
    name: str, folder: str, given: dict[str, float], arguments: argparse.Namespace, session: Session
) -> int:
    project = locate(folder).project_key if os.path.isabs(folder) else session.places.project_key
    row = label_row(name, project, given, arguments.note[:2000])
    trouble = append(session.places, session.settings, row) if given else "no score was given"
    if trouble:
        session.console.error("not written down: " + trouble)
        return FAILED
    if arguments.json:
        session.console.json(row)
    else:
        session.console.line("%d scores kept for %s; compare: memory calibrate" % (len(given), name))
    return DONE


def _given(words: list[str], session: Session) -> dict[str, float] | None:
    """The scores of `--set`; None, with the error said, for one that is none."""
    found = {}
    for word in words:
        name, _, text = word.partition("=")
        score = parse_score(name, text) if name in dimensions() else None
        if score is None:
            session.console.error(
                "--set %s: expected DIMENSION=SCORE, such as goal_achievement=complete or tool_efficiency=0.8"
                % word[:100]
            )
            return None
        found[name] = score
    return found


def _asked(session: Session) -> dict[str, float]:
    """What the person at the terminal says; an empty line leaves a dimension out, the end of input ends it."""
    found: dict[str, float] = {}
    for name, dimension in dimensions().items():
        scale = ", ".join("%d %s" % pair for pair in enumerate(dimension.labels)) or "0.0 to 1.0"
        while True:
            session.console.line("%s (%s; empty: not scored) " % (name, scale))
            line = sys.stdin.readline()
            if not line:
                return found
            score = parse_score(name, line)
            if score is not None:
                found[name] = score
            if score is not None or not line.strip():
                break
            session.console.line("expected %s" % scale)
    return found
