"""Where a backend is reached and with which key: out of the user's own settings, then out of the environment.

The environment is clean by now: what a project's settings put there is gone.  Nothing of a project is read here, and
no credential file either.  A key lives in `Access.headers` alone.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ..settings.load import SettingsFileError, content
from .address import Address, bypasses_proxy, parse_address, parse_proxy
from .outcome import Failed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..settings.load import Settings

__all__ = ["Access", "Door", "Variables", "find_access", "proxy_for"]

_LONGEST_KEY = 4096
_CA_VARIABLE = (
    "NODE_EXTRA_CA_CERTS"  # the variable by which the client itself takes a company's own authority
)


class Door(NamedTuple):
    """What a backend needs: its public address, the variable that moves it, and the variables that may hold a key.

    `keys` maps a variable to the header that carries its value, `%s` standing for it; the first one set is taken.
    `custom` is the header for a variable of the user's choice.
    """

    base: str
    base_variable: str
    keys: Sequence[tuple[str, str]]
    custom: str
    local_without_key: bool = False
    helper: Sequence[str] = ()


class Access(NamedTuple):
    """A way to a server: its address, the headers that hold the key, a proxy to go through, more authorities."""

    address: Address
    headers: tuple[tuple[str, str], ...]
    proxy: Address | None
    authorities: str

    def __repr__(self) -> str:
        """Without the key."""
        return "Access(%s)" % self.address.authority


class Variables:
    """Environment variables as the user set them: the block `env` of their own settings file goes first."""

    __slots__ = ("_own", "helper")

    def __init__(self, config_dir: str | None) -> None:
        self._own: dict[str, str] = {}
        self.helper = ""
        try:
            settings = content(os.path.join(config_dir or os.devnull, "settings.json"), follow=True)
        except (FileNotFoundError, SettingsFileError):
            return
        block = settings.get("env")
        if isinstance(block, dict):
            self._own = {k: v for k, v in block.items() if isinstance(k, str) and isinstance(v, str)}
        helper = settings.get("apiKeyHelper")
        self.helper = helper if isinstance(helper, str) else ""

    def get(self, name: str) -> str:
        """The value of a variable, without space around it; empty when it is not set."""
        return (self._own.get(name) or os.environ.get(name) or "").strip()

    def is_own(self, name: str) -> bool:
        """Return whether the user's own settings file holds a variable."""
        return bool(self._own.get(name, "").strip())

    def first(self, names: Sequence[str]) -> str:
        """The first of some variables that is set in the settings file, else the first in the environment; or empty."""
        for values in (self._own, os.environ):
            for name in names:
                if values.get(name, "").strip():
                    return name
        return ""


def find_access(door: Door, settings: Settings, variables: Variables, helper: bool = False) -> Access:
    """The way to a backend's server.

    With `helper` the user's `apiKeyHelper` is run where no variable holds a key; it may take seconds.  Raises Failed
    with `bad_url` or `no_key`.
    """
    url = settings.text("judge.base_url") or variables.get(door.base_variable) or door.base
    address = parse_address(url)
    if address is None:
        raise Failed("bad_url", "%s: not https://, nor http:// to this machine" % _who_says(settings, door))
    headers = _headers(door, settings, variables, address, helper)
    return Access(address, headers, proxy_for(address, variables), variables.get(_CA_VARIABLE))


def _who_says(settings: Settings, door: Door) -> str:
    return "judge.base_url" if settings.text("judge.base_url") else door.base_variable


def _headers(
    door: Door, settings: Settings, variables: Variables, address: Address, helper: bool
) -> tuple[tuple[str, str], ...]:
    chosen = settings.text("judge.key_variable")
    forms = {chosen: dict(door.keys).get(chosen, door.custom)} if chosen else dict(door.keys)
    name = variables.first(list(forms))
    if name:
        return (_header(forms[name], _sound(variables.get(name), name)),)
    if helper and variables.helper and door.helper:
        from .key_helper import helper_key

        key = _sound(helper_key(variables.helper), "the output of apiKeyHelper")
        return tuple(_header(form, key) for form in door.helper)
    if door.local_without_key and address.local:
        return ()
    raise Failed("no_key", "%s is not set" % " or ".join(forms))


def _sound(key: str, name: str) -> str:
    """The key, if it can stand in a header."""
    if not key or len(key) > _LONGEST_KEY or not key.isascii() or not key.isprintable() or " " in key:
        raise Failed(
            "no_key", "%s holds no key: it is empty, too long, or has characters that no key has" % name
        )
    return key


def _header(form: str, key: str) -> tuple[str, str]:
    name, _, value = form.partition(": ")
    return name, value % key


def proxy_for(address: Address, variables: Variables) -> Address | None:
    """The user's proxy for a server: HTTPS_PROXY unless NO_PROXY or this machine. Raises Failed for an unknown kind."""
    if address.scheme != "https" or address.local:
        return None
    url = variables.get("https_proxy") or variables.get("HTTPS_PROXY")
    exempt = variables.get("no_proxy") or variables.get("NO_PROXY")
    if not url or bypasses_proxy(address.host, exempt):
        return None
    proxy = parse_proxy(url)
    if proxy is None:
        raise Failed("bad_url", "HTTPS_PROXY: only http:// proxies are known")
    return proxy
