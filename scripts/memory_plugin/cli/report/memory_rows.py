"""The sections about memories (which help, which were never used, which are stale and why) and about prompts that found none."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...kernel.paths import Paths
from ...kernel.text.clean import plain
from ...memories.hygiene import shown_line
from ...memories.record import ACTIVE
from ...memories.survey import EXPIRED, SUPERSEDED, Item, Survey, life_cycle_state, shortest_names
from ...memories.trust import TRUSTED
from ...recall.explain import prompt_texts
from .elements import Bar, Cell, Command, Name, Note, Part, Section, Table, count, day_label, percent, times
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

    def as_json(self) -> dict[str, Any]:
        """Return the row as JSON data."""
        counts = {name: getattr(self.use, name) for name in self.use.__slots__}
        texts = {"id": self.name, "title": self.title, "project": self.project, "updated": self.updated}
        return {**texts, **counts, "why": self.stale, "fix": self.fix}


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
    rows: dict[tuple[str, str], MemoryRow] = {}
    active = []
    for item in survey.items:
        memory, key = item.stored.memory, item.stored.key
        # RecallFigures counts the user's own memories under no project.
        place = ("" if key.startswith("user:") else paths.project_key, key)
        use = recalls.memories.get(place, MemoryUse())
        stale, fix = _staleness(item, use, paths)
        title, updated = shown_line(memory.title), shown_line(memory.updated_at)[:10]
        name = names[key]
        rows[place] = MemoryRow(name, title, "", updated, use, stale, fix % name if fix else "")
        if life_cycle_state(item) == ACTIVE and item.trust == TRUSTED:
            active.append(rows[place])
    recalled = {place: use for place, use in recalls.memories.items() if use.told or use.pointed or use.used}
    helping = [rows.get(place) or _row_of_other_project(place, use) for place, use in recalled.items()]
    helping.sort(key=lambda row: (-row.use.used - row.use.useful, -row.use.told, -row.use.pointed, row.name))
    unused = [
        row for row in active if not (row.use.told or row.use.pointed or row.use.used or row.use.started)
    ]
    unused.sort(key=lambda row: (-row.use.near, row.updated))
    pending = sum(item.waits for item in survey.items)
    return MemoryFigures(len(active), pending, helping, unused, [row for row in rows.values() if row.stale])


def _row_of_other_project(place: tuple[str, str], use: MemoryUse) -> MemoryRow:
    """Return a row titled by the memory's id: the stores of other projects are not read."""
    project, key = (plain(part, _MAX_NAME) for part in place)
    return MemoryRow(key, key.rpartition("/")[2].replace("-", " "), project, "", use)


def _staleness(item: Item, use: MemoryUse, paths: Paths) -> tuple[str, str]:
    """Return why a memory may be out of date, and the command that fixes it; two empty strings if it is current."""
    memory, state = item.stored.memory, life_cycle_state(item)
    archive, edit = "memory forget %s --keep", "memory edit %s"
    if state == SUPERSEDED:
        return "superseded by %s" % shown_line(item.superseded_by.rpartition("/")[2]), archive
    if state == EXPIRED:
        return "expired on %s" % shown_line(memory.expires_at)[:10], archive
    if state != ACTIVE:
        return "", ""
    if use.wrong > use.useful:
        return "you called it wrong %s" % times(use.wrong), edit
    missing = [] if item.stored.store.worktree is None else _missing_files(memory.files, paths.project_root)
    if not missing:
        return "", ""
    others = " and %d more no longer exist" % (len(missing) - 1)
    return shown_line(missing[0]) + (others if len(missing) > 1 else " no longer exists"), edit


def _missing_files(files: tuple[str, ...], root: str) -> list[str]:
    """Return the related files that are missing from the project; patterns and paths outside it are skipped."""
    return [
        name
        for name in files[:_MAX_FILES]
        if not (set("*?[\0") & set(name) or os.path.isabs(name) or ".." in name.split("/"))
        and not os.path.lexists(os.path.join(root, name))
    ]


def memories_section(memories: MemoryFigures, prompts: int, scope: str) -> Section:
    """Return the memories that help, those that were never recalled, and those that may be out of date."""
    recalled = len(memories.helping)
    different = "1 memory" if recalled == 1 else "%s different memories" % count(recalled)
    about = "%s active in this project; %s recalled in this period, counting %s. The rules of a session's start do not count."
    pending = Note("%s awaiting your approval:" % count(memories.pending), "memory review")
    parts: list[Part] = [
        *([pending] if memories.pending else []),
        _helping(memories.helping, bool(prompts)),
        _unused(memories),
        Table(
            "May be out of date",
            [("Memory", "name"), ("Why", "text"), ("What to do", "text")],
            [[_title(row), row.stale, Command(row.fix)] for row in memories.stale],
            empty="None: no related files are missing, and nothing has expired or been superseded.",
        ),
    ]
    return Section("memories", "Memories", about % (count(memories.stored), different, scope), parts)


