"""What every command of the command line works with: the places, the settings, the console, and whose word it carries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..hooks.events import follow_hygiene
from ..kernel.ancestry import MARK
from ..kernel.settings.load import load
from ..memories.grants import is_granted
from .caller import identify

if TYPE_CHECKING:
    from ..hooks.environment import Taint
    from ..kernel.paths import Places
    from ..kernel.settings.load import Settings
    from .caller import Caller
    from .console import Console

__all__ = ["Session"]

_HOMES = ("CLAUDE_CONFIG_DIR", "HOME", "USERPROFILE")


class Session:
    """One run of the command line."""

    def __init__(self, places: Places, console: Console, taint: Taint, caller: Caller | None = None) -> None:
        self.places = places
        self.console = console
        self.taint = taint
        self.caller = caller or identify()
        if places.config_dir is None and self.moved_home:
            words = self.moved_home, taint.names[self.moved_home]
            places.why_no_state = (
                "no home folder is known: %s is not used, since the project's %s sets it" % words
            )
        self.settings: Settings = load(places.config_dir, places.project_root)
        follow_hygiene(self.settings)
        self.id = self.caller.session

    @property
    def moved_home(self) -> str:
        """The name of a home or config folder that the project's settings set, so that it was dropped; mostly empty."""
        return next((name for name in _HOMES if name in self.taint.names), "")

    @property
    def inside_client(self) -> bool:
        """Whether Claude runs this command, rather than the user in a terminal of theirs.

        A project that sets the mark itself had it dropped with the rest, and gains nothing by that.
        """
        return self.caller.inside or MARK in self.taint.names

    @property
    def has_word(self) -> bool:
        """Whether this run carries the user's own word: typed in a terminal of theirs, or asked for by a prompt of theirs just now."""
        return not self.inside_client or is_granted(self.places, self.id)

    @property
    def accepts_pulls(self) -> bool:
        """Whether the user's own file says that what git brings is trusted."""
        return self.settings.text("trust.pulls") == "accept"

    def require_word(self, deed: str) -> bool:
        """Whether the user's word is there; where it is not, the error says how to give it."""
        if self.has_word:
            return True
        self.console.error(
            "to %s, the user has to ask for it: type it in a terminal, or begin a prompt with a /memory: command; nothing was changed"
            % deed
        )
        return False
