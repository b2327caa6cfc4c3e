"""Find out who runs a command (the user in a terminal, or Claude inside the client) and which environment variables to trust.

Inside the client the environment is untrusted: a project's settings can add variables to every command that Claude runs. Three sources are
trusted: the command's parent processes, the environment in which the client was started, and the records that hooks wrote.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

from ..kernel.fastjson import texts_by_name
from ..kernel.paths import account_home, config_folder, config_folder_of
from ..kernel.settings.load import own_content
from . import ancestry
from .commands import command_of
from .environment import HANDED_OVER, Taint, clean, is_sensitive, restore_launch_values

_SESSION = "CLAUDE_CODE_SESSION_ID"
_CONFIG = "CLAUDE_CONFIG_DIR"
_HOMES = ("HOME", "USERPROFILE", _CONFIG)
_ROUTE_ENDS = ("_URL", "_URI", "_HOST", "_ENDPOINT", "_HEADERS")
_ROUTE_PARTS = ("PROXY", "CERT", "CA_", "_CA", "SSL")
_UNKNOWN_FOLDER = (
    "no key is used: the config folder %s is neither in your home folder nor one that a hook of this session recorded;"
    " run the command in a terminal"
)


def is_route(name: str) -> bool:
    """Return whether a variable affects where requests go: an address, a proxy, certificates, or extra headers."""
    name = name.upper()
    return name.endswith(_ROUTE_ENDS) or any(part in name for part in _ROUTE_PARTS)


class Caller:
    """The process that runs this command.

    `inside` is true when Claude runs it. `session` is the client's session, empty outside. `ignored` names the variables
    that affect where keys are sent and that are ignored because only the environment sets them.
    """

    def __init__(self, chain: list[ancestry.Ancestor]) -> None:
        self.ignored: set[str] = set()
        self._initial_routes = {name: value for name, value in os.environ.items() if is_route(name)}
        claimed_session = os.environ.get(_SESSION, "")
        names_client = bool(claimed_session) or any(map(os.environ.get, ancestry.CLIENT_VARIABLES))
        was_started_by_client = names_client or any(one.was_started_by_client for one in chain)
        self._client = ancestry.outer_client(chain) or _client_of_orphan(chain)
        self._record = _find_record(chain, self._client)
        self.inside = was_started_by_client or self._client is not None
        self.session = claimed_session
        if self._record is not None and self._record.looks_like_client:
            self.session = self._record.session(claimed_session)
        self._launch = self._launch_environment()

    def _launch_environment(self) -> dict[str, str]:
        """Return the environment in which the client was started; empty if unknown, or if its hooks recorded another config folder."""
        launch = self._client.environment() if self._client is not None else {}
        if self._record is not None and config_folder_of(launch) != self._record.config:
            return {}
        return launch

    def settle(self, root: str) -> Taint:
        """Remove the variables that the project around `root` set, and return them."""
        if not self.inside:
            return clean(root)
        self.settle_folders()
        taint = clean(root)
        for folder in self._other_roots():
            taint.add(clean(folder))
        self.settle_folders()
        self._drop_routes()
        if not self._is_own_config():
            taint.locked = _UNKNOWN_FOLDER % config_folder()
        return taint

    def settle_folders(self) -> None:
        """Inside the client, restore the home folder, config folder and other variables that the client was started with, if known."""
        if not self.inside:
            return
        if self._launch:
            restore_launch_values(self._launch)
        elif self._record is not None and config_folder() != self._record.config:
            os.environ[_CONFIG] = self._record.config
        elif self._record is None and self._client is not None:
            _use_account_home()

    def _other_roots(self) -> list[str]:
        """Return the other folders whose settings the client may have applied to this command."""
        folders = [self._record.project] if self._record else []
        folders += [self._client.folder()] if self._client else []
        with suppress(OSError):  # the current folder was deleted
            folders.append(os.getcwd())
        return [folder for folder in dict.fromkeys(folders) if folder and os.path.isdir(folder)]

    def _drop_routes(self) -> None:
        """Remove each variable that affects where keys are sent, except those in the user's own settings file."""
        own = texts_by_name(own_content(config_folder()).get("env"))
        for name in [name for name in os.environ if is_sensitive(name) and is_route(name)]:
            if name not in own:
                del os.environ[name]
        for name, value in own.items():
            if is_sensitive(name) and name not in _HOMES:
                os.environ[name] = value
        changed = (name for name, value in self._initial_routes.items() if os.environ.get(name) != value)
        self.ignored = {name for name in changed if name not in own}

    def _is_own_config(self) -> bool:
        """Return whether the config folder is known to be the user's own."""
        return bool(self._launch) or self._record is not None or config_folder() == ancestry.account_config()


def identify(words: Sequence[str] = ()) -> Caller:
    """Return who runs a command. A background command that a hook started keeps the environment that the hook cleaned."""
    mark = os.environ.pop(HANDED_OVER, "")
    command = command_of(words)
    in_background = command is not None and command.background
    return Caller([] if in_background and mark and ancestry.was_handed_over(mark) else list(ancestry.walk()))


def _find_record(
    chain: list[ancestry.Ancestor], client: ancestry.Ancestor | None
) -> ancestry.ClientRecord | None:
    """Return the record that a hook wrote for the client, or for a parent process if the client was not recognized.

    A folder named by an environment counts only if it holds a record for a parent of this process.
    """
    candidates = [client] if client is not None else _above_clients(chain)
    for ancestor in candidates:
        folders = [config_folder_of(ancestor.environment()), config_folder(), ancestry.account_config()]
        for config in dict.fromkeys(filter(None, folders)):
            record = ancestry.read_record(config, ancestor)
            if record is not None:
                return record
    return None


def _above_clients(chain: list[ancestry.Ancestor]) -> list[ancestry.Ancestor]:
    """Return the ancestors above every process that a client started."""
    last = max((at for at, ancestor in enumerate(chain) if ancestor.was_started_by_client), default=0)
    return chain[last + 1 :]


def _client_of_orphan(chain: list[ancestry.Ancestor]) -> ancestry.Ancestor | None:
    """Return a running client that may have started this process, although it is not one of its ancestors; None for the user's own.

    A command can detach itself. Then it has no terminal, or one that was opened after the client started, by a process that init adopted.
    The user's terminal is older, or has a control group of its own, or a server of another user opened it.
    """
    # The child of init, or what init adopted.
    root = next((below for below, above in zip(chain, chain[1:]) if above.is_init), None)
    if root is None:
        return None
    for config in dict.fromkeys(filter(None, [config_folder(), ancestry.account_config()])):
        for record in ancestry.recorded_clients(config):
            client = ancestry.finder()(record.pid) if record.looks_like_client else None
            if client is not None and record.is_of(client) and _may_have_started(client, root, chain[0]):
                return client
    return None


def _may_have_started(client: ancestry.Ancestor, root: ancestry.Ancestor, own: ancestry.Ancestor) -> bool:
    if not own.terminal:
        return True
    is_in_its_group = root.is_younger_than(client) and root.control_group() == client.control_group()
    return is_in_its_group and not root.is_another_users()


def _use_account_home() -> None:
    home = account_home()
    os.environ.pop(_CONFIG, None)
    if home:
        os.environ["HOME"] = home
