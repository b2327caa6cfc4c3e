"""A memory, its guard and Claude Code's own notes as data and as lines, and what is similar to it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import NamedTuple

from ..kernel.text.clean import counted
from ..memories import InvalidMemory, survey
from ..memories.guard import guard_in_words, guard_json
from ..memories.guarded_commands import guard_words, other_spellings
from ..memories.hygiene import shown_items, shown_line
from ..memories.memory_files import StoredMemory, named_store
from ..memories.nearby import NativeNote, note_folders, notes
from ..memories.record import ACTIVE, RETIRED, Memory, body_text, guard_problem
from ..memories.relations import Similarity, name_for
from ..memories.repository import gone_files
from ..memories.survey import PHRASES, SUPERSEDED, Item
from ..memories.trust import REJECTED, TRUSTED, Trust
from ..memories.writing import Written
from ..recall.index_documents import guarded_version
from ..recall.memory_search import neighbors
from . import WorkContext, WorkError

_MAX_ITEMS = 1000
_MAX_NAME = 200
_MAX_GUARD = 2000
_PERSONAL = re.compile(r"(?i)(?:i|i'd|my|me)\b")


def is_personal(category: str, title: str) -> bool:
    """Return whether a memory seems to be one person's preference, which does not belong in the team's store."""
    return category == "preference" and _PERSONAL.match(title) is not None


def place_lines(scope: str, context: WorkContext) -> list[str]:
    """Return a line where the project's store is the user's own, as in the home folder; no lines anywhere else."""
    is_other = named_store(context.paths, scope).scope != scope
    return ["  This folder has no store of its own: it is kept for all your projects."] if is_other else []


def current(items: list[Item], key: str) -> tuple[Item, str]:
    """Return a memory and its shortest unambiguous name."""
    return survey.choose(items, key), survey.shortest_names(items)[key]


def as_json(item: Item) -> dict[str, object]:
    """Return the fields of a memory as JSON data, without secrets and hidden characters."""
    memory = item.stored.memory
    return {
        "id": memory.id,
        "title": shown_line(memory.title),
        "category": memory.category,
        "scope": item.stored.store.scope,
        "status": memory.status,
        "life": survey.life_cycle_state(item),
        "trust": item.trust,
        "waits_because": item.reason,
        "tags": shown_items(memory.tags, _MAX_ITEMS),
        "files": shown_items(memory.files, _MAX_ITEMS),
        "path": item.stored.path,
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
        "expires_at": memory.expires_at,
        "superseded_by": shown_line(name_for(item.superseded_by or memory.superseded_by, item.stored.key)),
        "supersedes": [shown_line(name) for name in memory.supersedes],
    }


def titles_and_names(items: list[Item]) -> dict[str, str]:
    """Return a memory's title and the name that commands take, by key."""
    names = survey.shortest_names(items)
    return {
        item.stored.key: "%s (%s)" % (shown_line(item.stored.memory.title), names[item.stored.key])
        for item in items
    }


def redaction_lines(written: Written) -> list[str]:
    """Return a line for each rule and field of what was redacted before a memory was stored."""
    return ["redacted in %s: %s" % (field, rule) for rule, field in dict.fromkeys(written.redacted)]


FORGOTTEN = "forgotten"
# As the commands that do it are called.
_IN_WORDS = {RETIRED: FORGOTTEN, SUPERSEDED: "replaced"}


def status_text(item: Item) -> str:
    """Return a memory's status in one or two words, such as `active` or `archived, pending`."""
    state = survey.life_cycle_state(item)
    words = [] if state == ACTIVE else [_IN_WORDS.get(state, state)]
    # Forgetting takes trust away, and `restore` gives it back, so a forgotten memory awaits no approval.
    if item.trust == REJECTED or (item.trust != TRUSTED and state != RETIRED):
        words.append(item.trust)
    return ", ".join(words) or ACTIVE


def approval_lines(item: Item, name: str) -> list[str]:
    """Return a line that says how to accept a pending or rejected memory; no lines for any other."""
    if item.trust == REJECTED:
        return ["  You rejected it, so Claude does not see it.", "next: memory accept " + name]
    if item.reason == PHRASES:
        return ["  Its new search phrases are pending.", "next: memory review"]
    return ["  Claude does not see it yet.", "next: memory accept " + name] if item.is_pending else []


