"""Which version of Langfuse answers: probed once, then kept in the outbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...kernel.judge.outcome import Failed

if TYPE_CHECKING:
    from .langfuse_client import LangfuseClient, LangfuseReply

__all__ = ["LEGACY", "MODERN", "probe"]

# Servers of version 4 read by `v2/observations` and `v3/scores`; those of version 3 by sessions, traces and `v2/scores`.
MODERN, LEGACY = "v4", "v3"


def probe(client: LangfuseClient) -> dict[str, Any]:
    """Return how this server is read: `sessions` and `scores`, each MODERN or LEGACY. Raises Failed."""
    sessions = _is_there(client.get("/v2/observations", {"limit": 1, "fields": "core"}))
    scores = _is_there(client.get("/v3/scores", {"limit": 1}))
    return {"sessions": MODERN if sessions else LEGACY, "scores": MODERN if scores else LEGACY}


def _is_there(reply: LangfuseReply) -> bool:
    if reply.status == 404:
        return False
    if reply.status != 200:
        raise Failed("http_%d" % reply.status, "the server could not be probed")
    return True
