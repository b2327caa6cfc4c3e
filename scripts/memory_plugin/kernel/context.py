"""What every handler and feature needs besides its own input."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .clock import Deadline
    from .paths import Places
    from .settings.load import Settings

__all__ = ["Context"]


class Context:
    """The places, settings, deadline and session of one hook event or command, handed down together.

    `session` is the host's id of the conversation; empty outside one.
    """

    __slots__ = ("deadline", "places", "session", "settings")

    def __init__(self, places: Places, settings: Settings, deadline: Deadline, session: str = "") -> None:
        self.places = places
        self.settings = settings
        self.deadline = deadline
        self.session = session

    def within(self, seconds: float) -> Context:
        """Return this context with a deadline at most `seconds` from now."""
        return Context(self.places, self.settings, self.deadline.within(seconds), self.session)
