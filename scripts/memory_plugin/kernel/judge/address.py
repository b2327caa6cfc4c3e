"""Server addresses: `https://`, or `http://` to this machine; and proxies."""

from __future__ import annotations

from typing import NamedTuple

_PORTS = {"https": 443, "http": 80}
_MAX_URL = 2000


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
    scheme, mark, rest = url.strip().partition("://")
    if not mark or scheme not in _PORTS or len(url) > _MAX_URL or not _is_plain(rest):
        return None
    authority, slash, path = rest.partition("/")
    user, _, server = authority.rpartition("@")
    host, port = _host_and_port(server, _PORTS[scheme])
    if not host or not 0 < port < 65536:
        return None
    return Address(scheme, host.lower(), port, (slash + path).rstrip("/"), user)


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and not any(c in text for c in ' \\?#"<>')


def _host_and_port(server: str, default: int) -> tuple[str, int]:
    """Return host and port; ("", 0) for brackets that are not closed, and port 0 for an invalid one."""
    if server.startswith("["):  # IPv6
        host, bracket, after = server[1:].partition("]")
        port = after.removeprefix(":")
        return (host, _port(port, default)) if bracket and after[:1] in ("", ":") else ("", 0)
    host, _, port = server.partition(":")
    return host, _port(port, default)


def _port(text: str, default: int) -> int:
    if not text:
        return default
    return int(text) if text.isdigit() and len(text) <= 5 else 0
