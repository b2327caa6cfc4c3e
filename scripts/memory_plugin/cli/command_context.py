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
    from ..memories.memory_files import StoredMemory
    from ..memories.survey import Survey
    from .console import Console

_FAILED, _USAGE = 1, 2
_HOMES = ("CLAUDE_CONFIG_DIR", "HOME", "USERPROFILE")
_MOVED = "%s is not used because the project's %s sets it"
_UNREAD = "the project's %s cannot be read, so it may have set one"

MAX_NAMED = 5
_NOT_APPROVED = (
    "nothing was changed: the user must approve this: %s"
    " Run the command by itself so that Claude Code can ask, or run it in a terminal."
)
_TOO_MANY = "nothing was changed: to %s more than %d at once, name a group of `memory review`"


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
    """What the user decides about: a question such as `delete all candidates?`, and the digests of the texts that it accepts or rejects."""

    question: str
    texts: Collection[str] = ()


def titled(action: str, titles: Sequence[str], noun: str = "memory") -> str:
    """Return a question with the titles, at most five, in quotes that none of them can end: `accept 2 memories: "A", "B"?`."""
    from ..memories.hygiene import shown_line
    from .console import counted

    named = ", ".join('"%s"' % shown_line(title, 80).replace('"', "'") for title in titles[:MAX_NAMED])
    more = ", and %d more" % (len(titles) - MAX_NAMED) if len(titles) > MAX_NAMED else ""
    return "%s %s%s%s?" % (action, "" if len(titles) == 1 else counted(len(titles), noun) + ": ", named, more)


def about(action: str, memories: Sequence[StoredMemory], effect: str = "") -> Approval:
    """Return a question about memories, with what follows and what each of their guards does. Raises CommandError for more than five."""
    from ..memories.guard import guard_in_words
    from ..memories.hygiene import shown_line
    from ..memories.memory_text import text_digests

    if len(memories) > MAX_NAMED:
        raise CommandError(_TOO_MANY % (action, MAX_NAMED))
    guards = [(one.memory.title, one.memory.guard) for one in memories if one.memory.guard is not None]
    sentences = [titled(action, [one.memory.title for one in memories]), *([effect] if effect else [])]
    sentences += [
        titled("Guard of", [title])[:-1] + ": %s." % shown_line(guard_in_words(guard), 300)
        for title, guard in guards
    ]
    return Approval(" ".join(sentences), {text_digests(one.memory).full for one in memories})


def needed_approval(module: Any, arguments: argparse.Namespace, context: CommandContext) -> Approval | None:  # noqa: ANN401  (a command)
    """Return what a command needs the user's decision for; None if these arguments need none. Raises CommandError."""
    approval = getattr(module, "approval", None)
    found: Approval | None = approval(arguments, context) if approval is not None else None
    return found


def require_approval(approval: Approval, words: Sequence[str], number: str, context: CommandContext) -> None:
    """Leave a wish for this command. Raises CommandError unless the client asked the user about exactly these words."""
    from ..memories.tickets import take_ticket

    covered = take_ticket(context.paths, context.session, number, words) if number else None
    if covered is None:
        raise CommandError(_NOT_APPROVED % approval.question)
