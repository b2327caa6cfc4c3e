"""Join the stored memories with their figures: which help, which were never used, which are stale and why."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from ...kernel.paths import Paths
from ...kernel.text.clean import plain
from ...memories.hygiene import shown_line
from ...memories.record import ACTIVE
from ...memories.survey import EXPIRED, SUPERSEDED, Item, Survey, life_cycle_state, shortest_names
from ...memories.trust import TRUSTED
from .elements import Bar, Cell, Command, Name, Note, Part, Section, Table, count, day_label, times
from .figures import MemoryUse, RecallFigures

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
    """The rows of the tables, and the numbers of active and pending memories."""

    stored: int
    pending: int
    helping: list[MemoryRow]
    unused: list[MemoryRow]
    stale: list[MemoryRow]


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
    pending = sum(item.waits for item in survey.items)
    return MemoryFigures(len(active), pending, helping, unused, stale)


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


def memories_section(memories: MemoryFigures, prompts: int, scope: str) -> Section:
    """Return the memories that help, those that were never recalled, and those that may be out of date."""
    figures = {
        "stored": memories.stored,
        "pending": memories.pending,
        "recalled": len(memories.helping),
        "helping": [_memory_json(row) for row in memories.helping[:_MAX_ROWS]],
        "never_used": len(memories.unused),
        "unused": [_memory_json(row) for row in memories.unused[:_MAX_ROWS]],
        "stale_number": len(memories.stale),
        "stale": [
            {**_memory_json(row), "why": row.stale, "fix": row.fix} for row in memories.stale[:_MAX_ROWS]
        ],
    }
    pending = "%s awaiting your approval:" % count(memories.pending)
    recalled = len(memories.helping)
    different = "1 memory" if recalled == 1 else "%s different memories" % count(recalled)
    numbers = (count(memories.stored), different, scope)
    about = "%s active in this project; %s recalled in this period, counting %s." % numbers
    parts: list[Part] = [
        *([Note(pending, "memory review")] if memories.pending else []),
        _helping(memories, bool(prompts)),
        _unused(memories),
        Table(
            "May be out of date",
            [("Memory", "name"), ("Why", "text"), ("What to do", "text")],
            [[_title(row), row.stale, Command(row.fix)] for row in memories.stale],
            empty="None: no related files are missing, and nothing has expired or been superseded.",
        ),
    ]
    return Section("memories", "Memories", "Memories", about, figures, parts)


def _memory_json(row: MemoryRow) -> dict[str, Any]:
    counts = {name: getattr(row.use, name) for name in row.use.__slots__}
    return {"id": row.name, "title": row.title, "project": row.project, "updated": row.updated, **counts}


def _title(row: MemoryRow) -> Name:
    return Name(row.title, " \u00b7 ".join(filter(None, (row.name, row.project))))


def _helping(memories: MemoryFigures, has_prompts: bool) -> Table:
    rows = memories.helping
    largest = max((row.use.told + row.use.pointed for row in rows), default=0) or 1
    has_feedback = any(row.use.useful or row.use.wrong for row in rows)
    cells: list[list[Cell]] = []
    for row in rows:
        use = row.use
        text = "told %s, pointed to %s" % (times(use.told), times(use.pointed))
        said = ", ".join(
            "%s %d\u00d7" % (word, getattr(use, word)) for word in ("useful", "wrong") if getattr(use, word)
        )
        numbers = [count(use.told), count(use.pointed), count(use.used), day_label(use.last)]
        bar = Bar([("told", use.told), ("pointed", use.pointed)], largest, text)
        cells.append([_title(row), bar, *numbers, *([said or "\u2013"] if has_feedback else [])])
    heads = ["Told", "Pointed to", "Used", "Last recalled", *(["You said"] if has_feedback else [])]
    columns = [("Memory", "name"), ("", "bar"), *((head, "n") for head in heads)]
    empty = "No memory was recalled in this period." + (" To see why: memory why" if has_prompts else "")
    return Table("Most used", columns, cells, empty=empty)


def _unused(memories: MemoryFigures) -> Table:
    rows = memories.unused
    about = (
        "Close calls are prompts on which a memory was the best match but not a good enough one. To have it recalled on such"
        " prompts, add a phrase in your own words."
    )
    cells: list[list[Cell]] = [
        [
            _title(row),
            day_label(row.updated),
            count(row.use.near) if row.use.near else "\u2013",
            Command("memory edit %s --asked-as '...'" % row.name if row.use.near else ""),
        ]
        for row in rows
    ]
    return Table(
        "Never recalled",
        [("Memory", "name"), ("Updated", "n"), ("Close calls", "n"), ("What to do", "text")],
        cells,
        about if any(row.use.near for row in rows) else "",
        "None: every active memory was recalled." if memories.stored else "No memory is stored here yet.",
    )
