"""`memory check secrets`: find secrets and personal data in the stores or in any folder."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from time import monotonic

from ...kernel.text.clean import counted, plain
from ...memories import InvalidMemory
from ...memories.hygiene import clean_data
from ...memories.lifecycle import redact
from ...memories.memory_files import Store, StoredMemory, all_memories, stores, why_not_read
from ...work.check import Scan, scan_paths
from ..after_change import refresh_index
from ..command_context import CommandContext, UsageError
from ..options import add_flag, require_existing

HELP = "find secrets and personal data in the stores, or in any folder"
EXAMPLES = """\
  memory check secrets                             this project's store and your own
  memory check secrets --fix                       redacts the findings in the stores
  memory check secrets docs src --personal --json  also reports e-mail addresses, phone numbers, IP addresses
"""

DONE, FOUND = 0, 1
_MAX_PATH = 500


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
