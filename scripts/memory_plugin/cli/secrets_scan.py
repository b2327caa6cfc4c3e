"""Secrets and personal data in files on disk: where they stand and which rule found them, never what they are."""

from __future__ import annotations

import codecs
import os
from typing import TYPE_CHECKING, NamedTuple

from ..kernel.files import Unreadable, read_regular
from ..kernel.hygiene import findings

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Place", "Scan", "scan_paths"]

MAX_BYTES = 5_000_000
_HEAD = 8192
_PASSED_OVER = frozenset([".git"])


class Place(NamedTuple):
    """Where something was found; `line` counts from 1."""

    path: str
    line: int
    kind: str
    rule: str


class Scan:
    """What a scan found, how many files it read, and which it could not; `left` counts those it left out to come to an end."""

    def __init__(self, personal: bool = False) -> None:
        self.personal = personal
        self.places: list[Place] = []
        self.unread: list[str] = []
        self.files = 0
        self.skipped = 0
        self.left = 0

    def look_at(self, path: str) -> None:
        """Scan one file; what is binary or above 5 MB is passed over."""
        try:
            data = read_regular(path, MAX_BYTES)[0]
        except (FileNotFoundError, Unreadable) as error:
            if os.path.isfile(path) and not os.path.islink(path) and os.path.getsize(path) > MAX_BYTES:
                self.skipped += 1
            else:
                self.unread.append(str(error))
            return
        text = _decoded(data)
        if text is None:
            self.skipped += 1
            return
        self.files += 1
        self.places.extend(self._in_text(path, text))

    def _in_text(self, path: str, text: str) -> Iterator[Place]:
        line, counted = 1, 0
        for found in findings(text):
            line += text.count("\n", counted, found.start)
            counted = found.start
            if self.personal or found.action != "allow":
                yield Place(path, line, found.kind, found.rule)


def _decoded(data: bytes) -> str | None:
    """The text of a file; None for binary data."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    return None if b"\0" in data[:_HEAD] else data.decode("utf-8", "replace")


def scan_paths(paths: list[str], personal: bool = False, most: int | None = None) -> Scan:
    """A scan of files and folders, without following links; `personal` reports also what memories may hold, such as e-mail addresses.

    With `most` it ends after so many bytes, the smallest files first.
    """
    scan = Scan(personal)
    found = [file for path in paths for file in _files(path)]
    if most is not None:
        found, scan.left = _smallest(found, most)
    for file in found:
        scan.look_at(file)
    return scan


def _smallest(paths: list[str], most: int) -> tuple[list[str], int]:
    """Return the paths of the smallest files that hold at most so many bytes together, in the given order, and the number of the others."""
    taken = set()
    for size, path in sorted((os.path.getsize(path) if os.path.isfile(path) else 0, path) for path in paths):
        most -= size
        if most < 0:
            break
        taken.add(path)
    return [path for path in paths if path in taken], len(set(paths) - taken)


def _files(path: str) -> Iterator[str]:
    if not os.path.isdir(path):
        yield path
        return
    for above, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if name not in _PASSED_OVER)
        for name in sorted(names):
            file = os.path.join(above, name)
            if os.path.isfile(file) and not os.path.islink(file):
                yield file
