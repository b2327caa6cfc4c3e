"""Join the stored memories with their figures: which help, which were never used, which are stale and why."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from ...kernel.text.clean import plain
from ...memories.hygiene import shown_line
from ...memories.record import ACTIVE
from ...memories.survey import EXPIRED, SUPERSEDED, life_cycle_state, shortest_names
from ...memories.trust import TRUSTED
from .elements import times
from .recall_figures import MemoryUse

if TYPE_CHECKING:
    from ...kernel.paths import Paths
    from ...memories.survey import Item, Survey
    from .recall_figures import RecallFigures

_MAX_ROWS = 25
_MAX_NAME = 120
_MAX_FILES = 20


class MemoryRow(NamedTuple):
    """A row of a table; `stale` says why the memory may be out of date, and `fix` is the command to run."""

    name: str
    title: str
    project: str
    updated: str
    use: MemoryUse
    stale: str = ""
    fix: str = ""


class MemoryFigures(NamedTuple):
    """The tables, each cut to 25 rows, and the numbers of all rows."""

    stored: int
    pending: int
    recalled: int
    helping: list[MemoryRow]
    unused: list[MemoryRow]
    unused_number: int
    stale: list[MemoryRow]
    stale_number: int


def memory_figures(survey: Survey, recalls: RecallFigures, paths: Paths) -> MemoryFigures:
    """Return the tables: this project's and the user's memories, and those of other projects that occur in the ledgers."""
    names = shortest_names(survey.items)
    here = {_place(item, paths): item for item in survey.items}
    uses = {item.stored.key: recalls.memories.get(place, MemoryUse()) for place, item in here.items()}
    active = [item for item in survey.items if life_cycle_state(item) == ACTIVE and item.trust == TRUSTED]
    helping = [
        _stored_row(here[place], use, names) if place in here else _row_of_other_project(place, use)
        for place, use in recalls.memories.items()
        if _is_recalled(use)
    ]
    helping.sort(
        key=lambda row: (-(row.use.used + row.use.useful), -row.use.told, -row.use.pointed, row.name)
    )
    stored = [_stored_row(item, uses[item.stored.key], names) for item in active]
    unused = [row for row in stored if not _is_recalled(row.use)]
    unused.sort(key=lambda row: (-row.use.near, row.updated))
    stale = _stale_rows(survey, uses, names, paths)
    return MemoryFigures(
        stored=len(active),
        pending=sum(item.waits for item in survey.items),
        recalled=len(helping),
        helping=helping[:_MAX_ROWS],
        unused=unused[:_MAX_ROWS],
        unused_number=len(unused),
        stale=stale[:_MAX_ROWS],
        stale_number=len(stale),
    )


def _place(item: Item, paths: Paths) -> tuple[str, str]:
    """Return the project and key under which RecallFigures counts a memory."""
    key = item.stored.key
    return ("", key) if key.startswith("user:") else (paths.project_key, key)


def _is_recalled(use: MemoryUse) -> bool:
    return bool(use.told or use.pointed or use.used)


def _stored_row(
    item: Item, use: MemoryUse, names: dict[str, str], stale: str = "", fix: str = ""
) -> MemoryRow:
    memory = item.stored.memory
    title = shown_line(memory.title)
    return MemoryRow(names[item.stored.key], title, "", shown_line(memory.updated_at)[:10], use, stale, fix)


def _row_of_other_project(place: tuple[str, str], use: MemoryUse) -> MemoryRow:
    """Return a row titled by the memory's id: the stores of other projects are not read."""
    project, key = (plain(part, _MAX_NAME) for part in place)
    return MemoryRow(key, key.rpartition("/")[2].replace("-", " "), project, "", use)


def _stale_rows(
    survey: Survey, uses: dict[str, MemoryUse], names: dict[str, str], paths: Paths
) -> list[MemoryRow]:
    rows = []
    for item in survey.items:
        use = uses[item.stored.key]
        reason, command = _staleness(item, use, paths)
        if reason:
            fix = "memory %s %s" % (command, names[item.stored.key])
            rows.append(_stored_row(item, use, names, reason, fix))
    return rows


def _staleness(item: Item, use: MemoryUse, paths: Paths) -> tuple[str, str]:
    """Return why a memory may be out of date, and the command that fixes it; two empty strings if it is current."""
    memory = item.stored.memory
    state = life_cycle_state(item)
    if state == SUPERSEDED:
        return "superseded by %s" % shown_line(item.superseded_by.rpartition("/")[2]), "archive"
    if state == EXPIRED:
        return "expired on %s" % shown_line(memory.expires_at)[:10], "archive"
    if state != ACTIVE:
        return "", ""
    if use.wrong > use.useful:
        return "you called it wrong %s" % times(use.wrong), "edit"
    missing = [] if item.stored.store.worktree is None else _missing_files(memory.files, paths.project_root)
    if missing:
        others = " and %d more no longer exist" % (len(missing) - 1)
        return shown_line(missing[0]) + (others if len(missing) > 1 else " no longer exists"), "edit"
    return "", ""


def _missing_files(files: tuple[str, ...], root: str) -> list[str]:
    """Return the related files that are missing from the project; patterns and paths outside it are skipped."""
    return [
        name
        for name in files[:_MAX_FILES]
        if not (set("*?[") & set(name) or os.path.isabs(name) or ".." in name.split("/"))
        and "\0" not in name
        and not os.path.lexists(os.path.join(root, name))
    ]
