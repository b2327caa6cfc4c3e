"""Addresses of servers: `https://` anywhere, `http://` to this machine alone."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Address", "bypasses_proxy", "parse_address", "parse_proxy"]

_PORTS = {"https": 443, "http": 80}
_LONGEST = 2000


class Address(NamedTuple):
    """A server and the path on it that all requests begin with; `user` is `name:password` of a proxy, or empty."""

    scheme: str
    host: str
    port: int
    path: str
    user: str = ""

    @property
    def local(self) -> bool:
        """Whether it is this machine."""
        numbers = self.host.split(".")
        v4 = len(numbers) == 4 and numbers[0] == "127" and all(n.isdigit() and int(n) < 256 for n in numbers)
        return v4 or self.host in ("localhost", "::1")

    @property
    def authority(self) -> str:
        """Host and port as a Host header has them."""
        host = "[%s]" % self.host if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else "%s:%d" % (host, self.port)


def parse_address(url: str) -> Address | None:
    """The address in a URL; None unless it is `https://`, or `http://` to this machine, without user and query."""
    found = _parse(url)
    if found is None or found.user or (found.scheme == "http" and not found.local):
        return None
    return found


def parse_proxy(url: str) -> Address | None:
    """The address of a proxy, which may carry a user; only `http://` ones, or ones without a scheme, are known."""
    found = _parse(url if "://" in url else "http://" + url)
    return found if found is not None and found.scheme == "http" else None


def _parse(url: str) -> Address | None:
    scheme, mark, rest = url.strip().partition("://")
    if not mark or scheme not in _PORTS or len(url) > _LONGEST or not _is_plain(rest):
        return None
    authority, slash, path = rest.partition("/")
    user, _, place = authority.rpartition("@")
    host, port = _host_and_port(place, _PORTS[scheme])
    if not host or not 0 < port < 65536:
        return None
    return Address(scheme, host.lower(), port, (slash + path).rstrip("/"), user)


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and not any(c in text for c in ' \\?#"<>')


def _host_and_port(place: str, default: int) -> tuple[str, int]:
    if place.startswith("["):
        host, closed, after = place[1:].partition("]")
        port = after.removeprefix(":")
        return (host, _port(port, default)) if closed and after[:1] in ("", ":") else ("", 0)
    host, _, port = place.partition(":")
    return host, _port(port, default)


def _port(text: str, default: int) -> int:
    if not text:
        return default
    return int(text) if text.isdigit() and len(text) <= 5 else 0


def bypasses_proxy(host: str, no_proxy: str) -> bool:
    """Whether NO_PROXY exempts a host: `*`, the name itself, or a domain that it ends with."""
    for entry in no_proxy.lower().replace(",", " ").split():
        name = entry.partition(":")[0].lstrip("*").lstrip(".") if entry != "*" else "*"
        if name == "*" or (name and (host == name or host.endswith("." + name))):
            return True
    return False
