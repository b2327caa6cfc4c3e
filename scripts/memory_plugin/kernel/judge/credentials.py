"""Where a backend is reached and with which key: out of the user's own settings, then out of the environment.

The environment is clean by now: what a project's settings put there is gone.  Nothing of a project is read here, and
no credential file either.  A key lives in `Access.headers` alone.


The user's `apiKeyHelper`: a command that prints a key. Never on the prompt's path, since it may be slow or ask.
"""

from __future__ import annotations

import os
import signal
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from typing import TYPE_CHECKING, NamedTuple

from ..settings.load import SettingsFileError, content
from .address import Address, bypasses_proxy, parse_address, parse_proxy
from .failures import JudgeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..settings.load import Settings

__all__ = [
    "ClientCertificate",
    "Endpoint",
    "ServerAccess",
    "UserEnvironment",
    "client_certificate",
    "proxy_for",
    "resolve_access",
    "run_key_helper",
]

_LONGEST_KEY = 4096
_CA_VARIABLE = (
    "NODE_EXTRA_CA_CERTS"  # the variable by which the client itself takes a company's own authority
)
# The client's variables for a certificate of the user's own: paths of certificate and key, and the key's passphrase.
_CERTIFICATE = ("CLAUDE_CODE_CLIENT_CERT", "CLAUDE_CODE_CLIENT_KEY", "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE")
_KEY_HEADERS = ("authorization", "x-api-key")
# Headers that frame a request; a line of the user's own that sets one would break it.
_FRAMING = frozenset(
    ["accept-encoding", "connection", "content-length", "content-type", "expect", "host", "te", "trailer",
     "transfer-encoding", "upgrade"]
)  # fmt: skip
_NAME_SIGNS = "!#$%&'*+-.^_`|~"  # besides letters and digits, in a header's name (RFC 9110, 5.6.2)
SECONDS = 10.0
_OFF = "MEMORY_DISABLE"  # every entry of ours checks it first: a helper that runs the client must not run us


class Endpoint(NamedTuple):
    """What a backend needs: its public address, the variable that moves it, and the variables that may hold a key.

    `keys` maps a variable to the header that carries its value, `%s` standing for it; the first one set is taken.
    `custom` is the header for a variable of the user's choice; `headers_variable` names the one that holds more headers, a line each.
    """

    base: str
    base_variable: str
    keys: Sequence[tuple[str, str]]
    custom: str
    local_without_key: bool = False
    helper: Sequence[str] = ()
    headers_variable: str = ""


class ClientCertificate(NamedTuple):
    """A certificate of the user's own: the paths of it and of its key, and the key's passphrase; all empty for none."""

    file: str = ""
    key: str = ""
    passphrase: str = ""

    def __repr__(self) -> str:
        """Without the passphrase."""
        return "Certificate(%s)" % self.file


class ServerAccess(NamedTuple):
    """A way to a server: its address, the headers that hold the key, a proxy to go through, more authorities.

    `certificate` is shown to a server that asks for one; `notes` are sentences about what of the user's variables is ignored.
    """

    address: Address
    headers: tuple[tuple[str, str], ...]
    proxy: Address | None
    authorities: str
    certificate: ClientCertificate = ClientCertificate()
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Without the key."""
        return "Access(%s)" % self.address.authority


class UserEnvironment:
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
        """Return the value of a variable, without space around it; empty when it is not set."""
        return (self._own.get(name) or os.environ.get(name) or "").strip()

    def is_own(self, name: str) -> bool:
        """Return whether the user's own settings file holds a variable."""
        return bool(self._own.get(name, "").strip())

    def first(self, names: Sequence[str]) -> str:
        """Return the first of some variables that is set in the settings file, else the first in the environment; or empty."""
        for values in (self._own, os.environ):
            for name in names:
                if values.get(name, "").strip():
                    return name
        return ""


def resolve_access(
    endpoint: Endpoint, settings: Settings, variables: UserEnvironment, helper: bool = False
) -> ServerAccess:
    """Return the way to a backend's server.

    With `helper` the user's `apiKeyHelper` is run where no variable holds a key; it may take seconds.  Raises JudgeError
    with `bad_url` or `no_key`.
    """
    url = settings.text("judge.base_url") or variables.get(endpoint.base_variable) or endpoint.base
    address = parse_address(url)
    if address is None:
        raise JudgeError(
            "bad_url", "%s: not https://, nor http:// to this machine" % _who_says(settings, endpoint)
        )
    own, notes = _own_headers(endpoint, variables)
    has_key = any(name.lower() in _KEY_HEADERS for name, _ in own)
    headers = _headers(endpoint, settings, variables, address, helper, without_key=has_key)
    named = {name.lower() for name, _ in own}
    kept = tuple(header for header in headers if header[0].lower() not in named)
    proxy, certificate = proxy_for(address, variables), client_certificate(variables)
    return ServerAccess(address, (*kept, *own), proxy, variables.get(_CA_VARIABLE), certificate, notes)


