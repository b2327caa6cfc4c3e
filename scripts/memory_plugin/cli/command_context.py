"""The context that every command receives, the errors that end a command, and what a command needs the user's own decision for.

A command that changes trust, settings or anything that cannot be undone has a function `approval`, which says for its arguments what the
user decides about. In the user's own terminal that is the command itself. Inside the client it is a ticket of the permission dialog.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..host.caller import Caller, identify
from ..kernel.files import error_text
from ..work import WorkContext, WorkError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Collection, Iterable, Sequence

    from ..host.environment import Taint
    from ..kernel.paths import Paths
    from ..memories.memory_files import StoredMemory
    from .console import Console

DONE, FAILED, USAGE = 0, 1, 2  # exit codes; FAILED also if something was found

MAX_NAMED = 5
_TOO_MANY = "nothing changed: to %s more than %d at once, name a group of `memory review`"


class CommandError(WorkError):
    """A command failed. `main` prints the message on one line and exits with `exit_code`."""


class UsageError(CommandError):
    """The arguments are invalid, such as a file that does not exist. The exit code is 2."""

    exit_code = USAGE


class CommandContext(WorkContext):
    """The context of one command-line run, with its console and caller."""

    def __init__(self, paths: Paths, console: Console, taint: Taint, caller: Caller | None = None) -> None:
        self.console = console
        super().__init__(paths, taint, caller or identify())

    def refresh_index(self, *, scrub: bool = False) -> None:
        """Refresh the index as `work.refresh` does, and print what is left to do."""
        from ..work.refresh import refresh

        self.report(refresh(self, scrub=scrub))

    def report(self, notice: str) -> None:
        """Print a notice on the error stream, if there is one."""
        if notice:
            self.console.error(notice)

    def accept_price(self, text: str, accepted: bool) -> None:
        """Ask about a price. Raises CommandError unless it is or was accepted."""
        if not (accepted or self.has_ticket or self.console.confirm("%s. Continue?" % text)):
            raise CommandError("%s; to accept the price: --yes" % text)

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
    """What the user decides about: a question such as `delete all?`, and the digests of the texts that it accepts or rejects."""

    question: str
    texts: Collection[str] = ()


class Handler(NamedTuple):
    """What carries out a command, or an action of one.

    The first line of `text` is its help, the others are its examples. `run` returns the exit code, None for 0; a word that only other
    commands begin with has no `run`. `approval` returns what the user decides about; None if these arguments need no decision.
    """

    text: str
    run: Callable[[Namespace, CommandContext], int | None] | None
    configure: Callable[[ArgumentParser], None] | None = None
    approval: Callable[[Namespace, CommandContext], Approval | None] | None = None

    @property
    def help(self) -> str:
        """Return the one-line help."""
        return self.text.partition("\n")[0]

    @property
    def examples(self) -> str:
        """Return the examples, a line or two each."""
        return self.text.partition("\n")[2]


def titled(action: str, titles: Sequence[str], noun: str = "memory") -> str:
    """Return a question with the titles, at most five, in quotes that none of them can end: `accept 2 memories: "A", "B"?`."""
    from ..kernel.text.clean import counted
    from ..memories.hygiene import shown_line

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
    sentences = [titled(action, [one.memory.title for one in memories]), *([effect] if effect else [])]
    for memory in (one.memory for one in memories):
        if memory.guard is not None:
            effects = shown_line(guard_in_words(memory.guard), 300)
            sentences.append(titled("Guard of", [memory.title])[:-1] + ": %s." % effects)
    return Approval(" ".join(sentences), {text_digests(one.memory).full for one in memories})
