"""`memory session`: show the signals of a session, and grade it.

Exit codes: 0 done, 1 not graded or not found, 2 usage.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any
from uuid import uuid4

from ...hooks.events import PROBLEM, log_event
from ...kernel.judge.question import explain_failure, read_reply
from ...kernel.text.clean import terminal_safe
from ...sessions.pipeline import (
    GradeResult,
    SessionScorer,
    grade_ended,
    grade_one_by_one,
    grade_prepared,
    send_new_scores,
    store_answers,
)
from ...sessions.score_rows import latest_rows, session_id
from ...sessions.scorer_reply import read_scores
from ...sessions.scoring_request import AGENT_TOKENS, PreparedSession, pages, prepare
from ...sessions.session_files import (
    current_transcript,
    find_transcript,
    is_session_id,
    project_transcripts,
    subagent_answers,
)
from ...sessions.session_signals import collect_signals, signals_record
from ..command_context import Approval, CommandContext, CommandError, UsageError
from ..console import counted
from ..options import add_actions, add_flag, require_existing
from ..session_views import ask_scores, parse_scores, read_session, show_scores, show_signals, store_label
from .config_command import require_valid

DONE, FAILED = 0, 1
HELP = "show and grade a session: signals, score, prepare, store, label, list"
EXAMPLES = """\
  memory session signals --current          shows what can be counted without a judge
  memory session signals path/to/x.jsonl --json
  memory session score 0d1ec0de             stores six scores with evidence in sessions.jsonl
  memory session score --current --yes      accepts the price of a long session, up to judge.caps.request_usd
  memory session score --project            grades all sessions of this project that have no grade yet
  memory session label 0d1ec0de             shows the session and asks for each score
  memory session label 0d1ec0de --set goal_achievement=complete --set tool_efficiency=0.8
  memory session list
