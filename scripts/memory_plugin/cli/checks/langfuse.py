"""The doctor's check of Langfuse: what is set and what is pending. The server is not asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel.judge.failures import JudgeError
from ...sessions.langfuse.langfuse_server import HOSTS, find_access, is_configured, server_route
from ...sessions.langfuse.outbox import outbox_overview
from ..addresses import address_words
from ..commands.session import session_scorer
from .check import NOTE, OK, WARN, Check, counted

if TYPE_CHECKING:
    from ..command_context import Session

__all__ = ["langfuse"]

_NAME = "langfuse"
_SHOWN = 5


def langfuse(session: Session) -> Check:
    """Check whether scores can be sent to a server, and how many are pending."""
    places, settings = session.places, session.settings
    if places.state_dir is None or not is_configured(places, settings):
        return Check(_NAME, OK, "not set up: scores of sessions stay on this machine")
    try:
        found = outbox_overview(places, settings, find_access(places, settings, session_scorer(session).off))
    except JudgeError as failed:
        fix = "" if failed.name == "disabled" else "memory langfuse check"
        return Check(_NAME, WARN, "nothing is sent: %s" % failed.detail, fix)
    text = "%s is set up, memory langfuse check asks whether it answers; %s sent" % (
        found.host,
        counted(found.sent, "score"),
    )
    waiting = found.unqueued + found.waiting
    if found.refused:
        why = tuple(sorted(set(found.refused.values())))[:_SHOWN]
        text += ", %d to send, %d refused by the server" % (waiting, len(found.refused))
        return Check(_NAME, WARN, text, "memory langfuse setup, then memory langfuse push", why)
    address = tuple(address_words(session, server_route(places, settings), HOSTS))
    if waiting:
        return Check(_NAME, NOTE, "%s, %d to send" % (text, waiting), "memory langfuse push", address)
    return Check(_NAME, OK, text + ", nothing is pending", "", address)
