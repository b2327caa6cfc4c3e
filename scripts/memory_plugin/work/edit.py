"""Changes of a memory that concern others: its title, its place, and the memory that replaces it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from typing import Any, Callable, TypeVar

from ..kernel.fastjson import loads
from ..kernel.files import error_text, make_folder, read_regular, replace_file
from ..memories import InvalidMemory
from ..memories.hygiene import shown_line
from ..memories.lifecycle import edit, move, supersede, unsupersede
from ..memories.markdown import title_for
from ..memories.memory_files import MAX_BYTES, StoredMemory, named_store
from ..memories.record import ACTIVE, MAX_TITLE, Memory, categories, main_text, parse_memory
from ..memories.relations import name_for, plain_title
from ..memories.survey import Item, choose, life_cycle_state, shortest_names, successors, superseding
from ..memories.trust import TRUSTED
from ..memories.writing import Written
from . import WorkContext, WorkError
from .save import TakenTitles

NONE = "none"

_SAME_TITLE = "%s already has this title. Choose a different one; if both say the same: memory edit %s --superseded-by %s"
_PENDING = "--superseded-by: %s is pending and replaces nothing yet; first run: memory accept %s"
_REPLACED = "--superseded-by: %s is itself replaced by %s; first run: memory edit %s --superseded-by none"


def refuse_title(context: WorkContext, item: Item, title: str) -> None:
    """Raise InvalidMemory if another active memory of the scope has the new title."""
    if plain_title(title) == plain_title(item.stored.memory.title) or life_cycle_state(item) != ACTIVE:
        return
    data, shown = {**item.stored.memory.data, "title": title}, shown_line(title, MAX_TITLE)
    items = context.overview(is_current=True, names=[item.stored.key], title=shown).items
    name = TakenTitles(items, item.stored.store.scope, item).owner(data, or_same=True)
    if name:
        raise InvalidMemory(_SAME_TITLE % (name, shortest_names(items)[item.stored.key], name))


def chosen_successor(name: str | None, item: Item, items: list[Item]) -> Item | None:
    """Return the memory named by --superseded-by. Raises InvalidMemory for the memory itself, or one that it replaces."""
    if name in (None, NONE):
        return None
    chosen = choose(items, str(name))
    identity = chosen.stored.memory.id
    if chosen.stored.key == item.stored.key:
        raise InvalidMemory("--superseded-by: a memory cannot replace itself")
    if chosen.trust != TRUSTED:
        raise InvalidMemory(_PENDING % (identity, shortest_names(items)[chosen.stored.key]))
    if item.stored.key in successors(items, chosen):
        raise InvalidMemory(_REPLACED % (identity, item.stored.memory.id, identity))
    return chosen


def resupersede(
    context: WorkContext, item: Item, successor: Item | None, items: list[Item], approved: bool
) -> StoredMemory:
    """Set or remove the memory that replaces this one; return the updated memory."""
    if successor is None:
        return unsupersede(context.paths, item.stored, superseding(items, item), approved)
    if approved:
        return supersede(context.paths, item, successor)
    change = {"superseded_by": name_for(successor.stored.key, item.stored.key)}
    return edit(context.paths, item.stored, lambda _: change, "edited: superseded by", approved=False).stored


def renewed_title(memory: Memory, body: str) -> str | None:
    """Return the title of a new body if the present title was made from the present body; None if someone chose it."""
    present = title_for(main_text(memory.category, memory.data["content"]))
    return title_for(body) if plain_title(present) == plain_title(memory.title) else None


def moved(
    context: WorkContext, written: Written, category: str | None, scope: str | None, approved: bool
) -> Written:
    """Move a memory to another category or scope; None for the present one."""
    stored = written.stored
    target = categories()[category or stored.memory.category]
    store = named_store(context.paths, scope or stored.store.scope)
    if target.name == stored.memory.category and store == stored.store:
        return written
    return move(context.paths, stored, target, store, approved)._replace(redacted=written.redacted)


Stored = TypeVar("Stored")


def edit_draft(
    context: WorkContext, stored: StoredMemory, store: Callable[[dict[str, object]], Stored]
) -> Stored | None:
    """Open a memory in $VISUAL or $EDITOR and return what `store` returns for the user's edit; None if they changed nothing.

    Raises InvalidMemory, which names the draft that was kept, if the editor failed or the draft cannot be stored. The project cannot
    choose the editor, because its variables were dropped.
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
        raise InvalidMemory("the editor could not be started (%s); set $EDITOR" % error_text(error)) from None
    try:
        if code:
            raise InvalidMemory("the editor ended with exit code %d" % code)
        data = _parsed(path, stored)
        result = None if data == stored.memory.data else store(data)
    except (WorkError, OSError, ValueError) as error:
        raise InvalidMemory("%s; your draft is %s" % (error_text(error), path)) from None
    os.unlink(path)
    return result


def _parsed(path: str, stored: StoredMemory) -> dict[str, object]:
    """Return the data in a draft. Raises InvalidMemory, OSError and ValueError."""
    memory = stored.memory
    data: Any = loads(read_regular(path, MAX_BYTES)[0].decode("utf-8-sig"))
    parse_memory(data, memory.id, categories()[memory.category])
    for name in ("id", "category"):
        if data.get(name) != memory.data.get(name):
            text = "%s: must stay %r; to move a memory, save a new one"
            raise InvalidMemory(text % (name, memory.data.get(name)))
    return dict(data)
