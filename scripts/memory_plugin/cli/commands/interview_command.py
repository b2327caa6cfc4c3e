"""`memory interview`: choose the questions of an interview. Claude asks them; this command decides what to ask next, and when to stop.

What only the actions that start, read or finish an interview need is imported in them, because Claude waits for the others on each turn.
"""

from __future__ import annotations

import argparse
import os
from typing import Any, Callable

from ...interview import Reminder, pipeline
from ...interview.answer_input import InvalidAnswer, clean_text, decode_answer, read_input
from ...interview.interview_store import (
    FINISHED,
    Decision,
    Interview,
    InterviewError,
    InterviewStore,
    record_decision,
)
from ...kernel.files import bug_text
from ...kernel.text.clean import counted
from ...memories import InvalidMemory
from ...work.settings_change import invalid_values
from ..command_context import CommandContext, CommandError, UsageError
from ..options import add_flag, require_existing

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
_DAMAGED = "the interview %s in %s is damaged, or this is a bug: %s. To delete it: memory interview discard --session %s"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", choices=ACTIONS, metavar="ACTION", help=", ".join(ACTIONS))
    parser.add_argument(
        "words", nargs="*", metavar="WORD", help="topic, question or turn; right after the action"
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
    add_flag(parser, "--all", "explain: every candidate, not only the best ones")
    add_flag(parser, "--confirm", "finish: write the memories; the user has confirmed them")


def run(arguments: argparse.Namespace, context: CommandContext) -> int | None:
    """Run one action. Raises CommandError, which says what to do, if the stored interview is damaged."""
    store = InterviewStore(context.paths.state())
    try:
        return _run(arguments, context, store)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        if not store.last_read or isinstance(error, InvalidMemory):  # that is about what would be written
            raise
        what = "%s: %s" % (bug_text(error), error)
        raise CommandError(_DAMAGED % (store.last_read, store.path, what, store.last_read)) from error


def _run(arguments: argparse.Namespace, context: CommandContext, store: InterviewStore) -> int | None:
    if arguments.action in _HANDLERS:
        return _HANDLERS[arguments.action](arguments, context, store)
    interview = _current(arguments, context, store)
    _report(arguments, context, interview, _next_decision(arguments, context, store, interview))
    return None


def _start(arguments: argparse.Namespace, context: CommandContext, store: InterviewStore) -> None:
    from ...interview.setup import MAX_TOPIC, covered_elements, find_pack, new_setup, read_pack

    topic = clean_text(" ".join(arguments.words), MAX_TOPIC)
    if not topic:
        raise UsageError("start: expected a topic, such as: memory interview start 'billing export'")
    require_existing(*(name for name in [arguments.pack] if name.endswith(".json")))
    pack = read_pack(find_pack(arguments.pack, context.paths.state("interview", "packs")))
    settings, most = context.settings, arguments.max_turns
    max_turns = settings.integer("interview.max_turns") if most is None else most
    for problem in invalid_values(settings, "interview.scoring"):
        context.console.error("the shipped interview.scoring is used: " + problem)
    setup = new_setup(topic, pack, max_turns, settings.block("interview.scoring"))
    covered = covered_elements(arguments.covered, setup)
    started = pipeline.start(store, setup, context.paths.project_key, context.session, covered)
    _report(arguments, context, *started)


def _next_decision(
    arguments: argparse.Namespace, context: CommandContext, store: InterviewStore, interview: Interview
) -> Decision:
    """Do the step and return the next decision."""
    if arguments.action == "answer":
        timed = context.within(_SECONDS)
        uses_judge = context.settings.is_judge_enabled("interview") and not context.taint.judges_off
        return pipeline.answer(store, interview, decode_answer(read_input()), timed if uses_judge else None)
    if arguments.action == "skip":
        return pipeline.answer(store, interview, {"wish": "skip"})
    if arguments.action == "resume":
        return pipeline.resume(store, interview, context.session, max(1, arguments.more))
    return pipeline.advance(store, interview, {"kind": arguments.action.replace("-", "_")})


def _check_question(arguments: argparse.Namespace, context: CommandContext, store: InterviewStore) -> int:
    """Check the question on the command line or standard input. The exit code is 1 if it repeats an earlier one."""
    interview = _current(arguments, context, store)
    question = clean_text(" ".join(arguments.words) or read_input())
    if not question:
        raise InvalidAnswer(
            "check-question: expected the question, such as: check-question 'Who will use it?'"
        )
    repeats, score = pipeline.check_question(store, interview, question)
    record = {"ok": not repeats, "repeats": repeats, "likeness": round(score, 3)}
    context.console.result(arguments.json, record, "already asked: %s" % repeats if repeats else "fine")
    return 1 if repeats else 0


def _report(
    arguments: argparse.Namespace, context: CommandContext, interview: Interview, decision: Decision
) -> None:
    """Record the decision, and print it."""
    for problem in record_decision(
        interview, decision, context.paths, begins=arguments.action in ("start", "resume")
    ):
        context.console.error(problem)
    brief = pipeline.decision_brief(interview, decision)
    asks = brief.get("intent") if context.inside_client else decision.get("probe")
    context.console.result(arguments.json, brief, *_lines(brief, asks))
    if not (context.inside_client or arguments.json or brief["stop"]):
        context.console.line("To be interviewed, type in Claude Code: /memory:interview")


def _lines(brief: dict[str, Any], asks: str | None) -> list[str]:
    """Return a decision as text. `asks` is the next question, or for Claude what to ask."""
    lines = ["%s, turn %d, %s" % (brief["interview"], brief["turn"], brief["phase"])]
    if brief["stop"]:
        lines.append("stop: %s" % brief["why"])
        if brief["deferred"]:
            lines.append("still open: %s" % ", ".join(brief["deferred"]))
        lines.append("next: memory interview finish --session %s" % brief["interview"])
    else:
        lines += ["%s: %s" % (brief["strategy"], asks), "  why: %s" % brief["why"]]
        lines.append(
            "next, with the question and the answer on standard input: memory interview answer --session %s"
            % brief["interview"]
        )
    lines.append("  %s" % brief["progress"]["line"])
    return lines + ["  not used: %s" % note for note in brief.get("dropped", ())]


def _current(arguments: argparse.Namespace, context: CommandContext, store: InterviewStore) -> Interview:
    return store.current(arguments.session, context.paths.project_key, context.session)


def _finish(arguments: argparse.Namespace, context: CommandContext, store: InterviewStore) -> None:
    from ...interview.results import choose_memories, propose_memories
    from ...work.interviews import finish, unfinished

    interview = unfinished(_current(arguments, context, store))
    if not arguments.confirm:
        _show_result(arguments, context, interview)
        return
    finished = finish(interview, choose_memories(read_input(), propose_memories(interview)), store, context)
    if finished.notice:
        context.console.error(finished.notice)
    context.report_saves(finished.trusted)
    record = {"interview": interview.id, "memories": finished.memories}
    context.console.result(arguments.json, record, *finished.lines)


def _show_result(arguments: argparse.Namespace, context: CommandContext, interview: Interview) -> None:
    """Show what was learned, what is open, and the memories that may be written."""
    from ...interview.results import propose_memories, summary

    found, memories = summary(interview), propose_memories(interview)
    lines = ["%s: %s" % (interview.topic, counted(found.asked, "question"))]
    lines += ["  %s: %s (turn %d)" % (memory.category, memory.title, memory.turn) for memory in memories]
    if found.open:
        lines.append("still open: %s" % ", ".join(found.open))
    if interview.status == FINISHED:
        lines.append("The memories are written.")
    elif memories:
        lines.append("To write these memories: memory interview finish --session %s --confirm" % interview.id)
    else:
        lines.append("No memories to write yet.")
    record = {
        **found._asdict(),
        "status": interview.status,
        "memories": [memory.record() for memory in memories],
    }
    context.console.result(arguments.json, record, *lines)


def _discard(arguments: argparse.Namespace, context: CommandContext, store: InterviewStore) -> None:
    if not arguments.session:
        raise UsageError(
            "discard: expected --session ID, so that none is deleted by mistake; `memory interview status` lists them"
        )
    Reminder(context.paths, store.delete(arguments.session)).delete()
    context.console.result(arguments.json, {"discarded": arguments.session}, "deleted %s" % arguments.session)


def _status(arguments: argparse.Namespace, context: CommandContext, store: InterviewStore) -> None:
    if arguments.session:
        _show_result(arguments, context, store.find(arguments.session))
        return
    rows = store.overview(context.paths.project_key)
    if arguments.json:
        context.console.json({"interviews": rows})
    elif rows:
        columns = ["id", "status", "updated", "topic"]
        context.console.table(columns, [[str(row[name]) for name in columns] for row in rows])
    else:
        context.console.line("No interviews in this project.")


def _explain(arguments: argparse.Namespace, context: CommandContext, store: InterviewStore) -> None:
    """Show the decision behind the question of a turn (counted from 1; default: the last decision)."""
    interview = _current(arguments, context, store)
    decisions = [decision for _, decision in store.events(interview.id)]
    if arguments.all:
        decisions = pipeline.all_decisions(store, interview)
    if arguments.words:
        turn, last = arguments.words[0], decisions[-1]["turn"]
        decisions = [decision for decision in decisions if str(decision["turn"]) == turn]
        if not decisions:
            raise InterviewError("explain: expected a turn from 1 to %d, got %s" % (last, turn))
    if arguments.json:
        context.console.json({**decisions[-1], "interview": interview.id})
    else:
        _show_decision(context, decisions[-1])


def _show_decision(context: CommandContext, decision: Decision) -> None:
    line = context.console.line
    line("turn %d, %s phase: %s" % (decision["turn"], decision["phase"], decision["why"]))
    if decision["stop"]:
        return
    line(_figures(decision["chosen"]))
    rows = [
        [scorer["id"], "%.2f" % scorer["raw"], "%.2f" % scorer["weight"], scorer["why"]]
        for scorer in decision["chosen"]["scorers"]
    ]
    context.console.table(["scorer", "raw", "weight", "why"], rows)
    for other in decision["runners_up"]:
        line("next: " + _figures(other))
    for other in decision["vetoed"]:
        line("vetoed: %s on %s: %s" % (other["strategy"], other["focus"]["label"], other["veto"]))


def _figures(question: dict[str, Any]) -> str:
    factors = (question["score"], question["sum"], question["multiplier"])
    return "%s on %s: %.3f = %.3f x %g" % (question["strategy"], question["focus"]["label"], *factors)


def _replay(arguments: argparse.Namespace, context: CommandContext, store: InterviewStore) -> int:
    replayed = pipeline.replay(store, _current(arguments, context, store))
    is_same = not replayed.differ and replayed.same_state
    verdict = "identical" if is_same else "DIFFERENT: events %s" % replayed.differ
    text = "%s, %s" % (counted(replayed.decisions, "decision"), verdict)
    context.console.result(arguments.json, replayed._asdict(), text)
    return 0 if is_same else 1


def _export(arguments: argparse.Namespace, context: CommandContext, store: InterviewStore) -> None:
    from ...interview.results import as_markdown, as_record

    interview = _current(arguments, context, store)
    if arguments.json:
        context.console.json(as_record(interview))
    else:
        context.console.verbatim(as_markdown(interview))


def _pack(arguments: argparse.Namespace, context: CommandContext, _: InterviewStore) -> None:
    """List all packs."""
    from ...interview.setup import SHIPPED

    folder = context.paths.state("interview", "packs")
    names = os.listdir(folder) if os.path.isdir(folder) else []
    own = sorted(name[:-5] for name in names if name.endswith(".json"))
    record = {"shipped": list(SHIPPED), "own": own, "folder": folder}
    text = "shipped: %s; yours (in %s): %s" % (", ".join(SHIPPED), folder, ", ".join(own) or "none")
    context.console.result(arguments.json, record, text)


_HANDLERS: dict[str, Callable[[argparse.Namespace, CommandContext, InterviewStore], int | None]] = {
    "start": _start,
    "check-question": _check_question,
    "status": _status,
    "explain": _explain,
    "replay": _replay,
    "export": _export,
    "pack": _pack,
    "finish": _finish,
    "discard": _discard,
}
