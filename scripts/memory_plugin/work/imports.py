"""What an import finds and stores, entry by entry."""

from __future__ import annotations

import json
import os
import re
from functools import partial
from typing import Any, NamedTuple

from ..kernel.files import Unreadable, read_regular
from ..kernel.text.clean import plain
from ..memories import InvalidMemory
from ..memories.hygiene import Redacted, clean_data
from ..memories.import_documents import Draft
from ..memories.importing import STDIN, archive_replaced, distinguish_titles, read, read_lines
from ..memories.lifecycle import edit, save_all
from ..memories.memory_files import named_store
from ..memories.record import ACTIVE, Memory, categories, main_text, parse_memory
from ..memories.survey import TakenTitles
from . import WorkContext
from .memory_facts import Similar, similar_to
from .refresh import Refreshed, refresh

WOULD_STORE, CREATED, SAME_STORED = "would be stored", "created", "same"
SKIPPED, LEFT_OUT = "skipped", "left out"
_NEW = (WOULD_STORE, CREATED)  # with a memory
_MAX_REASON = 300
_LOADED_ANYWAY = "Claude reads %s in every session anyway (to import them anyway: --all)"
LONG = 200  # lines; Claude Code's documentation advises to stay below
_LOADED = ("CLAUDE.md", "CLAUDE.local.md", os.path.join(".claude", "CLAUDE.md"))
_RULES = os.path.join(".claude", "rules")
_MAX_BYTES = 1 << 20
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_NAMED = re.compile(r"(?<![\w@/.])@((?:~/|\.{0,2}/)?[\w.-][\w./-]*)")


class Outcome(NamedTuple):
    """What became of an entry: the reason if it is not stored, else the memory, what was redacted, and similar ones.

    `key` is that of the stored memory; empty if nothing was written.
    """

    source: str
    outcome: str
    reason: str = ""
    memory: Memory | None = None
    key: str = ""
    redacted: tuple[Redacted, ...] = ()
    similar: tuple[Similar, ...] = ()


def gather(
    paths: list[str], given: str, kind: str, scope: str, context: WorkContext, *, everything: bool
) -> tuple[list[Draft], list[Outcome]]:
    """Read every file below the paths, and what standard input holds (`given`); return the drafts to store and all other outcomes.

    `kind` is the category of entries that name none, empty for one by their form. Taken titles are skipped, and
    unless `everything` is wanted, what Claude reads in every session anyway is left out.
    """
    root = context.paths.project_root
    loaded = set() if everything else loaded_files(root)
    taken = TakenTitles(context.survey().items, scope)
    readings = [read_lines(given, kind) if path == STDIN else read(path, kind, root) for path in paths]
    found = [draft for reading in readings for draft in reading.drafts]
    distinguish_titles(found)
    archive_replaced(found)
    others = [_not_stored(*row) for reading in readings for row in reading.problems]
    others += [_not_stored(*row, LEFT_OUT) for reading in readings for row in reading.left_out]
    drafts: list[Draft] = []
    for draft in found:
        data, reason, outcome = draft.data, "", SKIPPED
        if os.path.realpath(draft.path) in loaded and not data["related_files"]:
            reason, outcome = _LOADED_ANYWAY % os.path.basename(draft.path), LEFT_OUT
        elif data["record_status"] == ACTIVE and not data.get("supersedes"):
            reason = taken.take(data, shown_source(draft.source, root))
        if reason:
            others.append(_not_stored(draft.source, reason, outcome))
        else:
            drafts.append(draft)
    return drafts, others


def _not_stored(source: str, reason: str, outcome: str = SKIPPED) -> Outcome:
    return Outcome(source, outcome, plain(reason, _MAX_REASON))


def loaded_files(root: str) -> set[str]:
    """Return the real paths that Claude Code reads at the start of a session, except long files, which are worth splitting."""
    found: dict[str, bool] = {}
    queue = [os.path.join(root, name) for name in _LOADED]
    for above, _, names in os.walk(os.path.join(root, _RULES)):
        queue += [os.path.join(above, name) for name in names if name.endswith(".md")]
    for path in queue:
        real = os.path.realpath(path)
        if real in found:
            continue
        try:
            text = read_regular(real, _MAX_BYTES)[0].decode("utf-8", "replace")
        except (Unreadable, OSError):
            continue
        found[real] = text.count("\n") <= LONG
        names = [os.path.expanduser(name.rstrip(".")) for name in _NAMED.findall(_CODE.sub("", text))]
        queue += [os.path.join(os.path.dirname(path), name) for name in names]
    return {path for path, is_short in found.items() if is_short}


