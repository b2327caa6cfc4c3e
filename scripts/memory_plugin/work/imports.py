"""What an import finds and stores, entry by entry."""

from __future__ import annotations

import json
import os
import re
from functools import partial
from typing import Any, NamedTuple

from ..kernel.files import Unreadable, read_regular
from ..kernel.paths import Paths
from ..kernel.text.clean import plain
from ..memories import InvalidMemory
from ..memories.hygiene import Redacted, clean_data
from ..memories.importing import STDIN, Draft, archive_replaced, read, read_lines
from ..memories.lifecycle import edit, save_all
from ..memories.memory_files import named_store
from ..memories.record import ACTIVE, CONTEXT, Memory, categories, parse_memory
from ..memories.survey import Item
from ..memories.writing import Written
from .context import WorkContext
from .refresh import Refreshed, refresh
from .save import TakenTitles, similar_to

WOULD_STORE, SAME_STORED = "would be stored", "same"

SKIPPED, LEFT_OUT = "skipped", "left out"

_MAX_REASON = 300
LOADED_ANYWAY = " in every session anyway"
LONG = 200  # lines; Claude Code's documentation advises to stay below
_LOADED = ("CLAUDE.md", "CLAUDE.local.md", os.path.join(".claude", "CLAUDE.md"))
_RULES = os.path.join(".claude", "rules")
_MAX_BYTES = 1 << 20
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_NAMED = re.compile(r"(?<![\w@/.])@((?:~/|\.{0,2}/)?[\w.-][\w./-]*)")


def skipped_outcome(source: str, reason: str) -> dict[str, Any]:
    """Return the result for something that is not stored."""
    return {"source": source, "outcome": SKIPPED, "reason": plain(reason, _MAX_REASON)}


def left_out_outcome(source: str, reason: str) -> dict[str, Any]:
    """Return the result for something that is not meant to be stored."""
    return {**skipped_outcome(source, reason), "outcome": LEFT_OUT}


def by_reason(results: list[dict[str, Any]]) -> list[tuple[str, str, list[str]]]:
    """Return the outcome, the reason and the sources of what is not stored; each reason once."""
    groups: dict[tuple[str, str], list[str]] = {}
    for result in results:
        if result["outcome"] in (SKIPPED, LEFT_OUT):
            groups.setdefault((result["outcome"], result["reason"]), []).append(result["source"])
    return [(*key, sources) for key, sources in groups.items()]


def archive_stored(drafts: list[Draft], items: list[Item], paths: Paths, approved: bool) -> None:
    """Archive the stored memories of records that were replaced or rejected since they were imported."""
    ended = {(draft.data["category"], draft.data["title"]): draft.data for draft in drafts}
    for item in items:
        memory = item.stored.memory
        new = ended.get((memory.category, memory.title), {})
        if memory.status != ACTIVE or new.get("record_status", ACTIVE) == ACTIVE:
            continue
        primary = categories()[memory.category].primary
        if memory.data["content"].get(primary) == new["content"].get(primary):
            fields = {name: new[name] for name in ("content", "record_status", "archived_reason")}
            edit(paths, item.stored, partial(_given, fields), "imported again", approved, "import")


def _given(fields: dict[str, Any], _present: dict[str, Any]) -> dict[str, Any]:
    return fields


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
        folder = os.path.dirname(path)
        names = [os.path.expanduser(name.rstrip(".")) for name in _NAMED.findall(_CODE.sub("", text))]
        queue += [os.path.join(folder, name) for name in names]
    return {path for path, is_short in found.items() if is_short}


def identity_of(data: dict[str, Any]) -> str:
    """Return what makes two memories the same: category, title, content and status."""
    fields = [data.get(name) for name in ("category", "title", "content", "record_status")]
    return json.dumps(fields, sort_keys=True)


def shown_source(source: str, root: str) -> str:
    """Return a source path relative to the project, if it is inside it."""
    for start in (os.path.abspath(root), os.path.realpath(root)):
        if source.startswith(start + os.sep):
            return source[len(start) + 1 :]
    return source


def stored_outcome(draft: Draft, result: Written | InvalidMemory) -> dict[str, Any]:
    """Return the result for something that was given to the store."""
    if isinstance(result, InvalidMemory):
        return skipped_outcome(draft.source, str(result))
    outcome = "created" if result.created else SAME_STORED
    return {
        **outcome_of(draft, outcome, result.stored.memory, result.redacted),
        "id": result.stored.memory.id,
    }


