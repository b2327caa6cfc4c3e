"""The actions of `memory interview` that read, finish or delete an interview: status, explain, replay, export, pack, finish, discard."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..interview import export, pipeline
from ..interview.exceptions import InterviewError, InvalidAnswer
from ..interview.interview_store import FINISHED, InterviewStore
from ..interview.pack import SHIPPED, find_pack, read_pack
from ..interview.proposals import choose_memories, memory_data, propose_memories, save_memory, summary
from ..interview.reminder import Reminder
from ..interview.setup import InterviewLimits, new_setup
from ..memories.hygiene import shown_line
from ..memories.stores import PROJECT
from .after_change import Similar, refresh_index, similar_lines, similar_to
from .command_context import CommandError, UsageError
from .commands.interview_command import find_interview, read_input
from .console import counted
from .memory_input import TakenTitles
from .options import require_existing

if TYPE_CHECKING:
    import argparse
    from typing import Any

    from ..interview.interview_store import Interview
    from .command_context import CommandContext


def _finish(arguments: argparse.Namespace, context: CommandContext) -> int:
    store, interview = find_interview(arguments, context)
    if interview.status == FINISHED:
        raise InterviewError("%s is already finished; its memories are written" % interview.id)
    proposed = propose_memories(interview)
    if not arguments.confirm:
        return _show_proposals(arguments, context, interview, proposed)
    chosen = choose_memories(read_input(), proposed)
    _refuse_taken_titles(context, interview, chosen)
    approved = context.approve_saves(len(chosen))
    written = [save_memory(interview, memory, context.paths, approved=approved) for memory in chosen]
    interview.status = FINISHED
    interview.state["next"] = None
    store.update(interview)
    if interview.session:
        Reminder(context.paths, interview.session).delete()
    refresh_index(context)
    if approved:
        context.report_saves([(record["id"], result.stored.memory.title) for result, record in written])
    new = [(result.stored.key, result.stored.memory) for result, _ in written]
    for (_, record), similar in zip(written, similar_to(context, new)):
        record["similar"] = [memory._asdict() for memory in similar]
    return _show_written(arguments, context, interview, [record for _, record in written])


def _refuse_taken_titles(context: CommandContext, interview: Interview, chosen: list[dict[str, Any]]) -> None:
    """Raise CommandError, before anything is written, if a chosen memory has the title of a stored one or of an earlier one."""
    taken = TakenTitles(context.survey().items, PROJECT)
    for memory in chosen:
        why = taken.take(memory_data(interview, memory), memory["concept"])
        if why:
            raise CommandError(
                "%s, %s: %s. Nothing was written; send `memory: %s` with another `title:`, or leave it out"
                % (memory["concept"], shown_line(memory["title"]), why, memory["concept"])
            )


def _show_proposals(
    arguments: argparse.Namespace,
    context: CommandContext,
    interview: Interview,
    proposed: list[dict[str, Any]],
) -> int:
    overview = summary(interview)
    lines = ["%s: %s" % (interview.topic, counted(len(interview.state["turns"]), "question"))]
    lines += ["  %s: %s (turn %d)" % (row["category"], row["title"], row["turn"]) for row in proposed]
    if overview["open"]:
        lines.append("still open: %s" % ", ".join(overview["open"]))
    lines.append(
        "To write these memories, run it again with --confirm." if proposed else "No memories to write yet."
    )
    context.console.result(arguments.json, {**overview, "memories": proposed}, *lines)
    return 0


def _show_written(
    arguments: argparse.Namespace,
    context: CommandContext,
    interview: Interview,
    written: list[dict[str, Any]],
) -> int:
    lines = []
    for record in written:
        lines.append("%s %s" % ("saved" if record["created"] else "already stored as", record["id"]))
        lines += similar_lines([Similar(**similar) for similar in record["similar"]])
    if written and not written[0]["trusted"]:
        ids = " ".join(record["id"] for record in written)
        lines.append("They await approval. To have the user asked, or in a terminal: memory accept %s" % ids)
    context.console.result(arguments.json, {"interview": interview.id, "memories": written}, *lines)
    return 0


def _discard(arguments: argparse.Namespace, context: CommandContext) -> int:
    if not arguments.session:
        raise UsageError(
            "discard: expected --session ID, so that none is deleted by mistake; `memory interview status` lists them"
        )
    store = InterviewStore(context.paths.state())
    interview = store.find(arguments.session)
    store.delete(interview.id)
    if interview.session:
        Reminder(context.paths, interview.session).delete()
    context.console.result(arguments.json, {"discarded": interview.id}, "deleted %s" % interview.id)
    return 0


def _status(arguments: argparse.Namespace, context: CommandContext) -> int:
    store = InterviewStore(context.paths.state())
    if arguments.session:
        interview = store.find(arguments.session)
        events = store.events(interview.id)
        record: dict[str, Any] = {**summary(interview), "status": interview.status, "events": len(events)}
        if interview.state["next"] is not None:
            record["next"] = interview.state["next"]
        context.console.result(arguments.json, record, *_status_lines(record))
        return 0
    rows = store.overview(context.paths.project_key)
    if arguments.json:
        context.console.json({"interviews": rows})
    elif rows:
        columns = ["id", "status", "updated", "topic"]
        context.console.table(columns, [[str(row[name]) for name in columns] for row in rows])
    else:
        context.console.line("No interviews in this project.")
    return 0


def _status_lines(record: dict[str, Any]) -> list[str]:
    return [
        "%s, %s, asked %d" % (record["interview"], record["status"], record["asked"]),
        *("  %s: %s" % (name, "; ".join(labels)) for name, labels in record["learnt"].items()),
        "  open: %s" % (", ".join(record["open"]) or "nothing"),
    ]


def _explain(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Show the decision behind the question of a turn (counted from 1; default: the last decision)."""
    store, interview = find_interview(arguments, context)
    decisions = [pipeline.load_decision(decision) for _, decision in store.events(interview.id)]
    if arguments.words:
        turn, last = arguments.words[0], decisions[-1]["turn"]
        decisions = [decision for decision in decisions if str(decision["turn"]) == turn]
        if not decisions:
            raise InterviewError("explain: expected a turn from 1 to %d, got %s" % (last, turn))
    if arguments.json:
        context.console.json({**decisions[-1], "interview": interview.id})
    else:
        _show_decision(context, decisions[-1])
    return 0


