"""Candidates as entries of a review: the evidence, its place, and what to do; and all entries in groups that can be decided together."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Union

from ..capture.candidate import CONTRADICTED, COVERED, HINTS, Candidate, Coverage, compare, is_candidate_id
from ..capture.candidate_file import CandidateFile
from ..capture.pipeline import SectionWatch, keep, note_candidates, repeated_correction, repeating_guards
from ..kernel.clock import now
from ..kernel.context import Context
from ..kernel.fastjson import digest, dumps
from ..kernel.files import read_regular
from ..kernel.records import Records
from ..memories import InvalidMemory
from ..memories.claude_notes import native_folders, note_files, notes_in
from ..memories.hygiene import shown_line
from ..memories.lifecycle import save
from ..memories.markdown import sections
from ..memories.memory_files import StoredMemory
from ..memories.record import ACTIVE, Memory, body_content, categories, new_memory, parse_memory
from ..memories.stores import PROJECT, named_store
from ..memories.survey import life_cycle_state, shortest_names, survey
from ..recall.feedback import injected_in_session
from ..recall.gate import load_gate
from ..recall.memory_search import neighbors
from .command_context import CommandContext, CommandError, UsageError
from .memory_input import edited_draft
from .memory_view import redaction_lines
from .review_entries import ACCEPT, EDIT, REJECT, Action, PendingEntries, ReviewEntry, ReviewOutcome

KIND = "candidate"
NEVER = Action("x", "never again")
_TITLES = {
    "repeated": "said in several sessions",
    "correction": "corrections",
    "rule": "rules",
    "decision": "decisions",
    "fact": "facts",
    "solved_error": "errors that were solved",
    "guard": "guards that keep answering",
    "mistake": "told to Claude, and corrected anyway",
    "note": "notes of Claude Code",
    "section": "sections of CLAUDE.md",
}

_NEAREST = 12
_MAX_FILE = 1 << 20
_GUIDES = ("CLAUDE.md", os.path.join(".claude", "CLAUDE.md"))


def find_candidate(context: CommandContext, identity: str) -> Candidate:
    """Return an open candidate. Raises InvalidMemory if there is none with that id."""
    for candidate in CandidateFile(context.paths).load().open:
        if candidate.id == identity:
            return candidate
    raise InvalidMemory("%s: no open candidate has this id; to see them: memory capture list" % identity)


def decide_candidates(
    context: CommandContext, ids: Sequence[str], action: Action
) -> tuple[list[ReviewEntry], list[str]] | None:
    """Accept or reject the candidates with these ids; return their entries, and lines to print. None if the ids name memories.

    Raises UsageError for ids of both, and InvalidMemory if a candidate is not open or is a hint that cannot be stored. Nothing is
    decided then.
    """
    candidate_ids = [identity for identity in ids if is_candidate_id(identity)]
    if not candidate_ids:
        return None
    if len(candidate_ids) < len(ids):
        raise UsageError("name candidates or memories, not both")
    for identity in ids:
        find_candidate(context, identity)
    candidate_entries = CandidateEntries(context)
    entries = [entry for entry in candidate_entries.entries() if entry.id in ids]
    gone = set(ids) - {entry.id for entry in entries}
    if gone:
        raise InvalidMemory("%s: a stored memory says that already" % min(gone))
    for entry in entries:
        if action not in entry.actions:
            text = "%s: there is nothing to store; to see what to do: memory review, to reject it: memory reject %s"
            raise InvalidMemory(text % (entry.id, entry.id))
    return entries, candidate_entries.apply(action, entries).lines


class CandidateEntries:
    """The open candidates of the project, after one comparison with the stored memories."""

    def __init__(self, context: CommandContext) -> None:
        self._context = context
        self._file = CandidateFile(context.paths) if context.paths.state_dir is not None else None
        self._open: dict[str, Candidate] = {}
        if self._file is not None:
            candidates = self._file.load()
            candidates.settle(check_for(context)(candidates.open).by_candidate)
            self._open = {candidate.id: candidate for candidate in candidates.open}

    def entries(self) -> list[ReviewEntry]:
        """Return the candidates, strongest first."""
        return [self._entry(candidate) for candidate in self._open.values()]

    def _entry(self, candidate: Candidate) -> ReviewEntry:
        note = "contradicts %s" % shown_line(candidate.contradicts) if candidate.contradicts else ""
        shown = [candidate.kind, candidate.title, candidate.body, candidate.contradicts]
        return ReviewEntry(
            id=candidate.id,
            kind=KIND,
            version=digest(dumps(shown).encode("ascii"), 16),
            title=shown_line(candidate.title),
            first_line=shown_line(candidate.body, 100),
            note=note,
            origin="%s of your sessions" % _TITLES[candidate.kind],
            actions=(REJECT, NEVER) if candidate.kind in HINTS else (ACCEPT, REJECT, EDIT, NEVER),
            alone=bool(candidate.contradicts) or candidate.kind in HINTS,
        )

    def lines(self, entry: ReviewEntry) -> list[str]:
        """Return what was said or seen and where, and what would be stored."""
        candidate = self._open[entry.id]
        turn = ", turn %d" % candidate.origin.turn if candidate.origin.turn else ""
        seen = ", in %d sessions" % len(candidate.sessions) if len(candidate.sessions) > 1 else ""
        lines = [
            "%s, %s%s%s" % (candidate.category, candidate.origin.time[:10], turn, seen),
            'quote: "%s"' % candidate.quote,
        ]
        if candidate.body != candidate.quote:
            lines += ["", *candidate.body.split("\n")]
        if candidate.contradicts:
            lines.append("It contradicts %s: memory show %s" % (candidate.contradicts, candidate.contradicts))
        return [shown_line(line) for line in lines]

    def facts(self, entry: ReviewEntry) -> dict[str, object]:
        """Return the candidate as JSON data."""
        candidate = self._open[entry.id]
        return {"candidate": candidate.to_json(), "source": candidate.source}

    def apply(self, action: Action, entries: Sequence[ReviewEntry]) -> ReviewOutcome:
        """Store candidates as shown or edited, reject them, or silence their kinds."""
        chosen = [self._open[entry.id] for entry in entries]
        assert self._file is not None
        if action == EDIT:
            return self._edit(chosen[0])
        lines: list[str] = []
        if action == ACCEPT:
            for candidate in chosen:
                lines += self._store(memory_data(candidate))
        elif action == NEVER:
            kinds = {candidate.kind for candidate in chosen}
            self._file.change(lambda candidates: sum(candidates.silence(kind) for kind in kinds))
            return ReviewOutcome(
                True, ["no %s will be proposed in this project" % _TITLES[kind] for kind in kinds]
            )
        self._close(chosen)
        return ReviewOutcome(True, lines)

    def _edit(self, candidate: Candidate) -> ReviewOutcome:
        """Open the memory that would be stored in the user's editor, and store the result."""
        category = categories()[candidate.category]
        data = dict(memory_data(candidate), id=candidate.id)
        store = named_store(self._context.paths, PROJECT)
        memory = parse_memory(data, candidate.id, category)
        draft = edited_draft(self._context, StoredMemory(memory, store, "", "", ""))
        if draft is None:
            return ReviewOutcome(False, ["nothing changed; it is still open"])
        with draft.storing() as edited:
            lines = self._store({name: value for name, value in edited.items() if name != "id"})
        self._close([candidate])
        return ReviewOutcome(True, lines)

    def _store(self, data: dict[str, Any]) -> list[str]:
        paths = self._context.paths
        written = save(paths, named_store(paths, PROJECT), data, approved=True, how="capture")
        name = os.path.splitext(os.path.basename(written.stored.path))[0]
        return ["stored as %s" % name, *redaction_lines(written)]

    def _close(self, chosen: Sequence[Candidate]) -> None:
        assert self._file is not None
        self._file.change(lambda candidates: candidates.close([candidate.id for candidate in chosen]))
        for candidate in chosen:
            self._open.pop(candidate.id, None)


