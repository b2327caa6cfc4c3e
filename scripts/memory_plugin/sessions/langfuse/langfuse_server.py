"""The Langfuse server: its address and keys, from the user's own settings and environment, and the API version it supports."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any

from ...kernel.judge.address import parse_address
from ...kernel.judge.credentials import ServerAccess, UserEnvironment, address_source, proxy_for
from ...kernel.judge.errors import JudgeError

if TYPE_CHECKING:
    from ...kernel.judge.credentials import AddressSource
    from ...kernel.paths import Paths
    from ...kernel.settings.load import Settings
    from .langfuse_client import LangfuseClient, LangfuseReply

_PUBLIC, _SECRET = "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"
HOSTS = ("LANGFUSE_HOST", "LANGFUSE_BASE_URL")
_CLOUD = "https://cloud.langfuse.com"
_MAX_KEY = 500
# Version 4 reads sessions through `v2/observations` and scores through `v3/scores`; version 3 through sessions and traces, and `v2/scores`.
MODERN, LEGACY = "v4", "v3"


def is_configured(paths: Paths, settings: Settings) -> bool:
    """Return whether the user's settings or environment mention a server: a host, a key, or automatic sending."""
    if settings.text("sessions.langfuse.host") or settings.flag("sessions.langfuse.automatic"):
        return True
    return bool(UserEnvironment(paths.config_dir).first((*HOSTS, _PUBLIC, _SECRET)))


def server_route(paths: Paths, settings: Settings) -> AddressSource:
    """Return the server's address and the setting or variable that names it."""
    return address_source(
        "sessions.langfuse.host", HOSTS, _CLOUD, settings, UserEnvironment(paths.config_dir)
    )


def find_access(paths: Paths, settings: Settings, off: str = "") -> ServerAccess:
    """Return the server's address and credentials. Raises JudgeError: disabled (`off` is the reason), bad_url or no_key."""
    if off:
        raise JudgeError("disabled", off)
    variables = UserEnvironment(paths.config_dir)
    address = parse_address(server_route(paths, settings).url)
    if address is None:
        raise JudgeError(
            "bad_url", "sessions.langfuse.host or LANGFUSE_HOST: not https://, nor http:// to this machine"
        )
    keys = [variables.get(name) for name in (_PUBLIC, _SECRET)]
    for name, key in zip((_PUBLIC, _SECRET), keys):
        if not key:
            raise JudgeError(
                "no_key", "%s is not set in your environment or in env of your own settings" % name
            )
        if len(key) > _MAX_KEY or not key.isascii() or not key.isprintable() or " " in key or ":" in key:
            raise JudgeError(
                "no_key", "%s holds no key: it is too long, or has characters that no key has" % name
            )
    basic = b64encode(":".join(keys).encode("ascii")).decode("ascii")
    authorities = variables.get("NODE_EXTRA_CA_CERTS")
    return ServerAccess(
        address, (("authorization", "Basic " + basic),), proxy_for(address, variables), authorities
    )


def probe(client: LangfuseClient) -> dict[str, Any]:
    """Return how to read this server's `sessions` and `scores`, each MODERN or LEGACY. Raises JudgeError."""
    return {
        "sessions": _probed_version(client.get("/v2/observations", {"limit": 1, "fields": "core"})),
        "scores": _probed_version(client.get("/v3/scores", {"limit": 1})),
    }


def _probed_version(reply: LangfuseReply) -> str:
    if reply.status == 404:
        return LEGACY
    if reply.status != 200:
        raise JudgeError("http_%d" % reply.status, "the server could not be probed")
    return MODERN
