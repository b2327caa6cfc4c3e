"""Connect capture with the stored memories: which prompts it may read, how candidates compare with memories, and its other sources."""

from __future__ import annotations

import os
from collections.abc import Callable

from ..capture.candidate import CONTRADICTED, COVERED, HINTS, Candidate, CandidateFile, Coverage, compare
from ..capture.pipeline import SectionWatch, keep, note_candidates, repeated_correction, repeating_guards
from ..kernel.context import Context, now
from ..kernel.files import read_regular
from ..kernel.records import Records
from ..memories import InvalidMemory
from ..memories.markdown import sections
from ..memories.nearby import note_files, note_folders, notes_in
from ..memories.record import ACTIVE, Memory
from ..memories.survey import life_cycle_state, shortest_names, survey
from ..recall.gate import load_gate
from ..recall.memory_search import neighbors
from ..recall.recall_rows import RECALLS, injected_in_session

NO_CANDIDATE = "%s: no suggestion has this id; to see them: memory review"
_NEAREST = 12
_MAX_FILE = 1 << 20
_GUIDES = ("CLAUDE.md", os.path.join(".claude", "CLAUDE.md"))


def find_candidate(context: Context, identity: str) -> Candidate:
    """Return an open candidate. Raises InvalidMemory if there is none with that id."""
    for candidate in CandidateFile(context.paths).load().open:
        if candidate.id == identity:
            return candidate
    raise InvalidMemory(NO_CANDIDATE % identity)


def may_use(prompt: str) -> bool:
    """Return whether capture may read a prompt: a person typed it, and no part of it opts out of memory."""
    return load_gate().is_from_user(prompt) and not load_gate().opts_out(prompt)


def check_for(context: Context) -> Callable[[list[Candidate]], Coverage]:
    """Return a function that compares candidates with the stored memories; its result is empty if the index cannot be read."""
    return lambda candidates: _check(candidates, context)


def _check(candidates: list[Candidate], context: Context) -> Coverage:
    texts = ["%s\n%s" % (candidate.title, candidate.quote) for candidate in candidates]
    near = neighbors(context.paths, context.settings, texts, _NEAREST) if texts else None
    coverage = Coverage({}, [])
    if near is None:
        return coverage
    names, active = _active(context)
    injected = set(injected_in_session(context)) if context.session else set()
    for candidate, keys in zip(candidates, near.keys):
        if candidate.kind in HINTS:
            continue
        results = {key: compare(candidate, active[key]) for key in keys if key in active}
        contradicted = [names[key] for key, result in results.items() if result == CONTRADICTED]
        covering = [key for key, result in results.items() if result == COVERED]
        coverage.by_candidate[candidate.id] = next(iter(contradicted), None if covering else "")
        repeated = [repeated_correction(candidate, names[key]) for key in covering if key in injected]
        coverage.hints.extend(hint for hint in repeated if hint is not None)
    return coverage


def _active(context: Context) -> tuple[dict[str, str], dict[str, Memory]]:
    """Return the names of all memories and the active memories, by key."""
    items = survey(context.paths, context.settings.texts("trust.accept_from")).items
    active = {item.stored.key: item.stored.memory for item in items if life_cycle_state(item) == ACTIVE}
    return shortest_names(items), active


def keep_with_others(found: list[Candidate], watch: SectionWatch, days: float, context: Context) -> None:
    """Keep candidates, and those that come from no transcript: sections that a watch saw change, notes of the last days, and guards."""
    rows = Records(context.paths.state(), RECALLS, project=context.paths.project_key)
    guards = repeating_guards(rows, _active(context)[0])
    keep([*found, *watch.candidates(), *_recent_notes(context, days), *guards], check_for(context), context)


def _recent_notes(context: Context, days: float) -> list[Candidate]:
    """Return candidates for the notes of Claude Code's own memory whose files changed in the last days."""
    oldest = now() - days * 86400
    files = [file for folder in note_folders(context.paths, context.settings) for file in note_files(folder)]
    return note_candidates(note for path, stat in files if stat.st_mtime >= oldest for note in notes_in(path))


def section_watch(context: Context) -> SectionWatch:
    """Return a watch over the sections of the project's CLAUDE.md; it has no sections if there is no such file."""
    for name in _GUIDES:
        try:
            text = read_regular(os.path.join(context.paths.project_root, name), _MAX_FILE)[0]
        except OSError:
            continue
        return SectionWatch(sections(text.decode("utf-8", "replace")))
    return SectionWatch([])
