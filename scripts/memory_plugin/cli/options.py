"""Options that several commands share, checks of their values, lines of JSON on standard input, and the file of an output.

An output replaces no file but an earlier output of ours, unless the user agrees in a terminal. Inside the client, a command of Claude's may
be allowed without a question; there it writes only below the project, outside of hidden files and folders, or into our own folder for
reports.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..kernel.fastjson import load_object
from ..kernel.files import make_folder, read_regular, replace_file
from .command_context import DONE, FAILED, CommandContext, CommandError, Handler, UsageError
from .console import Console, announce_input

_FILE = ".json"
_MAX_DAYS = 3650
_REPORTS = "reports"  # in the state folder
_MAX_BYTES = 1 << 28
_OUTSIDE = (
    "%s: inside Claude Code, files are written only below the project, outside of hidden files and folders, or into %s;"
    " run the command in a terminal"
)
_NOT_OURS = "%s exists and is not an earlier output of this command; name another file, or delete it first"


def add_common_options(parser: ArgumentParser) -> None:
    """Declare `--root` and `--json`, which every command and action accepts. A default would overwrite a value that was read before."""
    text = "the project folder, or its memory store (default: the current folder)"
    parser.add_argument("--root", metavar="DIR", default=SUPPRESS, help=text)
    parser.add_argument("--json", action="store_true", default=SUPPRESS, help="print JSON")


def add_flag(parser: ArgumentParser, name: str, text: str) -> None:
    """Declare an option without a value; `text` is its help."""
    parser.add_argument(name, action="store_true", help=text)


def add_actions(parser: ArgumentParser, actions: Mapping[str, Handler]) -> dict[str, ArgumentParser]:
    """Declare the actions of a command, each with its help and what carries it out; return their parsers by name."""
    group = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    parsers = {}
    for name, handler in actions.items():
        parsers[name] = group.add_parser(name, help=handler.text, description=handler.text)
        parsers[name].set_defaults(run=handler.run)
        add_common_options(parsers[name])
    return parsers


def run_action(arguments: Namespace, context: CommandContext) -> int | None:
    """Carry out the action that the arguments name."""
    run: Callable[[Namespace, CommandContext], int | None] = arguments.run
    return run(arguments, context)


def add_days_option(parser: ArgumentParser, default: int | None) -> None:
    """Declare `--days N`."""
    text = "the last N days, 1 to %d (default: %s)" % (_MAX_DAYS, default or "all")
    parser.add_argument("--days", type=up_to(_MAX_DAYS), default=default, metavar="N", help=text)


def up_to(most: int) -> Callable[[str], int]:
    """Return the type of options that take a whole number from 1 to `most`."""

    def number(text: str) -> int:
        if text.isdecimal() and 1 <= int(text) <= most:
            return int(text)
        raise ArgumentTypeError("expected 1 to %d, got %s" % (most, text))

    return number


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


def answer_lines(name: str, answer: Callable[[Mapping[str, Any], str], object], console: Console) -> int:
    """Print a line of JSON for each object on standard input with a text under `name`, and return the exit code.

    `answer` returns it, given the object and the text. A line without that text is reported with its number; then the exit code is 1.
    """
    announce_input()
    code = DONE
    for number, line in enumerate(sys.stdin.buffer, 1):
        if not line.strip():
            continue
        row = load_object(line, "replace") or {}
        if isinstance(row.get(name), str):
            console.verbatim(json.dumps(answer(row, row[name])))
        else:
            console.error('line %d: expected an object with a text under "%s"' % (number, name))
            code = FAILED
    return code


def write_output(path: str, data: bytes, head: bytes, context: CommandContext) -> None:
    """Write a file with mode 0600. Every output of the command begins with `head`, so that an earlier one is recognized.

    In a terminal, the user is asked before another file is replaced. Raises CommandError where nothing may be written, and OSError.
    """
    assert data.startswith(head)
    if context.inside_client:
        _require_allowed_place(path, context)
    if os.path.lexists(path) and not _is_own_output(path, head):
        asks = not context.inside_client and not os.path.islink(path) and context.console.can_prompt()
        if not asks or not context.console.confirm("Replace %s, which this command did not write?" % path):
            raise CommandError(_NOT_OURS % path)
    replace_file(path, data, 0o600)


def reports_folder(context: CommandContext) -> str:
    """Return our own folder for reports, which is created. Raises OSError, and RuntimeError without a state folder."""
    folder = context.paths.state(_REPORTS)
    make_folder(folder)
    return folder


def _require_allowed_place(path: str, context: CommandContext) -> None:
    """Raise CommandError unless a path, with all links resolved, is in a place that Claude may write to."""
    real = os.path.realpath(path)
    reports = os.path.realpath(context.paths.state(_REPORTS))
    if os.path.dirname(real) == reports:
        return
    below = os.path.relpath(real, os.path.realpath(context.paths.project_root))
    is_hidden = any(part.startswith(".") for part in below.split(os.sep))  # or outside of the project: ".."
    if is_hidden or os.path.isabs(below):
        raise CommandError(_OUTSIDE % (path, reports))


def _is_own_output(path: str, head: bytes) -> bool:
    """Return whether a file is a regular one without another name that begins as ours do; a mention of us anywhere else says nothing."""
    try:
        status = os.lstat(path)
        is_single = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
        return is_single and read_regular(path, _MAX_BYTES)[0].startswith(head)
    except OSError:
        return False
