"""A server on loopback that answers or fails in one of many ways; written on sockets, because no library fails like this."""

from __future__ import annotations

import json
import socket
import ssl
import struct
import subprocess
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

JSON = "application/json"
MEGABYTE = 1 << 20


class Seen(NamedTuple):
    """A request as it arrived."""

    line: str
    headers: dict[str, str]
    body: Any


Act = Callable[[socket.socket, Seen], None]


class Server:
    """Each connection gets one request read, and then `act`."""

    def __init__(self, act: Act, context: ssl.SSLContext | None = None) -> None:
        self.act = act
        self.seen: list[Seen] = []
        self.connections = 0
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self.url = "%s://127.0.0.1:%d" % ("https" if context else "http", self.port)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                sock = self._listener.accept()[0]
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        try:
            with self._context.wrap_socket(sock, server_side=True) if self._context else sock as conn:
                seen = read_request(conn)
                self.seen.append(seen)
                self.act(conn, seen)
        except (OSError, ValueError):
            return


@contextmanager
def serving(act: Act, context: ssl.SSLContext | None = None) -> Iterator[Server]:
    """Yield a server while the block runs."""
    server = Server(act, context)
    try:
        yield server
    finally:
        server.close()


def read_request(conn: socket.socket) -> Seen:
    """Return the request on a connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += conn.recv(65536) or closed()
    head, _, body = data.partition(b"\r\n\r\n")
    line, *rest = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (entry.partition(":") for entry in rest)}
    while len(body) < int(headers.get("content-length", "0")):
        body += conn.recv(65536) or closed()
    return Seen(line, headers, json.loads(body) if body else None)


def closed() -> bytes:
    """Raise for a client that went away."""
    raise OSError("closed")


def raw(status: int, body: bytes, length: int | None = -1, **headers: str) -> bytes:
    """Return the bytes of an answer; `length` None leaves its length out."""
    lines = ["HTTP/1.1 %d X" % status]
    lines += ["%s: %s" % (name.replace("_", "-"), value) for name, value in headers.items()]
    if length is not None:
        lines.append("content-length: %d" % (len(body) if length < 0 else length))
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


def answer(payload: object, status: int = 200, **headers: str) -> Act:
    """Answers with JSON."""
    headers = {"content_type": JSON, **headers}
    return lambda conn, _: conn.sendall(raw(status, json.dumps(payload).encode(), -1, **headers))


def sends(data: bytes) -> Act:
    """Answers with these bytes."""
    return lambda conn, _: conn.sendall(data)


def by_request(choose: Callable[[Seen], Act]) -> Act:
    """Answers by what was asked."""
    return lambda conn, seen: choose(seen)(conn, seen)


def after(seconds: float, act: Act) -> Act:
    """Answers late."""

    def late(conn: socket.socket, seen: Seen) -> None:
        time.sleep(seconds)
        act(conn, seen)

    return late


def reset(conn: socket.socket, seen: Seen) -> None:
    """Cuts the connection."""
    conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    conn.close()


def reset_in_body(conn: socket.socket, seen: Seen) -> None:
    """Cuts the connection in mid-body."""
    conn.sendall(raw(200, b'{"content": [', length=1000, content_type=JSON))
    time.sleep(0.05)
    reset(conn, seen)


def ends_in_body(conn: socket.socket, seen: Seen) -> None:
    """End the connection, politely, in mid-body."""
    conn.sendall(raw(200, b'{"content": [', length=1000, content_type=JSON))


def drips_headers(conn: socket.socket, seen: Seen) -> None:
    """Send a byte of a header now and then, forever."""
    conn.sendall(b"HTTP/1.1 200 OK\r\nx-slow: ")
    while True:
        conn.sendall(b"a")
        time.sleep(0.05)


def drips_body(conn: socket.socket, seen: Seen) -> None:
    """Send a byte of a body now and then, forever."""
    conn.sendall(raw(200, b"", length=500_000, content_type=JSON))
    while True:
        conn.sendall(b" ")
        time.sleep(0.05)


def silent(conn: socket.socket, seen: Seen) -> None:
    """Never sends the first byte."""
    time.sleep(30)


def interim_forever(conn: socket.socket, seen: Seen) -> None:
    """Send interim answers and never a real one."""
    while True:
        conn.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.01)


def huge(conn: socket.socket, seen: Seen) -> None:
    """Send 50 MB without saying so before."""
    conn.sendall(raw(200, b"", length=None, content_type=JSON))
    for _ in range(50):
        conn.sendall(b" " * MEGABYTE)


def huge_chunks(conn: socket.socket, seen: Seen) -> None:
    """Send 50 MB in chunks."""
    conn.sendall(raw(200, b"", length=None, content_type=JSON, transfer_encoding="chunked"))
    for _ in range(500):
        conn.sendall(b"%x\r\n%s\r\n" % (100_000, b" " * 100_000))


def huge_head(conn: socket.socket, seen: Seen) -> None:
    """Send headers without end."""
    conn.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        conn.sendall(b"x-more: %s\r\n" % (b"a" * 1000))


@cache
def packed() -> bytes:
    """100 kB that unpack to 100 MB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(packer.compress(b" " * MEGABYTE) for _ in range(100)) + packer.flush()


def bomb(conn: socket.socket, seen: Seen) -> None:
    """Send what unpacks to a thousand times its size."""
    conn.sendall(raw(200, packed(), content_type=JSON, content_encoding="gzip"))


def chunked(payload: object) -> Act:
    """Answers with JSON in chunks of seven bytes, after an interim answer."""
    data = json.dumps(payload).encode()
    pieces = [data[at : at + 7] for at in range(0, len(data), 7)]
    body = b"".join(b"%x;ext=1\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    head = b"HTTP/1.1 100 Continue\r\n\r\n"
    return sends(head + raw(200, body, length=None, content_type=JSON, transfer_encoding="chunked"))


def certificate(folder: str, name: str = "IP:127.0.0.1") -> tuple[str, str]:
    """Return the paths of a self-made certificate and its key."""
    paths = folder + "/cert.pem", folder + "/key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "2", "-subj", "/CN=x"]
    command += ["-addext", "subjectAltName=" + name, "-out", paths[0], "-keyout", paths[1]]
    subprocess.run(
        command, check=True, capture_output=True, env={"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": folder}
    )
    return paths


def tls(paths: tuple[str, str]) -> ssl.SSLContext:
    """Return a server's side of TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*paths)
    return context
