"""What an import finds and stores, entry by entry."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from ..kernel.files import Unreadable, read_regular
from ..kernel.text.clean import plain
from ..memories import InvalidMemory
from ..memories.hygiene import Redacted
from ..memories.importing import Draft
from ..memories.record import ACTIVE, ARCHIVED, CONTEXT, Memory
from ..memories.writing import Written

WOULD_STORE, SAME_STORED = "would be stored", "same"

SKIPPED, LEFT_OUT = "skipped", "left out"

_MAX_REASON = 300
LONG = 200  # lines; Claude Code's documentation advises to stay below
_LOADED = ("CLAUDE.md", "CLAUDE.local.md", os.path.join(".claude", "CLAUDE.md"))
_RULES = os.path.join(".claude", "rules")
_MAX_BYTES = 1 << 20
_REPLACES = re.compile(r"(?im)^\W*(?:supersedes|supercedes|replaces)\b[^()\n]*\]\(([^()\s#]+)")
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_NAMED = re.compile(r"(?<![\w@/.])@((?:~/|\.{0,2}/)?[\w.-][\w./-]*)")


def archive_replaced(drafts: list[Draft]) -> None:
    """Archive the records that another one says it replaces, whether or not their own status was changed."""
    by_path = {draft.path: draft.data for draft in drafts}
    for draft in drafts:
        for link in _REPLACES.findall(str(draft.data["content"].get("status", ""))):
            old = by_path.get(os.path.normpath(os.path.join(os.path.dirname(draft.path), link)), {})
            if old.get("record_status") == ACTIVE:
                old.update(record_status=ARCHIVED, archived_reason="replaced by " + draft.data["title"])


def skipped_outcome(source: str, reason: str) -> dict[str, Any]:
    """Return the result for something that is not stored."""
    return {"source": source, "outcome": SKIPPED, "reason": plain(reason, _MAX_REASON)}


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
