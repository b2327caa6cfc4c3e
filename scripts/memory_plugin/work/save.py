"""Save memories and change them: read the stored ones, check the new text, write it, index it, compare it with the others."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Sequence
from functools import partial
from typing import Any, Callable, NamedTuple, TypeVar

from ..kernel.fastjson import loads
from ..kernel.files import error_text, make_folder, read_regular, replace_file
from ..memories import InvalidMemory, lifecycle, survey
from ..memories.hygiene import shown_line
from ..memories.markdown import title_for
from ..memories.memory_files import MAX_BYTES, PROJECT, StoredMemory, named_store
from ..memories.record import ACTIVE, MAX_TITLE, Memory, categories, main_text, new_memory, parse_memory
from ..memories.relations import name_for, older_names, plain_title
from ..memories.survey import TAKEN, Item
from ..memories.trust import TRUSTED, Trust
from ..memories.writing import Data, Written
from . import WorkContext, WorkError, memory_facts
from .refresh import refresh

_LONG_TITLE = 80
_PENDING = "  Pending: Claude does not see it until you accept it. In Claude Code: /memory:review"
_NOT_REPLACED = "%s is not replaced yet: the new memory is pending"
_OR_REPLACE = "; to replace it: --supersedes %s; to keep both, choose another title"
_CHOSEN_TAKEN = "%s, %s: %s. Nothing was written; send `memory: %s` with another `title:`, or leave it out"
_CHOSEN_PENDING = "They are pending. To accept them (Claude Code asks the user): memory accept %s"
NONE = "none"

_SAME_TITLE = "%s already has this title. Choose a different one; if both say the same: memory edit %s --superseded-by %s"
_PENDING_SUCCESSOR = "--superseded-by: %s is pending and replaces nothing yet; first run: memory accept %s"
_REPLACED = "--superseded-by: %s is itself replaced by %s; first run: memory edit %s --superseded-by none"


class NewMemory(NamedTuple):
    """What is to be saved.

    `extra` holds further fields of the record, such as tags, files, phrases, a guard and a day of expiry. `supersedes` names the memory
    that the new one replaces, and `candidate` the candidate of capture that it is based on; empty for none.
    """

    category: str
    title: str
    content: Data
    scope: str
    extra: Data
    supersedes: str = ""
    candidate: str = ""


class Saved(NamedTuple):
    """What was stored, as data and as lines to print; `title` is that of the memory, `name` its shortest unique one.

    `is_approved` says whether it is trusted at once. `notices` say what is left to do, such as that a pending memory replaces nothing yet.
    """

    name: str
    title: str
    is_approved: bool
    record: Data
    lines: list[str]
    notices: list[str]


def save(new: NewMemory, context: WorkContext) -> Saved:
    """Store a memory. Raises InvalidMemory, and WorkError if another active memory has its title."""
    items = context.overview().items
    old = survey.choose(items, new.supersedes) if new.supersedes else None
    data = _data(new, old, context)
    if taken := survey.TakenTitles(items, new.scope, old).owner(data):
        raise WorkError((TAKEN + _OR_REPLACE) % (taken, taken, taken))
    guarded = "guard" in data or (old is not None and memory_facts.is_guarded(old.stored, context))
    # Guards need the user's own confirmation: inside the client, a save that adds, changes or removes one is always pending.
    approved = not (guarded and context.inside_client) and context.approve_saves()
    store = named_store(context.paths, new.scope)
    written = lifecycle.save(context.paths, store, data, approved, only_new=context.only_new)
    if approved:
        _settle(new, old, written, context)
    notices = [refresh(context)]
    replaced = old.stored.memory.id if old is not None else ""
    if replaced and not approved:
        notices.append(_NOT_REPLACED % replaced)
        replaced = ""
    key, memory = written.stored.key, written.stored.memory
    items = context.overview(is_current=True).items
    item, name = memory_facts.current(items, key)
    similar = memory_facts.similar_to(context, items, [(key, memory)])[0]
    record = {
        **memory_facts.as_json(item),
        "guard": memory_facts.guard_as_json(memory),
        "redacted": written.redacted,
        "created": written.created,
        "superseded": replaced,
        "similar": similar,
    }
    lines = _lines(new, written, name) + (["  %s is no longer shown" % replaced] if replaced else [])
    lines += memory_facts.place_lines(new.scope, context)
    lines += memory_facts.similar_lines(similar) if written.created else []
    lines += [] if item.trust == TRUSTED else [_PENDING, "next: memory accept " + name]
    if store.worktree not in (None, context.paths.project_root):
        lines.append("  stored in %s, whose memories this worktree shares" % store.worktree)
    if store.scope == PROJECT and memory_facts.is_personal(memory.category, memory.title):
        lines += ["To keep it to yourself, out of the team's store:", "memory edit %s --scope user" % name]
    return Saved(name, memory.title, approved, record, lines, list(filter(None, notices)))


def _lines(new: NewMemory, written: Written, name: str) -> list[str]:
    """Return lines about what was stored, and what was cut, redacted and guarded."""
    memory, line = written.stored.memory, "already saved as {2} ({0}): {1}"
    if written.created:
        line = "saved {0}: {1}\nundo: memory forget {2}"
    lines = line.format(memory.category, shown_line(memory.title, _LONG_TITLE), name).split("\n")
    if len(new.title) > MAX_TITLE:
        lines.append("  The title was cut to %d characters." % MAX_TITLE)
    notes = memory_facts.redaction_lines(written) + memory_facts.guard_lines(memory)
    notes += memory_facts.gone_lines(written.stored)
    return lines + ["  " + note for note in notes]


def _data(new: NewMemory, old: Item | None, context: WorkContext) -> Data:
    category, extra = categories()[new.category], dict(new.extra)
    if new.candidate:
        from .candidate_check import find_candidate  # most saves have no candidate

        extra["source"] = find_candidate(context, new.candidate).source
    if old is not None:
        key = "%s:%s/" % (new.scope, category.name)
        extra["supersedes"] = older_names(old.stored.key, old.stored.memory.supersedes, key)
    return new_memory(category, "", new.title, new.content, extra)


def _settle(new: NewMemory, old: Item | None, written: Written, context: WorkContext) -> None:
    """Close the candidate, and let the new memory supersede the old one. Raises InvalidMemory if both are the same."""
    if new.candidate:
        from ..capture.candidate import CandidateFile

        with CandidateFile(context.paths).change() as candidates:
            candidates.close([new.candidate])
    if old is None:
        return
    if written.stored.key == old.stored.key:
        text = "--supersedes: %s is the same memory, which is already stored"
        raise InvalidMemory(text % old.stored.memory.id)
    trust = Trust(context.paths, context.accept_from).state_of(written.stored)
    lifecycle.supersede(context.paths, old, Item(written.stored, trust, ""))


class SavedTogether(NamedTuple):
    """Memories that were written, as data and as lines to print; `trusted` holds (name, title) of those that need no review."""

    memories: list[Data]
    lines: list[str]
    trusted: list[tuple[str, str]]
    notice: str


def save_chosen(chosen: Sequence[tuple[str, Data]], context: WorkContext) -> SavedTogether:
    """Write the memories of an interview to the project's store, each with the name under which it was chosen.

    Raises WorkError, before anything is written, if a memory has the title of a stored one.
    """
    taken = survey.TakenTitles(context.survey().items, PROJECT)
    for name, data in chosen:
        if owner := taken.owner(data):
            why = TAKEN % (owner, owner)
            raise WorkError(_CHOSEN_TAKEN % (name, shown_line(str(data["title"])), why, name))
    approved, only_new = context.approve_saves(len(chosen)), context.only_new
    store = partial(lifecycle.save, context.paths, named_store(context.paths, PROJECT))
    written = [store(data, approved, "interview", only_new=only_new) for _, data in chosen]
    notice = refresh(context)
    items = context.overview(is_current=True).items
    found = memory_facts.similar_to(context, items, [(one.stored.key, one.stored.memory) for one in written])
    names = [one.stored.memory.id for one in written]
    records, lines = [], []
    for one, name, near in zip(written, names, found):
        similar = [memory for memory in near if memory.id not in names]  # those of one choice are alike
        record = {"id": name, "category": one.stored.memory.category, "created": one.created}
        records.append({**record, "trusted": approved, "redacted": one.redacted, "similar": similar})
        lines.append("%s %s" % ("saved" if one.created else "already saved as", name))
        lines += memory_facts.similar_lines(similar)
    lines += memory_facts.place_lines(PROJECT, context) if written else []
    if written and not approved:
        lines.append(_CHOSEN_PENDING % " ".join(names))
    trusted = [(one.stored.memory.id, one.stored.memory.title) for one in written] if approved else []
    return SavedTogether(records, lines, trusted, notice)


def refuse_title(context: WorkContext, item: Item, title: str) -> None:
    """Raise InvalidMemory if another active memory of the scope has the new title."""
    if plain_title(title) == plain_title(item.stored.memory.title) or survey.life_cycle_state(item) != ACTIVE:
        return
    data, items = {**item.stored.memory.data, "title": title}, context.overview(is_current=True).items
    name = survey.TakenTitles(items, item.stored.store.scope, item).owner(data, or_same=True)
    if name:
        raise InvalidMemory(_SAME_TITLE % (name, survey.shortest_names(items)[item.stored.key], name))


def chosen_successor(name: str | None, item: Item, items: list[Item]) -> Item | None:
    """Return the memory named by --superseded-by. Raises InvalidMemory for the memory itself, or one that it replaces."""
    if name in (None, NONE):
        return None
    chosen = survey.choose(items, str(name))
    identity = chosen.stored.memory.id
    if chosen.stored.key == item.stored.key:
        raise InvalidMemory("--superseded-by: a memory cannot replace itself")
    if chosen.trust != TRUSTED:
        raise InvalidMemory(_PENDING_SUCCESSOR % (identity, survey.shortest_names(items)[chosen.stored.key]))
    if item.stored.key in survey.successors(items, chosen):
        raise InvalidMemory(_REPLACED % (identity, item.stored.memory.id, identity))
    return chosen


def resupersede(context: WorkContext, item: Item, successor: Item | None, items: list[Item]) -> StoredMemory:
    """Set or remove the memory that replaces this one; return the updated memory."""
    approved = not context.only_new
    if successor is None:
        return lifecycle.unsupersede(context.paths, item.stored, survey.superseding(items, item), approved)
    if approved:
        return lifecycle.supersede(context.paths, item, successor)
    change = {"superseded_by": name_for(successor.stored.key, item.stored.key)}
    summary = "edited: superseded by"
    return lifecycle.edit(context.paths, item.stored, lambda _: change, summary, approved=False).stored


def renewed_title(memory: Memory, body: str) -> str | None:
    """Return the title of a new body if the present title was made from the present body; None if someone chose it."""
    present = title_for(main_text(memory.category, memory.data["content"]))
    return title_for(body) if plain_title(present) == plain_title(memory.title) else None


def moved(context: WorkContext, written: Written, category: str | None, scope: str | None) -> Written:
    """Move a memory to another category or scope; None for the present one."""
    stored, approved = written.stored, not context.only_new
    target = categories()[category or stored.memory.category]
    store = named_store(context.paths, scope or stored.store.scope)
    if target.name == stored.memory.category and store == stored.store:
        return written
    return lifecycle.move(context.paths, stored, target, store, approved)._replace(redacted=written.redacted)


Stored = TypeVar("Stored")
_DRAFT = "%s; your draft is %s"


def edit_draft(context: WorkContext, stored: StoredMemory, store: Callable[[Data], Stored]) -> Stored | None:
    """Open a memory in $VISUAL or $EDITOR and return what `store` returns for the user's edit; None if they changed nothing.

    Raises InvalidMemory, which names the draft that was kept, if the editor failed or was stopped, or the draft cannot be stored. The
    project cannot choose the editor, because its variables were dropped.
    """
    folder = context.paths.state("drafts")
    make_folder(folder)
    path = os.path.join(folder, "%s.%d.json" % (stored.memory.id, os.getpid()))
    text = json.dumps(stored.memory.data, indent=2, ensure_ascii=False) + "\n"
    replace_file(path, text.encode("utf-8", "backslashreplace"))
    default = "notepad" if os.name == "nt" else "vi"
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or default
    words = editor.replace("\\", "\\\\") if os.name == "nt" else editor  # there they separate folders
    try:
        code = subprocess.run([*shlex.split(words), path], check=False).returncode
    except (OSError, ValueError) as error:
        os.unlink(path)
        raise InvalidMemory("the editor could not be started (%s); set $EDITOR" % error_text(error)) from None
    except KeyboardInterrupt:
        raise InvalidMemory(_DRAFT % ("stopped", path)) from None
    try:
        if code:
            raise InvalidMemory("the editor ended with exit code %d" % code)
        data = _parsed(path, stored)
        result = None if data == stored.memory.data else store(data)
    except (WorkError, OSError, ValueError) as error:
        raise InvalidMemory(_DRAFT % (error_text(error), path)) from None
    os.unlink(path)
    return result


def _parsed(path: str, stored: StoredMemory) -> Data:
    """Return the data in a draft. Raises InvalidMemory, OSError and ValueError."""
    memory = stored.memory
    data: Any = loads(read_regular(path, MAX_BYTES)[0].decode("utf-8-sig"))
    parse_memory(data, memory.id, categories()[memory.category])
    for name in ("id", "category"):
        if data.get(name) != memory.data.get(name):
            text = "%s: must stay %r; to move a memory, save a new one"
            raise InvalidMemory(text % (name, memory.data.get(name)))
    return dict(data)
