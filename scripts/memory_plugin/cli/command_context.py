"""The context that every command receives, the errors that end a command, and what a command needs the user's own decision for.

A command that changes trust, settings or anything that cannot be undone has a function `approval`, which says for its arguments what the
user decides about. In the user's own terminal that is the command itself. Inside the client it is a ticket of the permission dialog.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..host.caller import identify
from ..kernel.files import error_text
from ..work.context import WorkContext, WorkError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Iterable, Sequence

    from ..host.caller import Caller
    from ..host.environment import Taint
    from ..kernel.paths import Paths
    from .console import Console

_FAILED, _USAGE = 1, 2

_MAX_NAMED = 5
_NOT_APPROVED = "nothing changed: the user must approve this (%s). Run it by itself so that Claude Code can ask, or in a terminal"
_CHANGED = "nothing changed: a memory changed after you approved it; run the command again"


class CommandError(WorkError):
    """A command failed. `main` prints the message on one line and exits with `exit_code`."""

    def __init__(self, text: str, exit_code: int = _FAILED) -> None:
        super().__init__(text)
        self.exit_code = exit_code


class UsageError(CommandError):
    """The arguments are invalid, such as a file that does not exist. The exit code is 2."""

    def __init__(self, text: str) -> None:
        super().__init__(text, _USAGE)


class CommandContext(WorkContext):
    """The context of one command-line run, with its console and caller."""

    def __init__(self, paths: Paths, console: Console, taint: Taint, caller: Caller | None = None) -> None:
        self.console = console
        super().__init__(paths, taint, caller or identify())

    def report_saves(self, memories: Iterable[tuple[str, str]]) -> None:
        """Queue a notice that tells the user what Claude saved; `memories` are (name, title) pairs."""
        from ..memories.hygiene import shown_line

        line = 'memory: Claude saved "%s", as you asked; to undo: memory forget %s'
        self.notify([line % (shown_line(title), name) for name, title in memories])

    def notify(self, lines: list[str]) -> None:
        """Queue lines that tell the user, when the turn ends, what a command of Claude changed."""
        if not self.inside_client or not self.session:
            return
        from ..memories.grants import record_saves

        try:
            record_saves(self.paths, self.session, lines)
        except OSError as error:
            text = "The change is stored, but the notice after this reply will be missing: %s"
            self.console.error(text % error_text(error))


class Approval(NamedTuple):
    """What the user decides about: an action, such as "change settings", and the digests of the texts that it accepts or rejects."""

    action: str
    texts: Collection[str] = ()


def titled(action: str, titles: Sequence[str], noun: str = "memory") -> str:
    """Return an action with the number of things and their titles, at most five: "accept 2 memories: A, B"."""
    from ..kernel.text.clean import counted
    from ..memories.hygiene import shown_line

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
    from ..memories.grants import take_ticket

    covered = take_ticket(context.paths, context.session, number, words) if number else None
    if covered is None:
        raise CommandError(_NOT_APPROVED % approval.action)
    if not covered.issuperset(approval.texts):
        raise CommandError(_CHANGED)
    context.has_ticket = True
