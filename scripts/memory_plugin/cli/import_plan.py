"""Plan an import: which drafts to store, which to leave out and why, and which repeat a stored memory."""

from __future__ import annotations

import json
import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.text.clean import plain
from ..memories.hygiene import clean_data
from ..memories.import_duplicates import SAME, repeats
from ..memories.import_loaded import is_worth_splitting, loaded_files
from ..memories.importing import read
from ..memories.invalid_memory import InvalidMemory
from ..memories.record import ACTIVE, CONTEXT, categories, parse_memory
from ..memories.stores import PROJECT
from .after_change import Similar, similar_to
from .memory_input import TakenTitles

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..memories.importing import Draft
    from ..memories.record import Memory
    from .command_context import CommandContext

SKIPPED, LEFT_OUT, REPEATED = "skipped", "left out", "repeated"
WOULD_STORE, SAME_STORED = "would be stored", "same"
_MAX_REASON = 300


class Plan(NamedTuple):
    """The drafts to store, the results for all others, and why files that Claude loads anyway are included (`offered`, by path)."""

    drafts: list[Draft]
    others: list[dict[str, Any]]
    offered: dict[str, str]


def gather(
    paths: Iterable[str], category: str, everything: bool, context: CommandContext, scope: str = PROJECT
) -> Plan:
    """Read every file below the paths. Leave out files that Claude loads anyway (unless `everything`), repeated texts, and taken titles."""
    plan = Plan([], [], {})
    drafts = _read_drafts(paths, category, everything, context, plan)
    repeated = repeats([draft.data for draft in drafts])
    for at, draft in enumerate(drafts):
        earlier, why = repeated.get(at, (at, ""))
        if why == SAME:
            plan.others.append(_left_out(draft, REPEATED, "the same text as %s" % drafts[earlier].source))
        else:
            plan.drafts.append(draft)
    return _without_taken_titles(plan, context, scope)


def _read_drafts(
    paths: Iterable[str], category: str, everything: bool, context: CommandContext, plan: Plan
) -> list[Draft]:
    """Return the drafts that may be stored; add the others to the plan, and why files that Claude loads anyway are offered."""
    root = context.paths.project_root
    loaded = {} if everything else loaded_files(root)
    why_offered = lru_cache(maxsize=None)(is_worth_splitting)
    drafts: list[Draft] = []
    for path in paths:
        reading = read(path, category, root)
        for source, why in reading.problems:
            plan.others.append({"source": source, "outcome": SKIPPED, "reason": plain(why, _MAX_REASON)})
        for draft in reading.drafts:
            real = os.path.realpath(draft.path)
            if real in loaded:
                why = why_offered(real, bool(draft.data.get("related_files")))
                if not why:
                    plan.others.append(_left_out(draft, LEFT_OUT, _loaded_anyway(real, loaded[real])))
                    continue
                plan.offered[draft.path] = why
            drafts.append(draft)
    return drafts


def _without_taken_titles(plan: Plan, context: CommandContext, scope: str) -> Plan:
    """Skip active drafts whose title is taken by an active memory or an earlier draft, unless they supersede one."""
    taken = TakenTitles(context.survey().items, scope)
    drafts = []
    for draft in plan.drafts:
        why = ""
        if draft.data.get("record_status", ACTIVE) == ACTIVE and not draft.data.get("supersedes"):
            why = taken.take(draft.data, shown_source(draft.source, context.paths.project_root))
        if why:
            plan.others.append(_left_out(draft, SKIPPED, plain(why, _MAX_REASON)))
        else:
            drafts.append(draft)
    return plan._replace(drafts=drafts)


def _loaded_anyway(path: str, importer: str) -> str:
    """Return why a file is left out; `importer` is the file that imports it, empty if Claude loads it by its name."""
    reason = "Claude reads %s in every session anyway" % os.path.basename(path)
    return reason + (" (%s, which names it)" % importer if importer else "")


def _left_out(draft: Draft, outcome: str, reason: str) -> dict[str, Any]:
    fields = {"category": draft.data["category"], "title": str(draft.data["title"])}
    return {"source": draft.source, "outcome": outcome, **fields, "reason": reason}


def would_store(drafts: list[Draft], context: CommandContext) -> list[dict[str, Any]]:
    """Return what storing these drafts would do, including near duplicates, without writing anything."""
    results: list[dict[str, Any]] = []
    new: dict[int, tuple[str, Memory]] = {}
    stored = {_identity(item.stored.memory.data) for item in context.survey().items}
    for at, draft in enumerate(drafts):
        try:
            data, redacted = clean_data(draft.data)
            memory = parse_memory(data, "draft", categories()[data["category"]])
        except InvalidMemory as error:
            reason = plain(str(error), _MAX_REASON)
            results.append({"source": draft.source, "outcome": SKIPPED, "reason": reason})
            continue
        is_stored = _identity(data) in stored
        if not is_stored:
            new[at] = ("draft", memory)
        results.append(
            {
                "source": draft.source,
                "outcome": SAME_STORED if is_stored else WOULD_STORE,
                "category": memory.category,
                "title": memory.title,
                "context": data["content"].get(CONTEXT, ""),
                "tags": list(memory.tags),
                "files": list(memory.files),
                "status": memory.status,
                "redacted": [redaction._asdict() for redaction in redacted],
            }
        )
    with_similar(results, new, context)
    for at, (earlier, why) in repeats([draft.data for draft in drafts]).items():
        if "title" in results[at] and "title" in results[earlier]:
            similar = Similar(drafts[earlier].source, results[earlier]["title"], why, "")
            results[at].setdefault("similar", []).append(similar._asdict())
    return results


def _identity(data: dict[str, Any]) -> str:
    fields = [data.get(name) for name in ("category", "title", "content", "record_status")]
    return json.dumps(fields, sort_keys=True)


def with_similar(
    results: list[dict[str, Any]], new: dict[int, tuple[str, Memory]], context: CommandContext
) -> list[dict[str, Any]]:
    """Add near duplicates to the results; `new` maps an index in `results` to a memory and its key."""
    for at, similar in zip(new, similar_to(context, list(new.values()), repeated_only=True)):
        results[at]["similar"] = [memory._asdict() for memory in similar]
    return results


def shown_source(source: str, root: str) -> str:
    """Return a source path relative to the project, if it is inside it."""
    for start in (os.path.abspath(root), os.path.realpath(root)):
        if source.startswith(start + os.sep):
            return source[len(start) + 1 :]
    return source
