"""`memory interview`: choose the questions of an interview. Claude asks them; this command decides what to ask next, and when to stop.

The actions that advance an interview are here. Those that read, finish or delete one are in `interview_results`, imported when used.
"""

from __future__ import annotations

import argparse
import gc
from typing import Any

from ...interview import pipeline
from ...interview.answer_input import InvalidAnswer, clean_text, decode_answer, read_input
from ...interview.decisions import DEEPER, WRAP_UP
from ...interview.interview_store import OPEN, Interview, InterviewStore
from ...interview.reminder import Reminder
from ...kernel.ledger import Ledger
from ..command_context import CommandContext, UsageError
from ..options import add_flag, require_existing
from ..setting_problems import require_valid

HELP = "run an interview: choose the next question, explain why, and decide when to stop"
EXAMPLES = """\
  memory interview start 'billing export' --pack requirements --json
  memory interview answer --session ID --json < answer.txt
  memory interview check-question 'Who will use the export?' --session ID     (or on standard input)
  memory interview status
  memory interview explain 3 --session ID
  memory interview finish --session ID             shows what would be written; then again with --confirm
  memory interview export --session ID
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
_STEPS = ("answer", "check-question", "skip", "deeper", "wrap-up", "resume")
ACTIONS = ("start", *_STEPS, "status", "explain", "replay", "export", "pack", "finish", "discard")
_SECONDS = 10.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", choices=ACTIONS, metavar="ACTION", help=", ".join(ACTIONS))
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
    parser.add_argument(
        "--covered", metavar="a=SOURCE,b", default="", help="start: elements already known, with their source"
    )
    parser.add_argument("--max-turns", type=int, metavar="N", help="start: maximum number of questions")
    parser.add_argument(
        "--more", type=int, metavar="N", default=5, help="resume: additional questions (default: 5)"
    )
    add_flag(parser, "--confirm", "finish: write the memories; the user has confirmed them")


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Run one action."""
    gc.disable()  # Claude waits for each answer, and the process ends before anything is worth collecting
    store = InterviewStore(context.paths.state())
    if arguments.action == "start":
        return _start(arguments, context, store)
    if arguments.action not in _STEPS:
        from ..interview_results import HANDLERS

        return HANDLERS[arguments.action](arguments, context, store)
    interview = store.current(arguments.session, context.paths.project_key, context.session)
    if arguments.action == "check-question":
        return _check_question(arguments, context, store, interview)
    return _report(arguments, context, interview, _next_decision(arguments, context, store, interview))


def _start(arguments: argparse.Namespace, context: CommandContext, store: InterviewStore) -> int:
    from ...interview.setup import MAX_TOPIC, covered_elements, find_pack, new_setup, read_pack

    topic = clean_text(" ".join(arguments.words), MAX_TOPIC)
    if not topic:
        raise UsageError("start: expected a topic, such as: memory interview start 'billing export'")
    require_existing(*(name for name in [arguments.pack] if name.endswith(".json")))
    pack = read_pack(find_pack(arguments.pack, context.paths.state("interview", "packs")))
    settings, most = context.settings, arguments.max_turns
    max_turns = settings.integer("interview.max_turns") if most is None else most
    require_valid(settings, "interview.scoring")
    setup = new_setup(topic, pack, max_turns, changes=settings.block("interview.scoring"))
    covered = covered_elements(arguments.covered, setup)
    started = pipeline.start(store, setup, context.paths.project_key, context.session, covered)
    return _report(arguments, context, *started)


def _next_decision(
    arguments: argparse.Namespace, context: CommandContext, store: InterviewStore, interview: Interview
) -> dict[str, Any]:
    """Do the step and return the next decision."""
    if arguments.action == "answer":
        timed = context.within(_SECONDS)
        uses_judge = context.settings.is_judge_enabled("interview") and not context.taint.judges_off
        return pipeline.answer(store, interview, decode_answer(read_input()), timed if uses_judge else None)
    if arguments.action == "skip":
        return pipeline.answer(store, interview, {"wish": "skip"})
    if arguments.action == "resume":
        return pipeline.resume(store, interview, context.session, max(1, arguments.more))
    return pipeline.advance(store, interview, {"kind": DEEPER if arguments.action == "deeper" else WRAP_UP})


def _check_question(
    arguments: argparse.Namespace, context: CommandContext, store: InterviewStore, interview: Interview
) -> int:
    """Check the question on the command line or standard input. The exit code is 1 if it repeats an earlier one."""
    question = clean_text(" ".join(arguments.words) or read_input())
    if not question:
        raise InvalidAnswer(
            "check-question: expected the question, such as: check-question 'Who will use it?'"
        )
    result = pipeline.check_question(store, interview, question)
    text = "fine" if result["ok"] else "already asked: %s" % result["repeats"]
    context.console.result(arguments.json, result, text)
    return 0 if result["ok"] else 1


def _report(
    arguments: argparse.Namespace, context: CommandContext, interview: Interview, decision: dict[str, Any]
) -> int:
    """Update the reminder of the session, write the decision to the ledger, and print it."""
    try:
        if interview.session and arguments.action in ("start", "resume"):
            Reminder(context.paths, interview.session).create(interview.id, interview.topic)
        elif interview.session and interview.status != OPEN:
            # No question is pending, only the summary.
            Reminder(context.paths, interview.session).set_active(active=False)
    except OSError as error:
        context.console.error(
            "the next prompt will not mention the interview: %s" % (error.strerror or error)
        )
    # Under the session and project of the interview, which may not be those of this run.
    ledger = Ledger(context.paths.state(), "interviews")
    problem = ledger.append(interview.session, interview.project, pipeline.ledger_fields(interview, decision))
    if problem:
        context.console.error("the decision was not written to the ledger: " + problem)
    brief = pipeline.decision_brief(interview, decision)
    context.console.result(arguments.json, brief, *_lines(brief))
    return 0


def _lines(brief: dict[str, Any]) -> list[str]:
    lines = ["%s, turn %d, %s" % (brief["interview"], brief["turn"], brief["phase"])]
    if brief["stop"]:
        lines.append("stop: %s" % brief["why"])
        if brief["deferred"]:
            lines.append("still open: %s" % ", ".join(brief["deferred"]))
        lines.append("next: memory interview finish --session %s" % brief["interview"])
    else:
        lines += ["%s: %s" % (brief["strategy"], brief["intent"]), "  why: %s" % brief["why"]]
        lines.append(
            "next: memory interview answer --session %s   (the question and the answer on standard input)"
            % brief["interview"]
        )
    lines.append("  %s" % brief["progress"]["line"])
    return lines + ["  not used: %s" % note for note in brief.get("dropped", ())]
