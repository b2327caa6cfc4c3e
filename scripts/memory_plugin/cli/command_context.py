"""The context that every command receives, the errors that end a command, and options that several commands share."""

from __future__ import annotations

import argparse
import math
import os
from typing import TYPE_CHECKING

from ..hooks.events import follow_hygiene
from ..kernel.ancestry import MARK
from ..kernel.clock import Deadline
from ..kernel.context import Context
from ..kernel.files import error_text
from ..kernel.settings.load import load
from .caller import identify

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..hooks.environment import Taint
    from ..kernel.paths import Paths
    from ..kernel.settings.load import Settings
    from .caller import Caller
    from .console import Console

__all__ = [
    "CommandContext",
    "CommandError",
    "UsageError",
    "add_common_options",
    "add_days_option",
    "require_days",
    "require_existing",
    "require_known",
]

_FAILED, _USAGE = 1, 2
_HOMES = ("CLAUDE_CONFIG_DIR", "HOME", "USERPROFILE")
_MOVED = "%s is not used because the project's %s sets it"
_UNREAD = "the project's %s cannot be read, so it may have set one"
_FILE = ".json"
_MOST_DAYS = 3650
_NOT_APPROVED = (
    "nothing was changed: to %s, the user must ask for it;"
    " run the command in a terminal, or start a prompt with a /memory: command"
)


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
        self.caller = caller or identify()
        if paths.config_dir is None and self.moved_home:
            name, path = self.moved_home, taint.names[self.moved_home]
            why = "no home folder is known: %s" % (_UNREAD if path in taint.unread else _MOVED)
            paths.why_no_state = why % (path if path in taint.unread else (name, path))
        settings = load(paths.config_dir, paths.project_root)
        follow_hygiene(settings)
        super().__init__(paths, settings, Deadline(math.inf), self.caller.session)

    @property
    def moved_home(self) -> str:
        """Return the home variable that was dropped because the project's settings set it, or may have; usually empty."""
        return next((name for name in _HOMES if name in self.taint.names), "")

    @property
    def inside_client(self) -> bool:
        """Return whether Claude runs this command, rather than the user in a terminal.

        A project that sets the marker variable itself gains nothing: it is dropped like the project's other variables.
        """
        return self.caller.inside or MARK in self.taint.names

    @property
    def is_approved(self) -> bool:
        """Return whether the user asked for a save: by running this in a terminal, or in the current prompt of this session."""
        if not self.inside_client:
            return True
        from ..memories.grants import is_granted  # most commands save nothing

        return is_granted(self.paths, self.session)

    def approve_saves(self, number: int = 1) -> bool:
        """Return whether the user asked for `number` saves, and count them. One prompt covers at most three."""
        if not self.inside_client:
            return True
        from ..memories.grants import use_saves

        return use_saves(self.paths, self.session, number)

    def report_saves(self, memories: Iterable[tuple[str, str]]) -> None:
        """Queue a notice that tells the user what Claude saved; `memories` are (name, title) pairs."""
        if not self.inside_client:
            return
        from ..memories.grants import record_saves
        from ..memories.hygiene import shown_line

        line = "memory: Claude saved %s (%s), as you asked; to undo: memory forget %s"
        lines = [line % (shown_line(title), name, name) for name, title in memories]
        try:
            record_saves(self.paths, self.session, lines)
        except OSError as error:
            self.console.error(
                "The memory is saved, but the notice after this reply will be missing: %s" % error_text(error)
            )

    @property
    def accept_from(self) -> list[str]:
        """Return the projects whose memories the user's settings accept without review."""
        return self.settings.texts("trust.accept_from")

    def with_settings(self, settings: Settings) -> Context:
        """Return the same context with different settings, for trying them out."""
        return Context(self.paths, settings, self.deadline, self.session)

    def require_approval(self, action: str) -> None:
        """Raise CommandError unless the user asked for this run; `action` is a phrase such as "change settings"."""
        if not self.inside_client:
            return
        from ..memories.grants import is_granted

        if not is_granted(self.paths, self.session, approval=True):
            raise CommandError(_NOT_APPROVED % action)


def add_common_options(parser: argparse.ArgumentParser, *, at_start: bool = False) -> None:
    """Declare `--root` and `--json`, which are accepted before the command, after it, and after its action.

    They have defaults only at the start: elsewhere a default would overwrite a value given earlier.
    """
    parser.add_argument(
        "--root",
        metavar="DIR",
        default=None if at_start else argparse.SUPPRESS,
        help="the project folder, or its memory store (default: the current folder)",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        default=False if at_start else argparse.SUPPRESS,
        help="print JSON",
    )


def add_days_option(parser: argparse.ArgumentParser, default: int) -> None:
    """Declare `--days N`; `require_days` checks its value."""
    parser.add_argument(
        "--days",
        type=int,
        default=default,
        metavar="N",
        help="the last N days, 1 to %d (default: %d)" % (_MOST_DAYS, default),
    )


def require_days(days: int) -> None:
    """Raise UsageError if the number of days is out of range."""
    if not 1 <= days <= _MOST_DAYS:
        raise UsageError("--days: expected 1 to %d, got %d" % (_MOST_DAYS, days))


def require_existing(*paths: str) -> None:
    """Raise UsageError for the first path that does not exist."""
    for path in paths:
        if not os.path.exists(path):
            raise UsageError("%s: no such file or folder" % path)


def require_known(name: str, known: Iterable[str]) -> None:
    """Raise UsageError unless `name` is one of `known` or an existing JSON file."""
    if name.endswith(_FILE):
        require_existing(name)
    elif name not in known:
        raise UsageError("%s: expected one of %s, or a %s file" % (name, ", ".join(known), _FILE))