Source = Union[PendingEntries, CandidateEntries]


class Group(NamedTuple):
    """Entries with something in common. Its id changes with any text in it."""

    id: str
    kind: str
    title: str
    entries: list[ReviewEntry]

    @property
    def together(self) -> list[ReviewEntry]:
        """Return the entries that can be decided with one answer."""
        return [entry for entry in self.entries if not entry.alone]


def review_sources(context: CommandContext) -> dict[str, Source]:
    """Return the sources by the kind of their entries."""
    return {"memory": PendingEntries(context), "candidate": CandidateEntries(context)}


def grouped(sources: dict[str, Source]) -> list[Group]:
    """Return all entries in groups, the largest first; groups whose entries are decided one by one come last."""
    members: dict[tuple[bool, str, str], list[ReviewEntry]] = {}
    for kind, source in sources.items():
        for entry in source.entries():
            members.setdefault((entry.alone, kind, entry.origin), []).append(entry)
    groups = [
        Group(_group_id(entries), kind, title, sorted(entries, key=lambda entry: entry.id))
        for (_, kind, title), entries in members.items()
    ]
    return sorted(
        groups, key=lambda group: (not group.together, group.kind, -len(group.entries), group.title)
    )


def _group_id(entries: list[ReviewEntry]) -> str:
    """Return an id that only these texts have."""
    return "g" + digest("\n".join(sorted(entry.version for entry in entries)).encode("ascii"))


