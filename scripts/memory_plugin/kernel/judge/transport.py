"""One HTTP/1.1 request within one deadline, directly on sockets.

Every wait is limited to the remaining time, even for a server that sends one byte per second. Redirects are not followed: they would send
the key to another address. Nothing is retried or decompressed, and a body has at most MAX_BODY bytes.

Why not `http.client`: its timeout applies to each receive, so a slow server holds a request with a timeout of 1 second as long as it likes
(measured: 3 s, until the server closed). A socket wrapper could shorten each receive, but the import alone loads 33 more modules while a
prompt waits: 63 ms against 3 ms for this module (best of nine on a busy two-core machine, Python 3.11, with sockets, TLS and JSON loaded).
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, NamedTuple

from .errors import JudgeError

if TYPE_CHECKING:
    from ssl import SSLContext

    from ..clock import Deadline
    from .address import Address
    from .calls import CallOutcome
    from .credentials import ServerAccess

    Headers = tuple[tuple[str, str], ...]

MAX_BODY = 1 << 20
_MAX_HEAD = 1 << 16
_MAX_ADDRESSES = 4
_OK = 200
_READ = (_OK, 400, 422)  # statuses whose body is read: the answer, or what was wrong with the request
_WITHOUT_BODY = (204, 304)
_HEADERS = (
    ("content-type", "application/json"),
    ("accept", "application/json"),
    ("accept-encoding", "identity"),
    ("user-agent", "claude-memory-plugin"),
    ("connection", "close"),
)


class Request(NamedTuple):
    """A request: method, path with query, additional headers, body or None, and the maximum size of the response body in bytes.

    With `brief`, the response body is read only if the status is 200 or one that says what was wrong with the request.
    """

    method: str
    path: str
    headers: Headers = ()
    body: bytes | None = None
    max_body: int = MAX_BODY
    brief: bool = False


class Response(NamedTuple):
    """A response: its status, its headers by lower-case name, and its body, which `post` leaves empty for most errors."""

    status: int
    headers: dict[str, str]
    body: bytes


def post(
    access: ServerAccess,
    path: str,
    headers: Headers,
    body: bytes,
    deadline: Deadline,
    outcome: CallOutcome,
    tls: SSLContext | None,
) -> Response:
    """Send one POST request and return its response; `outcome.sent` is set before the first byte is sent.

    Raises JudgeError: timeout, network, tls, proxy, too_large.
    """
    return fetch(access, Request("POST", path, headers, body, brief=True), deadline, outcome, tls)


def fetch(
    access: ServerAccess, request: Request, deadline: Deadline, outcome: CallOutcome, tls: SSLContext | None
) -> Response:
    """Send any request and return its response; `outcome.sent` is set before the first byte is sent.

    Raises JudgeError: timeout, network, tls, proxy, too_large.
    """
    try:
        sock = _open(access, deadline, tls)
        with sock:
            outcome.sent = True
            _send(sock, _head(access, request) + (request.body or b""), deadline)
            return _response(_Reader(sock, deadline, request.max_body), brief=request.brief)
    except socket.timeout:
        raise JudgeError("timeout") from None
    except (OSError, UnicodeError) as error:
        raise JudgeError("tls" if _is_alert(error) else "network", _error_text(error)) from None


def _head(access: ServerAccess, request: Request) -> bytes:
    lines = [
        "%s %s%s HTTP/1.1" % (request.method, access.address.path, request.path),
        "host: " + access.address.authority,
    ]
    # By name, so that a custom header of the user replaces ours.
    headers = {name.lower(): value for name, value in (*_HEADERS, *request.headers, *access.headers)}
    lines += ["%s: %s" % header for header in headers.items()]
    if request.body is not None:
        lines.append("content-length: %d" % len(request.body))
    return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")


def _is_alert(error: Exception) -> bool:
    """Return whether the server sent a TLS alert: in TLS 1.3 it rejects a certificate after the handshake."""
    return "ALERT" in str(getattr(error, "reason", ""))


def _error_text(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or type(error).__name__)


def _timeout(deadline: Deadline) -> float:
    """Return the remaining seconds as a socket's timeout. Raises socket.timeout if there are none: 0 would make the socket non-blocking."""
    seconds = deadline.remaining()
    if seconds <= 0:
        raise socket.timeout
    return seconds


def _open(access: ServerAccess, deadline: Deadline, tls: SSLContext | None) -> socket.socket:
    sock = _connect(access.proxy or access.address, deadline)
    try:
        if access.proxy is not None:
            _tunnel(sock, access.address, access.proxy, deadline)
        return sock if tls is None else _secured(sock, access.address.host, deadline, tls)
    except BaseException:
        sock.close()
        raise


def _connect(address: Address, deadline: Deadline) -> socket.socket:
    """Connect to the first of the host's addresses that answers; each gets an equal share of the remaining time."""
    host = address.host.encode("ascii")  # a str would import the IDNA codec first
    addresses = socket.getaddrinfo(host, address.port, 0, socket.SOCK_STREAM)[:_MAX_ADDRESSES]
    problem: OSError = OSError("no address")
    for at, (family, kind, protocol, _, place) in enumerate(addresses):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(_timeout(deadline) / (len(addresses) - at))
            sock.connect(place)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            sock.close()
            problem = error
        else:
            return sock
    raise problem


