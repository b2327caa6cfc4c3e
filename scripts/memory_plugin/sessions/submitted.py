"""What was submitted in batches, and what failed: `grading/batches.json` in the state folder, shared by all processes of a user.

A row is written before its batch is sent and named afterwards. A process that dies in between, or whose reply was lost, leaves a row
without a name: its sessions are not sent again until it is known whether the provider has that batch. The file holds no text of sessions.
"""

from __future__ import annotations

import os
from binascii import hexlify
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..kernel.clock import now_iso
from ..kernel.fastjson import dumps, loads
from ..kernel.files import Unreadable, error_text, make_folder, read_regular, replace_file
from ..kernel.judge.errors import JudgeError
from ..kernel.locks import FileLock

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..kernel.paths import Paths

    Row = dict[str, Any]

__all__ = ["SubmittedBatches"]

_MAX_BYTES = 16 << 20
_LOCK_SECONDS = 5.0
_MAX_FAILED = 2000  # failures that are kept, the newest


class SubmittedBatches:
    """The file below the state folder; each change is one locked replacement."""

    __slots__ = ("_folder",)

    def __init__(self, paths: Paths) -> None:
        self._folder = paths.state("grading")

    def waiting(self) -> list[Row]:
        """Return the batches that were not collected yet; none when the file is damaged."""
        try:
            return _rows(self._read())
        except JudgeError:
            return []

    def check(self) -> None:
        """Raise Failed `no_state` when it is unknown what was submitted."""
        self._read()

    def has_failed(self, path: str, keys: Sequence[str]) -> bool:
        """Return whether exactly these questions about a session were submitted before and failed. Raises Failed `no_state`."""
        failed = self._read()["failed"].get(path)
        return isinstance(failed, dict) and failed.get("keys") == list(keys)

    def begin(self, model: str, items: Sequence[Row]) -> tuple[str, list[Row]]:
        """Record what is about to be sent; return the ticket of the row and the items that no other process sent meanwhile.

        Raises Failed `no_state`.
        """
        ticket = hexlify(os.urandom(8)).decode("ascii")
        with self._open() as data:
            taken = {
                item.get("path") for row in _rows(data) for item in row["items"] if isinstance(item, dict)
            }
            unsent = [item for item in items if item["path"] not in taken]
            if unsent:
                row = {"id": "", "ticket": ticket, "submitted": now_iso(), "model": model, "items": unsent}
                data["batches"].append(row)
                for item in unsent:
                    data["failed"].pop(item["path"], None)
        return ticket, unsent

    def name(self, ticket: str, identity: str) -> None:
        """Give a row the provider's id. Raises Failed `no_state`."""
        with self._open() as data:
            for row in _rows(data):
                if row.get("ticket") == ticket:
                    row["id"] = identity

    def remove(self, row: Row) -> None:
        """Remove a row. Raises Failed `no_state`."""
        with self._open() as data:
            data["batches"] = [other for other in _rows(data) if not _same(other, row)]

    def close(self, row: Row, failed: dict[str, Row]) -> None:
        """Remove a row that was collected, and keep its failures by path. Raises Failed `no_state`."""
        with self._open() as data:
            data["batches"] = [other for other in _rows(data) if not _same(other, row)]
            kept = {**data["failed"], **{path: {**why, "at": now_iso()} for path, why in failed.items()}}
            newest = sorted(kept.items(), key=lambda entry: str(entry[1].get("at")))[-_MAX_FAILED:]
            data["failed"] = dict(newest)

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Hold the lock of collecting. Raises Busy when another process has it."""
        make_folder(self._folder)
        with FileLock(os.path.join(self._folder, "collect.lock"), 0.0):
            yield

    @contextmanager
    def _open(self) -> Iterator[dict[str, Any]]:
        try:
            make_folder(self._folder)
            with FileLock(os.path.join(self._folder, "batches.lock"), _LOCK_SECONDS):
                data = self._read()
                yield data
                replace_file(self._path(), dumps(data).encode("ascii"))
        except OSError as error:
            raise JudgeError("no_state", "grading/batches.json: %s" % error_text(error)) from None

    def _path(self) -> str:
        return os.path.join(self._folder, "batches.json")

    def _read(self) -> dict[str, Any]:
        """Return the file's content. Raises Failed `no_state` where it is damaged."""
        try:
            data = loads(read_regular(self._path(), _MAX_BYTES)[0].decode("ascii"))
        except FileNotFoundError:
            return {"batches": [], "failed": {}}
        except (Unreadable, ValueError):
            data = None
        if not isinstance(data, dict) or not isinstance(data.get("batches"), list):
            raise JudgeError(
                "no_state",
                "grading/batches.json is damaged: what was submitted is unknown. Move the file away to continue.",
            )
        failed = data.get("failed")
        rows = failed.items() if isinstance(failed, dict) else ()
        data["failed"] = {path: why for path, why in rows if isinstance(why, dict)}
        return data


def _rows(data: dict[str, Any]) -> list[Row]:
    return [row for row in data["batches"] if isinstance(row, dict) and isinstance(row.get("items"), list)]


def _same(row: Row, other: Row) -> bool:
    """Return whether two rows are the same: by the ticket, or in older files by the provider's id."""
    if row.get("ticket") or other.get("ticket"):
        return row.get("ticket") == other.get("ticket")
    return row.get("id") == other.get("id")