def find_group(context: CommandContext, identity: str) -> tuple[Source, Group]:
    """Return the group with an id, and its source.

    Raises CommandError if there is none, because an entry in it has changed or was decided.
    """
    sources = review_sources(context)
    for group in grouped(sources):
        if group.id == identity:
            return sources[group.kind], group
    raise CommandError(
        "%s: no group has this id, or something in it has changed; to see what is pending: memory review"
        % identity
    )


def memory_data(candidate: Candidate) -> dict[str, Any]:
    """Return the data of the memory that a candidate becomes if it is accepted unchanged."""
    category = categories()[candidate.category]
    content = candidate.content or body_content(category, candidate.body)
    return new_memory(category, "", candidate.title, content, {"source": candidate.source})


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
        if contradicted:
            coverage.by_candidate[candidate.id] = contradicted[0]
        else:
            coverage.by_candidate[candidate.id] = None if covering else ""
        repeated = [repeated_correction(candidate, names[key]) for key in covering if key in injected]
        coverage.hints.extend(hint for hint in repeated if hint is not None)
    return coverage


def _active(context: Context) -> tuple[dict[str, str], dict[str, Memory]]:
    """Return the names of all memories and the active memories, by key."""
    items = survey(context.paths, context.settings.texts("trust.accept_from")).items
    active = {item.stored.key: item.stored.memory for item in items if life_cycle_state(item) == ACTIVE}
    return shortest_names(items), active


def keep_other_candidates(context: Context, days: float, watch: SectionWatch | None = None) -> None:
    """Keep the candidates that come from no transcript: sections that a watch saw change, notes of the last days, and guards."""
    sections_seen = [] if watch is None else watch.candidates()
    keep([*sections_seen, *_recent_notes(context, days), *_guard_hints(context)], check_for(context), context)


def _guard_hints(context: Context) -> list[Candidate]:
    """Return hints about guards that keep answering, according to the recalls ledger."""
    rows = Records(context.paths.state(), "recalls", project=context.paths.project_key)
    return repeating_guards(rows, _active(context)[0])


def _recent_notes(context: Context, days: float) -> list[Candidate]:
    """Return candidates for the notes of Claude Code's own memory whose files changed in the last days."""
    if not context.settings.flag("native.enabled"):
        return []
    oldest = now() - days * 86400
    files = [file for folder in native_folders(context.paths) for file in note_files(folder)]
    return note_candidates(
        note for path, status in files if status.st_mtime >= oldest for note in notes_in(path)
    )


def section_watch(context: Context) -> SectionWatch:
    """Return a watch over the sections of the project's CLAUDE.md; it has no sections if there is no such file."""
    for name in _GUIDES:
        try:
            text = read_regular(os.path.join(context.paths.project_root, name), _MAX_FILE)[0]
        except OSError:
            continue
        return SectionWatch(sections(text.decode("utf-8", "replace")))
    return SectionWatch([])
