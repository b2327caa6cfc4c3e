"""`memory check secrets`: find secrets and personal data in the stores or in any folder."""

from __future__ import annotations

import argparse
import codecs
import os
from collections.abc import Callable, Iterator
from time import monotonic
from typing import NamedTuple

from ...kernel.files import read_regular
from ...kernel.hygiene import findings
from ...kernel.text.clean import plain
from ...memories import InvalidMemory
from ...memories.hygiene import clean_data
from ...memories.lifecycle import redact
from ...memories.memory_files import Store, StoredMemory, all_memories, stores, why_not_read
from ..after_change import refresh_index
from ..command_context import CommandContext, UsageError
from ..console import counted
from ..options import add_flag, require_existing

HELP = "find secrets and personal data in the stores, or in any folder"
EXAMPLES = """\
  memory check secrets                             this project's store and your own
  memory check secrets --fix                       redacts the findings in the stores
  memory check secrets docs src --personal --json  also reports e-mail addresses, phone numbers, IP addresses
"""

DONE, FOUND = 0, 1
MAX_BYTES = 5_000_000
_MAX_PATH = 500
_HEAD = 8192
_REPORT_EVERY = 50
_SKIPPED_FOLDERS = frozenset([".git"])


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders (default: the stores)")
    add_flag(parser, "--fix", "redact the findings in the memories of the stores")
    personal = "also report what memories may contain: e-mail addresses, phone numbers, IP addresses"
    add_flag(parser, "--personal", personal)


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Print path, line, kind and rule of each finding, never its value. The exit code is 1 if anything is found."""
    if arguments.fix and arguments.paths:
        raise UsageError("--fix changes only the stores; leave out the paths")
    require_existing(*arguments.paths)
    readable = [store for store in stores(context.paths) if not why_not_read(store)]
    fixed = _fix(readable, context) if arguments.fix else []
    paths = arguments.paths or [store.root for store in readable if os.path.isdir(store.root)]
    scan = scan_paths(paths, arguments.personal, progress=_progress(context))
    record: dict[str, object] = {"findings": [place._asdict() for place in scan.places], "fixed": fixed}
    record.update(files=scan.files, skipped=scan.skipped, unread=scan.unread)
    context.console.result(arguments.json, record, *_lines(scan, fixed))
    for reason in [] if arguments.json else scan.unread:
        context.console.error(reason)
    return FOUND if scan.places or scan.unread else DONE


def _progress(context: CommandContext) -> Callable[[int, int], None]:
    """Return a function that shows a scan's progress and rate once it has run for a second."""
    start = monotonic()

    def show(done: int, total: int) -> None:
        seconds = monotonic() - start
        if seconds >= 1:
            context.console.progress("%d of %d files, %d files a second" % (done, total, done / seconds))

    return show


def _fix(readable: list[Store], context: CommandContext) -> list[str]:
    """Redact the memories in their files and return the paths."""
    unclean = [stored for store in readable for stored in all_memories(store) if _is_unclean(stored)]
    for stored in unclean:
        redact(context.paths, stored)
    if unclean:
        refresh_index(context)
    return [stored.path for stored in unclean]


def _is_unclean(stored: StoredMemory) -> bool:
    try:
        return bool(clean_data(stored.memory.data)[1])
    except InvalidMemory:
        return False


def _lines(scan: Scan, fixed: list[str]) -> list[str]:
    summary = counted(len(scan.places), "finding") if scan.places else "nothing found"
    return [
        *("fixed: " + plain(path, _MAX_PATH) for path in fixed),
        *("%s:%d  %s  %s" % (plain(place.path, _MAX_PATH), *place[1:]) for place in scan.places),
        "%s in %s (%d binary or large skipped)" % (summary, counted(scan.files, "file"), scan.skipped),
    ]


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
