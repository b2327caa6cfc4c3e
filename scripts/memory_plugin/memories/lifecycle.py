"""The life cycle of a memory: save, edit, retire, restore, archive and delete, each with its effect on trust.

A text is trusted after a write only if the user accepted all of it: the whole text was trusted before, or the command wrote it because the
user asked for it, or the user was shown the text and accepted it now. An edit of a pending or a rejected text leaves it what it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Callable, NamedTuple

from ..kernel.context import now_iso
from ..kernel.fastjson import as_texts
from ..kernel.paths import Paths
from . import InvalidMemory, writing
from .hygiene import clean_text
from .memory_files import Store, StoredMemory
from .record import (
    ACTIVE,
    ARCHIVED,
    LISTS,
    RETIRED,
    Category,
    body_content,
    categories,
    main_text,
    require_lists,
    with_change,
)
from .relations import name_for, older_names
from .survey import Item
from .trust import REJECTED, TRUSTED, Trust, with_phrases
from .writing import Data, Written

_REJECTED_PHRASES = "%s: you rejected its search phrases; to add one: memory edit %s --asked-as 'a phrase'"
_STORED = "%s; what you saved is pending: your approval was not recorded. Solve that, then: memory review"


class Removal(NamedTuple):
    """The result of `forget`: the deleted files, and when a retired memory's file will be deleted (empty if it is deleted already)."""

    id: str
    deleted: list[str]
    goes_at: str


class Before(NamedTuple):
    """A memory before a write: its trust, those of its phrases that nobody accepted, and whether the user rejected it or these.

    The trust of a forgotten memory, which was withdrawn, is that of its text when it was active.
    """

    state: str
    new_phrases: frozenset[str]
    is_rejected: bool


class Change(NamedTuple):
    """A write: what was stored, and the memory before; None if all of its text comes from the command.

    `only_new` for a text that may only be trusted if it was neither stored nor rejected before.
    """

    written: Written
    before: Before | None = None
    only_new: bool = False


def save(
    paths: Paths, store: Store, data: Data, approved: bool, how: str = "save", *, only_new: bool = False
) -> Written:
    """Store a memory. If the user asked for it (`approved`), it is trusted at once; otherwise it is pending.

    `only_new` is for a request to Claude, which covers no text that was stored or rejected before.
    """
    require_lists(data)
    written = writing.add(paths, store, data)
    trust_written(paths, [Change(written, only_new=only_new)], approved, how)
    return written


def save_all(
    paths: Paths, store: Store, batch: Iterable[Data], approved: bool
) -> list[Written | InvalidMemory]:
    """Store many memories as `save` does; return for each what was written or why it was refused.

    The approval is recorded at the end, also if one fails. Raises OSError and Busy; the memories before the failing one remain stored.
    """
    results: list[Written | InvalidMemory] = []
    written: list[Change] = []
    try:
        for data in batch:
            try:
                results.append(added := writing.add(paths, store, data))
                written.append(Change(added))
            except InvalidMemory as error:
                results.append(error)
    finally:
        trust_written(paths, written, approved, "import")
    return results


def edit(
    paths: Paths,
    stored: StoredMemory,
    fields: Mapping[str, object] | Callable[[Data], Mapping[str, object]],
    summary: str,
    approved: bool,
    how: str = "edit",
    *,
    cleaned: bool = True,
) -> Written:
    """Replace fields of a memory; `fields` may be a function that returns them for its present data.

    The changed memory stays trusted if the user asked for the change (`approved`), and pending or rejected if its present text is, as
    do phrases that await approval. Its trust changes under the lock of the write, so that two edits at once do not undo it.
    """

    def changed(present: Data) -> Data:
        return with_change(present, summary, fields(present) if callable(fields) else fields)

    return writing.change(paths, stored, changed, cleaned, partial(_keep_trust, paths, approved, how))


def _keep_trust(paths: Paths, approved: bool, how: str, present: StoredMemory, written: Written) -> None:
    trust_written(paths, [Change(written, before_write(paths, present))], approved, how)


def add_phrases(paths: Paths, stored: StoredMemory, phrases: list[str]) -> Written:
    """Add phrases to a trusted memory that has none; it stays trusted.

    Raises InvalidMemory if someone else added some meanwhile, or if the user rejected some: then only the user adds any.
    """
    if Trust(paths).has_rejected_phrases(stored):
        raise InvalidMemory(_REJECTED_PHRASES % (stored.memory.id, stored.memory.id))

    def added(present: Data) -> Data:
        if present.get("asked_as"):
            raise InvalidMemory("%s: it has search phrases already" % stored.memory.id)
        if present != stored.memory.data:
            raise InvalidMemory("%s: someone else changed it in the meantime" % stored.memory.id)
        return {"asked_as": phrases}

    return edit(paths, stored, added, "phrases added", approved=True, how="phrases")


