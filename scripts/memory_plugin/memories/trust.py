"""Trust: Claude may only see memories whose exact text the user saved or accepted, wherever their files are.

A memory is pending until the digest of its text is appended to the record of trusted texts, which is outside every repository. A writer
writes the file first and appends then: an interruption leaves the memory pending. Git plays no part.

The phrases of `asked_as` are no text that Claude is told. Each decision is recorded without them, and once more with them: a change of only
the phrases leaves the text trusted, but recall ignores new ones until they are accepted too.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from contextlib import suppress

from ..kernel.fastjson import as_texts, dumps
from ..kernel.files import make_folder, remove_file, replace_file
from ..kernel.paths import Paths, read_state
from . import InvalidMemory
from .hygiene import clean_data
from .memory_files import USER, Store, StoredMemory
from .memory_text import TextDigests, text_digests, told_digests
from .trust_file import LOCK, SEEN, Decision, DecisionFile, decision_paths

TRUSTED, PENDING, REJECTED = "trusted", "pending", "rejected"
WITHDRAWN, LIFTED = "withdrawn", "lifted"
_PHRASES_REJECTED = "phrases rejected"
_OWN = ("save", "edit", "interview", "capture")  # how texts of the user become trusted
_MAX_TEXT = 1 << 20


class Trust:
    """The texts that the user trusts and those that the user rejected, in all stores; `accept_from` is the user's own setting of that name.

    A change is on the disk when its method returns. Raises TrustUnreadable if a record exists but cannot be read, and RuntimeError
    without a state folder.
    """

    def __init__(self, paths: Paths, accept_from: Collection[str] = ()) -> None:
        self._paths = paths
        self.accept_from = frozenset(accept_from)
        self.trusted, self.rejected = map(DecisionFile, decision_paths(paths))
        self._load()

    def _load(self) -> None:
        self.trusted.load()
        self.rejected.load()

    def state_of(self, stored: StoredMemory) -> str:
        """Return whether exactly this text is TRUSTED, REJECTED, or PENDING."""
        told, whole = _digests(stored)
        if self._is_rejected(told.text):
            return REJECTED
        if self._is_accepted(told.full):
            return TRUSTED
        if self._is_rejected(whole.text):
            return REJECTED
        return TRUSTED if self.is_accepted_by_setting(stored) else PENDING

    def _is_accepted(self, full: str) -> bool:
        return _is_in_force(self.trusted.last_of(full), WITHDRAWN)

    def _is_rejected(self, text: str) -> bool:
        return _is_in_force(self.rejected.last_of(text), LIFTED)

    def was_accepted(self, stored: StoredMemory) -> bool:
        """Return whether exactly this text, with its phrases, was accepted at any time, even if that was withdrawn."""
        return self.trusted.last_of(text_digests(stored.memory).full, WITHDRAWN) is not None

    def has_new_phrases(self, stored: StoredMemory) -> bool:
        """Return whether the user accepted the text, but not together with the phrases that its file has now."""
        if not stored.memory.asked_as:
            return False
        told, whole = _digests(stored)
        is_new = self._is_accepted(told.full) and not self._is_accepted(whole.full)
        return is_new and not self.is_accepted_by_setting(stored)

    def new_phrases(self, stored: StoredMemory) -> str:
        """Return the digest of the text with its new phrases, which the user did not reject; empty if there are none."""
        text = text_digests(stored.memory).text if self.has_new_phrases(stored) else ""
        return "" if self._is_rejected(text) else text

    def has_rejected_phrases(self, stored: StoredMemory) -> bool:
        """Return whether the user's last rejection was of phrases of the memory of this name in this project."""
        last = self.rejected.last_named(self._decision(stored, "-", "-").name)
        return last is not None and last.how == _PHRASES_REJECTED

    def with_accepted_phrases(self, stored: StoredMemory) -> StoredMemory:
        """Return a memory without those phrases that someone added to its trusted text since the user last accepted it."""
        if not self.has_new_phrases(stored):
            return stored
        accepted = as_texts((self.last_trusted(stored) or {}).get("asked_as"))
        return with_phrases(stored, [text for text in stored.memory.asked_as if text in accepted])

    def is_trusted(self, stored: StoredMemory) -> bool:
        """Return whether exactly this text is trusted."""
        return self.state_of(stored) == TRUSTED

    def is_accepted_by_setting(self, stored: StoredMemory) -> bool:
        """Return whether the setting `trust.accept_from` accepts this memory; never one with a guard."""
        folder = stored.store.worktree
        has_folder = folder is not None and bool(self.accept_from)
        is_named = has_folder and os.path.realpath(str(folder)) in self.accept_from
        return is_named and stored.memory.data.get("guard") is None

    def is_own(self, stored: StoredMemory) -> bool:
        """Return whether the user wrote this text, instead of accepting or importing it; names that were only seen decide nothing."""
        decisions = (self.trusted.last_of(each.full, SEEN) for each in _digests(stored))
        return stored.store.scope == USER or next((row.how in _OWN for row in decisions if row), False)

    def accept(self, memories: Iterable[StoredMemory], how: str) -> None:
        """Trust these texts, also those rejected before; `how` names the user's action. Raises OSError, and then trusts none of them."""
        accepted = [(stored, _digests(stored)) for stored in memories]
        with self._paths.lock(LOCK):
            self._load()
            new = [row for row in accepted if not all(self._is_accepted(each.full) for each in row[1])]
            for stored, digests in new:
                self._store_text(stored, digests[-1].full)
            self.rejected.append(
                self._decision(stored, text, LIFTED)
                for stored, digests in accepted
                for text in dict.fromkeys(each.text for each in digests)
                if self._is_rejected(text)
            )
            # The digest with the phrases comes last: the last decision about a name leads to the text for comparisons.
            self.trusted.append(
                self._decision(stored, full, self._way(full, how))
                for stored, digests in new
                for full in dict.fromkeys(each.full for each in digests)
            )

    def _way(self, full: str, how: str) -> str:
        """Return how a text became trusted, so that a decision about its phrases does not change whose it is; otherwise `how`."""
        last = self.trusted.last_of(full, SEEN) if self._is_accepted(full) else None
        return last.how if last else how

    def reject(self, *memories: StoredMemory) -> None:
        """Reject these texts under any id and in any project, until the user saves or accepts them. Raises OSError.

        Of a text that is trusted, the new phrases are rejected.
        """
        with self._paths.lock(LOCK):
            self._load()
            rows = [(stored, self.has_new_phrases(stored)) for stored in memories]
            texts = [(stored, _digests(stored)[is_new].text, is_new) for stored, is_new in rows]
            hows = (REJECTED, _PHRASES_REJECTED)
            self.rejected.append(self._decision(stored, text, hows[is_new]) for stored, text, is_new in texts)

    def withdraw(self, stored: StoredMemory) -> None:
        """Withdraw trust from every text of this memory, older ones included. Raises OSError."""
        with self._paths.lock(LOCK):
            self._load()
            withdrawal, digests = self._every_text(stored)
            # The text's own digest in any case: by it, the index finds what to look at again.
            ended = dict.fromkeys([*filter(self._is_accepted, digests), withdrawal.digest])
            self.trusted.append(withdrawal._replace(digest=digest) for digest in ended)

    def erase(self, stored: StoredMemory) -> None:
        """Withdraw trust, and delete this memory's stored texts and its name; a rejected text stays rejected. Raises OSError."""
        with self._paths.lock(LOCK):
            self._load()
            withdrawal, digests = self._every_text(stored)
            self.trusted.rewrite(lambda decision: None if decision.digest in digests else decision)
            name = withdrawal.name
            self.rejected.rewrite(lambda one: one._replace(id="") if one.name == name else one)
            for full in digests:
                remove_file(self._text_path(full))

    def _every_text(self, stored: StoredMemory) -> tuple[Decision, list[str]]:
        """Return the decision that withdraws trust in this text, and the digests of this and all older texts of the memory."""
        withdrawal = self._decision(stored, told_digests(stored.memory).full, WITHDRAWN)
        older = self.trusted.all_named(withdrawal.name)
        digests = [*(each.full for each in _digests(stored)), *(decision.digest for decision in older)]
        return withdrawal, list(dict.fromkeys(digests))

    def last_trusted(self, stored: StoredMemory) -> dict[str, object] | None:
        """Return the last trusted version of the memory of this name in this project, redacted; None if none is stored."""
        last = self._last_in_force(self._decision(stored, "-", "-").name)
        return None if last is None else read_state(self._text_path(last.digest), _MAX_TEXT) or None

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
        return last if self._is_accepted(last.digest) else None

    def record_names(self, memories: Iterable[StoredMemory]) -> None:
        """Record the names of memories with a trusted text, so that a later change counts as a change of that memory.

        In a clone, a copy or a worktree a text is trusted before its name is recorded. If the record is locked or cannot be written, a
        later change counts as a new memory.
        """
        new = [stored for stored in memories if self._lacks_name(stored)]
        if new:
            with suppress(OSError), self._paths.lock(LOCK, 0.0):
                self._load()
                seen = [(stored, digest) for stored in new for digest in self._seen(stored)]
                self.trusted.append(self._decision(*pair, SEEN) for pair in seen)

    def _lacks_name(self, stored: StoredMemory) -> bool:
        """Return whether a text is trusted, but its name is not recorded in this project."""
        name = self._decision(stored, "-", "-").name
        return bool(self._seen(stored)) and not self.trusted.last_named(name)

    def _seen(self, stored: StoredMemory) -> list[str]:
        """Return the digests that cover what the user accepted of a memory in any project."""
        told, whole = (each.full for each in _digests(stored))
        accepted = [told, whole] if self._is_accepted(whole) else [told] if self._is_accepted(told) else []
        return list(dict.fromkeys(accepted))

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
        return (self._paths if own else Paths(store.worktree)).project_key


def _digests(stored: StoredMemory) -> tuple[TextDigests, TextDigests]:
    """Return the digests of a memory's text without and with its phrases; they are the same for a memory without phrases."""
    whole = text_digests(stored.memory)
    return (told_digests(stored.memory) if stored.memory.asked_as else whole), whole


def with_phrases(stored: StoredMemory, phrases: list[str]) -> StoredMemory:
    """Return a memory as if its file had these phrases."""
    data = {**stored.memory.data, "asked_as": phrases}
    return stored._replace(memory=stored.memory._replace(asked_as=tuple(phrases), data=data))


def _is_in_force(decision: Decision | None, end: str) -> bool:
    """Return whether a decision exists and is not of the kind that ends an earlier one."""
    return decision is not None and decision.how != end
