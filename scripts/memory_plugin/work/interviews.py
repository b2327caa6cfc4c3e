"""Write the memories that the user chose at the end of an interview."""

from __future__ import annotations

from typing import NamedTuple

from ..interview import Reminder
from ..interview.interview_store import FINISHED, Interview, InterviewError, InterviewStore
from ..interview.results import Proposal
from ..memories import lifecycle
from ..memories.hygiene import shown_line
from ..memories.memory_files import PROJECT, named_store
from . import WorkContext, WorkError
from .refresh import refresh
from .save import TakenTitles, similar_lines, similar_to

_TAKEN = "%s, %s: %s. Nothing was written; send `memory: %s` with another `title:`, or leave it out"
_PENDING = "They are pending. To accept them (Claude Code asks the user): memory accept %s"


class Finished(NamedTuple):
    """The memories that were written, as data and as lines to print; `trusted` holds (name, title) of those that need no review."""

    memories: list[dict[str, object]]
    lines: list[str]
    trusted: list[tuple[str, str]]
    notice: str


def unfinished(interview: Interview) -> Interview:
    """Return the interview. Raises InterviewError if its memories are written."""
    if interview.status == FINISHED:
        raise InterviewError("%s is already finished; its memories are written" % interview.id)
    return interview


def finish(
    interview: Interview, chosen: list[Proposal], store: InterviewStore, context: WorkContext
) -> Finished:
    """Write the chosen memories to the project's store, and close the interview.

    Raises WorkError, before anything is written, if a memory has the title of a stored one or of an earlier one.
    """
    memories = [(memory, memory.memory(interview)) for memory in chosen]
    taken = TakenTitles(context.survey().items, PROJECT)
    for memory, data in memories:
        why = taken.take(data, memory.concept)
        if why:
            raise WorkError(_TAKEN % (memory.concept, shown_line(memory.title), why, memory.concept))
    approved, only_new = context.approve_saves(len(chosen)), context.only_new
    project = named_store(context.paths, PROJECT)
    written = [
        lifecycle.save(context.paths, project, data, approved, "interview", only_new=only_new)
        for _, data in memories
    ]
    interview.status = FINISHED
    interview.state["next"] = None
    store.save(interview)
    if interview.session:
        Reminder(context.paths, interview.session).delete()
    notice = refresh(context).notice
    found = similar_to(context, [(one.stored.key, one.stored.memory) for one in written])
    new = [one.stored.memory.id for one in written]
    records: list[dict[str, object]] = []
    lines: list[str] = []
    for one, name, near in zip(written, new, found):
        similar = [
            memory for memory in near if memory.id not in new
        ]  # those of one interview resemble one another
        records.append(
            {
                "id": name,
                "category": one.stored.memory.category,
                "created": one.created,
                "trusted": approved,
                "redacted": [redaction._asdict() for redaction in one.redacted],
                "similar": [memory._asdict() for memory in similar],
            }
        )
        lines += ["%s %s" % ("saved" if one.created else "already saved as", name), *similar_lines(similar)]
    if written and not approved:
        lines.append(_PENDING % " ".join(new))
    trusted = [(one.stored.memory.id, one.stored.memory.title) for one in written] if approved else []
    return Finished(records, lines, trusted, notice)
