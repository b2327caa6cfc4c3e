"""Find secrets and personal data in files and folders."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..kernel.files import read_regular
from ..kernel.hygiene import findings

MAX_BYTES = 5_000_000
_HEAD = 8192
_REPORT_EVERY = 50
_SKIPPED_FOLDERS = frozenset([".git"])


class Place(NamedTuple):
    """The location of a finding; `line` counts from 1."""

    path: str
    line: int
    kind: str
    rule: str


class Scan:
    """The findings of a scan and the number of files read.

    `unread` names the files that could not be read, and `skipped` counts binary or large ones.
    """

    def __init__(self, personal: bool = False) -> None:
        self.personal = personal
        self.places: list[Place] = []
        self.unread: list[str] = []
        self.files = 0
        self.skipped = 0

    def read_file(self, path: str) -> None:
        """Scan one file; skip it if it is binary or larger than 5 MB."""
        try:
            data = read_regular(path, MAX_BYTES)[0]
        except OSError as error:
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
        for finding in findings(text):
            line += text.count("\n", counted, finding.start)
            counted = finding.start
            if self.personal or finding.action != "allow":
                yield Place(path, line, finding.kind, finding.rule)


def _decoded(data: bytes) -> str | None:
    """Return the text of a file; None for binary data."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    return None if b"\0" in data[:_HEAD] else data.decode("utf-8", "replace")


def scan_paths(
    paths: list[str], personal: bool = False, progress: Callable[[int, int], None] | None = None
) -> Scan:
    """Scan files and folders, without following links; `progress` gets the number of files read, and of all.

    `personal` also reports what memories may contain, such as e-mail addresses.
    """
    scan = Scan(personal)
    files = [file for path in paths for file in _files(path)]
    for number, file in enumerate(files):
        scan.read_file(file)
        if progress is not None and number % _REPORT_EVERY == 0:
            progress(number, len(files))
    return scan


def _files(path: str) -> Iterator[str]:
    if not os.path.isdir(path):
        yield path
        return
    for parent, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        for name in sorted(names):
            file = os.path.join(parent, name)
            if os.path.isfile(file) and not os.path.islink(file):
                yield file