"""
_MAX_INPUT = 256 * 1024
_MAX_FAILURES = 20  # shown of a project
_NO_GRADE = "standard input is not a grade: expected a JSON object with the six dimensions, as `memory session prepare` describes"
_NO_AGENT = (
    "no sub-agent of this session has graded it yet: wait for its answer, or ask it for only the JSON object"
)
_WITHOUT_TARGET = ("list", "ended")
_ACTIONS = {
    "signals": "count what happened in a session, by turn",
    "score": "ask the judge for six scores with evidence, and store them in the ledger",
    "prepare": "print the session as a scorer reads it, page by page",
    "store": "check and store a scorer's answer: JSON from standard input, or --agent",
    "label": "score a session yourself, for comparison with the scorer: memory session calibrate",
    "list": "list the graded sessions",
    "ended": "grade the sessions that have ended (started by the SessionEnd hook)",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    actions = add_actions(parser, _ACTIONS)
    for name, action in actions.items():
        if name not in _WITHOUT_TARGET:
            action.add_argument(
                "target",
                nargs="?",
                metavar="FILE|ID",
                help="a transcript file, or a session id or its first characters",
            )
            add_flag(action, "--current", "the current session; outside one, the project's newest")
    add_flag(actions["score"], "--project", "all sessions of the project that have no grade yet")
    add_flag(actions["score"], "--again", "with --project: include sessions that are already graded")
    add_flag(actions["score"], "--yes", "accept the price of a long session (up to judge.caps.request_usd)")
    add_flag(actions["store"], "--agent", "read the answer from this session's sub-agent transcript")
    actions["prepare"].add_argument(
        "--page", type=int, default=1, metavar="N", help="the page to print (default: 1)"
    )
    actions["label"].add_argument(
        "--set",
        action="append",
        default=[],
        metavar="DIMENSION=SCORE",
        help="a score to store without asking; can be repeated",
    )
    actions["label"].add_argument(
        "--note", default="", metavar="TEXT", help="a note to store with the scores"
    )


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval | None:
    """Return the highest price of grading with `--yes`, or that scores are stored as the user's own; None for other actions."""
    if arguments.action == "label":
        return Approval("store scores of a session as your own")
    if arguments.action != "score" or not arguments.yes:
        return None
    cap = context.settings.number("judge.caps.request_usd")
    return Approval("grade sessions with a judge, for at most $%.2f each" % cap)


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Run one action."""
    if arguments.action in _WITHOUT_TARGET:
        return {"list": _list, "ended": _ended}[arguments.action](arguments, context)
    require_valid(
        context.settings, "sessions.weights", "sessions.prompt"
    )  # before anything is read or paid for
    all_sessions = arguments.action == "score" and arguments.project
    if sum((bool(arguments.target), arguments.current, all_sessions)) != 1:
        more = ", --project" if arguments.action == "score" else ""
        raise UsageError("expected one of: a file, an id, --current" + more)
    if all_sessions:
        return _score_many(arguments, context)
    actions = {"signals": _signals, "score": _score, "prepare": _prepare, "store": _store, "label": _label}
    return actions[arguments.action](_named_transcript(arguments, context), arguments, context)


def _named_transcript(arguments: argparse.Namespace, context: CommandContext) -> str:
    """Return the transcript named by `target` or `--current`.

    Raises UsageError for a missing file, and TranscriptNotFound for an unknown id.
    """
    if arguments.current:
        return current_transcript(context.paths, context.session)
    if not is_session_id(arguments.target):
        require_existing(arguments.target)
    return find_transcript(context.paths, arguments.target)


def session_scorer(context: CommandContext) -> SessionScorer:
    """Return the scorer for this run."""
    return SessionScorer(context.paths, context.settings, terminal_safe(context.taint.why_off))


def _signals(path: str, arguments: argparse.Namespace, context: CommandContext) -> int:
    signals = collect_signals(path)
    if arguments.json:
        context.console.json({"file": path, **signals_record(signals), "scores": None})
        return DONE
    show_signals(context.console, os.path.basename(path), signals)
    show_scores(context.console, None)
    context.console.line("To grade it: memory session score, or /memory:score-session in Claude Code")
    return DONE


def _score(path: str, arguments: argparse.Namespace, context: CommandContext) -> int:
    scorer = session_scorer(context)
    prepared = prepare(path)
    if prepared.signals.totals.turns and scorer.judge(session_id(prepared)).unready() is None:
        scorer = _with_accepted_price(prepared, scorer, arguments, context)
    return _show(grade_prepared(prepared, scorer), arguments, context)


def _with_accepted_price(
    prepared: PreparedSession, scorer: SessionScorer, arguments: argparse.Namespace, context: CommandContext
) -> SessionScorer:
    """Return the scorer for a session. If grading costs more than the session cap, ask once and use the request cap instead.

    Raises CommandError if the price exceeds that cap too, or the user did not accept it.
    """
    price, settings = scorer.price(prepared), context.settings
    if price <= settings.number("judge.caps.session_usd"):
        return scorer
    cap = settings.number("judge.caps.request_usd")
    model = terminal_safe(settings.text("sessions.judge.model"))
    text = "rading %s costs at most $%.2f with %s" % (_size(prepared), price, model)
    if price > cap:
        raise CommandError(
            "g%s, and judge.caps.request_usd is $%.2f; raise it to grade the session" % (text, cap)
        )
    if not arguments.yes and not context.console.confirm("G%s. Continue?" % text):
        raise CommandError("no judge was asked: g%s; to accept the price: --yes" % text)
    return scorer._replace(request="request %s" % uuid4().hex)


def _size(prepared: PreparedSession) -> str:
    parts = counted(len(prepared.parts), "part")
    return "this session of about %d tokens in %s" % (prepared.tokens, parts)


def _show(graded: GradeResult, arguments: argparse.Namespace, context: CommandContext) -> int:
    console, problem = context.console, ""
    if arguments.json:
        record = {"row": graded.row, "failures": graded.failures, "detail": graded.detail}
        console.json({"file": graded.prepared.path, **record})
    else:
        show_signals(console, session_id(graded.prepared), graded.prepared.signals)
        show_scores(console, graded.row)
    if graded.is_stored:
        problem = send_new_scores(session_scorer(context), console.progress)
    if problem:
        later = "to send them later: memory session langfuse push"
        console.error("the scores were not sent to Langfuse (%s); %s" % (problem, later))
    for failure in dict.fromkeys(graded.failures):
        console.error(_why(failure, graded))
    if graded.row is not None and graded.detail:
        console.error("the grade was not written to the ledger: " + graded.detail)
    return DONE if graded.is_stored else FAILED


def _why(failure: str, graded: GradeResult) -> str:
    if failure == "empty":
        return "not graded: the transcript has no turns"
    if failure == "disabled":
        why = graded.detail or "the judge is off"
        return "not graded: %s; without a key, use /memory:score-session, which asks a sub-agent" % why
    words = explain_failure(failure, "sessions")
    about = " It concerns %s." % _size(graded.prepared) if failure == "over_budget" else ""
    return "not graded (%s): %s%s %s" % (failure, words.says, about, words.do)


def _score_many(arguments: argparse.Namespace, context: CommandContext) -> int:
    transcripts, console = project_transcripts(context.paths), context.console
    if not transcripts:
        raise CommandError("this project has no sessions")
    run = grade_one_by_one(transcripts, session_scorer(context), console.progress, again=arguments.again)
    console.progress("")
    record = {"graded": run.rows, "failed": run.failed, "already": run.graded_before}
    counts = (len(run.rows), run.graded_before, len(run.failed))
    console.result(arguments.json, record, "%d graded, %d already graded, %d not graded" % counts)
    for name, why in () if arguments.json else list(run.failed.items())[:_MAX_FAILURES]:
        console.error("%s: %s" % (name, why))
    return FAILED if run.failed else DONE


def _prepare(path: str, arguments: argparse.Namespace, context: CommandContext) -> int:
    texts = pages(prepare(path, AGENT_TOKENS))
    page = arguments.page
    if not 1 <= page <= len(texts):
        raise UsageError("--page: expected 1 to %d, got %d" % (len(texts), page))
    text = texts[page - 1]
    record = {"session": os.path.basename(path), "page": page, "pages": len(texts), "text": text}
    context.console.result(arguments.json, record, text)
    return DONE


def _store(path: str, arguments: argparse.Namespace, context: CommandContext) -> int:
    if arguments.agent:
        target = "--current" if arguments.current else arguments.target
        replies = subagent_answers(current_transcript(context.paths, context.session), target)
        answer = next(filter(None, (read_reply(text, read_scores) for text in replies)), None)
    else:
        answer = read_reply(sys.stdin.buffer.read(_MAX_INPUT).decode("utf-8", "replace"), read_scores)
    if answer is None:
        raise CommandError(_NO_AGENT if arguments.agent else _NO_GRADE)
    by: dict[str, Any] = {"by": "agent", "cost_usd": None, "failures": []}
    prepared = prepare(path, AGENT_TOKENS)
    return _show(store_answers(prepared, [answer], by, session_scorer(context)), arguments, context)


def _label(path: str, arguments: argparse.Namespace, context: CommandContext) -> int:
    scores = parse_scores(arguments.set)
    session = read_session(path)
    if not scores:
        scores, _ = ask_scores(context.console, session)
    if not scores:
        raise CommandError("nothing was stored: no score was given")
    row = store_label(context, session, scores, arguments.note[:2000])
    counts = (counted(len(scores), "score"), session.name)
    context.console.result(
        arguments.json, row, "%s stored for %s; to compare: memory session calibrate" % counts
    )
    return DONE


def _list(arguments: argparse.Namespace, context: CommandContext) -> int:
    rows = list(latest_rows(context.paths).values())
    if arguments.json:
        context.console.json({"sessions": rows})
    elif not rows:
        context.console.line("No session has been graded yet.")
    else:
        headers = ["session", "ended", "overall", "by", "root cause"]
        context.console.table(headers, [_cells(row) for row in rows])
    return DONE


def _cells(row: dict[str, Any]) -> list[str]:
    overall = row.get("overall_quality")
    return [
        row["session"],
        str(row.get("ended", ""))[:16],
        "unscored" if overall is None else "%.2f" % overall,
        str(row.get("scorer", {}).get("by")),
        str(row.get("root_cause") or ""),
    ]


def _ended(arguments: argparse.Namespace, context: CommandContext) -> int:
    def report(session: str, text: str) -> None:
        log_event(context.paths, session, "SessionEnd", PROBLEM, text)

    graded = grade_ended(session_scorer(context), report)
    context.console.result(arguments.json, {"graded": graded}, "%d graded" % graded)
    return DONE
