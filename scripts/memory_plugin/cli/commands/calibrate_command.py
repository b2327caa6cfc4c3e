"""`memory session calibrate`: measure how well the scorer agrees with a person."""

from __future__ import annotations

import argparse
from typing import Any

from ...kernel.stats import Estimate
from ...sessions.calibration import Agreement, UnreadableLabels, compare, read_labels, with_overall
from ...sessions.score_rows import LABEL, SCORE, latest_rows
from ...sessions.session_files import project_transcripts, transcripts_below
from ..command_context import Approval, CommandContext, CommandError
from ..console import counted
from ..options import add_flag, require_existing
from ..session_views import label_series

_SERIES = 20  # sessions, enough to measure agreement
HELP = "score 20 sessions yourself and measure how well the scorer agrees with you"
EXAMPLES = """\
  memory session calibrate              in a terminal: shows each session and asks for six scores; q quits, and the next run resumes
  memory session calibrate --report     only compare, using the labels so far
  memory session calibrate --sessions 40 --folder ~/old-transcripts
  memory session calibrate labels.csv   a header row (session and the dimensions), then one row per session
  memory session calibrate labels.json --json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="a person's scores: JSON, JSON Lines or CSV (default: your labels)",
    )
    parser.add_argument(
        "--sessions",
        type=int,
        default=_SERIES,
        metavar="N",
        help="how many sessions to label (default: %d)" % _SERIES,
    )
    parser.add_argument(
        "--folder", default="", metavar="DIR", help="a folder of transcripts (default: this project's)"
    )
    add_flag(parser, "--report", "compare without asking for scores")
    add_flag(parser, "--ask", "ask even without a terminal, reading answers from standard input")


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval | None:  # noqa: ARG001  (every command gets the same arguments)
    """Return that scores are stored as the user's own; None for comparing them."""
    return Approval("store scores of sessions as your own") if arguments.ask else None


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Label what is missing, compare the scores and print the figures."""
    require_existing(*filter(None, [arguments.file, arguments.folder]))
    asks = arguments.ask or not (arguments.file or arguments.report or arguments.json)
    if arguments.ask or (asks and context.console.can_prompt()):
        folder = arguments.folder
        transcripts = transcripts_below(folder) if folder else project_transcripts(context.paths)
        labeled = label_series(context, transcripts, arguments.sessions)
        context.console.line("%s labeled; to go on: memory session calibrate" % counted(labeled, "session"))
    ours = _latest(context, SCORE)
    try:
        theirs = read_labels(arguments.file) if arguments.file else _latest(context, LABEL)
    except UnreadableLabels as error:
        raise CommandError(str(error)) from None
    shared = sorted(ours.keys() & theirs.keys())
    if not shared:
        raise CommandError(
            "no session is both scored and labeled: %d scored (memory session score), %d labeled (memory session label)"
            % (len(ours), len(theirs))
        )
    agreements = compare(ours, theirs)
    if arguments.json:
        records = [_record(agreement) for agreement in agreements]
        context.console.json({"sessions": len(shared), "dimensions": records})
        return
    note = (
        "; fewer than %d sessions are too few to draw conclusions" % _SERIES if len(shared) < _SERIES else ""
    )
    context.console.line("%s scored by both%s" % (counted(len(shared), "session"), note))
    rows = [
        [agreement.dimension, str(agreement.n), name, _figure(figure)]
        for agreement in agreements
        for name, figure in agreement.figures.items()
    ]
    context.console.table(["dimension", "n", "figure", "value and 95% interval"], rows)


def _latest(context: CommandContext, kind: str) -> dict[str, dict[str, float]]:
    """Return the latest scores of each session in the ledger: the scorer's or a person's (SCORE or LABEL)."""
    rows = latest_rows(context.paths, kind)
    return {name: with_overall(row) for name, row in rows.items()}


def _record(agreement: Agreement) -> dict[str, Any]:
    figures = {
        name: {key: None if value is None else round(value, 4) for key, value in figure._asdict().items()}
        for name, figure in agreement.figures.items()
    }
    return {"dimension": agreement.dimension, "n": agreement.n, **figures}


def _figure(figure: Estimate) -> str:
    if figure.value is None:
        return "not determined"
    if figure.low is None or figure.high is None:
        return "%.2f" % figure.value
    return "%.2f  [%.2f, %.2f]" % (figure.value, figure.low, figure.high)
