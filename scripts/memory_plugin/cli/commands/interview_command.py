"""`memory interview`: choose the questions of an interview. Claude asks them; this command decides what to ask next, and when to stop.

What only the actions that start, read or finish an interview need is imported in them, because Claude waits for the others on each turn.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any, Callable

from ...interview import Reminder, inputs, pipeline
from ...interview.interview_store import Decision, Interview, InterviewError, InterviewStore, record_decision
from ...kernel.text.clean import counted
from ...work.settings_change import invalid_values
from ..command_context import DONE, FAILED, CommandContext, Handler, UsageError
from ..console import Console, read_text
from ..options import add_flag, require_known

_TEXT = """\
run an interview: choose the next question, explain why, and decide when to stop
  memory interview start 'billing export' --pack requirements --json
  memory interview answer --session ID --json < answer.txt
  memory interview check-question 'Who will use the export?' --session ID  the question may also come on standard input
  memory interview explain 3 --session ID
  memory interview finish --session ID             shows what would be written; then again with --confirm

answer reads plain text, JSON, or lines that begin with a name (any other line
continues the value above it):
  question: as it was asked
  answer: as it was given
  concept: type | text | stance -1, 0, 1 | confidence | quote
  relation: concept | the concept it leads to
  signal: uncertainty | type=knowledge_gap | severity=0.8
  covered: element, element
  wish: skip, deeper or stop
