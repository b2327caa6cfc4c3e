"""The candidates of a project, in a small file in the state folder: at most 20, the weakest dropped first, none older than 30 days.

Only the id of a candidate that the user dropped is kept, so that it is never proposed again; its text is deleted.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..kernel.clock import iso, now
from ..kernel.data import read_state, write_state
from ..kernel.files import make_folder
from ..kernel.locks import FileLock
from .candidate import candidate_from_json, is_near, merged

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Callable

    from ..kernel.paths import Paths
    from .candidate import Candidate

MAX_OPEN = 20
_MAX_DAYS = 30
_MAX_CLOSED = 2000
_LOCK_WAIT = 2.0


def candidate_path(paths: Paths) -> str:
    """Return the path of the project's candidates. Raises RuntimeError without a state folder."""
    return paths.state("capture", paths.project_key + ".json")


class CandidateSet:
    """The open candidates, strongest first; the ids of dropped ones; the kinds that the user never wants again."""

    __slots__ = ("closed", "open", "silenced")

    def __init__(self, data: dict[str, Any]) -> None:
        oldest = iso(now() - _MAX_DAYS * 86400)
        candidates = map(candidate_from_json, data.get("open", ()))
        self.open = [candidate for candidate in candidates if candidate.found >= oldest]
        self.closed: list[str] = list(data.get("closed", ()))
        self.silenced: list[str] = list(data.get("silenced", ()))

    def to_json(self) -> dict[str, Any]:
        """Return the contents of the file."""
        return {
            "schema": 1,
            "open": [candidate.to_json() for candidate in self.open],
            "closed": self.closed[-_MAX_CLOSED:],
            "silenced": list(self.silenced),
        }

    def add(self, candidates: Iterable[Candidate]) -> int:
        """Add the wanted candidates, merging those that say the same, and keep the strongest; return how many are new."""
        by_id = {candidate.id: candidate for candidate in self.open}
        wanted = self.wanted(candidates)
        new = {candidate.id for candidate in wanted if candidate.id not in by_id}
        for candidate in wanted:
            same = by_id.get(candidate.id) or next(
                (other for other in by_id.values() if is_near(other, candidate)), None
            )
            if same is None:
                by_id[candidate.id] = candidate
            else:
                by_id[same.id] = merged(same, candidate)
        ranked = sorted(
            by_id.values(), key=lambda candidate: (candidate.strength, candidate.origin.time), reverse=True
        )
        self.open = ranked[:MAX_OPEN]
        return sum(candidate.id in new for candidate in self.open)

    def wanted(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Return the candidates that the user did not drop before and whose kind is not silenced."""
        return [
            candidate
            for candidate in candidates
            if candidate.id not in self.closed and candidate.kind not in self.silenced
        ]

    def settle(self, coverage: dict[str, str | None]) -> int:
        """Remove candidates that a memory covers (None), and mark those that contradict one; return how many are left."""
        self.open = [
            candidate._replace(contradicts=coverage.get(candidate.id, candidate.contradicts) or "")
            for candidate in self.open
            if coverage.get(candidate.id, "") is not None
        ]
        return len(self.open)

    def close(self, ids: Sequence[str]) -> int:
        """Drop candidates for good; return how many are left."""
        self.open = [candidate for candidate in self.open if candidate.id not in ids]
        self.closed += [name for name in ids if name not in self.closed]
        return len(self.open)

    def silence(self, kind: str) -> int:
        """Drop all candidates of a kind, and never propose that kind again; return how many are left."""
        self.silenced += [kind] if kind not in self.silenced else []
        return self.close([candidate.id for candidate in self.open if candidate.kind == kind])

    def clear(self) -> int:
        """Forget all candidates, including dropped ones and silenced kinds; return how many were open."""
        number = len(self.open)
        self.open, self.closed, self.silenced = [], [], []
        return number


class CandidateFile:
    """The file of one project. Reading never fails; a change takes a lock and replaces the whole file."""

    __slots__ = ("_path",)

    def __init__(self, paths: Paths) -> None:
        self._path = candidate_path(paths)

    def load(self) -> CandidateSet:
        """Return the saved candidates; an empty set if the file is missing or damaged."""
        try:
            return CandidateSet(read_state(self._path))
        except (KeyError, TypeError):
            return CandidateSet({})

    def change(self, edit: Callable[[CandidateSet], int]) -> int:
        """Apply a change and return its result.

        Raises:
            OSError: The file cannot be written, or another process held its lock for two seconds.
        """
        make_folder(os.path.dirname(self._path))
        with FileLock(self._path + ".lock", _LOCK_WAIT):
            candidates = self.load()
            before = candidates.to_json()
            result = edit(candidates)
            if candidates.to_json() != before:
                write_state(self._path, candidates.to_json())
        return result