def shown_source(source: str, root: str) -> str:
    """Return a source path relative to the project, if it is inside it."""
    starts = (os.path.abspath(root) + os.sep, os.path.realpath(root) + os.sep)
    return next((source[len(start) :] for start in starts if source.startswith(start)), source)


def by_reason(outcomes: list[Outcome]) -> dict[tuple[str, str], list[str]]:
    """Return the sources of what is not stored by outcome and reason."""
    groups: dict[tuple[str, str], list[str]] = {}
    for one in outcomes:
        if one.reason:
            groups.setdefault((one.outcome, one.reason), []).append(one.source)
    return groups


def would_store(drafts: list[Draft], context: WorkContext) -> list[Outcome]:
    """Return what storing these drafts would do, including near duplicates, without writing anything."""
    outcomes = []
    stored = {_identity(item.stored.memory.data) for item in context.survey().items}
    for draft in drafts:
        try:
            data, redacted = clean_data(draft.data)
            memory = parse_memory(data, "draft", categories()[data["category"]])
        except InvalidMemory as error:
            outcomes.append(_not_stored(draft.source, str(error)))
            continue
        outcome = SAME_STORED if _identity(data) in stored else WOULD_STORE
        stored.add(_identity(data))
        outcomes.append(Outcome(draft.source, outcome, "", memory, "", tuple(redacted)))
    return _with_similar(outcomes, context)


def _identity(data: dict[str, Any]) -> str:
    """Return what makes two memories the same: category, title, content and status."""
    fields = [data.get(name) for name in ("category", "title", "content", "record_status")]
    return json.dumps(fields, sort_keys=True)


def _with_similar(outcomes: list[Outcome], context: WorkContext) -> list[Outcome]:
    """Add near duplicates to the outcomes of new memories; one that no longer holds replaces none."""
    keyed = [(one.key or "draft", memory) for one in outcomes if (memory := _new_memory(one))]
    similar = iter(similar_to(context, keyed, repeated_only=True))
    return [one._replace(similar=tuple(next(similar))) if _new_memory(one) else one for one in outcomes]


def _new_memory(one: Outcome) -> Memory | None:
    """Return the memory of an outcome if it is new and holds."""
    return one.memory if one.outcome in _NEW and one.memory and one.memory.status == ACTIVE else None


def store_all(
    drafts: list[Draft], scope: str, context: WorkContext, *, approved: bool
) -> tuple[list[Outcome], Refreshed]:
    """Store drafts and refresh the index; return the outcomes and what is left to do for the index."""
    _archive_stored(drafts, context, approved)
    store = named_store(context.paths, scope)
    written = save_all(context.paths, store, (draft.data for draft in drafts), approved)
    refreshed = refresh(context)
    outcomes = []
    for draft, result in zip(drafts, written):
        if isinstance(result, InvalidMemory):
            outcomes.append(_not_stored(draft.source, str(result)))
            continue
        outcome, stored = CREATED if result.created else SAME_STORED, result.stored
        outcomes.append(Outcome(draft.source, outcome, "", stored.memory, stored.key, tuple(result.redacted)))
    return _with_similar(outcomes, context), refreshed


def _archive_stored(drafts: list[Draft], context: WorkContext, approved: bool) -> None:
    """Archive the stored memories of records that were replaced or rejected since they were imported."""
    ended = [one.data for one in drafts if "archived_reason" in one.data]
    over = {(data["title"], main_text(data["category"], data["content"])): data for data in ended}
    for item in context.survey().items if over else ():
        memory = item.stored.memory
        new = over.get((memory.title, main_text(memory.category, memory.data["content"])))
        if new and new["category"] == memory.category and memory.status == ACTIVE:
            edit(context.paths, item.stored, partial(_ended, new), "imported again", approved, "import")


def _ended(new: dict[str, Any], _present: dict[str, Any]) -> dict[str, Any]:
    return {name: new[name] for name in ("content", "record_status", "archived_reason")}
