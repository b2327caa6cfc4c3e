"""Options that several commands share, and checks of their values."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Mapping

from ..kernel.clock import iso, now
from .command_context import UsageError

_FILE = ".json"
_MAX_DAYS = 3650


def add_common_options(parser: argparse.ArgumentParser, *, at_start: bool = False) -> None:
    """Declare `--root` and `--json`, which are accepted before the command, after it, and after its action.

    They have defaults only at the start: elsewhere a default would overwrite a value given earlier.
    """
    parser.add_argument(
        "--root",
        metavar="DIR",
        default=None if at_start else argparse.SUPPRESS,
        help="the project folder, or its memory store (default: the current folder)",
    )
    parser.add_argument(
        "--json", action="store_true", default=False if at_start else argparse.SUPPRESS, help="print JSON"
    )


def add_flag(parser: argparse.ArgumentParser, name: str, text: str) -> None:
    """Declare an option without a value; `text` is its help."""
    parser.add_argument(name, action="store_true", help=text)


def add_actions(
    parser: argparse.ArgumentParser, purposes: Mapping[str, str]
) -> dict[str, argparse.ArgumentParser]:
    """Declare the actions of a command, given their help texts; return their parsers by name."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    parsers = {
        name: actions.add_parser(name, help=purpose, description=purpose)
        for name, purpose in purposes.items()
    }
    for action in parsers.values():
        add_common_options(action)
    return parsers


def add_days_option(parser: argparse.ArgumentParser, default: int) -> None:
    """Declare `--days N`; `require_days` checks its value."""
    parser.add_argument(
        "--days",
        type=int,
        default=default,
        metavar="N",
        help="the last N days, 1 to %d (default: %d)" % (_MAX_DAYS, default),
    )


def add_keep_address(parser: argparse.ArgumentParser) -> None:
    """Declare `--keep-address`, which answers the question that `keep_address` asks."""
    add_flag(
        parser,
        "--keep-address",
        "write an address that only your environment sets into your own settings, without asking",
    )


def require_days(days: int) -> None:
    """Raise UsageError if the number of days is out of range."""
    if not 1 <= days <= _MAX_DAYS:
        raise UsageError("--days: expected 1 to %d, got %d" % (_MAX_DAYS, days))


def days_ago(days: int) -> str:
    """Return the time that many days ago, in the format of ledgers."""
    return iso(now() - days * 86400)


def require_existing(*paths: str) -> None:
    """Raise UsageError for the first path that does not exist."""
    for path in paths:
        if not os.path.exists(path):
            raise UsageError("%s: no such file or folder" % path)


def require_known(name: str, known: Iterable[str]) -> None:
    """Raise UsageError unless `name` is one of `known` or an existing JSON file."""
    if name.endswith(_FILE):
        require_existing(name)
    elif name not in known:
        raise UsageError("%s: expected one of %s, or a %s file" % (name, ", ".join(known), _FILE))
