"""The context that every command receives, the errors that end a command, and what a command needs the user's own decision for.

A command that changes trust, settings or anything that cannot be undone has a function `approval`, which says for its arguments what the
user decides about. In the user's own terminal that is the command itself. Inside the client it is a ticket of the permission dialog.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..host.ancestry import CLIENT_VARIABLES
from ..host.caller import identify
from ..kernel.clock import Deadline
from ..kernel.context import Context
from ..kernel.files import error_text
from ..kernel.settings.load import load
from ..recall import follow_hygiene

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..host.caller import Caller
    from ..host.environment import Taint
    from ..kernel.paths import Paths
    from ..kernel.settings.values import Settings
    from ..memories.survey import Survey
    from .console import Console

_FAILED, _USAGE = 1, 2
_HOMES = ("CLAUDE_CONFIG_DIR", "HOME", "USERPROFILE")
_MOVED = "%s is not used because the project's %s sets it"
_UNREAD = "the project's %s cannot be read, so it may have set one"

_MAX_NAMED = 5
_NOT_APPROVED = (
    "nothing was changed: to %s, the user must allow it. Run the command in a terminal, or alone and as it is in Claude Code,"
    " so that a dialog asks the user"
)
_CHANGED = "nothing was changed: a text is not the one that the dialog showed; run the command again"


class CommandError(Exception):
    """A command failed. `main` prints the message on one line and exits with `exit_code`."""

    def __init__(self, text: str, exit_code: int = _FAILED) -> None:
        super().__init__(text)
        self.exit_code = exit_code


class UsageError(CommandError):
    """The arguments are invalid, such as a file that does not exist. The exit code is 2."""

    def __init__(self, text: str) -> None:
        super().__init__(text, _USAGE)


class CommandContext(Context):
    """The context of one command-line run, with its console and caller.

    It has no deadline of its own: a command that waits for a server or a judge calls `within`.
    """

    def __init__(self, paths: Paths, console: Console, taint: Taint, caller: Caller | None = None) -> None:
        self.console = console
        self.taint = taint
        self.has_ticket = False  # whether the user approved this run in the client's dialog
        self.caller = caller or identify()
        if paths.config_dir is None and self.moved_home:
            path = taint.names[self.moved_home]
            why = _UNREAD % path if path in taint.unread else _MOVED % (self.moved_home, path)
            paths.why_no_state = "no home folder is known: " + why
        settings = load(paths.config_dir, paths.project_root)
        follow_hygiene(settings)
        super().__init__(paths, settings, Deadline(math.inf), self.caller.session)

    @property
    def moved_home(self) -> str:
        """Return the home variable that was dropped because the project's settings set it, or may have. Usually empty."""
        return next((name for name in _HOMES if name in self.taint.names), "")

    @property
    def inside_client(self) -> bool:
        """Return whether Claude runs this command, rather than the user in a terminal.

        A project that sets the marker variable itself gains nothing: it is dropped like the project's other variables.
        """
        return self.caller.inside or not self.taint.names.keys().isdisjoint(CLIENT_VARIABLES)

    @property
    def only_new(self) -> bool:
        """Return whether Claude runs this, unless the user allowed exactly this command: a request to save covers only new texts."""
        return self.inside_client and not self.has_ticket

    def approve_saves(self, number: int = 1) -> bool:
        """Return whether the user asked for `number` saves, and count them. One prompt covers at most three."""
        if not self.only_new:
            return True
        from ..memories.grants import use_saves

        return use_saves(self.paths, self.session, number)

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

    @property
    def accept_from(self) -> list[str]:
        """Return the projects whose memories the user's settings accept without review."""
        return self.settings.texts("trust.accept_from")

    def survey(self, scope: str = "") -> Survey:
        """Return all memories of the current stores with their trust, of one scope or of both. Raises TrustUnreadable."""
        from ..memories.survey import survey  # some commands read no memories

        return survey(self.paths, self.accept_from, scope)

    def overview(
        self,
        scope: str = "",
        *,
        is_current: bool = False,
        names: Collection[str] | None = None,
        title: str = "",
    ) -> Survey:
        """Return the same from the index, without texts; the arguments are those of `recall.memory_search`. Raises TrustUnreadable."""
        from ..recall.overview import overview

        return overview(self.paths, self.settings, scope, is_current=is_current, names=names, title=title)

    def with_settings(self, settings: Settings) -> Context:
        """Return the same context with different settings, for trying them out."""
        return Context(self.paths, settings, self.deadline, self.session)


class Approval(NamedTuple):
    """What the user decides about: an action, such as "change settings", and the digests of the texts that it accepts or rejects."""

    action: str
    texts: Collection[str] = ()


def titled(action: str, titles: Sequence[str], noun: str = "memory") -> str:
    """Return an action with the number of things and their titles, at most five: "accept 2 memories: A, B"."""
    from ..memories.hygiene import shown_line
    from .console import counted

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