def supersede(paths: Paths, old: Item, new: Item) -> StoredMemory:
    """Mark one memory as replaced by another, as the user asked; return the older one after the change.

    Each file names the other. The newer one is written first, so an interruption leaves either the old state or a superseded memory. An
    untrusted file is not written, nor is an older memory in another store, because other projects that use that store do not have the
    newer one.
    """
    names = older_names(old.stored.key, old.stored.memory.supersedes, new.stored.key)
    if new.trust == TRUSTED and set(names).difference(new.stored.memory.supersedes):
        summary = "supersedes " + old.stored.memory.id
        edit(paths, new.stored, partial(_with_older, names), summary, approved=True)
    if old.trust != TRUSTED or old.stored.store != new.stored.store:
        return old.stored
    mark = {"superseded_by": name_for(new.stored.key, old.stored.key)}
    summary = "superseded by " + new.stored.memory.id
    return edit(paths, old.stored, mark, summary, approved=True).stored


def _with_older(names: list[str], data: Data) -> Data:
    present = as_texts(data.get("supersedes"))
    return {"supersedes": list(dict.fromkeys([*present, *names]))[: LISTS["supersedes"]]}


def unsupersede(paths: Paths, old: StoredMemory, newer: Iterable[Item], approved: bool) -> StoredMemory:
    """Undo `supersede`: the memory is recalled again; return it after the change.

    `newer` are the memories that name it in `supersedes`. They are changed only if they are trusted and the user asked for the change
    (`approved`), because otherwise the change would make them pending.
    """
    for item in newer:
        if approved and item.trust == TRUSTED:
            summary = "does not supersede %s any more" % old.memory.id
            edit(paths, item.stored, partial(_without, old), summary, approved)
    if not old.memory.superseded_by:
        return old
    return edit(paths, old, {"superseded_by": None}, "not superseded any more", approved).stored


def _without(old: StoredMemory, data: Data) -> Data:
    listed = data.get("supersedes")
    names = (old.memory.id, "%s/%s" % (old.memory.category, old.memory.id), old.key)
    return {"supersedes": [name for name in listed if name not in names] if isinstance(listed, list) else []}


def rewrite(paths: Paths, stored: StoredMemory, data: Data, summary: str, *, seen: bool = False) -> Written:
    """Replace all fields of a memory with the user's version; `seen` if they were shown all of its text and accept it with this.

    Raises InvalidMemory if someone else changed the memory meanwhile.
    """

    def replaced(present: Data) -> Data:
        if present != stored.memory.data:
            text = "%s: someone else changed it in the meantime; your version was not saved"
            raise InvalidMemory(text % stored.memory.id)
        return with_change(data, summary, {})

    def settled(present: StoredMemory, written: Written) -> None:
        trust_written(paths, [Change(written, None if seen else before_write(paths, present))], True, "edit")

    return writing.change(paths, stored, replaced, settle=settled)


def redact(paths: Paths, stored: StoredMemory) -> Written:
    """Remove secrets and hidden characters from a memory's file, which stays trusted, pending or rejected."""
    return edit(paths, stored, {}, "secrets taken out", approved=True, how="redact")


def move(paths: Paths, stored: StoredMemory, category: Category, store: Store, approved: bool) -> Written:
    """Move a memory to another category or store, with its trust. The new file is written before the old one is deleted.

    Raises InvalidMemory for one that replaces another or is replaced: the other would name a file that is gone.
    """
    memory = stored.memory
    if memory.supersedes or memory.superseded_by:
        text = "%s replaces a memory or is replaced; save a new one with --supersedes"
        raise InvalidMemory(text % memory.id)
    content = dict(memory.data["content"])
    main = main_text(memory.category, content)
    content.pop(categories()[memory.category].primary, None)
    content.update(body_content(category, main))
    place = "%s:%s" % (stored.store.scope, memory.category)
    data = with_change(memory.data, "moved from " + place, {"category": category.name, "content": content})
    before = before_write(paths, stored)
    writing.require_writable(paths, stored)
    written = writing.add(paths, store, data)
    Trust(paths).erase(stored)  # first, because both have the same digest if only the store changes
    trust_written(paths, [Change(written, before)], approved, "edit")
    writing.remove(paths, stored)
    return written


def forget(paths: Paths, stored: StoredMemory, reason: str, at_once: bool, grace_days: int) -> Removal:
    """Retire a memory, or delete its file at once. A retired file is deleted after the grace period.

    Trust is withdrawn first: a file that remains or reappears is pending. Where the file cannot be written, nothing changes.
    """
    writing.require_writable(paths, stored)
    trust = Trust(paths)
    (trust.erase if at_once else trust.withdraw)(stored)
    if at_once:
        return Removal(stored.memory.id, writing.remove(paths, stored), "")
    why = clean_text(reason, "retired_reason", []) or "forgotten by the user"
    fields = {"record_status": RETIRED, "retired_at": now_iso(), "retired_reason": why}
    writing.change(paths, stored, lambda data: with_change(data, "retired", fields), cleaned=False)
    return Removal(stored.memory.id, [], _after(str(fields["retired_at"]), grace_days))


