"""`memory session`: show the signals of a session, and grade it.

Exit codes: 0 done, 1 not graded or not found, 2 usage.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from ...kernel.judge.question import explain_failure, one_line, read_reply
from ...kernel.text.clean import counted, terminal_safe
from ...sessions import pipeline, session_files
from ...sessions.detection import signal_entries
from ...sessions.dimensions import OVERALL, dimensions, read_scores
from ...sessions.score_rows import session_id
from ...sessions.scoring_request import AGENT_TOKENS, PreparedSession, pages, prepare, questions
from ...sessions.session_signals import SessionSignals, collect_signals, signals_record
from ...work.judges import session_scorer
from ...work.settings_change import require_valid
from .. import past_sessions
from ..command_context import Approval, CommandContext, CommandError, UsageError
from ..console import Console
from ..options import add_actions, add_flag, require_existing

DONE, FAILED = 0, 1
HELP = "find past sessions, and grade them"
EXAMPLES = """\
  memory session find flaky billing test    what was done about it, and how to go on
  memory session find "where did we stop yesterday?"
  memory session show 0d1ec0de
  memory session signals --current          shows what can be counted without a judge
  memory session signals path/to/x.jsonl --json
  memory session score 0d1ec0de             stores six scores with evidence in sessions.jsonl
  memory session score --current --yes      accepts the price of a long session, up to judge.caps.request_usd
  memory session score --project            grades all sessions of this project that have no grade yet
  memory session list
"""
_MAX_INPUT = 256 * 1024
_MAX_FAILURES = 20  # shown of a project
_MAX_TURNS_NAMED = 8
_MAX_EXAMPLE = 80
_NO_GRADE = "standard input is not a grade: expected a JSON object with the six dimensions, as `memory session prepare` describes"
_NO_AGENT = (
    "no sub-agent of this session has graded it yet: wait for its answer, or ask it for only the JSON object"
)
_ACTIONS = {
    **past_sessions.ACTIONS,
    "signals": "count what happened in a session, by turn",
    "score": "ask the judge for six scores with evidence, and store them in the ledger",
    "prepare": "print the session as a scorer reads it, page by page",
    "store": "check and store a scorer's answer: JSON from standard input, or --agent",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    actions = add_actions(parser, _ACTIONS)
    for name, action in actions.items():
        if name not in past_sessions.ACTIONS:
            add_target(action)
    past_sessions.configure(actions)
    add_flag(actions["score"], "--project", "all sessions of the project that have no grade yet")
    add_flag(actions["score"], "--yes", "accept the price of a long session (up to judge.caps.request_usd)")
    add_flag(actions["store"], "--agent", "read the answer from this session's sub-agent transcript")
    actions["prepare"].add_argument(
        "--page", type=int, default=1, metavar="N", help="the page to print (default: 1)"
    )


def add_target(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that `named_transcript` reads."""
    help_text = "a transcript file, or a session id or its first characters"
    parser.add_argument("target", nargs="?", metavar="FILE|ID", help=help_text)
    add_flag(parser, "--current", "the current session; outside one, the project's newest")


