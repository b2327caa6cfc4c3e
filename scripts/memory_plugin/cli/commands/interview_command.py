"""`memory interview`: choose the questions of an interview. Claude asks them; this command decides what to ask next, and when to stop.

The actions that advance an interview are here. Those that read, finish or delete one are in `interview_results`, imported when used.
"""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

from ...interview import pipeline
from ...interview.answer_input import decode_answer
from ...interview.decisions import DEEPER, WRAP_UP
from ...interview.exceptions import ConfigError, InvalidAnswer
from ...interview.interview_store import OPEN, InterviewStore
from ...interview.reminder import Reminder
from ...kernel.ledger import open_ledger
from ..command_context import UsageError
from ..options import add_flag, require_existing

if TYPE_CHECKING:
    import argparse
    from typing import Any

    from ...interview.interview_store import Interview
    from ..command_context import CommandContext

HELP = "run an interview: choose the next question, explain why, and decide when to stop"
EXAMPLES = """\
  memory interview start 'billing export' --pack requirements --json
  memory interview answer --session ID --json < answer.txt
  memory interview check-question 'Who will use the export?' --session ID     (or on standard input)
  memory interview status
  memory interview explain 3 --session ID
  memory interview finish --session ID             shows what would be written; then again with --confirm
  memory interview export --session ID --format mermaid
  memory interview discard --session ID
  memory interview pack check my-pack.json

answer reads plain text, JSON, or lines that begin with a name (any other line continues the value above it):
  question: as it was asked
  answer: as it was given
  concept: type | text | stance -1, 0, 1 | confidence | quote
  relation: concept | the concept it leads to
  signal: uncertainty | type=knowledge_gap | severity=0.8
  covered: element, element
  wish: skip, deeper or stop
finish --confirm writes all proposed memories, or only those that lines such as `memory: n1` name. Lines below such a line change
the memory's title, body, context, category, tags or asked_as.
"""
ACTIONS = {
    "start": "start an interview on a topic",
    "answer": "read an answer from standard input; print the next question",
    "check-question": "check whether a question repeats an earlier one",
    "skip": "skip this question",
    "deeper": "ask more about what was just said",
    "wrap-up": "end here; list what is still open",
    "resume": "continue with the pending question, or with a new one after the end",
    "status": "list the interviews of this project, or show one",
    "explain": "show why a question was chosen: scores, signals, vetoes, alternatives",
    "replay": "decide everything again and compare",
    "export": "print the value map (mermaid, json) or the transcript (markdown)",
    "pack": "check a pack, or list all packs",
    "finish": "show the summary and the proposed memories; with --confirm write them",
    "discard": "delete an interview with its answers",
}
_SECONDS = 10.0
_MAX_INPUT = 1 << 20
_MAX_QUESTION = 500
_MAX_MORE = 200


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", choices=list(ACTIONS), metavar="ACTION", help=", ".join(ACTIONS))
    parser.add_argument(
        "words",
        nargs="*",
        metavar="WORD",
        help="topic, question, turn, or `check FILE`; right after the action",
    )
    parser.add_argument(
        "--session",
        metavar="ID",
        default="",
        help="the interview (default: the open one; discard has no default)",
    )
    parser.add_argument(
        "--pack", metavar="NAME|FILE", default="requirements", help="start: the pack of topics"
    )
    add_flag(parser, "--setup", "start: read elements and covered elements from standard input")
    parser.add_argument(
        "--covered", metavar="a=SOURCE,b", default="", help="start: elements already known, with their source"
    )
    parser.add_argument("--max-turns", type=int, metavar="N", help="start: maximum number of questions")
    parser.add_argument(
        "--more", type=int, metavar="N", default=5, help="resume: additional questions (default: 5)"
    )
    parser.add_argument("--format", choices=("mermaid", "json", "markdown"), default="mermaid", help="export")
    add_flag(parser, "--confirm", "finish: write the memories; the user has confirmed them")


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Run one action."""
    gc.disable()  # Claude waits for each answer, and the process ends before anything is worth collecting
    action = arguments.action
    if action in _HANDLERS:
        return _HANDLERS[action](arguments, context)
    from ..interview_results import HANDLERS

    return HANDLERS[action](arguments, context)


def read_input() -> str:
    """Return the text on standard input. Raises InvalidAnswer when it is too long or not UTF-8."""
    data = sys.stdin.buffer.read(_MAX_INPUT + 1) if sys.stdin else b""
    if len(data) > _MAX_INPUT:
        raise InvalidAnswer("standard input is longer than %d bytes" % _MAX_INPUT)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidAnswer("standard input is not UTF-8 (byte %d)" % error.start) from None


def find_interview(
    arguments: argparse.Namespace, context: CommandContext
) -> tuple[InterviewStore, Interview]:
    """Return the store, and the named or the open interview. Raises InterviewError if there is none."""
    store = InterviewStore(context.paths.state())
    return store, store.current(arguments.session, context.paths.project_key, context.session)


def _start(arguments: argparse.Namespace, context: CommandContext) -> int:
    from ...interview.setup import StartArguments, prepare_start

    topic = " ".join(arguments.words).strip()
    if not topic:
        raise UsageError("start: expected a topic, such as: memory interview start 'billing export'")
    require_existing(*(name for name in [arguments.pack] if name.endswith(".json")))
    text = read_input() if arguments.setup else ""
    names = [name for name in arguments.covered.split(",") if name.strip()]
    options = StartArguments(topic, arguments.pack, text, names, arguments.max_turns)
    folder = context.paths.state("interview", "packs")
    setup, covered = prepare_start(options, folder, context.settings, pipeline.clean_text)
    new = pipeline.NewInterview(context.paths.project_key, context.session, covered)
    interview, decision = pipeline.start(InterviewStore(context.paths.state()), setup, new)
    return _report(arguments, context, interview, decision)


def _answer(arguments: argparse.Namespace, context: CommandContext) -> int:
    timed = context.within(_SECONDS)
    data = decode_answer(read_input())
    store, interview = find_interview(arguments, context)
    uses_judge = context.settings.is_judge_enabled("interview") and not context.taint.judges_off
    decision = pipeline.answer(store, interview, data, judge=timed if uses_judge else None)
    return _report(arguments, context, interview, decision)


def _check_question(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Check the question on the command line or standard input. The exit code is 1 if it repeats an earlier one."""
    question = pipeline.clean_text(" ".join(arguments.words) or read_input(), _MAX_QUESTION)
    if not question:
        raise InvalidAnswer(
            "check-question: expected the question, such as: check-question 'Who will use it?'"
        )
    result = pipeline.check_question(*find_interview(arguments, context), question)
    text = "fine" if result["ok"] else "already asked: %s" % result["repeats"]
    context.console.result(arguments.json, result, text)
    return 0 if result["ok"] else 1


