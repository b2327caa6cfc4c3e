"""`memory check`: validate the memories of a repository, in a commit hook or CI, using the files alone and no state of this machine."""

from __future__ import annotations

import argparse
import os

from ...kernel.text.clean import counted, plain
from ...memories.memory_files import (
    Store,
)
from ...work.check import GONE, StoreFinding, check_store, store_around
from ..command_context import CommandContext, UsageError
from ..options import require_existing

HELP = "validate a repository's memories (commit hooks, CI)"
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
    """Print each problem as `path:line: rule: text`. The exit code is 1 if there is any except `gone`, 2 for a path without a store."""
    require_existing(*arguments.paths)
    paths_by_store: dict[Store, list[str]] = {}
    for path in arguments.paths or [context.paths.project_root]:
        store = store_around(path)
        if store is not None:
            paths_by_store.setdefault(store, []).append(os.path.abspath(path))
        elif arguments.paths:
            text = "%s: no memory store (.claude/memory) in this folder or its parents"
            raise UsageError(text % plain(path, _MAX_PATH))
    number, findings = 0, []
    for store, paths in paths_by_store.items():
        memories, found = check_store(store)
        number += memories
        findings += [finding for finding in found if _is_wanted(finding, paths, store)]
    record = {"memories": number, "findings": [finding._asdict() for finding in findings]}
    context.console.result(arguments.json, record, *_lines(findings, number))
    return FOUND if any(finding.rule != GONE for finding in findings) else DONE


def _is_wanted(finding: StoreFinding, paths: list[str], store: Store) -> bool:
    """Return whether one of the paths is the finding's file or contains it, or contains the whole store."""
    return any(
        path == store.root
        or store.root.startswith(path + os.sep)
        or (finding.path + os.sep).startswith(path + os.sep)
        for path in paths
    )


def _lines(findings: list[StoreFinding], number: int) -> list[str]:
    here = os.getcwd() + os.sep
    lines = []
    for finding in findings:
        path = plain(finding.path.removeprefix(here), _MAX_PATH)
        place = "%s:%d" % (path, finding.line) if finding.line else path
        lines.append("%s: %s: %s" % (place, finding.rule, finding.text))
    found = counted(len(findings), "problem") if findings else "no problems"
    return [*lines, "%s in %s" % (found, counted(number, "memory"))]
