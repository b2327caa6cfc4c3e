"""`memory why`: explain a recall decision."""

from __future__ import annotations

import argparse

from ...kernel.text.clean import plain
from ...recall.explain import LAST, PLACES, find_decision, same_turn, sentence
from ..command_context import CommandContext, CommandError
from ..decision_view import MAX_LINE, explain_decision, show_scores
from ..options import add_flag

HELP = "explain a recall decision: what Claude was told, what it was not told and why, and what would have helped"
EXAMPLES = """\
  memory why
  memory why a2fc9ec1 --json
  memory why --verbose                               includes the scores
  memory why --place catalog                         what Claude saw at the start of the session
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "prompt",
        nargs="?",
        default=LAST,
        metavar="PROMPT-ID",
        help="a prompt id or its first characters (default: the last prompt)",
    )
    parser.add_argument(
        "--place",
        choices=PLACES,
        default="",
        help="explain the last decision at this place instead of one on a prompt",
    )
    add_flag(parser, "--verbose", "also print the scores and their parts")


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Explain one decision."""
    row = find_decision(context.paths, arguments.prompt, place=arguments.place)
    if row is None:
        raise CommandError(_nothing_found(arguments.prompt, arguments.place))
    if arguments.json:
        context.console.json({"pointed": [], **row})
        return
    explain_decision(row, context)
    for other in same_turn(context.paths, row):
        context.console.paragraph(plain("Also in this turn: %s." % sentence(other), MAX_LINE))
    if arguments.verbose:
        show_scores(row, context)


def _nothing_found(prompt: str, place: str) -> str:
    at_place = " at the place %s" % place if place else ""
    if prompt == LAST:
        text = "no decision is recorded%s in this project; recording starts with the first prompt"
        return text % at_place
    text = "no prompt with the id %s is recorded%s in this project; to list prompts: %s"
    return text % (prompt, at_place, "memory status --last 20 --json")