def guard_as_json(memory: Memory) -> dict[str, object] | None:
    """Return the guard as JSON data without secrets and hidden characters; None if there is no guard."""
    if memory.guard is None:
        return None
    return {
        name: [shown_line(item) for item in value] if isinstance(value, list) else value
        for name, value in guard_json(memory.guard).items()
    }


def guard_lines(memory: Memory) -> list[str]:
    """Return a line that describes the guard, or why it is invalid; no lines without a guard."""
    if memory.guard is not None:
        commands = memory.guard.commands
        covered = [set(guard_words(command)) for command in commands]
        others = [other for command in commands for other in other_spellings(command)]
        missing = [other for other in others if set(other.split()) not in covered]
        lines = ["guard: " + shown_line(guard_in_words(memory.guard), _MAX_GUARD)]
        if missing:
            options = "".join(" --guard-command " + shlex.quote(each) for each in (*commands, *missing))
            what = ", ".join("`%s`" % other for other in missing), memory.id, options
            lines.append(shown_line("not guarded, but the same: %s. To guard both: memory edit %s%s" % what))
        return lines
    problem = guard_problem(memory)
    return ["its guard is invalid: " + shown_line(problem, _MAX_GUARD)] if problem else []


def gone_lines(stored: StoredMemory) -> list[str]:
    """Return lines about the files that a memory names and that are not there; one that moved, with the command that follows it."""
    found = gone_files([stored])
    return [line for gone in found for line in (gone.lines if gone.places[gone.name] else [gone.change])]


def holds_guard(stored: StoredMemory) -> bool:
    """Return whether a memory's file has a `guard` field, valid or not."""
    return stored.memory.data.get("guard") is not None


def is_guarded(stored: StoredMemory, context: WorkContext) -> bool:
    """Return whether a guard of this memory is in force, in its current version or its last trusted one."""
    if context.paths.state_dir is None:
        return False
    return guarded_version(stored, Trust(context.paths, context.accept_from)) is not None


def phrase_lines(context: WorkContext) -> list[str]:
    """Return a line about the memories without search phrases; no lines if all have some."""
    number = len(survey.without_phrases(context.survey().items))
    text = "%s without search phrases; to add some: /memory:phrases in Claude Code"
    return [text % counted(number, "memory")] if number else []


class NamedNote(NamedTuple):
    """A note and the name by which commands refer to it: its file name and the number of the passage."""

    name: str
    note: NativeNote

    def as_json(self) -> dict[str, str]:
        """Return the note as JSON data, without its text."""
        return {"name": self.name, "title": shown_line(self.note.title), "path": self.note.path}


def named_notes(context: WorkContext) -> list[NamedNote]:
    """Return the notes of this project; none if the user's settings disable them."""
    named: list[NamedNote] = []
    taken: set[str] = set()
    for folder in note_folders(context.paths, context.settings):
        for note in notes(folder):
            number = int(note.key.rpartition("#")[2]) + 1
            name = shown_line("%s#%d" % (os.path.basename(note.path), number), _MAX_NAME)
            named.append(NamedNote(note.key if name in taken else name, note))
            taken.add(name)
    return named


def find_note(name: str, context: WorkContext) -> NamedNote:
    """Return the note with a name, a title, or the start of one; a file name is enough if the file has one note. Raises WorkError."""
    notes, wanted = named_notes(context), name.casefold()
    spelled = [(note, (note.name.partition("#")[0].casefold(), note.note.title.casefold())) for note in notes]
    matches = [note for note in notes if name in (note.name, note.note.key)]
    matches = matches or [note for note, texts in spelled if wanted in texts]
    matches = matches or [note for note, texts in spelled if any(text.startswith(wanted) for text in texts)]
    if len(matches) == 1:
        return matches[0]
    why = "it has %d notes" % len(matches) if matches else "no note has this name"
    raise WorkError("%s: %s; to list them: memory list --notes" % (name, why))


IN_FORCE, LAST_TRUSTED, INVALID, OFF = "in force", "last trusted version in force", "invalid", "off"


class _GuardRow(NamedTuple):
    """A memory with a guard: its state, the version in force or pending, and why the guard is invalid (usually empty)."""

    item: Item
    state: str
    version: Memory
    problem: str


