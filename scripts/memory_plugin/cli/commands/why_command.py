"""`memory why` explains a decision of recall, or tries a prompt; `memory feedback` rates memories, and shows or resets the ratings."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any

from ...kernel.text.clean import counted, plain
from ...memories.hygiene import shown_line
from ...memories.survey import Item, choose, shortest_names
from ...memories.trust import PENDING
from ...recall import explain
from ...recall.history import USEFUL, WRONG, Feedback, record_feedback, reset_feedback
from ...work.memory_facts import titles_and_names
from ..command_context import Approval, CommandContext, CommandError, Handler, UsageError, titled
from ..options import add_flag
from .status_command import MAX_LINE, local_time, named, print_memory, print_off, shown_prompt

_WHY_TEXT = """\
explain why a prompt brought up memories or none, or test a prompt
  memory why
  memory why "how do we reset staging"               tries a prompt: what would Claude see?
  memory why a2fc9ec1 --json                         a prompt by the start of its id
  memory why --place catalog                         what Claude saw at the start of the session
"""

_ID_CHARACTERS = frozenset("0123456789abcdefghijklmnopqrstuvwxyz-_")
_PENDING, _EXPIRED = ("Pending", "  memory accept %s"), ("Expired", "  memory edit %s --expires never")
_TRIED = "Tried now, as the first prompt of a session; what a session starts with counts as shown."
_NO_JUDGES = " The judges were not asked."
_ADVICE = "Should one of these have matched? Add a search phrase with the prompt's words:"


def _configure_why(parser: ArgumentParser) -> None:
    text = "a text to try, or the id of a past prompt or its first characters (default: the last prompt)"
    parser.add_argument("prompt", nargs="?", default=explain.LAST, metavar="PROMPT", help=text)
    text = "explain the last decision at this place instead of one on a prompt"
    parser.add_argument("--place", choices=explain.PLACES, default="", help=text)
    add_flag(parser, "--verbose", "also print the scores and their parts")


def _why(arguments: Namespace, context: CommandContext) -> None:
    """Explain one decision, or try a prompt."""
    from ...work import trial  # the ratings need no recall

    row, tried = explain.find_decision(context.paths, arguments.prompt, place=arguments.place), False
    if row is None and not arguments.place and not _may_be_id(arguments.prompt):
        row, tried = trial.try_prompt(arguments.prompt, context), True
    if row is None:
        raise CommandError(_nothing_found(arguments.prompt, arguments.place))
    also = trial.try_past(arguments.prompt, context) if tried else explain.same_turn(context.paths, row)
    held = trial.held_back(arguments.prompt, context) if tried else []
    if held and row.get("reason") == "no_match":
        row["reason"] = "only_pending"
    pending = [hit.id for hit in held if hit.trust == PENDING]
    context.console.result({"pointed": [], **row, "also": also, "pending": pending})
    print_off(context)
    if tried:
        judged = context.settings.is_judge_enabled("retrieval")
        context.console.paragraph(_TRIED + (_NO_JUDGES if judged else ""))
        for hit in held:
            state, command = _PENDING if hit.trust == PENDING else _EXPIRED
            context.console.paragraph(plain('%s, and would match: "%s"' % (state, hit.title), MAX_LINE))
            context.console.line(command % hit.id)
    else:
        named = shown_prompt(row, explain.prompt_texts([row], context.paths), MAX_LINE)
        context.console.paragraph(", ".join(filter(None, (local_time(row), named))))
    _explain(row, context, also)
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
        return "nothing is recorded %s in this project" % explain.texts("places")[place]
    if prompt == explain.LAST:
        return "nothing is recorded in this project yet; recording starts with the first prompt"
    text = "no prompt with the id %s is recorded in this project; to list prompts: %s"
    return text % (prompt, "memory status --json")


def _explain(row: dict[str, object], context: CommandContext, also: Sequence[explain.Row] = ()) -> None:
    console = context.console
    summary = plain(explain.sentence(row, *also), MAX_LINE)
    console.paragraph(console.style(summary[:1].upper() + summary[1:] + ".", "bold"))
    problem = explain.reason_text(str(row.get("problem", "")))
    if problem and problem not in summary:
        console.paragraph(plain("problem: " + problem, MAX_LINE))
    lines = [(one.result, one.key, ": " + one.reason) for one in explain.outcomes(row)]
    lines = lines or [(*pair, "") for pair in explain.told(row)]
    labels = {}
    if lines:
        labels = titles_and_names(context.overview().items)
        console.line()
    for word, key, reason in lines:
        print_memory(word, named(key, labels) + reason, context)
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
        console.table(["full text", "title", "score", "memory"], rows)


_FEEDBACK_TEXT = """\
rate memories as useful or wrong, and show or reset the ratings
  memory feedback                         lists ratings, and how often replies used a memory
  memory feedback useful use-postgres     shows it more readily
  memory feedback wrong use-postgres      shows it less readily
  memory feedback reset use-postgres      deletes its ratings
  memory feedback reset --all
