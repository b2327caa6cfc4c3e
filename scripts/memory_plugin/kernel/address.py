"""Addresses of servers and proxies: what a URL may be, and when a proxy is left out."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

_PORTS = {"https": 443, "http": 80}
_MAX_URL = 2000  # characters


class Address(NamedTuple):
    """A server, with the path prefix of all requests; `user` is the `name:password` of a proxy, or empty."""

    scheme: str
    host: str
    port: int
    path: str
    user: str = ""

    @property
    def local(self) -> bool:
        """Return whether the server is this machine."""
        numbers = self.host.split(".")
        v4 = len(numbers) == 4 and numbers[0] == "127" and all(n.isdigit() and int(n) < 256 for n in numbers)
        return v4 or self.host in ("localhost", "::1")

    @property
    def authority(self) -> str:
        """Return host and port as in a Host header."""
        host = "[%s]" % self.host if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else "%s:%d" % (host, self.port)


def parse_address(url: str) -> Address | None:
    """Return the address in a URL, or None unless it is `https://`, or `http://` to this machine, without user and query."""
    address = _parse(url)
    if address is None or address.user or (address.scheme == "http" and not address.local):
        return None
    return address


def parse_proxy(url: str) -> Address | None:
    """Return the address of a proxy, with its user if it has one; None unless its scheme is `http://` or missing."""
    address = _parse(url if "://" in url else "http://" + url)
    return address if address is not None and address.scheme == "http" else None


def bypasses_proxy(host: str, no_proxy: str) -> bool:
    """Return whether NO_PROXY exempts a host: by `*`, the host itself, or a domain that contains it."""
    for entry in no_proxy.lower().replace(",", " ").split():
        name = entry.partition(":")[0].lstrip("*").lstrip(".") if entry != "*" else "*"
        if name == "*" or (name and (host == name or host.endswith("." + name))):
            return True
    return False


def _parse(url: str) -> Address | None:
    if len(url) > _MAX_URL or not (url.isascii() and url.isprintable()) or any(c in url for c in ' \\?#"<>'):
        return None
    try:
        parts = urlsplit(url)
        port = _PORTS.get(parts.scheme, 0) if parts.port is None else parts.port
    except ValueError:  # a port that is no number, brackets that are not closed
        return None
    if parts.scheme not in _PORTS or not parts.hostname or not port:
        return None
    user = parts.netloc.rpartition("@")[0]
    return Address(parts.scheme, parts.hostname, port, parts.path.rstrip("/"), user)
