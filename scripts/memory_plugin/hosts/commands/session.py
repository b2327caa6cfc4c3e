"""`memory session`: what can be seen in a session, and its grade.

Exit codes: 0 done, 1 not graded or not found, 2 usage.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from ...kernel.files import in_words
from ...kernel.judge.reply import read_reply
from ...kernel.judge.words import words_for
from ...kernel.settings.advice import terminal_safe
from ...sessions.agents import answers_of_agents
from ...sessions.asking import prepare
from ...sessions.locate import current, of_project
from ...sessions.pages import agent_tokens, pages
from ...sessions.pipeline import Graded, Scorer, grade_session, store_reply
from ...sessions.records import latest, session_id
from ...sessions.reply import read_scores
from ...sessions.signals import collect, record
from ...sessions.timeline import Timeline
from ..session_named import transcript_named
from ..session_views import show_scores, show_signals, show_timeline

if TYPE_CHECKING:
    from ..session_context import Session

__all__ = ["EXAMPLES", "HELP", "configure", "run", "scorer_of"]

DONE, FAILED, USAGE = 0, 1, 2
HELP = "signals and grade of a session: signals, score, prepare, store, list"
EXAMPLES = """\
  memory session signals --current          what can be seen without a judge
  memory session signals path/to/x.jsonl --json
  memory session score 0d1ec0de             six scores with evidence, into sessions.jsonl
  memory session score --project            all sessions of this project that are not graded yet
  memory session score --project --batch    the same at half the price; run it again to collect
  memory session list
