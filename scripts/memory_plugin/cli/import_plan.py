"""Plan an import: which drafts to store, which to leave out and why, and which repeat a stored memory."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..kernel.files import Unreadable, read_regular
from ..kernel.text.clean import plain
from ..memories import InvalidMemory
from ..memories.hygiene import clean_data
from ..memories.importing import Draft, read
from ..memories.record import ACTIVE, CONTEXT, Memory, categories, parse_memory
from .after_change import similar_to
from .command_context import CommandContext
from .memory_input import TakenTitles

SKIPPED, LEFT_OUT = "skipped", "left out"
WOULD_STORE, SAME_STORED = "would be stored", "same"
_MAX_REASON = 300

LONG = 200  # lines; Claude Code's documentation advises to stay below
_LOADED = ("CLAUDE.md", "CLAUDE.local.md", os.path.join(".claude", "CLAUDE.md"))
_RULES = os.path.join(".claude", "rules")
_MAX_BYTES = 1 << 20
_MAX_DEPTH = 5  # of files that name files, as Claude Code follows them
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_NAMED = re.compile(r"(?<![\w@/.])@((?:~/|\.{0,2}/)?[\w.-][\w./-]*)")


class Plan(NamedTuple):
    """The drafts to store, and the results for all others."""

    drafts: list[Draft]
    others: list[dict[str, Any]]


def gather(
    paths: Iterable[str], category: str, everything: bool, context: CommandContext, scope: str
) -> Plan:
    """Read every file below the paths. Leave out taken titles and, unless `everything`, what Claude reads in every session anyway."""
    root = context.paths.project_root
    loaded = set() if everything else loaded_files(root)
    taken = TakenTitles(context.survey().items, scope)
    plan = Plan([], [])
    for path in paths:
        reading = read(path, category, root)
        plan.others.extend(skipped(source, why) for source, why in reading.problems)
        for draft in reading.drafts:
            data, reason = draft.data, ""
            if os.path.realpath(draft.path) in loaded and not data["related_files"]:
                reason = "Claude reads %s in every session anyway" % os.path.basename(draft.path)
                plan.others.append({**skipped(draft.source, reason), "outcome": LEFT_OUT})
                continue
            if data["record_status"] == ACTIVE and not data.get("supersedes"):
                reason = taken.take(data, shown_source(draft.source, root))
            if reason:
                plan.others.append(skipped(draft.source, reason))
            else:
                plan.drafts.append(draft)
    return plan


def skipped(source: str, reason: str) -> dict[str, Any]:
    """Return the result for something that is not stored."""
    return {"source": source, "outcome": SKIPPED, "reason": plain(reason, _MAX_REASON)}


def loaded_files(root: str) -> set[str]:
    """Return the real paths that Claude Code reads at the start of a session, except long files, which are worth splitting."""
    found: dict[str, bool] = {}
    queue = [(os.path.join(root, name), 0) for name in _LOADED]
    for above, _, names in os.walk(os.path.join(root, _RULES)):
        queue += [(os.path.join(above, name), 0) for name in names if name.endswith(".md")]
    for path, depth in queue:
        real = os.path.realpath(path)
        if real in found or depth > _MAX_DEPTH:
            continue
        try:
            text = read_regular(real, _MAX_BYTES)[0].decode("utf-8", "replace")
        except (Unreadable, OSError):
            continue
        found[real] = text.count("\n") <= LONG
        folder = os.path.dirname(path)
        names = [os.path.expanduser(name.rstrip(".")) for name in _NAMED.findall(_CODE.sub("", text))]
        queue += [(os.path.join(folder, name), depth + 1) for name in names]
    return {path for path, is_short in found.items() if is_short}


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
            results.append(skipped(draft.source, str(error)))
            continue
        identity = _identity(data)
        if identity not in stored:
            new[at] = ("draft", memory)
        results.append(
            {
                "source": draft.source,
                "outcome": SAME_STORED if identity in stored else WOULD_STORE,
                "category": memory.category,
                "title": memory.title,
                "context": data["content"].get(CONTEXT, ""),
                "tags": list(memory.tags),
                "files": list(memory.files),
                "status": memory.status,
                "redacted": [redaction._asdict() for redaction in redacted],
            }
        )
        stored.add(identity)
    return with_similar(results, new, context)


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
