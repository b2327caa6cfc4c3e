"""`memory check`: validate the memories of a repository, in a commit hook or CI."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...kernel.text.clean import plain
from ..command_context import UsageError, require_existing
from ..console import counted
from ..store_check import check_store, store_around

if TYPE_CHECKING:
    import argparse

    from ...memories.stores import Store
    from ..command_context import CommandContext
    from ..store_check import StoreFinding

__all__ = ["EXAMPLES", "HELP", "configure", "run"]

HELP = "validate the memories of a repository, for a commit hook or CI"
EXAMPLES = """\
  memory check                            this project's store
  memory check ../shop --json             another project
  memory check .claude/memory/decisions/use-postgres.json    report only on these files
"""

DONE, FOUND = 0, 1
_MAX_PATH = 500


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="projects, stores, or files in a store")


def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Print each problem as `path:line: rule: text`. The exit code is 1 if there is any, 2 for a path without a store."""
    require_existing(*arguments.paths)
    chosen = arguments.paths or [context.paths.project_root]
    stores = {path: store_around(path) for path in chosen}
    lost = [path for path in arguments.paths if stores[path] is None]
    if lost:
        raise UsageError(
            "%s: no memory store (.claude/memory) in this folder or its parents" % plain(lost[0], _MAX_PATH)
        )
    number, findings = 0, []
    for store in dict.fromkeys(store for store in stores.values() if store is not None):
        wanted = [path for path, found_store in stores.items() if found_store == store]
        memories, found = check_store(store)
        number += memories
        findings += [finding for finding in found if _is_wanted(finding, wanted, store)]
    if arguments.json:
        context.console.json({"memories": number, "findings": [finding._asdict() for finding in findings]})
    else:
        _print(findings, number, context)
    return FOUND if findings else DONE


def _is_wanted(finding: StoreFinding, wanted: list[str], store: Store) -> bool:
    """Return whether one of the given paths is the finding's file or contains it."""
    paths = [os.path.abspath(path) for path in wanted]
    return any(
        path == store.root
        or store.root.startswith(path + os.sep)
        or (finding.path + os.sep).startswith(path + os.sep)
        for path in paths
    )


def _print(findings: list[StoreFinding], number: int, context: CommandContext) -> None:
    here = os.getcwd() + os.sep
    for finding in findings:
        path = plain(finding.path.removeprefix(here), _MAX_PATH)
        place = "%s:%d" % (path, finding.line) if finding.line else path
        context.console.line("%s: %s: %s" % (place, finding.rule, finding.text))
    found = counted(len(findings), "problem") if findings else "no problems"
    context.console.line("%s in %s" % (found, counted(number, "memory")))
