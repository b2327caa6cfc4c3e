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
from ..memories.survey import survey
from .after_change import Similar, refresh_index, similar_lines, similar_to
from .command_context import CommandError, UsageError, require_existing
from .commands.interview_command import find_interview, read_input
from .console import counted
from .title_check import TakenTitles

if TYPE_CHECKING:
    import argparse
    from typing import Any

    from ..interview.interview_store import Interview
from .command_context import CommandContext

__all__ = ["HANDLERS"]


def _finish(arguments: argparse.Namespace, context: CommandContext) -> int:
    store, interview = find_interview(arguments, context)
    if interview.status == FINISHED:
        raise InterviewError("%s is already finished; its memories are written" % interview.id)
    proposed = propose_memories(interview)
    if not arguments.confirm:
        return _show_proposals(arguments, context, interview, proposed)
    chosen = choose_memories(read_input(), proposed)
    _refuse_taken_titles(context, interview, chosen)
    approved = _is_approved(context, interview)
    written = [save_memory(interview, memory, context.paths, approved=approved) for memory in chosen]
    interview.status = FINISHED
    interview.state["next"] = None
    store.update(interview)
    if interview.session:
        Reminder(context.paths, interview.session).delete()
    refresh_index(context)
    new = [(result.stored.key, result.stored.memory) for result, _ in written]
    for (_, record), similar in zip(written, similar_to(context, new)):
        record["similar"] = [memory._asdict() for memory in similar]
    return _show_written(arguments, context, interview, [record for _, record in written])


def _refuse_taken_titles(context: CommandContext, interview: Interview, chosen: list[dict[str, Any]]) -> None:
    """Raise CommandError, before anything is written, if a stored memory or an earlier one has the title of a chosen one."""
    taken = TakenTitles(survey(context.paths, context.accept_from).items, PROJECT)
    for memory in chosen:
        why = taken.take(memory_data(interview, memory), memory["concept"])
        if why:
            raise CommandError(
                "%s, %s: %s. Nothing was written; send `memory: %s` with another `title:`, or leave it out"
                % (memory["concept"], shown_line(memory["title"]), why, memory["concept"])
            )


def _is_approved(context: CommandContext, interview: Interview) -> bool:
    """Return whether the user approves the memories: now, or by starting the interview in this session."""
    if context.is_approved:
        return True
    return bool(context.session) and Reminder(context.paths, context.session).is_approved(interview.id)


def _show_proposals(
    arguments: argparse.Namespace,
    context: CommandContext,
    interview: Interview,
    proposed: list[dict[str, Any]],
) -> int:
    found = summary(interview)
    if arguments.json:
        context.console.json(dict(found, memories=proposed))
        return 0
    context.console.line("%s: %s" % (interview.topic, counted(len(interview.state["turns"]), "question")))
    for memory in proposed:
        context.console.line("  %s: %s (turn %d)" % (memory["category"], memory["title"], memory["turn"]))
    if found["open"]:
        context.console.line("still open: %s" % ", ".join(found["open"]))
    advice = (
        "To write these memories, run it again with --confirm." if proposed else "No memories to write yet."
    )
    context.console.line(advice)
    return 0


def _show_written(
    arguments: argparse.Namespace,
    context: CommandContext,
    interview: Interview,
    written: list[dict[str, Any]],
) -> int:
    if arguments.json:
        context.console.json({"interview": interview.id, "memories": written})
        return 0
    for record in written:
        context.console.line("%s %s" % ("saved" if record["created"] else "already stored as", record["id"]))
        for line in similar_lines([Similar(**found) for found in record["similar"]]):
            context.console.line(line)
    if written and not written[0]["trusted"]:
        context.console.line("They await approval: /memory:status, or `memory accept` in a terminal")
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
    if arguments.json:
        context.console.json({"discarded": interview.id})
    else:
        context.console.line("deleted %s" % interview.id)
    return 0


def _status(arguments: argparse.Namespace, context: CommandContext) -> int:
    store = InterviewStore(context.paths.state())
    if arguments.session:
        interview = store.find(arguments.session)
        events = store.events(interview.id)
        found: dict[str, Any] = dict(summary(interview), status=interview.status, events=len(events))
        if interview.state["next"] is not None:
            found["next"] = interview.state["next"]
        if arguments.json:
            context.console.json(found)
        else:
            _show_one(context, found)
        return 0
    rows = store.overview(context.paths.project_key)
    if arguments.json:
        context.console.json({"interviews": rows})
    elif rows:
        context.console.table(
            ["id", "status", "updated", "topic"],
            [[str(row[name]) for name in ("id", "status", "updated", "topic")] for row in rows],
        )
    else:
        context.console.line("No interviews in this project.")
    return 0


def _show_one(context: CommandContext, found: dict[str, Any]) -> None:
    line = context.console.line
    line("%s, %s, asked %d" % (found["interview"], found["status"], found["asked"]))
    for name, labels in found["learnt"].items():
        line("  %s: %s" % (name, "; ".join(labels)))
    line("  open: %s" % (", ".join(found["open"]) or "nothing"))


def _explain(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Show the decision behind the question of a turn (counted from 1; default: the last decision)."""
    store, interview = find_interview(arguments, context)
    decisions = [pipeline.load_decision(decision) for _, decision in store.events(interview.id)]
    if arguments.words:
        wanted = arguments.words[0]
        chosen = [decision for decision in decisions if str(decision["turn"]) == wanted]
        if not chosen:
            raise InterviewError(
                "explain: expected a turn from 1 to %d, got %s" % (decisions[-1]["turn"], wanted)
            )
        decisions = chosen
    if arguments.json:
        context.console.json(dict(decisions[-1], interview=interview.id))
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
    return (
        question["strategy"],
        question["focus"]["label"],
        question["score"],
        question["sum"],
        question["multiplier"],
    )


def _replay(arguments: argparse.Namespace, context: CommandContext) -> int:
    found = pipeline.replay(*find_interview(arguments, context))
    same = not found["differ"] and found["same_state"]
    if arguments.json:
        context.console.json(found)
    else:
        result = "identical" if same else "DIFFERENT: events %s" % found["differ"]
        context.console.line("%s, %s" % (counted(found["decisions"], "decision"), result))
    return 0 if same else 1


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
        if arguments.json:
            context.console.json({"shipped": list(SHIPPED), "own": own, "folder": folder})
        else:
            context.console.line(
                "shipped: %s; yours (in %s): %s" % (", ".join(SHIPPED), folder, ", ".join(own) or "none")
            )
        return 0
    if arguments.words[0] != "check" or len(arguments.words) != 2:
        raise InvalidAnswer("pack: expected `pack` or `pack check FILE`")
    require_existing(*(name for name in arguments.words[1:] if name.endswith(".json")))
    path = find_pack(arguments.words[1], folder)
    pack = read_pack(path)
    new_setup("check", pack, path, InterviewLimits(20, 0.8, close_when_falling=True))
    if arguments.json:
        context.console.json({"ok": True, "id": pack["id"], "elements": len(pack["elements"])})
    else:
        context.console.line(
            "%s: valid, %s, %s"
            % (pack["id"], counted(len(pack["types"]), "type"), counted(len(pack["elements"]), "element"))
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
