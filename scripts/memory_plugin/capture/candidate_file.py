"""The candidates of a project, in one small file of the state folder: at most 20, the weakest go first, none older than 30 days.

What a person dropped is remembered as a digest, so that it never comes back; its text is gone.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..kernel.clock import iso, now
from ..kernel.files import make_folder
from ..kernel.locks import FileLock
from ..kernel.state_file import read_state, write_state
from .candidate import KINDS, candidate_from_json, is_near, merged

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Callable

    from ..kernel.paths import Paths
    from .candidate import Candidate

__all__ = ["MAX_OPEN", "CandidateFile", "Candidates", "candidate_path"]

MAX_OPEN = 20
_KEPT_DAYS = 30
_MAX_CLOSED = 2000
_LOCK_WAIT = 2.0
_SCHEMA = 1


def candidate_path(paths: Paths) -> str:
    """Return the path of the project's candidates. Raises RuntimeError without a state folder."""
    return paths.state("capture", paths.project_key + ".json")


class Candidates:
    """The open candidates, strongest first; the ids of dropped ones; the kinds that the user never wants again."""

    __slots__ = ("closed", "open", "silenced")

    def __init__(self, data: dict[str, Any]) -> None:
        found = (candidate_from_json(entry) for entry in _list(data.get("open")))
        self.open = [
            candidate for candidate in found if candidate is not None and candidate.found >= _oldest()
        ]
        self.closed = [name for name in _list(data.get("closed")) if isinstance(name, str)]
        self.silenced = [kind for kind in _list(data.get("silenced")) if kind in KINDS]

    def to_json(self) -> dict[str, Any]:
        """Return what the file holds."""
        return {
            "schema": _SCHEMA,
            "open": [candidate.to_json() for candidate in self.open],
            "closed": self.closed[-_MAX_CLOSED:],
            "silenced": list(self.silenced),
        }

    def add(self, candidates: Iterable[Candidate], most: int = MAX_OPEN) -> int:
        """Add what is new and wanted, and keep the strongest; return how many of `found` are among them."""
        known = {candidate.id: candidate for candidate in self.open}
        wanted = self.wanted(candidates)
        new = {candidate.id for candidate in wanted if candidate.id not in known}
        for candidate in wanted:
            same = (
                candidate.id
                if candidate.id in known
                else next((old.id for old in known.values() if is_near(old, candidate)), "")
            )
            known[same or candidate.id] = merged(known[same], candidate) if same else candidate
        ranked = sorted(known.values(), key=lambda candidate: candidate.origin.time, reverse=True)
        ranked.sort(key=lambda candidate: candidate.strength, reverse=True)
        self.open = ranked[:most]
        return sum(candidate.id in new for candidate in self.open)

    def wanted(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Return the candidates that were not dropped before, and of no kind that the user never wants."""
        return [
            candidate
            for candidate in candidates
            if candidate.id not in self.closed and candidate.kind not in self.silenced
        ]

    def settle(self, checked: dict[str, str | None]) -> int:
        """Take out what a stored memory covers (None), and mark what it contradicts; return how many are left."""
        self.open = [
            candidate._replace(contradicts=checked.get(candidate.id, candidate.contradicts) or "")
            for candidate in self.open
            if checked.get(candidate.id, "") is not None
        ]
        return len(self.open)

    def close(self, ids: Sequence[str]) -> int:
        """Drop candidates for good; return how many are left."""
        self.open = [candidate for candidate in self.open if candidate.id not in ids]
        self.closed += [name for name in ids if name not in self.closed]
        return len(self.open)

    def silence(self, kind: str) -> int:
        """Drop all candidates of a kind, and propose none of it any more; return how many are left."""
        self.silenced += [kind] if kind not in self.silenced else []
        return self.close([candidate.id for candidate in self.open if candidate.kind == kind])


class CandidateFile:
    """The file of one project. Reading never fails; a change is made under a lock, and replaces the whole file."""

    __slots__ = ("_path",)

    def __init__(self, paths: Paths) -> None:
        self._path = candidate_path(paths)

    def load(self) -> Candidates:
        """Return what the file holds; nothing for one that is missing or damaged."""
        return Candidates(read_state(self._path))

    def change(self, edit: Callable[[Candidates], int]) -> int:
        """Apply a change and return its result. Raises OSError, also when another process holds the file for two seconds."""
        make_folder(os.path.dirname(self._path))
        with FileLock(self._path + ".lock", _LOCK_WAIT):
            candidates = self.load()
            before = candidates.to_json()
            result = edit(candidates)
            if candidates.to_json() != before:
                write_state(self._path, candidates.to_json())
        return result

    def clear(self) -> int:
        """Forget all candidates, dropped ones and silenced kinds included; return how many were open. Raises OSError."""
        return self.change(_cleared)


def _cleared(candidates: Candidates) -> int:
    number = len(candidates.open)
    candidates.open, candidates.closed, candidates.silenced = [], [], []
    return number


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _oldest() -> str:
    return iso(now() - _KEPT_DAYS * 86400)
