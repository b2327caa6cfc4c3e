"""What an import finds and stores, entry by entry."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from ..kernel.fastjson import as_text
from ..kernel.text.clean import plain
from ..memories import InvalidMemory
from ..memories.hygiene import Redacted, clean_data
from ..memories.import_facts import Draft
from ..memories.importing import PERHAPS_OVER, STDIN, archive_replaced, read, read_lines
from ..memories.lifecycle import edit, save_all
from ..memories.memory_files import named_store
from ..memories.record import ACTIVE, Memory, categories, main_text, parse_memory, slug
from ..memories.survey import TAKEN, TakenTitles
from ..memories.writing import Written
from . import WorkContext
from .refresh import refresh

OUTCOMES = NEW, STORED, ARCHIVED, SAME, LEFT_OUT, SKIPPED = (
    "new", "stored now", "archived", "already stored", "left out", "skipped"
)  # fmt: skip
_MAX_REASON = 300


class Outcome(NamedTuple):
    """What becomes of an entry, or became of it: the reason if it is not stored, else the memory and what was redacted."""

    source: str
    outcome: str
    reason: str = ""
    memory: Memory | None = None
    redacted: tuple[Redacted, ...] = ()


def gather(
    paths: list[str], given: str, kind: str, scope: str, context: WorkContext, *, everything: bool
) -> list[Outcome]:
    """Read every file below the paths, and what standard input holds (`given`); return what storing it would do.

    `kind` is the category of entries that name none, empty for one by their form. Taken titles are skipped.
    """
    root = context.paths.project_root
    items = context.survey().items
    stored = {_identity(item.stored.memory.data): item.stored.memory for item in items}
    readings = [read(path, kind, root, everything=everything) for path in paths if path != STDIN]
    readings += [read_lines(given, kind)] if STDIN in paths else []
    drafts = [draft for reading in readings for draft in reading.drafts]
    archive_replaced(drafts)
    over = {_said(one.data["category"], one.data) for one in drafts if "archived_reason" in one.data}
    kept = [item for item in items if _said(item.stored.memory.category, item.stored.memory.data) not in over]
    taken = TakenTitles(kept, scope)
    outcomes = [_checked(draft, taken, stored) for draft in drafts]
    outcomes += [_not_stored(*row, SKIPPED) for reading in readings for row in reading.problems]
    return outcomes + [_not_stored(*row, LEFT_OUT) for reading in readings for row in reading.left_out]


def _not_stored(source: str, reason: str, outcome: str) -> Outcome:
    return Outcome(source, outcome, plain(reason, _MAX_REASON))


def _checked(draft: Draft, taken: TakenTitles, stored: dict[str, Memory]) -> Outcome:
    """Return what storing a draft would do; `stored` maps the identities of memories to them, also of those before it."""
    try:
        data, redacted = clean_data(draft.data)
        present = stored.get(_identity(data))
        memory = present or parse_memory(data, slug(data["title"]), categories()[data["category"]])
    except InvalidMemory as error:
        return _not_stored(draft.source, str(error), SKIPPED)
    owner = "" if present or memory.status != ACTIVE or memory.supersedes else taken.owner(data)
    if owner and draft.replaces:  # by a record of the same title, whose file need not be here
        memory = parse_memory({**data, "supersedes": [owner]}, memory.id, categories()[data["category"]])
    elif owner:
        return _not_stored(draft.source, TAKEN % (owner, owner), SKIPPED)
    stored[_identity(data)] = memory
    outcome = SAME if present else NEW if memory.status == ACTIVE else ARCHIVED
    ended = as_text(data.get("archived_reason") or data.get("retired_reason")) if outcome == ARCHIVED else ""
    doubt = as_text(data["content"].get("status")).rpartition(PERHAPS_OVER)
    reason = plain(ended or "".join(doubt[1:] if doubt[1] else ()), _MAX_REASON)
    return Outcome(draft.source, outcome, reason, memory, tuple(redacted))


def _identity(data: dict[str, Any]) -> str:
    """Return what makes two memories the same: category, title, content, and whether it holds, in whatever words its status says so."""
    fields = [data.get(name) for name in ("category", "title", "record_status")]
    content = {name: value for name, value in data["content"].items() if name != "status"}
    return json.dumps([*fields, content], sort_keys=True)


def store_all(
    found: list[Outcome], scope: str, context: WorkContext, *, approved: bool
) -> tuple[list[Outcome], str]:
    """Store the memories that were found and refresh the index; return the outcomes and what is left to do for the index."""
    memories = [one.memory for one in found if one.memory]
    _archive_stored(memories, context, approved)
    store = named_store(context.paths, scope)
    written = iter(save_all(context.paths, store, (memory.data for memory in memories), approved))
    return [_written(one, next(written)) if one.memory else one for one in found], refresh(context)


def _written(one: Outcome, result: Written | InvalidMemory) -> Outcome:
    if isinstance(result, InvalidMemory):
        return _not_stored(one.source, str(result), SKIPPED)
    created = STORED if result.stored.memory.status == ACTIVE else ARCHIVED
    return one._replace(outcome=created if result.created else SAME, memory=result.stored.memory)


def _archive_stored(memories: list[Memory], context: WorkContext, approved: bool) -> None:
    """Archive the stored memories of records that were replaced or rejected since they were imported."""
    over = {_said(one.category, one.data): one.data for one in memories if "archived_reason" in one.data}
    for item in context.survey().items if over else ():
        memory = item.stored.memory
        if memory.status == ACTIVE and (new := over.get(_said(memory.category, memory.data))):
            ended = {name: new[name] for name in ("content", "record_status", "archived_reason")}
            edit(context.paths, item.stored, ended, "imported again", approved, "import")


def _said(category: str, data: dict[str, Any]) -> tuple[str, str, str]:
    return category, data["title"], main_text(category, data["content"])
