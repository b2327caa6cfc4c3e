"""`memory session`: find past sessions, show the signals of a session, and grade it.

Exit codes: 0 done, 1 not graded or not found, 2 usage.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from typing import Any

from ...kernel.context import LedgerError
from ...kernel.judge.question import explain_failure, read_reply
from ...kernel.sqlite import SqliteError
from ...kernel.text.clean import counted, plain, terminal_safe
from ...sessions import grade, session_files
from ...sessions.material import AGENT_TOKENS, PreparedSession, pages, prepare, questions
from ...sessions.past import Exchange, by_session
from ...sessions.rows import grade_row, latest_rows, session_id
from ...sessions.rubric import OVERALL, dimensions
from ...sessions.signals import collect_signals, signals_record
from ...work import past_sessions
from ...work.judges import session_scorer
from ...work.settings_change import require_valid
from ..command_context import DONE, FAILED, Approval, CommandContext, CommandError, Handler, UsageError
from ..console import Console, read_text
from ..options import add_actions, add_days_option, add_flag, require_existing, run_action
from .session_scores_command import show_signals, turns_text

_TEXT = """\
find past sessions, and grade them
  memory session find flaky billing test    what was done about it, and how to go on
  memory session show 0d1ec0de
  memory session signals --current          shows what can be counted without a judge
  memory session score 0d1ec0de             stores six scores with evidence in sessions.jsonl
  memory session score --project            grades all sessions of this project that have no grade yet