def _tunnel(sock: socket.socket, address: Address, proxy: Address, deadline: Deadline) -> None:
    host = "[%s]" % address.host if ":" in address.host else address.host
    place = "%s:%d" % (host, address.port)
    lines = ["CONNECT %s HTTP/1.1" % place, "host: " + place]
    if proxy.user:
        lines.append("proxy-authorization: Basic " + _credentials(proxy.user))
    _send(sock, ("\r\n".join(lines) + "\r\n\r\n").encode("ascii"), deadline)
    status = _status_and_headers(_Reader(sock, deadline))[0]
    if status != _OK:
        raise JudgeError("proxy", "the proxy answered %d" % status)


def _credentials(user: str) -> str:
    """Return the `name:password` of a URL in the form of a header (RFC 7617)."""
    from base64 import b64encode
    from urllib.parse import unquote_to_bytes

    return b64encode(unquote_to_bytes(user)).decode("ascii")


def _secured(sock: socket.socket, host: str, deadline: Deadline, tls: SSLContext) -> socket.socket:
    from ssl import SSLError

    sock.settimeout(_timeout(deadline))
    try:
        return tls.wrap_socket(sock, server_hostname=host)
    except SSLError as error:
        raise JudgeError(
            "tls", str(getattr(error, "verify_message", "") or error.reason or "no agreement")
        ) from None


def _send(sock: socket.socket, data: bytes, deadline: Deadline) -> None:
    view = memoryview(data)
    while view:
        sock.settimeout(_timeout(deadline))
        view = view[sock.send(view) :]


class _Reader:
    """A reader of the protocol's lines and blocks from a socket."""

    __slots__ = ("_buffer", "_deadline", "_max_body", "_sock")

    def __init__(self, sock: socket.socket, deadline: Deadline, max_body: int = MAX_BODY) -> None:
        self._sock = sock
        self._deadline = deadline
        self._max_body = max_body
        self._buffer = bytearray()

    def _more(self) -> bool:
        """Receive more data; return False at the end of the connection."""
        self._sock.settimeout(_timeout(self._deadline))
        data = self._sock.recv(1 << 16)
        self._buffer += data
        return bool(data)

    def _take(self, size: int) -> bytes:
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def line(self) -> bytes:
        """Return the next line without its line break."""
        while b"\n" not in self._buffer:
            if len(self._buffer) > _MAX_HEAD:
                raise JudgeError("too_large", "a header of more than %d bytes" % _MAX_HEAD)
            if not self._more():
                raise JudgeError("network", "the connection ended before the response did")
        return self._take(self._buffer.index(b"\n") + 1).rstrip(b"\r\n")

    def exactly(self, size: int) -> bytes:
        """Return the next `size` bytes."""
        while len(self._buffer) < size:
            if not self._more():
                raise JudgeError("network", "the connection ended before the response did")
        return self._take(size)

    def rest(self) -> bytes:
        """Return everything up to the end of the connection."""
        while len(self._buffer) <= self._max_body and self._more():
            pass
        self.check_size(len(self._buffer))
        return self._take(len(self._buffer))

    def check_size(self, size: int) -> None:
        """Raise JudgeError `too_large` for a body that is larger than allowed."""
        if size > self._max_body:
            raise JudgeError("too_large", "more than %d bytes" % self._max_body)


def _response(reader: _Reader, *, brief: bool) -> Response:
    status, headers = _status_and_headers(reader)
    has_body = status in _READ or not (brief or status in _WITHOUT_BODY)
    return Response(status, headers, _body(reader, headers) if has_body else b"")


def _status_and_headers(reader: _Reader) -> tuple[int, dict[str, str]]:
    while True:
        version, _, rest = reader.line().partition(b" ")
        code = rest[:3]
        if not version.startswith(b"HTTP/1.") or not code.isdigit():
            raise JudgeError("network", "the response is not HTTP/1.1")
        headers = _read_headers(reader)
        if not 100 <= int(code) < _OK:
            return int(code), headers


def _read_headers(reader: _Reader) -> dict[str, str]:
    headers: dict[str, str] = {}
    size = 0
    while True:
        line = reader.line()
        if not line:
            return headers
        size += len(line)
        if size > _MAX_HEAD:
            raise JudgeError("too_large", "headers of more than %d bytes" % _MAX_HEAD)
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()


def _body(reader: _Reader, headers: dict[str, str]) -> bytes:
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return _chunks(reader)
    length = headers.get("content-length", "")
    if not length:
        return reader.rest()
    if not length.isascii() or not length.isdigit() or len(length) > 12:
        raise JudgeError("network", "a response with an invalid length")
    reader.check_size(int(length))
    return reader.exactly(int(length))


def _chunks(reader: _Reader) -> bytes:
    body = bytearray()
    while True:
        try:
            size = int(reader.line().partition(b";")[0], 16)
        except ValueError:
            raise JudgeError("network", "a response with invalid chunks") from None
        if size <= 0:
            return bytes(body)
        reader.check_size(len(body) + size)
        body += reader.exactly(size)
        reader.line()
