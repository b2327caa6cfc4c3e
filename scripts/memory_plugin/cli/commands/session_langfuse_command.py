"""`memory session langfuse`: send scores to a Langfuse server, and read sessions from it.

Exit codes: 0 done, 1 failed or something is still pending, 2 usage.
"""

from __future__ import annotations

import argparse

from ...kernel.context import Deadline
from ...kernel.judge.credentials import ServerAccess
from ...kernel.judge.question import JudgeError, explain_failure
from ...kernel.text.clean import counted
from ...sessions.langfuse_client import (
    HOSTS,
    SECONDS,
    LangfuseClient,
    find_access,
    keep_session,
    probe,
    read_session,
    server_route,
)
from ...sessions.langfuse_scores import Outbox, ensure_configs, existing_configs, score_configs, send_scores
from ...work.judges import address_sentences, ignored_sentences, session_scorer
from ..command_context import Approval, CommandContext, CommandError
from ..options import add_actions

DONE, FAILED = 0, 1
HELP = "exchange scores and sessions with a Langfuse server: check, setup, push, pull"
EXAMPLES = """\
  memory session langfuse check         tests the server and lists what is missing there
  memory session langfuse setup         creates the seven score configs; run it once
  memory session langfuse push          sends the scores that the server does not have yet
  memory session langfuse pull SESSION  downloads a session; then: memory session score FILE
"""
_ACTIONS = {
    "check": "show the server, its version and missing score configs",
    "setup": "create the missing score configs",
    "push": "send the scores that the server does not have yet, and verify that they arrived",
    "pull": "download a session and store it as a transcript that can be graded",
}
_NEEDS_APPROVAL = {
    "setup": "create score configs in Langfuse?",
    "push": "send scores to Langfuse?",
    "pull": "read sessions from Langfuse?",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    actions = add_actions(parser, _ACTIONS)
    actions["pull"].add_argument("session", metavar="SESSION", help="the id of the session in Langfuse")


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval | None:  # noqa: ARG001  (every command gets the same arguments)
    """Return what would be sent or read; None for other actions."""
    action = _NEEDS_APPROVAL.get(arguments.action)
    return Approval(action) if action else None


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Run one action."""
    try:
        access = find_access(context.paths, context.settings, session_scorer(context).off)
        actions = {"check": _check, "setup": _setup, "push": _push, "pull": _pull}
        return actions[arguments.action](arguments, context, access)
    except JudgeError as failed:
        hint = _hint(failed.name)
        detail = failed.detail or explain_failure(failed.name, "sessions").says.rstrip(".")
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
    if failure == "rate_limited":
        return "Nothing is lost; run it again later"
    return "check LANGFUSE_HOST or sessions.langfuse.host, the two keys, and the connection; nothing is lost"


def _check(arguments: argparse.Namespace, context: CommandContext, access: ServerAccess) -> int:
    client = LangfuseClient(access, Deadline(SECONDS))
    server, host = probe(client), access.address.authority
    missing = sorted(set(score_configs()) - set(existing_configs(client)))
    address = address_sentences(context, server_route(context.paths, context.settings), HOSTS)
    reads = {"reads_" + name: version for name, version in server.items()}
    record = {"host": host, **reads, "missing_configs": missing, "address": address}
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
        client = LangfuseClient(access, Deadline(SECONDS))
        before = existing_configs(client)
        outbox.configs = ensure_configs(client)
        outbox.save()
    created = sorted(set(outbox.configs) - set(before))
    record = {"configs": outbox.configs, "created": created}
    text = "%s, %d of them new" % (counted(len(outbox.configs), "score config"), len(created))
    context.console.result(arguments.json, record, text)
    return DONE


def _push(arguments: argparse.Namespace, context: CommandContext, access: ServerAccess) -> int:  # noqa: ARG001 (every action has this signature)
    off, progress = session_scorer(context).off, context.console.progress
    pushed = send_scores(context.paths, context.settings, off, SECONDS, progress)
    context.console.progress("")
    counts = (pushed.confirmed, pushed.pending, len(pushed.refused))
    line = "%d arrived, %d pending, %d refused" % counts if any(counts) else "nothing to send"
    record = {"arrived": pushed.confirmed, "waiting": pushed.pending, "refused": pushed.refused}
    context.console.result(arguments.json, record, line)
    if pushed.pending:
        context.console.error(
            "%s not confirmed by the server yet. Nothing is lost; run it again later"
            % counted(pushed.pending, "score")
        )
    return FAILED if pushed.pending or pushed.refused else DONE


def _pull(arguments: argparse.Namespace, context: CommandContext, access: ServerAccess) -> int:
    client = LangfuseClient(access, Deadline(SECONDS))
    server = Outbox(context.paths, access).server or probe(client)
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
