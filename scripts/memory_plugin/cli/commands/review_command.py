"""`memory review`: review pending memories and candidates in groups."""

from __future__ import annotations

import argparse

from ..after_change import refresh_index
from ..command_context import CommandContext, UsageError
from ..console import counted
from ..review_entries import BY, Group, Source, grouped, review_sources
from ..review_walk import Review

HELP = "review pending memories and candidates in groups"
EXAMPLES = """\
  memory review                           in a terminal: press one key to accept, reject, edit or skip
  memory review --by folder               group by author, commit, folder or change
  memory review | less                    only lists what is pending
  memory review --json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--by", choices=BY, default=BY[0], help="how to group the entries (default: %(default)s)"
    )
    parser.add_argument("--group", metavar="GROUP", default="", help="only this group")


def run(arguments: argparse.Namespace, context: CommandContext) -> None:
    """Ask about each group in a terminal; otherwise only list the groups."""
    with context.console.working("review"):
        sources = review_sources(context)
        groups = grouped(sources, arguments.by)
    if arguments.group:
        groups = [group for group in groups if group.id == arguments.group]
        if not groups:
            raise UsageError("%s: no group has this id now; to see them: memory review" % arguments.group)
    if arguments.json:
        context.console.json({"groups": [_as_json(group, sources[group.kind]) for group in groups]})
    elif not groups:
        context.console.line("Nothing is pending.")
    elif context.inside_client or not context.console.can_prompt():
        _print(groups, sources, context)
    else:
        _walk(groups, sources, context)


def _walk(groups: list[Group], sources: dict[str, Source], context: CommandContext) -> None:
    number = sum(len(group.entries) for group in groups)
    context.console.line("%s in %s" % (counted(number, "entry"), counted(len(groups), "group")))
    review = Review(context.console, sources)
    try:
        review.walk(groups)
    finally:
        if review.done:
            with context.console.working("refreshing the index"):
                refresh_index(context)
    past = {"accept": "accepted", "reject": "rejected", "edit": "edited"}
    counts = ["%s %d" % (past.get(name, name), count) for name, count in review.done.items()]
    context.console.line()
    left = number - sum(review.done.values())
    context.console.line(", ".join([*counts, "still pending %d" % left]))


def _print(groups: list[Group], sources: dict[str, Source], context: CommandContext) -> None:
    console = context.console
    for group in groups:
        console.line("group %s: %s, %s" % (group.id, counted(len(group.entries), group.kind), group.title))
        for entry in group.entries:
            console.line()
            console.line("  %s  %s" % (entry.id, entry.title))
            for line in sources[group.kind].lines(entry):
                console.line(("    " + line).rstrip())
        console.line()
        if group.together:
            console.line(
                "  To accept or reject the group: memory accept --group %s, memory reject --group %s"
                % (group.id, group.id)
            )
        if len(group.together) < len(group.entries):
            console.line("  Entries with a guard are decided one by one: memory accept ID, memory reject ID")
        console.line()


def _as_json(group: Group, source: Source) -> dict[str, object]:
    entries = [
        {
            "id": entry.id,
            "kind": entry.kind,
            "title": entry.title,
            "alone": entry.alone,
            "actions": [action.name for action in entry.actions],
            **source.facts(entry),
        }
        for entry in group.entries
    ]
    return {"id": group.id, "kind": group.kind, "title": group.title, "entries": entries}
