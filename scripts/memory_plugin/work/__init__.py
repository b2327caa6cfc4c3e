"""What joins features: plain functions that take what they need, return records, print nothing and read no arguments.

In addition to its own input, work gets a context: who calls, what the project's settings set, and the stored memories.
"""

from __future__ import annotations

from ..host.ancestry import CLIENT_VARIABLES
from ..kernel.context import Context, Deadline
from ..kernel.settings.load import load
from ..recall import follow_hygiene

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..host.caller import Caller
    from ..host.environment import Taint
    from ..kernel.paths import Paths
    from ..memories.survey import Survey

_HOMES = ("CLAUDE_CONFIG_DIR", "HOME", "USERPROFILE")
_MOVED = "{0} is not used because the project's {1} sets it; remove {0} from the env block of that file"
_UNREAD = "the project's {1} cannot be read, so it may have set one; make that file readable, with valid JSON"


class WorkError(Exception):
    """What was asked for cannot be done; the message says why, on one line, and what to do."""

    exit_code = 1


class WorkContext(Context):
    """The context of work that a caller asked for.

    It has no deadline of its own: work that waits for a server or a judge calls `within`.
    """

    def __init__(self, paths: Paths, taint: Taint, caller: Caller) -> None:
        self.taint = taint
        self.has_ticket = False  # whether the user approved this run in the client's dialog
        self.caller = caller
        if paths.config_dir is None and self.moved_home:
            path = taint.names[self.moved_home]
            why = (_UNREAD if path in taint.unread else _MOVED).format(self.moved_home, path)
            paths.why_no_state = "no home folder is known: " + why
        settings = load(paths.config_dir, paths.project_root)
        follow_hygiene(settings)
        super().__init__(paths, settings, Deadline(float("inf")), self.caller.session)

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

    @property
    def accept_from(self) -> list[str]:
        """Return the projects whose memories the user's settings accept without review."""
        return self.settings.texts("trust.accept_from")

    def survey(self) -> Survey:
        """Return all memories of the current stores with their trust. Raises TrustUnreadable."""
        from ..memories.survey import survey  # some commands read no memories

        return survey(self.paths, self.accept_from)

    def overview(self, *, is_current: bool = False) -> Survey:
        """Return the same from the index, without texts; `is_current` skips its refresh. Raises TrustUnreadable."""
        from ..recall.memory_search import overview

        return overview(self.paths, self.settings, is_current=is_current)
