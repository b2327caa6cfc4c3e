"""`memory scan`: finds secrets and personal data in the stores, or in any folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...kernel.text.clean import plain
from ...memories.files import all_memories, why_left_alone
from ...memories.hygiene import clean_data
from ...memories.lifecycle import redact
from ...memories.record import InvalidMemory
from ...memories.stores import stores
from ..after_change import refresh_index
from ..command_context import UsageError, require_existing
from ..secrets_scan import Scan, scan_paths

if TYPE_CHECKING:
    import argparse

    from ...memories.files import StoredMemory
    from ...memories.stores import Store
    from ..command_context import CommandContext

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

HELP = "find secrets and personal data in the stores, or in any folder"
EXAMPLES = """\
  memory scan                             the stores at hand
  memory scan --fix                       take what is found out of the memories
  memory scan docs src --personal --json  also e-mail addresses, phone numbers, IP addresses
"""

DONE, FOUND = 0, 1
_MAX_PATH = 500


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders (default: the stores)")
    parser.add_argument("--fix", action="store_true", help="take what is found out of the stores' memories")
    parser.add_argument(
        "--personal",
        action="store_true",
        help="also what memories may hold: e-mail addresses, phone numbers, IP addresses",
    )


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Report path, line, kind and rule, never the value; exit code 1 while something is found."""
    if arguments.fix and arguments.paths:
        raise UsageError("--fix works on the stores alone; name no paths with it")
    require_existing(*arguments.paths)
    known = [store for store in stores(context.places) if not why_left_alone(store)]
    fixed = _fix(known, context) if arguments.fix else []
    paths = arguments.paths or [store.root for store in known if os.path.isdir(store.root)]
    scan = scan_paths(paths, arguments.personal)
    if arguments.json:
        context.console.json(
            {
                "findings": [place._asdict() for place in scan.places],
                "files": scan.files,
                "skipped": scan.skipped,
                "unread": scan.unread,
                "fixed": fixed,
            }
        )
    else:
        _print(scan, fixed, context)
    return FOUND if scan.places or scan.unread else DONE


def _fix(known: list[Store], context: CommandContext) -> list[str]:
    """Redact what memories hold, in their files; the paths come back."""
    found = [stored for store in known for stored in all_memories(store) if _is_unclean(stored)]
    for stored in found:
        redact(context.places, stored)
    if found:
        refresh_index(context)
    return [stored.path for stored in found]


def _is_unclean(stored: StoredMemory) -> bool:
    try:
        return bool(clean_data(stored.memory.data)[1])
    except InvalidMemory:
        return False


def _print(scan: Scan, fixed: list[str], context: CommandContext) -> None:
    console = context.console
    for path in fixed:
        console.line("mended: " + plain(path, _MAX_PATH))
    for place in scan.places:
        console.line("%s:%d  %s  %s" % (plain(place.path, _MAX_PATH), place.line, place.kind, place.rule))
    for reason in scan.unread:
        console.error(reason)
    count = len(scan.places)
    found = "nothing found" if not count else "%d finding%s" % (count, "" if count == 1 else "s")
    console.line("%s in %d files (%d binary or large ones passed over)" % (found, scan.files, scan.skipped))