def memories_json(memories: MemoryFigures) -> dict[str, Any]:
    """Return the tables as JSON data."""
    tables = {"helping": memories.helping, "unused": memories.unused, "stale": memories.stale}
    return {
        "stored": memories.stored,
        "pending": memories.pending,
        "recalled": len(memories.helping),
        "never_used": len(memories.unused),
        "stale_number": len(memories.stale),
        **{name: [row.as_json() for row in rows[:_MAX_ROWS]] for name, rows in tables.items()},
    }


def _title(row: MemoryRow) -> Name:
    return Name(row.title, " \u00b7 ".join(filter(None, (row.name, row.project))))


def _helping(rows: list[MemoryRow], has_prompts: bool) -> Table:
    largest = max((row.use.told + row.use.pointed for row in rows), default=1)
    has_ratings = any(row.use.useful or row.use.wrong for row in rows)
    cells: list[list[Cell]] = []
    for row in rows:
        use = row.use
        text = "told %s, pointed to %s" % (times(use.told), times(use.pointed))
        ratings = "useful %d, wrong %d" % (use.useful, use.wrong) if use.useful or use.wrong else "\u2013"
        bar = Bar([("told", use.told), ("pointed", use.pointed)], largest, text)
        numbers = [*map(count, (use.told, use.pointed, use.used)), day_label(use.last)]
        cells.append([_title(row), bar, *numbers, *([ratings] if has_ratings else [])])
    heads = ["Told", "Pointed to", "Used", "Last recalled", *(["You said"] if has_ratings else [])]
    columns = [("Memory", "name"), ("", "bar"), *((head, "n") for head in heads)]
    empty = "No memory was recalled in this period." + (" To see why: memory why" if has_prompts else "")
    return Table("Most used", columns, cells, empty=empty)


def _unused(memories: MemoryFigures) -> Table:
    rows = memories.unused
    about = (
        "Close calls are prompts on which a memory was the best match but not a good enough one. To have it recalled on such"
        " prompts, add a phrase in your own words."
    )
    fix = "memory edit %s --asked-as '...'"
    cells: list[list[Cell]] = [
        [
            _title(row),
            day_label(row.updated),
            count(row.use.near) if row.use.near else "\u2013",
            Command(fix % row.name if row.use.near else ""),
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


def missed_rows(missed: Sequence[dict[str, Any]], paths: Paths) -> list[dict[str, Any]]:
    """Return one row per text of prompts without a good enough memory, those with a text first, then by frequency and time.

    The text is empty if the transcript is gone.
    """
    texts = prompt_texts(missed, paths)
    rows: dict[str, dict[str, Any]] = {}
    for row in reversed(missed):
        names = {
            name: plain(row.get(name, ""), _MAX_NAME) for name in ("time", "prompt_id", "project", "reason")
        }
        text = texts.get(row.get("prompt_id", ""), "")
        best: dict[str, Any] = next(iter(row.get("candidates", ())), {})
        nearest, confidence = plain(best.get("key", ""), _MAX_NAME), best.get("confidence") or 0.0
        found = {**names, "text": text, "nearest": nearest, "confidence": confidence, "times": 0}
        rows.setdefault(text.casefold() or names["prompt_id"], found)["times"] += 1
    ordered = sorted(
        rows.values(), key=lambda row: (bool(row["text"]), row["times"], row["time"]), reverse=True
    )
    return ordered[:_MAX_ROWS]


def missed_section(missed: list[dict[str, Any]], number: int, prompts: int) -> Section:
    """Return the prompts without a good enough memory; a repeated question may be worth one.

    `missed` are the latest, one row for each text, of `number`; `prompts` is the number of all prompts.
    """
    about = (
        "Prompts for which no memory was a good enough match. Most need none, but a question that keeps coming up is worth"
        " saving. The texts come from your own transcripts; the ledgers do not hold them."
    )
    parts: list[Part] = [Note("There were none in this period.", kind="empty")]
    if missed:
        share = "%s, %s of all. To save an answer:" % (times(number, "prompt"), percent(number, prompts))
        lost = "Prompts without a text because their transcripts are gone: %s."
        gone = sum(not row["text"] for row in missed)
        columns = [("Prompt", "name"), ("Last asked", "n"), ("Confidence", "n"), ("Nearest memory", "text")]
        parts = [
            Note(share, 'memory save "..."'),
            Table("", columns, [_missed_cells(row) for row in missed if row["text"]]),
            *([Note(lost % count(gone), kind="soft")] if gone else []),
        ]
    return Section("missed", "Prompts that found nothing", about, parts)


def _missed_cells(row: dict[str, Any]) -> list[Cell]:
    confidence = percent(min(1.0, row["confidence"]), 1) if row["nearest"] else "\u2013"
    name = Name(row["text"], times(row["times"]) if row["times"] > 1 else "")
    return [name, day_label(row["time"]), confidence, row["nearest"].rpartition("/")[2]]
