"""Where Langfuse is and with which keys: the user's own settings, then the cleaned environment."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

from ...kernel.judge.access import Access, Variables, proxy_for
from ...kernel.judge.address import parse_address
from ...kernel.judge.outcome import Failed
from ...kernel.judge.route import route_of

if TYPE_CHECKING:
    from ...kernel.judge.route import Route
    from ...kernel.paths import Places
    from ...kernel.settings.load import Settings

__all__ = ["HOSTS", "find_access", "server_route", "wanted"]

_PUBLIC, _SECRET = "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"
HOSTS = ("LANGFUSE_HOST", "LANGFUSE_BASE_URL")
_CLOUD = "https://cloud.langfuse.com"
_LONGEST_KEY = 500


def wanted(places: Places, settings: Settings) -> bool:
    """Whether anything of the user's speaks of a server: a host, a key, or the wish to send by itself."""
    if settings.text("sessions.langfuse.host") or settings.flag("sessions.langfuse.automatic"):
        return True
    return bool(Variables(places.config_dir).first((*HOSTS, _PUBLIC, _SECRET)))


def server_route(places: Places, settings: Settings) -> Route:
    """Return the server's address and who names it."""
    return route_of("sessions.langfuse.host", HOSTS, _CLOUD, settings, Variables(places.config_dir))


def find_access(places: Places, settings: Settings, off: str = "") -> Access:
    """The way to the server. Raises Failed: disabled (with `off` as its reason), bad_url, no_key."""
    if off:
        raise Failed("disabled", off)
    variables = Variables(places.config_dir)
    address = parse_address(server_route(places, settings).url)
    if address is None:
        raise Failed(
            "bad_url", "sessions.langfuse.host or LANGFUSE_HOST: not https://, nor http:// to this machine"
        )
    keys = [variables.get(name) for name in (_PUBLIC, _SECRET)]
    for name, key in zip((_PUBLIC, _SECRET), keys):
        if not key:
            raise Failed("no_key", "%s is not set in your environment or in env of your own settings" % name)
        if len(key) > _LONGEST_KEY or not key.isascii() or not key.isprintable() or " " in key or ":" in key:
            raise Failed("no_key", "%s holds no key" % name)
    basic = b64encode(":".join(keys).encode("ascii")).decode("ascii")
    authorities = variables.get("NODE_EXTRA_CA_CERTS")
    return Access(address, (("authorization", "Basic " + basic),), proxy_for(address, variables), authorities)
