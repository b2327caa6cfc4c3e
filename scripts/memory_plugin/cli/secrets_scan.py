"""Find secrets and personal data in files or in lines of text, and report their location and rule but never their value."""

from __future__ import annotations

import codecs
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..kernel.files import read_regular
from ..kernel.hygiene import findings
from .command_context import CommandContext
from .console import counted

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

    `unread` names the files that could not be read, `skipped` counts binary or large ones, and `left` those beyond the size limit.
    """

    def __init__(self, personal: bool = False) -> None:
        self.personal = personal
        self.places: list[Place] = []
        self.unread: list[str] = []
        self.files = 0
        self.skipped = 0
        self.left = 0

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
    paths: list[str],
    personal: bool = False,
    max_bytes: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Scan:
    """Scan files and folders, without following links; `progress` gets the number of files read, and of all.

    `personal` also reports what memories may contain, such as e-mail addresses. With `max_bytes` the smallest files are read
    first, until their sum exceeds it.
    """
    scan = Scan(personal)
    files = [file for path in paths for file in _files(path)]
    if max_bytes is not None:
        files, scan.left = _smallest(files, max_bytes)
    for number, file in enumerate(files):
        scan.read_file(file)
        if progress is not None and number % _REPORT_EVERY == 0:
            progress(number, len(files))
    return scan


def _smallest(paths: list[str], max_bytes: int) -> tuple[list[str], int]:
    """Return the smallest files with at most `max_bytes` in total, in the given order, and the number of the others."""
    chosen = set()
    for size, path in sorted((os.path.getsize(path) if os.path.isfile(path) else 0, path) for path in paths):
        max_bytes -= size
        if max_bytes < 0:
            break
        chosen.add(path)
    return [path for path in paths if path in chosen], len(set(paths) - chosen)


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


def print_findings(find: Callable[[str], list[dict[str, object]]], context: CommandContext) -> int:
    """Print `{id, findings}` for each line `{id, text}`. Return the exit code: 1 if a line has no text."""
    skipped = 0
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            text = entry["text"]
        except (ValueError, KeyError, TypeError, RecursionError):
            text = None
        if isinstance(text, str):
            context.console.verbatim(json.dumps({"id": entry.get("id"), "findings": find(text)}))
        else:
            skipped += 1
    if skipped:
        context.console.error("%s without a text skipped" % counted(skipped, "line"))
    return 1 if skipped else 0
