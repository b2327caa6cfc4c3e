"""What awaits the user's decision: pending memories and candidates as entries of a review, in groups that can be decided together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

from ..capture.candidate import HINTS, Candidate, CandidateFile
from ..kernel.fastjson import digest, dumps
from ..kernel.paths import load_data
from ..kernel.text.clean import plain
from ..memories import InvalidMemory
from ..memories.hygiene import shown_line
from ..memories.lifecycle import rewrite, save
from ..memories.memory_files import PROJECT, StoredMemory, all_memories, named_store, stores
from ..memories.memory_text import TEXT, FieldChange, changes, lines_of, shown_fields, text_digests
from ..memories.record import ACTIVE, body_content, categories, new_memory, parse_memory
from ..memories.repository import ClaimedCommit, claimed_commits
from ..memories.survey import CHANGED, NEW, PHRASES, Item, shortest_names
from ..memories.trust import PENDING, Trust
from . import WorkContext, WorkError
from .candidate_check import check_for
from .memory_facts import as_json, holds_guard, is_personal, place_lines, redaction_lines
from .save import edit_draft

MEMORY, CANDIDATE = "memory", "candidate"
_STAYS_REPLACED = "{0}, which it replaces, is not shown either; to bring it back: memory restore {0}"
_PERSONAL = "personal? to keep it out of the team's store once accepted: memory edit ID --scope user"
_MAX_FIRST_LINE = 100


class Action(NamedTuple):
    """An action on an entry: the key that the user presses, and its name in JSON output."""

    key: str
    name: str


ACCEPT, REJECT, EDIT = Action("y", "accept"), Action("n", "reject"), Action("e", "edit")


class ReviewEntry(NamedTuple):
    """A memory or candidate that awaits a decision.

    Commands take its `id`. `first_line` is the beginning of its text, and `version` a digest of exactly what is shown, so that no decision
    applies to a later text. `note` is shown next to the title in lists. `origin` is the title of the entry's group. An entry that is
    `alone` is never decided together with others. `lines` are its origin, and its text or what changed; `facts` the same as JSON data.
    """

    id: str
    kind: str
    version: str
    title: str
    first_line: str
    note: str
    origin: str
    actions: tuple[Action, ...]
    alone: bool
    lines: list[str]
    facts: dict[str, object]
    subject: StoredMemory | Candidate


def review_entries(context: WorkContext) -> list[ReviewEntry]:
    """Return everything that awaits a decision."""
    return [*_pending_entries(context), *candidate_entries(context)]


def _pending_entries(context: WorkContext) -> list[ReviewEntry]:
    items = context.survey().items
    names = shortest_names(items)
    pending = [item for item in items if item.is_pending]
    if not pending:
        return []
    trust = Trust(context.paths)
    commits: dict[str, ClaimedCommit] = {}
    for store in {item.stored.store for item in pending}:
        files = [item.stored.path for item in pending if item.stored.store == store]
        commits.update(claimed_commits(store, files))
    return [_entry(names[one.stored.key], one, commits.get(one.stored.path), trust) for one in pending]


def _entry(name: str, item: Item, commit: ClaimedCommit | None, trust: Trust) -> ReviewEntry:
    stored, memory = item.stored, item.stored.memory
    fields = shown_fields(memory)
    changed = _changes(item, fields, trust)
    notes = ["changed: " + ", ".join(change.field for change in changed)] if changed else []
    notes += ["replaces " + ", ".join(map(shown_line, memory.supersedes))] if memory.supersedes else []
    origin = "changed" if item.reason in (CHANGED, PHRASES) else "new"
    if commit:
        origin += ", by %s as git says (unverified)" % commit.author
    else:
        origin += ", in your own store" if stored.store.worktree is None else ", in no commit"
    at = "; commit %s of %s" % (commit.commit, commit.date) if commit else ""
    why = "" if item.reason == NEW else ": " + item.reason
    lines = ["%s, %s%s%s" % (memory.category, origin, at, why), ""]
    return ReviewEntry(
        id=name,
        kind=MEMORY,
        version=text_digests(memory).full,
        title=shown_line(memory.title),
        first_line=plain(fields.get(TEXT, [""])[0], _MAX_FIRST_LINE),
        note="; ".join(notes),
        origin=origin,
        actions=(ACCEPT, REJECT, EDIT),
        alone=holds_guard(stored),
        lines=lines + lines_of(changed, fields),
        facts={
            "memory": {**as_json(item), "fields": fields},
            "changes": [change._asdict() for change in changed],
            "claimed_commit": commit._asdict() if commit else None,
        },
        subject=stored,
    )


def _changes(item: Item, fields: dict[str, list[str]], trust: Trust) -> list[FieldChange]:
    """Return what changed since the memory was last trusted; nothing for one that never was."""
    data = trust.last_trusted(item.stored) if item.reason in (CHANGED, PHRASES) else None
    memory = item.stored.memory
    try:
        old = None if data is None else parse_memory(data, memory.id, categories()[memory.category])
    except InvalidMemory:
        return []
    return changes(shown_fields(old), fields) if old else []


def candidate_entries(context: WorkContext) -> list[ReviewEntry]:
    """Return the open candidates that no stored memory covers, strongest first."""
    if context.paths.state_dir is None:
        return []
    candidates = CandidateFile(context.paths).load()
    candidates.settle(check_for(context)(candidates.open).by_candidate)
    return list(map(_candidate_entry, candidates.open))


def _candidate_entry(candidate: Candidate) -> ReviewEntry:
    turn = ", turn %d" % candidate.origin.turn if candidate.origin.turn else ""
    seen = ", in %d sessions" % len(candidate.sessions) if len(candidate.sessions) > 1 else ""
    head = "%s, %s%s%s" % (candidate.category, candidate.origin.time[:10], turn, seen)
    lines = [head, 'quote: "%s"' % candidate.quote]
    if candidate.body != candidate.quote:
        lines += ["", *candidate.body.split("\n")]
    if candidate.contradicts:
        lines.append("It contradicts %s: memory show %s" % (candidate.contradicts, candidate.contradicts))
    shown = [candidate.kind, candidate.title, candidate.body, candidate.contradicts]
    return ReviewEntry(
        id=candidate.id,
        kind=CANDIDATE,
        version=digest(dumps(shown).encode("ascii"), 16),
        title=shown_line(candidate.title),
        first_line=shown_line(candidate.body, _MAX_FIRST_LINE),
        note=_note(candidate),
        origin="from your sessions: %s" % load_data("capture", "kinds")["titles"][candidate.kind],
        actions=(REJECT,) if candidate.kind in HINTS else (ACCEPT, REJECT, EDIT),
        alone=bool(candidate.contradicts) or candidate.kind in HINTS,
        lines=[shown_line(line) for line in lines],
        facts={"candidate": candidate.to_json(), "source": candidate.source, "note": _note(candidate)},
        subject=candidate,
    )


def _note(candidate: Candidate) -> str:
    """Return what to know before a candidate is accepted; usually empty."""
    if candidate.contradicts:
        return "contradicts %s" % shown_line(candidate.contradicts)
    return _PERSONAL if is_personal(candidate.category, candidate.title) else ""


def apply(action: Action, entries: Sequence[ReviewEntry], context: WorkContext) -> list[str] | None:
    """Accept or reject entries of one kind, exactly as they were listed, or edit the first one.

    Return lines to print; None if an edit changed nothing, so that the entry is still undecided.
    """
    memories = [entry.subject for entry in entries if isinstance(entry.subject, StoredMemory)]
    candidates = [entry.subject for entry in entries if isinstance(entry.subject, Candidate)]
    lines: list[str] | None = []
    if action == EDIT:
        lines = _edit(entries[0].subject, context)
    elif action == ACCEPT and memories:
        Trust(context.paths).accept(memories, "accept")
    elif action == ACCEPT:
        lines = [line for candidate in candidates for line in _store(memory_data(candidate), context)]
    elif memories:
        Trust(context.paths).reject(*memories)
        lines = stays_replaced({stored.key for stored in memories}, context)
    if candidates and lines is not None:
        with CandidateFile(context.paths).change() as present:
            present.close([candidate.id for candidate in candidates])
    return lines


def stays_replaced(rejected: Collection[str], context: WorkContext) -> list[str]:
    """Return a line for each memory whose own file says that a rejected one replaces it, because rejecting does not bring it back."""
    items = context.survey().items
    names, replaced = shortest_names(items), (one for one in items if one.superseded_by in rejected)
    return [_STAYS_REPLACED.format(names[item.stored.key]) for item in replaced]


def _edit(subject: StoredMemory | Candidate, context: WorkContext) -> list[str] | None:
    """Open what would be stored in the user's editor, and store their edit, which is trusted; None if they changed nothing."""
    if isinstance(subject, StoredMemory):
        rewritten = partial(rewrite, context.paths, subject, summary="edited by hand", seen=True)
        return edit_draft(context, subject, lambda data: redaction_lines(rewritten(data)))
    data = dict(memory_data(subject), id=subject.id)
    memory = parse_memory(data, subject.id, categories()[subject.category])
    draft = StoredMemory(memory, named_store(context.paths, PROJECT), "", "", "")
    return edit_draft(context, draft, lambda edited: _store({**edited, "id": ""}, context))