finish --confirm writes all proposed memories, or only those that lines such as
`memory: n1` name. Lines below such a line change the memory's title, body,
context, category, tags or asked_as.
"""
_STEPS = ("answer", "check-question", "skip", "deeper", "wrap-up", "resume")
_NEXT = "next, with the question and the answer on standard input: memory interview answer --session %s"
_NO_MEMORIES = "No memories to write: no answer came with a concept. /memory:interview adds them; by hand, see: memory interview --help"
_NOT_DEEPER = "  not used: deeper; nothing you said can be deepened yet"
_MAX_INPUT = 1 << 20
ACTIONS = ("start", *_STEPS, "status", "explain", "export", "finish", "discard")
_SECONDS = 10.0


def _configure(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("action", choices=ACTIONS, metavar="ACTION", help=", ".join(ACTIONS))
    add("words", nargs="*", metavar="WORD", help="topic, question or turn; right after the action")
    session = "the interview (default: the open one; discard has no default)"
    add("--session", metavar="ID", default="", help=session)
    add("--pack", metavar="NAME|FILE", default="requirements", help="start: the pack of topics")
    covered = "start: elements already known, with their source"
    add("--covered", metavar="a=SOURCE,b", default="", help=covered)
    add_flag(parser, "--all", "explain: every candidate, not only the best ones")
    add_flag(parser, "--confirm", "finish: write the memories; the user has confirmed them")


def _interview(arguments: Namespace, context: CommandContext) -> int | None:
    """Run one action."""
    store = InterviewStore(context.paths.state(), context.paths.project_key, context.session)
    return _HANDLERS.get(arguments.action, _step)(arguments, context, store)


def _start(arguments: Namespace, context: CommandContext, store: InterviewStore) -> None:
    settings = context.settings
    topic = inputs.clean_text(" ".join(arguments.words), inputs.MAX_TOPIC)
    if not topic:
        raise UsageError("start: expected a topic, such as: memory interview start 'billing export'")
    require_known(arguments.pack, inputs.SHIPPED)
    for problem in invalid_values(settings, "interview.scoring"):
        context.console.error("the shipped interview.scoring is used: " + problem)
    most, changes = settings.integer("interview.max_turns"), settings.block("interview.scoring")
    setup = inputs.new_setup(topic, inputs.read_pack(arguments.pack), most, changes)
    covered = inputs.covered_elements(arguments.covered, setup)
    _report(*pipeline.start(store, setup, covered), arguments, context)


def _step(arguments: Namespace, context: CommandContext, store: InterviewStore) -> None:
    """Do a step of the interview, and report the next decision."""
    interview = store.current(arguments.session)
    _report(interview, _decide(arguments.action, interview, context, store), arguments, context)


def _decide(action: str, interview: Interview, context: CommandContext, store: InterviewStore) -> Decision:
    """Do the step, and return what follows it."""
    if action == "answer":
        uses_judge = context.settings.is_judge_enabled("interview") and not context.taint.judges_off
        given = inputs.decode_answer(read_text(_MAX_INPUT))
        return pipeline.answer(store, interview, given, context.within(_SECONDS) if uses_judge else None)
    if action == "skip":
        return pipeline.answer(store, interview, {"wish": "skip"})
    if action == "resume":
        return pipeline.resume(store, interview)
    return pipeline.advance(store, interview, {"kind": action.replace("-", "_")})


def _check_question(arguments: Namespace, context: CommandContext, store: InterviewStore) -> int:
    """Check the question on the command line or standard input. The exit code is 1 if it repeats an earlier one."""
    interview = store.current(arguments.session)
    question = inputs.clean_text(" ".join(arguments.words) or read_text(_MAX_INPUT))
    if not question:
        text = "check-question: expected a question, such as: check-question 'Who will use it?'"
        raise inputs.InvalidAnswer(text)
    repeats, score = pipeline.check_question(interview, question)
    record = {"ok": not repeats, "repeats": repeats, "likeness": round(score, 3)}
    context.console.result(record, "already asked: %s" % repeats if repeats else "fine")
    return FAILED if repeats else DONE


def _report(interview: Interview, decision: Decision, arguments: Namespace, context: CommandContext) -> None:
    """Record the decision, and print it."""
    begins = arguments.action in ("start", "resume")
    for problem in record_decision(interview, decision, context.paths, begins=begins):
        context.console.error(problem)
    brief = pipeline.decision_brief(interview, decision)
    lines = _lines(brief, brief.get("intent") if context.inside_client else decision.get("probe"))
    if arguments.action == "deeper" and brief.get("strategy") != "deepen":
        lines.append(_NOT_DEEPER)
    context.console.result(brief, *lines)
    if not (context.inside_client or brief["stop"]):
        context.console.line("To be interviewed, type in Claude Code: /memory:interview")


def _lines(brief: dict[str, Any], asks: str | None) -> list[str]:
    """Return a decision as text. `asks` is the next question, or for Claude what to ask."""
    name, progress = brief["interview"], "  %s" % brief["progress"]["line"]
    lines = ["%s, turn %d, %s" % (name, brief["turn"], brief["phase"])]
    if brief["stop"]:
        lines.append("stop: %s" % brief["why"])
        lines += ["still open: %s" % ", ".join(brief["deferred"])] if brief["deferred"] else []
        lines.append("next: memory interview finish --session %s" % name)
    else:
        lines += ["%s: %s" % (brief["strategy"], asks), "  why: %s" % brief["why"], _NEXT % name]
    return [*lines, progress, *("  not used: %s" % note for note in brief.get("dropped", ()))]


def _finish(arguments: Namespace, context: CommandContext, store: InterviewStore) -> None:
    from ...interview import results
    from ...work.save import save_chosen

    interview = results.unfinished(store.current(arguments.session))
    if not arguments.confirm:
        _show_result(interview, context)
        return
    chosen = results.choose_memories(read_text(_MAX_INPUT), results.propose_memories(interview))
    saved = save_chosen([(one.concept, one.memory(interview)) for one in chosen], context)
    results.finish(interview, store, context.paths)
    context.report(saved.notice)
    context.report_saves(saved.trusted)
    lines = saved.lines or ["The interview is finished; no memory was written."]
    context.console.result({"interview": interview.id, "memories": saved.memories}, *lines)


def _show_result(interview: Interview, context: CommandContext) -> None:
    """Show what was learned, what is open, and the memories that may be written."""
    from ...interview.results import propose_memories, summary

    found, memories = summary(interview), propose_memories(interview)
    lines = ["%s: %s" % (interview.topic, counted(found["asked"], "question"))]
    lines += ["  %s: %s (turn %d)" % (memory.category, memory.title, memory.turn) for memory in memories]
    lines += ["still open: %s" % ", ".join(found["open"])] if found["open"] else []
    if memories:
        lines.append("To write these memories: memory interview finish --session %s --confirm" % interview.id)
    else:
        lines.append(_NO_MEMORIES)
    proposed = [memory._asdict() for memory in memories]
    context.console.result({**found, "status": interview.status, "memories": proposed}, *lines)


def _discard(arguments: Namespace, context: CommandContext, store: InterviewStore) -> None:
    name = arguments.session
    if not name:
        raise UsageError("discard: expected --session ID; to list the ids: memory interview status")
    interview = store.find(name)
    store.delete(interview)
    Reminder(context.paths, interview.session).delete()
    context.console.result({"discarded": name}, "deleted %s" % name)


def _status(arguments: Namespace, context: CommandContext, store: InterviewStore) -> None:
    rows = store.overview()
    columns = ["id", "status", "updated", "topic"]
    context.console.result({"interviews": rows})
    cells = [[str(row[name]) for name in columns] for row in rows]
    context.console.table(columns, cells, "No interviews in this project.")


def _explain(arguments: Namespace, context: CommandContext, store: InterviewStore) -> None:
    """Show the decision behind the question of a turn (counted from 1; default: the last decision)."""
    interview, words = store.current(arguments.session), arguments.words
    decisions = [decision for _, decision in store.events(interview.id)]
    chosen = [one for one in decisions if not words or str(one["turn"]) == words[0]]
    if not chosen:
        text = "explain: expected a turn from 1 to %d, got %s"
        raise InterviewError(text % (decisions[-1]["turn"], words[0]))
    decision = chosen[-1] if arguments.all else pipeline.with_best_alternatives(chosen[-1])
    context.console.result({**decision, "interview": interview.id})
    _show_decision(context.console, decision)


def _show_decision(console: Console, decision: Decision) -> None:
    console.line("turn %d, %s phase: %s" % (decision["turn"], decision["phase"], decision["why"]))
    if decision["stop"]:
        return
    console.line(_figures(decision["chosen"]))
    scorers = decision["chosen"]["scorers"]
    rows = [[one["id"], "%.2f" % one["raw"], "%.2f" % one["weight"], one["why"]] for one in scorers]
    console.table(["scorer", "raw", "weight", "why"], rows)
    console.lines(*("next: " + _figures(other) for other in decision["runners_up"]))
    for other in decision["vetoed"]:
        console.line("vetoed: %s on %s: %s" % (other["strategy"], other["focus"]["label"], other["veto"]))


def _figures(question: dict[str, Any]) -> str:
    factors = (question["score"], question["sum"], question["multiplier"])
    return "%s on %s: %.3f = %.3f x %g" % (question["strategy"], question["focus"]["label"], *factors)


def _export(arguments: Namespace, context: CommandContext, store: InterviewStore) -> None:
    from ...interview.results import as_markdown, as_record

    interview = store.current(arguments.session)
    context.console.result(as_record(interview), as_markdown(interview))


_HANDLERS: dict[str, Callable[[Namespace, CommandContext, InterviewStore], int | None]] = {
    "start": _start,
    "check-question": _check_question,
    "status": _status,
    "explain": _explain,
    "export": _export,
    "finish": _finish,
    "discard": _discard,
}
HANDLERS = {"interview": Handler(_TEXT, _interview, _configure)}
