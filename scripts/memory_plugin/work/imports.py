"""What an import finds and stores, entry by entry."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from ..kernel.files import read_regular
from ..kernel.text.clean import plain
from ..memories import InvalidMemory
from ..memories.hygiene import Redacted, clean_data
from ..memories.import_documents import Draft
from ..memories.importing import STDIN, archive_replaced, distinguish_titles, read, read_lines
from ..memories.lifecycle import edit, save_all
from ..memories.memory_files import named_store
from ..memories.record import ACTIVE, Memory, categories, main_text, parse_memory, slug
from ..memories.survey import TAKEN, TakenTitles
from ..memories.writing import Written
from . import WorkContext
from .refresh import Refreshed, refresh

OUTCOMES = NEW, STORED, ARCHIVED, SAME, LEFT_OUT, SKIPPED = (
    "new", "stored now", "archived", "already stored", "left out", "skipped"
)  # fmt: skip
_MAX_REASON = 300
_LOADED_ANYWAY = "Claude reads %s in every session anyway (to import them anyway: --all)"
LONG = 200  # lines; Claude Code's documentation advises to stay below
_LOADED = ("CLAUDE.md", "CLAUDE.local.md", os.path.join(".claude", "CLAUDE.md"))
_RULES = os.path.join(".claude", "rules")
_MAX_BYTES = 1 << 20
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_NAMED = re.compile(r"(?<![\w@/.])@((?:~/|\.{0,2}/)?[\w.-][\w./-]*)")


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

    `kind` is the category of entries that name none, empty for one by their form. Taken titles are skipped, and
    unless `everything` is wanted, what Claude reads in every session anyway is left out.
    """
    root = context.paths.project_root
    loaded = set() if everything else loaded_files(root)
    items = context.survey().items
    taken = TakenTitles(items, scope)
    stored = {_identity(item.stored.memory.data): item.stored.memory.id for item in items}
    readings = [read_lines(given, kind) if path == STDIN else read(path, kind, root) for path in paths]
    drafts = [draft for reading in readings for draft in reading.drafts]
    distinguish_titles(drafts)
    archive_replaced(drafts)
    outcomes = []
    for draft in drafts:
        if os.path.realpath(draft.path) in loaded and not draft.data["related_files"]:
            reason = _LOADED_ANYWAY % os.path.basename(draft.path)
            outcomes.append(_not_stored(draft.source, reason, LEFT_OUT))
        else:
            outcomes.append(_checked(draft, taken, stored))
    outcomes += [_not_stored(*row, SKIPPED) for reading in readings for row in reading.problems]
    return outcomes + [_not_stored(*row, LEFT_OUT) for reading in readings for row in reading.left_out]


def _not_stored(source: str, reason: str, outcome: str) -> Outcome:
    return Outcome(source, outcome, plain(reason, _MAX_REASON))


def _checked(draft: Draft, taken: TakenTitles, stored: dict[str, str]) -> Outcome:
    """Return what storing a draft would do; `stored` maps the identities of memories, also of those before it, to their ids."""
    try:
        data, redacted = clean_data(draft.data)
        present = stored.get(_identity(data))
        memory = parse_memory(data, present or slug(data["title"]), categories()[data["category"]])
    except InvalidMemory as error:
        return _not_stored(draft.source, str(error), SKIPPED)
    owner = "" if memory.status != ACTIVE or memory.supersedes else taken.owner(data)
    if owner:
        return _not_stored(draft.source, TAKEN % (owner, owner), SKIPPED)
    stored[_identity(data)] = memory.id
    outcome = SAME if present else NEW if memory.status == ACTIVE else ARCHIVED
    return Outcome(draft.source, outcome, "", memory, tuple(redacted))


def _identity(data: dict[str, Any]) -> str:
    """Return what makes two memories the same: category, title, content and status."""
    fields = [data.get(name) for name in ("category", "title", "content", "record_status")]
    return json.dumps(fields, sort_keys=True)


def loaded_files(root: str) -> set[str]:
    """Return the real paths that Claude Code reads at the start of a session, except long files, which are worth splitting."""
    found: dict[str, bool] = {}
    queue = [os.path.join(root, name) for name in _LOADED]
    for above, _, names in os.walk(os.path.join(root, _RULES)):
        queue += [os.path.join(above, name) for name in names if name.endswith(".md")]
    for path in queue:
        real = os.path.realpath(path)
        with suppress(OSError):
            text = "" if real in found else read_regular(real, _MAX_BYTES)[0].decode("utf-8", "replace")
            found.setdefault(real, text.count("\n") <= LONG)
            names = [os.path.expanduser(name.rstrip(".")) for name in _NAMED.findall(_CODE.sub("", text))]
            queue += [os.path.join(os.path.dirname(path), name) for name in names]
    return {path for path, is_short in found.items() if is_short}


def shown_source(source: str, root: str) -> str:
    """Return a source path relative to the project, if it is inside it."""
    starts = (os.path.abspath(root) + os.sep, os.path.realpath(root) + os.sep)
    return next((source[len(start) :] for start in starts if source.startswith(start)), source)


def store_all(
    found: list[Outcome], scope: str, context: WorkContext, *, approved: bool
) -> tuple[list[Outcome], Refreshed]:
    """Store the memories that were found and refresh the index; return the outcomes and what is left to do for the index."""
    memories = [one.memory for one in found if one.memory]
    _archive_stored(memories, context, approved)
    store = named_store(context.paths, scope)
    written = iter(save_all(context.paths, store, (memory.data for memory in memories), approved))
    outcomes = [_written(one, next(written)) if one.memory else one for one in found]
    return outcomes, refresh(context)


def _written(one: Outcome, result: Written | InvalidMemory) -> Outcome:
    if isinstance(result, InvalidMemory):
        return _not_stored(one.source, str(result), SKIPPED)
    created = STORED if result.stored.memory.status == ACTIVE else ARCHIVED
    return one._replace(outcome=created if result.created else SAME, memory=result.stored.memory)


def _archive_stored(memories: list[Memory], context: WorkContext, approved: bool) -> None:
    """Archive the stored memories of records that were replaced or rejected since they were imported."""
    over = {_said(memory): memory.data for memory in memories if "archived_reason" in memory.data}
    for item in context.survey().items if over else ():
        memory = item.stored.memory
        if memory.status == ACTIVE and _said(memory) in over:
            ended = partial(_ended, over[_said(memory)])
            edit(context.paths, item.stored, ended, "imported again", approved, "import")


def _said(memory: Memory) -> tuple[str, str, str]:
    return memory.category, memory.title, main_text(memory.category, memory.data["content"])


def _ended(new: dict[str, Any], _present: dict[str, Any]) -> dict[str, Any]:
    return {name: new[name] for name in ("content", "record_status", "archived_reason")}
