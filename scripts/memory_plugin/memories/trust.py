"""Trust: Claude may only see memories whose exact text the user saved or accepted, wherever their files are.

A memory is pending until the digest of its text is appended to the record of trusted texts, which is outside every repository. A writer
writes the file first and appends then: an interruption leaves the memory pending. Git plays no part.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from ..kernel.fastjson import dumps, loads
from ..kernel.files import make_folder, read_regular, replace_file
from ..kernel.paths import locate
from . import InvalidMemory
from .hygiene import clean_data
from .memory_text import text_digests
from .stores import USER
from .trust_file import SEEN, Decision, DecisionFile, decision_paths, trust_lock

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from ..kernel.paths import Paths
    from .memory_files import StoredMemory
    from .stores import Store

TRUSTED, PENDING, REJECTED = "trusted", "pending", "rejected"
WITHDRAWN, LIFTED = "withdrawn", "lifted"
_MAX_TEXT = 1 << 20


def load_trust(paths: Paths, accept_from: Collection[str] = ()) -> Trust:
    """Return the user's decisions about texts in all stores; `accept_from` is the user's own setting of that name.

    Raises TrustUnreadable if a record exists but cannot be read, Busy if another process is repairing a damaged one, and RuntimeError
    without a state folder.
    """
    return Trust(paths, accept_from)


class Trust:
    """The texts that the user trusts and those that the user rejected. A change is on the disk when its method returns."""

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
        if _is_in_force(self.rejected.last_of(digests.text), LIFTED):
            return REJECTED
        if _is_in_force(self.trusted.last_of(digests.full), WITHDRAWN) or self.is_accepted_by_setting(stored):
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
        """Trust these texts, also those rejected before; `how` names the user's action. Raises OSError, and then trusts none of them."""
        accepted = [(stored, text_digests(stored.memory)) for stored in memories]
        with trust_lock(self._paths):
            self._load(locked=True)
            new = [
                (stored, digests)
                for stored, digests in accepted
                if not _is_in_force(self.trusted.last_of(digests.full), WITHDRAWN)
            ]
            for stored, digests in new:
                self._store_text(stored, digests.full)
            self.rejected.append(
                self._decision(stored, digests.text, LIFTED)
                for stored, digests in accepted
                if _is_in_force(self.rejected.last_of(digests.text), LIFTED)
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
            withdrawal, digests = self._every_text(stored)
            trusted = [digest for digest in digests if _is_in_force(self.trusted.last_of(digest), WITHDRAWN)]
            self.trusted.append(
                withdrawal._replace(digest=digest) for digest in trusted or [withdrawal.digest]
            )

    def erase(self, stored: StoredMemory) -> None:
        """Withdraw trust, and delete this memory's stored texts and its name; a rejected text stays rejected. Raises OSError."""
        with trust_lock(self._paths):
            self._load(locked=True)
            withdrawal, digests = self._every_text(stored)
            self.trusted.rewrite(lambda decision: None if decision.digest in digests else decision)
            self.rejected.rewrite(
                lambda decision: decision._replace(id="") if decision.name == withdrawal.name else decision
            )
            for full in digests:
                with suppress(FileNotFoundError):
                    os.unlink(self._text_path(full))

    def _every_text(self, stored: StoredMemory) -> tuple[Decision, list[str]]:
        """Return the decision that withdraws trust in this text, and the digests of this and all older texts of the memory."""
        withdrawal = self._decision(stored, text_digests(stored.memory).full, WITHDRAWN)
        older = self.trusted.all_named(withdrawal.name)
        return withdrawal, list(dict.fromkeys([withdrawal.digest, *(decision.digest for decision in older)]))

    def last_trusted(self, stored: StoredMemory) -> dict[str, Any] | None:
        """Return the last trusted version of the memory of this name in this project, redacted; None if none is stored."""
        last = self._last_in_force(self._decision(stored, "-", "-").name)
        if last is None:
            return None
        try:
            data = loads(read_regular(self._text_path(last.digest), _MAX_TEXT)[0].decode("utf-8"))
        except (OSError, ValueError):
            return None
        return data if isinstance(data, dict) else None

    def is_forgotten(self, stored: StoredMemory) -> bool:
        """Return whether the user forgot the memory of this name in this project."""
        last = self.trusted.last_named(self._decision(stored, "-", "-").name)
        return last is not None and last.how == WITHDRAWN

    def has_trusted_name(self, store: Store, category: str, identity: str) -> bool:
        """Return whether this project has a trusted text under this memory's name."""
        name = Decision("-", "-", self._project(store), category, identity).name
        return self._last_in_force(name) is not None

    def _last_in_force(self, name: bytes) -> Decision | None:
        """Return the last decision about a name, if its text is still trusted; another project may have withdrawn it."""
        last = self.trusted.last_named(name)
        if last is None or last.how == WITHDRAWN:
            return None
        return last if _is_in_force(self.trusted.last_of(last.digest), WITHDRAWN) else None

    def record_names(self, memories: Iterable[StoredMemory]) -> None:
        """Record the names of memories with a trusted text, so that a later change counts as a change of that memory.

        In a clone, a copy or a worktree a text is trusted before its name is recorded. If the record is locked or cannot be written, a
        later change counts as a new memory.
        """
        new = self._unnamed(memories)
        if new:
            with suppress(OSError), trust_lock(self._paths, 0.0):
                self._load(locked=True)
                self.trusted.append(
                    self._decision(stored, text_digests(stored.memory).full, SEEN)
                    for stored in self._unnamed(new)
                )

    def _unnamed(self, memories: Iterable[StoredMemory]) -> list[StoredMemory]:
        """Return the memories whose text is trusted, but whose name is not recorded in this project."""
        return [
            stored
            for stored in memories
            if self.trusted.last_named(self._decision(stored, "-", "-").name) is None
            and _is_in_force(self.trusted.last_of(text_digests(stored.memory).full), WITHDRAWN)
        ]

    def _store_text(self, stored: StoredMemory, full: str) -> None:
        """Store the accepted text without its secrets, to show later what changed. Raises OSError."""
        try:
            cleaned = clean_data(dict(stored.memory.data))[0]
        except InvalidMemory:  # a rule refuses the text altogether
            return
        path = self._text_path(full)
        make_folder(os.path.dirname(path))
        replace_file(path, dumps(cleaned).encode("ascii"), durable=False)

    def _text_path(self, full: str) -> str:
        return self._paths.state("trust", "texts", full + ".json")

    def _decision(self, stored: StoredMemory, digest: str, how: str) -> Decision:
        return Decision(digest, how, self._project(stored.store), stored.memory.category, stored.memory.id)

    def _project(self, store: Store) -> str:
        """Return the name of the project that a store belongs to; a linked worktree may share the main worktree's store."""
        if store.worktree is None:
            return USER
        own = store.worktree == self._paths.project_root
        return (self._paths if own else locate(store.worktree)).project_key


def _is_in_force(decision: Decision | None, end: str) -> bool:
    """Return whether a decision exists and is not of the kind that ends an earlier one."""
    return decision is not None and decision.how != end
