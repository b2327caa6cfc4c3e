"""`memory session find`, `show`, `list` and `forget`: what was done in past sessions."""

from __future__ import annotations

import argparse
import os
from typing import Any

from ..kernel.files import error_text
from ..kernel.sqlite import SqliteError
from ..kernel.text.clean import counted, plain
from ..sessions.dimensions import OVERALL
from ..sessions.past import Exchange, by_session
from ..sessions.score_rows import latest_rows
from ..sessions.session_files import is_session_id
from ..work import past_sessions
from .command_context import Approval, CommandContext, CommandError, UsageError
from .options import add_flag, require_days

ACTIONS = {
    "find": "find what was done in past sessions",
    "show": "print what was asked and done in a session",
    "list": "list the sessions, the newest first",
    "forget": "delete a session, or all of them, from the index of past sessions",
}
DONE, FAILED = 0, 1
_RESUME = {"claude": "claude --resume %s", "codex": "codex resume %s"}
_SHOWN = 8
_MAX_PROMPT, _MAX_REPLY = 100, 240
_ID = "a session id or its first six characters"
_OFF = "past sessions are not indexed; to change that: memory config set sessions.history.enabled true"


def configure(actions: dict[str, argparse.ArgumentParser]) -> None:
    """Declare the arguments."""
    actions["find"].add_argument("words", nargs="+", metavar="WORD", help="words, or a question")
    actions["find"].add_argument("--days", type=int, metavar="N", help="only the last N days")
    actions["show"].add_argument("session", metavar="ID", help=_ID)
    actions["forget"].add_argument("session", nargs="?", metavar="ID", help=_ID)
    add_flag(actions["forget"], "--all", "all sessions of this project")


def approval(arguments: argparse.Namespace) -> Approval:
    """Return what forgetting needs the user's decision for."""
    what = "the session " + plain(arguments.session, 40) if arguments.session else "all past sessions"
    return Approval("forget %s?" % what)


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Run one action."""
    if not past_sessions.is_on(context) and arguments.action != "list":
        raise CommandError(_OFF)
    actions = {"find": _find, "show": _show, "list": _list, "forget": _forget}
    try:
        return actions[arguments.action](arguments, context)
    except SqliteError as error:
        raise CommandError("the index of past sessions cannot be read: %s" % error) from None


def _report(problems: list[str], context: CommandContext) -> None:
    for problem in problems:
        context.console.error(problem)


def _require_id(name: str) -> None:
    if not is_session_id(name):
        raise UsageError("expected %s, got %s" % (_ID, plain(name, 40)))


def _find(arguments: argparse.Namespace, context: CommandContext) -> int:
    if arguments.days is not None:
        require_days(arguments.days)
    found, problems = past_sessions.find_exchanges(" ".join(arguments.words), arguments.days, context)
    _report(problems, context)
    if arguments.json:
        context.console.json({"exchanges": [each.record() for each in found]})
        return DONE
    if not found:
        context.console.line("No past session found.")
    for each in by_session(found)[:_SHOWN]:
        _print(each, context)
        resume = _RESUME.get(each.kind, "%s") % each.session
        context.console.line("    " + context.console.style(resume, "cyan"))
    return DONE


def _print(each: Exchange, context: CommandContext) -> None:
    """Print an exchange: date, prompt, reply, files and commands."""
    console = context.console
    console.paragraph("%s  %s" % (each.time[:10], plain(each.prompt, _MAX_PROMPT)), "", 4, "bold")
    lists = (("files: ", each.files), ("ran: ", each.passed), ("failed: ", each.failed))
    for text in (each.reply, *(label + "; ".join(lines) for label, lines in lists if lines)):
        if text:
            console.paragraph(plain(text, _MAX_REPLY), "    ", 4)


def _show(arguments: argparse.Namespace, context: CommandContext) -> int:
    _require_id(arguments.session)
    found, problems = past_sessions.session_exchanges(arguments.session, context)
    _report(problems, context)
    names = list(dict.fromkeys(each.session for each in found))
    if len(names) != 1:
        why = "%s: %d past sessions of this project begin with it; see: memory session list"
        raise CommandError(why % (arguments.session, len(names)))
    if arguments.json:
        context.console.json({"exchanges": [each.record() for each in found]})
        return DONE
    for each in found:
        _print(each, context)
    context.console.line("To go on with it: " + _RESUME.get(found[0].kind, "%s") % names[0])
    return DONE


def _list(arguments: argparse.Namespace, context: CommandContext) -> int:
    found, problems = past_sessions.session_exchanges("", context)
    _report(problems, context)
    sessions: dict[str, list[Exchange]] = {}
    for each in found:
        sessions.setdefault(each.session, []).append(each)
    grades = latest_rows(context.paths)
    rows = [_row(each, grades.pop(name, {})) for name, each in sessions.items()]
    rows += [{**row, "time": row.get("ended", ""), "grade": row.get(OVERALL)} for row in grades.values()]
    rows.sort(key=lambda row: str(row["time"]), reverse=True)
    if arguments.json:
        context.console.json({"sessions": rows})
    elif not rows:
        context.console.line("No session is known yet.")
    else:
        headers = ["session", "ended", "turns", "files", "grade", "about"]
        context.console.table(headers, [_cells(row) for row in rows])
    return DONE


def _row(session: list[Exchange], grade: dict[str, Any]) -> dict[str, Any]:
    """Return a session's row: its exchanges in short, and its grade."""
    last = session[-1]
    return {
        **grade,
        "session": last.session,
        "time": last.time,
        "title": last.title,
        "first": last.first,
        "files": list(dict.fromkeys(name for each in session for name in each.files)),
        "turns": len(session),
        "only_indexed": not os.path.lexists(last.path),
        "grade": grade.get(OVERALL),
    }


def _cells(row: dict[str, Any]) -> list[str]:
    grade = "" if row["grade"] is None else "%.2f" % row["grade"]
    about = plain(str(row.get("title") or row.get("first") or row.get("root_cause") or ""), 60)
    number = str(len(row["files"])) if row.get("files") else ""
    return [row["session"], str(row["time"])[:16], str(row.get("turns") or ""), number, grade, about]


def _forget(arguments: argparse.Namespace, context: CommandContext) -> int:
    if bool(arguments.session) == arguments.all:
        raise UsageError("expected one of: a session id, --all")
    if arguments.session:
        _require_id(arguments.session)
    try:
        number = past_sessions.forget_sessions(arguments.session or "", context)
    except OSError as error:
        raise CommandError("nothing was forgotten: %s" % error_text(error)) from None
    line = "%s forgotten; the transcripts stay" % counted(number, "session")
    context.console.result(arguments.json, {"forgotten": number}, line)
    return DONE if number or arguments.all else FAILED
