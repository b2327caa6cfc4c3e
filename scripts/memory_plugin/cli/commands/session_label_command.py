"""`memory session label`: let a person score one session."""

from __future__ import annotations

import argparse

from ...kernel.text.clean import counted
from ...sessions import score_rows
from ...sessions.dimensions import dimensions
from ...sessions.score_rows import store_label
from ...sessions.scoring_request import prepare
from ..command_context import Approval, CommandContext, CommandError, UsageError
from .session_calibrate_command import ask_scores
from .session_command import add_target, named_transcript

HELP = "score one session yourself, for comparison with the scorer"
EXAMPLES = """\
  memory session label 0d1ec0de             shows the session and asks for each score
  memory session label 0d1ec0de --set goal_achievement=complete --set tool_efficiency=0.8
"""


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval:  # noqa: ARG001  (every command gets the same arguments)
    """Return that scores are stored as the user's own."""
    return Approval("store scores of a session as your own?")


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


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Store the scores that a person gives one session, by --set or when asked."""
    path, scores = named_transcript(arguments, context), _parse_scores(arguments.set)
    session = prepare(path)
    if not scores:
        scores, _ = ask_scores(context.console, session)
    if not scores:
        raise CommandError("nothing was stored: no score was given")
    row = store_label(context.paths, session, scores)
    text = "%s stored for %s; to compare: memory session calibrate --report"
    context.console.result(arguments.json, row, text % (counted(len(scores), "score"), row["session"]))


def _parse_scores(words: list[str]) -> dict[str, float]:
    """Return the scores given by `--set`. Raises UsageError for an invalid one."""
    scores = {}
    for word in words:
        name, _, text = word.partition("=")
        score = score_rows.parse_score(name, text) if name in dimensions() else None
        if score is None:
            raise UsageError(
                "--set %s: expected DIMENSION=SCORE, such as goal_achievement=complete or tool_efficiency=0.8"
                % word[:100]
            )
        scores[name] = score
    return scores