def archive(paths: Paths, stored: StoredMemory, reason: str) -> Written:
    """Keep a memory forever without recalling it; if its text is not trusted, the guard of its last trusted version ends, too."""
    reason_text = clean_text(reason, "archived_reason", [])
    if before_write(paths, stored).state != TRUSTED:
        writing.require_writable(paths, stored)
        Trust(paths).withdraw(stored)
    fields = {"record_status": ARCHIVED, "archived_at": now_iso(), "archived_reason": reason_text}
    return edit(paths, stored, fields, "archived", approved=True, how="archive", cleaned=False)


def restore(paths: Paths, stored: StoredMemory, approved: bool) -> Written:
    """Make a retired or archived memory active again, and trusted if its active text ever was. Raises InvalidMemory when it is active."""
    if stored.memory.status == ACTIVE:
        raise InvalidMemory("%s is active already" % stored.memory.id)
    dropped = {"retired_at": None, "retired_reason": None, "archived_at": None, "archived_reason": None}
    fields = {name: value for name, value in dropped.items() if name in stored.memory.data}
    return edit(paths, stored, {"record_status": ACTIVE, **fields}, "restored", approved)


def _after(moment: str, days: int) -> str:
    """Return the time some days after another one; empty for an invalid time."""
    try:
        start = datetime.strptime(moment[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
        return (start + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):  # a file may name any year
        return ""


def remove_expired_retired(
    paths: Paths, store: Store, memories: Iterable[StoredMemory], grace_days: int
) -> list[str]:
    """Delete the files of those memories of a store that were forgotten before the grace period began; return the deleted paths.

    Temporary files of killed writers are deleted too.
    """
    deleted = writing.sweep(paths, store)
    trust = Trust(paths)
    for stored in memories:
        due = _after(str(stored.memory.data.get("retired_at") or ""), grace_days)
        if stored.memory.status == RETIRED and due and due <= now_iso() and trust.is_forgotten(stored):
            writing.require_writable(paths, stored)
            trust.erase(stored)
            deleted += writing.remove(paths, stored)
    return deleted


def before_write(paths: Paths, stored: StoredMemory) -> Before:
    """Return what is known about a memory before a write."""
    trust = Trust(paths)
    if stored.memory.status != ACTIVE and not trust.is_trusted(stored):
        active = stored.memory._replace(status=ACTIVE, data={**stored.memory.data, "record_status": ACTIVE})
        stored = stored._replace(memory=active)
        if trust.state_of(stored) != REJECTED and trust.was_accepted(stored):
            return Before(TRUSTED, frozenset(), False)
    state, accepted = trust.state_of(stored), trust.with_accepted_phrases(stored).memory.asked_as
    new = frozenset(stored.memory.asked_as).difference(accepted)
    return Before(state, new, state == REJECTED or bool(new and not trust.new_phrases(stored)))


def trust_written(paths: Paths, changes: Iterable[Change], approved: bool, how: str) -> None:
    """Trust what may be trusted of what was written, if the user asked for it (`approved`); keep rejected texts rejected.

    The files exist already and are pending until this succeeds. Raises OSError, which says so.
    """
    try:
        trust = Trust(paths)
        changes = list(changes)
        covered = [text for change in changes if approved and (text := _covered(trust, change)) is not None]
        trust.accept(covered, how) if covered else None
        kept = [change.written.stored for change in changes if _stays_rejected(trust, change)]
        trust.reject(*kept) if kept else None
    except OSError as error:
        raise OSError(error.errno, _STORED % (error.strerror or error), error.filename) from None


def _stays_rejected(trust: Trust, change: Change) -> bool:
    """Return whether the user rejected this text, or the phrases that it still has, before the write."""
    written, before = change.written.stored, change.before
    if before is None or not before.is_rejected:
        return False
    return trust.has_new_phrases(written) or (before.state == REJECTED and not trust.is_trusted(written))


def _covered(trust: Trust, change: Change) -> StoredMemory | None:
    """Return the written memory as far as the user accepted it: without phrases that nobody accepted; None for nothing."""
    written, before = change.written, change.before
    if before is None:
        is_old = not written.created or trust.state_of(written.stored) == REJECTED
        return written.stored if written.is_exact and not (change.only_new and is_old) else None
    if before.state != TRUSTED:
        return None
    phrases = [text for text in written.stored.memory.asked_as if text not in before.new_phrases]
    return with_phrases(written.stored, phrases) if before.new_phrases else written.stored
