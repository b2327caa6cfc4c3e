"""Approval: what a command needs the user's own decision for, and whether it has it.

A command that changes trust, settings or anything that cannot be undone has a function `approval`, which says for its arguments what the
user decides about. In the user's own terminal that is the command itself. Inside the client it is a ticket of the permission dialog.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from ..memories.grants import take_ticket
from ..memories.hygiene import shown_line
from .command_context import CommandContext, CommandError
from .console import counted

_MAX_NAMED = 5
_NOT_APPROVED = (
    "nothing was changed: to %s, the user must allow it. Run the command in a terminal, or alone and as it is in Claude Code,"
    " so that a dialog asks the user"
)
_CHANGED = "nothing was changed: a text is not the one that the dialog showed; run the command again"


class Approval(NamedTuple):
    """What the user decides about: an action, such as "change settings", and the digests of the texts that it accepts or rejects."""

    action: str
    texts: Collection[str] = ()


def titled(action: str, titles: Sequence[str], noun: str = "memory") -> str:
    """Return an action with the number of things and their titles, at most five: "accept 2 memories: A, B"."""
    named = ", ".join(shown_line(title, 80) for title in titles[:_MAX_NAMED])
    more = ", and %d more" % (len(titles) - _MAX_NAMED) if len(titles) > _MAX_NAMED else ""
    return "%s %s: %s%s" % (action, counted(len(titles), noun), named, more)


def needed_approval(module: Any, arguments: argparse.Namespace, context: CommandContext) -> Approval | None:  # noqa: ANN401  (a command)
    """Return what a command needs the user's decision for; None if these arguments need none. Raises CommandError."""
    approval = getattr(module, "approval", None)
    found: Approval | None = approval(arguments, context) if approval is not None else None
    return found


def require_approval(approval: Approval, words: Sequence[str], number: str, context: CommandContext) -> None:
    """Raise CommandError unless the user decided this, in the client's dialog for exactly these words and texts."""
    covered = take_ticket(context.paths, context.session, number, words) if number else None
    if covered is None:
        raise CommandError(_NOT_APPROVED % approval.action)
    if not covered.issuperset(approval.texts):
        raise CommandError(_CHANGED)
    context.has_ticket = True