def approval(arguments: argparse.Namespace, context: CommandContext) -> Approval | None:
    """Return the highest price of grading with `--yes`, or what is forgotten; None for other actions."""
    if arguments.action == "forget":
        return past_sessions.approval(arguments)
    if arguments.action != "score" or not arguments.yes:
        return None
    cap = context.settings.number("judge.caps.request_usd")
    return Approval("grade sessions with a judge, for at most $%.2f each?" % cap)


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Run one action."""
    if arguments.action in past_sessions.ACTIONS:
        return past_sessions.run(arguments, context)
    require_valid(
        context.settings, "sessions.weights", "sessions.prompt"
    )  # before anything is read or paid for
    if arguments.action == "score" and arguments.project and not (arguments.target or arguments.current):
        return _score_many(arguments, context)
    actions = {"signals": _signals, "score": _score, "prepare": _prepare, "store": _store}
    return actions[arguments.action](named_transcript(arguments, context), arguments, context)


def named_transcript(arguments: argparse.Namespace, context: CommandContext) -> str:
    """Return the transcript named by `target` or `--current`.

    Raises UsageError for a missing file or anything but one of them, and TranscriptNotFound.
    """
    if bool(arguments.target) == arguments.current or getattr(arguments, "project", False):
        raise UsageError("name a session: a file, an id, or --current")
    if arguments.current:
        return session_files.current_transcript(context.paths, context.session)
    if not session_files.is_session_id(arguments.target):
        require_existing(arguments.target)
    return session_files.find_transcript(context.paths, arguments.target)


def _signals(path: str, arguments: argparse.Namespace, context: CommandContext) -> int:
    signals = collect_signals(path)
    if arguments.json:
        context.console.json({"file": path, **signals_record(signals), "scores": None})
        return DONE
    show_signals(context.console, os.path.basename(path), signals)
    show_scores(context.console, None)
    context.console.line(
        "To grade it: /memory:grade-session in Claude Code, or with a judge: memory session score"
    )
    return DONE


def _score(path: str, arguments: argparse.Namespace, context: CommandContext) -> int:
    scorer = session_scorer(context)
    prepared = prepare(path)
    judge = scorer.judge(session_id(prepared))
    if prepared.signals.totals.turns and judge.unready() is None:
        price = judge.highest_price(questions(prepared))
        scorer = _with_accepted_price(price, prepared, scorer, arguments, context)
    return _show(pipeline.grade_prepared(prepared, scorer), arguments, context)


def _with_accepted_price(
    price: float,
    prepared: PreparedSession,
    scorer: pipeline.SessionScorer,
    arguments: argparse.Namespace,
    context: CommandContext,
) -> pipeline.SessionScorer:
    """Return the scorer for a session. If grading costs more than the session cap, ask once and use the request cap instead.

    Raises CommandError if the price exceeds that cap too, or the user did not accept it.
    """
    settings = context.settings
    if price <= settings.number("judge.caps.session_usd"):
        return scorer
    model, cap = (
        terminal_safe(settings.text("sessions.judge.model")),
        settings.number("judge.caps.request_usd"),
    )
    text = "Grading %s costs at most $%.2f with %s" % (_size(prepared), price, model)
    if price > cap:
        raise CommandError(
            "%s. The cap judge.caps.request_usd is $%.2f; raise it to grade the session" % (text, cap)
        )
    if not (arguments.yes or context.console.confirm("%s. Continue?" % text)):
        raise CommandError("%s; to accept the price: --yes" % text)
    return scorer._replace(request="request %s" % uuid4().hex)


def _size(prepared: PreparedSession) -> str:
    parts = counted(len(prepared.parts), "part")
    return "this session of about %d tokens in %s" % (prepared.tokens, parts)


def _show(graded: pipeline.GradeResult, arguments: argparse.Namespace, context: CommandContext) -> int:
    console, problem = context.console, ""
    if arguments.json:
        record = {"row": graded.row, "failures": graded.failures, "detail": graded.detail}
        console.json({"file": graded.prepared.path, **record})
    else:
        show_signals(console, session_id(graded.prepared), graded.prepared.signals)
        show_scores(console, graded.row)
    if graded.is_stored:
        problem = pipeline.send_new_scores(session_scorer(context), console.progress)
    if problem:
        later = "to send them later: memory session langfuse push"
        console.error("the scores were not sent to Langfuse (%s); %s" % (problem, later))
    for failure in dict.fromkeys(graded.failures):
        console.error(_why(failure, graded))
    if graded.row is not None and graded.detail:
        console.error("the grade was not written to the ledger: " + graded.detail)
    return DONE if graded.is_stored else FAILED


def _why(failure: str, graded: pipeline.GradeResult) -> str:
    if failure == "empty":
        return "not graded: the transcript has no turns"
    if failure == "disabled":
        why = graded.detail or "the judge is off"
        return "not graded: %s; without a key, /memory:grade-session in Claude Code asks a sub-agent" % why
    words = explain_failure(failure, "sessions")
    about = " It concerns %s." % _size(graded.prepared) if failure == "over_budget" else ""
    return "not graded (%s): %s%s %s" % (failure, words.says, about, words.do)


def _score_many(arguments: argparse.Namespace, context: CommandContext) -> int:
    transcripts, console = session_files.project_transcripts(context.paths), context.console
    if not transcripts:
        raise CommandError("this project has no sessions")
    run = pipeline.grade_one_by_one(transcripts, session_scorer(context), console.progress)
    console.progress("")
    counts = (len(run["graded"]), run["already"], len(run["failed"]))
    console.result(arguments.json, run, "%d graded, %d already graded, %d not graded" % counts)
    for name, why in () if arguments.json else list(run["failed"].items())[:_MAX_FAILURES]:
        console.error("%s: %s" % (name, why))
    return FAILED if run["failed"] else DONE


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
        replies = session_files.subagent_answers(
            session_files.current_transcript(context.paths, context.session), target
        )
        answer = next(filter(None, (read_reply(text, read_scores) for text in replies)), None)
    else:
        answer = read_reply(sys.stdin.buffer.read(_MAX_INPUT).decode("utf-8", "replace"), read_scores)
    if answer is None:
        raise CommandError(_NO_AGENT if arguments.agent else _NO_GRADE)
    by: dict[str, Any] = {"by": "agent", "cost_usd": None, "failures": []}
    prepared = prepare(path, AGENT_TOKENS)
    return _show(pipeline.store_answers(prepared, [answer], by, session_scorer(context)), arguments, context)


def show_signals(console: Console, name: str, signals: SessionSignals) -> None:
    """Print a summary of a session and its signals."""
    totals = signals.totals
    console.line(console.style("Session %s" % name, "bold"))
    times = "%s to %s, " % (totals.started[:16], totals.ended[:16]) if totals.started else ""
    counts = (counted(totals.turns, "turn"), counted(sum(signals.tools.values()), "call"))
    models = ", ".join(sorted(filter(None, totals.models))) or "model unknown"
    console.line("%s%s, %s, %s" % (times, *counts, models))
    usage = totals.usage
    console.line(
        "tokens: {:,} in, {:,} from the cache, {:,} out; largest context {:,}; the text is about {:,}".format(
            usage["input_tokens"] + usage["cache_creation_input_tokens"],
            usage["cache_read_input_tokens"],
            usage["output_tokens"],
            totals.context,
            round(totals.estimated),
        )
    )
    anomalies = (
        (totals.api_errors, "provider error"),
        (totals.bad, "unreadable row"),
        (totals.repeated, "repeated row"),
        (totals.unresolved, "unanswered call"),
    )
    if any(number for number, _ in anomalies):
        console.line(", ".join(counted(number, noun) for number, noun in anomalies if number))
    console.line()
    found = signals.detections
    rows = [
        [
            entry["label"],
            str(found.counts[entry["id"]]),
            "" if entry["tone"] == "plain" else entry["tone"],
            turns_text(found.turns(entry["id"])),
            one_line(found.by_signal[entry["id"]][-1].what, _MAX_EXAMPLE),
        ]
        for entry in signal_entries()
        if found.counts[entry["id"]]
    ]
    if rows:
        console.table(["signal", "count", "", "turns", "the last one"], rows)
    else:
        console.line("no signals")


def turns_text(turns: Sequence[int]) -> str:
    """Return turns as text for people, such as `T3 T7 +2`."""
    more = len(turns) - _MAX_TURNS_NAMED
    shown = " ".join("T%d" % turn for turn in turns[:_MAX_TURNS_NAMED])
    return "%s +%d" % (shown, more) if more > 0 else shown


def show_scores(console: Console, row: dict[str, Any] | None) -> None:
    """Print the six scores with evidence, and the overall score; without a row, print that all are unscored."""
    console.line()
    if row is None:
        console.line("unscored: %s, %s" % (", ".join(dimensions()), OVERALL))
        return
    for name in dimensions():
        entry = row["dimensions"].get(name)
        if entry is None:
            console.line("%-20s %s" % (name, console.style("unscored", "dim")))
            continue
        score = "%d %s" % (entry["score"], entry["label"]) if entry["label"] else "%.2f" % entry["score"]
        console.line("%-20s %s  %s" % (name, console.style(score, "bold"), entry["rationale"]))
        for item in entry["evidence"]:
            console.line("%20s %s  %s" % ("", console.style(turns_text(item["turns"]), "cyan"), item["what"]))
    console.line("%-20s %s" % (OVERALL, _overall(row)))
    for item in row["improvements"]:
        console.line("improve %s: %s -> %s" % (item["dimension"], item["issue"], item["fix"]))


def _overall(row: dict[str, Any]) -> str:
    if row[OVERALL] is None:
        return "unscored, because these are missing: %s" % ", ".join(row["missing"])
    details = ["root cause: %s" % (row["root_cause"] or "not said")]
    if row["confidence"] is not None:
        details.append("confidence %.2f" % row["confidence"])
    if row["struck"]:
        details.append("%s removed: they cite turns that do not exist" % counted(row["struck"], "reference"))
    return "%.2f  (%s)" % (row[OVERALL], "; ".join(details))
