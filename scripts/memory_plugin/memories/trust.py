"""Trust: Claude may only see memories whose exact text the user saved or accepted, wherever their files are.

A memory is pending until the digest of its text is appended to the record of trusted texts, which is outside every repository. A writer
first writes the file and then appends, so that an interruption leaves the memory pending. Git plays no part.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernel.fastjson import digest, dumps, loads
from ..kernel.files import make_folder, read_regular, replace_file
from ..kernel.paths import locate
from .hygiene import clean_data
from .record import InvalidMemory
from .stores import USER
from .trust_file import Decision, DecisionFile, TrustUnreadable, decision_paths, trust_lock

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from ..kernel.paths import Paths
    from .memory_files import StoredMemory
    from .record import Memory
    from .stores import Store

__all__ = [
    "PENDING",
    "REJECTED",
    "TRUSTED",
    "TextDigests",
    "Trust",
    "TrustUnreadable",
    "canonical",
    "load_trust",
    "text_digests",
]

TRUSTED, PENDING, REJECTED = "trusted", "pending", "rejected"
WITHDRAWN, LIFTED, SEEN = "withdrawn", "lifted", "seen"
_MAX_TEXT = 1 << 20


class TextDigests(NamedTuple):
    """The digests of a memory's text: `full` includes its id; `text` does not, so that a rejected text stays rejected under another id."""

    full: str
    text: str


def text_digests(memory: Memory) -> TextDigests:
    """Return the digests of everything in a memory that is injected, shown, matched or enforced; reformatting does not change them."""
    text = [
        memory.category,
        memory.title,
        memory.data["content"],
        memory.tags,
        memory.files,
        memory.asked_as,
        memory.data.get("guard"),
        memory.expires_at,
        memory.status,
        memory.superseded_by,
        memory.supersedes,
    ]
    written = dumps(canonical(text)).encode("ascii")
    return TextDigests(digest(memory.id.encode("ascii") + b"\n" + written), digest(written))


def canonical(value: object) -> object:
    """Return a value in canonical form for JSON: keys of objects sorted, tuples as lists."""
    if isinstance(value, dict):
        return {str(key): canonical(value[key]) for key in sorted(value, key=str)}
    return [canonical(item) for item in value] if isinstance(value, (list, tuple)) else value


def load_trust(paths: Paths, accept_from: Collection[str] = ()) -> Trust:
    """Return the texts that the user trusts and rejected, in all stores; `accept_from` is the user's own setting of that name.

    Raises TrustUnreadable when a record exists and cannot be read, Busy when another process holds a damaged one, and RuntimeError without
    a state folder.
    """
    return Trust(paths, accept_from)


