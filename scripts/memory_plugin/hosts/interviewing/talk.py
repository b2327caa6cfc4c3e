"""The talk itself: start, answer, check-question, skip, deeper, wrap-up, resume."""

from __future__ import annotations

from ...interview import pipeline
from ...interview.deciding import DEEPER, WRAP_UP
from ...interview.errors import BadInput, ConfigError
from ...interview.intake import parsed
from ...interview.reminder import Reminder
from ...interview.store import OPEN
from ...kernel.clock import Deadline
from ...kernel.ledger import Ledger
from ..wrong_use import must_exist
from .finding import cleaned, opened, read_input, the_interview

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from ...interview.store import Interview
    from ..session_context import Session

__all__ = ["DEEDS"]

_SECONDS = 10.0


def _start(arguments: argparse.Namespace, session: Session) -> int:
    from ...interview.beginning import Given, prepared

    topic = " ".join(arguments.words).strip()
    if not topic:
        session.console.error("start: expected a topic, such as: memory interview start 'billing export'")
        return 2
    must_exist(*(name for name in [arguments.pack] if name.endswith(".json")))
    text = read_input() if arguments.setup else ""
    names = [name for name in arguments.covered.split(",") if name.strip()]
    given = Given(topic, arguments.pack, text, names, arguments.max_turns)
    setup, covered = prepared(given, session.places.state("interview", "packs"), session.settings, cleaned)
    begin = pipeline.Begin(session.places.project_key, session.id, covered, word=session.has_word)
    interview, decision = pipeline.start(opened(session), setup, begin)
    return _told(arguments, session, interview, decision)


def _answer(arguments: argparse.Namespace, session: Session) -> int:
    deadline = Deadline(_SECONDS)
    data = parsed(read_input())
    store = opened(session)
    interview = the_interview(arguments, session, store)
    failure = _ask_judge(data, interview, session, deadline)
    decision = pipeline.answer(store, interview, data, cleaned)
    if failure:
        decision["judge"] = failure
    return _told(arguments, session, interview, decision)


def _ask_judge(data: dict[str, Any], interview: Interview, session: Session, deadline: Deadline) -> str:
    """Let a judge read the signals that did not come with the answer, where the user wants one; the failure's name, or empty."""
    answer = data.get("answer")
    wanted = session.settings.judge_asked_for("interview") and not session.taint.judges_off
    if not wanted or "signals" in data or not isinstance(answer, str) or not answer.strip():
        return ""
    from ...interview.judged import judged_signals

    found, failure = judged_signals(interview, answer, session.places, session.settings, session.id, deadline)
    if found:
        data["signals"] = found
    return failure


def _check(arguments: argparse.Namespace, session: Session) -> int:
    """Whether the question, a word or standard input, may be asked; exit code 1 when it repeats an earlier one."""
    question = cleaned(" ".join(arguments.words) or read_input(), 500)
    if not question:
        raise BadInput("check-question: expected the question, such as: check-question 'Who will use it?'")
    store = opened(session)
    found = pipeline.check_question(store, the_interview(arguments, session, store), question)
    if arguments.json:
        session.console.json(found)
    else:
        session.console.line("fine" if found["ok"] else "asked already: %s" % found["repeats"])
    return 0 if found["ok"] else 1


def _skip(arguments: argparse.Namespace, session: Session) -> int:
    store = opened(session)
    interview = the_interview(arguments, session, store)
    decision = pipeline.answer(store, interview, {"answer": "", "wish": "skip"}, cleaned)
    return _told(arguments, session, interview, decision)


def _wish(arguments: argparse.Namespace, session: Session) -> int:
    store = opened(session)
    interview = the_interview(arguments, session, store)
    kind = DEEPER if arguments.action == "deeper" else WRAP_UP
    return _told(arguments, session, interview, pipeline.wish(store, interview, kind))


def _resume(arguments: argparse.Namespace, session: Session) -> int:
    if not 1 <= arguments.more <= 200:
        raise ConfigError("--more", "resume", "1 to 200", arguments.more)
    store = opened(session)
    interview = the_interview(arguments, session, store)
    interview.word = interview.word or session.has_word
    decision = pipeline.resume(store, interview, session.id, arguments.more)
    return _told(arguments, session, interview, decision)


def _told(
    arguments: argparse.Namespace, session: Session, interview: Interview, decision: dict[str, Any]
) -> int:
    """Print the decision, write it down, and keep the session's reminder in step."""
    _remind(arguments, session, interview)
    ledger = Ledger(
        session.places.state(),
        "interviews",
        session.settings.integer("ledger.max_bytes"),
        session.settings.integer("ledger.keep_files"),
    )
    trouble = ledger.append(interview.session, interview.project, pipeline.record(interview, decision))
    if trouble:
        session.console.error("not written down: " + trouble)
    found = pipeline.brief(interview, decision)
    if "judge" in decision:
        found["judge"] = decision["judge"]
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
            reminder.leave(interview.id, interview.topic, word=interview.word)
        elif interview.status != OPEN:
            reminder.quiet()
    except OSError as error:
        session.console.error("the next prompt will not mention it: %s" % (error.strerror or error))


def _show(session: Session, found: dict[str, Any]) -> None:
    line = session.console.line
    line("%s, turn %d, %s" % (found["interview"], found["turn"], found["phase"]))
    if found["stop"]:
        line("stop: %s" % found["why"])
        if found.get("deferred"):
            line("left open: %s" % ", ".join(found["deferred"]))
        line("next: memory interview finish --session %s" % found["interview"])
    else:
        line("%s: %s" % (found["strategy"], found["intent"]))
        line("  why: %s" % found["why"])
    line("  %s" % found["progress"]["line"])
    for note in found.get("dropped", ()):
        line("  not used: %s" % note)


DEEDS = {
    "start": _start,
    "answer": _answer,
    "check-question": _check,
    "skip": _skip,
    "deeper": _wish,
    "wrap-up": _wish,
    "resume": _resume,
}