def _skip(arguments: argparse.Namespace, context: CommandContext) -> int:
    store, interview = find_interview(arguments, context)
    decision = pipeline.answer(store, interview, {"answer": "", "wish": "skip"})
    return _report(arguments, context, interview, decision)


def _steer(arguments: argparse.Namespace, context: CommandContext) -> int:
    store, interview = find_interview(arguments, context)
    kind = DEEPER if arguments.action == "deeper" else WRAP_UP
    return _report(arguments, context, interview, pipeline.steer(store, interview, kind))


def _resume(arguments: argparse.Namespace, context: CommandContext) -> int:
    if not 1 <= arguments.more <= _MAX_MORE:
        raise ConfigError("--more", "resume", "1 to %d" % _MAX_MORE, arguments.more)
    store, interview = find_interview(arguments, context)
    decision = pipeline.resume(store, interview, context.session, arguments.more)
    return _report(arguments, context, interview, decision)


def _report(
    arguments: argparse.Namespace, context: CommandContext, interview: Interview, decision: dict[str, Any]
) -> int:
    """Print the decision, write it to the ledger, and update the reminder of the session."""
    _remind(arguments, context, interview)
    _append_to_ledger(context, interview, decision)
    brief = pipeline.decision_brief(interview, decision)
    if arguments.json:
        context.console.json(brief)
    else:
        _show(context, brief)
    return 0


def _append_to_ledger(context: CommandContext, interview: Interview, decision: dict[str, Any]) -> None:
    """Append the decision under the session and project of the interview, which may not be those of this run."""
    ledger = open_ledger(context.paths, context.settings, "interviews")
    problem = ledger.append(interview.session, interview.project, pipeline.ledger_fields(interview, decision))
    if problem:
        context.console.error("the decision was not written to the ledger: " + problem)


def _remind(arguments: argparse.Namespace, context: CommandContext, interview: Interview) -> None:
    if not interview.session:
        return
    reminder = Reminder(context.paths, interview.session)
    try:
        if arguments.action in ("start", "resume"):
            reminder.create(interview.id, interview.topic)
        elif interview.status != OPEN:
            reminder.set_active(active=False)  # no question is pending, only the summary
    except OSError as error:
        context.console.error(
            "the next prompt will not mention the interview: %s" % (error.strerror or error)
        )


def _show(context: CommandContext, brief: dict[str, Any]) -> None:
    line = context.console.line
    line("%s, turn %d, %s" % (brief["interview"], brief["turn"], brief["phase"]))
    if brief["stop"]:
        line("stop: %s" % brief["why"])
        if brief.get("deferred"):
            line("still open: %s" % ", ".join(brief["deferred"]))
        line("next: memory interview finish --session %s" % brief["interview"])
    else:
        line("%s: %s" % (brief["strategy"], brief["intent"]))
        line("  why: %s" % brief["why"])
        line(
            "next: memory interview answer --session %s   (the question and the answer on standard input)"
            % brief["interview"]
        )
    line("  %s" % brief["progress"]["line"])
    for note in brief.get("dropped", ()):
        line("  not used: %s" % note)


_HANDLERS = {
    "start": _start,
    "answer": _answer,
    "check-question": _check_question,
    "skip": _skip,
    "deeper": _steer,
    "wrap-up": _steer,
    "resume": _resume,
}
