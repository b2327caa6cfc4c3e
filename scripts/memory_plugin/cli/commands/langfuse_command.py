"""`memory session langfuse`: send scores to a Langfuse server, and read sessions from it.

Exit codes: 0 done, 1 failed or something is still pending, 2 usage.
"""

from __future__ import annotations

import argparse

from ...kernel.clock import Deadline, iso
from ...kernel.judge.credentials import ServerAccess
from ...kernel.judge.question import JudgeError, explain_failure
from ...kernel.text.clean import terminal_safe
from ...sessions.langfuse.langfuse_client import (
    HOSTS,
    LangfuseClient,
    ensure_configs,
    existing_configs,
    find_access,
    probe,
    score_configs,
    server_route,
)
from ...sessions.langfuse.pull import keep_session, read_session
from ...sessions.langfuse.push import Outbox, outbox_overview, send_scores
from ..command_context import Approval, CommandContext, CommandError
from ..console import counted
from ..judges import address_notice, address_sentences, ignored_sentences
from ..options import add_actions
from .session_command import session_scorer

DONE, FAILED = 0, 1
HELP = "exchange scores and sessions with a Langfuse server: check, setup, push, pull, status"
EXAMPLES = """\
  memory session langfuse check         tests the server and lists what is missing there
  memory session langfuse setup         creates the seven score configs; run it once
  memory session langfuse push          sends the scores that the server does not have yet
  memory session langfuse push --seconds 600
  memory session langfuse pull SESSION  downloads a session; then: memory session score FILE
  memory session langfuse status        shows pending, sent and refused scores
"""
_ACTIONS = {
    "check": "show the server, its version and missing score configs",
    "setup": "create the missing score configs",
    "push": "send the scores that the server does not have yet, and verify that they arrived",
    "pull": "download a session and store it as a transcript that can be graded",
    "status": "show pending, sent and refused scores without contacting the server",
}
_NEEDS_APPROVAL = {
    "setup": "create score configs in Langfuse",
    "push": "send scores to Langfuse",
    "pull": "read sessions from Langfuse",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    actions = add_actions(parser, _ACTIONS)
    for name, action in actions.items():
        if name != "status":
            action.add_argument(
                "--seconds",
                type=float,
                default=120.0,
                metavar="N",
                help="the time limit in seconds, including retries (default: 120)",
            )
    actions["pull"].add_argument("session", metavar="SESSION", help="the id of the session in Langfuse")


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval | None:  # noqa: ARG001  (every command gets the same arguments)
    """Return what would be sent or read; None for other actions."""
    action = _NEEDS_APPROVAL.get(arguments.action)
    return Approval(action) if action else None


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Run one action."""
    try:
        access = find_access(context.paths, context.settings, session_scorer(context).off)
        actions = {"check": _check, "setup": _setup, "push": _push, "pull": _pull, "status": _status}
        return actions[arguments.action](arguments, context, access)
    except JudgeError as failed:
        hint = _hint(failed.name)
        detail = failed.detail or explain_failure(failed.name, "sessions").says
        if arguments.json:
            context.console.json({"ok": False, "failure": failed.name, "detail": detail, "do": hint})
        else:
            context.console.error(": ".join(filter(None, [failed.name, detail, hint])))
            for text in [] if failed.name == "disabled" else ignored_sentences(context, HOSTS):
                context.console.error(text)
        return FAILED


def _hint(failure: str) -> str:
    """Return how to fix a failure; the general advice would name the judge's settings instead."""
    if failure in ("no_key", "disabled", "bad_url"):
        return ""
    if failure in ("http_401", "http_403"):
        return "check LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY and whether they belong to this host"
    if failure == "rate_limited":
        return "run it again later; nothing is lost"
    return "check sessions.langfuse.host or LANGFUSE_HOST, and the connection; nothing is lost"


def _seconds(arguments: argparse.Namespace) -> float:
    seconds: float = arguments.seconds
    return max(1.0, min(seconds, 86400.0))


def _client(arguments: argparse.Namespace, access: ServerAccess) -> LangfuseClient:
    return LangfuseClient(access, Deadline(_seconds(arguments)))


def _check(arguments: argparse.Namespace, context: CommandContext, access: ServerAccess) -> int:
    client = _client(arguments, access)
    server, host = probe(client), access.address.authority
    missing = sorted(set(score_configs()) - set(existing_configs(client)))
    address = address_sentences(context, server_route(context.paths, context.settings), HOSTS)
    record = {
        "host": host,
        "reads_sessions": server["sessions"],
        "reads_scores": server["scores"],
        "missing_configs": missing,
        "address": address,
    }
    configs = "all score configs exist"
    if missing:
        configs = "missing score configs: %s (memory session langfuse setup)" % ", ".join(missing)
    read = "sessions are read as %s, scores as %s" % (server["sessions"], server["scores"])
    context.console.result(arguments.json, record, "%s answers; %s; %s" % (host, read, configs))
    for text in () if arguments.json else address:
        context.console.paragraph(text)
    return DONE


def _setup(arguments: argparse.Namespace, context: CommandContext, access: ServerAccess) -> int:
    outbox = Outbox(context.paths, access)
    with outbox.lock():
        outbox.reload()
        client = _client(arguments, access)
        before = existing_configs(client)
        outbox.configs = ensure_configs(client)
        outbox.save()
    created = sorted(set(outbox.configs) - set(before))
    route = server_route(context.paths, context.settings)
    notices = address_notice(context, route, "sessions.langfuse.host")
    record = {"configs": outbox.configs, "created": created, "said": notices}
    text = "%s, %d of them new" % (counted(len(outbox.configs), "score config"), len(created))
    context.console.result(arguments.json, record, text, *notices)
    return DONE


def _push(arguments: argparse.Namespace, context: CommandContext, access: ServerAccess) -> int:  # noqa: ARG001 (every action has this signature)
    off, progress = session_scorer(context).off, context.console.progress
    pushed = send_scores(context.paths, context.settings, off, _seconds(arguments), progress)
    context.console.progress("")
    counts = (pushed.confirmed, pushed.pending, len(pushed.refused))
    line = "%d arrived, %d pending, %d refused" % counts if any(counts) else "nothing to send"
    record = {"arrived": pushed.confirmed, "waiting": pushed.pending, "refused": pushed.refused}
    context.console.result(arguments.json, record, line)
    if pushed.pending:
        context.console.error(
            "%s not confirmed by the server yet; run it again later, nothing is lost"
            % counted(pushed.pending, "score")
        )
    return FAILED if pushed.pending or pushed.refused else DONE


def _pull(arguments: argparse.Namespace, context: CommandContext, access: ServerAccess) -> int:
    client = _client(arguments, access)
    outbox = Outbox(context.paths, access)
    server = outbox.server or probe(client)
    traces = read_session(client, server, arguments.session)
    if not traces:
        raise CommandError("%s has no session %s" % (access.address.authority, arguments.session))
    path = keep_session(context.paths, arguments.session, traces)
    steps = sum(len(trace.steps) for trace in traces)
    record = {"file": path, "traces": len(traces), "observations": steps}
    counts = "%s, %s" % (counted(len(traces), "trace"), counted(steps, "observation"))
    text = "%s: %s; to grade it: memory session score FILE" % (counts, path)
    context.console.result(arguments.json, record, text)
    return DONE


def _status(arguments: argparse.Namespace, context: CommandContext, access: ServerAccess) -> int:
    overview = outbox_overview(context.paths, access)
    record = {
        "host": overview.host,
        "not_queued": overview.unqueued,
        "waiting": overview.pending,
        "sent": overview.sent,
        "refused": overview.refused,
        "not_before": iso(overview.not_before) if overview.not_before else None,
    }
    counts = (overview.sent, overview.pending, overview.unqueued, len(overview.refused))
    line = "%s: %d sent, %d pending, %d not queued yet, %d refused" % (overview.host, *counts)
    refused = ["  refused: %s" % terminal_safe(why) for why in sorted(set(overview.refused.values()))]
    context.console.result(arguments.json, record, line, *refused)
    return DONE