"""
_MAX_INPUT = 256 * 1024
_MAX_FAILURES = 20  # shown of a project
_TO_GRADE = "To grade it: /memory:grade-session in Claude Code, or with a judge: memory session score"
_NO_GRADE = "standard input is not a grade: expected a JSON object with the six dimensions, as `memory session prepare` describes"
_NO_AGENT = "no sub-agent has graded this session yet: wait for it, or ask it for the JSON object alone"
_RESUME = {"claude": "claude --resume", "codex": "codex resume"}
_SHOWN = 8
_MAX_PROMPT, _MAX_REPLY = 100, 240
_ID = "a session id or its first six characters"
_OFF = "past sessions are not indexed; to change that: %s"


def _configure(parser: ArgumentParser) -> None:
    actions = add_actions(parser, {**_PAST, **_OF_A_TRANSCRIPT})
    actions["find"].add_argument("words", nargs="+", metavar="WORD", help="words, or a question")
    add_days_option(actions["find"], None)
    actions["show"].add_argument("session", metavar="ID", help=_ID)
    actions["forget"].add_argument("session", nargs="?", metavar="ID", help=_ID)
    add_flag(actions["forget"], "--all", "all sessions of this project")
    for name in _OF_A_TRANSCRIPT:
        text = "a transcript file, or a session id or its first characters"
        actions[name].add_argument("target", nargs="?", metavar="FILE|ID", help=text)
        add_flag(actions[name], "--current", "the current session; outside one, the project's newest")
    add_flag(actions["score"], "--project", "all sessions of the project that have no grade yet")
    add_flag(actions["score"], "--yes", "accept the price of a long session (up to judge.caps.request_usd)")
    add_flag(actions["store"], "--agent", "read the answer from this session's sub-agent transcript")
    text = "the page to print (default: 1)"
    actions["prepare"].add_argument("--page", type=int, default=1, metavar="N", help=text)


def _approval(arguments: Namespace, context: CommandContext) -> Approval | None:
    """Return the highest price of grading with `--yes`, or what is forgotten; None for other actions."""
    if arguments.action == "forget":
        what = "the session " + plain(arguments.session, 40) if arguments.session else "all past sessions"
        return Approval("forget %s?" % what)
    if arguments.action != "score" or not arguments.yes:
        return None
    cap = context.settings.number("judge.caps.request_usd")
    return Approval("grade sessions with a judge, for at most $%.2f each?" % cap)


def _run(arguments: Namespace, context: CommandContext) -> int | None:
    """Run one action."""
    if arguments.action in _OF_A_TRANSCRIPT:  # before anything is read or paid for
        require_valid(context.settings, "sessions.weights", "sessions.prompt")
    elif not past_sessions.is_on(context) and arguments.action != "list":
        raise CommandError(_OFF % context.settings.to_set("sessions.history.enabled", "true"))
    else:
        for problem in past_sessions.update_index(context, past_sessions.WAIT):
            context.console.error(problem)
    try:
        return run_action(arguments, context)
    except SqliteError as error:
        raise CommandError("the index of past sessions cannot be read: %s" % error) from None


def _named_transcript(arguments: Namespace, context: CommandContext) -> str:
    """Return the transcript that the arguments name. Raises UsageError and TranscriptNotFound."""
    if bool(arguments.target) == arguments.current or getattr(arguments, "project", False):
        raise UsageError("name a session: a file, an id, or --current")
    if arguments.current:
        return session_files.current_transcript(context.paths, context.session)
    if not session_files.is_session_id(arguments.target):
        require_existing(arguments.target)
    return session_files.find_transcript(context.paths, arguments.target)


def _find(arguments: Namespace, context: CommandContext) -> None:
    console, words = context.console, " ".join(arguments.words)
    found = past_sessions.find_exchanges(words, context, arguments.days)
    console.result({"exchanges": [each.record() for each in found]})
    sessions = by_session(found)
    for each in sessions[:_SHOWN]:
        _print(each, console)
        console.line("    " + console.style(_resume(each), "cyan"))
    console.more(len(sessions) - _SHOWN, advice="; to see all: --json")
    if not found:
        console.line("No past session found.")


def _resume(each: Exchange) -> str:
    return "%s %s" % (_RESUME[each.kind], each.session)


def _print(each: Exchange, console: Console) -> None:
    """Print an exchange: date, prompt, reply, files and commands."""
    console.paragraph("%s  %s" % (each.time[:10], plain(each.prompt, _MAX_PROMPT)), "", 4, "bold")
    lists = (("files: ", each.files), ("ran: ", each.passed), ("failed: ", each.failed))
    for text in (each.reply, *(label + "; ".join(lines) for label, lines in lists if lines)):
        if text:
            console.paragraph(plain(text, _MAX_REPLY), "    ", 4)


def _show_session(arguments: Namespace, context: CommandContext) -> None:
    found = past_sessions.session_exchanges(context, _require_id(arguments.session))
    names = {each.session for each in found}
    if len(names) != 1:
        why = "%s past session of this project has an id that begins with %s; see: memory session list"
        raise CommandError(why % ("more than one" if names else "no", arguments.session))
    context.console.result({"exchanges": [each.record() for each in found]})
    for each in found:
        _print(each, context.console)
    context.console.line("To go on with it: " + _resume(found[0]))


def _require_id(name: str) -> str:
    if not session_files.is_session_id(name):
        raise UsageError("expected %s, got %s" % (_ID, plain(name, 40)))
    return name


def _list(arguments: Namespace, context: CommandContext) -> None:
    sessions: dict[str, list[Exchange]] = {}
    for each in past_sessions.session_exchanges(context):
        sessions.setdefault(each.session, []).append(each)
    here = context.paths.project_key
    grades = {name: row for name, row in latest_rows(context.paths).items() if row.get("project") == here}
    rows = [{**grades.pop(name, {}), **_row(exchanges)} for name, exchanges in sessions.items()]
    rows += [{**row, "time": row.get("ended", "")} for row in grades.values()]
    rows = [{**row, "grade": row.get(OVERALL)} for row in rows]
    rows.sort(key=lambda row: str(row["time"]), reverse=True)
    headers = ["session", "ended", "prompts", "files", "grade", "about"]
    context.console.result({"sessions": rows})
    context.console.table(headers, list(map(_cells, rows)), "No past session of this project is known yet.")


def _row(session: list[Exchange]) -> dict[str, Any]:
    """Return the summary of a session."""
    last = session[-1]
    return {
        **{name: getattr(last, name) for name in ("session", "time", "title", "first")},
        "files": list(dict.fromkeys(name for each in session for name in each.files)),
        "prompts": len(session),
        "only_indexed": not os.path.lexists(last.path),
    }


def _cells(row: dict[str, Any]) -> list[str]:
    grade = "" if row["grade"] is None else "%.2f" % row["grade"]
    about = plain(str(row.get("title") or row.get("first") or ""), 60)
    files = str(len(row.get("files", ())) or "")
    time = str(row["time"])[:16].replace("T", " ")
    return [row["session"], time, str(row.get("prompts") or ""), files, grade, about]


def _forget(arguments: Namespace, context: CommandContext) -> int:
    if bool(arguments.session) == arguments.all:
        raise UsageError("name a session, or use --all; see: memory session list")
    name = "" if arguments.all else _require_id(arguments.session)
    number = past_sessions.forget_sessions(name, context)
    line = "%s forgotten; the transcripts stay" % counted(number, "session")
    context.console.result({"forgotten": number}, line)
    return DONE if number or arguments.all else FAILED


def _signals(arguments: Namespace, context: CommandContext) -> None:
    path = _named_transcript(arguments, context)
    signals = collect_signals(path)
    context.console.result({"file": path, **signals_record(signals), "scores": None})
    show_signals(context.console, os.path.basename(path), signals)
    _show_scores(context.console, None)
    context.console.line(_TO_GRADE)


def _score(arguments: Namespace, context: CommandContext) -> int:
    if arguments.project and not (arguments.target or arguments.current):
        return _score_many(context)
    scorer, prepared = session_scorer(context), prepare(_named_transcript(arguments, context))
    judge = scorer.judge(session_id(prepared))
    if judge.unready() is None:
        price = judge.highest_price(questions(prepared))
        if price > context.settings.number("judge.caps.session_usd"):
            _accept_price(price, prepared, arguments.yes, context)
            scorer = scorer._replace(request="request " + os.urandom(16).hex())
    return _show(grade.grade_session(prepared, scorer), context)


def _accept_price(price: float, prepared: PreparedSession, accepted: bool, context: CommandContext) -> None:
    """Ask once about a price above the session cap. Raises CommandError if it exceeds the request cap too, or is not accepted."""
    settings = context.settings
    cap, model = settings.number("judge.caps.request_usd"), settings.text("sessions.judge.model")
    text = "Grading %s costs at most $%.2f with %s" % (_size(prepared), price, terminal_safe(model))
    if price > cap:
        why = "%s. The cap judge.caps.request_usd is $%.2f; raise it to grade the session"
        raise CommandError(why % (text, cap))
    context.accept_price(text, accepted)


def _size(prepared: PreparedSession) -> str:
    return "this session of about %d tokens in %s" % (prepared.tokens, counted(len(prepared.parts), "part"))


def _show(graded: grade.GradeResult, context: CommandContext) -> int:
    """Store and print a grade. One that cannot be stored is printed too, because the user paid for it."""
    console, row = context.console, graded.row
    try:
        graded.store(context.paths)
    except LedgerError as error:
        raise CommandError("the grade was not stored: %s" % error) from None
    finally:
        record = {"row": row, "failures": graded.failures, "detail": graded.detail}
        console.result({"file": graded.prepared.path, **record})
        show_signals(console, session_id(graded.prepared), graded.prepared.signals)
        _show_scores(console, row)
    problem = grade.send_new_scores(session_scorer(context), console.progress) if row is not None else ""
    if problem:
        later = "to send them later: memory session langfuse push"
        console.error("the scores were not sent to Langfuse (%s); %s" % (problem, later))
    for failure in dict.fromkeys(graded.failures):
        console.error(_why(failure, graded))
    return FAILED if row is None else DONE


def _why(failure: str, graded: grade.GradeResult) -> str:
    """Return why the session, or a part of it, was not graded."""
    if failure == "empty":
        return "not graded: " + graded.detail
    if failure == "disabled":
        text = "not graded: %s; without a key, /memory:grade-session in Claude Code asks a sub-agent"
        return text % graded.detail
    words = explain_failure(failure, "sessions")
    about = " It concerns %s." % _size(graded.prepared) if failure == "over_budget" else ""
    what = "not graded" if graded.row is None else "a part was not graded"
    return "%s (%s): %s%s %s" % (what, failure, words.says, about, words.do)


def _score_many(context: CommandContext) -> int:
    transcripts, console = session_files.project_transcripts(context.paths), context.console
    if not transcripts:
        raise CommandError("this project has no sessions")
    run = grade.grade_one_by_one(transcripts, session_scorer(context), console.progress)
    console.progress("")
    counts = (len(run.graded), run.already, len(run.failed))
    console.result(run, "%d graded, %d already graded, %d not graded" % counts)
    for name, why in list(run.failed.items())[:_MAX_FAILURES]:
        console.error("%s: %s" % (name, why))
    return FAILED if run.failed else DONE


def _prepare(arguments: Namespace, context: CommandContext) -> None:
    path = _named_transcript(arguments, context)
    texts = pages(prepare(path, AGENT_TOKENS))
    page = arguments.page
    if not 1 <= page <= len(texts):
        raise UsageError("--page: expected 1 to %d, got %d" % (len(texts), page))
    text = texts[page - 1]
    record = {"session": os.path.basename(path), "page": page, "pages": len(texts), "text": text}
    context.console.result(record, text)


def _store(arguments: Namespace, context: CommandContext) -> int:
    prepared = prepare(_named_transcript(arguments, context), AGENT_TOKENS)
    if arguments.agent:
        target = "--current" if arguments.current else arguments.target
        current = session_files.current_transcript(context.paths, context.session)
        replies = session_files.subagent_answers(current, target)
    else:
        replies = iter([read_text(_MAX_INPUT)])
    answer = next(filter(None, (read_reply(text, prepared.read_grade) for text in replies)), None)
    if answer is None:
        raise CommandError(_NO_AGENT if arguments.agent else _NO_GRADE)
    by: dict[str, Any] = {"by": "agent", "cost_usd": None, "failures": []}
    return _show(grade.GradeResult(prepared, grade_row(prepared, [answer], by, context.paths), []), context)


def _show_scores(console: Console, row: dict[str, Any] | None) -> None:
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


_PAST = {
    "find": Handler("find what was done in past sessions", _find),
    "show": Handler("print what was asked and done in a session", _show_session),
    "list": Handler("list the sessions, the newest first", _list),
    "forget": Handler("delete a session, or all of them, from the index of past sessions", _forget),
}
_OF_A_TRANSCRIPT = {
    "signals": Handler("count what happened in a session, by turn", _signals),
    "score": Handler("ask the judge for six scores with evidence, and store them in the ledger", _score),
    "prepare": Handler("print the session as a scorer reads it, page by page", _prepare),
    "store": Handler("check and store a scorer's answer: JSON from standard input, or --agent", _store),
}
HANDLERS = {"session": Handler(_TEXT, _run, _configure, _approval)}
