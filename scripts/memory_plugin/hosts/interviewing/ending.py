"""The end of an interview: the summary to confirm, and the memories written on the user's word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...interview.errors import BadInput, InterviewError
from ...interview.harvest import MAX_MEMORIES, proposals, summary
from ...interview.lines import is_lines, read_memories
from ...interview.reminder import Reminder
from ...interview.store import FINISHED
from ...kernel.native import loads
from ...memories.lifecycle import save
from ...memories.record import CONTEXT, body_content, categories, category_named, new_memory
from ...memories.stores import PROJECT, named_store
from ..commands.refresh import refresh
from ..commands.similar import Similar, similar_lines, similar_to
from ..wrong_use import WrongUse
from .finding import opened, read_input, the_interview

if TYPE_CHECKING:
    import argparse
    from typing import Any

    from ...interview.store import Interview, Store
    from ...memories.writing import Written
    from ..session_context import Session

__all__ = ["DEEDS"]

_FIELDS = ("concept", "category", "title", "body", "context", "tags", "asked_as")


def _finish(arguments: argparse.Namespace, session: Session) -> int:
    store = opened(session)
    interview = the_interview(arguments, session, store)
    if interview.status == FINISHED:
        raise InterviewError("%s is finished already: its memories are written" % interview.id)
    proposed = proposals(interview)
    if not arguments.confirm:
        return _propose(arguments, session, interview, proposed)
    chosen = _chosen(read_input(), proposed)
    word = _word(session, interview)
    written = [_save(session, interview, one, word) for one in chosen]
    interview.status = FINISHED
    interview.state["next"] = None
    store.touch(interview)
    if interview.session:
        Reminder(session.places, interview.session).drop()
    refresh(session)
    new = [(one.stored.key, one.stored.memory) for one, _ in written]
    for (_, row), similar in zip(written, similar_to(session, new)):
        row["similar"] = [one._asdict() for one in similar]
    return _report(arguments, session, interview, [row for _, row in written])


def _propose(
    arguments: argparse.Namespace, session: Session, interview: Interview, proposed: list[dict[str, Any]]
) -> int:
    if arguments.json:
        session.console.json(dict(summary(interview), memories=proposed))
        return 0
    session.console.line("%s: %d questions" % (interview.topic, len(interview.state["turns"])))
    for one in proposed:
        session.console.line("  %s: %s (turn %d)" % (one["category"], one["title"], one["turn"]))
    left = summary(interview)["open"]
    if left:
        session.console.line("left open: %s" % ", ".join(left))
    session.console.line("with --confirm these memories are written")
    return 0


def _chosen(text: str, proposed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The memories to write: all that were proposed, or those that standard input names, with their words changed where it says so."""
    if not text.strip():
        return proposed
    memories = read_memories(text) if is_lines(text) else _from_json(text)
    if not isinstance(memories, list) or len(memories) > MAX_MEMORIES:
        raise BadInput('standard input: expected {"memories": [at most %d]}' % MAX_MEMORIES)
    known = {one["concept"]: one for one in proposed}
    return [_changed(entry, known) for entry in memories]


def _from_json(text: str) -> object:
    try:
        data = loads(text)
    except ValueError:
        return None
    return data.get("memories") if isinstance(data, dict) else None


def _changed(entry: object, known: dict[str, dict[str, Any]]) -> dict[str, Any]:
    if not isinstance(entry, dict) or any(name not in _FIELDS for name in entry):
        raise BadInput("memories: expected objects with %s" % ", ".join(_FIELDS))
    if entry.get("concept") not in known:
        raise BadInput("memories: concept: expected one of %s" % ", ".join(known))
    found = dict(known[entry["concept"]])
    for name in ("category", "title", "body", "context"):
        if name in entry:
            if not isinstance(entry[name], str) or not entry[name].strip():
                raise BadInput("memories: %s: expected a text" % name)
            found[name] = entry[name]
    for name in ("tags", "asked_as"):
        value = entry.get(name, found.get(name, []))
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise BadInput("memories: %s: expected a list of texts" % name)
        found[name] = value[:8]
    category_named(found["category"])
    return found


def _word(session: Session, interview: Interview) -> bool:
    """Whether the memories carry the user's own word: theirs now, or given when they opened the interview that they are still in."""
    if session.has_word:
        return True
    return bool(session.id) and Reminder(session.places, session.id).has_word(interview.id)


def _save(
    session: Session, interview: Interview, one: dict[str, Any], word: bool
) -> tuple[Written, dict[str, Any]]:
    category = categories()[category_named(one["category"]).name]
    extra: dict[str, Any] = {
        "tags": one.get("tags") or ["interview"],
        "source": {"interview": interview.id, "turn": one["turn"], "quote": one["quote"]},
    }
    if one.get("asked_as"):
        extra["asked_as"] = one["asked_as"]
    content = body_content(category, one["body"])
    if one.get("context"):
        content[CONTEXT] = one["context"]
    data = new_memory(category, "", one["title"], content, extra)
    written = save(session.places, named_store(session.places, PROJECT), data, word)
    return written, {
        "id": written.stored.memory.id,
        "category": category.name,
        "created": written.created,
        "trusted": word,
        "redacted": [found._asdict() for found in written.redacted],
    }


def _report(
    arguments: argparse.Namespace, session: Session, interview: Interview, written: list[dict[str, Any]]
) -> int:
    if arguments.json:
        session.console.json({"interview": interview.id, "memories": written})
        return 0
    for one in written:
        session.console.line("%s %s" % ("saved" if one["created"] else "already stored as", one["id"]))
        for line in similar_lines([Similar(**found) for found in one["similar"]]):
            session.console.line(line)
    if written and not written[0]["trusted"]:
        session.console.line(
            "they wait for the user's word: /memory:status, or `memory accept` in a terminal"
        )
    return 0


def _discard(arguments: argparse.Namespace, session: Session) -> int:
    if not arguments.session:
        raise WrongUse(
            "discard: expected --session ID, so that none goes by mistake; `memory interview status` lists them"
        )
    store: Store = opened(session)
    interview = store.find(arguments.session)
    store.forget(interview.id)
    if interview.session:
        Reminder(session.places, interview.session).drop()
    if arguments.json:
        session.console.json({"discarded": interview.id})
    else:
        session.console.line("deleted %s" % interview.id)
    return 0


DEEDS = {"finish": _finish, "discard": _discard}
