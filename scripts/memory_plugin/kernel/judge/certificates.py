"""TLS: certificate authorities in addition to the system's, and the user's client certificate for gateways that require one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ssl import SSLContext

    from .credentials import ServerAccess

# OpenSSL's own variables, which `create_default_context` reads; those that a project set were removed before.
_OPENSSL = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def tls_context(access: ServerAccess) -> SSLContext:
    """Return the TLS context for connections to a server.

    Files that cannot be read are ignored, as Claude Code does; `certificate_problems` reports them.
    """
    return _context(access, [])


def certificate_problems(access: ServerAccess) -> list[str]:
    """Return a sentence about each unreadable file that the user's variables name; empty for plain HTTP."""
    problems: list[str] = []
    if access.address.scheme == "https":
        _context(access, problems)
    return problems


def _context(access: ServerAccess, problems: list[str]) -> SSLContext:
    import ssl

    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    has_own = any(os.environ.get(name) for name in _OPENSSL)
    if access.authorities:
        try:
            context.load_verify_locations(cafile=access.authorities)
            has_own = True
        except (OSError, ValueError):
            problems.append(
                "NODE_EXTRA_CA_CERTS: no certificates could be read from that file; it is ignored."
            )
    if has_own:
        # Python 3.13 and later reject authorities whose basicConstraints are not marked critical. Many companies' authorities are not.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    _load_client_certificate(context, access, problems)
    return context


def _load_client_certificate(context: SSLContext, access: ServerAccess, problems: list[str]) -> None:
    """Load the user's certificate. The passphrase may be empty but is always passed: OpenSSL must not prompt on the terminal."""
    certificate = access.certificate
    if not certificate.file and not certificate.key:
        return
    try:
        context.load_cert_chain(certificate.file, certificate.key or None, lambda: certificate.passphrase)
    except (OSError, ValueError):
        problems.append(
            "CLAUDE_CODE_CLIENT_CERT, CLAUDE_CODE_CLIENT_KEY: no certificate with its key could be read from those files;"
            " they are ignored."
        )