def outcome_of(draft: Draft, outcome: str, memory: Memory, redacted: list[Redacted]) -> dict[str, Any]:
    """Return the result for something that is or would be stored."""
    return {
        "source": draft.source,
        "outcome": outcome,
        "category": memory.category,
        "title": memory.title,
        "context": memory.data["content"].get(CONTEXT, ""),
        "tags": list(memory.tags),
        "files": list(memory.files),
        "status": memory.status,
        "redacted": [redaction._asdict() for redaction in redacted],
    }


class Gathered(NamedTuple):
    """The drafts to store, and the results for everything else that was found."""

    drafts: list[Draft]
    others: list[dict[str, Any]]


def gather(
    paths: list[str], given: str, kind: str, scope: str, context: WorkContext, *, everything: bool
) -> Gathered:
    """Read every file below the paths, and what standard input holds (`given`).

    `kind` is the category of entries that name none, empty for one by their form. Taken titles are skipped, and
    unless `everything` is wanted, what Claude reads in every session anyway is left out.
    """
    root = context.paths.project_root
    loaded = set() if everything else loaded_files(root)
    taken = TakenTitles(context.survey().items, scope)
    drafts: list[Draft] = []
    others: list[dict[str, Any]] = []
    readings = [read_lines(given, kind) if path == STDIN else read(path, kind, root) for path in paths]
    archive_replaced([draft for reading in readings for draft in reading.drafts])
    for reading in readings:
        others += [skipped_outcome(source, why) for source, why in reading.problems]
        others += [left_out_outcome(source, why) for source, why in reading.left_out]
        for draft in reading.drafts:
            data, reason = draft.data, ""
            if os.path.realpath(draft.path) in loaded and not data["related_files"]:
                reason = "Claude reads %s%s" % (os.path.basename(draft.path), LOADED_ANYWAY)
                others.append(left_out_outcome(draft.source, reason))
                continue
            if data["record_status"] == ACTIVE and not data.get("supersedes"):
                reason = taken.take(data, shown_source(draft.source, root))
            if reason:
                others.append(skipped_outcome(draft.source, reason))
            else:
                drafts.append(draft)
    return Gathered(drafts, others)


def would_store(drafts: list[Draft], context: WorkContext) -> list[dict[str, Any]]:
    """Return what storing these drafts would do, including near duplicates, without writing anything."""
    results: list[dict[str, Any]] = []
    new: dict[int, tuple[str, Memory]] = {}
    stored = {identity_of(item.stored.memory.data) for item in context.survey().items}
    for at, draft in enumerate(drafts):
        try:
            data, redacted = clean_data(draft.data)
            memory = parse_memory(data, "draft", categories()[data["category"]])
        except InvalidMemory as error:
            results.append(skipped_outcome(draft.source, str(error)))
            continue
        identity = identity_of(data)
        if identity not in stored:
            new[at] = ("draft", memory)
        outcome = SAME_STORED if identity in stored else WOULD_STORE
        results.append(outcome_of(draft, outcome, memory, redacted))
        stored.add(identity)
    return _with_similar(results, new, context)


def _with_similar(
    results: list[dict[str, Any]], new: dict[int, tuple[str, Memory]], context: WorkContext
) -> list[dict[str, Any]]:
    """Add near duplicates to the results; `new` maps an index in `results` to a memory and its key."""
    for at, similar in zip(new, similar_to(context, list(new.values()), repeated_only=True)):
        results[at]["similar"] = [memory._asdict() for memory in similar]
    return results


class Imported(NamedTuple):
    """The results of an import, the ids and titles of what is stored, and what is left to do for the index."""

    results: list[dict[str, Any]]
    saved: list[tuple[str, str]]
    refreshed: Refreshed


def store_all(drafts: list[Draft], scope: str, context: WorkContext, *, approved: bool) -> Imported:
    """Store drafts and refresh the index; one that cannot be stored is a result of its own."""
    store = named_store(context.paths, scope)
    archive_stored(drafts, context.survey().items, context.paths, approved)
    written = save_all(context.paths, store, (draft.data for draft in drafts), approved)
    refreshed = refresh(context)
    kept = [result.stored.memory for result in written if not isinstance(result, InvalidMemory)]
    new = {
        at: (result.stored.key, result.stored.memory)
        for at, result in enumerate(written)
        if not isinstance(result, InvalidMemory) and result.created
    }
    results = [stored_outcome(draft, result) for draft, result in zip(drafts, written)]
    return Imported(
        _with_similar(results, new, context), [(memory.id, memory.title) for memory in kept], refreshed
    )