def guard_rows(items: list[Item], context: WorkContext) -> list[_GuardRow]:
    """Return the memories that have a guard, with its state, sorted by key."""
    if context.paths.state_dir is None:
        return []
    trust = Trust(context.paths, context.accept_from)
    enabled = context.settings.flag("guards.enabled")
    rows = [row for item in items if (row := _row(item, trust, enabled=enabled)) is not None]
    return sorted(rows, key=lambda row: row.item.stored.key)


def _row(item: Item, trust: Trust, *, enabled: bool) -> _GuardRow | None:
    memory = item.stored.memory
    version = guarded_version(item.stored, trust)
    is_active = survey.life_cycle_state(item) == ACTIVE
    if version is not None and (item.trust != TRUSTED or is_active):
        state = IN_FORCE if version is memory else LAST_TRUSTED
        return _GuardRow(item, state if enabled else OFF, version, "")
    if not holds_guard(item.stored) or not is_active:
        return None
    problem = guard_problem(memory)
    return _GuardRow(item, INVALID if problem else item.trust, memory, problem)


def match_rows(command: str | None, file: str | None, context: WorkContext) -> list[dict[str, str]]:
    """Return the guards in force that cover a command or a file, from the same file that the hook reads."""
    from ..memories.guard_file import GuardFile  # a save needs neither
    from ..recall.guarding import GuardedCall

    root, guards = context.paths.project_root, GuardFile(context.paths)
    tool, named = ("Bash", {"command": command}) if file is None else ("Edit", {"file_path": file})
    call = GuardedCall({"tool_name": tool, "tool_input": named, "cwd": root}, guards, root)
    return [
        {"key": guard.key, "title": call.text(guard, "title"), "matched": pattern, "action": guard.action}
        for guard, pattern in call.matches
    ]


_CANDIDATES = 20
_COMPARED_WITH = 100  # memories whose words say which ones are rare; reading more of them changes little
_MAX_SIMILAR = 3
_MAX_NEW = 200


class Similar(NamedTuple):
    """A stored memory that is similar to a new one: why, and the command that replaces it with the new one."""

    id: str
    title: str
    why: str
    command: str


def similar_lines(similar_memories: Iterable[Similar]) -> list[str]:
    """Return the lines that list similar memories, with the commands that resolve them."""
    lines = []
    for similar in similar_memories:
        lines.append("  %s: %s  %s" % (similar.why, similar.id, similar.title))
        lines.append("    to replace it: " + similar.command)
    return lines


def similar_to(context: WorkContext, items: list[Item], new: list[tuple[str, Memory]]) -> list[list[Similar]]:
    """Return up to three similar active memories for each new one; of two similar new ones, only the later lists the other.

    Args:
        context: gives access to the index, which already contains the new memories.
        items: all memories.
        new: memories with their keys; only the first 200 are compared.
    """
    texts = ["\n".join((memory.title, *memory.asked_as, body_text(memory))) for _, memory in new[:_MAX_NEW]]
    near = neighbors(context.paths, context.settings, texts, _CANDIDATES) if texts else None
    results: list[list[Similar]] = [[] for _ in new]
    if near is None:
        return results
    positions = {key: at for at, (key, _) in enumerate(new)}
    others = [item.stored.key for item in items if survey.life_cycle_state(item) == ACTIVE][:_COMPARED_WITH]
    names = survey.shortest_names(items)
    active = dict(_active(items, {*chain.from_iterable(near.keys), *others}))
    similarity = Similarity(active.values(), near.stopwords)
    for at, ((key, memory), near_keys) in enumerate(zip(new, near.keys)):
        for near_key in near_keys:
            other = active.get(near_key)
            if other is None or positions.get(near_key, -1) >= at:
                continue
            if why := similarity.why(memory, other):
                old = names[near_key]
                command = "memory edit %s --superseded-by %s" % (old, names[key])
                results[at].append(Similar(old, shown_line(other.title), why, command))
    return [similar[:_MAX_SIMILAR] for similar in results]


def _active(items: list[Item], keys: set[str]) -> Iterator[tuple[str, Memory]]:
    """Yield those active memories with one of these keys whose files can be read."""
    for item in items:
        if item.stored.key in keys and survey.life_cycle_state(item) == ACTIVE:
            with suppress(InvalidMemory, OSError):
                yield item.stored.key, survey.read_item(item).stored.memory
