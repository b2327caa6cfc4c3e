"""`memory langfuse`: scores to a Langfuse server, sessions from it.

Exit codes: 0 done and well, 1 failed or something still waits, 2 usage.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ...kernel.clock import Deadline, iso
from ...kernel.judge.outcome import Failed
from ...kernel.judge.words import words_for
from ...kernel.settings.advice import terminal_safe
from ...sessions.langfuse.access import HOSTS, find_access, server_route
from ...sessions.langfuse.client import Client
from ...sessions.langfuse.configs import ensure, existing, wanted
from ...sessions.langfuse.observations import read_session
from ...sessions.langfuse.outbox import Outbox
from ...sessions.langfuse.overview import overview
from ...sessions.langfuse.pull import keep
from ...sessions.langfuse.sending import send
from ...sessions.langfuse.server import probe
from ..addresses import address_words, ignored_words, keep_address
from .session import scorer_of

if TYPE_CHECKING:
    from ...kernel.judge.access import Access
    from ..session_context import Session

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

DONE, FAILED = 0, 1
HELP = "scores to a Langfuse server and sessions from it: check, setup, push, pull, status"
EXAMPLES = """\
  memory langfuse check         which server, which keys, does it answer
  memory langfuse setup         create the seven score configs, once
  memory langfuse push          send the scores that are not there yet
  memory langfuse push --seconds 600
  memory langfuse pull SESSION  read a session; then: memory session score FILE
  memory langfuse status        what waits, what was sent, what was refused
"""
_ACTIONS = {
    "check": "which server, which keys, does it answer, how is it read",
    "setup": "create the score configs that are missing",
    "push": "send the scores that are not there yet, and see that they arrived",
    "pull": "read a session and keep it as a transcript that can be graded",
    "status": "what waits, what was sent, what was refused; asks no server",
}
_WORD = {
    "setup": "create score configs in Langfuse",
    "push": "send scores to Langfuse",
    "pull": "read sessions from Langfuse",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, purpose in _ACTIONS.items():
        action = actions.add_parser(name, help=purpose, description=purpose)
        # Suppressed defaults: what stands before the action's name must survive what is missing after it.
        action.add_argument("--root", metavar="DIR", default=argparse.SUPPRESS, help="the project")
        action.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help="print JSON for programs"
        )
        if name != "status":
            action.add_argument(
                "--seconds",
                type=float,
                default=120.0,
                metavar="N",
                help="how long it may take, waits included (default: 120)",
            )
        if name == "setup":
            action.add_argument(
                "--keep-address",
                action="store_true",
                help="write a host that only your environment names into your own settings, without asking",
            )
        if name == "pull":
            action.add_argument("session", metavar="SESSION", help="the session's id in Langfuse")


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Do one action."""
    if arguments.action in _WORD and not session.require_word(_WORD[arguments.action]):
        return FAILED
    try:
        access = find_access(session.places, session.settings, scorer_of(session).off)
        action = {"check": _check, "setup": _setup, "push": _push, "pull": _pull, "status": _status}[
            arguments.action
        ]
        return action(arguments, session, access)
    except Failed as failed:
        hint = _hint(failed.name)
        detail = failed.detail or words_for(failed.name, "sessions").says
        if arguments.json:
            session.console.json({"ok": False, "failure": failed.name, "detail": detail, "do": hint})
        else:
            session.console.error(": ".join(filter(None, [failed.name, detail, hint])))
            for text in [] if failed.name == "disabled" else ignored_words(session, HOSTS):
                session.console.error(text)
        return FAILED


def _hint(failure: str) -> str:
    """What to do about a failure; the words of the judges name their own settings."""
    if failure in ("no_key", "disabled", "bad_url"):
        return ""
    if failure in ("http_401", "http_403"):
        return "check LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY and whether they belong to this host"
    if failure == "rate_limited":
        return "run it again later, nothing is lost"
    return "check sessions.langfuse.host or LANGFUSE_HOST, and the connection; nothing is lost"


def _client(arguments: argparse.Namespace, access: Access) -> Client:
    return Client(access, Deadline(max(1.0, min(arguments.seconds, 86400.0))))


