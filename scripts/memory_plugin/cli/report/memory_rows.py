"""Join the stored memories with their figures: which help, which were never used, which are stale and why."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ...kernel.text.clean import plain
from ...memories.hygiene import shown_line
from ...memories.record import ACTIVE
from ...memories.survey import EXPIRED, SUPERSEDED, life_cycle_state, shortest_names
from ...memories.trust import TRUSTED
from .recall_figures import MemoryUse

if TYPE_CHECKING:
    from ...kernel.paths import Paths
    from ...memories.survey import Item, Survey
    from .recall_figures import RecallFigures

__all__ = ["MemoryFigures", "MemoryRow", "memory_figures"]

_MAX_ROWS = 25
_MAX_NAME = 120
_MAX_FILES = 20


class MemoryRow(NamedTuple):
    """One line of a table; `stale` says why the memory may be out of date, and `fix` is the command to run."""

    name: str
    title: str
    project: str
    updated: str
    use: MemoryUse
    stale: str = ""
    fix: str = ""


class MemoryFigures(NamedTuple):
    """The tables, each with at most 25 rows, and the numbers of all rows."""

    stored: int
    pending: int
    recalled: int
    helping: list[MemoryRow]
    unused: list[MemoryRow]
    unused_number: int
    stale: list[MemoryRow]
    stale_number: int


def memory_figures(stored: Survey, figures: RecallFigures, paths: Paths) -> MemoryFigures:
    """Return the tables for the memories in the current stores, and for those of other projects that the ledgers name."""
    names = shortest_names(stored.items)
    here = {item.stored.key: item for item in stored.items}
    active = [item for item in stored.items if life_cycle_state(item) == ACTIVE and item.trust == TRUSTED]
    recalled = [
        _row(use, key, project, here, names, paths)
        for (project, key), use in figures.memories.items()
        if use.told or use.pointed or use.used
    ]
    recalled.sort(
        key=lambda row: (-(row.use.used + row.use.useful), -row.use.told, -row.use.pointed, row.name)
    )
    unused = [_stored_row(item, _use(item, figures, paths), names) for item in active]
    unused = [row for row in unused if not (row.use.told or row.use.pointed or row.use.used)]
    unused.sort(key=lambda row: (-row.use.near, row.updated))
    stale = _stale_rows(stored, figures, names, paths)
    return MemoryFigures(
        stored=len(active),
        pending=sum(item.waits for item in stored.items),
        recalled=len(recalled),
        helping=recalled[:_MAX_ROWS],
        unused=unused[:_MAX_ROWS],
        unused_number=len(unused),
        stale=stale[:_MAX_ROWS],
        stale_number=len(stale),
    )


def _use(item: Item, figures: RecallFigures, paths: Paths) -> MemoryUse:
    key = item.stored.key
    project = "" if key.startswith("user:") else paths.project_key
    return figures.memories.get((project, key)) or MemoryUse()


def _row(
    use: MemoryUse, key: str, project: str, here: dict[str, Item], names: dict[str, str], paths: Paths
) -> MemoryRow:
    """Return the row of a memory that the ledgers name; its title is known only if its store is a current one."""
    item = here.get(key) if project in ("", paths.project_key) else None
    if item is not None:
        return _stored_row(item, use, names)
    name = plain(key, _MAX_NAME)
    return MemoryRow(name, name.rpartition("/")[2].replace("-", " "), plain(project, _MAX_NAME), "", use)


def _stored_row(
    item: Item, use: MemoryUse, names: dict[str, str], stale: str = "", fix: str = ""
) -> MemoryRow:
    memory = item.stored.memory
    title = shown_line(memory.title)
    return MemoryRow(names[item.stored.key], title, "", shown_line(memory.updated_at)[:10], use, stale, fix)


def _stale_rows(
    stored: Survey, figures: RecallFigures, names: dict[str, str], paths: Paths
) -> list[MemoryRow]:
    rows = []
    for item in stored.items:
        use = _use(item, figures, paths)
        why, command = _staleness(item, use, paths)
        if why:
            fix = "memory %s %s" % (command, names[item.stored.key])
            rows.append(_stored_row(item, use, names, why, fix))
    return rows


def _staleness(item: Item, use: MemoryUse, paths: Paths) -> tuple[str, str]:
    """Return why a memory may be out of date, and the command that resolves it; two empty texts if it is current."""
    memory = item.stored.memory
    state = life_cycle_state(item)
    if state == SUPERSEDED:
        return "superseded by %s" % shown_line(item.superseded_by.rpartition("/")[2]), "archive"
    if state == EXPIRED:
        return "expired on %s" % shown_line(memory.expires_at)[:10], "archive"
    if state != ACTIVE:
        return "", ""
    if use.wrong > use.useful:
        return "you said %s that it was wrong" % _times(use.wrong), "edit"
    missing = [] if item.stored.store.worktree is None else _missing_files(memory.files, paths.project_root)
    if not missing:
        return "", ""
    others = ", and %d more" % (len(missing) - 1) if len(missing) > 1 else ""
    return "%s no longer exists%s" % (shown_line(missing[0]), others), "edit"


def _times(number: int) -> str:
    return "once" if number == 1 else "%d times" % number


def _missing_files(files: tuple[str, ...], root: str) -> list[str]:
    """Return the related files that do not exist in the project; patterns and paths outside it are skipped."""
    return [
        name
        for name in files[:_MAX_FILES]
        if not (set("*?[") & set(name) or os.path.isabs(name) or ".." in name.split("/"))
        and "\0" not in name
        and not os.path.lexists(os.path.join(root, name))
    ]