"""
_MAX_INPUT = 256 * 1024
_SEND_SECONDS = 60.0
_NO_GRADE = "standard input holds no grade: expected one JSON object with the six dimensions, as `memory session prepare` asks for it"
_NO_AGENT = (
    "no sub-agent of this session has graded it yet: wait for its answer, or ask it for the JSON object alone"
)
_WITHOUT_TARGET = ("list", "ended")
_ACTIONS = {
    "signals": "what can be seen in a session, each with its turns",
    "score": "six scores with evidence by the judge, into the ledger",
    "prepare": "the session as a scorer reads it, page by page",
    "store": "check and keep what a scorer answered: JSON from standard input, or --agent",
    "list": "the sessions that are graded",
    "ended": "grade the sessions that ended since, as SessionEnd starts it",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    made = {}
    for name, purpose in _ACTIONS.items():
        made[name] = action = actions.add_parser(name, help=purpose, description=purpose)
        # Suppressed defaults: what stands before the action's name must survive what is missing after it.
        action.add_argument("--root", metavar="DIR", default=argparse.SUPPRESS, help="the project")
        action.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help="print JSON for programs"
        )
        if name not in _WITHOUT_TARGET:
            action.add_argument(
                "target",
                nargs="?",
                metavar="FILE|ID",
                help="a transcript, or a session's id or its beginning",
            )
            action.add_argument(
                "--current", action="store_true", help="this session; outside of one, the project's newest"
            )
    made["signals"].add_argument(
        "--moments", type=int, default=60, metavar="N", help="lines of the timeline (default: 60)"
    )
    made["score"].add_argument(
        "--project", action="store_true", help="all sessions of the project that are not graded yet"
    )
    made["score"].add_argument(
        "--again", action="store_true", help="with --project: also those that are graded already"
    )
    made["score"].add_argument(
        "--batch",
        action="store_true",
        help="through the provider's batch interface: half the price, within a day",
    )
    made["store"].add_argument(
        "--agent",
        action="store_true",
        help="take the answer of this session's own sub-agent from its transcript",
    )
    made["prepare"].add_argument("--page", type=int, default=1, metavar="N", help="which page (default: 1)")


def run(arguments: argparse.Namespace, session: Session) -> int:
    """Do one action."""
    if arguments.action in _WITHOUT_TARGET:
        return {"list": _list, "ended": _ended}[arguments.action](arguments, session)
    whole = arguments.action == "score" and arguments.project
    if sum((bool(arguments.target), arguments.current, whole)) != 1:
        session.console.error(
            "name one of: a file, an id, --current%s" % (", --project" if arguments.action == "score" else "")
        )
        return USAGE
    if arguments.action == "score" and (whole or arguments.batch):
        return _score_many(arguments, session)
    path = transcript_named(arguments, session)
    return {"signals": _signals, "score": _score, "prepare": _prepare, "store": _store}[arguments.action](
        path, arguments, session
    )


def scorer_of(session: Session) -> Scorer:
    """What grading needs in this run."""
    return Scorer(session.places, session.settings, terminal_safe(session.taint.why_off))


def _signals(path: str, arguments: argparse.Namespace, session: Session) -> int:
    timeline = Timeline()
    signals = collect(path, timeline.add)
    if arguments.json:
        session.console.json({"file": path, **record(signals), "scores": None})
        return DONE
    show_signals(session.console, os.path.basename(path), signals)
    show_timeline(session.console, timeline.moments(signals.sightings, max(0, arguments.moments)))
    show_scores(session.console, None)
    session.console.line("To have it graded: memory session score, or /memory:score-session in Claude Code")
    return DONE


def _score(path: str, arguments: argparse.Namespace, session: Session) -> int:
    graded = grade_session(path, scorer_of(session))
    return _show(graded, arguments, session)


def _show(graded: Graded, arguments: argparse.Namespace, session: Session) -> int:
    console = session.console
    if arguments.json:
        console.json(
            {
                "file": graded.prepared.path,
                "row": graded.row,
                "failures": graded.failures,
                "trouble": graded.trouble,
            }
        )
    else:
        show_signals(console, session_id(graded.prepared), graded.prepared.signals)
        show_scores(console, graded.row)
    if graded.row is not None and not graded.trouble and session.settings.flag("sessions.langfuse.automatic"):
        _send(session)
    for failure in dict.fromkeys(graded.failures):
        console.error(_why(failure, graded))
    if graded.row is not None and graded.trouble:
        console.error("the grade was not written down: " + graded.trouble)
    return DONE if graded.row is not None and not graded.trouble else FAILED


def _send(session: Session) -> None:
    from ...kernel.judge.outcome import Failed
    from ...sessions.langfuse.sending import send

    try:
        send(
            session.places, session.settings, scorer_of(session).off, _SEND_SECONDS, session.console.progress
        )
    except (Failed, OSError) as error:
        why = error.name if isinstance(error, Failed) else in_words(error)
        session.console.error(
            "the scores wait to be sent to Langfuse (%s); later: memory langfuse push" % why
        )


def _why(failure: str, graded: Graded) -> str:
    if failure == "empty":
        return "not graded: the transcript holds no turn"
    if failure == "disabled":
        trouble = graded.trouble or "the judge is off"
        return "not graded: %s; without a key, /memory:score-session lets a sub-agent grade" % trouble
    words = words_for(failure, "sessions")
    size = ""
    if failure == "over_budget":
        size = " This session has about %d tokens in %d parts." % (
            graded.prepared.tokens,
            len(graded.prepared.parts),
        )
    return "not graded (%s): %s%s %s" % (failure, words.says, size, words.do)


def _score_many(arguments: argparse.Namespace, session: Session) -> int:
    from ..session_batches import score_by_batch
    from ..session_series import score_one_by_one

    paths = of_project(session.places) if arguments.project else [transcript_named(arguments, session)]
    if not paths:
        session.console.error("no session of this project was found")
        return FAILED
    run_all = score_by_batch if arguments.batch else score_one_by_one
    return run_all(paths, scorer_of(session), session.console, again=arguments.again, as_json=arguments.json)


def _prepare(path: str, arguments: argparse.Namespace, session: Session) -> int:
    found = pages(prepare(path, session.settings, agent_tokens()))
    if not 1 <= arguments.page <= len(found):
        session.console.error("--page: expected 1 to %d, got %d" % (len(found), arguments.page))
        return USAGE
    if arguments.json:
        session.console.json(
            {
                "session": os.path.basename(path),
                "page": arguments.page,
                "pages": len(found),
                "text": found[arguments.page - 1],
            }
        )
    else:
        session.console.line(found[arguments.page - 1])
    return DONE


def _store(path: str, arguments: argparse.Namespace, session: Session) -> int:
    answer = _agents_answer(arguments, session) if arguments.agent else _given_answer()
    if answer is None:
        session.console.error(_NO_AGENT if arguments.agent else _NO_GRADE)
        return FAILED
    prepared = prepare(path, session.settings, agent_tokens())
    graded = store_reply(
        prepared, answer, {"by": "agent", "cost_usd": None, "failures": []}, scorer_of(session)
    )
    return _show(graded, arguments, session)


def _given_answer() -> dict[str, Any] | None:
    return read_reply(sys.stdin.buffer.read(_MAX_INPUT).decode("utf-8", "replace"), read_scores)


def _agents_answer(arguments: argparse.Namespace, session: Session) -> dict[str, Any] | None:
    """The grade that a sub-agent of this session gave last to the session that is named."""
    wanted = "--current" if arguments.current else arguments.target
    for text in answers_of_agents(current(session.places, session.id), wanted):
        answer = read_reply(text, read_scores)
        if answer is not None:
            return answer
    return None


def _list(arguments: argparse.Namespace, session: Session) -> int:
    rows = list(latest(session.places, session.settings).values())
    if arguments.json:
        session.console.json({"sessions": rows})
    elif not rows:
        session.console.line("No session is graded yet.")
    else:
        session.console.table(
            ["session", "ended", "overall", "by", "root cause"], [_cells(row) for row in rows]
        )
    return DONE


def _ended(arguments: argparse.Namespace, session: Session) -> int:
    from ..session_ended import grade_ended

    done = grade_ended(scorer_of(session))
    if arguments.json:
        session.console.json({"graded": done})
    else:
        session.console.line("%d graded" % done)
    return DONE


def _cells(row: dict[str, Any]) -> list[str]:
    whole, scorer = row.get("overall_quality"), row.get("scorer")
    return [
        str(row.get("session")),
        str(row.get("ended", ""))[:16],
        "%.2f" % whole if isinstance(whole, (int, float)) else "unscored",
        str(scorer.get("by")) if isinstance(scorer, dict) else "",
        str(row.get("root_cause") or ""),
    ]
