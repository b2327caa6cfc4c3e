"""Actions that change nothing: status, explain, replay, export, pack."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...interview import export, pipeline
from ...interview.exceptions import InterviewError, InvalidAnswer
from ...interview.interview_store import InterviewStore
from ...interview.pack import SHIPPED, find_pack, read_pack
from ...interview.proposals import summary
from ...interview.setup import InterviewLimits, new_setup
from ..usage import must_exist
from .turns import find_interview

if TYPE_CHECKING:
    import argparse
    from typing import Any

    from ..command_context import Session

__all__ = ["ACTIONS"]


def _status(arguments: argparse.Namespace, session: Session) -> int:
    store = InterviewStore(session.places.state())
    if arguments.session:
        interview = store.find(arguments.session)
        events = store.events(interview.id)
        found: dict[str, Any] = dict(summary(interview), status=interview.status, events=len(events))
        if interview.state["next"] is not None:
            found["next"] = interview.state["next"]
        if arguments.json:
            session.console.json(found)
        else:
            _show_one(session, found)
        return 0
    rows = store.overview(session.places.project_key)
    if arguments.json:
        session.console.json({"interviews": rows})
    elif rows:
        session.console.table(
            ["id", "status", "updated", "topic"],
            [[str(row[name]) for name in ("id", "status", "updated", "topic")] for row in rows],
        )
    else:
        session.console.line("no interviews in this project")
    return 0


def _show_one(session: Session, found: dict[str, Any]) -> None:
    line = session.console.line
    line("%s, %s, asked %d" % (found["interview"], found["status"], found["asked"]))
    for name, labels in found["learnt"].items():
        line("  %s: %s" % (name, "; ".join(labels)))
    line("  open: %s" % (", ".join(found["open"]) or "nothing"))


def _explain(arguments: argparse.Namespace, session: Session) -> int:
    """Show the decision that asked the question of a turn (from 1; default: the last decision)."""
    store, interview = find_interview(arguments, session)
    decisions = [pipeline.load_decision(decision) for _, decision in store.events(interview.id)]
    if arguments.words:
        wanted = arguments.words[0]
        chosen = [one for one in decisions if str(one["turn"]) == wanted]
        if not chosen:
            raise InterviewError(
                "explain: expected a turn from 1 to %d, got %s" % (decisions[-1]["turn"], wanted)
            )
        decisions = chosen
    if arguments.json:
        session.console.json(dict(decisions[-1], interview=interview.id))
    else:
        _show_decision(session, decisions[-1])
    return 0


def _show_decision(session: Session, decision: dict[str, Any]) -> None:
    line = session.console.line
    line("turn %d, %s phase: %s" % (decision["turn"], decision["phase"], decision["why"]))
    if decision["stop"]:
        return
    chosen = decision["chosen"]
    line("%s on %s: %.3f = %.3f x %g" % _figures(chosen))
    rows = [
        [one["id"], "%.2f" % one["raw"], "%.2f" % one["weight"], one["why"]]
        for one in chosen.get("scorers", ())
    ]
    session.console.table(["scorer", "raw", "weight", "why"], rows)
    for other in decision["runners_up"]:
        line("next: %s on %s: %.3f = %.3f x %g" % _figures(other))
    for other in decision["vetoed"]:
        line("vetoed: %s on %s: %s" % (other["strategy"], other["focus"]["label"], other["veto"]))


def _figures(one: dict[str, Any]) -> tuple[str, str, float, float, float]:
    return one["strategy"], one["focus"]["label"], one["score"], one["sum"], one["multiplier"]


def _replay(arguments: argparse.Namespace, session: Session) -> int:
    found = pipeline.replay(*find_interview(arguments, session))
    same = not found["differ"] and found["same_state"]
    if arguments.json:
        session.console.json(found)
    else:
        result = "identical" if same else "DIFFERENT: events %s" % found["differ"]
        session.console.line("%d decisions, %s" % (found["decisions"], result))
    return 0 if same else 1


def _export(arguments: argparse.Namespace, session: Session) -> int:
    _, interview = find_interview(arguments, session)
    if arguments.format == "json" or arguments.json:
        session.console.json(export.as_json(interview))
    else:
        render = export.as_mermaid if arguments.format == "mermaid" else export.as_transcript
        session.console.line(render(interview).rstrip("\n"))
    return 0


def _pack(arguments: argparse.Namespace, session: Session) -> int:
    """Run `pack check FILE`, or list all packs."""
    folder = session.places.state("interview", "packs")
    if not arguments.words:
        own = sorted(name[:-5] for name in _names(folder) if name.endswith(".json"))
        if arguments.json:
            session.console.json({"shipped": list(SHIPPED), "own": own, "folder": folder})
        else:
            session.console.line(
                "shipped: %s; yours (in %s): %s" % (", ".join(SHIPPED), folder, ", ".join(own) or "none")
            )
        return 0
    if arguments.words[0] != "check" or len(arguments.words) != 2:
        raise InvalidAnswer("pack: expected `pack` or `pack check FILE`")
    must_exist(*(name for name in arguments.words[1:] if name.endswith(".json")))
    path = find_pack(arguments.words[1], folder)
    pack = read_pack(path)
    new_setup("check", pack, path, InterviewLimits(20, 0.8, close_when_falling=True))
    if arguments.json:
        session.console.json({"ok": True, "id": pack["id"], "elements": len(pack["elements"])})
    else:
        session.console.line(
            "%s: fine, %d types, %d elements" % (pack["id"], len(pack["types"]), len(pack["elements"]))
        )
    return 0


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


ACTIONS = {"status": _status, "explain": _explain, "replay": _replay, "export": _export, "pack": _pack}
