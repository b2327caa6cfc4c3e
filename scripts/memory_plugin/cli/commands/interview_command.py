"""`memory interview`: choose the questions of an interview. Claude asks them; this command decides what to ask next, and when to stop.

What only the actions that start, read or finish an interview need is imported in them, because Claude waits for the others on each turn.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any, Callable, NamedTuple

from ...interview import Reminder, inputs, interview_store, pipeline
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
    """Declare the arguments."""
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


class _Run(NamedTuple):
    """One run of the command, with the stored interviews."""

    arguments: Namespace
    context: CommandContext
    store: interview_store.InterviewStore

    def current(self) -> interview_store.Interview:
        """Return the interview that is named, or the open one. Raises InterviewError."""
        context = self.context
        return self.store.current(self.arguments.session, context.paths.project_key, context.session)

    def show(self, record: object, *lines: str) -> None:
        """Print a result as JSON or as lines."""
        self.context.console.result(record, *lines)


def _interview(arguments: Namespace, context: CommandContext) -> int | None:
    """Run one action."""
    this = _Run(arguments, context, interview_store.InterviewStore(context.paths.state()))
    return _HANDLERS.get(arguments.action, _step)(this)


def _start(this: _Run) -> None:
    arguments, context, settings = this.arguments, this.context, this.context.settings
    topic = inputs.clean_text(" ".join(arguments.words), inputs.MAX_TOPIC)
    if not topic:
        raise UsageError("start: expected a topic, such as: memory interview start 'billing export'")
    require_known(arguments.pack, inputs.SHIPPED)
    pack = inputs.read_pack(arguments.pack)
    for problem in invalid_values(settings, "interview.scoring"):
        context.console.error("the shipped interview.scoring is used: " + problem)
    setup = inputs.new_setup(
        topic, pack, settings.integer("interview.max_turns"), settings.block("interview.scoring")
    )
    covered = inputs.covered_elements(arguments.covered, setup)
    started = pipeline.start(this.store, setup, context.paths.project_key, context.session, covered)
    _report(this, *started)


def _step(this: _Run) -> None:
    """Do a step of the interview, and report the next decision."""
    interview = this.current()
    _report(this, interview, _next_decision(this, interview))


def _next_decision(this: _Run, interview: interview_store.Interview) -> interview_store.Decision:
    action, context, store = this.arguments.action, this.context, this.store
    if action == "answer":
        timed = context.within(_SECONDS)
        uses_judge = context.settings.is_judge_enabled("interview") and not context.taint.judges_off
        given = inputs.decode_answer(read_text(_MAX_INPUT))
        return pipeline.answer(store, interview, given, timed if uses_judge else None)
    if action == "skip":
        return pipeline.answer(store, interview, {"wish": "skip"})
    if action == "resume":
        return pipeline.resume(store, interview, context.session)
    return pipeline.advance(store, interview, {"kind": action.replace("-", "_")})


def _check_question(this: _Run) -> int:
    """Check the question on the command line or standard input. The exit code is 1 if it repeats an earlier one."""
    interview = this.current()
    question = inputs.clean_text(" ".join(this.arguments.words) or read_text(_MAX_INPUT))
    if not question:
        raise inputs.InvalidAnswer(
            "check-question: expected a question, such as: check-question 'Who will use it?'"
        )
    repeats, score = pipeline.check_question(interview, question)
    record = {"ok": not repeats, "repeats": repeats, "likeness": round(score, 3)}
    this.show(record, "already asked: %s" % repeats if repeats else "fine")
    return FAILED if repeats else DONE


def _report(this: _Run, interview: interview_store.Interview, decision: interview_store.Decision) -> None:
    """Record the decision, and print it."""
    context, begins = this.context, this.arguments.action in ("start", "resume")
    for problem in interview_store.record_decision(interview, decision, context.paths, begins=begins):
        context.console.error(problem)
    brief = pipeline.decision_brief(interview, decision)
    asks = brief.get("intent") if context.inside_client else decision.get("probe")
    lines = _lines(brief, asks)
    if this.arguments.action == "deeper" and brief.get("strategy") != "deepen":
        lines.append(_NOT_DEEPER)
    this.show(brief, *lines)
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


def _finish(this: _Run) -> None:
    from ...interview import results
    from ...work.save import save_chosen

    interview, context = results.unfinished(this.current()), this.context
    if not this.arguments.confirm:
        _show_result(this, interview)
        return
    chosen = results.choose_memories(read_text(_MAX_INPUT), results.propose_memories(interview))
    saved = save_chosen([(one.concept, one.memory(interview)) for one in chosen], context)
    results.finish(interview, this.store, context.paths)
    context.report(saved.notice)
    context.report_saves(saved.trusted)
    this.show({"interview": interview.id, "memories": saved.memories}, *saved.lines)


def _show_result(this: _Run, interview: interview_store.Interview) -> None:
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
    this.show({**found, "status": interview.status, "memories": proposed}, *lines)


def _discard(this: _Run) -> None:
    name = this.arguments.session
    if not name:
        raise UsageError("discard: expected --session ID; to list the ids: memory interview status")
    interview = this.store.find(name)
    this.store.delete(interview)
    Reminder(this.context.paths, interview.session).delete()
    this.show({"discarded": name}, "deleted %s" % name)


def _status(this: _Run) -> None:
    rows = this.store.overview(this.context.paths.project_key)
    columns = ["id", "status", "updated", "topic"]
    this.show({"interviews": rows})
    cells = [[str(row[name]) for name in columns] for row in rows]
    this.context.console.table(columns, cells, "No interviews in this project.")


def _explain(this: _Run) -> None:
    """Show the decision behind the question of a turn (counted from 1; default: the last decision)."""
    interview, words = this.current(), this.arguments.words
    decisions = [decision for _, decision in this.store.events(interview.id)]
    chosen = [one for one in decisions if not words or str(one["turn"]) == words[0]]
    if not chosen:
        text = "explain: expected a turn from 1 to %d, got %s"
        raise interview_store.InterviewError(text % (decisions[-1]["turn"], words[0]))
    decision = chosen[-1] if this.arguments.all else pipeline.with_best_alternatives(chosen[-1])
    this.show({**decision, "interview": interview.id})
    _show_decision(this.context.console, decision)


def _show_decision(console: Console, decision: interview_store.Decision) -> None:
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


def _export(this: _Run) -> None:
    from ...interview.results import as_markdown, as_record

    interview = this.current()
    this.show(as_record(interview), as_markdown(interview))


_HANDLERS: dict[str, Callable[[_Run], int | None]] = {
    "start": _start,
    "check-question": _check_question,
    "status": _status,
    "explain": _explain,
    "export": _export,
    "finish": _finish,
    "discard": _discard,
}
HANDLERS = {"interview": Handler(_TEXT, _interview, _configure)}
