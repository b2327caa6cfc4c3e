"""Actions that move an interview on: start, answer, check-question, skip, deeper, wrap-up, resume."""

from __future__ import annotations

import sys

from ...interview import pipeline
from ...interview.answer_input import decode_answer
from ...interview.decisions import DEEPER, WRAP_UP
from ...interview.exceptions import ConfigError, InvalidAnswer
from ...interview.interview_store import OPEN, InterviewStore
from ...interview.reminder import Reminder
from ...kernel.clock import Deadline
from ...kernel.context import Context
from ...kernel.ledger import open_ledger
from ..usage import must_exist

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from ...interview.interview_store import Interview
    from ..command_context import Session

__all__ = ["ACTIONS", "find_interview", "read_input"]

_SECONDS = 10.0
_MAX_INPUT = 1 << 20
_MAX_QUESTION = 500
_MAX_MORE = 200


def read_input() -> str:
    """Return the text on standard input. Raises InvalidAnswer when it is too long or not UTF-8."""
    data = sys.stdin.buffer.read(_MAX_INPUT + 1) if sys.stdin else b""
    if len(data) > _MAX_INPUT:
        raise InvalidAnswer("more than %d bytes on standard input" % _MAX_INPUT)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidAnswer("standard input is not UTF-8 (byte %d)" % error.start) from None


def find_interview(arguments: argparse.Namespace, session: Session) -> tuple[InterviewStore, Interview]:
    """Return the store and the interview that is meant. Raises InterviewError when that is unclear."""
    store = InterviewStore(session.places.state())
    return store, store.current(arguments.session, session.places.project_key, session.id)


def _start(arguments: argparse.Namespace, session: Session) -> int:
    from ...interview.setup import StartArguments, prepare_start

    topic = " ".join(arguments.words).strip()
    if not topic:
        session.console.error("start: expected a topic, such as: memory interview start 'billing export'")
        return 2
    must_exist(*(name for name in [arguments.pack] if name.endswith(".json")))
    text = read_input() if arguments.setup else ""
    names = [name for name in arguments.covered.split(",") if name.strip()]
    given = StartArguments(topic, arguments.pack, text, names, arguments.max_turns)
    folder = session.places.state("interview", "packs")
    setup, covered = prepare_start(given, folder, session.settings, pipeline.clean_text)
    new = pipeline.NewInterview(session.places.project_key, session.id, covered, approved=session.has_word)
    interview, decision = pipeline.start(InterviewStore(session.places.state()), setup, new)
    return _report(arguments, session, interview, decision)


def _answer(arguments: argparse.Namespace, session: Session) -> int:
    deadline = Deadline(_SECONDS)
    data = decode_answer(read_input())
    store, interview = find_interview(arguments, session)
    judge = None
    if session.settings.judge_asked_for("interview") and not session.taint.judges_off:
        judge = Context(session.places, session.settings, deadline, session.id)
    decision = pipeline.answer(store, interview, data, judge=judge)
    return _report(arguments, session, interview, decision)


def _check_question(arguments: argparse.Namespace, session: Session) -> int:
    """Check the question on the command line or standard input; exit code 1 when it repeats an earlier one."""
    question = pipeline.clean_text(" ".join(arguments.words) or read_input(), _MAX_QUESTION)
    if not question:
        raise InvalidAnswer(
            "check-question: expected the question, such as: check-question 'Who will use it?'"
        )
    found = pipeline.check_question(*find_interview(arguments, session), question)
    if arguments.json:
        session.console.json(found)
    else:
        session.console.line("fine" if found["ok"] else "asked already: %s" % found["repeats"])
    return 0 if found["ok"] else 1


def _skip(arguments: argparse.Namespace, session: Session) -> int:
    store, interview = find_interview(arguments, session)
    decision = pipeline.answer(store, interview, {"answer": "", "wish": "skip"})
    return _report(arguments, session, interview, decision)


def _steer(arguments: argparse.Namespace, session: Session) -> int:
    store, interview = find_interview(arguments, session)
    kind = DEEPER if arguments.action == "deeper" else WRAP_UP
    return _report(arguments, session, interview, pipeline.steer(store, interview, kind))


def _resume(arguments: argparse.Namespace, session: Session) -> int:
    if not 1 <= arguments.more <= _MAX_MORE:
        raise ConfigError("--more", "resume", "1 to %d" % _MAX_MORE, arguments.more)
    store, interview = find_interview(arguments, session)
    interview.approved = interview.approved or session.has_word
    decision = pipeline.resume(store, interview, session.id, arguments.more)
    return _report(arguments, session, interview, decision)


def _report(
    arguments: argparse.Namespace, session: Session, interview: Interview, decision: dict[str, Any]
) -> int:
    """Print the decision, write it to the ledger, and update the reminder of the session."""
    _remind(arguments, session, interview)
    ledger = open_ledger(session.places, session.settings, "interviews")
    problem = ledger.append(interview.session, interview.project, pipeline.ledger_fields(interview, decision))
    if problem:
        session.console.error("the decision was not written to the ledger: " + problem)
    found = pipeline.decision_brief(interview, decision)
    if arguments.json:
        session.console.json(found)
    else:
        _show(session, found)
    return 0


def _remind(arguments: argparse.Namespace, session: Session, interview: Interview) -> None:
    if not interview.session:
        return
    reminder = Reminder(session.places, interview.session)
    try:
        if arguments.action in ("start", "resume"):
            reminder.create(interview.id, interview.topic, approved=interview.approved)
        elif interview.status != OPEN:
            reminder.silence()
    except OSError as error:
        session.console.error(
            "the next prompt will not mention the interview: %s" % (error.strerror or error)
        )


def _show(session: Session, found: dict[str, Any]) -> None:
    line = session.console.line
    line("%s, turn %d, %s" % (found["interview"], found["turn"], found["phase"]))
    if found["stop"]:
        line("stop: %s" % found["why"])
        if found.get("deferred"):
            line("still open: %s" % ", ".join(found["deferred"]))
        line("next: memory interview finish --session %s" % found["interview"])
    else:
        line("%s: %s" % (found["strategy"], found["intent"]))
        line("  why: %s" % found["why"])
    line("  %s" % found["progress"]["line"])
    for note in found.get("dropped", ()):
        line("  not used: %s" % note)


ACTIONS = {
    "start": _start,
    "answer": _answer,
    "check-question": _check_question,
    "skip": _skip,
    "deeper": _steer,
    "wrap-up": _steer,
    "resume": _resume,
}
