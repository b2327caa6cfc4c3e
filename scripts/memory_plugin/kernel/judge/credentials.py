"""Where a question goes, and with which key: the address and the key of a backend, and the proxy.

Both come from the user's own settings, then from the environment. Variables that a project's settings put into the environment have been
removed before. No file of a project is read here, and none with stored credentials. Only `ServerAccess.headers` holds a key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import NamedTuple

from ..fastjson import as_text, texts_by_name
from ..settings import Settings
from ..settings.load import own_content
from .question import JudgeError
from .vendors import Address, Vendor, parse_address, split_url

_ENVIRONMENT, _USER_FILE = "in the environment", "in your settings.json"
_CA_VARIABLE = "NODE_EXTRA_CA_CERTS"  # also read by Claude Code, for a company's own authority
_KEY_HEADERS = frozenset(["authorization", "x-api-key"])
# A header of the user's own, without the names that frame a request.
_CUSTOM = re.compile(
    r"(?!(?:accept-encoding|connection|content-(?:encoding|length|type)|expect|host|te|trailer|transfer-encoding|upgrade)"
    r"[ \t]*:)"
    r"([\w!#$%&'*+.^`|~-]+)[ \t]*:[ \t]*([ -~]*)",
    re.ASCII | re.IGNORECASE,
)
_OFF = "MEMORY_DISABLE"  # switches this plugin off: a helper that runs Claude Code must not start it again


class ServerAccess(NamedTuple):
    """Access to a server: its address, the headers with the key, the proxy's URL or "", and a file with more certificate authorities."""

    address: Address
    headers: tuple[tuple[str, str], ...]
    proxy: str
    authorities: str

    def __repr__(self) -> str:
        """Return a text without the key."""
        return "ServerAccess(%s)" % self.address.authority


class UserEnvironment:
    """Environment variables as the user set them: those in the block `env` of their own settings file take precedence.

    `helper` is the command `apiKeyHelper` of that file, or empty.
    """

    def __init__(self, config_dir: str | None) -> None:
        settings = own_content(config_dir)
        self._own = texts_by_name(settings.get("env"))
        self.helper = as_text(settings.get("apiKeyHelper"))

    def get(self, name: str) -> str:
        """Return the value of a variable, stripped; empty if it is not set."""
        return self.find([name])[0]

    def find(self, names: Iterable[str]) -> tuple[str, str, str]:
        """Return the value, the name and the place of the first of some variables that the settings file sets, else the environment.

        All three are empty if none is set.
        """
        places = ((self._own, _USER_FILE), (os.environ, _ENVIRONMENT))
        found = ((values.get(name, "").strip(), name, place) for values, place in places for name in names)
        return next((one for one in found if one[0]), ("", "", ""))


class AddressSource(NamedTuple):
    """A URL, and where it comes from.

    `name` is the setting or variable that names it, and `source` says where that is set; both are empty for the vendor's own.
    """

    url: str
    name: str
    source: str

    @property
    def host(self) -> str:
        """Return host and port; "an unusable address" for a URL that is not valid."""
        address = parse_address(self.url)
        return address.authority if address is not None else "an unusable address"

    def __str__(self) -> str:
        named = "named by %s %s" % (self.name, self.source) if self.name else "the vendor's own address"
        return "%s, %s" % (self.host, named)


def address_source(
    key: str, names: Iterable[str], vendor: str, settings: Settings, variables: UserEnvironment
) -> AddressSource:
    """Return the address that the setting `key` names, else the first variable that is set, else the vendor's own."""
    url = settings.text(key)
    found = (url, key, _USER_FILE) if url else variables.find(names)
    return AddressSource(*found) if found[0] else AddressSource(vendor, "", "")


def server_source(vendor: Vendor, settings: Settings, variables: UserEnvironment) -> AddressSource:
    """Return the address of a backend's server."""
    return address_source("judge.base_url", [vendor.base_variable], vendor.base, settings, variables)