def client_certificate(variables: UserEnvironment) -> ClientCertificate:
    """Return the user's own certificate, as the client takes it."""
    return ClientCertificate(*(variables.get(name) for name in _CERTIFICATE))


def _own_headers(
    endpoint: Endpoint, variables: UserEnvironment
) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Return the user's own headers, `Name: value` a line as the client reads them, and a sentence about each line that is none."""
    found: list[tuple[str, str]] = []
    notes: list[str] = []
    text = variables.get(endpoint.headers_variable) if endpoint.headers_variable else ""
    for number, line in enumerate(text.splitlines(), 1):
        name, colon, value = (part.strip() for part in line.partition(":"))
        if not line.strip():
            continue
        if (
            colon
            and _is_name(name)
            and name.lower() not in _FRAMING
            and value.isascii()
            and value.isprintable()
        ):
            found.append((name, value))
        else:
            notes.append(
                "%s: line %d cannot be sent as a header; it is ignored." % (endpoint.headers_variable, number)
            )
    return tuple(found), tuple(notes)


def _is_name(text: str) -> bool:
    return bool(text) and text.isascii() and all(c.isalnum() or c in _NAME_SIGNS for c in text)


def _who_says(settings: Settings, endpoint: Endpoint) -> str:
    return "judge.base_url" if settings.text("judge.base_url") else endpoint.base_variable


def _headers(
    endpoint: Endpoint,
    settings: Settings,
    variables: UserEnvironment,
    address: Address,
    helper: bool,
    *,
    without_key: bool,
) -> tuple[tuple[str, str], ...]:
    chosen = settings.text("judge.key_variable")
    forms = {chosen: dict(endpoint.keys).get(chosen, endpoint.custom)} if chosen else dict(endpoint.keys)
    name = variables.first(list(forms))
    if name:
        return (_header(forms[name], _sound(variables.get(name), name)),)
    if without_key:  # a header of the user's own holds it
        return ()
    if helper and variables.helper and endpoint.helper:
        from .credentials import run_key_helper

        key = _sound(run_key_helper(variables.helper), "the output of apiKeyHelper")
        return tuple(_header(form, key) for form in endpoint.helper)
    if endpoint.local_without_key and address.local:
        return ()
    raise JudgeError("no_key", "%s is not set" % " or ".join(forms))


def _sound(key: str, name: str) -> str:
    """Return the key, if it can stand in a header."""
    if not key or len(key) > _LONGEST_KEY or not key.isascii() or not key.isprintable() or " " in key:
        raise JudgeError(
            "no_key", "%s holds no key: it is empty, too long, or has characters that no key has" % name
        )
    return key


def _header(form: str, key: str) -> tuple[str, str]:
    name, _, value = form.partition(": ")
    return name, value % key


def proxy_for(address: Address, variables: UserEnvironment) -> Address | None:
    """Return the user's proxy for a server: HTTPS_PROXY unless NO_PROXY or this machine. Raises JudgeError for an unknown kind."""
    if address.scheme != "https" or address.local:
        return None
    url = variables.get("https_proxy") or variables.get("HTTPS_PROXY")
    exempt = variables.get("no_proxy") or variables.get("NO_PROXY")
    if not url or bypasses_proxy(address.host, exempt):
        return None
    proxy = parse_proxy(url)
    if proxy is None:
        raise JudgeError("bad_url", "HTTPS_PROXY: only http:// proxies are known")
    return proxy


def run_key_helper(command: str, seconds: float = SECONDS) -> str:
    """Return the key that the command prints. Raises JudgeError `no_key`, without its output, when it fails or takes too long."""
    environment = dict(os.environ, **{_OFF: "1"})
    process = Popen(  # noqa: S602 (the user's own command, which the client runs in a shell as well)
        command,
        shell=True,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=DEVNULL,
        env=environment,
        start_new_session=True,
    )
    try:
        output = process.communicate(timeout=seconds)[0]
    except TimeoutExpired:
        _end(process)
        raise JudgeError("no_key", "apiKeyHelper took longer than %d seconds" % seconds) from None
    if process.returncode:
        raise JudgeError("no_key", "apiKeyHelper ended with exit code %d" % process.returncode)
    return output.decode("utf-8", "replace").strip()


def _end(process: Popen[bytes]) -> None:
    """End the command and what it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, ProcessLookupError):
        process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
