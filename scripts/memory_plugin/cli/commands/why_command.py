"""`memory why`: explain a decision of recall, or try a prompt."""

from __future__ import annotations

import argparse
from typing import Any

from ...host.events import MAX_CHARACTERS
from ...kernel.text.clean import plain
from ...recall import explain
from ...recall.gate import Prompt
from ...recall.history import Answer
from ...recall.pipeline import recall
from ...work.prompt_trial import pending_answers, started_history
from ...work.state import titles_and_names
from ..command_context import CommandContext, CommandError
from ..options import add_flag
from .status_command import MAX_LINE, local_time, print_memory, print_off, shown_prompt, told_memories

HELP = "explain why a prompt did or did not bring up memories, or test one"
EXAMPLES = """\
  memory why
  memory why "how do we reset staging"               tries a prompt: what would Claude see?
  memory why a2fc9ec1 --json                         a prompt by the beginning of its id
  memory why --verbose                               includes the scores
  memory why --place catalog                         what Claude saw at the start of the session
"""

_ID_CHARACTERS = frozenset("0123456789abcdefghijklmnopqrstuvwxyz-_")
_TRIED = "Tried now, as the first prompt of a session, which began with the standing rules and the titles of the others."
_NO_JUDGES = " The judges were not asked."
_ADVICE = "Should one of these have matched? Add a search phrase with the prompt's words:"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "prompt",
        nargs="?",
        default=explain.LAST,
        metavar="PROMPT",
        help="a text to try, or the id of a past prompt or its first characters (default: the last prompt)",
    )
    parser.add_argument(
        "--place",
        choices=explain.PLACES,
        default="",
        help="explain the last decision at this place instead of one on a prompt",
    )
    add_flag(parser, "--verbose", "also print the scores and their parts")


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Explain one decision, or try a prompt."""
    row, tried = explain.find_decision(context.paths, arguments.prompt, place=arguments.place), False
    if row is None and not arguments.place and not _may_be_id(arguments.prompt):
        prompt, history = Prompt(arguments.prompt, "", ""), started_history(context)
        row, tried = recall(Answer("prompt"), prompt, MAX_CHARACTERS, context, history).record, True
    if row is None:
        raise CommandError(_nothing_found(arguments.prompt, arguments.place))
    also = explain.same_turn(context.paths, row)
    if arguments.json:
        context.console.json({"pointed": [], **row, "also": also})
        return
    print_off(context)
    if tried:
        judged = context.settings.is_judge_enabled("retrieval")
        context.console.paragraph(_TRIED + (_NO_JUDGES if judged else ""))
    else:
        named = shown_prompt(row, explain.prompt_texts([row], context.paths), MAX_LINE)
        context.console.paragraph(", ".join(filter(None, (local_time(row), named))))
    if tried:
        _name_pending(arguments.prompt, row, context)
    _explain(row, context)
    for other in also:
        context.console.paragraph(plain("Also in this turn: %s." % explain.sentence(other), MAX_LINE))
    if arguments.verbose:
        _print_scores(row, context)


def _may_be_id(text: str) -> bool:
    """Return whether a text may be the beginning of a prompt's id rather than a prompt: one word with a digit, or `last`."""
    is_id = set(text.lower()) <= _ID_CHARACTERS and any(character.isdigit() for character in text)
    return is_id or text == explain.LAST


def _nothing_found(prompt: str, place: str) -> str:
    if place and place != "prompt":
        return "nothing is recorded %s in this project" % explain.PLACE_TEXTS[place]
    if prompt == explain.LAST:
        return "no decision is recorded in this project; recording starts with the first prompt"
    text = "no prompt with the id %s is recorded in this project; to list prompts: %s"
    return text % (prompt, "memory status --last 20 --json")


def _name_pending(prompt: str, row: dict[str, Any], context: CommandContext) -> None:
    """Say first which memory would have answered if it were approved."""
    for hit in pending_answers(prompt, row, context):
        text = 'Pending, and would match: "%s". To accept it: memory accept %s'
        context.console.paragraph(plain(text % (hit.title, hit.id), MAX_LINE))


def _explain(row: dict[str, Any], context: CommandContext) -> None:
    console = context.console
    summary = plain(explain.sentence(row), MAX_LINE)
    console.paragraph(console.style(summary[:1].upper() + summary[1:] + ".", "bold"))
    if explain.problem(row):
        console.paragraph(plain("problem: " + explain.problem(row), MAX_LINE))
    lines = [(one.result, one.key, ": " + one.reason) for one in explain.outcomes(row)]
    lines = lines or [(*pair, "") for pair in told_memories(row)]
    labels = titles_and_names(context.overview()) if lines else {}
    if lines:
        console.line()
    for word, key, reason in lines:
        print_memory(word, labels.get(key, key) + reason, context)
    if row.get("candidates") and explain.would_phrases_help(row):
        console.line()
        console.paragraph(_ADVICE)
        console.line('  memory edit ID --asked-as "..."')
    elif not lines and explain.remedy(row):
        console.paragraph("Try: " + explain.remedy(row))


def _print_scores(row: dict[str, Any], context: CommandContext) -> None:
    """Print the thresholds and the scores behind a decision, as far as they are recorded; `--json` has their parts."""
    console, number = context.console, "{:.2f}".format
    console.line()
    if row.get("inject_threshold") is None:
        console.line("No memory was looked up.")
        return
    thresholds = (number(row.get(name) or 0) for name in ("inject_threshold", "pointer_threshold"))
    console.line("thresholds: %s for the full text, %s for the title" % tuple(thresholds))
    names, found = ("confidence", "pointer_confidence", "score"), row.get("candidates", ())
    if found:
        rows = [[*(number(one.get(name) or 0) for name in names), one["key"]] for one in found]
        console.table(["confidence", "pointer", "score", "memory"], rows)