def _show_decision(context: CommandContext, decision: dict[str, Any]) -> None:
    line = context.console.line
    line("turn %d, %s phase: %s" % (decision["turn"], decision["phase"], decision["why"]))
    if decision["stop"]:
        return
    chosen = decision["chosen"]
    line("%s on %s: %.3f = %.3f x %g" % _figures(chosen))
    rows = [
        [scorer["id"], "%.2f" % scorer["raw"], "%.2f" % scorer["weight"], scorer["why"]]
        for scorer in chosen.get("scorers", ())
    ]
    context.console.table(["scorer", "raw", "weight", "why"], rows)
    for other in decision["runners_up"]:
        line("next: %s on %s: %.3f = %.3f x %g" % _figures(other))
    for other in decision["vetoed"]:
        line("vetoed: %s on %s: %s" % (other["strategy"], other["focus"]["label"], other["veto"]))


def _figures(question: dict[str, Any]) -> tuple[str, str, float, float, float]:
    label = question["focus"]["label"]
    return question["strategy"], label, question["score"], question["sum"], question["multiplier"]


def _replay(arguments: argparse.Namespace, context: CommandContext) -> int:
    replayed = pipeline.replay(*find_interview(arguments, context))
    is_same = not replayed["differ"] and replayed["same_state"]
    verdict = "identical" if is_same else "DIFFERENT: events %s" % replayed["differ"]
    text = "%s, %s" % (counted(replayed["decisions"], "decision"), verdict)
    context.console.result(arguments.json, replayed, text)
    return 0 if is_same else 1


def _export(arguments: argparse.Namespace, context: CommandContext) -> int:
    _, interview = find_interview(arguments, context)
    if arguments.format == "json" or arguments.json:
        context.console.json(export.as_json(interview))
    else:
        render = export.as_mermaid if arguments.format == "mermaid" else export.as_transcript
        context.console.verbatim(render(interview).rstrip("\n"))
    return 0


def _pack(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Run `pack check FILE`, or list all packs."""
    folder = context.paths.state("interview", "packs")
    if not arguments.words:
        own = sorted(name[:-5] for name in _names(folder) if name.endswith(".json"))
        record = {"shipped": list(SHIPPED), "own": own, "folder": folder}
        text = "shipped: %s; yours (in %s): %s" % (", ".join(SHIPPED), folder, ", ".join(own) or "none")
        context.console.result(arguments.json, record, text)
        return 0
    if arguments.words[0] != "check" or len(arguments.words) != 2:
        raise InvalidAnswer("pack: expected `pack` or `pack check FILE`")
    require_existing(*(name for name in arguments.words[1:] if name.endswith(".json")))
    path = find_pack(arguments.words[1], folder)
    pack = read_pack(path)
    new_setup("check", pack, path, InterviewLimits(20, 0.8, close_when_falling=True))
    types, elements = len(pack["types"]), len(pack["elements"])
    context.console.result(
        arguments.json,
        {"ok": True, "id": pack["id"], "elements": elements},
        "%s: valid, %s, %s" % (pack["id"], counted(types, "type"), counted(elements, "element")),
    )
    return 0


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


HANDLERS = {
    "status": _status,
    "explain": _explain,
    "replay": _replay,
    "export": _export,
    "pack": _pack,
    "finish": _finish,
    "discard": _discard,
}