def _say(arguments: argparse.Namespace, session: Session, record: dict[str, Any], line: str) -> None:
    if arguments.json:
        session.console.json(record)
    else:
        session.console.line(line)


def _check(arguments: argparse.Namespace, session: Session, access: Access) -> int:
    client = _client(arguments, access)
    server = probe(client)
    missing = sorted(set(wanted()) - set(existing(client)))
    record = {
        "host": access.address.authority,
        "reads_sessions": server["sessions"],
        "reads_scores": server["scores"],
        "missing_configs": missing,
        "address": _address(session),
    }
    lacks = (
        "; missing score configs: %s (memory langfuse setup)" % ", ".join(missing)
        if missing
        else "; all score configs are there"
    )
    line = "%s answers; sessions are read as %s, scores as %s%s" % (
        access.address.authority,
        server["sessions"],
        server["scores"],
        lacks,
    )
    _say(arguments, session, record, line)
    if not arguments.json:
        for text in _address(session):
            session.console.paragraph(text)
    return DONE


def _address(session: Session) -> list[str]:
    return address_words(session, server_route(session.places, session.settings), HOSTS)


def _setup(arguments: argparse.Namespace, session: Session, access: Access) -> int:
    outbox = Outbox(session.places, access)
    with outbox.lock():
        outbox.reload()
        client = _client(arguments, access)
        before = existing(client)
        outbox.configs = ensure(client)
        outbox.save()
    created = sorted(set(outbox.configs) - set(before))
    route = server_route(session.places, session.settings)
    said = keep_address(session, route, "sessions.langfuse.host", keep=arguments.keep_address)
    _say(
        arguments,
        session,
        {"configs": outbox.configs, "created": created, "said": said},
        "\n".join(["%d score configs, %d of them new" % (len(outbox.configs), len(created)), *said]),
    )
    return DONE


def _push(arguments: argparse.Namespace, session: Session, access: Access) -> int:  # noqa: ARG001 (every action is given the same)
    seconds = max(1.0, min(arguments.seconds, 86400.0))
    pushed = send(session.places, session.settings, scorer_of(session).off, seconds, session.console.progress)
    session.console.progress("")
    counts = (pushed.confirmed, pushed.waiting, len(pushed.refused))
    line = "%d scores arrived, %d wait, %d refused" % counts if any(counts) else "nothing is to be sent"
    _say(
        arguments,
        session,
        {"arrived": pushed.confirmed, "waiting": pushed.waiting, "refused": pushed.refused},
        line,
    )
    if pushed.waiting:
        session.console.error(
            "not seen on the server yet: %d; run it again later, nothing is lost" % pushed.waiting
        )
    return FAILED if pushed.waiting or pushed.refused else DONE


def _pull(arguments: argparse.Namespace, session: Session, access: Access) -> int:
    client = _client(arguments, access)
    outbox = Outbox(session.places, access)
    server = outbox.server or probe(client)
    traces = read_session(client, server, arguments.session)
    if not traces:
        session.console.error("no session %s on %s" % (arguments.session, access.address.authority))
        return FAILED
    path = keep(session.places, arguments.session, traces)
    steps = sum(len(trace.steps) for trace in traces)
    record = {"file": path, "traces": len(traces), "observations": steps}
    _say(
        arguments,
        session,
        record,
        "%d traces, %d observations: %s; grade it: memory session score FILE" % (len(traces), steps, path),
    )
    return DONE


def _status(arguments: argparse.Namespace, session: Session, access: Access) -> int:
    found = overview(session.places, session.settings, access)
    record: dict[str, Any] = {
        "host": found.host,
        "not_queued": found.unqueued,
        "waiting": found.waiting,
        "sent": found.sent,
        "refused": found.refused,
        "not_before": iso(found.not_before) if found.not_before else None,
    }
    line = "%s: %d sent, %d wait, %d not sent yet, %d refused" % (
        found.host,
        found.sent,
        found.waiting,
        found.unqueued,
        len(found.refused),
    )
    _say(arguments, session, record, line)
    if not arguments.json:
        for why in sorted(set(found.refused.values())):
            session.console.line("  refused: %s" % terminal_safe(why))
    return DONE
