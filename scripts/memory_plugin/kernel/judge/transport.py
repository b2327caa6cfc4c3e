"""One HTTP request through `urllib`, and the threads that keep requests within a deadline.

A socket's timeout applies to each receive, so a server that sends one byte per second could hold a request as long as it likes. A DNS
lookup has no timeout at all. That is why requests run in daemon threads, which are abandoned at the deadline: they do not keep the process
from exiting. Redirects are not followed, because they would send the key to another address; nothing is retried or decompressed.
"""

from __future__ import annotations

import os
import socket
import ssl
from contextlib import suppress
from http.client import HTTPException, HTTPResponse, LineTooLong
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, ProxyHandler
from urllib.request import Request as UrlRequest

from ..context import Deadline
from .credentials import ServerAccess
from .question import JudgeError

Headers = tuple[tuple[str, str], ...]

MAX_BODY = 1 << 20
_HEADERS = (
    ("content-type", "application/json"),
    ("accept", "application/json"),
    ("accept-encoding", "identity"),
    ("user-agent", "claude-memory-plugin"),
)
_TUNNEL_FAILED = "Tunnel connection failed: "  # how `http.client` reports the status of a proxy
# OpenSSL's own variables, which `create_default_context` reads; those that a project set were removed before.
_OPENSSL = ("SSL_CERT_FILE", "SSL_CERT_DIR")


class Request(NamedTuple):
    """A request: method, path with query, additional headers, body or None, and the maximum size of the response body in bytes."""

    method: str
    path: str
    headers: Headers = ()
    body: bytes | None = None
    max_body: int = MAX_BODY


class Response(NamedTuple):
    """A response: its status, its headers by lower-case name, and its body."""

    status: int
    headers: dict[str, str]
    body: bytes


def send(access: ServerAccess, request: Request, deadline: Deadline, tls: ssl.SSLContext | None) -> Response:
    """Send a request and return its response, whatever its status; the deadline limits each wait, but not their sum.

    Raises JudgeError: timeout, network, tls, proxy, too_large. `unsent` is set on it if the server never had the whole request.
    """
    opener = OpenerDirector()  # without handlers of redirects and error statuses
    opener.add_handler(ProxyHandler({"https": access.proxy} if access.proxy else {}))
    # The handler of HTTPS reads all authorities of the machine if it gets no context.
    opener.add_handler(HTTPHandler() if tls is None else HTTPSHandler(context=tls))
    try:
        with opener.open(_url_request(access, request), timeout=max(deadline.remaining(), 0.001)) as response:
            return _read(response, request.max_body)
    except URLError as error:  # before the whole request was sent
        failure = _error_for(error.reason if isinstance(error.reason, Exception) else error)
        failure.unsent = True
    except (OSError, HTTPException, ValueError) as error:
        failure = _error_for(error)
    # Here, so that it has no `__context__`: the frames of the other exception hold the connection and the key.
    raise failure


def _url_request(access: ServerAccess, request: Request) -> UrlRequest:
    address = access.address
    url = "%s://%s%s%s" % (address.scheme, address.authority, address.path, request.path)
    headers = dict((*_HEADERS, *request.headers, *access.headers))
    headers["host"] = address.authority  # behind a proxy, `urllib` would name the proxy
    return UrlRequest(url, request.body, headers, method=request.method)  # noqa: S310 (https, or http to this machine)


def _read(response: HTTPResponse, max_body: int) -> Response:
    """Read a response; the body of an error status is only cut off, because its status says enough."""
    is_announced_too_large = (response.length or 0) > max_body
    body = b"" if is_announced_too_large else response.read(max_body + 1)
    if response.status < 300:
        if is_announced_too_large or len(body) > max_body:
            raise JudgeError("too_large", "more than %d bytes" % max_body)
        if response.length:
            raise JudgeError("network", "the connection ended before the response did")
    return Response(response.status, {name.lower(): value for name, value in response.headers.items()}, body)


def _error_for(error: Exception) -> JudgeError:
    """Return the failure for an exception, without its text, which may quote a header or the server."""
    name, detail = "network", str(getattr(error, "strerror", None) or type(error).__name__)
    if isinstance(error, socket.timeout):
        name, detail = "timeout", ""
    elif isinstance(error, ssl.SSLError):
        name, detail = "tls", str(getattr(error, "verify_message", "") or error.reason or "no agreement")
    elif str(error).startswith(_TUNNEL_FAILED):
        name, detail = "proxy", "the proxy answered %s" % str(error)[len(_TUNNEL_FAILED) :][:3]
    elif type(error) in (HTTPException, LineTooLong):
        name, detail = "too_large", "too many or too long headers"
    return JudgeError(name, detail)


def tls_context(access: ServerAccess) -> ssl.SSLContext | None:
    """Return the TLS context for connections to a server; None for plain HTTP.

    It knows the user's own authorities. A file that cannot be read is ignored, as Claude Code does.
    """
    if access.address.scheme != "https":
        return None
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    has_own = any(os.environ.get(name) for name in _OPENSSL)
    if access.authorities:
        with suppress(OSError, ValueError):
            context.load_verify_locations(cafile=access.authorities)
            has_own = True
    if has_own:
        # Python 3.13 and later reject authorities whose basicConstraints are not marked critical. Many companies' authorities are not.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
