"""The context that every handler and feature gets in addition to its own input."""

from __future__ import annotations

from .ledger import Ledger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .clock import Deadline
    from .paths import Paths
    from .settings.values import Settings


class LedgerError(OSError):
    """Raised when a record could not be appended; the text names the ledger and the cause, and quotes nothing from the record."""


class Context:
    """The paths, settings, deadline and session of one hook event or command, passed down together.

    `session` is the host's id of the conversation; empty outside one.
    """

    __slots__ = ("deadline", "paths", "session", "settings")

    def __init__(self, paths: Paths, settings: Settings, deadline: Deadline, session: str = "") -> None:
        self.paths = paths
        self.settings = settings
        self.deadline = deadline
        self.session = session

    def within(self, seconds: float) -> Context:
        """Return this context with a deadline at most `seconds` from now."""
        return Context(self.paths, self.settings, self.deadline.within(seconds), self.session)

    def append(self, ledger: str, record: dict[str, object]) -> None:
        """Append a record of this session and project to a ledger. Raises LedgerError, and RuntimeError without a state folder."""
        problem = Ledger(self.paths.state(), ledger).append(self.session, self.paths.project_key, record)
        if problem:
            raise LedgerError(problem)
