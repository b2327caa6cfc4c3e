"""What an import finds and stores, entry by entry."""

from __future__ import annotations

import json
import os
import re
from functools import partial
from typing import Any

from ..kernel.files import Unreadable, read_regular
from ..kernel.paths import Paths
from ..kernel.text.clean import plain
from ..memories import InvalidMemory
from ..memories.hygiene import Redacted
from ..memories.import_records import Draft
from ..memories.lifecycle import edit
from ..memories.record import ACTIVE, CONTEXT, Memory, categories
from ..memories.survey import Item
from ..memories.writing import Written

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
