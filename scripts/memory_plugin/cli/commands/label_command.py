"""`memory session label`: show a session's signals, ask a person to score it, and store those scores."""

from __future__ import annotations

import argparse

from ...sessions.calibration import parse_score
from ...sessions.dimensions import dimensions
from ..command_context import Approval, CommandContext, CommandError, UsageError
from ..console import counted
from ..labeling import ask_scores, read_session, store_label
from .session_command import add_target, named_transcript

HELP = "score a session yourself on six dimensions, for comparison with the scorer"
EXAMPLES = """\
  memory session label 0d1ec0de                                   shows the signals and asks for each score
  memory session label 0d1ec0de --set goal_achievement=complete --set tool_efficiency=0.8
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_target(parser)
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="DIMENSION=SCORE",
        help="a score to store without asking; can be repeated",
    )
    parser.add_argument("--note", default="", metavar="TEXT", help="a note to store with the scores")


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval:  # noqa: ARG001  (every command gets the same arguments)
    """Return that scores are stored as the user's own."""
    return Approval("store scores of a session as your own")


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Read the scores and write them to the ledger."""
    if bool(arguments.target) == arguments.current:
        raise UsageError("expected one of: a file, an id, --current")
    scores = _parse_scores(arguments.set)
    session = read_session(named_transcript(arguments, context))
    if not scores:
        scores, _ = ask_scores(context.console, session)
    if not scores:
        raise CommandError("nothing was stored: no score was given")
    row = store_label(context, session, scores, arguments.note[:2000])
    text = "%s stored for %s; to compare: memory session calibrate" % (
        counted(len(scores), "score"),
        session.name,
    )
    context.console.result(arguments.json, row, text)


def _parse_scores(words: list[str]) -> dict[str, float]:
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