class Trust:
    """The texts that the user trusts and those that the user rejected. Every change is on the disk when its method returns."""

    __slots__ = ("_paths", "accept_from", "rejected", "trusted")

    def __init__(self, paths: Paths, accept_from: Collection[str] = ()) -> None:
        self._paths = paths
        self.accept_from = frozenset(accept_from)
        self.trusted, self.rejected = map(DecisionFile, decision_paths(paths))
        self._load()

    def _load(self, locked: bool = False) -> None:
        for file in (self.trusted, self.rejected):
            file.load(None if locked else partial(trust_lock, self._paths))

    def state_of(self, stored: StoredMemory) -> str:
        """Return whether exactly this text is TRUSTED, REJECTED, or PENDING."""
        digests = text_digests(stored.memory)
        if _holds(self.rejected.last_of(digests.text), LIFTED):
            return REJECTED
        if _holds(self.trusted.last_of(digests.full), WITHDRAWN) or self.is_accepted_by_setting(stored):
            return TRUSTED
        return PENDING

    def is_trusted(self, stored: StoredMemory) -> bool:
        """Return whether exactly this text is trusted."""
        return self.state_of(stored) == TRUSTED

    def is_accepted_by_setting(self, stored: StoredMemory) -> bool:
        """Return whether the setting `trust.accept_from` accepts this memory; never one with a guard."""
        folder = stored.store.worktree
        return (
            bool(self.accept_from)
            and folder is not None
            and os.path.realpath(folder) in self.accept_from
            and stored.memory.data.get("guard") is None
        )

    def accept(self, memories: Iterable[StoredMemory], how: str) -> None:
        """Trust these texts from now on, also those rejected before; `how` says by which act of the user.

        Raises OSError, after which none of them is trusted by this.
        """
        known = [(stored, text_digests(stored.memory)) for stored in memories]
        with trust_lock(self._paths):
            self._load(locked=True)
            new = [pair for pair in known if not _holds(self.trusted.last_of(pair[1].full), WITHDRAWN)]
            for stored, digests in new:
                self._keep_text(stored, digests.full)
            rejected_before = [pair for pair in known if _holds(self.rejected.last_of(pair[1].text), LIFTED)]
            self.rejected.append(
                self._decision(stored, digests.text, LIFTED) for stored, digests in rejected_before
            )
            self.trusted.append(self._decision(stored, digests.full, how) for stored, digests in new)

    def reject(self, *memories: StoredMemory) -> None:
        """Reject these texts under any id and in any project, until the user saves or accepts them. Raises OSError."""
        with trust_lock(self._paths):
            self.rejected.append(
                self._decision(stored, text_digests(stored.memory).text, REJECTED) for stored in memories
            )

    def withdraw(self, stored: StoredMemory) -> None:
        """Withdraw trust from every text of this memory, older ones included. Raises OSError."""
        with trust_lock(self._paths):
            self._load(locked=True)
            now, digests = self._every_text(stored)
            held = [digest for digest in digests if _holds(self.trusted.last_of(digest), WITHDRAWN)]
            self.trusted.append(now._replace(digest=digest) for digest in held or [now.digest])

    def erase(self, stored: StoredMemory) -> None:
        """Withdraw trust, and delete the kept texts and the name of this memory; a rejected text stays rejected. Raises OSError."""
        with trust_lock(self._paths):
            self._load(locked=True)
            now, digests = self._every_text(stored)
            self.trusted.rewrite(lambda decision: None if decision.digest in digests else decision)
            self.rejected.rewrite(
                lambda decision: decision._replace(id="") if decision.name == now.name else decision
            )
            for full in digests:
                with suppress(FileNotFoundError):
                    os.unlink(self._text_path(full))

    def _every_text(self, stored: StoredMemory) -> tuple[Decision, list[str]]:
        """Return the decision that ends trust in this text, and the digests of it and of all older ones of its name in this project."""
        now = self._decision(stored, text_digests(stored.memory).full, WITHDRAWN)
        older = self.trusted.all_named(now.name)
        return now, list(dict.fromkeys([now.digest, *(decision.digest for decision in older)]))

    def last_trusted(self, stored: StoredMemory) -> dict[str, Any] | None:
        """Return the last trusted version of a memory of this name in this project, redacted; None when none is kept."""
        last = self._last_held(self._decision(stored, "-", "-").name)
        if last is None:
            return None
        try:
            found = loads(read_regular(self._text_path(last.digest), _MAX_TEXT)[0].decode("utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def is_forgotten(self, stored: StoredMemory) -> bool:
        """Return whether the user forgot the memory of this name in this project."""
        last = self.trusted.last_named(self._decision(stored, "-", "-").name)
        return last is not None and last.how == WITHDRAWN

    def has_trusted_name(self, store: Store, category: str, identity: str) -> bool:
        """Return whether this project has a trusted text under this memory's name."""
        name = Decision("-", "-", self._project(store), category, identity).name
        return self._last_held(name) is not None

    def _last_held(self, name: bytes) -> Decision | None:
        """Return the last decision about a name, if its text is still trusted; it may have been withdrawn in another project."""
        last = self.trusted.last_named(name)
        held = (
            last is not None
            and last.how != WITHDRAWN
            and _holds(self.trusted.last_of(last.digest), WITHDRAWN)
        )
        return last if held else None

    def note_names(self, memories: Iterable[StoredMemory]) -> None:
        """Record which memories of this project hold a trusted text, so that a later change is known as a change of it.

        In a clone, a copy or a worktree the text is trusted, but its name is not recorded yet. If the record is locked or cannot be
        written, a later change counts as a new memory.
        """
        new = self._unnamed(memories)
        if new:
            with suppress(OSError), trust_lock(self._paths, 0.0):
                self._load(locked=True)
                named = self._unnamed(new)
                self.trusted.append(
                    self._decision(stored, text_digests(stored.memory).full, SEEN) for stored in named
                )

    def _unnamed(self, memories: Iterable[StoredMemory]) -> list[StoredMemory]:
        """Return those whose text is trusted, and whose name is not known in this project."""
        return [
            stored
            for stored in memories
            if self.trusted.last_named(self._decision(stored, "-", "-").name) is None
            and _holds(self.trusted.last_of(text_digests(stored.memory).full), WITHDRAWN)
        ]

    def _keep_text(self, stored: StoredMemory, full: str) -> None:
        """Keep the accepted text, without its secrets, to show later what changed. Raises OSError."""
        try:
            cleaned = clean_data(dict(stored.memory.data))[0]
        except InvalidMemory:  # a rule refuses the text altogether
            return
        path = self._text_path(full)
        make_folder(os.path.dirname(path))
        replace_file(path, dumps(cleaned).encode("ascii"), durable=False)

    def _text_path(self, full: str) -> str:
        return self._paths.state("trust", "texts", full + ".json")

    def _decision(self, stored: StoredMemory, of: str, how: str) -> Decision:
        return Decision(of, how, self._project(stored.store), stored.memory.category, stored.memory.id)

    def _project(self, store: Store) -> str:
        """Return the name of the project that a store belongs to, which for a linked worktree may be the main one."""
        if store.worktree is None:
            return USER
        own = store.worktree == self._paths.project_root
        return (self._paths if own else locate(store.worktree)).project_key


def _holds(decision: Decision | None, ended: str) -> bool:
    """Return whether a decision is in force: there is one, and it is not the one that ends it."""
    return decision is not None and decision.how != ended