def resolve_access(
    vendor: Vendor, settings: Settings, variables: UserEnvironment, helper: bool = False
) -> ServerAccess:
    """Return the access to a backend's server.

    With `helper`, the user's `apiKeyHelper` is run if no variable or header holds a key, which may take seconds. Raises JudgeError
    `bad_url` or `no_key`.
    """
    route = server_source(vendor, settings, variables)
    address = parse_address(route.url)
    if address is None:
        raise JudgeError("bad_url", "%s: expected https://, or http:// to this machine" % route.name)
    custom = _custom_headers(variables.get(vendor.headers_variable))
    has_key = not _KEY_HEADERS.isdisjoint(dict(custom))
    needs_none = has_key or (vendor.local_without_key and address.local)
    headers = _key_headers(vendor, settings, variables, helper and not has_key, needs_none)
    # The later of two equal names is sent, so the user's headers replace ours.
    return ServerAccess(address, headers + custom, proxy_for(address, variables), variables.get(_CA_VARIABLE))


def _custom_headers(lines: str) -> tuple[tuple[str, str], ...]:
    """Return the headers in lines of the form `Name: value`; other lines are ignored."""
    matches = (_CUSTOM.fullmatch(line.strip()) for line in lines.splitlines())
    return tuple((match[1].lower(), match[2]) for match in matches if match)


def _key_headers(
    vendor: Vendor, settings: Settings, variables: UserEnvironment, helper: bool, needs_none: bool
) -> tuple[tuple[str, str], ...]:
    """Return the headers with the key. Raises JudgeError `no_key` if there is none, unless the server needs none of ours."""
    forms = dict(vendor.keys)
    variable = settings.text("judge.key_variable")
    if variable:
        forms = {variable: forms.get(variable, vendor.keys[-1][1])}
    key, name, _ = variables.find(forms)
    if name:
        header, form = forms[name]
        return ((header, form % _valid_key(key, name)),)
    if helper and variables.helper and vendor.helper:
        key = _valid_key(run_key_helper(variables.helper), "the output of apiKeyHelper")
        return tuple((header, form % key) for header, form in vendor.helper)
    if needs_none:
        return ()
    named = " nor ".join(forms)
    raise JudgeError("no_key", "neither %s is set" % named if len(forms) > 1 else "%s is not set" % named)


def _valid_key(key: str, name: str) -> str:
    """Return a key that can be sent in a header. Raises JudgeError `no_key` for any other text."""
    if not key or len(key) > 4096 or not key.isascii() or not key.isprintable() or " " in key:
        raise JudgeError("no_key", "%s holds no key: empty, too long, or with characters no key has" % name)
    return key


def run_key_helper(command: str, seconds: float = 10.0) -> str:
    """Run the command `apiKeyHelper` and return the key that it prints; never while a prompt waits, because it may be slow.

    Raises JudgeError `no_key`, without the command's output, if it fails or takes longer than `seconds`.
    """
    from subprocess import DEVNULL, TimeoutExpired, run

    env = {**os.environ, _OFF: "1"}
    try:
        done = run(  # noqa: S602 (the user's own command, which Claude Code runs in a shell as well)
            command, shell=True, stdin=DEVNULL, capture_output=True, env=env, timeout=seconds, check=False
        )
    except TimeoutExpired:
        raise JudgeError("no_key", "apiKeyHelper took longer than %d seconds" % seconds) from None
    if done.returncode:
        raise JudgeError("no_key", "apiKeyHelper ended with exit code %d" % done.returncode)
    return done.stdout.decode("utf-8", "replace").strip()


def proxy_for(address: Address, variables: UserEnvironment) -> str:
    """Return the proxy in HTTPS_PROXY; "" for a server on this machine or in NO_PROXY. Raises JudgeError unless it is http://."""
    url = variables.get("https_proxy") or variables.get("HTTPS_PROXY")
    if not url or address.scheme != "https" or address.local:
        return ""
    from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

    exempt = variables.get("no_proxy") or variables.get("NO_PROXY")
    if proxy_bypass_environment("%s:%d" % (address.host, address.port), {"no": exempt}):
        return ""
    url = url if "://" in url else "http://" + url
    proxy = split_url(url)
    if proxy is None or proxy.scheme != "http":
        raise JudgeError("bad_url", "HTTPS_PROXY: only http:// proxies are supported")
    return url