"""
_SHOW, _RESET = "show", "reset"
_COUNTS, _HEADERS = ("useful", "wrong", "used"), ("USEFUL", "WRONG", "USED", "ID", "TITLE")
_NO_RATINGS = "No memory has been rated, and no reply has used one yet."


def _configure_feedback(parser: ArgumentParser) -> None:
    kinds, text = [_SHOW, USEFUL, WRONG, _RESET], "show (default), useful, wrong or reset"
    parser.add_argument("action", nargs="?", choices=kinds, default=_SHOW, metavar="ACTION", help=text)
    text = "the memories to rate, or whose feedback to delete"
    parser.add_argument("ids", nargs="*", metavar="ID", help=text)
    add_flag(parser, "--all", "with reset: all memories in all projects")


def _approve_feedback(arguments: Namespace, context: CommandContext) -> Approval | None:
    """Return which memories to rate or to reset; None for showing the feedback."""
    if arguments.action == _SHOW:
        return None
    if arguments.action == _RESET:
        return Approval("delete the feedback on %s?" % (", ".join(arguments.ids) or "all memories"))
    titles = [item.stored.memory.title for item in _chosen(arguments, context.overview().items)]
    return Approval(titled("rate as %s" % arguments.action, titles))


def _feedback(arguments: Namespace, context: CommandContext) -> None:
    """Rate the named memories, or show or reset the feedback."""
    kind = arguments.action
    if kind == _RESET:
        _reset_ratings(arguments, context)
        return
    if arguments.all or (arguments.ids and kind == _SHOW):
        raise UsageError("only `memory feedback reset` takes --all, and `memory feedback show` takes no ids")
    items = context.overview().items
    if kind == _SHOW:
        feedback = Feedback(context.paths)
        chosen = [item for item in items if any(feedback.counts(item.stored.key).values())]
    else:
        chosen = _chosen(arguments, items)
        keys = [item.stored.key for item in chosen]
        record_feedback(context.paths, keys, kind)
        context.append("feedback", {"kind": kind, "memories": keys})
        feedback = Feedback(context.paths)
    names, rows = shortest_names(items), [_rating(item, feedback) for item in chosen]
    cells = [[str(row[name]) for name in _COUNTS] for row in rows]
    ends = [[names[item.stored.key], str(row["title"])] for item, row in zip(chosen, rows)]
    context.console.result({**({} if kind == _SHOW else {"rated": kind}), "memories": rows})
    context.console.table(_HEADERS, [[*cell, *end] for cell, end in zip(cells, ends)], _NO_RATINGS)


def _chosen(arguments: Namespace, items: list[Item]) -> list[Item]:
    """Return the named memories. Raises UsageError if none is named."""
    if not arguments.ids:
        raise UsageError("name the memories: memory feedback %s ID" % arguments.action)
    return [choose(items, name) for name in dict.fromkeys(arguments.ids)]


def _rating(item: Item, feedback: Feedback) -> dict[str, object]:
    """Return how often a memory was rated and used in replies."""
    memory = item.stored.memory
    return {"id": memory.id, "title": shown_line(memory.title), **feedback.counts(item.stored.key)}


def _reset_ratings(arguments: Namespace, context: CommandContext) -> None:
    if bool(arguments.ids) == arguments.all:
        raise UsageError("name the memories, or use --all")
    chosen = _chosen(arguments, context.overview().items) if arguments.ids else []
    keys = [item.stored.key for item in chosen] or None
    count = reset_feedback(context.paths, keys)
    context.append("feedback", {"kind": _RESET, "memories": keys or [], "all": keys is None})
    context.console.result({"reset": count}, "deleted: the feedback on %s" % counted(count, "memory"))


HANDLERS = {
    "why": Handler(_WHY_TEXT, _why, _configure_why),
    "feedback": Handler(_FEEDBACK_TEXT, _feedback, _configure_feedback, _approve_feedback),
}
