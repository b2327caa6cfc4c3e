"""Checks of what the plugin writes and sends: the index, the ledgers, and the scores for Langfuse."""

from __future__ import annotations

import os
from collections import deque

from ...kernel.judge.errors import JudgeError
from ...kernel.records import Records, ledger_names
from ...kernel.sqlite import SqliteError
from ...kernel.text.clean import plain
from ...recall.index_refresh import index_state
from ...sessions.langfuse.langfuse_server import HOSTS, find_access, is_configured, server_route
from ...sessions.langfuse.outbox import outbox_overview
from ..addresses import address_sentences
from ..command_context import CommandContext
from ..commands.session_command import session_scorer
from ..console import counted
from ..options import days_ago
from . import NOTE, OK, WARN, Check

_DAYS = 7
_SHOWN = 5
_MAX_EVENT = 300
_REFRESH = "memory refresh"
_LANGFUSE = "langfuse"


def index(context: CommandContext) -> Check:
    """Check that the index is intact and up to date."""
    if context.paths.state_dir is None:
        return Check("index", NOTE, "none, because there is no state folder")
    try:
        state = index_state(context.paths)
    except SqliteError as error:
        return Check("index", WARN, "unusable: %s; it will be rebuilt" % error, _REFRESH)
    status = state["state"]
    if status == "unusable":
        return Check("index", WARN, "unusable: %s; it will be rebuilt" % state["reason"], _REFRESH)
    if status == "missing":
        return Check("index", NOTE, "not built yet; the next session or save builds it", _REFRESH)
    size = "%s, %d kB" % (counted(int(str(state["memories"])), "entry"), int(str(state["bytes"])) // 1024)
    if status == "behind":
        return Check("index", NOTE, "older than the stores; the next prompt refreshes it; " + size, _REFRESH)
    return Check("index", OK, size)


def ledgers(context: CommandContext) -> Check:
    """Check that every line of the ledgers can be read."""
    folder = context.paths.state_dir
    skipped = []
    for name in ledger_names(folder) if folder is not None and os.path.isdir(folder) else ():
        rows = Records(folder or "", name)
        deque(rows, 0)  # `skipped` is known once all rows were read
        if rows.skipped:
            skipped.append("%s.jsonl: %d of %d lines cannot be read" % (name, rows.skipped, rows.lines))
    if skipped:
        return Check("ledgers", NOTE, "some lines cannot be read; they are skipped", "", tuple(skipped))
    return Check("ledgers", OK, "every line can be read")


def events(context: CommandContext) -> Check:
    """Report the problems that hooks recorded in the last seven days."""
    if context.paths.state_dir is None:
        return Check("events", NOTE, "not recorded, because there is no state folder")
    since = days_ago(_DAYS)
    rows = list(Records(context.paths.state_dir, "events", since))
    if not rows:
        return Check("events", OK, "no problems in hooks in the last %d days" % _DAYS)
    details = tuple(
        plain("%s %s: %s" % (row.get("time"), row.get("event"), row.get("what")), _MAX_EVENT)
        for row in rows[-_SHOWN:]
    )
    serious = any(row.get("kind") == "error" for row in rows)
    number = counted(len(rows), "problem")
    text = "%s in hooks in the last %d days; the prompts went through" % (number, _DAYS)
    return Check("events", WARN if serious else NOTE, text, "", details)


def langfuse(context: CommandContext) -> Check:
    """Check whether scores can be sent to a server, and how many are pending."""
    paths, settings = context.paths, context.settings
    if paths.state_dir is None or not is_configured(paths, settings):
        return Check(_LANGFUSE, OK, "not set up; session scores stay on this machine")
    try:
        overview = outbox_overview(paths, settings, find_access(paths, settings, session_scorer(context).off))
    except JudgeError as failed:
        fix = "" if failed.name == "disabled" else "memory session langfuse check"
        return Check(_LANGFUSE, WARN, "nothing is sent: %s" % failed.detail, fix)
    sent = counted(overview.sent, "score")
    text = "%s is set up (memory session langfuse check asks whether it answers); %s sent" % (
        overview.host,
        sent,
    )
    waiting = overview.unqueued + overview.pending
    if overview.refused:
        why = tuple(sorted(set(overview.refused.values())))[:_SHOWN]
        text += ", %d to send, %d refused by the server" % (waiting, len(overview.refused))
        return Check(
            _LANGFUSE, WARN, text, "memory session langfuse setup, then memory session langfuse push", why
        )
    address = tuple(address_sentences(context, server_route(paths, settings), HOSTS))
    if waiting:
        return Check(
            _LANGFUSE, NOTE, "%s, %d to send" % (text, waiting), "memory session langfuse push", address
        )
    return Check(_LANGFUSE, OK, text + ", nothing is pending", "", address)
