"""Actions that end an interview: finish (the summary, and the memories once the user confirms) and discard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...interview.exceptions import InterviewError
from ...interview.interview_store import FINISHED, InterviewStore
from ...interview.proposals import choose_memories, propose_memories, save_memory, summary
from ...interview.reminder import Reminder
from ..commands.refresh import refresh
from ..commands.similar import Similar, similar_lines, similar_to
from ..usage import WrongUse
from .turns import find_interview, read_input

if TYPE_CHECKING:
    import argparse
    from typing import Any

    from ...interview.interview_store import Interview
    from ..command_context import Session

__all__ = ["ACTIONS"]


def _finish(arguments: argparse.Namespace, session: Session) -> int:
    store, interview = find_interview(arguments, session)
    if interview.status == FINISHED:
        raise InterviewError("%s is finished already: its memories are written" % interview.id)
    proposed = propose_memories(interview)
    if not arguments.confirm:
        return _show_proposals(arguments, session, interview, proposed)
    chosen = choose_memories(read_input(), proposed)
    approved = _is_approved(session, interview)
    written = [save_memory(interview, one, session.places, approved=approved) for one in chosen]
    interview.status = FINISHED
    interview.state["next"] = None
    store.touch(interview)
    if interview.session:
        Reminder(session.places, interview.session).delete()
    refresh(session)
    new = [(one.stored.key, one.stored.memory) for one, _ in written]
    for (_, record), similar in zip(written, similar_to(session, new)):
        record["similar"] = [one._asdict() for one in similar]
    return _show_written(arguments, session, interview, [record for _, record in written])


def _is_approved(session: Session, interview: Interview) -> bool:
    """Return whether the user approves the memories: now, or by starting the interview in this session."""
    if session.has_word:
        return True
    return bool(session.id) and Reminder(session.places, session.id).is_approved(interview.id)


def _show_proposals(
    arguments: argparse.Namespace, session: Session, interview: Interview, proposed: list[dict[str, Any]]
) -> int:
    found = summary(interview)
    if arguments.json:
        session.console.json(dict(found, memories=proposed))
        return 0
    session.console.line("%s: %d questions" % (interview.topic, len(interview.state["turns"])))
    for one in proposed:
        session.console.line("  %s: %s (turn %d)" % (one["category"], one["title"], one["turn"]))
    if found["open"]:
        session.console.line("still open: %s" % ", ".join(found["open"]))
    session.console.line("run it again with --confirm to write these memories")
    return 0


def _show_written(
    arguments: argparse.Namespace, session: Session, interview: Interview, written: list[dict[str, Any]]
) -> int:
    if arguments.json:
        session.console.json({"interview": interview.id, "memories": written})
        return 0
    for one in written:
        session.console.line("%s %s" % ("saved" if one["created"] else "already stored as", one["id"]))
        for line in similar_lines([Similar(**found) for found in one["similar"]]):
            session.console.line(line)
    if written and not written[0]["trusted"]:
        session.console.line(
            "they are pending: accept them with /memory:status, or `memory accept` in a terminal"
        )
    return 0


def _discard(arguments: argparse.Namespace, session: Session) -> int:
    if not arguments.session:
        raise WrongUse(
            "discard: expected --session ID, so that none is deleted by mistake; `memory interview status` lists them"
        )
    store = InterviewStore(session.places.state())
    interview = store.find(arguments.session)
    store.forget(interview.id)
    if interview.session:
        Reminder(session.places, interview.session).delete()
    if arguments.json:
        session.console.json({"discarded": interview.id})
    else:
        session.console.line("deleted %s" % interview.id)
    return 0


ACTIONS = {"finish": _finish, "discard": _discard}
