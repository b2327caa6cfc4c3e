"""The actions of `memory interview` that read, finish or delete an interview: status, explain, replay, export, pack, finish, discard."""

from __future__ import annotations

import argparse
import os
from typing import Any

from ..interview import pipeline
from ..interview.answer_input import InvalidAnswer, read_input
from ..interview.interview_store import FINISHED, Interview, InterviewError, InterviewStore
from ..interview.reminder import Reminder
from ..interview.results import (
    as_markdown,
    as_record,
    choose_memories,
    memory_data,
    propose_memories,
    save_memory,
    summary,
)
from ..interview.setup import SHIPPED, find_pack, read_pack
from ..memories.hygiene import shown_line
from ..memories.stores import PROJECT
from .after_change import refresh_index, similar_lines, similar_to
from .command_context import CommandContext, CommandError, UsageError
from .console import counted
from .memory_input import TakenTitles
from .options import require_existing


def _current(arguments: argparse.Namespace, context: CommandContext, store: InterviewStore) -> Interview:
    return store.current(arguments.session, context.paths.project_key, context.session)


def _finish(arguments: argparse.Namespace, context: CommandContext, store: InterviewStore) -> int:
    interview = _current(arguments, context, store)
    if interview.status == FINISHED:
        raise InterviewError("%s is already finished; its memories are written" % interview.id)
    if not arguments.confirm:
        return _show_result(arguments, context, interview)
    chosen = choose_memories(read_input(), propose_memories(interview))
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
    lines = []
    found = similar_to(context, [(result.stored.key, result.stored.memory) for result, _ in written])
    new = {record["id"] for _, record in written}  # memories of one answer resemble one another
    for (_, record), near in zip(written, found):
        similar = [memory for memory in near if memory.id not in new]
        record["similar"] = [memory._asdict() for memory in similar]
        lines.append("%s %s" % ("saved" if record["created"] else "already stored as", record["id"]))
        lines += similar_lines(similar)
    records = [record for _, record in written]
    if written and not approved:
        ids = " ".join(record["id"] for record in records)
        lines.append("They await approval. To have the user asked, or in a terminal: memory accept %s" % ids)
    context.console.result(arguments.json, {"interview": interview.id, "memories": records}, *lines)
    return 0


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


def _show_result(arguments: argparse.Namespace, context: CommandContext, interview: Interview) -> int:
    """Show what was learned, what is open, and the memories that may be written."""
    record = {**summary(interview), "status": interview.status, "memories": propose_memories(interview)}
    lines = ["%s: %s" % (interview.topic, counted(record["asked"], "question"))]
    lines += [
        "  %s: %s (turn %d)" % (row["category"], row["title"], row["turn"]) for row in record["memories"]
    ]
    if record["open"]:
        lines.append("still open: %s" % ", ".join(record["open"]))
    if interview.status == FINISHED:
        lines.append("The memories are written.")
    elif record["memories"]:
        lines.append("To write these memories: memory interview finish --session %s --confirm" % interview.id)
    else:
        lines.append("No memories to write yet.")
    context.console.result(arguments.json, record, *lines)
    return 0


def _discard(arguments: argparse.Namespace, context: CommandContext, store: InterviewStore) -> int:
    if not arguments.session:
        raise UsageError(
            "discard: expected --session ID, so that none is deleted by mistake; `memory interview status` lists them"
        )
    interview = store.find(arguments.session)
    store.delete(interview.id)
    if interview.session:
        Reminder(context.paths, interview.session).delete()
    context.console.result(arguments.json, {"discarded": interview.id}, "deleted %s" % interview.id)
    return 0


def _status(arguments: argparse.Namespace, context: CommandContext, store: InterviewStore) -> int:
    if arguments.session:
        return _show_result(arguments, context, store.find(arguments.session))
    rows = store.overview(context.paths.project_key)
    if arguments.json:
        context.console.json({"interviews": rows})
    elif rows:
        columns = ["id", "status", "updated", "topic"]
        context.console.table(columns, [[str(row[name]) for name in columns] for row in rows])
    else:
        context.console.line("No interviews in this project.")
    return 0


def _explain(arguments: argparse.Namespace, context: CommandContext, store: InterviewStore) -> int:
    """Show the decision behind the question of a turn (counted from 1; default: the last decision)."""
    interview = _current(arguments, context, store)
    decisions = [decision for _, decision in store.events(interview.id)]
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
    is_same = not replayed["differ"] and replayed["same_state"]
    verdict = "identical" if is_same else "DIFFERENT: events %s" % replayed["differ"]
    text = "%s, %s" % (counted(replayed["decisions"], "decision"), verdict)
    context.console.result(arguments.json, replayed, text)
    return 0 if is_same else 1


def _export(arguments: argparse.Namespace, context: CommandContext, store: InterviewStore) -> int:
    interview = _current(arguments, context, store)
    if arguments.json:
        context.console.json(as_record(interview))
    else:
        context.console.verbatim(as_markdown(interview))
    return 0


def _pack(arguments: argparse.Namespace, context: CommandContext, _: InterviewStore) -> int:
    """Run `pack check FILE`, or list all packs."""
    folder = context.paths.state("interview", "packs")
    if not arguments.words:
        names = os.listdir(folder) if os.path.isdir(folder) else []
        own = sorted(name[:-5] for name in names if name.endswith(".json"))
        record = {"shipped": list(SHIPPED), "own": own, "folder": folder}
        text = "shipped: %s; yours (in %s): %s" % (", ".join(SHIPPED), folder, ", ".join(own) or "none")
        context.console.result(arguments.json, record, text)
        return 0
    if arguments.words[0] != "check" or len(arguments.words) != 2:
        raise InvalidAnswer("pack: expected `pack` or `pack check FILE`")
    require_existing(*(name for name in arguments.words[1:] if name.endswith(".json")))
    pack = read_pack(find_pack(arguments.words[1], folder))
    types, elements = len(pack["types"]), len(pack["elements"])
    context.console.result(
        arguments.json,
        {"ok": True, "id": pack["id"], "elements": elements},
        "%s: valid, %s, %s" % (pack["id"], counted(types, "type"), counted(elements, "element")),
    )
    return 0


HANDLERS = {
    "status": _status,
    "explain": _explain,
    "replay": _replay,
    "export": _export,
    "pack": _pack,
    "finish": _finish,
    "discard": _discard,
}
