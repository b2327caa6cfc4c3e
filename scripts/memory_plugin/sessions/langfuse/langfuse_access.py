"""The address and keys of Langfuse: from the user's own settings, then from the cleaned environment."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

from ...kernel.judge.access import Access, Variables, proxy_for
from ...kernel.judge.address import parse_address
from ...kernel.judge.outcome import Failed

if TYPE_CHECKING:
    from ...kernel.paths import Places
    from ...kernel.settings.load import Settings

__all__ = ["find_access", "wanted"]

_PUBLIC, _SECRET = "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"
_HOSTS = ("LANGFUSE_HOST", "LANGFUSE_BASE_URL")
_CLOUD = "https://cloud.langfuse.com"
_LONGEST_KEY = 500


def wanted(places: Places, settings: Settings) -> bool:
    """Return whether the user's settings or environment mention a server: a host, a key, or automatic sending."""
    if settings.text("sessions.langfuse.host") or settings.flag("sessions.langfuse.automatic"):
        return True
    return bool(Variables(places.config_dir).first((*_HOSTS, _PUBLIC, _SECRET)))


def find_access(places: Places, settings: Settings, off: str = "") -> Access:
    """Return the address and credentials of the server. Raises Failed: disabled (with `off` as its reason), bad_url, no_key."""
    if off:
        raise Failed("disabled", off)
    variables = Variables(places.config_dir)
    host = settings.text("sessions.langfuse.host") or variables.get(variables.first(_HOSTS)) or _CLOUD
    address = parse_address(host)
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