def memory_data(candidate: Candidate) -> dict[str, object]:
    """Return the data of the memory that a candidate becomes if it is accepted unchanged."""
    category = categories()[candidate.category]
    content = candidate.content or body_content(category, candidate.body)
    return new_memory(category, "", candidate.title, content, {"source": candidate.source})


def _store(data: dict[str, object], context: WorkContext) -> list[str]:
    written = save(context.paths, named_store(context.paths, PROJECT), data, approved=True, how="capture")
    notes = [*redaction_lines(written), *place_lines(PROJECT, context)]
    return ["stored as %s" % written.stored.memory.id, *notes]


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


def grouped(entries: Iterable[ReviewEntry]) -> list[Group]:
    """Return all entries in groups, the largest first; groups whose entries are decided one by one come last."""
    members: dict[tuple[bool, str, str], list[ReviewEntry]] = {}
    for entry in entries:
        members.setdefault((entry.alone, entry.kind, entry.origin), []).append(entry)
    groups = [
        Group(_group_id(entries), kind, title, sorted(entries, key=lambda entry: entry.id))
        for (_, kind, title), entries in members.items()
    ]
    groups.sort(key=lambda group: (not group.together, group.kind, -len(group.entries), group.title))
    return groups


def _group_id(entries: list[ReviewEntry]) -> str:
    """Return an id that only these texts have."""
    return "g" + digest("\n".join(sorted(entry.version for entry in entries)).encode("ascii"))


def find_group(context: WorkContext, identity: str) -> Group:
    """Return the group with an id. Raises WorkError if there is none, because an entry in it has changed or was decided."""
    for group in grouped(review_entries(context)):
        if group.id == identity:
            return group
    text = "%s: no group has this id, or something in it has changed; to see what is pending: memory review"
    raise WorkError(text % identity)


def pending_memories(context: WorkContext, trust: Trust) -> Iterator[StoredMemory]:
    """Yield the memories that are pending; superseded ones too, because one inherits phrases only from a trusted text."""
    for stored in chain.from_iterable(map(all_memories, stores(context.paths))):
        waits = trust.state_of(stored) == PENDING or bool(trust.new_phrases(stored))
        if waits and stored.memory.status == ACTIVE:
            yield stored
