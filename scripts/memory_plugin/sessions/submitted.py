"""Record submitted batches and their failures in `grading/batches.json` of the state folder, shared by all processes of a user.

A row is written before its batch is sent, and gets the provider's id afterwards. If the process dies in between, or the response is lost,
the row has no id. Its sessions are then not sent again until it is known whether the provider has that batch. The file contains no text of
sessions.
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
_MAX_FAILED = 2000  # the newest failures


class SubmittedBatches:
    """The file of submitted batches; each change replaces it under a lock."""

    __slots__ = ("_folder",)

    def __init__(self, paths: Paths) -> None:
        self._folder = paths.state("grading")

    def waiting(self) -> list[Row]:
        """Return the batches that were not collected yet; none if the file is damaged."""
        try:
            return _rows(self._read())
        except JudgeError:
            return []

    def check(self) -> None:
        """Raise JudgeError `no_state` if the file is damaged, so that it is unknown what was submitted."""
        self._read()

    def has_failed(self, path: str, keys: Sequence[str]) -> bool:
        """Return whether the same questions about a session were submitted before and failed. Raises JudgeError `no_state`."""
        failed = self._read()["failed"].get(path)
        return isinstance(failed, dict) and failed.get("keys") == list(keys)

    def begin(self, model: str, items: Sequence[Row]) -> tuple[str, list[Row]]:
        """Record items before they are sent; return the row's ticket and the items that no other process has sent.

        Raises JudgeError `no_state`.
        """
        ticket = hexlify(os.urandom(8)).decode("ascii")
        with self._open() as data:
            submitted = {
                item.get("path") for row in _rows(data) for item in row["items"] if isinstance(item, dict)
            }
            unsent = [item for item in items if item["path"] not in submitted]
            if unsent:
                row = {"id": "", "ticket": ticket, "submitted": now_iso(), "model": model, "items": unsent}
                data["batches"].append(row)
                for item in unsent:
                    data["failed"].pop(item["path"], None)
        return ticket, unsent

    def name(self, ticket: str, identity: str) -> None:
        """Give a row the provider's id. Raises JudgeError `no_state`."""
        with self._open() as data:
            for row in _rows(data):
                if row.get("ticket") == ticket:
                    row["id"] = identity

    def remove(self, row: Row) -> None:
        """Remove a row. Raises JudgeError `no_state`."""
        with self._open() as data:
            data["batches"] = [other for other in _rows(data) if not _same(other, row)]

    def close(self, row: Row, failed: dict[str, Row]) -> None:
        """Remove a collected row, and record its failures by path. Raises JudgeError `no_state`."""
        with self._open() as data:
            data["batches"] = [other for other in _rows(data) if not _same(other, row)]
            failures = {**data["failed"]}
            failures.update({path: {**failure, "at": now_iso()} for path, failure in failed.items()})
            newest = sorted(failures.items(), key=lambda item: str(item[1].get("at")))[-_MAX_FAILED:]
            data["failed"] = dict(newest)

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Hold the lock of collecting. Raises Busy if another process has it."""
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
        """Return the file's content. Raises JudgeError `no_state` if it is damaged."""
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
        failures = failed.items() if isinstance(failed, dict) else ()
        data["failed"] = {path: failure for path, failure in failures if isinstance(failure, dict)}
        return data


def _rows(data: dict[str, Any]) -> list[Row]:
    return [row for row in data["batches"] if isinstance(row, dict) and isinstance(row.get("items"), list)]


def _same(row: Row, other: Row) -> bool:
    """Return whether two rows are the same batch: by ticket, or in older files by the provider's id."""
    if row.get("ticket") or other.get("ticket"):
        return row.get("ticket") == other.get("ticket")
    return row.get("id") == other.get("id")
